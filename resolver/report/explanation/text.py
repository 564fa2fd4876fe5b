"""An explanation for a terminal, wrapped by display width: a Chinese character is two columns wide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from resolver.errors import shown
from resolver.i18n import translate
from resolver.model.component import ComponentRequirement
from resolver.model.explanation import Awaited, Branch, Contradiction, Environment, Explanation, Fix
from resolver.model.problem import Problem
from resolver.model.statement import Needs, Statement
from resolver.model.text import Language
from resolver.report.explanation import changes, sentences
from resolver.report.explanation.places import place_of, with_strength
from resolver.report.text import one_line, padded, width, wrapped

_GAP = 2
_LEAST = 36  # of the left column
_STACKED = 80  # on a terminal narrower than this the origin is below the sentence


def wrap(text: str, columns: int) -> list[str]:
    """The text on lines of at most so many columns; what cannot be broken overflows."""
    return wrapped(shown(one_line(text)), "", "", columns) or [""]


def paragraph(text: str, columns: int, indent: str, hanging: str | None = None) -> Iterator[str]:
    """The text wrapped, the first line indented by `indent` and the others by `hanging` (None: the same)."""
    rest = indent if hanging is None else hanging
    for number, line in enumerate(wrap(text, columns - max(width(indent), width(rest)))):
        yield f"{rest if number else indent}{line}"


Row = tuple[str, str, Sequence[str]]  # a label, a text, the lines of the right column


def two_columns(rows: Sequence[Row], columns: int) -> list[list[str]]:
    """The printed lines of each row; texts and right columns are wrapped.

    On a narrow terminal the right column is below the text.
    """
    label = max((width(row[0]) for row in rows), default=0) + _GAP
    if columns < _STACKED:
        return [list(_stacked(row, columns, label)) for row in rows]
    left = _left_width(rows, columns - label - _GAP)
    return [list(_beside(row, columns, label, left)) for row in rows]


def _beside(row: Row, columns: int, label: int, left: int) -> Iterator[str]:
    head, text, right = row
    lefts = wrap(text, left)
    rights = [line for one in right for line in wrap(one, columns - label - left - _GAP)]
    for lead, one, other in zip_longest([head], lefts, rights, fillvalue=""):
        yield f"{padded(lead, label)}{padded(one, left + _GAP)}{other}".rstrip()


def _stacked(row: Row, columns: int, label: int) -> Iterator[str]:
    head, text, right = row
    yield from paragraph(text, columns, padded(head, label), " " * label)
    for one in right:
        yield from paragraph(one, columns, " " * label + "  ")


def _left_width(rows: Sequence[Row], room: int) -> int:
    """The width of the left column with the least overflow, then the fewest printed lines."""

    def cost(left: int) -> tuple[int, int, int]:
        overflow = lines = 0
        for _, text, right in rows:
            lefts = wrap(text, left)
            rights = [line for one in right for line in wrap(one, room - left)]
            overflow += sum(max(0, width(line) - left) for line in lefts)
            overflow += sum(max(0, width(line) - room + left) for line in rights)
            lines += max(len(lefts), len(rights))
        return overflow, lines, -left

    longest = max((width(one_line(text)) for _, text, _ in rows), default=0)
    return min(range(min(_LEAST, longest), min(longest, room - _LEAST) + 1), key=cost, default=_LEAST)


WIDTH = 110
_ATTEMPTS = 10
_MISSING = 20
_MOST = 40  # statements of a contradiction and cases of a branch; the report has all of them


def why_text(
    problem: Problem,
    contradictions: Sequence[Contradiction],
    language: Language = "en",
    width: int = WIDTH,
    awaited: Sequence[Awaited] = (),
) -> str:
    """The first part, which is known first: what has no solution, or waits for an index, and why."""
    return "\n".join(_why(problem, contradictions, language, width, awaited)) + "\n"


def ways_text(
    explanation: Explanation, language: Language = "en", width: int = WIDTH, *, in_checkout: bool = True
) -> str:
    """The last part: the ways out."""
    return "\n".join(_ways(explanation, language, width, in_checkout=in_checkout)) + "\n"


def further_text(contradictions: Sequence[Contradiction], language: Language = "en", width: int = WIDTH) -> str:
    """The part between them: contradictions that the search for ways out found."""
    return "\n".join(_further(contradictions, language, width)) + "\n"


def _further(contradictions: Sequence[Contradiction], language: Language, width: int) -> Iterator[str]:
    for contradiction in contradictions:
        yield from paragraph(
            translate("conflict.further", language, claim=sentences.claim(contradiction, language)), width, ""
        )
        yield from _contradiction(contradiction, language, width)


def contradictions_lines(contradictions: Sequence[Contradiction], language: Language, width: int) -> Iterator[str]:
    """The contradictions, with headings if there are several; the heading of a single one is the caller's."""
    total = len(contradictions)
    for number, contradiction in enumerate(sentences.shown(contradictions), 1):
        if total > 1:
            said = sentences.claim(contradiction, language)
            yield ""
            heading = translate("conflict.conflict-of", language, number=number, total=total, claim=said)
            yield from paragraph(heading, width, "")
        yield from _contradiction(contradiction, language, width)


def overall_claim(contradictions: Sequence[Contradiction], language: Language) -> str:
    """What is said about all contradictions, on one line."""
    if len(contradictions) == 1:
        return sentences.claim(sentences.shown(contradictions)[0], language)
    return translate("conflict.several", language, count=len(contradictions))


def _contradiction(contradiction: Contradiction, language: Language, width: int) -> Iterator[str]:
    """The statements with their origins, then where they meet and what is known about the releases."""
    yield from statement_lines(contradiction.statements[:_MOST], language, width)
    yield from _more(len(contradiction.statements), language, "     ")
    if contradiction.closing is not None and len(contradiction.statements) > 1:
        yield from paragraph(sentences.closing_sentence(contradiction.closing, language), width, "   => ", "      ")
    if contradiction.branches:
        yield from paragraph(
            translate("conflict.cases", language, subject=contradiction.branches[0].subject), width, "   => ", "      "
        )
        yield from _branches(contradiction.branches, language, width, "      ")
    if contradiction.notes:
        yield ""
        yield f"  {translate('conflict.known-faults', language)}"
    for note in contradiction.notes:
        yield from paragraph(sentences.warning_text(note, language), width, "  - ", "    ")


def statement_lines(statements: Sequence[Statement], language: Language, width: int) -> Iterator[str]:
    """Numbered statements with their origins in a right column; a fact's source at its first mention."""
    rows = []
    sources: set[str] = set()
    for number, statement in enumerate(statements, 1):
        place = place_of(statement, language)
        source = place.fact.source if place.fact is not None else ""
        right = [with_strength(place, language), *([source] if source not in {"", *sources} else [])]
        sources.add(source)
        rows.append((f"  {number:>2}", sentences.explanation_sentence(statement, language), right))
    for lines, statement in zip(two_columns(rows, width), statements, strict=True):
        yield from lines
        for detail in (*sentences.statement_details(statement, language), *_why_the_soc(statement, language)):
            yield from paragraph(detail, width, "        ", "          ")


def _why_the_soc(statement: Statement, language: Language) -> Iterator[str]:
    """The reason of a fact about the SoC, as it says what else can be done on a SoC that nobody can change."""
    if isinstance(statement, Needs) and statement.fact is not None:
        need = ComponentRequirement.parse(statement.needs)
        if need is not None and need.component == "soc":
            yield sentences.reason_of(statement.fact, language)


def _why(
    problem: Problem,
    contradictions: Sequence[Contradiction],
    language: Language,
    width: int,
    awaited: Sequence[Awaited],
) -> Iterator[str]:
    for sentence in sentences.verdict(problem, awaited, language):
        yield from paragraph(sentence, width, "")
    yield ""
    if not contradictions:
        yield from paragraph(translate("conflict.no-contradiction", language), width, "")
        return
    heading = translate("conflict.why", language, claim=overall_claim(contradictions, language))
    yield from paragraph(heading, width, "")
    yield from contradictions_lines(contradictions, language, width)


def _ways(explanation: Explanation, language: Language, width: int, *, in_checkout: bool) -> Iterator[str]:
    if explanation.missing:
        yield from paragraph(sentences.missing_sentence(explanation.missing, language, _MISSING), width, "")
        yield ""
    yield from _ways_out(explanation, language, width, in_checkout=in_checkout)
    if explanation.limited:
        yield from paragraph(translate("conflict.limited", language), width, "")
        yield translate("conflict.more-time", language)
    yield translate("conflict.old-lock", language)


def _branches(branches: Sequence[Branch], language: Language, width: int, indent: str) -> Iterator[str]:
    for branch in branches[:_MOST]:
        yield from paragraph(sentences.branch_sentence(branch, language), width, f"{indent}- ", f"{indent}  ")
        yield from _branches(branch.branches, language, width, indent + "  ")
    yield from _more(len(branches), language, f"{indent}- ")


def _more(count: int, language: Language, indent: str) -> Iterator[str]:
    if count > _MOST:
        yield f"{indent}{translate('conflict.more-in-report', language, count=count - _MOST)}"


def _ways_out(explanation: Explanation, language: Language, width: int, *, in_checkout: bool) -> Iterator[str]:
    if explanation.awaited:
        yield translate("conflict.way-zero-heading", language)
        yield from paragraph(sentences.way_zero(explanation.awaited, language), width, "  0  ", "     ")
        yield ""
    if explanation.fixes:
        yield translate("conflict.ways-out", language)
        yield from _fixes(explanation.fixes, language, width)
        yield ""
        yield from paragraph(changes.apply_hint(explanation, language, in_checkout=in_checkout), width, "")
        return
    yield translate("conflict.no-way-out", language)
    tried = translate(
        "conflict.labelled", language, label=translate("conflict.heading-tried", language), text=""
    ).rstrip()
    yield tried if explanation.attempts else translate("conflict.nothing-tried", language)
    for attempt in explanation.attempts[:_ATTEMPTS]:
        yield from paragraph(changes.changes_sentence(attempt.changes, language), width, "  - ", "    ")
        yield from paragraph(changes.outcome_sentence(attempt, language), width, "      ")
    if len(explanation.attempts) > _ATTEMPTS:
        yield f"  {translate('conflict.tried-more', language, len(explanation.attempts) - _ATTEMPTS)}"
    yield ""


def _fixes(fixes: Sequence[Fix], language: Language, width: int) -> Iterator[str]:
    """The fixes, and below them their warnings, each once, as most fixes share them."""
    texts = [
        sentences.warning_text(warning, language)
        for fix in fixes
        for environment in fix.environments
        for warning in environment.warnings
    ]
    labels = {text: f"W{number}" for number, text in enumerate(dict.fromkeys(texts), 1)}
    for fix in fixes:
        yield from _fix(fix, labels, language, width)
    if labels:
        yield ""
        yield translate("conflict.heading-warnings", language)
    for text, label in labels.items():
        yield from paragraph(text, width, f"  {label:<4}", "      ")


def _fix(fix: Fix, labels: Mapping[str, str], language: Language, width: int) -> Iterator[str]:
    indent = "     "
    for number, told in enumerate(changes.change_sentences(fix.changes, language)):
        yield from paragraph(told, width, indent if number else f"  {fix.name:<3}", indent + "  ")
    if risk := changes.risk_sentence(fix, language):
        yield from paragraph(risk, width, indent, indent + "  ")
    for environment in fix.environments:
        if len(fix.environments) > 1:
            yield from paragraph(changes.requires_sentence(fix, environment, language), width, indent, indent + "  ")
        yield from _environment(environment, labels, language, width)


def _environment(environment: Environment, labels: Mapping[str, str], language: Language, width: int) -> Iterator[str]:
    yield from paragraph(changes.environment_sentence(environment, language), width, "     => ", "        ")
    met = dict.fromkeys(labels[sentences.warning_text(warning, language)] for warning in environment.warnings)
    if met:
        told = translate("comma", language).join(met)
        yield from paragraph(translate("conflict.warned", language, len(met), labels=told), width, "        ")
