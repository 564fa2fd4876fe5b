"""What an engine chose is not trusted: choices that do not hold together are no resolution."""

from __future__ import annotations

import pytest

from resolver.model.dependency import Candidate, Package
from resolver.resolve.gather import InvalidChoiceError, gather
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import problem


def chosen(universe: Universe, **versions: str) -> dict[Package, Candidate]:
    """The candidates of packages, `b__x` for `b[x]`."""
    packages = {Package(*name.split("__")): version for name, version in versions.items()}
    return {
        package: next(one for one in universe.every(package) if str(one.version) == version)
        for package, version in packages.items()
    }


@pytest.fixture
def universe() -> Universe:
    catalog = DataCatalog({"a": {"1": ["b<2"]}})
    for version in ("1", "2"):
        catalog.add_wheel("b", version, extras=["x"])
    return Universe(problem("a", "b[x]"), catalog)


@pytest.mark.parametrize(
    ("versions", "why"),
    [
        ({"a": "1", "b": "2", "b__x": "2"}, "a 1 needs b<2 is not met"),
        ({"a": "1", "b__x": "1"}, "the stack asks for b[x] is not met"),
        ({"b": "1", "b__x": "1"}, "the stack asks for a is not met"),
        ({"a": "1", "b": "1", "b__x": "2"}, "b[x] 2 is an extra of b 2 is not met"),
    ],
)
def test_choices_that_do_not(universe: Universe, versions: dict[str, str], why: str) -> None:
    with pytest.raises(InvalidChoiceError) as refused:
        gather(universe, chosen(universe, **versions), engine="e", rounds=1)
    assert str(refused.value) == why
