"""What SIGINT and SIGTERM do: they end a run, once."""

from __future__ import annotations

import signal
import time
from typing import Final

_DEAF: Final = 1.0  # seconds after an interrupt in which another one changes nothing: what ends the run takes a tenth

_last = -_DEAF


def listen() -> None:
    """Raise KeyboardInterrupt on SIGINT and SIGTERM; SIGINT stays ignored where it was, as under nohup."""
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(_signal: int, _frame: object) -> None:
    """Raise, unless that was just done: a second Ctrl-C would break off what the first one made end."""
    global _last
    now = time.monotonic()
    if now - _last >= _DEAF:
        _last = now
        raise KeyboardInterrupt
