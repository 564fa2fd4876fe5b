"""What pages, metadata and facts say, for the checks of answers: written apart from the search.

Everything is evaluated with the `packaging` library. What is shared with the search, and thus cannot be doubted, are
the model's types with their comparisons (tags of a target, requirements on components), and pages as they were parsed.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import cache, lru_cache

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
from resolver.model.requirement import Requirement

_MOST_TAGS = 1000
_TIME = re.compile(r"(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)?", re.ASCII)
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
        self._by_extra: dict[Release, defaultdict[str | None, list[str]]] = {}  # the lines of a release, by extra

    def facts_about(self, name: str, version: Version) -> list[facts.Fact]:
        """Return the facts about a release."""
        return [fact for fact in self.problem.facts if fact.package == name and fact.applies_to(version)]

    def facts_of_kind(self, name: str, version: Version, kind: type[facts.FactKind]) -> list[facts.FactKind]:
        """Return the facts of a kind about a release."""
        return [fact for fact in self.facts_about(name, version) if isinstance(fact, kind)]

    # --- requirements

    def applies(self, need: Requirement, extra: str) -> bool:
        """Return whether the marker of a requirement holds on the target, with an extra or "" for none."""
        return need.marker is None or need.marker.evaluate({**self.problem.target.markers, "extra": extra})

    def lines_for(self, name: str, release: Release, extra: str) -> list[str]:
        """Return the lines of a release that may apply for an extra; "" stands for no extra. Raises UnusableFile."""
        by_extra = self._by_extra.get(release)
        if by_extra is None:
            by_extra = defaultdict(list)
            for line in self._lines(name, release):
                for named in _extras_of(line):
                    by_extra[named].append(line)
            self._by_extra[release] = by_extra
        return [*by_extra[extra], *(by_extra[_ANY] if extra else ())]

    def _lines(self, name: str, release: Release) -> list[str]:
        file = release.file
        if release.source is not None:
            return list(release.source.recipe.requires)
        if file.is_wheel:
            return list(self.catalog.metadata(file).requires_dist)
        archive = self.catalog.archive(file)
        if builds := self.facts_of_kind(name, release.version, facts.Builds):
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

    def build_lines(self, name: str, release: Release) -> list[str]:
        """Return the build requirements of a release that is built in the environment. Raises UnusableFile."""
        if release.source is not None:
            recipe = release.source.recipe
            lines = [] if recipe.isolation else list(recipe.build_requires)
        else:
            builds = self.facts_of_kind(name, release.version, facts.Builds)
            if not builds or builds[-1].isolation:
                return []
            requires = self.catalog.archive(release.file).build_requires
            lines = ["setuptools>=40.8.0", "wheel"] if requires is None else list(requires)
            lines = [line for line in lines if text.requirement(line).name not in builds[-1].build_drop]
            lines += map(str, builds[-1].build_add)
        return [line for line in lines if text.requirement(line).name != name]

    # --- commits and files

    def release_sources(self, name: str, version: Version) -> list[Source]:
        """Return what a release is built from according to facts that take it from a commit: one, or none."""
        if self.problem.wheels_only:
            return []
        known = [fact for fact in self.facts_of_kind(name, version, facts.Sources) if fact.makes_release(version)]
        return [Source.of_fact(fact, message("trust.not-read", fact=fact.id)) for fact in known[-1:]]

    def offers(self, name: NormalizedName, version: Version, index: str = "") -> list[File]:
        """Return the files of a release on one index, or on all of them."""
        pages = self.catalog.lookup(name).pages
        return [file for page in pages if page.index == index or not index for file in files_of(page, version)]

    def is_taken(self, name: NormalizedName, release: Release) -> bool:
        """Return whether pip takes the file of a release on the target, and no better wheel of the same index."""
        sources = self.release_sources(name, release.version)
        if sources or release.source is not None:
            return release.source in sources
        if self.facts_of_kind(name, release.version, facts.Builds):
            return True
        taken = self.rank(release.file)
        offered = unambiguous(self.offers(name, release.version, release.index))
        wheels = [file for file in offered if file.is_wheel]
        return not any(self.rank(file) < taken and not any(self.refusals(file)) for file in wheels)

    def has_usable_file(self, name: NormalizedName, page: Page, version: Version, *, is_yanked_fine: bool) -> bool:
        """Return whether a page has a file of a release that the target and the facts admit."""
        about = self.facts_about(name, version)
        for fact in about:
            if isinstance(fact, facts.Excludes) or (isinstance(fact, facts.Names) and fact.index == page.index):
                return False
        if self.release_sources(name, version):
            offered = [file for file in files_of(page, version) if not self.is_late(file)]
            return any(file.yanked is None or is_yanked_fine for file in offered)
        is_built = any(isinstance(fact, facts.Builds) for fact in about)
        worst = 2 * len(self.problem.target.tags) if is_yanked_fine else len(self.problem.target.tags)
        for file in unambiguous(files_of(page, version)):
            if (file.yanked is not None and not is_yanked_fine) or any(self.refusals(file)):
                continue
            if file.is_wheel and not is_built and self.rank(file) < worst:
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

    def rank(self, file: File) -> int:
        """Return the order in which pip takes files: wheels by their best tag, archives, and again, what was yanked."""
        accepted = self.problem.target.tags
        behind, unfit = 0 if file.yanked is None else len(accepted), 2 * len(accepted)
        if not file.is_wheel:
            return behind + len(accepted)
        # the last three parts of the name (PEP 427): thousands of wheels have a few dozen
        _, *last = file.filename[:-4].rsplit("-", 3)
        tags = _parsed_tags("-".join(last)) if len(last) == 3 else ()
        best = min((behind + accepted[tag] for tag in tags if tag in accepted), default=unfit)
        return best if best == unfit or parsed_wheel(file.filename) is not None else unfit


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
    """Project, version and tags in the name of a wheel; None if pip could not use a file with that name."""
    try:
        name, version, _, tags = parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return None
    return name, version, tuple(map(str, tags))


def files_of(page: Page, version: Version) -> Sequence[File]:
    """The files of a release; a page has one spelling of each version."""
    if (plain := str(version)) in page.releases:
        return page.releases[plain]
    return next((page.releases[spelled] for spelled in page.releases if parsed_version(spelled) == version), ())


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
    """Whether a Requires-Python admits each of these, and can be read at all. `>=3.6.*` stands for `>=3.6`."""
    clauses = (clause.strip() for clause in requires_python.split(","))
    try:
        ordered = (clause.removesuffix(".*") if clause[:1] in ("<", ">") else clause for clause in clauses)
        admitted = SpecifierSet(",".join(ordered))
        return all(admitted.contains(python, prereleases=True) for python in pythons)
    except InvalidSpecifier:
        return False
