"""TOML within limits, which are checked before tomli reads a text.

For tomli, a table takes about a kilobyte of memory, however short it is in the text, and a number
takes a hundred bytes a digit. So the limits are on what tomli builds: no text takes more than the
figures beside its limits. No other module calls tomli, which ruff's rule TID251 checks.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import tomli

from resolver.phrase import phrase


class Limits(NamedTuple):
    """The most that a text may have."""

    characters: int
    # Tables, arrays and the parts of dotted keys.
    tables: int
    # Elements of arrays and values of keys. Escapes in strings have the same limit.
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

# Strings of each kind and comments, in which nothing is to be counted. Only an escape repeats a
# group: each repetition takes the regular expression some hundred bytes.
_TEXTS: Final = re.compile(
    r'"""[^\\]*?(?:\\.[^\\]*?)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*",
    re.DOTALL,
)
# What a message of tomli quotes of a text, other than a character.
_QUOTED: Final = re.compile(r"""[('"].{3,}[)'"]""", re.DOTALL)
_WORD: Final = re.compile(rf"[0-9A-Za-z_+:-]{{{_LONGEST + 1}}}")


class LimitError(ValueError):
    """A text exceeds a limit. The message is a clause that says which."""


class DecodeError(ValueError):
    """A text is no TOML. The message is tomli's without keys of the text, which may be secrets."""

    def __init__(self, error: tomli.TOMLDecodeError) -> None:
        # The message without the place.
        self.msg = _QUOTED.sub("…", error.msg)
        # The place, from 1 on.
        self.lineno = error.lineno
        self.colno = error.colno
        super().__init__(str(error).replace(error.msg, self.msg, 1))


def loads(text: str, limits: Limits) -> dict[str, Any]:
    """Return the content of a text.

    Raises LimitError, DecodeError or another ValueError, and RecursionError if it is nested deeply.
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
