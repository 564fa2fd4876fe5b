"""What the catalog is told of before the search asks for it."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.index.protocol import LookAhead
from resolver.model.package import Package
from resolver.model.release import CoreMetadata, File
from resolver.resolve.candidates import ANYTHING
from resolver.resolve.provider import Prefetch
from resolver.resolve.solver import search
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import problem


class Told(DataCatalog):
    def __init__(self, releases: dict[str, dict[str, list[str]]]) -> None:
        super().__init__(releases)
        self.told: list[list[str]] = []
        self.batches: list[list[str]] = []

    def prefetch(
        self,
        wanted: Iterable[tuple[NormalizedName, SpecifierSet]],
        look_ahead: LookAhead | None = None,
    ) -> None:
        assert look_ahead is not None
        self.told.append([f"{name}{specifier}" for name, specifier in wanted])

    def prefetch_metadata(self, files: Iterable[File]) -> None:
        self.batches.append([file.filename for file in files])


def many(*requires: str, newest: int) -> dict[str, list[str]]:
    return {str(number): list(requires) for number in range(1, newest + 1)}


def test_prefetch_of_releases_tried_in_vain_grows() -> None:
    catalog = Told(
        {"base": many(newest=9), "one": many("base<5", newest=1), "two": many("base>=5", newest=99)}
    )
    catalog.add_wheel("two", "0")
    search(Universe(problem("one", "two"), catalog))
    assert [len(batch) for batch in catalog.batches] == [4, 8, 16, 32, 32, 7]
    lines = [line for batch in catalog.batches for line in batch]
    assert lines == [f"two-{number}-py3-none-any.whl" for number in range(98, -1, -1)], (
        "each once, as they are tried"
    )


def led_to(ahead: Prefetch, name: str, version: str, *requires: str) -> list[str]:
    return [
        project
        for project, _ in ahead.next_requirements(
            NormalizedName(name), CoreMetadata(name, version, requires)
        )
    ]


def test_prefetch_follows_extras_as_they_become_known() -> None:
    lines = (
        "plain",
        "uvloop; extra == 'fast'",
        "relay[tls]; extra == 'all'",
        "server[all]; extra == 'more'",
    )
    for extras_first in (True, False):
        ahead = Prefetch(Universe(problem("web"), Told({})))
        steps = [("web", ["server[fast]"]), ("server", list(lines))]
        found = [
            led_to(ahead, name, "1", *requires)
            for name, requires in (steps if extras_first else steps[::-1])
        ]
        assert sorted(name for row in found for name in row) == ["plain", "server", "uvloop"]
        assert led_to(ahead, "server", "1", *lines) == [], "none the second time"
        assert led_to(ahead, "shop", "1", "server[more]") == ["server", "relay"]
        assert led_to(ahead, "relay", "1", "ssl; extra == 'tls'") == ["ssl"]


def test_prefetch_follows_an_extra_of_the_search() -> None:
    catalog = Told(
        {
            "web": {"1": ["server[fast]"]},
            "server": {"1": ["uvloop; extra == 'fast'"]},
            "uvloop": {"1": []},
        }
    )
    universe = Universe(problem("server", "web"), catalog)
    ahead = Prefetch(universe)
    assert led_to(ahead, "server", "1", "uvloop; extra == 'fast'") == []
    (web,) = universe.candidates(Package("web"), ANYTHING)
    ahead.prefetch(universe.edges(web))
    assert catalog.told == [["server", "uvloop"]]
