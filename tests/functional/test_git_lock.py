"""Locking what comes from git: real repositories, read at a commit or not to be reached."""

from __future__ import annotations

import re
import shutil

import pytest

from tests.functional.workspace import Run, Workspace
from tests.loopback import LoopbackIndex
from tests.repositories import Repository

PROJECT = """\
[build-system]
requires = ["tool"]
[project]
name = "verl"
version = "0.6"
dependencies = ["numpy<2"]
optional-dependencies = { npu = ["torch"], gpu = ["nosuch"] }
"""


@pytest.fixture
def repository(workspace: Workspace, index: LoopbackIndex) -> Repository:
    """A repository `verl`; the index has what it needs."""
    for name in ("numpy", "torch", "tool"):
        index.add_wheel(name, "1.0")
    return Repository(workspace.root / "git" / "verl")


def source(repository: Repository, commit: str, more: str = "", requires: str = '["numpy<2"]') -> str:
    return f"""
        [[sources]]
        git = "{repository.url}"
        commit = "{commit}"
        version = "0.6"
        requires = {requires}
        build-requires = ["tool"]
        reason = "the guide names this commit"
        {more}
        """


def refused(run: Run) -> str:
    """What a run says that could not lock."""
    assert (run.status, run.stdout) == (2, ""), run
    return run.stderr


# --- which commit


def test_a_tag_or_a_short_commit_becomes_forty_digits(workspace: Workspace, repository: Repository) -> None:
    commit = repository.commit({"requirements.txt": "numpy<2\n"}, tag="v0.6")
    repository.commit({"requirements.txt": "other\n"})
    workspace.facts("verl", source(repository, commit, "requires-from = ['requirements.txt']\nref = 'v0.6-0-gabc'"))
    texts = []
    for revision in ("v0.6", commit[:7]):
        workspace.stack(f"verl @ git+{repository.url}@{revision}")
        assert workspace.locked().stderr == ""
        (pin,) = (pin for pin in workspace.content()["pin"] if pin["name"] == "verl")
        assert pin["git"] == {"url": repository.url, "commit": commit, "ref": "v0.6-0-gabc"}
        assert (pin["version"], pin["index"], pin["mode"]) == ("0.6", "", "built-apart")
        texts.append(workspace.read("install.sh"))
    assert len(set(texts)) == 1


def test_without_a_fact_a_static_pyproject_will_do(workspace: Workspace, repository: Repository) -> None:
    commit = repository.commit({"python/pyproject.toml": PROJECT}, tag="v0.6")
    workspace.stack(f"verl[npu] @ git+{repository.url}@v0.6#subdirectory=python")
    workspace.locked()
    assert workspace.pins() == {"numpy": "1.0", "torch": "1.0", "verl": "0.6"}
    content = workspace.content()
    assert [pin["name"] for pin in content["build-pin"]] == ["tool"]
    (pin,) = (pin for pin in content["pin"] if pin["name"] == "verl")
    assert pin["git"] == {"url": repository.url, "commit": commit, "ref": "v0.6", "subdirectory": "python"}
    assert "read at the commit" in workspace.read("report.md")


# --- reachable or not


def test_a_repository_that_cannot_be_reached_changes_one_line_of_the_lock(
    workspace: Workspace, repository: Repository
) -> None:
    commit = repository.commit({"requirements.txt": "numpy<2\n"}, tag="v1")
    workspace.facts("verl", source(repository, commit, "requires-from = ['requirements.txt']\nref = 'v1'"))
    workspace.stack(f"verl @ git+{repository.url}@v1")
    workspace.locked()
    reached = workspace.read()
    repository.folder.rename(repository.folder.with_name("gone"))
    workspace.locked("--offline")  # what was read at the commit is in the cache
    assert workspace.read() == reached
    shutil.rmtree(workspace.cache / "git")
    told = workspace.locked()
    assert told.stderr.startswith("warning: file://<root>/git/verl could not be read: ")
    assert "verl 0.6: the repository was not read" in " ".join(told.stdout.split())
    trusted = workspace.read()
    trust = 'trust = "the repository was not read, so its requirements rest on the fact `verl-sources-1` only"'
    assert [line for line in trusted.splitlines() if line not in reached.splitlines()] == [trust]
    assert trusted.replace(trust + "\n", "") == reached
    assert "- verl 0.6: the repository was not read" in workspace.read("report.md")
    assert "taken on trust" in workspace.read("report.md")
    assert workspace.lock("--offline", "--json").json["warnings"] == [
        "verl 0.6: the repository was not read, so its requirements rest on the fact `verl-sources-1` only"
    ]
    in_chinese = workspace.lock("--offline", "--anew", "--lang", "zh").stdout
    assert "没有读取代码仓库" in in_chinese
    assert workspace.read() == trusted
    workspace.stack("numpy", name="plain")
    table = workspace.run("lock", "demo", "plain", "--offline").stdout
    assert re.search("^demo .* 1 warning$", table, re.MULTILINE), table
    assert workspace.run("check", "demo").stdout.endswith(": current\n")
    why = workspace.run("explain", "demo", "--package", "verl==0.7", "--offline")
    assert refused(why) == (
        "error: the stack takes verl from a commit, where its version is 0.6\n  at --package\n"
        "hint: see matrices/facts/verl.toml:7; for another release change the stack's line\n"
    )


def test_a_host_that_is_not_there_costs_little_and_is_asked_once(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("tool", "1.0")
    for name in ("a", "b"):
        workspace.facts(
            name,
            f"""
            [[sources]]
            git = "https://no-such-host.invalid/{name}.git"
            commit = "{name * 40}"
            version = "1"
            requires = []
            requires-from = ["requirements.txt"]
            build-requires = ["tool"]
            reason = "a guide names it"
            """,
        )
    lines = [f"{name} @ git+https://no-such-host.invalid/{name}.git@{name * 9}" for name in ("a", "b")]
    workspace.stack(*lines)
    run = workspace.locked()
    why = "Could not resolve host: no-such-host.invalid"
    assert run.stderr == (
        f"warning: https://no-such-host.invalid/a.git could not be read: {why}\n"
        "hint: git can use a mirror or a copy instead: "
        "git config --global url.https://MIRROR/.insteadOf https://no-such-host.invalid/\n"
    )
    workspace.stack(lines[0].replace("a" * 9, "v1"))
    assert refused(workspace.lock()).splitlines()[2:] == [
        "error: cannot determine which commit `v1` is",
        "  at matrices/stacks/demo.toml:4",
        f"  https://no-such-host.invalid/a.git could not be read ({why}), and no fact describes it",
        "hint: give the full commit hash, or describe it in a [[sources]] fact; facts know aaaaaaaaaaaa",
    ]


def test_nothing_of_the_repository_runs_while_locking(workspace: Workspace, repository: Repository) -> None:
    trap = workspace.root / "trap"
    commit = repository.commit(
        {
            "pyproject.toml": PROJECT,
            "setup.py": f"open({str(trap)!r}, 'w')\n",
            ".gitattributes": "* filter=evil\n",
        }
    )
    for hook in ("post-checkout", "reference-transaction", "pre-commit"):
        path = repository.folder / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {trap}\n")
        path.chmod(0o755)
    config = workspace.root / "home" / ".gitconfig"
    config.write_text(
        f'[filter "evil"]\n  smudge = touch {trap}\n[core]\n  hooksPath = {repository.folder}/.git/hooks\n'
        f"  fsmonitor = touch {trap}\n"
    )
    workspace.stack(f"verl @ git+{repository.url}@{commit}")
    workspace.locked()
    assert not trap.exists()


# --- a conflict


def test_a_conflict_with_a_commit_is_explained_and_a_way_out_is_the_index(
    workspace: Workspace, index: LoopbackIndex, repository: Repository
) -> None:
    commit = repository.commit({"pyproject.toml": PROJECT})
    index.add_wheel("verl", "0.9")
    index.add_wheel("mindspeed-rl", "1.0", requires=["verl>=0.8"])
    workspace.facts("verl", source(repository, commit, "requires-from = ['pyproject.toml']"))
    workspace.stack(f"verl @ git+{repository.url}@{commit}", "mindspeed-rl")
    run = workspace.lock("--json")
    assert run.status == 1
    told = run.json
    (contradiction,) = told["contradictions"]
    assert [(row["text"], row["where"]) for row in contradiction["statements"]] == [
        (f"the stack asks for verl @ git+file://<root>/git/verl@{commit}", "matrices/stacks/demo.toml:4"),
        ("the stack asks for mindspeed-rl", "matrices/stacks/demo.toml:4"),
        ("mindspeed-rl 1.0 needs verl>=0.8", "mindspeed_rl-1.0-py3-none-any.whl"),
        (
            "the stack takes verl from a commit with version 0.6, which does not match `>=0.8`",
            "matrices/facts/verl.toml:7",
        ),
    ]
    dropped = [[(one["kind"], one["subject"]) for one in fix["changes"]] for fix in told["fixes"]]
    assert [("drop", "verl")] in dropped
