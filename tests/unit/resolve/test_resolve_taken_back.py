"""A decision that is taken back: what it asked for holds no release back afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tests.datacatalog import DataCatalog
from tests.problems import pins, problem

TWO: Mapping[str, Sequence[str]] = {"1": (), "2": ()}


def of(needs: str, **others: Mapping[str, Sequence[str]]) -> DataCatalog:
    """Where data 2 needs something. data comes before trainer, which asks for data 1: data 2 is taken back."""
    return DataCatalog({"data": {"1": (), "2": (needs,)}, "trainer": {"1": ("data==1",)}, **others})


@pytest.mark.parametrize(
    ("old", "new", "taken"),
    [
        # as torch-npu, vllm-ascend and their torch: only the old release has no torch of its own
        ("npu==1", ("npu==2", "base==2"), "222"),
        # what is decided is taken back only where every release of who asks for it does so
        ("npu", ("npu==2", "base==2"), "331"),
    ],
)
def test_what_it_asks_for_keeps_no_release_out_that_takes_it_back(old: str, new: Sequence[str], taken: str) -> None:
    catalog = DataCatalog(
        {
            "base": {"1": (), "2": (), "3": ()},
            "npu": {one: (f"base=={one}",) for one in "123"},
            "serve": {"1": (old,), "2": new},
        }
    )
    assert pins(problem("npu", "serve"), catalog) == dict(zip(("base", "npu", "serve"), taken, strict=True))


@pytest.mark.parametrize("own", [(), ("base<2",)])
def test_a_release_that_it_kept_out_through_a_third_project_is_there_again(own: Sequence[str]) -> None:
    """early 2 was passed over for what data 2 asks of base, which nothing that is taken asks in the end."""
    catalog = of("base<2", base=TWO, early={"1": own, "2": ("base>=2",)})
    found = pins(problem("data", "early", "trainer"), catalog)
    assert found == {"base": "2", "data": "1", "early": "2", "trainer": "1"}
