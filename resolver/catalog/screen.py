"""Which files of a release a target can use. Every file set aside leaves a reason."""

from __future__ import annotations

import datetime as dt
import re
from functools import lru_cache
from itertools import product

import msgspec
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from resolver.catalog.filename import wheel_parts
from resolver.model import text
from resolver.model.release import File, Reason, SetAside
from resolver.model.target import Target

_RFC3339 = re.compile(
    r"(?P<moment>\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d+))?(?P<zone>[Zz]|[+-]\d\d:\d\d)?", re.ASCII
)
_MOST_TAGS = 1000  # that a file's name may stand for; pip would build every one of them


class Screened(msgspec.Struct, frozen=True):
    """`wheels` best first, as pip prefers them; `archives` .tar.gz before .zip."""

    wheels: tuple[File, ...]
    archives: tuple[File, ...]
    set_aside: tuple[SetAside, ...]


class Screen:
    """Holds files against one target and one cut-off."""

    def __init__(self, target: Target, exclude_newer: dt.datetime | None) -> None:
        self._target = target
        self._cutoff = exclude_newer
        self._ranks: dict[tuple[str, str, str], int | None] = {}
        self._pythons: dict[str, str] = {}

    def __call__(self, files: tuple[File, ...]) -> Screened:
        """Sort one release's files into usable and set aside. A yanked file stays usable here."""
        wheels: list[tuple[int, tuple[int, str], File]] = []
        archives: list[File] = []
        set_aside: list[SetAside] = []
        for file in files:
            reason, detail = self._refuse(file)
            if reason is None and file.is_wheel:
                parts = wheel_parts(file.filename)
                rank = self._rank(parts[3], parts[4], parts[5]) if parts else None
                if parts and rank is not None and not _is_valid(file.filename):
                    set_aside.append(SetAside(file.filename, Reason.NAME))
                    continue
                if parts and rank is not None:
                    wheels.append((rank, parts[2] or (0, ""), file))
                    continue
                reason, detail = Reason.TAGS, "-".join(parts[3:]) if parts else ""
            if reason is None:
                archives.append(file)
            else:
                set_aside.append(SetAside(file.filename, reason, detail))
        # pip: the best tag wins, then the highest build tag
        wheels.sort(key=lambda row: (row[1], row[2].filename), reverse=True)
        wheels.sort(key=lambda row: row[0])
        archives.sort(key=lambda file: (not file.filename.endswith(".tar.gz"), file.filename))
        return Screened(tuple(row[2] for row in wheels), tuple(archives), tuple(set_aside))

    def python_refusal(self, requires_python: str) -> str:
        """Why the target's Python is not in `requires_python`; empty where it is."""
        if not requires_python:
            return ""
        known = self._pythons.get(requires_python)
        if known is None:
            specifiers = text.specifiers(requires_python)
            if specifiers is None:
                known = f"Requires-Python `{requires_python}` cannot be read"
            elif specifiers.contains(self._target.python_full, prereleases=True):
                known = ""
            else:
                known = f"Requires-Python {requires_python}"
            self._pythons[requires_python] = known
        return known

    def _refuse(self, file: File) -> tuple[Reason | None, str]:
        if refusal := self.python_refusal(file.requires_python):
            return Reason.PYTHON, refusal
        if self._cutoff is not None:
            uploaded = _moment(file.uploaded)
            if uploaded is None:
                return Reason.NO_DATE, ""
            if uploaded >= self._cutoff:
                return Reason.NEWER, file.uploaded
        return None, ""

    def _rank(self, python: str, abi: str, platform: str) -> int | None:
        key = (python, abi, platform)
        if key not in self._ranks:
            tags = self._target.tags
            sets = python.split("."), abi.split("."), platform.split(".")
            few = len(sets[0]) * len(sets[1]) * len(sets[2]) <= _MOST_TAGS
            ranks = [tags[tag] for one in product(*sets) if (tag := "-".join(one).lower()) in tags] if few else []
            self._ranks[key] = min(ranks, default=None)
        return self._ranks[key]


def _is_valid(filename: str) -> bool:
    """Whether `packaging` reads the name, as pip will have to."""
    try:
        parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return False
    return True


@lru_cache(1 << 16)
def _moment(uploaded: str) -> dt.datetime | None:
    """An upload time of a page (RFC 3339, PEP 700); None where it is not one."""
    match = _RFC3339.fullmatch(uploaded)
    if match is None:
        return None
    # Python 3.10 reads microseconds and nothing longer
    fraction = f".{match['fraction'][:6]:0<6}" if match["fraction"] else ""
    zone = match["zone"] if match["zone"] not in (None, "", "Z", "z") else "+00:00"
    try:
        moment = dt.datetime.fromisoformat(f"{match['moment']}{fraction}{zone}")
    except ValueError:
        return None
    return moment
