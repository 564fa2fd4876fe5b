"""What the catalog is told of before the search asks for it."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.catalog.protocol import Follow, Lookup
from resolver.model.release import Metadata
from resolver.solve.lookahead import Lookahead
from resolver.solve.provider import Provider
from resolver.solve.search import Search
from resolver.solve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import problem


class Told(DataCatalog):
    """Notes what it is told of."""

    def __init__(self, releases: dict[str, dict[str, list[str]]]) -> None:
        super().__init__(releases)
        self.told: list[list[str]] = []

    def expect(self, wanted: Iterable[tuple[NormalizedName, SpecifierSet]], follow: Follow | None = None) -> None:
        assert follow is not None
        self.told.append([f"{name}{specifier}" for name, specifier in wanted])


def many(*requires: str, newest: int) -> dict[str, list[str]]:
    return {str(number): list(requires) for number in range(1, newest + 1)}


def searched(catalog: Told, *asks: str) -> list[list[str]]:
    """What the catalog is told of with exact versions while the search runs."""
    universe = Universe(problem(*asks), catalog)
    Search(Provider(universe, Lookahead(universe))).run(universe.roots())
    return [row for row in catalog.told if any("==" in line for line in row)]


def test_of_releases_that_are_tried_in_vain_more_and_more_are_told() -> None:
    catalog = Told({"base": many(newest=9), "one": many("base<5", newest=1), "two": many("base>=5", newest=99)})
    catalog.add_wheel("two", "0")
    batches = searched(catalog, "one", "two")
    assert [len(batch) for batch in batches] == [2, 4, 8, 16, 32, 32, 4]
    lines = [line for batch in batches for line in batch]
    assert lines == [f"two=={number}" for number in range(97, -1, -1)], "each once, in the order of the search"


def test_of_releases_that_a_later_requirement_rules_out_none_is_told() -> None:
    """They were not tried in vain: the next one that is admitted will most likely do."""
    catalog = Told({"a": many("base", newest=9), "b": many("base<7", newest=1), "base": many(newest=20)})
    catalog.add_wheel("c", "1", ["base<4"])
    assert searched(catalog, "a>=3", "base>=2", "b", "c") == []


def test_a_guess_heeds_what_other_likely_releases_need() -> None:
    """A request is wasted on the newest release where another project that is likely to be there needs an older one."""
    catalog = Told({"base": many(newest=9)})
    ahead = Lookahead(Universe(problem("one", "two"), catalog))
    base, page = NormalizedName("base"), catalog.lookup(NormalizedName("base"))
    assert picked(ahead, page, "") == "base-9-py3-none-any.whl"
    assert [name for name, _ in ahead.then(NormalizedName("one"), Metadata("one", "1", ("base<5",)))] == [base]
    assert picked(ahead, page, "") == "base-4-py3-none-any.whl"
    assert picked(ahead, page, ">=7") == "base-9-py3-none-any.whl", "what is guessed does not count against it"
    assert [name for name, _ in ahead.then(NormalizedName("one"), Metadata("one", "2", ("base<8",)))] == [base]
    assert picked(ahead, page, "") == "base-7-py3-none-any.whl", "of one project the last guess counts"


def picked(ahead: Lookahead, page: Lookup, specifier: str) -> str:
    file = ahead.pick(NormalizedName("base"), page, SpecifierSet(specifier))
    assert file is not None
    return file.filename
