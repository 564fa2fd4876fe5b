"""`ascend-lock fleet`: many reports of verify.py as one comparison."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resolver.model.fleet import folded
from tests.functional.workspace import Workspace

Report = dict[str, Any]
Change = Callable[[Report], None]

MACHINE = {
    "processor": "aarch64",
    "glibc": "2.35",
    "python": "3.11.9",
    "cann": "8.5.1",
    "hdk": "25.5.0",
    "soc": "Ascend910B4",
    "npus": "8",
}


def report() -> Report:
    """A report of a node that is as locked."""
    return {
        "schema": 1,
        "language": "en",
        "status": "as-locked",
        "stack": "demo",
        "target": "here",
        "lock": "5" * 64,
        "python": "/env/bin/python",
        "wrong": 0,
        "warnings": 0,
        "ended": False,
        "checks": "all",
        "machine": dict(MACHINE),
        "groups": [{"name": "files", "state": "ok", "values": {}, "findings": []}],
    }


def write(folder: Path, name: str, *changes: Change) -> Path:
    """Write the report of a node, with these changes."""
    folder.mkdir(exist_ok=True)
    content = report()
    for change in changes:
        change(content)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(content))
    return path


def has(**values: str) -> Change:
    """Return the change to a machine that has other values."""
    return lambda content: content["machine"].update(values)


def found(code: str, what: str, mend: str = "", state: str = "wrong") -> Change:
    """Return the change to a report with a finding."""
    finding = {
        "code": code,
        "state": state,
        "what": what,
        "why": "w",
        "mend": mend,
        "values": {},
    }
    return lambda content: content["groups"][0]["findings"].append(finding)


def other_lock(content: Report) -> None:
    content["lock"] = "6" * 64


# Kinds of deviation: the changes, and what the comparison says of them.
DEVIATIONS: dict[str, tuple[tuple[Change, ...], str]] = {
    "an old driver": (
        (has(hdk="25.3.rc1"), found("hdk-old", "the driver is 25.3.rc1", "install 25.5.0")),
        "25.3.rc1*",
    ),
    "another toolkit": ((has(cann="8.3.RC1"),), "8.3.RC1*"),
    "another chip": ((has(soc="Ascend910B2"),), "Ascend910B2*"),
    "an old C library": ((has(glibc="2.31"),), "2.31*"),
    "another lock": ((other_lock,), "666666666666*"),
    "a changed file": ((found("file-changed", "torch/__init__.py differs"),), "file-changed"),
    "a dead card": ((has(npus="7"),), "7*"),
}


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Reports of 500 nodes, of which one in fifty has one of seven kinds of deviation."""
    folder = tmp_path / "reports"
    kinds = [changes for changes, _ in DEVIATIONS.values()]
    for number in range(500):
        changes = kinds[number // 50 % 7] if number % 50 == 7 else ()
        write(folder, f"node{number:03}", *changes)
    return folder


def test_fleet_names_each_deviation(workspace: Workspace, fleet: Path) -> None:
    run = workspace.run("fleet", str(fleet))
    assert (run.status, run.stderr) == (1, "")
    assert run.stdout.startswith("500 nodes: 3 with errors\n")
    for kind, (_, text) in DEVIATIONS.items():
        assert text in run.stdout, kind
    assert "install 25.5.0" in run.stdout
    groups = json.loads(workspace.run("fleet", str(fleet), "--json").stdout)["groups"]
    assert [len(group["nodes"]) for group in groups] == [490, 2, 2, 2, 1, 1, 1, 1]
    deviating = {name for group in groups for name in group["deviates"]}
    assert deviating == {"hdk", "cann", "soc", "glibc", "lock", "npus"}
    assert groups[0]["deviates"] == []


def test_fleet_says_what_all_share(workspace: Workspace, tmp_path: Path) -> None:
    for name in ("a1", "a2", "b"):
        write(tmp_path / "r", name)
    run = workspace.run("fleet", str(tmp_path / "r"))
    assert run.status == 0
    assert run.stdout == (
        "3 nodes: all alike, and as locked\n\n"
        "All nodes have: lock demo/here 555555555555, checks all, processor aarch64, glibc 2.35, "
        "Python\n3.11.9, CANN 8.5.1, HDK 25.5.0, SoC Ascend910B4 and NPUs 8.\n"
        "  nodes      count  findings\n"
        "  a[1-2], b  3      -\n"
    )


def test_fleet_of_nodes_that_only_differ(workspace: Workspace, tmp_path: Path) -> None:
    """No value of two nodes is the usual one, so none is marked."""
    paths = [write(tmp_path, "one"), write(tmp_path, "two", has(glibc="2.39"))]
    run = workspace.run("fleet", *map(str, paths))
    assert run.status == 4
    assert run.stdout.startswith("2 nodes: all as locked, but not alike\n")
    assert "*" not in run.stdout


def test_fleet_warning_is_no_error(workspace: Workspace, tmp_path: Path) -> None:
    write(tmp_path / "r", "n1", found("npu-absent", "no NPU", state="warning"))
    run = workspace.run("fleet", str(tmp_path / "r"))
    assert run.status == 0
    assert workspace.run("fleet", str(tmp_path / "r"), "--json", "--format", "html").status == 2
    assert "Warnings\n  - no NPU [npu-absent]\n    on 1 of 1: n1\n" in run.stdout


def test_fleet_reports_may_have_any_ending(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    for name in ("n1", "n2.cluster.local", "n3.txt"):
        write(folder, name).rename(folder / name)
    names = tmp_path / "names"
    names.write_text("n1\nn2.cluster.local\nn3\n")
    run = workspace.run("fleet", str(folder), "--nodes", str(names), "--json")
    assert run.status == 0, run
    assert run.json["groups"][0]["nodes"] == names.read_text().split()
    files = map(str, sorted(folder.iterdir()))
    assert workspace.run("fleet", *files, "--nodes", str(names), "--json") == run
    (folder / "old.json").mkdir()
    assert workspace.run("fleet", str(folder), "--nodes", str(names), "--json") == run
    # A folder that has some in .json may have other files, too.
    write(folder, "n4")
    run = workspace.run("fleet", str(folder), "--json")
    assert run.json["groups"][0]["nodes"] == ["n4"]


def test_fleet_unreadable_report_hides_no_other(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    write(folder, "fine")
    write(folder, "newer", lambda content: content.update(schema=2))
    (folder / "cut.json").write_text('{"schema": 1, "stack')
    (folder / "empty.json").write_text("")
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "gone.json").symlink_to("nowhere")
    run = workspace.run("fleet", str(folder))
    assert run.status == 1
    assert run.stdout.startswith("6 nodes: 5 with errors\n")
    assert run.stdout.count("[report-unreadable]") == 5
    assert "its report cannot be read: it is empty [report-unreadable]" in run.stdout
    chinese = workspace.run("fleet", str(folder), "--lang", "zh").stdout
    assert "无法读取它的报告：它不是 JSON" in chinese
    assert "无法读取它的报告：它是空的" in chinese
    assert run.stdout.count("fix: write it again: `python -I -S verify.py --json`") == 5
    assert "No such file or directory" in run.stdout
    assert "it has schema 2" in run.stdout


@pytest.mark.parametrize(
    "change",
    [
        {"machine": {f"k{number}": "v" for number in range(20_000)}},
        {"machine": {"glibc": "2" * 10_000}},
        {"stack": "demo" * 1000},
    ],
    ids=["properties", "value", "name"],
)
def test_fleet_excessive_report_hides_no_other(
    workspace: Workspace, tmp_path: Path, change: dict[str, object]
) -> None:
    """Of 20,000 properties the comparison would take minutes, and nobody would find the others."""
    plain = {"schema": 1, "stack": "demo", "target": "here", "groups": []}
    for name in ("n1", "n2"):
        (tmp_path / f"{name}.json").write_text(json.dumps(plain))
    (tmp_path / "x.json").write_text(json.dumps({**plain, **change}))
    run = workspace.run("fleet", str(tmp_path), "--json")
    codes = {
        tuple(group["nodes"]): [row["code"] for row in group["findings"]]
        for group in run.json["groups"]
    }
    assert codes == {("n1", "n2"): [], ("x",): ["report-unreadable"]}
    assert len(run.stdout) < 5000


def test_fleet_names_nodes_by_path_if_files_are_alike(workspace: Workspace, tmp_path: Path) -> None:
    paths = []
    for node in ("n1", "n2"):
        (tmp_path / node).mkdir()
        paths.append(str(write(tmp_path / node, "report")))
    groups = json.loads(workspace.run("fleet", *paths, "--json").stdout)["groups"]
    assert groups[0]["nodes"] == paths


def test_fleet_escapes_what_a_node_says(workspace: Workspace, tmp_path: Path) -> None:
    path = write(tmp_path, "n", has(soc="\x1b[2J<b>"), found("x", "\x1b]0;hi\x07 <script> `"))
    shown = workspace.run("fleet", str(path)).stdout
    assert "\x1b" not in shown
    page = tmp_path / "page.html"
    assert workspace.run("fleet", str(path), "--format", "html", "-o", str(page)).status == 1
    assert "<script> `" not in page.read_text()
    assert "<b>" not in page.read_text()


def test_fleet_nodes_that_have_not_reported(workspace: Workspace, tmp_path: Path) -> None:
    write(tmp_path / "r", "n1")
    write(tmp_path / "r", "n2", lambda content: content.update(stack=""))
    (tmp_path / "nodes").write_text("n1\nn2\n\nn3\n")
    run = workspace.run("fleet", str(tmp_path / "r"), "--nodes", str(tmp_path / "nodes"))
    assert run.status == 1
    assert "there is no report of it [report-missing]\n    on 1 of 3: n3\n" in run.stdout
    assert "fix: write one on the node with `python -I -S verify.py --json`" in run.stdout
    assert "it names no stack [report-unreadable]\n    on 1 of 3: n2\n" in run.stdout
    run = workspace.run("fleet", str(tmp_path / "r"), "--nodes", str(tmp_path / "nowhere"))
    assert (run.status, run.error) == (2, "the names of nodes cannot be read")


def made(time: str) -> Change:
    """Return the change to a report that was made at a time."""
    return lambda content: content.update(time=time)


def test_fleet_marks_old_reports(workspace: Workspace, tmp_path: Path) -> None:
    """A node that was down keeps its last good report, which says nothing of today."""
    folder = tmp_path / "r"
    write(folder, "n1", made("2026-11-28T09:00:00Z"))
    for number, time in ((2, "2026-11-29T11:00:00Z"), (3, "2026-11-29T11:30:00Z")):
        write(folder, f"n{number}", made(time))
    run = workspace.run("fleet", str(folder))
    assert run.status == 4
    assert "The reports are from 2026-11-28 09:00 to 2026-11-29 11:30 (UTC).\n" in run.stdout
    marked = "its report is more than an hour older than the newest one [report-old]\n"
    assert f"Warnings\n  - {marked}    on 1 of 3: n1\n    fix: check the node again" in run.stdout
    told = workspace.run("fleet", str(folder), "--json").json
    assert (told["oldest"], told["newest"]) == ("2026-11-28T09:00:00Z", "2026-11-29T11:30:00Z")


@pytest.mark.parametrize("time", ["", "yesterday", "2026-11-29T11:00:00+08:00", "9" * 150])
def test_fleet_without_a_time_marks_nothing(
    workspace: Workspace, tmp_path: Path, time: str
) -> None:
    write(tmp_path / "r", "n1", made(time))
    write(tmp_path / "r", "n2", made("2026-11-29T11:00:00Z"))
    run = workspace.run("fleet", str(tmp_path / "r"))
    assert run.status == 0
    assert "The reports are of 2026-11-29 11:00 (UTC).\n" in run.stdout


def test_fleet_names_all_nodes_that_differ(workspace: Workspace, tmp_path: Path) -> None:
    """Documents name all; the terminal names as many as fit, and the group that agrees is short."""
    folder = tmp_path / "r"
    for number in range(0, 400, 2):
        write(folder, f"n{number:03}")
    old = [f"n{number:03}" for number in range(1, 120, 2)]
    for name in old:
        write(folder, name, has(glibc="2.31"), found("file-changed", "it differs"))
    for form in ("markdown", "html"):
        text = workspace.run("fleet", str(folder), "--format", form).stdout
        assert [name for name in old if text.count(name) < 2] == []
        assert "and 194 more" in text
    shown = workspace.run("fleet", str(folder)).stdout
    assert [name for name in old if name in shown] == old[:40]
    assert "and 20 more" in shown
    assert "n398" not in shown
    shown = workspace.run("fleet", str(folder), "--all-nodes").stdout
    assert [name for name in old if name not in shown] == []


def test_fleet_of_machines_alone_says_so(workspace: Workspace, tmp_path: Path) -> None:
    change: Change = lambda content: content.update(checks="machine")  # noqa: E731
    write(tmp_path / "r", "n1", change)
    run = workspace.run("fleet", str(tmp_path / "r"))
    assert run.stdout.startswith("1 node: its machine fits the lock; nothing installed was checked")
    write(tmp_path / "r", "n2")
    assert workspace.run("fleet", str(tmp_path / "r")).status == 4


def test_fleet_without_reports(workspace: Workspace, tmp_path: Path) -> None:
    assert "there are no reports to compare" in workspace.run("fleet").stderr
    run = workspace.run("fleet", str(tmp_path))
    assert run.status == 2
    assert str(tmp_path) in run.stderr


def test_folded_names() -> None:
    names = ["n10", "n09", "n8", "login", "n011", "m1", "m2", "m3", "m5", "10.0.0.1"]
    names += ["c1.site", "c2.site", "c2.other", "10.0.0.2"]
    runs = folded(names)
    assert [run.text for run in runs] == [
        "10.0.0.[1-2]",
        "c[1-2].site",
        "c2.other",
        "login",
        "m[1-3]",
        "m5",
        "n011",
        "n[09-10]",
        "n8",
    ]
    assert sum(run.count for run in runs) == len(names)
