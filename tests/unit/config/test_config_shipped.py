"""What the facts that the project ships lead to, over pages that hold the releases they speak of."""

from __future__ import annotations

import pytest

from resolver.lock.build import applied
from resolver.model.fact import Warns
from tests.datacatalog import DataCatalog
from tests.problems import pins, problem, solved, taken, target, told, with_sources
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
        ("9.2.0", "2.14.0"),
        ("8.5.0", "2.14.0"),
        ("8.3.RC1", "2.10.0"),
        ("8.0.RC2", "2.4.0.post2"),
        ("8.0.RC1", "2.1.0.post3"),
    ],
)
def test_the_newest_torch_npu_is_one_whose_series_accepts_the_cann(cann: str, taken: str) -> None:
    pages = catalog(torch_npu=["2.14.0", "2.12.0.post2", "2.10.0", "2.4.0.post2", "2.1.0.post3"])
    assert pins(problem("torch-npu", target=target(cann=cann), facts=FACTS), pages)["torch-npu"] == taken


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


def test_a_wheel_of_vllm_ascend_is_not_for_310p_and_a_commit_may_be() -> None:
    here = target(cann="8.3.RC1", soc="310P")
    pages = catalog(vllm_ascend=["0.11.0rc1"], transformers=["4.57.1"])
    vllm_line, vllm = taken("vllm", "0.11.0")
    line, source = taken("vllm-ascend", "0.11.0rc1")
    asked = with_sources(problem(vllm_line, "vllm-ascend==0.11.0rc1", target=here, facts=FACTS), vllm)
    assert any("needs soc != 310P" in row for row in told(asked, pages))
    built = solved(with_sources(problem(vllm_line, line, target=here, facts=FACTS), vllm, source), pages)
    assert built.pin("vllm-ascend") is not None
    assert not {"vllm-ascend-older-wheels-not-for-310p", "vllm-ascend-older-wheels-are-a2"} & {
        fact.id for fact in applied(built)
    }
