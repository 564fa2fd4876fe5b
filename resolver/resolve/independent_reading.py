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
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from functools import cache, cached_property, lru_cache
from typing import Final, NamedTuple

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement
from packaging.specifiers import InvalidSpecifier
from packaging.tags import parse_tag
from packaging.utils import InvalidWheelFilename, NormalizedName, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from resolver.index.parse.address import NOWHERE
from resolver.index.protocol import Catalog, UnusableFile
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.message import message
from resolver.model.problem import Problem, RootRequirement
from resolver.model.release import File, Page, Release, Source
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.variant import VariantTable
from resolver.phrase import cause

# More than any real wheel has.
_MOST_TAGS: Final = 1000
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)?", re.ASCII
)
# The same texts occur again and again.
parsed_version = lru_cache(None)(Version)
_NAMED = re.compile(r"""\bextra\s*[=!]=\s*["']([^"']*)["']|["']([^"']*)["']\s*[=!]=\s*extra\b""")
_MENTIONS_EXTRA = re.compile(r"\bextra\b")
# Stands for every extra.
_ANY: Final = None


@lru_cache(maxsize=65536)
def _extras_of(line: str) -> frozenset[str | None]:
    """Return the extras on which it depends whether a line applies.

    "" is among them: it stands for no extra, and for all others.
    """
    marker = line.partition(";")[2]
    extras: set[str | None] = {""}
    named = _NAMED.findall(marker)
    extras.update(text.name(right or left) for right, left in named)
    if len(_MENTIONS_EXTRA.findall(marker)) > len(named):
        extras.add(_ANY)
    return frozenset(extras)


class IndependentReading:
    """Reads what one problem's catalog and facts say of releases."""

    def __init__(self, problem: Problem, catalog: Catalog) -> None:
        self.problem = problem
        self.catalog = catalog
        # the lines of each release, by extra
        self._by_extra: dict[Release, defaultdict[str | None, list[str]]] = {}

    @cached_property
    def _facts(self) -> dict[str, list[facts.Fact]]:
        """Return the facts about each project."""
        about: dict[str, list[facts.Fact]] = {}
        for fact in self.problem.facts:
            about.setdefault(fact.package, []).append(fact)
        return about

    def facts_about(self, name: str, version: Version) -> list[facts.Fact]:
        """Return the facts about a release."""
        return [fact for fact in self._facts.get(name, ()) if fact.applies_to(version)]

    def facts_of_kind(
        self, name: str, version: Version, kind: type[facts.FactKind]
    ) -> list[facts.FactKind]:
        """Return the facts of a kind about a release."""
        return [fact for fact in self.facts_about(name, version) if isinstance(fact, kind)]

    # --- the stack and the target

    def stack_lines(self, name: str) -> list[Requirement]:
        """Return the stack's lines about a project that apply to the target."""
        lines = []
        for root in self.problem.stack.requirements:
            need = root.need
            if isinstance(need, Requirement) and need.name == name and self.applies(need, ""):
                lines.append(need)
        return lines

    def constraints_on(self, name: str) -> list[RootRequirement]:
        """Return the stack's constraints on a project that apply to the target."""
        found = []
        for root in self.problem.stack.constraints:
            need = root.need
            if isinstance(need, Requirement) and need.name == name and self.applies(need, ""):
                found.append(root)
        return found

    def is_overridden(self, need: facts.Need, requirer: str) -> bool:
        """Return whether the stack says something else in place of a requirement of a release.

        What a release requires of itself is never overridden.
        """
        if not isinstance(need, Requirement) or need.name == requirer:
            return False
        return any(
            isinstance(root.need, Requirement) and root.need.name == need.name
            for root in self.problem.stack.overrides
        )

    def overriding(self, name: str) -> list[RootRequirement]:
        """Return the stack's overrides about a project that apply to the target; may be none."""
        found = []
        for root in self.problem.stack.overrides:
            need = root.need
            if isinstance(need, Requirement) and need.name == name and self.applies(need, ""):
                found.append(root)
        return found

    def has_component(self, need: ComponentRequirement) -> bool:
        """Return whether the target meets a requirement, or does not state the component."""
        value = self.problem.target.system.get(need.component)
        return value is None or need.allows(value)

    # --- requirements

    def applies(self, need: Requirement, extra: str) -> bool:
        """Return whether the marker of a requirement holds on the target with an extra.

        "" stands for no extra. Raises InvalidRequirement for a marker that cannot be evaluated.
        """
        if need.marker is None:
            return True
        try:
            return need.marker.evaluate({**self.problem.target.markers, "extra": extra})
        except (UndefinedComparison, UndefinedEnvironmentName) as error:
            raise InvalidRequirement(cause(error)) from None

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
        return by_extra[extra] + by_extra[_ANY] if extra else by_extra[extra].copy()

    def _lines(self, name: NormalizedName, release: Release) -> list[str]:
        """Return the lines of a release for any extra. Raises UnusableFile."""
        file = release.file
        if release.source is not None:
            return list(release.source.recipe.requires)
        if file.is_wheel:
            return list(self.catalog.metadata(file).requires_dist)
        static = self.catalog.archive(file).metadata
        builds = self.builds(name, release.version, file, release.index)
        if builds:
            content = self.catalog.member(file, builds[-1].requires_from).replace("\\\n", " ")
            lines = [re.sub(r"(^|\s)#.*$", "", line).strip() for line in content.split("\n")]
            stated = static.requires_dist if static is not None else ()
            optional = [line for line in stated if _MENTIONS_EXTRA.search(line.partition(";")[2])]
            return [*filter(None, lines), *optional]
        metadata = self.facts_of_kind(name, release.version, facts.Metadata)
        if metadata:
            return list(map(str, metadata[0].requires))
        if static is None:
            raise UnusableFile("no static metadata")
        return list(static.requires_dist)

    def requires_python(self, name: NormalizedName, release: Release) -> str:
        """Return the Requires-Python of a release, by what its requirements are from.

        What has none of its own has that of the index. Raises UnusableFile.
        """
        file = release.file
        if release.source is not None:
            return release.source.recipe.requires_python
        if file.is_wheel:
            return self.catalog.metadata(file).requires_python
        stated = self.facts_of_kind(name, release.version, facts.Metadata)
        if stated and not self.builds(name, release.version, file, release.index):
            by_fact = stated[0].requires_python
            return file.requires_python if by_fact is None else str(by_fact)
        static = self.catalog.archive(file).metadata
        return file.requires_python if static is None else static.requires_python

    def build_lines(self, name: NormalizedName, release: Release) -> list[str]:
        """Return the build requirements of a release that is built in the environment.

        Raises UnusableFile.
        """
        return [
            line
            for line in self._all_build_lines(name, release)
            if text.requirement(line).name != name
        ]

    def _all_build_lines(self, name: NormalizedName, release: Release) -> list[str]:
        if release.source is not None:
            recipe = release.source.recipe
            return [] if recipe.isolation else list(recipe.build_requires)
        facts_about = self.builds(name, release.version, release.file, release.index)
        if not facts_about or facts_about[-1].isolation:
            return []
        builds = facts_about[-1]
        requires = self.catalog.archive(release.file).build_requires
        if requires is None:
            requires = ("setuptools>=40.8.0", "wheel")
        kept = [line for line in requires if text.requirement(line).name not in builds.build_drop]
        return kept + list(map(str, builds.build_add))

    def dropped(self, name: str, version: Version) -> set[str]:
        """Return the projects of which the requirements in a release's metadata are dropped."""
        dropped: set[str] = set()
        for fact in self.facts_of_kind(name, version, facts.Replaces):
            dropped.update(fact.drop)
        return dropped

    def needs_kept(
        self, fact: facts.Fact, needs: Sequence[facts.Need], name: str, version: Version
    ) -> list[facts.Need]:
        """Return the needs of a fact about a release, without what practices drop of them.

        Nothing is dropped of what replaces metadata, of enforced facts and of practices.
        """
        is_firm = fact.strength in (facts.Strength.ENFORCED, facts.Strength.PRACTICE)
        if is_firm or isinstance(fact, facts.Replaces):
            return list(needs)
        dropped: set[str] = set()
        for replaces in self.facts_of_kind(name, version, facts.Replaces):
            if replaces.strength is facts.Strength.PRACTICE:
                dropped.update(replaces.drop)
        return [
            need
            for need in needs
            if isinstance(need, ComponentRequirement) or need.name not in dropped
        ]

    # --- commits and files

    def versions(self, name: NormalizedName) -> list[Version]:
        """Return the versions of a project: of the commit that the stack names, or on its pages."""
        for line in self.stack_lines(name):
            if line.url:
                return [self.problem.sources[line.url].version]
        versions: dict[Version, None] = {}
        for page in self.catalog.lookup(name).pages:
            for spelled in page.releases:
                with suppress(InvalidVersion):
                    versions[parsed_version(spelled)] = None
        return list(versions)

    def release_sources(self, name: str, version: Version) -> list[Source]:
        """Return the commit that facts take a release from, as a list of one; or none."""
        if self.problem.wheels_only:
            return []
        commit: facts.Sources | None = None
        for fact in self.facts_about(name, version):
            if isinstance(fact, facts.Sources) and fact.makes_release(version):
                commit = fact
            elif isinstance(fact, facts.Builds):
                commit = None  # the later fact counts
        if commit is None:
            return []
        return [Source.of_fact(commit, message("trust.not-read", fact=commit.id))]

    def offers(self, name: NormalizedName, version: Version, index: str = "") -> list[File]:
        """Return the files of a release on one index, or on all of them."""
        files: list[File] = []
        for page in self.catalog.lookup(name).pages:
            if page.index == index or not index:
                files += files_of(page, version)
        return files

    def is_taken(self, name: NormalizedName, release: Release) -> bool:
        """Return whether pip takes the file of a release on the target.

        It does unless there is a better wheel on the same index.
        """
        sources = self.release_sources(name, release.version)
        if release.source is not None:
            return release.source in sources
        if sources and not self.is_for_machines_of(sources[0].fact, name, release):
            return False
        if self.builds(name, release.version, release.file, release.index):
            return True
        table = self.table(name, release.version, release.index)
        taken = self.rank(release.file, table)
        for file in unambiguous(self.offers(name, release.version, release.index)):
            is_better = file.is_wheel and self.rank(file, table) < taken
            if is_better and not any(self.refusals(file)):
                return False
        return True

    def has_usable_file(
        self, name: NormalizedName, page: Page, version: Version, *, is_yanked_fine: bool
    ) -> bool:
        """Return whether a page has a file of a release that the target and the facts admit."""
        for fact in self.facts_about(name, version):
            if isinstance(fact, facts.Excludes):
                return False
            if isinstance(fact, facts.Names) and fact.index == page.index:
                return False
        files = files_of(page, version)
        if self.release_sources(name, version):
            for file in files:
                if not self.is_late(file) and (is_yanked_fine or file.yanked is None):
                    return True
            return False
        for file in unambiguous(files):
            if file.yanked is not None and not is_yanked_fine:
                continue
            if self._can_be_taken(name, page, version, file):
                return True
        return False

    def _can_be_taken(self, name: NormalizedName, page: Page, version: Version, file: File) -> bool:
        """Return whether the target and the facts admit a file of a release."""
        if not file.is_wheel:
            return not self.problem.wheels_only and not any(self.refusals(file))
        if not self.is_fit(file, table_of(page, version)) or any(self.refusals(file)):
            return False
        return not self.builds(name, version, file, page.index)

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
        """Return the place of a file in the order in which files are taken.

        Wheels come before archives, and what was yanked after both. Variants come before plain
        wheels, in the order of PEP 825; of each, the one with the best tag.
        """
        accepted = self.problem.target.tags
        behind = 0 if file.yanked is None else 2
        if not file.is_wheel:
            return behind + 1, _LAST, 0
        plain, label = split_label(file.filename)
        # the last three parts of the name (PEP 427): thousands of wheels have a few dozen
        parts = plain.removesuffix(".whl").split("-")
        tags = _parsed_tags("-".join(parts[-3:])) if len(parts) > 3 else ()
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
        """Return the place of a variant among the variants of its release.

        None if the target lacks one of its properties.
        """
        if label not in table.variants:
            return _Place((), label) if label == "null" else None
        keys = []
        for feature, values in table.variants[label].items():
            rank = self._feature_rank(feature, values)
            if rank is None:
                return None
            namespace = feature.split(" ")[0]
            namespace_rank = len(table.namespaces)
            if namespace in table.namespaces:
                namespace_rank = table.namespaces.index(namespace)
            keys.append((namespace_rank, *rank))
        return _Place(tuple(sorted(keys)), label)

    def _feature_rank(self, feature: str, values: Iterable[str]) -> tuple[int, int] | None:
        """Return the ranks of a feature and of its best value on the target; None without one."""
        ranks: list[tuple[int, int]] = []
        for number, known in enumerate(self.problem.target.features):
            if known.name != feature:
                continue
            ranks += [
                (number, known.values.index(value)) for value in values if value in known.values
            ]
        return min(ranks, default=None)

    # --- facts that variants make needless

    def table(self, name: NormalizedName, version: Version, index: str) -> VariantTable:
        """Return what the labels of a release's wheels stand for on an index."""
        for page in self.catalog.lookup(name).pages:
            if page.index == index:
                return table_of(page, version)
        return VariantTable()

    def stated(self, name: NormalizedName, version: Version, file: File, index: str) -> set[str]:
        """Return the components for whose values a wheel was built, as its variant says."""
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
        """Return the facts that have a release built.

        There are none if they are for targets whose own variant the file is.
        """
        known = self.facts_of_kind(name, version, facts.Builds)
        if known and self._states(known[-1].when, self.stated(name, version, file, index)):
            return []
        return known

    def is_for_machines_of(
        self, fact: facts.Sources | None, name: NormalizedName, release: Release
    ) -> bool:
        """Return whether a wheel is a variant for the targets that a fact is about.

        For these targets, the fact takes the release from a commit.
        """
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
    """The place of a wheel among the variants of its release.

    It is as PEP 825 has it ("Variant ordering", step 7).
    """

    # namespace, feature and value of each property, by their ranks, sorted
    keys: tuple[tuple[int, int, int], ...]
    label: str
    # whether it is no variant at all
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
    """Return the moment of an upload time (RFC 3339, as in PEP 700); `unknown` if it is none."""
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
    """Return the files whose names occur once: of others it is unclear which is meant."""
    counts = Counter(file.filename for file in files)
    return (file for file in files if counts[file.filename] == 1)


@cache
def parsed_wheel(filename: str) -> tuple[str, Version, Collection[str]] | None:
    """Return project, version and tags in the name of a wheel; None if pip could not use it.

    The label of a variant is left out, as pip uses none with it.
    """
    try:
        name, version, _, tags = parse_wheel_filename(split_label(filename)[0])
    except InvalidWheelFilename:
        return None
    return name, version, tuple(map(str, tags))


def split_label(filename: str) -> tuple[str, str]:
    """Return the name that a wheel has without a label, and its label (PEP 825); empty for none.

    Six parts are a name with a build tag, which begins with a digit, or one with a label.
    """
    parts = filename.removesuffix(".whl").split("-")
    if len(parts) == 7 or (len(parts) == 6 and not parts[2][:1].isdigit()):
        return "-".join(parts[:-1]) + ".whl", parts[-1]
    return filename, ""


def table_of(page: Page, version: Version) -> VariantTable:
    """Return what the labels of a release's wheels stand for on a page."""
    for spelled, table in page.variants.items():
        if parsed_version(spelled) == version:
            return table
    return VariantTable()


def files_of(page: Page, version: Version) -> Sequence[File]:
    """Return the files of a release; a page has one spelling of each version."""
    plain = str(version)
    if plain in page.releases:
        return page.releases[plain]
    for spelled, files in page.releases.items():
        if parsed_version(spelled) == version:
            return files
    return ()


@cache
def _parsed_tags(joined: str) -> Collection[str]:
    """Return the tags at the end of a wheel's name; none if they are invalid, or too many."""
    if math.prod(part.count(".") + 1 for part in joined.split("-")) > _MOST_TAGS:
        return ()
    try:
        return tuple(map(str, parse_tag(joined)))
    except ValueError:
        return ()


@cache
def _admits_python(requires_python: str, pythons: tuple[Version, ...]) -> bool:
    """Return whether a Requires-Python admits each of these, and can be read at all.

    `>=3.6.*` stands for `>=3.6`.
    """
    clauses = [clause.strip() for clause in requires_python.split(",")]
    valid = [
        clause.removesuffix(".*") if clause.startswith(("<", ">")) else clause for clause in clauses
    ]
    try:
        admitted = text.specifier_set(",".join(valid))
    except InvalidSpecifier:
        return False
    return all(admitted.contains(python, prereleases=True) for python in pythons)
