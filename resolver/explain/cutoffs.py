"""Which later cut-off is the first that could help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from resolver.index.parse.uploaded import moment
from resolver.model import text
from resolver.model.release import Reason
from resolver.model.statement import Lack
from resolver.resolve.clauses import Clauses
from resolver.resolve.ground import Ground, Lacking


def first_day(clauses: Clauses, core: Sequence[Ground]) -> date | None:
    """The first upload day of the releases that a core lacks because of the cut-off; None if it lacks none.

    With any earlier cut-off the core clashes. A cut-off that is a day means its end, in UTC.
    """
    return min(_days(clauses, core), default=None)


def _days(clauses: Clauses, core: Sequence[Ground]) -> Iterator[date]:
    for ground in core:
        if not isinstance(ground, Lacking) or ground.lack is not Lack.CUTOFF:
            continue
        project = clauses.universe.project(text.name(ground.project))
        rest = [other for other in core if other != ground]
        for _, position, variable in clauses.absent[ground]:
            files = project.release(position)
            if isinstance(files, tuple) and clauses.satisfiable([variable], rest):
                for row in files:
                    uploaded = moment(row.detail) if row.reason is Reason.NEWER else None
                    if uploaded is not None:
                        yield uploaded.date()
