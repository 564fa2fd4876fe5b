"""Write the help of commands in the language of the run. In English, click's own code does it.

In another language, each paragraph is translated by itself. Lines are wrapped by their width on a
terminal: click counts characters, but a Chinese one takes two columns.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from typing import Final

import click

from resolver.cli.language import run_language
from resolver.i18n import translate_phrase
from resolver.model.text import Language
from resolver.phrase import as_phrase, phrase

# The headings that click itself writes.
_HEADINGS: Final = {
    "Options": phrase("Options"),
    "Options of every command": phrase("Options of every command"),
    "Commands": phrase("Commands"),
    "Positional arguments": phrase("Positional arguments"),
}
_USAGE: Final = phrase("Usage: ")
OF_CLICK: Final = (phrase("Show this message and exit."), phrase("Show the version and exit."))
_REQUIRED: Final = phrase("required")
# The beginning of a paragraph whose lines are not wrapped.
_UNWRAPPED: Final = "\b\n"
# A line of examples: a command, then what it does.
_EXAMPLE: Final = re.compile(r"( +\S.*?  +)(\S.*)")
# The words that click adds to the help of an option, such as `  [default: 2; x>=1]`.
_ADDED: Final = re.compile(r"(?:(.*?)  )?\[([^\]]*)\]", re.DOTALL)
_DEFAULT: Final = "default: "


class Formatter(click.HelpFormatter):
    """Formats the text of `--help` in a language other than English."""

    def __init__(self, language: Language, width: int | None, max_width: int | None) -> None:
        super().__init__(width=width, max_width=max_width)
        self._language = language

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the line with the command and its arguments."""
        if prefix is None:
            prefix = translate_phrase(_USAGE, self._language)
        super().write_usage(prog, args, prefix)

    def write_heading(self, heading: str) -> None:
        """Write the heading of a section."""
        if heading in _HEADINGS:
            heading = translate_phrase(_HEADINGS[heading], self._language)
        line = translate_phrase(phrase("{heading}:", heading=heading), self._language)
        self.write(f"{'':>{self.current_indent}}{line}\n")

    def write_text(self, text: str) -> None:
        """Write paragraphs of text."""
        indent = " " * self.current_indent
        paragraphs = []
        for paragraph in _paragraphs(text):
            if isinstance(paragraph, str):
                lines = self._wrapped(self._translated(paragraph), indent, indent)
            else:
                lines = [indent + self._line(line) for line in paragraph]
            paragraphs.append("\n".join(lines))
        self.write("\n\n".join(paragraphs) + "\n")

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write options or commands, each with what it does."""
        listed = list(rows)
        column = min(max(len(term) for term, _ in listed), col_max) + col_spacing
        before = " " * (self.current_indent + column)
        for term, text in listed:
            first = f"{'':>{self.current_indent}}{term:<{column}}"
            if len(term) + col_spacing > column:
                self.write(f"{first.rstrip()}\n")
                first = before
            lines = self._wrapped(self._of_option(text), first, before)
            self.write("\n".join(lines).rstrip() + "\n")

    def _of_option(self, text: str) -> str:
        """Return the translated help of an option or a command, with what click adds to it."""
        match = _ADDED.fullmatch(text)
        if match is None:
            return self._translated(text)
        added = []
        for part in match[2].split("; "):
            value = part.removeprefix(_DEFAULT)
            addition = phrase("{value}", value=value)
            if value != part:
                addition = phrase("default: {value}", value=value)
            elif part == _REQUIRED.template:
                addition = _REQUIRED
            added.append(translate_phrase(addition, self._language))
        before = f"{self._translated(match[1])}  " if match[1] else ""
        return f"{before}[{'; '.join(added)}]"

    def _line(self, line: str) -> str:
        """Return a line of examples in which the words after the command are translated."""
        match = _EXAMPLE.fullmatch(line)
        return match[1] + self._translated(match[2]) if match else self._translated(line)

    def _translated(self, text: str) -> str:
        """Return the translation of a text."""
        return translate_phrase(as_phrase(text), self._language)

    def _wrapped(self, text: str, first: str, hanging: str) -> list[str]:
        """Return a text as lines that fit."""
        # It measures text with rich, which English help does not need.
        from resolver.report.terminal import wrapped

        return wrapped(text, first, hanging, self.width)


class Context(click.Context):
    """A context whose help is in the language of the run."""

    def make_formatter(self) -> click.HelpFormatter:
        """Return the formatter of the help."""
        language = run_language()
        if language == "en":
            return super().make_formatter()
        return Formatter(language, self.terminal_width, self.max_content_width)


def summary(command: click.Command) -> str:
    """Return the summary of a command for a list.

    It is the short help of the command, or else the first paragraph of its help.
    """
    return command.short_help or next(sentences(command.help or ""), "")


def sentences(text: str) -> Iterator[str]:
    """Yield the texts of a help that are translated, each by itself."""
    for paragraph in _paragraphs(text):
        if isinstance(paragraph, str):
            yield paragraph
            continue
        for line in paragraph:
            match = _EXAMPLE.fullmatch(line)
            yield match[2] if match else line


def _paragraphs(text: str) -> Iterator[str | list[str]]:
    """Yield each paragraph as one line, or as a list of lines if these must not be wrapped."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith(_UNWRAPPED):
            yield paragraph.removeprefix(_UNWRAPPED).split("\n")
        elif paragraph.strip():
            yield " ".join(paragraph.split())
