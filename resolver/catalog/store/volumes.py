"""The folder of volumes: which exist, which is the latest, when several are merged."""

from __future__ import annotations

import os
import re
import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, chain, count
from pathlib import Path
from typing import Final

from resolver.catalog.store.volume import DATA, ROWS, Place, Volume

_NAME: Final = re.compile(r"(\d{10})-[0-9a-f]{16}")
_MOST: Final = 32  # each costs every run about 30 microseconds and two descriptors
_MOST_DEAD: Final = 128 << 20  # bytes of contents replaced by later ones
_LEFT: Final = 3600.0  # seconds after which contents without rows must be leftovers of a killed process
_TRIES: Final = 5


class Places:
    """The places of contents by name; of several, the last counts. One thread may put while others read."""

    def __init__(self, volumes: Sequence[Volume]) -> None:
        self._volumes = volumes
        self._rows = [volume.rows() for volume in volumes]
        self._starts = list(accumulate(map(len, self._rows), initial=0))  # the index of each volume's first row
        self._numbers: dict[bytes, int] = {}
        for rows, start in zip(self._rows, self._starts, strict=False):
            self._numbers.update(zip(rows.names(), count(start), strict=False))
        self._own: dict[bytes, Place] = {}

    def __contains__(self, name: bytes) -> bool:
        return name in self._own or name in self._numbers

    def get(self, name: bytes) -> Place | None:
        """The place of a content, or None."""
        own = self._own.get(name)
        if own is not None:
            return own
        number = self._numbers.get(name)
        return None if number is None else self._place(number)

    def values(self) -> Iterator[Place]:
        """The place of each content."""
        yield from self._own.values()
        yield from map(self._place, self._numbers.values())

    def size(self) -> int:
        """The size in bytes of all contents that have a place."""
        lengths = list(chain.from_iterable(rows.lengths() for rows in self._rows))
        own = sum(place.row.length for place in self._own.values())
        return own + sum(map(lengths.__getitem__, self._numbers.values()))

    def put(self, name: bytes, place: Place) -> None:
        """Set the place of a content."""
        self._own[name] = place
        self._numbers.pop(name, None)

    def forget(self, name: bytes) -> None:
        """Remove the place of a content."""
        self._own.pop(name, None)
        self._numbers.pop(name, None)

    def _place(self, number: int) -> Place:
        at = bisect_right(self._starts, number) - 1
        return Place(self._volumes[at], self._rows[at][number - self._starts[at]])


class Volumes:
    """The volumes in a folder, which need not exist."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)

    def __str__(self) -> str:
        return self._folder

    def places(self) -> Places:
        """The places of all present contents by name; later ones count."""
        return Places(self._open())

    def begin(self) -> Volume:
        """A new volume, after all others. Raises OSError."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)  # noqa: PTH103
        self._sweep()
        self._merge()
        return self._create()

    def _create(self) -> Volume:
        last = max((int(name[:10]) for name in self._names(ROWS)), default=0)
        return Volume.create(f"{self._folder}/{last + 1:010d}-{os.urandom(8).hex()}")

    def _open(self) -> list[Volume]:
        """All volumes, the latest last."""
        for tries_left in reversed(range(_TRIES)):
            volumes = []
            gone = False
            for name in sorted(self._names(ROWS)):
                try:
                    volumes.append(Volume.open(f"{self._folder}/{name}"))
                except FileNotFoundError:  # another process has just merged some
                    gone = True
                except OSError:
                    continue
            if not (gone and tries_left):
                break
        return volumes

    def _merge(self) -> None:
        """Merge many volumes into one, leaving out contents replaced by later ones."""
        volumes = self._open()
        places = Places(volumes)
        live = places.size()
        dead = sum(volume.size for volume in volumes) - live
        mostly_dead = dead > max(live, _MOST_DEAD)
        if len(volumes) <= _MOST and not mostly_dead:
            return
        ended = sorted((volume for volume in volumes if not volume.is_written()), key=lambda volume: volume.size)
        if not mostly_dead:
            ended = ended[: len(volumes) - _MOST // 2]  # the large ones are kept
        if len(ended) < 2:
            return
        merged = self._create()
        try:
            for place in places.values():
                content = place.content() if place.volume in ended else None
                if content is not None:
                    merged.append(place.row.name, place.row.seal, content)
        except OSError:
            merged.remove()
            return
        for volume in ended:
            volume.remove()

    def _sweep(self) -> None:
        """Remove leftovers of killed processes: rows without contents, and contents that never got rows."""
        data, rows = set(self._names(DATA)), set(self._names(ROWS))
        for name in rows - data:
            with suppress(OSError):
                os.unlink(f"{self._folder}/{name}{ROWS}")  # noqa: PTH108
        for name in data - rows:
            path = f"{self._folder}/{name}{DATA}"
            with suppress(OSError):
                if abs(time.time() - os.stat(path).st_mtime) > _LEFT:  # noqa: PTH116 -- a clock may have been set back
                    os.unlink(path)  # noqa: PTH108

    def _names(self, ending: str) -> list[str]:
        try:
            found = os.listdir(self._folder)  # noqa: PTH208
        except OSError:
            return []
        return [
            name[: -len(ending)] for name in found if name.endswith(ending) and _NAME.fullmatch(name[: -len(ending)])
        ]
