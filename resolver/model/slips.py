"""Slips of the pen in requirements and TOML, and what was most likely meant."""

from __future__ import annotations

import re
from typing import Final

from packaging.requirements import InvalidRequirement

from resolver.model.text import requirement
from resolver.phrase import EMPTY, Phrase, phrase

# The full-width signs of a Chinese keyboard, and the ASCII signs on the same keys.
_FULL_WIDTH: Final = {
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "＂": '"',
    "＇": "'",
    "，": ",",
    "、": ",",
    "；": ";",
    "：": ":",
    "．": ".",
    "。": ".",
    "＝": "=",
    "＜": "<",
    "＞": ">",
    "！": "!",
    "～": "~",
    "＃": "#",
    "（": "(",
    "）": ")",
    "［": "[",
    "］": "]",
    "【": "[",
    "】": "]",
    "｛": "{",
    "｝": "}",
    "\u3000": " ",
}
_TO_ASCII: Final = str.maketrans(_FULL_WIDTH)
# The full-width forms of all ASCII characters: U+FF01 is that of `!`, and so on.
_WIDE: Final = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_ALL_TO_ASCII: Final = str.maketrans({**_WIDE, **_FULL_WIDTH})
_SIGN: Final = re.compile(f"[{''.join(_FULL_WIDTH)}]")
_QUOTE: Final = re.compile("[“”‘’＂＇]")

_NAME: Final = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?"
_EXTRAS: Final = rf"(?:\[{_NAME}(?:\s?,\s?{_NAME}){{0,9}}\])?"
# What fits has no secret: it is a version of PEP 440 without a local label, which could be any
# word. A version alone has a dot.
_SUFFIXES: Final = r"(?:(?:a|b|rc)[0-9]{1,4})?(?:\.(?:post|dev)[0-9]{1,8}){0,2}"
_DOTTED: Final = rf"[0-9]{{1,8}}(?:\.[0-9]{{1,8}}){{1,5}}{_SUFFIXES}"
_VERSION: Final = rf"[0-9]{{1,8}}(?:\.[0-9]{{1,8}}){{0,5}}{_SUFFIXES}(?:\.\*)?"
_COMPARISON: Final = rf"(?:[<>=!~]=|[<>])\s?{_VERSION}"
# `NAME=VERSION` of conda, `NAME@VERSION` of npm, `NAME VERSION` of `pip list`.
_BARE_VERSION: Final = re.compile(
    rf"(?P<project>{_NAME}\s?{_EXTRAS})\s?[=@\s]\s?(?P<version>{_DOTTED})"
)
_COMPARED: Final = re.compile(
    rf"{_NAME}\s?{_EXTRAS}\s?{_COMPARISON}(?:\s?,\s?{_COMPARISON}){{0,9}}"
)
# The operators `<=` and `>=` with their signs exchanged.
_EXCHANGED: Final = re.compile(r"=([<>])")
# A line that begins a table, or sets a key.
_TABLE_OR_KEY: Final = re.compile(r"\s*(\[|[\w.\"'-]+\s*=)")
# A string, a comment or a bracket of TOML. A string without an end matches, too, so that each
# character is read once.
_TOML_TOKEN: Final = re.compile(
    r'"""[\s\S]*?(?:"""|\Z)|\'\'\'[\s\S]*?(?:\'\'\'|\Z)'
    r'|"(?:[^"\\\n]|\\.)*"?|\'[^\'\n]*\'?|#[^\n]*|[\[\]]'
)


def likely_requirement(line: str) -> str:
    """Return the requirement (PEP 508) that a line which is none most likely means.

    Empty if that is unknown, or if the line may contain a secret.
    """
    plain = line.translate(_TO_ASCII).strip()
    bare = _BARE_VERSION.fullmatch(plain)
    if bare is not None:
        plain = f"{bare['project'].strip()}=={bare['version']}"
    plain = _EXCHANGED.sub(r"\1=", plain)
    if plain == line.strip() or not _COMPARED.fullmatch(plain):
        return ""
    try:
        requirement(plain)
    except InvalidRequirement:
        return ""
    return plain


def requirement_hint(line: str) -> Phrase:
    """Return a hint with what a line that is no requirement most likely means; empty if unknown.

    It names a full-width sign of the line, which looks like the one that is needed.
    """
    sign = _SIGN.search(line)
    meant = likely_requirement(line)
    if sign is not None:
        return _full_width_hint(sign[0], meant or sign[0].translate(_TO_ASCII))
    return phrase("did you mean `{name}`?", name=meant) if meant else EMPTY


def full_width_hint(text: str) -> Phrase:
    """Return a hint with a text in ASCII that has a full-width character; empty if it has none."""
    meant = text.translate(_ALL_TO_ASCII)
    signs = [written for written, char in zip(text, meant, strict=True) if written != char]
    return _full_width_hint(signs[0], meant) if signs else EMPTY


def toml_hint(text: str, number: int, column: int) -> Phrase:
    """Return a hint about what makes a text no TOML; empty if nothing is likely.

    The likely mistakes are a full-width sign and an array without an end. `number` is the line of
    the error and `column` its column, both from 1. A string that does not end is reported at the
    end of its line; then a full-width quote is what should have ended it.
    """
    lines = text.split("\n")
    line = lines[number - 1]
    sign = _SIGN.match(line, column - 1)
    if sign is None and column > len(line):
        sign = _QUOTE.search(line)
    if sign is not None:
        return _full_width_hint(sign[0], sign[0].translate(_TO_ASCII))
    # An array that lacks its end takes the next table or key for an element.
    if _TABLE_OR_KEY.match(line):
        begin = _open_array("\n".join(lines[: number - 1]))
        if begin:
            return phrase("does the array that begins in line {line} lack its `]`?", line=begin)
    return EMPTY


def _open_array(text: str) -> int:
    """Return the number of the line where the array begins that a text leaves open; 0 for none."""
    open_at: list[int] = []
    for token in _TOML_TOKEN.finditer(text):
        if token[0] == "[":
            open_at.append(token.start())
        elif token[0] == "]" and open_at:
            open_at.pop()
    return text.count("\n", 0, open_at[0]) + 1 if open_at else 0


def is_slip(written: str, meant: str) -> bool:
    """Return whether a name may be a slip of the pen for another one.

    Apart from `-`, they differ by one character that is added, missing or another one, or by two
    neighbours in the wrong order.
    """
    short, long = sorted((written.replace("-", ""), meant.replace("-", "")), key=len)
    if short == long:
        return True
    same = 0
    while same < len(short) and short[same] == long[same]:
        same += 1
    # Both tails begin with the first character that differs.
    short_tail, long_tail = short[same:], long[same:]
    if len(short) < len(long):
        return short_tail == long_tail[1:]
    is_replaced = short_tail[1:] == long_tail[1:]
    is_swapped = short_tail[:2] == long_tail[1::-1] and short_tail[2:] == long_tail[2:]
    return is_replaced or is_swapped


def is_other_name(written: str, meant: str) -> bool:
    """Return whether a name differs from a similar one by a word, and so names something else.

    Words are between hyphens. One that is a slip of the pen for the other, or short for it, is the
    same word. Names with different numbers of words are not compared.
    """
    words, others = written.split("-"), meant.split("-")
    if len(words) != len(others) or len(words) == 1:
        return False
    differing = [pair for pair in zip(words, others, strict=True) if pair[0] != pair[1]]
    return not all(is_slip(*pair) or _is_short_for(*pair) for pair in differing)


def _is_short_for(first: str, second: str) -> bool:
    """Return whether the shorter of two words has letters of the other one, in their order."""
    short, long = sorted((first, second), key=len)
    letters = iter(long)
    return all(letter in letters for letter in short)


def _full_width_hint(sign: str, meant: str) -> Phrase:
    """Return the hint to write something else in place of a full-width sign."""
    return phrase("it has the full-width sign `{sign}`: write `{meant}`", sign=sign, meant=meant)
