"""The cache on disk: small checked files that any number of processes share.

An entry is its kind, key and content under one digest, so a truncated, altered
or misplaced file counts as absent. Writing goes through a temporary file and
`os.replace`. A cache that cannot be written is no error: one warning, and the
run goes on without.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Final

VARIABLE: Final = "ASCEND_LOCK_CACHE"

_VERSION = "v1"
_MAGIC = b"ascend-lock\x01"
_DIGEST = 16
_HEADER = len(_MAGIC) + _DIGEST
_STALE = 24 * 3600.0  # seconds after which a temporary file was left behind by a process that died


def default_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where the cache is: ASCEND_LOCK_CACHE, else below XDG_CACHE_HOME, else below ~/.cache."""
    environ = os.environ if environ is None else environ
    if own := environ.get(VARIABLE):
        return Path(own)
    # The XDG specification: "All paths must be absolute. If a relative path is set, it should be ignored."
    if (base := environ.get("XDG_CACHE_HOME", "")) and Path(base).is_absolute():
        return Path(base) / "ascend-lock"
    return Path(os.path.expanduser("~")) / ".cache" / "ascend-lock"  # noqa: PTH111 -- Path.expanduser raises without a home


class Cache:
    """Bytes by kind and key. Safe for several threads and processes; never raises OSError.

    `warn` is told once if nothing can be written. A `folder` of None caches nothing.
    """

    def __init__(self, folder: Path | None, warn: Callable[[str], None]) -> None:
        self._folder = str(folder / _VERSION) if folder is not None else None
        self._warn = warn
        self._writes = folder is not None
        self._swept = False

    def get(self, kind: str, key: str) -> bytes | None:
        """The content that was put, or None."""
        if self._folder is None:
            return None
        name, path = self._place(kind, key)
        try:
            with open(path, "rb") as file:  # noqa: PTH123 -- read for every project of a lock; Path costs more than the read
                stored = file.read()
        except (OSError, ValueError):
            return None
        content = memoryview(stored)[_HEADER:]
        if stored[:_HEADER] != _MAGIC + _seal(name, content):
            return None
        return bytes(content)

    def has(self, kind: str, key: str) -> bool:
        """Whether something was put, be it whole or not."""
        return self._folder is not None and os.path.exists(self._place(kind, key)[1])  # noqa: PTH110

    def part(self, kind: str, key: str) -> Callable[[int, int], bytes | None]:
        """Reads pieces of a content: offset, length. What it answers is not checked; None where it is not all there."""
        if self._folder is None:
            return lambda offset, length: None  # noqa: ARG005
        _, path = self._place(kind, key)

        def read(offset: int, length: int) -> bytes | None:
            try:
                descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
                try:
                    if not length:
                        return b"" if os.fstat(descriptor).st_size == _HEADER + offset else None
                    os.lseek(descriptor, _HEADER + offset, os.SEEK_SET)
                    piece = os.read(descriptor, length)
                finally:
                    os.close(descriptor)
            except OSError:
                return None
            return piece if len(piece) == length else None

        return read

    def put(self, kind: str, key: str, content: bytes) -> None:
        """Store content, replacing what was there."""
        if not self._writes or self._folder is None:
            return
        name, path = self._place(kind, key)
        temporary = f"{self._folder}/unfinished/{os.getpid()}-{os.urandom(8).hex()}"
        try:
            if not self._swept:
                self._sweep(f"{self._folder}/unfinished")
            with open(temporary, "xb") as file:  # noqa: PTH123
                file.write(_MAGIC + _seal(name, content))
                file.write(content)
            try:
                os.replace(temporary, path)  # noqa: PTH105
            except FileNotFoundError:
                os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
                os.replace(temporary, path)  # noqa: PTH105
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108
            if self._writes:
                self._writes = False
                self._warn(
                    f"The cache in {self._folder} cannot be written ({error.strerror or error}); going on without."
                    f"\nhint: set {VARIABLE} to a folder of yours"
                )

    def discard(self, kind: str, key: str) -> None:
        """Forget what was put."""
        if self._folder is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._place(kind, key)[1])  # noqa: PTH108

    def _place(self, kind: str, key: str) -> tuple[bytes, str]:
        name = f"{kind}\0{key}".encode("utf-8", "surrogatepass")
        digest = blake2b(name, digest_size=20).hexdigest()
        return name, f"{self._folder}/{kind}/{digest[:2]}/{digest[2:]}"

    def _sweep(self, folder: str) -> None:
        """Make the folder of unfinished entries; remove those that processes left behind when killed."""
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
        self._swept = True
        now = time.time()
        with os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if abs(now - entry.stat().st_mtime) > _STALE:  # a clock that was put back leaves files of tomorrow
                        os.unlink(entry.path)  # noqa: PTH108


def _seal(name: bytes, content: bytes | memoryview) -> bytes:
    """A digest over kind, key and content; it guards against accidents, not against who can write the folder."""
    digest = blake2b(len(name).to_bytes(4, "big"), digest_size=_DIGEST)
    digest.update(name)
    digest.update(content)
    return digest.digest()
