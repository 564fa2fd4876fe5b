"""An explanation as a document: why there is no solution, the ways out, what was tried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from resolver.errors import shown
from resolver.i18n import LANGUAGES, translate
from resolver.json_text import json_text
from resolver.model.explanation import Awaited, Branch, Contradiction, Explanation, Fix, Why
from resolver.model.fact import Fact, Warns
from resolver.model.message import Message, joined, message
from resolver.model.problem import Problem
from resolver.model.requirement import ComponentRequirement
from resolver.model.resolution import Forbids, Needs, Statement
from resolver.model.text import Language
from resolver.report.document import Block, Code, Details, Heading, Item, Items, Line, Paragraph, Span, line
from resolver.report.explanation import changes, sentences
from resolver.report.explanation.json import explanation_json, sort_of
from resolver.report.explanation.places import cited, place_of, source_line, with_strength
from resolver.report.html import html_text
from resolver.report.markdown import markdown_text
from resolver.report.text import one_line

FILE = "conflict.md"
_ATTEMPTS = 10  # that a terminal shows
_MISSING = 20
_NEWER = 8


def report_files(explanation: Explanation) -> dict[str, str]:
    """File name -> text, independent of the language of the run. Links are relative to locks/<stack>/<target>/."""
    files = {}
    for language in LANGUAGES:
        name = "conflict" if language == "en" else f"conflict.{language}"
        document = [*_head(explanation, language), *_blocks(explanation, language)]
        files[f"{name}.md"] = markdown_text(document)
        files[f"{name}.html"] = html_text(document, language)
    files["conflict.json"] = json_text(explanation_json(explanation, "en")) + "\n"
    return files


def _head(explanation: Explanation, language: Language) -> Iterator[Block]:
    yield Heading(translate(sentences.title(explanation.problem, explanation.awaited), language), level=1)


def _blocks(explanation: Explanation, language: Language) -> Iterator[Block]:
    problem = explanation.problem
    yield from conflict_blocks(problem, explanation.contradictions, explanation.awaited, language)
    yield from ways_out_blocks(explanation, language, whole=True)
    yield _paragraph(translate("conflict.inputs", language, digest=problem.digest))


def conflict_blocks(
    problem: Problem, contradictions: Sequence[Contradiction], awaited: Sequence[Awaited], language: Language
) -> Iterator[Block]:
    """What has no solution, or waits for an index, and why."""
    yield _paragraph(*(translate(one, language) for one in sentences.verdict(problem, awaited)))
    if not contradictions:
        yield _paragraph(translate("conflict.no-contradiction", language))
        return
    why = message("conflict.why", claim=sentences.overall_claim(contradictions))
    yield Heading(translate(why, language))
    yield from _contradictions(contradictions, language)


def further_blocks(contradictions: Sequence[Contradiction], language: Language) -> Iterator[Block]:
    """Contradictions that the search for ways out found."""
    for one in contradictions:
        yield Heading(translate(message("conflict.further", claim=sentences.claim(one)), language))
        yield from _contradiction(one, language)


def _contradictions(contradictions: Sequence[Contradiction], language: Language) -> Iterator[Block]:
    """The contradictions, with headings if there are several; the heading of a single one is the caller's."""
    total = len(contradictions)
    for number, one in enumerate(sentences.shown(contradictions), 1):
        if total > 1:
            told = message("conflict.conflict-of", number=number, total=total, claim=sentences.claim(one))
            yield Heading(translate(told, language), level=3)
        yield from _contradiction(one, language)


def _contradiction(contradiction: Contradiction, language: Language) -> Iterator[Block]:
    """The statements with their origins, then where they meet and what is known about the releases."""
    yield _items(statement_items(contradiction.statements, language), language)
    if contradiction.closing is not None and len(contradiction.statements) > 1:
        yield Paragraph((line(translate(sentences.closing_sentence(contradiction.closing), language)),), result=True)
    if contradiction.branches:
        cases = translate("conflict.cases", language, subject=contradiction.branches[0].subject)
        yield Paragraph((line(cases),), result=True)
        yield _items(_branches(contradiction.branches, language), language)
    if contradiction.notes:
        yield _paragraph(translate("conflict.known-faults", language))
        yield _items([_warning(note, language) for note in contradiction.notes], language)


def statement_items(statements: Sequence[Statement], language: Language) -> list[Item]:
    """Numbered statements with their origins and what the facts among them rest on."""
    return [_statement(number, one, language) for number, one in enumerate(statements, 1)]


def _statement(number: int, statement: Statement, language: Language) -> Item:
    place = place_of(statement)
    told = translate(place.told, language)
    origin: Line = (Span(told, source_line(place.where)),) if told else ()
    details = list(sentences.statement_details(statement))
    evidence: list[Line] = []
    if (fact := place.fact) is not None:
        origin = (*origin, Span(translate(with_strength(fact), language)))
        reason = sentences.reason_of(fact)
        if _is_about_the_soc(statement):  # it says what else can be done on a SoC that nobody can change
            details.append(reason)
        elif not isinstance(statement, Forbids):  # its sentence has it already
            evidence.append(line(translate(message("conflict.reason", text=reason), language)))
        evidence.append(_evidence(fact, language))
    return Item(
        label=str(number),
        lines=(line(sentences.explanation_sentence(statement, language)),),
        origin=origin,
        sort=sort_of(statement),
        source=fact.source if fact is not None else "",
        details=_lines(details, language),
        evidence=tuple(evidence),
    )


def _is_about_the_soc(statement: Statement) -> bool:
    need = ComponentRequirement.parse(statement.needs) if isinstance(statement, Needs) else None
    return need is not None and need.component == "soc"


def _evidence(fact: Fact, language: Language) -> Line:
    before = translate("conflict.evidence", language, text="")
    after = translate("conflict.checked-on", language, text="", date=fact.checked.isoformat())
    return (Span(before), *cited(one_line(fact.source)), Span(after))


def _branches(branches: Sequence[Branch], language: Language) -> list[Item]:
    return [
        Item(
            lines=(line(translate(sentences.branch_sentence(branch), language)),),
            items=tuple(_branches(branch.branches, language)),
        )
        for branch in branches
    ]


def _warning(warning: Warns, language: Language, label: str = "") -> Item:
    place = Span(warning.where, source_line(warning.where))
    evidence = (place, Span(translate("semicolon", language)), *_evidence(warning, language))
    return Item(label=label, lines=(line(translate(sentences.warning_text(warning), language)),), evidence=(evidence,))


def ways_out_blocks(
    explanation: Explanation, language: Language, *, whole: bool = False, in_checkout: bool = True
) -> Iterator[Block]:
    """The ways out, or what was tried; `whole` with the files of each, for a report."""
    if explanation.missing:
        most = None if whole else _MISSING
        yield _paragraph(translate(sentences.missing_sentence(explanation.missing, most), language))
    if explanation.awaited:
        yield Heading(translate("conflict.way-zero-heading", language))
        yield Items((Item(label="0", lines=(line(translate(sentences.way_zero(explanation.awaited), language)),)),))
    heading = "conflict.ways-out" if explanation.fixes else "conflict.no-way-out"
    yield Heading(translate(heading, language), anchor="ways-out")
    yield from _fixes(explanation, language, whole=whole)
    if whole or not explanation.fixes:
        yield from _tried(explanation, language)
    last = []
    if explanation.fixes:
        last.append(translate(changes.apply_hint(explanation, in_checkout=in_checkout), language))
    if explanation.limited:
        last += [translate("conflict.limited", language), translate("conflict.more-time", language)]
    yield _paragraph(*last, translate("conflict.old-lock", language))


def _fixes(explanation: Explanation, language: Language, *, whole: bool) -> Iterator[Block]:
    """The fixes, and below them their warnings, each once, as most fixes share them."""
    environments = [environment for fix in explanation.fixes for environment in fix.environments]
    warnings = {sentences.warning_text(warning): warning for one in environments for warning in one.warnings}
    labels = {text: f"W{number}" for number, text in enumerate(warnings, 1)}
    if explanation.fixes:
        yield _items([_fix(fix, labels, language) for fix in explanation.fixes], language)
    if warnings:
        yield Heading(translate("conflict.heading-warnings", language), level=3)
        yield _items([_warning(warning, language, labels[text]) for text, warning in warnings.items()], language)
    if whole:
        yield from (_details(fix, language) for fix in explanation.fixes)


def _fix(fix: Fix, labels: Mapping[Message, str], language: Language) -> Item:
    told = changes.change_sentences(fix.changes)
    told += [risk] if (risk := changes.risk_sentence(fix)) else []
    details: list[Message] = []
    for environment in fix.environments:
        if len(fix.environments) > 1:
            details.append(changes.requires_sentence(fix, environment))
        details.append(message("conflict.result", text=changes.environment_sentence(environment)))
        met = dict.fromkeys(labels[sentences.warning_text(warning)] for warning in environment.warnings)
        if met:
            details.append(message("conflict.warned", count=len(met), labels=joined("comma", met)))
    return Item(label=fix.name, lines=_lines(told, language), details=_lines(details, language))


def _details(fix: Fix, language: Language) -> Details:
    label = translate("conflict.fix", language, name=fix.name)
    summary = changes.changes_sentence(fix.changes, language)
    blocks: list[Paragraph | Code] = [
        Code(tuple(diff), "diff") for diff in map(changes.change_diff, fix.changes) if diff
    ]
    for name, text in fix.files:
        blocks.append(_paragraph(translate("conflict.file", language, name=name)))
        blocks.append(Code(tuple(changes.safe_lines(text)), "toml"))
    return Details(translate("conflict.labelled", language, label=label, text=summary), tuple(blocks))


def _tried(explanation: Explanation, language: Language) -> Iterator[Block]:
    if not explanation.attempts:
        if not explanation.fixes:
            yield _paragraph(translate("conflict.nothing-tried", language))
        return
    yield Heading(translate("conflict.heading-tried", language), level=3)
    items = [
        Item(
            lines=(line(changes.changes_sentence(attempt.changes, language)),),
            details=(line(translate(changes.outcome_sentence(attempt), language)),),
        )
        for attempt in explanation.attempts
    ]
    more = translate("conflict.tried-more", language, len(items) - _ATTEMPTS) if len(items) > _ATTEMPTS else ""
    yield Items(tuple(items), _ATTEMPTS, more)


def why_blocks(why: Why, language: Language) -> Iterator[Block]:
    """Why a project has the version that it has."""
    values = {"stack": why.problem.stack.name, "target": sentences.target_line(why.problem, language)}
    yield _paragraph(translate("conflict.why-heading", language, name=why.name, version=why.version, **values))
    yield Heading(translate("conflict.asked-by" if why.asked else "conflict.asked-by-none", language))
    yield _items(statement_items(why.asked, language), language)
    binding = [number for number, statement in enumerate(why.asked, 1) if statement in why.bound]
    if binding:
        told = message("conflict.bound", count=len(binding), numbers=sentences.numbers(binding))
        yield Paragraph((line(translate(told, language)),), result=True)
    if why.facts:
        yield Heading(translate("conflict.why-facts", language))
        yield _items(statement_items(why.facts, language), language)
    yield _paragraph(*_newer(why, language))
    if why.contradictions:
        claim = sentences.overall_claim(why.contradictions)
        cannot = message("conflict.cannot-take", name=why.name, version=why.tried, claim=claim)
        yield Heading(translate(cannot, language))
        yield from _contradictions(why.contradictions, language)
    elif why.tried:
        others = [move for move in why.moves if move[0] != why.name]
        code = "conflict.can-take" if others else "conflict.can-take-alone"
        yield Heading(translate(code, language, len(others), name=why.name, version=why.tried))
        yield _items([Item(lines=(line(_move(*move, language)),)) for move in others], language)


def _newer(why: Why, language: Language) -> Iterator[str]:
    """The newer releases, and what is not known of them."""
    if not why.newer:
        yield translate("conflict.nothing-newer", language)
    else:
        versions = translate("comma", language).join(why.newer[:_NEWER])
        if len(why.newer) > _NEWER:
            versions = translate("conflict.and-more", language, items=versions)
        yield translate("conflict.newer-releases", language, len(why.newer), versions=versions)
    for version, facts in why.later:
        told = joined("comma", [with_strength(fact, fact.where) for fact in facts])
        yield translate(message("conflict.taken-later", version=version, pin=why.version, facts=told), language)
        yield from (translate(sentences.reason_of(fact), language) for fact in facts)
    if why.unreachable:
        indexes = translate("comma", language).join(f"`{index}`" for index in why.unreachable)
        yield translate("conflict.may-have-newer", language, indexes=indexes, name=why.name)
    if why.untried:
        yield translate("conflict.untried", language, why=shown(why.untried))
    elif why.newer and not why.tried:
        yield translate("conflict.not-decided", language)


def _move(name: str, old: str, new: str, language: Language) -> str:
    code = "cli.move" if old and new else "conflict.move-new" if new else "conflict.move-gone"
    return translate(code, language, name=name, old=old, new=new)


def _items(items: Sequence[Item], language: Language) -> Items:
    most = Items(()).most
    more = translate("conflict.more-in-report", language, count=len(items) - most) if len(items) > most else ""
    return Items(tuple(items), most, more)


def _paragraph(*texts: str) -> Paragraph:
    return Paragraph(tuple(map(line, texts)))


def _lines(texts: Iterable[Message], language: Language) -> tuple[Line, ...]:
    return tuple(line(translate(text, language)) for text in texts)
