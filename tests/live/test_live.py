"""Against the index that pip on this machine is configured with: `make test-live`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import pytest

from resolver.pip import pip_environment
from tests.functional.machine import site_packages
from tests.functional.test_install_pip import lock_of_older_pin, run_header_commands
from tests.functional.workspace import Workspace
from tests.loopback import LoopbackIndex

pytestmark = pytest.mark.live

LOCKS = Path(__file__).resolve().parents[2] / "locks"


def told(*arguments: str) -> dict[str, object]:
    """What a command says; 5 is a finding of one that compares, and no failure of the command."""
    command = Path(sys.executable).with_name("ascend-lock")
    run = subprocess.run(
        [command, *arguments, "--json"], capture_output=True, text=True, check=False
    )
    assert run.returncode in (0, 5), run.stdout + run.stderr
    answer: dict[str, object] = json.loads(run.stdout)
    return answer


def test_the_flagship(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_LOCK_CACHE", str(tmp_path / "cache"))
    pins = told("lock", "verl-qwen3.5", "--locks", str(tmp_path / "locks"))["targets"][0]["pins"]
    assert isinstance(pins, dict)
    wanted = {
        "torch": "2.8.0",
        "torch-npu": "2.8.0.post2",
        "vllm": "0.13.0",
        "vllm-ascend": "0.13.0",
    }
    assert {name: pins[name] for name in wanted} == wanted
    assert not [name for name in pins if name == "triton" or name.startswith("nvidia-")]


def test_what_became_of_the_flagship() -> None:
    target = "linux-aarch64-py311-cann8.5.0-a2"  # the other one takes torch from another index
    (row,) = told("check", "verl-qwen3.5", "--target", target, "--upstream")["locks"]  # type: ignore[misc]
    assert row["upstream"]["files"] > 200
    assert row["upstream"]["out_of_reach"] == []


def test_what_became_of_the_facts() -> None:
    """A fact that the index contradicts is to be mended."""
    answer = told("facts", "check")
    assert answer["status"] == "held", [
        row for row in answer["facts"] if row["verdict"] in ("contradicted", "gone")
    ]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "stack", sorted({path.parents[1].name for path in LOCKS.glob("*/*/lock.toml")})
)
def test_what_a_lock_pins_starts(stack: str) -> None:
    """The locks of a stack, as far as this machine has wheels and Pythons for them."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.audit", stack], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("requirement", ["pip==22.0", "pip"], ids=["oldest", "newest"])
def test_header_command_with_other_pips(
    tmp_path: Path, index: LoopbackIndex, requirement: str
) -> None:
    """The oldest pip that requirements.txt promises its command for, and the newest."""
    index.pages = "negotiate"  # the oldest reads HTML alone
    workspace = Workspace(tmp_path / "work", index)
    lock_of_older_pin(workspace)
    venv.create(tmp_path / "env", with_pip=True, symlinks=True)
    python = tmp_path / "env" / "bin" / "python"
    command = [str(python), "-I", "-m", "pip", "install", "--quiet", "--upgrade", requirement]
    subprocess.run(command, env=pip_environment(str(python), os.environ), check=True)
    run = run_header_commands(workspace, python)
    assert run.status == 0, run
    found = {
        one.name: one.version for one in metadata.distributions(path=[str(site_packages(python))])
    }
    assert {"base": "1.0", "fast": "1.0", "top": "1.0"}.items() <= found.items()
    assert requirement == "pip" or found["pip"] == "22.0"
