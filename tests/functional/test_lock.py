"""`ascend-lock lock`: which pins stay, what a run answers, and several stacks or targets."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable

import click
import pytest

from resolver.cli import workers
from tests.functional.workspace import (
    ANYWHERE,
    NOBODY_THERE,
    REPORTS,
    TWO_PYTHONS,
    Workspace,
    row,
    targets,
    tree,
)
from tests.loopback import LoopbackIndex, status

MACHINES = targets("aarch64", "x86_64")


@pytest.fixture
def locked(workspace: Workspace) -> Workspace:
    """a 1.0 and b 1.0 are locked; since then both have a 2.0."""
    workspace.serve("a 1.0", "b 1.0")
    workspace.locked_before("a", "b")
    workspace.serve("a 2.0", "b 2.0")
    return workspace


# --- which pins move


@pytest.mark.parametrize("arguments", [(), ("--upgrade",)], ids=["kept", "upgraded"])
def test_a_second_run_moves_no_byte(locked: Workspace, arguments: tuple[str, ...]) -> None:
    locked.locked(*arguments)
    assert set(locked.pins().values()) == {"2.0" if arguments else "1.0"}
    before = tree(locked.locks)
    assert "Nothing changed in locks/demo/there.\n" in locked.locked().stdout
    assert tree(locked.locks) == before


def test_upgrade_package_moves_that_one_and_the_lock_says_so(locked: Workspace) -> None:
    run = locked.locked("--upgrade-package", "A")  # any spelling of the name
    assert locked.pins() == {"a": "2.0", "b": "1.0"}
    assert "Written to locks/demo/there; 1 pin changed: a 1.0 -> 2.0\n" in run.stdout
    assert locked.content()["change"] == [{"name": "a", "old": "1.0", "new": "2.0"}]
    locked.edit("stacks/demo.toml", "\n[target]", "# a comment\n[target]")
    assert "no pin changed.\n" in locked.locked().stdout
    locked.serve("c 3.0")
    assert "2 pins changed: b 1.0 (removed), c 3.0 (new)\n" in locked.locked_stack("a", "c").stdout


def test_upgrade_package_says_that_a_line_pins_it(locked: Workspace) -> None:
    assert "pinned by" not in locked.locked("-P", "a").stdout
    path = locked.stack("a==1.0", "b")
    run = locked.locked("-P", "a", "-P", "b")
    assert locked.pins() == {"a": "1.0", "b": "2.0"}
    number = path.read_text().partition('"a==1.0"')[0].count("\n") + 1
    assert run.stdout.endswith(
        f"\na is pinned by matrices/stacks/demo.toml:{number} to ==1.0, so -P cannot upgrade it: "
        "ascend-lock add demo 'a==…'\n"
    )


CHANGES: dict[str, Callable[[Workspace], object]] = {
    "yanked": lambda one: one.index.add_wheel("a", "1.0", yanked="it deletes files"),
    "gone": lambda one: one.index.remove("a", "a-1.0-py3-none-any.whl"),
    "excluded": lambda one: one.facts("a", row("excludes", versions="<2")),
    "no longer asked for": lambda one: one.stack("a>1", "b"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_pin_that_does_not_hold_any_more_moves_alone(locked: Workspace, change: str) -> None:
    CHANGES[change](locked)
    locked.locked()
    assert locked.pins() == {"a": "2.0", "b": "1.0"}


def test_lock_warns_of_a_replaced_file_with_both_hashes(
    locked: Workspace,
) -> None:
    old = locked.content()["pin"][0]["file"][0]["sha256"]
    new = locked.index.add_wheel("a", "1.0", files={"a.py": "other = True\n"}).sha256
    warning = locked.locked().stderr
    assert warning.startswith("warning: a-1.0-")
    assert (old in warning, new in warning) == (True, True)
    assert locked.locked().stderr == ""


def test_snapshot_has_what_a_lock_and_an_upgrade_request(locked: Workspace) -> None:
    assert locked.run("lock", "--record", "demo").status == 0
    locked.forget()
    before = tree(locked.locks)
    locked.locked("--offline", **NOBODY_THERE)
    assert tree(locked.locks) == before
    locked.locked("--offline", "--upgrade", **NOBODY_THERE)
    assert locked.pins() == {"a": "2.0", "b": "2.0"}
    (kept,) = locked.root.rglob("*.snapshot")
    content = kept.read_bytes()
    other = locked.root / "demo.toml"
    other.write_text(
        (locked.matrices / "stacks/demo.toml").read_text("utf-8").replace('"a"', '"a>=1"'), "utf-8"
    )
    locked.refused("the snapshot `demo` belongs to another stack", "lock", "--record", "demo.toml")
    assert kept.read_bytes() == content


# --- a conflict


def test_conflict_adds_its_report_to_the_old_lock(
    locked: Workspace,
) -> None:
    (locked.folder() / "notes.txt").write_text("mine")
    before = tree(locked.folder())
    locked.stack("a<2", "b", "a>1")
    assert locked.lock().status == 1
    after = tree(locked.folder())
    assert after.keys() - before.keys() == REPORTS
    assert {name: after[name] for name in before} == before
    locked.locked_stack("a", "b")
    assert tree(locked.folder()).keys() == before.keys()


def test_a_target_is_locked_although_another_one_conflicts(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    index.add_wheel("demo", "2.0", requires_python=">=3.11")
    workspace.stack("demo", target=TWO_PYTHONS)
    run = workspace.lock("--json")
    assert (run.status, run.stderr, run.json["status"]) == (1, "", "conflict")
    assert {one["target"]: one["status"] for one in run.json["targets"]} == {
        "old": "conflict",
        "new": "locked",
    }
    assert {path.name for path in (workspace.locks / "demo/old").iterdir()} == REPORTS
    run = workspace.lock()
    assert run.status == 1
    assert run.stderr.startswith("No environment satisfies demo for linux-aarch64, Python 3.10.\n")
    assert "Locked demo for linux-aarch64, Python 3.11: 1 distribution in 1 stage\n" in run.stdout
    assert rows(run.stdout) == ["demo old no solution, as before", "demo new locked, 1 pin"]


# --- --check, --dry-run


CURRENT = "Locking would change nothing in locks/demo/there.\n"
UPGRADED = (
    "Locking would change in locks/demo/there: lock.toml, requirements.txt, verify.py, "
    "report.md, report.zh.md and "
    "stages/1.txt 1 pin project before now a 1.0 2.0"
)


def test_check_and_dry_run_only_say_what_would_change(
    locked: Workspace,
) -> None:
    before = tree(locked.locks)
    for option in ("--check", "--dry-run"):
        assert (locked.lock(option).status, locked.lock(option).stdout) == (0, CURRENT)
    run = locked.lock("--upgrade-package", "a", "--dry-run")
    assert (run.status, " ".join(run.stdout.split())) == (0, UPGRADED)
    run = locked.lock("--upgrade-package", "a", "--check")
    assert (run.status, " ".join(run.stdout.split())) == (
        4,
        f"{UPGRADED} hint: ascend-lock lock demo --upgrade-package a",
    )
    assert tree(locked.locks) == before
    told = locked.lock("--upgrade", "--check", "--json")
    assert (told.status, told.json["status"], tree(locked.locks)) == (4, "stale", before)
    assert told.json["changes"] == [
        {"name": "a", "old": "1.0", "new": "2.0"},
        {"name": "b", "old": "1.0", "new": "2.0"},
    ]
    assert told.json["written"] == locked.locked("--upgrade", "--json").json["written"]
    assert locked.lock("--upgrade", "--check").status == 0


def test_check_sees_changed_facts_missing_files_and_old_reports(
    locked: Workspace,
) -> None:
    locked.locked()
    (locked.folder() / "install.sh").unlink()
    run = locked.lock("--check")
    assert (run.status, run.stdout.partition("hint")[0]) == (
        4,
        ("Locking would change in locks/demo/there: install.sh\n\nBoth lock.toml say the same.\n"),
    )
    locked.facts("a", '[[warns]]\ntext = "it is slow"\nreason = "somebody measured it"\n')
    told = " ".join(locked.lock("--dry-run").stdout.split())
    assert "Facts fact before now a-warns-1 - somebody measured it (new)" in told
    assert "Warnings + a: it is slow (matrices/facts/a.toml:6)" in told
    locked.locked()
    locked.stack("a<2", "b", "a>1")
    before = tree(locked.locks)
    run = locked.lock("--check")
    assert (run.status, run.stdout, tree(locked.locks)) == (1, "", before)
    assert locked.lock().status == 1
    locked.stack("a", "b")
    assert "there: conflict.html, conflict.json," in " ".join(locked.lock("--check").stdout.split())


def test_check_of_several_stacks_is_a_table(four: Workspace) -> None:
    assert four.run("lock", "first", "second").status == 0
    four.serve("first 1.1: shared")
    run = four.run("lock", "first", "second", "--check", "--upgrade")
    assert (run.status, rows(run.stdout)) == (
        4,
        ["first there out of date", "second there current"],
    )
    assert run.stdout.splitlines()[-2] == "2 stacks, 2 targets: 1 current, 1 out of date"
    assert "\n  first    1.0     1.1\n\nstack " in run.stdout


def test_a_first_lock_can_be_tried(workspace: Workspace) -> None:
    workspace.serve("demo 1.0")
    workspace.stack("demo")
    told = "Locking would write the first lock to locks/demo/there.\n"
    assert (workspace.lock("--dry-run").stdout, workspace.locks.exists()) == (told, False)
    assert (workspace.lock("--check").status, workspace.locks.exists()) == (4, False)


def test_without_a_summary_nothing_stands_in_its_place(locked: Workspace) -> None:
    locked.edit("stacks/demo.toml", 'summary = "a stack of tests"\n', "")
    locked.locked()
    assert "summary" not in locked.content()
    assert locked.read("report.md").startswith("# demo\n")
    assert locked.read("install.sh").splitlines()[1] == "# Install demo for there"
    assert locked.read("requirements.txt").startswith("# demo for there\n")
    assert "match the lock: demo for there\n" in locked.read("verify.py")
    assert locked.run("lock").stdout == "  demo\n"
    assert (
        "description"
        not in locked.run("export", "demo", "--format", "sbom").json["metadata"]["component"]
    )


# --- --json


def test_json_tells_what_is_locked_and_what_this_run_changed(locked: Workspace) -> None:
    run = locked.lock("--json")
    assert (run.status, run.stderr) == (0, "")
    (only,) = run.json["targets"]
    assert run.json == {**only, "format": 1, "targets": [only]}
    assert (only["status"], only["folder"], only["pins"]) == (
        "locked",
        "locks/demo/there",
        {"a": "1.0", "b": "1.0"},
    )
    locked.stack("a")
    assert [row["name"] for row in locked.locked("--json").json["changes"]] == ["b"]
    assert locked.locked("--json").json["changes"] == [], (
        "the lock still says what changed when it last did"
    )


def test_a_failure_with_json_is_told_as_json_too(workspace: Workspace) -> None:
    run = workspace.lock("--json", stack="nothing")
    (told,) = run.json["targets"]
    assert told.keys() == {"status", "stack", "target", "message", "where", "why", "hint"}
    assert run.json == {**told, "format": 1, "targets": [told]}
    assert (run.status, run.error) == (2, told["message"])


@pytest.mark.parametrize(
    "lines", [["a", "b"], ["a>1", "b"], ["a<2", "a>1"]], ids=["current", "moved", "conflict"]
)
def test_color_says_nothing_that_is_not_there_without_it(
    locked: Workspace, lines: list[str]
) -> None:
    locked.stack(*lines)
    for arguments in (["--dry-run"], []):
        before = locked.root / "before"
        shutil.copytree(locked.locks, before)
        plain = locked.lock(*arguments)
        shutil.rmtree(locked.locks)
        before.rename(locked.locks)
        colored = locked.lock(*arguments, FORCE_COLOR="1")
        assert (click.unstyle(colored.stdout), click.unstyle(colored.stderr)) == (
            plain.stdout,
            plain.stderr,
        )
        assert "\x1b" not in plain.stdout + plain.stderr
    assert "\x1b[1m" in colored.stdout + colored.stderr


# --- several stacks


@pytest.fixture
def four(workspace: Workspace) -> Workspace:
    """Two stacks that lock and share a project, one with a conflict, one with a wrong file."""
    workspace.serve("shared 1.0 2.0", "first 1.0: shared", "second 1.0: shared<2")
    workspace.stack("first", name="first")
    workspace.stack("second", name="second")
    workspace.stack("second", "shared==2.0", name="third")
    workspace.stack("not a requirement", name="wrong")
    return workspace


def rows(table: str) -> list[str]:
    """Of each row of the table at the end of a run: stack, target and outcome."""
    found = re.findall(r"(?m)^(\w+) +(\S+) +\d+\.\d  (?:.*?  )+(\S.*)$", table)
    return [" ".join(row) for row in found]


def test_all_are_locked_and_what_cannot_be_is_told(
    four: Workspace, index: LoopbackIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a process of the tests has more in it than one of the program, and would be replaced
    monkeypatch.setattr(workers, "_LARGEST", 1 << 40)
    run = four.lock(stack="all")
    assert rows(run.stdout) == [
        "first there locked, 2 pins",
        "second there locked, 2 pins",
        "third there no solution",
        "wrong - failed: `not a requirement` is not a requirement",
    ]
    assert run.stdout.endswith("4 stacks, 3 targets: 2 locked, 1 without a solution, 1 failed\n")
    assert "wrong: error: `not a requirement` is not a requirement\n" in run.stderr
    assert run.status == 2, "the highest: an input is wrong"
    assert (four.pins("first")["shared"], four.pins("second")["shared"]) == ("2.0", "1.0")
    asked = Counter(request.path for request in index.requests)
    files = [path for path in asked if path.startswith("/files/")]
    assert {asked[path] for path in files} == {1}, "no file is asked for twice"
    assert max(asked.values()) <= 2, "a page is asked for once by each of two processes"

    (four.matrices / "stacks" / "wrong.toml").unlink()
    run = four.lock(stack="all")
    assert run.status == 0, "a conflict that was known and still holds fails nobody's CI"
    assert rows(run.stdout)[-1] == "third there no solution, as before"
    assert four.run("lock", "first", "third").status == 1, "by its name, it is asked for"


def test_a_lock_that_was_there_is_no_known_conflict(locked: Workspace) -> None:
    locked.stack("a==3.0")
    for _ in range(2):
        assert locked.lock(stack="all").status == 1
        assert locked.pins() == {"a": "1.0", "b": "1.0"}


def test_lock_goes_on_if_an_index_fails_for_one_stack(
    four: Workspace,
) -> None:
    four.index.fault("/simple/*/first/", status(403))
    run = four.run("lock", "first", "second", "--json")
    assert (run.status, run.json["status"]) == (3, "error")
    failed, locked = run.json["targets"]
    assert (failed["stack"], failed["status"], failed["why"]) == (
        "first",
        "error",
        "It answered 403.",
    )
    assert (locked["stack"], locked["pins"]) == ("second", {"second": "1.0", "shared": "1.0"})


def test_a_project_to_upgrade_may_be_in_one_of_the_stacks_only(four: Workspace) -> None:
    assert four.run("lock", "first", "second").status == 0
    four.serve("first 1.1: shared")
    run = four.run("lock", "first", "second", "--upgrade-package", "first")
    assert (run.status, four.pins("first")["first"]) == (0, "1.1")
    run = four.run("lock", "first", "second", "--upgrade-package", "frist")
    assert (run.status, run.stderr.splitlines()[-1]) == (2, "hint: did you mean `first`?")


def test_two_stacks_cannot_have_one_name(locked: Workspace) -> None:
    """A copy whose name was forgotten would take turns with the first one's lock."""
    before = tree(locked.locks)
    stacks = locked.matrices / "stacks"
    (stacks / "twin.toml").write_bytes((stacks / "demo.toml").read_bytes())
    run = locked.lock(stack="twin")
    assert (run.status, run.error) == (2, "two stacks have the name `demo`")
    assert run.stderr.endswith('hint: write name = "twin"\n')
    assert tree(locked.locks) == before


def test_two_files_of_a_folder_cannot_have_one_name(locked: Workspace) -> None:
    before = tree(locked.locks)
    text = (locked.matrices / "stacks" / "demo.toml").read_text().replace('"demo"', '"cpu"', 1)
    (locked.root / "cpu.toml").write_text(text)
    (locked.root / "bad.toml").write_text(text)
    for command in ("lock", "explain"):
        run = locked.run(command, "bad.toml")
        assert (run.status, run.error) == (2, "two stacks have the name `cpu`")
        assert "the other is cpu.toml" in run.stderr
        assert run.stderr.endswith('hint: write name = "bad"\n')
    assert tree(locked.locks) == before
    # One of `matrices` counts as well, what is no stack does not.
    (locked.root / "bad.toml").write_text(text.replace('"cpu"', '"demo"', 1))
    assert locked.run("lock", "bad.toml").error == "two stacks have the name `demo`"
    (locked.root / "cpu.toml").write_text('[project]\nname = "cpu"\n')
    (locked.root / "bad.toml").write_text(text)
    assert locked.run("lock", "bad.toml").status == 0


# --- several targets


def test_one_target_alone(workspace: Workspace) -> None:
    workspace.serve("demo 1.0")
    workspace.stack("demo", target=MACHINES)
    assert workspace.locked("--target", "x86_64").stdout.startswith("Locked demo for linux-x86_64")
    assert workspace.folder().name == "x86_64"
    run = workspace.lock("--target", "riscv64")
    assert (run.status, run.stderr) == (
        2,
        "error: demo has no target `riscv64`\nhint: its targets are aarch64, x86_64\n",
    )
    workspace.locked()
    assert {path.name for path in (workspace.locks / "demo").iterdir()} == {"aarch64", "x86_64"}


def test_a_warning_of_several_targets_is_told_once(workspace: Workspace) -> None:
    workspace.serve("demo 1.0")
    workspace.facts("demo", '[[warns]]\nid = "demo-beware"\ntext = "beware"\nreason = "a test"\n')
    told = workspace.locked_stack("demo", target=MACHINES).stdout
    assert told.count("demo: beware") == 1
    assert "\n1 warning: see locks/demo/x86_64/report.md\n" in told


def test_lock_of_unknown_stack_locks_nothing(workspace: Workspace) -> None:
    workspace.serve("demo 1.0", "httpx 1.0")
    workspace.locked_stack("demo", "httpx")
    workspace.serve("demo 2.0", "httpx 2.0")
    before = tree(workspace.locks)
    run = workspace.run("lock", "demo", "--upgrade", "httpx", "demo")
    assert run.status == 2
    assert run.error == "there is no stack `httpx`"
    assert run.stderr.endswith("\nhint: ascend-lock lock demo -P httpx\n")
    for arguments in (("demo", "httpx"), ("-U", "demo", "httpy"), ("-U", "demo", "no.toml")):
        run = workspace.run("lock", *arguments)
        assert run.status == 2
        assert " -P " not in run.stderr
    assert tree(workspace.locks) == before
    assert workspace.run("lock", "demo", "-P", "httpx").status == 0
    assert workspace.pins("demo") == {"demo": "1.0", "httpx": "2.0"}


@pytest.mark.parametrize("option", ["--check", "--upgrade", "--dry-run", "-Pa"])
def test_options_need_a_stack(workspace: Workspace, option: str) -> None:
    """A job of CI would succeed whatever the locks are."""
    workspace.stack("a")
    run = workspace.refused("a stack is needed", "lock", option)
    assert f"ascend-lock lock {option} all\n" in run.stderr
    assert workspace.run("lock").status == 0


def test_all_without_matrices_is_what_is_locked_here(workspace: Workspace) -> None:
    shutil.rmtree(workspace.matrices)
    run = workspace.refused("no stack has a lock here", "lock", "all")
    assert "hint: name the stacks to lock: ascend-lock lock STACK\n" in run.stderr
    workspace.serve("a 1.0")
    text = '[stack]\nname = "{name}"\nsummary = "s"\nrequires = ["a"]\n\n' + ANYWHERE
    (workspace.root / "beside.toml").write_text(text.format(name="beside"))
    own = workspace.matrices / "stacks"
    own.mkdir(parents=True)
    (own / "inside.toml").write_text(text.format(name="inside"))
    run = workspace.run("lock", "all")
    assert (run.status, sorted(path.name for path in workspace.locks.iterdir())) == (
        0,
        ["beside", "inside"],
    )


def test_matrices_of_stacks_alone_use_the_shipped_facts(workspace: Workspace) -> None:
    shutil.rmtree(workspace.matrices)
    workspace.serve("a 1.0")
    path = workspace.matrices / "stacks" / "mine.toml"
    path.parent.mkdir(parents=True)
    path.write_text(f'[stack]\nname = "mine"\nsummary = "s"\nrequires = ["a"]\n\n{ANYWHERE}')
    workspace.locked(stack="mine")
    assert workspace.run("check").stdout == "mine for there: current\n"
    path.write_text(path.read_text().replace('"a"', '"a<1"'))
    assert workspace.run("check").status == 4


def test_result_names_torch_even_if_no_line_does(workspace: Workspace) -> None:
    workspace.serve("trainer 1.0: torch, other", "torch 2.8.0", "other 1.0")
    told = workspace.locked_stack("trainer").stdout
    assert "torch 2.8.0, trainer 1.0" in told
    assert "other 1.0" not in told
