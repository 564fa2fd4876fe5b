"""Files of a limited size, read and written atomically, and the JSON in them.

ruff's rule TID251 forbids other writers of JSON, unless a comment says why they are harmless.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Final

from resolver.errors import InputError
from resolver.owned_folder import OwnedFolder
from resolver.phrase import EMPTY, Phrase, cause, phrase

MIB: Final = 1 << 20
# The largest file that this program writes, in bytes.
LARGEST: Final = 64 * MIB
_TOO_MANY: Final = frozenset({errno.EMFILE, errno.ENFILE})
_ADVICE: Final = {
    errno.ENOSPC: phrase("free some space"),
    errno.EDQUOT: phrase("free some space"),
    errno.EACCES: phrase("check the permissions there"),
    errno.EPERM: phrase("check the permissions there"),
    errno.ELOOP: phrase("put a folder in the place of the link"),
    errno.EBUSY: phrase("unmount it"),
}


def is_limit(number: int | None) -> bool:
    """Return whether an errno is about the limit of open files, not about a file."""
    return number in _TOO_MANY


def advice(number: int | None, otherwise: Phrase = EMPTY) -> Phrase:
    """Return what to do about an errno, or `otherwise`, or both; empty if there is neither."""
    if is_limit(number):
        return phrase("allow more open files: `ulimit -n 1024`")
    known = _ADVICE.get(number or 0, EMPTY)
    if known and otherwise:
        return phrase("{advice} or {otherwise}", advice=known, otherwise=otherwise)
    return known or otherwise


def input_error(
    error: Exception, message: Phrase, where: Path | str, otherwise: Phrase = EMPTY
) -> InputError:
    """Return the error to raise if a file cannot be read, written or used.

    `otherwise` says what can be done instead.
    """
    hint = advice(error.errno, otherwise) if isinstance(error, OSError) else otherwise
    return InputError(message, where=str(where), why=cause(error), hint=hint)


def is_special(path: Path) -> bool:
    """Return whether a path is a pipe, socket or device, for which a reader might wait forever.

    os.devnull is none.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            return False
        return not path.samefile(os.devnull)
    except OSError:
        return False


def read(path: Path | str, limit: int = LARGEST) -> bytes:
    """Return the content of a regular file of at most `limit` bytes.

    Raises OSError, also for anything else.
    """
    # without O_NONBLOCK, opening a pipe waits for a writer
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        # A buffer as large as the limit would be allocated at once.
        content = file.read(min(status.st_size, limit) + 1)
        content += file.read(limit + 1 - len(content))
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {limit // MIB} MiB")
    return content


def read_text(path: Path, limit: int = LARGEST) -> str:
    """Return the text of a file with universal newlines.

    Raises what `read` raises, and UnicodeDecodeError if it is not UTF-8.
    """
    return read(path, limit).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def list_files(folder: Path, ending: str) -> list[Path]:
    """Return the files in a folder whose names have an ending, sorted; none if it does not exist.

    Hidden files are left out: macOS copies a file `a` with a `._a` beside it, and editors keep a
    `.#a`. Raises OSError if the folder cannot be listed, which `Path.glob` takes for an empty one.
    """
    try:
        names = os.listdir(folder)  # noqa: PTH208 -- Path.iterdir raises only when it is iterated
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [folder / name for name in sorted(names) if name.endswith(ending) and name[0] != "."]


def write(path: Path, content: bytes) -> None:
    """Write a file atomically, even if the power fails. Raises OSError that names the file itself.

    It is written under a temporary name in the same folder, see `OwnedFolder.writing`. A file that
    it replaces keeps its content until the new one is complete, and passes on its permissions.
    """
    try:
        with OwnedFolder.open(path.parent) as folder:
            folder.write(path.name, content)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def write_below(root: Path, name: str, content: bytes) -> None:
    """Write a file below a folder as `write` does. Its missing folders are made.

    Links in the path of `root` are followed, as a user names it; below it none is. Raises OSError
    that names the file, also for a name that leads out of `root`.
    """
    try:
        with OwnedFolder.open(root) as folder:
            outer, _, _ = name.rpartition("/")
            if outer:
                folder.folder(outer, make=True).close()
            folder.write(name, content)
    except ValueError:
        raise OSError(errno.EINVAL, "it leads out of the folder", str(root / name)) from None
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(root / name)) from error


def remove_below(root: Path, name: str) -> None:
    """Remove a file below a folder if it is there, following no link below it. Raises OSError."""
    with contextlib.suppress(FileNotFoundError), OwnedFolder.open(root) as folder:
        folder.remove(name)


def write_output(path: Path, text: str) -> None:
    """Write a text where a user wants to have it. Raises OSError that names the path.

    A file is replaced atomically; a pipe or a device is written to. A link stays, and its target is
    written.
    """
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    else:
        write(path.resolve(), text.encode())


def json_text(value: object, *, indent: int | None = 2, sort_keys: bool = True) -> str:
    """Return a value as JSON with only the characters escaped that do not print.

    JSON itself requires it of C0, but not of C1, bidirectional marks and line separators. Keys that
    are not sorted must have a defined order, such as the order of a struct's fields.
    """
    text = json.dumps(value, indent=indent, sort_keys=sort_keys, ensure_ascii=False)  # noqa: TID251
    escapes = {}
    for char in set(text):
        if char != "\n" and not char.isprintable():
            escapes[ord(char)] = json.dumps(char)[1:-1]  # noqa: TID251
    return text.translate(escapes)


def digest(value: object) -> str:
    """Return the sha256 of a value as JSON, which does not depend on the order of keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()  # noqa: TID251
