"""How a core is contradictory: where its statements meet, or into which contradictory cases it branches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from resolver.model import text
from resolver.model.dependency import Candidate, Kind, Package
from resolver.model.explanation import Branch, Closing
from resolver.model.release import Release
from resolver.resolve.clauses import Clauses
from resolver.resolve.core_statements import spans
from resolver.resolve.grounded import Component, Ground, Lacking, Line, Module, Said, Taken

_DEEPEST = 4


def closing(
    clauses: Clauses, numbers: Mapping[Ground, int], of: Sequence[Ground], assumed: Sequence[Candidate] = ()
) -> Closing:
    """The package for which the grounds `of` leave nothing. `numbers` are the numbers of the core's statements."""
    subject = closing_subject(clauses, of, assumed)
    if _is_empty(clauses, of, subject, assumed):
        of = [ground for ground in of if subject in _about(clauses, ground)]
    return Closing(subject=subject, numbers=tuple(sorted({numbers[ground] for ground in of})))


def closing_subject(clauses: Clauses, core: Sequence[Ground], assumed: Sequence[Candidate] = ()) -> str:
    """What the grounds of a core meet in: the package that most of them are about, the latest known of several."""
    said: dict[tuple[object, str], None] = {}
    for ground in core:
        for name in _about(clauses, ground):
            said[ground.origin if isinstance(ground, Line) else ground, name] = None
    subjects = Counter(name for _, name in said)
    order = list(subjects)
    ranked = sorted(order, key=lambda name: (subjects[name], order.index(name)), reverse=True)
    return next((name for name in ranked if _is_empty(clauses, core, name, assumed)), ranked[0])


def _is_empty(clauses: Clauses, core: Sequence[Ground], name: str, cases: Sequence[Candidate]) -> bool:
    """Whether what a core says about a package, through chosen releases, leaves none of its releases."""
    about = [ground for ground in core if name in _about(clauses, ground)]
    taken: dict[Package, set[Candidate]] = {case.package: {case} for case in cases}
    for ground in about:
        if isinstance(ground, (Said, Module)):
            parents: dict[Package, set[Candidate]] = {}
            for parent, _ in clauses.edges.get(ground, ()):
                if parent is not None:
                    parents.setdefault(parent.package, set()).add(parent)
            for package, candidates in parents.items():
                taken[package] = taken.get(package, candidates) & candidates
    if not all(taken.values()):
        return False
    assumed = [min(map(clauses.variable, candidates)) for candidates in taken.values()]
    return clauses.satisfiable(assumed, ()) and not clauses.satisfiable(assumed, about)


def branches(
    clauses: Clauses, numbers: Mapping[Ground, int], assumed: Sequence[Candidate] = (), *, expired: Callable[[], bool]
) -> tuple[Branch, ...]:
    """The cases of a core whose releases behave differently; empty if they do not, or if time is up."""
    if len(assumed) >= _DEEPEST or expired():
        return ()
    of = clauses.minimal(map(clauses.variable, assumed), numbers) if assumed else list(numbers)
    for package in _splits(of, {candidate.package for candidate in assumed}):
        cases = _cases(clauses, of, package, assumed)
        if len(cases) > 1:
            told = [_case(clauses, numbers, [*assumed, among[0]], among, expired) for among in cases]
            return tuple(_together(clauses, package, told))
    return ()


def _cases(
    clauses: Clauses, of: Sequence[Ground], package: Package, assumed: Sequence[Candidate]
) -> list[list[Candidate]]:
    """The releases of a package that a core leaves, newest first, grouped by what the core says about them."""
    cases: dict[tuple[Ground, ...], list[Candidate]] = {}
    variables = [clauses.variable(one) for one in assumed]
    others = [ground for ground in of if not (isinstance(ground, Said) and ground.package == package)]
    for candidate in clauses.packages[package]:
        if clauses.satisfiable([*variables, clauses.variable(candidate)], others):
            says = tuple(
                ground for ground in of if any(parent is candidate for parent, _ in clauses.edges.get(ground, ()))
            )
            cases.setdefault(says, []).append(candidate)
    return sorted(cases.values(), key=lambda among: _position(among[0]))


class _Case(NamedTuple):
    """The releases at these positions, and how they fail."""

    positions: tuple[int, ...]
    closing: Closing | None
    branches: tuple[Branch, ...]


def _case(
    clauses: Clauses,
    numbers: Mapping[Ground, int],
    assumed: Sequence[Candidate],
    among: Sequence[Candidate],
    expired: Callable[[], bool],
) -> _Case:
    positions = tuple(map(_position, among))
    if further := branches(clauses, numbers, assumed, expired=expired):
        return _Case(positions, None, further)
    of = clauses.minimal(map(clauses.variable, assumed), numbers)  # what rules out the case
    return _Case(positions, closing(clauses, numbers, of, assumed), ())


def _together(clauses: Clauses, package: Package, cases: Sequence[_Case]) -> Iterator[Branch]:
    """The cases to report; those that fail in the same way are combined."""
    project = clauses.universe.project(text.name(package.name))
    ways: dict[object, list[_Case]] = {}
    for case in cases:
        ways.setdefault((case.closing, case.branches), []).append(case)
    for alike in ways.values():
        yield Branch(
            subject=str(package),
            versions=spans(project, [position for case in alike for position in case.positions]),
            closing=alike[0].closing,
            branches=alike[0].branches,
        )


def _splits(core: Sequence[Ground], done: set[Package]) -> list[Package]:
    """The packages whose releases have different requirements in a core, those with the most statements first."""
    said = dict.fromkeys((ground.package, ground.text) for ground in core if isinstance(ground, Said))
    texts = Counter(package for package, _ in said)
    return [package for package, count in texts.most_common() if count > 1 and package not in done]


def _position(candidate: Candidate) -> int:
    return candidate.chosen.position if isinstance(candidate.chosen, Release) else 0


def _about(clauses: Clauses, ground: Ground) -> list[str]:
    """The packages that a ground restricts."""
    match ground:
        case Component():
            return [ground.name]
        case Taken() | Lacking():
            return [ground.project.partition("[")[0]]
        case Line() | Said() | Module():
            packages = (edge.package for _, edge in clauses.edges.get(ground, ()))
            return list(dict.fromkeys(package.name for package in packages if package.kind is not Kind.NONE))
