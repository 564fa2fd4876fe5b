"""What a target with a CANN gets, and what it does not."""

from __future__ import annotations

import shutil

import pytest

from tests.functional.workspace import REPOSITORY, Workspace
from tests.loopback import LoopbackIndex

PAIRED = """
[[warns]]
id = "pair-{at}"
versions = "=={version}"
unless = ["cann in {cann}"]
last = 1
text = "made for another CANN"
reason = "a table"
"""


def target(cann: str = "8.5.0", soc: str = "A2") -> str:
    return (
        f'[target]\nname = "there"\npython = "3.11"\nplatform = "linux-aarch64"\n'
        f'[target.system]\ncann = "{cann}"\nsoc = "{soc}"\n'
    )


@pytest.fixture
def builds(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """torch-npu of three torches: the middle one is paired with CANN 8.5.0, the newest torch is a CUDA build."""
    for at, (torch, cann) in enumerate({"2.8.0": "8.3.RC1", "2.9.0": "8.5.0", "2.14.0": "9.2.0"}.items()):
        index.add_wheel("torch-npu", torch, requires=[f"torch=={torch}"])
        cuda = ["triton", "nvidia-cublas"] if torch == "2.14.0" else []
        index.add_wheel("torch", torch, requires=cuda)
        rows = PAIRED.format(at=at, version=torch, cann=cann)
        path = workspace.matrices / "facts" / "torch-npu.toml"
        workspace.facts("torch-npu", rows) if at == 0 else path.write_text(path.read_text() + rows)
    for name in ("triton", "nvidia-cublas"):
        index.add_wheel(name, "3.0")
    shutil.copy(REPOSITORY / "matrices" / "facts" / "torch.toml", workspace.matrices / "facts")  # as shipped
    return workspace


@pytest.mark.parametrize(
    ("lines", "cann", "pins"),
    [
        (["torch-npu"], "8.5.0", {"torch": "2.9.0", "torch-npu": "2.9.0"}),  # not the newest, which is for 9.2.0
        (["torch-npu"], "8.5.1", {"torch": "2.9.0", "torch-npu": "2.9.0"}),  # none is paired, the newest is for CUDA
        (["torch-npu", "torch"], "9.2.0", {"torch": "2.9.0", "torch-npu": "2.9.0"}),  # a bare line asks for no build
        (["torch-npu<2.9"], "8.5.0", {"torch": "2.8.0", "torch-npu": "2.8.0"}),
    ],
)
def test_torch_npu_is_the_one_for_the_cann_and_not_of_a_cuda_build(
    builds: Workspace, lines: list[str], cann: str, pins: dict[str, str]
) -> None:
    builds.stack(*lines, target=target(cann))
    builds.locked()
    assert builds.pins() == pins


def test_a_cuda_build_that_a_line_asks_for_is_taken(builds: Workspace) -> None:
    builds.stack("torch-npu", "torch==2.14.0", target=target())
    builds.locked()
    assert builds.pins()["torch"] == "2.14.0"
    assert "triton" in builds.pins()


def test_a_cuda_build_that_is_needed_otherwise_is_a_conflict(builds: Workspace) -> None:
    builds.stack("torch-npu==2.14.0", target=target())
    run = builds.run("explain", "demo", "--json")
    assert run.status == 1
    (only,) = run.json["contradictions"]
    assert only["statements"][-1]["text"].startswith(
        "torch 2.14.0 on `pypi` is not what its name suggests: From 2.11.0 on, PyPI's wheels"
    )


@pytest.mark.parametrize(
    ("cann", "near"), [("8.5.9", "8.5.2 / 9.0.0"), ("8.5.0.RC1", "8.3.RC2 / 8.5.0"), ("9.9.0", "9.2.0")]
)
def test_an_unknown_cann_is_told_with_the_nearest(builds: Workspace, cann: str, near: str) -> None:
    shutil.copy(REPOSITORY / "matrices" / "systems.toml", builds.matrices)
    builds.stack("torch-npu", target=target(cann))
    builds.locked()
    first = builds.content()["warnings"][0]
    assert first.startswith(f"the target has CANN {cann}, which is in no list of releases")
    assert f"the nearest known: {near}." in first
    assert f"目标机器的 CANN 为 {cann}，不在任何版本列表中" in builds.lock("--lang", "zh").stdout.replace("\n    ", "")
    builds.stack("torch-npu==1.0", target=target(cann))
    assert f"Note: CANN {cann} is in no list of releases" in builds.lock().stderr


@pytest.mark.parametrize("cann", ["8.5.0", "8.5.0.B160"], ids=["release", "build"])
def test_a_known_cann_is_not(builds: Workspace, cann: str) -> None:
    shutil.copy(REPOSITORY / "matrices" / "systems.toml", builds.matrices)
    builds.stack("torch-npu", target=target(cann))
    builds.locked()
    assert not [row for row in builds.content().get("warnings", []) if "list of releases" in row]


def test_a_soc_that_a_release_does_not_support_is_a_conflict(workspace: Workspace, index: LoopbackIndex) -> None:
    """By the shipped facts; the index has few of the releases that these are about."""
    shutil.copy(REPOSITORY / "matrices" / "facts" / "torch-npu.toml", workspace.matrices / "facts")
    workspace.indexes('[[index]]\nname = "pypi"\ncomplete = false\n')
    for name in ("numpy", "pyyaml", "attrs", "decorator", "psutil", "scipy"):
        index.add_wheel(name, "5.0")
    index.add_wheel("torch-npu", "2.8.0")
    workspace.stack("torch-npu==2.8.0", target=target("8.3.RC1", "A5"))
    run = workspace.run("explain", "demo", "--json")
    assert run.status == 1
    (only,) = run.json["contradictions"]
    assert [row["text"] for row in only["statements"]] == [
        "the stack asks for torch-npu==2.8.0",
        "the target has SoC A5",
        "torch-npu 2.8.0 needs soc in 310P | A2 | A3",
    ]
