"""State faults of the binaries in wheels as sentences."""

from __future__ import annotations

from resolver.errors import escaped
from resolver.linkage.judgement import (
    Fault,
    LockedWheel,
    MissingLibrary,
    MissingSymbols,
    NewerGlibc,
)
from resolver.model.message import Message, message


def fault_sentence(wheel: LockedWheel, fault: Fault) -> Message:
    """Return the sentence about a fault that keeps a wheel's binaries from being loaded."""
    package = f"{wheel.project} {wheel.version}"
    match fault:
        case MissingLibrary(path=path, library=library):
            return message(
                "linkage.library", package=package, path=escaped(path), library=escaped(library)
            )
        case NewerGlibc(path=path, needed=needed, has=has):
            return message(
                "linkage.glibc", package=package, path=escaped(path), needed=needed, has=has
            )
        case MissingSymbols(missing=missing, taken=taken, torch=torch):
            return message(
                "linkage.symbols", package=package, count=missing, taken=taken, torch=torch
            )
