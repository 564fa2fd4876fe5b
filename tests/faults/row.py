"""Locks in a row in one process: what each leaves open, running, on disk and in memory."""

from __future__ import annotations

import gc
import resource
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

from tests.faults.kills import Score
from tests.functional.workspace import Workspace, tree
from tests.loopback import LoopbackIndex

# What is locked in turns: each measurement comes after whole turns, so that all are alike.
_TURNS = 4
_MORE_BLOCKS = 1.005  # that many times as many after all runs as after two tenths
_MORE_PEAK = 1.1  # the same of the peak, which fragments push up for a while


class Held(NamedTuple):
    """What the process holds: file descriptors, threads, temporary files, and memory.

    `blocks` are Python's own and exact; `peak` is the most that the process ever had, in KiB,
    fragments included.
    """

    descriptors: int
    threads: int
    temporary: int
    blocks: int
    peak: int


def lock_often(root: Path, number: int, every: int) -> list[Held]:
    """Lock `number` times: with new pages, from the cache and with a failure, in turns.

    Return what is held after each `every` locks.
    """
    found = []
    with LoopbackIndex() as index:
        workspace = Workspace(root, index)
        index.add_wheel("base", "1.0", metadata_sidecar=False)
        index.add_wheel("setuptools", "80.0")
        index.add_archive("source", "1.0")
        workspace.stack("demo", "source")
        before = set(threading.enumerate())
        for at in range(1, number + 1):
            index.clear()  # its log would be what grows
            match at % _TURNS:
                case 1:  # a release that was not there, in a page that changed
                    index.add_wheel("demo", f"1.{at // _TURNS % 10}", requires=["base"])
                    workspace.locked("--upgrade")
                case 2:
                    workspace.locked("--offline", "--anew")
                case 3:  # an archive is downloaded again
                    workspace.forget()
                    workspace.locked()
                case _:
                    assert workspace.lock(stack="nosuch").status == 2
            if at % every == 0:
                found.append(_held(workspace, before))
    return found


def lock_in_a_row(root: Path, number: int, _seed: int) -> Score:
    """Lock about five times so often, and measure ten times, each after the same kinds of locks.

    From the second tenth on nothing more is held, and hardly more memory taken.
    """
    every = _TURNS * max(5 * number // (10 * _TURNS), 1)
    total = 10 * every
    held = lock_often(root, total, every)
    settled = held[1:]
    assert len({one[:3] for one in settled}) == 1, held
    assert settled[-1].blocks <= settled[0].blocks * _MORE_BLOCKS, held
    assert settled[-1].peak <= settled[0].peak * _MORE_PEAK, held
    print(f"blocks after each tenth: {', '.join(str(one.blocks) for one in held)}", flush=True)
    print(
        f"memory after each tenth: {', '.join(f'{one.peak / 1024:.1f}' for one in held)} MiB",
        flush=True,
    )
    return Score(ended=total, moments=total)


def _held(workspace: Workspace, before: set[threading.Thread]) -> Held:
    """Return what is held once the server's threads have ended.

    The server is in this process, and lets go of the last run's connections.
    """
    deadline = time.monotonic() + 10
    while {*threading.enumerate()} - before and time.monotonic() < deadline:
        time.sleep(0.01)
    gc.collect()
    return Held(
        descriptors=sum(1 for _ in Path("/proc/self/fd").iterdir()),
        threads=len({*threading.enumerate()} - before),
        temporary=len(tree(workspace.temporary)),
        blocks=sys.getallocatedblocks(),
        peak=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    )
