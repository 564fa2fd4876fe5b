"""The width of output."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final, TextIO

_NARROWEST: Final = 40  # columns; below that, lines would be single words


def columns(stream: TextIO, widest: int) -> int:
    """`widest`, limited by the terminal's width; without a terminal always `widest`."""
    with suppress(OSError, ValueError):
        room = os.get_terminal_size(stream.fileno()).columns
        return max(min(room or widest, widest), _NARROWEST)  # a serial console reports 0
    return widest
