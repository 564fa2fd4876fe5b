"""Which practices in force a resolution rests on: without them, metadata or a fact would forbid it."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.requirements import InvalidRequirement

from resolver.index.protocol import Catalog
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.requirement import Requirement
from resolver.model.resolution import Pin, Resolution
from resolver.resolve.needs import requirement_lines


def practices_used(resolution: Resolution, catalog: Catalog) -> Iterator[facts.Practice]:
    """Those in force that make a difference, in the order of the facts.

    One that replaces requirements makes none if the pins meet those requirements anyway.
    """
    for fact in resolution.problem.facts:
        pin = resolution.pin(fact.package) if fact.strength is facts.Strength.PRACTICE else None
        if pin is None or not fact.speaks_of(pin.version):
            continue
        if isinstance(fact, facts.Requires) and (pin.release.file.is_wheel or not fact.wheels):
            yield fact
        elif isinstance(fact, facts.Replaces):
            needs = (*_own(pin, fact, resolution, catalog), *_of_facts(pin, fact, resolution))
            if not all(_is_met(need, resolution) for need in needs):
                yield fact


def _own(pin: Pin, fact: facts.Replaces, resolution: Resolution, catalog: Catalog) -> Iterator[Requirement]:
    """The requirements of a pin's metadata that a fact drops, as far as they apply."""
    stated = [one for one in resolution.problem.facts if isinstance(one, facts.Metadata) and one.package == pin.name]
    about = [one for one in stated if one.speaks_of(pin.version)]
    markers = resolution.problem.target.markers
    for line in requirement_lines(catalog, pin.release, about).requires:
        try:
            need = text.requirement(line)
        except InvalidRequirement:  # otherwise the solver would have set the file aside
            continue
        applies = need.marker is None or any(
            need.marker.evaluate({**markers, "extra": extra}) for extra in ("", *pin.extras)
        )
        if need.name in fact.drop and applies:
            yield need


def _of_facts(pin: Pin, fact: facts.Replaces, resolution: Resolution) -> Iterator[facts.Need]:
    """The needs of other facts that a fact drops."""
    for other in resolution.problem.facts:
        if isinstance(other, facts.Requires) and other.package == pin.name and other.speaks_of(pin.version):
            kept = facts.kept_of(other, [fact])
            yield from (need for need in other.needs if need not in kept)


def _is_met(need: facts.Need, resolution: Resolution) -> bool:
    if not isinstance(need, Requirement):
        return True
    pin = resolution.pin(need.name)
    return pin is not None and need.specifier.contains(pin.version, prereleases=True)
