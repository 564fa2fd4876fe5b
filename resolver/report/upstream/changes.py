"""What has happened to a lock upstream, as lines for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import to_builtins

from resolver.audit.compare import (
    Change,
    Compared,
    Gone,
    Marked,
    Old,
    Rehashed,
    Restored,
    Scope,
    Twofold,
    Yanked,
    is_grave,
)
from resolver.errors import shown
from resolver.i18n import translate
from resolver.model.text import Language

_MARKS: Final[Mapping[str, str]] = {
    "archived": "upstream.archived",
    "deprecated": "upstream.deprecated",
    "quarantined": "upstream.quarantined",
}
_SOME: Final = 8  # names on one line


def lines(compared: Compared, old: Sequence[Old], days: int, language: Language) -> Iterator[str]:
    """A line for each change, grave ones first."""
    for change in sorted(compared.changes, key=lambda one: not is_grave(one)):
        yield sentence(change, language)
    if not compared.changes and compared.files:
        yield translate("upstream.no-change", language)
    for missing in compared.out_of_reach:
        projects = _some(missing.projects, language)
        yield translate(
            "upstream.out-of-reach",
            language,
            index=missing.index,
            projects=projects,
            why=shown(missing.why),
        )
    if compared.sources:
        yield translate("upstream.sources", language, projects=_some(compared.sources, language))
    if old:
        yield old_facts(old, days, language)
    told = translate("upstream.compared", language, compared.files)
    unhashed = translate("upstream.unhashed", language, compared.unhashed) if compared.unhashed else ""
    yield translate("comma", language).join(filter(None, (told, unhashed)))


def old_facts(old: Sequence[Old], days: int, language: Language) -> str:
    """The facts of a lock that were checked long ago."""
    return translate(
        "upstream.old-facts", language, len(old), days=days, facts=_some([shown(one.id) for one in old], language)
    )


def sentence(change: Change, language: Language) -> str:
    """One change."""
    pin = change.pin
    release = f"{pin.project} {pin.version}"
    match change:
        case Yanked():
            if not change.reason.strip():
                return translate("upstream.yanked-silently", language, release=release, index=pin.index)
            return translate("upstream.yanked", language, release=release, index=pin.index, reason=shown(change.reason))
        case Restored():
            return translate("upstream.restored", language, release=release, index=pin.index)
        case Rehashed():
            return translate(
                "upstream.rehashed",
                language,
                file=change.file,
                index=pin.index,
                offered=change.offered,
                locked=change.locked,
            )
        case Twofold():
            return translate("upstream.twofold", language, file=change.file, index=pin.index)
        case Gone():
            return _gone(change, release, language)
        case Marked():
            told = translate(
                _MARKS.get(change.status, "upstream.otherwise-marked"),
                language,
                status=shown(change.status),
                project=pin.project,
                index=pin.index,
            )
            return (
                translate("upstream.because", language, text=told, reason=shown(change.reason))
                if change.reason.strip()
                else told
            )


def _gone(change: Gone, release: str, language: Language) -> str:
    pin = change.pin
    match change.scope:
        case Scope.PROJECT:
            return translate("upstream.project-gone", language, project=pin.project, index=pin.index)
        case Scope.RELEASE:
            return translate("upstream.release-gone", language, release=release, index=pin.index)
        case Scope.FILE:
            word = "upstream.file-gone" if change.needed else "upstream.spare-gone"
            return translate(word, language, files=_some(change.files, language), index=pin.index)


def _some(names: Sequence[str], language: Language) -> str:
    told = translate("comma", language).join(names[:_SOME])
    left = len(names) - _SOME
    return told if left <= 0 else translate("upstream.and-more", language, text=told, count=left)


def compared_json(compared: Compared) -> dict[str, Any]:
    """The changes for programs; texts are those of the index."""
    return {
        "changes": [_change_json(change) for change in compared.changes],
        "files": compared.files,
        "files_without_hash": compared.unhashed,
        "from_git": list(compared.sources),
        "out_of_reach": [
            {"index": one.index, "projects": list(one.projects), "why": one.why} for one in compared.out_of_reach
        ],
    }


def _change_json(change: Change) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": type(change).__name__.lower(), "grave": is_grave(change), **to_builtins(change)}
    return {**row.pop("pin"), **row}
