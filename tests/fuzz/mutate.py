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
        """Return a new input."""
        content = self._random.choice(self.corpus)
        for _ in range(self._random.choice((1, 1, 1, 2, 2, 3, 4, 6))):
            content = self._changed(content)
        return content[:LARGEST]

    def _changed(self, content: bytes) -> bytes:
        change = self._random.choice(
            (
                self._flip,
                self._cut,
                self._repeat,
                self._insert,
                self._insert,
                self._overwrite,
                self._insert_many,
                self._join,
                self._change_number,
                self._change_word,
                self._change_lines,
                self._truncate,
            )
        )
        return change(content)

    def _flip(self, content: bytes) -> bytes:
        """Flip a bit."""
        if not content:
            return content
        position = self._random.randrange(len(content))
        flipped = content[position] ^ (1 << self._random.randrange(8))
        return content[:position] + bytes([flipped]) + content[position + 1 :]

    def _cut(self, content: bytes) -> bytes:
        start, end = self._span(content)
        return content[:start] + content[end:]

    def _repeat(self, content: bytes) -> bytes:
        start, end = self._span(content)
        times = self._random.choice((1, 1, 2, 10))
        return content[:end] + content[start:end] * times + content[end:]

    def _insert(self, content: bytes) -> bytes:
        start, _ = self._span(content)
        return content[:start] + self._random.choice(self._tokens) + content[start:]

    def _overwrite(self, content: bytes) -> bytes:
        start, end = self._span(content)
        return content[:start] + self._random.choice(self._tokens) + content[end:]

    def _insert_many(self, content: bytes) -> bytes:
        start, _ = self._span(content)
        times = self._random.choice((2, 50, 1100))
        return content[:start] + self._random.choice(self._tokens) * times + content[start:]

    def _join(self, content: bytes) -> bytes:
        """Put a part of another input into this one."""
        start, end = self._span(content)
        other = self._random.choice(self.corpus)
        other_start, other_end = self._span(other)
        rest = content[self._random.choice((start, end)) :]
        return content[:start] + other[other_start:other_end] + rest

    def _change_number(self, content: bytes) -> bytes:
        number = self._random.choice((b"0", b"-1", b"1" * 5000, b"99999999999", b"7"))
        return self._replaced(content, _NUMBER, number)

    def _change_word(self, content: bytes) -> bytes:
        words = _WORD.findall(self._random.choice(self.corpus)) or [b"x"]
        return self._replaced(content, _WORD, self._random.choice(words))

    def _truncate(self, content: bytes) -> bytes:
        start, _ = self._span(content)
        return content[:start]

    def _span(self, content: bytes) -> tuple[int, int]:
        """Return start and end of a part."""
        start = self._random.randrange(len(content) + 1)
        length = self._random.choice((1, 1, 2, 4, 8, 16, 64, 256))
        return start, min(len(content), start + length)

    def _replaced(self, content: bytes, pattern: re.Pattern[bytes], new: bytes) -> bytes:
        """Return the content with a match replaced; without one, with `new` at the end."""
        matches = list(pattern.finditer(content))
        if not matches:
            return content + new
        match = self._random.choice(matches)
        return content[: match.start()] + new + content[match.end() :]

    def _change_lines(self, content: bytes) -> bytes:
        """Remove a line, duplicate it, or swap two."""
        lines = content.splitlines(keepends=True)
        if len(lines) < 2:
            return content
        first = self._random.randrange(len(lines))
        second = self._random.randrange(len(lines))
        match self._random.randrange(3):
            case 0:
                del lines[first]
            case 1:
                lines.insert(second, lines[first])
            case _:
                lines[first], lines[second] = lines[second], lines[first]
        return b"".join(lines)


def smaller(content: bytes, fails: Callable[[bytes], bool], tries: int = 400) -> bytes:
    """Return the content with as much as possible removed so that it still fails."""
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
