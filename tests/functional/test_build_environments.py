"""What an installation fetches, counted: nothing but what the lock names with its hash, whatever a build asks for."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.builders import Built
from tests.functional.machine import execute, install, installed, lines, make_environment
from tests.functional.sources import add_backend, add_source
from tests.functional.workspace import HERE, Workspace, tree
from tests.loopback import LoopbackIndex

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")

NOT_ISOLATED = """
[[builds]]
requires-from = "requirements/run.txt"
isolation = false
reason = "it is built for this machine"
"""


@pytest.fixture
def python(workspace: Workspace) -> Path:
    return make_environment(workspace.root / "env")


def fetched(workspace: Workspace, index: LoopbackIndex, served: Iterable[Built]) -> tuple[set[str], set[str]]:
    """The projects and the files that were asked for. Each file is in the lock, with the hash of the bytes sent."""
    content = workspace.content()
    pins = (*content["pin"], *content["build-pin"])
    named = {file["name"]: file["sha256"] for pin in pins for file in pin["file"]}
    sent = {built.filename: built.sha256 for built in served}
    projects, files = set(), set()
    for request in index.requests:
        kind, name = request.path.strip("/").split("/pypi/")
        if kind == "simple":
            projects.add(name)
        else:
            assert (kind, named[name]) == ("files", sent[name]), request
            files.add(name)
    return projects, files


def test_all_that_an_installation_fetches_is_named_by_the_lock(
    workspace: Workspace, index: LoopbackIndex, python: Path
) -> None:
    """Two environments apart, as tools contradict each other, and builds that try to fetch more."""
    built = [
        *(add_backend(index, version) for version in ("1.0", "2.0")),
        add_source(index, "old", "1.0", tool="tinybuild<2", fetches="extra"),
        add_source(index, "young", "1.0", tool="tinybuild>=2"),
        add_source(index, "here", "1.0", tool="tinybuild>=1", fetches="extra"),
        index.add_wheel("base", "1.0"),
        index.add_wheel("extra", "1.0"),
    ]
    workspace.facts("here", NOT_ISOLATED)
    workspace.stack("base", "old", "young", "here", target=HERE)
    assert workspace.locked().stderr == ""
    assert [(pin["name"], pin["version"], pin["builds"]) for pin in workspace.content()["build-pin"]] == [
        ("tinybuild", "1.0", ["old"]),
        ("tinybuild", "2.0", ["young"]),
    ]
    before = tree(workspace.locks)
    assert workspace.locked("--offline").stdout.count("Nothing changed") == 1
    assert tree(workspace.locks) == before
    index.clear()

    run = install(workspace, python)

    assert (run.status, run.stderr) == (0, "")
    assert [line.partition(": ")[2] for line in lines(run.stdout, "stage")] == [
        "old, built from source in a separate environment",
        "young, built from source in a separate environment",
        "base and tinybuild",
        "here, built from source in this environment",
    ]
    expected = dict.fromkeys(("base", "old", "young", "here"), "1.0")
    assert installed(python) == {**expected, "tinybuild": "2.0"}
    code = "import old, young, here; print(old.built['tiny'], young.built['tiny'], here.built['tiny'])"
    assert execute(workspace, [str(python), "-c", code]).stdout == "1.0 2.0 2.0\n"
    projects, files = fetched(workspace, index, built)
    assert projects == {*expected, "tinybuild", "extra"}  # a pip that a build calls may look a project up ...
    assert files == {  # ... and download nothing
        "base-1.0-py3-none-any.whl",
        "tinybuild-1.0-py3-none-any.whl",
        "tinybuild-2.0-py3-none-any.whl",
        *(f"{name}-1.0.tar.gz" for name in ("old", "young", "here")),
    }


def test_a_tool_that_a_build_asks_for_by_its_hook_alone_is_told_and_not_fetched(
    workspace: Workspace, index: LoopbackIndex, python: Path
) -> None:
    add_backend(index)
    index.add_wheel("extra", "1.0")
    asks = "extra>=1\ntinybuild\nabsent ; python_version < '3'\ntinybuild>1.0\n"
    add_source(index, "greedy", "1.0", asks=asks)
    workspace.stack("greedy", target=HERE)
    workspace.locked()
    index.clear()

    run = install(workspace, python)

    assert (run.status, run.stderr) == (
        1,
        (
            "error: the build of greedy-1.0.tar.gz requires tools that are not in the lock: extra>=1, tinybuild>1.0\n"
            "hint: see above; nothing is downloaded that is not in the lock: add the tool to build-requires of a "
            "metadata fact\n"
        ),
    )
    assert installed(python) == {}
    assert not [request for request in index.requests if "extra" in request.path]
    assert tree(workspace.temporary) == {}
