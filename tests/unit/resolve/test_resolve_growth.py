"""Twice the input is at most four times the work, of what is strange and legal: counted in instructions.

resolvelib looks at all that it knows in each round. What is more than that square is a mistake of ours.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from resolver.resolve.solver import solve
from tests.counted import instructions
from tests.datacatalog import DataCatalog
from tests.problems import problem

Asked = tuple[DataCatalog, list[str]]


def chained_extras(count: int) -> Asked:
    lines = [f'x[e{at + 1}]; extra == "e{at}"' for at in range(count)]
    return DataCatalog({"x": {"1": lines}}), ["x[e0]"]


def all_extras(count: int) -> Asked:
    lines = [f'x[e{at}]; extra == "all"' for at in range(count)] + [f'y; extra == "e{at}"' for at in range(count)]
    return DataCatalog({"x": {"1": lines}, "y": {"1": []}}), ["x[all]"]


def extras_of_one_line(count: int) -> Asked:
    catalog = DataCatalog({"x": {"1": [f'y!=9.{at}; extra == "e{at}"' for at in range(count)]}, "y": {"1": []}})
    return catalog, [f"x[{','.join(f'e{at}' for at in range(count))}]"]


def ranges_of_metadata(count: int) -> Asked:
    versions = {str(at): [] for at in range(count + 1)}
    return DataCatalog({"x": {"1": [f"y!={at},<={count}" for at in range(count)]}, "y": versions}), ["x"]


def parents_that_narrow(count: int) -> Asked:
    """Each takes one more release of what was decided before."""
    parents = {f"x{at}": {"1": [f"a<{count - at}"]} for at in range(count - 1)}
    return DataCatalog({**parents, "a": {str(at): [] for at in range(count)}}), ["a", *parents]


def files_of_one_release(count: int) -> Asked:
    catalog = DataCatalog()
    for build in range(count):
        catalog.add_wheel("x", "1", tags=f"{build}-py3-none-any")
    return catalog, ["x"]


def releases_in_vain(count: int) -> Asked:
    """Each x needs the y of its number, which needs the z of its number; only the oldest of those is asked for."""
    names = [str(at) for at in range(1, count + 1)]
    x, y = ({name: [f"{below}=={name}"] for name in names} for below in ("y", "z"))
    return DataCatalog({"x": x, "y": y, "z": {name: [] for name in names}}), ["x", "z<2"]


@pytest.mark.parametrize(
    ("family", "size"),
    [
        (chained_extras, 40),
        (all_extras, 40),
        (extras_of_one_line, 40),
        (ranges_of_metadata, 80),
        (parents_that_narrow, 20),
        (files_of_one_release, 400),
        (releases_in_vain, 40),
    ],
)
def test_twice_the_size_is_at_most_four_times_the_work(family: Callable[[int], Asked], size: int) -> None:
    def work(count: int) -> int:
        catalog, asks = family(count)
        stated = problem(*asks)
        solve(stated, catalog)  # texts are parsed once in a process
        return instructions(lambda: solve(stated, catalog))

    assert work(2 * size) < 4.5 * work(size)
