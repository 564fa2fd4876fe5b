"""Keep wheels that install.sh built from source, for other machines like this one.

A lock cannot have hashes of them, since each build may result in another file. So the wheels are in
a folder with a file built.toml. That has a table for each wheel: its sha256, the source and the
tools of its build, and the machine on which it was built. install.sh calls this module through the
options --keep-wheels and --built-wheels; `lock.built` puts such wheels into a bundle.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib
import json
import os
import re
import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple

from resolver.ascend.names import DRIVER
from resolver.verify.distributions import canonical_name, same_version
from resolver.verify.findings import (
    CheckContext,
    LockedDistribution,
    UnreadableError,
    printable,
    read_text,
)

BUILT_FILE = "built.toml"
_BUILT_FORMAT = 1
# The ending of the name of a wheel that does not depend on the machine.
_PURE = "-none-any.whl"
# The file name of a wheel. Groups 1 and 2 are the name and the version.
_WHEEL = re.compile(r"([A-Za-z0-9._]+)-([^-/]+)(?:-\d[^-/]*)?-[^-/]+-[^-/]+-[^-/]+\.whl")
# The path of a wheel: a folder named after a hash of its build and its machine, and its file name.
_PLACE = re.compile(rf"[0-9a-f]{{16}}/(?P<name>{_WHEEL.pattern})")
_SHA256 = re.compile("[0-9a-f]{64}")
_GLIBC = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})*")
_BLOCK = 1 << 20
# The keys of a table of built.toml whose values are texts, lists of texts, and tables of texts.
_TEXTS = ("name", "version", "file", "sha256", "key", "commit")
_LISTS = ("source", "tools")
_TABLES = ("env", "machine")


class UnusableWheelError(Exception):
    """A wheel cannot be used on this machine."""

    def __init__(self, code: str, **values: str) -> None:
        """Give the code and the values of the message that says why."""
        super().__init__(code)
        self.code = code
        self.values = values


class BuildMachine(NamedTuple):
    """The properties of a machine on which the result of a build may depend."""

    processor: str
    # The version of glibc. A wheel runs with this version or a newer one.
    glibc: str
    # Major and minor version.
    python: str
    # The target's components, without the driver, which builds do not use.
    system: Mapping[str, str]

    @classmethod
    def of(cls, context: CheckContext, machine: Mapping[str, str]) -> BuildMachine:
        """Return this machine. `machine` has the values that `check_machine` found."""
        system = {
            name: value for name, value in sorted(context.lock.system.items()) if name != DRIVER
        }
        python = f"{sys.version_info[0]}.{sys.version_info[1]}"
        return cls(machine["processor"], machine["glibc"], python, system)

    def require_compatible(self, other: Mapping[str, str]) -> None:
        """Raise UnusableWheelError if a wheel that was built on another machine may not run here.

        `other` has the properties of that machine, in the form of `values`.
        """
        exact = {"processor": self.processor, "python": self.python, **self.system}
        for name, value in exact.items():
            if other.get(name) != value:
                found = other.get(name, "-")
                raise UnusableWheelError("built-elsewhere", what=name, found=found, here=value)
        glibc = other.get("glibc", "")
        if _numbers_of(glibc) > _numbers_of(self.glibc):
            raise UnusableWheelError(
                "built-elsewhere", what="glibc", found=glibc or "-", here=self.glibc
            )

    def values(self) -> dict[str, str]:
        """Return the properties as the table `machine` of built.toml."""
        return {
            "processor": self.processor,
            "glibc": self.glibc,
            "python": self.python,
            **self.system,
        }


def _numbers_of(version: str) -> list[int]:
    """Return the numbers in a version of glibc; for any other text, a number above all versions."""
    if not _GLIBC.fullmatch(version):
        return [sys.maxsize]
    return [int(part) for part in version.split(".")]


def print_built_wheels(
    context: CheckContext, machine: BuildMachine, folder: str, names: Iterable[str]
) -> int:
    """Print the path of the wheel of each of these pins, one a line, and return the exit status.

    It is 1, and nothing is printed, if a pin has no wheel that can be used here. The reason goes to
    standard error.
    """
    paths = []
    for name in names:
        try:
            paths.append(_usable_wheel(context, machine, folder, name))
        except UnusableWheelError as error:
            _complain(context, error.code, {"name": name, "folder": folder, **error.values})
            return 1
    sys.stdout.write("".join(f"{path}\n" for path in paths))
    return 0


def _complain(context: CheckContext, code: str, values: Mapping[str, str]) -> None:
    """Write a message to standard error."""
    text = context.lock.texts[context.language][code]
    sys.stderr.write(printable(text.format(**values)) + "\n")


def _usable_wheel(context: CheckContext, machine: BuildMachine, folder: str, name: str) -> str:
    """Return the path of a wheel in a folder that was built from a pin on a machine like this one.

    Raises UnusableWheelError if there is none.
    """
    try:
        tables = [table for table in _built_rows(folder) if table["name"] == name]
    except UnreadableError as error:
        raise UnusableWheelError("built-unreadable", **error.values) from None
    pin = context.lock.pins.get(name)
    if pin is None or not tables:
        raise UnusableWheelError("built-none")
    reason = UnusableWheelError("built-otherwise")
    for table in tables:
        if table["key"] != pin.key or not is_wheel_of(pin.name, pin.version, table["file"]):
            continue
        try:
            return _checked_wheel(machine, folder, table)
        except UnusableWheelError as error:
            # another wheel of the pin may be for this machine
            reason = error
    raise reason


def _checked_wheel(machine: BuildMachine, folder: str, table: Mapping[str, Any]) -> str:
    """Return the path of the wheel that a table of built.toml describes.

    Raises UnusableWheelError if it is not for this machine, or if the file has another sha256.
    """
    file = table["file"]
    if not file.endswith(_PURE):
        machine.require_compatible(table.get("machine", {}))
    path = os.path.join(folder, file)
    if not os.path.isfile(path) or _sha256_of(path) != table["sha256"]:
        raise UnusableWheelError("built-changed", file=file)
    return path


def _built_rows(folder: str) -> Iterator[dict[str, Any]]:
    """Yield the tables of the built.toml in a folder; none if there is no such file.

    Raises UnreadableError if it is invalid.
    """
    path = os.path.join(folder, BUILT_FILE)
    text = read_text(path)
    if text is not None:
        yield from parse_built(text, path)


def parse_built(text: str, path: str) -> list[dict[str, Any]]:
    """Return the tables of wheels in the text of a built.toml.

    Each has a name, a file, a sha256 and a key, and no key that this program does not know. Raises
    UnreadableError, which names `path`, if the text is invalid.
    """
    try:
        content = _toml().loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(path, str(error)) from None
    tables = content.get("wheel", [])
    if content.get("format") != _BUILT_FORMAT or not isinstance(tables, list):
        raise UnreadableError(path, f"it does not have format {_BUILT_FORMAT}")
    for number, table in enumerate(tables, 1):
        fault = _fault_of(table)
        if fault:
            raise UnreadableError(path, f"wheel {number}: {fault}")
    return tables


def _fault_of(table: object) -> str:
    """Return what is wrong with a table of built.toml; empty if nothing is."""
    if not isinstance(table, dict):
        return "it is not a table"
    for key, value in table.items():
        if not _has_type_of(key, value):
            return f"{key!r} is not a key of a wheel, or has another type"
    if not _PLACE.fullmatch(table.get("file", "")):
        return "`file` is not the place of a wheel"
    if not _SHA256.fullmatch(table.get("sha256", "")):
        return "`sha256` is not one"
    if not table.get("name") or not table.get("key"):
        return "it has no name or no key"
    return ""


def _has_type_of(key: str, value: object) -> bool:
    """Return whether a table of built.toml may have this value for a key. Texts must print."""
    if key in _TEXTS:
        return isinstance(value, str) and value.isprintable()
    if key in _LISTS:
        return isinstance(value, list) and all(_is_text(item) for item in value)
    if key in _TABLES and isinstance(value, dict):
        return all(_is_text(item) for item in (*value, *value.values()))
    return False


def _is_text(value: object) -> bool:
    """Return whether a value is a text of characters that print."""
    return isinstance(value, str) and value.isprintable()


def _toml() -> Any:
    """Return a module that reads TOML: tomllib from Python 3.11 on, otherwise the tomli in pip."""
    try:
        return importlib.import_module("tomllib")
    except ModuleNotFoundError:
        return importlib.import_module("pip._vendor.tomli")


def is_wheel_of(name: str, version: str, file: str) -> bool:
    """Return whether a file has the name of a wheel of this project and version."""
    match = _WHEEL.fullmatch(os.path.basename(file))
    if match is None:
        return False
    return canonical_name(match[1]) == name and same_version(match[2], version)


def keep_wheels(
    context: CheckContext, machine: BuildMachine, folder: str, wheels: Sequence[str]
) -> int:
    """Copy wheels that were just built to a folder, add them to its built.toml, return the status.

    Other tables of built.toml are kept. A wheel that belongs to no pin is left out, since
    install.sh would not install it.
    """
    try:
        os.makedirs(folder, exist_ok=True)
        with _locked(folder) as descriptor:
            tables = {table["file"]: table for table in _built_rows(folder)}
            for wheel in wheels:
                for pin in context.lock.pins.values():
                    if pin.key and is_wheel_of(pin.name, pin.version, wheel):
                        table = _keep(pin, machine, descriptor, wheel)
                        tables[table["file"]] = table
            text = built_text(tables[file] for file in sorted(tables))
            with _replacing(descriptor, BUILT_FILE) as part:
                part.write(text.encode())
    except UnreadableError as error:
        _complain(context, "built-unreadable", error.values)
        return 1
    except OSError as error:
        sys.stderr.write(printable(f"{error.filename or folder}: {error.strerror}") + "\n")
        return 1
    return 0


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[int]:
    """Yield a descriptor of the folder, to which no other process adds wheels meanwhile.

    That holds where the file system has locks.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _replacing(folder: int, name: str) -> Iterator[IO[bytes]]:
    """Yield a new file that takes the place of another one of the folder at the end.

    Others may write into the folder as well: no link of theirs is followed.
    """
    temporary = f".{secrets.token_hex(8)}"
    how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    descriptor = os.open(temporary, how, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            os.fchmod(descriptor, 0o644)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary, dir_fd=folder)
        raise


@contextlib.contextmanager
def _folder_in(folder: int, name: str) -> Iterator[int]:
    """Yield a descriptor of a folder in another one, which is made if it is missing.

    Raises OSError if a link is in its place.
    """
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, dir_fd=folder)
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _keep(
    pin: LockedDistribution, machine: BuildMachine, folder: int, wheel: str
) -> dict[str, Any]:
    """Copy a wheel of a pin into a folder, and return its table for built.toml."""
    values = machine.values()
    # two builds, or two machines, may result in wheels with the same name
    place = hashlib.sha256(json.dumps([pin.key, values], sort_keys=True).encode()).hexdigest()[:16]
    name = os.path.basename(wheel)
    digest = hashlib.sha256()
    with _folder_in(folder, place) as inner, _replacing(inner, name) as copy:
        with open(wheel, "rb") as built:
            for chunk in iter(lambda: built.read(_BLOCK), b""):
                digest.update(chunk)
                copy.write(chunk)
    table: dict[str, Any] = {
        "name": pin.name,
        "version": pin.version,
        "file": f"{place}/{name}",
        "sha256": digest.hexdigest(),
        "key": pin.key,
    }
    if pin.commit:
        table["commit"] = pin.commit
    else:
        table["source"] = list(pin.sha256)
    table["tools"] = list(pin.tools)
    table["env"] = dict(pin.env)
    table["machine"] = values
    return table


def built_text(tables: Iterable[Mapping[str, Any]]) -> str:
    """Return the text of a built.toml with these tables of wheels."""
    lines = [
        "# Wheels that install.sh built from source; `install.sh --built` takes them on machines",
        "# like the one that each was built on. `key` stands for all that determines a build.",
        f"format = {_BUILT_FORMAT}",
    ]
    for table in tables:
        lines += ["", "[[wheel]]"]
        lines += [f"{name} = {_toml_value(value)}" for name, value in table.items()]
    return "\n".join(lines) + "\n"


def _toml_value(value: Any) -> str:
    """Return a text, a list of texts or a table of texts in TOML.

    A text is written as in JSON, which TOML allows for all characters but DEL.
    """
    if isinstance(value, dict):
        pairs = [f"{_toml_value(key)} = {_toml_value(item)}" for key, item in value.items()]
        return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _sha256_of(path: str) -> str:
    """Return the sha256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(_BLOCK), b""):
            digest.update(chunk)
    return digest.hexdigest()
