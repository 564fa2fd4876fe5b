"""A decision that is taken back: what it asked for holds no release back afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tests.datacatalog import DataCatalog
from tests.problems import pins, problem, solved

TWO: Mapping[str, Sequence[str]] = {"1": (), "2": ()}


def of(needs: str, **others: Mapping[str, Sequence[str]]) -> DataCatalog:
    """Where data 2 needs something. data comes before trainer, which asks for data 1: data 2 is taken back."""
    return DataCatalog({"data": {"1": (), "2": (needs,)}, "trainer": {"1": ("data==1",)}, **others})


@pytest.mark.parametrize("name", ["alpha", "early", "zlib"])
def test_what_it_left_out_of_a_project_is_there_again(name: str) -> None:
    """Whether the project was decided before it, between the two, or is decided after both."""
    found = pins(problem("data", "trainer", name), of(f"{name}<2", **{name: TWO}))
    assert found == {"data": "1", "trainer": "1", name: "2"}


def test_what_was_decided_for_it_alone_asks_for_nothing() -> None:
    catalog = of("between==1", between={"1": ("early<2",)}, early=TWO)
    found = pins(problem("data", "early", "trainer"), catalog)
    assert found == {"data": "1", "early": "2", "trainer": "1"}


def test_what_it_alone_asked_for_is_not_decided_any_more() -> None:
    catalog = of("between", between={"1": ("zlib<2",)}, zlib=TWO)
    found = solved(problem("data", "trainer", "zlib"), catalog)
    assert [str(pin.version) for pin in found.pins] == ["1", "1", "2"]


def test_what_it_asks_for_keeps_no_release_out_that_takes_it_back() -> None:
    """As torch-npu, vllm-ascend and their torch: only the old release has no torch of its own."""
    catalog = DataCatalog(
        {
            "base": {"1": (), "2": (), "3": ()},
            "npu": {one: (f"base=={one}",) for one in "123"},
            "serve": {"1": ("npu==1",), "2": ("npu==2", "base==2")},
        }
    )
    assert pins(problem("npu", "serve"), catalog) == {"base": "2", "npu": "2", "serve": "2"}


def test_a_release_that_leaves_it_alone_comes_first() -> None:
    """What is decided is taken back only where every release of who asks for it does so."""
    catalog = DataCatalog(
        {
            "base": {"1": (), "2": (), "3": ()},
            "npu": {one: (f"base=={one}",) for one in "123"},
            "serve": {"1": ("npu",), "2": ("npu==2", "base==2")},
        }
    )
    assert pins(problem("npu", "serve"), catalog) == {"base": "3", "npu": "3", "serve": "1"}


@pytest.mark.parametrize("own", [(), ("base<2",)])
def test_a_release_that_it_kept_out_through_a_third_project_is_there_again(own: Sequence[str]) -> None:
    """early 2 was passed over for what data 2 asks of base, which nothing that is taken asks in the end."""
    catalog = of("base<2", base=TWO, early={"1": own, "2": ("base>=2",)})
    found = pins(problem("data", "early", "trainer"), catalog)
    assert found == {"base": "2", "data": "1", "early": "2", "trainer": "1"}
