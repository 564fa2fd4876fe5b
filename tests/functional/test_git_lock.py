"""Locking what comes from git: real repositories, read at a commit or not to be reached."""

from __future__ import annotations

import shutil

import pytest

from tests.functional.workspace import Workspace, row
from tests.repositories import PROJECT, Repository


@pytest.fixture
def repository(workspace: Workspace) -> Repository:
    """A repository `verl`; the index has what it needs."""
    workspace.serve("numpy 1.0", "torch 1.0", "tool 1.0")
    return Repository(workspace.root / "git" / "verl")


def source(repository: Repository, commit: str, ref: str) -> str:
    more = f"requires-from = ['requirements.txt']\nref = '{ref}'"
    return repository.fact(commit, more, version="0.6", requires='["numpy<2"]', build='["tool"]')


def test_a_tag_or_a_short_commit_becomes_forty_digits(
    workspace: Workspace, repository: Repository
) -> None:
    commit = repository.commit({"requirements.txt": "numpy<2\n"}, tag="v0.6")
    repository.commit({"requirements.txt": "other\n"})
    workspace.facts("verl", source(repository, commit, "v0.6-0-gabc"))
    texts = []
    for revision in ("v0.6", commit[:7]):
        assert workspace.locked_stack(f"verl @ git+{repository.url}@{revision}").stderr == ""
        (pin,) = (pin for pin in workspace.content()["pin"] if pin["name"] == "verl")
        assert pin["git"] == {"url": repository.url, "commit": commit, "ref": "v0.6-0-gabc"}
        assert (pin["version"], pin["index"], pin["mode"]) == ("0.6", "", "built-apart")
        texts.append(workspace.read("install.sh"))
    assert len(set(texts)) == 1


def test_without_a_fact_a_static_pyproject_will_do(
    workspace: Workspace, repository: Repository
) -> None:
    commit = repository.commit({"python/pyproject.toml": PROJECT}, tag="v0.6")
    workspace.locked_stack(f"verl[npu] @ git+{repository.url}@v0.6#subdirectory=python")
    assert workspace.pins() == {"numpy": "1.0", "torch": "1.0", "verl": "0.6"}
    content = workspace.content()
    assert [pin["name"] for pin in content["build-pin"]] == ["tool"]
    (pin,) = (pin for pin in content["pin"] if pin["name"] == "verl")
    assert pin["git"] == {
        "url": repository.url,
        "commit": commit,
        "ref": "v0.6",
        "subdirectory": "python",
    }
    assert "read at the commit" in workspace.read("report.md")


def test_a_repository_out_of_reach_changes_one_line_of_the_lock(
    workspace: Workspace, repository: Repository
) -> None:
    commit = repository.commit({"requirements.txt": "numpy<2\n"}, tag="v1")
    workspace.facts("verl", source(repository, commit, "v1"))
    workspace.locked_stack(f"verl @ git+{repository.url}@v1")
    reached = workspace.read()
    repository.folder.rename(repository.folder.with_name("gone"))
    workspace.locked("--offline")  # what was read at the commit is in the cache
    assert workspace.read() == reached
    shutil.rmtree(workspace.cache / "git")
    told = workspace.locked()
    assert told.stderr.startswith("warning: file://<root>/git/verl could not be read: ")
    trusted = workspace.read()
    why = (
        "the repository could not be read, so its requirements are those of the fact "
        "`verl-sources-1`; lock again where git can reach it to compare them"
    )
    added = [line for line in trusted.splitlines() if line not in reached.splitlines()]
    assert added == [
        "[pin.git.trust]",
        'code = "trust.not-read"',
        "[pin.git.trust.values]",
        'fact = "verl-sources-1"',
    ]
    assert workspace.lock("--offline", "--json").json["warnings"] == [f"verl 0.6: {why}"]
    assert workspace.read() == trusted
    assert workspace.run("check", "demo").stdout.endswith(": current\n")
    why = "the stack takes verl from a commit, where its version is 0.6"
    workspace.refused(why, "why", "demo", "verl==0.7", "--offline")


def test_a_host_that_is_not_there_costs_little_and_is_asked_once(workspace: Workspace) -> None:
    workspace.serve("tool 1.0")
    host = "https://no-such-host.invalid"
    for name in ("a", "b"):
        at = {"git": f"{host}/{name}.git", "commit": name * 40, "version": "1", "requires": []}
        workspace.facts(
            name, row("sources", **at, requires_from=["requirements.txt"], build_requires=["tool"])
        )
    workspace.stack(*(f"{name} @ git+{host}/{name}.git@{name * 9}" for name in ("a", "b")))
    told = (
        f"warning: {host}/a.git could not be read: Could not resolve host: no-such-host.invalid\n"
        "hint: "
    )
    stderr = workspace.locked().stderr
    assert stderr.startswith(told)
    assert stderr.count("warning: ") == 1
    workspace.stack(f"c @ git+{host}/c.git@v1")
    workspace.refused("cannot determine which commit `v1` is", "lock", "demo")


@pytest.mark.parametrize("revision", ["v1", "c" * 40])
def test_a_commit_that_cannot_be_read_is_a_conflict_if_facts_know_another(
    workspace: Workspace, revision: str
) -> None:
    """The fact is about another copy of the repository, as at a host that has moved."""
    workspace.serve("tool 1.0")
    at = {"git": "https://new-host.invalid/a.git", "commit": "a" * 40, "version": "1"}
    workspace.facts("a", row("sources", **at, requires=[], build_requires=["tool"]))
    workspace.stack(f"a @ git+https://no-such-host.invalid/a.git@{revision}", "tool")
    run = workspace.run("lock", "demo")
    assert run.status == 3
    told = " ".join(run.stderr.split())
    assert (
        f"no fact describes {revision[:12]} of https://no-such-host.invalid/a.git, and the "
        "repository could not be read: what `a` requires there is not known"
    ) in told
    assert "depends on repositories at `no-such-host.invalid`, which could not be read" in told
    assert "0 lock where git can read the repositories at `no-such-host.invalid`" in told
    assert f"A ask for a @ git+https://new-host.invalid/a.git@{'a' * 40} instead of a @" in told
    assert "B drop a @ git+https://no-such-host.invalid/a.git" in told
    assert "pip's" not in told


def test_releases_take_the_place_of_a_commit_that_cannot_be_read(workspace: Workspace) -> None:
    """As in a freeze of a machine on which engine was installed from a checkout.

    A fact is about engine, so the index has no other project by that name.
    """
    workspace.serve("engine 1 2", "plugin 1: engine==1", "plugin 2: engine==2")
    bound = row("constrains", package="engine", versions=">=2", bounds=["tool<2"])
    workspace.facts("engine", bound)
    at = "git+https://no-such-host.invalid/engine.git"
    workspace.stack(f"engine @ {at}@{'c' * 40}", "plugin==3")
    told = " ".join(workspace.run("lock", "demo").stderr.split())
    assert f"A ask for engine instead of engine @ {at}" in told
    assert "ask for plugin==2 instead of plugin==3" in told


def test_a_commit_without_static_requirements_is_a_conflict_if_facts_know_another(
    workspace: Workspace, repository: Repository
) -> None:
    known = repository.commit({"requirements.txt": "numpy<2\n"}, tag="v1")
    workspace.facts("verl", source(repository, known, "v1"))
    commit = repository.commit({"setup.py": "from setuptools import setup\n"})
    workspace.stack(f"verl @ git+{repository.url}@{commit}", "tool")
    run = workspace.run("lock", "demo")
    assert run.status == 1
    assert "do not say what `verl` requires without running code" in " ".join(run.stderr.split())


def test_nothing_of_the_repository_runs_while_locking(
    workspace: Workspace, repository: Repository
) -> None:
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
        f'[filter "evil"]\n  smudge = touch {trap}\n[core]\n'
        f"  hooksPath = {repository.folder}/.git/hooks\n"
        f"  fsmonitor = touch {trap}\n"
    )
    workspace.locked_stack(f"verl @ git+{repository.url}@{commit}")
    assert not trap.exists()
