"""`ascend-lock facts read`, and locking from what it wrote: no archive is downloaded that was read
before.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from resolver.index import snapshot as snapshot_file
from resolver.index.host_names import without_urls
from resolver.index.store.cache import Cache
from resolver.index.store.file_cache import FileCache
from resolver.model.release import File
from tests.functional.workspace import REPOSITORY, Workspace, row, tree
from tests.loopback import LoopbackIndex, altered

FROM_ARCHIVE = {"from": "sdist", "requires-from": "requirements/common.txt"}
BUILT = row("builds", id="app-empty", versions=">=1", isolation=False, **FROM_ARCHIVE)
STATED = '[[metadata]]\nid = "old-archive"\nversions = "==1.0"\nrequires = ["lib"]\nreason = "r"\n'


@pytest.fixture
def workspace(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    for version in ("0.9", "1.0", "2.0"):
        members = {"requirements/common.txt": f"lib=={version}  # of the archive\n"}
        index.add_archive(
            "app", version, requires=["nothing"], extras={"more": ["lib"]}, members=members
        )
    index.add_archive("old", "1.0", static=False)
    index.add_archive("young", "1.0", requires=["lib"])
    workspace.serve("lib 0.9 1.0 2.0", "setuptools 80.0", "wheel 0.45")
    workspace.facts("app", BUILT)
    workspace.facts("old", STATED)
    workspace.stack("app", "old", "young")
    return workspace


@pytest.fixture
def read(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """All is read, and nothing else is known."""
    run = workspace.run("facts", "read")
    assert (
        run.stdout
        == "app: 2 of 2 archives that facts refer to\nold: 1 of 1 archives that facts refer to\n"
    )
    workspace.forget()
    index.clear()
    return workspace


def fetched(index: LoopbackIndex) -> list[str]:
    """The archives that were asked for since the last time."""
    found = {
        request.path.rpartition("/")[2]
        for request in index.requests
        if request.path.endswith(".tar.gz")
    }
    index.clear()
    return sorted(name.removesuffix(".tar.gz") for name in found)


def rows(
    workspace: Workspace, change: Callable[[dict[str, Any]], object] | None = None
) -> list[str]:
    """The files of which the readings of app tell, the first row changed."""
    path = workspace.matrices / "archives" / "app.json"
    content = json.loads(path.read_text("utf-8"))
    if change is not None:
        change(content["archives"][0])
        path.write_text(json.dumps(content), "utf-8")
    return [row["file"].removesuffix(".tar.gz") for row in content["archives"]]


def test_a_lock_is_the_same_without_the_archives(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    workspace.locked()
    assert fetched(index) == ["app-2.0", "old-1.0", "young-1.0"]
    before = tree(workspace.folder())
    workspace.run("facts", "read")
    assert rows(workspace) == ["app-2.0", "app-1.0"]
    workspace.forget()
    fetched(index)
    workspace.locked("--anew")
    assert fetched(index) == ["young-1.0"]
    assert tree(workspace.folder()) == before
    workspace.forget()
    workspace.run("facts", "check", "app")
    assert fetched(index) == ["app-2.0"], "facts are held against the archives themselves"


def test_what_was_read_is_not_read_again(read: Workspace, index: LoopbackIndex) -> None:
    index.add_archive("app", "3.0", members={"requirements/common.txt": "lib\n"})
    index.add_file("app", "app-4.0.tar.gz", b"no archive")
    assert read.run("facts", "read", "app").stdout == "app: 3 of 4 archives that facts refer to\n"
    assert fetched(index) == ["app-3.0", "app-4.0"]
    assert rows(read) == ["app-3.0", "app-2.0", "app-1.0"]
    read.forget()
    assert read.run("facts", "read", "app", "--anew").status == 0
    assert fetched(index) == ["app-1.0", "app-2.0", "app-3.0", "app-4.0"]


def test_an_archive_with_other_bytes_is_read_itself(read: Workspace, index: LoopbackIndex) -> None:
    """The reading holds for a sha256 and not for a name."""
    rows(
        read,
        lambda row: row.update(sha256="0" * 64, texts={"requirements/common.txt": ["lib==1.0"]}),
    )
    read.locked()
    assert fetched(index) == ["app-2.0", "young-1.0"]
    assert read.pins()["lib"] == "2.0"


def test_what_is_remembered_does_not_outlive_a_reading(read: Workspace) -> None:
    """A lock that was solved with one reading is no answer where another one is there."""
    read.locked()
    read.edit("archives/app.json", "lib==2.0", "lib==1.0")
    read.locked()
    assert read.pins()["lib"] == "1.0"


@pytest.mark.parametrize(
    "content",
    [
        *(
            "",
            "{}",
            "\ufeff\ud800",
            '{"archives": [{"file": "app-2.0.tar.gz"}]}',
            '{"archives": [], "more": 1}',
        ),
        '{"archives": ' + "[" * 100_000,
    ],
)
def test_a_broken_file_is_told(workspace: Workspace, content: str) -> None:
    (workspace.matrices / "archives").mkdir()
    (workspace.matrices / "archives/app.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    run = workspace.refused(
        "the recorded readings of the archives of app cannot be used", "lock", "demo"
    )
    assert "hint: make it again: ascend-lock facts read app --anew" in run.stderr
    assert not list(workspace.root.rglob("lock.toml"))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            lambda row: row.update(file="other-2.0.tar.gz"),
            "other-2.0.tar.gz is not an archive of app",
        ),
        (
            lambda row: row["metadata"].update(name="other"),
            "the metadata of app-2.0.tar.gz is that of other",
        ),
        (
            lambda row: row["metadata"].update({"requires-dist": ["a b"]}),
            "has the invalid requirement `a b`",
        ),
    ],
)
def test_what_no_archive_says_is_told(
    read: Workspace, change: Callable[[dict[str, Any]], object], why: str
) -> None:
    rows(read, change)
    run = read.lock()
    assert (run.status, why in run.stderr) == (2, True), run.stderr


def test_what_cannot_be_read_or_written(workspace: Workspace, index: LoopbackIndex) -> None:
    assert workspace.run("facts", "read", "young").error.startswith(
        "there is no stack, no project with facts and no"
    )
    index.fault("*/app-2.0.tar.gz", altered(lambda body: body + b"\0"))
    assert workspace.run("facts", "read", "app").status != 0, (
        "what is read for the file has its hash"
    )
    assert not (workspace.matrices / "archives").exists()
    (workspace.matrices / "archives").write_text("a file", "utf-8")
    workspace.refused("the readings of old cannot be written", "facts", "read", "old", "--anew")
    assert (workspace.matrices / "archives").read_text("utf-8") == "a file"


def test_reading_follows_no_link(read: Workspace) -> None:
    """Nobody has named the folder: a proposed change can make it a link."""
    folder, elsewhere = read.matrices / "archives", read.root / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    (elsewhere / "app.json").write_text("of somebody")
    read.refused("the readings of app cannot be written", "facts", "read", "app", "--anew")
    assert (elsewhere / "app.json").read_text() == "of somebody"


def test_the_readings_of_the_project_are_what_was_recorded() -> None:
    """Of each archive that a snapshot knows, both say the same; the snapshots were made from the
    archives.
    """
    files = (REPOSITORY / "matrices/archives").glob("*.json")
    names = {
        row["sha256"]: row["file"]
        for path in files
        for row in json.loads(path.read_text("utf-8"))["archives"]
    }
    stored = FileCache(Cache(None, print), REPOSITORY / "matrices/archives")
    compared = 0
    for path in sorted((REPOSITORY / "snapshots").glob("*.snapshot")):
        snapshot = snapshot_file.read(path)
        for sha256, archive in snapshot.archives.items():
            if sha256 in names and not isinstance(archive, str):
                found = stored.reading(File(names[sha256], sha256=sha256))
                assert found is not None
                assert found.archive == archive
                compared += 1
        for sha256, member, content in snapshot.members:
            if sha256 in names and not isinstance(content, str):
                found = stored.reading(File(names[sha256], sha256=sha256))
                recorded = found and found.member(member)
                if recorded is None:
                    continue  # it is read only to explain a conflict
                shown = (recorded, without_urls(recorded))  # a snapshot names no host
                assert any(text in content for text in shown)
                compared += 1
    assert compared > 4
