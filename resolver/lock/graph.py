"""Who requires what in a lock, as a graph."""

from __future__ import annotations

from typing import Final

import networkx as nx

from resolver.model import text
from resolver.model.lock import Lock

STACK: Final = ""  # the node of the stack; the others have the names of their pins


def requirement_graph(lock: Lock) -> nx.DiGraph:
    """From the stack, and from each pin, to each pin that it requires where it is installed.

    An edge has its `lines`: what is asked of that pin, such as `[http]>=2` or `==3.2.0 (fact verl-0.7.1-npu)`.
    """
    graph = nx.DiGraph()
    graph.add_nodes_from([STACK, *(pin.name for pin in lock.pin)])

    def add(requiring: str, line: str, fact: str = "") -> None:
        need = text.requirement(line)
        if need.name in graph and need.name != requiring:
            extras = f"[{','.join(sorted(need.extras))}]" if need.extras else ""
            asked = f"{extras}{need.specifier}{f' (fact {fact})' if fact else ''}".strip()
            graph.add_edge(requiring, need.name)
            lines = graph.edges[requiring, need.name].setdefault("lines", [])
            lines += [asked] if asked and asked not in lines else []

    for line in lock.requires:
        add(STACK, line)
    for pin in lock.pin:
        for line in (*pin.requires, *(pin.build_requires if pin.mode == "built-here" else ())):
            add(pin.name, line)
        for fact, lines in pin.fact_requires.items():
            for line in lines:
                add(pin.name, line, fact)
    return graph
