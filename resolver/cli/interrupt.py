"""What SIGINT, SIGTERM and SIGHUP do: they end a run, once."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

STATUS: Final = 130  # 128 and the number of SIGINT, as shells have it
MESSAGE: Final = "interrupted; no lock was left half-written\n"

_DEAF: Final = 1.0  # seconds after an interrupt in which another one changes nothing: what ends the run takes a tenth

_last = -_DEAF


def listen() -> None:
    """Raise KeyboardInterrupt on SIGINT, SIGTERM and SIGHUP; what was ignored stays so, as SIGHUP under nohup.

    Where nothing can be raised, as in what Python calls when an object goes, the run ends there and then: the interrupt
    would be lost, and with it a lock of the import system that is held in such a call.
    """
    sys.unraisablehook = _end
    signal.signal(signal.SIGTERM, _interrupt)
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(_signal: int, _frame: object) -> None:
    """Raise, unless that was just done: a second Ctrl-C would break off what the first one made end."""
    global _last
    now = time.monotonic()
    if now - _last >= _DEAF:
        _last = now
        raise KeyboardInterrupt


def _end(lost: UnraisableHookArgs) -> None:
    if not isinstance(lost.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    try:
        os.write(2, MESSAGE.encode())
    finally:
        os._exit(STATUS)
