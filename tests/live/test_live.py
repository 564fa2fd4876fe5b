"""Against the index that pip on this machine is configured with: `make test-live`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.live

LOCKS = Path(__file__).resolve().parents[2] / "locks"


def told(*arguments: str) -> dict[str, object]:
    """What a command says; 5 is a finding of one that compares, and no failure of the command."""
    command = Path(sys.executable).with_name("ascend-lock")
    run = subprocess.run([command, *arguments, "--json"], capture_output=True, text=True, check=False)
    assert run.returncode in (0, 5), run.stdout + run.stderr
    answer: dict[str, object] = json.loads(run.stdout)
    return answer


def test_the_flagship(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_LOCK_CACHE", str(tmp_path / "cache"))
    pins = told("lock", "verl-qwen3.5", "--locks", str(tmp_path / "locks"))["targets"][0]["pins"]
    assert isinstance(pins, dict)
    wanted = {"torch": "2.8.0", "torch-npu": "2.8.0.post2", "vllm": "0.13.0", "vllm-ascend": "0.13.0"}
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
    assert answer["status"] == "held", [row for row in answer["facts"] if row["verdict"] in ("contradicted", "gone")]  # type: ignore[attr-defined]


@pytest.mark.parametrize("stack", sorted({path.parents[1].name for path in LOCKS.glob("*/*/lock.toml")}))
def test_what_a_lock_pins_starts(stack: str) -> None:
    """The locks of a stack, as far as this machine has wheels and Pythons for them."""
    run = subprocess.run([sys.executable, "-m", "tests.audit", stack], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
