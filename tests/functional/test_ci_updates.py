"""The files that other repositories refer to in their CI: actions, GitLab components, the script."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.functional.test_matrix import FACTS, GRID, INDEXES, SYSTEMS
from tests.functional.workspace import COMMAND, REPOSITORY, Workspace

ACTIONS = sorted((REPOSITORY / "ci").glob("*/action.yml"))
COMPONENTS = sorted((REPOSITORY / "templates").glob("*.yml"))
SCRIPT = REPOSITORY / "ci" / "update-locks.sh"
IDENTITY = {
    f"GIT_{person}_{what}": value
    for person in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "A"), ("EMAIL", "a@example.test"))
}


@pytest.fixture
def checkout(workspace: Workspace) -> Workspace:
    """A repository whose only branch has a stack with its lock, and a newer release since then."""
    workspace.serve("a 1.0", "b 1.0: a")
    workspace.stack("b")
    workspace.locked()
    (workspace.root / ".gitignore").write_text("/cache\n/home\n/temporary\n/Makefile\n/origin\n")
    git(workspace, "init", "--quiet", "--initial-branch=main")
    git(workspace, "add", "--all")
    git(workspace, "commit", "--quiet", "--message", "locks")
    workspace.forget()
    return workspace


def environment(workspace: Workspace, **more: str) -> dict[str, str]:
    path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    settings = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    return workspace.environment(**{**IDENTITY, **settings, "PATH": path, **more})


def git(workspace: Workspace, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments],
        cwd=workspace.root,
        env=environment(workspace),
        check=True,
        capture_output=True,
        encoding="utf-8",
    ).stdout


def update(workspace: Workspace, *stacks: str, **more: str) -> subprocess.CompletedProcess[str]:
    report = str(workspace.temporary / "report.md")
    return subprocess.run(
        [str(SCRIPT), *stacks],
        cwd=workspace.root,
        env=environment(workspace, REPORT=report, **more),
        check=False,
        capture_output=True,
        encoding="utf-8",
    )


def test_update_commits_new_releases_on_a_branch(checkout: Workspace) -> None:
    checkout.serve("a 2.0")
    done = update(checkout)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "changed=true"), done
    assert git(checkout, "branch", "--show-current") == "ascend-lock/update\n"
    changed = git(checkout, "diff", "--name-only", "main", "HEAD").split()
    assert "locks/demo/there/lock.toml" in changed
    assert all(name.startswith("locks/") for name in changed)
    assert git(checkout, "status", "--porcelain") == ""
    report = (checkout.temporary / "report.md").read_text()
    assert re.search(r"\| a \| +1\.0 \| +2\.0", report) or "a 1.0 -> 2.0" in report
    assert report.strip() in done.stdout


def test_update_without_news_changes_nothing(checkout: Workspace) -> None:
    done = update(checkout, "demo")
    assert (done.returncode, done.stdout) == (0, "changed=false\n"), done
    assert git(checkout, "branch", "--show-current") == "main\n"


def test_update_tells_of_a_stack_that_lost_its_solution(checkout: Workspace) -> None:
    checkout.stack("nosuch", name="other")
    git(checkout, "add", "--all")
    git(checkout, "commit", "--quiet", "--message", "another stack")
    checkout.serve("a 2.0")
    done = update(checkout)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "changed=true"), done
    report = (checkout.temporary / "report.md").read_text()
    assert "1 locked, 1 without a solution" in report


def test_update_compares_the_matrix(checkout: Workspace) -> None:
    checkout.serve("plugin 1.0 3.0 4.0", "plugin 2.0: numbers<2", "numbers 1.0 2.0", "trainer 1.0")
    checkout.serve("engine 1.0: numbers", "engine 2.0: numbers>=2")
    checkout.facts("plugin", FACTS)
    checkout.indexes(INDEXES)
    (checkout.matrices / "systems.toml").write_text(SYSTEMS)
    (checkout.matrices / "grid.toml").write_text(GRID)
    assert checkout.run("matrix", "build", "--jobs", "1").status == 0
    assert checkout.lock().status == 0
    git(checkout, "add", "--all")
    git(checkout, "commit", "--quiet", "--message", "a grid")
    checkout.edit("facts/plugin.toml", "numbers>=2", "numbers>=3")
    git(checkout, "commit", "--quiet", "--all", "--message", "another fact")
    done = update(checkout, "demo", MATRIX="matrix.json")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "changed=true"), done
    assert "## The matrix" in done.stdout
    changed = git(checkout, "diff", "--name-only", "main", "HEAD").split()
    assert {"matrix.json", "matrix.html"} <= set(changed)


def test_update_refuses_a_checkout_with_changes(checkout: Workspace) -> None:
    (checkout.matrices / "stacks" / "demo.toml").write_text("")
    done = update(checkout)
    assert done.returncode == 2
    assert "not committed" in done.stderr


def test_update_changes_nothing_without_indexes(checkout: Workspace) -> None:
    checkout.index_url = "http://127.0.0.1:9/simple/"
    done = update(checkout)
    assert (done.returncode, done.stdout) == (3, "changed=false\n"), done


def runs(action: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for step in action["runs"]["steps"] if "run" in step]


@pytest.mark.parametrize("path", ACTIONS, ids=lambda path: path.parent.name)
def test_action_declares_what_its_steps_use(path: Path) -> None:
    text = path.read_text()
    action = yaml.safe_load(text)
    used = set(re.findall(r"inputs\.([a-z-]+)", text))
    assert used == action["inputs"].keys()
    assert all(step["shell"] == "bash" for step in runs(action))
    # What a repository says reaches a shell as a variable, never as code.
    assert not any("${{" in step["run"] for step in runs(action))


@pytest.mark.parametrize("path", COMPONENTS, ids=lambda path: path.stem)
def test_component_declares_what_its_job_uses(path: Path) -> None:
    text = path.read_text()
    spec, jobs = yaml.safe_load_all(text)
    used = set(re.findall(r"\$\[\[ inputs\.([a-z-]+) \]\]", text))
    assert used == spec["spec"]["inputs"].keys()
    (job,) = jobs.values()
    assert not any("$[[" in line for line in job["script"])


def test_action_steps_push_the_branch(checkout: Workspace, tmp_path: Path) -> None:
    checkout.serve("a 2.0")
    git(checkout, "init", "--quiet", "--bare", "origin")
    git(checkout, "remote", "add", "origin", str(checkout.root / "origin"))
    action = yaml.safe_load((REPOSITORY / "ci/update/action.yml").read_text())
    steps = {step["name"]: step["run"] for step in runs(action)}
    output = tmp_path / "output"
    where = {
        "GITHUB_ACTION_PATH": str(REPOSITORY / "ci/update"),
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_OUTPUT": str(output),
        "REPORT": str(tmp_path / "update-locks.md"),
        "BRANCH": "news",
        "STACKS": "demo",
    }
    push, _, opening = steps["Open a pull request"].partition("\ntext=")
    assert "gh pr create" in opening
    for run in (steps["Lock anew"], push):
        subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", run],
            cwd=checkout.root,
            env=environment(checkout, **where),
            check=True,
        )
    assert output.read_text() == "changed=true\n"
    assert "a" in (tmp_path / "update-locks.md").read_text()
    assert git(checkout, "--git-dir", "origin", "log", "--format=%s", "news").splitlines() == [
        "locks: update to today's releases",
        "locks",
    ]
