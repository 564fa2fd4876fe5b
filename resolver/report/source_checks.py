"""Whether the sources of facts say what the facts state, as lines for people and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from resolver.audit.cited import Unread
from resolver.audit.source_checks import CheckedReference, CheckedSource, Said
from resolver.errors import escaped
from resolver.i18n import translate
from resolver.model.fact import Fact
from resolver.model.message import Message, joined, message
from resolver.model.source import brief_text, link_of
from resolver.model.text import Language

Checked = tuple[Fact, CheckedSource]


def source_line(fact: Fact, checked: CheckedSource, language: Language) -> str:
    """Return a line about the source of a fact, with what is wrong or was not opened."""
    verdict = message(f"sources.verdict-{checked.said.value}")
    line = message("sources.fact", verdict=verdict, id=escaped(fact.id), where=fact.where)
    remarks = [*map(_remark, filter(_needs_a_word, checked.references)), *checked.missing]
    if remarks:
        line = message(
            "sources.fact-with",
            fact=line,
            remarks=joined("semicolon", list(map(_harmless, remarks))),
        )
    return translate(line, language)


def _needs_a_word(reference: CheckedReference) -> bool:
    return reference.said in (Said.FALSE, Said.UNREAD)


def _remark(checked: CheckedReference) -> Message:
    """Return a reference and why it is false or was not opened."""
    name = brief_text(checked.reference)
    if checked.why is not None:
        return message("sources.reference", reference=name, why=checked.why)
    kind = "page" if checked.unread is None else checked.unread.value
    return message("sources.reference", reference=name, why=message(f"sources.unread-{kind}"))


def _harmless(remark: Message) -> Message:
    """Return a remark whose values, which quote files, can do nothing to a terminal."""
    return message(
        remark.code, **{key: _harmless_value(value) for key, value in remark.values.items()}
    )


def _harmless_value(value: object) -> object:
    if isinstance(value, Message):
        return _harmless(value)
    return escaped(value) if isinstance(value, str) else value


def sources_summary(every: Sequence[Checked], language: Language) -> str:
    """Return how many facts and references say what is stated, and how many were not opened, by kind."""
    if not every:
        return translate("upstream.no-facts", language)
    facts = Counter(checked.said for _, checked in every)
    references = [reference for _, checked in every for reference in checked.references]
    unread = Counter(reference.unread for reference in references if reference.unread is not None)
    lines = [message("sources.facts", count=len(every), outcome=_outcome(facts))]
    outcome = _outcome(Counter(reference.said for reference in references))
    lines.append(message("sources.references", count=len(references), outcome=outcome))
    if unread:
        kinds = [
            message(f"sources.count-{kind.value}", count=unread[kind])
            for kind in Unread
            if unread[kind]
        ]
        lines.append(message("sources.unread", kinds=joined("comma", kinds)))
    return "\n".join(translate(line, language) for line in lines)


def _outcome(numbers: Counter[Said]) -> Message:
    return message("sources.outcome", **{said.value: numbers[said] for said in Said})


def sources_json(every: Iterable[Checked], language: Language) -> list[dict[str, Any]]:
    """Return the findings about each fact for programs; `text` is in the language."""
    return [
        {
            "id": fact.id,
            "package": fact.package,
            "where": fact.where,
            "outcome": checked.said.value,
            "missing": [_message_json(missing, language) for missing in checked.missing],
            "references": list(_references_json(checked, language)),
        }
        for fact, checked in every
    ]


def _references_json(checked: CheckedSource, language: Language) -> Iterator[dict[str, Any]]:
    for reference in checked.references:
        yield {
            "text": str(reference.reference),
            "link": link_of(reference.reference) or None,
            "outcome": reference.said.value,
            "unread": reference.unread.value if reference.unread is not None else None,
            "why": None if reference.why is None else _message_json(reference.why, language),
        }


def _message_json(told: Message, language: Language) -> dict[str, Any]:
    shown = _harmless(told)
    return {
        "code": told.code.removeprefix("sources."),
        "values": dict(shown.values),
        "text": translate(shown, language),
    }
