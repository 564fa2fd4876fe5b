"""Cases of bench.py against mirrors of several kinds: `mirror.py`, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sides import HERE, index_address

_MB = 1_000_000


@dataclass(frozen=True)
class Mirror:
    """A kind of mirror, and what is demanded of a lock from it with an empty cache."""

    name: str
    # A description for people.
    what: str
    # Milliseconds.
    round_trip: int = 0
    # Bytes a second; 0 for no limit.
    bandwidth: int = 0
    is_relative: bool = False
    is_html: bool = False
    # Whether it has `.metadata` files (PEP 658).
    has_metadata: bool = True
    # The most that ours / theirs may be.
    wall: float | None = None
    cpu: float | None = None

    @property
    def options(self) -> list[str]:
        """Return the options of mirror.py."""
        options = ["--compressed", "--round-trip", str(self.round_trip / 1000)]
        options += ["--bandwidth", str(self.bandwidth)]
        options += ["--links", "relative" if self.is_relative else "absolute"]
        options += ["--form", "html" if self.is_html else "json"]
        return options + (["--metadata"] if self.has_metadata else [])


MIRRORS = (
    Mirror("at-once", "a mirror that answers at once", cpu=2.5),
    Mirror("relative", "the same with relative links", is_relative=True, cpu=2.5),
    Mirror("html", "the same with relative links in HTML", is_relative=True, is_html=True),
    Mirror("no-metadata", "the same without `.metadata` files", has_metadata=False, cpu=2.5),
    Mirror("50ms", "a mirror with a round trip of 50 ms", round_trip=50, wall=1.2),
    Mirror("150ms", "a round trip of 150 ms", round_trip=150, wall=1.0),
    Mirror("300ms", "a round trip of 300 ms", round_trip=300, wall=1.0),
    Mirror(
        "50ms-2MB",
        "a round trip of 50 ms, and 2 MB a second for all connections",
        round_trip=50,
        bandwidth=2 * _MB,
        wall=1.0,
    ),
)


@contextmanager
def running(mirror: Mirror, folder: Path) -> Iterator[str]:
    """Serve what is kept in `folder`, or else comes from pip's index; yield the address."""
    command = [sys.executable, str(HERE / "mirror.py"), str(folder), *mirror.options]
    variables = {**os.environ, "UPSTREAM": index_address()}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/"
        finally:
            process.terminate()


def counted(address: str) -> str:
    """Return what a mirror was asked since this was last called, for people."""
    with urllib.request.urlopen(f"{address}count") as response:
        count = json.load(response)
    megabytes = count["bytes"] / _MB
    return f"{count['requests']} requests, {megabytes:.1f} MB, {count['connections']} connections"
