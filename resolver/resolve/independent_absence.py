"""Which projects must be absent, for the checks of answers: written apart from the search."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model import fact as facts
from resolver.model.requirement import ComponentRequirement
from resolver.resolve.independent_reading import IndependentReading


def absent_projects(reading: IndependentReading) -> Iterator[NormalizedName]:
    """Yield the projects that must be absent: by the stack, and by facts that are in force.

    Requirements on them do not count.
    """
    for absence in reading.problem.stack.absent:
        yield absence.package
    for fact in reading.problem.facts:
        if isinstance(fact, facts.Absent) and _is_in_force(fact, reading):
            yield fact.other


def _is_in_force(fact: facts.Absent, reading: IndependentReading) -> bool:
    """Return whether a fact is about each release that the stack's lines and the target admit.

    It is not in force if the stack asks for the project that would be absent.
    """
    if reading.stack_lines(fact.other):
        return False
    lines = reading.stack_lines(fact.package)
    if not lines:
        return False
    admitted = []
    for version in reading.versions(fact.package):
        is_asked_for = all(line.specifier.contains(version, prereleases=True) for line in lines)
        if is_asked_for and _target_admits(fact.package, version, reading):
            admitted.append(version)
    return bool(admitted) and all(map(fact.applies_to, admitted))


def _target_admits(name: NormalizedName, version: Version, reading: IndependentReading) -> bool:
    """Return whether the target's components meet what facts require of them for a release.

    What only its wheels require does not count, as it may be built from source.
    """
    for fact in reading.facts_of_kind(name, version, facts.Requires):
        if fact.wheels:
            continue
        for need in fact.needs:
            if isinstance(need, ComponentRequirement) and not reading.has_component(need):
                return False
    return True
