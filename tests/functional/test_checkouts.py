"""Editable checkouts: what verify.py finds in them, and what install.sh does with existing ones."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from tests.functional.machine import execute, install, installed
from tests.functional.sources import tree as source_tree
from tests.functional.workspace import HERE, Tree, Workspace, tree
from tests.repositories import Repository

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")

_STEPS = "steps = [{ comment = '^old', in = 'notes.txt' }]"


class Checkout:
    """A lock of a repository that is installed as editable, and the place of its checkout."""

    def __init__(self, workspace: Workspace, python: Path) -> None:
        self.workspace = workspace
        self.python = python
        self.folder = python.parents[1] / "src" / "plain"
        self.repository = Repository(workspace.root / "git" / "plain")
        files = {"plain_own.py": "x = 1\n", "notes.txt": "old\nnew\n", "sub/a.py": ""}
        self.commit = self.repository.commit(source_tree("plain", "1.0", files))
        workspace.facts("plain", self.repository.fact(self.commit, f"editable = true\n{_STEPS}"))
        workspace.stack(f"plain @ git+file://{self.repository.folder}@{self.commit}", target=HERE)
        workspace.locked()

    def install(self) -> None:
        run = install(self.workspace, self.python)
        assert (run.status, run.stderr) == (0, ""), run

    def clone(self) -> None:
        """Make a checkout of the lock's commit, as pip does."""
        self.folder.parent.mkdir(exist_ok=True)
        subprocess.run(["git", "clone", "-q", self.repository.folder, self.folder], check=True)
        self.git("checkout", "-q", self.commit)

    def git(self, *arguments: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        command = ["git", "-C", str(self.folder), *who, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def codes(self, **variables: str) -> list[str]:
        """Return the codes that verify.py finds, with what they list."""
        verify = [str(self.python), str(self.workspace.folder() / "verify.py"), "--json", "--quick"]
        report = execute(self.workspace, verify, **variables).json
        found = [finding for group in report["groups"] for finding in group["findings"]]
        return [" ".join([row["code"], row["values"].get("list", "")]).strip() for row in found]


@pytest.fixture
def checkout(workspace: Workspace, python: Path) -> Checkout:
    return Checkout(workspace, python)


def test_verify_compares_checkouts(checkout: Checkout) -> None:
    checkout.install()
    assert checkout.codes() == []
    own, mark = checkout.folder / "plain_own.py", checkout.folder / ".git" / "ascend-lock"
    own.write_text("x = 2\n")
    (checkout.folder / "notes.txt").write_text("old\nnew\n")  # what the commit has is right, too
    shutil.rmtree(checkout.folder / "sub")
    kept = mark.read_text()
    mark.unlink()
    assert checkout.codes() == ["checkout-unmarked", "checkout-changed plain_own.py, sub/a.py"]
    mark.write_text(kept)
    checkout.git("stash")
    assert checkout.codes() == [], "only what is checked out counts"
    checkout.git("commit", "-q", "--allow-empty", "-m", "mine")
    assert checkout.codes() == ["checkout-other"]
    checkout.git("checkout", "-q", "-b", "mine")
    assert checkout.codes() == ["checkout-other"]


def test_verify_tells_modules_that_were_added(checkout: Checkout) -> None:
    """What hides a module of the commit is wrong, and git need not track it."""
    checkout.install()
    (checkout.folder / ".git" / "info").mkdir(exist_ok=True)
    (checkout.folder / ".git" / "info" / "exclude").write_text("*\n")
    (checkout.folder / "mine.py").write_text("")
    assert checkout.codes() == ["checkout-added mine.py"]
    for name in ("plain_own", "sub/a"):
        (checkout.folder / name).mkdir()
        (checkout.folder / name / "__init__.py").write_text("evil = 1\n")
    hiding = "plain_own/__init__.py, sub/a/__init__.py"
    assert checkout.codes() == [f"checkout-hidden {hiding}", "checkout-added mine.py"]


def test_verify_believes_no_object_of_git(checkout: Checkout) -> None:
    """git does not compare a tree with its name when it lists it."""
    checkout.install()
    tree_of = checkout.git("rev-parse", "HEAD:sub").strip()
    (checkout.folder / "sub" / "a.py").write_text("evil = 1\n")
    checkout.git("add", "sub/a.py")
    changed = checkout.git("write-tree", "--prefix=sub/").strip()
    objects = checkout.folder / ".git" / "objects"
    for pack in objects.glob("pack/*.pack"):
        content = pack.read_bytes()
        for file in objects.glob("pack/*"):
            file.unlink()
        subprocess.run(
            ["git", "unpack-objects", "-q"], input=content, cwd=checkout.folder, check=True
        )
    old, new = (objects / name[:2] / name[2:] for name in (tree_of, changed))
    old.unlink()
    new.rename(old)
    assert [code.split()[0] for code in checkout.codes()] == ["checkout-unreadable"]


def test_verify_runs_nothing_of_a_checkout(checkout: Checkout) -> None:
    """Settings, filters and hooks are somebody's, and can name any command."""
    checkout.install()
    command = f"touch {checkout.workspace.root}/ran; cat"
    for key in (
        "core.fsmonitor",
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
        "diff.external",
    ):
        checkout.git("config", key, command)
    hook = checkout.folder / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{command}\n")
    hook.chmod(0o755)
    (checkout.folder / ".git" / "info" / "attributes").write_text("* filter=x\n")
    (checkout.folder / "plain_own.py").write_text("x = 2\n")
    assert checkout.codes() == ["checkout-changed plain_own.py"]
    (checkout.folder / ".git" / "ascend-lock").unlink()
    run = install(checkout.workspace, checkout.python)
    assert "was not made by install.sh" in run.error
    assert not (checkout.workspace.root / "ran").exists()


def test_verify_says_when_it_cannot_compare(checkout: Checkout) -> None:
    checkout.install()
    (checkout.folder / "plain_own.py").write_text("x = 2\n")
    assert checkout.codes(PATH="/nowhere") == ["checkout-uncompared"]


def _with_edit(checkout: Checkout) -> None:
    checkout.clone()
    (checkout.folder / "plain_own.py").write_text("x = 2\n")


def _with_file(checkout: Checkout) -> None:
    checkout.clone()
    (checkout.folder / "mine.txt").write_text("")


def _with_commit(checkout: Checkout) -> None:
    checkout.clone()
    checkout.git("commit", "-q", "--allow-empty", "-m", "mine")


def _with_branch(checkout: Checkout) -> None:
    checkout.clone()
    checkout.git("checkout", "-q", "-b", "mine")


def _no_checkout(checkout: Checkout) -> None:
    checkout.folder.mkdir(parents=True)
    (checkout.folder / "mine.txt").write_text("")


@pytest.mark.parametrize("make", [_with_edit, _with_file, _with_commit, _with_branch, _no_checkout])
def test_install_refuses_a_checkout_of_others(checkout: Checkout, make: object) -> None:
    assert callable(make)
    make(checkout)
    before = tree(checkout.folder)
    run = install(checkout.workspace, checkout.python)
    assert run.status == 1
    assert run.error.startswith("<root>/env/src/plain was not made by install.sh")
    assert "hint: move it away, or choose another environment" in run.stderr
    assert tree(checkout.folder) == before
    assert installed(checkout.python) == {}


@pytest.mark.parametrize("linked", ["src", "src/plain"])
def test_install_refuses_a_linked_checkout(checkout: Checkout, linked: str) -> None:
    theirs = checkout.workspace.root / "theirs"
    (theirs / "plain").mkdir(parents=True)
    (theirs / "plain" / "mine.txt").write_text("")
    checkout.folder.parent.parent.mkdir(exist_ok=True)
    place = checkout.python.parents[1] / linked
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(theirs if linked == "src" else theirs / "plain")
    run = install(checkout.workspace, checkout.python)
    assert (run.status, run.error) == (
        1,
        f"<root>/env/{linked} is a link, and its target would be replaced",
    )
    assert (theirs / "plain" / "mine.txt").exists()


def swap_after_git(checkout: Checkout, words: str) -> Path:
    """Put a link to a folder of somebody else in the place of src as soon as git has run.

    `words` tells which git. Return the folder, which has a checkout of the same name.
    """
    theirs = checkout.workspace.root / "theirs"
    (theirs / "plain" / ".git" / "info").mkdir(parents=True)
    (theirs / "plain" / ".git" / "info" / "attributes").write_text("theirs")
    (theirs / "plain" / ".git" / "ascend-lock-begun").write_text("theirs")
    git = checkout.workspace.root / "tools" / "git"
    git.parent.mkdir(exist_ok=True)
    src = checkout.folder.parent
    git.write_text(
        f"#!/bin/bash\n'{shutil.which('git')}' \"$@\"\nstatus=$?\n"
        f'case "$*" in *"{words}"*) [ -L "{src}" ] || '
        f'{{ mv "{src}" "{src}.away"; ln -s "{theirs}" "{src}"; }} ;; esac\n'
        "exit $status\n"
    )
    git.chmod(0o755)
    return theirs


@pytest.mark.parametrize("moment", ["git init", "git status"])
def test_install_follows_no_link_that_comes_later(checkout: Checkout, moment: str) -> None:
    """Whoever may write into the environment puts it there while git runs."""
    if moment == "git status":
        _unfinished(checkout)
        (checkout.folder / "plain_own.py").unlink()
        theirs = swap_after_git(checkout, "status --porcelain")
    else:
        theirs = swap_after_git(checkout, "plain -c core")
    before = tree(theirs)
    path = f"{checkout.workspace.root / 'tools'}:{os.environ['PATH']}"
    run = install(checkout.workspace, checkout.python, PATH=path)
    assert run.status == 1, run
    assert "Not a directory" in run.stderr
    assert tree(theirs) == before


def test_install_keeps_an_untouched_checkout(checkout: Checkout) -> None:
    """As by the command of requirements-no-deps.txt; branches that were fetched are in there."""
    checkout.clone()
    checkout.git("branch", "mine")
    (checkout.folder / ".git" / "info" / "exclude").write_text("")
    run = install(checkout.workspace, checkout.python)
    assert (run.status, run.stderr) == (0, ""), run
    assert "the previous checkout in <root>/env/src/plain was moved aside and kept" in run.stdout
    (kept,) = checkout.folder.parent.glob("plain.before-*/plain")
    assert (kept / ".git" / "refs" / "heads" / "mine").exists()


def _unfinished(checkout: Checkout) -> Tree:
    """Make what a killed install.sh leaves: all but the mark at the end."""
    checkout.install()
    (checkout.folder / ".git" / "ascend-lock").unlink()
    (checkout.folder / ".git" / "ascend-lock-begun").write_text(f"{checkout.commit}\n")
    checkout.git("-c", "core.hooksPath=/dev/null", "checkout", "-q", "--", ".")
    return tree(checkout.folder)


def test_install_keeps_many_files_in_an_unfinished_checkout(checkout: Checkout) -> None:
    """What git says of them is longer than a pipe of bash holds."""
    _unfinished(checkout)
    for number in range(6000):
        (checkout.folder / f"{number}-{'mine' * 20}.txt").touch()
    checkout.install()
    (kept,) = checkout.folder.parent.glob("plain.before-*/plain")
    assert len(list(kept.glob("*mine.txt"))) == 6000


def test_install_makes_an_unfinished_checkout_again(checkout: Checkout) -> None:
    _unfinished(checkout)
    (checkout.folder / "plain_own.py").unlink()
    checkout.install()
    assert checkout.codes() == []
    assert [path.name for path in checkout.folder.parent.iterdir()] == ["plain"]


@pytest.mark.parametrize("change", ["edit", "file", "ignored", "branch"])
def test_install_keeps_work_in_an_unfinished_checkout(checkout: Checkout, change: str) -> None:
    _unfinished(checkout)
    if change == "branch":
        checkout.git("branch", "mine")
    elif change == "ignored":
        (checkout.folder / ".gitignore").write_text("*\n")
    else:
        (checkout.folder / ("plain_own.py" if change == "edit" else "mine.txt")).write_text("work")
    before = tree(checkout.folder)
    checkout.install()
    (kept,) = checkout.folder.parent.glob("plain.before-*/plain")
    assert tree(kept) == before


@pytest.mark.parametrize(
    ("steps", "status"),
    [
        ("['ln', '-sfn', '{outside}/victim', 'notes.txt']", 1),
        ("['ln', '-s', '{outside}/victim', '.git/ascend-lock-changed']", 0),
        ("['ln', '-s', '{outside}/victim', '.git/ascend-lock']", 0),
        ("['ln', '-s', '{outside}', 'away'] }}, {{ move = 'sub/a.py', to = 'away/victim'", 1),
    ],
)
def test_install_writes_through_no_link_in_a_checkout(
    workspace: Workspace, python: Path, steps: str, status: int
) -> None:
    """Whoever makes the links, the steps and the notes of install.sh do not leave the checkout."""
    outside = workspace.root / "outside"
    outside.mkdir()
    (outside / "victim").write_text("old\n")
    first = f"steps = [{{{{ run = {steps} }}}}, ".format(outside=outside)
    run = _STEPS.replace("steps = [", first)
    with mock.patch(f"{__name__}._STEPS", run):
        checkout = Checkout(workspace, python)
    done = install(workspace, python)
    assert done.status == status, done
    assert (outside / "victim").read_text() == "old\n"
    assert [path.name for path in outside.iterdir()] == ["victim"]
    mark = checkout.folder / ".git" / "ascend-lock"
    assert mark.is_file() == (status == 0)
    assert not mark.is_symlink()
