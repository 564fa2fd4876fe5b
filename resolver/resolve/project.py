"""The releases of a project, newest first, and which of them a target can use.

The position of a release is 0 for the newest, 1 for the next, and so on. A set of releases is a bit
mask: bit n stands for the release at position n. A comparison admits releases that are contiguous
in the order of versions (`!=` excludes such releases). So its mask has two bounds, which are found
by bisection, once for each specifier.
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

# The day in an upload time in UTC, as in PEP 700.
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?=T.*Z\Z)", re.ASCII)


class IndexRelease(NamedTuple):
    """A release on the page of one index."""

    # The page.
    page: Page
    # The version, as the page spells it.
    version: str

    @property
    def files(self) -> tuple[File, ...]:
        """Return the files of the release on this page."""
        return self.page.releases[self.version]

    @property
    def variants(self) -> VariantTable:
        """Return the wheel variants of the release on this page (PEP 825)."""
        return self.page.variants_of(self.version)


class OrderedReleases:
    """All releases of a project on its indexes, newest first, whatever the target."""

    def __init__(self, lookup: Lookup) -> None:
        """Take the catalog's answer for the project: its pages on the indexes."""
        self.lookup = lookup
        offers: dict[Version, list[IndexRelease]] = {}
        for page in lookup.pages:
            for spelled in page.releases:
                version = text.version(spelled)
                if version is not None:
                    offers.setdefault(version, []).append(IndexRelease(page, spelled))
        # The version at each position.
        self.versions = sorted(offers, reverse=True)
        # The pages that have the release at each position, in the order of the binding.
        self.offers = [offers[version] for version in self.versions]
        # The mask of all releases.
        self.all = (1 << len(self.versions)) - 1
        # The mask of the final releases.
        self.stable = self.all
        for position, version in enumerate(self.versions):
            if version.is_prerelease:
                self.stable ^= 1 << position
        self._days: dict[int, str] = {}
        self._masks: dict[str, int] = {}

    def is_of(self, lookup: Lookup) -> bool:
        """Return whether another answer of the catalog for the project has the same pages.

        The catalog returns a new object for each look-ahead.
        """
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
        """Return the day on which the first file of a release was uploaded, in ISO 8601 and UTC.

        Empty if no index states an upload time.
        """
        if position not in self._days:
            days: set[str] = set()
            for offer in self.offers[position]:
                days.update(_day(file.uploaded) for file in offer.files)
            days.discard("")
            self._days[position] = min(days, default="")
        return self._days[position]

    def mask(self, specifiers: SpecifierSet) -> int:
        """Return the mask of the releases that a specifier set admits, pre-releases included."""
        key = str(specifiers)
        mask = self._masks.get(key)
        if mask is None:
            mask = self.all
            for specifier in specifiers:
                mask &= self._mask_of(specifier)
            self._masks[key] = mask
        return mask

    def _mask_of(self, specifier: Specifier) -> int:
        """Return the mask of the releases that one comparison admits."""
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
        """Return the mask of `==`, `===` or `~=`.

        Such a comparison admits no version that is older than the one it names.
        """
        least = text.version(specifier.version)
        if specifier.version.endswith(".*"):
            least = text.version(f"{specifier.version[:-2]}.dev0")
        if least is None:  # `===` may be followed by a text that is no version
            return 0
        begin = end = self._first(lambda other: other < least)
        while begin and specifier.contains(self.versions[begin - 1], prereleases=True):
            begin -= 1
        return (1 << end) - (1 << begin)

    def _first(self, predicate: Callable[[Version], bool]) -> int:
        """Return the first position at which a predicate is true.

        The predicate must be true for all older releases, too. The result is the number of releases
        if it is true for none.
        """
        return bisect_left(self.versions, True, key=predicate)


class Project:
    """The releases of a project for one target, newest first.

    They are all releases on the indexes that the project is bound to. If the stack takes the
    project from a commit (`source`), it has only that release. Whether the target can use a release
    is found out when the release is first asked for.
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
        """Take the releases of a project, and what decides which of them can be used.

        `compatibility` judges files for the target. `facts` are the facts about this project. With
        `wheels_only`, source archives are not used. `system` has the values of the target's
        components, and `release_lines` the values of components with `by_line`.
        """
        self._wheels_only = wheels_only
        self.name = name
        self.source = source
        self.ordered = ordered
        # Whether an index has the project.
        self.exists = bool(ordered.lookup.pages)
        # The names of the project's indexes that could not be reached.
        self.unreachable = ordered.lookup.unreachable
        # The files on the pages that belong to no release.
        self.rejections: tuple[Rejection, ...] = ()
        for page in ordered.lookup.pages:
            self.rejections += page.rejections
        self.versions = ordered.versions
        self.position = ordered.position
        self.all = ordered.all
        # The mask of the final releases. A commit that the stack names counts as final.
        self.stable = ordered.stable if source is None else ordered.all
        self._compatibility = compatibility
        # The facts, each with the mask of the releases that it is about.
        self._facts = [(fact, _releases_of(fact, ordered)) for fact in facts]
        # The facts that put releases last on this target (`last` of `warns`), with their masks.
        self._last: list[tuple[Warns, int]] = []
        # The releases that are put last only on other targets: they are made for this one.
        made_for_target = 0
        # The releases that are made for another release of the same release line of a component.
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
        """Return the release at a position; if it cannot be used, why each file was rejected."""
        if position not in self._screened:
            # The search and the look-ahead may both come here, and must get the same object.
            self._screened.setdefault(position, self._screen(position))
        return self._screened[position]

    def facts_about(self, position: int, kind: type[FactKind]) -> list[FactKind]:
        """Return the facts of a kind that are about the release at a position."""
        return [
            fact for fact, mask in self._facts if mask >> position & 1 and isinstance(fact, kind)
        ]

    def exclusions(self, position: int) -> list[Excludes | Names]:
        """Return the facts that exclude the release at a position, on one index or on all."""
        return [*self.facts_about(position, Excludes), *self.facts_about(position, Names)]

    def positions(self, mask: int) -> Iterator[int]:
        """Yield the positions in a mask, newest first."""
        for position, bit in enumerate(reversed(f"{mask:b}")):
            if bit == "1":
                yield position

    def by_preference(self, mask: int, day: str) -> Iterator[int]:
        """Yield the positions in a mask, the most preferred first.

        1. Releases that facts with `last` put last only on other targets come first. Then come
           releases that are made for another release of the same release line of a component. Then
           come all others.
        2. Within each of these groups, releases uploaded by `day` come first, the newest first.
           Then come later ones, the oldest first. `day` is in ISO 8601; if it is empty, all
           releases are sorted from the newest to the oldest.
        3. In the last group, the post-releases of one version are sorted by the `last` of facts.
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
        """Return positions sorted by the distance of their versions from the version at `to`.

        The distance is the number of versions between them, where pre-releases and post-releases
        count as one with the version that they belong to. Positions at the same distance keep their
        order.
        """
        numbers: dict[tuple[int, tuple[int, ...]], int] = {}
        for version in self.versions:
            numbers.setdefault((version.epoch, version.release), len(numbers))

        def number(position: int) -> int:
            version = self.versions[position]
            return numbers[version.epoch, version.release]

        return sorted(positions, key=lambda position: abs(number(position) - number(to)))

    def _how_late(self, position: int) -> int:
        """Return the highest `last` of the facts about a release; 0 if none puts it last."""
        return max((fact.last for fact in self.put_last(position)), default=0)

    def _by_day(self, mask: int, day: str) -> Iterator[int]:
        """Yield the positions of releases uploaded by a day, the newest first, then all others.

        The others come from the oldest to the newest. An empty day means no limit.
        """
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
        """Return whether a release was uploaded after a day.

        The result is False if no index states an upload time, if the day is empty, and for a commit
        that the stack names.
        """
        return bool(day) and self.source is None and self.ordered.day(position) > day

    def is_preferred_to(self, position: int, other: int, day: str) -> bool:
        """Return whether a release is preferred to another one, in the order of `by_preference`."""
        return next(self.by_preference(1 << position | 1 << other, day)) == position

    def put_last(self, position: int) -> list[Warns]:
        """Return the facts with `last` that put a release after other post-releases."""
        return [fact for fact, mask in self._last if mask >> position & 1]

    def mask(self, allows: Allows) -> int:
        """Return the mask of the releases that an edge admits, pre-releases included."""
        match allows:
            case SpecifierSet():
                return self.ordered.mask(allows)
            case ReleaseMask():
                return allows.positions & self.all
            case _:
                return 0

    def wheels_set_aside(self, position: int) -> tuple[Rejection, ...]:
        """Return why the wheels of a release were rejected, if only its source archive is usable.

        Empty if a wheel is used, if a fact has the release built, or if it cannot be used at all.
        """
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
        """Return when the first file of a release was uploaded; None if no index states it."""
        times = []
        for offer in self.ordered.offers[position]:
            for file in offer.files:
                time = upload_time(file.uploaded)
                if time is not None:
                    times.append(time)
        return min(times, default=None)

    def _screen(self, position: int) -> Release | tuple[Rejection, ...]:
        """Return the release from the first index with a usable file, else why there is none.

        An index on which the file is not yanked is preferred.
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
        """Return the release on one index; if it cannot be used, why each file was rejected."""
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
        # As in pip, files that are not yanked come first, and wheels come before archives.
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
        """Return the variant that a wheel is (PEP 825); None if it is none."""
        label = label_of(file.filename)
        return variant_of(label, table, self._compatibility.features) if label else None

    def _is_spared(
        self, fact: Builds | Sources, wheels: tuple[File, ...], table: VariantTable
    ) -> bool:
        """Return whether a release need not be built although a fact says so.

        Its best wheel is a variant for the machines that the fact is about.
        """
        usable = _not_yanked(wheels)
        return bool(usable) and fact.is_spared_by(self._variant(usable[0], table))

    def _builds(
        self, position: int, wheels: tuple[File, ...], table: VariantTable
    ) -> Builds | None:
        """Return the last `builds` fact about the release at a position.

        None if there is no such fact, or if the best wheel of the release is a variant that makes
        the build needless (see `_is_spared`).
        """
        facts = self.facts_about(position, Builds)
        if not facts or self._is_spared(facts[-1], wheels, table):
            return None
        return facts[-1]

    def _commit_of(self, version: Version) -> Sources | None:
        """Return the fact that says that a release is built from a commit.

        None if there is none, or if a later `builds` fact is about the release.
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
    """Return the release that a fact builds from a commit.

    The cut-off and yanks count as for its files on the index. If all files were uploaded after the
    cut-off, return their rejections, which are among `rejections`.
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
    """Return the day of an upload time in UTC and ISO 8601; empty if it cannot be read."""
    match = _DAY.match(uploaded)
    if match is not None:
        return match[0]
    moment = upload_time(uploaded)
    return moment.astimezone(timezone.utc).date().isoformat() if moment is not None else ""


def _is_same_variant(other: File, file: File) -> bool:
    """Return whether `other` is a wheel of the same variant as `file`, or both are plain."""
    return other.is_wheel and label_of(other.filename) == label_of(file.filename)


def _not_yanked(files: tuple[File, ...]) -> tuple[File, ...]:
    """Return the files that are not yanked.

    PEP 592 yanks files, so a release may have yanked files and others.
    """
    return tuple(file for file in files if file.yanked is None)


def highest_bound(specifiers: SpecifierSet) -> Version | None:
    """Return the highest version that a specifier set names; None if it names none."""
    versions = []
    for specifier in specifiers:
        version = text.version(specifier.version.removesuffix(".*"))
        if version is not None:
            versions.append(version)
    return max(versions, default=None)


def lookup_of(source: Source) -> Lookup:
    """Return an answer of a catalog that has only the release of a commit.

    No file exists. The name of the file is a text for people. There is no release of a commit of
    which nothing is known.
    """
    if source.unknown is not None:
        return Lookup((), (source.unreachable,) if source.unreachable else ())
    releases = {str(source.version): (File(filename=source.address),)}
    return Lookup((Page(project=source.name, index="", releases=releases),))
