"""Which files of a release a target can use. Every file set aside leaves a reason."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from functools import lru_cache
from itertools import product

import msgspec
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from resolver.index.parse.address import NOWHERE
from resolver.index.parse.filename import WheelParts, wheel_parts
from resolver.index.parse.simple import moment
from resolver.model import text
from resolver.model.release import File, Reason, Rejection
from resolver.model.target import Target

_MOST_TAGS = 1000  # tags in a compressed tag set; pip would expand all of them


class CompatibleFiles(msgspec.Struct, frozen=True):
    """`wheels` best first, as pip prefers them; `archives` .tar.gz before .zip."""

    wheels: tuple[File, ...]
    archives: tuple[File, ...]
    rejections: tuple[Rejection, ...]


class Compatibility:
    """Checks files against one target and one cut-off."""

    def __init__(self, target: Target, exclude_newer: dt.datetime | None) -> None:
        self._target = target
        self._cutoff = exclude_newer
        self._pythons: dict[str, tuple[Reason, str] | None] = {}

    def __call__(self, files: tuple[File, ...]) -> CompatibleFiles:
        """Sort one release's files into usable and set aside. A yanked file stays usable here."""
        wheels: list[tuple[int, tuple[int, str], File]] = []
        archives: list[File] = []
        rejections: list[Rejection] = []
        listed = Counter(file.filename for file in files)
        contested = {name for name, times in listed.items() if times > 1} if len(listed) < len(files) else set()
        rejections += (Rejection(name, Reason.TWICE) for name in sorted(contested))
        for file in files:
            if file.filename in contested:
                continue
            reason, detail = self._refuse(file)
            if reason is None and file.is_wheel:
                parts = wheel_parts(file.filename)
                rank = None if parts is None else self._rank(parts)
                if parts is None or rank is None:
                    reason, detail = Reason.TAGS, "-".join(parts[3:]) if parts is not None else ""
                elif _is_valid(file.filename):
                    wheels.append((rank, parts.build or (0, ""), file))
                    continue
                else:
                    reason = Reason.NAME
            if reason is None:
                archives.append(file)
            else:
                rejections.append(Rejection(file.filename, reason, detail))
        # pip: the best tag wins, then the highest build tag
        wheels.sort(key=lambda row: (row[1], row[2].filename), reverse=True)
        wheels.sort(key=lambda row: row[0])
        archives.sort(key=lambda file: (not file.filename.endswith(".tar.gz"), file.filename))
        return CompatibleFiles(tuple(row[2] for row in wheels), tuple(archives), tuple(rejections))

    def python_refusal(self, requires_python: str) -> tuple[Reason, str] | None:
        """Why the target's Python is not in `requires_python`, with the specifics; None if it is."""
        if not requires_python:
            return None
        if requires_python not in self._pythons:
            self._pythons[requires_python] = self._refuse_python(requires_python)
        return self._pythons[requires_python]

    def _refuse_python(self, requires_python: str) -> tuple[Reason, str] | None:
        specifiers = text.pythons(requires_python)
        if specifiers is None:
            return Reason.PYTHON, f"Requires-Python `{requires_python}` cannot be read"
        pythons = self._target.pythons(requires_python)
        admitted = sum(specifiers.contains(python, prereleases=True) for python in pythons)
        if admitted == len(pythons):
            return None
        return Reason.PATCH if admitted else Reason.PYTHON, f"Requires-Python {requires_python}"

    def _refuse(self, file: File) -> tuple[Reason | None, str]:
        if file.url == NOWHERE:
            return Reason.ADDRESS, ""
        if (refusal := self.python_refusal(file.requires_python)) is not None:
            return refusal
        if self._cutoff is not None:
            uploaded = moment(file.uploaded)
            if uploaded is None:
                return Reason.NO_DATE, ""
            if uploaded >= self._cutoff:
                return Reason.NEWER, file.uploaded
        return None, ""

    def _rank(self, parts: WheelParts) -> int | None:
        """The rank of the best of a wheel's tags; None if the target accepts none."""
        tags = self._target.tags
        sets = parts.python.split("."), parts.abi.split("."), parts.platform.split(".")
        few = len(sets[0]) * len(sets[1]) * len(sets[2]) <= _MOST_TAGS
        ranks = [tags[tag] for one in product(*sets) if (tag := "-".join(one).lower()) in tags] if few else []
        return min(ranks, default=None)


@lru_cache(1 << 14)
def _is_valid(filename: str) -> bool:
    """Whether `packaging` accepts the name, as pip must. Cached, as files are checked for several Pythons."""
    try:
        parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return False
    return True
