"""The order of installation: stages, from the facts.

pip installs each stage with `--no-deps`, so only three things order a pin: a
fact that says so, a source build that needs the environment to be there, and a
plugin that rewrites what is installed. Each project from git is a stage of its own.
pip itself comes first, and then, before anything large, the builds that need nothing
of the environment: what the machine lacks for them shows in the first minutes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain

import networkx as nx

from resolver.errors import InputError
from resolver.model import fact as facts
from resolver.model.lock import LockedStage, Mode
from resolver.model.message import Message, message, text
from resolver.model.release import Source

_REST = ""  # stands for all pins that no fact orders
_INSTALLER = frozenset(("pip", "setuptools"))


def stages(
    modes: Mapping[str, Mode],
    afters: Sequence[facts.After],
    sources: Sequence[Source] = (),
    environments: Mapping[str, int] | None = None,
    variables: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[LockedStage, ...]:
    """Stages for the pins of `modes` (name -> how it is installed), by the facts about them.

    Pins that no fact orders are installed together, before any build that uses the
    environment and any plugin that rewrites it. Those built in isolated `environments` (name -> which) come before
    them. Pins built in different ones, or with different `variables` (name -> its own), are in different stages.
    Raises InputError if the facts form a cycle.
    """
    graph = nx.DiGraph()  # from each node to what comes after it
    graph.add_node(_REST)
    because: dict[str, list[Message]] = {}
    for fact in afters:
        others = [other for other in fact.others if fact.package in modes and other in modes]
        if others:
            graph.add_edges_from((other, fact.package) for other in others)
            reason = text(fact.reason, fact.reason_zh)
            why = message("order.after", package=fact.package, others=others, reason=reason, where=fact.where)
            because.setdefault(fact.package, []).append(why)
    for source in sources:
        others = [other for other in source.recipe.rewrites if other in modes and other != source.name]
        if others:
            graph.add_edges_from((other, source.name) for other in others)
            why = message("order.rewrites", package=source.name, others=others, where=source.where)
            because.setdefault(source.name, []).append(why)
    with suppress(nx.NetworkXNoCycle):
        cycle = [name for name, _ in nx.find_cycle(graph)]
        orders = [*afters, *(source.fact for source in sources if source.fact is not None)]
        raise InputError(
            f"the facts order {', '.join(cycle)} in a cycle",
            where=", ".join(sorted({fact.where for fact in orders if fact.package in cycle})),
            hint="remove or correct one of these facts",
        )
    from_git = {source.name for source in sources}
    rewriting = [source.name for source in sources if source.name in because and source.recipe.rewrites]
    here = {name for name, mode in modes.items() if mode == "built-here" or name in rewriting}
    graph.add_nodes_from(here)
    later = here.union(*(nx.descendants(graph, name) for name in here))
    graph.add_edges_from([(name, _REST) for name in graph if name and name not in later])
    graph.add_edges_from([(_REST, name) for name in here])
    free = sorted(name for name in modes if name not in graph)
    installer = [name for name in free if name in _INSTALLER and modes[name] == modes.get("pip") == "wheels"]
    alone = [name for name in free if name in (environments or {})]
    because |= {name: [message("order.pip-first")] for name in installer}
    because |= {name: [message("order.alone-first")] for name in alone}
    rest = [name for name in free if name not in installer and name not in alone]
    generations = ((rest if node == _REST else [node] for node in nodes) for nodes in nx.topological_generations(graph))
    found: list[LockedStage] = []
    for names in (installer, alone, *(sorted(chain(*generation)) for generation in generations)):
        for mode in ("wheels", "built-apart", "built-here"):
            alike = [name for name in names if modes[name] == mode]
            for group in _groups(alike, from_git, environments or {}, variables or {}):
                reasons = dict.fromkeys(why for name in group for why in because.get(name, ()))
                found.append(LockedStage(mode=mode, pins=group, because=tuple(reasons)))
    return tuple(found)


def _groups(
    names: Sequence[str],
    from_git: Collection[str],
    environments: Mapping[str, int],
    variables: Mapping[str, Mapping[str, str]],
) -> Iterator[tuple[str, ...]]:
    """What is installed together: all that indexes serve and one environment builds, then each git source by itself."""
    served: dict[tuple[int, tuple[tuple[str, str], ...]], list[str]] = {}
    for name in names:
        if name not in from_git:
            own = tuple(sorted(variables.get(name, {}).items()))
            served.setdefault((environments.get(name, -1), own), []).append(name)
    for _, group in sorted(served.items()):
        yield tuple(group)
    yield from ((name,) for name in names if name in from_git)
