"""What pages, metadata and facts say, for the checks of answers: written apart from the search.

Everything is evaluated with the `packaging` library. What is shared with the search, and thus
cannot be doubted, are the model's types with their comparisons (tags of a target, requirements on
components), and pages as they were parsed.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence, Set
from functools import cache, lru_cache
from typing import NamedTuple

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import parse_tag
from packaging.utils import InvalidWheelFilename, NormalizedName, parse_wheel_filename
from packaging.version import Version

from resolver.index.parse.address import NOWHERE
from resolver.index.protocol import Catalog, UnusableFile
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.message import message
from resolver.model.problem import Problem
from resolver.model.release import File, Page, Release, Source
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.variant import VariantTable

_MOST_TAGS = 1000
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)?", re.ASCII
)
parsed_version = lru_cache(None)(Version)  # the same texts occur again and again
_NAMED = re.compile(r"""\bextra\s*[=!]=\s*["']([^"']*)["']|["']([^"']*)["']\s*[=!]=\s*extra\b""")
_ANY = None  # stands for every extra


@lru_cache(maxsize=65536)
def _extras_of(line: str) -> frozenset[str | None]:
    """The extras on which it depends whether a line applies, and "" for no extra, which stands for all others."""
    marker = line.partition(";")[2]
    names = [text.name(right or left) for right, left in _NAMED.findall(marker)]
    unclear = len(re.findall(r"\bextra\b", marker)) > len(names)
    return frozenset(("", *names, *((_ANY,) if unclear else ())))


class IndependentReading:
    """Reads what one problem's catalog and facts say of releases."""

    def __init__(self, problem: Problem, catalog: Catalog) -> None:
        self.problem = problem
        self.catalog = catalog
        self._by_extra: dict[
            Release, defaultdict[str | None, list[str]]
        ] = {}  # the lines of a release, by extra

    def facts_about(self, name: str, version: Version) -> list[facts.Fact]:
        """Return the facts about a release."""
        return [
            fact for fact in self.problem.facts if fact.package == name and fact.applies_to(version)
        ]

    def facts_of_kind(
        self, name: str, version: Version, kind: type[facts.FactKind]
    ) -> list[facts.FactKind]:
        """Return the facts of a kind about a release."""
        return [fact for fact in self.facts_about(name, version) if isinstance(fact, kind)]

    # --- requirements

    def applies(self, need: Requirement, extra: str) -> bool:
        """Return whether the marker of a requirement holds on the target, with an extra or "" for none."""
        return need.marker is None or need.marker.evaluate(
            {**self.problem.target.markers, "extra": extra}
        )

    def lines_for(self, name: NormalizedName, release: Release, extra: str) -> list[str]:
        """Return the lines of a release that may apply for an extra; "" stands for no extra.

        Raises UnusableFile.
        """
        by_extra = self._by_extra.get(release)
        if by_extra is None:
            by_extra = defaultdict(list)
            for line in self._lines(name, release):
                for named in _extras_of(line):
                    by_extra[named].append(line)
            self._by_extra[release] = by_extra
        return [*by_extra[extra], *(by_extra[_ANY] if extra else ())]

    def _lines(self, name: NormalizedName, release: Release) -> list[str]:
        file = release.file
        if release.source is not None:
            return list(release.source.recipe.requires)
        if file.is_wheel:
            return list(self.catalog.metadata(file).requires_dist)
        archive = self.catalog.archive(file)
        if builds := self.builds(name, release.version, release.file, release.index):
            content = self.catalog.member(file, builds[-1].requires_from).replace("\\\n", " ")
            lines = [re.sub(r"(^|\s)#.*$", "", line).strip() for line in content.split("\n")]
            static = archive.metadata.requires_dist if archive.metadata else ()
            optional = [line for line in static if re.search(r"\bextra\b", line.partition(";")[2])]
            return [*filter(None, lines), *optional]
        if metadata := self.facts_of_kind(name, release.version, facts.Metadata):
            return [*map(str, metadata[0].requires)]
        if archive.metadata is None:
            raise UnusableFile("no static metadata")
        return list(archive.metadata.requires_dist)

    def build_lines(self, name: NormalizedName, release: Release) -> list[str]:
        """Return the build requirements of a release that is built in the environment.

        Raises UnusableFile.
        """
        if release.source is not None:
            recipe = release.source.recipe
            lines = [] if recipe.isolation else list(recipe.build_requires)
        else:
            builds = self.builds(name, release.version, release.file, release.index)
            if not builds or builds[-1].isolation:
                return []
            requires = self.catalog.archive(release.file).build_requires
            lines = ["setuptools>=40.8.0", "wheel"] if requires is None else list(requires)
            lines = [
                line for line in lines if text.requirement(line).name not in builds[-1].build_drop
            ]
            lines += map(str, builds[-1].build_add)
        return [line for line in lines if text.requirement(line).name != name]

    # --- commits and files

    def release_sources(self, name: str, version: Version) -> list[Source]:
        """Return what a release is built from according to facts that take it from a commit: one, or none."""
        if self.problem.wheels_only:
            return []
        known: list[facts.Sources] = []
        for fact in self.facts_about(name, version):
            if isinstance(fact, facts.Sources) and fact.makes_release(version):
                known = [fact]
            elif isinstance(fact, facts.Builds):
                known = []  # the later fact counts
        return [
            Source.of_fact(fact, message("trust.not-read", fact=fact.id)) for fact in known[-1:]
        ]

    def offers(self, name: NormalizedName, version: Version, index: str = "") -> list[File]:
        """Return the files of a release on one index, or on all of them."""
        pages = self.catalog.lookup(name).pages
        return [
            file
            for page in pages
            if page.index == index or not index
            for file in files_of(page, version)
        ]

    def is_taken(self, name: NormalizedName, release: Release) -> bool:
        """Return whether pip takes the file of a release on the target, and no better wheel of the same index."""
        sources = self.release_sources(name, release.version)
        if release.source is not None:
            return release.source in sources
        if sources and not self.is_for_machines_of(sources[0].fact, name, release):
            return False
        if self.builds(name, release.version, release.file, release.index):
            return True
        table = self.table(name, release.version, release.index)
        taken = self.rank(release.file, table)
        offered = unambiguous(self.offers(name, release.version, release.index))
        wheels = [file for file in offered if file.is_wheel]
        return not any(
            self.rank(file, table) < taken and not any(self.refusals(file)) for file in wheels
        )

    def has_usable_file(
        self, name: NormalizedName, page: Page, version: Version, *, is_yanked_fine: bool
    ) -> bool:
        """Return whether a page has a file of a release that the target and the facts admit."""
        about = self.facts_about(name, version)
        for fact in about:
            if isinstance(fact, facts.Excludes) or (
                isinstance(fact, facts.Names) and fact.index == page.index
            ):
                return False
        if self.release_sources(name, version):
            offered = [file for file in files_of(page, version) if not self.is_late(file)]
            return any(file.yanked is None or is_yanked_fine for file in offered)
        is_built = any(isinstance(fact, facts.Builds) for fact in about)
        table = table_of(page, version)
        for file in unambiguous(files_of(page, version)):
            if (file.yanked is not None and not is_yanked_fine) or any(self.refusals(file)):
                continue
            is_fit = file.is_wheel and self.is_fit(file, table)
            if is_fit and (not is_built or not self.builds(name, version, file, page.index)):
                return True
            if not file.is_wheel and not self.problem.wheels_only:
                return True
        return False

    def python_faults(self, file: File, requires_python: str) -> Iterator[str]:
        """Yield why a file with this Requires-Python cannot be used on the target."""
        if not _admits_python(requires_python, self.problem.target.pythons(requires_python)):
            yield f"{file.filename} needs Python {requires_python}"

    def refusals(self, file: File) -> Iterator[str]:
        """Yield why a file cannot be used, apart from its tags."""
        if file.url == NOWHERE:
            yield f"{file.filename} has an address that an index must not point to"
        yield from self.python_faults(file, file.requires_python)
        if self.is_late(file):
            yield f"{file.filename} was not uploaded before {self.problem.policy.exclude_newer}"

    def is_late(self, file: File) -> bool:
        """Return whether a file was not uploaded before the cut-off."""
        cutoff = self.problem.policy.exclude_newer
        return cutoff is not None and _moment(file.uploaded, cutoff) >= cutoff

    def rank(self, file: File, table: VariantTable) -> _Rank:
        """Return the order in which files are taken: wheels, then archives, and then the same of what was yanked.

        Variants come before plain wheels, in the order of PEP 825; of each, the one with the best
        tag.
        """
        accepted = self.problem.target.tags
        behind = 0 if file.yanked is None else 2
        if not file.is_wheel:
            return behind + 1, _LAST, 0
        plain, label = split_label(file.filename)
        # the last three parts of the name (PEP 427): thousands of wheels have a few dozen
        _, *last = plain[:-4].rsplit("-", 3)
        tags = _parsed_tags("-".join(last)) if len(last) == 3 else ()
        best = min((accepted[tag] for tag in tags if tag in accepted), default=None)
        place = self._place(label, table) if label else _LAST
        if best is None or place is None or parsed_wheel(file.filename) is None:
            return _UNFIT
        return behind, place, best

    def own_faults(self, file: File, table: VariantTable) -> Iterator[str]:
        """Yield that a variant wheel itself has other properties than its index says.

        Raises UnusableFile.
        """
        _, label = split_label(file.filename)
        own = self.catalog.metadata(file).own_variant if label else None
        if own is not None and own != table.variants.get(label, {}):
            yield f"{file.filename} has other properties than its index says"

    def is_fit(self, file: File, table: VariantTable) -> bool:
        """Return whether the target can use a wheel."""
        return self.rank(file, table) != _UNFIT

    def _place(self, label: str, table: VariantTable) -> _Place | None:
        """Return the place of a variant among those of its release; None if the target lacks one of its properties."""
        if label not in table.variants:
            return _Place((), label) if label == "null" else None
        features = self.problem.target.features
        keys = []
        for feature, values in table.variants[label].items():
            ranks = [
                (number, other.values.index(value))
                for number, other in enumerate(features)
                for value in values
                if other.name == feature and value in other.values
            ]
            if not ranks:
                return None
            namespace = feature.split(" ")[0]
            of_namespace = [
                number for number, known in enumerate(table.namespaces) if known == namespace
            ]
            keys.append((of_namespace[0] if of_namespace else len(table.namespaces), *min(ranks)))
        return _Place(tuple(sorted(keys)), label)

    # --- facts that variants make needless

    def table(self, name: NormalizedName, version: Version, index: str) -> VariantTable:
        """Return what the labels of a release's wheels stand for on an index."""
        pages = self.catalog.lookup(name).pages
        return next(
            (table_of(page, version) for page in pages if page.index == index), VariantTable()
        )

    def stated(self, name: NormalizedName, version: Version, file: File, index: str) -> set[str]:
        """Return the components for whose values a wheel says itself, by its variant, that it was built."""
        _, label = split_label(file.filename) if file.is_wheel else ("", "")
        if not label:
            return set()
        properties = self.table(name, version, index).variants.get(label, {})
        return {
            feature.component
            for feature in self.problem.target.features
            if feature.name in properties
        }

    def builds(
        self, name: NormalizedName, version: Version, file: File, index: str
    ) -> list[facts.Builds]:
        """Return the facts that have a release built; none if they are for targets whose own variant the file is."""
        known = self.facts_of_kind(name, version, facts.Builds)
        is_spared = bool(known) and self._states(
            known[-1].when, self.stated(name, version, file, index)
        )
        return [] if is_spared else known

    def is_for_machines_of(
        self, fact: facts.Sources | None, name: NormalizedName, release: Release
    ) -> bool:
        """Return whether a wheel is a variant for the targets for which a fact takes the release from a commit."""
        stated = self.stated(name, release.version, release.file, release.index)
        return fact is not None and self._states(fact.when, stated)

    @staticmethod
    def _states(when: Sequence[ComponentRequirement], stated: Set[str]) -> bool:
        return bool(when) and {need.component for need in when} <= stated

    def counts(self, fact: facts.Requires, name: NormalizedName, release: Release) -> bool:
        """Return whether a fact is about a release, given the file that it is installed from."""
        if not fact.wheels:
            return True
        if not release.file.is_wheel:
            return False
        of_fact = {need.component for need in fact.needs if isinstance(need, ComponentRequirement)}
        return not of_fact & self.stated(name, release.version, release.file, release.index)


class _Place(NamedTuple):
    """The place of a wheel among the variants of its release, as PEP 825 has it ("Variant ordering", step 7)."""

    # Namespace, feature and value of each property, by their ranks, sorted.
    keys: tuple[tuple[int, int, int], ...]
    label: str
    # Whether it is no variant at all.
    is_plain: bool = False

    def __lt__(self, other: tuple[object, ...]) -> bool:
        assert isinstance(other, _Place)  # noqa: S101  nothing else is compared
        if self.is_plain or other.is_plain:
            return other.is_plain and not self.is_plain
        for mine, others in zip(self.keys, other.keys, strict=False):
            if mine != others:
                return mine < others
        if len(self.keys) != len(other.keys):
            return len(self.keys) > len(other.keys)
        return self.label < other.label


_LAST = _Place((), "", is_plain=True)
# Whether it is a wheel, and not yanked; its place among variants; the rank of its best tag.
_Rank = tuple[int, _Place, int]
_UNFIT: _Rank = (4, _LAST, 0)


def _moment(uploaded: str, unknown: dt.datetime) -> dt.datetime:
    """An upload time in RFC 3339, as in PEP 700; `unknown` if it is not valid."""
    match = _TIME.fullmatch(uploaded)
    if match is None:
        return unknown
    whole, fraction, zone = match.groups()
    zone = "+00:00" if zone in (None, "Z", "z") else zone
    try:
        exact = f"{whole.upper()}.{(fraction or '')[:6]:0<6}{zone}"
        return dt.datetime.fromisoformat(exact).astimezone(dt.timezone.utc)
    except (ValueError, OverflowError):  # no such day, or none in UTC
        return unknown


def unambiguous(files: Sequence[File]) -> Iterator[File]:
    """The files whose names occur once: of others it is unclear which is meant."""
    times = Counter(file.filename for file in files)
    return (file for file in files if times[file.filename] == 1)


@cache
def parsed_wheel(filename: str) -> tuple[str, Version, Collection[str]] | None:
    """Project, version and tags in the name of a wheel; None if pip could not use a file with that name.

    The label of a variant is left out, as pip uses none with it.
    """
    try:
        name, version, _, tags = parse_wheel_filename(split_label(filename)[0])
    except InvalidWheelFilename:
        return None
    return name, version, tuple(map(str, tags))


def split_label(filename: str) -> tuple[str, str]:
    """Split the name of a wheel into that of a plain one and the label of its variant, empty without one (PEP 825).

    Six parts are a name with a build tag, which begins with a digit, or one with a label.
    """
    parts = filename.removesuffix(".whl").split("-")
    if len(parts) == 7 or (len(parts) == 6 and not parts[2][:1].isdigit()):
        return "-".join(parts[:-1]) + ".whl", parts[-1]
    return filename, ""


def table_of(page: Page, version: Version) -> VariantTable:
    """Return what the labels of a release's wheels stand for on a page."""
    tables = (
        page.variants[spelled] for spelled in page.variants if parsed_version(spelled) == version
    )
    return next(tables, VariantTable())


def files_of(page: Page, version: Version) -> Sequence[File]:
    """The files of a release; a page has one spelling of each version."""
    if (plain := str(version)) in page.releases:
        return page.releases[plain]
    return next(
        (page.releases[spelled] for spelled in page.releases if parsed_version(spelled) == version),
        (),
    )


@cache
def _parsed_tags(joined: str) -> Collection[str]:
    """The tags at the end of a wheel's name; empty if they are invalid, or more than any real wheel has."""
    if math.prod(part.count(".") + 1 for part in joined.split("-")) > _MOST_TAGS:
        return ()
    try:
        return tuple(map(str, parse_tag(joined)))
    except ValueError:
        return ()


@cache
def _admits_python(requires_python: str, pythons: tuple[Version, ...]) -> bool:
    """Whether a Requires-Python admits each of these, and can be read at all.

    `>=3.6.*` stands for `>=3.6`.
    """
    clauses = (clause.strip() for clause in requires_python.split(","))
    try:
        ordered = (
            clause.removesuffix(".*") if clause[:1] in ("<", ">") else clause for clause in clauses
        )
        admitted = SpecifierSet(",".join(ordered))
        return all(admitted.contains(python, prereleases=True) for python in pythons)
    except InvalidSpecifier:
        return False
