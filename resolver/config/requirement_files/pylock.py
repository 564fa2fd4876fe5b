"""Locks (pylock.toml): PEP 751."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from packaging.pylock import Package, Pylock, PylockValidationError

from resolver.config.lines import TomlText
from resolver.config.load import toml_tables
from resolver.config.requirement_files.file_requirements import (
    PYTHONS,
    FileLine,
    FileRequirements,
    require_known,
    shown_requirement,
)
from resolver.errors import InputError
from resolver.model import text as texts
from resolver.model.target import Platform, Target


def read_pylock(
    document: TomlText,
    result: FileRequirements,
    platform: Platform,
    extras: Sequence[str],
    groups: Sequence[str],
) -> None:
    """Add what a lock installs on a platform with these extras and groups. Raises InputError."""
    try:
        lock = Pylock.from_dict(toml_tables(document.text, document.name))
    except PylockValidationError as error:
        key = f"`{error.context}` cannot be used." if error.context else ""  # without its value
        raise InputError("the file is no pylock.toml", where=document.name, why=key) from None
    result.admit(str(lock.requires_python or ""))
    require_known("extra", extras, lock.extras or (), document.name)
    require_known(
        "dependency group", groups, [*map(texts.name, lock.dependency_groups or ())], document.name
    )
    target = Target(name="", python=result.python or PYTHONS[0], platform=platform, glibc=(2, 17))
    environment: Mapping[str, Any] = {
        **target.markers,
        "extras": set(extras),
        "dependency_groups": {*(lock.default_groups or ()), *groups},
    }
    for number, package in enumerate(lock.packages):
        pinned, marker = _pinned(package), package.marker
        line = FileLine(pinned, document.line("packages", number), shown_requirement(pinned))
        if package.directory or package.archive:
            result.leave_out(line, "import.folder")
        elif marker is None or not re.search(r"\b(?:extras|dependency_groups)\b", str(marker)):
            result.lines.append(FileLine(f"{line.text} ; {marker}", line.where) if marker else line)
        elif document.parse(
            partial(marker.evaluate, context="lock_file"), environment, "packages", number, "marker"
        ):
            result.lines.append(line)
        else:
            result.leave_out(line, "import.unwanted")


def _pinned(package: Package) -> str:
    if vcs := package.vcs:
        folder = f"#subdirectory={vcs.subdirectory}" if vcs.subdirectory else ""
        return f"{package.name} @ {vcs.type}+{vcs.url or vcs.path}@{vcs.commit_id}{folder}"
    return f"{package.name}=={package.version}" if package.version else package.name
