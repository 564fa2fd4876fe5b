"""Questions that no solver answers in time end, and what is asked meanwhile is heard."""

from __future__ import annotations

import time

import pytest

from resolver.errors import UndecidedError
from resolver.index.protocol import polling
from resolver.resolve import sat
from resolver.resolve.solver import prove
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import problem


def pigeonholes(holes: int) -> Universe:
    """One pigeon more than there are holes: each needs a hole of its own."""
    pigeons = [f"pigeon{number}" for number in range(holes + 1)]
    catalog = DataCatalog()
    for pigeon in pigeons:
        for hole in range(holes):
            catalog.add_wheel(
                pigeon, f"{hole + 1}", [f"hole{hole}=={pigeon.removeprefix('pigeon')}"]
            )
    for hole in range(holes):
        for number in range(holes + 1):
            catalog.add_wheel(f"hole{hole}", str(number))
    return Universe(problem(*pigeons), catalog)


def test_prove_gives_up_after_too_many_conflicts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sat, "MOST_CONFLICTS", 10_000)
    with pytest.raises(UndecidedError, match="within the search limits"):
        prove(pigeonholes(13))


def test_prove_ends_if_polling_raises() -> None:
    begun = time.monotonic()

    class Told(Exception):
        pass

    def stop_after_a_second() -> None:
        if time.monotonic() - begun > 1:
            raise Told

    with pytest.raises(Told), polling(stop_after_a_second):
        prove(pigeonholes(13))
    assert time.monotonic() - begun < 5
