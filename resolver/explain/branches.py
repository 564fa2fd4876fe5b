"""How a core is contradictory: where its statements meet, or into which contradictory cases it branches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from resolver.model import text
from resolver.model.candidate import Candidate, Release
from resolver.model.explanation import Branch, Closing
from resolver.model.package import Kind, Package
from resolver.solve.clauses import Clauses
from resolver.solve.ground import Component, Ground, Lacking, Line, Module, Said, Taken
from resolver.solve.tell import spans

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
    of = _under(clauses, numbers, assumed) if assumed else list(numbers)
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
    for candidate in clauses.packages[package]:
        if clauses.satisfiable([*variables, clauses.variable(candidate)], _without(of, package)):
            says = tuple(ground for ground in of if _says(clauses, ground, candidate))
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
    further = branches(clauses, numbers, assumed, expired=expired)
    return _Case(
        positions=tuple(map(_position, among)),
        closing=None if further else closing(clauses, numbers, _under(clauses, numbers, assumed), assumed),
        branches=further,
    )


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


def _under(clauses: Clauses, core: Collection[Ground], assumed: Sequence[Candidate]) -> list[Ground]:
    """The grounds of a core that rule out a case."""
    variables = [clauses.variable(one) for one in assumed]
    return clauses.minimal(variables, core)


def _splits(core: Sequence[Ground], done: set[Package]) -> list[Package]:
    """The packages whose releases have different requirements in a core, those with the most statements first."""
    says: Counter[Package] = Counter()
    for package, texts in _texts(core).items():
        if package not in done and len(texts) > 1:
            says[package] = len(texts)
    return [package for package, _ in says.most_common()]


def _texts(core: Sequence[Ground]) -> dict[Package, set[str]]:
    found: dict[Package, set[str]] = {}
    for ground in core:
        if isinstance(ground, Said):
            found.setdefault(ground.package, set()).add(ground.text)
    return found


def _without(core: Sequence[Ground], package: Package) -> list[Ground]:
    """A core without the statements of a package's releases."""
    return [ground for ground in core if not (isinstance(ground, Said) and ground.package == package)]


def _says(clauses: Clauses, ground: Ground, candidate: Candidate) -> bool:
    return any(parent is candidate for parent, _ in clauses.edges.get(ground, ()))


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
            names = []
            for _, edge in clauses.edges.get(ground, ()):
                if edge.package.kind is not Kind.NONE:
                    names.append(edge.package.name)
            return list(dict.fromkeys(names))
