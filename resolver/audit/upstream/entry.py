"""What parsers read, a file with its place, and what they return, its entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from resolver.errors import InputError, escaped
from resolver.phrase import Phrase, phrase

Value = str | tuple[str, ...]

# Characters of a value. A cell of a table has a few dozen.
_LONGEST: Final = 300
# Characters of a line.
_LONGEST_LINE: Final = 20_000


class TextFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file at one commit of a repository, or in an archive."""

    # Where it is, as sources of facts have it: `OWNER/REPO PATH @COMMIT`, or the archive's name and
    # the member.
    where: str
    # The path in the repository.
    path: str
    text: str
    # The commits of the repository's submodules at that commit, by their paths.
    submodules: Mapping[str, str] = {}

    def lines(self) -> list[str]:
        """Return the lines of the text. Raise InputError if one is so long that it is no text."""
        lines = self.text.splitlines()
        for number, line in enumerate(lines, 1):
            if len(line) > _LONGEST_LINE:
                why = phrase("it has {count} characters", count=len(line))
                raise InputError(phrase("a line is too long"), where=self.at(number), why=why)
        return lines

    def at(self, first: int, last: int = 0) -> str:
        """Return the reference to lines, from 1, as sources of facts have it."""
        place = f"{self.where} #L{first}"
        return f"{place}-L{last}" if last > first else place

    def value(self, text: str, number: int, what: Phrase) -> str:
        """Return a value that was read in a line, in its plain form.

        `what` is what messages call the value. Raise InputError for one that is too long, or that
        has characters that do not print.
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
    """A row of a table, or what stands for one."""

    # The values by their columns.
    values: Mapping[str, Value]
    # The first and the last line that have them.
    first: int
    last: int
