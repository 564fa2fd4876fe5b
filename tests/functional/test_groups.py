"""Groups of a stack: a lock each, with the versions that all of them can have."""

from __future__ import annotations

import json

import pytest
import tomli

from tests.functional.workspace import Workspace, targets, tree

GROUPS = """
[group.train]
requires = ["trainer"]

[group.eval]
requires = ["judge"]
"""


@pytest.fixture
def groups(workspace: Workspace) -> Workspace:
    """A stack of two groups, of which `eval` cannot have the newest `shared`."""
    workspace.serve(
        "base 1.0", "shared 1.0 2.0 3.0", "trainer 1.0: shared", "judge 1.0: shared<3, lone"
    )
    workspace.serve("lone 1.0")
    workspace.stack("base", more=GROUPS)
    return workspace


def pins(workspace: Workspace, lock: str) -> dict[str, str]:
    content = tomli.loads((workspace.locks / "demo" / lock / "lock.toml").read_text())
    return {pin["name"]: pin["version"] for pin in content["pin"]}


def test_each_group_has_a_lock_with_shared_versions(groups: Workspace) -> None:
    run = groups.locked()
    assert pins(groups, "there-train") == {"base": "1.0", "trainer": "1.0", "shared": "2.0"}
    assert pins(groups, "there-eval") == {
        "base": "1.0",
        "judge": "1.0",
        "lone": "1.0",
        "shared": "2.0",
    }
    assert "different versions" not in run.stdout
    assert (groups.locks / "demo" / "there-eval" / "install.sh").exists()


@pytest.mark.parametrize("forgets", [False, True], ids=["remembered", "anew"])
def test_groups_locked_again_move_no_byte(groups: Workspace, forgets: bool) -> None:
    groups.locked()
    before = tree(groups.locks)
    groups.serve("shared 2.5")
    if forgets:
        groups.forget()
    groups.locked()
    assert tree(groups.locks) == before


def test_one_group_alone_is_locked_with_regard_to_others(groups: Workspace) -> None:
    groups.locked("--target", "there-train")
    assert pins(groups, "there-train")["shared"] == "2.0"
    assert not (groups.locks / "demo" / "there-eval").exists()
    groups.serve("shared 2.5")
    groups.locked("--target", "there-eval")
    assert pins(groups, "there-eval")["shared"] == "2.0"


def test_groups_that_clash_have_versions_of_their_own(groups: Workspace) -> None:
    groups.serve("extra 1.0: shared>=3, lone", "lone 2.0")
    groups.edit("stacks/demo.toml", '["trainer"]', '["trainer", "extra"]')
    run = groups.locked()
    assert pins(groups, "there-train")["shared"] == "3.0"
    assert pins(groups, "there-eval")["shared"] == "2.0"
    assert pins(groups, "there-eval")["lone"] == "2.0"
    assert (
        "The groups have different versions of 1 project, as no version fits all of them: "
        "shared 3.0 (train), 2.0 (eval)."
    ) in " ".join(run.stdout.split())
    assert groups.run("check", "demo", "--solve").status == 0
    before = tree(groups.locks)
    groups.serve("shared 2.5 3.5", "lone 2.5")
    groups.forget()
    groups.locked()
    assert tree(groups.locks) == before


def test_explain_all_groups_says_what_they_cannot_share(groups: Workspace) -> None:
    groups.serve("extra 1.0: shared>=3")
    groups.edit("stacks/demo.toml", '["trainer"]', '["trainer", "extra"]')
    groups.locked()
    before = tree(groups.locks)
    run = groups.run("explain", "demo", "--all-groups")
    assert run.status == 1
    assert "judge" in run.stdout
    assert "extra" in run.stdout
    assert "split" not in run.stdout
    assert tree(groups.locks) == before
    assert groups.run("explain", "demo").status == 0


def test_a_way_out_of_a_group_changes_its_line(groups: Workspace) -> None:
    groups.serve("judge 0.9: shared")
    groups.edit("stacks/demo.toml", '["judge"]', '["judge==1.0", "shared>=3"]')
    report = groups.run("lock", "demo", "--json").json
    by_target = {row["target"]: row for row in report["targets"] if row["status"] == "conflict"}
    assert by_target.keys() == {"there-eval"}
    letters = [fix["name"] for fix in by_target["there-eval"]["fixes"]]
    assert letters
    assert all(len(fix["files"]) == 1 for fix in by_target["there-eval"]["fixes"])
    applied = groups.run("explain", "demo", "--apply", letters[0])
    assert applied.status == 0, applied
    (path,) = (groups.matrices / "stacks").glob("demo-*.toml")
    changed = tomli.loads(path.read_text())
    assert changed["stack"]["requires"] == ["base"]
    assert changed["group"]["train"] == {"requires": ["trainer"]}
    assert changed["group"]["eval"]["requires"] != ["judge==1.0", "shared>=3"]
    assert groups.run("lock", path.stem).status == 0


def test_each_target_has_every_group(groups: Workspace) -> None:
    groups.stack("base", target=targets("aarch64", "x86_64"), more=GROUPS)
    groups.locked()
    assert {path.name for path in (groups.locks / "demo").iterdir() if path.name[0] != "."} == {
        "aarch64-train",
        "aarch64-eval",
        "x86_64-train",
        "x86_64-eval",
    }


def test_add_and_remove_edit_a_group(groups: Workspace) -> None:
    run = groups.run("add", "demo", "lone", "--group", "train")
    assert run.status == 0, run
    content = tomli.loads((groups.matrices / "stacks" / "demo.toml").read_text())
    assert content["group"]["train"]["requires"] == ["trainer", "lone"]
    assert "lone" in pins(groups, "there-train")
    assert groups.run("remove", "demo", "lone", "--group", "train").status == 0
    content = tomli.loads((groups.matrices / "stacks" / "demo.toml").read_text())
    assert content["group"]["train"]["requires"] == ["trainer"]
    unknown = groups.run("add", "demo", "lone", "--group", "tran")
    assert unknown.status == 2
    assert "did you mean `train`?" in unknown.stderr


def test_two_locks_of_one_name_are_refused(groups: Workspace) -> None:
    rows = "".join(f'[group.{name}]\nrequires = ["lone"]\n' for name in ("b-c", "c"))
    groups.stack("base", target=targets("a", "a-b"), more=rows)
    run = groups.lock()
    assert run.status == 2
    assert "two locks of the stack would be named `a-b-c`" in run.stderr


def test_commands_name_the_locks_of_groups(groups: Workspace) -> None:
    groups.locked()
    for name in ("demo/there-eval", "demo/eval", "demo/there-e"):
        run = groups.run("tree", name, "--json")
        assert run.status == 0, run
        assert "judge" in json.dumps(run.json)
    run = groups.run("why", "demo", "shared", "--target", "eval")
    assert (
        "shared is locked at 2.0 in demo for linux-aarch64, Python 3.11, group eval" in run.stdout
    )
    run = groups.run("lock", "demo", "--target", "train", "--anew", "--upgrade")
    assert run.stdout.startswith("Locked demo for linux-aarch64, Python 3.11, group train: ")
    assert groups.run("check", "demo", "--solve").status == 0
