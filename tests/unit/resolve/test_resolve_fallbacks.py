"""A project does not fall back by years where another one can be slightly older instead."""

from __future__ import annotations

import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.errors import IndexFailure
from resolver.model.release import CoreMetadata, File
from resolver.model.resolution import Resolution
from resolver.phrase import literal
from resolver.resolve.fallbacks import without_fallbacks
from resolver.resolve.solver import search
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import problem
from tests.property.found import pins

OLD = {"app": "1", "files": "2026", "data": "1"}


def index(newest: str = "data 3: files<=2025", day: str = "2025-06-01") -> DataCatalog:
    """Return a catalog in which the newest data admits no files of this year.

    data 1, of long ago, says nothing of them.
    """
    catalog = DataCatalog({"app": {"1": ["files", "data"]}})
    for year in (2026, 2025, 2019):
        catalog.add_wheel("files", str(year), uploaded=f"{year}-06-01T00:00:00Z")
    project, _, need = newest.partition(": ")
    catalog.add_wheel(*project.split(), [need], uploaded=f"{day}T00:00:00Z")
    catalog.add_wheel("data", "1", ["files"], uploaded="2022-01-01T00:00:00Z")
    return catalog


def pins_after(catalog: DataCatalog, *lines: str) -> dict[str, str]:
    """Return the pins that a resolution with data 1 is turned into."""
    universe = Universe(problem(*lines), catalog)
    return pins(without_fallbacks(universe, with_old_data(universe), search))


def with_old_data(universe: Universe) -> Resolution:
    """Return the resolution of a search that took data 1 for the sake of the newest files."""
    preferred = {
        canonicalize_name("data"): Version("1"),
        canonicalize_name("files"): Version("2026"),
    }
    resolution = search(Universe(universe.problem, universe.catalog, preferred))
    assert resolution is not None
    assert pins(resolution) == OLD
    return resolution


def test_fallback_gives_way_to_a_smaller_loss() -> None:
    assert pins_after(index(), "app") == {"app": "1", "files": "2025", "data": "3"}


def test_fallback_stays_where_another_project_would_lose_more() -> None:
    assert pins_after(index("data 3: files<=2019"), "app") == OLD


def test_fallback_of_less_than_a_year_stays() -> None:
    assert pins_after(index(day="2022-12-01"), "app") == OLD


def test_fallback_that_a_requirement_asks_for_stays() -> None:
    assert pins_after(index(), "app", "data<3") == OLD


def test_fallback_stays_while_the_lock_before_has_it() -> None:
    preferred = {
        canonicalize_name("data"): Version("1"),
        canonicalize_name("files"): Version("2026"),
    }
    universe = Universe(problem("app"), index(), preferred)
    assert pins(without_fallbacks(universe, with_old_data(universe), search)) == OLD


def test_fallback_stays_if_an_index_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = index()

    def fail(file: File) -> CoreMetadata:
        if file.filename.startswith("files-2025"):
            raise IndexFailure(literal("it did not answer"))
        return DataCatalog.metadata(catalog, file)

    universe = Universe(problem("app"), catalog)
    resolution = with_old_data(universe)
    monkeypatch.setattr(catalog, "metadata", fail)
    assert pins(without_fallbacks(universe, resolution, search)) == OLD
    assert universe.optional_reads.has_failed
