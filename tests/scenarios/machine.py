"""What locks by metadata and does not run on the machine, as stacks, and the recording that they
are answered from.

`python -m tests.scenarios.machine` records what they ask of the real indexes anew.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import tomli

from resolver.cli.answers import lock_or_refutation
from resolver.config.compile import compile_problems
from resolver.config.load import load
from resolver.index import snapshot as snapshot_file
from resolver.index.live import LiveCatalog
from resolver.index.pool import CatalogPool
from resolver.index.protocol import Catalog
from resolver.index.recording import Recording, RecordingCatalog
from resolver.index.store.cache import Cache, default_folder
from resolver.lock.previous import Preferences
from resolver.model.lock import Lock
from resolver.model.problem import Problem
from resolver.resolve.refutation import Refutation
from resolver.resolve.universe import Universe

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).with_name("machine")
RECORDED = REPOSITORY / "tests" / "recorded" / "machine.snapshot"
DAY = dt.date(2026, 11, 28)


@dataclass(frozen=True)
class Case:
    """A stack, and what must come of it: pins of a lock, its first warnings, or what a conflict
    says.
    """

    name: str
    pins: dict[str, str] = field(default_factory=dict)
    first_warnings: list[str] = field(default_factory=list)
    conflict_says: list[str] = field(default_factory=list)

    @property
    def problem(self) -> Problem:
        (problem,) = compile_problems(
            load(str(FOLDER / self.name / "stack.toml"), REPOSITORY / "matrices")
        )
        return problem


def cases() -> Iterator[Case]:
    """All of them, by name."""
    for folder in sorted(path for path in FOLDER.iterdir() if path.is_dir()):
        raw = tomli.loads((folder / "expected.toml").read_text(encoding="utf-8"))
        yield Case(
            folder.name,
            pins=raw.get("pins", {}),
            first_warnings=raw.get("warnings", {}).get("first", []),
            conflict_says=raw.get("conflict", {}).get("says", []),
        )


def answer(problem: Problem, catalog: Catalog) -> Lock | Refutation:
    """The lock of a problem, or the refutation."""
    return lock_or_refutation(Universe(problem, catalog), Preferences())


def record() -> None:
    """Ask the real indexes all that the tests ask, and write it down."""
    recording = Recording([case.problem.target for case in cases()])
    for case in cases():
        problem = case.problem
        platform = problem.target.platform
        live = LiveCatalog(
            problem.indexes, platform, CatalogPool(Cache(default_folder(), print), warn=print)
        )
        with closing(live):
            outcome = answer(problem, RecordingCatalog(live, platform, recording))
        print(case.name, type(outcome).__name__)
    snapshot_file.write(recording.snapshot("machine", DAY), RECORDED)


if __name__ == "__main__":
    record()
