"""`ascend-lock explain` as people use it: what clashes, what solves it, and why a pin is what it is."""

from __future__ import annotations

import html
import json
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cached import damage
from tests.functional.conftest import Setup
from tests.functional.sources import add_backend
from tests.functional.workspace import Run, Workspace, tree, wait_until
from tests.loopback import LoopbackIndex, Response, delayed, status
from tests.unit.report.test_report_json import SCHEMA, faults

NAME = "linux-aarch64-py311-cann8.5.0-a2"
ASCEND = """\
[target]
python = "3.11"
platform = "linux-aarch64"
[target.system]
cann = "{cann}"  # what the cluster has
soc = "A2"
"""
CLASH = """\
# Evaluation of what the trainer wrote.
[stack]
name = "demo"
summary = "a stack of tests"
requires = [
    "trl[vllm]==0.28.0",  # as the guide says
    "vllm-ascend==0.13.0",
    "numpy<2",
]

""" + ASCEND.format(cann="8.5.0")
FACT = """
[[requires]]
id = "vllm-ascend-0.13-needs-vllm"
versions = "==0.13.0"
needs = ["vllm==0.13.0", "cann in 8.5.0 | 8.5.1"]
reason = "A vllm-ascend release is written against one vllm release."
"""
REPORTS = ["conflict.html", "conflict.json", "conflict.md", "conflict.zh.html", "conflict.zh.md"]
INTERRUPTED = "\ninterrupted; no lock was left half-written\n"


@pytest.fixture
def clash(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """trl's extra wants an older vllm than vllm-ascend is written for."""
    index.add_wheel("trl", "0.27.0", extras={"vllm": ["vllm>=0.10.2,<0.13.0"]})
    index.add_wheel("trl", "0.28.0", extras={"vllm": ["vllm>=0.10.2,<0.13.0"]})
    index.add_wheel("trl", "1.0.0", extras={"vllm": ["vllm>=0.10.2,<0.14.0"]})
    for version in ("0.12.0", "0.13.0"):
        index.add_wheel("vllm", version)
    index.add_wheel("vllm-ascend", "0.13.0")
    index.add_wheel("numpy", "1.26.4")
    index.add_wheel("numpy", "2.1.0")
    workspace.facts("vllm-ascend", FACT)
    stack(workspace, CLASH)
    return workspace


def stack(workspace: Workspace, text: str, name: str = "demo") -> None:
    (workspace.matrices / "stacks" / f"{name}.toml").write_text(text)


def explain(workspace: Workspace, *arguments: str, **environment: str) -> Run:
    return workspace.run("explain", "demo", *arguments, **environment)


def letter(workspace: Workspace, *kinds: str) -> str:
    """The letter of the first way out whose changes are of these kinds."""
    fixes = explain(workspace, "--json").json["fixes"]
    return str(next(fix["name"] for fix in fixes if [kind for kind, _, _ in changes(fix)] == list(kinds)))


def changes(fix: dict[str, object]) -> list[tuple[str, str, str]]:
    rows = fix["changes"]
    assert isinstance(rows, list)
    return [(row["kind"], row["before"], row["after"]) for row in rows]


# --- a conflict, and none


def test_a_conflict_is_told_on_stdout_and_its_report_written(clash: Workspace) -> None:
    run = explain(clash)
    assert run.status == 1
    head, why, ways = run.stdout.split("\n\n", 2)
    assert head == "No environment satisfies demo for linux-aarch64, Python 3.11, CANN 8.5.0, SoC A2."
    assert (
        why
        == """\
Why: these 4 cannot all hold together, but any 3 of them can
   1  the stack asks for trl[vllm]==0.28.0         matrices/stacks/demo.toml:6
   2  the stack asks for vllm-ascend==0.13.0       matrices/stacks/demo.toml:7
   3  trl[vllm] 0.28.0 needs vllm<0.13.0,>=0.10.2  metadata of trl-0.28.0-py3-none-any.whl
   4  vllm-ascend 0.13.0 needs vllm==0.13.0        matrices/facts/vllm-ascend.toml:7 (vendor)
                                                   a test
   => 3 and 4 leave no choice for vllm"""
    )
    assert re.findall("(?m)^  ([A-Z]  .*)", ways) == [
        "A  ask for trl[vllm]==1.0.0 instead of trl[vllm]==0.28.0 (1 release newer)",
        "B  trl==0.28.0 without the extra, instead of trl[vllm]==0.28.0",
        "C  split into 2 environments",
        "D  set aside the fact `vllm-ascend-0.13-needs-vllm` (vllm==0.13.0)",
        "E  add a fact that removes vllm<0.13.0,>=0.10.2 from the requirements of trl[vllm]",
    ]
    hint = "hint: make explain STACK=demo APPLY=A writes the changed stack next to the old one"
    assert ways.endswith(f"\n\n{hint}\nNo lock was changed.\n")
    assert run.stderr == f"The report is in locks/demo/{NAME}: conflict.html, .md and .json.\n"
    assert sorted(path.name for path in clash.folder().iterdir()) == REPORTS
    assert sorted(path.name for path in (clash.matrices / "stacks").iterdir()) == ["demo.toml"]


def test_lock_and_explain_say_the_same(clash: Workspace) -> None:
    told = explain(clash).stdout
    written = tree(clash.folder())
    assert clash.lock().stderr.startswith(told)
    assert tree(clash.folder()) == written


def test_json_is_the_report(clash: Workspace) -> None:
    run = explain(clash, "--json")
    assert (run.status, run.stderr) == (1, "")
    report = json.loads(clash.read("conflict.json"))
    assert run.json == {**report, "targets": [report]}
    assert run.json["status"] == "conflict"
    assert changes(run.json["fixes"][0]) == [("version", "trl[vllm]==0.28.0", "trl[vllm]==1.0.0")]


def test_a_stack_that_can_be_locked(clash: Workspace) -> None:
    stack(clash, CLASH.replace("trl[vllm]==0.28.0", "trl"))
    run = explain(clash)
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout == (
        "demo has a solution for linux-aarch64, Python 3.11, CANN 8.5.0, SoC A2: there is no conflict.\n"
        "hint: --package NAME explains why a project is pinned to its version\n"
    )
    assert not clash.locks.exists()
    run = explain(clash, "--json")
    told = {"status": "solvable", "stack": "demo", "target": NAME}
    assert (run.status, run.json) == (0, {**told, "targets": [told]})


@pytest.mark.parametrize(
    ("arguments", "locale"),
    [(["--lang", "zh"], "C.UTF-8"), ([], "zh_CN.UTF-8"), (["--lang", "zh"], "de_DE.UTF-8")],
    ids=["option", "locale", "option against locale"],
)
def test_in_chinese(clash: Workspace, arguments: list[str], locale: str) -> None:
    run = explain(clash, *arguments, LANG=locale)
    assert run.stdout.startswith("找不到满足 demo 的环境（linux-aarch64，Python 3.11，CANN 8.5.0，SoC A2）。\n\n原因：")
    assert "   1  软件栈要求 trl[vllm]==0.28.0" in run.stdout
    assert run.stderr == f"报告位于 locks/demo/{NAME}：conflict.zh.html、conflict.zh.md 与 conflict.json。\n"
    assert clash.read("conflict.zh.md").startswith("# demo：无解\n")
    assert '<html lang="zh-Hans">' in clash.read("conflict.zh.html")
    assert explain(clash, *arguments, "--json", LANG=locale).json["language"] == "zh"


def test_the_language_of_a_run_changes_no_file_that_is_shared(clash: Workspace) -> None:
    explain(clash, "--lang", "en")
    before = tree(clash.locks)
    assert "找不到" in explain(clash, LC_ALL="zh_CN.UTF-8").stdout
    assert tree(clash.locks) == before
    assert "找不到" in explain(clash, "--lang", "zh").stdout
    assert "找不到" in clash.lock("--lang", "zh").stderr
    assert tree(clash.locks) == before
    assert clash.read("conflict.md").startswith("# demo: no solution\n")
    assert json.loads(clash.read("conflict.json"))["language"] == "en"


# --- the limit of time


def test_a_limit_of_time_that_is_reached_is_told(clash: Workspace, index: LoopbackIndex) -> None:
    index.fault("/files/*/vllm-0.12.0*", delayed(0.6))  # what only a way out asks for
    run = explain(clash, "--explain-seconds", "0.1")
    assert run.status == 1
    assert "\nWhy: these 4 cannot all hold together, but any 3 of them can\n" in run.stdout
    assert run.stdout.endswith(
        "Not everything was decided in the time given: there may be more conflicts and more ways out.\n"
        "hint: --explain-seconds N gives it more time\n"
        "No lock was changed.\n"
    )
    assert json.loads(clash.read("conflict.json"))["limited"] is True


def test_a_file_that_takes_long_is_not_waited_for_beyond_the_limit(clash: Workspace, index: LoopbackIndex) -> None:
    index.fault("/files/*/trl-1.0.0*", delayed(60))
    began = time.monotonic()
    run = explain(clash, "--explain-seconds", "2")
    assert time.monotonic() - began < 30
    assert run.status == 1
    assert "Not everything was decided in the time given" in run.stdout


def test_a_limit_of_nothing_is_refused(clash: Workspace) -> None:
    run = explain(clash, "--explain-seconds", "0.05")
    assert (run.status, run.stdout) == (2, "")
    assert run.stderr.startswith("error: Invalid value for '--explain-seconds': 0.05 is not in the range x>=0.1.\n")


def one(workspace: Workspace, index: LoopbackIndex) -> None:
    for version in ("1.0", "2.0"):
        index.add_wheel("demo", version)
    index.add_wheel("needy", "1.0", requires=["demo<2"])
    workspace.stack("demo==1.0")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_explain_that_is_interrupted_leaves_everything_as_it_was(
    workspace: Workspace, index: LoopbackIndex, begin_with: Callable[[Setup], None], number: signal.Signals
) -> None:
    begin_with(one)
    workspace.stack("demo==2.0", "needy")
    before = tree(workspace.root / "locks"), tree(workspace.matrices)
    index.fault("/files/*/demo-1.0*", delayed(60))
    process = workspace.start("explain", "demo", "--apply", "A")
    wait_until(lambda: any("/demo-1.0" in request.path for request in list(index.requests)), process)
    process.send_signal(number)
    run = workspace.finish(process)
    assert (run.status, run.stdout, run.stderr) == (130, "", INTERRUPTED)
    assert (tree(workspace.root / "locks"), tree(workspace.matrices)) == before
    assert tree(workspace.temporary) == {}


# --- --apply


def test_apply_writes_the_changed_stack_beside_the_old_one_and_shows_what_differs(clash: Workspace) -> None:
    run = explain(clash, "--apply", "A")
    assert run.status == 0
    assert run.stdout.endswith("""\
No lock was changed.

--- matrices/stacks/demo.toml
+++ matrices/stacks/demo-a.toml
@@ -1,9 +1,10 @@
+# Way out A of `demo`: what follows was written for that stack.
 # Evaluation of what the trainer wrote.
 [stack]
-name = "demo"
-summary = "a stack of tests"
+name = "demo-a"
+summary = "way out A of demo (a stack of tests)"
 requires = [
-    "trl[vllm]==0.28.0",  # as the guide says
+    "trl[vllm]==1.0.0",  # instead of trl[vllm]==0.28.0: as the guide says
     "vllm-ascend==0.13.0",
     "numpy<2",
 ]

Written: matrices/stacks/demo-a.toml. Next: ascend-lock lock demo-a
""")
    stacks = clash.matrices / "stacks"
    assert (stacks / "demo.toml").read_text() == CLASH
    changed = CLASH.replace('trl[vllm]==0.28.0",  # as', 'trl[vllm]==1.0.0",  # instead of trl[vllm]==0.28.0: as')
    assert (stacks / "demo-a.toml").read_text() == way_out("A", "demo-a", changed)
    clash.locked(stack="demo-a")
    assert clash.pins("demo-a") == {"trl": "1.0.0", "vllm": "0.13.0", "vllm-ascend": "0.13.0", "numpy": "1.26.4"}


def way_out(letter: str, name: str, text: str) -> str:
    """The text of a way out, whose lines these are."""
    head = f"# Way out {letter} of `demo`: what follows was written for that stack.\n"
    summary = f'"way out {letter} of demo (a stack of tests)"'
    return head + text.replace('"demo"', f'"{name}"').replace('"a stack of tests"', summary)


def test_every_way_out_locks_to_the_pins_that_were_told(clash: Workspace) -> None:
    told = explain(clash, "--json").json["fixes"]
    kinds = [[kind for kind, _, _ in changes(fix)] for fix in told]
    assert all([kind] in kinds for kind in ("version", "extra", "relax", "add"))
    assert ["split", "split"] in kinds
    for fix in told:
        for file, environment in zip(fix["files"], fix["environments"], strict=True):
            stack(clash, file["text"], file["name"])
            clash.locked(stack=file["name"])
            pins = clash.pins(file["name"])
            assert {row["name"]: pins[row["name"]] for row in environment["pins"]} == {
                row["name"]: row["version"] for row in environment["pins"]
            }
            assert len(pins) == environment["count"]


def test_apply_of_a_split_writes_both_stacks_in_any_case_of_the_letter(clash: Workspace) -> None:
    split = letter(clash, "split", "split").lower()
    run = explain(clash, "--apply", split)
    assert run.status == 0
    assert run.stdout.count("\nWritten: ") == 2
    stacks = clash.matrices / "stacks"
    line = '    "vllm-ascend==0.13.0",\n'
    text = way_out(split.upper(), f"demo-{split}1", CLASH.replace(line, ""))
    assert (stacks / f"demo-{split}1.toml").read_text() == text
    line = '    "trl[vllm]==0.28.0",  # as the guide says\n'
    text = way_out(split.upper(), f"demo-{split}2", CLASH.replace(line, ""))
    assert (stacks / f"demo-{split}2.toml").read_text() == text


def test_apply_again_is_the_same_and_never_overwrites_what_differs(clash: Workspace) -> None:
    assert explain(clash, "--apply", "A").status == 0
    assert explain(clash, "--apply", "A").status == 0
    written = clash.matrices / "stacks" / "demo-a.toml"
    for mine in (b"# mine\n", "# 我的\n".encode("gb18030")):
        written.write_bytes(mine)
        run = explain(clash, "--apply", "A")
        assert (run.status, written.read_bytes()) == (2, mine)
        assert run.stderr.endswith(
            "error: `matrices/stacks/demo-a.toml` already exists and differs; nothing was written\n"
            "  at matrices/stacks/demo-a.toml\n"
            "hint: move it out of the way first\n"
        )


def test_apply_of_a_split_writes_nothing_where_one_of_its_stacks_differs(clash: Workspace) -> None:
    stacks = clash.matrices / "stacks"
    split = letter(clash, "split", "split")
    mine = stacks / f"demo-{split.lower()}2.toml"
    mine.write_text("# mine\n")
    assert explain(clash, "--apply", split).status == 2
    assert sorted(path.name for path in stacks.iterdir()) == [mine.name, "demo.toml"]


def test_a_letter_that_no_way_out_has(clash: Workspace) -> None:
    run = explain(clash, "--apply", "Z")
    assert run.status == 2
    assert "error: there is no way out `Z`\n  at --apply\nhint: found: A, B, C, D, " in run.stderr


def test_json_is_one_object_where_a_way_out_is_applied(clash: Workspace) -> None:
    run = explain(clash, "--apply", "A", "--json")
    assert (run.status, run.stderr, run.json["status"]) == (0, "", "conflict")
    assert (clash.matrices / "stacks" / "demo-a.toml").is_file()


def test_a_stack_given_by_path_is_applied_beside_it_and_can_be_locked_as_told(clash: Workspace) -> None:
    (clash.matrices / "stacks" / "demo.toml").rename(clash.root / "mine.toml")
    run = clash.run("explain", "./mine.toml", "--apply", "A")
    assert run.status == 0
    assert (clash.root / "demo-a.toml").is_file()
    _, _, told = run.stdout.rpartition("Next: ascend-lock ")
    assert clash.run(*told.split()).status == 0


def test_ways_out_under_a_cut_off_of_the_command_line_are_found_again_and_have_it(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """The hint has the option, the stack that it writes the cut-off, so that what is locked is what was solved."""
    for version, day in (("1.0", "2026-01-01"), ("2.0", "2026-03-01"), ("3.0", "2026-06-01")):
        index.add_wheel("a", version, uploaded=f"{day}T00:00:00Z")
    workspace.stack("a>=3")
    run = workspace.run("lock", "demo", "--exclude-newer", "2026-04-01")
    hint = "hint: make explain STACK=demo ARGS='--exclude-newer 2026-04-01' APPLY=A writes"
    assert hint in run.stderr
    applied = explain(workspace, "--exclude-newer", "2026-04-01", "--apply", "A")
    assert "+[policy]\n+exclude-newer = 2026-04-01\n" in applied.stdout
    assert applied.stdout.endswith("Next: ascend-lock lock demo-a\n")
    workspace.locked(stack="demo-a")
    assert {pin["name"]: pin["version"] for pin in workspace.content("demo-a")["pin"]} == {"a": "2.0"}


def test_what_is_told_to_do_offline_is_done_offline(clash: Workspace) -> None:
    assert explain(clash).status == 1
    run = clash.run("lock", "demo", "--offline")
    assert "hint: make explain STACK=demo ARGS=--offline APPLY=A writes" in run.stderr
    run = explain(clash, "--offline", "--apply", "A")
    _, _, told = run.stdout.rpartition("Next: ascend-lock ")
    assert told == "lock demo-a --offline\n"
    assert clash.run(*told.split()).status == 0


def test_where_the_matrices_were_copied_without_the_makefile_the_program_itself_is_named(clash: Workspace) -> None:
    (clash.root / "Makefile").unlink()
    assert "hint: ascend-lock explain demo --apply A writes" in clash.run("lock", "demo").stderr


def test_matrices_of_the_command_line_are_in_what_is_told_to_do(clash: Workspace) -> None:
    elsewhere = clash.matrices.rename(clash.root / "other facts")
    run = clash.run("lock", "demo", "--matrices", elsewhere.name)
    hint = f"hint: ascend-lock explain demo --matrices '{elsewhere.name}' --apply A writes"  # `make` takes ./matrices
    assert hint in " ".join(run.stderr.split())
    run = explain(clash, "--matrices", elsewhere.name, "--apply", "A")
    assert run.stdout.endswith("Next: ascend-lock lock demo-a --matrices 'other facts'\n")
    assert elsewhere.name not in (clash.folder() / "conflict.md").read_text(encoding="utf-8")
    run = explain(clash, "--matrices", elsewhere.name, "--locks", "mine", "--apply", "A")
    assert run.stdout.endswith("Next: ascend-lock lock demo-a --matrices 'other facts' --locks mine\n")


# --- what may change, and what never


def test_a_newer_glibc_is_a_way_out_and_the_nearest_comes_first(workspace: Workspace, index: LoopbackIndex) -> None:
    for glibc in ("2_35", "2_31"):
        index.add_wheel("demo", "1.0", tags=f"cp311-cp311-manylinux_{glibc}_aarch64")
    index.add_wheel("demo", "1.0", tags="cp311-cp311-manylinux_2_17_x86_64")
    workspace.stack("demo", target=ASCEND.format(cann="8.5.0"))
    run = explain(workspace, "--apply", "A")
    assert "  A  glibc 2.31 instead of 2.28\n" in run.stdout
    assert '+glibc = "2.31"\n' in run.stdout
    workspace.locked(stack="demo-a")


def test_what_clashes_is_told_before_the_ways_out_are_known(clash: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("trl", "1.1.0", extras={"vllm": ["vllm>=0.10.2,<0.14.0", "slow"]})
    index.add_wheel("slow", "1.0")
    gate = threading.Event()

    def held(response: Response) -> Response:
        gate.wait(60)
        return response

    index.fault("/simple/pypi/slow/", held)
    process = clash.start("explain", "demo")
    try:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(3)]
        assert said[2] == "Why: these 4 cannot all hold together, but any 3 of them can\n"
    finally:
        gate.set()
        rest, _ = process.communicate(timeout=60)
    assert "Ways out, each one solved and checked\n" in rest
    assert "/simple/pypi/slow/" in [request.path for request in index.requests]


def test_what_is_in_the_way_of_a_way_out_is_told(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("app", "1.0", requires=["lib<2"])
    index.add_wheel("app", "2.0", requires=["lib>=2", "broken"])
    for version in ("1.0", "2.0"):
        index.add_wheel("lib", version)
    index.add_archive("broken", "1.0", static=False)
    workspace.stack("app==1.0", "lib==2.0")
    run = explain(workspace, "--json")
    told = {attempt["text"] for attempt in run.json["attempts"]}
    why = "broken 1.0 cannot be used: broken-1.0.tar.gz is a source archive without static metadata"
    assert told == {f"still: the stack asks for app==2.0; app 2.0 needs broken; {why}"}
    assert ("version", "lib==2.0", "lib==1.0") in changes(run.json["fixes"][0])


def test_tools_of_a_build_that_clash_only_warn(workspace: Workspace, index: LoopbackIndex) -> None:
    add_backend(index)
    index.add_archive("demo", "1.0", build_requires=["tinybuild<1"])
    workspace.stack("demo")
    assert explain(workspace).status == 0
    workspace.locked()
    (warning,) = workspace.content()["warnings"]
    assert "building demo 1.0 needs tinybuild<1; no release of tinybuild matches `<1`; the newest is 1.0" in warning
    assert not (workspace.folder() / "conflict.md").exists()


# --- several targets

TWO = "".join(
    f'[[target]]\nname = "{name}"\npython = "{python}"\nplatform = "linux-aarch64"\n'
    for name, python in (("old", "3.10"), ("new", "3.11"))
)


@pytest.fixture
def two(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """Python 3.10 needs an a below 2, Python 3.11 one from 2 on; the stack asks for a 2."""
    for version in ("1.0", "2.0"):
        index.add_wheel("a", version)
    index.add_wheel("b", "1.0", requires=["a<2"], requires_python="<3.11")
    index.add_wheel("b", "1.1", requires=["a>=2"], requires_python=">=3.11")
    workspace.stack("a==2.0", "b", target=TWO)
    return workspace


def test_each_target_is_told(two: Workspace) -> None:
    run = explain(two)
    assert run.status == 1
    assert "No environment satisfies demo for linux-aarch64, Python 3.10.\n" in run.stdout
    assert "demo has a solution for linux-aarch64, Python 3.11: there is no conflict.\n" in run.stdout
    assert run.stderr == "The report is in locks/demo/old: conflict.html, .md and .json.\n"
    assert [path.name for path in (two.locks / "demo").iterdir()] == ["old"]
    assert run.stdout.endswith("\n\nhint: ascend-lock lock demo --target new locks the target that has a solution\n"), (
        run.stdout
    )
    assert two.lock("--target", "new").status == 0
    assert "locks the target" not in explain(two, "--target", "old").stdout


@pytest.mark.parametrize(
    ("arguments", "status", "each"),
    [
        ([], "conflict", ["conflict", "solvable"]),
        (["--target", "old"], "conflict", ["conflict"]),
        (["--target", "new"], "solvable", ["solvable"]),
        (["--target", "new", "--package", "a"], "why", ["why"]),
    ],
)
def test_json_has_one_shape(two: Workspace, arguments: list[str], status: str, each: list[str]) -> None:
    """That of docs/conflict-report.md, which is that of `lock --json`; of an only target all stands on top, too."""
    told = explain(two, "--json", *arguments).json
    assert list(faults({key: told[key] for key in ("status", "targets")}, SCHEMA["$defs"]["answer"])) == []
    assert (told["status"], [one["status"] for one in told["targets"]]) == (status, each)
    only = told["targets"][0] if len(each) == 1 else {}
    assert told == {**only, "status": status, "targets": told["targets"]}


def test_the_hint_names_the_target_where_there_are_several(two: Workspace, index: LoopbackIndex) -> None:
    """Each has letters of its own."""
    index.add_wheel("c", "1.0", requires=["a<2"], requires_python=">=3.11")
    two.stack("a==2.0", "b ; python_version < '3.11'", "c ; python_version >= '3.11'", target=TWO)
    run = explain(two)
    for name in ("old", "new"):
        assert f"hint: make explain STACK=demo ARGS='--target {name}' APPLY=A writes" in run.stdout
    assert explain(two, "--target", "new", "--apply", "A").status == 0


def test_one_way_out_changes_what_each_target_lacks(clash: Workspace) -> None:
    """It is the same for both, so that it can be applied without a target."""
    each = "".join(
        f'[[target]]\nname = "{name}"\npython = "3.11"\nplatform = "linux-aarch64"\nsystem.cann = "{cann}"\n'
        for name, cann in (("old", "8.2.RC1"), ("new", "8.3.RC1"))
    )
    stack(clash, f'[stack]\nname = "demo"\nsummary = "s"\nrequires = ["vllm-ascend"]\n{each}')
    run = explain(clash)
    for own, other, name in (("8.2.RC1", "8.3.RC1", "new"), ("8.3.RC1", "8.2.RC1", "old")):
        told = f"  A  CANN 8.5.0 instead of {own}\n     CANN 8.5.0 instead of {other}, for the target {name}\n"
        assert told in run.stdout
    fixes = [row["fixes"][0] for row in explain(clash, "--json").json["targets"]]
    assert [[change.get("target") for change in fix["changes"]] for fix in fixes] == [[None, "new"], [None, "old"]]
    assert explain(clash, "--apply", "A").status == 0
    assert clash.lock(stack="demo-a").status == 0
    assert sorted(path.name for path in (clash.locks / "demo-a").iterdir()) == ["new", "old"]


# --- --package


@pytest.fixture
def solvable(clash: Workspace) -> Workspace:
    stack(clash, CLASH.replace('    "trl[vllm]==0.28.0",  # as the guide says\n', ""))
    return clash


def test_why_a_pin_is_what_it_is_and_what_a_newer_release_breaks(solvable: Workspace) -> None:
    run = explain(solvable, "--package", "numpy")
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout.startswith("""\
numpy is locked at 1.26.4 in demo for linux-aarch64, Python 3.11, CANN 8.5.0, SoC A2.

Asked for by
   1  the stack asks for numpy<2  matrices/stacks/demo.toml:7
   => 1 allows nothing newer
""")
    told = explain(solvable, "--package", "numpy", "--json").json
    assert (told["newer"], told["tried"], told["moves"]) == (["2.1.0"], "2.1.0", [])
    (one,) = told["contradictions"]
    assert [row["text"] for row in one["statements"]] == ["the stack asks for numpy<2", "suppose numpy==2.1.0 is used"]
    assert not solvable.locks.exists()


def test_a_release_that_can_be_had_and_what_it_moves(workspace: Workspace, index: LoopbackIndex) -> None:
    for version in ("1.0", "2.0"):
        index.add_wheel("a", version, requires=[f"b=={version}", *(["c"] if version == "1.0" else ["d"])])
        index.add_wheel("b", version)
    index.add_wheel("c", "1.0")
    index.add_wheel("d", "1.0")
    workspace.stack("a")
    told = explain(workspace, "--package", "a==1", "--json").json
    assert (told["status"], told["version"], told["tried"], told["contradictions"]) == ("why", "2.0", "1.0", [])
    moves = [("a", "2.0", "1.0"), ("b", "2.0", "1.0"), ("c", "", "1.0"), ("d", "1.0", "")]
    assert [(row["name"], row["old"], row["new"]) for row in told["moves"]] == moves


def test_a_newer_post_that_a_fact_puts_last_is_explained(workspace: Workspace, index: LoopbackIndex) -> None:
    for version in ("1.0", "1.0.post1"):
        index.add_wheel("a", version)
    workspace.facts(
        "a",
        '[[warns]]\nid = "pair"\nversions = "==1.0.post1"\nlast = 1\ntext = "x"\n'
        'reason = "it is made for another CANN"\nreason-zh = "它面向另一个 CANN 版本"\n',
    )
    workspace.stack("a")
    run = explain(workspace, "--package", "a")
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout.endswith("""\
Newer: 1.0.post1 (1 release)
1.0.post1 ranks after 1.0 on this target, according to matrices/facts/a.toml:6 (vendor)
   it is made for another CANN

a 1.0.post1 is possible; no other pin changes.
""")
    assert "\n   它面向另一个 CANN 版本\n" in explain(workspace, "--package", "a", "--lang", "zh").stdout
    told = explain(workspace, "--package", "a", "--json").json
    assert told["later"] == [{"version": "1.0.post1", "facts": ["pair"]}]


def test_a_locked_pin_is_explained_as_it_is_locked(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("a", "1.0")
    workspace.stack("a")
    workspace.locked()
    index.add_wheel("a", "2.0")
    run = explain(workspace, "--package", "A")
    assert run.stdout.startswith("a is locked at 1.0 in demo for linux-aarch64, Python 3.11.\n")
    assert run.stdout.endswith("a 2.0 is possible; no other pin changes.\n")


FORM = "hint: write for example --package numpy or --package numpy==2.3.5\n"


@pytest.mark.parametrize(
    ("package", "told"),
    [
        ("numpi", "`numpi` is not part of the stack's resolution\n  at --package\nhint: did you mean `numpy`?\n"),
        (
            "qqq",
            "`qqq` is not part of the stack's resolution\n  at --package\nhint: see lock.toml for its projects\n",
        ),
        ("numpy==9", "no release of numpy matches `==9`\n  at --package\nhint: the newest is 2.1.0\n"),
        ("numpy[x]", "`numpy[x]` is not NAME or NAME==VERSION\n  at --package\n" + FORM),
        ("num py", "`num py` is not NAME or NAME==VERSION\n  at --package\n" + FORM),
    ],
)
def test_a_package_that_cannot_be_explained(solvable: Workspace, package: str, told: str) -> None:
    run = explain(solvable, "--package", package)
    assert (run.status, run.stdout, run.stderr) == (2, "", f"error: {told}")


def test_a_package_of_a_stack_without_a_solution_is_answered_with_the_conflict(clash: Workspace) -> None:
    run = explain(clash, "--package", "numpy")
    assert run.status == 1
    assert run.stdout.startswith("No environment satisfies demo")


# --- [[relax]] and [fact] in a stack

RELAX = '\n[[relax]]\nfact = "vllm-ascend-0.13-needs-vllm"\nneeds = ["vllm==0.13.0"]\nreason = "We tried it."\n'
AT = len(CLASH.splitlines()) + 2


def test_a_fact_that_a_stack_sets_aside_is_warned_of(clash: Workspace) -> None:
    stack(clash, CLASH + RELAX)
    run = clash.locked()
    warning = (
        "the stack sets aside the vendor fact `vllm-ascend-0.13-needs-vllm` (vllm==0.13.0): We tried it. "
        f"(matrices/stacks/demo.toml:{AT})"
    )
    assert clash.pins()["vllm"] == "0.12.0"
    assert clash.content()["warnings"] == [warning]
    assert warning.replace("`", "\\`") in clash.read("report.md")
    assert "1 warning:" in run.stdout


@pytest.mark.parametrize(
    ("fact", "old", "new", "told"),
    [
        ("", "0.13-needs-vllm", "0.13-need-vllm", "there is no fact `vllm-ascend-0.13-need-vllm`"),
        ("", '"vllm==0.13.0"]', '"vllm==0.14.0"]', "the fact `vllm-ascend-0.13-needs-vllm` has no need `vllm==0.14.0`"),
        ('strength = "enforced"\n', "", "", "the fact `vllm-ascend-0.13-needs-vllm` cannot be relaxed"),
    ],
)
def test_what_cannot_be_set_aside(clash: Workspace, fact: str, old: str, new: str, told: str) -> None:
    clash.facts("vllm-ascend", FACT + fact)
    stack(clash, CLASH + RELAX.replace(old, new))
    run = clash.lock()
    assert (run.status, run.stdout) == (2, "")
    line, key = (AT + 2, "needs[0]") if "has no need" in told else (AT + 1, "fact")
    assert run.stderr.startswith(f"error: {told}\n  at matrices/stacks/demo.toml:{line}: relax[0].{key}\n")


def test_a_fact_of_the_stack_must_name_its_project(clash: Workspace) -> None:
    stack(clash, CLASH + '\n[[fact.excludes]]\nversions = "==1"\nreason = "broken"\n')
    run = clash.lock()
    assert (run.status, run.stdout) == (2, "")
    assert run.stderr == (
        "error: the key `package` is missing\n"
        f"  at matrices/stacks/demo.toml:{AT}: fact.excludes[0]\n"
        "hint: it must have package, reason, strength, source, checked\n"
    )


def test_reports_are_put_where_locks_are_told_to_be(clash: Workspace, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    run = explain(clash, "--locks", str(elsewhere))
    assert run.status == 1
    assert sorted(path.name for path in (elsewhere / "demo" / NAME).iterdir()) == REPORTS
    assert not clash.locks.exists()


def test_the_hint_for_a_stack_that_is_a_path(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0")
    workspace.stack("demo==2.0").rename(workspace.root / "my stack.toml")
    run = workspace.run("explain", "./my stack.toml")
    hint = "hint: ascend-lock explain 'my stack.toml' --apply A writes the changed stack next to the old one"
    assert hint in run.stdout.splitlines()
    (folder,) = (workspace.locks / "demo").iterdir()
    for report in ("conflict.md", "conflict.html"):
        text = html.unescape((folder / report).read_text(encoding="utf-8")).replace("\\", "")
        assert hint in text
        assert "make explain" not in text


def test_what_only_a_later_refutation_is_about_is_gone_with_a_fact_too(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """`engine` turns up once `plugin` is another release."""
    index.add_wheel("plugin", "2.0")
    index.add_wheel("engine", "1.0")
    workspace.facts(
        "plugin",
        '[[requires]]\nid = "of-plugin"\nversions = "==2.0"\nneeds = ["engine==2"]\n'
        'reason = "r"\nstrength = "observed"\n',
    )
    workspace.stack("plugin==1.0")
    fixes = explain(workspace, "--json").json["fixes"]
    kinds = [([change["kind"] for change in fix["changes"]], fix["environments"][0]["gone"]) for fix in fixes]
    assert kinds == [(["version", "relax"], ["engine"])]


def test_an_extra_that_the_release_of_a_way_out_does_not_have_is_told(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """The line stays, with its extra: an older release is locked that knows none."""
    index.add_wheel("eval", "2.0", extras={"engine": ["base>=2"]})
    index.add_wheel("eval", "1.0")
    for version in ("1.0", "2.0"):
        index.add_wheel("base", version)
    index.add_wheel("other", "1.0", requires=["base<2", "base>=3"])
    index.add_wheel("other", "2.0", requires=["base<2"])
    workspace.stack("eval[engine]", "other==1.0")
    run = workspace.lock()
    assert "=> 3 projects: eval 1.0, other 2.0, base 1.0; without eval[engine]\n" in run.stderr


def test_where_nothing_locks_for_all_targets_what_was_tried_is_told(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("a", "1.0", requires=["b"])
    index.add_wheel("a", "2.0", requires=["b>=2"])
    index.add_wheel("b", "1.0", tags="cp311-cp311-manylinux_2_17_aarch64")
    index.add_wheel("b", "2.0", tags="cp311-cp311-manylinux_2_17_aarch64")
    workspace.stack("a==2.0", "b<2", target=TWO.replace("3.11", "3.12").replace("3.10", "3.11"))
    run = workspace.run("explain", "demo", "--target", "old")
    assert "No way out was found.\n" in run.stdout
    assert "No change was tried." not in run.stdout
    assert "      it has a solution here, but not for the stack's target new\n" in run.stdout
    again = workspace.run("explain", "demo", "--target", "old")
    assert again.stdout == run.stdout


@pytest.fixture
def older(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """a 1.0 needs an older b than the stack asks for; a 2.0 does not, but needs c."""
    index.add_wheel("a", "1.0", requires=["b<2"])
    index.add_wheel("a", "2.0", requires=["c"])
    index.add_wheel("b", "1.0")
    index.add_wheel("b", "2.0")
    index.add_wheel("c", "1.0")
    workspace.stack("a==1.0", "b>=2")
    return workspace


def test_it_goes_on_without_a_way_out_whose_index_fails(older: Workspace, index: LoopbackIndex) -> None:
    def kinds() -> list[list[str]]:
        return [[change["after"] for change in fix["changes"]] for fix in older.lock("--json").json["fixes"]]

    failing = True
    index.fault("/simple/*/c/", lambda response: status(403)(response) if failing else response)
    assert ["a==2.0"] not in kinds()
    failing = False
    assert ["a==2.0"] in kinds()
    index.fault("/simple/*/b/", status(403))
    assert older.lock().status == 3, "what refutes the stack itself"


def test_a_page_that_only_a_way_out_needs_is_damaged(older: Workspace) -> None:
    """It is read anew, as where a lock needs it, and no way out is lost."""
    first, before = older.lock(), tree(older.locks)
    assert first.status == 1
    assert damage(older.cache, lambda content: content[:-1] + bytes([content[-1] ^ 1]), "page") > 0
    assert older.lock() == first
    assert tree(older.locks) == before
