"""`ascend-lock check`: what changed since a lock was made, for one stack or all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resolver.lock import file as lock_file
from resolver.lock import folder as lock_folder
from resolver.report import render
from tests.functional.workspace import UNREACHABLE, Run, Workspace, targets, tree
from tests.loopback import Fault, LoopbackIndex, altered, status

LANGUAGE_OF_C = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture
def current(workspace: Workspace) -> Workspace:
    """A lock that `check` finds current."""
    workspace.serve("a 1.0 2.0")
    workspace.stack("a")
    workspace.facts("c", '[[requires]]\nid = "c-a"\nneeds = ["a"]\nreason = "so it is"\n')
    workspace.indexes('[[index]]\nname = "spare"\nurl = "https://index.example/simple/"\n')
    workspace.locked_before()
    return workspace


def rewritten(change: Callable[[bytes], bytes], *path: str) -> Callable[[Workspace], None]:
    def rewrite(workspace: Workspace) -> None:
        file = workspace.root.joinpath(*path)
        file.write_bytes(change(file.read_bytes()))

    return rewrite


def a_comment(*path: str) -> Callable[[Workspace], None]:
    return rewritten(lambda content: content + b"# changed\n", *path)


CHANGES: list[Callable[[Workspace], None]] = [
    *(a_comment("matrices", name) for name in ("stacks/demo.toml", "facts/c.toml", "indexes.toml")),
    *(a_comment("locks/demo/there", name) for name in ("install.sh", "lock.toml")),
    lambda workspace: workspace.facts(
        "b", '[[requires]]\nid = "b-a"\nneeds = ["a"]\nreason = "so it is"\n'
    ),
    lambda workspace: (workspace.matrices / "facts/c.toml").unlink(),
    rewritten(
        lambda content: content.replace(b"\n", b"\r\n"), "locks/demo/there/install.sh"
    ),  # bash does not run it
    lambda workspace: (workspace.folder() / "lock.toml").unlink(),
    lambda workspace: (workspace.folder() / "report.md").unlink(),
    rewritten(lambda _: b"\xff", "locks/demo/there/lock.toml"),
    rewritten(lambda _: b"[", "matrices/stacks/demo.toml"),
]


def test_whatever_changes_is_seen(current: Workspace, tmp_path: Path) -> None:
    work = {"matrices": current.matrices, "locks": current.locks}
    for name, folder in work.items():
        shutil.copytree(folder, tmp_path / name)
    for change in CHANGES:
        change(current)
        assert current.run("check").status != 0
        for name, folder in work.items():
            shutil.rmtree(folder)
            shutil.copytree(tmp_path / name, folder)
    run = current.run("check")
    assert (run.status, run.stdout) == (0, "demo for there: current\n")


def test_a_lock_with_a_lost_extra_is_current(workspace: Workspace, index: LoopbackIndex) -> None:
    """Its warning names the stack after other values."""
    index.add_wheel("a", "1.0")
    index.add_wheel("a", "2.0", extras={"x": ["c<1"]})
    workspace.serve("c 2.0")
    workspace.locked_stack("a[x]", "c")
    assert 'code = "lock.lost-extra"' in workspace.read()
    run = workspace.run("check")
    assert (run.status, run.stdout) == (0, "demo for there: current\n")


def test_a_cut_off_that_is_not_the_stacks_is_told(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """The next lock would take the stack's own again; one that only the command line gave holds."""
    index.add_wheel("a", "1.0", uploaded="2025-01-02T00:00:00Z")
    index.add_wheel("a", "2.0", uploaded="2025-06-02T00:00:00Z")
    workspace.locked_stack("a", more="[policy]\nexclude-newer = 2025-03-01\n")
    assert workspace.run("check").status == 0
    workspace.locked("--exclude-newer", "2025-12-01", "--upgrade")
    assert workspace.pins() == {"a": "2.0"}
    assert workspace.run("check").status == 4
    workspace.locked()
    assert workspace.pins() == {"a": "1.0"}
    workspace.stack("a")
    workspace.locked("--exclude-newer", "2025-12-01")
    assert workspace.run("check").status == 0


# --- several stacks


def two_stacks(workspace: Workspace) -> None:
    """One stack with two targets and one with a single one."""
    workspace.serve("a 1.0 2.0")
    workspace.stack("a", name="both", target=targets("aarch64", "x86_64"))
    workspace.stack("a", name="one")


@pytest.fixture
def three(workspace: Workspace) -> Workspace:
    """Two stacks that are locked, and one whose file is wrong."""
    two_stacks(workspace)
    assert workspace.run("lock", "both", "one").status == 0
    workspace.stack("not a requirement", name="wrong")
    return workspace


def test_every_stack_is_looked_at_whatever_is_wrong_with_another(three: Workspace) -> None:
    current = "both for 2 targets: current\none for there: current\n"
    run = three.run("check")
    assert (run.status, run.stdout.startswith(f"{current}wrong: failed: ")) == (2, True)
    assert run.stderr.startswith(
        "wrong: error: `not a requirement` is not a requirement\n  at matrices/stacks/wrong"
    )
    assert three.run("check", "all") == run
    (three.matrices / "stacks" / "wrong.toml").unlink()
    first = three.run("check", "all")
    assert (first.status, first.stdout) == (0, current)


def test_only_those_that_are_named(three: Workspace) -> None:
    run = three.run("check", "one", "both", "one", "--lang", "zh")
    assert (run.status, run.stdout) == (0, "one，目标 there：是最新的\nboth，2 个目标：是最新的\n")
    assert (
        three.run("check", "both").stdout == "both for aarch64: current\nboth for x86_64: current\n"
    )
    unknown = three.run("check", "one", "bth")
    assert (unknown.status, unknown.stdout.splitlines()[1]) == (
        2,
        "bth: failed: there is no stack `bth`",
    )
    assert unknown.stderr.endswith("hint: did you mean `both`?\n")
    run = three.run("check", "one", "wrong", "--json")
    one, wrong = run.json["locks"]
    assert (run.status, run.json["status"]) == (2, "error")
    assert one == {"stack": "one", "target": "there", "stale": "", "state": "current"}
    assert wrong["state"] == wrong["message"] == "`not a requirement` is not a requirement"


def test_one_command_locks_all_that_are_stale(three: Workspace) -> None:
    three.stack("a==1.0", name="one")
    (three.locks / "both" / "aarch64" / "install.sh").write_text("")
    (three.locks / "both" / "x86_64" / "lock.toml").write_text("<<<<<<<")
    three.stack("a==2.0", name="new")
    run = three.run("check", "one", "both", "new")
    assert run.status == 4
    lines = [line for line in run.stdout.splitlines() if not line.startswith(" ")]
    told = "one for there, both for aarch64, both for x86_64, new for there"
    assert [line.partition(":")[0] for line in lines[:4]] == told.split(", ")
    assert lines[4].startswith("hint: locks/both/x86_64/lock.toml: restore it from version control")
    assert lines[5:] == ["hint: ascend-lock lock one new"]


def test_a_lock_that_may_not_be_read_keeps_its_pins(three: Workspace) -> None:
    """What the system refuses is mended there; `--upgrade` would throw the pins away."""
    file = three.locks / "one" / "there" / "lock.toml"
    file.unlink()
    file.mkdir()
    _, hint = three.run("check", "one").stdout.splitlines()
    assert hint.startswith("hint: locks/one/there/lock.toml: move what is there out of the way")


def test_hints_repeat_the_folders_of_the_command_line(three: Workspace) -> None:
    folders = (
        "--matrices",
        three.matrices.rename(three.root / "my facts").name,
        "--locks",
        "other",
    )
    told = "--matrices 'my facts' --locks other"
    assert three.run("check", "one", *folders).stdout.splitlines()[1:] == [
        f"hint: ascend-lock lock one {told}"
    ]
    for command in (
        ("export", "one", "--format", "sbom"),
        ("verify", "one"),
        ("bundle", "one", "files"),
    ):
        run = three.run(*command, *folders)
        assert f"\nhint: ascend-lock lock one {told}" in run.stderr, run
    assert three.run("bundle", "all", "files", *folders).stderr.endswith(
        f"hint: ascend-lock lock STACK {told}\n"
    )
    three.locks.rename(three.root / "other")
    (three.root / "my facts" / "stacks" / "one.toml").rename(three.root / "my one.toml")
    assert three.run("check", *folders).stderr.endswith(
        f" ascend-lock check path/to/one.toml {told}\n"
    )
    run = three.run("check", "./my one.toml", "--lang", "en")
    assert (run.status, run.stdout.splitlines()[-1]) == (
        4,
        "hint: ascend-lock lock './my one.toml'",
    )


def test_check_all_works_anywhere_and_fails_without_locks(
    workspace: Workspace,
) -> None:
    workspace.refused("there are no stacks", "check")
    two_stacks(workspace)
    run = workspace.run("lock", "--record", "all")
    assert (run.status, len(run.stdout.splitlines())) == (0, 2)
    assert workspace.run("facts", "check", "all") == workspace.run("facts", "check")


# --- a folder with stacks of one's own, away from the checkout


@pytest.fixture
def own(current: Workspace) -> Path:
    """A checkout with the stack `demo`, and beside it a folder `own` with `mine`, locked."""
    folder = current.root / "own"
    folder.mkdir()
    text = (current.matrices / "stacks/demo.toml").read_text("utf-8")
    (folder / "mine.toml").write_text(text.replace('name = "demo"', 'name = "mine"', 1), "utf-8")
    assert current.run("lock", "own/mine.toml", "--locks", "own/locks").status == 0
    return folder


def rewrite(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")


def test_only_what_is_locked_there_is_checked(workspace: Workspace, own: Path) -> None:
    here = ("--locks", "own/locks")
    for names in ([], ["all"]):
        run = workspace.run("check", *names, *here)
        assert (run.status, run.stdout, run.stderr) == (0, "mine for there: current\n", "")
    workspace.run("lock", "demo", *here)
    rewrite(own / "mine.toml", '"a"', '"a==1.0"')
    for names in ([], ["all"]):
        run = workspace.run("check", *names, *here)
        assert (run.status, run.stdout.splitlines()[0]) == (4, "demo for there: current")
        assert run.stdout.endswith("hint: ascend-lock lock own/mine.toml --locks own/locks\n")
    (own / "matrices" / "facts").mkdir(parents=True)  # a folder of facts without stacks is enough
    given = ("--matrices", "own/matrices", "--locks", "own/others")
    assert workspace.run("lock", "own/mine.toml", *given).status == 0
    run = workspace.run("check", *given)
    assert (run.status, run.stdout, run.stderr) == (0, "mine for there: current\n", "")


def test_a_lock_whose_stack_is_not_found_counts(current: Workspace) -> None:
    folder = current.root / "services"
    folder.mkdir()
    text = (current.matrices / "stacks/demo.toml").read_text("utf-8")
    path = folder / "api.toml"
    path.write_text(text.replace('name = "demo"', 'name = "api"', 1), "utf-8")
    assert current.run("lock", "services/api.toml").status == 0
    for names in ([], ["all"]):
        run = current.run("check", *names)
        assert (run.status, run.stdout) == (4, "demo for there: current\n")
        assert "ascend-lock check path/to/api.toml" in run.stderr
    run = current.run("check", "--json")
    assert (run.status, run.json["status"], run.json["unchecked"]) == (4, "stale", ["api"])
    for name in ("demo", "services/api.toml"):
        run = current.run("check", name, "--json")
        assert (run.status, run.json["unchecked"]) == (0, [])


def test_where_nothing_can_be_checked_it_fails(workspace: Workspace, own: Path) -> None:
    (own / "mine.toml").rename(own / "other.toml")
    run = workspace.refused("there is nothing to check", "check", "--locks", "own/locks")
    assert run.stderr.endswith("hint: ascend-lock check path/to/mine.toml --locks own/locks\n")
    workspace.refused("there is nothing to check", "check", "--locks", "none/locks")


def test_a_folder_without_the_facts_about_ascend_is_told(workspace: Workspace, own: Path) -> None:
    workspace.serve("torch-npu 2.8.0")
    rewrite(own / "mine.toml", '"a"', '"torch-npu"')
    lock = ("lock", "own/mine.toml", "--locks", "own/locks")
    assert workspace.run(*lock).stderr.startswith(
        "warning: matrices/facts has no facts about torch-npu"
    )
    workspace.facts(
        "torch-npu", "[[excludes]]\nversions = '==2.8.0'\nreason = 'broken'\nstrength = 'observed'"
    )
    assert "There are no facts" not in workspace.run(*lock).stderr


def test_a_bundle_of_all_takes_what_has_a_lock(workspace: Workspace, own: Path) -> None:
    workspace.stack("a>2", name="none")
    run = workspace.run("bundle", "all", "out")
    assert (run.status, " of demo for there; 1 file downloaded now." in run.stdout) == (0, True)
    run = workspace.run("bundle", "all", "more", "--locks", "own/locks")
    assert (run.status, " of mine for there;" in run.stdout) == (0, True)
    workspace.refused(
        "there are no locks to bundle", "bundle", "all", "more", "--locks", "none/locks"
    )


def test_a_stack_of_the_current_folder_has_its_name(workspace: Workspace) -> None:
    workspace.serve("a 1.0")
    workspace.stack("a", name="mine").rename(workspace.root / "mine.toml")
    workspace.locked(stack="mine")
    assert workspace.run("check", "mine").stdout == "mine for there: current\n"
    assert workspace.run("lock", "mina.toml").stderr.endswith("\nhint: did you mean `mine.toml`?\n")


def test_a_lock_of_a_target_that_the_stack_no_longer_has_is_told(workspace: Workspace) -> None:
    workspace.serve("a 1.0")
    workspace.locked_stack("a", target=targets("old", "new"))
    workspace.stack("a", target=targets("new"))
    run = workspace.run("check", "demo")
    assert run.stderr.startswith("hint: locks/demo/old belongs to no target of its stack any more")


def test_a_name_in_chinese_is_the_same_in_every_locale(workspace: Workspace, own: Path) -> None:
    (own / "mine.toml").rename(workspace.root / "我的.toml")
    assert workspace.run("lock", "我的.toml").status == 0
    run = workspace.run_alone("check", "我的.toml", **LANGUAGE_OF_C)
    assert (run.status, run.stdout) == (0, "mine for there: current\n")


def test_a_shell_can_complete_names_of_stacks(workspace: Workspace, own: Path) -> None:
    def offered(line: str) -> list[str]:
        words = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        return workspace.run_alone(_ASCEND_LOCK_COMPLETE="bash_complete", **words).stdout.split()

    assert offered("ascend-lock lock d") == ["plain,demo"]
    assert offered("ascend-lock check own/") == ["file,own/"]


# --- --upstream: what became of the files of a lock

CHANGING = (
    "taken-back",
    "swapped",
    "doubled",
    "vanished",
    "pulled",
    "thinner",
    "retired",
    "obsolete",
    "unsafe",
)
NAMES = (*CHANGING, "leaky", "kept")


@pytest.fixture
def eleven(workspace: Workspace) -> Workspace:
    workspace.serve(*(f"{name} 1.0" for name in NAMES))
    workspace.index.add_wheel("thinner", "1.0", tags="cp311-cp311-manylinux_2_28_aarch64")
    workspace.stack(*NAMES)
    workspace.facts(
        "kept",
        '[[after]]\nid = "kept-is-last"\nothers = ["leaky"]\nreason = "r"\nchecked = 2020-01-31\n',
    )
    workspace.locked_before()
    return workspace


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


def upstream(workspace: Workspace, *options: str) -> Run:
    """`check --upstream`, which must leave everything as it was."""
    before = tree(workspace.root / "matrices"), tree(workspace.locks)
    run = workspace.run("check", "demo", "--upstream", "--facts-days", "99999", *options)
    assert (tree(workspace.root / "matrices"), tree(workspace.locks)) == before
    return run


def test_upstream_is_not_asked_offline(current: Workspace) -> None:
    run = current.refused("--offline does not use the network.", "check", "--upstream", "--offline")
    assert "hint: leave out one of --upstream and --offline\n" in run.stderr


def test_all_that_can_change_upstream(eleven: Workspace, index: LoopbackIndex) -> None:
    locked = {pin["name"]: pin["file"][0]["sha256"] for pin in eleven.content()["pin"]}
    index.add_wheel("taken-back", "1.0", yanked="it ate \x1b[2J data")
    index.fault("*/swapped/", on_page(lambda files: [with_hash(file, "0") for file in files]))
    index.fault(
        "*/doubled/", on_page(lambda files: [*files, *(with_hash(file, "1") for file in files)])
    )
    index.remove("vanished")
    index.add_wheel("pulled", "2.0")
    index.remove("pulled", "pulled-1.0-py3-none-any.whl")
    index.remove("thinner", "thinner-1.0-py3-none-any.whl")
    index.stands("retired", "archived")
    index.stands("obsolete", "deprecated", "see kept")
    index.stands("unsafe", "quarantined")
    index.remove("unsafe", "unsafe-1.0-py3-none-any.whl")
    run = upstream(eleven)
    assert (run.status, run.stderr) == (5, "")
    head, *told, newer, end = run.stdout.splitlines()
    assert (head, end) == (
        "demo for there: current",
        "  12 files were compared with their index pages",
    )
    assert newer == "  1 project has a newer release by now: pulled 1.0 → 2.0"
    changes = (
        "two hashes, gone, different hash, yanked since, quarantined, gone, gone, deprecated, "
        "archived, gone"
    )
    assert [line.partition(": ")[0].strip() for line in told] == changes.split(", ")
    assert "  yanked since: taken-back 1.0 on `pypi`, reason: it ate \\x1b[2J data\n" in run.stdout
    assert f"has sha256 {'0' * 64}, the lock has {locked['swapped']}\n" in run.stdout
    told = upstream(eleven, "--json")
    assert (told.status, told.json["status"], told.stderr) == (5, "changed", "")
    (row,) = told.json["locks"]
    assert [(new["project"], new["newest"]) for new in row["upstream"]["newer"]] == [
        ("pulled", "2.0")
    ]
    changes = row["upstream"]["changes"]
    assert {change["project"] for change in changes if not change["grave"]} == {
        "obsolete",
        "retired",
        "thinner",
    }
    assert {change["kind"] for change in changes} == {
        "twofold",
        "gone",
        "rehashed",
        "yanked",
        "marked",
    }


def test_nothing_changed_upstream_but_facts_are_old(
    eleven: Workspace, index: LoopbackIndex
) -> None:
    """Each page is asked for once; what only grew old changes no status."""
    run = eleven.run("check", "--upstream")
    assert run.stdout.startswith(
        "demo for there: current\n  the locked files are unchanged upstream\n  1 of its facts was "
    )
    assert (run.status, run.stderr) == (0, "")
    assert sorted(request.path for request in index.requests) == sorted(
        f"/simple/pypi/{name}/" for name in NAMES
    )
    index.clear()
    offline = eleven.run("check", "--facts-days", "30")
    assert offline.stdout.startswith("demo for there: current\n  1 of its facts was last checked")
    assert (offline.status, index.requests) == (0, [])


def test_an_index_out_of_reach_or_a_page_that_fails(
    eleven: Workspace, index: LoopbackIndex
) -> None:
    """What was found counts more than what could not be asked."""
    index.fault("*/kept/", status(403), times=2)
    index.remove("vanished")
    run = upstream(eleven)
    assert run.status == 5
    assert (
        "  gone: `pypi` no longer has the project vanished\n  not compared: `pypi` for kept: "
        in run.stdout
    )
    index.add_wheel("vanished", "1.0")
    assert upstream(eleven).status == 3
    eleven.index_url = UNREACHABLE
    run = upstream(eleven, "--json")
    assert (run.status, run.json["status"]) == (3, "out-of-reach")
    (lost,) = run.json["locks"][0]["upstream"]["out_of_reach"]
    assert (lost["index"], sorted(lost["projects"])) == ("pypi", sorted(NAMES))


# --- files that are not the lock's


def test_check_tells_files_that_are_not_the_locks(current: Workspace) -> None:
    """What somebody puts there stays there, and is seen."""
    folder = current.folder()
    (folder / "notes.txt").write_text("of somebody")
    (folder / "stages" / "9.txt").write_text("evil==1.0\n")
    (folder / "env" / "bin").mkdir(parents=True)
    run = current.run("check")
    told = (
        "  env/, notes.txt and stages/9.txt are in the lock's folder but do not belong to the lock"
    )
    assert (run.status, run.stdout.splitlines()) == (0, ["demo for there: current", told])
    (only,) = current.run("check", "--json").json["locks"]
    assert only["files"] == {"foreign": ["env/", "notes.txt", "stages/9.txt"]}
    current.locked()
    assert (folder / "notes.txt").read_text() == "of somebody"


@pytest.mark.parametrize("name", ["install.sh", "lock.toml", "stages/1.txt"])
def test_check_tells_a_linked_file_and_lock_mends_it(
    current: Workspace, tmp_path: Path, name: str
) -> None:
    """install.sh takes its stages and verify.py from beside the file that the link leads to."""
    file = current.folder() / name
    moved = tmp_path / "moved"
    file.rename(moved)
    file.symlink_to(moved)
    run = current.run("check")
    assert run.status != 0, run.stdout
    current.locked()
    assert not file.is_symlink()
    assert current.run("check").status == 0


@pytest.mark.parametrize("name", ["install.sh", "verify.py"])
def test_check_tells_a_lost_x_bit_and_lock_mends_it(current: Workspace, name: str) -> None:
    program = current.folder() / name
    program.chmod(0o644)
    run = current.run("check")
    assert (run.status, run.stdout.splitlines()[1]) == (
        4,
        f"  {name} is not executable: restore its x bit (chmod +x)",
    )
    (only,) = current.run("check", "--json").json["locks"]
    assert only["files"] == {"not_executable": [name]}
    current.locked()
    assert program.stat().st_mode & 0o777 == 0o755
    assert current.run("check").status == 0


def test_check_names_the_files_that_differ(current: Workspace) -> None:
    a_comment("locks/demo/there/install.sh")(current)
    run = current.run("check")
    assert (run.status, run.stdout.splitlines()[1]) == (
        4,
        "  install.sh does not match lock.toml",
    )


# --- locks that their inputs would not give


def edited(workspace: Workspace, change: Callable[[str], str]) -> None:
    """Edit lock.toml, and render the other files of its folder anew, as anybody can."""
    folder = workspace.folder()
    text = change((folder / "lock.toml").read_text(encoding="utf-8"))
    lock = lock_file.parse(text, folder)
    lock_folder.replace({folder: render(lock)})


def to_another_version(index: LoopbackIndex) -> Callable[[str], str]:
    """Return an edit that pins `a` at 1.0 instead of 2.0, with the true hash."""
    old, new = (index.add_wheel("a", version) for version in ("2.0", "1.0"))
    pairs = [
        (old.sha256, new.sha256),
        (old.filename, new.filename),
        ('version = "2.0"', 'version = "1.0"'),
    ]

    def change(text: str) -> str:
        for before, after in pairs:
            assert before in text
            text = text.replace(before, after)
        return text

    return change


def test_solve_tells_a_consistent_edit(current: Workspace, index: LoopbackIndex) -> None:
    """`lock` keeps another version with its true hash, and no other check finds it."""
    assert current.run("check", "--solve").stdout == "demo for there: current\n"
    edited(current, to_another_version(index))
    assert current.pins() == {"a": "1.0"}
    assert current.run("check", "--upstream").status == 0
    current.locked("--anew")
    assert current.pins() == {"a": "1.0"}
    before = tree(current.locks)
    run = current.run("check", "--solve")
    assert run.status == 4
    lines = run.stdout.splitlines()
    assert lines[0] == "demo for there: solving again gives another lock"
    assert lines[2:] == [
        "    a: locked 1.0, solved 2.0",
        "hint: ascend-lock lock demo --upgrade --dry-run",
    ]
    (only,) = current.run("check", "--solve", "--json").json["locks"]
    assert only["solved"] == {
        "refuted": False,
        "pins": [{"name": "a", "locked": "1.0", "solved": "2.0"}],
        "parts": [],
    }
    assert tree(current.locks) == before
    current.locked("--upgrade")
    assert current.run("check", "--solve").status == 0


def test_solve_tells_an_edit_that_leaves_the_pins(current: Workspace) -> None:
    edited(
        current,
        lambda text: text.replace('name = "a"', 'name = "a"\nenv = { CC = "/tmp/evil" }', 1),
    )
    assert current.run("check").status == 0
    run = current.run("check", "--solve")
    told = "  solved with the pins of the lock, other parts of lock.toml differ: pin"
    assert (run.status, run.stdout.splitlines()[1]) == (4, told)
    current.locked("--anew")
    assert "/tmp/evil" not in current.read()


def test_solve_asks_the_snapshot_first(current: Workspace, index: LoopbackIndex) -> None:
    """What has appeared since the lock was made is no difference then."""
    current.run("lock", "--record", "demo")
    current.serve("a 3.0")
    index.clear()
    assert current.run("check", "--solve").status == 0
    assert index.requests == []
    edited(current, to_another_version(index))
    assert current.run("check", "--solve").status == 4
    (current.root / "snapshots" / "demo.snapshot").unlink()
    current.locked("--upgrade")
    assert current.pins() == {"a": "3.0"}


def test_solve_says_that_the_indexes_are_out_of_reach(current: Workspace) -> None:
    assert current.run("check", "--solve", PIP_INDEX_URL=UNREACHABLE).status == 3
