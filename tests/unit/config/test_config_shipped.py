"""The facts and stacks that the project ships: what they lead to, their evidence, and what they say in Chinese."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from pathlib import Path

import networkx
import pytest

from resolver.config.load import read
from resolver.config.schema import StackFile
from resolver.lock.applied_facts import applied_facts
from resolver.model.fact import Fact, Requires, Warns
from tests.datacatalog import DataCatalog
from tests.problems import pins, problem, solved, target
from tests.unit.config.folders import MATRICES, SHIPPED, SHIPPED_FILES

TOOLS = ("attrs", "decorator", "numpy", "psutil", "pybind11", "pyyaml", "scipy", "setuptools")


def catalog(**projects: list[str]) -> DataCatalog:
    """These releases, and what the facts about them bring in."""
    named = {name.replace("_", "-"): versions for name, versions in projects.items()}
    releases = {name: dict.fromkeys(versions, ()) for name, versions in named.items()}
    return DataCatalog({**{name: {"80": ()} for name in TOOLS}, **releases})


def warned(line: str, pages: DataCatalog, **system: str) -> set[str]:
    """The warnings of a stack of one line, by id."""
    found = applied_facts(solved(problem(line, target=target(**system), facts=SHIPPED), pages))
    return {fact.id for fact in found if isinstance(fact, Warns)}


@pytest.mark.parametrize(
    ("cann", "taken"),
    [
        ("8.5.0", "2.8.0.post2"),  # its pair
        ("9.0.0", "2.8.0.post4"),  # its pair
        ("9.1.0", "2.8.0.post4"),  # of no pair, and accepted; .post5 is in no table
        ("8.3.RC1", "2.8.0"),
    ],
)
def test_of_the_posts_of_a_torch_npu_the_one_paired_with_the_cann_comes_first(
    cann: str, taken: str
) -> None:
    releases = ["2.8.0.post5", "2.8.0.post4", "2.8.0.post2", "2.8.0.post1", "2.8.0"]
    asked = [
        problem(line, target=target(cann=cann), facts=SHIPPED)
        for line in ("torch-npu==2.8.0.*", "torch-npu")
    ]
    assert [pins(one, catalog(torch_npu=releases))["torch-npu"] for one in asked] == [taken, taken]
    pinned = problem("torch-npu==2.8.0.post5", target=target(cann=cann), facts=SHIPPED)
    assert pins(pinned, catalog(torch_npu=releases))["torch-npu"] == "2.8.0.post5"
    unlisted = "torch-npu-26.0.1-not-in-the-table"
    assert unlisted in warned("torch-npu==2.8.0.post5", catalog(torch_npu=releases), cann=cann)


@pytest.mark.parametrize(
    ("cann", "too_old", "enough"),
    [
        ("9.2.0", "25.2.1", "25.3.rc1"),
        ("9.1.0", "25.0.rc1.1", "25.2.0"),
        ("9.0.0", "24.1.0", "25.0.rc1.1"),
        ("8.5.0", "24.1.0", "25.0.rc1.1"),
    ],
)
def test_the_driver_of_a_cann_is_told_where_no_target_promises_it(
    cann: str, too_old: str, enough: str
) -> None:
    pages = catalog(torch_npu=["2.9.0.post2"])
    told = f"torch-npu-hdk-of-cann-{cann[:3]}"
    assert told in warned("torch-npu", pages, cann=cann, soc="A2")
    assert told in warned("torch-npu", pages, cann=cann, soc="A2", hdk=too_old)
    assert told not in warned("torch-npu", pages, cann=cann, soc="A2", hdk=enough)
    others = {one.id for one in SHIPPED if one.id.startswith("torch-npu-hdk-of-cann-")} - {told}
    assert not others & warned("torch-npu", pages, cann=cann, soc="A2")


def test_a5_drivers_are_counted_apart() -> None:
    """The driver that Huawei pairs on an Atlas 950 SuperPoD has an older number than A2 needs."""
    pages = catalog(torch_npu=["2.10.0.post4"])
    paired = warned("torch-npu", pages, cann="9.1.0", soc="A5", hdk="25.1.rc1")
    assert not {name for name in paired if "hdk" in name}
    older = warned("torch-npu", pages, cann="9.1.0", soc="A5", hdk="25.0.rc1")
    assert {name for name in older if "hdk" in name} == {"torch-npu-hdk-of-cann-9.1-on-a5"}
    elsewhere = warned("torch-npu", pages, cann="9.1.0", soc="A2", hdk="25.1.rc1")
    assert {name for name in elsewhere if "hdk" in name} == {"torch-npu-hdk-of-cann-9.1"}


def test_they_have_their_evidence_and_form_no_cycles() -> None:
    """A row needs its pins, not the reverse."""
    needs = networkx.DiGraph()
    for fact in SHIPPED:
        assert len(fact.reason.split()) > 3, fact.where
        assert "://" not in str(fact.source), f"{fact.where}: a source is named, an address rots"
        assert dt.date(2026, 1, 1) < fact.checked <= dt.date.today(), fact.where
        stated = fact.needs if isinstance(fact, Requires) else ()
        needs.add_edges_from((fact.package, need.name) for need in stated if hasattr(need, "name"))
    assert list(networkx.simple_cycles(needs)) == []


# --- what they say in English and in Chinese


STACKS = sorted((MATRICES / "stacks").glob("*.toml"))

_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_VERSION = re.compile(r"[0-9]+(?:\.[0-9A-Za-z]+)+")  # 2.8.0.post2, 8.3.RC1, 9.1.X
_HALF_WIDTH = re.compile(r"[\u4e00-\u9fff][,.;:!?()]|[,.;:!?()][\u4e00-\u9fff]")


def texts(fact: Fact) -> dict[str, tuple[str, str]]:
    """English and Chinese of each text, by its key."""
    found = {"reason": (fact.reason, fact.reason_zh)}
    if isinstance(fact, Warns):
        found["text"] = (fact.text, fact.text_zh)
    return found


def complaints(key: str, english: str, chinese: str) -> list[str]:
    """What is wrong with the Chinese of one text."""
    if not _CHINESE.search(chinese):
        return [
            f"`{key}-zh` is missing or has no Chinese in it: write below `{key}` what it says, in Chinese"
        ]
    found = []
    told, told_zh = set(_VERSION.findall(english)), set(_VERSION.findall(chinese))
    if told - told_zh:
        found.append(
            f"`{key}-zh` does not name {', '.join(sorted(told - told_zh))}, which `{key}` names"
        )
    if told_zh - told:
        found.append(
            f"`{key}-zh` names {', '.join(sorted(told_zh - told))}, which `{key}` does not name"
        )
    if half := _HALF_WIDTH.search(chinese):
        found.append(f"`{key}-zh` has half-width punctuation beside Chinese: {half[0]}")
    return found


def test_all_files_are_read() -> None:
    assert {fact.package for fact in SHIPPED} == {path.stem for path in SHIPPED_FILES}


@pytest.mark.parametrize("fact", SHIPPED, ids=lambda fact: fact.id)
def test_a_shipped_fact_says_the_same_in_chinese(fact: Fact) -> None:
    found = [line for key, pair in texts(fact).items() for line in complaints(key, *pair)]
    assert not found, "\n".join([f"{fact.where}: the fact {fact.id}:", *found])


def stack_texts(stack: StackFile) -> Iterator[tuple[str, str, str]]:
    """Each text of a stack for people: its key, English and Chinese."""
    yield "summary", stack.stack.summary, stack.stack.summary_zh or ""
    for absent in stack.absent:
        yield "reason", absent.reason, absent.reason_zh or ""
    for row in stack.departs:
        yield "guide", row.guide, row.guide_zh or ""
        yield "here", row.here, row.here_zh or ""
        yield "reason", row.reason, row.reason_zh or ""


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.stem)
def test_a_shipped_stack_says_the_same_in_chinese(path: Path) -> None:
    told = list(stack_texts(read(path, StackFile, path.name).content))
    # a name with its version, or a commit, is the same in both
    assert not [
        line for key, *pair in told if pair[0] != pair[1] for line in complaints(key, *pair)
    ]
    assert not [
        english for key, english, chinese in told if english == chinese and " and " in english
    ]
