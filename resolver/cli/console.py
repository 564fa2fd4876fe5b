"""What a run writes to the console: lines with commands as called, its progress, and the page of a conflict."""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from msgspec.structs import replace

from resolver.cli import COMMANDS
from resolver.errors import escaped
from resolver.files import json_text
from resolver.i18n import translate
from resolver.index.protocol import Traffic
from resolver.model.message import Message, joined, message
from resolver.model.problem import Problem
from resolver.model.text import Language
from resolver.report.document import Document, rewritten, translated
from resolver.report.terminal import COLUMNS, WIDTH, fitted, for_terminal, styled, terminal_text

if TYPE_CHECKING:  # loaded where there is a terminal, something to download, or a conflict
    from rich.live import Live
    from rich.text import Text

    from resolver.index.net.downloads import TransferProgress
    from resolver.model.explanation import Awaited, Contradiction, Expected, Explanation

_ERASED = "\r\x1b[2K"  # the line that the cursor is on
_REDRAWN = 10  # times a second
_NARROWEST = 40  # columns; below that, lines would be single words
_COMMAND = re.compile(rf"\bascend-lock(?= (?:{'|'.join(COMMANDS)}|--help)\b)")


def as_called(text: str) -> str:
    """The text with the path by which this program was called, if it was: `.venv/bin/ascend-lock lock …`.

    If it was found through PATH, commands have only its name, although the system passes a path.
    For terminals only: files have the same content on every machine.
    """
    program = sys.argv[0]
    if os.sep not in program or Path(program).name != "ascend-lock" or not _COMMAND.search(text):
        return text
    return text if shutil.which("ascend-lock") == program else _COMMAND.sub(lambda _: program, text)


def write(stream: TextIO, text: str, room: int | None = None, *, over: bool = False) -> None:
    """Write a text to a stream of this process, which nothing else does (ruff's rule TID251 sees to that).

    Whatever a terminal would act on is escaped here, wherever it is from, but for line breaks,
    tabs, and the styles of `report.terminal` on a stream that has color. Then it is fitted into the
    columns that there is room for, if told, and written `over` the line of a terminal that the
    cursor is on, at once, as another process may draw that line.
    """
    shown = for_terminal(text, color=has_color(stream))
    fitting = shown if room is None else fitted(shown, room)
    stream.write(f"{_ERASED if over else ''}{fitting}")
    stream.flush()


def print_text(text: str, stream: TextIO | None = None) -> None:
    """Write a text for people to a stream, or to stdout: on a terminal, no line is wider than it or breaks a word."""
    out = sys.stdout if stream is None else stream
    write(out, text, _room(out))


def print_data(text: str) -> None:
    """Write to stdout what a program may read, such as a file or a patch: its lines stay as they are."""
    write(sys.stdout, text)


def print_line(text: str) -> None:
    """Print a line on stdout, with commands as called."""
    print_text(as_called(text) + "\n")


def print_json(value: object) -> None:
    """Print one JSON object on stdout."""
    print_data(json_text(value) + "\n")


def print_to_stderr(text: str) -> None:
    """Print a line on stderr, with commands as called; the word `error` before a message is red."""
    before, error, message = text.partition("error:")
    label = styled(error, has_color(sys.stderr), "bold red")
    print_text(
        f"{before}{label}{as_called(message)}\n" if error else as_called(text) + "\n", sys.stderr
    )


def has_color(stream: TextIO) -> bool:
    """Whether to color what is written there: on a terminal that can, or as NO_COLOR and FORCE_COLOR say."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (
        stream.isatty() and os.environ.get("TERM") != "dumb"
    )


def for_stream(blocks: Document, language: Language, stream: TextIO, widest: int = COLUMNS) -> str:
    """A document as it is written to a stream: no wider than its terminal, and in color if it has it.

    Commands in it are as called, which may be longer, so that is done before lines are broken.
    """
    called = (rewritten(translated(block, language), as_called) for block in blocks)
    return terminal_text(called, language, columns(stream, widest), color=has_color(stream))


def columns(stream: TextIO, widest: int) -> int:
    """`widest`, limited by the terminal's width; without a terminal always `widest`."""
    room = _room(stream)
    return widest if room is None else min(room, widest)


def _room(stream: TextIO) -> int | None:
    """The columns of a stream's terminal; None without one, or if it does not tell, like a serial console."""
    with suppress(OSError, ValueError):
        room = os.get_terminal_size(stream.fileno()).columns
        return max(room, _NARROWEST) if room else None
    return None


class Progress:
    """A line that says what is going on. Silent if stderr is not a terminal.

    The main thread shows and erases it, so that no other one brings it back while something is
    written.
    """

    def __init__(self, language: Language = "en", *, enabled: bool | None = None) -> None:
        self.language = language
        self._enabled = sys.stderr.isatty() if enabled is None else enabled
        self._live: Live | None = None
        self._lock = threading.RLock()  # of the line: warnings come from any thread
        self._label = ""
        self._place = ""
        self._counters: Message | None = None
        self._transfers: Message | None = None
        self._first: tuple[float, int] | None = None  # report of a transfer, with its time
        self._warned: set[str] = set()

    def place(self, text: str) -> None:
        """Set a prefix for all labels from now on: which part of a larger whole is being worked on."""
        self._place = text

    def label(self, code: str, /, **values: object) -> None:
        """Start a new part of the work, with a text of this code as its label."""
        self._label = self._place + translate(message(code, **values), self.language)
        self._begin()

    def solving(self, rounds: int, packages: int) -> None:
        """Called by the solver, once per round and before each further release tried in it."""
        counts = [message("cli.packages", count=packages), message("cli.steps", count=rounds)]
        self._counters = joined("conflict.clause", counts)
        self._begin()

    def fetching(self, traffic: Traffic) -> None:
        """Called by the catalog, from its thread."""
        self._transfers = message(
            "cli.requests", count=traffic.requests, size=f"{traffic.bytes / 1e6:.0f}"
        )

    def copying(self, copied: TransferProgress) -> None:
        """Called by a transfer, from its thread."""
        now = time.monotonic()
        self._first = self._first or (now, copied.bytes)
        rate = (copied.bytes - self._first[1]) / max(now - self._first[0], 1 / _REDRAWN)
        size: str | Message = f"{copied.bytes / 1e6:.0f}"
        if copied.total is not None:
            size = message("cli.of", part=size, whole=f"{copied.total / 1e6:.0f}")
        self._counters = message(
            "cli.of", part=copied.files, whole=message("cli.files", count=copied.of_files)
        )
        self._transfers = message("cli.transfer", size=size, rate=f"{max(rate, 0) / 1e6:.1f}")

    def warn(self, warning: Message) -> None:
        """Print a warning on a line of its own, terminal or not, once each."""
        text = translate(warning, self.language)
        if text in self._warned:
            return
        self._warned.add(text)
        line = translate(
            "cli.warning", self.language, message="\n".join(map(escaped, text.split("\n")))
        )
        label = translate("cli.warning", self.language, message="").rstrip()
        with self._lock:
            was_shown = self._live is not None
            self.clear()
            label_shown = styled(label, has_color(sys.stderr), "bold yellow")
            # Where this process has no line, it may solve a cell for one that has.
            over = not self._enabled and has_color(sys.stderr) and sys.stderr.isatty()
            write(
                sys.stderr,
                f"{label_shown}{line.removeprefix(label)}\n",
                _room(sys.stderr),
                over=over,
            )
            if was_shown:
                self._begin()

    def clear(self) -> None:
        """Erase the line until the next progress."""
        with self._lock:
            if self._live is not None:
                self._live.stop()
                self._live = None

    def _begin(self) -> None:
        """Show the line, which rich draws again and again in a thread of its own."""
        with self._lock:
            if not self._enabled or self._live is not None:
                return
            from rich.console import Console
            from rich.live import Live

            console = Console(file=sys.stderr, force_terminal=True)
            self._live = Live(
                get_renderable=self._line,
                console=console,
                refresh_per_second=_REDRAWN,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
            console.show_cursor()  # a killed run cannot

    def _line(self) -> Text:
        """The label and the figures."""
        from rich.text import Text

        parts = [
            translate(part, self.language)
            for part in (self._counters, self._transfers)
            if part is not None
        ]
        figures = translate("semicolon", self.language).join(parts)
        line = self._label + figures
        if self._label and figures:
            line = translate("cli.going-on", self.language, label=self._label, done=figures)
        return Text(escaped(line), no_wrap=True, overflow="ellipsis")


@dataclass
class ConflictPage:
    """Pages on `out`, or nowhere without it.

    Each target's begins with an empty line, the first one apart.

    `options` are those of this run that the suggested commands have to repeat, as no file records
    them. No command is suggested for a stack that is `undone`: its file goes back to another
    content.
    """

    out: TextIO | None
    progress: Progress
    options: tuple[str, ...] = ()
    undone: bool = False
    _begun: bool = field(default=False, init=False)
    _written: int = field(default=0, init=False)  # contradictions of the last page

    def why(
        self,
        problem: Problem,
        contradictions: tuple[Contradiction, ...],
        awaited: tuple[Awaited, ...] = (),
        expected: Expected | None = None,
    ) -> None:
        """Write the first part, long before the ways out are found."""
        from resolver.report.explanation.conflict import (
            conflict_blocks,
        )  # loaded where there is a conflict

        self._written = len(contradictions)
        self.write("\n" if self._begun else "")
        self.write_blocks(conflict_blocks(problem, contradictions, awaited, expected))
        self.write("\n")
        self._warn_of_other_indexes(contradictions)

    def ways(self, explanation: Explanation) -> None:
        """Write the second part, after contradictions that were found since the first."""
        from resolver.report.explanation.conflict import further_blocks, ways_out_blocks
        from resolver.report.explanation.sentences import condensed

        if further := condensed(explanation.contradictions)[self._written :]:
            self.write_blocks(further_blocks(further))
            self.write("\n")
        explanation = replace(explanation, options=(*explanation.options, *self.options))
        in_checkout = Path("Makefile").is_file() and Path("matrices").is_dir()
        self.write_blocks(ways_out_blocks(explanation, in_checkout=in_checkout, undone=self.undone))

    def write_blocks(self, blocks: Document) -> None:
        """Write a part of the page, no wider than the terminal."""
        if self.out is not None:
            self._write(for_stream(blocks, self.progress.language, self.out, WIDTH))

    def _warn_of_other_indexes(self, contradictions: Iterable[Contradiction]) -> None:
        """If no index has a project, warn that pip on this machine would have asked other indexes as well."""
        from resolver.index.net.pipconfig import read_pip_config
        from resolver.model.constraint import NoCandidate, Unavailable

        constraints = [
            reason.constraint
            for contradiction in contradictions
            for reason in contradiction.reasons
        ]
        missing = [
            f"`{constraint.subject}`"
            for constraint in constraints
            if isinstance(constraint, Unavailable) and constraint.why is NoCandidate.PROJECT
        ]
        if (
            missing
            and self.out is not None
            and (ignored_options := read_pip_config().ignored_options)
        ):
            names, options = tuple(dict.fromkeys(missing)), tuple(ignored_options)
            self.progress.warn(message("cli.not-followed", options=options, names=names))

    def write(self, text: str) -> None:
        """Write text between the pages, or of another result."""
        self._write(as_called(text))

    def _write(self, text: str) -> None:
        if self.out is not None:
            self.progress.clear()
            print_text(text, self.out)
            self._begun = True
