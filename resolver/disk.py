"""Files of this machine, which others may have changed: read where they are files, written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from pathlib import Path
from typing import Final

MIB: Final = 1 << 20
_TOO_MANY: Final = frozenset({errno.EMFILE, errno.ENFILE})


def advice(number: int | None) -> str:
    """What to do about an errno, where a limit of this machine is behind it and no file is to blame; "" else."""
    return "allow more open files: `ulimit -n 1024`" if number in _TOO_MANY else ""


def require_spare(count: int) -> None:
    """Raise OSError where so many files cannot be opened beside those that are, as libraries tell of that late."""
    with contextlib.ExitStack() as opened:
        for _ in range(count):
            opened.callback(os.close, os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))


def is_special(path: Path) -> bool:
    """Whether there is a pipe, socket or device, which who reads it may wait for, or read for ever: not os.devnull."""
    try:
        mode = path.stat().st_mode
        return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or path.samefile(os.devnull))
    except OSError:
        return False


def read(path: Path | str, limit: int) -> bytes:
    """What is in a file of at most `limit` bytes; raises OSError, for a larger one and for a pipe or device, too."""
    # a pipe would be waited for by who opens it otherwise
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a regular file")
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

    It grows beside its place, under one name: what a killed run left there is written over, who writes at the same
    time waits, and a link there is not followed. An error names the file, whatever it came of.
    """
    try:
        _write(path, content)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def _write(path: Path, content: bytes) -> None:
    fresh = path.with_name(f".{path.name}.partial")
    while True:
        with os.fdopen(_begun(fresh), "wb") as file:
            with contextlib.suppress(OSError):  # not every file system can
                fcntl.flock(file, fcntl.LOCK_EX)
            if not _is_at(fresh, file.fileno()):
                continue  # another run has put it in place meanwhile
            try:
                file.truncate(0)
                file.write(content)
                file.flush()
                fresh.replace(path)
            except BaseException:
                fresh.unlink(missing_ok=True)
                raise
            return


def _begun(fresh: Path) -> int:
    """A file of ours, or of a run that writes at the same time; what else is there goes."""
    while True:
        try:
            handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENXIO):  # a link, and a pipe that nobody reads
                raise
        else:
            if stat.S_ISREG(os.fstat(handle).st_mode):
                return handle
            os.close(handle)
        fresh.unlink(missing_ok=True)


def _is_at(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(handle))
    except FileNotFoundError:
        return False
