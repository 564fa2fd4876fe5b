"""Folders in each other, more than Python's recursion goes deep."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def nested_folders(folder: Path, depth: int) -> Iterator[int]:
    """Make so many folders `d`, one in the other; yield the descriptor of the innermost.

    They are removed at the end, as pytest could not do it.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        for _ in range(depth):
            os.mkdir("d", dir_fd=descriptor)
            inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)
        subprocess.run(["rm", "-rf", folder / "d"], check=True)
