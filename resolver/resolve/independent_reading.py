"""An independent reading of pages, metadata and facts, for the checks of answers.

It shares no code with the search and evaluates everything with the `packaging` library. It does use
the types of the model with their comparisons (tags of a target, requirements on components), and
the pages as they were parsed. Mistakes in these are not found by the checks.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from functools import cache, cached_property, lru_cache
from typing import Final

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement
from packaging.specifiers import InvalidSpecifier
from packaging.utils import NormalizedName
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
from resolver.resolve.independent_wheels import IndependentWheels, split_label

# An upload time (RFC 3339).
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)?", re.ASCII
)
# Versions are cached, since pages repeat the same texts.
parsed_version = lru_cache(None)(Version)
# The name of an extra in a marker.
_NAMED = re.compile(r"""\bextra\s*[=!]=\s*["']([^"']*)["']|["']([^"']*)["']\s*[=!]=\s*extra\b""")
_MENTIONS_EXTRA = re.compile(r"\bextra\b")
# A comment in a requirements file.
_COMMENT: Final = re.compile(r"(^|\s)#.*$")
# The key of lines that may apply for every extra.
_ANY: Final = None


@lru_cache(maxsize=65536)
def _extras_of(line: str) -> frozenset[str | None]:
    """Return the keys under which a requirement line is stored: the extras that its marker names.

    The key "" is always among them. The key _ANY is among them if the marker mentions `extra` in
    another way, so that the line may apply for any extra.
    """
    marker = line.partition(";")[2]
    extras: set[str | None] = {""}
    named = _NAMED.findall(marker)
    extras.update(text.name(name_after or name_before) for name_after, name_before in named)
    if len(_MENTIONS_EXTRA.findall(marker)) > len(named):
        extras.add(_ANY)
    return frozenset(extras)


class IndependentReading:
    """Answers questions about releases from the catalog and the facts of one problem."""

    def __init__(self, problem: Problem, catalog: Catalog) -> None:
        self.problem = problem
        self.catalog = catalog
        self.wheels = IndependentWheels(problem.target)
        # The requirement lines of each release, by the keys of `_extras_of`.
        self._by_extra: dict[Release, defaultdict[str | None, list[str]]] = {}

    @cached_property
    def _facts(self) -> dict[str, list[facts.Fact]]:
        """Return the facts about each project, by its name."""
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
        """Return the facts about a release that are of the type `kind`."""
        return [fact for fact in self.facts_about(name, version) if isinstance(fact, kind)]

    # --- the stack and the target

    def stack_lines(self, name: str) -> list[Requirement]:
        """Return the lines of `requires` about a project that apply to the target."""
        lines = []
        for root in self.problem.stack.requirements:
            need = root.need
            if isinstance(need, Requirement) and need.name == name and self.applies(need, ""):
                lines.append(need)
        return lines

    def constraints_on(self, name: str) -> list[RootRequirement]:
        """Return the lines of `constraints` about a project that apply to the target."""
        applying = []
        for root in self.problem.stack.constraints:
            need = root.need
            if isinstance(need, Requirement) and need.name == name and self.applies(need, ""):
                applying.append(root)
        return applying

    def is_overridden(self, need: facts.Need, requirer: str) -> bool:
        """Return whether the stack overrides a requirement of a release of `requirer`.

        A requirement on a component, or of a release on its own project, is never overridden.
        """
        if not isinstance(need, Requirement) or need.name == requirer:
            return False
        return any(
            isinstance(root.need, Requirement) and root.need.name == need.name
            for root in self.problem.stack.overrides
        )

    def overriding(self, name: str) -> list[RootRequirement]:
        """Return the lines of `overrides` about a project that apply to the target.

        If there are none, overridden requirements on the project are dropped.
        """
        applying = []
        for root in self.problem.stack.overrides:
            need = root.need
            if isinstance(need, Requirement) and need.name == name and self.applies(need, ""):
                applying.append(root)
        return applying

    def has_component(self, need: ComponentRequirement) -> bool:
        """Return whether the target meets a requirement on a component.

        The result is True if the target does not state the component.
        """
        value = self.problem.target.system.get(need.component)
        return value is None or need.allows(value)

    # --- requirements

    def applies(self, need: Requirement, extra: str) -> bool:
        """Return whether the marker of a requirement is true on the target with an extra.

        `extra` is empty for no extra. Raises InvalidRequirement for a marker that cannot be
        evaluated.
        """
        if need.marker is None:
            return True
        try:
            return need.marker.evaluate({**self.problem.target.markers, "extra": extra})
        except (UndefinedComparison, UndefinedEnvironmentName) as error:
            raise InvalidRequirement(cause(error)) from None

    def lines_for(self, name: NormalizedName, release: Release, extra: str) -> list[str]:
        """Return the requirement lines of a release that may apply for an extra.

        `extra` is empty for no extra. Raises UnusableFile if the file cannot be read.
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
        """Return all requirement lines of a release. Raises UnusableFile.

        They are from the commit, the wheel, a `builds` fact, a `metadata` fact or the archive.
        """
        file = release.file
        if release.source is not None:
            return list(release.source.recipe.requires)
        if file.is_wheel:
            return list(self.catalog.metadata(file).requires_dist)
        static = self.catalog.archive(file).metadata
        builds = self.builds(name, release.version, file, release.index)
        if builds:
            lines = _requirements_file_lines(self.catalog.member(file, builds[-1].requires_from))
            in_metadata = static.requires_dist if static is not None else ()
            for line in in_metadata:
                _, _, marker = line.partition(";")
                if _MENTIONS_EXTRA.search(marker):
                    lines.append(line)
            return lines
        metadata = self.facts_of_kind(name, release.version, facts.Metadata)
        if metadata:
            return list(map(str, metadata[0].requires))
        if static is None:
            raise UnusableFile("no static metadata")
        return list(static.requires_dist)

    def requires_python(self, name: NormalizedName, release: Release) -> str:
        """Return the Requires-Python of a release, from the same place as its requirements.

        Without one there, the one on the index's page counts. Raises UnusableFile.
        """
        file = release.file
        if release.source is not None:
            return release.source.recipe.requires_python
        if file.is_wheel:
            return self.catalog.metadata(file).requires_python
        metadata = self.facts_of_kind(name, release.version, facts.Metadata)
        if metadata and not self.builds(name, release.version, file, release.index):
            by_fact = metadata[0].requires_python
            return file.requires_python if by_fact is None else str(by_fact)
        static = self.catalog.archive(file).metadata
        return file.requires_python if static is None else static.requires_python

    def build_lines(self, name: NormalizedName, release: Release) -> list[str]:
        """Return the build requirements of a release that is built in the target environment.

        There are none for other releases. Requirements on the project itself are left out. Raises
        UnusableFile.
        """
        return [
            line
            for line in self._all_build_lines(name, release)
            if text.requirement(line).name != name
        ]

    def _all_build_lines(self, name: NormalizedName, release: Release) -> list[str]:
        """Return the lines of `build_lines`, with requirements on the project itself."""
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
        """Return the projects on which facts drop the requirements in a release's metadata."""
        dropped: set[str] = set()
        for fact in self.facts_of_kind(name, version, facts.Replaces):
            dropped.update(fact.drop)
        return dropped

    def needs_kept(
        self, fact: facts.Fact, needs: Sequence[facts.Need], name: str, version: Version
    ) -> list[facts.Need]:
        """Return the requirements `needs` of a fact about a release that no practice drops.

        Requirements of `replaces` facts, enforced facts and practices are never dropped.
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
        """Return the versions of a project on its pages.

        If the stack takes the project from a commit, return only the version of the commit; none if
        nothing is known of the commit.
        """
        for line in self.stack_lines(name):
            if line.url:
                source = self.problem.sources[line.url]
                return [] if source.unknown is not None else [source.version]
        versions: dict[Version, None] = {}
        for page in self.catalog.lookup(name).pages:
            for spelled in page.releases:
                with suppress(InvalidVersion):
                    versions[parsed_version(spelled)] = None
        return list(versions)

    def release_sources(self, name: str, version: Version) -> list[Source]:
        """Return the commit from which facts build a release, in a list; empty if there is none.

        The last `sources` or `builds` fact about the release counts.
        """
        if self.problem.wheels_only:
            return []
        commit: facts.Sources | None = None
        for fact in self.facts_about(name, version):
            if isinstance(fact, facts.Sources) and fact.makes_release(version):
                commit = fact
            elif isinstance(fact, facts.Builds):
                commit = None  # a later `builds` fact counts instead
        if commit is None:
            return []
        return [Source.of_fact(commit, message("trust.not-read", fact=commit.id))]

    def files_of_release(
        self, name: NormalizedName, version: Version, index: str = ""
    ) -> list[File]:
        """Return the files of a release on an index; an empty `index` means all indexes."""
        files: list[File] = []
        for page in self.catalog.lookup(name).pages:
            if page.index == index or not index:
                files += files_of(page, version)
        return files

    def is_taken(self, name: NormalizedName, release: Release) -> bool:
        """Return whether a release is taken from the right file or commit.

        If a fact says how the release is built, that counts. Otherwise there must be no better
        wheel on the same index.
        """
        sources = self.release_sources(name, release.version)
        if release.source is not None:
            return release.source in sources
        if sources and not self.is_for_machines_of(sources[0].fact, name, release):
            return False
        if self.builds(name, release.version, release.file, release.index):
            return True
        table = self.table(name, release.version, release.index)
        rank_of_taken = self.wheels.rank(release.file, table)
        for file in _unambiguous(self.files_of_release(name, release.version, release.index)):
            is_better = file.is_wheel and self.wheels.rank(file, table) < rank_of_taken
            if is_better and not any(self.refusals(file)):
                return False
        return True

    def has_usable_file(
        self, name: NormalizedName, page: Page, version: Version, *, is_yanked_fine: bool
    ) -> bool:
        """Return whether a page has a file of a release that can be used on the target.

        `is_yanked_fine` says whether a yanked file counts.
        """
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
        for file in _unambiguous(files):
            if file.yanked is not None and not is_yanked_fine:
                continue
            if self._can_be_taken(name, page, version, file):
                return True
        return False

    def is_usable(self, name: NormalizedName, version: Version, *, is_yanked_fine: bool) -> bool:
        """Return whether an index has a file of a release that can be used on the target.

        `is_yanked_fine` says whether a yanked file counts.
        """
        for page in self.catalog.lookup(name).pages:
            if self.has_usable_file(name, page, version, is_yanked_fine=is_yanked_fine):
                return True
        return False

    def _can_be_taken(self, name: NormalizedName, page: Page, version: Version, file: File) -> bool:
        """Return whether a file of a release can be used, by the target and by facts."""
        if not file.is_wheel:
            return not self.problem.wheels_only and not any(self.refusals(file))
        if not self.wheels.is_fit(file, _table_of(page, version)) or any(self.refusals(file)):
            return False
        return not self.builds(name, version, file, page.index)

    def python_faults(self, file: File, requires_python: str) -> Iterator[str]:
        """Yield a sentence if the target's Python does not meet the Requires-Python of a file."""
        if not _admits_python(requires_python, self.problem.target.pythons(requires_python)):
            yield f"{file.filename} needs Python {requires_python}"

    def refusals(self, file: File) -> Iterator[str]:
        """Yield a sentence for each reason why a file cannot be used, apart from its tags."""
        if file.url == NOWHERE:
            yield f"{file.filename} has an address that an index must not point to"
        yield from self.python_faults(file, file.requires_python)
        if self.is_late(file):
            yield f"{file.filename} was not uploaded before {self.problem.policy.exclude_newer}"

    def is_late(self, file: File) -> bool:
        """Return whether a file was uploaded at or after the cut-off, or at an unknown time.

        The result is False if there is no cut-off.
        """
        cutoff = self.problem.policy.exclude_newer
        return cutoff is not None and _moment(file.uploaded, cutoff) >= cutoff

    def own_faults(self, file: File, table: VariantTable) -> Iterator[str]:
        """Yield a sentence if a variant wheel has other properties than its index says.

        Raises UnusableFile if its metadata cannot be read.
        """
        _, label = split_label(file.filename)
        own = self.catalog.metadata(file).own_variant if label else None
        if own is not None and own != table.variants.get(label, {}):
            yield f"{file.filename} has other properties than its index says"

    # --- facts that do not count for variants

    def table(self, name: NormalizedName, version: Version, index: str) -> VariantTable:
        """Return the wheel variants of a release on an index (PEP 825)."""
        for page in self.catalog.lookup(name).pages:
            if page.index == index:
                return _table_of(page, version)
        return VariantTable()

    def _variant_components(
        self, name: NormalizedName, version: Version, file: File, index: str
    ) -> set[str]:
        """Return the names of the components that the properties of a variant wheel are about.

        Empty for a file that is no variant wheel.
        """
        return self.wheels.variant_components(file, self.table(name, version, index))

    def builds(
        self, name: NormalizedName, version: Version, file: File, index: str
    ) -> list[facts.Builds]:
        """Return the facts that say that a release is built from its archive.

        There are none if the file is a variant for the targets that the last of them is about.
        """
        known = self.facts_of_kind(name, version, facts.Builds)
        components = self._variant_components(name, version, file, index)
        return [] if known and _is_for(known[-1].when, components) else known

    def is_for_machines_of(
        self, fact: facts.Sources | None, name: NormalizedName, release: Release
    ) -> bool:
        """Return whether a release is a variant wheel for the targets of a `sources` fact.

        Then the fact does not count.
        """
        file = release.file
        components = self._variant_components(name, release.version, file, release.index)
        return fact is not None and _is_for(fact.when, components)

    def concerns_file(self, fact: facts.Requires, name: NormalizedName, release: Release) -> bool:
        """Return whether a `requires` fact concerns the file from which a release is installed."""
        if not fact.wheels:
            return True
        if not release.file.is_wheel:
            return False
        of_fact = {need.component for need in fact.needs if isinstance(need, ComponentRequirement)}
        file = release.file
        components = self._variant_components(name, release.version, file, release.index)
        return of_fact.isdisjoint(components)


def _is_for(when: Sequence[ComponentRequirement], components: Set[str]) -> bool:
    """Return whether `when` is not empty, and only about these components."""
    return bool(when) and {need.component for need in when} <= components


def _requirements_file_lines(content: str) -> list[str]:
    """Return the requirements in a requirements file, without comments and empty lines.

    A line that ends with a backslash is joined with the next one.
    """
    lines = []
    for line in content.replace("\\\n", " ").split("\n"):
        requirement = _COMMENT.sub("", line).strip()
        if requirement:
            lines.append(requirement)
    return lines


def _moment(uploaded: str, unknown: dt.datetime) -> dt.datetime:
    """Return the moment of an upload time (RFC 3339, PEP 700); `unknown` if it cannot be read."""
    match = _TIME.fullmatch(uploaded)
    if match is None:
        return unknown
    whole, fraction, zone = match.groups()
    zone = "+00:00" if zone in (None, "Z", "z") else zone
    try:
        exact = f"{whole.upper()}.{(fraction or '')[:6]:0<6}{zone}"
        return dt.datetime.fromisoformat(exact).astimezone(dt.timezone.utc)
    except (ValueError, OverflowError):  # there is no such day, or no such year in UTC
        return unknown


def _unambiguous(files: Sequence[File]) -> Iterator[File]:
    """Return the files whose names occur only once.

    If a name occurs several times, it is unclear which file is meant.
    """
    counts = Counter(file.filename for file in files)
    return (file for file in files if counts[file.filename] == 1)


def _table_of(page: Page, version: Version) -> VariantTable:
    """Return the wheel variants of a release on a page (PEP 825)."""
    for spelled, table in page.variants.items():
        if parsed_version(spelled) == version:
            return table
    return VariantTable()


def files_of(page: Page, version: Version) -> Sequence[File]:
    """Return the files of a release on a page, which spells each version in only one way."""
    plain = str(version)
    if plain in page.releases:
        return page.releases[plain]
    for spelled, files in page.releases.items():
        if parsed_version(spelled) == version:
            return files
    return ()


@cache
def _admits_python(requires_python: str, pythons: tuple[Version, ...]) -> bool:
    """Return whether a Requires-Python admits all of these versions.

    `>=3.6.*` is read as `>=3.6`. The result is False if it is no specifier set.
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
