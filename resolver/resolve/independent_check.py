"""The independent check of a resolution, which says whether it is valid.

It reads pages and metadata again (see `independent_reading`) and shares no code with the search, so
that it finds mistakes of the universe, the search or the SAT clauses. What a fact says about a
release is asked of the fact itself (`model/fact`), in both.
"""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeVar

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
from resolver.resolve.independent_absence import absent_projects
from resolver.resolve.independent_linkage import BinaryCheck
from resolver.resolve.independent_reading import IndependentReading, parsed_version
from resolver.resolve.independent_wheels import parsed_wheel, split_label

_Need = TypeVar("_Need", bound=facts.Need)
_FILENAME = re.compile(r"[A-Za-z0-9._+!-]+")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def check(problem: Problem, resolution: Resolution, catalog: Catalog) -> list[str]:
    """Return the faults of a resolution as sentences; none if it is valid."""
    return list(_Check(problem, resolution, catalog).violations())


class _Check:
    """Finds the faults of one resolution: rules that its pins break."""

    def __init__(self, problem: Problem, resolution: Resolution, catalog: Catalog) -> None:
        self._problem = problem
        self._catalog = catalog
        self._reading = IndependentReading(problem, catalog)
        self._pins: Mapping[str, Pin] = {pin.name: pin for pin in resolution.pins}
        self._facts_about = {
            pin.name: self._reading.facts_about(pin.name, pin.version) for pin in resolution.pins
        }
        # The specifiers of all requirements on each project that were found so far, except for
        # requirements of the project itself: a release cannot permit itself.
        self._specifiers: defaultdict[str, list[SpecifierSet]] = defaultdict(list)
        # The specifiers among them that are from the stack or a fact.
        self._user_specifiers: defaultdict[str, list[SpecifierSet]] = defaultdict(list)
        # The pins that something requires, each with an extra; empty for the pin itself.
        self._needed: set[tuple[str, str]] = set()
        # The pins and extras among them whose requirements were not checked yet.
        self._waiting: list[tuple[str, str]] = []
        self._absent = set(absent_projects(self._reading))
        self._binaries = BinaryCheck(problem, self._pins, catalog)

    def violations(self) -> Iterator[str]:
        """Yield all faults of the resolution as sentences.

        The methods below yield the faults of one kind, as sentences as well.
        """
        yield from self._check_requirements()
        yield from self._check_collisions()
        for pin in self._pins.values():
            if pin.release.source is None:
                yield from self._check_file(pin)
                yield from self._check_policy(pin)
            elif self._is_direct(pin):
                yield from self._check_source(pin)
            else:
                yield from self._check_release_source(pin)
                yield from self._check_policy(pin)
            if pin.name in self._absent:
                yield f"{pin.name} is pinned, and must be absent"
            yield from self._check_facts(pin)
            yield from self._check_bounds(pin)
            yield from self._check_constraints(pin)
            yield from self._binaries.faults(pin)
            if (pin.name, "") not in self._needed:
                yield f"nothing asks for {pin.name}"
            if not self._needed.issuperset((pin.name, extra) for extra in pin.extras):
                yield f"nothing asks for the extras of {pin.name}"

    # --- pins that are built from a commit

    def _check_source(self, pin: Pin) -> Iterator[str]:
        """Check a pin that is built from a commit which the stack names."""
        source = pin.release.source
        named = {line.url for line in self._reading.stack_lines(pin.name) if line.url}
        sources = [self._problem.sources.get(url) for url in named]
        if source is None or sources != [source]:
            yield f"{pin.name} is not what the stack's address stands for"
        elif source.name != pin.name or source.version != pin.version:
            release = f"{source.name} {source.version} of {source.address}"
            yield f"{pin.name} {pin.version} is not {release}"
        else:
            yield from self._reading.python_faults(pin.release.file, source.recipe.requires_python)

    def _is_direct(self, pin: Pin) -> bool:
        """Return whether a line of the stack takes the project of a pin from a commit."""
        return any(line.url for line in self._reading.stack_lines(pin.name))

    def _check_release_source(self, pin: Pin) -> Iterator[str]:
        """Check a pin that is built from a commit which only a fact names."""
        source = pin.release.source
        offered = self._reading.files_of_release(pin.name, pin.version)
        if source is None or source not in self._reading.release_sources(pin.name, pin.version):
            yield f"{pin.name} {pin.version} is from a commit that no fact has for it"
        elif not offered or all(map(self._reading.is_late, offered)):
            yield f"no index had {pin.name} {pin.version} before the cut-off"
        elif pin.release.file.yanked is None and all(file.yanked is not None for file in offered):
            yield f"{pin.name} {pin.version} was yanked"
        else:
            yield from self._reading.python_faults(pin.release.file, source.recipe.requires_python)

    # --- requirements

    def _check_requirements(self) -> Iterator[str]:
        """Check all requirements, beginning with the stack and following them through the pins.

        What is found is recorded in `_specifiers`, `_user_specifiers` and `_needed`.
        """
        for root in self._problem.stack.requirements:
            need = root.need
            if isinstance(need, Requirement) and need.url in self._problem.sources:
                # `_check_source` checks that the pin is what the address means
                need = replace(need, url="")
            yield from self._check_need(str(root.origin), need)
        while self._waiting:
            name, extra = self._waiting.pop()
            pin = self._pins[name]
            try:
                needs = self._metadata_needs(pin, extra)
                build_needs = [] if extra else self._build_needs(pin)
            except (UnusableFile, InvalidRequirement) as error:
                yield f"{pin.release.file.filename}: {error}"
                continue
            yield from self._check_pin_requirements(pin, extra, needs, build_needs)

    def _check_pin_requirements(
        self,
        pin: Pin,
        extra: str,
        needs: Sequence[Requirement],
        build_needs: Sequence[Requirement],
    ) -> Iterator[str]:
        """Check the requirements of a pin, or of one of its extras.

        `needs` and `build_needs` come from its file. Requirements of facts, of the stack's
        overrides and of its binaries are checked as well.
        """
        requirer = f"{pin.name}[{extra}] {pin.version}" if extra else f"{pin.name} {pin.version}"
        by_user = self._is_stated_by_fact(pin)
        for requirement in self._kept(pin, needs):
            yield from self._check_project_need(requirer, requirement, of=pin.name, by_user=by_user)
        for requirement in self._kept(pin, build_needs):
            yield from self._check_project_need(
                f"building {requirer}", requirement, of=pin.name, by_user=False
            )
        fact_needs = [] if extra else self._applying_fact_needs(pin)
        for need in self._kept(pin, fact_needs):
            yield from self._check_need(requirer, need, of=pin.name)
        for overriding in self._overriding(pin, [*needs, *build_needs, *fact_needs]):
            yield from self._check_project_need(requirer, overriding, of=pin.name, by_user=True)
        if extra:
            return
        for linked in self._binaries.needed(pin):
            yield from self._check_project_need(
                f"the binaries of {requirer}",
                text.requirement(linked),
                of=pin.name,
                by_user=False,
            )

    def _kept(self, pin: Pin, needs: Iterable[_Need]) -> Iterator[_Need]:
        """Yield the requirements of a pin that the stack does not override."""
        for need in needs:
            if not self._reading.is_overridden(need, pin.name):
                yield need

    def _overriding(self, pin: Pin, needs: Iterable[facts.Need]) -> Iterator[Requirement]:
        """Yield the lines of `overrides` that replace requirements of a pin, sorted by project."""
        names: set[str] = set()
        for need in needs:
            if isinstance(need, Requirement) and self._reading.is_overridden(need, pin.name):
                names.add(need.name)
        for name in sorted(names):
            for root in self._reading.overriding(name):
                if isinstance(root.need, Requirement):
                    yield root.need

    def _applying_fact_needs(self, pin: Pin) -> list[facts.Need]:
        """Return the requirements that facts add to a pin and that apply to the target."""
        return [
            need
            for need in self._fact_needs(pin)
            if isinstance(need, ComponentRequirement) or self._reading.applies(need, "")
        ]

    def _metadata_needs(self, pin: Pin, extra: str) -> list[Requirement]:
        """Return the requirements of a pin's metadata that apply and that no fact drops.

        Raises UnusableFile and InvalidRequirement.
        """
        dropped = self._reading.dropped(pin.name, pin.version)
        lines = self._reading.lines_for(pin.name, pin.release, extra)
        requirements = map(text.requirement, lines)
        needs = [need for need in requirements if self._reading.applies(need, extra)]
        return [need for need in needs if need.name not in dropped]

    def _build_needs(self, pin: Pin) -> list[Requirement]:
        """Return the requirements of a pin's build in the target environment that apply.

        Raises UnusableFile and InvalidRequirement.
        """
        lines = self._reading.build_lines(pin.name, pin.release)
        needs = map(text.requirement, lines)
        return [need for need in needs if self._reading.applies(need, "")]

    def _is_stated_by_fact(self, pin: Pin) -> bool:
        """Return whether the requirements of a pin are from a fact.

        Then a pin in them permits a yanked release.
        """
        source = pin.release.source
        return bool(self._builds(pin)) if source is None else source.fact is not None

    def _fact_needs(self, pin: Pin) -> Iterator[facts.Need]:
        """Yield the requirements that facts add to a pin and that no practice drops."""
        for fact in self._facts_about[pin.name]:
            needs = self._added_needs(fact, pin)
            yield from self._reading.needs_kept(fact, needs, pin.name, pin.version)
        for replaces in self._reading.facts_of_kind(pin.name, pin.version, facts.Replaces):
            yield from replaces.add

    def _added_needs(self, fact: facts.Fact, pin: Pin) -> tuple[facts.Need, ...]:
        """Return the requirements that a fact adds to a pin; none for a `replaces` fact."""
        match fact:
            case facts.Replaces():
                return ()
            case facts.Requires():
                concerns = self._reading.concerns_file(fact, pin.name, pin.release)
                return fact.needs if concerns else ()
            case _:
                return fact.needs_for(pin.release)

    def _check_need(self, requirer: str, need: facts.Need, *, of: str = "") -> Iterator[str]:
        """Check a requirement of the stack or a fact. `requirer` is who has it, for sentences.

        `of` is the project that a fact adds the requirement to; empty for the stack.
        """
        if isinstance(need, ComponentRequirement):
            if not self._reading.has_component(need):
                value = self._problem.target.system[need.component]
                yield f"{requirer}: {need} does not hold, the target has {need.component} {value}"
        elif self._reading.applies(need, ""):
            yield from self._check_project_need(requirer, need, of=of, by_user=True)

    def _check_project_need(
        self, requirer: str, need: Requirement, *, of: str, by_user: bool
    ) -> Iterator[str]:
        """Check a requirement on a project, and record it.

        `of` is the project that has the requirement; empty for the stack. `by_user` says whether it
        is from the stack or a fact.
        """
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
            if name != of:
                self._specifiers[name].append(need.specifier)
                if by_user:
                    self._user_specifiers[name].append(need.specifier)
            for extra in ("", *need.extras):
                if (name, extra) not in self._needed:
                    self._needed.add((name, extra))
                    self._waiting.append((name, extra))

    # --- files

    def _check_file(self, pin: Pin) -> Iterator[str]:
        """Yield the faults in the index and the files of a pin."""
        release = pin.release
        index = release.index
        binding = self._problem.indexes.binding(pin.name, self._problem.target.platform)
        if index not in binding.indexes:
            yield f"{pin.name} comes from `{index}`, which it is not bound to"
        offered = self._reading.files_of_release(pin.name, pin.version, index)
        hashes = {(file.filename, file.sha256) for file in offered}
        for file in (release.file, *release.others):
            if hashes.isdisjoint({(file.filename, file.sha256), (file.filename, "")}):
                yield f"{file.filename} is not on the page of `{index}` with this hash"
            if not _FILENAME.fullmatch(file.filename):
                yield (
                    f"{file.filename} has characters that no name of a wheel or source archive has"
                )
            if file.sha256 and not _SHA256.fullmatch(file.sha256):
                yield f"{file.filename} has no sha256"
            if file.is_wheel:
                yield from self._check_wheel(pin, file)
            yield from self._reading.refusals(file)
        with contextlib.suppress(UnusableFile):  # `_requirements` reports it
            requires_python = self._reading.requires_python(pin.name, release)
            yield from self._reading.python_faults(release.file, requires_python)
        if not self._reading.is_taken(pin.name, release):
            yield f"{release.file.filename} is not what pip takes"

    def _check_wheel(self, pin: Pin, file: File) -> Iterator[str]:
        """Check the name of a wheel, and its variant."""
        name, version, tags = parsed_wheel(file.filename) or ("", None, ())
        if (name, version) != (pin.name, pin.version):
            yield f"{file.filename} is not {pin.name} {pin.version}"
        if self._problem.target.tags.keys().isdisjoint(tags):
            yield f"{file.filename} is not for the target"
        yield from self._check_variant(pin, file)

    def _check_variant(self, pin: Pin, file: File) -> Iterator[str]:
        """Check the variant of a wheel.

        It must be the variant that is pinned, be for the target, and have the properties that its
        index states.
        """
        release = pin.release
        _, label = split_label(file.filename)
        if label != (release.variant.label if release.variant is not None else ""):
            yield f"{file.filename} is not of the variant that is pinned"
            return
        if not label:
            return
        table = self._reading.table(pin.name, pin.version, release.index)
        if not self._reading.wheels.is_fit(file, table):
            yield f"{file.filename} is a variant that is not for the target"
        with contextlib.suppress(UnusableFile):  # `_requirements` reports it
            yield from self._reading.own_faults(file, table)

    def _builds(self, pin: Pin) -> list[facts.Builds]:
        """Return the facts that say that a pin is built from its archive."""
        return self._reading.builds(pin.name, pin.version, pin.release.file, pin.release.index)

    # --- policy and facts

    def _check_policy(self, pin: Pin) -> Iterator[str]:
        """Check that a yanked release or a pre-release is permitted."""
        if pin.release.file.yanked is not None and not self._is_pinned_by_user(pin):
            yield f"{pin.name} {pin.version} was yanked, and neither the stack nor a fact pins it"
        if not pin.version.is_prerelease:
            return
        policy = self._problem.policy.prereleases_for(pin.name)
        if policy == "never":
            yield f"{pin.name} {pin.version} is a pre-release"
        if policy != "if-necessary":
            return
        if any(specifier.prereleases for specifier in self._specifiers[pin.name]):
            return
        for page in self._catalog.lookup(pin.name).pages:
            for version in map(parsed_version, page.releases):
                if not version.is_prerelease and self._fits(pin, page, version):
                    yield f"{pin.name} {pin.version} is a pre-release, and {version} fits"

    def _is_pinned_by_user(self, pin: Pin) -> bool:
        """Return whether the stack or a fact requires a single release of the pin's project."""
        for specifier in chain.from_iterable(self._user_specifiers[pin.name]):
            if specifier.operator == "===":
                return True
            if specifier.operator == "==" and "*" not in specifier.version:
                return True
        return False

    def _fits(self, pin: Pin, page: Page, version: Version) -> bool:
        """Return whether another release of a pin's project on a page meets all requirements."""
        for specifier in self._specifiers[pin.name]:
            if not specifier.contains(version, prereleases=True):
                return False
        return self._reading.has_usable_file(pin.name, page, version, is_yanked_fine=False)

    def _check_collisions(self) -> Iterator[str]:
        """Check that no module is owned by several pins, even by different facts."""
        owners: defaultdict[str, set[str]] = defaultdict(set)
        for fact in self._problem.facts:
            if isinstance(fact, (facts.Absent, facts.Collides)):
                if fact.other in self._pins:
                    owners[fact.module].add(fact.other)
                if fact in self._facts_about.get(fact.package, ()):
                    owners[fact.module].add(fact.package)
        for module, names in owners.items():
            if len(names) > 1:
                yield f"{' and '.join(sorted(names))} must not be together, as each owns `{module}`"

    def _check_bounds(self, pin: Pin) -> Iterator[str]:
        """Check that other pins meet the bounds of facts about a pin."""
        for fact in self._facts_about[pin.name]:
            for bound in fact.bounds_for(pin.release):
                other = self._pins.get(bound.name)
                if other is None or not self._reading.applies(bound, ""):
                    continue
                if not bound.specifier.contains(other.version, prereleases=True):
                    yield (
                        f"{pin.name} {pin.version} works only with {bound}, "
                        f"and {other.version} is pinned"
                    )

    def _check_constraints(self, pin: Pin) -> Iterator[str]:
        """Check that a pin meets the stack's `constraints`."""
        for root in self._reading.constraints_on(pin.name):
            need = root.need
            if isinstance(need, Requirement) and not need.specifier.contains(
                pin.version, prereleases=True
            ):
                yield f"{root.origin}, and {pin.name} {pin.version} is pinned"

    def _should_be_commit(self, fact: facts.Sources, pin: Pin) -> bool:
        """Return whether a pin is a file although a fact builds the release from a commit.

        The result is False if the file is a variant for the targets of the fact, so that the fact
        does not count.
        """
        if pin.release.source is not None or self._problem.wheels_only:
            return False
        sources = self._reading.release_sources(pin.name, pin.version)
        if fact not in [source.fact for source in sources]:
            return False
        return not self._reading.is_for_machines_of(fact, pin.name, pin.release)

    def _check_facts(self, pin: Pin) -> Iterator[str]:
        """Yield a fault for each fact that rules a pin out."""
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
                    pass  # requirements, bounds and collisions are checked elsewhere
