"""Show who requires what in a lock: as a tree for a terminal, as a Mermaid flowchart, as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

import networkx as nx

from resolver.errors import escaped
from resolver.i18n import translate
from resolver.model import text
from resolver.model.lock import Lock, is_place
from resolver.model.text import Language

# The node of the stack; the other nodes are the names of pins.
_STACK: Final = ""
# The mark of a project whose requirements were shown further up.
_AGAIN: Final = " (*)"
# What a line that is from a fact ends with.
_OF_FACT: Final = re.compile(r" ?\(fact (?P<id>[^()]+)\)$")
_MERMAID: Final = str.maketrans({"<": "#lt;", ">": "#gt;", '"': "#quot;"})


class Tree:
    """What the projects of a lock require, or what requires them."""

    def __init__(
        self, lock: Lock, names: Sequence[str], depth: int | None, *, inverted: bool
    ) -> None:
        """Make the tree below some projects, down to a depth. None means no limit.

        The tree leads from a project to what it requires; with `inverted`, to what requires it, up
        to the stack. Without `names` it begins at the stack and at pins that nothing requires; with
        `inverted`, at pins that require nothing.
        """
        self._lock = lock
        self._inverted = inverted
        self._depth = depth
        self._pins = {pin.name: pin for pin in lock.pin}
        graph = _requirement_graph(lock)
        self._graph = graph.reverse() if inverted else graph
        self._roots = list(names)
        if not names:
            self._roots = sorted(node for node, count in self._graph.in_degree() if count == 0)

    def text(self, language: Language) -> str:
        """Return the tree as text for a terminal, with a line for each requirement.

        What a project requires is shown once. Where the project comes again, its line ends in
        `(*)`.
        """
        # The level at which the requirements of each project were shown. With a limit of depth, a
        # higher level shows more of them.
        levels: dict[str, int] = {}
        lines: list[str] = []
        for root in self._roots:
            lines.append(self._label(root))
            lines += self._below(root, "", 0, levels, language)
        if any(line.endswith(_AGAIN) for line in lines):
            lines.append(translate("tree.again", language))
        return "\n".join(map(escaped, lines)) + "\n"

    def mermaid(self) -> str:
        """Return the tree as a Mermaid flowchart, which code forges draw.

        Arrows lead from a project to what it requires.
        """
        numbers = {node: f"n{number}" for number, node in enumerate(self._levels())}
        lines = ["flowchart LR"]
        for node, number in numbers.items():
            lines.append(f'    {number}["{self._label(node)}"]')
        for requiring, required, requirements in self._edges():
            label = ", ".join(requirements).translate(_MERMAID)
            arrow = f'-->|"{label}"|' if label else "-->"
            lines.append(f"    {numbers[requiring]} {arrow} {numbers[required]}")
        return "\n".join(map(escaped, lines)) + "\n"

    def json(self) -> dict[str, Any]:
        """Return the tree as an object for `--json`.

        `packages` are sorted by name. Each has the requirements by which it requires others of
        them. The name of the stack is "".
        """
        packages: dict[str, dict[str, Any]] = {}
        for node in self._levels():
            version = self._pins[node].version if node != _STACK else ""
            packages[node] = {"name": node, "version": version, "requires": {}}
        for requiring, required, lines in self._edges():
            packages[requiring]["requires"][required] = lines
        return {
            "stack": self._lock.stack,
            "target": self._lock.target.name,
            "roots": self._roots,
            "packages": list(packages.values()),
        }

    def _below(
        self, node: str, indent: str, level: int, levels: dict[str, int], language: Language
    ) -> Iterator[str]:
        """Yield the lines below a node, which is at this level.

        `levels` gets the nodes whose requirements are shown.
        """
        if level == self._depth:
            return
        levels[node] = level
        children = sorted(self._graph[node])
        for child in children:
            is_last = child == children[-1]
            is_shown = child in levels and (not self._depth or levels[child] <= level + 1)
            is_again = is_shown and len(self._graph[child]) > 0
            row = self._label(child) + self._lines(node, child, language)
            branch = "└── " if is_last else "├── "
            yield f"{indent}{branch}{row}{_AGAIN if is_again else ''}"
            if not is_again:
                below = indent + ("    " if is_last else "│   ")
                yield from self._below(child, below, level + 1, levels, language)

    def _label(self, node: str) -> str:
        """Return the text for a node: the project with its version, or the stack."""
        if node == _STACK:
            return f"{self._lock.stack}/{self._lock.target.name}"
        pin = self._pins[node]
        extras = f"[{','.join(pin.extras)}]" if pin.extras else ""
        return f"{pin.name}{extras} {pin.version}"

    def _lines(self, node: str, child: str, language: Language) -> str:
        """Return the text of the requirement that leads to a child, with a space before it."""
        edge = self._graph.edges[node, child]["lines"]
        lines = ", ".join(_OF_FACT.sub(partial(_origin, language), line).lstrip() for line in edge)
        if self._inverted:
            return " " + translate("tree.requires", language, lines=f"{node} {lines}".rstrip())
        return " " + translate("tree.required", language, lines=lines) if lines else ""

    def _levels(self) -> dict[str, int]:
        """Return the nodes of the tree, sorted by name, each with its distance from a root."""
        levels = nx.multi_source_dijkstra_path_length(self._graph, set(self._roots), self._depth)
        return dict(sorted(levels.items()))

    def _edges(self) -> Iterator[tuple[str, str, list[str]]]:
        """Yield all requirements of the tree: what requires, what is required, and the lines."""
        levels = self._levels()
        for parent, child, lines in sorted(self._graph.subgraph(levels).edges(data="lines")):
            if levels[parent] == self._depth:
                continue
            if self._inverted:
                yield child, parent, lines
            else:
                yield parent, child, lines


def _origin(language: Language, end: re.Match[str]) -> str:
    """Return what a line that is from a fact ends with, in a language."""
    return translate("tree.fact", language, id=end["id"])


def _requirement_graph(lock: Lock) -> nx.DiGraph:
    """Return a graph from the stack and the pins to the pins that they require.

    An edge has the requirements as its `lines`, such as `[http]>=2` or `==2 (fact verl-npu)`.
    """
    graph = nx.DiGraph()
    graph.add_node(_STACK)
    graph.add_nodes_from(pin.name for pin in lock.pin)
    for line in lock.requires:
        _add_requirement(graph, _STACK, line)
    for pin in lock.pin:
        for line in pin.requires:
            _add_requirement(graph, pin.name, line)
        if pin.mode == "built-here":
            for line in pin.build_requires:
                _add_requirement(graph, pin.name, line)
        for fact, lines in pin.fact_requires.items():
            for line in lines:
                # A line of the stack's `overrides` has a place in place of the id of a fact.
                origin = f" ({fact})" if is_place(fact) else f" (fact {fact})"
                _add_requirement(graph, pin.name, line, origin)
    return graph


def _add_requirement(graph: nx.DiGraph, requiring: str, line: str, origin: str = "") -> None:
    """Add a requirement to the graph, if its project is a pin of the lock.

    `origin` is what its text ends with.
    """
    need = text.requirement(line)
    if need.name not in graph or need.name == requiring:
        return
    if not graph.has_edge(requiring, need.name):
        graph.add_edge(requiring, need.name, lines=[])
    lines = graph.edges[requiring, need.name]["lines"]
    extras = f"[{','.join(sorted(need.extras))}]" if need.extras else ""
    label = f"{extras}{need.specifier}{origin}".strip()
    if label and label not in lines:
        lines.append(label)
