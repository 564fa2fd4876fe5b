"""install.sh keeps the wheels that it builds, and another machine takes them instead of building."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import tomli

from tests.functional.machine import execute, install, installed, make_environment, site_packages
from tests.functional.sources import add_backend, add_source, built_here, tree
from tests.functional.workspace import HERE, PLATFORM, PYTHON_LINE, Workspace
from tests.loopback import LoopbackIndex
from tests.repositories import Repository

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")

# The tag of a wheel that only runs on a machine like this one.
_TAG = f"cp{PYTHON_LINE.replace('.', '')}-cp{PYTHON_LINE.replace('.', '')}-{PLATFORM.replace('-', '_')}"
# A build needs a compiler that no machine has, so that what installs has not been built.
_EXTERNAL = '[[external]]\nneeds = ["c++"]\nreason = "it compiles"\n'
_NO_COMPILER = {"CXX": "no-such-compiler"}


@pytest.fixture
def built(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """A lock of which each kind of build has a part, and the wheels that the first node made."""
    add_backend(index)
    add_source(index, "apart", "1.0")
    add_source(index, "here", "1.0")
    made = Repository(workspace.root / "git" / "cloned")
    commit = made.commit(tree("cloned", "1.0", {"cloned_own.py": "x = 1\n"}), tag="v1")
    workspace.facts("apart", built_here(isolation=True) + _EXTERNAL)
    workspace.facts("here", built_here(TINY_FLAVOUR="sour", TINY_TAG=_TAG))
    workspace.facts("cloned", made.fact(commit, version="1.0"))
    workspace.stack(
        "apart",
        "here",
        f"cloned @ git+file://{workspace.root}/git/cloned@{commit}",
        target=HERE,
    )
    assert workspace.locked().status == 0
    run = install(workspace, node(workspace, "first"), "--build-wheels", "wheels")
    assert run.stderr == ""
    assert run.status == 0
    return workspace


def node(workspace: Workspace, name: str) -> Path:
    """The Python of an environment of a node."""
    return make_environment(workspace.root / name)


def rows(workspace: Workspace, folder: str = "wheels") -> dict[str, dict[str, Any]]:
    """What is said of each wheel, by project."""
    path = workspace.root / folder / "built.toml"
    return {row["name"]: row for row in tomli.loads(path.read_text())["wheel"]}


def wheels(workspace: Workspace, folder: str = "wheels") -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (workspace.root / folder).rglob("*.whl")}


def test_built_wheels_say_what_made_them(built: Workspace) -> None:
    found = rows(built)
    assert sorted(found) == ["apart", "cloned", "here"]
    assert sorted(wheels(built)) == [
        "apart-1.0-py3-none-any.whl",
        "cloned-1.0-py3-none-any.whl",
        f"here-1.0-{_TAG}.whl",
    ]
    here = found["here"]
    assert here["env"] == {"TINY_FLAVOUR": "sour", "TINY_TAG": _TAG}
    assert here["tools"] == ["tinybuild==1.0"]
    (locked,) = (pin for pin in built.content()["pin"] if pin["name"] == "here")
    assert here["source"] == [file["sha256"] for file in locked["file"]]
    assert here["machine"]["processor"] == PLATFORM.partition("-")[2]
    assert here["machine"]["python"] == PYTHON_LINE
    assert len(found["cloned"]["commit"]) == 40


def test_another_node_builds_nothing(built: Workspace, index: LoopbackIndex) -> None:
    run = install(built, node(built, "second"), **_NO_COMPILER)
    assert (run.status, run.stdout) == (1, "")
    assert "building apart needs a C++" in run.stderr
    index.clear()
    run = install(built, built.root / "second/bin/python", "--built", "wheels", **_NO_COMPILER)
    assert run.stderr == ""
    assert run.status == 0
    for name in ("apart", "here", "cloned"):
        assert f"not built, because <root>/wheels has wheels of them: {name}\n" in run.stdout
    files = {request.path.rpartition("/")[2] for request in index.requests}
    assert not any(name.endswith(".tar.gz") for name in files)
    first, second = built.root / "first", built.root / "second"
    assert installed(first / "bin" / "python") == installed(second / "bin" / "python")
    again = install(built, second / "bin" / "python")
    assert again.stdout.count("already installed") == 4


def test_a_wheel_that_does_not_fit_is_not_taken(built: Workspace) -> None:
    """The build goes on as if there was none, and says why."""
    python = node(built, "second")
    folder = built.root / "wheels"
    text = (folder / "built.toml").read_text()
    found = rows(built)
    glibc, key = found["here"]["machine"]["glibc"], found["here"]["key"]

    def refusals(content: str) -> list[str]:
        """Return why wheels are not taken if built.toml has this content."""
        (folder / "built.toml").write_text(content)
        run = install(built, python, "--built", "wheels", "--dry-run")
        assert run.status == 0
        return run.stderr.splitlines()

    assert refusals(text) == []
    newer = text.replace(f'"glibc" = "{glibc}"', '"glibc" = "9.99"')
    other = (
        f"built for another machine: its glibc is 9.99, here it is {glibc}. here is built instead"
    )
    assert refusals(newer) == [f"the wheel of here in <root>/wheels was {other}"], (
        "others are for any"
    )
    other = "built from another source, with other tools or variables, so it is built again"
    assert refusals(text.replace(key, "0" * 32)) == [
        f"the wheel of here in <root>/wheels was {other}"
    ]
    moved = text.replace(f"{found['here']['file']}", "../first/here.whl")
    for broken in (
        moved,
        text.replace("[[wheel]]", '[[wheel]]\nextra = "x"', 1),
        text.replace("[[wheel]]", '[[wheel]]\ncommit = "\\u001b]0;x"', 1),
        text.replace(f'"{glibc}"', "5"),
    ):
        told = refusals(broken)
        assert len(told) == 3
        assert all("built.toml cannot be read: " in line for line in told)
    assert len(refusals(text.replace(f'"glibc" = "{glibc}"', '"glibc" = "²"'))) == 1
    for broken in ("format = 2\n", "wheel = 1\nformat = 1\n", "[[", "[" * 9999):
        told = refusals(broken)
        assert len(told) == 3
        assert all(line.startswith("<root>/wheels/built.toml cannot be read: ") for line in told)
    wheel = folder / found["apart"]["file"]
    changed = [
        f"{found['apart']['file']} in <root>/wheels is missing or was changed after it was built"
    ]
    wheel.write_bytes(wheel.read_bytes() + b"\0")
    assert [line.partition(", so")[0] for line in refusals(text)] == changed
    wheel.unlink()
    wheel.symlink_to("/dev/zero")
    run = install(built, python, "--built", "wheels")
    assert run.status == 0
    assert run.stderr.partition(", so")[0] == changed[0]
    assert run.stdout.count("not built, because") == 2


def test_what_is_installed_is_built_once_more_for_its_wheel(built: Workspace) -> None:
    """It has the same bytes, unless the path of its environment is in it."""
    python = built.root / "first" / "bin" / "python"
    run = install(built, python, "--build-wheels", "late")
    assert (run.status, run.stderr) == (0, "")
    before, after = wheels(built), wheels(built, "late")
    assert sorted(before) == sorted(after)
    assert {name.partition("-")[0] for name in before if before[name] != after[name]} == {
        "apart",
        "cloned",
    }
    again = install(built, python, "--build-wheels", "late")
    assert again.stdout.count("already installed") == 4
    assert not list(site_packages(python).glob("~*"))


def test_a_folder_of_wheels_that_cannot_be_used_is_refused_first(
    workspace: Workspace, index: LoopbackIndex, python: Path
) -> None:
    add_backend(index)
    add_source(index, "apart", "1.0")
    workspace.locked_stack("apart", target=HERE)
    (workspace.root / "file").write_text("")
    run = install(workspace, python, "--build-wheels", "file/inside")
    assert (run.status, run.stdout) == (1, "")
    assert "cannot be kept in the --build-wheels folder" in run.stderr
    run = install(workspace, python, "--built", "nowhere")
    assert (run.status, run.stdout) == (1, "")
    assert "the --built folder nowhere does not exist" in run.stderr
    (workspace.root / "built.toml").write_text("[[")
    run = install(workspace, python, "--build-wheels", ".")
    assert (run.status, run.stdout) == (1, "")
    assert (workspace.root / "built.toml").read_text() == "[["


def test_wheels_are_kept_behind_no_link(built: Workspace) -> None:
    """Several nodes, and so several users, may write into the folder."""
    outside = built.root / "outside"
    outside.mkdir()
    place = built.root / "wheels" / rows(built)["cloned"]["file"].partition("/")[0]
    shutil.rmtree(place)
    place.symlink_to(outside)
    run = install(built, node(built, "second"), "--build-wheels", "wheels")
    assert run.status == 1
    assert "cannot be kept in the --build-wheels folder" in run.stderr
    assert not list(outside.iterdir())


def test_a_bundle_has_the_wheels_and_needs_no_compiler(built: Workspace) -> None:
    run = built.run("bundle", "demo", "out", "--built", "wheels")
    assert (run.status, run.stderr) == (0, "")
    out = built.root / "out"
    manifest = {row["path"]: row for row in json.loads((out / "bundle.json").read_text())["files"]}
    place = rows(built)["apart"]["file"]
    assert manifest[f"built/{place}"]["pins"] == ["apart==1.0"]
    assert built.run("bundle", "demo", "out").status == 0, "those of the bundle stay"
    assert built.run("bundle", "demo", "out", "--prune").stdout.count("removed") == 0
    assert built.run("bundle", "--check", "out").status == 0
    python = node(built, "second")
    command = [str(out / "install.sh"), "--python", str(python)]
    run = execute(built, command, **_NO_COMPILER, PIP_NO_INDEX="1")
    assert run.stderr == ""
    assert run.stdout.count("not built, because <root>/out/built") == 3
    assert installed(python) == installed(built.root / "first" / "bin" / "python")


def test_a_bundle_takes_only_wheels_that_its_locks_can_have(built: Workspace) -> None:
    folder = built.root / "wheels"
    text = (folder / "built.toml").read_text()
    (folder / "built.toml").write_text(re.sub(r'key = "\w+"', 'key = "other"', text))
    run = built.run("bundle", "demo", "out", "--built", "wheels")
    assert (run.status, run.error) == (2, "no wheel there was built from what these locks name")
    (folder / "built.toml").write_text(text.replace("/here-1.0-cp", "/../here-1.0-cp"))
    run = built.run("bundle", "demo", "out", "--built", "wheels")
    assert (run.status, run.error) == (2, "the list of built wheels cannot be read")
    (folder / "built.toml").write_text(text)
    place = rows(built)["apart"]["file"]
    (folder / place).write_text("changed")
    run = built.run("bundle", "demo", "out", "--built", "wheels")
    assert (run.status, run.error.partition(", or")[0]) == (
        2,
        f"`{place}` is missing",
    )
    assert built.run("bundle", "demo", "out", "--built", "nowhere").status == 2
    assert not list((built.root / "out").glob("built/*"))


def test_a_bundle_takes_no_wheel_of_another_project(built: Workspace) -> None:
    """A node is trusted for what it built, and its key is no leave to be any other project."""
    folder = built.root / "wheels"
    row = rows(built)["apart"]
    file = f"{row['file'].rpartition('/')[0]}/here-99.0-py3-none-any.whl"
    (folder / file).write_bytes((folder / row["file"]).read_bytes())
    text = (folder / "built.toml").read_text()
    (added,) = (part for part in text.split("[[wheel]]") if f'"{row["file"]}"' in part)
    changed = added.replace(row["file"], file)
    (folder / "built.toml").write_text(f"{text}\n[[wheel]]{changed}")
    run = built.run("bundle", "demo", "out", "--built", "wheels", "--index")
    assert run.status == 0, run
    assert not list((built.root / "out").rglob("here-99.0*"))
    assert "99.0" not in (built.root / "out" / "bundle.json").read_text()
