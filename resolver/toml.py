"""TOML within limits: what a text has is counted before tomli builds it.

A table takes tomli about a kilobyte, whatever its length in the text, and a number a hundred bytes
a digit. So the limits are on what is built: no text takes more than the figures beside its limits.
No other module calls tomli, as ruff's rule TID251 sees to.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import tomli

DecodeError = tomli.TOMLDecodeError


class Limits(NamedTuple):
    """The most that a text may have."""

    characters: int
    tables: int
    """Tables, arrays and the parts of dotted keys."""
    values: int
    """Elements of arrays and values of keys; also escapes in strings."""


SOURCE_TREE: Final = Limits(256 << 10, 5_000, 20_000)  # pyproject.toml of others: 32 MiB
STACK: Final = Limits(128 << 10, 5_000, 10_000)  # is also edited, by tomlkit: 16 MiB
MATRICES: Final = Limits(512 << 10, 20_000, 40_000)  # facts, indexes and the like: 32 MiB
LOCK: Final = Limits(4 << 20, 50_000, 200_000)  # 64 MiB
IMPORTED: Final = Limits(
    4 << 20, 100_000, 200_000
)  # pyproject.toml and pylock.toml of the user: 128 MiB

_LONGEST: Final = 1_000  # characters of a number, date or bare key

# What has no effect on what is built: strings of each kind, and comments. Only an escape begins
# another round of a group, as each takes the regular expression some hundred bytes.
_TEXTS: Final = re.compile(
    r'"""[^\\]*?(?:\\.[^\\]*?)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*",
    re.DOTALL,
)
_WORD: Final = re.compile(rf"[0-9A-Za-z_+:-]{{{_LONGEST + 1}}}")


class LimitError(ValueError):
    """A text has more than it may have; the message is a clause that says of what."""


def loads(text: str, limits: Limits) -> dict[str, Any]:
    """Return the tables of a text.

    Raises LimitError, DecodeError and, for what is nested deeply, RecursionError.

    ValueError, which these are but for the last one, stands for a number with thousands of digits
    as well.
    """
    if len(text) > limits.characters:
        raise LimitError(f"it has more than {limits.characters >> 10} KiB")
    if text.count("\\") > limits.values:
        raise LimitError(f"it has more than {limits.values} escapes")
    bare = _TEXTS.sub('""', text)
    if _WORD.search(bare) is not None:
        raise LimitError(f"it has a number or key of more than {_LONGEST} characters")
    if sum(map(bare.count, ".[{")) > limits.tables:
        raise LimitError(f"it has more than {limits.tables} tables")
    if sum(map(bare.count, "=,")) > limits.values:
        raise LimitError(f"it has more than {limits.values} values")
    return tomli.loads(text)
