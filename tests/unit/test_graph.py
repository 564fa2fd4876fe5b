"""Graphs, compared with networkx."""

from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from resolver.graph import find_cycle, generations, on_cycles, reachable

_nodes = st.integers(0, 7)
_graphs = st.fixed_dictionaries({node: st.sets(_nodes, max_size=3) for node in range(8)})
Graph = dict[int, set[int]]


def as_networkx(graph: Graph) -> nx.DiGraph:
    return nx.DiGraph([(node, other) for node, others in graph.items() for other in others])


@given(_graphs)
def test_reachable(graph: Graph) -> None:
    paths = as_networkx(graph)
    for node in graph:
        found = set(nx.descendants(paths, node)) if node in paths else set()
        assert reachable(graph, node) - {node} == found


@given(_graphs)
def test_on_cycles(graph: Graph) -> None:
    circles = nx.strongly_connected_components(as_networkx(graph))
    assert on_cycles(graph) == {node for circle in circles if len(circle) > 1 for node in circle}


@given(_graphs)
def test_generations_or_find_cycle(graph: Graph) -> None:
    paths = as_networkx(graph)
    paths.add_nodes_from(graph)
    cycle = find_cycle(graph)
    if nx.is_directed_acyclic_graph(paths):
        assert cycle == []
        expected = [set(nodes) for nodes in nx.topological_generations(paths)]
        assert [set(nodes) for nodes in generations(graph)] == expected
    else:
        assert cycle
        for node, following in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
            assert following in graph[node]


def test_successors_need_no_successors() -> None:
    assert on_cycles({"a": {"b", "leaf"}, "b": {"a"}}) == {"a", "b"}
    assert reachable({"a": {"leaf"}}, "a") == {"leaf"}
