"""Where time goes: parts add up, the innermost counts, other threads count with their CPU, and off means off."""

from __future__ import annotations

import builtins
import threading
import time
from collections.abc import Iterator

import pytest

from resolver import profile
from resolver.catalog.meter import Traffic
from resolver.cli.cost import cost_json, cost_text
from resolver.profile import PARTS, Profile, Span, counts


@pytest.fixture
def measured() -> Iterator[None]:
    profile.begin()
    yield
    if profile._recorder is not None:
        profile.end()


@counts("parsing")
def parse(seconds: float) -> str:
    time.sleep(seconds)
    return "parsed"


@counts("solving")
def solve() -> str:
    time.sleep(0.01)
    return parse(0.02)


@counts("checking")
def burn() -> None:
    until = time.thread_time() + 0.02
    while time.thread_time() < until:
        pass


def test_time_counts_for_the_innermost_part_and_parts_add_up(measured: None) -> None:
    assert solve() == "parsed"
    found = profile.end()
    assert 0.01 <= found.parts["solving"].wall < 0.03
    assert found.parts["parsing"].wall >= 0.02
    assert sum(part.wall for part in found.parts.values()) == pytest.approx(found.whole.wall)
    assert found.parts["parsing"].cpu < 0.02, "sleeping takes no processor"
    assert found.peak > 1 << 20


def test_what_fails_counts_all_the_same(measured: None) -> None:
    with pytest.raises(TypeError):
        parse("no number")  # type: ignore[arg-type]
    parse(0.0)
    assert profile.end().parts["other"].wall > 0


def test_other_threads_count_with_their_processor_time_only(measured: None) -> None:
    thread = threading.Thread(target=burn)
    thread.start()
    thread.join()
    found = profile.end().parts["checking"]
    assert found.cpu >= 0.02
    assert found.wall == 0


def test_an_import_inside_a_part_counts_as_an_import(measured: None) -> None:
    @counts("writing")
    def write() -> None:
        import this_module_is_not_there  # noqa: F401

    with pytest.raises(ModuleNotFoundError):
        write()
    assert profile.end().parts["imports"].wall > 0


def test_nothing_is_measured_or_changed_unless_asked_for() -> None:
    before = builtins.__import__
    assert solve() == "parsed"
    profile.begin()
    assert builtins.__import__ is not before
    profile.begin()
    found = profile.end()
    assert builtins.__import__ is before
    assert found.parts["solving"] == Span(0, 0)


COST = Profile(
    Span(1.5, 1.25), {part: Span(0.5, 0.25) if part == "solving" else Span(0, 0) for part in PARTS}, 42_000_000
)


def test_a_cost_is_told_with_the_parts_that_took_time() -> None:
    assert cost_text(COST, Traffic(7, 2_500_000, 3, 2), 11) == (
        "profile: 1.50 s, 1.25 s of CPU, 42 MB at most\n"
        "            wall s   CPU s\n"
        "solving      0.500   0.250   search, complete engine, explanations\n"
        "7 requests, 2.5 MB received; 11 rounds\n"
        "3 answers from the cache, 2 of them pages that the index has as before\n"
    )


def test_a_cost_as_json_is_one_line() -> None:
    told = cost_json(COST, Traffic(7, 2_500_000, 3, 2), 11)
    assert told.startswith('{"profile": {"wall": 1.5, "cpu": 1.25, "peak": 42000000, "parts": {"start": {"wall": 0,')
    assert told.endswith('"rounds": 11, "requests": 7, "bytes": 2500000, "hits": 3, "revalidated": 2}}\n')
    assert told.count("\n") == 1
