"""Divide the pins of a lock into stages, which install.sh installs one after the other.

pip installs each stage with `--no-deps`, so the requirements of projects do not matter. Only three
things order a pin: a fact that orders it, a source build that uses the packages in the environment,
and a plugin that rewrites installed files. Each project from git is a stage of its own. pip comes
first. Builds in isolation come next, before large downloads: if the machine lacks something that
they need, they fail in the first minutes.
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

# The node of the graph that stands for all pins that nothing orders.
_UNORDERED = ""
# Projects that are installed before all others, if the lock has a wheel of pip.
_INSTALLER = frozenset(("pip", "setuptools"))
# The modes, in the order in which pins that may be installed at the same time are installed.
_MODES: tuple[Mode, ...] = get_args(Mode)


def stages(
    pins: Sequence[LockedPin],
    afters: Sequence[facts.After],
    sources: Sequence[Source] = (),
    environments: Mapping[str, int] | None = None,
) -> tuple[LockedStage, ...]:
    """Return the stages of these pins, in the order of installation.

    `afters` are facts that order a pin after others, and `sources` the commits that pins are built
    from. `environments` has the number of the isolated build environment of each pin that is built
    in one.

    Pins that nothing orders are installed together. Pins that are built in isolation come before
    them. Builds that use the environment, and plugins that rewrite it, come after them. Pins that
    are built in different environments or with different variables are in different stages. Raises
    InputError if the facts form a cycle.
    """
    by_name = {pin.name: pin for pin in pins}
    # An edge leads from a pin to a pin that is installed after it.
    graph = nx.DiGraph()
    graph.add_node(_UNORDERED)
    # The reasons for the place of each pin, for the report.
    because = defaultdict[str, list[Message]](list)

    def put_after(package: str, others: Iterable[str], code: str, **values: object) -> bool:
        """Order a package after the others, as far as the lock has them.

        `code` and `values` are the message that gives the reason. Returns False, and orders
        nothing, if the package or all of the others are not in the lock.
        """
        locked = [name for name in others if name in by_name and name != package]
        if package not in by_name or not locked:
            return False
        graph.add_edges_from((name, package) for name in locked)
        because[package].append(message(code, package=package, others=locked, **values))
        return True

    for fact in afters:
        reason = verbatim(fact.reason, fact.reason_zh)
        put_after(fact.package, fact.others, "order.after", reason=reason, where=fact.where)
    # The pins that use the environment or change it come after all pins that nothing orders.
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
    """Raise InputError if the graph has a cycle; it names the places of the facts in the cycle."""
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
    """Yield the stages of all pins, in the order of the graph.

    Pins without a node in the graph are ordered by nothing. `because` has the reasons for the place
    of each pin; more are added here.
    """
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
        """Return the properties that all pins of a stage must share, in the order of stages.

        The name of a pin from git is one of them, so that it is alone in its stage.
        """
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
