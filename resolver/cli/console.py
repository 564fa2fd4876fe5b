"""Write to the console: lines of text, the progress of a run, and the explanation of a conflict."""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from msgspec.structs import replace

from resolver.cli import COMMANDS
from resolver.errors import ResolverError, escaped
from resolver.files import json_text
from resolver.i18n import error_text, translate, translate_phrase
from resolver.index.protocol import Traffic
from resolver.model.message import Message, joined, message
from resolver.model.problem import Problem
from resolver.model.text import Language
from resolver.phrase import phrase
from resolver.report.document import Document, rewritten, translated
from resolver.report.terminal import (
    COLUMNS,
    WIDTH,
    fitted,
    for_terminal,
    styled,
    terminal_text,
)

# Imported only with a terminal, a download or a conflict.
if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

    from resolver.index.net.downloads import TransferProgress
    from resolver.model.explanation import Awaited, Contradiction, Expected, Explanation

# The version of the JSON that --json prints. It is increased if a key is removed or changes its
# meaning.
_JSON_FORMAT: Final = 1
# Erases the line that the cursor is on.
_ERASE_LINE = "\r\x1b[2K"
# How often the line of progress is drawn, in times per second.
_REDRAWS_PER_SECOND = 10
# The least width that lines are wrapped to, in columns. On a narrower terminal, lines would be
# single words.
_NARROWEST = 40
# How many lines are written before the ways out.
_WHY = 25
_COMMAND = re.compile(rf"\bascend-lock(?= (?:{'|'.join(COMMANDS)}|--help)\b)")


def _as_called(text: str) -> str:
    """Return a text in which commands start with the path by which this program was called.

    For example, `.venv/bin/ascend-lock lock …`. If the program was found through PATH, commands
    keep its plain name. This is for terminals only, because files have the same content on every
    machine.
    """
    program = sys.argv[0]
    if os.sep not in program or Path(program).name != "ascend-lock":
        return text
    if not _COMMAND.search(text) or shutil.which("ascend-lock") == program:
        return text
    return _COMMAND.sub(lambda _: program, text)


def write(stream: TextIO, text: str, width: int | None = None, *, over: bool = False) -> None:
    """Write a text to a stream of this process. No other function may, by ruff's rule TID251.

    Everything that a terminal would act on is escaped, except line breaks, tabs, and on a stream
    with color the styles of `report.terminal`. Lines are wrapped to `width` columns, if given. With
    `over`, the text replaces the line that the cursor is on, in a single write, as another process
    may be drawing that line.
    """
    shown = for_terminal(text, color=has_color(stream))
    if width is not None:
        shown = fitted(shown, width)
    if over:
        shown = _ERASE_LINE + shown
    stream.write(shown)
    stream.flush()


def print_text(text: str, stream: TextIO | None = None) -> None:
    """Write a text for people to a stream, by default to stdout.

    On a terminal, lines are wrapped between words.
    """
    out = sys.stdout if stream is None else stream
    write(out, text, _terminal_width(out))


def print_data(text: str) -> None:
    """Write data for programs, such as a file or a patch, to stdout. Its lines are not wrapped."""
    write(sys.stdout, text)


def print_line(text: str) -> None:
    """Print a line on stdout. Commands in it start with the path of this program."""
    print_text(_as_called(text) + "\n")


def print_json(document: Mapping[str, Any]) -> None:
    """Print an object as JSON on stdout, with the version of its format (docs/schemas)."""
    print_data(json_text({"format": _JSON_FORMAT, **document}) + "\n")


def print_to_stderr(text: str) -> None:
    """Print a line on stderr. Commands in it start with the path of this program."""
    print_text(_as_called(text) + "\n", sys.stderr)


def print_error(error: ResolverError, language: Language, name: str = "") -> None:
    """Print an error on stderr, after `name` if it is about one stack of several."""
    text = phrase("error: {text}", text=error_text(error, language))
    line = _as_called(translate_phrase(text, language))
    label = translate_phrase(phrase("error: {text}", text=""), language).rstrip()
    shown = styled(label, has_color(sys.stderr), "bold red") + line.removeprefix(label)
    if name:
        shown = translate_phrase(phrase("{name}: {error}", name=name, error=shown), language)
    print_text(shown + "\n", sys.stderr)


def has_color(stream: TextIO) -> bool:
    """Return whether output to a stream is colored.

    NO_COLOR and FORCE_COLOR decide. Without them, a terminal with colors is needed.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def for_stream(blocks: Document, language: Language, stream: TextIO, widest: int = COLUMNS) -> str:
    """Return a document as text for a stream, as wide as its terminal and colored if it has colors.

    The paths of commands are inserted before lines are wrapped, because they make lines longer.
    """
    called = [rewritten(translated(block, language), _as_called) for block in blocks]
    width = columns(stream, widest)
    return terminal_text(called, language, width, color=has_color(stream))


def columns(stream: TextIO, widest: int) -> int:
    """Return the width of a stream in columns, at most `widest`.

    `widest` is returned if the stream is no terminal and COLUMNS is not set.
    """
    width = _terminal_width(stream)
    return widest if width is None else min(width, widest)


def _terminal_width(stream: TextIO) -> int | None:
    """Return the width of a stream in columns, but not less than the narrowest.

    If the stream is no terminal, or one that tells no width, as a serial console, the variable
    COLUMNS gives the width. Return None if it is not set either.
    """
    width = 0
    with suppress(OSError, ValueError):
        width = os.get_terminal_size(stream.fileno()).columns
    if not width:
        with suppress(ValueError):
            width = int(os.environ.get("COLUMNS", ""))
    return max(width, _NARROWEST) if width > 0 else None


class Progress:
    """A line on stderr that says what the run is doing. There is none without a terminal.

    Only the main thread shows and erases the line. Another thread could show it again while
    something else is written.
    """

    def __init__(
        self, language: Language = "en", *, enabled: bool | None = None, verbosity: int = 0
    ) -> None:
        """Begin without a line. `enabled` says whether there is one; None lets stderr decide."""
        self.language = language
        # Below 0, notes and warnings are not printed. Above 0, each request and each read of the
        # cache is printed.
        self.verbosity = verbosity
        is_enabled = sys.stderr.isatty() if enabled is None else enabled
        self._enabled = is_enabled and verbosity >= 0
        self._live: Live | None = None
        # Guards the line, as warnings come from any thread.
        self._lock = threading.RLock()
        self._label = ""
        self._place = ""
        self._counters: Message | None = None
        self._transfers: Message | None = None
        # When a transfer was first reported, and its bytes at that moment.
        self._transfer_start: tuple[float, int] | None = None
        self._warned: set[str] = set()

    def place(self, text: str) -> None:
        """Set a prefix for all further labels, such as `2/5 ` for the second of five stacks."""
        self._place = text

    def label(self, code: str, /, **values: object) -> None:
        """Show what the run is doing: the message with this code."""
        self._label = self._place + translate(message(code, **values), self.language)
        self._begin()

    def solving(self, rounds: int, packages: int) -> None:
        """Show the progress of the solver, which calls this in each round."""
        counts = [
            message("cli.packages", count=packages),
            message("cli.steps", count=rounds),
        ]
        self._counters = joined("conflict.clause", counts)
        self._begin()

    def fetching(self, traffic: Traffic) -> None:
        """Show how much was requested. The catalog calls this from its thread."""
        megabytes = f"{traffic.bytes / 1e6:.0f}"
        self._transfers = message("cli.requests", count=traffic.requests, size=megabytes)

    def copying(self, copied: TransferProgress) -> None:
        """Show the progress and the speed of a transfer, which calls this from its thread."""
        now = time.monotonic()
        if self._transfer_start is None:
            self._transfer_start = (now, copied.bytes)
        began, bytes_before = self._transfer_start
        seconds = max(now - began, 1 / _REDRAWS_PER_SECOND)
        rate = max((copied.bytes - bytes_before) / seconds, 0)
        size: str | Message = f"{copied.bytes / 1e6:.0f}"
        if copied.total is not None:
            size = message("cli.of", part=size, whole=f"{copied.total / 1e6:.0f}")
        all_files = message("cli.files", count=copied.of_files)
        self._counters = message("cli.of", part=copied.files, whole=all_files)
        self._transfers = message("cli.transfer", size=size, rate=f"{rate / 1e6:.1f}")

    def warn(self, warning: Message) -> None:
        """Print a warning on its own line, unless the same was printed before."""
        text = translate(warning, self.language)
        if text in self._warned or self.verbosity < 0:
            return
        self._warned.add(text)
        harmless_text = "\n".join(map(escaped, text.split("\n")))
        line = translate("cli.warning", self.language, message=harmless_text)
        label = translate("cli.warning", self.language, message="").rstrip()
        color = has_color(sys.stderr)
        self._print(styled(label, color, "bold yellow") + line.removeprefix(label) + "\n")

    def trace(self, read: Message) -> None:
        """Print what was read from where, if the run is verbose. Any thread may call this."""
        if self.verbosity > 0:
            self._print(escaped(translate(read, self.language)) + "\n")

    def _print(self, shown: str) -> None:
        """Print lines on stderr, above the line of progress if that is shown."""
        color = has_color(sys.stderr)
        # This process may work for another one that shows its progress on the same terminal.
        over = not self._enabled and color and sys.stderr.isatty()
        with self._lock:
            was_shown = self._live is not None
            self.clear()
            write(sys.stderr, shown, _terminal_width(sys.stderr), over=over)
            if was_shown:
                self._begin()

    def say(self, text: str) -> None:
        """Print a note on stderr, unless the run is quiet."""
        if self.verbosity < 0:
            return
        self.clear()
        print_to_stderr(text)

    def clear(self) -> None:
        """Erase the line until there is new progress."""
        with self._lock:
            if self._live is not None:
                self._live.stop()
                self._live = None

    def _begin(self) -> None:
        """Show the line. rich redraws it in a thread of its own."""
        with self._lock:
            if not self._enabled or self._live is not None:
                return
            from rich.console import Console
            from rich.live import Live

            console = Console(file=sys.stderr, force_terminal=True)
            self._live = Live(
                get_renderable=self._line,
                console=console,
                refresh_per_second=_REDRAWS_PER_SECOND,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
            # Show the cursor, because a killed run could not do so later.
            console.show_cursor()

    def _line(self) -> Text:
        """Return the text of the line: the label and the numbers."""
        from rich.text import Text

        parts = [part for part in (self._counters, self._transfers) if part is not None]
        texts = [translate(part, self.language) for part in parts]
        figures = translate("semicolon", self.language).join(texts)
        line = self._label + figures
        if self._label and figures:
            line = translate("cli.going-on", self.language, label=self._label, done=figures)
        return Text(escaped(line), no_wrap=True, overflow="ellipsis")


@dataclass
class ConflictPage:
    """Writes the explanations of conflicts, with an empty line between two targets."""

    # Where the conflicts are written; None for nowhere.
    out: TextIO | None
    # The progress of the run, which is erased before something is written.
    progress: Progress
    # Options of this run that suggested commands must repeat: no file records them.
    options: tuple[str, ...] = ()
    # Whether the stack's file is restored after an edit. No command is suggested then, because it
    # would read the restored file.
    undone: bool = False
    # Whether something was written.
    _begun: bool = field(default=False, init=False)
    # How many contradictions of the current target were written.
    _written: int = field(default=0, init=False)
    # How many more lines may be written before the ways out of the current target.
    _lines_left: int = field(default=_WHY, init=False)

    def why(
        self,
        problem: Problem,
        contradictions: tuple[Contradiction, ...],
        awaited: tuple[Awaited, ...] = (),
        expected: Expected | None = None,
    ) -> None:
        """Write why there is no solution. The ways out are found much later."""
        from resolver.report.explanation.conflict import conflict_pages
        from resolver.report.explanation.sentences import condensed

        self._written = len(condensed(contradictions))
        self.write("\n" if self._begun else "")
        self._lines_left = _WHY
        self._write_fitting(conflict_pages(problem, contradictions, awaited, expected))
        self.write("\n")
        self._warn_of_other_indexes(contradictions)

    def ways(self, explanation: Explanation) -> None:
        """Write the contradictions that were found since `why` was called, then the ways out."""
        from resolver.report.explanation.conflict import further_pages, ways_out_blocks
        from resolver.report.explanation.sentences import condensed

        further = condensed(explanation.contradictions)[self._written :]
        if further:
            self._write_fitting(further_pages(further))
            self.write("\n")
        explanation = replace(explanation, options=(*explanation.options, *self.options))
        in_checkout = Path("Makefile").is_file() and Path("matrices").is_dir()
        self.write_blocks(ways_out_blocks(explanation, in_checkout=in_checkout, undone=self.undone))

    def write_blocks(self, blocks: Document) -> None:
        """Write blocks, no wider than the terminal."""
        if self.out is not None:
            self._write(for_stream(blocks, self.progress.language, self.out, WIDTH))

    def _write_fitting(self, pages: Iterable[Document]) -> None:
        """Write the first of these pages that is short enough, or else the last one."""
        if self.out is None:
            return
        text = ""
        for page in pages:
            text = for_stream(page, self.progress.language, self.out, WIDTH)
            if text.count("\n") <= self._lines_left:
                break
        self._write(text)
        # Count the empty line below as well.
        self._lines_left -= text.count("\n") + 1

    def _warn_of_other_indexes(self, contradictions: Iterable[Contradiction]) -> None:
        """Warn that pip would ask further indexes for a project that no index here has.

        The settings of pip on this machine may name such indexes. This program ignores them.
        """
        from resolver.index.net.pipconfig import read_pip_config
        from resolver.model.constraint import NoCandidate, Unavailable

        if self.out is None:
            return
        missing: dict[str, None] = {}
        for contradiction in contradictions:
            for reason in contradiction.reasons:
                constraint = reason.constraint
                if reason.evidence.at_commit is not None:
                    continue
                if isinstance(constraint, Unavailable) and constraint.why is NoCandidate.PROJECT:
                    missing[f"`{constraint.project}`"] = None
        if not missing:
            return
        options = tuple(read_pip_config().ignored_options)
        if options:
            names = tuple(missing)
            self.progress.warn(message("cli.not-followed", options=options, names=names))

    def write(self, text: str) -> None:
        """Write a text. Commands in it start with the path of this program."""
        self._write(_as_called(text))

    def _write(self, text: str) -> None:
        """Write a text, unless there is nowhere to write."""
        if self.out is not None:
            self.progress.clear()
            print_text(text, self.out)
            self._begun = True
