"""What parsers read and return: a file with its place, and an entry of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from resolver.errors import InputError, escaped

Value = str | tuple[str, ...]

_LONGEST: Final = 300  # characters of a value; a cell of a table has a few dozen
_LONGEST_LINE: Final = 20_000


class TextFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file at one commit of a repository, or in an archive."""

    # Where it is, as sources of facts have it: `OWNER/REPO PATH @COMMIT`, or the archive's name and
    # the member.
    where: str
    # The path in the repository.
    path: str
    text: str
    # The submodules of the repository at that commit: path -> commit.
    submodules: Mapping[str, str] = {}

    def lines(self) -> list[str]:
        """Return the lines of the text. Raises InputError if one is so long that it is no text."""
        lines = self.text.splitlines()
        for number, line in enumerate(lines, 1):
            if len(line) > _LONGEST_LINE:
                why = f"it has {len(line)} characters"
                raise InputError("a line is too long", where=self.at(number), why=why)
        return lines

    def at(self, first: int, last: int = 0) -> str:
        """Return the reference to lines, from 1, as sources of facts have it."""
        return f"{self.where} #L{first}" + (f"-L{last}" if last > first else "")

    def value(self, text: str, number: int, what: str) -> str:
        """Return a value that was read in a line, in its plain form.

        Raises InputError for one that is too long, or that has characters that do not print.
        """
        plain = " ".join(text.split())
        if not plain.isprintable():
            why = f"it has characters that do not print: `{escaped(plain)}`"
            raise InputError(f"{what} cannot be used", where=self.at(number), why=why)
        if len(plain) > _LONGEST:
            why = f"it has {len(plain)} characters, and a value has at most {_LONGEST}"
            raise InputError(f"{what} cannot be used", where=self.at(number), why=why)
        return plain


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a table, or what stands for one: values by their columns, and the lines that have them."""

    values: Mapping[str, Value]
    first: int
    last: int
