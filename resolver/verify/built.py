"""Wheels that install.sh built from source, kept in a folder for machines like this one.

The lock has no hashes of them, as a build may have others each time. So the folder has a file that
says of each wheel what it was built from, with what and where, and which sha256 it has.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from resolver.ascend.names import DRIVER
from resolver.verify.distributions import canonical_name, same_version
from resolver.verify.findings import (
    CheckContext,
    LockedDistribution,
    UnreadableError,
    read_text,
)

BUILT_FILE = "built.toml"
_BUILT_FORMAT = 1
# A wheel with this ending has nothing that depends on the machine.
_PURE = "-none-any.whl"
# Name, version, build tag and tags of a wheel.
_WHEEL = re.compile(r"([A-Za-z0-9._]+)-([^-/]+)(?:-\d[^-/]*)?-[^-/]+-[^-/]+-[^-/]+\.whl")
_BLOCK = 1 << 20


class UnusableWheelError(Exception):
    """A wheel cannot be taken. `code` and `values` are of the message that says why."""

    def __init__(self, code: str, **values: str) -> None:
        super().__init__(code)
        self.code = code
        self.values = values


class BuildMachine(NamedTuple):
    """What of a machine a build may depend on."""

    processor: str
    # The version of glibc. What is built runs with this one or a newer one.
    glibc: str
    # Major and minor version.
    python: str
    # The target's components, without the driver, which builds do not use.
    system: Mapping[str, str]

    @classmethod
    def of(cls, context: CheckContext, machine: Mapping[str, str]) -> BuildMachine:
        """Return this machine; `machine` has what the checks found of it."""
        system = {
            name: value for name, value in sorted(context.lock.system.items()) if name != DRIVER
        }
        python = f"{sys.version_info[0]}.{sys.version_info[1]}"
        return cls(machine["processor"], machine["glibc"], python, system)

    def require(self, other: Mapping[str, str]) -> None:
        """Raise UnusableWheelError if what was built on another machine may not run here."""
        here = {"processor": self.processor, "python": self.python, **self.system}
        for name, value in here.items():
            if other.get(name) != value:
                found = other.get(name, "-")
                raise UnusableWheelError("built-elsewhere", what=name, found=found, here=value)
        glibc = other.get("glibc", "")
        if _numbers_of(glibc) > _numbers_of(self.glibc):
            raise UnusableWheelError(
                "built-elsewhere", what="glibc", found=glibc or "-", here=self.glibc
            )

    def values(self) -> dict[str, str]:
        """Return it as a row of the file has it."""
        return {
            "processor": self.processor,
            "glibc": self.glibc,
            "python": self.python,
            **self.system,
        }


def _numbers_of(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()] or [sys.maxsize]


def print_built_wheels(
    context: CheckContext, machine: BuildMachine, folder: str, names: Iterable[str]
) -> int:
    """Print the paths of the wheels of these pins, one a line; return 1 unless there are all.

    Why one is not taken goes to standard error.
    """
    paths = []
    for name in names:
        try:
            paths.append(_usable_wheel(machine, folder, context.lock.pins[name]))
        except UnusableWheelError as error:
            text = context.lock.texts[context.language][error.code]
            values = {"name": name, "folder": folder, **error.values}
            sys.stderr.write(text.format(**values) + "\n")
            return 1
    sys.stdout.write("".join(f"{path}\n" for path in paths))
    return 0


def _usable_wheel(machine: BuildMachine, folder: str, pin: LockedDistribution) -> str:
    """Return the path of the wheel of a pin. Raises UnusableWheelError if there is none for it."""
    try:
        rows = list(_built_rows(folder))
    except UnreadableError as error:
        raise UnusableWheelError("built-unreadable", **error.values) from None
    rows = [row for row in rows if row.get("name") == pin.name]
    if not rows:
        raise UnusableWheelError("built-none")
    rows = [row for row in rows if row.get("key") == pin.key]
    if not rows or not _is_wheel_of(pin, str(rows[0].get("file", ""))):
        raise UnusableWheelError("built-otherwise")
    row = rows[0]
    file = str(row["file"])
    if not file.endswith(_PURE):
        there = row.get("machine")
        machine.require(there if isinstance(there, dict) else {})
    path = os.path.join(folder, file)
    if not os.path.isfile(path) or _sha256_of(path) != row.get("sha256"):
        raise UnusableWheelError("built-changed", file=file)
    return path


def _built_rows(folder: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of the folder's file, none without it. Raises UnreadableError."""
    path = os.path.join(folder, BUILT_FILE)
    text = read_text(path)
    if text is not None:
        yield from parse_built(text, path)


def parse_built(text: str, path: str) -> Iterator[dict[str, Any]]:
    """Yield the rows in a text of built.toml. Raises UnreadableError, which names the path."""
    try:
        content = _toml().loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(path, str(error)) from None
    rows = content.get("wheel", [])
    if content.get("format") != _BUILT_FORMAT or not isinstance(rows, list):
        raise UnreadableError(path, f"it does not have format {_BUILT_FORMAT}")
    yield from (row for row in rows if isinstance(row, dict))


def _toml() -> Any:
    """Return the module that reads TOML: Python's from 3.11 on, else the one that pip brings."""
    try:
        return importlib.import_module("tomllib")
    except ModuleNotFoundError:
        return importlib.import_module("pip._vendor.tomli")


def _is_wheel_of(pin: LockedDistribution, file: str) -> bool:
    """Return whether the name of a file is that of a wheel of a pin."""
    match = _WHEEL.fullmatch(file)
    if match is None:
        return False
    return canonical_name(match[1]) == pin.name and same_version(match[2], pin.version)


def keep_wheels(
    context: CheckContext, machine: BuildMachine, folder: str, wheels: Sequence[str]
) -> int:
    """Copy wheels that were just built to a folder, and say in its file how; return the status.

    Other rows stay. A wheel of no pin is left out, as install.sh installs none.
    """
    try:
        os.makedirs(folder, exist_ok=True)
        rows = {str(row.get("file")): row for row in _built_rows(folder)}
        for wheel in wheels:
            file = os.path.basename(wheel)
            for pin in context.lock.pins.values():
                if pin.key and _is_wheel_of(pin, file):
                    _copy_whole(wheel, os.path.join(folder, file))
                    rows[file] = _built_row(pin, machine, folder, file)
        path = os.path.join(folder, BUILT_FILE)
        with open(f"{path}.part", "w", encoding="utf-8") as part:
            part.write(built_text(rows[file] for file in sorted(rows)))
        os.replace(part.name, path)
    except UnreadableError as error:
        text = context.lock.texts[context.language]["built-unreadable"]
        sys.stderr.write(text.format(**error.values) + "\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"{error.filename or folder}: {error.strerror or error}\n")
        return 1
    return 0


def _copy_whole(source: str, target: str) -> None:
    """Copy a file so that the target is never a part of it."""
    partial = f"{target}.part"
    shutil.copyfile(source, partial)
    os.replace(partial, target)


def _built_row(
    pin: LockedDistribution, machine: BuildMachine, folder: str, file: str
) -> dict[str, Any]:
    """Return what the file says of a wheel."""
    row: dict[str, Any] = {
        "name": pin.name,
        "version": pin.version,
        "file": file,
        "sha256": _sha256_of(os.path.join(folder, file)),
        "key": pin.key,
    }
    if pin.commit:
        row["commit"] = pin.commit
    else:
        row["source"] = list(pin.sha256)
    row["tools"] = list(pin.tools)
    row["env"] = dict(pin.env)
    row["machine"] = machine.values()
    return row


def built_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the text of built.toml. Texts, lists and tables are in TOML as they are in JSON."""
    lines = [
        "# Wheels that install.sh built from source; `install.sh --built` takes them on machines",
        "# like the one that each was built on. `key` stands for all that determines a build.",
        f"format = {_BUILT_FORMAT}",
    ]
    for row in rows:
        lines += ["", "[[wheel]]"]
        lines += [f"{name} = {_toml_value(value)}" for name, value in row.items()]
    return "\n".join(lines) + "\n"


def _toml_value(value: Any) -> str:
    """Return a text, a list of texts or a table of texts as TOML."""
    if isinstance(value, dict):
        pairs = [f"{_toml_value(key)} = {_toml_value(item)}" for key, item in value.items()]
        return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _sha256_of(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(_BLOCK), b""):
            digest.update(chunk)
    return digest.hexdigest()
