"""The nodes of a cluster, each as verify.py reported it, compared with each other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

import msgspec

from resolver.model.message import Message

# A name with a number before its domain: `node07.cluster.local`.
_NUMBERED: Final = re.compile(
    r"(?P<stem>.*?)(?P<number>[0-9]{1,9})(?P<domain>(?:\.[^.]*[^.0-9][^.]*)*)"
)


class NodeFinding(msgspec.Struct, frozen=True):
    """What verify.py found on a node."""

    # The code: what stands before `-what` in `locale/`.
    code: str
    state: Literal["wrong", "warning"]
    # What is so, in a sentence. verify.py chose its language.
    what: str | Message
    # What mends it: a command, or a sentence.
    mend: str = ""


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node of a cluster."""

    name: str
    # The lock that it was compared with: stack, target, and the sha256 of lock.toml. All are empty
    # if there is no report.
    stack: str = ""
    target: str = ""
    lock: str = ""
    # Which checks verify.py made: `all`, `quick` or those of the `machine` alone.
    checks: str = ""
    # What the machine has, by the names that verify.py uses: `glibc`, `python`, components.
    machine: Mapping[str, str] = {}
    findings: tuple[NodeFinding, ...] = ()

    @property
    def is_wrong(self) -> bool:
        """Return whether it differs from its lock, or has no report."""
        return any(finding.state == "wrong" for finding in self.findings)

    @property
    def properties(self) -> dict[str, str]:
        """Return what nodes are compared by, with the lock; empty without a report."""
        if not self.stack:
            return {}
        name = f"{self.stack}/{self.target} {self.lock[:12]}"
        return {"lock": name, "checks": self.checks, **self.machine}


class NodeGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes with the same properties and the same findings."""

    # Their names, in the order of the fleet.
    names: tuple[str, ...]
    # One of them; in all but the name it is each of them.
    node: Node
    # The names of the properties of which they do not have the most frequent value.
    deviations: frozenset[str]


class Fleet(msgspec.Struct, frozen=True):
    """The nodes of a cluster."""

    nodes: tuple[Node, ...]

    @property
    def properties(self) -> tuple[str, ...]:
        """Return the names of all properties, in the order in which verify.py has them."""
        names: dict[str, None] = {}
        for node in self.nodes:
            names |= dict.fromkeys(node.properties)
        return tuple(names)

    @property
    def is_wrong(self) -> bool:
        """Return whether a node differs from its lock, or has no report."""
        return any(node.is_wrong for node in self.nodes)

    @property
    def is_mixed(self) -> bool:
        """Return whether nodes differ from each other in a property or a finding."""
        return len(self.groups()) > 1

    @property
    def is_of_machines(self) -> bool:
        """Return whether only machines were checked, before anything was installed."""
        return all(node.checks == "machine" for node in self.nodes)

    def groups(self) -> list[NodeGroup]:
        """Return the nodes in groups of alike ones, the largest first, then by the first name."""
        alike: dict[object, list[Node]] = {}
        for node in self.nodes:
            key = (frozenset(node.properties.items()), node.findings)
            alike.setdefault(key, []).append(node)
        usual = self._usual_values()
        groups = [_group(nodes, usual) for nodes in alike.values()]
        return sorted(groups, key=lambda group: -len(group.names))

    def _usual_values(self) -> dict[str, str]:
        """Return the value that most nodes have of each property; none if two are as frequent."""
        usual: dict[str, str] = {}
        reported = [node.properties for node in self.nodes if node.properties]
        for name in self.properties:
            counts = Counter(properties.get(name, "") for properties in reported)
            (value, most), *others = counts.most_common(2)
            if not others or others[0][1] < most:
                usual[name] = value
        return usual


def _group(nodes: Sequence[Node], usual: Mapping[str, str]) -> NodeGroup:
    """Return nodes that are alike as a group."""
    properties = nodes[0].properties
    deviations = {
        name for name, value in usual.items() if properties and properties.get(name, "") != value
    }
    names = tuple(node.name for node in nodes)
    return NodeGroup(names=names, node=nodes[0], deviations=frozenset(deviations))


class NodeRun(msgspec.Struct, frozen=True):
    """Nodes whose names differ in a number, and have successive ones."""

    # As Slurm writes it: `n[01-03]`, or the name of the only one.
    text: str
    # How many nodes it is.
    count: int


def folded(names: Iterable[str]) -> list[NodeRun]:
    """Return names of nodes as runs, sorted. Numbers of another width are apart."""
    numbers: dict[tuple[str, int, str], set[int]] = {}
    runs: list[NodeRun] = []
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is not None:
            parts = (match["stem"], len(match["number"]), match["domain"])
            numbers.setdefault(parts, set()).add(int(match["number"]))
        else:
            runs.append(NodeRun(name, 1))
    for (stem, width, domain), found in numbers.items():
        for first, last in _runs(sorted(found)):
            text = f"{stem}{first:0{width}}{domain}"
            if first != last:
                text = f"{stem}[{first:0{width}}-{last:0{width}}]{domain}"
            runs.append(NodeRun(text, last - first + 1))
    return sorted(runs, key=lambda run: run.text.replace("[", ""))


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and the last number of each run of successive ones."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
