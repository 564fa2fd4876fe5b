"""The day of a lock: in the stack, on the command line, in the output and in other commands."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functional.workspace import Workspace, targets, tree

_DAYS = {"1.0": "2026-01-10", "2.0": "2026-02-20", "3.0": "2026-06-01"}


@pytest.fixture
def dated(workspace: Workspace) -> Workspace:
    """Three releases of a and of b, b 3.0 of which needs a 3.0."""
    for version, day in _DAYS.items():
        uploaded = f"{day}T00:00:00.000000Z"
        workspace.index.add_wheel("a", version, uploaded=uploaded)
        workspace.index.add_wheel(
            "b", version, requires=["a>=3"] if version == "3.0" else [], uploaded=uploaded
        )
    return workspace


def test_the_day_of_a_stack_is_told_and_locked(dated: Workspace) -> None:
    run = dated.locked_stack("a", "b==2.0")
    assert dated.pins() == {"a": "2.0", "b": "2.0"}
    told = (
        "Releases uploaded by 2026-03-06 are preferred: two weeks after b 2.0 (2026-02-20), the"
        " latest release that the stack pins or takes as a lower bound."
    )
    assert told in " ".join(run.stderr.split()) + " ".join(run.stdout.split())
    assert told in dated.read("report.md")
    latest = {"project": "b", "version": "2.0", "day": "2026-02-20"}
    assert dated.content()["as-of"] == {"policy": "auto", "day": "2026-03-06", "latest": latest}


def test_what_is_newer_is_locked_with_who_needs_it(dated: Workspace) -> None:
    dated.locked_stack("a", "b==3.0", more="[policy]\nas-of = 2026-02-28\n")
    assert dated.pins() == {"a": "3.0", "b": "3.0"}
    assert (
        "Newer than 2026-02-28: a 3.0 (needed by b 3.0), b 3.0 (needed by the stack)."
        in dated.read("report.md")
    )
    assert [(row["project"], row["needed-by"]) for row in dated.content()["newer"]] == [
        ("a", ["b 3.0"]),
        ("b", ["stack"]),
    ]


def test_the_command_line_goes_before_the_stack(dated: Workspace) -> None:
    dated.locked_stack("a", more="[policy]\nas-of = 2026-02-28\n")
    assert dated.pins() == {"a": "2.0"}
    dated.locked("--as-of", "newest", "--upgrade")
    assert dated.pins() == {"a": "3.0"}
    dated.locked("--as-of", "2026-01-31", "--upgrade")
    assert dated.pins() == {"a": "1.0"}


def test_locking_again_keeps_what_is_newer_and_says_so(dated: Workspace) -> None:
    dated.locked_stack("a", more="[policy]\nas-of = 'newest'\n")
    dated.stack("a", more="[policy]\nas-of = 2026-02-28\n")
    dated.locked()
    assert dated.pins() == {"a": "3.0"}
    assert "Newer than 2026-02-28: a 3.0 (kept from the previous lock)." in dated.read("report.md")
    dated.locked("--upgrade")
    assert dated.pins() == {"a": "2.0"}


def test_locking_again_says_the_same_of_what_is_needed(dated: Workspace) -> None:
    dated.locked_stack("a", "b==3.0", more="[policy]\nas-of = 2026-02-28\n")
    before = dated.read(), dated.read("report.md")
    dated.locked("--anew")
    assert (dated.read(), dated.read("report.md")) == before


@pytest.mark.parametrize(
    "bound", [{"requires": ["old<2"]}, {"extras": {"old": ["old<2"]}}], ids=["metadata", "extra"]
)
def test_locking_again_says_the_same_of_what_nobody_names(
    workspace: Workspace, bound: dict[str, Any]
) -> None:
    """The release of the day does not go with the stack, so a later one is taken."""
    for version, day, more in (
        ("1.0", "01-10", bound),
        ("2.0", "02-20", bound),
        ("3.0", "04-01", {}),
    ):
        workspace.index.add_wheel("a", version, uploaded=f"2026-{day}T00:00:00.000000Z", **more)
    workspace.index.add_wheel("old", "2.0", uploaded="2026-01-01T00:00:00.000000Z")
    workspace.locked_stack("a", "old==2.0", more="[policy]\nas-of = 2026-02-28\n")
    before = workspace.read(), workspace.read("report.md")
    assert "a 3.0 (no older release fits the other pins)" in before[1]
    workspace.locked("--anew")
    assert (workspace.read(), workspace.read("report.md")) == before


def test_check_solves_with_the_day_of_the_command_line(dated: Workspace) -> None:
    dated.locked_stack("a")
    dated.locked("--as-of", "2026-01-31", "--upgrade")
    assert dated.run("check").status == 0
    dated.stack("a", more="[policy]\nas-of = 2026-02-28\n")
    assert dated.run("check").status == 4


def test_an_index_without_upload_times_is_told(workspace: Workspace) -> None:
    workspace.serve("a 1.0 2.0", "b 1.0")
    workspace.locked_stack("a", "b==1.0")
    assert workspace.pins() == {"a": "2.0", "b": "1.0"}
    assert "the index gives no upload times for b" in workspace.read("report.md")
    workspace.locked("--as-of", "2026-02-28")
    assert "The index gives no upload time for a, b, so every release" in workspace.read(
        "report.md"
    )


def test_explain_says_which_newer_release_appeared_later(dated: Workspace) -> None:
    dated.locked_stack("a", more="[policy]\nas-of = 2026-02-28\n")
    run = dated.run("why", "demo", "a")
    assert run.status == 0
    assert (
        "1 of them appeared after 2026-02-28, and this stack prefers releases up to that day."
        in " ".join(run.stdout.split())
    )


@pytest.mark.parametrize("written", ["2026-02-30", "yesterday", "2026-02-28T12:00:00"])
def test_a_day_that_is_none_is_refused(dated: Workspace, written: str) -> None:
    dated.stack("a")
    run = dated.run("lock", "demo", "--as-of", written)
    assert run.status == 2
    assert "neither a day such as 2026-03-01 nor `auto` or `newest`" in run.stderr


def test_why_gives_no_advice_on_days_where_a_line_decides(dated: Workspace) -> None:
    """Another day would not make the lock take a newer `a`, which the line rules out."""
    dated.stack("a<2", more="[policy]\nas-of = 2026-01-31\n")
    run = dated.run("why", "demo", "a")
    assert "allows nothing newer" in run.stdout
    assert "--as-of newest" not in run.stdout


def test_a_day_of_the_command_line_says_how_to_keep_it(dated: Workspace) -> None:
    dated.locked_stack("a", "b==2.0")
    run = dated.run("lock", "demo", "--upgrade")
    assert "for newer ones: ascend-lock lock demo --upgrade --as-of newest\n" in run.stdout
    run = dated.run("lock", "demo", "-U", "--as-of", "newest")
    assert 'write `as-of = "newest"` below `[policy]` of demo\n' in run.stdout
    assert "for newer ones" not in run.stdout
    dated.stack("a", "b==2.0", more="[policy]\nas-of = 'newest'\n")
    assert "hint:" not in dated.run("lock", "demo", "-U", "--as-of", "newest").stdout


def test_a_day_long_before_the_newest_says_how_to_leave_it(workspace: Workspace) -> None:
    for version, day in (("1.0", "2020-01-10"), ("2.0", "2021-06-01")):
        for name in ("a", "b"):
            workspace.index.add_wheel(name, version, uploaded=f"{day}T00:00:00.000000Z")
    run = workspace.locked_stack("a", "b==1.0")
    assert (
        "hint: 2020-01-24, the day of the stack, is more than a year before a 2.0 (2021-06-01); for "
        "the newest releases: ascend-lock lock demo --as-of newest --upgrade; to keep that, write "
        '`as-of = "newest"` below `[policy]` of demo\n'
    ) in run.stdout, run.stdout
    assert "more than a year" not in workspace.run("lock", "demo").stdout
    workspace.stack("a<2", "b==1.0", name="bound")
    assert "more than a year" not in workspace.run("lock", "bound").stdout


def test_a_pin_that_stays_because_of_the_day_says_so(dated: Workspace) -> None:
    dated.locked_stack("a", "b==2.0")
    run = dated.run("lock", "demo", "-P", "a")
    assert (
        "hint: a 2.0 did not move: releases up to 2026-03-06 are preferred, the day of the stack; "
        "for newer ones: ascend-lock lock demo -P a --as-of newest\n"
    ) in run.stdout, run.stdout
    pinned = dated.run("lock", "demo", "-P", "b")
    assert "did not move" not in pinned.stdout, "its own line pins it"
    run = dated.run("lock", "demo", "--as-of", "newest", "--dry-run")
    kept = "hint: the pins of the existing lock are kept where they still fit; for newer ones: "
    assert f"{kept}ascend-lock lock demo --as-of newest --dry-run --upgrade\n" in run.stdout
    run = dated.run("lock", "demo", "-P", "a", "--as-of", "newest")
    assert "a 3.0" in run.stdout
    assert "did not move" not in run.stdout
    assert "are kept" not in run.stdout


def test_a_pin_that_a_requirement_keeps_says_which(dated: Workspace) -> None:
    dated.index.add_wheel("cap", "1.0", requires=["a<3"], uploaded="2026-02-20T00:00:00.000000Z")
    dated.locked_stack("a", "b<3", "cap==1.0")
    before = tree(dated.locks)
    why = (
        "hint: a 2.0 did not move, since no newer release fits: cap 1.0 needs a<3 "
        "(ascend-lock why demo a)\n"
    )
    own = (
        "hint: b 2.0 did not move, since no newer release fits: the stack asks for b<3 "
        "(ascend-lock why demo b)\n"
    )
    for options in ((), ("--as-of", "newest")):
        run = dated.run("lock", "demo", "-P", "a", "-P", "b", *options)
        assert [line for line in run.stdout.splitlines(keepends=True) if "hint" in line] == [
            why,
            own,
        ]
        assert tree(dated.locks) == before, "no version changed"
    assert dated.run("lock", "demo", "--check").status == 0
    dated.stack("a", "b<3", "cap==1.0", "a<4")
    assert dated.run("lock", "demo", "-P", "a").status == 0
    assert tree(dated.locks) != before, "the lock is of the stack as it is now"


def test_a_pin_that_nothing_keeps_says_so(dated: Workspace) -> None:
    dated.index.add_wheel("c", "1.0", requires=["d<2"], uploaded="2026-01-10T00:00:00.000000Z")
    dated.index.add_wheel("c", "2.0", requires=["d>9"], uploaded="2026-01-10T00:00:00.000000Z")
    dated.index.add_wheel("d", "1.0", uploaded="2026-01-10T00:00:00.000000Z")
    dated.index.add_wheel("d", "2.0", requires_python="<3", uploaded="2026-01-10T00:00:00.000000Z")
    dated.locked_stack("c", "b==2.0")
    run = dated.run("lock", "demo", "-P", "c", "-P", "d", "--as-of", "newest")
    assert "hint: c 1.0 did not move; ascend-lock why demo c explains it\n" in run.stdout
    newest = "did not move: the indexes have no newer release that the target can use\n"
    assert f"hint: d 1.0 {newest}" in run.stdout
    assert run.stdout.count("hint") == 2


def test_a_summary_names_newer_pins_of_the_stacks_lines_only(dated: Workspace) -> None:
    dated.index.add_wheel("c", "1.0", requires=["a", "b"], uploaded="2026-01-01T00:00:00.000000Z")
    dated.stack("a", "c", more="[policy]\nas-of = 'newest'\n")
    dated.locked()
    dated.stack("a", "c", more="[policy]\nas-of = 2026-02-28\n")
    newer = "a 3.0 (needed by b 3.0)"
    run = dated.run("lock", "demo")
    assert f"Newer than 2026-02-28: {newer} and 1 more (report.md).\n" in run.stdout
    assert f"{newer}, b 3.0 (kept from the previous lock)." in dated.read("report.md")
    dated.stack("c", more="[policy]\nas-of = 2026-02-28\n")
    assert "Newer than 2026-02-28: 2 projects (report.md).\n" in dated.run("lock", "demo").stdout


def test_targets_of_which_one_has_no_day_are_told(dated: Workspace) -> None:
    """The index gives no upload time for what the second target pins."""
    dated.serve("u 1.0")
    lines = (
        "b==2.0 ; platform_machine == 'aarch64'",
        "u==1.0 ; platform_machine == 'x86_64'",
        "a",
    )
    run = dated.locked_stack(*lines, target=targets("aarch64", "x86_64"))
    told = (
        "1 project has different versions on aarch64 and x86_64, as the day of the second is not "
        "known; `as-of = 2026-03-06` below `[policy]` of the stack makes them equal"
    )
    assert told in " ".join(run.stdout.split())
    dated.stack(*lines, target=targets("aarch64", "x86_64"), more="[policy]\nas-of = 2026-03-06\n")
    run = dated.locked("--upgrade")
    assert run.stdout.count("  a 2.0, ") == 2
    assert "different versions" not in run.stdout
