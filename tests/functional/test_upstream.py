"""`ascend-lock check --upstream`: what became of the files of a lock, told of an index that changed since."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.functional.conftest import Setup
from tests.functional.workspace import Run, Workspace, tree
from tests.loopback import Fault, LoopbackIndex, altered, status

Begin = Callable[[Setup], None]

CHANGING = ("taken-back", "swapped", "doubled", "vanished", "pulled", "thinner", "retired", "obsolete", "unsafe")
NAMES = (*CHANGING, "leaky", "kept")
COMPARED = "  12 files were compared with their index pages\n"


def eleven_projects(workspace: Workspace, index: LoopbackIndex) -> None:
    for name in NAMES:
        index.add_wheel(name, "1.0")
    index.add_wheel("thinner", "1.0", tags="cp311-cp311-manylinux_2_28_aarch64")
    workspace.stack(*NAMES)
    workspace.facts(
        "kept",
        '[[after]]\nid = "kept-is-last"\nothers = ["leaky"]\nreason = "r"\nchecked = 2020-01-31\n',
    )


def on_page(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Fault:
    """The files of a JSON page, changed."""

    def changed(body: bytes) -> bytes:
        if not body:  # a 304
            return body
        page = json.loads(body)
        return json.dumps({**page, "files": change(page["files"])}).encode()

    return altered(changed)


def with_hash(file: dict[str, Any], digit: str) -> dict[str, Any]:
    return {**file, "hashes": {"sha256": digit * 64}}


def change_all(index: LoopbackIndex) -> None:
    index.add_wheel("taken-back", "1.0", yanked="it ate \x1b[2J data")
    index.fault("*/swapped/", on_page(lambda files: [with_hash(file, "0") for file in files]))
    index.fault("*/doubled/", on_page(lambda files: [*files, *(with_hash(file, "1") for file in files)]))
    index.remove("vanished")
    index.add_wheel("pulled", "2.0")
    index.remove("pulled", "pulled-1.0-py3-none-any.whl")
    index.remove("thinner", "thinner-1.0-py3-none-any.whl")
    index.stands("retired", "archived")
    index.stands("obsolete", "deprecated", "see kept")
    index.stands("unsafe", "quarantined")
    index.remove("unsafe", "unsafe-1.0-py3-none-any.whl")


def check(workspace: Workspace, *options: str, **environment: str) -> Run:
    """`check --upstream`, which must leave everything as it was."""
    before = tree(workspace.root / "matrices"), tree(workspace.locks)
    run = workspace.run("check", "demo", "--upstream", "--facts-days", "99999", *options, **environment)
    assert (tree(workspace.root / "matrices"), tree(workspace.locks)) == before
    return run


def test_all_that_can_change(workspace: Workspace, index: LoopbackIndex, begin_with: Begin) -> None:
    begin_with(eleven_projects)
    locked = {pin["name"]: pin["file"][0]["sha256"] for pin in workspace.content()["pin"]}
    change_all(index)
    run = check(workspace)
    assert run.stdout == (
        "demo for there: current\n"
        "  two hashes: `pypi` lists doubled-1.0-py3-none-any.whl twice, with different sha256\n"
        "  gone: `pypi` no longer has pulled 1.0\n"
        f"  different hash: swapped-1.0-py3-none-any.whl on `pypi` has sha256 {'0' * 64}, the lock has "
        f"{locked['swapped']}\n"
        "  yanked since: taken-back 1.0 on `pypi`, reason: it ate \\x1b[2J data\n"
        "  quarantined: `pypi` marks unsafe as unsafe to use\n"
        "  gone: `pypi` no longer has unsafe 1.0\n"
        "  gone: `pypi` no longer has the project vanished\n"
        "  deprecated: `pypi` marks obsolete as obsolete, reason: see kept\n"
        "  archived: `pypi` says that retired will no longer be updated\n"
        "  gone: `pypi` no longer offers thinner-1.0-py3-none-any.whl, which pip does not use on the target\n"
        + COMPARED
    )
    assert (run.status, run.stderr) == (5, "")
    chinese = check(workspace, "--lang", "zh").stdout.splitlines()
    assert len(chinese) == len(run.stdout.splitlines())
    assert chinese[4] == "  此后被撤回（yank）：`pypi` 上的 taken-back 1.0，原因：it ate \\x1b[2J data"
    told = check(workspace, "--json")
    assert (told.status, told.json["status"], told.stderr) == (5, "changed", "")
    (row,) = told.json["locks"]
    assert {change["project"]: change["grave"] for change in row["upstream"]["changes"]} == {
        **dict.fromkeys(CHANGING, True),
        **dict.fromkeys(("obsolete", "retired", "thinner"), False),
    }


def test_nothing_changed_but_facts_are_old(workspace: Workspace, index: LoopbackIndex, begin_with: Begin) -> None:
    """Each page is asked for once; what only grew old changes no status."""
    begin_with(eleven_projects)
    run = workspace.run("check", "--upstream")
    assert run.stdout == (
        "demo for there: current\n  nothing changed upstream\n"
        "  1 of its facts was last checked more than 180 days ago: kept-is-last\n" + COMPARED
    )
    assert (run.status, run.stderr) == (0, "")
    assert sorted(request.path for request in index.requests) == sorted(f"/simple/pypi/{name}/" for name in NAMES)
    index.clear()
    offline = workspace.run("check", "--facts-days", "30", "--lang", "zh")
    assert offline.stdout == "demo，目标 there：是最新的\n  其中 1 条事实已超过 30 天未核对：kept-is-last\n"
    assert (offline.status, index.requests) == (0, [])
    assert workspace.run("check", "--json").json["locks"] == [
        {"stack": "demo", "target": "there", "stale": "", "state": "current"}
    ]


def test_an_index_out_of_reach(workspace: Workspace, index: LoopbackIndex, begin_with: Begin) -> None:
    begin_with(eleven_projects)
    workspace.index_url = "http://127.0.0.1:9/simple/"
    run = check(workspace, "--json")
    assert (run.status, run.json["status"]) == (3, "out-of-reach")
    (row,) = run.json["locks"]
    (lost,) = row["upstream"]["out_of_reach"]
    assert (lost["index"], sorted(lost["projects"])) == ("pypi", sorted(NAMES))
    assert (row["upstream"]["files"], row["upstream"]["changes"], row["stale"]) == (0, [], "")


def test_a_page_that_fails_leaves_the_others_compared(
    workspace: Workspace, index: LoopbackIndex, begin_with: Begin
) -> None:
    """What was found counts more than what could not be asked."""
    begin_with(eleven_projects)
    index.fault("*/kept/", status(403))
    index.remove("vanished")
    run = check(workspace)
    assert (run.status, run.stdout) == (
        5,
        "demo for there: current\n  gone: `pypi` no longer has the project vanished\n"
        "  not compared: `pypi` for kept: It answered 403.\n" + COMPARED.replace("12", "11"),
    )
    index.add_wheel("vanished", "1.0")
    assert check(workspace).status == 3
