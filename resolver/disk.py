"""Files of this machine, which others may have changed: read where they are files, written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

MIB: Final = 1 << 20


def read(path: Path, limit: int) -> bytes:
    """What is in a file of at most `limit` bytes; raises OSError, for a larger one and for a pipe or device, too."""
    # a pipe would be waited for by who opens it otherwise
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is no plain file")
    with os.fdopen(handle, "rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {limit // MIB} MiB")
    return content


def read_text(path: Path, limit: int) -> str:
    """The same as text, each line with the end that Python writes; raises UnicodeDecodeError where it is not UTF-8."""
    return read(path, limit).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def write(path: Path, content: bytes) -> None:
    """Put a file in place, whole or not at all; raises OSError.

    It grows beside its place, under one name: what a killed run left there goes, and a link there is not followed.
    """
    fresh = path.with_name(f".{path.name}.partial")
    try:
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), "wb") as file:
            file.write(content)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
