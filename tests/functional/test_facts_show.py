"""`ascend-lock facts show`: facts by id, by project and by the place that messages cite."""

from __future__ import annotations

import pytest

from tests.functional.workspace import Workspace, row


@pytest.fixture
def stated(workspace: Workspace) -> Workspace:
    """Two facts about `demo`, with a comment between them, and one about another project."""
    first = row("warns", id="slow", text="it is slow", reason="because", reason_zh="原因")
    second = row("requires", id="demo-data", versions="==1.0", needs=["data==1.0"])
    workspace.facts("demo", f"{first}# About data.\n{second}")
    workspace.facts("other", row("warns", id="loud", text="it is loud"))
    return workspace


def test_fact_is_shown_by_id_and_by_place(stated: Workspace) -> None:
    run = stated.run("facts", "show", "slow")
    assert (run.status, run.stderr) == (0, "")
    place = "matrices/facts/demo.toml:6"
    assert run.stdout.startswith(f"slow, {place} (")
    assert "\n  Sources: demo/tests#1\n" in run.stdout
    assert '    text = "it is slow"\n' in run.stdout
    assert "About data" not in run.stdout
    assert stated.run("facts", "show", place).stdout == run.stdout


def test_facts_of_a_project_are_shown(stated: Workspace) -> None:
    shown = stated.run("facts", "show", "Demo", "--json").json["facts"]
    assert [fact["id"] for fact in shown] == ["demo-data", "slow"]
    assert shown[1]["reason"] == "because"
    assert shown[1]["source"] == "demo/tests#1"
    assert stated.run("facts", "show", "slow", "--json", "--lang", "zh").json["facts"][0][
        "reason"
    ] == ("原因")


def test_unknown_fact_is_refused(stated: Workspace) -> None:
    error = "there is no fact, and no project with facts, `slov`"
    run = stated.refused(error, "facts", "show", "slov")
    assert run.stderr.endswith("hint: did you mean `slow`?\n")


def test_what_a_lock_cites_is_shown(stated: Workspace) -> None:
    """A warning ends with the place of its fact."""
    stated.serve("demo 1.0: data", "data 1.0")
    run = stated.locked_stack("demo")
    cited = run.stdout.rpartition("(matrices/")[2].partition(")")[0]
    assert "it is slow" in stated.run("facts", "show", f"matrices/{cited}").stdout
