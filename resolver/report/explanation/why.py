"""Why a project has the version it has, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from resolver.errors import shown
from resolver.i18n import translate
from resolver.model.explanation import Why
from resolver.model.text import Language
from resolver.report.explanation.json import VERSION, contradiction_json, statement_json
from resolver.report.explanation.sentences import numbers, target_line
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
    heading = translate(
        "conflict.why-heading",
        language,
        name=why.name,
        version=why.version,
        stack=why.problem.stack.name,
        target=target_line(why.problem, language),
    )
    yield from paragraph(heading, width, "")
    yield ""
    yield translate("conflict.asked-by", language) if why.asked else translate("conflict.asked-by-none", language)
    yield from statement_lines(why.asked, language, width)
    binding = [number for number, statement in enumerate(why.asked, 1) if statement in why.bound]
    if binding:
        told = numbers(binding, language)
        yield f"   => {translate('conflict.bound', language, len(binding), numbers=told)}"
    if why.facts:
        yield ""
        yield translate("conflict.why-facts", language)
        yield from statement_lines(why.facts, language, width)
    yield ""
    yield from paragraph(_newer(why, language), width, "")
    for version, facts in why.later:
        places = translate("comma", language).join(
            translate(
                "conflict.with-strength",
                language,
                where=fact.where,
                strength=translate(f"strength.{fact.strength.value}", language),
            )
            for fact in facts
        )
        told = translate("conflict.taken-later", language, version=version, pin=why.version, facts=places)
        yield from paragraph(told, width, "")
        for fact in facts:
            yield from paragraph((fact.reason_zh if language == "zh" else "") or fact.reason, width, "   ")
    if why.unreachable:
        indexes = translate("comma", language).join(f"`{index}`" for index in why.unreachable)
        yield from paragraph(translate("conflict.may-have-newer", language, indexes=indexes, name=why.name), width, "")
    if why.untried:
        yield from paragraph(translate("conflict.untried", language, why=shown(why.untried)), width, "")
    if why.tried:
        yield ""
        yield from _tried(why, language, width)
    elif why.newer and not why.untried:
        yield from paragraph(translate("conflict.not-decided", language), width, "")


def _newer(why: Why, language: Language) -> str:
    if not why.newer:
        return translate("conflict.nothing-newer", language)
    versions = translate("comma", language).join(why.newer[:_NEWER])
    if len(why.newer) > _NEWER:
        versions = translate("conflict.and-more", language, items=versions)
    return translate("conflict.newer-releases", language, len(why.newer), versions=versions)


def _tried(why: Why, language: Language, width: int) -> Iterator[str]:
    if why.contradictions:
        said = overall_claim(why.contradictions, language)
        heading = translate("conflict.cannot-take", language, name=why.name, version=why.tried, claim=said)
        yield from paragraph(heading, width, "")
        yield from contradictions_lines(why.contradictions, language, width)
        return
    others = [move for move in why.moves if move[0] != why.name]
    if not others:
        yield from paragraph(
            translate("conflict.can-take-alone", language, name=why.name, version=why.tried), width, ""
        )
        return
    said = translate("conflict.can-take", language, len(others), name=why.name, version=why.tried)
    yield from paragraph(said, width, "")
    for name, old, new in others:
        yield from paragraph(_move(name, old, new, language), width, "  ")


def _move(name: str, old: str, new: str, language: Language) -> str:
    template = "cli.move" if old and new else "conflict.move-new" if new else "conflict.move-gone"
    return translate(template, language, name=name, old=old, new=new)
