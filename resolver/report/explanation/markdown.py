"""`conflict.md`: an explanation for review on a code forge."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence

from resolver.i18n import translate
from resolver.model.explanation import Branch, Contradiction, Environment, Explanation, Fix
from resolver.model.fact import Fact, Warns
from resolver.model.statement import Forbids, Statement
from resolver.model.text import Language
from resolver.report.explanation import changes, sentences
from resolver.report.explanation.diff import change_diff, safe_lines
from resolver.report.explanation.places import cited, place_of, source_line
from resolver.report.text import markdown, one_line

FILE = "conflict.md"


def explanation_markdown(explanation: Explanation, language: Language = "en") -> str:
    """The text of conflict.md. Links to the matrices are relative to locks/<stack>/<target>/."""
    return "\n\n".join(_blocks(explanation, language)) + "\n"


def _blocks(explanation: Explanation, language: Language) -> Iterator[str]:
    problem = explanation.problem
    yield f"# {markdown(sentences.title(problem, explanation.awaited, language))}"
    yield from map(markdown, sentences.verdict(problem, explanation.awaited, language))
    yield from _why(explanation, language)
    if explanation.missing:
        yield markdown(sentences.missing_sentence(explanation.missing, language))
    yield from _ways_out(explanation, language)
    yield from _tried(explanation, language)
    if explanation.limited:
        yield translate("conflict.limited", language)
    yield translate("conflict.inputs", language, digest=problem.digest)


def _why(explanation: Explanation, language: Language) -> Iterator[str]:
    total = len(explanation.contradictions)
    if not total:
        yield translate("conflict.no-contradiction", language)
    for number, contradiction in enumerate(sentences.shown(explanation.contradictions), 1):
        said = sentences.claim(contradiction, language)
        if total == 1:
            yield f"## {translate('conflict.why', language, claim=said)}"
        else:
            yield f"## {translate('conflict.conflict-of', language, number=number, total=total, claim=said)}"
        yield from _contradiction(contradiction, language)


def _contradiction(contradiction: Contradiction, language: Language) -> Iterator[str]:
    statements = enumerate(contradiction.statements, 1)
    yield "\n".join(line for number, one in statements for line in _statement(number, one, language))
    if contradiction.closing is not None and len(contradiction.statements) > 1:
        yield f"**{markdown(sentences.closing_sentence(contradiction.closing, language))}**"
    if contradiction.branches:
        cases = translate("conflict.cases", language, subject=contradiction.branches[0].subject)
        yield f"**{markdown(cases)}**"
        yield "\n".join(_branches(contradiction.branches, language, ""))
    if contradiction.notes:
        yield translate("conflict.known-faults", language)
        yield _warnings(contradiction.notes, language)


def _statement(number: int, statement: Statement, language: Language) -> Iterator[str]:
    place = place_of(statement, language)
    origin = _linked(place.told, source_line(place.where))
    if place.fact is not None:
        strength = translate(f"strength.{place.fact.strength.value}", language)
        origin = translate("conflict.with-strength", language, where=origin, strength=strength)
    sentence = markdown(sentences.explanation_sentence(statement, language))
    yield f"{number}. {sentence} — {origin}" if origin else f"{number}. {sentence}"
    for detail in sentences.statement_details(statement, language):
        yield f"   - {markdown(detail)}"
    if place.fact is not None:
        if not isinstance(statement, Forbids):  # its sentence has it already
            reason = sentences.reason_of(place.fact, language)
            yield f"   - {markdown(translate('conflict.reason', language, text=reason))}"
        yield f"   - {_evidence(place.fact, language)}"


def _evidence(fact: Fact, language: Language) -> str:
    source = "".join(_linked(piece.text, piece.href) for piece in cited(one_line(fact.source)))
    told = translate("conflict.checked-on", language, text=source, date=fact.checked.isoformat())
    return translate("conflict.evidence", language, text=told)


def _branches(branches: Sequence[Branch], language: Language, indent: str) -> Iterator[str]:
    for branch in branches:
        yield f"{indent}- {markdown(sentences.branch_sentence(branch, language))}"
        yield from _branches(branch.branches, language, indent + "  ")


def _warnings(warnings: Sequence[Warns], language: Language) -> str:
    lines = []
    for warning in warnings:
        place = _linked(warning.where, source_line(warning.where))
        lines.append(f"- {markdown(sentences.warning_text(warning, language))}")
        lines.append(f"  - {place}{translate('semicolon', language)}{_evidence(warning, language)}")
    return "\n".join(lines)


def _ways_out(explanation: Explanation, language: Language) -> Iterator[str]:
    yield f"## {translate('conflict.heading-ways-out', language)}"
    if explanation.awaited:
        yield f"0. {markdown(sentences.way_zero(explanation.awaited, language))}"
    if not explanation.fixes:
        yield translate("conflict.no-way-out", language)
        return
    yield translate("conflict.ways-checked", language)
    rows = []
    for fix in explanation.fixes:
        results = [_result(fix, environment, language) for environment in fix.environments]
        told = [markdown(sentence) for sentence in changes.change_sentences(fix.changes, language)]
        rows.append((markdown(fix.name), "<br>".join(told), "<br>".join(results), _to_know(fix, language)))
    columns = ("conflict.column-fix", "conflict.column-change", "conflict.column-result", "conflict.column-notes")
    yield _table(columns, rows, language)
    yield markdown(changes.apply_hint(explanation, language))
    for fix in explanation.fixes:
        yield from _fix(fix, language)


def _result(fix: Fix, environment: Environment, language: Language) -> str:
    told = changes.environment_sentence(environment, language)
    if len(fix.environments) > 1:
        told = translate(
            "conflict.labelled", language, label=changes.requires_sentence(fix, environment, language), text=told
        )
    return markdown(told)


def _to_know(fix: Fix, language: Language) -> str:
    told = [risk] if (risk := changes.risk_sentence(fix, language)) else []
    count = sum(len(environment.warnings) for environment in fix.environments)
    if count:
        told.append(translate("cli.warnings", language, count))
    return "<br>".join(told)


def _fix(fix: Fix, language: Language) -> Iterator[str]:
    label = translate("conflict.fix", language, name=fix.name)
    summary = translate(
        "conflict.labelled", language, label=label, text=changes.changes_sentence(fix.changes, language)
    )
    yield f"<details><summary>{html.escape(one_line(summary))}</summary>"
    for diff in filter(None, map(change_diff, fix.changes)):
        yield _fenced(diff, "diff")
    for environment in fix.environments:
        if len(fix.environments) > 1:
            yield markdown(changes.requires_sentence(fix, environment, language))
        yield from _pins(environment, language)
    for name, text in fix.files:
        yield markdown(translate("conflict.file", language, name=name))
        yield _fenced(safe_lines(text), "toml")
    yield "</details>"


def _pins(environment: Environment, language: Language) -> Iterator[str]:
    if environment.pins:
        yield translate("conflict.pins", language)
        rows = [
            (
                markdown(pin.name),
                markdown(pin.version),
                translate("conflict.yes" if pin.wished else "conflict.no", language),
            )
            for pin in environment.pins
        ]
        yield _table(("conflict.column-project", "conflict.column-version", "conflict.column-wished"), rows, language)
    if environment.warnings:
        yield _warnings(environment.warnings, language)


def _tried(explanation: Explanation, language: Language) -> Iterator[str]:
    if explanation.attempts:
        yield f"## {translate('conflict.heading-tried', language)}"
        rows = [
            (
                markdown(changes.changes_sentence(attempt.changes, language)),
                markdown(changes.outcome_sentence(attempt, language)),
            )
            for attempt in explanation.attempts
        ]
        yield _table(("conflict.column-change", "conflict.column-why-not"), rows, language)


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]], language: Language) -> str:
    head = f"| {' | '.join(translate(title, language) for title in titles)} |"
    return "\n".join([head, f"|{'---|' * len(titles)}", *(f"| {' | '.join(row)} |" for row in rows)])


def _fenced(lines: Sequence[str], syntax: str) -> str:
    """A code block whose fence is longer than any run of backticks in it."""
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{syntax}", *lines, fence])


def _linked(text: str, href: str) -> str:
    return f"[{markdown(text)}]({href})" if href else _unlinked(text)


def _unlinked(text: str) -> str:
    """`markdown`, but keeping spaces at either end of a piece of text."""
    lead, tail = text[:1].isspace(), text[-1:].isspace()
    return f"{' ' if lead else ''}{markdown(text)}{' ' if tail and text.strip() else ''}"
