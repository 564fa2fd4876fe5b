"""State whether the sources of facts say what the facts state, as lines for people and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from resolver.audit.cited import Unread
from resolver.audit.source_checks import CheckedReference, CheckedSource, Said
from resolver.errors import escaped
from resolver.i18n import translate
from resolver.model.fact import Fact
from resolver.model.message import Message, joined, message
from resolver.model.source import brief_text, link_of
from resolver.model.text import Language

# A fact, and what its sources say.
Checked = tuple[Fact, CheckedSource]


def source_line(fact: Fact, checked: CheckedSource, language: Language) -> str:
    """Return the line about the sources of a fact, with what is wrong or was not opened."""
    verdict = message(f"sources.verdict-{checked.said.value}")
    line = message("sources.fact", verdict=verdict, id=escaped(fact.id), where=fact.where)
    doubtful = [
        reference for reference in checked.references if reference.said in (Said.FALSE, Said.UNREAD)
    ]
    remarks = [*map(_remark, doubtful), *checked.missing]
    if remarks:
        shown = joined("semicolon", [_harmless(remark) for remark in remarks])
        line = message("sources.fact-with", fact=line, remarks=shown)
    return translate(line, language)


def _remark(checked: CheckedReference) -> Message:
    """Return a reference, and why it is wrong or was not opened."""
    why = checked.why
    if why is None:
        kind = "page" if checked.unread is None else checked.unread.value
        why = message(f"sources.unread-{kind}")
    return message("sources.reference", reference=brief_text(checked.reference), why=why)


def _harmless(remark: Message) -> Message:
    """Return a message without characters in its values that a terminal would act on.

    The values may quote files.
    """
    values = {key: _harmless_value(value) for key, value in remark.values.items()}
    return message(remark.code, **values)


def _harmless_value(value: object) -> object:
    """Return one value without characters that a terminal would act on."""
    if isinstance(value, Message):
        return _harmless(value)
    return escaped(value) if isinstance(value, str) else value


def sources_summary(facts: Sequence[Checked], language: Language) -> str:
    """Return how many facts and references are confirmed, and how many were not opened."""
    if not facts:
        return translate("upstream.no-facts", language)
    outcomes = Counter(checked.said for _, checked in facts)
    references: list[CheckedReference] = []
    for _, checked in facts:
        references += checked.references
    said = Counter(reference.said for reference in references)
    unread = Counter(reference.unread for reference in references)
    lines = [
        message("sources.facts", count=len(facts), outcome=_outcome(outcomes)),
        message("sources.references", count=len(references), outcome=_outcome(said)),
    ]
    kinds = [kind for kind in Unread if unread[kind]]
    if kinds:
        counts = [message(f"sources.count-{kind.value}", count=unread[kind]) for kind in kinds]
        lines.append(message("sources.unread", kinds=joined("comma", counts)))
    return "\n".join(translate(line, language) for line in lines)


def _outcome(numbers: Counter[Said]) -> Message:
    """Return the words with the number of each result."""
    return message("sources.outcome", **{said.value: numbers[said] for said in Said})


def sources_json(facts: Iterable[Checked], language: Language) -> list[dict[str, Any]]:
    """Return the findings about each fact as objects for JSON. `text` is in the language."""
    return [_fact_json(fact, checked, language) for fact, checked in facts]


def _fact_json(fact: Fact, checked: CheckedSource, language: Language) -> dict[str, Any]:
    """Return the findings about one fact as an object for JSON."""
    return {
        "id": fact.id,
        "package": fact.package,
        "where": fact.where,
        "outcome": checked.said.value,
        "missing": [_message_json(missing, language) for missing in checked.missing],
        "references": [_reference_json(reference, language) for reference in checked.references],
    }


def _reference_json(checked: CheckedReference, language: Language) -> dict[str, Any]:
    """Return the finding about one reference as an object for JSON."""
    return {
        "text": str(checked.reference),
        "link": link_of(checked.reference) or None,
        "outcome": checked.said.value,
        "unread": None if checked.unread is None else checked.unread.value,
        "why": None if checked.why is None else _message_json(checked.why, language),
    }


def _value_json(value: object) -> object:
    """Return a value of a message. The text of an error is in English, as everywhere in JSON."""
    return translate(value, "en") if isinstance(value, Message) else value


def _message_json(remark: Message, language: Language) -> dict[str, Any]:
    """Return a message as an object for JSON: its code, values and text."""
    shown = _harmless(remark)
    return {
        "code": remark.code.removeprefix("sources."),
        "values": {name: _value_json(value) for name, value in shown.values.items()},
        "text": translate(shown, language),
    }
