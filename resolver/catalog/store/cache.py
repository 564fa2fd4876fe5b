"""The cache on disk: checked entries that any number of processes share.

An entry is stored under the digest of its kind and key, with a seal (a checksum) over
key and content, so an entry that was truncated, altered or misplaced counts as absent. A process
reads the volumes that exist when it first asks, the latest last, and
writes to a volume of its own. A cache that cannot be written is not an error: there is one
warning, and the run continues without it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Final

from resolver.catalog.store.volume import Place, Volume, seal_of
from resolver.catalog.store.volumes import Places, Volumes

VARIABLE: Final = "ASCEND_LOCK_CACHE"

_VERSION = "v2"


def default_folder(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of the cache: ASCEND_LOCK_CACHE, otherwise below XDG_CACHE_HOME, ~/.cache, or /.cache."""
    environ = os.environ if environ is None else environ
    if own := environ.get(VARIABLE):
        return Path(own)
    # The XDG specification: "All paths must be absolute. If a relative path is set, it should be ignored."
    if (base := environ.get("XDG_CACHE_HOME", "")) and Path(base).is_absolute():
        return Path(base) / "ascend-lock"
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 -- Path.expanduser raises without a home
    # A user whom the system does not know has none, as in containers: `~` would be a folder here.
    return (home if home.is_absolute() else Path("/")) / ".cache" / "ascend-lock"


class Cache:
    """Bytes by kind and key. Safe for several threads and processes; never raises OSError.

    `warn` is called once if nothing can be written. With a `folder` of None nothing is cached.
    """

    def __init__(self, folder: Path | None, warn: Callable[[str], None]) -> None:
        self.folder = folder
        self._volumes = Volumes(folder / _VERSION) if folder is not None else None
        self._warn = warn
        self._writes = folder is not None
        self._known: Places | None = None
        self._own: Volume | None = None
        self._lock = threading.RLock()

    def get(self, kind: str, key: str) -> bytes | None:
        """The content that was put, or None."""
        name = _name(kind, key)
        place = self._places().get(name)
        if place is None:
            return None
        content = place.content()
        if content is None:
            self._places().forget(name)
            return None
        return content

    def has(self, kind: str, key: str) -> bool:
        """Whether there is an entry, intact or not."""
        return _name(kind, key) in self._places()

    def part(self, kind: str, key: str, seal: bytes) -> Callable[[int, int], bytes | None]:
        """A reader of pieces (offset, length) of the content with the seal returned by `put`; None if it is missing.

        The pieces are not checked. A length of 0 asks whether that offset is the end.
        """
        place = self._places().get(_name(kind, key))
        if place is None or place.row.seal != seal:
            return lambda offset, length: None  # noqa: ARG005
        volume, row = place.volume, place.row

        def read(offset: int, length: int) -> bytes | None:
            if not length:
                return b"" if offset == row.length else None
            return volume.read(row.offset + offset, length) if offset + length <= row.length else None

        return read

    def put(self, kind: str, key: str, content: bytes) -> bytes:
        """Store content, replacing any before it. Returns its seal."""
        name = _name(kind, key)
        seal = seal_of(name, content)
        if not self._writes:
            return seal
        known = self._places()
        place = known.get(name)
        if place is not None and place.row.seal == seal:
            return seal
        try:
            with self._lock:
                volume = self._volume()
                known.put(name, Place(volume, volume.append(name, seal, content)))
        except OSError as error:
            if self._writes:
                self._writes = False
                self._warn(
                    f"The cache in {self._volumes} is not writable ({error.strerror or error}); continuing without it."
                    f"\nhint: set {VARIABLE} to a folder that you can write to"
                )
        return seal

    def discard(self, kind: str, key: str) -> None:
        """Forget an entry, as this process will make it anew."""
        self._places().forget(_name(kind, key))

    def _places(self) -> Places:
        """The place of each content, by name."""
        if self._known is None:
            with self._lock:
                if self._known is None:
                    self._known = self._volumes.places() if self._volumes is not None else Places([])
        return self._known

    def _volume(self) -> Volume:
        """The volume of this process. Raises OSError."""
        if self._own is None:
            assert self._volumes is not None  # noqa: S101 -- else nothing is written
            self._own = self._volumes.begin()
        return self._own


def _name(kind: str, key: str) -> bytes:
    """The name of a content. Readers of a volume must not learn addresses. Names of one kind have the same prefix."""
    name = f"{kind}\0{key}".encode("utf-8", "surrogatepass")
    return kind_of(kind) + blake2b(name, digest_size=16).digest()


def kind_of(kind: str) -> bytes:
    """The prefix of all names of a kind."""
    return blake2b(kind.encode(), digest_size=4).digest()
