"""The command as a process: it does what it does in tests; streams, terminals, cache."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from resolver.cli import COMMANDS
from resolver.cli.console import columns
from tests.functional.terminals import on_a_terminal, window
from tests.functional.workspace import COMMAND, HERE, Run, Tree, Workspace, tree
from tests.loopback import LoopbackIndex

SESSION = [
    *(
        (line, 0)
        for line in (
            "--version",
            "lock demo",
            "tree demo",
            "diff demo demo",
            "check demo --files",
            "lock",
        )
    ),
    *(
        (line, 0)
        for line in (
            "facts check demo",
            "facts scan demo",
            "facts read-linkage",
            "matrix show --package demo",
        )
    ),
    *((line, 0) for line in ("bundle demo out", "lock demo --record", "why demo demo")),
    *((line, 0) for line in ("export demo --format pylock", "cache dir", "help install")),
    ("explain conflict --lang zh --json", 1),
    ("import locks/demo/here/requirements.txt -o mine.toml", 0),
    ("add demo demo>=1 nosuch", 1),
    ("fleet nosuch.json", 1),
    *((line, 2) for line in ("matrix build --jobs 1", "init", "remove demo demo-data")),
    ("lock demo --no-such-option --json", 2),
]


def session(
    root: Path, index: LoopbackIndex, how: Callable[[Workspace], Callable[..., Run]]
) -> tuple[list[Run], Tree]:
    workspace = Workspace(root, index)
    workspace.stack("demo", target=HERE)
    workspace.stack("demo", "demo-data<1", name="conflict", target=HERE)
    workspace.facts(
        "demo",
        '[[requires]]\nid = "demo-data"\nversions = "==1.0"\nneeds = ["demo-data==1.0"]\n'
        'reason = "it reads them"\n',
    )
    runs = [how(workspace)(*line.split()) for line, _ in SESSION]
    assert tree(workspace.temporary) == {}
    return runs, {
        path: content for path, content in tree(root).items() if not path.startswith("cache/")
    }


def test_run_in_this_process_equals_a_run_in_a_new_one(
    tmp_path: Path, index: LoopbackIndex
) -> None:
    assert {"verify", "sync", *(line.split()[0] for line, _ in SESSION)} >= set(COMMANDS), (
        "all but what is always alone"
    )
    index.serve("demo 1.0: demo-data", "demo-data 1.0")
    runs, left = session(tmp_path / "alone", index, lambda workspace: workspace.run_alone)
    assert [run.status for run in runs] == [status for _, status in SESSION], runs
    assert session(tmp_path / "here", index, lambda workspace: workspace.run) == (runs, left)


# --- streams that are closed, full, or of an encoding that has not every character


def shell(workspace: Workspace, line: str, **environment: str) -> tuple[int, str, str]:
    """Run a line of bash, in which `$LOCK` is the command; status, stdout, stderr."""
    environment = workspace.environment(LOCK=str(COMMAND), **environment)
    done = workspace.finish(workspace.begin(["bash", "-c", line], env=environment))
    return done.status, done.stdout, done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_failure(workspace: Workspace, closed: str) -> None:
    workspace.serve("demo 1.0")
    workspace.stack("demo")
    code, _, stderr = shell(workspace, f"$LOCK lock demo {closed}")
    assert (code, stderr) == (0, "")
    assert workspace.pins() == {"demo": "1.0"}


def test_a_full_disk_behind_a_stream_leaves_the_status(workspace: Workspace) -> None:
    workspace.stack("demo")
    for line in ("$LOCK lock", "$LOCK lock nope --json"):
        code, _, stderr = shell(workspace, f"{line} >/dev/full")
        assert (code, stderr.startswith("error: "), "Traceback" in stderr) == (2, True, False)
    assert shell(workspace, "$LOCK lock nope 2>/dev/full") == (2, "", "")


def test_a_pipe_that_nobody_reads(workspace: Workspace) -> None:
    workspace.stack("demo")
    reader, writer = os.pipe()
    os.close(reader)
    command = {"cwd": workspace.root, "env": workspace.environment(), "timeout": 60}
    done = subprocess.run(
        [COMMAND, "lock"], stdout=writer, stderr=subprocess.PIPE, check=False, **command
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (130, b"")


@pytest.mark.parametrize(
    "setting", [{"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "ascii"}]
)
def test_what_an_encoding_does_not_have_is_escaped(
    workspace: Workspace, setting: dict[str, str]
) -> None:
    workspace.serve("demo 1.0")
    workspace.stack("demo")
    code, stdout, stderr = shell(workspace, "$LOCK lock demo --lang zh", **setting)
    assert (code, stderr) == (0, "")
    assert stdout.startswith(r"\u5df2\u9501\u5b9a demo")


def test_a_locale_whose_encoding_has_no_chinese_speaks_english(workspace: Workspace) -> None:
    """Every character would be an escape; who asks for them all the same gets them."""
    workspace.stack("demo")
    chinese = {"LC_ALL": "zh_CN.UTF-8"}
    line = "$LOCK check demo"
    assert shell(workspace, line, **chinese)[1].startswith("demo，目标 there：")
    assert shell(workspace, f"{line} | iconv -f gbk -t utf-8", **chinese, PYTHONIOENCODING="gbk")[
        1
    ].startswith("demo，目标 ")
    assert shell(workspace, line, **chinese, PYTHONIOENCODING="ascii")[1].startswith(
        "demo for there: "
    )


# --- terminals narrower than the lines that are written elsewhere

WARNING = (
    '[[warns]]\nreason = "so it is"\ntext = "' + "a word and another one, " * 9 + 'and an end."\n'
)


def test_pages_and_warnings_fit_into_a_narrow_window(workspace: Workspace) -> None:
    workspace.serve("demo 1.0")
    workspace.stack("demo")
    workspace.facts("demo", WARNING)
    narrow = on_a_terminal(workspace, 60, "lock", "demo")
    assert max(len(line) for line in narrow if "word" in line) <= 60
    first, *others = [line for line in narrow if "word" in line]
    assert first.startswith("  - demo")
    assert {line[:4] for line in others} == {"    "}
    workspace.stack("demo>1")
    page = on_a_terminal(workspace, 60, "explain", "demo")
    commands_and_paths = ("hint: ", "The report is in ")  # which are copied
    assert max(len(line) for line in page if not line.startswith(commands_and_paths)) <= 60
    assert "        matrices/stacks/demo.toml:4" in page, "below its sentence, not beside it"


@pytest.mark.parametrize(("width", "room"), [(60, 60), (300, 110), (10, 40), (0, 110)])
def test_what_a_window_has_room_for(width: int, room: int, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    window(theirs, width)
    with os.fdopen(theirs, "w") as terminal:
        assert columns(terminal, 110) == room
    os.close(ours)
    with (tmp_path / "file").open("w") as file:
        assert columns(file, 110) == 110


# --- the cache


def size(workspace: Workspace) -> float:
    run = workspace.run("cache", "size")
    (number,) = re.fullmatch(r"([\d.]+) MB\n", run.stdout).groups()  # type: ignore[union-attr]
    return float(number)


def test_the_cache_is_told_and_emptied(workspace: Workspace) -> None:
    assert workspace.run("cache", "dir").stdout == "<root>/cache\n"
    assert workspace.run("cache", "clear").stdout == "Removed 0.0 MB from <root>/cache.\n"
    assert not workspace.cache.exists()
    for number in range(10):
        needs = [f"a{'b' * 500}; extra == 'x'"] * 400
        workspace.index.add_wheel("demo", f"{number}.0", requires=needs)
    workspace.locked_stack("demo")
    assert size(workspace) > 0.1
    (workspace.cache / "notes").write_text("of somebody")
    run = workspace.run("cache", "clear")
    assert (run.status, run.stdout.startswith("Removed 0."), run.stderr) == (0, True, "")
    assert (workspace.cache / "notes").read_text() == "of somebody"
    assert size(workspace) < 0.05
    assert workspace.lock("--offline").status == 3
    workspace.locked()
    for words, known in (("cache", "  size "), ("", "  lock "), ("facts", "  check ")):
        run = workspace.run(*words.split())
        assert (run.status, run.stdout, f"\n{known}" in run.stderr) == (2, "", True)
