"""How long and how often a host is asked, and for how long one that never answered is left alone."""

from __future__ import annotations

import asyncio
import random
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

from resolver.errors import Unreachable

BUSY: Final = frozenset({408, 429, 500, 502, 503, 504})
_LONGEST_WAIT: Final = 20.0  # seconds that a Retry-After may ask for
_DEAD: Final = 30.0  # seconds during which a host that never answered is not asked again


class Patience(NamedTuple):
    """How long and how often an index is tried. Seconds; `pause` is the first wait between tries."""

    tries: int = 4
    connect: float = 10.0
    pause: float = 0.4

    def wait(self, number: int, retry_after: str = "") -> float:
        """The seconds after that try, at least those of a Retry-After (RFC 9110, 10.2.3) up to a limit."""
        own: float = self.pause * 3 ** (number - 1) * random.uniform(0.6, 1.2)  # noqa: S311
        return max(own, _seconds(retry_after))


BRIEF: Final = Patience(tries=2, connect=3.0)


class Host:
    """What is known about an origin. The first request goes alone, or 150 at once would each wait for a dead host."""

    def __init__(self) -> None:
        self.has_answered = False
        self._first: asyncio.Future[None] | None = None
        self._dead: dict[Patience, tuple[float, Unreachable]] = {}

    async def begin(self, patience: Patience) -> None:
        """Wait for the first request, or be it. Raises Unreachable if one with as much patience just gave up."""
        while self._first is not None:
            await asyncio.shield(self._first)
        if self.has_answered:
            return
        now = asyncio.get_running_loop().time()
        for known, (until, failure) in self._dead.items():
            if known.tries >= patience.tries and now < until:
                raise failure
        self._first = asyncio.get_running_loop().create_future()

    def answered(self) -> None:
        """There is an answer: the others need not wait for its body."""
        self.has_answered = True
        self.end()

    def end(self) -> None:
        """Release those who wait for the first request."""
        if self._first is not None:
            self._first.set_result(None)
            self._first = None

    def give_up(self, patience: Patience, failure: Unreachable) -> None:
        """Do not ask it for a while, if it never answered within that patience."""
        if not self.has_answered:
            self._dead[patience] = asyncio.get_running_loop().time() + _DEAD, failure


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(value) - datetime.now(timezone.utc)).total_seconds()
        except (TypeError, ValueError, OverflowError):
            return 0.0
    return min(max(seconds, 0.0), _LONGEST_WAIT) if seconds == seconds else 0.0
