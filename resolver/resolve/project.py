"""A project's releases, newest first, and which of them a target can use.

A set of releases is a bit mask. Bit i stands for the i-th newest release. What a comparison admits
(for `!=`: excludes) is contiguous in version order, so its mask is given by two bounds, which are
found by bisection, once for each specifier.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from types import MappingProxyType
from typing import NamedTuple

from packaging.specifiers import Specifier, SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.index.parse.distribution import Compatibility, label_of, upload_time
from resolver.index.protocol import Lookup
from resolver.model import text
from resolver.model.component import Value
from resolver.model.dependency import Allows, ReleaseMask
from resolver.model.fact import Builds, Excludes, Fact, FactKind, Names, Sources, Warns, is_put_last
from resolver.model.message import message
from resolver.model.release import File, Page, Rejection, RejectionReason, Release, Source
from resolver.model.variant import Variant, VariantTable, variant_of

# The day in a time of UTC, as PEP 700 has it.
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?=T.*Z\Z)", re.ASCII)


class IndexRelease(NamedTuple):
    """A release on one index's page."""

    page: Page
    # as the page spells it
    version: str

    @property
    def files(self) -> tuple[File, ...]:
        """Return its files on this page."""
        return self.page.releases[self.version]

    @property
    def variants(self) -> VariantTable:
        """Return what the labels of its wheels stand for on this page."""
        return self.page.variants_of(self.version)


class OrderedReleases:
    """All releases that a look-up found, newest first, whatever the target."""

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        offers: dict[Version, list[IndexRelease]] = {}
        for page in lookup.pages:
            for spelled in page.releases:
                version = text.version(spelled)
                if version is not None:
                    offers.setdefault(version, []).append(IndexRelease(page, spelled))
        self.versions = sorted(offers, reverse=True)
        # the indexes that have the release at each position, in the order of the binding
        self.offers = [offers[version] for version in self.versions]
        self.all = (1 << len(self.versions)) - 1
        self.stable = self.all
        for position, version in enumerate(self.versions):
            if version.is_prerelease:
                self.stable ^= 1 << position
        self._days: dict[int, str] = {}
        self._masks: dict[str, int] = {}

    def is_of(self, lookup: Lookup) -> bool:
        """Return whether a look-up found the same: a catalog answers anew for each look-ahead."""
        known = self.lookup
        if len(known.pages) != len(lookup.pages) or known.unreachable != lookup.unreachable:
            return False
        return all(page is other for page, other in zip(known.pages, lookup.pages, strict=True))

    def position(self, version: Version) -> int | None:
        """Return the position of a version; None if there is no such release."""
        position = self._first(lambda other: other <= version)
        if position < len(self.versions) and self.versions[position] == version:
            return position
        return None

    def day(self, position: int) -> str:
        """Return the day of a release's first upload (ISO 8601, UTC); empty if no index says."""
        if position not in self._days:
            days: set[str] = set()
            for offer in self.offers[position]:
                days.update(_day(file.uploaded) for file in offer.files)
            days.discard("")
            self._days[position] = min(days, default="")
        return self._days[position]

    def mask(self, specifiers: SpecifierSet) -> int:
        """Return the mask of the releases that specifiers admit, including pre-releases."""
        key = str(specifiers)
        mask = self._masks.get(key)
        if mask is None:
            mask = self.all
            for specifier in specifiers:
                mask &= self._mask_of(specifier)
            self._masks[key] = mask
        return mask

    def _mask_of(self, specifier: Specifier) -> int:
        match specifier.operator:
            case ">=" | ">":
                end = self._first(lambda other: not specifier.contains(other, prereleases=True))
                return (1 << end) - 1
            case "<=" | "<":
                begin = self._first(lambda other: specifier.contains(other, prereleases=True))
                return self.all >> begin << begin
            case "!=":
                return self.all ^ self._range(Specifier(f"=={specifier.version}"))
            case _:
                return self._range(specifier)

    def _range(self, specifier: Specifier) -> int:
        """Return the mask of a comparison that admits the version it names, and some newer ones."""
        least = text.version(specifier.version)
        if specifier.version.endswith(".*"):
            least = text.version(f"{specifier.version[:-2]}.dev0")
        if least is None:  # `===` compares texts, and may name anything
            return 0
        begin = end = self._first(lambda other: other < least)
        while begin and specifier.contains(self.versions[begin - 1], prereleases=True):
            begin -= 1
        return (1 << end) - (1 << begin)

    def _first(self, predicate: Callable[[Version], bool]) -> int:
        """Return the first position at which a predicate holds that holds for all older releases.

        It is the number of releases if the predicate never holds.
        """
        return bisect_left(self.versions, True, key=predicate)


class Project:
    """All releases of a project on the indexes bound to it, newest first; or only its `source`.

    Each release is screened when it is first looked at.
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
        release_lines: Mapping[str, Value] = MappingProxyType({}),
    ) -> None:
        """Take the `facts` about this project, and the components (`system`) of the target.

        `release_lines` are those of which releases of one line go together.
        """
        self._wheels_only = wheels_only
        self.name = name
        self.source = source
        self.ordered = ordered
        self.exists = bool(ordered.lookup.pages)
        self.unreachable = ordered.lookup.unreachable
        # files on the pages that belong to no release
        self.rejections: tuple[Rejection, ...] = ()
        for page in ordered.lookup.pages:
            self.rejections += page.rejections
        self.versions = ordered.versions
        self.position = ordered.position
        self.all = ordered.all
        # a commit is taken whatever the policy on pre-releases
        self.stable = ordered.stable if source is None else ordered.all
        self._compatibility = compatibility
        # each with the releases that it is about
        self._facts = [(fact, _releases_of(fact, ordered)) for fact in facts]
        # facts that put releases last on this target
        self._last: list[tuple[Warns, int]] = []
        # releases that are put last on other targets: they are made for this one
        made_for_target = 0
        # releases that are made for another release of a release line of the target
        made_for_line = 0
        for fact, mask in self._facts:
            if not is_put_last(fact):
                continue
            if fact.is_averted_on(system):
                made_for_target |= mask
            else:
                self._last.append((fact, mask))
            if fact.is_averted_on_release_line(release_lines):
                made_for_line |= mask
        self._made_for = (made_for_target, made_for_line)
        self._screened: dict[int, Release | tuple[Rejection, ...]] = {}

    def release(self, position: int) -> Release | tuple[Rejection, ...]:
        """Return the usable release at a position, or why each of its files was set aside."""
        if position not in self._screened:
            # search and look-ahead may both get here, and must see the same object
            self._screened.setdefault(position, self._screen(position))
        return self._screened[position]

    def facts_about(self, position: int, kind: type[FactKind]) -> list[FactKind]:
        """Return the facts of a kind that are about the release at a position."""
        return [
            fact for fact, mask in self._facts if mask >> position & 1 and isinstance(fact, kind)
        ]

    def exclusions(self, position: int) -> list[Excludes | Names]:
        """Return the facts that take the release at a position out, on one index or on all."""
        return [*self.facts_about(position, Excludes), *self.facts_about(position, Names)]

    def positions(self, mask: int) -> Iterator[int]:
        """Yield the positions in a mask, newest first."""
        for position, bit in enumerate(reversed(f"{mask:b}")):
            if bit == "1":
                yield position

    def by_preference(self, mask: int, day: str = "") -> Iterator[int]:
        """Yield the positions in a mask, most preferred first.

        1. Releases that a `last` fact puts last on other targets only come first, then the others.
        2. Of both, releases uploaded by `day` (ISO 8601; empty for any) come first, newest first,
           and then later ones, oldest first.
        3. Of the post releases of one version, those that such a fact puts last on this target
           come last.
        """
        for made_for in self._made_for:
            yield from self._by_day(mask & made_for, day)
            mask &= ~made_for
        positions = self._by_day(mask, day)
        if not any(mask & put_last for _, put_last in self._last):
            yield from positions
            return
        posts: dict[tuple[object, ...], list[int]] = {}
        for position in positions:
            version = self.versions[position]
            posts.setdefault((version.epoch, version.release, version.pre), []).append(position)
        for posts_of_version in posts.values():
            yield from sorted(posts_of_version, key=self._how_late)

    def nearest_first(self, positions: Iterable[int], to: int) -> list[int]:
        """Return positions in the order of how far their versions are from another one's.

        Pre-releases and post releases are as far as what they are of. The order of what is as far
        stays.
        """
        numbers: dict[tuple[int, tuple[int, ...]], int] = {}
        for version in self.versions:
            numbers.setdefault((version.epoch, version.release), len(numbers))

        def number(position: int) -> int:
            version = self.versions[position]
            return numbers[version.epoch, version.release]

        return sorted(positions, key=lambda position: abs(number(position) - number(to)))

    def _how_late(self, position: int) -> int:
        """Return the highest `last` of a release; 0 if no fact puts it last."""
        return max((fact.last for fact in self.put_last(position)), default=0)

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
        """Return whether a release was uploaded after a day; not if nobody knows when it was."""
        return bool(day) and self.source is None and self.ordered.day(position) > day

    def is_preferred_to(self, position: int, other: int, day: str = "") -> bool:
        """Return whether a release is taken before another one; releases of `day` are preferred."""
        return next(self.by_preference(1 << position | 1 << other, day)) == position

    def put_last(self, position: int) -> list[Warns]:
        """Return the facts that put a release after others that differ in their post number."""
        return [fact for fact, mask in self._last if mask >> position & 1]

    def mask(self, allows: Allows) -> int:
        """Return the mask of the releases that a requirement admits, including pre-releases."""
        match allows:
            case SpecifierSet():
                return self.ordered.mask(allows)
            case ReleaseMask():
                return allows.positions & self.all
            case _:
                return 0

    def wheels_set_aside(self, position: int) -> tuple[Rejection, ...]:
        """Return why wheels of a release were rejected; nothing unless only its archive remains."""
        release = self.release(position)
        if not isinstance(release, Release) or release.source is not None:
            return ()
        if release.file.is_wheel or release.builds is not None:
            return ()
        wheels: list[Rejection] = []
        for offer in self.ordered.offers[position]:
            rejections = self._compatibility(offer.files, offer.variants).rejections
            wheels += [file for file in rejections if file.filename.endswith(".whl")]
        return tuple(wheels)

    def uploaded(self, position: int) -> datetime | None:
        """Return when the first file of a release was uploaded; None if no index says."""
        times = []
        for offer in self.ordered.offers[position]:
            for file in offer.files:
                time = upload_time(file.uploaded)
                if time is not None:
                    times.append(time)
        return min(times, default=None)

    def _screen(self, position: int) -> Release | tuple[Rejection, ...]:
        """Return the release from the first index that has a usable file of it.

        An index where it is not yanked goes before. If there is none, return why.
        """
        rejections: tuple[Rejection, ...] = ()
        yanked: Release | None = None
        for offer in self.ordered.offers[position]:
            release = self._on_index(offer, position)
            if isinstance(release, tuple):
                rejections += release
            elif not release.yanked:
                return release
            elif yanked is None:
                yanked = release
        return yanked or rejections

    def _on_index(self, offer: IndexRelease, position: int) -> Release | tuple[Rejection, ...]:
        version = self.versions[position]
        index = offer.page.index
        for fact in self.exclusions(position):
            if isinstance(fact, Excludes) or fact.index == index:
                why = f"{fact.reason}, {fact.where}"
                return (Rejection(str(version), RejectionReason.FACT, why),)
        if self.source is not None:
            return Release(
                version=version,
                file=offer.files[0],
                index="",
                position=position,
                source=self.source,
            )
        compatible = self._compatibility(offer.files, offer.variants)
        wheels = compatible.wheels
        archives = compatible.archives
        rejections = compatible.rejections
        commit = self._commit_of(version)
        if commit is not None and not self._is_spared(commit, wheels, offer.variants):
            return _from_commit(commit, offer, rejections, position)
        builds = self._builds(position, wheels, offer.variants)
        if builds is not None:
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
        best, *others = files
        return Release(
            version=version,
            file=best,
            others=tuple(other for other in others if _is_same_variant(other, best)),
            index=index,
            builds=builds,
            yanked=best.yanked is not None,
            position=position,
            variant=self._variant(best, offer.variants),
        )

    def _variant(self, file: File, table: VariantTable) -> Variant | None:
        """Return the variant that a wheel is; None for any other file."""
        label = label_of(file.filename)
        return variant_of(label, table, self._compatibility.features) if label else None

    def _is_spared(
        self, fact: Builds | Sources, wheels: tuple[File, ...], table: VariantTable
    ) -> bool:
        """Return whether a fact need not build a release, as its best wheel is made for the target.

        Such a wheel is a variant for the machines that the fact is about.
        """
        usable = _not_yanked(wheels)
        return bool(usable) and fact.is_spared_by(self._variant(usable[0], table))

    def _builds(
        self, position: int, wheels: tuple[File, ...], table: VariantTable
    ) -> Builds | None:
        """Return the fact that has a release built from its archive; None if there is none."""
        facts = self.facts_about(position, Builds)
        if not facts or self._is_spared(facts[-1], wheels, table):
            return None
        return facts[-1]

    def _commit_of(self, version: Version) -> Sources | None:
        """Return the fact that takes a release from a commit.

        None if there is none, or if a later fact has the release built from its archive.
        """
        if self._wheels_only:
            return None
        for fact, _ in reversed(self._facts):
            if isinstance(fact, Sources) and fact.makes_release(version):
                return fact
            if isinstance(fact, Builds) and fact.applies_to(version):
                return None
        return None


def _releases_of(fact: Fact, ordered: OrderedReleases) -> int:
    """Return the mask of the releases that a fact is about."""
    mask = 0
    for specifiers in fact.versions:
        mask |= ordered.mask(specifiers)
    return mask


def _from_commit(
    fact: Sources, offer: IndexRelease, rejections: tuple[Rejection, ...], position: int
) -> Release | tuple[Rejection, ...]:
    """Return the release that is built from a commit, or why there was none before the cut-off.

    What an index says of its files counts: when it was uploaded, and whether it was yanked.
    """
    source = Source.of_fact(fact, message("trust.not-read", fact=fact.id))
    beyond_cutoff = (RejectionReason.NEWER, RejectionReason.NO_DATE)
    too_new = [file for file in rejections if file.reason in beyond_cutoff]
    if len(too_new) == len(offer.files):
        return tuple(too_new)
    yanked = None if _not_yanked(offer.files) else offer.files[0].yanked
    return Release(
        version=source.version,
        file=File(filename=source.address, yanked=yanked),
        index="",
        yanked=yanked is not None,
        position=position,
        source=source,
    )


def _day(uploaded: str) -> str:
    """Return the day in UTC of an upload time; empty if it is none."""
    match = _DAY.match(uploaded)
    if match is not None:
        return match[0]
    moment = upload_time(uploaded)
    return moment.astimezone(timezone.utc).date().isoformat() if moment is not None else ""


def _is_same_variant(other: File, file: File) -> bool:
    """Return whether another file is a wheel for the same machines as a release's first file."""
    return other.is_wheel and label_of(other.filename) == label_of(file.filename)


def _not_yanked(files: tuple[File, ...]) -> tuple[File, ...]:
    """Return the files that are not yanked: PEP 592 is about files, and a release may have both."""
    return tuple(file for file in files if file.yanked is None)


def highest_bound(specifiers: SpecifierSet) -> Version | None:
    """Return the highest version that a set of specifiers names; None if it names none."""
    versions = []
    for specifier in specifiers:
        version = text.version(specifier.version.removesuffix(".*"))
        if version is not None:
            versions.append(version)
    return max(versions, default=None)


def lookup_of(source: Source) -> Lookup:
    """Return a look-up that finds only the release of a source.

    Its file does not exist: the file's name is for people.
    """
    releases = {str(source.version): (File(filename=source.address),)}
    return Lookup((Page(project=source.name, index="", releases=releases),))
