"""The projects that must not be installed, found again for the independent checks."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model import fact as facts
from resolver.model.requirement import ComponentRequirement
from resolver.resolve.independent_reading import IndependentReading


def absent_projects(reading: IndependentReading) -> Iterator[NormalizedName]:
    """Yield the projects that must not be installed, by the stack and by `absent` facts.

    Requirements on them are ignored.
    """
    for absence in reading.problem.stack.absent:
        yield absence.package
    for fact in reading.problem.facts:
        if isinstance(fact, facts.Absent) and _is_in_force(fact, reading):
            yield fact.other


def _is_in_force(fact: facts.Absent, reading: IndependentReading) -> bool:
    """Return whether requirements on the other project of an `absent` fact are ignored.

    They are if the stack names the project of the fact, does not require the other project, and the
    fact is about every release that the stack's lines and the target's components admit; if the
    components admit none of these releases, about every release that the lines admit.
    """
    if reading.stack_lines(fact.other):
        return False
    lines = reading.stack_lines(fact.package)
    if not lines:
        return False
    of_lines = [
        version
        for version in reading.versions(fact.package)
        if all(line.specifier.contains(version, prereleases=True) for line in lines)
    ]
    on_target = [version for version in of_lines if _target_admits(fact.package, version, reading)]
    admitted = on_target or of_lines
    return bool(admitted) and all(map(fact.applies_to, admitted))


def _target_admits(name: NormalizedName, version: Version, reading: IndependentReading) -> bool:
    """Return whether the target meets what facts require of its components for a release.

    Requirements that only wheels have are ignored, since the release may be built from source.
    """
    for fact in reading.facts_of_kind(name, version, facts.Requires):
        if fact.wheels:
            continue
        for need in fact.needs:
            if isinstance(need, ComponentRequirement) and not reading.has_component(need):
                return False
    return True
