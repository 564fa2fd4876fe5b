"""What the indexes say today about a lock and about facts, as lines for people and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import to_builtins

from resolver.audit.compare import (
    Change,
    Compared,
    Gone,
    Marked,
    Rehashed,
    Restored,
    Twofold,
    Yanked,
    is_grave,
)
from resolver.audit.fact_checks import Judged, Remark, Verdict
from resolver.errors import escaped
from resolver.i18n import translate
from resolver.model.lock import LockedFact
from resolver.model.message import Message, joined, message
from resolver.model.text import Language

_MARKS: Final = ("archived", "deprecated", "quarantined")
_SOME: Final = 8  # names on one line


def change_lines(compared: Compared, old: Sequence[LockedFact], days: int) -> Iterator[Message]:
    """A line for each change since a lock was made, grave ones first."""
    yield from map(change_sentence, sorted(compared.changes, key=lambda one: not is_grave(one)))
    if not compared.changes and compared.files:
        yield message("upstream.no-change")
    for missing in compared.out_of_reach:
        projects = _some(missing.projects)
        yield message("upstream.out-of-reach", index=missing.index, projects=projects, why=escaped(missing.why))
    if compared.sources:
        yield message("upstream.sources", projects=_some(compared.sources))
    if old:
        yield old_facts(old, days)
    told = [message("upstream.compared", count=compared.files)]
    unhashed = [message("upstream.unhashed", count=compared.unhashed)] if compared.unhashed else []
    yield joined("comma", told + unhashed)


def old_facts(old: Sequence[LockedFact], days: int) -> Message:
    """The facts of a lock that were checked long ago."""
    return message("upstream.old-facts", count=len(old), days=days, facts=_some([escaped(one.id) for one in old]))


def change_sentence(change: Change) -> Message:
    """One change."""
    release, values = f"{change.project} {change.version}", {"project": change.project, "index": change.index}
    match change:
        case Yanked(reason=reason):
            code = "upstream.yanked" if reason.strip() else "upstream.yanked-silently"
            return message(code, release=release, **values, reason=escaped(reason))
        case Restored():
            return message("upstream.restored", release=release, **values)
        case Rehashed():
            told = {"file": change.file, "offered": change.offered, "locked": change.locked}
            return message("upstream.rehashed", **told, **values)
        case Twofold():
            return message("upstream.twofold", file=change.file, **values)
        case Gone(scope="project"):
            return message("upstream.project-gone", **values)
        case Gone(scope="release"):
            return message("upstream.release-gone", release=release, **values)
        case Gone(files=files):
            return message(
                "upstream.file-gone" if change.needed else "upstream.spare-gone", files=_some(files), **values
            )
        case Marked(status=status, reason=reason):
            code = f"upstream.mark-{status}" if status in _MARKS else "upstream.mark-other"
            marked = message(code, status=escaped(status), **values)
            return message("upstream.because", text=marked, reason=escaped(reason)) if reason.strip() else marked


def _some(names: Sequence[str]) -> Message:
    told, left = joined("comma", names[:_SOME]), len(names) - _SOME
    return told if left <= 0 else message("upstream.and-more", text=told, count=left)


def compared_json(compared: Compared) -> dict[str, Any]:
    """The changes for programs; texts are those of the index."""
    return {
        "changes": [
            {"kind": type(change).__name__.lower(), "grave": is_grave(change), **to_builtins(change)}
            for change in compared.changes
        ],
        "files": compared.files,
        "files_without_hash": compared.unhashed,
        "from_git": list(compared.sources),
        "out_of_reach": to_builtins(compared.out_of_reach),
    }


def fact_line(judged: Judged, *, old_after: int | None, language: Language) -> str:
    """One fact; `old_after` is a number of days if it was checked longer ago than that."""
    verdict = message(f"upstream.verdict-{judged.verdict.value}")
    remarks = joined("semicolon", [_remark(remark, language) for remark in judged.remarks])
    told = message(
        "upstream.fact", verdict=verdict, id=escaped(judged.fact.id), where=judged.fact.where, remarks=remarks
    )
    if old_after is not None:
        told = message("upstream.old", text=told, checked=judged.fact.checked.isoformat(), days=old_after)
    return translate(told, language)


def facts_summary(all_judged: Sequence[Judged], target: str, language: Language) -> str:
    """The number of facts of each verdict."""
    if not all_judged:
        return translate("upstream.no-facts", language)
    numbers = Counter(judged.verdict for judged in all_judged)
    outcome = message("upstream.outcome", **{verdict.value: numbers[verdict] for verdict in Verdict})
    return translate(message("upstream.facts", count=len(all_judged), target=target, outcome=outcome), language)


def fact_json(judged: Judged, *, old: bool, language: Language) -> dict[str, Any]:
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
        "remarks": [
            {
                "code": remark.message.code.removeprefix("upstream.remark-"),
                "verdict": remark.verdict.value,
                "values": _values(remark.message, "en"),
                "text": _remark(remark, language),
            }
            for remark in judged.remarks
        ],
    }


def _remark(remark: Remark, language: Language) -> str:
    return translate(remark.message.code, language, **_values(remark.message, language))


def _values(told: Message, language: Language) -> dict[str, str]:
    """The values, harmless on a terminal."""
    return {
        key: escaped(translate(value, language) if isinstance(value, Message) else str(value))
        for key, value in told.values.items()
    }
