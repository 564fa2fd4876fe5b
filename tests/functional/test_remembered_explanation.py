"""An explanation that is remembered is the one that would be found; whatever could change it makes it be found anew."""

from __future__ import annotations

import json

import pytest

from tests.cached import damage
from tests.functional.workspace import ANYWHERE, Workspace, tree
from tests.loopback import LoopbackIndex, reset, status

DAY = "2026-01-01T00:00:00Z"
TWO = "".join(
    f'[[target]]\nname = "{name}"\npython = "{python}"\nplatform = "linux-aarch64"\n'
    for name, python in (("old", "3.10"), ("new", "3.11"))
)


@pytest.fixture
def told(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """a 1.0 needs an older b than the stack asks for, a 2.0 does not; it was explained, and that was remembered."""
    index.add_wheel("a", "1.0", requires=["b<2"], uploaded=DAY)
    index.add_wheel("a", "2.0", requires=["c"], uploaded=DAY)
    for version in ("1.0", "2.0"):
        index.add_wheel("b", version, uploaded=DAY)
    index.add_wheel("c", "1.0", uploaded=DAY)
    workspace.stack("a==1.0", "b>=2")
    assert rounds(workspace) > 0
    assert rounds(workspace) == 0
    return workspace


def rounds(workspace: Workspace, *arguments: str, **environment: str) -> int:
    """The rounds of all searches of a run that found no solution; 0 where the answer was known."""
    run = workspace.lock("--profile", "--json", *arguments, **environment)
    assert run.status == 1, run
    profile = json.loads(run.stderr.splitlines()[-1])["profile"]
    assert isinstance(profile["rounds"], int)
    return profile["rounds"]


@pytest.mark.parametrize(("command", "language"), [("lock", "en"), ("explain", "zh")])
def test_what_is_told_again_is_the_same_to_the_byte(told: Workspace, command: str, language: str) -> None:
    def page(*arguments: str) -> object:
        return told.run(command, "demo", "--lang", language, *arguments), tree(told.locks)

    anew, machine = page("--anew"), page("--anew", "--json")
    assert page() == anew
    assert page("--offline") == page("--anew", "--offline")
    assert page("--json") == machine


def test_lock_and_explain_remember_for_each_other(told: Workspace, index: LoopbackIndex) -> None:
    assert told.run("explain", "demo").status == 1
    index.add_wheel("c", "2.0", uploaded=DAY)
    assert told.run("explain", "demo").status == 1
    assert rounds(told) == 0


def test_a_way_out_is_applied_from_what_is_remembered(told: Workspace) -> None:
    run = told.run("explain", "demo", "--apply", "A")
    assert run.status == 0
    assert told.lock(stack="demo-a").status == 0


def test_anew_looks_for_all_of_it(told: Workspace) -> None:
    before = tree(told.locks)
    assert rounds(told, "--anew") > 0
    assert rounds(told, "--anew", "--offline") > 0
    assert tree(told.locks) == before


def a_release(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("b", "1.5", uploaded=DAY)


def a_release_of_what_a_way_out_needs(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("c", "1.1", uploaded=DAY)


def a_release_yanked(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("a", "2.0", requires=["c"], yanked="broken", uploaded=DAY)


def another_file_of_the_same_name(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("a", "2.0", requires=["c>=2"], uploaded=DAY)


def a_page_gone(workspace: Workspace, index: LoopbackIndex) -> None:
    index.remove("a")


def a_fact(workspace: Workspace, index: LoopbackIndex) -> None:
    workspace.facts("a", '[[excludes]]\nid = "a-2"\nversions = "==2.0"\nreason = "it hangs"\n')


def another_target(workspace: Workspace, index: LoopbackIndex) -> None:
    workspace.stack("a==1.0", "b>=2", target=ANYWHERE.replace("3.11", "3.10"))


def another_line(workspace: Workspace, index: LoopbackIndex) -> None:
    workspace.stack("a==1.0", "b>=2", "c")


def another_binding(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("c", "5.0", index="other", uploaded=DAY)
    workspace.indexes(
        f'[[index]]\nname = "other"\nurl = "{index.url_of("other")}"\n'
        '[[binding]]\npackages = ["c"]\nindexes = ["other"]\n'
    )


CHANGES = [
    a_release,
    a_release_of_what_a_way_out_needs,
    a_fact,
    another_file_of_the_same_name,
    a_release_yanked,
    another_target,
    another_line,
    another_binding,
    a_page_gone,
]


def test_each_change_is_seen(told: Workspace, index: LoopbackIndex) -> None:
    """One after the other, and each time it is told what is found without a memory."""
    for change in CHANGES:
        change(told, index)
        assert rounds(told) > 0, change
        now = tree(told.locks)
        assert rounds(told, "--anew") > 0
        assert tree(told.locks) == now, change


def test_a_conflict_that_is_gone_is_not_told(told: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("a", "1.0", requires=["b"], uploaded=DAY)
    told.locked()
    assert told.pins() == {"a": "1.0", "b": "2.0"}


def test_another_option_is_another_question(told: Workspace) -> None:
    assert rounds(told, "--exclude-newer", "2026-02-01") > 0
    assert rounds(told, "--exclude-newer", "2026-02-02") > 0
    assert rounds(told, "--exclude-newer", "2026-02-01") == 0
    assert rounds(told, "--explain-seconds", "59") > 0
    assert rounds(told) == 0


def test_the_cut_off_of_the_stack_may_change_and_that_of_an_option_not(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """The same moment, and yet only one of the two can be left out to get a lock."""
    index.add_wheel("a", "1.0", uploaded=DAY)
    index.add_wheel("a", "2.0", uploaded="2026-03-01T00:00:00Z")
    workspace.stack("a>=2", more="[policy]\nexclude-newer = 2026-02-01\n")
    for arguments, kinds in (([], ["policy", "policy", "version"]), (["--exclude-newer", "2026-02-01"], ["version"])):
        for _ in range(2):
            fixes = workspace.lock("--json", *arguments).json["fixes"]
            assert sorted(change["kind"] for fix in fixes for change in fix["changes"]) == kinds


def test_the_pins_of_the_lock_before_are_part_of_the_question(told: Workspace) -> None:
    told.stack("a==2.0", "b")
    told.locked()
    told.stack("a==1.0", "b>=2")
    assert rounds(told) > 0
    assert rounds(told) == 0
    assert rounds(told, "--upgrade") == 0, "as without a lock before"


def test_a_fact_that_the_stack_leaves_out_is_part_of_the_question(workspace: Workspace, index: LoopbackIndex) -> None:
    """It may be proposed."""
    index.add_wheel("a", "1.0", requires=["b<2"])
    index.add_archive("a", "1.0", members={"requirements/common.txt": "b\n"})
    index.add_wheel("b", "2.0")
    workspace.facts("b", '[[warns]]\nid = "b-odd"\ntext = "b is odd"\nreason = "seen"\n')
    stack = workspace.stack("a==1.0", "b>=2")
    stack.write_text(stack.read_text().replace("requires =", 'facts = ["b"]\nrequires ='))
    assert rounds(workspace) > 0
    assert rounds(workspace) == 0
    workspace.facts(
        "a",
        '[[builds]]\nid = "a-here"\nversions = "==1.0"\nfrom = "sdist"\nrequires-from = "requirements/common.txt"\n'
        'reason = "its wheel asks for too much"\n',
    )
    assert rounds(workspace) > 0
    fixes = workspace.lock("--json").json["fixes"]
    assert ["add"] in [[change["kind"] for change in fix["changes"]] for fix in fixes]


def test_what_was_cut_short_is_not_remembered(told: Workspace, index: LoopbackIndex) -> None:
    for at in range(30):
        index.add_wheel("c", f"2.{at}", requires=["b<2"], uploaded=DAY)
    for _ in range(2):
        run = told.lock("--explain-seconds", "0.1", "--json", "--profile")
        assert run.json["limited"] is (rounds(told, "--explain-seconds", "0.1") > 0)


@pytest.fixture
def two(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """Of two targets the old one has no solution, and what would help it must hold for the new one."""
    index.add_wheel("a", "1.0", requires=["c; python_version >= '3.11'"])
    index.add_wheel("a", "2.0")
    index.add_wheel("b", "1.0", requires=["a<2; python_version < '3.11'"])
    index.add_wheel("c", "1.0")
    workspace.stack("a==2.0", "b", target=TWO)
    return workspace


def test_pages_that_another_target_needs_count(two: Workspace, index: LoopbackIndex) -> None:
    """c is looked up for the new target alone, to see whether a way out holds there, too."""
    assert ["version"] in kinds_of_fixes(two)
    assert rounds(two, "--target", "old") == 0
    index.remove("c")
    assert rounds(two, "--target", "old") > 0
    assert ["version"] not in kinds_of_fixes(two)


def kinds_of_fixes(workspace: Workspace) -> list[list[str]]:
    fixes = workspace.lock("--target", "old", "--json").json["fixes"]
    return [[change["kind"] for change in fix["changes"]] for fix in fixes]


def test_an_index_that_fails_fails_the_run(told: Workspace, index: LoopbackIndex) -> None:
    before = tree(told.locks)
    index.fault("/simple/*/b/", status(403))
    assert told.lock().status == 3
    assert tree(told.locks) == before


def test_what_failed_while_a_way_out_was_tried_is_not_remembered(told: Workspace, index: LoopbackIndex) -> None:
    """The explanation goes on without the way out, and the next one may have it."""
    fixes = told.lock("--json").json["fixes"]
    failing = True
    index.fault("/simple/*/c/", lambda response: status(403)(response) if failing else response)
    for _ in range(2):
        assert rounds(told) > 0
    assert told.lock("--json").json["fixes"] != fixes
    failing = False
    assert told.lock("--json").json["fixes"] == fixes


@pytest.mark.parametrize("unreachable", ["fail", "next"])
def test_an_index_out_of_reach(told: Workspace, index: LoopbackIndex, unreachable: str) -> None:
    """Passed over it is part of what is remembered; where it was needed, nothing is remembered."""
    index.add_wheel("c", "1.0", index="other", uploaded=DAY)
    told.indexes(
        f'[[index]]\nname = "other"\nurl = "{index.url_of("other")}"\n'
        f'[[binding]]\npackages = ["c"]\nindexes = ["other", "pypi"]\nunreachable = "{unreachable}"\n'
    )
    away = True
    index.fault("/simple/other/*", lambda response: reset()(response) if away else response)
    assert rounds(told) > 0
    assert (rounds(told) == 0) is (unreachable == "next")
    away = False
    assert rounds(told) > 0
    assert rounds(told) == 0


def test_without_a_hash_nothing_is_remembered(told: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("c", "1.0", sha256=False, metadata_sidecar=False, uploaded=DAY)
    for _ in range(2):
        assert rounds(told) > 0


def test_a_damaged_memory_is_none(told: Workspace) -> None:
    before = tree(told.locks)
    for change in (lambda content: content[:-1] + b"x", lambda content: content[:40]):
        assert damage(told.cache, change, "explained") > 0
        assert rounds(told) > 0
        assert rounds(told) == 0
        assert tree(told.locks) == before
