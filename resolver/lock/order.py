"""The order of installation: stages, from the facts.

pip installs each stage with `--no-deps`, so only two things order a pin: a
fact that says so, and a source build that needs the environment to be there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import networkx as nx

from resolver.errors import InputError
from resolver.model import fact as facts
from resolver.model.lock import LockedStage, Mode

_REST = ""  # stands for all pins that no fact orders


def stages(
    modes: Mapping[str, Mode], afters: Sequence[facts.After], environments: Mapping[str, int] | None = None
) -> tuple[LockedStage, ...]:
    """Stages for the pins of `modes` (name -> how it is installed), by the facts about them.

    What no fact orders is installed together, before any build that uses the
    environment. What is built in different `environments` apart (name -> which) is not
    built in one stage. Raises InputError where the facts form a cycle.
    """
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_node(_REST)
    because: dict[str, list[str]] = {}
    for fact in afters:
        others = [other for other in fact.others if fact.package in modes and other in modes]
        for other in others:
            graph.add_edge(str(other), str(fact.package))
        if others:
            text = f"{fact.package} after {' and '.join(others)}: {fact.reason} ({fact.where})"
            because.setdefault(fact.package, []).append(text)
    _refuse_cycles(graph, afters)
    here = [name for name, mode in modes.items() if mode == "built-here"]
    graph.add_nodes_from(here)
    later = set(here).union(*(nx.descendants(graph, name) for name in here))
    for name in [name for name in graph if name and name not in later]:
        graph.add_edge(name, _REST)
    for name in here:
        graph.add_edge(_REST, name)
    rest = sorted(name for name in modes if name not in graph)
    found: list[LockedStage] = []
    for generation in nx.topological_generations(graph):
        names = sorted(name for node in generation for name in (rest if node == _REST else [node]))
        for mode in ("wheels", "built-apart", "built-here"):
            alike: dict[int, list[str]] = {}
            for name in names:
                if modes[name] == mode:
                    alike.setdefault((environments or {}).get(name, 0), []).append(name)
            for _, group in sorted(alike.items()):
                reasons = tuple(sorted({text for name in group for text in because.get(name, ())}))
                found.append(LockedStage(title=_title(group, mode), mode=mode, pins=tuple(group), because=reasons))
    return tuple(found)


def _title(group: Sequence[str], mode: Mode) -> str:
    names = " and ".join(group) if len(group) <= 3 else f"{len(group)} distributions"
    match mode:
        case "wheels":
            return names
        case "built-apart":
            return f"{names}, built from source in an environment apart"
        case "built-here":
            return f"{names}, built from source in this environment"


def _refuse_cycles(graph: nx.DiGraph[str], afters: Sequence[facts.After]) -> None:
    try:
        cycle = [edge[0] for edge in nx.find_cycle(graph)]
    except nx.NetworkXNoCycle:
        return
    wheres = sorted({fact.where for fact in afters if fact.package in cycle})
    raise InputError(
        f"the facts order {', '.join(cycle)} in a circle",
        where=", ".join(wheres),
        hint="remove or correct one of these `after` facts",
    )
