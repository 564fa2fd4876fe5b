"""Directed graphs, as the successors of each node.

networkx has all of this, and takes as long to import as a small stack to solve.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

Node = TypeVar("Node")
Graph = Mapping[Node, Iterable[Node]]


def reachable(graph: Graph[Node], start: Node) -> set[Node]:
    """Return the nodes that paths from `start` lead to; it is among them if it is on a cycle."""
    found: set[Node] = set()
    waiting = [start]
    while waiting:
        for node in graph.get(waiting.pop(), ()):
            if node not in found:
                found.add(node)
                waiting.append(node)
    return found


def find_cycle(graph: Graph[Node]) -> list[Node]:
    """Return the nodes of a cycle in their order; none if there is no cycle."""
    try:
        TopologicalSorter(reversed_graph(graph)).prepare()
    except CycleError as error:
        # The first node is also the last one.
        cycle: list[Node] = error.args[1][1:]
        return cycle
    return []


def generations(graph: Graph[Node]) -> Iterator[tuple[Node, ...]]:
    """Yield the nodes of a graph without cycles, each as soon as all that lead to it were."""
    sorter = TopologicalSorter(reversed_graph(graph))
    sorter.prepare()
    while sorter:
        nodes = sorter.get_ready()
        yield nodes
        sorter.done(*nodes)


def on_cycles(graph: Graph[Node]) -> set[Node]:
    """Return the nodes that are on a cycle of at least two."""
    left = {node: {other for other in graph[node] if other != node} for node in graph}
    # Nodes that lead nowhere are on no cycle, and mostly no others are left then.
    size = -1
    while len(left) != size:
        size = len(left)
        for _ in range(2):
            left = _without_ends(left)
            left = reversed_graph(left)
    return {node for node in left if node in reachable(left, node)}


def _without_ends(graph: Mapping[Node, set[Node]]) -> dict[Node, set[Node]]:
    """Return a graph without the nodes that lead nowhere."""
    inner = {node for node, others in graph.items() if others}
    return {node: graph[node] & inner for node in graph if node in inner}


def reversed_graph(graph: Graph[Node]) -> dict[Node, set[Node]]:
    """Return the predecessors of each node."""
    predecessors: dict[Node, set[Node]] = {node: set() for node in graph}
    for node, others in graph.items():
        for other in others:
            predecessors.setdefault(other, set()).add(node)
    return predecessors
