"""The shipped facts and stacks: what they lead to, their evidence, and their Chinese texts."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from pathlib import Path

import networkx
import pytest

from resolver.config.load import load_conda, load_imports
from resolver.config.schema import StackFile
from resolver.config.toml_files import read
from resolver.lock.applied_facts import applied_facts
from resolver.model.fact import Fact, Requires, Warns
from resolver.resolve.refutation import Refutation
from resolver.resolve.solver import solve
from tests.components import COMPONENTS
from tests.datacatalog import DataCatalog
from tests.problems import pins, problem, solved, target
from tests.unit.config.folders import MATRICES, SHIPPED, SHIPPED_FILES

TOOLS = ("attrs", "decorator", "numpy", "psutil", "pybind11", "pyyaml", "scipy", "setuptools")


def catalog(**projects: list[str]) -> DataCatalog:
    """Return a catalog of these releases, and of the projects that facts about them require."""
    releases = {name: {"80": ()} for name in TOOLS}
    for name, versions in projects.items():
        releases[name.replace("_", "-")] = dict.fromkeys(versions, ())
    return DataCatalog(releases)


def warned(line: str, pages: DataCatalog, **system: str) -> set[str]:
    """Return the ids of the warnings of a stack with one line."""
    machine = target(**system)
    facts = [fact for fact in SHIPPED if fact.applies_on(machine.system, ())]
    resolution = solved(problem(line, target=machine, facts=facts), pages)
    return {fact.id for fact in applied_facts(resolution) if isinstance(fact, Warns)}


@pytest.mark.parametrize(
    ("cann", "taken"),
    [
        # The pair of this CANN.
        ("8.5.0", "2.8.0.post2"),
        ("9.0.0", "2.8.0.post4"),
        # In no pair, and accepted; .post5 is in no table.
        ("9.1.0", "2.8.0.post4"),
        ("8.3.RC1", "2.8.0"),
    ],
)
def test_torch_npu_post_paired_with_cann_comes_first(cann: str, taken: str) -> None:
    releases = ["2.8.0.post5", "2.8.0.post4", "2.8.0.post2", "2.8.0.post1", "2.8.0"]
    for line in ("torch-npu==2.8.0.*", "torch-npu"):
        unpinned = problem(line, target=target(cann=cann), facts=SHIPPED)
        assert pins(unpinned, catalog(torch_npu=releases))["torch-npu"] == taken
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
def test_cann_warns_of_a_driver_that_is_not_promised(cann: str, too_old: str, enough: str) -> None:
    pages = catalog(torch_npu=["2.9.0.post2"])
    warning = f"torch-npu-hdk-of-cann-{cann[:3]}"
    assert warning in warned("torch-npu", pages, cann=cann, soc="A2")
    assert warning in warned("torch-npu", pages, cann=cann, soc="A2", hdk=too_old)
    assert warning not in warned("torch-npu", pages, cann=cann, soc="A2", hdk=enough)
    others = {fact.id for fact in SHIPPED if fact.id.startswith("torch-npu-hdk-of-cann-")}
    others.remove(warning)
    assert not others & warned("torch-npu", pages, cann=cann, soc="A2")


def test_cann_of_ascend_950_is_asked_of_a5_alone() -> None:
    """A target that states no SoC is none for A5."""
    for system, is_refuted in (({"soc": "A5"}, True), ({"soc": "A2"}, False), ({}, False)):
        machine = target(cann="8.5.0", **system)
        facts = [fact for fact in SHIPPED if fact.applies_on(machine.system, ())]
        pages = catalog(torch_npu=["2.9.0.post2"])
        answer = solve(problem("torch-npu", target=machine, facts=facts), pages)
        assert isinstance(answer, Refutation) is is_refuted, system


def test_driver_numbers_of_a5_are_counted_apart() -> None:
    """The driver that Huawei pairs on an Atlas 950 SuperPoD has an older number than A2 needs."""
    pages = catalog(torch_npu=["2.10.0.post4"])
    paired = warned("torch-npu", pages, cann="9.1.0", soc="A5", hdk="25.1.rc1")
    assert not {name for name in paired if "hdk" in name}
    older = warned("torch-npu", pages, cann="9.1.0", soc="A5", hdk="25.0.rc1")
    assert {name for name in older if "hdk" in name} == {"torch-npu-hdk-of-cann-9.1-on-a5"}
    elsewhere = warned("torch-npu", pages, cann="9.1.0", soc="A2", hdk="25.1.rc1")
    assert {name for name in elsewhere if "hdk" in name} == {"torch-npu-hdk-of-cann-9.1"}


def test_shipped_facts_have_evidence_and_no_cycles() -> None:
    """A project needs what facts about it require, not the reverse."""
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
    """Return the English and the Chinese of each text, by its key."""
    found = {"reason": (fact.reason, fact.reason_zh)}
    if isinstance(fact, Warns):
        found["text"] = (fact.text, fact.text_zh)
    return found


def complaints(key: str, english: str, chinese: str) -> list[str]:
    """Return what is wrong with the Chinese of a text."""
    if not _CHINESE.search(chinese):
        return [f"`{key}-zh` has no Chinese: write below `{key}` what it says, in Chinese"]
    found = []
    versions = set(_VERSION.findall(english))
    chinese_versions = set(_VERSION.findall(chinese))
    if missing := versions - chinese_versions:
        found.append(f"`{key}-zh` does not name {', '.join(sorted(missing))}, which `{key}` names")
    if added := chinese_versions - versions:
        found.append(f"`{key}-zh` names {', '.join(sorted(added))}, which `{key}` does not name")
    if half := _HALF_WIDTH.search(chinese):
        found.append(f"`{key}-zh` has half-width punctuation beside Chinese: {half[0]}")
    return found


def test_shipped_files_are_all_read() -> None:
    assert {fact.package for fact in SHIPPED} == {path.stem for path in SHIPPED_FILES}


@pytest.mark.parametrize("fact", SHIPPED, ids=lambda fact: fact.id)
def test_shipped_fact_says_the_same_in_chinese(fact: Fact) -> None:
    found = []
    for key, (english, chinese) in texts(fact).items():
        found += complaints(key, english, chinese)
    assert not found, "\n".join([f"{fact.where}: the fact {fact.id}:", *found])


def stack_texts(stack: StackFile) -> Iterator[tuple[str, str, str]]:
    """Yield each text of a stack for people: its key, English and Chinese."""
    yield "summary", stack.stack.summary, stack.stack.summary_zh or ""
    for absent in stack.absent:
        yield "reason", absent.reason, absent.reason_zh or ""
    for row in stack.departs:
        yield "guide", row.guide, row.guide_zh or ""
        yield "here", row.here, row.here_zh or ""
        yield "reason", row.reason, row.reason_zh or ""


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.stem)
def test_shipped_stack_says_the_same_in_chinese(path: Path) -> None:
    for key, english, chinese in stack_texts(read(path, StackFile, path.name, COMPONENTS).content):
        # A name with its version, or a commit, has no translation.
        if english == chinese:
            assert " and " not in english
        else:
            assert not complaints(key, english, chinese)


def test_imports_toml_names_each_project_once_with_chinese() -> None:
    rows = load_imports(MATRICES)
    assert rows
    assert len({(row.project, row.extra) for row in rows}) == len(rows)
    for row in rows:
        assert re.search("[一-鿿]", row.reason_zh), row.project
        assert row.replacement != row.project


def test_imports_toml_names_each_package_of_conda_once() -> None:
    rows = load_conda(MATRICES)
    packages = [package for row in rows for package in row.packages]
    assert len(set(packages)) == len(packages)
    for package in packages:
        assert "*" not in package[:-1]
        others = [other for other in packages if other != package and other.endswith("*")]
        assert not any(package.startswith(other[:-1]) for other in others), package
    for row in rows:
        assert re.search("[一-鿿]", row.reason_zh), row.packages
        assert not (row.same_name and row.project)
