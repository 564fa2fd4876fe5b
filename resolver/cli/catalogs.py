"""Which catalogs a run asks: the live one, or without network the cache and then the snapshot."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from resolver.catalog.cache import Cache, default_folder
from resolver.catalog.git import Repositories
from resolver.catalog.live import LiveCatalog
from resolver.catalog.protocol import Catalog
from resolver.cli.progress import Progress
from resolver.errors import IndexFailure
from resolver.model.problem import Problem
from resolver.model.requirement import Requirement

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Snapshots:
    """The snapshots that ship beside `matrices`."""

    matrices: Path

    def path(self, stack: str) -> Path:
        """Where the snapshot of a stack is, or would be."""
        return self.matrices.parent / "snapshots" / f"{stack}.snapshot"


def with_sources(problems: Sequence[Problem], *, offline: bool, progress: Progress) -> tuple[Problem, ...]:
    """The problems with what their direct references stand for. Asks git only where a stack has such lines."""
    if not any(isinstance(ask.need, Requirement) and ask.need.url for one in problems for ask in one.stack.asks):
        return tuple(problems)
    from resolver.catalog.sources import settled

    return settled(problems, Repositories(default_folder(), offline=offline, warn=progress.warn))


def with_catalog(
    problem: Problem,
    snapshots: Snapshots,
    ask: Callable[[Catalog], _Answer],
    *,
    offline: bool,
    progress: Progress,
) -> _Answer:
    """`ask` a catalog; offline the cache first, and the whole again from the snapshot where it lacks something."""
    missing: IndexFailure | None = None
    for catalog in _catalogs(problem, snapshots, offline=offline, progress=progress):
        with closing(catalog):
            try:
                return ask(catalog)
            except IndexFailure as error:
                if not offline:
                    raise
                missing = error
    assert missing is not None  # noqa: S101  there is always the cache
    raise missing


def _catalogs(problem: Problem, snapshots: Snapshots, *, offline: bool, progress: Progress) -> Iterator[Catalog]:
    platform = problem.target.platform
    yield LiveCatalog(
        problem.indexes,
        platform,
        Cache(default_folder(), progress.warn),
        offline=offline,
        warn=progress.warn,
        progress=progress.fetching,
        purpose=f"{problem.stack.name}/{problem.target.name}",
    )
    path = snapshots.path(problem.stack.name)
    if offline and not problem.indexes.own and path.exists():
        from resolver.catalog.snapshot import Snapshot, SnapshotCatalog

        snapshot = Snapshot.read(path)
        progress.clear()
        sys.stderr.write(f"offline: using the snapshot of {snapshot.date.isoformat()} ({path})\n")
        yield SnapshotCatalog(snapshot, platform)
