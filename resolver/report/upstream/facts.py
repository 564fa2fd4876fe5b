"""What the indexes say about facts, a line each, and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from resolver.audit.verdict import Judged, Remark, Verdict
from resolver.errors import shown
from resolver.i18n import translate
from resolver.model.message import Message
from resolver.model.text import Language


def line(judged: Judged, *, old_after: int | None, to_come: bool, language: Language) -> str:
    """One fact; `old_after` is a number of days if it was checked longer ago than that, `to_come` if in the future."""
    remarks = translate("semicolon", language).join(_remark(remark, language) for remark in judged.remarks)
    told = translate(
        "upstream.fact",
        language,
        verdict=translate(f"upstream.verdict-{judged.verdict.value}", language),
        id=shown(judged.fact.id),
        where=judged.fact.where,
        remarks=remarks,
    )
    checked = judged.fact.checked.isoformat()
    if to_come:
        return translate("upstream.to-come", language, text=told, checked=checked)
    return (
        told if old_after is None else translate("upstream.old", language, text=told, checked=checked, days=old_after)
    )


def summary(all_judged: Sequence[Judged], target: str, language: Language) -> str:
    """The number of facts of each verdict."""
    if not all_judged:
        return translate("upstream.no-facts", language)
    numbers = Counter(judged.verdict for judged in all_judged)
    outcome = translate("upstream.outcome", language, **{verdict.value: numbers[verdict] for verdict in Verdict})
    return translate("upstream.facts", language, len(all_judged), target=target, outcome=outcome)


def judged_json(judged: Judged, *, old: bool, to_come: bool, language: Language) -> dict[str, Any]:
    """The findings for programs; `values` are unchanged from the index, `text` is in the language."""
    fact = judged.fact
    return {
        "id": fact.id,
        "package": fact.package,
        "kind": type(fact).__name__.lower(),
        "where": fact.where,
        "verdict": judged.verdict.value,
        "checked": fact.checked.isoformat(),
        "old": old,
        "to_come": to_come,
        "remarks": [
            {
                "code": remark.saying.code,
                "verdict": remark.saying.verdict.value,
                "values": {key: _value(value, "en") for key, value in remark.values.items()},
                "text": _remark(remark, language),
            }
            for remark in judged.remarks
        ],
    }


def _remark(remark: Remark, language: Language) -> str:
    return translate(
        f"upstream.remark-{remark.saying.code}",
        language,
        **{key: _value(value, language) for key, value in remark.values.items()},
    )


def _value(value: str | Message, language: Language) -> str:
    return shown(translate(value, language) if isinstance(value, Message) else value)
