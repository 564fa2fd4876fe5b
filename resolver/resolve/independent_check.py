"""The independent check: is a resolution valid? Deliberately written separately from the search.

It looks at pages, metadata and facts again (see `independent_reading`), so that a mistake in the
universe, the search or the SAT encoding cannot go unnoticed.
"""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.index.protocol import Catalog, UnusableFile
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.problem import Problem
from resolver.model.release import File, Page
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.resolution import Pin, Resolution
from resolver.resolve.independent_linkage import BinaryCheck
from resolver.resolve.independent_reading import (
    IndependentReading,
    parsed_version,
    parsed_wheel,
    split_label,
)

_FILENAME = re.compile(r"[A-Za-z0-9._+!-]+")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def check(problem: Problem, resolution: Resolution, catalog: Catalog) -> list[str]:
    """Return every fault of the resolution as a sentence; nothing if it is valid."""
    return list(_Check(problem, resolution, catalog).violations())


class _Check:
    def __init__(self, problem: Problem, resolution: Resolution, catalog: Catalog) -> None:
        self._problem = problem
        self._catalog = catalog
        self._pins: Mapping[str, Pin] = {pin.name: pin for pin in resolution.pins}
        self._facts_about = {
            pin.name: [
                fact
                for fact in problem.facts
                if fact.package == pin.name and fact.applies_to(pin.version)
            ]
            for pin in resolution.pins
        }
        self._specifiers: defaultdict[str, list[SpecifierSet]] = defaultdict(list)
        self._user_specifiers: defaultdict[str, list[SpecifierSet]] = defaultdict(
            list
        )  # of the stack or a fact
        self._needed: set[tuple[str, str]] = (
            set()
        )  # pins and extras that something needs; "" stands for no extra
        self._todo: list[
            tuple[str, str]
        ] = []  # those of them whose requirements were not checked yet
        self._reading = IndependentReading(problem, catalog)
        self._absent = set(self._absences())
        self._binaries = BinaryCheck(problem, self._pins, catalog)

    def violations(self) -> Iterator[str]:
        yield from self._requirements()
        yield from self._collisions()
        for pin in self._pins.values():
            if pin.release.source is not None and self._is_direct(pin):
                yield from self._source(pin)
            elif pin.release.source is not None:
                yield from self._release_source(pin)
                yield from self._policy(pin)
            else:
                yield from self._file(pin)
                yield from self._policy(pin)
            if pin.name in self._absent:
                yield f"{pin.name} is pinned, and must be absent"
            yield from self._facts(pin)
            yield from self._bounds(pin)
            yield from self._binaries.faults(pin)
            if (pin.name, "") not in self._needed:
                yield f"nothing asks for {pin.name}"
            if not self._needed.issuperset((pin.name, extra) for extra in pin.extras):
                yield f"nothing asks for the extras of {pin.name}"

    # --- what is not from an index, and what must not be installed

    def _lines_about(self, name: str) -> list[Requirement]:
        """The stack's lines about a project that apply to the target."""
        needs = [
            root.need
            for root in self._problem.stack.requirements
            if isinstance(root.need, Requirement)
        ]
        return [need for need in needs if need.name == name and self._reading.applies(need, "")]

    def _absences(self) -> Iterator[str]:
        """Yield what the stack excludes, and what facts do about each release that its lines and the target admit."""
        for row in self._problem.stack.absent:
            yield row.package
        for fact in self._problem.facts:
            if not isinstance(fact, facts.Absent) or self._lines_about(fact.other):
                continue
            lines = self._lines_about(fact.package)
            if urls := [line.url for line in lines if line.url]:
                versions = [self._problem.sources[urls[0]].version]
            else:
                pages = self._catalog.lookup(fact.package).pages if lines else ()
                versions = [parsed_version(spelled) for page in pages for spelled in page.releases]
            asked = [
                v
                for v in versions
                if all(line.specifier.contains(v, prereleases=True) for line in lines)
            ]
            admitted = [version for version in asked if self._target_admits(fact.package, version)]
            if admitted and all(map(fact.applies_to, admitted)):
                yield fact.other

    def _target_admits(self, name: str, version: Version) -> bool:
        """Return whether the target has what facts require of its components for a release of a project."""
        for fact in self._problem.facts:
            if (
                not isinstance(fact, facts.Requires)
                or fact.wheels
                or not fact.is_about(name, version)
            ):
                continue
            for need in fact.needs:
                if isinstance(need, ComponentRequirement):
                    value = self._problem.target.system.get(need.component)
                    if value is not None and not need.allows(value):
                        return False
        return True

    def _source(self, pin: Pin) -> Iterator[str]:
        """A pin that is not from an index must be the source that the stack names, in its known version."""
        source = pin.release.source
        urls = {line.url for line in self._lines_about(pin.name) if line.url}
        if (
            len(urls) != 1
            or self._problem.sources.get(next(iter(urls), "")) != source
            or source is None
        ):
            yield f"{pin.name} is not what the stack's address stands for"
        elif source.name != pin.name or source.version != pin.version:
            yield f"{pin.name} {pin.version} is not {source.name} {source.version} of {source.address}"
        else:
            yield from self._reading.python_faults(pin.release.file, source.recipe.requires_python)

    def _is_direct(self, pin: Pin) -> bool:
        return any(line.url for line in self._lines_about(pin.name))

    def _release_source(self, pin: Pin) -> Iterator[str]:
        """Yield what is wrong with a release that comes from a commit although no line of the stack names one."""
        source = pin.release.source
        offered = self._reading.offers(pin.name, pin.version)
        if source is None or source not in self._reading.release_sources(pin.name, pin.version):
            yield f"{pin.name} {pin.version} is from a commit that no fact has for it"
        elif not offered or all(map(self._reading.is_late, offered)):
            yield f"no index had {pin.name} {pin.version} before the cut-off"
        elif pin.release.file.yanked is None and all(file.yanked is not None for file in offered):
            yield f"{pin.name} {pin.version} was yanked"
        else:
            yield from self._reading.python_faults(pin.release.file, source.recipe.requires_python)

    # --- requirements

    def _requirements(self) -> Iterator[str]:
        """Walk from the stack, recording everything met in `_specifiers` and `_needed`."""
        for root in self._problem.stack.requirements:
            need = root.need
            if isinstance(need, Requirement) and need.url in self._problem.sources:
                need = replace(
                    need, url=""
                )  # `_source` checks that the pin is what the address means
            yield from self._need(str(root.origin), need)
        while self._todo:
            name, extra = self._todo.pop()
            pin = self._pins[name]
            requirer = f"{name}[{extra}] {pin.version}" if extra else f"{name} {pin.version}"
            try:
                lines = map(text.requirement, self._reading.lines_for(pin.name, pin.release, extra))
                needs = [need for need in lines if self._reading.applies(need, extra)]
                tools = self._reading.build_lines(pin.name, pin.release) if not extra else []
                build_lines = map(text.requirement, tools)
                build_needs = [need for need in build_lines if self._reading.applies(need, "")]
            except (UnusableFile, InvalidRequirement) as error:
                yield f"{pin.release.file.filename}: {error}"
                continue
            replacing = self._facts_of_kind(pin, facts.Replaces)
            dropped = {name for fact in replacing for name in fact.drop}
            source = pin.release.source
            by_fact = bool(self._builds(pin)) if source is None else source.fact is not None
            for requirement in needs:
                if requirement.name not in dropped:
                    yield from self._project_need(requirer, requirement, by_user=by_fact)
            for requirement in build_needs:
                yield from self._project_need(f"building {requirer}", requirement, by_user=False)
            if extra:
                continue
            practices = [fact for fact in replacing if fact.strength is facts.Strength.PRACTICE]
            by_practice = {name for fact in practices for name in fact.drop}
            for fact in self._facts_about[pin.name]:
                firm = fact.strength in (facts.Strength.ENFORCED, facts.Strength.PRACTICE)
                for need in self._added_needs(fact, pin):
                    is_dropped = isinstance(need, Requirement) and need.name in by_practice
                    if firm or not is_dropped:
                        yield from self._need(requirer, need)
            for need in chain.from_iterable(fact.add for fact in replacing):
                yield from self._need(requirer, need)
            for name in self._binaries.needed(pin):
                yield from self._project_need(
                    f"the binaries of {requirer}", text.requirement(name), by_user=False
                )

    def _added_needs(self, fact: facts.Fact, pin: Pin) -> tuple[facts.Need, ...]:
        """Return what a fact adds to the requirements of a pin, without what replaces metadata."""
        match fact:
            case facts.Replaces():
                return ()
            case facts.Requires():
                return fact.needs if self._reading.counts(fact, pin.name, pin.release) else ()
            case _:
                return fact.needs_for(pin.release)

    def _need(self, requirer: str, need: facts.Need) -> Iterator[str]:
        if isinstance(need, ComponentRequirement):
            value = self._problem.target.system.get(need.component)
            if value is not None and not need.allows(value):
                yield f"{requirer}: {need} does not hold, the target has {need.component} {value}"
        elif self._reading.applies(need, ""):
            yield from self._project_need(requirer, need, by_user=True)

    def _project_need(self, requirer: str, need: Requirement, *, by_user: bool) -> Iterator[str]:
        name = need.name
        pin = self._pins.get(name)
        if name in self._absent:
            return
        if need.url:
            yield f"{requirer} needs the address {need.url}"
        elif pin is None:
            yield f"{requirer} needs {need}, which is not pinned"
        elif not need.specifier.contains(pin.version, prereleases=True):
            yield f"{requirer} needs {need}, and {pin.version} is pinned"
        else:
            self._specifiers[name].append(need.specifier)
            if by_user:
                self._user_specifiers[name].append(need.specifier)
            new = [
                (name, extra) for extra in ("", *need.extras) if (name, extra) not in self._needed
            ]
            self._needed.update(new)
            self._todo += new

    # --- files

    def _file(self, pin: Pin) -> Iterator[str]:
        index = pin.release.index
        if (
            index
            not in self._problem.indexes.binding(pin.name, self._problem.target.platform).indexes
        ):
            yield f"{pin.name} comes from `{index}`, which it is not bound to"
        offered = self._reading.offers(pin.name, pin.version, index)
        hashes = {(file.filename, file.sha256) for file in offered}
        for file in (pin.release.file, *pin.release.others):
            if hashes.isdisjoint({(file.filename, file.sha256), (file.filename, "")}):
                yield f"{file.filename} is not on the page of `{index}` with this hash"
            if not _FILENAME.fullmatch(file.filename):
                yield f"{file.filename} has characters that no name of a wheel or source archive has"
            if file.sha256 and not _SHA256.fullmatch(file.sha256):
                yield f"{file.filename} has no sha256"
            if file.is_wheel:
                name, version, tags = parsed_wheel(file.filename) or ("", None, ())
                if (name, version) != (pin.name, pin.version):
                    yield f"{file.filename} is not {pin.name} {pin.version}"
                if self._problem.target.tags.keys().isdisjoint(tags):
                    yield f"{file.filename} is not for the target"
                yield from self._variant(pin, file)
            yield from self._reading.refusals(file)
        if pin.release.file.is_wheel:
            with contextlib.suppress(UnusableFile):  # reported with its requirements
                metadata = self._catalog.metadata(pin.release.file)
                yield from self._reading.python_faults(pin.release.file, metadata.requires_python)
        if not self._reading.is_taken(pin.name, pin.release):
            yield f"{pin.release.file.filename} is not what pip takes"

    def _variant(self, pin: Pin, file: File) -> Iterator[str]:
        """Yield why a wheel is not of the pin's variant, not what the index says it is, or not for the target."""
        release = pin.release
        _, label = split_label(file.filename)
        if label != (release.variant.label if release.variant is not None else ""):
            yield f"{file.filename} is not of the variant that is pinned"
            return
        if not label:
            return
        table = self._reading.table(pin.name, pin.version, release.index)
        if not self._reading.is_fit(file, table):
            yield f"{file.filename} is a variant that is not for the target"
        with contextlib.suppress(UnusableFile):  # reported with its requirements
            yield from self._reading.own_faults(file, table)

    def _builds(self, pin: Pin) -> list[facts.Builds]:
        return self._reading.builds(pin.name, pin.version, pin.release.file, pin.release.index)

    # --- policy and facts

    def _policy(self, pin: Pin) -> Iterator[str]:
        specifiers = chain.from_iterable(self._user_specifiers[pin.name])
        pinned = any(
            spec.operator == "===" or (spec.operator == "==" and "*" not in spec.version)
            for spec in specifiers
        )
        if pin.release.file.yanked is not None and not pinned:
            yield f"{pin.name} {pin.version} was yanked, and neither the stack nor a fact pins it"
        if not pin.version.is_prerelease:
            return
        policy = self._problem.policy.prereleases_for(pin.name)
        if policy == "never":
            yield f"{pin.name} {pin.version} is a pre-release"
        elif policy == "if-necessary" and not any(
            spec.prereleases for spec in self._specifiers[pin.name]
        ):
            for page in self._catalog.lookup(pin.name).pages:
                for version in map(parsed_version, page.releases):
                    if not version.is_prerelease and self._fits(pin, page, version):
                        yield f"{pin.name} {pin.version} is a pre-release, and {version} fits"

    def _fits(self, pin: Pin, page: Page, version: Version) -> bool:
        """Whether a page's release of a pin's project meets its requirements and has a file for the target."""
        return all(
            spec.contains(version, prereleases=True) for spec in self._specifiers[pin.name]
        ) and self._reading.has_usable_file(pin.name, page, version, is_yanked_fine=False)

    def _facts_of_kind(self, pin: Pin, kind: type[facts.FactKind]) -> list[facts.FactKind]:
        return [fact for fact in self._facts_about[pin.name] if isinstance(fact, kind)]

    def _collisions(self) -> Iterator[str]:
        """At most one pin owns a module, even if different facts name the owners."""
        owners: defaultdict[str, set[str]] = defaultdict(set)
        for fact in self._problem.facts:
            if isinstance(fact, (facts.Absent, facts.Collides)):
                applies = fact in self._facts_about.get(fact.package, ())
                owners[fact.module] |= self._pins.keys() & (
                    {fact.package, fact.other} if applies else {fact.other}
                )
        for module, names in owners.items():
            if len(names) > 1:
                yield f"{' and '.join(sorted(names))} must not be together, as each owns `{module}`"

    def _bounds(self, pin: Pin) -> Iterator[str]:
        """Yield each bound of a fact about a pin that another pin is beyond."""
        for fact in self._facts_about[pin.name]:
            for bound in fact.bounds_for(pin.release):
                other = self._pins.get(bound.name)
                if other is None or not self._reading.applies(bound, ""):
                    continue
                if not bound.specifier.contains(other.version, prereleases=True):
                    yield f"{pin.name} {pin.version} works only with {bound}, and {other.version} is pinned"

    def _is_file(self, pin: Pin) -> bool:
        """Return whether a pin is from an index although it might have been built from a commit."""
        return pin.release.source is None and not self._problem.wheels_only

    def _should_be_commit(self, fact: facts.Sources, pin: Pin) -> bool:
        """Return whether a fact takes a pin's release from a commit, and the pin is a file for other targets."""
        sources = self._reading.release_sources(pin.name, pin.version)
        if fact not in [source.fact for source in sources] or not self._is_file(pin):
            return False
        return not self._reading.is_for_machines_of(fact, pin.name, pin.release)

    def _facts(self, pin: Pin) -> Iterator[str]:
        for fact in self._facts_about[pin.name]:
            match fact:
                case facts.Excludes():
                    yield f"{pin.name} {pin.version} is excluded at {fact.where}"
                case facts.Names() if fact.index == pin.release.index:
                    yield f"{pin.name} {pin.version} from `{fact.index}` is refused at {fact.where}"
                case facts.Builds() if pin.release.file.is_wheel and fact in self._builds(pin):
                    yield f"{pin.name} {pin.version} is a wheel, and a fact builds it from source"
                case facts.Sources() if self._should_be_commit(fact, pin):
                    yield f"{pin.name} {pin.version} is a file, and a fact builds it from a commit"
                case _:
                    pass  # what a pin needs, and what excludes others, is checked elsewhere
