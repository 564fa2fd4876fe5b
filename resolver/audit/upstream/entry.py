"""Define what parsers of upstream's files are given, a TextFile, and what they return, Entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from resolver.errors import InputError, escaped
from resolver.phrase import Phrase, phrase

Value = str | tuple[str, ...]

# The longest value, in characters. Usual values have a few dozen.
_LONGEST: Final = 300
# The longest line, in characters.
_LONGEST_LINE: Final = 20_000


class TextFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file at one commit of a repository, or in an archive."""

    # A reference to the file in the form that the `source` of a fact has: `OWNER/REPO PATH
    # @COMMIT`, or the archive's name, hash and member.
    where: str
    # The path in the repository.
    path: str
    # The content of the file.
    text: str
    # The commits of the repository's submodules at that commit, by their paths.
    submodules: Mapping[str, str] = {}

    def lines(self) -> list[str]:
        """Return the lines of the text. Raises InputError if one is so long that it is no text."""
        lines = self.text.splitlines()
        for number, line in enumerate(lines, 1):
            if len(line) > _LONGEST_LINE:
                why = phrase("it has {count} characters", count=len(line))
                raise InputError(phrase("a line is too long"), where=self.at(number), why=why)
        return lines

    def at(self, first: int, last: int = 0) -> str:
        """Return a reference to lines of the file in the form that the `source` of a fact has.

        Lines count from 1. Without `last`, it is one line.
        """
        place = f"{self.where} #L{first}"
        return f"{place}-L{last}" if last > first else place

    def value(self, text: str, number: int, what: Phrase) -> str:
        """Return a value that was read in a line, with single spaces in it.

        `what` is the name of the value in messages. Raises InputError if it is too long, or has
        characters that do not print.
        """
        plain = " ".join(text.split())
        if not plain.isprintable():
            why = phrase("it has characters that do not print: `{text}`", text=escaped(plain))
        elif len(plain) > _LONGEST:
            why = phrase(
                "it has {count} characters, and a value has at most {limit}",
                count=len(plain),
                limit=_LONGEST,
            )
        else:
            return plain
        raise InputError(phrase("{key} cannot be used", key=what), where=self.at(number), why=why)


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What one row of a table says, or what a file that is no table says as a whole."""

    # The values by their columns.
    values: Mapping[str, Value]
    # The first and the last line with these values, from 1.
    first: int
    last: int
