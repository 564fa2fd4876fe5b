"""`ascend-lock explain`: what clashes, what solves it, and why a pin is what it is."""

from __future__ import annotations

import json
import re
import threading
import time
from codecs import BOM_UTF8
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.functional.workspace import REPORTS, TWO_PYTHONS, Run, Workspace, row, tree
from tests.loopback import LoopbackIndex, Response, delayed, status
from tests.unit.report.test_report_json import faults

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
NEEDS = ["vllm==0.13.0", "cann in 8.5.0 | 8.5.1"]
FACT = row("requires", id="vllm-ascend-0.13-needs-vllm", versions="==0.13.0", needs=NEEDS)


@pytest.fixture
def clash(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """trl's extra wants an older vllm than vllm-ascend is written for."""
    index.add_wheel("trl", "0.27.0", extras={"vllm": ["vllm>=0.10.2,<0.13.0"]})
    index.add_wheel("trl", "0.28.0", extras={"vllm": ["vllm>=0.10.2,<0.13.0"]})
    index.add_wheel("trl", "1.0.0", extras={"vllm": ["vllm>=0.10.2,<0.14.0"]})
    workspace.serve("vllm 0.12.0 0.13.0", "vllm-ascend 0.13.0", "numpy 1.26.4 2.1.0")
    workspace.facts("vllm-ascend", FACT)
    stack(workspace, CLASH)
    return workspace


def stack(workspace: Workspace, text: str, name: str = "demo") -> None:
    (workspace.matrices / "stacks" / f"{name}.toml").write_text(text)


def explain(workspace: Workspace, *arguments: str, **environment: str) -> Run:
    return workspace.run("explain", "demo", *arguments, **environment)


def why(workspace: Workspace, name: str, *options: str) -> Run:
    return workspace.run("why", "demo", name, *options)


# --- a conflict, and none


def test_a_conflict_is_told_on_stdout_and_its_report_written(clash: Workspace) -> None:
    run = explain(clash)
    assert run.status == 1
    head, why, ways = run.stdout.split("\n\n", 2)
    assert (
        head == "No environment satisfies demo for linux-aarch64, Python 3.11, CANN 8.5.0, SoC A2."
    )
    assert why.startswith("Why: these 4 cannot all hold together")
    assert re.findall("(?m)^  ([A-Z]  .*)", ways) == [
        "A  ask for trl[vllm]==1.0.0 instead of trl[vllm]==0.28.0 (1 release newer)",
        "B  split into 2 environments",
        "C  trl==0.28.0 without the extra, instead of trl[vllm]==0.28.0",
        "D  add a fact that removes vllm<0.13.0,>=0.10.2 from the requirements of trl[vllm]",
    ]
    hint = "hint: make explain STACK=demo APPLY=A writes the changed stack next to the old one"
    assert ways.endswith(f"\n\n{hint}\nNo lock was changed.\n")
    assert run.stderr == f"The report is in locks/demo/{NAME}: conflict.html, .md and .json.\n"
    assert {path.name for path in clash.folder().iterdir()} == REPORTS
    assert [path.name for path in (clash.matrices / "stacks").iterdir()] == ["demo.toml"]
    written = tree(clash.folder())
    assert clash.lock().stderr.startswith(run.stdout)
    assert tree(clash.folder()) == written


def test_json_is_the_report(clash: Workspace) -> None:
    run = explain(clash, "--json")
    assert (run.status, run.stderr) == (1, "")
    report = json.loads(clash.read("conflict.json"))
    assert run.json == {**report, "format": 1, "targets": [report]}
    assert run.json["status"] == "conflict"
    (change,) = run.json["fixes"][0]["changes"]
    assert [change[key] for key in ("kind", "before", "after")] == [
        "version",
        "trl[vllm]==0.28.0",
        "trl[vllm]==1.0.0",
    ]
    run = explain(clash, "--apply", "A", "--json")
    assert (run.status, run.stderr, run.json["status"]) == (0, "", "conflict")
    assert (clash.matrices / "stacks" / "demo-a.toml").is_file()


def test_in_chinese_no_file_that_is_shared_changes(clash: Workspace) -> None:
    explain(clash, "--lang", "en")
    before = tree(clash.locks)
    for arguments, locale in (
        (["--lang", "zh"], "C.UTF-8"),
        ([], "zh_CN.UTF-8"),
        (["--lang", "zh"], "de_DE.UTF-8"),
    ):
        run = explain(clash, *arguments, LANG=locale)
        assert run.stdout.startswith(
            "demo 在 linux-aarch64，Python 3.11，CANN 8.5.0，SoC A2 上无解：没有满足要求的环境。"
        )
        assert (
            run.stderr
            == f"报告在 locks/demo/{NAME} 中：conflict.zh.html、conflict.zh.md 和 conflict.json。\n"
        )
        assert tree(clash.locks) == before
    assert explain(clash, "--json", "--lang", "zh").json["language"] == "zh"
    assert json.loads(clash.read("conflict.json"))["language"] == "en"


def test_a_limit_of_time_that_is_reached_is_told(clash: Workspace, index: LoopbackIndex) -> None:
    index.fault("/files/*/vllm-0.12.0*", delayed(60))  # what only a way out asks for
    began = time.monotonic()
    run = explain(clash, "--explain-seconds", "0.1")
    assert (run.status, time.monotonic() - began < 30) == (1, True)
    assert "\nWhy: these 4 cannot all hold together, but any 3 of them can\n" in run.stdout
    assert "\nhint: --explain-seconds N gives it more time\n" in run.stdout
    assert json.loads(clash.read("conflict.json"))["limited"] is True
    assert explain(clash, "--explain-seconds", "0.05").status == 2


# --- --apply


def test_apply_writes_the_stack_and_shows_the_difference(
    clash: Workspace,
) -> None:
    run = explain(clash, "--apply", "A")
    assert run.status == 0
    for line in (
        "\n--- matrices/stacks/demo.toml\n+++ matrices/stacks/demo-a.toml\n@@ ",
        '\n-    "trl[vllm]==0.28.0",  # as the guide says\n+    "trl[vllm]==1.0.0",  # instead of ',
        "\nWritten: matrices/stacks/demo-a.toml. Next: ascend-lock lock demo-a\n",
    ):
        assert line in run.stdout
    stacks = clash.matrices / "stacks"
    assert (stacks / "demo.toml").read_text() == CLASH
    changed = CLASH.replace(
        'trl[vllm]==0.28.0",  # as', 'trl[vllm]==1.0.0",  # instead of trl[vllm]==0.28.0: as'
    )
    assert (stacks / "demo-a.toml").read_text() == way_out("A", "demo-a", changed)


def way_out(letter: str, name: str, text: str) -> str:
    """The text of a way out, whose lines these are."""
    head = f"# Way out {letter} of `demo`: what follows was written for that stack.\n"
    summary = f'"way out {letter} of demo (a stack of tests)"'
    in_chinese = f'summary-zh = "demo 的解决办法 {letter}（a stack of tests）"\n'
    text = text.replace('"demo"', f'"{name}"').replace('"a stack of tests"', summary)
    return head + text.replace("\n]\n", f"\n]\n{in_chinese}", 1)


def test_apply_writes_its_comment_in_the_language_of_the_run(clash: Workspace) -> None:
    assert explain(clash, "--apply", "A", "--lang", "zh").status == 0
    text = (clash.matrices / "stacks" / "demo-a.toml").read_text(encoding="utf-8")
    assert text.startswith("# `demo` 的解决办法 A：以下内容是为该软件栈写的。\n")
    assert '"trl[vllm]==1.0.0",  # 原为 trl[vllm]==0.28.0：as the guide says\n' in text
    assert "Way out" not in text
    assert "instead of" not in text
    assert "原为" not in clash.read("conflict.json")


@pytest.mark.parametrize("mark", [b"", BOM_UTF8])
def test_apply_keeps_windows_line_ends(clash: Workspace, mark: bytes) -> None:
    stacks = clash.matrices / "stacks"
    (stacks / "demo.toml").write_bytes(mark + CLASH.replace("\n", "\r\n").encode())
    for _ in range(2):
        run = explain(clash, "--apply", "A")
        assert run.status == 0
    changed = CLASH.replace(
        'trl[vllm]==0.28.0",  # as', 'trl[vllm]==1.0.0",  # instead of trl[vllm]==0.28.0: as'
    )
    written = way_out("A", "demo-a", changed).replace("\n", "\r\n").encode()
    assert (stacks / "demo-a.toml").read_bytes() == mark + written
    assert run.stdout.count("\n-") == 4, "the other lines are the same"


def test_apply_of_a_split_writes_both_stacks_or_none(clash: Workspace) -> None:
    """In any case of the letter."""
    stacks = clash.matrices / "stacks"
    (stacks / "demo-b2.toml").write_text("# mine\n")
    assert explain(clash, "--apply", "B").status == 2
    assert {path.name for path in stacks.iterdir()} == {"demo-b2.toml", "demo.toml"}
    (stacks / "demo-b2.toml").unlink()
    assert explain(clash, "--apply", "b").stdout.count("\nWritten: ") == 2
    for name, line in (
        ("demo-b1", '    "vllm-ascend==0.13.0",\n'),
        ("demo-b2", '    "trl[vllm]==0.28.0",  # as the guide says\n'),
    ):
        assert (stacks / f"{name}.toml").read_text() == way_out("B", name, CLASH.replace(line, ""))


def test_apply_twice_writes_once_and_overwrites_nothing_else(clash: Workspace) -> None:
    for _ in range(2):
        assert explain(clash, "--apply", "A").status == 0
    written = clash.matrices / "stacks" / "demo-a.toml"
    for mine in (b"# mine\n", "# 我的\n".encode("gb18030")):
        written.write_bytes(mine)
        run = explain(clash, "--apply", "A")
        assert (run.status, written.read_bytes()) == (2, mine)
        assert (
            run.error
            == "`matrices/stacks/demo-a.toml` already exists and differs; nothing was written"
        )
    run = explain(clash, "--apply", "Z")
    assert (run.status, run.error) == (2, "there is no way out `Z`")


def test_ways_out_repeat_the_cut_off_of_the_command_line(
    workspace: Workspace,
) -> None:
    """The hint has the option and the written stack the cut-off: what is locked was solved."""
    for version, day in (("1.0", "2026-01-01"), ("2.0", "2026-03-01"), ("3.0", "2026-06-01")):
        workspace.index.add_wheel("a", version, uploaded=f"{day}T00:00:00Z")
    workspace.stack("a>=3")
    run = workspace.run("lock", "demo", "--exclude-newer", "2026-04-01")
    assert (
        "hint: make explain STACK=demo ARGS='--exclude-newer 2026-04-01' APPLY=A writes"
        in run.stderr
    )
    applied = explain(workspace, "--exclude-newer", "2026-04-01", "--apply", "A")
    assert "+[policy]\n+exclude-newer = 2026-04-01\n" in applied.stdout
    assert applied.stdout.endswith("Next: ascend-lock lock demo-a\n")
    workspace.locked(stack="demo-a")
    assert {pin["name"]: pin["version"] for pin in workspace.content("demo-a")["pin"]} == {
        "a": "2.0"
    }


def test_links_of_a_report_lead_somewhere_or_are_none(clash: Workspace) -> None:
    assert explain(clash).status == 1
    links = _links(clash.folder())
    assert len(links) > 4
    assert [link for link in links if not (clash.folder() / link).is_file()] == []
    # a project that has no facts of its own, as where the program is installed
    project = clash.root / "project"
    project.mkdir()
    mine = project / "mine.toml"
    mine.write_text(CLASH.replace('"demo"', '"mine"'))
    facts = str(clash.matrices)
    run = clash.run("explain", str(mine), "--matrices", facts, "--locks", str(project / "locks"))
    assert run.status == 1
    folder = project / "locks" / "mine" / NAME
    assert _links(folder) == []
    assert "matrices/facts/vllm-ascend.toml:6" in (folder / "conflict.html").read_text(
        encoding="utf-8"
    )
    assert str(clash.root) not in (folder / "conflict.json").read_text().replace(str(mine), "")


def _links(folder: Path) -> list[str]:
    """The paths that a report in this folder links to, as HTML, Markdown and JSON."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())]
    found = [
        link for text in texts for link in re.findall(r'(?:<a href="|\]\(|"href": ")([^")]+)', text)
    ]
    paths = [
        unquote(link.partition("#")[0]) for link in found if not link.startswith(("https://", "#"))
    ]
    return [path for path in paths if path]


def test_options_of_the_command_line_are_in_what_is_told_to_do(clash: Workspace) -> None:
    assert explain(clash).status == 1
    assert (
        "hint: make explain STACK=demo ARGS=--offline APPLY=A writes"
        in clash.lock("--offline").stderr
    )
    told = explain(clash, "--offline", "--apply", "A").stdout.rpartition("Next: ascend-lock ")[2]
    assert told == "lock demo-a --offline\n"
    assert clash.run(*told.split()).status == 0
    (clash.matrices / "stacks" / "demo-a.toml").unlink()
    elsewhere = clash.matrices.rename(clash.root / "other facts")
    run = clash.lock("--matrices", elsewhere.name)
    # `make` takes ./matrices
    hint = f"hint: ascend-lock explain demo --matrices '{elsewhere.name}' --apply A writes"
    assert hint in " ".join(run.stderr.split())
    assert elsewhere.name not in (clash.folder() / "conflict.md").read_text(encoding="utf-8")
    run = explain(clash, "--matrices", elsewhere.name, "--locks", "mine", "--apply", "A")
    assert run.stdout.endswith(
        "Next: ascend-lock lock demo-a --matrices 'other facts' --locks mine\n"
    )
    assert not (clash.root / "mine").exists(), "the ways out are known, so there is no new report"
    elsewhere.rename(clash.matrices)
    (clash.root / "Makefile").unlink()
    assert "hint: ascend-lock explain demo --apply A writes" in clash.lock().stderr


def test_what_clashes_is_told_before_the_ways_out_are_known(
    clash: Workspace, index: LoopbackIndex
) -> None:
    index.add_wheel("trl", "1.1.0", extras={"vllm": ["vllm>=0.10.2,<0.14.0", "slow"]})
    index.serve("slow 1.0")
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


# --- several targets


@pytest.fixture
def two(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """Python 3.10 needs an a below 2, Python 3.11 one from 2 on; the stack asks for a 2."""
    workspace.serve("a 1.0 2.0")
    index.add_wheel("b", "1.0", requires=["a<2"], requires_python="<3.11")
    index.add_wheel("b", "1.1", requires=["a>=2"], requires_python=">=3.11")
    workspace.stack("a==2.0", "b", target=TWO_PYTHONS)
    return workspace


def test_each_target_is_told(two: Workspace) -> None:
    run = explain(two)
    assert run.status == 1
    assert "No environment satisfies demo for linux-aarch64, Python 3.10.\n" in run.stdout
    assert (
        "demo has a solution for linux-aarch64, Python 3.11: there is no conflict.\n" in run.stdout
    )
    assert [path.name for path in (two.locks / "demo").iterdir()] == ["old"]
    assert run.stdout.endswith(
        "\n\nhint: ascend-lock lock demo --target new locks the target that has a solution\n"
    )
    assert two.lock("--target", "new").status == 0
    assert "locks the target" not in explain(two, "--target", "old").stdout


def test_json_has_one_shape(two: Workspace) -> None:
    """The JSON of docs/conflict-report.md and `lock --json`; a single target is on top, too."""
    for arguments, told_status, each in (
        ([], "conflict", ["conflict", "solvable"]),
        (["--target", "old"], "conflict", ["conflict"]),
        (["--target", "new"], "solvable", ["solvable"]),
        (["--target", "new"], "why", ["why"]),
    ):
        run = why(two, "a", "--json", *arguments) if told_status == "why" else None
        told = (run or explain(two, "--json", *arguments)).json
        assert faults({key: told[key] for key in ("status", "targets")}, "answer") == []
        assert (told["status"], [one["status"] for one in told["targets"]]) == (told_status, each)
        only = told["targets"][0] if len(each) == 1 else {}
        assert told == {**only, "format": 1, "status": told_status, "targets": told["targets"]}


def test_the_hint_names_the_target_where_there_are_several(
    two: Workspace, index: LoopbackIndex
) -> None:
    """Each has letters of its own."""
    index.add_wheel("c", "1.0", requires=["a<2"], requires_python=">=3.11")
    two.stack(
        "a==2.0", "b ; python_version < '3.11'", "c ; python_version >= '3.11'", target=TWO_PYTHONS
    )
    run = explain(two)
    for name in ("old", "new"):
        assert f"hint: make explain STACK=demo ARGS='--target {name}' APPLY=A writes" in run.stdout
    assert explain(two, "--target", "new", "--apply", "A").status == 0


# --- why


@pytest.fixture
def solvable(clash: Workspace) -> Workspace:
    stack(clash, CLASH.replace('    "trl[vllm]==0.28.0",  # as the guide says\n', ""))
    return clash


def test_why_a_pin_is_what_it_is_and_what_a_newer_release_breaks(solvable: Workspace) -> None:
    run = why(solvable, "numpy")
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout.startswith(
        "numpy would be locked at 1.26.4 in demo for linux-aarch64, Python 3.11, CANN 8.5.0, SoC A2"
    )
    assert "\nThere is no lock yet: ascend-lock lock demo\n" in run.stdout
    told = why(solvable, "numpy", "--json").json
    assert (told["newer"], told["tried"], told["gave_way"]) == (["2.1.0"], "2.1.0", [])
    assert told["contradictions"]
    assert not solvable.locks.exists()


def test_why_lets_a_line_give_way_to_a_release_that_is_asked_for(solvable: Workspace) -> None:
    told = why(solvable, "numpy==2.1.0", "--json").json
    assert (told["tried"], told["gave_way"]) == ("2.1.0", ["numpy<2"])
    assert told["moves"] == [{"name": "numpy", "old": "1.26.4", "new": "2.1.0"}]
    run = why(solvable, "numpy==2.1.0")
    assert "The stack's own line `numpy<2` does not count in what follows." in run.stdout


def test_why_says_that_the_stacks_own_line_decides(solvable: Workspace) -> None:
    run = why(solvable, "numpy")
    told = " ".join(run.stdout.split())
    assert told.endswith(
        "2.1.0 is ruled out by the stack's own line `numpy<2`. What else stands in its way: "
        "ascend-lock why demo numpy==2.1.0"
    )
    assert "suppose" not in told


def test_why_names_the_practice_that_drops_a_requirement(workspace: Workspace) -> None:
    """`kernels` wants an older `image` than `app`; images of the vendor install it last."""
    workspace.serve("app 1.0: image>=2", "app 0.9", "kernels 1.0: image<2", "image 1.0 2.0")
    workspace.facts(
        "app",
        '[[replaces]]\nid = "app-image"\nversions = "==1.0"\ndrop = ["image"]\n'
        'add = ["image>=1"]\nstrength = "practice"\nrisk = "it is older"\n'
        'reason = "the image installs it last"\n',
    )
    workspace.stack("app<1", "kernels==1.0")
    told = why(workspace, "app==1.0", "--json").json
    assert (told["practices"], told["gave_way"]) == (["app-image"], ["app<1"])
    (found,) = told["contradictions"]
    assert "suppose app==1.0 is used" in [row["text"] for row in found["statements"]]
    run = why(workspace, "app==1.0")
    assert "The practice `app-image` drops one of these requirements" in run.stdout


def test_a_newer_post_that_a_fact_puts_last_is_explained(workspace: Workspace) -> None:
    workspace.serve("a 1.0 1.0.post1")
    workspace.facts(
        "a",
        '[[warns]]\nid = "pair"\nversions = "==1.0.post1"\nlast = 1\ntext = "x"\n'
        'reason = "it is made for another CANN"\n',
    )
    workspace.stack("a")
    run = why(workspace, "a")
    assert (
        "1.0.post1 ranks after 1.0 on this target, according to matrices/facts/a.toml:6 (vendor)\n"
        in run.stdout
    )
    assert why(workspace, "a", "--json").json["later"] == [
        {"version": "1.0.post1", "facts": ["pair"]}
    ]


def test_a_locked_pin_is_explained_as_it_is_locked(workspace: Workspace) -> None:
    workspace.serve("a 1.0")
    workspace.locked_stack("a")
    workspace.serve("a 2.0")
    run = why(workspace, "A")
    assert run.stdout.startswith("a is locked at 1.0 in demo for linux-aarch64, Python 3.11.\n")
    assert run.stdout.endswith("a 2.0 is possible; no other pin changes.\n")
    assert why(workspace, "A", "--json").json["lock"] == "current"


def test_why_says_that_the_lock_is_out_of_date(workspace: Workspace) -> None:
    workspace.serve("a 1.0 2.0")
    workspace.locked_stack("a<2")
    workspace.stack("a>=2")
    run = why(workspace, "a")
    first, second, *_ = run.stdout.splitlines()
    assert first == "a would be locked at 2.0 in demo for linux-aarch64, Python 3.11."
    assert second == (
        "The stack or the facts have changed since it was locked: ascend-lock lock demo"
    )
    assert why(workspace, "a", "--json").json["lock"] == "outdated"


def test_why_with_other_options_than_those_of_the_lock(workspace: Workspace) -> None:
    workspace.serve("a 1.0 2.0")
    workspace.locked_stack("a")
    workspace.index.add_wheel("a", "0.5", uploaded="2020-01-01T00:00:00Z")
    run = why(workspace, "a", "--exclude-newer", "2020-02-01")
    assert run.stdout.startswith("a would be locked at 0.5 "), run.stdout
    assert "The existing lock was made with other options" in run.stdout


def test_a_package_that_cannot_be_explained(solvable: Workspace) -> None:
    for package, error, hint in (
        ("numpi", "`numpi` is not part of the stack's resolution", "did you mean `numpy`?"),
        ("qqq", "`qqq` is not part of the stack's resolution", "see lock.toml for its projects"),
        ("numpy==9", "no release of numpy matches `==9`", "the newest is 2.1.0"),
        ("numpy[x]", "`numpy[x]` is not NAME or NAME==VERSION", "write for example "),
    ):
        run = solvable.refused(error, "why", "demo", package)
        assert f"\nhint: {hint}" in run.stderr


# --- [[relax]] and [fact] in a stack

RELAX = (
    '\n[[relax]]\nfact = "vllm-ascend-0.13-needs-vllm"\nneeds = ["vllm==0.13.0"]\n'
    'reason = "We tried it."\n'
)
AT = len(CLASH.splitlines()) + 2


def test_a_fact_that_a_stack_sets_aside_is_warned_of(clash: Workspace) -> None:
    stack(clash, CLASH + RELAX)
    run = clash.locked()
    warning = (
        "the stack sets aside the vendor fact `vllm-ascend-0.13-needs-vllm` (vllm==0.13.0): We "
        "tried it. "
        f"(matrices/stacks/demo.toml:{AT})"
    )
    assert clash.pins()["vllm"] == "0.12.0"
    assert clash.warnings() == [warning]
    assert "1 warning:" in run.stdout


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("0.13-needs", "0.13-need", "there is no fact `vllm-ascend-0.13-need-vllm`"),
        (
            '0.13.0"]',
            '0.14.0"]',
            "the fact `vllm-ascend-0.13-needs-vllm` has no need `vllm==0.14.0`",
        ),
        ("", "", "the fact `vllm-ascend-0.13-needs-vllm` cannot be relaxed"),
    ],
)
def test_what_a_stack_cannot_say_of_facts(clash: Workspace, old: str, new: str, error: str) -> None:
    clash.facts("vllm-ascend", FACT + ("" if old else 'strength = "enforced"\n'))
    stack(clash, CLASH + RELAX.replace(old, new))
    run = clash.refused(error, "lock", "demo")
    assert "\n  at matrices/stacks/demo.toml:" in run.stderr


def test_apply_writes_beside_a_stack_named_by_its_path(
    clash: Workspace,
) -> None:
    (clash.matrices / "stacks" / "demo.toml").rename(clash.root / "my stack.toml")
    run = clash.run("explain", "./my stack.toml")
    hint = "hint: ascend-lock explain 'my stack.toml' --apply A writes the changed stack"
    add = "hint: ascend-lock add 'my stack.toml' --apply A changes this file, and locks"
    shown = run.stdout.splitlines()
    assert shown[shown.index(hint) - 1] == add
    assert hint in run.stdout.splitlines()
    assert hint in clash.read("conflict.md").replace("\\", "")
    _, _, told = clash.run("explain", "./my stack.toml", "--apply", "A").stdout.rpartition(
        "Next: ascend-lock "
    )
    assert (clash.root / "demo-a.toml").is_file()
    assert clash.run(*told.split()).status == 0


def test_explain_tells_what_was_tried_if_nothing_locks(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    workspace.serve("a 1.0: b", "a 2.0: b>=2")
    index.add_wheel("b", "1.0", tags="cp311-cp311-manylinux_2_17_aarch64")
    index.add_wheel("b", "2.0", tags="cp311-cp311-manylinux_2_17_aarch64")
    workspace.stack(
        "a==2.0", "b<2", target=TWO_PYTHONS.replace("3.11", "3.12").replace("3.10", "3.11")
    )
    run = workspace.run("explain", "demo", "--target", "old")
    assert "No way out was found.\n" in run.stdout
    assert "No change was tried." not in run.stdout
    assert "it solves this target, but not the stack's target new\n" in run.stdout
    assert workspace.run("explain", "demo", "--target", "old").stdout == run.stdout


def test_it_goes_on_without_a_way_out_whose_index_fails(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    def kinds() -> list[list[str]]:
        return [
            [change["after"] for change in fix["changes"]]
            for fix in workspace.lock("--json").json["fixes"]
        ]

    workspace.serve("a 1.0: b<2", "a 2.0: c", "b 1.0 2.0", "c 1.0")
    workspace.stack("a==1.0", "b>=2")
    failing = True
    index.fault("/simple/*/c/", lambda response: status(403)(response) if failing else response)
    assert ["a==2.0"] not in kinds()
    failing = False
    assert ["a==2.0"] in kinds()
    index.fault("/simple/*/b/", status(403))
    assert workspace.lock().status == 3, "what refutes the stack itself"


def test_why_says_what_excludes_project(workspace: Workspace) -> None:
    workspace.serve("npu 1.0", "triton 1.0", "tritan 1.0: npu", "cuda 1.0", "unwanted 1.0")
    fact = {
        "id": "no-triton",
        "without": "triton",
        "reason": "It has no backend.",
        "reason_zh": "无后端。",
    }
    workspace.facts("npu", row("absent", **fact))
    workspace.facts("cuda", row("excludes", versions=">=0", reason="It is for CUDA."))
    more = '[[absent]]\npackage = "unwanted"\nreason = "We removed it."\n'
    workspace.locked_stack("npu", "tritan", more=more)
    for project, error, reason in (
        ("triton", "`triton` must not be installed beside npu 1.0", "It has no backend."),
        ("triton==1.0", "`triton` must not be installed beside npu 1.0", "It has no backend."),
        ("cuda", "no release of `cuda` is for this target", "It is for CUDA."),
        ("unwanted", "`unwanted` must not be installed, as the stack says", "We removed it."),
    ):
        run = workspace.refused(error, "why", "demo", project)
        assert run.stderr.endswith(f"\n  {reason}\n")
        assert "did you mean" not in run.stderr
    told = workspace.run("why", "demo", "triton", "--lang", "zh").stderr
    assert "装有 npu 1.0 时不能安装 `triton`" in told
    assert told.endswith("\n  无后端。\n")
