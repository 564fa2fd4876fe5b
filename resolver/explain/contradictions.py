"""A core in the form for people: its statements, where they meet, or into which contradictory cases it branches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from packaging.version import Version

from resolver.model import text
from resolver.model.dependency import Candidate, Kind, Package
from resolver.model.explanation import Branch, Closing, Contradiction
from resolver.model.fact import Warns
from resolver.model.release import Release
from resolver.model.resolution import Needs, Statement
from resolver.resolve.clauses import Clauses
from resolver.resolve.core_statements import spans, tell
from resolver.resolve.grounded import Component, Ground, Lacking, Line, Module, Said, Taken

_DEEPEST = 4


def contradiction(
    clauses: Clauses, core: Sequence[Ground], expired: Callable[[], bool] = lambda: False
) -> Contradiction:
    """A core in the form for people, with its cases as far as time allows."""
    statement_of = tell(clauses, core)
    statements = tuple(dict.fromkeys(statement_of.values()))
    numbers = {ground: statements.index(statement) + 1 for ground, statement in statement_of.items()}
    cases = branches(clauses, numbers, expired=expired)
    return Contradiction(
        statements=statements,
        closing=None if cases else closing(clauses, numbers, core),
        branches=cases,
        notes=tuple(_notes(clauses, statements)),
    )


def _notes(clauses: Clauses, statements: Iterable[Statement]) -> Iterator[Warns]:
    """Known faults of the releases that the statements are about."""
    ends = {
        (row.subject, Version(end))
        for row in statements
        if isinstance(row, Needs)
        for span in row.versions
        for end in (span.newest, span.oldest)
    }
    for fact in clauses.universe.problem.facts:
        if not isinstance(fact, Warns) or fact.unless or fact.extra or fact.beside:
            continue
        if any(fact.package == subject and fact.speaks_of(version) for subject, version in ends):
            yield fact


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
    """The cases of a core whose releases behave differently; empty if they do not, or if time is up.

    Cases that fail in the same way are one.
    """
    if len(assumed) >= _DEEPEST or expired():
        return ()
    of = clauses.minimal(map(clauses.variable, assumed), numbers) if assumed else list(numbers)
    for package in _splits(of, {candidate.package for candidate in assumed}):
        cases = _cases(clauses, of, package, assumed)
        if len(cases) < 2:
            continue
        ways: dict[tuple[Closing | None, tuple[Branch, ...]], list[int]] = {}
        for among in cases:
            case = [*assumed, among[0]]
            end = None
            if not (further := branches(clauses, numbers, case, expired=expired)):
                end = closing(clauses, numbers, clauses.minimal(map(clauses.variable, case), numbers), case)
            ways.setdefault((end, further), []).extend(map(_position, among))
        project = clauses.universe.project(text.name(package.name))
        return tuple(
            Branch(subject=str(package), versions=spans(project, positions), closing=end, branches=further)
            for (end, further), positions in ways.items()
        )
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
