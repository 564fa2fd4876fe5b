"""Recording what a catalog answers, and the file that it becomes."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
import pytest
from packaging.utils import NormalizedName

from resolver.errors import IndexFailure, InputError
from resolver.index import snapshot as snapshot_file
from resolver.index.host_names import without_addresses
from resolver.index.protocol import Catalog, UnusableFile
from resolver.index.recording import Recording, RecordingCatalog, in_whole_seconds
from resolver.index.snapshot import RecordedPage, Snapshot, SnapshotCatalog
from resolver.model.release import Archive, CoreMetadata, File, Rejection, RejectionReason
from resolver.model.target import Target
from tests.datacatalog import DataCatalog

TODAY = dt.date(2026, 11, 20)
ARM = Target(name="arm", python="3.11", platform="linux-aarch64", glibc=(2, 28))
X86 = replace(ARM, name="x86", platform="linux-x86_64")
DEMO = NormalizedName("demo")


class Taped(RecordingCatalog):
    def __init__(self, inner: Catalog) -> None:
        self.recording = Recording([ARM])
        super().__init__(inner, ARM.platform, self.recording)


def demo() -> tuple[Taped, tuple[File, ...]]:
    """A recording of a bit of everything, and its files."""
    catalog = DataCatalog()
    catalog.unreachable = ("vendor",)
    catalog.add_project(
        "demo", rejections=[Rejection("demo-old.tar.gz", RejectionReason.VERSION, "old")]
    )
    needs, members = ["numpy>=1", "x ; extra == 'e'"], {"requirements/common.txt": "numpy\n"}
    said = {"requires_python": ">=3.9", "uploaded": "2025-01-02T03:04:05.678901Z"}
    files = (
        catalog.add_wheel("demo", "1.0", needs, extras=["e"], **said),
        catalog.add_archive(
            "demo", "1.0", members=members, yanked="", uploaded="2025-01-02T03:04:09Z"
        ),
        catalog.add_archive(
            "demo", "1.10", None, ending=".zip", build_requires=None, yanked="broken", size=None
        ),
        catalog.add_wheel(
            "demo", "1.9", tags="cp311-cp311-manylinux_2_28_aarch64", sha256="", metadata="0" * 64
        ),
        catalog.add_wheel("demo", "2.0", readable=False, uploaded="2026-01-01T00:00:00+08:00"),
    )
    recording = Taped(catalog)
    ask_everything(recording, files)
    return recording, files


def ask_everything(catalog: Catalog, files: Iterable[File]) -> list[object]:
    """Everything that `demo` holds, as a catalog answers it."""
    wheel, archive, odd, unhashed, unusable = files
    return [
        catalog.lookup(NormalizedName("nowhere")),
        catalog.metadata(wheel),
        catalog.metadata(unhashed),
        refusal(catalog, unusable),
        catalog.archive(archive),
        catalog.archive(odd),
        catalog.member(archive, "requirements/common.txt"),
        refusal(catalog, archive, "setup.cfg"),
        catalog.sha256(unhashed).sha256,
        catalog.sha256(archive).sha256,
        # last, so that the other answers do not depend on it
        {version: len(rows) for version, rows in catalog.lookup(DEMO).pages[0].releases.items()},
    ]


def taken(recording: Taped) -> Snapshot:
    return recording.recording.snapshot("demo", TODAY)


def refusal(catalog: Catalog, file: File, path: str = "") -> str:
    with pytest.raises(UnusableFile) as caught:
        catalog.member(file, path) if path else catalog.metadata(file)
    return str(caught.value)


def flipped(position: int, content: bytes) -> bytes:
    changed = bytearray(content)
    changed[position] ^= 1
    return bytes(changed)


def recorded_page(catalog: DataCatalog) -> RecordedPage:
    recording = Taped(catalog)
    recording.lookup(DEMO)
    return taken(recording).projects[DEMO].pages[0]


# Recording


def test_snapshot_answers_as_the_recorded_catalog(
    tmp_path: Path,
) -> None:
    recording, files = demo()
    assert ask_everything(recording, files) == ask_everything(recording.inner, files)
    snapshot = taken(recording)
    snapshot_file.write(snapshot, tmp_path / "demo.snapshot")
    assert [path.name for path in tmp_path.iterdir()] == ["demo.snapshot"]
    again = snapshot_file.read(tmp_path / "demo.snapshot")
    assert (again, again.stack, again.date) == (snapshot, "demo", TODAY)
    assert snapshot_file.to_bytes(again) == (tmp_path / "demo.snapshot").read_bytes()
    assert ask_everything(SnapshotCatalog(again, "linux-aarch64"), files) == ask_everything(
        recording, files
    )


def test_what_was_not_recorded_is_a_failure_and_not_an_answer() -> None:
    recording, files = demo()
    catalog = SnapshotCatalog(taken(recording), "linux-aarch64")
    elsewhere = SnapshotCatalog(taken(recording), "linux-x86_64")
    other = File("other-1-py3-none-any.whl", sha256="0" * 64)
    for what, ask in (
        ("`other` for linux-aarch64", lambda: catalog.lookup(NormalizedName("other"))),
        ("`demo` for linux-x86_64", lambda: elsewhere.lookup(DEMO)),
        ("the metadata of `other-1-py3-none-any.whl`", lambda: catalog.metadata(other)),
        ("the content of `other-1-py3-none-any.whl`", lambda: catalog.archive(other)),
        ("`setup.py` of `demo-1.0.tar.gz`", lambda: catalog.member(files[1], "setup.py")),
        (
            "the sha256 of `other-1-",
            lambda: catalog.sha256(msgspec.structs.replace(other, sha256="")),
        ),
    ):
        with pytest.raises(
            IndexFailure, match=f"The snapshot of 2026-11-20 does not contain {what}"
        ):
            ask()


@pytest.mark.parametrize(
    ("uploaded", "expected"),
    [
        ("2025-01-02T03:04:05.678901Z", "2025-01-02T03:04:05Z"),
        ("2025-01-02t03:04:05z", "2025-01-02T03:04:05Z"),
        ("2025-01-02T03:04:05", "2025-01-02T03:04:05Z"),
        ("2025-01-02T03:04:05.1+08:00", "2025-01-01T19:04:05Z"),
        *((odd, "") for odd in ("2025-13-02T03:04:05Z", "yesterday", "")),
    ],
)
def test_upload_times_are_utc_and_whole_seconds(uploaded: str, expected: str) -> None:
    assert in_whole_seconds(uploaded) == expected


# Addresses

REGISTRY = "files.registry.example.org"


def test_no_address_is_recorded(tmp_path: Path) -> None:
    url = f"https://user:secret@{REGISTRY}:8443/a/b.whl"

    class Telling(DataCatalog):
        def archive(self, file: File) -> Archive:
            if file is other:
                raise UnusableFile(f"{url} and {REGISTRY} are of no use")
            return msgspec.structs.replace(super().archive(file), why_dynamic=f"see {url}")

    catalog = Telling()
    catalog.add_project(
        "demo", rejections=[Rejection("demo-x.tar.gz", RejectionReason.VERSION, f"from {REGISTRY}")]
    )
    needs, yanked = [f"x @ {url} ; os_name == 'nt'"], f"see {url} or {REGISTRY}."
    wheel = catalog.add_wheel("demo", "1.0", needs, url=url, yanked=yanked)
    members = {
        "requirements.txt": f"# from {REGISTRY}\n--trusted-host {REGISTRY}\n-i {url}\nzope.org>=1\n"
    }
    archive = catalog.add_archive(
        "demo", "1.0", needs, build_requires=[f"y @ {url}"], members=members, url=url
    )
    other = catalog.add_archive("demo", "2.0", url=url)
    recording = Taped(catalog)
    recording.lookup(DEMO)
    recording.metadata(wheel)
    recording.archive(archive)
    recording.member(archive, "requirements.txt")
    with pytest.raises(UnusableFile):
        recording.archive(other)
    snapshot_file.write(taken(recording), tmp_path / "demo.snapshot")

    snapshot = snapshot_file.read(tmp_path / "demo.snapshot")
    everything = msgspec.json.encode(snapshot).decode()
    assert REGISTRY not in everything
    assert "secret" not in everything
    answers = SnapshotCatalog(snapshot, "linux-aarch64")
    assert answers.metadata(wheel).requires_dist == (
        "x @ https://address.invalid/a/b.whl ; os_name == 'nt'",
    )
    assert answers.member(archive, "requirements.txt") == (
        "# from address.invalid\n--trusted-host address.invalid\n"
        "-i https://address.invalid/a/b.whl\nzope.org>=1\n"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://github.com/org/repo/issues/1.", "see https://github.com/org/repo/issues/1."),
        ("git+ssh://git@github.com/org/repo.git@v1", "git+ssh://github.com/org/repo.git@v1"),
        (f"https://github.com.{REGISTRY}/x", "https://address.invalid/x"),
        (
            f"https://proxy.internal/{REGISTRY}/simple/",
            "https://address.invalid/address.invalid/simple/",
        ),
        (f"<{REGISTRY}/x>, me@{REGISTRY}", "<address.invalid/x>, me@address.invalid"),
        (
            "torch 2.8.0 and demo-1.0.tar.gz of ruamel.yaml",
            "torch 2.8.0 and demo-1.0.tar.gz of ruamel.yaml",
        ),
        (
            "http://[::1]:80/x http://10.0.0.1/x",
            "http://address.invalid/x http://address.invalid/x",
        ),
    ],
)
def test_addresses_in_prose(text: str, expected: str) -> None:
    assert without_addresses(text) == expected
    assert without_addresses(expected) == expected


# Trimming


def test_keeps_what_some_target_could_use() -> None:
    useful = [
        "1-cp39-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64",
        "cp310-cp310-linux_aarch64",
        "cp313-cp313-manylinux_2_39_aarch64",
        "cp39.cp312-none-manylinux1_x86_64",
        "py2.py3-none-any",
    ]
    systems = ("win_amd64", "macosx_11_0_arm64", "musllinux_1_2_aarch64", "manylinux_2_28_i686")
    pythons = ("cp39-cp39", "cp313-cp313t", "cp314-cp314", "pp310-pypy310_pp73")
    useless = [
        *(f"cp311-cp311-{system}" for system in systems),
        *(f"{python}-manylinux_2_28_aarch64" for python in pythons),
        "py2-none-any",
    ]
    catalog = DataCatalog()
    for tags in (*useless, *useful):
        catalog.add_wheel("demo", "1.0", tags=tags)
    catalog.add_archive("demo", "1.0")
    kept = [file.filename for file in recorded_page(catalog).releases["1.0"]]
    assert kept == [*(f"demo-1.0-{tags}.whl" for tags in useful), "demo-1.0.tar.gz"]


def test_files_of_another_format_are_left_out_beside_a_release() -> None:
    aside = [
        Rejection("demo-1.0.win32.exe", RejectionReason.FORMAT),
        Rejection("demo-1.0-x.whl", RejectionReason.NAME),
    ]
    catalog = DataCatalog()
    catalog.add_project("demo", rejections=aside)
    assert len(recorded_page(catalog).rejections) == 2
    catalog.add_archive("demo", "1.0")
    assert recorded_page(catalog).rejections == (("demo-1.0-x.whl", "NAME", ""),)


def test_one_recording_has_the_answers_for_several_platforms() -> None:
    arm, x86 = DataCatalog({"both": {"1": []}}), DataCatalog({"both": {"1": []}})
    arm.add_wheel("torch", "2", tags="cp311-cp311-linux_aarch64")
    x86.add_wheel("torch", "2+cpu", tags="cp311-cp311-linux_x86_64", index="cpu")
    x86.bind("torch", "cpu")
    x86.unreachable = ("far",)
    recording = Recording([ARM, X86])
    for target, inner in ((ARM, arm), (X86, x86)):
        catalog = RecordingCatalog(inner, target.platform, recording)
        for project in ("both", "torch"):
            page = catalog.lookup(NormalizedName(project)).pages[0]
        catalog.metadata(next(iter(page.releases.values()))[0])
    snapshot = recording.snapshot("demo", TODAY)
    assert len(snapshot.projects[NormalizedName("both")].pages) == 1
    for target, index, unreachable in ((ARM, "pypi", ()), (X86, "cpu", ("far",))):
        replayed = SnapshotCatalog(snapshot, target.platform)
        lookup = replayed.lookup(NormalizedName("torch"))
        assert ([page.index for page in lookup.pages], lookup.unreachable) == ([index], unreachable)
        ((version, (file,)),) = lookup.pages[0].releases.items()
        assert replayed.metadata(file) == CoreMetadata("torch", version)


# The file


def test_order_of_asking_and_hash_seed_change_nothing() -> None:
    recording, _ = demo()
    expected = hashlib.sha256(snapshot_file.to_bytes(taken(recording))).hexdigest()
    script = f"""
import contextlib, sys; sys.path[:0] = [{str(Path(__file__).parents[2])!r}]
from tests.unit.test_snapshot import *
recording, files = demo()
again = Taped(recording.inner)
again.lookup("demo")
for file in set(files):
    with contextlib.suppress(UnusableFile):
        (again.metadata if file.is_wheel else again.archive)(file)
ask_everything(again, files)
extra = taken(again)
print(hashlib.sha256(snapshot_file.to_bytes(extra)).hexdigest())
"""
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True
        )
        assert (done.stdout.strip(), done.stderr) == (expected, ""), seed


@pytest.mark.parametrize(
    ("change", "why"),
    [
        *((partial(flipped, at), "") for at in (0, 21, 30, 60, 200, -1)),
        (lambda content: content + b"?", "It was changed or truncated after it was made."),
        (
            lambda content: content.replace(b"snapshot 2\n", b"snapshot 3\n"),
            "It was made by another version of ascend-lock.",
        ),
        (lambda content: b"PK" + content, "It is not a snapshot."),
    ],
)
def test_a_damaged_file_is_an_input_error(
    tmp_path: Path, change: Callable[[bytes], bytes], why: str
) -> None:
    path = tmp_path / "demo.snapshot"
    path.write_bytes(change(snapshot_file.to_bytes(taken(demo()[0]))))
    with pytest.raises(InputError, match="ascend-lock lock --record demo") as caught:
        snapshot_file.read(path)
    assert caught.value.why == (why or caught.value.why)


def test_snapshot_returns_the_same_page_again() -> None:
    """What is made of a page is found again by its identity (`OrderedReleases.is_of`)."""
    taped, _ = demo()
    taped.lookup(DEMO)
    answers = SnapshotCatalog(taken(taped), ARM.platform)
    first, again = answers.lookup(DEMO), answers.lookup(DEMO)
    assert first.pages
    assert all(page is other for page, other in zip(first.pages, again.pages, strict=True))
