"""A plot of ratios of two programs: a column for each measure, a row for each case."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import log2
from typing import Any

_FONT = 'font-family="sans-serif" font-size="11"'
_MEASURES = ("wall", "cpu", "peak")
_COLOUR = "#c7000b"
# The size of a column, and of what is beside it.
_WIDTH, _LEFT, _TOP, _GAP, _LINE = 190, 110, 40, 40, 22
# The ratios at both ends of the axis, which is logarithmic.
_LEAST, _MOST = 0.5, 8.0


def ratios_svg(rows: Sequence[dict[str, Any]]) -> str:
    """Return the picture: a dot is the median ratio, a bar reaches from the least to the most.

    A ring is the most that the ratio may be.
    """
    width = _LEFT + len(_MEASURES) * (_WIDTH + _GAP)
    height = _TOP + len(rows) * _LINE + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {_FONT}>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, row in enumerate(rows):
        y = _TOP + number * _LINE + _LINE / 2
        parts.append(f'<text x="{_LEFT - 10}" y="{y + 4}" text-anchor="end">{_name(row)}</text>')
    for column, measure in enumerate(_MEASURES):
        left = _LEFT + column * (_WIDTH + _GAP)
        parts += _axis(left, height, f"{measure}, ascend-lock / uv")
        for number, row in enumerate(rows):
            y = _TOP + number * _LINE + _LINE / 2
            parts += _mark(left, y, row["ratios"][measure])
    return "\n".join([*parts, "</svg>"]) + "\n"


def _name(row: dict[str, Any]) -> str:
    return escape(str(row["case"]))


def _x(left: float, ratio: float) -> float:
    """Return the place of a ratio; one beyond the axis is at its end."""
    within = min(max(ratio, _LEAST), _MOST)
    return left + _WIDTH * log2(within / _LEAST) / log2(_MOST / _LEAST)


def _axis(left: float, height: float, title: str) -> list[str]:
    parts = [f'<text x="{left}" y="16" font-weight="bold">{title}</text>']
    ratio = _LEAST
    while ratio <= _MOST:
        x = _x(left, ratio)
        colour = "#555" if ratio == 1 else "#ddd"
        parts.append(f'<path d="M{x:.1f} {_TOP}V{height - 26}" stroke="{colour}"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - 10}" text-anchor="middle">{ratio:g}</text>')
        ratio *= 2
    return parts


def _mark(left: float, y: float, figures: dict[str, Any]) -> list[str]:
    """Return the dot, the bar and the ring of a ratio."""
    least, most = _x(left, figures["least"]), _x(left, figures["most"])
    x = _x(left, figures["ratio"])
    parts = [
        f'<path d="M{least:.1f} {y}H{most:.1f}" stroke="{_COLOUR}" stroke-width="3"/>',
        f'<circle cx="{x:.1f}" cy="{y}" r="4" fill="{_COLOUR}"/>',
    ]
    if figures["target"] is not None:
        target = _x(left, figures["target"])
        parts.append(
            f'<circle cx="{target:.1f}" cy="{y}" r="5" fill="none" stroke="#30576f" '
            f'stroke-width="2"/>'
        )
    return parts
