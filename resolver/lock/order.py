"""The order of installation: stages, from the facts.

pip installs each stage with `--no-deps`, so only three things order a pin: a
fact that says so, a source build that needs the environment to be there, and a
plugin that rewrites what is installed. Each project from git is a stage of its own.
pip itself comes first, and then, before anything large, the builds that need nothing
of the environment: if the machine lacks something for them, they fail in the first minutes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, groupby
from typing import get_args

import networkx as nx

from resolver.errors import InputError
from resolver.model import fact as facts
from resolver.model.lock import LockedPin, LockedStage, Mode
from resolver.model.message import Message, message, verbatim
from resolver.model.release import Source

_UNORDERED = ""  # the node that stands for all pins that no fact orders
_INSTALLER = frozenset(("pip", "setuptools"))
_MODES: tuple[Mode, ...] = get_args(
    Mode
)  # in the order in which the pins of a generation are installed


def stages(
    pins: Sequence[LockedPin],
    afters: Sequence[facts.After],
    sources: Sequence[Source] = (),
    environments: Mapping[str, int] | None = None,
) -> tuple[LockedStage, ...]:
    """Stages for the pins, by the facts about them and the sources that they are built from.

    Pins that no fact orders are installed together, before any build that uses the environment and
    any plugin that rewrites it. Those built in isolated `environments` (name -> which) come before
    them. Pins built in different ones, or with different variables, are in different stages. Raises
    InputError if the facts form a cycle.
    """
    by_name = {pin.name: pin for pin in pins}
    environments = environments or {}
    graph = nx.DiGraph()  # from each node to what comes after it
    graph.add_node(_UNORDERED)
    because = defaultdict[str, list[Message]](list)

    def put_after(package: str, others: Iterable[str], code: str, **values: object) -> bool:
        locked = [
            other
            for other in others
            if package in by_name and other in by_name and other != package
        ]
        graph.add_edges_from((other, package) for other in locked)
        if locked:
            because[package].append(message(code, package=package, others=locked, **values))
        return bool(locked)

    for fact in afters:
        put_after(
            fact.package,
            fact.others,
            "order.after",
            reason=verbatim(fact.reason, fact.reason_zh),
            where=fact.where,
        )
    rewriting = [
        row.name
        for row in sources
        if put_after(row.name, row.recipe.rewrites, "order.rewrites", where=row.where)
    ]
    with suppress(nx.NetworkXNoCycle):
        cycle = [name for name, _ in nx.find_cycle(graph)]
        orders = [*afters, *(source.fact for source in sources if source.fact is not None)]
        where = ", ".join(sorted({fact.where for fact in orders if fact.package in cycle}))
        hint = "remove or correct one of these facts"
        raise InputError(f"the facts order {', '.join(cycle)} in a cycle", where=where, hint=hint)
    built_here = {pin.name for pin in pins if pin.mode == "built-here" or pin.name in rewriting}
    graph.add_nodes_from(built_here)
    later = built_here.union(*(nx.descendants(graph, name) for name in built_here))
    graph.add_edges_from([(name, _UNORDERED) for name in graph if name and name not in later])
    graph.add_edges_from([(_UNORDERED, name) for name in built_here])
    independent = sorted(name for name in by_name if name not in graph)
    pip = by_name.get("pip")
    installer = [
        name
        for name in independent
        if name in _INSTALLER and pip and by_name[name].mode == pip.mode == "wheels"
    ]
    alone = [name for name in independent if name in environments]
    because |= {name: [message("order.pip-first")] for name in installer}
    because |= {name: [message("order.alone-first")] for name in alone}
    unordered = [name for name in independent if name not in installer and name not in alone]
    generations = (
        (unordered if node == _UNORDERED else [node] for node in nodes)
        for nodes in nx.topological_generations(graph)
    )

    def stage_key(pin: LockedPin) -> tuple[object, ...]:
        """The same for pins that are installed together: all that indexes serve and one environment builds."""
        of_git = (
            (True, pin.name) if pin.git is not None else (False, environments.get(pin.name, -1))
        )
        return _MODES.index(pin.mode), *of_git, sorted(pin.env.items())

    result: list[LockedStage] = []
    for names in (installer, alone, *(chain(*generation) for generation in generations)):
        for _, group in groupby(
            sorted((by_name[name] for name in sorted(names)), key=stage_key), stage_key
        ):
            members = tuple(group)
            reasons = dict.fromkeys(why for pin in members for why in because[pin.name])
            pins_of_stage = tuple(pin.name for pin in members)
            result.append(
                LockedStage(mode=members[0].mode, pins=pins_of_stage, because=tuple(reasons))
            )
    return tuple(result)
