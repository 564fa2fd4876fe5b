"""A temporary folder that does not outlive its process for long, however that ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Final

_PREFIX: Final = ".ascend-lock-"


class Scratch:
    """A folder below `within` (default: TMPDIR) that `close` removes. Raises OSError if it cannot be created.

    The process holds a lock on it, which the kernel releases when the process ends: `sweep` removes folders whose
    lock nobody holds.
    """

    def __init__(self, within: Path | None = None) -> None:
        self._handle = -1
        while self._handle < 0:
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=within))
            self._handle = _hold(self.path, wait=True)  # -1 if another process's sweep was faster

    def close(self) -> None:
        """Remove the folder with its contents."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __enter__(self) -> Path:
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def sweep(within: Path | None = None) -> None:
    """Remove this user's folders that no process holds, so that downloads of killed runs do not stay for ever."""
    with contextlib.suppress(OSError), os.scandir(within or tempfile.gettempdir()) as entries:
        for entry in entries:
            if not entry.name.startswith(_PREFIX):
                continue
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.getuid():
                    path = Path(entry.path)
                    handle = _hold(path, wait=False)
                    if handle >= 0:
                        shutil.rmtree(path, ignore_errors=True)
                        os.close(handle)


def _hold(path: Path, *, wait: bool) -> int:
    """A descriptor that holds the folder's lock; -1 if the folder is gone or, without `wait`, is locked already."""
    handle = -1
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            if not wait:  # held, or a file system without locks, where one cannot tell
                raise
        if os.path.samestat(os.fstat(handle), path.stat()):
            return handle
    except (FileNotFoundError, BlockingIOError):
        pass
    except OSError:
        if handle >= 0:
            os.close(handle)
        raise
    if handle >= 0:
        os.close(handle)
    return -1
