"""`ascend-lock matrix show`: the table, its filters and sources, and what `facts read` records for it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.functional.workspace import REPOSITORY, Workspace, row
from tests.loopback import LoopbackIndex

SHIPPED = ("--matrices", str(REPOSITORY / "matrices"))

OF_A_TABLE = {"reason": "A table.", "source": "demo/tests#3"}
ONE, TWO = ["vllm==1.0", "cann in 8.5.0 | 8.5.1", "python < 3.12"], ["vllm==2.0", "cann in 9.1.0"]
COMPILED = {"requires_from": "requirements.txt", "isolation": False, "reason": "setup.py compiles."}
FACTS = (
    row("requires", id="one-matrix", versions="==1.0", needs=ONE, **OF_A_TABLE)
    + row(
        "requires", id="two-matrix", versions="==2.0", needs=TWO, reason_zh="一张表。", **OF_A_TABLE
    )
    + row(
        "requires",
        id="wheels-are-a2",
        wheels=True,
        needs=["soc in A2"],
        reason="They say so.",
        source="demo/tests#2",
    )
    + row("builds", id="from-source", versions="==2.0", when=["soc in A3"], **COMPILED)
)
TABLE = """\
vllm-ascend  vllm  torch  CANN         Python  glibc      SoC
2.0          2.0   2.1    9.1.0        3.11    2.34/2.28  A2,source
1.0          1.0   -      8.5.0,8.5.1  <3.12   -          A2

`-`: unknown. `--sources` names the facts behind each line. \
glibc: the oldest that the wheels run on, for
aarch64 and x86_64 where they differ. \
SoC: what the wheels are built for; `source`: built on the target, for
other SoCs, too (`--soc A3` lists the releases). Whether such a set locks, and with which practices, only
locking shows; `ascend-lock init` writes a stack of one that does.
"""


@pytest.fixture
def workspace(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """Return a workspace with facts and the readings of a release's wheels, but no index."""
    workspace.facts("vllm-ascend", FACTS)
    workspace.stack("vllm-ascend")
    for tags in ("cp311-cp311-manylinux_2_34_aarch64", "cp311-cp311-manylinux_2_28_x86_64"):
        index.add_wheel(
            "vllm-ascend", "2.0", tags=tags, requires=["torch==2.1", "vllm==9", "numpy"]
        )
    index.add_archive("vllm-ascend", "1.0", members={"requirements.txt": "torch==1.9\n"})
    run = workspace.run("facts", "read")
    assert run.stdout.endswith(
        "archives that facts refer to; releases with wheels that they pair: 1\n"
    ), run
    workspace.forget()
    index.clear()
    return workspace


def releases(workspace: Workspace, *options: str) -> dict[str, dict[str, Any]]:
    """Return the JSON of each release, in their order."""
    run = workspace.run("matrix", "show", "--json", *options)
    assert run.status == 0, run
    return {row["release"]: row for row in run.json["releases"]}


def test_pairs_table(workspace: Workspace, index: LoopbackIndex) -> None:
    run = workspace.run("matrix", "show")
    assert (run.status, run.stdout) == (0, TABLE)
    assert not index.requests


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--cann", "8.5.1"], ["1.0"]),
        (["--cann", "9.1.0.B123"], ["2.0"]),
        (["--soc", "a2"], ["2.0", "1.0"]),
        (["--soc", "A3"], ["2.0"]),
        (["--soc", "A3", "--cann", "8.5.1"], []),
    ],
)
def test_pairs_filters(workspace: Workspace, options: list[str], names: list[str]) -> None:
    assert list(releases(workspace, *options)) == names


def test_pairs_takes_a_project_as_argument(workspace: Workspace) -> None:
    by_option = workspace.run("matrix", "show", "--package", "vllm-ascend")
    assert by_option.status == 0
    assert workspace.run("matrix", "show", "vllm_ascend") == by_option


def test_pairs_where_nothing_fits(workspace: Workspace) -> None:
    none = "No release of vllm-ascend is paired with"
    run = workspace.run("matrix", "show", "--soc", "A3", "--cann", "8.5.1")
    assert (run.status, run.stdout) == (
        0,
        f"{none} CANN 8.5.1, SoC A3. There are releases for CANN -.\n",
    )
    assert workspace.run("matrix", "show", "--soc", "310P").stdout.startswith(f"{none} SoC 310P. ")
    (workspace.matrices / "systems.toml").write_bytes(
        (REPOSITORY / "matrices" / "systems.toml").read_bytes()
    )
    assert workspace.run("matrix", "show", "--soc", "A3", "--cann", "8.5.1").stdout.endswith(
        "releases for CANN 9.1.0.\n"
    )


def test_pairs_sources(workspace: Workspace) -> None:
    lines = workspace.run("matrix", "show", "--cann", "9.1.0", "--sources").stdout.splitlines()
    wheel = "vllm_ascend-2.0-cp311-cp311-manylinux_2_28_x86_64.whl"
    checked = "(vendor, checked 2026-11-20)"
    file = "matrices/facts/vllm-ascend.toml"
    assert lines[2:-4] == [
        f"    two-matrix {checked} {file}:13: demo/tests#3",
        f"    wheels-are-a2 {checked} {file}:21: demo/tests#2",
        f"    from-source {checked} {file}:28: demo/tests#1",
        f"    pins read in {wheel}",
        "",
    ]
    chinese = workspace.run("matrix", "show", "--cann", "9.1.0", "--sources", "--lang", "zh").stdout
    assert "    two-matrix（厂商，核对于 2026-11-20）" in chinese
    assert f"    固定的版本读自 {wheel}\n" in chinese


def test_pairs_json(workspace: Workspace) -> None:
    run = workspace.run("matrix", "show", "--cann", "9.1.0", "--json", "--lang", "zh")
    (row,) = run.json.pop("releases")
    assert [run.json[key] for key in ("package", "cann", "soc")] == ["vllm-ascend", "9.1.0", None]
    assert row["projects"] == {"torch": "==2.1", "vllm": "==2.0"}
    assert row["needs"] == ["cann in 9.1.0"]
    assert row["wheel_needs"] == ["soc in A2"]
    assert row["built_if"] == [["soc in A3"]]
    assert row["glibc"] == {"linux-aarch64": "2.34", "linux-x86_64": "2.28"}
    assert row["hdk"] is None
    assert [(fact["id"], fact["reason"], fact["source"]) for fact in row["facts"]] == [
        ("two-matrix", "一张表。", "demo/tests#3"),
        ("wheels-are-a2", "They say so.", "demo/tests#2"),
        ("from-source", "setup.py compiles.", "demo/tests#1"),
    ]


@pytest.mark.parametrize(
    ("options", "error", "hint"),
    [
        (
            ["--package", "vllm_acend"],
            "no fact pairs releases of `vllm_acend`",
            "did you mean `vllm-ascend`?",
        ),
        (
            ["--package", "numpy"],
            "no fact pairs releases of `numpy`",
            "they pair those of vllm-ascend",
        ),
        (
            ["--cann", "nine"],
            "`nine` is not a version of CANN such as 8.5.0",
            "",
        ),
        (
            ["--soc", "A9", *SHIPPED],
            "`A9` is not a known SoC",
            "hint: known are 310P, A2, A3, A5",
        ),
    ],
)
def test_pairs_mistakes(workspace: Workspace, options: list[str], error: str, hint: str) -> None:
    run = workspace.refused(error, "matrix", "show", *options)
    assert hint in run.stderr


def test_facts_read_reads_only_other_wheels_again(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    path = workspace.matrices / "wheels" / "vllm-ascend.json"
    before = path.read_bytes()
    workspace.edit("wheels/vllm-ascend.json", "torch==2.1", "torch==7.7")
    workspace.run("facts", "read")
    assert json.loads(path.read_text("utf-8"))[0]["pins"] == ["torch==7.7", "vllm==9"]
    workspace.run("facts", "read", "--anew")
    assert path.read_bytes() == before
    workspace.edit("wheels/vllm-ascend.json", "torch==2.1", "torch==7.7")
    index.add_wheel(
        "vllm-ascend", "2.0", tags="cp312-cp312-manylinux_2_34_aarch64", requires=["torch==2.1"]
    )
    workspace.forget()
    workspace.run("facts", "read")
    assert "torch==2.1" in json.loads(path.read_text("utf-8"))[0]["pins"]


@pytest.mark.parametrize("content", ["", "{}", '[{"version": "2.0"}]', "[" * 100_000])
def test_pairs_refuse_damaged_records(workspace: Workspace, content: str) -> None:
    (workspace.matrices / "wheels" / "vllm-ascend.json").write_text(content)
    run = workspace.refused(
        "the recorded readings of the wheels of vllm-ascend cannot be used", "matrix", "show"
    )
    assert "hint: make it again: ascend-lock facts read vllm-ascend --anew" in run.stderr


# --- the facts that ship


def test_shipped_wheels_are_of_paired_releases() -> None:
    """Otherwise somebody edited the file, or facts that paired it are gone."""
    from resolver.audit.pairs import pairings
    from resolver.config.fact_rules import compile_facts
    from resolver.config.load import load_components, load_facts

    matrices = REPOSITORY / "matrices"
    facts = compile_facts(load_facts(matrices), components=load_components(matrices))
    for path in (REPOSITORY / "matrices" / "wheels").iterdir():
        recorded = [row["version"] for row in json.loads(path.read_text("utf-8"))]
        named = [str(row.release) for row in pairings(path.stem, facts)]
        assert recorded == [name for name in named if name in recorded]


@pytest.mark.parametrize("page", ["docs/matrix.md", "docs/matrix.zh-CN.md"])
def test_pairs_page_shows_what_is_printed(workspace: Workspace, page: str) -> None:
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    command, *lines = (
        text.partition("$ ascend-lock matrix show ")[2].partition("\n…")[0].splitlines()
    )
    assert len(lines) == 3
    assert (
        workspace.run("matrix", "show", *command.split(), *SHIPPED).stdout.splitlines()[:3] == lines
    )


# What people ask in public, and what upstream's tables and images answer.
ASKED = [
    (
        "cann",
        "9.2.0",
        ["hdk in 26.2.rc1", "hdk >= 25.3.rc1", "cann-ops==9.2.0", "cann-nnal==9.2.0"],
    ),
    ("cann", "8.0.RC1", ["hdk in 24.1.rc1"]),
    ("cann", "9.1.0 on Atlas 950 SuperPoD", ["hdk in 25.1.rc1", "soc in A5"]),
    ("vllm-ascend", "0.23.0", ["mooncake-transfer-engine-npu==0.3.11.post1", "cann in 9.1.0"]),
    (
        "vllm-ascend",
        "0.18.0",
        ["mooncake==0.3.9", "memfabric-hybrid==1.0.8", "memcache-hybrid==1.0.4"],
    ),
    (
        "vllm-ascend",
        "0.18.1.dev19+ga2796db45",
        ["cann in 9.0.0", "torch-npu==2.9.0.post2", "triton-ascend==3.2.1"],
    ),
    ("vllm-ascend", "0.7.3", ["mindie-turbo==2.0rc1"]),
    (
        "mindspeed",
        "26.1.0_core_r0.12.1",
        ["megatron-core==0.12.1", "torch-npu==2.7.1.post8", "python in 3.10"],
    ),
    ("mindspeed-llm", "26.0.0", ["mindspeed==26.0.0", "triton-ascend==3.2.1", "cann in 9.0.0"]),
    (
        "sglang",
        "0.5.13.post1",
        ["sgl-kernel-npu==2026.5.1.post3", "memfabric-hybrid==1.0.8", "cann in 9.0.0"],
    ),
    (
        "sgl-kernel-npu",
        "2026.08.21 for CANN 9.1",
        ["torch-npu==2.10.0.post4", "python in 3.12", "cann in 9.1.0"],
    ),
    ("triton-ascend", "3.2.2", ["torch==2.7.1", "triton==3.2.0", "cann in 9.1.0"]),
    ("verl", "0.8.0", ["vllm-ascend==0.18.0", "transferqueue==0.1.7", "megatron-core==0.12.1"]),
    ("verl", "0.9.0 on A5", ["triton-ascend==3.2.2", "soc in A5"]),
    ("mindie", "3.0.0", ["cann in 8.5.1"]),
]


@pytest.mark.parametrize(("package", "release", "said"), ASKED)
def test_shipped_facts_answer_what_people_ask(
    workspace: Workspace, package: str, release: str, said: list[str]
) -> None:
    row = releases(workspace, "--package", package, *SHIPPED)[release]
    pinned = [f"{name}{pin}" for name, pin in row["projects"].items()]
    known = {*pinned, *row["needs"], *row["paired"]}
    assert set(said) <= known
    assert all(fact["source"] for fact in row["facts"])


def test_shipped_wheels_tell_their_pythons(workspace: Workspace) -> None:
    rows = releases(workspace, "--package", "torch-npu", *SHIPPED)
    assert rows["2.14.0"]["python"][-1] == "3.14"
    assert rows["2.5.1"]["python"] == ["3.9", "3.10", "3.11"]


def test_pairs_of_a_partner_name_the_package(workspace: Workspace) -> None:
    run = workspace.refused(
        "no fact pairs releases of `mooncake`", "matrix", "show", "--package", "mooncake", *SHIPPED
    )
    assert (
        "it is in the pairings of vllm-ascend: ascend-lock matrix show --package vllm-ascend"
        in run.stderr
    )
