"""Make the catalogs of a run, from the indexes or offline from the cache, then from a snapshot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from packaging.utils import NormalizedName

from resolver.cli.options import Settings
from resolver.config.load import linkage_folder, readings_folder
from resolver.errors import IndexFailure
from resolver.i18n import translate
from resolver.index.live import LiveCatalog
from resolver.index.parse.address import has_password
from resolver.index.pool import CatalogPool
from resolver.index.protocol import Catalog
from resolver.index.repositories import Repositories
from resolver.index.store.cache import Cache, default_folder
from resolver.model import text
from resolver.model.message import message
from resolver.model.package import PackageKind
from resolver.model.problem import Problem, Recorded
from resolver.model.requirement import Requirement
from resolver.phrase import phrase
from resolver.redaction import without_secrets

if TYPE_CHECKING:
    from resolver.index.snapshot import Snapshot
    from resolver.model.resolution import Resolution
    from resolver.resolve.universe import Universe

_Answer = TypeVar("_Answer")

# If an index has none of so many projects, their names cannot all be misspelled.
_SEVERAL = 3


class Catalogs:
    """Makes the catalogs of a run.

    They share a `pool` with the cache, the connection, and the pages and files that were read.
    `close` releases it.
    """

    def __init__(self, settings: Settings, *, readings: bool = True) -> None:
        """Open the cache.

        Without `readings`, archives are downloaded and read even if their contents are recorded.
        """
        self._settings = settings
        # The path of the snapshot that was read last, and the snapshot; None if none was.
        self._last: tuple[Path, Snapshot] | None = None
        warn, folder = settings.progress.warn, readings_folder(settings.matrices)
        self.pool = CatalogPool(
            Cache(default_folder(), warn),
            offline=settings.offline,
            warn=warn,
            progress=settings.progress.fetching,
            trace=settings.progress.trace if settings.progress.verbosity > 0 else None,
            readings=folder if readings else None,
            linkage=linkage_folder(settings.matrices),
        )

    def ask(self, problem: Problem, question: Callable[[Catalog], _Answer]) -> _Answer:
        """Call a function with the catalog of the indexes, and return its answer.

        Offline, it is the catalog of the cache. If that lacks something, the function is called
        again with the catalog of the stack's snapshot. Raises IndexFailure.
        """
        path = self._settings.snapshot_path(problem.stack.name)
        with closing(self.open(problem)) as catalog:
            try:
                return question(catalog)
            except IndexFailure:
                if not self._settings.offline or problem.indexes.has_own or not path.exists():
                    raise
        with closing(self._of_snapshot(path, problem)) as snapshot:
            return question(snapshot)

    def ask_recorded(self, problem: Problem, question: Callable[[Catalog], _Answer]) -> _Answer:
        """Call a function with the catalog of the stack's snapshot, and return its answer.

        Without a snapshot, or if it lacks something, the function is called as in `ask`.
        """
        path = self._settings.snapshot_path(problem.stack.name)
        if path.exists() and not problem.indexes.has_own:
            with (
                suppress(IndexFailure),
                closing(self._of_snapshot(path, problem)) as catalog,
            ):
                return question(catalog)
        return self.ask(problem, question)

    def for_other_target(self, problem: Problem) -> Catalog:
        """Return a catalog for another target of the stack that is being solved.

        It is of the snapshot if that is in use, and otherwise of the indexes.
        """
        path = self._settings.snapshot_path(problem.stack.name)
        if self._last is None or self._last[0] != path:
            return self.open(problem)
        return self._of_snapshot(path, problem)

    def with_sources(self, problems: Sequence[Problem]) -> tuple[Problem, ...]:
        """Return the problems with the direct references of their lines resolved by git.

        Git is not asked if there are no such lines.
        """
        roots = chain.from_iterable(problem.stack.requirements for problem in problems)
        needs = [root.need for root in roots]
        if not any(isinstance(need, Requirement) and need.url for need in needs):
            return tuple(problems)
        from resolver.index.sources import with_resolved_sources

        return with_resolved_sources(problems, self._repositories())

    def verified(self, resolution: Resolution) -> Resolution:
        """Compare what facts state about commits with these commits, as far as git can read them.

        Return the resolution with the results.
        """
        direct = list(resolution.problem.sources.values())
        sources = [pin.release.source for pin in resolution.pins if pin.release.source is not None]
        if all(source in direct for source in sources):
            return resolution
        from resolver.index.sources import verified

        return verified(resolution, self._repositories())

    def _repositories(self) -> Repositories:
        """Return the repositories in the cache. Unless the run is offline, they are fetched."""
        run = self._settings
        return Repositories(default_folder(), offline=run.offline, warn=run.progress.warn)

    def require_an_index(self, universe: Universe) -> None:
        """Raise IndexFailure if an index has none of several projects that the stack asks for.

        The address of the index must then be wrong, and not the names. If the stack asks it for
        only one or two projects, projects of facts are looked up as well.
        """
        problem = universe.problem
        edges = [edge for edge in universe.roots() if edge.package.kind is PackageKind.PROJECT]
        of_lines = _by_index((text.name(edge.package.name) for edge in edges), universe)
        of_facts = _by_index((fact.package for fact in problem.facts), universe)
        for index, names in of_lines.items():
            more = [name for name in of_facts.get(index, ()) if name not in names]
            missing = max(_SEVERAL - len(names), 0)
            tried = [*names, *more[:missing]]
            if len(tried) < _SEVERAL or any(_may_have(index, name, universe) for name in tried):
                continue
            declared = problem.indexes.indexes.get(index)
            url = self.pool.pip.index_url
            if declared is not None and declared.url:
                url = declared.url
            raise IndexFailure(
                phrase("Index `{index}` has nothing that the stack asks for.", index=index),
                where=without_secrets(url),
                why=phrase("It answered that it has no page of {names}.", names=", ".join(names)),
                hint=phrase(
                    "does its address end in /simple? that of `pypi` is pip's: pip config get "
                    "global.index-url"
                ),
            )

    def live(self, problem: Problem, recorded: Sequence[Recorded] = ()) -> LiveCatalog:
        """Return the catalog of a problem's indexes.

        Warn of passwords in the files that declare the indexes, because these files are shared.
        """
        for index in problem.indexes.indexes.values():
            if any(map(has_password, (index.url, *index.mirrors))):
                file = "indexes.toml"
                if index.name in problem.indexes.own_indexes:
                    file = problem.stack.where
                self._settings.progress.warn(message("index.password", index=index.name, file=file))
        return LiveCatalog(problem.indexes, problem.target.platform, self.pool, recorded)

    @property
    def used_snapshot(self) -> bool:
        """Return whether a snapshot was read because the cache lacked something."""
        return self._last is not None

    def close(self) -> None:
        """Release connections and threads."""
        self.pool.close()

    def open(self, problem: Problem) -> LiveCatalog:
        """Return the catalog of a problem's indexes, or offline of the cache.

        Online, it also has the recorded wheels of indexes that may be out of reach.
        """
        return self.live(problem, () if self._settings.offline else problem.recorded)

    def _of_snapshot(self, path: Path, problem: Problem) -> Catalog:
        """Return the catalog of a stack's snapshot, and say that it is used.

        The snapshot is read once for all targets of the stack.
        """
        from resolver.index.snapshot import SnapshotCatalog, read

        if self._last is None or self._last[0] != path:
            self._last = path, read(path)
            progress = self._settings.progress
            day = self._last[1].date.isoformat()
            progress.say(translate("cli.offline", progress.language, day=day, path=path))
        shipped_linkage = self.pool.files.shipped_linkage
        return SnapshotCatalog(self._last[1], problem.target.platform, shipped_linkage)


def _by_index(
    names: Iterable[NormalizedName], universe: Universe
) -> dict[str, list[NormalizedName]]:
    """Return projects by the first index that each is bound to.

    Projects that come from commits are left out.
    """
    problem = universe.problem
    projects = defaultdict[str, list[NormalizedName]](list)
    for name in sorted(set(names) - universe.sources.keys()):
        binding = problem.indexes.binding(name, problem.target.platform)
        projects[binding.indexes[0]].append(name)
    return projects


def _may_have(index: str, name: NormalizedName, universe: Universe) -> bool:
    """Return whether an index has a project, or did not answer."""
    try:
        project = universe.project(name)
    except IndexFailure:
        return True
    if index in project.unreachable:
        return True
    return any(page.index == index for page in project.ordered.lookup.pages)
