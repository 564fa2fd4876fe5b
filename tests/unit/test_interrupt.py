"""An interrupt ends a run wherever it comes, once."""

from __future__ import annotations

import subprocess
import sys

import pytest

from resolver.index.net import network
from resolver.index.net.network import Worker

LOST = """
import os, signal, sys
from resolver.cli.commands import listen
listen()
class Gone:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(1000):
            pass
Gone()
print("it goes on")
"""

FAILED = """
from resolver.cli import commands
def fail(**options):
    try:
        raise KeyboardInterrupt
    finally:
        raise ValueError
commands._commands = fail
commands.main()
"""


ODD = """
from resolver.cli.commands import listen
listen()
class Gone:
    def __del__(self):
        1 / 0
Gone()
print("it goes on")
"""


@pytest.mark.parametrize("script", [LOST, FAILED], ids=["where-it-cannot-be-raised", "which-caused-a-failure"])
def test_it_ends_the_run_and_is_told_as_an_interrupt(script: str) -> None:
    """Python passes over what is raised when an object goes, with a traceback: the run would go on."""
    done = _run(script)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\ninterrupted; no lock was left half-written\n")


def test_other_failures_of_the_kind_are_told_as_ever() -> None:
    done = _run(ODD)
    assert (done.returncode, done.stdout) == (0, "it goes on\n")
    assert done.stderr.startswith("Exception ignored in: ")
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


HANGING = """
import threading
from resolver.index.net import network
network._PATIENCE = 0.2
held = threading.Lock()
held.acquire()
thread = network.Worker()
thread.tell(held.acquire)

async def farewell():
    print("never")

thread.close(farewell)
print("closed")
"""


def test_a_thread_that_waits_for_what_nobody_gives_back_keeps_no_run_from_ending() -> None:
    assert network._PATIENCE > 1
    done = _run(HANGING)
    assert (done.returncode, done.stdout) == (0, "closed\n")


def test_what_fails_at_the_end_is_told(recwarn: pytest.WarningsRecorder) -> None:
    async def farewell() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Worker().close(farewell)
    assert [str(one.message) for one in recwarn] == []


def _run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
