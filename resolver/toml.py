"""A reader of TOML with limits, which are checked before tomli parses a text.

tomli takes about a kilobyte of memory for each table, however short the table is in the text, and a
hundred bytes for each digit of a number. So the limits are about tables and values. The comments
beside the limits say how much memory a text within them takes at most. No other module calls tomli,
which ruff's rule TID251 checks.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import tomli

from resolver.phrase import phrase


class Limits(NamedTuple):
    """How large a TOML text may be. It is refused if it is larger in one respect."""

    # The most characters.
    characters: int
    # The most tables, arrays and parts of dotted keys together.
    tables: int
    # The most values of keys and elements of arrays together. It is also the limit for escapes in
    # strings.
    values: int


# The pyproject.toml of a project that is locked: 32 MiB.
SOURCE_TREE: Final = Limits(256 << 10, 5_000, 20_000)
# A stack, which tomlkit also edits: 16 MiB.
STACK: Final = Limits(128 << 10, 5_000, 10_000)
# Facts, indexes and the like: 32 MiB.
MATRICES: Final = Limits(512 << 10, 20_000, 40_000)
# A lock: 64 MiB.
LOCK: Final = Limits(4 << 20, 50_000, 200_000)
# The pyproject.toml or pylock.toml of a user: 128 MiB.
IMPORTED: Final = Limits(4 << 20, 100_000, 200_000)

# The longest number, date or bare key in characters.
_LONGEST: Final = 1_000

# Strings of all kinds and comments, in which nothing is counted. Groups are repeated only for
# escapes, since a repetition of a group takes the regular expression some hundred bytes.
_TEXTS: Final = re.compile(
    r'"""[^\\]*?(?:\\.[^\\]*?)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*",
    re.DOTALL,
)
# The parts of a message of tomli that quote more than one character of the text.
_QUOTED: Final = re.compile(r"""[('"].{3,}[)'"]""", re.DOTALL)
# The beginning of a number, date or bare key that is too long.
_WORD: Final = re.compile(rf"[0-9A-Za-z_+:-]{{{_LONGEST + 1}}}")


class LimitError(ValueError):
    """A text exceeds a limit. The message is a clause that says which limit."""


class DecodeError(ValueError):
    """A text is not TOML.

    The message is tomli's own. Quotes from the text are removed, since they may be secrets.
    """

    def __init__(self, error: tomli.TOMLDecodeError) -> None:
        # The message without line and column.
        self.msg = _QUOTED.sub("…", error.msg)
        # The line of the error, counted from 1.
        self.lineno = error.lineno
        # The column of the error, counted from 1.
        self.colno = error.colno
        super().__init__(str(error).replace(error.msg, self.msg, 1))


def loads(text: str, limits: Limits) -> dict[str, Any]:
    """Return the content of a TOML text.

    Raises LimitError if the text exceeds a limit, DecodeError if it is not TOML, another ValueError
    for a value that Python cannot represent, and RecursionError if it is nested too deeply.
    """
    if len(text) > limits.characters:
        raise LimitError(
            phrase("it has more than {characters} KiB", characters=limits.characters >> 10)
        )
    if text.count("\\") > limits.values:
        raise LimitError(phrase("it has more than {values} escapes", values=limits.values))
    structure = _TEXTS.sub('""', text)
    if _WORD.search(structure) is not None:
        raise LimitError(
            phrase("it has a number or key of more than {limit} characters", limit=_LONGEST)
        )
    if sum(structure.count(char) for char in ".[{") > limits.tables:
        raise LimitError(phrase("it has more than {tables} tables", tables=limits.tables))
    if sum(structure.count(char) for char in "=,") > limits.values:
        raise LimitError(phrase("it has more than {values} values", values=limits.values))
    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise DecodeError(error) from None
