"""Bytes close to what a reader expects: inputs of a corpus changed, cut, repeated and joined.

The seed decides.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from tests.fuzz.tokens import ANY

LARGEST = 1 << 16

_NUMBER = re.compile(rb"\d+")
_WORD = re.compile(rb"[A-Za-z_][\w.-]*")


class Mutator:
    """Makes new inputs from a corpus. `tokens` are strings with a meaning in the format."""

    def __init__(self, corpus: Sequence[bytes], tokens: Sequence[bytes], seed: int) -> None:
        self.corpus = list(corpus)
        self._tokens = (*tokens, *tokens, *ANY)
        self._random = random.Random(seed)

    def next(self) -> bytes:
        content = self._random.choice(self.corpus)
        for _ in range(self._random.choice((1, 1, 1, 2, 2, 3, 4, 6))):
            content = self._changed(content)
        return content[:LARGEST]

    def _changed(self, content: bytes) -> bytes:
        draw = self._random
        start, end = self._span(content)
        match draw.randrange(12):
            case 0 if content:
                at = draw.randrange(len(content))
                return (
                    content[:at]
                    + bytes([content[at] ^ (1 << draw.randrange(8))])
                    + content[at + 1 :]
                )
            case 1:
                return content[:start] + content[end:]
            case 2:
                return (
                    content[:end] + content[start:end] * draw.choice((1, 1, 2, 10)) + content[end:]
                )
            case 3 | 4:
                return content[:start] + draw.choice(self._tokens) + content[start:]
            case 5:
                return content[:start] + draw.choice(self._tokens) + content[end:]
            case 6:
                return (
                    content[:start]
                    + draw.choice(self._tokens) * draw.choice((2, 50, 1100))
                    + content[start:]
                )
            case 7:
                other = draw.choice(self.corpus)
                begin, stop = self._span(other)
                return content[:start] + other[begin:stop] + content[draw.choice((start, end)) :]
            case 8:
                return self._replaced(
                    content, _NUMBER, draw.choice((b"0", b"-1", b"1" * 5000, b"99999999999", b"7"))
                )
            case 9:
                words = _WORD.findall(draw.choice(self.corpus)) or [b"x"]
                return self._replaced(content, _WORD, draw.choice(words))
            case 10:
                return self._lines(content)
            case _:
                return content[:start]

    def _span(self, content: bytes) -> tuple[int, int]:
        start = self._random.randrange(len(content) + 1)
        return start, min(len(content), start + self._random.choice((1, 1, 2, 4, 8, 16, 64, 256)))

    def _replaced(self, content: bytes, pattern: re.Pattern[bytes], new: bytes) -> bytes:
        found = list(pattern.finditer(content))
        if not found:
            return content + new
        one = self._random.choice(found)
        return content[: one.start()] + new + content[one.end() :]

    def _lines(self, content: bytes) -> bytes:
        """Remove a line, duplicate it, or swap two."""
        lines = content.splitlines(keepends=True)
        if len(lines) < 2:
            return content
        one, other = self._random.randrange(len(lines)), self._random.randrange(len(lines))
        match self._random.randrange(3):
            case 0:
                del lines[one]
            case 1:
                lines.insert(other, lines[one])
            case _:
                lines[one], lines[other] = lines[other], lines[one]
        return b"".join(lines)


def smaller(content: bytes, fails: Callable[[bytes], bool], tries: int = 400) -> bytes:
    """The content with as much as possible removed so that it still fails."""
    size = max(1, len(content) // 2)
    while size and tries > 0:
        cuts = [*range(0, len(content), size), len(content)]
        for begin, end in pairwise(cuts):
            candidate = content[:begin] + content[end:]
            tries -= 1
            if len(candidate) < len(content) and fails(candidate):
                content = candidate
                break
            if tries <= 0:
                break
        else:
            size //= 2
    return content
