"""What a lock requires of the driver (HDK) beyond its target; install.sh and verify.py check the machine's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from resolver.model import fact as facts
from resolver.model.component import ComponentRequirement
from resolver.model.lock import LockedDriver
from resolver.model.problem import Problem
from resolver.model.resolution import Resolution

_HDK = "hdk"


def drivers(resolution: Resolution, about: Sequence[facts.Fact]) -> Iterator[LockedDriver]:
    """What the lines of the stack, then the facts that the lock rests on, require of the driver, in their order.

    A warning requires one if its `unless` names the driver, and the target states all other components that it names.
    If the target does not state one of those, such as the CANN, it is unknown whether the warning applies.
    """
    problem = resolution.problem
    for ask in problem.stack.asks:
        if is_left_open(ask.need, resolution):
            yield LockedDriver(
                by=problem.stack.name,
                needs=(str(ask.need),),
                text=f"the stack asks for {ask.need}",
                text_zh=f"软件栈要求 {ask.need}",
                fact=ask.origin.where,
                binding=True,
            )
    for fact in about:
        for need in facts.needs_of(fact):
            if is_left_open(need, resolution):
                yield LockedDriver(
                    by=_by(fact, resolution),
                    needs=(str(need),),
                    text=fact.reason,
                    text_zh=fact.reason_zh,
                    fact=fact.id,
                    binding=fact.strength is not facts.Strength.OBSERVED,
                )
        if isinstance(fact, facts.Warns) and _is_about_the_driver(fact, problem):
            components = (need for need in fact.unless if isinstance(need, ComponentRequirement))
            needs = tuple(str(need) for need in components if need.component == _HDK)
            yield LockedDriver(
                by=_by(fact, resolution), needs=needs, text=fact.text, text_zh=fact.text_zh, fact=fact.id
            )


def is_left_open(need: facts.Need, resolution: Resolution) -> bool:
    """Whether this is about the driver, and only the machine can tell: the target's is the oldest, or not stated."""
    system = resolution.problem.target.system
    return isinstance(need, ComponentRequirement) and need.component == _HDK and not need.is_promised_by(system)


def _is_about_the_driver(warning: facts.Warns, problem: Problem) -> bool:
    """Whether a warning depends on the driver, and on no component that the target leaves open."""
    return _HDK in warning.components and warning.components - {_HDK} <= problem.target.system.keys()


def _by(fact: facts.Fact, resolution: Resolution) -> str:
    """Who requires it: the CANN if the fact is about certain ones, otherwise the project."""
    cann = resolution.problem.target.system.get("cann")
    if isinstance(fact, facts.Warns) and "cann" in fact.components and cann is not None:
        return f"CANN {cann}"
    pin = resolution.pin(fact.package)
    return f"{fact.package} {pin.version}" if pin is not None else str(fact.package)
