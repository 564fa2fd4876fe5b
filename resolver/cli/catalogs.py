"""Which catalogs a run asks: the live one; or offline, the cache and then the snapshot."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from packaging.utils import NormalizedName

from resolver.cli.progress import Progress
from resolver.config.load import readings_folder
from resolver.errors import IndexFailure, without_secrets
from resolver.index.git import Repositories
from resolver.index.live import LiveCatalog, Pool
from resolver.index.parse.address import has_password
from resolver.index.protocol import Catalog
from resolver.index.store.cache import Cache, default_folder
from resolver.index.store.readings import Readings
from resolver.model import text
from resolver.model.dependency import Kind
from resolver.model.message import message
from resolver.model.problem import PYPI, Problem
from resolver.model.requirement import Requirement
from resolver.report import words

if TYPE_CHECKING:
    from resolver.index.snapshot import Snapshot
    from resolver.resolve.universe import Universe

_Answer = TypeVar("_Answer")

_SEVERAL = 3  # so many projects cannot all be misspelt
_NAMED = 4


def snapshot_path(stack: str, matrices: Path) -> Path:
    """The path of a stack's snapshot, beside `matrices`, whether it exists or not."""
    return matrices.parent / "snapshots" / f"{stack}.snapshot"


def with_sources(problems: Sequence[Problem], *, offline: bool, progress: Progress) -> tuple[Problem, ...]:
    """The problems with their direct references resolved. Asks git only if a stack has such lines."""
    if not any(isinstance(ask.need, Requirement) and ask.need.url for one in problems for ask in one.stack.asks):
        return tuple(problems)
    from resolver.index.sources import settled

    return settled(problems, Repositories(default_folder(), offline=offline, warn=progress.warn))


def require_an_index(universe: Universe, address_of: Callable[[str], str]) -> None:
    """Raise IndexFailure if an index has nothing of what it is asked first: the mistake is then not in a name.

    If the stack asks for one or two projects there, those that facts are about are looked up as well.
    `address_of` an index is for the message.
    """
    problem = universe.problem

    def first_of(names: Iterable[NormalizedName]) -> dict[str, list[NormalizedName]]:
        found: dict[str, list[NormalizedName]] = {}
        for name in sorted(set(names) - universe.sources.keys()):
            found.setdefault(problem.indexes.binding(name, problem.target.platform).indexes[0], []).append(name)
        return found

    others = first_of(fact.package for fact in problem.facts)
    asked = first_of(text.name(edge.package.name) for edge in universe.roots() if edge.package.kind is Kind.PROJECT)
    for index, names in asked.items():
        # those looked up before come first, as the others may not be in the cache
        tried = sorted(names, key=universe.known, reverse=True)
        tried += others.get(index, [])[: max(0, _SEVERAL - len(names))]
        if len(tried) < _SEVERAL or any(map(partial(_has, universe, index), tried)):
            continue
        raise IndexFailure(
            f"Index `{index}` has nothing that the stack asks for.",
            where=address_of(index),
            why=f"It answered that it has no page of {', '.join(names[:_NAMED])}"
            f"{' and the others' if len(names) > _NAMED else ''}.",
            hint="does it end in /simple? pip's own is shown by `pip config get global.index-url`"
            if index == PYPI
            else f"does it end in /simple? It is in the [[index]] row of `{index}`",
        )


def _has(universe: Universe, index: str, name: NormalizedName) -> bool:
    """Whether an index has a project, or nobody can say."""
    try:
        project = universe.project(name)
    except IndexFailure:
        return True
    return index in project.unreachable or any(page.index == index for page in project.ordered.lookup.pages)


class Catalogs:
    """Makes the catalogs of a run. They share `pool` (cache, connection, pages and files read); `close` releases it.

    Without `readings` every archive is read itself, never an earlier reading of it.
    """

    def __init__(self, matrices: Path, progress: Progress, *, offline: bool = False, readings: bool = True) -> None:
        self._matrices = matrices
        self._progress = progress
        self._offline = offline
        self._last: tuple[Path, Snapshot] | None = None
        cache = Cache(default_folder(), progress.warn)
        self.pool = Pool(
            cache,
            offline=offline,
            warn=progress.warn,
            progress=progress.fetching,
            readings=Readings(readings_folder(matrices)) if readings else None,
        )

    def ask(self, problem: Problem, ask: Callable[[Catalog], _Answer]) -> _Answer:
        """Call `ask` with a catalog. Offline, that is the cache, or if it lacks something, once more the snapshot."""
        missing: IndexFailure | None = None
        for catalog in self._of(problem):
            with closing(catalog):
                try:
                    return ask(catalog)
                except IndexFailure as error:
                    if not self._offline:
                        raise
                    missing = error
        assert missing is not None  # noqa: S101  there is always the cache
        raise missing

    def address_of(self, problem: Problem, index: str) -> str:
        """The address of an index, without credentials."""
        row = problem.indexes.indexes.get(index)
        return without_secrets((row.url if row else "") or self.pool.pip.index_url)

    def live(self, problem: Problem) -> LiveCatalog:
        """The catalog of the problem's indexes. Warns of passwords in files, which are shared."""
        for index in problem.indexes.indexes.values():
            if any(map(has_password, (index.url, *index.mirrors))):
                file = problem.stack.where if problem.indexes.own else "indexes.toml"
                self._progress.warn(message("index.password", index=index.name, file=file))
        return LiveCatalog(problem.indexes, problem.target.platform, self.pool)

    @property
    def used_snapshot(self) -> bool:
        """Whether a snapshot was read because the cache lacked something."""
        return self._last is not None

    def close(self) -> None:
        """Release connections and threads."""
        self.pool.close()

    def asking(self, problem: Problem) -> Catalog:
        """The live catalog, supplemented by what the stack itself records about indexes that are out of reach."""
        live = self.live(problem)
        if self._offline or not problem.stack.recorded:
            return live
        from resolver.index.recorded import RecordedCatalog

        return RecordedCatalog(live, problem.stack.recorded, problem.indexes, problem.target.platform)

    def _of(self, problem: Problem) -> Iterator[Catalog]:
        yield self.asking(problem)
        path = snapshot_path(problem.stack.name, self._matrices)
        if self._offline and not problem.indexes.own and path.exists():
            from resolver.index.snapshot import SnapshotCatalog

            yield SnapshotCatalog(self._snapshot(path), problem.target.platform)

    def _snapshot(self, path: Path) -> Snapshot:
        """The snapshot of a stack, read once for all its targets. Tells the user that it is used."""
        if self._last is None or self._last[0] != path:
            from resolver.index import snapshot

            self._last = path, snapshot.read(path)
            self._progress.clear()
            day = self._last[1].date.isoformat()
            sys.stderr.write(words.OFFLINE(self._progress.language, day=day, path=path) + "\n")
        return self._last[1]
