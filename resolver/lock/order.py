"""The order of installation: stages, from the facts.

pip installs each stage with `--no-deps`, so only three things order a pin: a fact that says so,
a source build that needs the environment to be there, and a plugin that rewrites what is installed.
Each project from git is a stage of its own. pip itself comes first. Before anything large come the
builds that need nothing of the environment: if the machine lacks something for them, they fail in
the first minutes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import get_args

import networkx as nx

from resolver.errors import InputError
from resolver.model import fact as facts
from resolver.model.lock import LockedPin, LockedStage, Mode
from resolver.model.message import Message, message, verbatim
from resolver.model.release import Source
from resolver.phrase import phrase

# The node that stands for all pins that no fact orders.
_UNORDERED = ""
_INSTALLER = frozenset(("pip", "setuptools"))
# In the order in which the pins of a generation are installed.
_MODES: tuple[Mode, ...] = get_args(Mode)


def stages(
    pins: Sequence[LockedPin],
    afters: Sequence[facts.After],
    sources: Sequence[Source] = (),
    environments: Mapping[str, int] | None = None,
) -> tuple[LockedStage, ...]:
    """Return stages for the pins, by the facts about them and the sources that they are built from.

    Pins that no fact orders are installed together, before any build that uses the environment and
    any plugin that rewrites it. Pins built in isolated `environments` (name -> number of the
    environment) come before them. Pins built in different environments, or with different
    variables, are in different stages. Raises InputError if the facts form a cycle.
    """
    by_name = {pin.name: pin for pin in pins}
    # An edge leads from a pin to one that comes after it.
    graph = nx.DiGraph()
    graph.add_node(_UNORDERED)
    because = defaultdict[str, list[Message]](list)

    def put_after(package: str, others: Iterable[str], code: str, **values: object) -> bool:
        """Order a package after the others that are in the lock, and return whether any is."""
        locked = [name for name in others if name in by_name and name != package]
        if package not in by_name or not locked:
            return False
        graph.add_edges_from((name, package) for name in locked)
        because[package].append(message(code, package=package, others=locked, **values))
        return True

    for fact in afters:
        reason = verbatim(fact.reason, fact.reason_zh)
        put_after(fact.package, fact.others, "order.after", reason=reason, where=fact.where)
    # The pins that use the environment or change it come after all pins that no fact orders.
    in_place = {pin.name for pin in pins if pin.mode == "built-here"}
    for source in sources:
        if put_after(source.name, source.recipe.rewrites, "order.rewrites", where=source.where):
            in_place.add(source.name)
    orders: list[facts.Fact] = [*afters]
    orders += [source.fact for source in sources if source.fact is not None]
    _require_acyclic(graph, orders)
    graph.add_nodes_from(in_place)
    late = set(in_place)
    for name in in_place:
        late |= nx.descendants(graph, name)
    early = set(graph) - late - {_UNORDERED}
    graph.add_edges_from((name, _UNORDERED) for name in early)
    graph.add_edges_from((_UNORDERED, name) for name in in_place)
    return tuple(_in_order(by_name, graph, environments or {}, because))


def _require_acyclic(graph: nx.DiGraph, orders: Iterable[facts.Fact]) -> None:
    """Raise InputError, with the places of the facts, if these order pins in a cycle."""
    try:
        cycle = [name for name, _ in nx.find_cycle(graph)]
    except nx.NetworkXNoCycle:
        return
    raise InputError(
        phrase("the facts order {cycle} in a cycle", cycle=", ".join(cycle)),
        where=", ".join(sorted({fact.where for fact in orders if fact.package in cycle})),
        hint=phrase("remove or correct one of these facts"),
    )


def _in_order(
    by_name: Mapping[str, LockedPin],
    graph: nx.DiGraph,
    environments: Mapping[str, int],
    because: defaultdict[str, list[Message]],
) -> Iterator[LockedStage]:
    """Yield the stages in the order of the graph; pins that are not in it are independent of it."""
    installer: set[str] = set()
    alone: set[str] = set()
    unordered: set[str] = set()
    pip = by_name.get("pip")
    for name in by_name.keys() - set(graph):
        if name in _INSTALLER and pip is not None and by_name[name].mode == pip.mode == "wheels":
            installer.add(name)
            because[name].append(message("order.pip-first"))
        elif name in environments:
            alone.add(name)
            because[name].append(message("order.alone-first"))
        else:
            unordered.add(name)

    def stage_key(pin: LockedPin) -> tuple[object, ...]:
        """Return what all pins of a stage have in common; a pin from git is alone in its stage."""
        git_project = pin.name if pin.git is not None else ""
        environment = environments.get(pin.name, -1)
        return _MODES.index(pin.mode), git_project, environment, sorted(pin.env.items())

    for nodes in (installer, alone, *nx.topological_generations(graph)):
        names = set(nodes)
        if _UNORDERED in names:
            names.remove(_UNORDERED)
            names |= unordered
        pins = [by_name[name] for name in sorted(names)]
        pins.sort(key=stage_key)
        for _, group in groupby(pins, stage_key):
            members = list(group)
            reasons: dict[Message, None] = {}
            for pin in members:
                reasons |= dict.fromkeys(because[pin.name])
            yield LockedStage(
                mode=members[0].mode,
                pins=tuple(pin.name for pin in members),
                because=tuple(reasons),
            )
