"""Handling SIGINT, SIGTERM and SIGHUP: they end a run, once."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

STATUS: Final = 130  # 128 plus the number of SIGINT, as in shells
MESSAGE: Final = "interrupted; no lock was left half-written\n"

_DEAF: Final = 1.0  # seconds after an interrupt in which another one is ignored; ending the run takes a tenth of it

_last = -_DEAF


def listen() -> None:
    """Raise KeyboardInterrupt on SIGINT, SIGTERM and SIGHUP; ignored signals stay ignored, like SIGHUP under nohup.

    Where nothing can be raised, as in finalizers, the run ends immediately: otherwise the interrupt would be lost, and
    an import lock held in such a call would never be released.
    """
    sys.unraisablehook = _end
    signal.signal(signal.SIGTERM, _interrupt)
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(_signal: int, _frame: object) -> None:
    """Raise, unless that was just done: a second Ctrl-C would interrupt the cleanup after the first."""
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
        os.write(2, f"\n{MESSAGE}".encode())
    finally:
        os._exit(STATUS)
