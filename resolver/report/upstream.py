"""State what the indexes say today about a lock and about facts, as text and as JSON.

The commands `check --upstream` and `facts check` print it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import to_builtins

from resolver.audit.compare import (
    Change,
    Compared,
    DuplicateFile,
    Gone,
    Marked,
    Rehashed,
    Unyanked,
    Yanked,
    is_grave,
)
from resolver.audit.fact_checks import CheckedFact, Remark, Verdict
from resolver.errors import escaped
from resolver.i18n import translate
from resolver.model.lock import LockedFact
from resolver.model.message import Message, first_of, joined, message
from resolver.model.text import Language

# The statuses of PEP 792 for which there is a sentence.
_MARKS: Final = ("archived", "deprecated", "quarantined")
# How many names are on one line.
_SOME: Final = 8


def change_lines(compared: Compared, old: Sequence[LockedFact], days: int) -> Iterator[Message]:
    """Yield a line for each difference between a lock and its indexes, grave ones first.

    `old` are the facts that were checked more than `days` days ago.
    """
    for change in sorted(compared.changes, key=lambda change: not is_grave(change)):
        yield change_sentence(change)
    if not compared.changes and compared.files:
        yield message("upstream.no-change")
    for row in compared.out_of_reach:
        projects = first_of(row.projects, _SOME)
        yield message(
            "upstream.out-of-reach", index=row.index, projects=projects, why=escaped(row.why)
        )
    if compared.newer:
        requested = [row for row in compared.newer if row.is_requested]
        moves = [f"{row.project} {row.version} → {row.newest}" for row in requested]
        code = "upstream.newer-named" if requested else "upstream.newer"
        yield message(code, count=len(compared.newer), named=first_of(moves, _SOME))
    if compared.sources:
        yield message("upstream.sources", projects=first_of(compared.sources, _SOME))
    if old:
        yield old_facts_sentence(old, days)
    counts = [message("upstream.compared", count=compared.files)]
    if compared.unhashed:
        counts.append(message("upstream.unhashed", count=compared.unhashed))
    yield joined("comma", counts)


def old_facts_sentence(old: Sequence[LockedFact], days: int) -> Message:
    """Return a sentence about facts of a lock that were checked more than `days` days ago."""
    facts = first_of([escaped(fact.id) for fact in old], _SOME)
    return message("upstream.old-facts", count=len(old), days=days, facts=facts)


def change_sentence(change: Change) -> Message:
    """Return the sentence about a difference between a lock and its index."""
    release = f"{change.project} {change.version}"
    values = {"project": change.project, "index": change.index}
    match change:
        case Yanked(reason=reason):
            code = "upstream.yanked" if reason.strip() else "upstream.yanked-silently"
            return message(code, release=release, **values, reason=escaped(reason))
        case Unyanked():
            return message("upstream.restored", release=release, **values)
        case Rehashed():
            hashes = {"offered": change.offered, "locked": change.locked}
            return message("upstream.rehashed", file=change.file, **hashes, **values)
        case DuplicateFile():
            return message("upstream.twofold", file=change.file, **values)
        case Gone(scope="project"):
            return message("upstream.project-gone", **values)
        case Gone(scope="release"):
            return message("upstream.release-gone", release=release, **values)
        case Gone(files=files):
            code = "upstream.file-gone" if change.needed else "upstream.spare-gone"
            return message(code, files=first_of(files, _SOME), **values)
        case Marked(status=status, reason=reason):
            code = f"upstream.mark-{status}" if status in _MARKS else "upstream.mark-other"
            mark = message(code, status=escaped(status), **values)
            if reason.strip():
                return message("upstream.because", text=mark, reason=escaped(reason))
            return mark


def compared_json(compared: Compared) -> dict[str, Any]:
    """Return the differences as an object for JSON. Texts of the index are unchanged."""
    changes = compared.changes
    return {
        "changes": [{**to_builtins(change), "grave": is_grave(change)} for change in changes],
        "files": compared.files,
        "files_without_hash": compared.unhashed,
        "from_git": list(compared.sources),
        "out_of_reach": to_builtins(compared.out_of_reach),
        "newer": to_builtins(compared.newer),
    }


def fact_line(checked: CheckedFact, *, old_after: int | None, language: Language) -> str:
    """Return the line about a fact with its verdict and findings.

    `old_after` is the number of days after which a fact counts as old; None if this one is not old.
    """
    fact = checked.fact
    remarks = [_remark(remark, language) for remark in checked.remarks]
    line = message(
        "upstream.fact",
        verdict=message(f"upstream.verdict-{checked.verdict.value}"),
        id=escaped(fact.id),
        where=fact.where,
        remarks=joined("semicolon", remarks),
    )
    if old_after is not None:
        line = message("upstream.old", text=line, checked=fact.checked.isoformat(), days=old_after)
    return translate(line, language)


def facts_summary(facts: Sequence[CheckedFact], target: str | Message, language: Language) -> str:
    """Return the sentence with the number of facts for each verdict."""
    if not facts:
        return translate("upstream.no-facts", language)
    numbers = Counter(checked.verdict for checked in facts)
    by_verdict = {verdict.value: numbers[verdict] for verdict in Verdict}
    outcome = message("upstream.outcome", **by_verdict)
    line = message("upstream.facts", count=len(facts), target=target, outcome=outcome)
    return translate(line, language)


def fact_json(checked: CheckedFact, *, old: bool, language: Language) -> dict[str, Any]:
    """Return the findings about a fact as an object for JSON.

    `values` are unchanged from the index. `text` is in the language.
    """
    fact = checked.fact
    return {
        "id": fact.id,
        "package": fact.package,
        "kind": type(fact).__name__.lower(),
        "where": fact.where,
        "verdict": checked.verdict.value,
        "checked": fact.checked.isoformat(),
        "old": old,
        "remarks": [_remark_json(remark, language) for remark in checked.remarks],
    }


def _remark_json(remark: Remark, language: Language) -> dict[str, Any]:
    """Return one finding as an object for JSON."""
    return {
        "code": remark.message.code.removeprefix("upstream.remark-"),
        "verdict": remark.verdict.value,
        "values": _values(remark.message, "en"),
        "text": _remark(remark, language),
    }


def _remark(remark: Remark, language: Language) -> str:
    """Return the text of a finding."""
    return translate(remark.message.code, language, **_values(remark.message, language))


def _values(remark: Message, language: Language) -> dict[str, str]:
    """Return the values of a finding, without characters that a terminal would act on."""
    values = {}
    for key, value in remark.values.items():
        text = translate(value, language) if isinstance(value, Message) else str(value)
        values[key] = escaped(text)
    return values
