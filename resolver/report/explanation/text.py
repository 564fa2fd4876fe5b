"""An explanation for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from resolver.model.component import ComponentRequirement
from resolver.model.explanation import Awaited, Branch, Contradiction, Environment, Explanation, Fix
from resolver.model.language import Language
from resolver.model.problem import Problem
from resolver.model.statement import Needs, Statement
from resolver.report.explanation import changes, sentences, words
from resolver.report.explanation.columns import paragraph, two_columns
from resolver.report.explanation.places import place_of, with_strength

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
        yield from paragraph(words.FURTHER(language, claim=sentences.claim(contradiction, language)), width, "")
        yield from _contradiction(contradiction, language, width)


def contradictions_lines(contradictions: Sequence[Contradiction], language: Language, width: int) -> Iterator[str]:
    """The contradictions, with headings if there are several; the heading of a single one is the caller's."""
    total = len(contradictions)
    for number, contradiction in enumerate(sentences.shown(contradictions), 1):
        if total > 1:
            said = sentences.claim(contradiction, language)
            yield ""
            heading = words.CONFLICT_OF(language, number=number, total=total, claim=said)
            yield from paragraph(heading, width, "")
        yield from _contradiction(contradiction, language, width)


def overall_claim(contradictions: Sequence[Contradiction], language: Language) -> str:
    """What is said about all contradictions, on one line."""
    if len(contradictions) == 1:
        return sentences.claim(sentences.shown(contradictions)[0], language)
    return words.SEVERAL(language, count=len(contradictions))


def _contradiction(contradiction: Contradiction, language: Language, width: int) -> Iterator[str]:
    """The statements with their origins, then where they meet and what is known about the releases."""
    yield from statement_lines(contradiction.statements[:_MOST], language, width)
    yield from _more(len(contradiction.statements), language, "     ")
    if contradiction.closing is not None and len(contradiction.statements) > 1:
        yield from paragraph(sentences.closing_sentence(contradiction.closing, language), width, "   => ", "      ")
    if contradiction.branches:
        yield from paragraph(
            words.CASES(language, subject=contradiction.branches[0].subject), width, "   => ", "      "
        )
        yield from _branches(contradiction.branches, language, width, "      ")
    if contradiction.notes:
        yield ""
        yield f"  {words.KNOWN_FAULTS(language)}"
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
        yield from paragraph(words.NO_CONTRADICTION(language), width, "")
        return
    heading = words.WHY(language, claim=overall_claim(contradictions, language))
    yield from paragraph(heading, width, "")
    yield from contradictions_lines(contradictions, language, width)


def _ways(explanation: Explanation, language: Language, width: int, *, in_checkout: bool) -> Iterator[str]:
    if explanation.missing:
        yield from paragraph(sentences.missing_sentence(explanation.missing, language, _MISSING), width, "")
        yield ""
    yield from _ways_out(explanation, language, width, in_checkout=in_checkout)
    if explanation.limited:
        yield from paragraph(words.LIMITED(language), width, "")
        yield words.MORE_TIME(language)
    yield words.OLD_LOCK(language)


def _branches(branches: Sequence[Branch], language: Language, width: int, indent: str) -> Iterator[str]:
    for branch in branches[:_MOST]:
        yield from paragraph(sentences.branch_sentence(branch, language), width, f"{indent}- ", f"{indent}  ")
        yield from _branches(branch.branches, language, width, indent + "  ")
    yield from _more(len(branches), language, f"{indent}- ")


def _more(count: int, language: Language, indent: str) -> Iterator[str]:
    if count > _MOST:
        yield f"{indent}{words.MORE_IN_REPORT(language, count=count - _MOST)}"


def _ways_out(explanation: Explanation, language: Language, width: int, *, in_checkout: bool) -> Iterator[str]:
    if explanation.awaited:
        yield words.WAY_ZERO_HEADING(language)
        yield from paragraph(sentences.way_zero(explanation.awaited, language), width, "  0  ", "     ")
        yield ""
    if explanation.fixes:
        yield words.WAYS_OUT(language)
        yield from _fixes(explanation.fixes, language, width)
        yield ""
        yield from paragraph(changes.apply_hint(explanation, language, in_checkout=in_checkout), width, "")
        return
    yield words.NO_WAY_OUT(language)
    tried = words.LABELLED(language, label=words.HEADING_TRIED(language), text="").rstrip()
    yield tried if explanation.attempts else words.NOTHING_TRIED(language)
    for attempt in explanation.attempts[:_ATTEMPTS]:
        yield from paragraph(changes.changes_sentence(attempt.changes, language), width, "  - ", "    ")
        yield from paragraph(changes.outcome_sentence(attempt, language), width, "      ")
    if len(explanation.attempts) > _ATTEMPTS:
        yield f"  {words.TRIED_MORE(language, len(explanation.attempts) - _ATTEMPTS)}"
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
        yield words.HEADING_WARNINGS(language)
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
        told = words.COMMA(language).join(met)
        yield from paragraph(words.WARNED(language, len(met), labels=told), width, "        ")
