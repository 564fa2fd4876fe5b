"""The positions of a graph's boxes and labels, in layers from top to bottom, after Sugiyama.

Layers of boxes and labels alternate. An edge that passes a layer has a place of its own there, so that it crosses no
box. All numbers are pixels, rounded, and depend only on the graph.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import msgspec

from resolver.model.digraph import generations, reached
from resolver.render.explanation.graph import Graph, Label, Node

_CHAR = 7.5  # width in the monospaced 12 px font, with a little to spare
_PAD = 22
_GAP = 18  # between neighbours in a layer
_ROW = 26  # between layers
_MARGIN = 12
_LINE = 16
_SWEEPS = 12


class Placed(msgspec.Struct):
    """A box, a label, or (neither) a place where an edge passes. `x`, `y` are its centre."""

    key: str
    node: Node | None
    label: Label | None
    width: float
    height: float
    x: float = 0
    y: float = 0


class Wire(msgspec.Struct, frozen=True):
    """A curve; `arrow` says where its head is: at the lower end, the upper end, or nowhere."""

    path: str
    sort: str
    arrow: str


class Drawing(msgspec.Struct, frozen=True):
    """Everything needed to draw an SVG."""

    width: int
    height: int
    placed: tuple[Placed, ...]
    wires: tuple[Wire, ...]


class _Edge(msgspec.Struct, frozen=True):
    upper: str
    lower: str
    sort: str
    arrow: str


def layout(graph: Graph) -> Drawing:
    """Place everything."""
    edges = list(_edges(graph))
    layers = _layers(graph, edges)
    placed = {one.key: one for one in _sized(graph)}
    rows: list[list[str]] = [[] for _ in range(max(layers.values(), default=0) + 1)]
    for key in placed:
        rows[layers[key]].append(key)
    chains = [list(_chain(edge, number, layers, rows, placed)) for number, edge in enumerate(edges)]
    above: dict[str, list[str]] = {key: [] for key in placed}
    below: dict[str, list[str]] = {key: [] for key in placed}
    for chain in chains:
        for upper, lower in pairwise(chain):
            below[upper].append(lower)
            above[lower].append(upper)
    _order(rows, above, below)
    _place_across(rows, placed, above, below)
    width, height = _place_down(rows, placed)
    wires = tuple(
        Wire(_path([placed[key] for key in chain]), edge.sort, edge.arrow)
        for chain, edge in zip(chains, edges, strict=True)
    )
    return Drawing(width, height, tuple(one for one in placed.values() if one.node or one.label), wires)


def _edges(graph: Graph) -> Iterator[_Edge]:
    """The edges, each from its upper to its lower end; those that would close a cycle are reversed."""
    below: dict[str, list[str]] = {}
    for label in graph.labels:
        own = _label_key(label)
        pairs = [(source, own, "") for source in label.sources] + [(own, label.target, "lower")]
        for upper, lower, arrow in pairs:
            if lower == upper or upper in reached(below, lower):
                upper, lower, arrow = lower, upper, "upper" if arrow else ""
            below.setdefault(upper, []).append(lower)
            yield _Edge(upper, lower, label.sort, arrow)


def _label_key(label: Label) -> str:
    return f"label {label.number}"


def _layers(graph: Graph, edges: Iterable[_Edge]) -> dict[str, int]:
    """The layer of each: below everything that points to it; or, if nothing does, right above what it points to."""
    above: dict[str, list[str]] = {key: [] for key in (*graph.nodes, *(_label_key(label) for label in graph.labels))}
    alone = {_label_key(label) for label in graph.labels if not label.sources}
    for edge in edges:
        if edge.upper not in alone:
            above[edge.lower].append(edge.upper)
    layers = {key: number for number, keys in enumerate(generations(above)) for key in keys}
    for label in graph.labels:
        if not label.sources:
            layers[_label_key(label)] = layers[label.target] - 1
    lowest = min(layers.values(), default=0)
    return {key: layer - lowest for key, layer in layers.items()}


def _sized(graph: Graph) -> Iterator[Placed]:
    for node in graph.nodes.values():
        lines = [line for line in (node.label, node.detail, node.clash) if line]
        width = max(72.0, *(_text_width(line) + _PAD for line in lines))
        yield Placed(node.key, node, None, width, 14 + _LINE * len(lines))
    for label in graph.labels:
        text = f"{label.number}  {label.text}" if label.text else str(label.number)
        yield Placed(_label_key(label), None, label, max(26.0, _text_width(text) + 16), 24)


def _text_width(text: str) -> float:
    return sum(13 if unicodedata.east_asian_width(char) in "WF" else _CHAR for char in text)


def _chain(
    edge: _Edge, number: int, layers: dict[str, int], rows: list[list[str]], placed: dict[str, Placed]
) -> Iterator[str]:
    """The ends of an edge with a place in each layer between them."""
    yield edge.upper
    for layer in range(layers[edge.upper] + 1, layers[edge.lower]):
        key = f"pass {number} {layer}"
        placed[key] = Placed(key, None, None, 8, 8)
        rows[layer].append(key)
        yield key
    yield edge.lower


def _order(rows: list[list[str]], above: dict[str, list[str]], below: dict[str, list[str]]) -> None:
    """Sort each layer by the mean position of its neighbours, repeatedly."""
    for sweep in range(_SWEEPS):
        joined = below if sweep % 2 else above
        for row in reversed(rows) if sweep % 2 else rows:
            places = {key: at for other in rows for at, key in enumerate(other)}
            # in thousandths, ties by the previous place: the same on every machine
            means = {key: _mean([places[one] for one in joined[key]], places[key]) for key in row}
            row.sort(key=lambda key, means=means, places=places: (round(means[key] * 1000), places[key]))  # type: ignore[misc]


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def _place_across(
    rows: Sequence[Sequence[str]],
    placed: dict[str, Placed],
    above: dict[str, list[str]],
    below: dict[str, list[str]],
) -> None:
    for row in rows:
        _spread([placed[key] for key in row], [0.0] * len(row))
    for sweep in range(_SWEEPS):
        joined = below if sweep % 2 else above
        for row in reversed(rows) if sweep % 2 else rows:
            wanted = [_mean([placed[one].x for one in joined[key]], placed[key].x) for key in row]
            _spread([placed[key] for key in row], wanted)


def _spread(row: Sequence[Placed], wanted: Sequence[float]) -> None:
    """As close to the wanted places as neighbours allow: the mean of pushing everything right and everything left."""
    room = [(one.width + other.width) / 2 + _GAP for one, other in pairwise(row)]
    right = list(wanted)
    for at in range(1, len(row)):
        right[at] = max(right[at], right[at - 1] + room[at - 1])
    left = list(wanted)
    for at in range(len(row) - 2, -1, -1):
        left[at] = min(left[at], left[at + 1] - room[at])
    for one, a, b in zip(row, left, right, strict=True):
        one.x = round((a + b) / 2, 1)


def _place_down(rows: Sequence[Sequence[str]], placed: dict[str, Placed]) -> tuple[int, int]:
    """Set the heights and move everything into view. Returns the size of the drawing."""
    y = float(_MARGIN)
    for row in rows:
        height = max((placed[key].height for key in row), default=0)
        for key in row:
            placed[key].y = y + height / 2
        y += height + _ROW
    first = min((one.x - one.width / 2 for one in placed.values()), default=0)
    for one in placed.values():
        one.x = round(one.x - first + _MARGIN)
    last = max((one.x + one.width / 2 for one in placed.values()), default=0)
    return round(last + _MARGIN), round(y - _ROW + _MARGIN)


def _path(chain: Sequence[Placed]) -> str:
    """A smooth curve from the bottom of the first to the top of the last, vertical where it passes those between."""
    first = chain[0]
    x, y = first.x, first.y + first.height / 2
    parts = [f"M{x:g} {y:g}"]
    for one in chain[1:]:
        top = one.y - one.height / 2
        middle = round((y + top) / 2, 1)
        parts.append(f"C{x:g} {middle:g} {one.x:g} {middle:g} {one.x:g} {top:g}")
        x, y = one.x, one.y + one.height / 2
        if one is not chain[-1]:
            parts.append(f"L{x:g} {y:g}")
    return "".join(parts)
