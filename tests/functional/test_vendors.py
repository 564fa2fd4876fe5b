"""A stack for another vendor needs rows of TOML alone: `tests/vendors/cuda` has CUDA's."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
import tomli

from tests.functional.machine import execute
from tests.functional.workspace import Workspace

CUDA = Path(__file__).parents[1] / "vendors" / "cuda"


@pytest.fixture
def cuda(workspace: Workspace) -> Workspace:
    shutil.copytree(CUDA, workspace.matrices, dirs_exist_ok=True)
    workspace.serve(*tomli.loads((CUDA / "index.toml").read_text(encoding="utf-8"))["wheels"])
    return workspace


def test_vendor_is_toml_alone() -> None:
    assert {path.suffix for path in CUDA.rglob("*") if path.is_file()} == {".toml"}


def test_vendor_stack_locks_what_facts_say_of_its_components(cuda: Workspace) -> None:
    run = cuda.lock(stack="train")
    assert run.status == 0, run
    assert cuda.folder("train").name == "linux-x86_64-py311-cuda12.4-driver550.54.14-ampere"
    assert cuda.pins("train") == {
        "kernels": "1.0",  # 2.5 is excluded, 3.0 is for other GPUs
        "torch": "2.6.0",
        "torchvision": "0.21.0",
    }
    assert "CUDA 12.4, driver 550.54.14, GPU AMPERE" in run.stdout
    report = cuda.read("report.md", "train")
    assert "CUDA 12.4, driver 550.54.14 or newer" in report
    assert "CUDA 12.4，驱动 550.54.14" in cuda.read("report.zh.md", "train")


def test_vendor_driver_that_the_target_leaves_open_is_told(cuda: Workspace) -> None:
    run = cuda.lock(stack="serve")
    assert run.status == 0, run
    told = " ".join(run.stdout.split())
    assert "torch 2.8.0 needs driver >= 525 and torch 2.8.0 needs driver >= 570. " in told
    assert "install.sh and verify.py cannot check it" in told


def test_vendor_lock_activates_and_checks_what_it_knows(cuda: Workspace) -> None:
    """It has no steps for the toolkit of another vendor, and says what it does not check."""
    cuda.locked(stack="train")
    assert "CANN" not in cuda.read("activate.sh", "train")
    program = cuda.folder("train") / "verify.py"
    run = execute(cuda, [sys.executable, str(program), "--machine-rows", "--lang", "en"])
    assert "other components: cuda 12.4, driver 550.54.14, gpu AMPERE: there is no" in run.stdout
    activated = execute(cuda, ["bash", "-c", f". {program.with_name('activate.sh')}; echo $?"])
    assert activated.stdout == "1\n"  # there is no environment yet


def test_vendor_conflict_is_explained_in_both_languages(cuda: Workspace) -> None:
    english = cuda.lock("--lang", "en", stack="newest")
    chinese = cuda.lock("--lang", "zh", stack="newest")
    assert (english.status, chinese.status) == (1, 1)
    for line in (
        "2  the target has CUDA 12.4",
        "3  torch 2.11.0 needs cuda == 13.*",
        "2  the target has driver 550.54.14",
        "3  torch 2.11.0 needs driver >= 580",
        "A  ask for torch==2.6.0 instead of torch==2.11.0",
        "B  CUDA 13.0 instead of 12.4",
    ):
        assert line in english.stderr
    for line in (
        "目标的 CUDA 为 12.4",
        "目标的驱动为 550.54.14",
        "CUDA 由 12.4 改为 13.0",
    ):
        assert line in chinese.stderr


def test_vendor_component_that_no_row_has_is_refused(cuda: Workspace) -> None:
    cuda.edit("stacks/train.toml", 'cuda = "12.4"', 'cann = "8.5.0"')
    run = cuda.lock(stack="train")
    assert run.status == 2
    assert "there is no component `cann`" in run.stderr
    assert "known are cuda, driver, gpu" in run.stderr


def test_vendor_pairs_know_no_component_of_another(cuda: Workspace) -> None:
    with (cuda.matrices / "facts" / "torch.toml").open("a", encoding="utf-8") as file:
        file.write(
            '[[pairs]]\nid = "torch-2.6"\nrelease = "2.6.0"\nreason = "its table says so"\n'
            'with = ["cuda in 12.4", "torchvision==0.21.0"]\n'
        )
    run = cuda.run("matrix", "show", "--package", "torch", "--cann", "8.5.0")
    assert run.status == 2
    assert "`cann` is not a component: known are cuda, driver, gpu, glibc, python" in run.stderr
    assert "2.6.0" in cuda.run("matrix", "show", "--package", "torch").stdout
