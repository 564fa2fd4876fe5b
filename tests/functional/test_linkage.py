"""Locking by what binaries need: over a server with ranges, from readings, or with none."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import random
import zipfile
from collections.abc import Mapping
from typing import Any

import pytest

from resolver.index import live
from resolver.index.parse.binaries import Limits
from resolver.model.linkage import hashed, packed
from tests.builders import core_metadata
from tests.components import systems_text
from tests.elf import elf
from tests.functional.workspace import Workspace

TAGS = "cp311-cp311-manylinux_2_17_aarch64"
TARGET = '[target]\nname = "there"\npython = "3.11"\nplatform = "linux-aarch64"\nglibc = "2.28"\n'
SYSTEMS = systems_text(
    {"glibc": ("2.17", "2.28", "2.34")},
    glibc={"libraries": ["libc.so.6"]},
    cann={"libraries": ["libascendcl.so"]},
)
AUDIO = """\
[[links]]
id = "audio-links"
to = ["torch"]
optional = ["libav*.so.*"]
reason = "It is linked with torch."
"""
TORCH = """\
[[links]]
id = "torch-libraries"
provides = ["libtorch.so", "libtorch_cpu.so", "libc10.so"]
reason = "It has them."
"""
ADD, SUB = "_ZN2at3addEv", "_ZN2at3subEv"
FILLER = random.Random(0).randbytes(400_000)


def built(
    name: str, version: str, members: Mapping[str, bytes], *requires: str
) -> tuple[str, bytes]:
    """Return the name and the bytes of a wheel with binaries and requirements."""
    made = io.BytesIO()
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{name}/filler.bin", FILLER)
        for path, content in members.items():
            archive.writestr(path, content)
        archive.writestr(f"{info}/METADATA", core_metadata(name, version, requires=requires))
        archive.writestr(
            f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {TAGS}\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return f"{name}-{version}-{TAGS}.whl", made.getvalue()


def add(workspace: Workspace, name: str, version: str, **made: Any) -> None:
    """Serve a wheel with one binary, made as by `elf`."""
    filename, content = built(name, version, {f"{name}/_C.so": elf(**made)})
    workspace.index.add_file(name, filename, content)


def add_torch(workspace: Workspace, version: str, *symbols: str) -> dict[str, Any]:
    """Serve a torch that offers these symbols, and return its reading."""
    path = "torch/lib/libtorch_cpu.so"
    filename, content = built(
        "torch", version, {path: elf(soname="libtorch_cpu.so", defined=symbols)}
    )
    workspace.index.add_file("torch", filename, content)
    offers = packed({hashed(symbol.encode()) for symbol in symbols})
    objects = [
        {"path": path, "soname": "libtorch_cpu.so", "offers": base64.b64encode(offers).decode()}
    ]
    return {"file": filename, "sha256": hashlib.sha256(content).hexdigest(), "objects": objects}


def ship(workspace: Workspace, project: str, *readings: dict[str, Any]) -> None:
    folder = workspace.matrices / "linkage"
    folder.mkdir(exist_ok=True)
    (folder / f"{project}.json").write_text(json.dumps(readings))


@pytest.fixture
def linked(workspace: Workspace) -> Workspace:
    """A workspace that knows audio to be linked with torch."""
    (workspace.matrices / "systems.toml").write_text(SYSTEMS)
    workspace.facts("audio", AUDIO)
    workspace.facts("torch", TORCH)
    workspace.stack("audio", "torch", target=TARGET)
    return workspace


def served(workspace: Workspace, name: str) -> list[tuple[str, str]]:
    """The path and range of each request for a file of a project."""
    requests = [request for request in workspace.index.requests if f"/{name}-" in request.path]
    return [(request.path, request.sent.get("range", "")) for request in requests]


def test_lock_newest_that_loads(linked: Workspace):
    add_torch(linked, "2.8.0", ADD)
    add(
        linked,
        "audio",
        "1.0",
        needs=["libtorch.so", "libc.so.6", "libavutil.so.56", "libascendcl.so"],
    )
    add(linked, "audio", "2.0", needs=["libtorch.so", "libcudart.so.13"])
    linked.locked()
    assert linked.pins()["audio"] == "1.0"


def test_lock_fetches_no_more_than_binaries(linked: Workspace):
    add_torch(linked, "2.8.0", ADD)
    add(linked, "audio", "1.0", needs=["libtorch.so"])
    linked.locked()
    requests = served(linked, "audio")
    assert requests
    assert all(span for _, span in requests), "a whole wheel was fetched"
    linked.index.clear()
    linked.locked("--anew")
    assert served(linked, "audio") == [], "what is in the cache was fetched again"


def test_lock_release_for_the_locked_torch(linked: Workspace):
    ship(linked, "torch", add_torch(linked, "2.8.0", ADD), add_torch(linked, "2.9.0", ADD, SUB))
    add(linked, "audio", "1.0", needs=["libtorch.so"], undefined=[ADD])
    add(linked, "audio", "2.0", needs=["libtorch.so"], undefined=[ADD, SUB])
    linked.stack("audio", "torch==2.8.0", target=TARGET)
    linked.locked()
    assert linked.pins()["audio"] == "1.0"
    linked.stack("audio", "torch", target=TARGET)
    linked.locked("--upgrade")
    assert linked.pins() | {"pip": ""} == {"audio": "2.0", "torch": "2.9.0", "pip": ""}


def test_lock_conflict_about_symbols(linked: Workspace):
    ship(linked, "torch", add_torch(linked, "2.8.0", ADD), add_torch(linked, "2.9.0", ADD, SUB))
    add(linked, "audio", "2.0", needs=["libtorch.so"], undefined=[SUB])
    linked.stack("audio", "torch==2.8.0", target=TARGET)
    run = linked.lock()
    assert run.status == 1
    assert "the binaries of audio 2.0 load only with torch>=2.9.0" in linked.read("conflict.json")
    assert "二进制文件" in linked.read("conflict.zh.md")


def test_lock_conflict_about_glibc(linked: Workspace):
    add(linked, "audio", "2.0", needs=["libc.so.6"], versions={"libc.so.6": ["GLIBC_2.34"]})
    linked.stack("audio", target=TARGET)
    run = linked.lock()
    assert run.status == 1
    assert "audio/_C.so needs GLIBC_2.34, and the target has 2.28" in linked.read("conflict.json")
    assert "glibc 2.34 instead of 2.28" in run.stderr, run.stderr


def test_lock_conflict_about_a_library(linked: Workspace):
    add_torch(linked, "2.8.0", ADD)
    add(linked, "audio", "2.0", needs=["libcudart.so.13"])
    run = linked.lock()
    assert run.status == 1
    report = linked.read("conflict.json")
    assert "audio/_C.so needs libcudart.so.13, which nothing on this target provides" in report
    assert "drop audio" in run.stderr, run.stderr


def test_lock_torch_that_nobody_has_read(linked: Workspace):
    add_torch(linked, "2.8.0", ADD)
    add(linked, "audio", "1.0", needs=["libtorch.so"], undefined=[SUB])
    linked.locked()
    assert linked.pins()["audio"] == "1.0"
    assert any(
        "the binaries of torch 2.8.0 were not read" in warning for warning in linked.warnings()
    )


def test_lock_beyond_the_budget(linked: Workspace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(live, "LINKAGE_BUDGET", Limits(packed=10, unpacked=10))
    add_torch(linked, "2.8.0", ADD)
    add(linked, "audio", "1.0", needs=["libcudart.so.13"])
    linked.locked()
    assert any(
        "the binaries of audio 1.0 were not read" in warning for warning in linked.warnings()
    )


def test_lock_without_ranges(linked: Workspace):
    linked.index.ranges = False
    add_torch(linked, "2.8.0", ADD)
    add(linked, "audio", "1.0", needs=["libtorch.so"])
    add(linked, "audio", "2.0", needs=["libcudart.so.13"])
    linked.locked()
    assert linked.pins()["audio"] == "1.0"


def test_lock_with_shipped_readings_fetches_nothing(linked: Workspace):
    ship(linked, "torch", add_torch(linked, "2.8.0", ADD))
    filename, content = built("audio", "1.0", {"audio/_C.so": elf(needs=["libtorch.so"])})
    linked.index.add_file("audio", filename, content)
    objects = [{"path": "audio/_C.so", "needs": ["libtorch.so"]}]
    ship(
        linked,
        "audio",
        {"file": filename, "sha256": hashlib.sha256(content).hexdigest(), "objects": objects},
    )
    linked.locked()
    with_reading = len(served(linked, "audio"))
    linked.forget()
    (linked.matrices / "linkage/audio.json").unlink()
    linked.index.clear()
    linked.locked("--anew")
    assert len(served(linked, "audio")) > with_reading


def test_lock_from_a_snapshot(linked: Workspace):
    add_torch(linked, "2.8.0", ADD)
    add(linked, "audio", "1.0", needs=["libtorch.so"])
    add(linked, "audio", "2.0", needs=["libcudart.so.13"])
    linked.locked()
    text = linked.read()
    assert linked.run("lock", "--record", "demo").status == 0
    linked.forget()
    run = linked.locked("--offline", "--anew")
    assert "snapshot" in run.stderr
    assert linked.read() == text


def test_lock_offline_without_a_reading(linked: Workspace, monkeypatch: pytest.MonkeyPatch):
    add_torch(linked, "2.8.0", ADD)
    add(linked, "audio", "1.0", needs=["libtorch.so"])
    with monkeypatch.context() as patch:
        patch.setattr(live, "LINKAGE_BUDGET", Limits(packed=0, unpacked=0))
        linked.locked()
    linked.locked("--offline", "--anew")
    assert any(
        "the binaries of audio 1.0 were not read" in warning for warning in linked.warnings()
    )


def test_lock_refuses_damaged_binaries(linked: Workspace):
    add_torch(linked, "2.8.0", ADD)
    add(linked, "audio", "1.0", needs=["libtorch.so"])
    add(linked, "audio", "2.0", changes={60: b"\xff\xff"})
    linked.locked()
    assert linked.pins()["audio"] == "1.0"


def test_readings_that_cannot_be_used(linked: Workspace):
    add_torch(linked, "2.8.0", ADD)
    add(linked, "audio", "1.0", needs=["libtorch.so"])
    ship(linked, "audio", {"file": "other-1-py3-none-any.whl", "sha256": "", "objects": []})
    linked.refused("the recorded readings of the binaries of audio cannot be used", "lock", "demo")


def add_kernels(workspace: Workspace, version: str, members: Mapping[str, bytes]) -> None:
    """Serve a wheel that requires torch and that no fact is about."""
    filename, content = built("kernels", version, members, "torch")
    workspace.index.add_file("kernels", filename, content)


def test_lock_newest_that_loads_without_a_fact(linked: Workspace):
    add_torch(linked, "2.8.0", ADD)
    add_kernels(linked, "1.0", {"kernels/_C.so": elf(needs=["libtorch.so"])})
    add_kernels(linked, "2.0", {"kernels/_C.so": elf(needs=["libcudart.so.13"])})
    linked.stack("kernels", target=TARGET)
    linked.locked()
    assert linked.pins()["kernels"] == "1.0"


def test_lock_warns_first_if_no_release_loads(linked: Workspace):
    add_torch(linked, "2.8.0", ADD)
    add_kernels(linked, "1.0", {"kernels/_C.so": elf(needs=["libcudart.so.12"])})
    add_kernels(linked, "2.0", {"kernels/_C.so": elf(needs=["libcudart.so.13"])})
    linked.stack("kernels", target=TARGET)
    linked.locked()
    assert linked.pins()["kernels"] == "2.0"
    assert "kernels/_C.so needs libcudart.so.13" in linked.warnings()[0]


def test_lock_judges_nothing_where_no_library_is_known(linked: Workspace):
    (linked.matrices / "systems.toml").write_text(systems_text({"glibc": ("2.28",)}))
    add_torch(linked, "2.8.0", ADD)
    add_kernels(linked, "1.0", {"kernels/_C.so": elf(needs=["libc.so.6", "libtorch.so"])})
    linked.stack("kernels", target=TARGET)
    linked.locked()
    assert served(linked, "kernels")
    assert linked.warnings() == []


def test_lock_moves_torch_for_binaries_without_a_fact(linked: Workspace):
    ship(linked, "torch", add_torch(linked, "2.8.0", ADD), add_torch(linked, "2.9.0", SUB))
    add_kernels(linked, "1.0", {"kernels/_C.so": elf(needs=["libtorch.so"], undefined=[ADD])})
    linked.stack("kernels", "torch", target=TARGET)
    linked.locked()
    assert linked.pins()["torch"] == "2.8.0"


def test_lock_library_of_a_required_project(linked: Workspace):
    add_torch(linked, "2.8.0", ADD)
    add(linked, "runtime", "1.0", soname="libruntime.so.1")
    members = {"kernels/_C.so": elf(needs=["libtorch.so", "libruntime.so.1"])}
    filename, content = built("kernels", "2.0", members, "torch", "runtime")
    linked.index.add_file("kernels", filename, content)
    add_kernels(linked, "1.0", {"kernels/_C.so": elf(needs=["libtorch.so"])})
    linked.stack("kernels", target=TARGET)
    linked.locked()
    assert linked.pins()["kernels"] == "2.0"
    assert linked.warnings() == []


def test_lock_tells_binaries_that_were_not_read(linked: Workspace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(live, "LINKAGE_BUDGET", Limits(packed=10, unpacked=10))
    add_torch(linked, "2.8.0", ADD)
    add_kernels(linked, "1.0", {"kernels/_C.so": elf(needs=["libcudart.so.13"])})
    linked.stack("kernels", target=TARGET)
    linked.locked()
    assert any(
        "the binaries of kernels 1.0 were not read" in warning for warning in linked.warnings()
    )


def test_lock_library_for_each_torch(linked: Workspace):
    ship(linked, "torch", add_torch(linked, "2.8.0", ADD), add_torch(linked, "2.9.0", SUB))
    members = {
        "kernels/lib_torch_2.8.0.so": elf(needs=["libtorch.so"], undefined=[ADD]),
        "kernels/lib_torch_2.9.0.so": elf(needs=["libtorch.so"], undefined=[SUB]),
    }
    add_kernels(linked, "1.0", members)
    linked.facts("kernels", AUDIO.replace("audio-links", "kernels-links"))
    linked.stack("kernels", "torch==2.8.0", target=TARGET)
    linked.locked()
    assert linked.pins()["kernels"] == "1.0"
    assert linked.run("check", "demo", "--files").status == 0


def test_check_files(linked: Workspace):
    add_torch(linked, "2.8.0", ADD)
    add(linked, "audio", "1.0", needs=["libtorch.so", "libc.so.6"])
    linked.locked()
    run = linked.run("check", "demo", "--files")
    assert run.status == 0, run
    assert "2 wheels checked by what their binaries need" in run.stdout, run.stdout
    linked.edit("systems.toml", '"libc.so.6"', '"libc.so.7"')
    run = linked.run("check", "demo", "--files")
    assert run.status == 4
    assert "audio 1.0 does not load: audio/_C.so needs libc.so.6" in run.stdout, run.stdout
    assert "needs libtorch.so" not in run.stdout, run.stdout
    linked.edit("facts/torch.toml", '"libtorch.so", ', "")
    run = linked.run("check", "demo", "--files")
    assert run.status == 4
    assert "audio 1.0 does not load: audio/_C.so needs libtorch.so" in run.stdout, run.stdout


def test_check_files_json(linked: Workspace):
    ship(linked, "torch", add_torch(linked, "2.8.0", ADD))
    add(linked, "audio", "1.0", needs=["libtorch.so"], undefined=[ADD])
    linked.locked()
    ship(linked, "torch", add_torch(linked, "2.8.1", SUB))
    (row,) = linked.run("check", "demo", "--files", "--json").json["locks"]
    assert row["binaries"] == {"faults": [], "unread": []}


def test_bundle_warns_of_binaries(linked: Workspace):
    linked.facts("audio", AUDIO.replace('to = ["torch"]\n', ""))
    add_torch(linked, "2.8.0", ADD)
    add(linked, "audio", "1.0", needs=["libcudart.so.13"])
    linked.locked()
    run = linked.run("bundle", "demo", "copy")
    assert run.status == 0, run
    assert "audio 1.0 does not load: audio/_C.so needs libcudart.so.13" in run.stderr, run.stderr


def test_read_linkage_follows_no_link(linked: Workspace) -> None:
    add_torch(linked, "2.8.0", ADD)
    add(linked, "audio", "1.0", needs=["libtorch.so"], undefined=[ADD])
    linked.locked()
    elsewhere = linked.root / "elsewhere"
    ship(linked, "gone", {"file": f"gone-1-{TAGS}.whl", "sha256": "", "objects": []})
    (linked.matrices / "linkage").rename(elsewhere)
    (linked.matrices / "linkage").symlink_to(elsewhere)
    linked.refused("the readings cannot be written", "facts", "read-linkage")
    assert [path.name for path in elsewhere.iterdir()] == ["gone.json"]


def test_read_linkage(linked: Workspace):
    add_torch(linked, "2.8.0", ADD)
    add(linked, "audio", "1.0", needs=["libtorch.so"], undefined=[ADD])
    linked.locked()
    ship(linked, "gone", {"file": f"gone-1-{TAGS}.whl", "sha256": "", "objects": []})
    run = linked.run("facts", "read-linkage")
    assert (run.status, run.stderr) == (0, ""), run
    folder = linked.matrices / "linkage"
    assert sorted(path.name for path in folder.iterdir()) == ["audio.json", "torch.json"]
    (reading,) = json.loads((folder / "audio.json").read_text())
    assert reading["objects"][0]["needs"] == ["libtorch.so"]
    content = (folder / "audio.json").read_bytes()
    linked.index.clear()
    assert linked.run("facts", "read-linkage").status == 0
    assert served(linked, "audio") == []
    assert (folder / "audio.json").read_bytes() == content
