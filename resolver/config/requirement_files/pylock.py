"""Reader of the packages in a pylock.toml (PEP 751)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from packaging.pylock import Package, Pylock, PylockUnsupportedVersionError, PylockValidationError

from resolver.config.lines import TomlText
from resolver.config.requirement_files.file_requirements import (
    PYTHONS,
    FileLine,
    FileRequirements,
    require_known,
    shown_requirement,
)
from resolver.config.toml_files import toml_tables
from resolver.errors import InputError
from resolver.model import text as texts
from resolver.model.target import Platform, Target
from resolver.phrase import EMPTY, phrase

# The marker variables of PEP 751 that a requirement cannot have.
_SELECTIONS: Final = re.compile(r"\b(?:extras|dependency_groups)\b")


def read_pylock(
    document: TomlText,
    result: FileRequirements,
    platform: Platform,
    extras: Sequence[str],
    groups: Sequence[str],
) -> None:
    """Add the packages that a lock installs to `result`, as requirements with versions.

    `extras` and `groups` are the names that the user gave. A marker about them is evaluated here,
    for the platform. All other markers are kept. Raises InputError.
    """
    lock = _read_lock(document)
    result.admit(str(lock.requires_python or ""))
    known_groups = [texts.name(group) for group in lock.dependency_groups or ()]
    require_known(phrase("extra"), extras, lock.extras or (), document.name)
    require_known(phrase("dependency group"), groups, known_groups, document.name)
    target = Target(name="", python=result.python or PYTHONS[0], platform=platform, glibc=(2, 17))
    environment: dict[str, Any] = {
        **target.markers,
        "extras": set(extras),
        "dependency_groups": {*(lock.default_groups or ()), *groups},
    }
    for number, package in enumerate(lock.packages):
        pin = _pin(package)
        marker = package.marker
        line = FileLine(pin, document.line("packages", number), shown_requirement(pin))
        if package.directory or package.archive:
            result.leave_out(line, "import.folder")
        elif marker is None:
            result.lines.append(line)
        elif not _SELECTIONS.search(str(marker)):
            # A line of a stack can have this marker.
            result.lines.append(FileLine(f"{pin} ; {marker}", line.where))
        else:
            evaluate = partial(marker.evaluate, context="lock_file")
            if document.parse(evaluate, environment, "packages", number, "marker"):
                result.lines.append(line)
            else:
                result.leave_out(line, "import.unwanted")


def _read_lock(document: TomlText) -> Pylock:
    """Return the lock in a file. Raises InputError."""
    try:
        return Pylock.from_dict(toml_tables(document.text, document.name))
    except PylockUnsupportedVersionError:
        raise InputError(
            phrase("the lock has a format that is not read"),
            where=document.line("lock-version"),
            why=phrase("Only version 1 of pylock.toml is read."),
            hint=phrase("export requirements with the tool that wrote it, and import those"),
        ) from None
    except PylockValidationError as error:
        # The message names the key without its value, which may be a secret.
        why = phrase("`{key}` cannot be used.", key=error.context) if error.context else EMPTY
        raise InputError(
            phrase("the file is no pylock.toml"), where=document.name, why=why
        ) from None


def _pin(package: Package) -> str:
    """Return a package of a lock as a requirement: `NAME==VERSION`, or a direct reference."""
    if vcs := package.vcs:
        folder = f"#subdirectory={vcs.subdirectory}" if vcs.subdirectory else ""
        return f"{package.name} @ {vcs.type}+{vcs.url or vcs.path}@{vcs.commit_id}{folder}"
    return f"{package.name}=={package.version}" if package.version else package.name
