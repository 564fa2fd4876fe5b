"""Who requires what in a lock: as a tree on a terminal, as a Mermaid flowchart, and for `--json`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import networkx as nx

from resolver.errors import escaped
from resolver.i18n import translate
from resolver.model import text
from resolver.model.lock import Lock
from resolver.model.text import Language

_STACK: Final = ""  # the node of the stack; the others have the names of their pins
_AGAIN = " (*)"
_MERMAID = str.maketrans({"<": "#lt;", ">": "#gt;", '"': "#quot;"})


class Tree:
    """What each of the `names` requires in a lock, to a `depth`; or, `inverted`, who requires it, up to the stack.

    Without names that is the stack, and pins that nothing requires; inverted, pins that require
    nothing.
    """

    def __init__(
        self, lock: Lock, names: Sequence[str], depth: int | None, *, inverted: bool
    ) -> None:
        self._lock = lock
        self._inverted = inverted
        self._depth = depth
        self._pins = {pin.name: pin for pin in lock.pin}
        graph = _requirement_graph(lock)
        self._graph = graph.reverse() if inverted else graph
        self._roots = names or sorted(node for node, count in self._graph.in_degree() if not count)

    def text(self, language: Language) -> str:
        """A row for each requirement.

        What is below a row is shown once; where that comes again, it ends in `(*)`.
        """
        above: dict[
            str, int
        ] = {}  # and at which level, since a depth cuts off more below a deeper one
        lines: list[str] = []
        for root in self._roots:
            lines += [self._label(root), *self._below(root, "", 0, above, language)]
        if any(line.endswith(_AGAIN) for line in lines):
            lines.append(translate("tree.again", language))
        return "\n".join(map(escaped, lines)) + "\n"

    def mermaid(self) -> str:
        """A flowchart, which code forges draw; arrows lead from what requires to what is required."""
        numbers = {node: f"n{number}" for number, node in enumerate(self._within())}
        lines = [
            "flowchart LR",
            *(f'    {number}["{self._label(node)}"]' for node, number in numbers.items()),
        ]
        for requiring, required, requirements in self._edges():
            label = ", ".join(requirements).translate(_MERMAID)
            arrow = f'-->|"{label}"|' if label else "-->"
            lines.append(f"    {numbers[requiring]} {arrow} {numbers[required]}")
        return "\n".join(map(escaped, lines)) + "\n"

    def json(self) -> dict[str, Any]:
        """`packages` by name, each with the `lines` by which others of them require it; the stack is `""`."""
        requires: dict[str, dict[str, list[str]]] = {node: {} for node in self._within()}
        for requiring, required, lines in self._edges():
            requires[requiring][required] = lines
        return {
            "stack": self._lock.stack,
            "target": self._lock.target.name,
            "roots": list(self._roots),
            "packages": [
                {
                    "name": node,
                    "version": self._pins[node].version if node else "",
                    "requires": required,
                }
                for node, required in requires.items()
            ],
        }

    def _below(
        self, node: str, indent: str, level: int, above: dict[str, int], language: Language
    ) -> Iterator[str]:
        if level == self._depth:
            return
        above[node] = level
        children = sorted(self._graph[node])
        for child in children:
            branch, further = ("└── ", "    ") if child == children[-1] else ("├── ", "│   ")
            again = (
                bool(self._graph[child])
                and child in above
                and (not self._depth or above[child] <= level + 1)
            )
            yield f"{indent}{branch}{self._label(child)}{self._lines(node, child, language)}{_AGAIN if again else ''}"
            if not again:
                yield from self._below(child, indent + further, level + 1, above, language)

    def _label(self, node: str) -> str:
        if node == _STACK:
            return f"{self._lock.stack}/{self._lock.target.name}"
        pin = self._pins[node]
        extras = f"[{','.join(pin.extras)}]" if pin.extras else ""
        return f"{pin.name}{extras} {pin.version}"

    def _lines(self, node: str, child: str, language: Language) -> str:
        lines = ", ".join(self._graph.edges[node, child]["lines"])
        if self._inverted:
            return " " + translate("tree.requires", language, lines=f"{node} {lines}".rstrip())
        return " " + translate("tree.required", language, lines=lines) if lines else ""

    def _within(self) -> dict[str, int]:
        """The nodes of the tree, each with how far it is from a root, sorted by name."""
        levels = nx.multi_source_dijkstra_path_length(self._graph, set(self._roots), self._depth)
        return dict(sorted(levels.items()))

    def _edges(self) -> Iterator[tuple[str, str, list[str]]]:
        levels = self._within()
        for parent, child, lines in sorted(self._graph.subgraph(levels).edges(data="lines")):
            if levels[parent] != self._depth:
                yield (child, parent, lines) if self._inverted else (parent, child, lines)


def _requirement_graph(lock: Lock) -> nx.DiGraph:
    """From the stack, and from each pin, to each pin that it requires where it is installed.

    An edge has its `lines`: the requirements on that pin, such as `[http]>=2` or `==2 (fact
    verl-npu)`.
    """
    graph = nx.DiGraph()
    graph.add_nodes_from([_STACK, *(pin.name for pin in lock.pin)])

    def add(requiring: str, line: str, fact: str = "") -> None:
        need = text.requirement(line)
        if need.name in graph and need.name != requiring:
            extras = f"[{','.join(sorted(need.extras))}]" if need.extras else ""
            label = f"{extras}{need.specifier}{f' (fact {fact})' if fact else ''}".strip()
            graph.add_edge(requiring, need.name)
            lines = graph.edges[requiring, need.name].setdefault("lines", [])
            lines += [label] if label and label not in lines else []

    for line in lock.requires:
        add(_STACK, line)
    for pin in lock.pin:
        for line in (*pin.requires, *(pin.build_requires if pin.mode == "built-here" else ())):
            add(pin.name, line)
        for fact, lines in pin.fact_requires.items():
            for line in lines:
                add(pin.name, line, fact)
    return graph
