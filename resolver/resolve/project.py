"""A project's releases, newest first: as bit masks what requirements admit; for one target, which of them are usable.

Bit i of a mask stands for the i-th newest release. What a comparison admits (for `!=`: excludes) is
contiguous in version order, so its mask is given by two bounds, which are found by bisection, once
for each specifier.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import reduce
from operator import and_, or_
from types import MappingProxyType
from typing import NamedTuple

from packaging.specifiers import Specifier, SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.index.parse.distribution import Compatibility, label_of, upload_time
from resolver.index.protocol import Lookup
from resolver.model import text
from resolver.model.dependency import Allows, ReleaseMask
from resolver.model.fact import Builds, Excludes, Fact, FactKind, Names, Sources, Warns, is_put_last
from resolver.model.message import message
from resolver.model.release import File, Page, Rejection, RejectionReason, Release, Source
from resolver.model.requirement import Value
from resolver.model.variant import Variant, VariantTable, variant_of


class IndexRelease(NamedTuple):
    """A release on one index's page, by the text of its version there."""

    page: Page
    version: str

    @property
    def files(self) -> tuple[File, ...]:
        """Its files there."""
        return self.page.releases[self.version]

    @property
    def variants(self) -> VariantTable:
        """Return what the labels of its wheels stand for there."""
        return self.page.variants_of(self.version)


class OrderedReleases:
    """All releases of one answer, newest first, independent of the target.

    `offers` are the indexes that have the release at each position, in the order of the binding.
    """

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        rows: dict[Version, list[IndexRelease]] = {}
        for page in lookup.pages:
            for version_text in page.releases:
                if (version := text.version(version_text)) is not None:
                    rows.setdefault(version, []).append(IndexRelease(page, version_text))
        self.versions = sorted(rows, reverse=True)
        self.offers = [rows[version] for version in self.versions]
        self.all = (1 << len(self.versions)) - 1
        self._days: dict[int, str] = {}
        self.stable = self.all ^ sum(
            1 << at for at, version in enumerate(self.versions) if version.is_prerelease
        )
        self._masks: dict[str, int] = {}

    def position(self, version: Version) -> int | None:
        """The position of a version; None if there is no such release."""
        at = self._bisect(lambda older: older <= version)
        return at if at < len(self.versions) and self.versions[at] == version else None

    def day(self, position: int) -> str:
        """Return the day (ISO 8601, UTC) on which the first file of a release was uploaded; empty if no index says."""
        if position not in self._days:
            days = {_day(file.uploaded) for offer in self.offers[position] for file in offer.files}
            self._days[position] = min(days - {""}, default="")
        return self._days[position]

    def mask(self, specifiers: SpecifierSet) -> int:
        """The releases admitted by a set of specifiers, including pre-releases."""
        key = str(specifiers)
        if key not in self._masks:
            self._masks[key] = reduce(and_, map(self._mask_of, specifiers), self.all)
        return self._masks[key]

    def _mask_of(self, specifier: Specifier) -> int:
        match specifier.operator:
            case ">=" | ">":
                return (
                    1
                    << self._bisect(
                        lambda version: not specifier.contains(version, prereleases=True)
                    )
                ) - 1
            case "<=" | "<":
                newer = self._bisect(lambda version: specifier.contains(version, prereleases=True))
                return self.all >> newer << newer
            case "!=":
                return self.all ^ self._range(Specifier(f"=={specifier.version}"))
            case _:
                return self._range(specifier)

    def _range(self, specifier: Specifier) -> int:
        """The releases admitted by a comparison that admits the least version it names and some that follow it."""
        wildcard = specifier.version.endswith(".*")
        least = text.version(f"{specifier.version[:-2]}.dev0" if wildcard else specifier.version)
        if least is None:  # `===` compares texts, and may name anything
            return 0
        begin = end = self._bisect(lambda version: version < least)
        while begin and specifier.contains(self.versions[begin - 1], prereleases=True):
            begin -= 1
        return (1 << end) - (1 << begin)

    def _bisect(self, predicate: Callable[[Version], bool]) -> int:
        """The first position at which a predicate holds, given that it holds for all older releases."""
        return bisect_left(self.versions, True, key=predicate)


class Project:
    """All releases of a project on the indexes bound to it, newest first; or only that of its `source`.

    `facts` are those about this project. Each release is screened when first looked at. Masks have
    a bit for each position. `system` has the components of the target.
    """

    def __init__(
        self,
        name: NormalizedName,
        ordered: OrderedReleases,
        compatibility: Compatibility,
        facts: Sequence[Fact],
        wheels_only: bool = False,
        source: Source | None = None,
        system: Mapping[str, Value] = MappingProxyType({}),
    ) -> None:
        self._wheels_only = wheels_only
        self.name = name
        self.source = source
        self.ordered = ordered
        self.exists = bool(ordered.lookup.pages)
        self.unreachable = ordered.lookup.unreachable
        self.rejections = tuple(row for page in ordered.lookup.pages for row in page.rejections)
        self.versions = ordered.versions
        self.position = ordered.position
        self.all = ordered.all
        # a commit is taken whatever the policy on pre-releases
        self.stable = ordered.stable if source is None else ordered.all
        self._compatibility = compatibility
        # each with the releases that it is about
        self._facts = [(fact, reduce(or_, map(ordered.mask, fact.versions), 0)) for fact in facts]
        last = [(fact, mask) for fact, mask in self._facts if is_put_last(fact)]
        self._last = [(fact, mask) for fact, mask in last if not fact.is_averted_on(system)]
        # made for this target, as they would come last on another; then those for another release
        # of its CANN's line
        made_for = (Warns.is_averted_on, Warns.is_averted_on_release_line)
        self._first = [
            reduce(or_, (mask for fact, mask in last if is_for(fact, system)), 0)
            for is_for in made_for
        ]
        self._known_releases: dict[int, Release | tuple[Rejection, ...]] = {}

    def release(self, position: int) -> Release | tuple[Rejection, ...]:
        """The usable release at a position, or why each of its files was set aside."""
        if position not in self._known_releases:
            # search and look-ahead may both get here, and must see the same object
            self._known_releases.setdefault(position, self._screen(position))
        return self._known_releases[position]

    def facts_about(self, position: int, kind: type[FactKind]) -> list[FactKind]:
        """The facts of a kind that are about the release at a position."""
        return [
            fact for fact, mask in self._facts if mask >> position & 1 and isinstance(fact, kind)
        ]

    def positions(self, mask: int) -> Iterator[int]:
        """The positions in a mask, newest first."""
        return (at for at, bit in enumerate(reversed(f"{mask:b}")) if bit == "1")

    def by_preference(self, mask: int, day: str = "") -> Iterator[int]:
        """The positions in a mask, most preferred first.

        First come releases that a `last` fact puts last on other targets only, then the others. Of
        both, releases uploaded by `day` (ISO 8601; empty for any) come first, newest first, and
        then later ones, oldest first. Of the post releases of one version, those that such a fact
        puts last on this target come last.
        """
        for first in self._first:
            yield from self._by_day(mask & first, day)
            mask &= ~first
        positions = self._by_day(mask, day)
        if not any(mask & late for _, late in self._last):
            yield from positions
            return
        posts: dict[
            tuple[object, ...], list[int]
        ] = {}  # of one version, in order of preference otherwise
        for position in positions:
            version = self.versions[position]
            posts.setdefault((version.epoch, version.release, version.pre), []).append(position)
        for group in posts.values():
            yield from sorted(
                group, key=lambda post: max((fact.last for fact in self.put_last(post)), default=0)
            )

    def _by_day(self, mask: int, day: str) -> Iterator[int]:
        """Yield the releases uploaded by a day, newest first; then later ones, the oldest first."""
        if not day:
            yield from self.positions(mask)
            return
        later: list[int] = []
        for position in self.positions(mask):
            if self.is_later(position, day):
                later.append(position)
            else:
                yield position
        later.sort(key=lambda position: (self.ordered.day(position), -position))
        yield from later

    def is_later(self, position: int, day: str) -> bool:
        """Return whether a release was uploaded after a day; one without a known time counts as old enough."""
        return bool(day) and self.source is None and self.ordered.day(position) > day

    def is_preferred_to(self, position: int, other: int, day: str = "") -> bool:
        """Whether a release is taken before another one, given the day whose releases are preferred."""
        return next(self.by_preference(1 << position | 1 << other, day)) == position

    def put_last(self, position: int) -> list[Warns]:
        """The facts that put a release after others that differ in their post number alone."""
        return [fact for fact, mask in self._last if mask >> position & 1]

    def mask(self, allows: Allows) -> int:
        """The releases that a requirement admits, regardless of the pre-release policy."""
        match allows:
            case SpecifierSet():
                return self.ordered.mask(allows)
            case ReleaseMask():
                return allows.positions & self.all
            case _:
                return 0

    def wheels_set_aside(self, position: int) -> tuple[Rejection, ...]:
        """Why wheels of a release were rejected, if only its archive remains."""
        release = self.release(position)
        if (
            not isinstance(release, Release)
            or release.source is not None
            or release.file.is_wheel
            or release.builds
        ):
            return ()
        rows = [
            row
            for offer in self.ordered.offers[position]
            for row in self._compatibility(offer.files, offer.variants).rejections
        ]
        return tuple(row for row in rows if row.filename.endswith(".whl"))

    def uploaded(self, position: int) -> datetime | None:
        """When the first file of a release was uploaded, if an index says so."""
        times = [
            upload_time(file.uploaded)
            for offer in self.ordered.offers[position]
            for file in offer.files
        ]
        return min(filter(None, times), default=None)

    def _screen(self, position: int) -> Release | tuple[Rejection, ...]:
        """The release from the first index that has a usable file of it, preferably one that is not yanked."""
        version = self.versions[position]
        rejections: tuple[Rejection, ...] = ()
        yanked: Release | None = None
        for offer in self.ordered.offers[position]:
            release = self._on_index(offer, version, position)
            if isinstance(release, tuple):
                rejections += release
            elif not release.yanked:
                return release
            else:
                yanked = yanked or release
        return yanked or rejections

    def _on_index(
        self, offer: IndexRelease, version: Version, position: int
    ) -> Release | tuple[Rejection, ...]:
        index = offer.page.index
        facts: list[Excludes | Names] = [
            *self.facts_about(position, Excludes),
            *self.facts_about(position, Names),
        ]
        for fact in facts:
            if isinstance(fact, Excludes) or fact.index == index:
                return (
                    Rejection(str(version), RejectionReason.FACT, f"{fact.reason}, {fact.where}"),
                )
        if self.source is not None:
            return Release(
                version=version,
                file=offer.files[0],
                index="",
                position=position,
                source=self.source,
            )
        compatible = self._compatibility(offer.files, offer.variants)
        wheels, archives, rejections = compatible.wheels, compatible.archives, compatible.rejections
        best = _not_yanked(wheels) or wheels
        variant = self._variant(best[0], offer.variants) if best else None
        commit = self._source_of(version)
        if commit is not None and not (
            best and best[0].yanked is None and commit.is_spared_by(variant)
        ):
            return _from_commit(commit, offer, rejections, position)
        builds = next(reversed(self.facts_about(position, Builds)), None)
        if builds is not None and best and best[0].yanked is None and builds.is_spared_by(variant):
            builds = None
        if builds is not None:
            variant = None
            why = f"built from source, {builds.where}"
            rejections += tuple(
                Rejection(file.filename, RejectionReason.FACT, why) for file in wheels
            )
            wheels = ()
        if self._wheels_only:
            rejections += tuple(
                Rejection(file.filename, RejectionReason.SOURCE) for file in archives
            )
            archives = ()
        # as in pip: files that are not yanked come first, and wheels among them
        files = _not_yanked(wheels) or _not_yanked(archives) or wheels or archives
        if not files:
            return rejections or (Rejection(str(version), RejectionReason.FORMAT),)
        return Release(
            version=version,
            file=files[0],
            others=tuple(other for other in files[1:] if _is_same_variant(other, files[0])),
            index=index,
            builds=builds,
            yanked=files[0].yanked is not None,
            position=position,
            variant=variant if files[0].is_wheel else None,
        )

    def _variant(self, file: File, table: VariantTable) -> Variant | None:
        """Return the variant that a wheel is; None for a plain one."""
        label = label_of(file.filename)
        return variant_of(label, table, self._compatibility.features) if label else None

    def _source_of(self, version: Version) -> Sources | None:
        """Return the fact that takes a release from a commit, unless a later one builds it from its archive."""
        if self._wheels_only:
            return None
        for fact, _ in reversed(self._facts):
            if isinstance(fact, Sources) and fact.makes_release(version):
                return fact
            if isinstance(fact, Builds) and fact.applies_to(version):
                return None
        return None


def _from_commit(
    fact: Sources, offer: IndexRelease, rejections: tuple[Rejection, ...], position: int
) -> Release | tuple[Rejection, ...]:
    """Return the release that is built from a commit, or why there was none before the cut-off.

    What an index says of its files counts: when it was uploaded, and whether it was yanked.
    """
    source = Source.of_fact(fact, message("trust.not-read", fact=fact.id))
    late = [
        row for row in rejections if row.reason in (RejectionReason.NEWER, RejectionReason.NO_DATE)
    ]
    if len(late) == len(offer.files):
        return tuple(late)
    kept = [file for file in offer.files if file.yanked is None]
    yanked = None if kept else offer.files[0].yanked
    return Release(
        version=source.version,
        file=File(filename=source.address, yanked=yanked),
        index="",
        yanked=yanked is not None,
        position=position,
        source=source,
    )


_DAY = re.compile(r"\d{4}-\d\d-\d\d(?=T.*Z\Z)", re.ASCII)  # of a time in UTC, as PEP 700 has it


def _day(uploaded: str) -> str:
    """Return the day in UTC of an upload time; empty if it is none."""
    if match := _DAY.match(uploaded):
        return match[0]
    moment = upload_time(uploaded)
    return moment.astimezone(timezone.utc).date().isoformat() if moment is not None else ""


def _is_same_variant(other: File, file: File) -> bool:
    """Return whether another file of a release is a wheel for the same machines as its first one."""
    return other.is_wheel and label_of(other.filename) == label_of(file.filename)


def _not_yanked(files: tuple[File, ...]) -> tuple[File, ...]:
    """The files that are not yanked: PEP 592 is about files, and a release may have both."""
    return tuple(file for file in files if file.yanked is None)


def highest_bound(specifiers: SpecifierSet) -> Version | None:
    """The highest version that a set of specifiers names."""
    versions = (text.version(specifier.version.removesuffix(".*")) for specifier in specifiers)
    return max(filter(None, versions), default=None)


def of_source(source: Source) -> Lookup:
    """A source as the answer of an index with one release, whose file does not exist: its name is for people."""
    releases = {str(source.version): (File(filename=source.address),)}
    return Lookup((Page(project=source.name, index="", releases=releases),))
