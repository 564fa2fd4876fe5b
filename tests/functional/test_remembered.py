"""A remembered answer is what solving would give. Whatever could change it, solves anew."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from unittest import mock

import pytest

from resolver.cli import answers
from tests.cached import damage
from tests.functional.workspace import ANYWHERE, Workspace, targets, tree
from tests.loopback import LoopbackIndex, status

DAY = "2026-01-01T00:00:00Z"


@pytest.fixture
def solved(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """a needs b; both were locked, and that is remembered."""
    index.add_wheel("a", "1.0", requires=["b"], uploaded=DAY)
    index.add_wheel("b", "1.0", uploaded=DAY)
    workspace.locked_stack("a")
    return workspace


def loaded(workspace: Workspace, *arguments: str) -> set[str]:
    """Which of the modules that make a lock, or ask an index, a run loaded, which must succeed."""
    run = workspace.run_alone(*arguments, PYTHONPROFILEIMPORTTIME="1")
    assert run.status == 0, run
    return {line.rpartition("|")[2].strip() for line in run.stderr.splitlines()} & {
        "httpx",
        "networkx",
        "resolver.index.parse.simple",
        "resolver.explain.explain",
        "resolver.report.script",
        "resolver.resolve.solver",
    }


def solves(workspace: Workspace, *arguments: str) -> bool:
    """Whether a run of `lock` solved, or knew the answer."""
    with mock.patch.object(
        answers, "lock_or_refutation", wraps=answers.lock_or_refutation
    ) as solved:
        workspace.locked(*arguments)
    return solved.called


def test_a_lock_that_is_known_loads_nothing_that_makes_one(solved: Workspace) -> None:
    assert loaded(solved, "lock", "demo") == {"httpx", "resolver.index.parse.simple"}
    assert not loaded(solved, "lock", "demo", "--offline")
    assert loaded(solved, "check", "demo") == {"resolver.report.script"}


def test_a_lock_that_is_made_loads_nothing_that_explains(solved: Workspace) -> None:
    assert "resolver.explain.explain" not in loaded(solved, "lock", "demo", "--anew")
    solved.stack("a==2.0")
    assert solved.lock().status == 1


@pytest.mark.parametrize("name", ["report.md", "stages/1.txt", "lock.toml"])
def test_a_file_that_somebody_changed_is_written_again(solved: Workspace, name: str) -> None:
    before = tree(solved.locks)
    path = solved.folder() / name
    path.write_text(path.read_text(encoding="utf-8") + "# by hand\n", encoding="utf-8")
    assert "Nothing changed" not in solved.locked().stdout
    assert tree(solved.locks) == before


def test_offline_and_anew_give_the_same_bytes(solved: Workspace) -> None:
    before = tree(solved.locks)
    assert not solves(solved, "--upgrade")
    assert solves(solved, "--anew", "--offline")
    assert tree(solved.locks) == before
    shutil.rmtree(solved.locks)
    assert not solves(solved, "--offline"), "what is remembered holds for a lock that is not there"
    assert tree(solved.locks) == before


def another_binding(workspace: Workspace) -> None:
    workspace.index.add_wheel("b", "5.0", index="other")
    workspace.indexes(
        f'[[index]]\nname = "other"\nurl = "{workspace.index.url_of("other")}"\n'
        '[[binding]]\npackages = ["b"]\nindexes = ["other"]\n'
    )


CHANGES: dict[str, Callable[[Workspace], object]] = {
    "a release": lambda one: one.serve("b 2.0"),
    "a release yanked": lambda one: (
        one.serve("b 0.9"),
        one.index.add_wheel("b", "1.0", yanked="broken"),
    ),
    "another file of the same name": lambda one: one.serve("b 1.0: c", "c 3.0"),
    "a fact": lambda one: one.facts(
        "b", '[[requires]]\nid = "b-c"\nneeds = ["c"]\nreason = "it imports c"\n'
    ),
    "another requirement": lambda one: one.stack("a", "c"),
    "another target": lambda one: one.stack("a", target=ANYWHERE.replace("3.11", "3.10")),
    "another binding": another_binding,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen(solved: Workspace, change: str) -> None:
    before = tree(solved.locks)
    solved.serve("c 3.0")
    CHANGES[change](solved)
    solved.locked("--upgrade")
    now = tree(solved.locks)
    assert now != before
    solved.forget()
    solved.locked("--upgrade")
    assert tree(solved.locks) == now


def test_remembered_lock_depends_on_kept_pins_and_cut_off(
    solved: Workspace, index: LoopbackIndex
) -> None:
    index.add_wheel("b", "2.0", uploaded="2026-03-01T00:00:00Z")
    for arguments, pin in (
        ([], "1.0"),
        (["--upgrade-package", "b"], "2.0"),
        (["--upgrade", "--exclude-newer", "2026-02-01"], "1.0"),
        (["--upgrade"], "2.0"),
    ):
        solved.locked(*arguments)
        assert solved.pins()["b"] == pin


def test_indexes_are_asked_all_the_same(solved: Workspace, index: LoopbackIndex) -> None:
    before = tree(solved.locks)
    with LoopbackIndex() as other:  # of the same content but for one project
        other.serve("a 1.0: b", "b 7.0")
        solved.locked("--upgrade", "--locks", "elsewhere", PIP_INDEX_URL=other.url)
        assert "b==7.0" in (solved.root / "elsewhere/demo/there/requirements.txt").read_text()
    index.remove("b")
    assert solved.lock("--locks", "elsewhere", "--explain-seconds", "1").status == 1
    index.fault("/simple/*/b/", status(403))
    assert solved.lock().status == 3
    assert tree(solved.locks) == before


def test_without_a_hash_nothing_is_remembered(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("a", "1.0", sha256=False)
    workspace.locked_stack("a")
    assert solves(workspace)


@pytest.mark.parametrize(
    "change",
    [lambda content: content[:-1] + b"x", lambda content: content[:40], lambda _: b""],
    ids=["x", "cut", ""],
)
def test_a_damaged_memory_is_none(solved: Workspace, change: Callable[[bytes], bytes]) -> None:
    before = tree(solved.locks)
    assert damage(solved.cache, change, "lock") > 0
    assert solves(solved)
    assert not solves(solved)
    assert tree(solved.locks) == before


# --- ways out

# The target of a change in CHANGES.
TARGETS = {"another target": ANYWHERE.replace("3.11", "3.10")}


@pytest.fixture
def refuted(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """a needs b 2.0; the stack pins b 1.0, and its ways out were shown."""
    index.add_wheel("a", "1.0", requires=["b>=2"], uploaded=DAY)
    index.add_wheel("a", "0.9", requires=["b<2"], uploaded=DAY)
    index.add_wheel("b", "1.0", uploaded=DAY)
    index.add_wheel("b", "2.0", uploaded=DAY)
    workspace.stack("a==1.0", "b==1.0")
    assert workspace.lock().status == 1
    return workspace


def explains(workspace: Workspace, *arguments: str) -> bool:
    """Whether a run that applies a way out looked for ways out, or knew them."""
    with mock.patch.object(
        answers, "explanation_of_refutation", wraps=answers.explanation_of_refutation
    ) as explained:
        assert workspace.run(*arguments).status == 0
    return explained.called


def changed_stack(workspace: Workspace) -> str:
    """Remove the stack that `explain --apply A` wrote, and return its text."""
    path = workspace.matrices / "stacks" / "demo-a.toml"
    text = path.read_text(encoding="utf-8")
    path.unlink()
    return text


def test_a_way_out_that_was_shown_is_applied_without_a_search(refuted: Workspace) -> None:
    assert not explains(refuted, "explain", "demo", "--apply", "A")
    remembered = changed_stack(refuted)
    refuted.forget()
    assert explains(refuted, "explain", "demo", "--apply", "A")
    assert changed_stack(refuted) == remembered
    assert not explains(refuted, "add", "demo", "--apply", "A")
    assert refuted.pins()["b"] == "2.0"


def test_an_addition_that_failed_is_made_with_its_way_out(refuted: Workspace) -> None:
    refuted.stack("b==1.0")
    assert refuted.run("add", "demo", "a==1.0").status == 1
    assert not explains(refuted, "add", "demo", "a==1.0", "--apply", "A")
    assert refuted.pins() == {"a": "1.0", "b": "2.0"}


def test_the_ways_out_of_one_target_are_not_those_of_a_stack(refuted: Workspace) -> None:
    """The first target has a lock; what ways out the second one has was not looked for."""
    refuted.stack("a==1.0", "b==1.0; python_version == '3.10'", target=targets("new", "old"))
    assert refuted.lock("--target", "new").status == 0
    assert explains(refuted, "explain", "demo", "--apply", "A")
    changed_stack(refuted)
    assert not explains(refuted, "explain", "demo", "--apply", "A")


@pytest.mark.parametrize(
    "change", [change for change in CHANGES if change not in ("another requirement", "a fact")]
)
def test_ways_out_are_looked_for_again_after_a_change(refuted: Workspace, change: str) -> None:
    CHANGES[change](refuted)
    refuted.stack("a==1.0", "b==1.0", target=TARGETS.get(change, ANYWHERE))
    assert explains(refuted, "explain", "demo", "--apply", "A")


def test_ways_out_are_looked_for_again_with_another_fact(refuted: Workspace) -> None:
    refuted.facts("b", '[[excludes]]\nid = "b-2"\nversions = "==2.0"\nreason = "it is broken"\n')
    assert explains(refuted, "explain", "demo", "--apply", "A")
    assert "a==0.9" in changed_stack(refuted)


def test_a_letter_with_another_meaning_is_refused(refuted: Workspace) -> None:
    """The page of b has changed since the report, and A would be another way out."""
    before = tree(refuted.matrices / "stacks")
    refuted.index.remove("b")
    refuted.serve("b 1.0", "b 3.0")
    for command in ("add", "explain", "explain"):
        run = refuted.run(command, "demo", "--apply", "A")
        assert (run.status, run.error) == (2, "way out `A` is another one now")
        assert "It was: ask for b==2.0 instead of b==1.0" in run.stderr
        assert "Now it is: ask for b==3.0 instead of b==1.0" in run.stderr
        assert "hint: look again: ascend-lock explain demo\n" in run.stderr
    assert tree(refuted.matrices / "stacks") == before
    assert refuted.run("explain", "demo").status == 1
    assert refuted.run("explain", "demo", "--apply", "A").status == 0
    assert "b==3.0" in changed_stack(refuted)


def test_a_letter_that_was_not_shown_is_refused(refuted: Workspace) -> None:
    refuted.refused("there is no way out `Z`", "explain", "demo", "--apply", "Z")
