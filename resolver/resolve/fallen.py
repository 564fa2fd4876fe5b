"""UpgradePolicy without an upper bound that got a release far older than the newest, and what keeps the newer ones out.

`vllm-ascend` on a CANN of last winter gives a release of last winter, and nobody asked for that. What keeps newer ones
out is a core of the clauses about what the stack names: that takes a fraction of a proof, and requests next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import timedelta

from msgspec.structs import replace

from resolver.errors import ResolverError
from resolver.model import text
from resolver.model.dependency import Kind, Package, StackLine
from resolver.model.fact import Requires
from resolver.model.problem import Ask, Problem
from resolver.model.release import Reason, Rejection, Release
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.resolution import Asks, FellBack, Pin, Resolution, Statement
from resolver.resolve.grounded import Component, Ground, Line
from resolver.resolve.project import Project
from resolver.resolve.universe import Universe

_MINORS = 3  # minor releases that a wish may be behind without a word
_AGE = timedelta(days=183)
_BOUNDS = ("==", "===", "~=", "<", "<=")


def fallen_back(universe: Universe, resolution: Resolution) -> tuple[FellBack, ...]:
    """Those of the lines; the first has the reasons, as far as nothing newer is possible at all.

    First is what tables bind to the machine, and of that what needs the others: their releases follow from its.
    """
    rows = list(_far(universe, resolution))
    needed = {name for pin, _ in rows for name in pin.needs}
    rows.sort(key=lambda row: (not _is_bound(universe.problem, row[0]), row[0].name in needed))
    return tuple(
        FellBack(
            project=pin.name,
            version=pin.version,
            newest=newest,
            because=() if at else _kept_out(universe, pin),
        )
        for at, (pin, newest) in enumerate(rows)
    )


def _far(universe: Universe, resolution: Resolution) -> Iterator[tuple[Pin, str]]:
    """The pins of such lines that are far behind, each with the newest final release."""
    for ask in resolution.problem.stack.asks:
        need = ask.need
        pin = resolution.pin(need.name) if isinstance(need, Requirement) and not need.url else None
        if pin is None or not isinstance(need, Requirement) or any(one.operator in _BOUNDS for one in need.specifier):
            continue
        project = universe.project(pin.name)
        newer = [
            at
            for at in project.positions(project.stable & project.mask(need.specifier))
            if project.versions[at] > pin.version and not _is_out(project.release(at))
        ]
        if newer and _is_far(project, newer, pin):
            yield pin, str(project.versions[newer[0]])


def _is_out(release: Release | tuple[Rejection, ...]) -> bool:
    """Whether a release is none to wait for: yanked, or after the cut-off."""
    if isinstance(release, Release):
        return release.yanked
    return any(row.reason in (Reason.NEWER, Reason.YANKED) for row in release)


def _is_far(project: Project, newer: Sequence[int], pin: Pin) -> bool:
    """Whether a pin is more than so many minor releases, or longer, behind the first of the newer ones."""
    new, old = project.versions[newer[0]], pin.version
    minors = {project.versions[at].release[:2] for at in newer} - {old.release[:2]}
    if len(minors) > _MINORS or (new.major == old.major and new.minor - old.minor > _MINORS):
        return True
    late, early = project.uploaded(newer[0]), project.uploaded(pin.release.position)
    return late is not None and early is not None and late - early > _AGE


def _is_bound(problem: Problem, pin: Pin) -> bool:
    """Whether facts say which machine releases of a project are for."""
    return any(
        isinstance(fact, Requires)
        and fact.package == pin.name
        and any(isinstance(need, ComponentRequirement) for need in fact.needs)
        for fact in problem.facts
    )


def _kept_out(universe: Universe, pin: Pin) -> tuple[Statement, ...]:
    """What rules out every newer final release, as far as the releases of the stack's own projects tell.

    Empty if they do not. Whatever is unread can only forbid more.
    """
    from resolver.resolve.clauses import Clauses  # they need PySAT
    from resolver.resolve.core_statements import tell

    problem = universe.problem
    line = f"{pin.name}>{pin.version.public}"
    ask = Ask(need=text.requirement(line), origin=StackLine(line, problem.stack.where))
    # without what a lock prefers, so that locking again tells the same
    clauses = Clauses(universe.variant(replace(problem, stack=replace(problem.stack, asks=(*problem.stack.asks, ask)))))
    package = Package(pin.name)
    try:
        for edge in universe.roots():
            if edge.package.kind is Kind.PROJECT:
                clauses.introduce(edge.package)
        final = [one for one in clauses.packages[package] if _is_final(one.chosen) and one.version > pin.version]
        newer = [clauses.any_of(final)]
        for one in final:
            with suppress(ResolverError):  # what was read of it counts all the same
                clauses.open(one)
        named = {ask.need.name for ask in problem.stack.asks if isinstance(ask.need, Requirement)}
        tried = set(final)
        while clauses.holds(newer):
            chosen = (one for one in clauses.chosen().values() if isinstance(one.chosen, Release))
            unread = [one for one in chosen if one.package.name in named and one not in tried]
            if not unread:
                return ()
            tried.update(unread)
            for one in unread:
                with suppress(ResolverError):
                    clauses.open(one)
        core = clauses.preferred(newer, sorted(clauses.known, key=_order))
        statements = dict.fromkeys(tell(clauses, core).values())
    finally:
        clauses.close()
    return tuple(one for one in statements if one != Asks(text=line, where=problem.stack.where))


def _order(ground: Ground) -> tuple[int, str]:
    """What people can change comes first, and nothing hangs on when it became known: a lock tells of it."""
    return 0 if isinstance(ground, Line) else 1 if isinstance(ground, Component) else 2, repr(ground)


def _is_final(release: object) -> bool:
    return isinstance(release, Release) and not release.version.is_prerelease and not release.yanked
