"""Progress on stderr: one line that is redrawn, only on a terminal; and how wide a terminal is."""

from __future__ import annotations

import os
import shutil
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from resolver.errors import shown
from resolver.i18n import translate
from resolver.index.protocol import Traffic
from resolver.model.message import Message
from resolver.model.text import Language
from resolver.report import words
from resolver.report.text import cut, width

if TYPE_CHECKING:
    from resolver.index.net.downloads import Copied

_EVERY = 0.1  # seconds between redraws
_SHORTEST = 16  # columns that are left of a label
_NARROWEST = 40  # columns; below that, lines would be single words
_PACE = 5.0  # seconds over which the rate of a transfer is measured


def columns(stream: TextIO, widest: int) -> int:
    """`widest`, limited by the terminal's width; without a terminal always `widest`."""
    with suppress(OSError, ValueError):
        room = os.get_terminal_size(stream.fileno()).columns
        return max(min(room or widest, widest), _NARROWEST)  # a serial console reports 0
    return widest


class Progress:
    """A line that says what is going on. Silent if stderr is not a terminal."""

    def __init__(self, language: Language = "en", *, enabled: bool | None = None) -> None:
        self.language = language
        self._enabled = sys.stderr.isatty() if enabled is None else enabled
        self._last = 0.0
        self._drawn = False
        self._label = ""
        self._place = ""
        self._counters = ""
        self._transfers = ""
        self._pace: list[tuple[float, int]] = []
        self._warned: set[str] = set()

    def place(self, text: str) -> None:
        """Set a prefix for all labels from now on: which part of a larger whole is being worked on."""
        self._place = text

    def label(self, text: str) -> None:
        """Start a new part of the work."""
        self._label = self._place + text
        self._draw(force=True)

    def solving(self, rounds: int, packages: int) -> None:
        """Called by the solver, once per round and before each further release tried in it."""
        told = words.PACKAGES(self.language, packages), words.STEPS(self.language, rounds)
        self._counters = words.ALSO(self.language).join(told)
        self._draw()

    def fetching(self, traffic: Traffic) -> None:
        """Called by the catalog, from its thread."""
        self._transfers = words.REQUESTS(self.language, traffic.requests, size=f"{traffic.bytes / 1e6:.0f}")
        self._draw()

    def copying(self, copied: Copied) -> None:
        """Called by a transfer, from its thread."""
        if not self._is_due():
            return
        now = time.monotonic()
        self._pace = [*(pair for pair in self._pace if now - pair[0] < _PACE), (now, copied.bytes)]
        since, before = self._pace[0]
        rate = max(copied.bytes - before, 0) / max(now - since, _EVERY)
        size, speed = f"{copied.bytes / 1e6:.0f}", f"{rate / 1e6:.1f}"
        if copied.total is not None:
            size = words.OF(self.language, part=size, whole=f"{copied.total / 1e6:.0f}")
        files = words.FILES(self.language, copied.of_files)
        self._counters = words.OF(self.language, part=copied.files, whole=files)
        self._transfers = words.TRANSFER(self.language, size=size, rate=speed)
        self._draw()

    def warn(self, warning: Message | str) -> None:
        """Print a warning on a line of its own, terminal or not, once each."""
        text = warning if isinstance(warning, str) else translate(warning, self.language)
        if text in self._warned:
            return
        self._warned.add(text)
        self.clear()
        sys.stderr.write(words.WARNING(self.language, message="\n".join(map(shown, text.split("\n")))) + "\n")
        sys.stderr.flush()

    def clear(self) -> None:
        """Erase the line."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False

    def _is_due(self) -> bool:
        return self._enabled and time.monotonic() - self._last >= _EVERY

    def _draw(self, *, force: bool = False) -> None:
        if not (self._enabled if force else self._is_due()):
            return
        self._last = time.monotonic()
        columns = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r\x1b[K{cut(self._line(columns), columns)}")
        sys.stderr.flush()
        self._drawn = True

    def _line(self, columns: int) -> str:
        """The label and the figures. Where they are too wide, first the label gives way, then the traffic."""
        figures = [text for text in (self._counters, self._transfers) if text]
        done = words.SEMICOLON(self.language).join(figures)
        if not (self._label and done):
            return self._label + done
        label = self._label
        text = words.GOING_ON(self.language, label=label, done=done)
        room = max(width(label) - (width(text) - columns) - 1, _SHORTEST)
        if width(text) > columns and room < width(label):
            label = cut(label, room) + "…"
            text = words.GOING_ON(self.language, label=label, done=done)
        return text if width(text) <= columns else words.GOING_ON(self.language, label=label, done=figures[0])
