"""A lock that is remembered is the one that solving would give; whatever could change it makes it be solved anew."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.cached import damage
from tests.functional.workspace import ANYWHERE, Workspace, tree
from tests.loopback import LoopbackIndex, status


@pytest.fixture
def solved(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """a needs b; both were locked, and that is remembered."""
    index.add_wheel("a", "1.0", requires=["b"], uploaded="2026-01-01T00:00:00Z")
    index.add_wheel("b", "1.0", uploaded="2026-01-01T00:00:00Z")
    workspace.stack("a")
    workspace.locked()
    return workspace


def loaded(workspace: Workspace, *arguments: str, **environment: str) -> set[str]:
    """The modules that a run loaded, which must succeed."""
    run = workspace.run_alone(*arguments, PYTHONPROFILEIMPORTTIME="1", **environment)
    assert run.status == 0, run
    return {line.rpartition("|")[2].strip() for line in run.stderr.splitlines()}


def solves(workspace: Workspace, *arguments: str, **environment: str) -> bool:
    """Whether a run of `lock` solved, or knew the answer."""
    return "resolver.resolve.solver" in loaded(workspace, "lock", "demo", *arguments, **environment)


def test_a_lock_that_is_known_loads_nothing_that_makes_one(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("a", "1.0")
    workspace.stack("a")
    makers = {"networkx", "resolver.resolve.solver"}
    assert makers <= loaded(workspace, "lock", "demo")
    assert not makers & loaded(workspace, "lock", "demo")
    assert not makers & loaded(workspace, "check", "demo")


def test_offline_and_anew_give_the_same_bytes(solved: Workspace) -> None:
    before = tree(solved.locks)
    assert not solves(solved)
    assert not solves(solved, "--offline")
    assert not solves(solved, "--upgrade")
    assert solves(solved, "--anew")
    assert solves(solved, "--anew", "--offline")
    assert tree(solved.locks) == before


def test_what_is_remembered_holds_for_a_lock_that_is_not_there(solved: Workspace) -> None:
    before = tree(solved.locks)
    for path in sorted(solved.locks.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert not solves(solved, "--offline")
    assert tree(solved.locks) == before


def a_release(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("b", "2.0")


def a_release_yanked(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("b", "0.9")
    index.add_wheel("b", "1.0", yanked="broken", uploaded="2026-01-01T00:00:00Z")


def another_file_of_the_same_name(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("b", "1.0", requires=["c"], uploaded="2026-01-01T00:00:00Z")
    index.add_wheel("c", "3.0")


def a_fact(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("c", "3.0")
    workspace.facts("b", '[[requires]]\nid = "b-c"\nneeds = ["c"]\nreason = "it imports c"\n')


def another_requirement(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("c", "3.0")
    workspace.stack("a", "c")


def another_target(workspace: Workspace, index: LoopbackIndex) -> None:
    workspace.stack("a", target=ANYWHERE.replace("3.11", "3.10"))


def another_binding(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("b", "5.0", index="other")
    workspace.indexes(
        f'[[index]]\nname = "other"\nurl = "{index.url_of("other")}"\n'
        '[[binding]]\npackages = ["b"]\nindexes = ["other"]\n'
    )


CHANGES = [
    a_release,
    a_release_yanked,
    another_file_of_the_same_name,
    a_fact,
    another_requirement,
    another_target,
    another_binding,
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen(
    solved: Workspace, index: LoopbackIndex, change: Callable[[Workspace, LoopbackIndex], None]
) -> None:
    before = tree(solved.locks)
    change(solved, index)
    solved.locked("--upgrade")
    now = tree(solved.locks)
    assert now != before
    solved.forget()
    solved.locked("--upgrade")
    assert tree(solved.locks) == now


def test_another_cut_off_is_another_question(solved: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("b", "2.0", uploaded="2026-03-01T00:00:00Z")
    solved.locked("--upgrade")
    assert solved.pins()["b"] == "2.0"
    solved.locked("--upgrade", "--exclude-newer", "2026-02-01")
    assert solved.pins()["b"] == "1.0"
    solved.locked("--upgrade")
    assert solved.pins()["b"] == "2.0"


def test_pins_that_are_kept_are_part_of_the_question(solved: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("b", "2.0")
    solved.locked()
    assert solved.pins()["b"] == "1.0"
    solved.locked("--upgrade-package", "b")
    assert solved.pins()["b"] == "2.0"


def test_another_index_of_the_same_content_is_asked(solved: Workspace) -> None:
    with LoopbackIndex() as other:
        other.add_wheel("a", "1.0", requires=["b"])
        other.add_wheel("b", "7.0")
        solved.locked("--upgrade", PIP_INDEX_URL=other.url)
        assert solved.pins()["b"] == "7.0"


def test_a_page_that_is_gone_is_missed(solved: Workspace, index: LoopbackIndex) -> None:
    index.remove("b")
    assert solved.lock("--explain-seconds", "1").status == 1


def test_an_index_that_fails_fails_the_lock(solved: Workspace, index: LoopbackIndex) -> None:
    before = tree(solved.locks)
    index.fault("/simple/*/b/", status(403))
    assert solved.lock().status == 3
    assert tree(solved.locks) == before


def test_without_a_hash_nothing_is_remembered(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("a", "1.0", sha256=False)
    workspace.stack("a")
    workspace.locked()
    assert solves(workspace)


def test_a_damaged_memory_is_none(solved: Workspace) -> None:
    before = tree(solved.locks)
    for change in (lambda content: content[:-1] + b"x", lambda content: content[:40], lambda _: b""):
        assert damage(solved.cache, change, "lock") > 0
        assert solves(solved)
        assert not solves(solved)
        assert tree(solved.locks) == before


def test_a_walk_of_changes_is_locked_as_without_a_memory(workspace: Workspace, index: LoopbackIndex) -> None:
    """What a run with a memory writes is what one without writes, whatever happened to the index in between."""
    chance = random.Random(7)
    names = ("a", "b", "c")
    for name in names:
        index.add_wheel(name, "1.0")
    workspace.stack("a")
    for step in range(2, 8):
        for _ in range(chance.randrange(2)):
            needs = [f"{chance.choice(names)}>={chance.randrange(1, step)}" for _ in range(chance.randrange(2))]
            yanked = chance.choice([None, None, "odd"])
            index.add_wheel(chance.choice(names), f"{step}.0", requires=needs, yanked=yanked)
        results = []
        for arguments in ([], ["--anew"]):
            run = workspace.lock("--upgrade", "--explain-seconds", "1", *arguments)
            results.append((run.status, tree(workspace.locks)))
        assert results[0] == results[1]
