"""Which facts a resolution rests on."""

from __future__ import annotations

from collections.abc import Iterator

from resolver.model import fact as facts
from resolver.model.release import Release
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.resolution import Pin, Resolution

# Facts for which, besides the version, at most the release's file or source matters.
_OfRelease = (
    facts.Absent
    | facts.Builds
    | facts.Collides
    | facts.Exports
    | facts.External
    | facts.Links
    | facts.Metadata
    | facts.Pairs
    | facts.Replaces
    | facts.Requires
)


def applied_facts(resolution: Resolution) -> Iterator[facts.Fact]:
    """Yield the facts that count as used, in the order of the files.

    Such a fact is about a pinned release, and its conditions are met.
    """
    for fact in resolution.problem.facts:
        if _is_used(fact, resolution):
            yield fact


def _is_used(fact: facts.Fact, resolution: Resolution) -> bool:
    if isinstance(fact, facts.Collides) and resolution.pin(fact.other) is not None:
        return True
    pin = resolution.pin(fact.package)
    if pin is None:
        return False
    if isinstance(fact, facts.Sources):
        return pin.release.source is not None and pin.release.source.fact == fact
    if isinstance(fact, (facts.Excludes, facts.Names)):
        return True
    if not fact.applies_to(pin.version):
        return False
    match fact:
        case facts.After():
            return any(resolution.pin(name) is not None for name in fact.others)
        case facts.Constrains():
            return any(resolution.pin(bound.name) is not None for bound in fact.bounds)
        case facts.Optional():
            return not fact.needs or not all(_is_met(need, resolution) for need in fact.needs)
        case facts.Warns():
            return _warns(fact, pin, resolution)
        case _:
            return _counts_for(fact, pin.release)


def _warns(fact: facts.Warns, pin: Pin, resolution: Resolution) -> bool:
    """Return whether a warning about this version concerns the lock."""
    if not fact.counts_for(pin.release):
        return False
    if fact.extra and fact.extra not in pin.extras:
        return False
    if not all(_is_met(need, resolution) for need in fact.together_with):
        return False
    return not any(_is_met(need, resolution) for need in fact.unless)


def _counts_for(fact: _OfRelease, release: Release) -> bool:
    """Return whether a fact about this version counts for its file or source."""
    match fact:
        case facts.Requires():
            return fact.counts_for(release)
        case facts.Metadata() | facts.Builds():
            return release.source is None and not release.file.is_wheel
        case facts.External():
            return release.source is not None or not release.file.is_wheel
        case facts.Links():
            return bool(fact.to) and release.file.is_wheel
        case facts.Collides() | facts.Replaces() | facts.Absent() | facts.Exports():
            return True
        case facts.Pairs():
            # It informs people, and decides nothing.
            return False


def _is_met(need: facts.Need, resolution: Resolution) -> bool:
    """Return whether the target or the pins meet a condition of a fact."""
    target = resolution.problem.target
    match need:
        case ComponentRequirement():
            return need.is_promised_by(target.system)
        case Requirement():
            if need.marker is not None and not need.marker.evaluate(target.markers):
                return False
            pin = resolution.pin(need.name)
            return pin is not None and need.specifier.contains(pin.version, prereleases=True)
