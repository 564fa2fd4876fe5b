"""Compare reports of verify.py from many nodes, as a document for people and as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from resolver import files
from resolver.ascend.names import TITLES
from resolver.i18n import LANGUAGES, templates, translate
from resolver.model.fleet import Fleet, Node, NodeFinding, NodeGroup, folded
from resolver.model.message import Message, joined, message
from resolver.model.text import Language
from resolver.phrase import Phrase, cause, phrase
from resolver.report.document import (
    Block,
    Heading,
    Item,
    Items,
    Paragraph,
    Table,
    Text,
    line,
    one_line,
)

FORMAT: Final = 1
# The version of verify.py's JSON that is read.
_SCHEMA: Final = 1
# The ending of a report's file name. It is not part of the node's name, which may have dots:
# `node7.cluster.local`.
_ENDING: Final = re.compile(r"\.(json|txt|log|out)$", re.IGNORECASE)
# The text of a cell without a value.
_NOTHING: Final = "-"
# How many runs of nodes, such as node1-node8, are named of the nodes that agree with most others.
_RUNS_ALIKE: Final = 6
# How many runs a terminal names of nodes that differ. Documents, and the JSON, name all of them.
RUNS_OF_TERMINAL: Final = 40
# A report is old if it was made so long before the newest one.
_AGE: Final = timedelta(hours=1)
# The form of the time in a report, which is in UTC.
_TIME: Final = "%Y-%m-%dT%H:%M:%SZ"
# The mark after a value that most nodes do not have.
_MARK: Final = "*"


# Limits of a report. A larger file is no report of verify.py, and is rejected.
_LARGEST: Final = 4 * files.MIB
_Name = Annotated[str, Meta(max_length=200)]
_MOST_PROPERTIES: Final = 64
_MOST_FINDINGS: Final = 1000


class _Finding(msgspec.Struct, frozen=True):
    """A finding in the JSON of verify.py."""

    # The code of the finding.
    code: _Name
    # Whether the finding counts as wrong or is a warning.
    state: Literal["wrong", "warning"]
    # What was found, in a sentence.
    what: str
    # What mends it; empty if nothing is suggested.
    mend: str = ""


class _Group(msgspec.Struct, frozen=True):
    """The result of a check in the JSON of verify.py."""

    # The findings of the check.
    findings: Annotated[tuple[_Finding, ...], Meta(max_length=_MOST_FINDINGS)] = ()


class _Report(msgspec.Struct, frozen=True):
    """The part of verify.py's JSON that is read. An older verify.py writes no `machine`."""

    # The version of the JSON.
    schema: int
    # The stack of the lock.
    stack: _Name
    # The target of the lock.
    target: _Name
    # The results of the checks.
    groups: Annotated[tuple[_Group, ...], Meta(max_length=_MOST_PROPERTIES)]
    # The sha256 of lock.toml; empty from an older verify.py.
    lock: _Name = ""
    # Which checks were made; empty from an older verify.py.
    checks: _Name = ""
    # When verify.py ran, in UTC; empty from an older verify.py.
    time: _Name = ""
    # The values that the machine has, by name.
    machine: Annotated[dict[_Name, _Name], Meta(max_length=_MOST_PROPERTIES)] = {}


def read_fleet(paths: Sequence[Path], expected: Iterable[str] = ()) -> Fleet:
    """Return the nodes that have these reports, and the expected nodes without a report, by name.

    A node is named after the file of its report, without an ending such as `.json`; or by the whole
    path if several files have the same name. A report that cannot be read is a finding about its
    node, so that the other reports are still shown. So is one that is much older than the newest.
    """
    stems = [_ENDING.sub("", path.name) for path in paths]
    nodes = []
    for path, stem in zip(paths, stems, strict=True):
        name = stem if stems.count(stem) == 1 else str(path)
        nodes.append(_read_node(path, name))
    missing = NodeFinding(
        "report-missing", "wrong", message("fleet.missing"), message("fleet.missing-mend")
    )
    absent = set(expected) - set(stems)
    nodes += [Node(name=name, findings=(missing,)) for name in absent]
    nodes.sort(key=lambda node: node.name)
    return _with_ages(Fleet(tuple(nodes)))


def _with_ages(fleet: Fleet) -> Fleet:
    """Return the nodes with a finding about each report that is much older than the newest."""
    if fleet.times is None:
        return fleet
    _, newest = fleet.times
    old = NodeFinding("report-old", "warning", message("fleet.old"), message("fleet.old-mend"))
    nodes = []
    for node in fleet.nodes:
        is_old = node.time is not None and newest - node.time > _AGE
        nodes.append(replace(node, findings=(*node.findings, old)) if is_old else node)
    return Fleet(tuple(nodes))


def _read_time(text: str) -> datetime | None:
    """Return the time in a report; None if it has none, or in another form."""
    try:
        return datetime.strptime(text, _TIME).replace(tzinfo=timezone.utc)
    except ValueError:
        return None


def _read_node(path: Path, name: str) -> Node:
    """Return the node that a report is about. A report that cannot be read is a finding."""
    try:
        content = files.read(path, _LARGEST)
        if not content.strip():
            raise ValueError(phrase("it is empty"))
        report = msgspec.json.decode(content, type=_Report)
        if report.schema != _SCHEMA:
            raise ValueError(
                phrase(
                    "it has schema {schema}, but this program reads {known}",
                    schema=report.schema,
                    known=_SCHEMA,
                )
            )
        if not report.stack and not any(group.findings for group in report.groups):
            raise ValueError(phrase("it names no stack"))
    except (OSError, ValueError, RecursionError) as error:
        what = message("fleet.unreadable", why=_why_unreadable(error))
        mend = message("fleet.unreadable-mend")
        return Node(name=name, findings=(NodeFinding("report-unreadable", "wrong", what, mend),))
    findings = []
    for group in report.groups:
        for found in group.findings:
            finding = NodeFinding(found.code, found.state, found.what, found.mend)
            findings.append(finding)
    return Node(
        name=name,
        stack=report.stack,
        target=report.target,
        lock=report.lock,
        checks=report.checks,
        time=_read_time(report.time),
        machine=report.machine,
        findings=tuple(findings),
    )


def _why_unreadable(error: Exception) -> Phrase:
    """Return why the report of a node cannot be read."""
    match error:
        case msgspec.ValidationError():
            return phrase("it is no report of verify.py")
        case msgspec.DecodeError() | UnicodeDecodeError() | RecursionError():
            return phrase("it is no JSON")
        case _:
            return cause(error)


def fleet_status(fleet: Fleet) -> str:
    """Return the status of all nodes: `differs`, `mixed` or `as-locked`.

    It is `differs` if a node differs from its lock, and `mixed` if nodes only differ from each
    other.
    """
    if fleet.is_wrong:
        return "differs"
    return "mixed" if fleet.is_mixed else "as-locked"


def fleet_document(fleet: Fleet, runs: int | None = None) -> Iterator[Block]:
    """Yield the blocks of the comparison: the result, the groups of nodes, and every finding.

    Of nodes that differ, at most so many `runs` are named; all if that is None. Nodes that agree
    with most others are named by their first runs, unless there is no other group.
    """
    groups = fleet.groups()
    wrong = sum(node.is_wrong for node in fleet.nodes)
    title = fleet_status(fleet)
    if title == "as-locked" and fleet.is_of_machines:
        title = "machines"
    total = len(fleet.nodes)
    yield Heading(message(f"fleet.title-{title}", count=total, wrong=wrong), level=1)
    shared, varying = _split(fleet)
    if shared:
        pairs = [_named(name, value) for name, value in shared.items()]
        yield Paragraph((line(message("fleet.shared", properties=tuple(pairs))),))
    if fleet.times is not None:
        oldest, newest = map(_shown_time, fleet.times)
        code = "fleet.time" if oldest == newest else "fleet.times"
        yield Paragraph((line(message(code, oldest=oldest, newest=newest)),))
    yield _table(groups, varying, runs)
    if any(group.deviations for group in groups):
        yield Paragraph((line(message("fleet.legend", mark=_MARK)),))
    for state in ("wrong", "warning"):
        items = _findings(fleet, state, runs)
        if items:
            yield Heading(message(f"fleet.heading-{state}"))
            yield Items(tuple(items))


def _split(fleet: Fleet) -> tuple[dict[str, str], list[str]]:
    """Return the properties that all nodes with a report share, and the names of the others."""
    reported = [node.properties for node in fleet.nodes if node.properties]
    shared: dict[str, str] = {}
    varying: list[str] = []
    for name in fleet.properties:
        values = {properties.get(name, "") for properties in reported}
        if len(values) == 1:
            shared[name] = values.pop()
        else:
            varying.append(name)
    return shared, varying


def _shown_time(time: datetime) -> str:
    """Return a time for people, to the minute, in UTC."""
    return f"{time:%Y-%m-%d %H:%M}"


def _named(name: str, value: str) -> Message:
    """Return a property with its value, for people."""
    return message("fleet.property", name=_title(name), value=value or _NOTHING)


def _title(name: str) -> Text:
    """Return the name of a property for people."""
    code = f"property-{name}"
    if code in templates("fleet.", LANGUAGES[0]):
        return message(f"fleet.{code}")
    return TITLES.get(name, name)


def _table(groups: Sequence[NodeGroup], varying: Sequence[str], runs: int | None) -> Table:
    """Return a table with a row for each group of nodes with equal properties and findings."""
    head: list[Text] = [message("fleet.nodes"), message("fleet.count")]
    head += map(_title, varying)
    head.append(message("fleet.findings"))
    rows: list[tuple[Text, ...]] = []
    for number, group in enumerate(groups):
        agrees = number == 0 and not group.deviations and not group.node.findings
        names = _nodes(group.names, _RUNS_ALIKE if agrees else runs)
        cells: list[Text] = [names, str(len(group.names))]
        cells += [_cell(group, name) for name in varying]
        codes = dict.fromkeys(finding.code for finding in group.node.findings)
        cells.append(", ".join(codes) or _NOTHING)
        rows.append(tuple(cells))
    return Table(tuple(head), tuple(rows))


def _nodes(names: Sequence[str], most: int | None) -> Text:
    """Return the first runs of some nodes, at most so many, and the number of the other nodes."""
    runs = folded(names)
    limit = len(runs) if most is None else most
    shown = joined("comma", [run.text for run in runs[:limit]])
    more = sum(run.count for run in runs[limit:])
    return message("and-more", items=shown, count=more) if more else shown


def _cell(group: NodeGroup, name: str) -> str:
    """Return the value that a group has of a property, with a mark if most nodes have another."""
    value = group.node.properties.get(name, "") or _NOTHING
    return value + _MARK if name in group.deviations else value


def _findings(fleet: Fleet, state: str, runs: int | None) -> list[Item]:
    """Return each finding once, with its nodes and what mends it, the most frequent first."""
    nodes: dict[NodeFinding, list[str]] = {}
    for node in fleet.nodes:
        for finding in dict.fromkeys(node.findings):
            if finding.state == state:
                nodes.setdefault(finding, []).append(node.name)
    items = []
    for finding, names in sorted(nodes.items(), key=lambda pair: -len(pair[1])):
        is_of_all = len(names) == len(fleet.nodes)
        where = message(
            "fleet.on-nodes",
            count=len(names),
            total=len(fleet.nodes),
            nodes=_nodes(names, _RUNS_ALIKE if is_of_all else runs),
        )
        details = [line(where)]
        if finding.mend:
            mend = finding.mend
            text = mend if isinstance(mend, Message) else one_line(mend)
            details.append(line(message("fleet.mend", text=text)))
        what = message("fleet.finding", what=finding.what, code=finding.code)
        items.append(Item(lines=(line(what),), details=tuple(details)))
    return items


def fleet_json(fleet: Fleet, language: Language) -> dict[str, Any]:
    """Return the object that `--json` prints. docs/cluster.md describes it."""
    times = fleet.times or ()
    oldest, newest = [f"{time:{_TIME}}" for time in times] or ("", "")
    return {
        "format": FORMAT,
        "status": fleet_status(fleet),
        "nodes": len(fleet.nodes),
        "oldest": oldest,
        "newest": newest,
        "groups": [_group_json(group, language) for group in fleet.groups()],
    }


def _group_json(group: NodeGroup, language: Language) -> dict[str, Any]:
    """Return a group of nodes for the JSON."""
    return {
        "nodes": list(group.names),
        "stack": group.node.stack,
        "target": group.node.target,
        "lock": group.node.lock,
        "checks": group.node.checks,
        "machine": dict(group.node.machine),
        "deviates": sorted(group.deviations),
        "findings": list(_finding_rows(group.node.findings, language)),
    }


def _finding_rows(
    findings: Iterable[NodeFinding], language: Language
) -> Iterator[Mapping[str, str]]:
    """Yield findings for the JSON."""
    for finding in findings:
        yield {
            "code": finding.code,
            "state": finding.state,
            "what": _in_language(finding.what, language),
            "mend": _in_language(finding.mend, language),
        }


def _in_language(text: str | Message, language: Language) -> str:
    """Return a text of a report as it is, and a message of ours in a language."""
    return translate(text, language) if isinstance(text, Message) else text
