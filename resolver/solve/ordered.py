"""A project's releases in order, and sets of them as bit masks.

Bit i stands for the i-th newest release. Specifiers come again and again for
the same project, so each is turned into a mask once; and as every comparison
is monotone in the version order, its mask is two bounds found by bisection.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from packaging.specifiers import Specifier, SpecifierSet
from packaging.version import Version

from resolver.catalog.protocol import Lookup
from resolver.model import text
from resolver.model.release import Page
from resolver.profile import counts


class Offer(NamedTuple):
    """A release on one index's page, by the text of its version there."""

    page: Page
    version: str


class Ordered:
    """All releases of one answer, newest first, whatever the target: they are the same for each."""

    @counts("versions")
    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        rows: dict[Version, list[Offer]] = {}
        for page in lookup.pages:
            for version_text in page.releases:
                version = text.version(version_text)
                if version is not None:
                    rows.setdefault(version, []).append(Offer(page, version_text))
        self.versions: list[Version] = sorted(rows, reverse=True)
        self.offers = [rows[version] for version in self.versions]
        self.positions = {version: position for position, version in enumerate(self.versions)}
        self.all = (1 << len(self.versions)) - 1
        self.stable = self.all & ~self._prereleases()
        self._masks: dict[str, int] = {}

    def mask(self, specifiers: SpecifierSet) -> int:
        """The releases in a set of specifiers, pre-releases among them."""
        key = str(specifiers)
        known = self._masks.get(key)
        if known is None:
            known = self.all
            for one in specifiers:
                known &= self._mask_of(one)
            self._masks[key] = known
        return known

    def _prereleases(self) -> int:
        """The pre-releases. Where all texts are digits and dots, as they mostly are, there are none."""
        if all("".join(page.releases).replace(".", "").isdecimal() for page in self.lookup.pages):
            return 0
        return sum(1 << at for at, version in enumerate(self.versions) if version.is_prerelease)

    def _mask_of(self, one: Specifier) -> int:
        key = str(one)
        known = self._masks.get(key)
        if known is None:
            known = self._masks[key] = self._compute(one)
        return known

    @counts("versions")
    def _compute(self, one: Specifier) -> int:
        if one.operator in (">=", ">"):
            return (1 << self._bisect(lambda version: not one.contains(version, prereleases=True))) - 1
        if one.operator in ("<=", "<"):
            return self.all ^ ((1 << self._bisect(lambda version: one.contains(version, prereleases=True))) - 1)
        return sum(1 << at for at, version in enumerate(self.versions) if one.contains(version, prereleases=True))

    def _bisect(self, after: Callable[[Version], bool]) -> int:
        """The first position at which `after` holds; it holds for all older ones."""
        low, high = 0, len(self.versions)
        while low < high:
            middle = (low + high) // 2
            if after(self.versions[middle]):
                high = middle
            else:
                low = middle + 1
        return low
