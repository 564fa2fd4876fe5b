"""The driver (HDK) that a lock requires if its target states none; install.sh and verify.py check the machine's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from resolver.model import fact as facts
from resolver.model.component import ComponentRequirement
from resolver.model.lock import LockedDriver
from resolver.model.resolution import Resolution

_HDK = "hdk"


def drivers(resolution: Resolution, about: Sequence[facts.Fact]) -> Iterator[LockedDriver]:
    """The drivers that the facts `about` a resolution require, in their order; none if the target states its driver.

    A warning requires one if its `unless` names the driver, and the target states all other components that it names.
    If the target does not state one of those, such as the CANN, it is unknown whether the warning applies.
    """
    system = resolution.problem.target.system
    if _HDK in system:
        return
    for fact in about:
        match fact:
            case facts.Requires() | facts.Replaces():
                for need in fact.needs if isinstance(fact, facts.Requires) else fact.add:
                    if isinstance(need, ComponentRequirement) and need.component == _HDK:
                        binding = fact.strength is not facts.Strength.OBSERVED
                        yield LockedDriver(
                            by=_by(fact, resolution),
                            needs=(str(need),),
                            text=fact.reason,
                            text_zh=fact.reason_zh,
                            fact=fact.id,
                            binding=binding,
                        )
            case facts.Warns() if _HDK in fact.components and fact.components - {_HDK} <= system.keys():
                needs = (need for need in fact.unless if isinstance(need, ComponentRequirement))
                texts = tuple(str(need) for need in needs if need.component == _HDK)
                yield LockedDriver(
                    by=_by(fact, resolution), needs=texts, text=fact.text, text_zh=fact.text_zh, fact=fact.id
                )
            case _:
                pass


def _by(fact: facts.Fact, resolution: Resolution) -> str:
    """Who requires it: the CANN if the fact is about certain ones, otherwise the project."""
    cann = resolution.problem.target.system.get("cann")
    if isinstance(fact, facts.Warns) and "cann" in fact.components and cann is not None:
        return f"CANN {cann}"
    pin = resolution.pin(fact.package)
    return f"{fact.package} {pin.version}" if pin is not None else str(fact.package)
