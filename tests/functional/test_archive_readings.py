"""`ascend-lock facts read`, and locking from what it wrote: no archive is downloaded that was read before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.functional.workspace import REPOSITORY, Workspace, tree
from tests.loopback import LoopbackIndex, altered

BUILT = """
    [[builds]]
    id = "app-empty"
    versions = ">=1"
    from = "sdist"
    requires-from = "requirements/common.txt"
    isolation = false
    reason = "r"
"""
STATED = """
    [[metadata]]
    id = "old-archive"
    versions = "==1.0"
    requires = ["lib"]
    reason = "r"
"""


@pytest.fixture
def workspace(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    for version in ("0.9", "1.0", "2.0"):
        members = {"requirements/common.txt": f"lib=={version}  # of the archive\n"}
        index.add_archive("app", version, requires=["nothing"], extras={"more": ["lib"]}, members=members)
        index.add_wheel("lib", version)
    index.add_archive("old", "1.0", static=False)
    index.add_archive("young", "1.0", requires=["lib"])
    index.add_wheel("setuptools", "80.0")
    index.add_wheel("wheel", "0.45")
    workspace.facts("app", BUILT)
    workspace.facts("old", STATED)
    workspace.stack("app", "old", "young")
    return workspace


def fetched(index: LoopbackIndex) -> list[str]:
    """The archives that were asked for since the last time."""
    found = [request.path.rpartition("/")[2] for request in index.requests if request.path.endswith(".tar.gz")]
    index.clear()
    return sorted(set(found))


def rows(workspace: Workspace, project: str) -> list[str]:
    content = json.loads((workspace.matrices / "archives" / f"{project}.json").read_text("utf-8"))
    return [row["file"] for row in content["archives"]]


def test_a_lock_is_the_same_without_the_archives(workspace: Workspace, index: LoopbackIndex) -> None:
    workspace.locked()
    assert fetched(index) == ["app-2.0.tar.gz", "old-1.0.tar.gz", "young-1.0.tar.gz"]
    before = tree(workspace.folder())
    assert workspace.pins()["lib"] == "2.0"

    run = workspace.run("facts", "read")
    assert run.stdout == "app: 2 of 2 archives that facts refer to\nold: 1 of 1 archives that facts refer to\n"
    assert (rows(workspace, "app"), rows(workspace, "old")) == (
        ["app-2.0.tar.gz", "app-1.0.tar.gz"],
        ["old-1.0.tar.gz"],
    )

    workspace.forget()
    fetched(index)
    workspace.locked("--anew")
    assert fetched(index) == ["young-1.0.tar.gz"]
    assert tree(workspace.folder()) == before


def test_what_was_read_is_not_read_again(workspace: Workspace, index: LoopbackIndex) -> None:
    workspace.run("facts", "read", "app")
    written = (workspace.matrices / "archives/app.json").read_bytes()
    assert fetched(index) == ["app-1.0.tar.gz", "app-2.0.tar.gz"]
    workspace.forget()
    index.add_archive("app", "3.0", members={"requirements/common.txt": "lib\n"})
    assert workspace.run("facts", "read", "app").status == 0
    assert fetched(index) == ["app-3.0.tar.gz"]
    assert rows(workspace, "app") == ["app-3.0.tar.gz", "app-2.0.tar.gz", "app-1.0.tar.gz"]
    assert (
        json.loads(written)["archives"]
        == json.loads((workspace.matrices / "archives/app.json").read_text())["archives"][1:]
    )
    workspace.forget()
    assert workspace.run("facts", "read", "app", "--anew").status == 0
    assert fetched(index) == ["app-1.0.tar.gz", "app-2.0.tar.gz", "app-3.0.tar.gz"]


def test_an_archive_with_other_bytes_is_read_itself(workspace: Workspace, index: LoopbackIndex) -> None:
    """The reading holds for a sha256 and not for a name."""
    workspace.run("facts", "read")
    workspace.forget()
    path = workspace.matrices / "archives/app.json"
    content = json.loads(path.read_text("utf-8"))
    content["archives"][0]["sha256"] = "0" * 64
    content["archives"][0]["texts"]["requirements/common.txt"] = ["lib==1.0"]
    path.write_text(json.dumps(content), "utf-8")
    fetched(index)
    workspace.locked()
    assert fetched(index) == ["app-2.0.tar.gz", "young-1.0.tar.gz"]
    assert workspace.pins()["lib"] == "2.0"


def test_what_is_remembered_does_not_outlive_a_reading(workspace: Workspace) -> None:
    """A lock that was solved with one reading is no answer where another one is there."""
    workspace.run("facts", "read")
    workspace.forget()
    workspace.locked()
    path = workspace.matrices / "archives/app.json"
    path.write_text(path.read_text("utf-8").replace("lib==2.0", "lib==1.0"), "utf-8")
    workspace.locked()
    assert workspace.pins()["lib"] == "1.0"


def test_facts_are_held_against_the_archives_themselves(workspace: Workspace, index: LoopbackIndex) -> None:
    workspace.run("facts", "read")
    workspace.forget()
    fetched(index)
    workspace.run("facts", "check", "app")
    assert fetched(index) == ["app-2.0.tar.gz"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "Input data was truncated"),
        ("{}", "Object missing required field `archives`"),
        ('{"archives": [{"file": "app-2.0.tar.gz"}]}', "Object missing required field `sha256` - at `$.archives[0]`"),
        ('{"archives": [], "more": 1}', "Object contains unknown field `more`"),
        ('{"archives": ' + "[" * 100_000, "Expected `object`, got `array`"),
        ("\ufeff\ud800", "JSON is malformed: invalid character (byte 0)"),
    ],
)
def test_a_broken_file_is_told(workspace: Workspace, content: str, why: str) -> None:
    (workspace.matrices / "archives").mkdir()
    (workspace.matrices / "archives/app.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    run = workspace.lock()
    assert run.status == 2
    assert run.stderr.startswith(
        f"error: the recorded readings of the archives of app cannot be used\n  at matrices/archives/app.json\n  {why}"
    ), run.stderr
    assert "hint: make it again: ascend-lock facts read app --anew" in run.stderr
    assert not list(workspace.root.rglob("lock.toml"))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"file": "other-2.0.tar.gz"}, "other-2.0.tar.gz is not an archive of app"),
        ({"metadata": {"name": "other"}}, "the metadata of app-2.0.tar.gz is that of other"),
        ({"metadata": {"requires-dist": ["a b"]}}, "app-2.0.tar.gz has the invalid requirement `a b`"),
    ],
)
def test_what_no_archive_would_say_is_told(workspace: Workspace, change: dict[str, object], why: str) -> None:
    workspace.run("facts", "read")
    workspace.forget()
    path = workspace.matrices / "archives/app.json"
    content = json.loads(path.read_text("utf-8"))
    for key, value in change.items():
        row = content["archives"][0]
        row[key] = {**row[key], **value} if isinstance(value, dict) else value
    path.write_text(json.dumps(content), "utf-8")
    run = workspace.lock()
    assert (run.status, why in run.stderr) == (2, True), run.stderr


def test_an_archive_that_cannot_be_read_is_left_out(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_file("app", "app-3.0.tar.gz", b"no archive")
    assert workspace.run("facts", "read", "app").stdout == "app: 2 of 3 archives that facts refer to\n"


def test_names_without_facts(workspace: Workspace) -> None:
    assert workspace.run("facts", "read", "young").stderr == (
        "error: there is no stack, no project with facts and no fact `young`\n"
        "hint: facts are named by their `id`, see matrices/facts\n"
    )
    assert not (workspace.matrices / "archives").exists()


def test_a_folder_that_cannot_be_written(workspace: Workspace) -> None:
    (workspace.matrices / "archives").write_text("a file", "utf-8")
    run = workspace.run("facts", "read", "app", "--anew")
    assert (run.status, run.stderr.splitlines()[0]) == (2, "error: the readings of app cannot be written")
    assert (workspace.matrices / "archives").read_text("utf-8") == "a file"


def test_a_hash_that_the_archive_does_not_have_is_still_met(workspace: Workspace, index: LoopbackIndex) -> None:
    """What is read for the file is checked before it is written down."""
    index.fault("*/app-2.0.tar.gz", altered(lambda body: body + b"\0"))
    run = workspace.run("facts", "read", "app")
    assert run.status != 0
    assert not (workspace.matrices / "archives").exists()


def test_the_readings_of_the_project_are_what_was_recorded() -> None:
    """Of each archive that a snapshot knows, both say the same; the snapshots were made from the archives."""
    from resolver.index.snapshot import read
    from resolver.index.store.readings import Readings
    from resolver.model.release import File

    readings = Readings(REPOSITORY / "matrices/archives")
    names = {row["sha256"]: row["file"] for path in _files() for row in json.loads(path.read_text("utf-8"))["archives"]}
    compared = 0
    for path in sorted((REPOSITORY / "snapshots").glob("*.snapshot")):
        snapshot = read(path)
        for sha256, archive in snapshot.archives.items():
            if sha256 in names and not isinstance(archive, str):
                assert readings.archive(File(names[sha256], sha256=sha256)) == archive
                compared += 1
        for sha256, member, content in snapshot.members:
            if sha256 in names and not isinstance(content, str):
                recorded = readings.member(File(names[sha256], sha256=sha256), member)
                assert recorded in (*content, None)  # None: read only to explain a conflict
                compared += recorded is not None
    assert compared > 4


def _files() -> list[Path]:
    return sorted((REPOSITORY / "matrices/archives").glob("*.json"))
