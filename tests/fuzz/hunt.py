"""Feeds a target mutated inputs and keeps those that break it."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from resolver.errors import ResolverError
from tests.fuzz.mutate import Mutator, smaller
from tests.fuzz.targets import CORPUS, Target

SECONDS = 5.0  # of processor time; no input has more than 64 KiB
_LONGEST = 40_000  # characters of a refusal: 1,000 of each part, each of them perhaps an escape
_RESOLVER = str(Path(__file__).resolve().parents[2] / "resolver")


class TooSlowError(BaseException):
    """An input takes longer than any of its size should."""


@dataclass
class Score:
    """The inputs of a target: how many there were, and the ones that broke it."""

    target: str
    inputs: int = 0
    refused: int = 0
    found: dict[str, bytes] = field(default_factory=dict)


def corpus(target: Target) -> list[bytes]:
    """Return the committed inputs of a target, including the ones that once broke it."""
    return [path.read_bytes() for path in sorted((CORPUS / target.name).iterdir())]


def verdict(target: Target, content: bytes, seconds: float = SECONDS) -> tuple[bool, str]:
    """Whether the input was refused, and what is wrong with the outcome; empty if nothing is."""
    try:
        with _limited(seconds):
            target.judge(content)
    except target.refusals as refusal:
        return True, _unclear(refusal)
    except (Exception, TooSlowError) as error:
        return False, _place(error)
    return False, ""


def hunt(
    target: Target, *, seed: int, number: int | None = None, seconds: float | None = None
) -> Score:
    """Judge the corpus, then so many mutations of it, or for so long.

    Those that reach new lines are mutated in turn.

    Lines are watched only where the time is given: that costs time, and with a number the same seed
    is to give the same inputs on every machine.
    """
    score = Score(target.name)
    known = corpus(target)
    mutator = Mutator(known, target.tokens, seed)
    watch = _Lines() if number is None else None
    end = time.monotonic() + (seconds or 0.0)
    seeds = iter(known)
    while score.inputs < len(known) + number if number is not None else time.monotonic() < end:
        content = next(seeds, None)
        fresh = content is None
        content = mutator.next() if content is None else content
        with watch or nullcontext():
            refused, wrong = verdict(target, content)
        score.inputs += 1
        score.refused += refused
        if wrong and wrong not in score.found:
            score.found[wrong] = smaller(
                content, lambda cut, wrong=wrong: verdict(target, cut)[1] == wrong
            )
        if watch is not None and watch.grew() and fresh and not wrong:
            mutator.corpus.append(content)
    return score


def _unclear(refusal: Exception) -> str:
    """Faults of a refusal's message."""
    told = str(refusal)
    if not told.strip():
        return f"{type(refusal).__name__} without a message"
    if isinstance(refusal, ResolverError) and len(told) > _LONGEST:
        return f"{type(refusal).__name__} of {len(told)} characters"
    return ""


def _place(error: BaseException) -> str:
    """Return the exception and its place, which inputs that fail alike have in common."""
    trace = error.__traceback__
    where = ""
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if "/resolver/" in path or "/fuzz/targets" in path:
            where = f"{Path(path).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__} at {where}"


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TooSlowError(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


class _Lines:
    """The lines of the program executed so far."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, int]] = set()
        self._before = 0

    def grew(self) -> bool:
        before, self._before = self._before, len(self._seen)
        return self._before > before

    def __enter__(self) -> None:
        sys.settrace(self._call)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _call(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        return self._line if frame.f_code.co_filename.startswith(_RESOLVER) else None

    def _line(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            self._seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line
