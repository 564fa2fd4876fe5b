"""Logarithmic plots of the scaling bench: a column for each family, a row for each measure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10
from typing import Any

# The size of a panel.
_WIDTH, _HEIGHT = 190, 150
_LEFT, _TOP, _GAP = 62, 58, 26
_FONT = 'font-family="sans-serif" font-size="11"'
_MEASURES = (
    ("wall", "wall, s"),
    ("requests", "requests"),
    ("peak", "peak memory, MiB"),
)
_SIDES = (("ours", "ascend-lock", "#c7000b"), ("uv", "uv", "#30576f"))


def svg(cells: Sequence[dict[str, Any]], families: Sequence[str], limit: float) -> str:
    """Return the picture. A run that was ended at the limit is a ring."""
    families = [family for family in families if any(cell["family"] == family for cell in cells)]
    width = _LEFT + len(families) * (_WIDTH + _GAP)
    height = _TOP + len(_MEASURES) * (_HEIGHT + _GAP) + 18
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {_FONT}>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, (_, name, colour) in enumerate(_SIDES):
        left = _LEFT + number * 110
        parts.append(f'<circle cx="{left + 4}" cy="16" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{left + 13}" y="20">{escape(name)}</text>')
    legend = f"dashed: n log n through the first point; ring: ended after {limit:.0f} s"
    parts.append(f'<text x="{_LEFT + 190}" y="20" fill="#555">{legend}</text>')
    sizes = sorted({cell["size"] for cell in cells})
    for row, (key, label) in enumerate(_MEASURES):
        values: list[float] = []
        for side, _, _ in _SIDES:
            values += [cell[side][key] for cell in cells if cell[side][key] > 0]
        low, high = _decades(values)
        top = _TOP + row * (_HEIGHT + _GAP)
        turned = f'transform="translate(14 {top + _HEIGHT / 2}) rotate(-90)" text-anchor="middle"'
        parts.append(f"<text {turned}>{escape(label)}</text>")
        for column, family in enumerate(families):
            panel = _Panel(_LEFT + column * (_WIDTH + _GAP), top, sizes, low, high)
            parts += panel.frame(first=column == 0)
            if row == 0:
                parts.append(
                    f'<text x="{panel.left + _WIDTH / 2}" y="{top - 8}" '
                    f'text-anchor="middle" font-weight="bold">{escape(family)}</text>'
                )
            family_cells = [cell for cell in cells if cell["family"] == family]
            family_cells.sort(key=lambda cell: int(cell["size"]))
            for side, _, colour in _SIDES:
                points = [
                    (cell["size"], cell[side][key], cell[side]["ended"])
                    for cell in family_cells
                    if cell[side][key] > 0
                ]
                parts += panel.line(points, colour, guide=key == "wall")
    x = _LEFT + len(families) * (_WIDTH + _GAP) / 2
    parts.append(f'<text x="{x:.0f}" y="{height - 6}" text-anchor="middle">projects</text></svg>')
    return "\n".join(parts) + "\n"


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten between which all values are."""
    return floor(log10(min(values))), ceil(log10(max(values)))


class _Panel:
    """A plot with its own axes: x is the size, y goes from 10**low to 10**high."""

    def __init__(self, left: float, top: float, sizes: Sequence[int], low: int, high: int) -> None:
        self.left = left
        self._top = top
        self._sizes = sizes
        self._low = low
        self._high = max(high, low + 1)

    def _x(self, size: float) -> float:
        first = log10(self._sizes[0])
        last = log10(max(self._sizes[-1], self._sizes[0] * 2))
        return self.left + 8 + (log10(size) - first) / (last - first) * (_WIDTH - 16)

    def _y(self, value: float) -> float:
        share = (log10(value) - self._low) / (self._high - self._low)
        return self._top + _HEIGHT - share * _HEIGHT

    def frame(self, *, first: bool) -> list[str]:
        """Return the lines of the grid and their labels."""
        parts = []
        parts.append(
            f'<rect x="{self.left}" y="{self._top}" width="{_WIDTH}" height="{_HEIGHT}" '
            'fill="none" stroke="#999"/>'
        )
        for power in range(self._low, self._high + 1):
            y = self._y(10.0**power)
            parts.append(f'<path d="M{self.left} {y:.1f}h{_WIDTH}" stroke="#ddd"/>')
            if first:
                parts.append(
                    f'<text x="{self.left - 5}" y="{y + 4:.1f}" '
                    f'text-anchor="end">{10.0**power:g}</text>'
                )
        for size in self._sizes:
            x = self._x(size)
            parts.append(f'<path d="M{x:.1f} {self._top}v{_HEIGHT}" stroke="#eee"/>')
            parts.append(
                f'<text x="{x:.1f}" y="{self._top + _HEIGHT + 13}" '
                f'text-anchor="middle">{size:,}</text>'
            )
        return parts

    def line(
        self, points: Sequence[tuple[int, float, str]], colour: str, *, guide: bool
    ) -> list[str]:
        """Return the joined points of a side, with n log n from the first one as a guide."""
        if not points:
            return []
        parts = []
        if guide:
            size, value, _ = points[0]
            ideal = [(n, value * n * log10(n) / (size * log10(size))) for n in self._sizes]
            inside = [(n, y) for n, y in ideal if y <= 10.0**self._high]
            parts.append(
                f'<path d="{self._path(inside)}" fill="none" stroke="{colour}" '
                'stroke-dasharray="3 3" opacity=".5"/>'
            )
        joined = self._path([(size, value) for size, value, _ in points])
        parts.append(f'<path d="{joined}" fill="none" stroke="{colour}"/>')
        for size, value, ended in points:
            fill = colour if ended == "done" else "white"
            parts.append(
                f'<circle cx="{self._x(size):.1f}" cy="{self._y(value):.1f}" r="3.5" '
                f'fill="{fill}" stroke="{colour}"/>'
            )
        return parts

    def _path(self, points: Sequence[tuple[int, float]]) -> str:
        places = [f"{self._x(size):.1f} {self._y(value):.1f}" for size, value in points]
        return "M" + "L".join(places)
