"""A project's releases in order, and sets of them as bit masks.

Bit i stands for the i-th newest release. The same specifiers of a project occur again and again, so each is turned
into a mask once. What a comparison admits (for `!=`: excludes) is contiguous in version order, so its mask is given
by two bounds, which are found by bisection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, overload

from packaging.specifiers import Specifier, SpecifierSet
from packaging.version import Version

from resolver.index.protocol import Lookup
from resolver.model import text
from resolver.model.release import Page


class Offer(NamedTuple):
    """A release on one index's page, by the text of its version there."""

    page: Page
    version: str


class Versions(Sequence[Version]):
    """Versions by their texts, each parsed when first needed: of thousands, a search needs a few."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    @overload
    def __getitem__(self, at: int) -> Version: ...
    @overload
    def __getitem__(self, at: slice) -> Versions: ...
    def __getitem__(self, at: int | slice) -> Version | Versions:
        if isinstance(at, slice):
            return Versions(self.texts[at])
        return text.version(self.texts[at]) or Version(self.texts[at])

    def __len__(self) -> int:
        return len(self.texts)


class Ordered:
    """All releases of one answer, newest first, independent of the target."""

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        self._offers: list[list[Offer]] | None = None  # None if they are those of the only page, in its order
        if len(lookup.pages) == 1 and lookup.pages[0].newest_first:
            texts = list(lookup.pages[0].releases)
        else:
            rows: dict[Version, list[Offer]] = {}
            for page in lookup.pages:
                for version_text in page.releases:
                    version = text.version(version_text)
                    if version is not None:
                        rows.setdefault(version, []).append(Offer(page, version_text))
            self._offers = [rows[version] for version in sorted(rows, reverse=True)]
            texts = [offers[0].version for offers in self._offers]
        self.versions = Versions(texts)
        self.all = (1 << len(texts)) - 1
        self.stable = self.all & ~self._prereleases(texts)
        self._masks: dict[str, int] = {}

    def offers(self, position: int) -> Sequence[Offer]:
        """The indexes that have the release at a position, in the order of the binding."""
        if self._offers is not None:
            return self._offers[position]
        return (Offer(self.lookup.pages[0], self.versions.texts[position]),)

    def position(self, version: Version) -> int | None:
        """The position of a version; None if there is no such release."""
        at = self._bisect(lambda one: one <= version)
        return at if at < len(self.versions) and self.versions[at] == version else None

    def mask(self, specifiers: SpecifierSet) -> int:
        """The releases admitted by a set of specifiers, including pre-releases."""
        key = str(specifiers)
        known = self._masks.get(key)
        if known is None:
            known = self.all
            for one in specifiers:
                known &= self._mask_of(one)
            self._masks[key] = known
        return known

    def _prereleases(self, texts: Sequence[str]) -> int:
        """The pre-releases. Versions of digits and dots, as most are, need not be parsed."""
        if "".join(texts).replace(".", "").isdecimal():
            return 0
        found = 0
        for position, one in enumerate(texts):
            if not one.replace(".", "").isdecimal() and self.versions[position].is_prerelease:
                found |= 1 << position
        return found

    def _mask_of(self, one: Specifier) -> int:
        key = str(one)
        known = self._masks.get(key)
        if known is None:
            known = self._masks[key] = self._compute(one)
        return known

    def _compute(self, one: Specifier) -> int:
        match one.operator:
            case ">=" | ">":
                return self._newer(lambda version: not one.contains(version, prereleases=True))
            case "<=" | "<":
                return self.all ^ self._newer(lambda version: one.contains(version, prereleases=True))
            case "==":
                return self._equal(one.version)
            case "!=":
                return self.all ^ self._equal(one.version)
            case "~=":  # PEP 440: `~= 2.2.1` is `>= 2.2.1, == 2.2.*`
                least = Version(one.version)
                return self._newer(lambda version: version < least) & self._line(least.epoch, least.release[:-1])
            case _:  # `===` compares texts, and a release has one
                same = text.version(one.version)
                position = None if same is None else self.position(same)
                if position is None or not one.contains(self.versions[position], prereleases=True):
                    return 0
                return 1 << position

    def _equal(self, wanted: str) -> int:
        if wanted.endswith(".*"):
            line = Version(wanted[:-2])
            return self._line(line.epoch, line.release)
        least = Version(wanted)
        if least.local is not None:
            position = self.position(least)
            return 0 if position is None else 1 << position
        # PEP 440: a local version is ignored unless the specifier has one, and sorts right after its public version
        return self._between(lambda version: version < least, lambda version: _public(version) <= least)

    def _line(self, epoch: int, release: tuple[int, ...]) -> int:
        """The releases of a series, as in `== 2.2.*`, including its pre-releases."""
        begin = epoch, release
        return self._between(
            lambda version: _line_of(version, len(release)) < begin,
            lambda version: _line_of(version, len(release)) <= begin,
        )

    def _between(self, before: Callable[[Version], bool], until: Callable[[Version], bool]) -> int:
        """The releases from the first that is not `before` up to the last for which `until` holds."""
        return self._newer(before) & ~self._newer(until)

    def _newer(self, after: Callable[[Version], bool]) -> int:
        """The releases newer than the first for which `after` holds, given that it holds for all older ones."""
        return (1 << self._bisect(after)) - 1

    def _bisect(self, after: Callable[[Version], bool]) -> int:
        """The first position at which `after` holds, given that it holds for all older releases."""
        low, high = 0, len(self.versions)
        while low < high:
            middle = (low + high) // 2
            if after(self.versions[middle]):
                high = middle
            else:
                low = middle + 1
        return low


def _public(version: Version) -> Version:
    """A version without its local part."""
    return version if version.local is None else Version(version.public)


def _line_of(version: Version, length: int) -> tuple[int, tuple[int, ...]]:
    """The epoch and so many numbers of a version."""
    return version.epoch, (*version.release, *(0,) * length)[:length]
