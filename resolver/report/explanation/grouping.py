"""Long contradictions for people: statements that say the same kind of thing of different releases become one.

conflict.json has each of them; nothing here changes what is claimed, as a minimal core without several of its
statements has a solution, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace
from packaging.version import Version

from resolver.model.explanation import Branch, Closing, Contradiction
from resolver.model.requirement import ComponentRequirement
from resolver.model.resolution import Lack, Lacks, Needs, Span, Statement
from resolver.model.text import requirement

_SCREEN = 10  # statements that are shown one by one
_OR = " | "


def grouped(contradiction: Contradiction) -> Contradiction:
    """A contradiction that fits a screen: requirements on one subject together, and cases by what they lack."""
    if len(contradiction.statements) <= _SCREEN:
        return contradiction
    groups: dict[object, list[int]] = {}
    for number, statement in enumerate(contradiction.statements, 1):
        groups.setdefault(_cause(statement) or number, []).append(number)
    numbers = {old: new for new, among in enumerate(groups.values(), 1) for old in among}
    said = [[contradiction.statements[number - 1] for number in among] for among in groups.values()]
    closing = contradiction.closing
    return replace(
        contradiction,
        statements=tuple(map(_together, said)),
        closing=None if closing is None else _renumbered([closing], numbers),
        branches=_cases(contradiction.branches, numbers),
    )


def _cause(statement: Statement) -> object:
    """What statements that are told together have in common; None if one is told alone."""
    match statement:
        case Needs() if statement.versions:
            component = ComponentRequirement.parse(statement.needs)
            about = requirement(statement.needs).name if component is None else component.component
            return statement.subject, statement.source, about
        case Lacks(lack=Lack.RELEASE):
            return statement.subject, statement.lack
        case _:
            return None


def _together(alike: Sequence[Statement]) -> Statement:
    """Statements with one cause as one, which is where the one about the newest releases is."""
    needs = sorted((one for one in alike if isinstance(one, Needs)), key=_newest, reverse=True)
    if len(needs) > 1:
        spans = _spans(one.versions for one in needs)
        return replace(needs[0], versions=spans, needs=_any_of([one.needs for one in needs]))
    lacks = [one for one in alike if isinstance(one, Lacks)]
    if len(lacks) > 1:
        return replace(lacks[0], wanted=_OR.join(one.wanted for one in lacks), nearest=())
    return alike[0]


def _any_of(needs: Sequence[str]) -> str:
    """`cann in A | B` for requirements on one component that name values; else one after the other."""
    values = [need.partition(" in ")[2] for need in needs]
    if not all(values):
        return _OR.join(dict.fromkeys(needs))
    each = dict.fromkeys(value for several in values for value in several.split(_OR))
    return f"{needs[0].partition(' in ')[0]} in {_OR.join(each)}"


def _cases(branches: Sequence[Branch], numbers: dict[int, int]) -> tuple[Branch, ...]:
    """The cases that end for want of the same thing together, the newest releases first."""
    ways: dict[object, list[Branch]] = {}
    for at, branch in enumerate(branches):
        key = (branch.subject, branch.closing.subject) if branch.closing is not None else at
        ways.setdefault(key, []).append(branch)
    cases = [
        replace(
            alike[0],
            versions=_spans(one.versions for one in alike),
            closing=_renumbered([one.closing for one in alike if one.closing is not None], numbers),
            branches=_cases(alike[0].branches, numbers),
        )
        for alike in ways.values()
    ]
    return tuple(sorted(cases, key=_newest, reverse=True))


def _renumbered(closings: Sequence[Closing], numbers: dict[int, int]) -> Closing | None:
    if not closings:
        return None
    told = {numbers[number] for closing in closings for number in closing.numbers}
    return replace(closings[0], numbers=tuple(sorted(told)))


def _spans(several: Iterable[Sequence[Span]]) -> tuple[Span, ...]:
    each = dict.fromkeys(span for spans in several for span in spans)
    return tuple(sorted(each, key=lambda span: Version(span.newest), reverse=True))


def _newest(among: Needs | Branch) -> Version:
    return max((Version(span.newest) for span in among.versions), default=Version("0"))
