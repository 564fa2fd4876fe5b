"""Faults by hand.

    make faults          200 kills each of a lock, an edit, a bundle, an install, an upgrade;
                         200 full disks; 1,000 locks in a row in one process
    make faults N=20     fewer
    python -m tests.faults 200 --kind lock --seed 7

Exit status 1, with the moment, where something is left that must not be.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.faults.kills import KINDS
from tests.faults.room import fill_disks
from tests.faults.row import lock_in_a_row
from tests.faults.upgrades import kill_upgrades

_KINDS = {**KINDS, "upgrade": kill_upgrades, "disk": fill_disks, "row": lock_in_a_row}


def main(arguments: Sequence[str]) -> int:
    """Run the chosen kinds; return 1 if one of them failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "count", type=int, nargs="?", default=200, help="how many kills of each kind"
    )
    parser.add_argument("--kind", choices=[*_KINDS], help="only this")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    status = 0
    for kind, trial in _KINDS.items():
        if options.kind not in (None, kind):
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="ascend-lock-faults-") as folder:
            try:
                score = trial(Path(folder) / "work", options.count, options.seed)
            except AssertionError as error:
                print(f"{kind}: {error}", flush=True)
                status = 1
                continue
        print(
            f"{kind}: {score.killed} broken off, {score.ended} came to their end, "
            f"of {score.moments} moments; {time.monotonic() - began:.0f} s",
            flush=True,
        )
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
