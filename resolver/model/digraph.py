"""Directed graphs as mappings of each node to those that come before it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from graphlib import TopologicalSorter


def generations(before: Mapping[str, Collection[str]]) -> Iterator[list[str]]:
    """The nodes in layers, sorted: each comes right after the last of those before it.

    Raises graphlib.CycleError, whose second argument is a cycle.
    """
    sorter = TopologicalSorter(before)
    sorter.prepare()
    while sorter.is_active():
        ready = sorter.get_ready()
        yield sorted(ready)
        sorter.done(*ready)


def reached(edges: Mapping[str, Collection[str]], start: str) -> set[str]:
    """The nodes that edges lead to from `start`, in one step or more."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        fresh = [node for node in edges.get(waiting.pop(), ()) if node not in found]
        found.update(fresh)
        waiting += fresh
    return found
