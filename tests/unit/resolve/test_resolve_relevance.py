"""Which lines of a file may count for an extra, without a look at each line for each extra."""

from __future__ import annotations

import msgspec
import pytest
from packaging.requirements import Requirement

from resolver.model.resolution import Resolution
from resolver.model.text import extras_named
from resolver.resolve.check import check
from resolver.resolve.solver import solve
from tests.datacatalog import DataCatalog
from tests.problems import problem


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("extra-data>=1", set()),
        ('a; python_version < "3"', set()),
        ("a; extra == \"One_1\" or extra == 'two'", {"one-1", "two"}),
        ('a; "one" == extra and extra != "two"', {"one", "two"}),
        # which is more than is looked at
        *((f"a; extra {rest}", None) for rest in ('== "extra"', 'in "one two"', '== "one" or extra >= "two"')),
    ],
)
def test_extras_that_a_marker_names(line: str, named: set[str] | None) -> None:
    assert extras_named(line) == named


@pytest.mark.parametrize("asked", ["app", "app[a]", "app[b]"])
@pytest.mark.parametrize(
    "marker",
    [
        'extra == "a"',
        "python_version >= '3' and extra == 'a'",
        "(python_version >= '3') and (os_name == 'posix') and extra == 'a'",
        "(python_version >= '3' and os_name == 'posix') and extra == 'a'",
        "python_version >= '3' or platform_version != 'x;' and extra == 'a'",
        "platform_version != \"; extra == 'a'\"",
        'platform_version != "x and extra == \'a" and extra != "a"',
        "extra == 'b' or (python_version >= '3' and extra == 'a')",
        "platform_version not in 'x or y' and extra == 'a'",
        "platform_version != 'or' and extra == 'A'",
    ],
)
def test_markers_count_as_packaging_has_it(marker: str, asked: str) -> None:
    """Search and check each know at a glance what most lines are for; neither may see what is not there."""
    line = f"dep ; {marker}"
    world = problem(asked)
    extras = ["", *([asked[4:-1]] if "[" in asked else [])]
    environment = world.target.markers
    judged = Requirement(line).marker
    assert judged is not None
    wanted = any(judged.evaluate({**environment, "extra": extra}) for extra in extras)
    lines = [line, "other ; extra == 'b'", "other ; extra == 'a'"]
    catalog = DataCatalog({"app": {"1": lines}, "dep": {"1": []}, "other": {"1": []}})
    answer = solve(world, catalog)
    assert isinstance(answer, Resolution)
    assert ("dep" in {pin.name for pin in answer.pins}) == wanted
    assert check(world, answer, catalog) == []
    if wanted:
        without = msgspec.structs.replace(answer, pins=tuple(pin for pin in answer.pins if pin.name != "dep"))
        assert check(world, without, catalog) != []
