"""What the facts that the project ships lead to, over pages that hold the releases they speak of."""

from __future__ import annotations

import pytest

from resolver.lock.build import applied
from resolver.model.fact import Warns
from tests.datacatalog import DataCatalog
from tests.problems import pins, problem, solved, target
from tests.unit.config.folders import SHIPPED as FACTS

TOOLS = ("attrs", "decorator", "numpy", "psutil", "pybind11", "pyyaml", "scipy", "setuptools")


def catalog(**projects: list[str]) -> DataCatalog:
    """These releases, and what the facts about them bring in."""
    named = {name.replace("_", "-"): versions for name, versions in projects.items()}
    releases = {name: dict.fromkeys(versions, ()) for name, versions in named.items()}
    return DataCatalog({**{name: {"80": ()} for name in TOOLS}, **releases})


def warned(line: str, pages: DataCatalog, **system: str) -> set[str]:
    """The warnings of a stack of one line, by id."""
    found = applied(solved(problem(line, target=target(**system), facts=FACTS), pages))
    return {fact.id for fact in found if isinstance(fact, Warns)}


@pytest.mark.parametrize(
    ("cann", "taken"),
    [
        ("8.5.0", "2.8.0.post2"),  # its pair
        ("9.0.0", "2.8.0.post4"),  # its pair
        ("9.1.0", "2.8.0.post4"),  # of no pair, and accepted; no table has .post5
        ("8.3.RC1", "2.8.0"),
    ],
)
def test_of_the_posts_of_a_torch_npu_the_one_paired_with_the_cann_comes_first(cann: str, taken: str) -> None:
    releases = ["2.8.0.post5", "2.8.0.post4", "2.8.0.post2", "2.8.0.post1", "2.8.0"]
    asked = [problem(line, target=target(cann=cann), facts=FACTS) for line in ("torch-npu==2.8.0.*", "torch-npu")]
    assert [pins(one, catalog(torch_npu=releases))["torch-npu"] for one in asked] == [taken, taken]
    pinned = problem("torch-npu==2.8.0.post5", target=target(cann=cann), facts=FACTS)
    assert pins(pinned, catalog(torch_npu=releases))["torch-npu"] == "2.8.0.post5"
    assert "torch-npu-not-in-the-table" in warned("torch-npu==2.8.0.post5", catalog(torch_npu=releases), cann=cann)


@pytest.mark.parametrize(
    ("cann", "too_old", "enough"),
    [("9.1.0", "25.0.rc1.1", "25.2.0"), ("9.0.0", "24.1.0", "25.0.rc1.1"), ("8.5.0", "24.1.0", "25.0.rc1.1")],
)
def test_the_driver_of_a_cann_is_told_where_no_target_promises_it(cann: str, too_old: str, enough: str) -> None:
    pages = catalog(torch_npu=["2.9.0.post2"])
    told = f"torch-npu-hdk-of-cann-{cann[:3]}"
    assert told in warned("torch-npu", pages, cann=cann)
    assert told in warned("torch-npu", pages, cann=cann, hdk=too_old)
    assert told not in warned("torch-npu", pages, cann=cann, hdk=enough)
    others = {one.id for one in FACTS if one.id.startswith("torch-npu-hdk-of-cann-")} - {told}
    assert not others & warned("torch-npu", pages, cann=cann)
