"""Functions that read files of limited size, write files atomically, and write JSON.

ruff's rule TID251 forbids other writers of JSON, unless a comment says why they are harmless.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
from codecs import BOM_UTF8
from pathlib import Path
from typing import Final

from resolver.errors import InputError
from resolver.owned_folder import OwnedFolder
from resolver.phrase import EMPTY, Phrase, cause, phrase

MIB: Final = 1 << 20
# The largest file that this program writes, in bytes. It reads no larger ones by default.
LARGEST: Final = 64 * MIB
# The errors of too many open files.
_TOO_MANY: Final = frozenset({errno.EMFILE, errno.ENFILE})
# What a user can do about an error.
_ADVICE: Final = {
    errno.ENOSPC: phrase("free some space"),
    errno.EDQUOT: phrase("free some space"),
    errno.EACCES: phrase("check the permissions there"),
    errno.EPERM: phrase("check the permissions there"),
    errno.ELOOP: phrase("put a folder in the place of the link"),
    errno.EBUSY: phrase("unmount it"),
}


def is_limit(number: int | None) -> bool:
    """Return whether an errno means that too many files are open."""
    return number in _TOO_MANY


def advice(number: int | None, otherwise: Phrase = EMPTY) -> Phrase:
    """Return a hint for an errno: what the user can do about it.

    `otherwise` is something else that the user can do. It is appended to the hint, or returned
    alone if there is no hint for the errno. Empty if there is neither.
    """
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

    `error` is the cause. `otherwise` is a hint, which is joined with the hint for an OSError.
    """
    hint = advice(error.errno, otherwise) if isinstance(error, OSError) else otherwise
    return InputError(message, where=str(where), why=cause(error), hint=hint)


def is_special(path: Path) -> bool:
    """Return whether a path is a pipe, a socket or a device.

    A reader of such a file might wait forever. The result is False for os.devnull, and for a path
    that does not exist.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            return False
        return not path.samefile(os.devnull)
    except OSError:
        return False


def read(path: Path | str, limit: int = LARGEST) -> bytes:
    """Return the content of a regular file.

    Raises OSError if the file cannot be read, is not a regular file, or has more than `limit`
    bytes.
    """
    # Without O_NONBLOCK, opening a pipe would wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        # `read(limit)` would allocate a buffer as large as the limit.
        content = file.read(min(status.st_size, limit) + 1)
        content += file.read(limit + 1 - len(content))
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {limit // MIB} MiB")
    return content


def read_text(path: Path, limit: int = LARGEST) -> str:
    r"""Return the text of a file. All line ends become `\n`.

    Raises what `read` raises, and UnicodeDecodeError if the file is not UTF-8.
    """
    return read(path, limit).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def encoded_like(original: bytes, text: str) -> bytes:
    """Return a text as UTF-8, with the byte order mark and the line ends of the original.

    Editors on Windows write both. The first line decides for all.
    """
    first_line = original.partition(b"\n")[0]
    if first_line.endswith(b"\r"):
        text = text.replace("\n", "\r\n")
    mark = BOM_UTF8 if original.startswith(BOM_UTF8) else b""
    return mark + text.encode()


def list_files(folder: Path, ending: str) -> list[Path]:
    """Return the paths in a folder whose names end with `ending`, sorted.

    There are none if the folder does not exist. Hidden files are left out: macOS writes a file
    `._a` beside a copied file `a`, and editors write `.#a`. Raises OSError if the folder cannot be
    listed; `Path.glob` would return nothing.
    """
    try:
        names = os.listdir(folder)  # noqa: PTH208 -- Path.iterdir raises only when it is iterated
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [folder / name for name in sorted(names) if name.endswith(ending) and name[0] != "."]


def write(path: Path, content: bytes) -> None:
    """Write a file atomically, even if the power fails.

    It is written under a temporary name in the same folder (see `OwnedFolder.writing`). A file that
    it replaces keeps its content until the new file is complete. The new file has the permissions
    of the file that it replaces. Raises OSError with the path of the file.
    """
    try:
        with OwnedFolder.open(path.parent) as folder:
            folder.write(path.name, content)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def write_below(root: Path, name: str, content: bytes) -> None:
    """Write a file below the folder `root` atomically, and make missing folders between them.

    `name` is relative to `root`. Links in the path of `root` are followed, since a user wrote it.
    Links below `root` are not followed. Raises OSError with the path of the file, also for a name
    that leads out of `root`.
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
    """Remove a file below the folder `root`, if it exists.

    `name` is relative to `root`, below which no link is followed. Raises OSError.
    """
    with contextlib.suppress(FileNotFoundError), OwnedFolder.open(root) as folder:
        folder.remove(name)


def write_output(path: Path, text: str) -> None:
    """Write a text to a path that a user chose for an output.

    A file is replaced atomically. A pipe or a device is written to. For a link, its target is
    written, and the link stays. Raises OSError with the path.
    """
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    else:
        write(path.resolve(), text.encode())


def json_text(value: object, *, indent: int | None = 2, sort_keys: bool = True) -> str:
    """Return a value as JSON in which all characters that do not print are escaped.

    JSON itself requires this of C0 control characters, but not of C1 control characters,
    bidirectional marks and line separators. All other characters are not escaped. Without
    `sort_keys`, the keys must already be in a fixed order, such as the order of struct fields.
    """
    text = json.dumps(value, indent=indent, sort_keys=sort_keys, ensure_ascii=False)  # noqa: TID251
    escapes = {}
    for char in set(text):
        if char != "\n" and not char.isprintable():
            escapes[ord(char)] = json.dumps(char)[1:-1]  # noqa: TID251
    return text.translate(escapes)


def sha256(content: bytes) -> str:
    """Return the sha256 of a content, in hex."""
    return hashlib.sha256(content).hexdigest()


def digest(value: object) -> str:
    """Return the sha256 of a value as JSON, in hex. The order of keys makes no difference."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()  # noqa: TID251
