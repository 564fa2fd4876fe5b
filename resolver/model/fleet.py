"""The nodes of a cluster, compared with each other by the reports of verify.py.

The command `ascend-lock fleet` reads the reports and shows the result.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, Literal

import msgspec

from resolver.model.message import Message

# A name with a number before its domain: `node07.cluster.local`.
_NUMBERED: Final = re.compile(
    r"(?P<stem>.*?)(?P<number>[0-9]{1,9})(?P<domain>(?:\.[^.]*[^.0-9][^.]*)*)"
)


class NodeFinding(msgspec.Struct, frozen=True):
    """A difference that verify.py found between a node and its lock."""

    # The code of the check. Its texts in `locale/` have this code with `-what`, `-why` and `-mend`.
    code: str
    # Whether the difference is an error or only a warning.
    state: Literal["wrong", "warning"]
    # The difference in a sentence, in the language in which verify.py ran.
    what: str | Message
    # How to correct it: a command or a sentence; may be empty. That of verify.py is a text.
    mend: str | Message = ""


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node of a cluster, as its report describes it."""

    # The name of the node.
    name: str
    # The stack of the lock that the node was compared with; empty if there is no report.
    stack: str = ""
    # The target of that lock; empty if there is no report.
    target: str = ""
    # The sha256 of that lock.toml; empty if there is no report.
    lock: str = ""
    # Which checks verify.py made, such as `all`, `quick`, or only those of the `machine`.
    checks: str = ""
    # The values of the machine by the names that verify.py uses: `glibc`, `python`, components.
    machine: Mapping[str, str] = {}
    # When verify.py ran, by the clock of the node, in UTC; None if the report does not say.
    time: datetime | None = None
    # The differences from the lock.
    findings: tuple[NodeFinding, ...] = ()

    @property
    def is_wrong(self) -> bool:
        """Return whether a finding is an error. A node without a report has such a finding."""
        return any(finding.state == "wrong" for finding in self.findings)

    @property
    def properties(self) -> dict[str, str]:
        """Return the values by which nodes are compared: lock, checks and machine.

        Empty if there is no report.
        """
        if not self.stack:
            return {}
        name = f"{self.stack}/{self.target} {self.lock[:12]}"
        return {"lock": name, "checks": self.checks, **self.machine}


class NodeGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes with the same properties and the same findings."""

    # The names of the nodes, in the order of the fleet.
    names: tuple[str, ...]
    # The first of the nodes. All others have the same properties and findings.
    node: Node
    # The names of the properties whose value differs from the value that most nodes have.
    deviations: frozenset[str]


class Fleet(msgspec.Struct, frozen=True):
    """The nodes of a cluster."""

    nodes: tuple[Node, ...]

    @property
    def properties(self) -> tuple[str, ...]:
        """Return the names of all properties, in the order in which they first appear."""
        names: dict[str, None] = {}
        for node in self.nodes:
            names |= dict.fromkeys(node.properties)
        return tuple(names)

    @property
    def is_wrong(self) -> bool:
        """Return whether a node has an error, or no report."""
        return any(node.is_wrong for node in self.nodes)

    @property
    def is_mixed(self) -> bool:
        """Return whether nodes differ from each other in a property or a finding."""
        return len(self.groups()) > 1

    @property
    def times(self) -> tuple[datetime, datetime] | None:
        """Return when the oldest and the newest report were made; None if no report says."""
        times = [node.time for node in self.nodes if node.time is not None]
        return (min(times), max(times)) if times else None

    @property
    def is_of_machines(self) -> bool:
        """Return whether verify.py checked only the machines of all nodes, and no environments."""
        return all(node.checks == "machine" for node in self.nodes)

    def groups(self) -> list[NodeGroup]:
        """Return the nodes in groups with equal properties and findings, the largest group first.

        Groups of the same size are in the order of their first nodes.
        """
        alike: dict[object, list[Node]] = {}
        for node in self.nodes:
            key = (frozenset(node.properties.items()), node.findings)
            alike.setdefault(key, []).append(node)
        usual = self._usual_values()
        groups = [_group(nodes, usual) for nodes in alike.values()]
        return sorted(groups, key=lambda group: -len(group.names))

    def _usual_values(self) -> dict[str, str]:
        """Return the most frequent value of each property among the nodes with a report.

        A property is left out if its two most frequent values are equally frequent.
        """
        usual: dict[str, str] = {}
        reported = [node.properties for node in self.nodes if node.properties]
        for name in self.properties:
            counts = Counter(properties.get(name, "") for properties in reported)
            (value, most), *others = counts.most_common(2)
            if not others or others[0][1] < most:
                usual[name] = value
        return usual


def _group(nodes: Sequence[Node], usual: Mapping[str, str]) -> NodeGroup:
    """Return the group of some nodes that have the same properties and findings.

    `usual` has the most frequent value of each property.
    """
    properties = nodes[0].properties
    deviations = {
        name for name, value in usual.items() if properties and properties.get(name, "") != value
    }
    names = tuple(node.name for node in nodes)
    return NodeGroup(names=names, node=nodes[0], deviations=frozenset(deviations))


class NodeRun(msgspec.Struct, frozen=True):
    """Nodes whose names differ only in a number, with consecutive numbers."""

    # The names in the notation of Slurm, `n[01-03]`, or the name of a single node.
    text: str
    # The number of nodes.
    count: int


def folded(names: Iterable[str]) -> list[NodeRun]:
    """Return the names of nodes as runs with consecutive numbers, sorted.

    Numbers of different widths, such as 7 and 07, are in different runs. A name without a number is
    a run of one node.
    """
    numbers: dict[tuple[str, int, str], set[int]] = {}
    runs: list[NodeRun] = []
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is not None:
            parts = (match["stem"], len(match["number"]), match["domain"])
            numbers.setdefault(parts, set()).add(int(match["number"]))
        else:
            runs.append(NodeRun(name, 1))
    for (stem, width, domain), known_numbers in numbers.items():
        for first, last in _runs(sorted(known_numbers)):
            text = f"{stem}{first:0{width}}{domain}"
            if first != last:
                text = f"{stem}[{first:0{width}}-{last:0{width}}]{domain}"
            runs.append(NodeRun(text, last - first + 1))
    return sorted(runs, key=lambda run: run.text.replace("[", ""))


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and the last number of each run of consecutive numbers.

    `numbers` must be sorted.
    """
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
