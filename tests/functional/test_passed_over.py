"""Releases that were passed over for want of static metadata: the lock itself warns of them, whoever makes it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.functional.workspace import Workspace, tree
from tests.loopback import LoopbackIndex

WARNING = (
    "demo 2.0 was skipped in favour of 1.0: `broken-0.2.tar.gz` (index `pypi`) has no static metadata, and "
    "locking never "
    "runs a package's code. Read its setup.py and write what it needs into matrices/facts/broken.toml as a `metadata` "
    'fact ([[metadata]] with versions = "==0.2" and requires = […]), then lock with --upgrade-package demo'
)
CHINESE = (
    "未采用 demo 2.0，锁定的是 1.0：`broken-0.2.tar.gz`（软件源 `pypi`）没有静态元数据，而锁定时从不运行软件包的代码。"
)
FACT = '[[metadata]]\nid = "broken"\nversions = "==0.2"\nrequires = []\nreason = "it says so"\n'

ELSEWHERE = '[[requires]]\nid = "demo-2"\nversions = "==2.0"\nneeds = ["python < 3"]\nreason = "it is old"\n'


@pytest.fixture
def passed(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """demo 2.0 needs what is there only as archives without static metadata; demo 1.0 was locked."""
    index.add_wheel("demo", "1.0")
    index.add_wheel("demo", "2.0", requires=["broken"])
    index.add_archive("broken", "0.2", static=False)
    index.add_archive("broken", "0.1", static=False)
    workspace.stack("demo")
    workspace.locked()
    assert workspace.pins() == {"demo": "1.0"}
    return workspace


def warnings(workspace: Workspace) -> list[str]:
    """What the lock warns of."""
    found = workspace.content().get("warnings", [])
    assert isinstance(found, list)
    return found


def test_it_is_told_wherever_the_lock_is(passed: Workspace) -> None:
    assert warnings(passed) == [WARNING]
    assert "- demo 2.0 was skipped in favour of 1.0: " in passed.read("report.md")
    again = passed.locked("--json")
    assert again.json["warnings"] == [WARNING]
    assert again.stderr == ""
    shown = passed.locked()
    assert WARNING in " ".join(shown.stdout.split())
    assert CHINESE in "".join(passed.locked("--lang", "zh").stdout.split("\n    "))
    assert passed.run("check", "demo").status == 0


def test_it_is_told_first_of_what_the_stack_names(passed: Workspace) -> None:
    """What else there is to say of it comes after that: what is taken may be years older than what was asked for."""
    passed.facts("demo", '[[warns]]\nid = "slow"\nversions = ">=0"\ntext = "it is slow"\nreason = "it is"\n')
    passed.locked()
    first, second = warnings(passed)
    assert first == WARNING
    assert "it is slow" in second


@pytest.mark.parametrize("arguments", [(), ("--upgrade",), ("--anew",), ("--offline", "--anew"), ("--offline",)])
def test_it_does_not_hang_on_what_is_known_already(passed: Workspace, arguments: tuple[str, ...]) -> None:
    before = tree(passed.locks)
    if "--offline" not in arguments:
        passed.forget()
    passed.locked(*arguments)
    assert tree(passed.locks) == before


def with_a_fact(workspace: Workspace) -> None:
    workspace.facts("broken", FACT)


def without_the_release(workspace: Workspace) -> None:
    workspace.stack("demo<2")


def for_another_target(workspace: Workspace) -> None:
    workspace.facts("demo", ELSEWHERE)


@pytest.mark.parametrize("change", [with_a_fact, without_the_release, for_another_target])
def test_a_pin_that_is_kept_keeps_the_warning_no_longer_than_it_is_true(
    passed: Workspace, change: Callable[[Workspace], None]
) -> None:
    passed.stack("demo>=1")
    passed.locked()
    assert warnings(passed) == [WARNING]
    change(passed)
    passed.locked()
    assert passed.pins() == {"demo": "1.0"}
    assert warnings(passed) == []


def test_a_release_for_another_target_is_not_told_of(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0")
    index.add_archive("demo", "2.0", static=False)
    workspace.stack("demo")
    workspace.facts("demo", ELSEWHERE)
    workspace.locked()
    assert workspace.pins() == {"demo": "1.0"}
    assert warnings(workspace) == []


def test_what_the_warning_says_helps(passed: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("setuptools", "80.0")
    index.add_wheel("wheel", "0.45")
    with_a_fact(passed)
    passed.locked("--upgrade-package", "demo")
    assert passed.pins() == {"broken": "0.2", "demo": "2.0"}
    assert warnings(passed) == []


def test_the_archive_of_the_project_itself_and_one_farther_away(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("near", "1.0")
    index.add_archive("near", "2.0", static=False)
    index.add_wheel("far", "1.0")
    index.add_wheel("far", "2.0", requires=["between"])
    index.add_wheel("between", "1.0", requires=["near>=2"])
    workspace.stack("near", "far")
    workspace.locked()
    assert workspace.pins() == {"far": "1.0", "near": "1.0"}
    assert [row[: row.index(" has no")] for row in warnings(workspace)] == [
        "far 2.0 was skipped in favour of 1.0: `near-2.0.tar.gz` (index `pypi`)",
        "near 2.0 was skipped in favour of 1.0: `near-2.0.tar.gz` (index `pypi`)",
    ]


def test_what_another_reason_keeps_out_is_not_told(workspace: Workspace, index: LoopbackIndex) -> None:
    """A look-ahead opens the archive from an empty cache; what asks for demo does not admit the release."""
    index.add_wheel("demo", "1.0")
    index.add_wheel("demo", "2.0", requires=["broken"])
    index.add_archive("broken", "0.2", static=False)
    index.add_wheel("limit", "1.0", requires=["demo<2"])
    workspace.stack("demo", "limit==1.0")
    workspace.locked()
    assert warnings(workspace) == []
    before = tree(workspace.locks)
    for arguments in (("--anew",), ("--offline", "--anew")):
        workspace.locked(*arguments)
        assert tree(workspace.locks) == before


def test_an_archive_that_another_release_stands_in_for_is_not_told(workspace: Workspace, index: LoopbackIndex) -> None:
    """demo 2.0 fails for `other`; that one archive among what it needs could not be read is no reason."""
    index.add_wheel("demo", "1.0")
    index.add_wheel("demo", "2.0", requires=["part", "other<1"])
    index.add_archive("part", "2.0", static=False)
    index.add_wheel("part", "1.0")
    index.add_wheel("other", "1.0")
    workspace.stack("demo", "other")
    workspace.locked()
    assert workspace.pins() == {"demo": "1.0", "other": "1.0"}
    assert warnings(workspace) == []


def test_a_post_that_a_fact_puts_last_was_not_passed_over(workspace: Workspace, index: LoopbackIndex) -> None:
    """It would not be taken before the pin if its archive were readable."""
    index.add_wheel("demo", "1.0")
    index.add_wheel("demo", "1.0.post1", requires=["broken"])
    index.add_archive("broken", "0.2", static=False)
    workspace.stack("demo")
    workspace.locked()
    assert len(warnings(workspace)) == 1
    workspace.facts("demo", '[[warns]]\nversions = "==1.0.post1"\nlast = 1\ntext = "x"\nreason = "another target\'s"\n')
    workspace.locked()
    assert (workspace.pins(), warnings(workspace)) == ({"demo": "1.0"}, [])
