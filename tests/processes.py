"""Whether a process still runs."""

from __future__ import annotations

import os
from pathlib import Path


def is_running(pid: int) -> bool:
    """Whether it has not ended yet, whether or not it is our child."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")  # if nobody reaps orphans, ended processes still exist
    return not (state.exists() and state.read_text("ascii").rpartition(")")[2].split()[0] == "Z")
