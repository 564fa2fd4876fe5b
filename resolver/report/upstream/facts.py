"""What the indexes say about facts, a line each, and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from resolver.audit.verdict import Judged, Remark, Verdict
from resolver.errors import shown
from resolver.model.text import Language
from resolver.report.explanation.words import SEMICOLON
from resolver.report.quoted import quoted
from resolver.report.upstream import words


def line(judged: Judged, *, old_after: int | None, to_come: bool, language: Language) -> str:
    """One fact; `old_after` is a number of days if it was checked longer ago than that, `to_come` if in the future."""
    remarks = SEMICOLON(language).join(_remark(remark, language) for remark in judged.remarks)
    told = words.FACT(
        language,
        verdict=words.VERDICTS[judged.verdict](language),
        id=shown(judged.fact.id),
        where=judged.fact.where,
        remarks=remarks,
    )
    checked = judged.fact.checked.isoformat()
    if to_come:
        return words.TO_COME(language, text=told, checked=checked)
    return told if old_after is None else words.OLD(language, text=told, checked=checked, days=old_after)


def summary(all_judged: Sequence[Judged], target: str, language: Language) -> str:
    """The number of facts of each verdict."""
    if not all_judged:
        return words.NO_FACTS(language)
    numbers = Counter(judged.verdict for judged in all_judged)
    outcome = words.OUTCOME(language, **{verdict.value: numbers[verdict] for verdict in Verdict})
    return words.FACTS(language, len(all_judged), target=target, outcome=outcome)


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
                "values": dict(remark.values),
                "text": _remark(remark, language),
            }
            for remark in judged.remarks
        ],
    }


def _remark(remark: Remark, language: Language) -> str:
    return words.SAYINGS[remark.saying](
        language, **{key: quoted(shown(value), language) for key, value in remark.values.items()}
    )
