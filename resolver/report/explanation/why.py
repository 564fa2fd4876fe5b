"""Why a project has the version it has, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from resolver.errors import shown
from resolver.model.explanation import Why
from resolver.model.text import Language
from resolver.report.explanation import words
from resolver.report.explanation.json import VERSION, contradiction_json, statement_json
from resolver.report.explanation.sentences import target_line
from resolver.report.explanation.text import WIDTH, contradictions_lines, overall_claim, paragraph, statement_lines

_NEWER = 8  # newer releases that are named in the text


def why_text(why: Why, language: Language = "en", width: int = WIDTH) -> str:
    """The text for a terminal of `width` columns: plain, and ending with a line break."""
    return "\n".join(_lines(why, language, width)) + "\n"


def why_json(why: Why, language: Language = "en") -> dict[str, Any]:
    """The JSON for `--json`, as described in docs/conflict-report.md."""
    return {
        "schema": VERSION,
        "status": "why",
        "language": language,
        "stack": why.problem.stack.name,
        "target": why.problem.target.name,
        "name": why.name,
        "version": why.version,
        "asked": [
            {"statement": statement_json(number, statement, language), "bound": statement in why.bound}
            for number, statement in enumerate(why.asked, 1)
        ],
        "facts": [statement_json(number, statement, language) for number, statement in enumerate(why.facts, 1)],
        "newer": list(why.newer),
        "tried": why.tried,
        "unreachable": list(why.unreachable),
        "untried": why.untried,
        "later": [{"version": version, "facts": [fact.id for fact in facts]} for version, facts in why.later],
        "contradictions": [contradiction_json(one, language) for one in why.contradictions],
        "moves": [{"name": name, "old": old, "new": new} for name, old, new in why.moves],
    }


def _lines(why: Why, language: Language, width: int) -> Iterator[str]:
    heading = words.WHY_HEADING(
        language,
        name=why.name,
        version=why.version,
        stack=why.problem.stack.name,
        target=target_line(why.problem, language),
    )
    yield from paragraph(heading, width, "")
    yield ""
    yield words.ASKED_BY(language) if why.asked else words.ASKED_BY_NONE(language)
    yield from statement_lines(why.asked, language, width)
    numbers = [number for number, statement in enumerate(why.asked, 1) if statement in why.bound]
    if numbers:
        told = words.numbers(numbers, language)
        yield f"   => {words.BOUND(language, len(numbers), numbers=told)}"
    if why.facts:
        yield ""
        yield words.WHY_FACTS(language)
        yield from statement_lines(why.facts, language, width)
    yield ""
    yield from paragraph(_newer(why, language), width, "")
    for version, facts in why.later:
        places = words.COMMA(language).join(
            words.WITH_STRENGTH(language, where=fact.where, strength=words.STRENGTHS[fact.strength.value](language))
            for fact in facts
        )
        told = words.TAKEN_LATER(language, version=version, pin=why.version, facts=places)
        yield from paragraph(told, width, "")
        for fact in facts:
            yield from paragraph((fact.reason_zh if language == "zh" else "") or fact.reason, width, "   ")
    if why.unreachable:
        indexes = words.COMMA(language).join(f"`{index}`" for index in why.unreachable)
        yield from paragraph(words.MAY_HAVE_NEWER(language, indexes=indexes, name=why.name), width, "")
    if why.untried:
        yield from paragraph(words.UNTRIED(language, why=shown(why.untried)), width, "")
    if why.tried:
        yield ""
        yield from _tried(why, language, width)
    elif why.newer and not why.untried:
        yield from paragraph(words.NOT_DECIDED(language), width, "")


def _newer(why: Why, language: Language) -> str:
    if not why.newer:
        return words.NOTHING_NEWER(language)
    versions = words.COMMA(language).join(why.newer[:_NEWER])
    if len(why.newer) > _NEWER:
        versions = words.AND_MORE(language, items=versions)
    return words.NEWER_RELEASES(language, len(why.newer), versions=versions)


def _tried(why: Why, language: Language, width: int) -> Iterator[str]:
    if why.contradictions:
        said = overall_claim(why.contradictions, language)
        heading = words.CANNOT_TAKE(language, name=why.name, version=why.tried, claim=said)
        yield from paragraph(heading, width, "")
        yield from contradictions_lines(why.contradictions, language, width)
        return
    others = [move for move in why.moves if move[0] != why.name]
    if not others:
        yield from paragraph(words.CAN_TAKE_ALONE(language, name=why.name, version=why.tried), width, "")
        return
    said = words.CAN_TAKE(language, len(others), name=why.name, version=why.tried)
    yield from paragraph(said, width, "")
    for name, old, new in others:
        yield from paragraph(_move(name, old, new, language), width, "  ")


def _move(name: str, old: str, new: str, language: Language) -> str:
    template = words.MOVE if old and new else words.MOVE_NEW if new else words.MOVE_GONE
    return template(language, name=name, old=old, new=new)
