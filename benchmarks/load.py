"""verl-qwen3.5 from an index that is slow and fails: 300 ms an answer, one in fifty an error.

    .venv/bin/python benchmarks/load.py [--rounds 3]

The index serves the stack's snapshot on 127.0.0.1. The cache has only the metadata of source
archives, which a snapshot does not hold as files. Every lock is compared with the committed one,
byte for byte.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from resolver.index import snapshot as snapshot_file
from resolver.index.snapshot import Snapshot
from resolver.index.store.cache import Cache
from resolver.model.message import Message
from tests.functional.test_shipped import COMMITTED, STACK, lock, without_history
from tests.functional.workspace import REPOSITORY, Workspace
from tests.loopback import Fault, LoopbackIndex, Response, delayed, reset, status
from tests.seeded import seed_cache

# The delay of an answer.
SECONDS = 0.3
# The share of answers that are errors.
SHARE = 0.02


class Errors:
    """A fault of a share of the answers: a 503, or a connection reset at once or in the body."""

    def __init__(self, seed: int, share: float) -> None:
        self._draw = random.Random(seed)
        self._share = share
        self._lock = threading.Lock()
        self.count = 0

    def __call__(self, response: Response) -> Response:
        with self._lock:
            if self._draw.random() >= self._share:
                return response
            self.count += 1
            kinds: tuple[Fault, ...] = (status(503), reset(0), reset(len(response.body) // 2))
            return self._draw.choice(kinds)(response)


def measured(
    snapshot: Snapshot, archives: Path, folder: Path, seconds: float, errors: Errors
) -> tuple[float, int]:
    """Lock; return the seconds and the number of requests."""
    with LoopbackIndex(snapshot) as index:
        workspace = Workspace(folder, index.url)
        shutil.copytree(archives, workspace.cache)
        if seconds:
            index.fault("*", delayed(seconds))
        index.fault("*", errors)
        began = time.monotonic()
        run = lock(workspace)
        spent = time.monotonic() - began
        assert run.status == 0, run
        made = workspace.locks / STACK / COMMITTED.name
        assert without_history(made) == without_history(COMMITTED)
        return spent, len(index.requests)


def _fail(warning: Message) -> NoReturn:
    sys.exit(str(warning))


def main() -> int:
    """Measure each case in each round, and print the medians."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    snapshot = snapshot_file.read(REPOSITORY / "snapshots" / f"{STACK}.snapshot")
    cases = {
        "at once": (0.0, 0.0),
        "after 300 ms": (SECONDS, 0.0),
        "after 300 ms, 2 % errors": (SECONDS, SHARE),
    }
    spent: dict[str, list[float]] = {case: [] for case in cases}
    with tempfile.TemporaryDirectory(prefix="ascend-lock-load-") as folder:
        archives = Path(folder) / "archives"
        seed_cache(snapshot, Cache(archives, _fail))
        for number in range(options.rounds):
            for case_number, (case, (delay, share)) in enumerate(cases.items()):
                errors = Errors(number, share)
                work = Path(folder) / f"{number}-{case_number}"
                seconds, requests = measured(snapshot, archives, work, delay, errors)
                spent[case].append(seconds)
                print(
                    f"{case:<26} {seconds:6.2f} s  {requests} requests, {errors.count} errors",
                    flush=True,
                )
    medians = {case: statistics.median(times) for case, times in spent.items()}
    for case, times in spent.items():
        spread = f"{min(times):.2f} to {max(times):.2f}"
        print(f"{case:<26} median {medians[case]:6.2f} s ({spread})")
    ratio = medians["after 300 ms, 2 % errors"] / medians["after 300 ms"]
    print(f"with errors it takes {ratio:.2f} times as long; at most 3 is wanted")
    return 0 if ratio <= 3 else 1


if __name__ == "__main__":
    sys.exit(main())
