"""Output fits into 60, 80 and 120 columns in both languages, and breaks no word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.functional.terminals import require_fit
from tests.functional.workspace import TWO_PYTHONS, Workspace, row

REPOSITORY = Path(__file__).parents[2]
LONG = "a-distribution-whose-name-is-rather-long"
WARNING = (
    "it has a problem with the environment of distributions, which is told in a sentence that is "
    "long"
)
NEEDS = ["base>=2", "cann in 8.5.0 | 8.5.1"]


@pytest.fixture
def lockable(workspace: Workspace) -> Workspace:
    """A stack with two targets, warnings and a long name, and one without a solution."""
    workspace.serve(f"{LONG} 1.0: base", "base 1.0 2.0", "plugin 1.0")
    workspace.facts(
        LONG, row("warns", text=WARNING, text_zh="发行包 distributions 的环境有问题，" * 6)
    )
    workspace.facts(
        "plugin", row("requires", id="plugin-needs-base", versions="==1.0", needs=NEEDS)
    )
    workspace.stack(LONG, "base", target=TWO_PYTHONS)
    workspace.stack(LONG, "plugin==1.0", "base<2", name="clash")
    return workspace


def test_lock_fits_into_the_terminal(lockable: Workspace) -> None:
    require_fit(lockable, "lock", "demo", locks="locks")
    require_fit(lockable, "lock", "clash", locks="locks")
    require_fit(lockable, "lock", "demo", "clash", locks="locks")


def test_explain_fits_into_the_terminal(lockable: Workspace) -> None:
    lockable.locked()
    require_fit(lockable, "explain", "clash")
    require_fit(lockable, "why", "demo", "base")


def test_check_fits_into_the_terminal(lockable: Workspace) -> None:
    lockable.locked()
    lockable.lock(stack="clash")
    lockable.edit(
        "stacks/demo.toml", "a stack of tests", "another summary, so that the locks are out of date"
    )
    (lockable.matrices / "stacks" / "damaged.toml").write_text("[stack]\n")
    require_fit(lockable, "check", "all")
    require_fit(lockable, "check", "damaged")


def test_tree_and_stacks_fit_into_the_terminal(lockable: Workspace) -> None:
    lockable.edit(
        "stacks/demo.toml",
        "a stack of tests",
        "a stack whose summary has more words than a line has room for",
    )
    lockable.edit("stacks/demo.toml", '"base"', '"base>=1.0,<3.0,!=1.1,!=1.2,!=1.3,!=1.4,!=1.5"')
    lockable.locked()
    require_fit(lockable, "tree", "demo")
    require_fit(lockable, "lock")


def test_pairs_of_the_shipped_facts_fit_into_the_terminal(workspace: Workspace) -> None:
    require_fit(workspace, "matrix", "show", "--matrices", str(REPOSITORY / "matrices"))
    require_fit(
        workspace,
        "matrix",
        "show",
        "--sources",
        "--cann",
        "8.5.0",
        "--matrices",
        str(REPOSITORY / "matrices"),
    )
