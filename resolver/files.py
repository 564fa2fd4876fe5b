"""Access to files: only regular files of limited size are read, files are written atomically, and JSON in one way.

ruff's rule TID251 forbids other writers of JSON, unless a comment says why they are harmless.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Final

from resolver.errors import InputError
from resolver.owned_folder import OwnedFolder

MIB: Final = 1 << 20
LARGEST: Final = 64 * MIB  # of files that this program writes
_TOO_MANY: Final = frozenset({errno.EMFILE, errno.ENFILE})
_ADVICE: Final = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EACCES: "check the permissions there",
    errno.EPERM: "check the permissions there",
    errno.ELOOP: "put a folder in the place of the link",
    errno.EBUSY: "unmount it",
}


def is_limit(number: int | None) -> bool:
    """Whether an errno is about the limit of open files, not about a file."""
    return number in _TOO_MANY


def advice(number: int | None, otherwise: str = "") -> str:
    """What to do about an errno, `or` also `otherwise`; "" if neither is known."""
    if is_limit(number):
        return "allow more open files: `ulimit -n 1024`"
    return " or ".join(filter(None, (_ADVICE.get(number or 0), otherwise)))


def input_error(
    error: Exception, message: str, where: Path | str, otherwise: str = ""
) -> InputError:
    """The error to raise if a file cannot be read, written or used; `otherwise` says what can be done instead."""
    why = getattr(error, "strerror", None) or str(error)
    return InputError(
        message, where=str(where), why=why, hint=advice(getattr(error, "errno", None), otherwise)
    )


def is_special(path: Path) -> bool:
    """Whether the path is a pipe, socket or device other than os.devnull, which a reader might wait for forever."""
    try:
        mode = path.stat().st_mode
        return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or path.samefile(os.devnull))
    except OSError:
        return False


def read(path: Path | str, limit: int = LARGEST) -> bytes:
    """The content of a file of at most `limit` bytes; raises OSError, also for a larger file, a pipe or a device."""
    # without O_NONBLOCK, opening a pipe waits for a writer
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a regular file")
    with os.fdopen(handle, "rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {limit // MIB} MiB")
    return content


def read_text(path: Path, limit: int = LARGEST) -> str:
    """The same as text with universal newlines; raises UnicodeDecodeError if it is not UTF-8."""
    return read(path, limit).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def list_files(folder: Path, ending: str) -> list[Path]:
    """The files in a folder whose names end so, sorted; none if there is no folder.

    Hidden ones are left out: macOS copies a file `a` with a `._a` beside it, and editors keep a
    `.#a`. Raises OSError if the folder cannot be listed, which `Path.glob` takes for an empty one.
    """
    try:
        names = os.listdir(folder)  # noqa: PTH208 -- all before the first
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [folder / name for name in sorted(names) if name.endswith(ending) and name[0] != "."]


def write(path: Path, content: bytes) -> None:
    """Write a file atomically, even if the power fails; raises OSError that names the file itself.

    It is written under a temporary name in the same folder, see `OwnedFolder.writing`. The file
    before keeps its content until the new one is complete, and its permissions go over to the new
    one.
    """
    try:
        with OwnedFolder.open(path.parent) as folder:
            folder.write(path.name, content)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def write_output(path: Path, text: str) -> None:
    """Write what a user wants to have at a path: atomically in the place of a file, and into a pipe or a device.

    A link stays, and what it leads to is written. Raises OSError that names the path.
    """
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    else:
        write(path.resolve(), text.encode())


def json_text(value: object, *, indent: int | None = 2, sort_keys: bool = True) -> str:
    """A value as JSON in which all characters are escaped that do not print, and no others.

    JSON itself requires that only of C0, not of C1, bidirectional marks and line separators. Keys
    that are not sorted must have a defined order, such as that of a struct's fields.
    """
    text = json.dumps(value, indent=indent, sort_keys=sort_keys, ensure_ascii=False)  # noqa: TID251
    controls = {char for char in set(text) if not char.isprintable()} - {"\n"}
    return text.translate({ord(char): json.dumps(char)[1:-1] for char in controls})  # noqa: TID251


def digest(value: object) -> str:
    """The sha256 of a value, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()  # noqa: TID251
