"""How wide what is told may be."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final, TextIO

_NARROWEST: Final = 40  # columns below which words would be all that is left of a line


def columns(stream: TextIO, widest: int) -> int:
    """`widest`, and no more than a terminal shows; what is no terminal gets the same wherever it is read."""
    with suppress(OSError, ValueError):
        room = os.get_terminal_size(stream.fileno()).columns
        return max(min(room or widest, widest), _NARROWEST)  # a serial console says 0
    return widest
