"""What several lines and components may become together, without what is known to clash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from resolver.catalog.frozen import DamagedPageError
from resolver.errors import ResolverError
from resolver.model.candidate import Candidate
from resolver.solve.clauses import Clauses
from resolver.solve.ground import Ground

_AHEAD = {0: 4, 4: 12, 16: 16, 32: 16, 48: 16}  # how many candidates are asked for at once, after how many


def complete(
    clauses: Clauses,
    options: Mapping[Ground, Sequence[Candidate]],
    free: Sequence[Ground],
    choice: dict[Ground, Candidate],
    looks: Iterator[int],
) -> Iterator[dict[Ground, Candidate]]:
    """Every way to complete a choice, as long as there are looks left."""
    if not free:
        yield dict(choice)
        return
    ground, rest = free[0], free[1:]
    opened = 0
    for at, candidate in enumerate(options[ground]):
        if next(looks, None) is None:
            return
        assumed = [clauses.variable(one) for one in (*choice.values(), candidate)]
        if not clauses.satisfiable(assumed):
            continue
        if opened in _AHEAD:  # most of what is ruled out without being opened is never read
            clauses.expect(options[ground][at : at + _AHEAD[opened]])
        opened += 1
        _open(clauses, candidate)
        if clauses.satisfiable(assumed):
            yield from complete(clauses, options, rest, {**choice, ground: candidate}, looks)
        if not clauses.satisfiable([clauses.variable(one) for one in choice.values()]):
            return  # nothing for this one can be right any more


def _open(clauses: Clauses, candidate: Candidate) -> None:
    """Open a release together with its extras, as far as they are in question and can be had."""
    for package, known in list(clauses.packages.items()):
        if package.name == candidate.package.name and package.kind is candidate.package.kind:
            for other in known:
                if other.chosen is candidate.chosen:
                    try:
                        clauses.open(other)
                    except DamagedPageError:
                        raise
                    except ResolverError:
                        pass  # it stays unknown; to lock it for real tells
