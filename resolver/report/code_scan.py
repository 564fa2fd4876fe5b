"""Write what `scan` found as lines for people and JSON, and version checks as drafts of facts."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import tomli_w
from msgspec import to_builtins

from resolver.audit.code_scan import FoundBound, ScannedCode
from resolver.audit.import_scan import MissingImport
from resolver.audit.version_checks import VersionCheck
from resolver.errors import escaped
from resolver.model.message import Message, joined, message

# How many characters of the conditions around a check are shown.
_SHOWN: Final = 100
# How many places a draft names.
_FEW: Final = 5


def bound_lines(found: Iterable[FoundBound]) -> Iterator[Message]:
    """Yield lines for each check: what the code accepts, where, and what else says so."""
    for bound in found:
        check = bound.check
        yield message(
            "scan.check",
            project=escaped(check.project),
            accepts=check.accepts,
            effect=message(f"scan.effect-{check.effect.value}"),
            where=escaped(_where(check)),
        )
        yield message("scan.source", source=escaped(check.source))
        if check.scope or check.under:
            yield message("scan.reached", conditions=escaped(_reached(check)))
        yield message("scan.said", who=joined("semicolon", list(_said(bound))))


def unread_lines(scanned: ScannedCode) -> Iterator[Message]:
    """Yield a line for each file that was not read."""
    for member in scanned.unread:
        yield message("scan.unread", path=escaped(member.path), why=escaped(member.why))


def drafts(
    package: str,
    version: str,
    file: str,
    found: Sequence[FoundBound],
    today: dt.date,
) -> str:
    """Return drafts of `constrains` facts as TOML, for bounds that only the code has.

    Empty if there are none. A person must write their reasons: the drafts only quote the code.
    """
    by_bound: dict[tuple[str, str], list[VersionCheck]] = {}
    for check in sorted((bound.check for bound in found if bound.is_news), key=_hidden):
        by_bound.setdefault((check.project, check.accepts), []).append(check)
    facts: list[dict[str, Any]] = []
    numbers: Counter[str] = Counter()
    for (project, accepts), checks in by_bound.items():
        numbers[project] += 1
        number = numbers[project]
        name = f"{package}-{version}-{project}"
        first = checks[0]
        places = list(dict.fromkeys(map(_cited_place, checks)))
        facts.append(
            {
                "id": f"{name}-{number}" if number > 1 else name,
                "versions": f"=={version}",
                "bounds": [f"{project}{accepts}"],
                "reason": f"{first.effect.value}: {_reached(first)}: {first.source}",
                "strength": "enforced",
                "source": [f"{file} {place}" for place in places[:_FEW]],
                "checked": today,
            }
        )
    return tomli_w.dumps({"constrains": facts}) if facts else ""


def import_lines(file: str, other: str, missing: Sequence[MissingImport]) -> Iterator[Message]:
    """Yield lines for the imports in `file` of what `other` does not have."""
    yield message("scan.beside", file=file, other=other, count=len(missing))
    for item in missing:
        code = "scan.lacks-name" if item.name else "scan.lacks-module"
        if not item.is_certain:
            code = "scan.lacks-perhaps"
        yield message(
            code,
            module=escaped(item.module),
            name=escaped(item.name),
            where=escaped(f"{item.path}:{item.line}"),
        )
        yield message(f"scan.run-{item.reach.value}")
        if item.scope or item.under:
            yield message("scan.reached", conditions=escaped(_reached(item)))


def imports_json(file: str, beside: Mapping[str, Sequence[MissingImport]]) -> dict[str, Any]:
    """Return the missing imports as an object for JSON, by the file of the other project."""
    others = [
        {"file": other, "imports": [_import_json(item) for item in missing]}
        for other, missing in beside.items()
    ]
    return {"file": file, "beside": others}


def _import_json(item: MissingImport) -> dict[str, Any]:
    """Return one missing import as an object for JSON."""
    return {**to_builtins(item), "reach": item.reach.value}


def scan_json(
    package: str, version: str, file: str, scanned: ScannedCode, found: Sequence[FoundBound]
) -> dict[str, Any]:
    """Return the findings as an object for JSON. Texts of the code are unchanged."""
    return {
        "project": package,
        "version": version,
        "file": file,
        "checks": [_check_json(bound) for bound in found],
        "unread": to_builtins(scanned.unread),
    }


def _check_json(bound: FoundBound) -> dict[str, Any]:
    """Return one check as an object for JSON."""
    return {
        **to_builtins(bound.check),
        "effect": bound.check.effect.value,
        "at_import": bound.check.at_import,
        "metadata": list(bound.metadata),
        "facts": list(bound.facts),
        "is_project": bound.is_project,
        "is_required": bound.is_required,
        "is_news": bound.is_news,
    }


def _said(bound: FoundBound) -> Iterator[Message]:
    """Yield what the metadata and the facts say about the compared project."""
    if not bound.is_project:
        yield message("scan.no-project")
    if bound.metadata:
        code = "scan.metadata-enough" if bound.is_required else "scan.metadata"
        yield message(code, requirements=escaped(", ".join(bound.metadata)))
    else:
        yield message("scan.metadata-silent")
    if bound.facts:
        yield message("scan.facts", facts=escaped(", ".join(bound.facts)))


def _hidden(check: VersionCheck) -> tuple[bool, bool]:
    """Return a sort key: first checks that run at import, then checks without a condition."""
    return not check.at_import, bool(check.under)


def _where(check: VersionCheck) -> str:
    """Return the path and line of a check."""
    return f"{check.path}:{check.line}" if check.line else check.path


def _cited_place(check: VersionCheck) -> str:
    """Return the place of a check in the form that the source of a fact has."""
    return f"{check.path} #L{check.line}" if check.line else check.path


def _reached(check: VersionCheck | MissingImport) -> str:
    """Return the functions and conditions around a check or an import.

    `import` if there are none.
    """
    conditions = " and ".join(check.under)
    if len(conditions) > _SHOWN:
        conditions = f"{conditions[:_SHOWN]}…"
    words = [check.scope] if check.scope else []
    if conditions:
        words.append(f"if {conditions}")
    return ", ".join(words) or "import"
