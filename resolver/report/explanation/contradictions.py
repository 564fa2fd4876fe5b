"""Make blocks of contradictions: their reasons with origins and sources, and where they meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from resolver.model.constraint import SUPPOSED, Excluded, Unavailable
from resolver.model.explanation import Branch, Contradiction
from resolver.model.fact import Fact, Warns, component_requirements
from resolver.model.message import message
from resolver.model.reason import Reason, requirement_of
from resolver.model.source import brief_text
from resolver.report.document import (
    SHOWN_ITEMS,
    Block,
    Details,
    Heading,
    Item,
    Items,
    Line,
    Span,
    conclusion_of,
    line,
    paragraph_of,
)
from resolver.report.explanation import sentences
from resolver.report.explanation.grouping import (
    alike,
    cited,
    needed_name,
    origin_span,
    sort_of,
    source_line,
    with_strength,
)
from resolver.report.explanation.unavailable import reason_details


def contradictions_blocks(contradictions: Sequence[Contradiction]) -> Iterator[Block]:
    """Yield the contradictions, with a heading for each if there are several.

    The heading of a single one is written by the caller.
    """
    groups = alike(sentences.condensed(contradictions))
    total = len(groups)
    for number, (first, *others) in enumerate(groups, 1):
        if total > 1:
            claim = sentences.claim(first)
            yield Heading(
                message("conflict.conflict-of", number=number, total=total, claim=claim), level=3
            )
        yield from contradiction_blocks(first)
        if others:
            yield paragraph_of(*sentences.likewise(first, others))
            for other in others:
                (said,) = sentences.likewise(first, [other])
                reasons = map(sentences.sentence, other.reasons)
                yield Details(said, (paragraph_of(*reasons),))


def contradiction_blocks(contradiction: Contradiction) -> Iterator[Block]:
    """Yield the reasons with their origins, the conclusion or the cases, and the warnings."""
    yield shortened_items(reason_items(contradiction.reasons))
    if contradiction.closing is not None and len(contradiction.reasons) > 1:
        yield conclusion_of(sentences.closing_sentence(contradiction.closing))
    if contradiction.branches:
        yield conclusion_of(message("conflict.cases", subject=contradiction.branches[0].subject))
        yield shortened_items(_branches(contradiction.branches))
    if contradiction.notes:
        yield paragraph_of(message("conflict.known-faults"))
        yield shortened_items([warning_item(note) for note in contradiction.notes])


def reason_items(reasons: Sequence[Reason]) -> list[Item]:
    """Return reasons as numbered items, with their origins and the sources of their facts."""
    return [_reason(number, reason) for number, reason in enumerate(reasons, 1)]


def _reason(number: int, reason: Reason) -> Item:
    """Return one reason as an item, with its origin and the source of its fact."""
    origin: Line = () if reason.where in ("", SUPPOSED) else (origin_span(reason),)
    details = list(reason_details(reason))
    evidence: list[Line] = []
    fact, requirement = reason.fact, requirement_of(reason)
    if fact is not None:
        origin = (*origin, Span(with_strength(fact)))
        why = sentences.reason_of(fact)
        if requirement is not None and _is_about_machines(requirement, fact):
            # The reason of the fact says what can be done on such a machine.
            details.append(why)
        elif not isinstance(reason.constraint, Excluded | Unavailable):
            # The sentence of an exclusion, or of a project on no index, has the reason already.
            evidence.append(line(message("conflict.reason", text=why)))
        evidence.append(_evidence(fact))
    return Item(
        label=str(number),
        lines=(line(sentences.sentence(reason)),),
        origin=origin,
        sort=sort_of(reason),
        source=_first_source(fact),
        details=tuple(map(line, details)),
        evidence=tuple(evidence),
    )


def _is_about_machines(requirement: str, fact: Fact) -> bool:
    """Return whether a fact's requirement is on a component whose values are machines."""
    name = needed_name(requirement)
    needs = component_requirements(fact.added_needs)
    return any(need.component == name and need.names_machines for need in needs)


def _first_source(fact: Fact | None) -> str:
    """Return the first reference of a fact for a terminal; empty without a fact."""
    if fact is None:
        return ""
    first, *others = fact.source.references
    return f"{brief_text(first)}; …" if others else brief_text(first)


def _evidence(fact: Fact) -> Line:
    """Return the line with the references of a fact and the day on which they were checked."""
    checked = message("conflict.checked-on", text="", date=fact.checked.isoformat())
    return (Span(message("conflict.evidence", text="")), *cited(fact.source), Span(checked))


def _branches(branches: Sequence[Branch]) -> list[Item]:
    """Return the cases as nested items."""
    return [
        Item(
            lines=(line(sentences.branch_sentence(branch)),),
            items=tuple(_branches(branch.branches)),
        )
        for branch in branches
    ]


def warning_item(warning: Warns, label: str = "") -> Item:
    """Return a warning as an item, with the place and the source of its fact."""
    place = Span(warning.where, source_line(warning.where))
    evidence = (place, Span(message("semicolon")), *_evidence(warning))
    return Item(label=label, lines=(line(sentences.warning_text(warning)),), evidence=(evidence,))


def shortened_items(items: Sequence[Item]) -> Items:
    """Return a list of items. If a terminal cannot show all, it says how many more there are."""
    hidden = len(items) - SHOWN_ITEMS
    more = message("conflict.more-in-report", count=hidden) if hidden > 0 else ""
    return Items(tuple(items), more=more)
