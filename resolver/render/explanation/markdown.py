"""`conflict.md`: an explanation for review on a code forge."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from resolver.model.explanation import Branch, Contradiction, Environment, Explanation, Fix
from resolver.model.fact import Fact, Warns
from resolver.model.language import Language
from resolver.model.statement import Forbids, Statement
from resolver.render.explanation import words
from resolver.render.explanation.changes import (
    apply_hint,
    change_sentences,
    changes_sentence,
    environment_sentence,
    outcome_sentence,
    requires_sentence,
    risk_sentence,
)
from resolver.render.explanation.diff import change_diff, safe_lines
from resolver.render.explanation.links import cited, source_line
from resolver.render.explanation.places import place_of
from resolver.render.explanation.sentences import (
    branch_sentence,
    claim,
    closing_sentence,
    explanation_sentence,
    missing_sentence,
    noted_once,
    reason_of,
    statement_details,
    target_line,
    warning_text,
)
from resolver.render.text import markdown, one_line

FILE = "conflict.md"


def explanation_markdown(explanation: Explanation, language: Language = "en") -> str:
    """The text of conflict.md. Links to the matrices are relative to locks/<stack>/<target>/."""
    return "\n".join(_lines(explanation, language)) + "\n"


def _lines(explanation: Explanation, language: Language) -> Iterator[str]:
    problem = explanation.problem
    stack = problem.stack.name
    yield f"# {markdown(words.TITLE(language, stack=stack))}"
    yield ""
    yield markdown(words.NO_ENVIRONMENT(language, stack=stack, target=target_line(problem, language)))
    yield ""
    yield from _why(explanation, language)
    if explanation.missing:
        yield markdown(missing_sentence(explanation.missing, language))
        yield ""
    yield from _ways_out(explanation, language)
    yield from _tried(explanation, language)
    if explanation.limited:
        yield words.LIMITED(language)
        yield ""
    yield words.INPUTS(language, digest=problem.digest)


def _why(explanation: Explanation, language: Language) -> Iterator[str]:
    total = len(explanation.contradictions)
    if not total:
        yield words.NO_CONTRADICTION(language)
        yield ""
    for number, contradiction in enumerate(noted_once(explanation.contradictions), 1):
        said = claim(contradiction, language)
        if total == 1:
            yield f"## {words.WHY(language, claim=said)}"
        else:
            yield f"## {words.CONFLICT_OF(language, number=number, total=total, claim=said)}"
        yield ""
        yield from _contradiction(contradiction, language)


def _contradiction(contradiction: Contradiction, language: Language) -> Iterator[str]:
    for number, statement in enumerate(contradiction.statements, 1):
        yield from _statement(number, statement, language)
    yield ""
    if contradiction.closing is not None and len(contradiction.statements) > 1:
        yield f"**{markdown(closing_sentence(contradiction.closing, language))}**"
        yield ""
    if contradiction.branches:
        cases = words.CASES(language, subject=contradiction.branches[0].subject)
        yield f"**{markdown(cases)}**"
        yield ""
        yield from _branches(contradiction.branches, language, "")
        yield ""
    if contradiction.notes:
        yield words.KNOWN_FAULTS(language)
        yield ""
        yield from _warnings(contradiction.notes, language)
        yield ""


def _statement(number: int, statement: Statement, language: Language) -> Iterator[str]:
    place = place_of(statement, language)
    origin = _linked(place.told, source_line(place.where))
    if place.fact is not None:
        strength = words.STRENGTHS[place.fact.strength.value](language)
        origin = words.WITH_STRENGTH(language, where=origin, strength=strength)
    sentence = markdown(explanation_sentence(statement, language))
    yield f"{number}. {sentence} — {origin}" if origin else f"{number}. {sentence}"
    for detail in statement_details(statement, language):
        yield f"   - {markdown(detail)}"
    if place.fact is not None:
        if not isinstance(statement, Forbids):  # its sentence has it already
            yield f"   - {markdown(words.REASON(language, text=reason_of(place.fact, language)))}"
        yield f"   - {_evidence(place.fact, language)}"


def _evidence(fact: Fact, language: Language) -> str:
    source = "".join(_linked(piece.text, piece.href) for piece in cited(one_line(fact.source)))
    told = words.CHECKED_ON(language, text=source, date=fact.checked.isoformat())
    return words.EVIDENCE(language, text=told)


def _branches(branches: Sequence[Branch], language: Language, indent: str) -> Iterator[str]:
    for branch in branches:
        yield f"{indent}- {markdown(branch_sentence(branch, language))}"
        yield from _branches(branch.branches, language, indent + "  ")


def _warnings(warnings: Sequence[Warns], language: Language) -> Iterator[str]:
    for warning in warnings:
        place = _linked(warning.where, source_line(warning.where))
        yield f"- {markdown(warning_text(warning, language))}"
        yield f"  - {place}{words.SEMICOLON(language)}{_evidence(warning, language)}"


def _ways_out(explanation: Explanation, language: Language) -> Iterator[str]:
    yield f"## {words.HEADING_WAYS_OUT(language)}"
    yield ""
    if not explanation.fixes:
        yield words.NO_WAY_OUT(language)
        yield ""
        return
    yield words.WAYS_CHECKED(language)
    yield ""
    columns = (words.COLUMN_FIX, words.COLUMN_CHANGE, words.COLUMN_RESULT, words.COLUMN_NOTES)
    yield from _head([column(language) for column in columns])
    for fix in explanation.fixes:
        results = [_result(fix, environment, language) for environment in fix.environments]
        changes = [markdown(told) for told in change_sentences(fix.changes, language)]
        cells = [markdown(fix.name), "<br>".join(changes), "<br>".join(results), _to_know(fix, language)]
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield markdown(apply_hint(explanation, language))
    yield ""
    for fix in explanation.fixes:
        yield from _fix(fix, language)


def _result(fix: Fix, environment: Environment, language: Language) -> str:
    told = environment_sentence(environment, language)
    if len(fix.environments) > 1:
        told = words.LABELLED(language, label=requires_sentence(fix, environment, language), text=told)
    return markdown(told)


def _to_know(fix: Fix, language: Language) -> str:
    told = [risk_sentence(fix, language)] if fix.risky else []
    count = sum(len(environment.warnings) for environment in fix.environments)
    if count:
        told.append(words.WARNINGS(language, count))
    return "<br>".join(told)


def _fix(fix: Fix, language: Language) -> Iterator[str]:
    label = words.FIX(language, name=fix.name)
    summary = words.LABELLED(language, label=label, text=changes_sentence(fix.changes, language))
    yield f"<details><summary>{html.escape(one_line(summary))}</summary>"
    yield ""
    for change in fix.changes:
        diff = change_diff(change)
        if diff:
            yield from _fenced(diff, "diff")
    for environment in fix.environments:
        if len(fix.environments) > 1:
            yield markdown(requires_sentence(fix, environment, language))
            yield ""
        yield from _pins(environment, language)
    for name, text in fix.files:
        yield f"{markdown(words.FILE(language, name=name))}"
        yield ""
        yield from _fenced(safe_lines(text), "toml")
    yield "</details>"
    yield ""


def _pins(environment: Environment, language: Language) -> Iterator[str]:
    if environment.pins:
        yield words.PINS(language)
        yield ""
        columns = (words.COLUMN_PROJECT, words.COLUMN_VERSION, words.COLUMN_WISHED)
        yield from _head([column(language) for column in columns])
        for pin in environment.pins:
            wished = words.YES(language) if pin.wished else words.NO(language)
            yield f"| {markdown(pin.name)} | {markdown(pin.version)} | {wished} |"
        yield ""
    if environment.warnings:
        yield from _warnings(environment.warnings, language)
        yield ""


def _tried(explanation: Explanation, language: Language) -> Iterator[str]:
    if not explanation.attempts:
        return
    yield f"## {words.HEADING_TRIED(language)}"
    yield ""
    columns = (words.COLUMN_CHANGE, words.COLUMN_WHY_NOT)
    yield from _head([column(language) for column in columns])
    for attempt in explanation.attempts:
        changes = changes_sentence(attempt.changes, language)
        yield f"| {markdown(changes)} | {markdown(outcome_sentence(attempt, language))} |"
    yield ""


def _head(titles: Sequence[str]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"|{'---|' * len(titles)}"


def _fenced(lines: Sequence[str], syntax: str) -> Iterator[str]:
    """A code block whose fence is longer than any run of backticks in it."""
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}{syntax}"
    yield from lines
    yield fence
    yield ""


def _linked(text: str, href: str) -> str:
    return f"[{markdown(text)}]({href})" if href else _unlinked(text)


def _unlinked(text: str) -> str:
    """`markdown`, but keeping spaces at either end of a piece of text."""
    lead, tail = text[:1].isspace(), text[-1:].isspace()
    return f"{' ' if lead else ''}{markdown(text)}{' ' if tail and text.strip() else ''}"
