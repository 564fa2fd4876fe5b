"""Each reader of foreign bytes on its corpus and some mutations.

`make fuzz MINUTES=…` does the same for a long time.
"""

from __future__ import annotations

import pytest

from tests.fuzz.hunt import corpus, hunt, verdict
from tests.fuzz.targets import CORPUS, TARGETS, Target

_MUTATIONS = 60


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_reader_holds_on_its_corpus_and_mutations(target: Target) -> None:
    score = hunt(target, seed=20261120, number=_MUTATIONS)
    assert score.found == {}
    assert score.inputs == len(corpus(target)) + _MUTATIONS


def test_corpus_folders_are_those_of_the_readers() -> None:
    assert {path.name for path in CORPUS.iterdir()} == {target.name for target in TARGETS}
    for target in TARGETS:
        read = [content for content in corpus(target) if verdict(target, content) == (False, "")]
        assert read, f"all of {target.name} is refused"


def _brittle(content: bytes) -> None:
    if content.startswith(b"refuse"):
        raise ValueError("refused")
    assert b"needle" not in content


BRITTLE = Target("headers", _brittle, (ValueError,), (b"a needle in hay",))


def test_hunt_finds_and_shortens_what_breaks_a_reader() -> None:
    assert list(hunt(BRITTLE, seed=1, number=200).found.values()) == [b"needle"]
    assert verdict(BRITTLE, b"refuse") == (True, "")
    assert verdict(BRITTLE, b"hay") == (False, "")
    endless = Target("headers", lambda _: all(one == 0 for one in iter(int, 1)), ())
    assert verdict(endless, b"", seconds=0.05) == (False, "TooSlowError at ")
