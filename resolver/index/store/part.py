"""An incomplete file: what was received so far, with its digest, beside its final place."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from resolver.model.release import File

ENDING: Final = ".part"
_CHUNK: Final = 1 << 20


def part_path(file: File, folder: Path) -> Path:
    """The path of a part. Its name says of which content it is, so that no file is continued with bytes of another."""
    return folder / f"{file.filename}.{file.sha256[:16]}{ENDING}"


class Part:
    """An existing part is read once, for the digest. `mixed`: it is from more than one answer."""

    def __init__(self, file: File, folder: Path) -> None:
        self.path = part_path(file, folder)
        self._final = folder / file.filename
        if self.path.is_symlink():
            self.path.unlink()  # what it leads to is not ours to write
        self._handle = self.path.open("a+b")
        self._digest = hashlib.sha256()
        self.size = 0
        self._handle.seek(0)
        while chunk := self._handle.read(_CHUNK):
            self._digest.update(chunk)
            self.size += len(chunk)
        self.mixed = self.size > 0

    @property
    def sha256(self) -> str:
        """The digest of what was received so far."""
        return self._digest.hexdigest()

    def write(self, chunk: bytes) -> None:
        """Append. If the process is killed, everything written is kept."""
        self._handle.write(chunk)
        self._handle.flush()
        self._digest.update(chunk)
        self.size += len(chunk)

    def restart(self) -> None:
        """Discard what was received."""
        self._handle.seek(0)
        self._handle.truncate()
        self._digest = hashlib.sha256()
        self.size = 0
        self.mixed = False

    def finish(self) -> None:
        """It is complete: give it its name."""
        os.fsync(self._handle.fileno())
        self._handle.close()
        self.path.replace(self._final)

    def remove(self) -> None:
        """It is useless: remove it."""
        with suppress(OSError):  # a full disk refuses what is buffered once more
            self._handle.close()
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Keep it for the next run, unless it is empty."""
        if not self._handle.closed:
            self._handle.close()
            if not self.size:
                self.path.unlink(missing_ok=True)
