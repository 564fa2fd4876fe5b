"""The catalogs of a run: the live one; or offline, the cache and then the snapshot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from packaging.utils import NormalizedName

from resolver.cli.console import print_to_stderr
from resolver.cli.options import Settings
from resolver.config.load import linkage_folder, readings_folder
from resolver.errors import IndexFailure, without_secrets
from resolver.i18n import translate
from resolver.index.live import LiveCatalog
from resolver.index.parse.address import has_password
from resolver.index.pool import CatalogPool
from resolver.index.protocol import Catalog
from resolver.index.repositories import Repositories
from resolver.index.store.cache import Cache, default_folder
from resolver.model import text
from resolver.model.dependency import PackageKind
from resolver.model.message import message
from resolver.model.problem import Problem, Recorded
from resolver.model.requirement import Requirement

if TYPE_CHECKING:
    from resolver.index.snapshot import Snapshot
    from resolver.model.resolution import Resolution
    from resolver.resolve.universe import Universe

_Answer = TypeVar("_Answer")

_SEVERAL = 3  # so many projects cannot all be misspelt


class Catalogs:
    """Makes the catalogs of a run.

    They share `pool` (cache, connection, pages and files read); `close` releases it.

    Without `readings`, archives are downloaded and read even if a reading of them is recorded.
    """

    def __init__(self, settings: Settings, *, readings: bool = True) -> None:
        self._settings = settings
        self._last: tuple[Path, Snapshot] | None = None
        warn, folder = settings.progress.warn, readings_folder(settings.matrices)
        self.pool = CatalogPool(
            Cache(default_folder(), warn),
            offline=settings.offline,
            warn=warn,
            progress=settings.progress.fetching,
            readings=folder if readings else None,
            linkage=linkage_folder(settings.matrices),
        )

    def ask(self, problem: Problem, question: Callable[[Catalog], _Answer]) -> _Answer:
        """The answer of the indexes.

        Offline, of the cache, or if it lacks something, of the stack's snapshot.
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
        """Return the answer of the stack's snapshot; if it has none or that lacks something, of the indexes."""
        path = self._settings.snapshot_path(problem.stack.name)
        if path.exists() and not problem.indexes.has_own:
            with suppress(IndexFailure), closing(self._of_snapshot(path, problem)) as catalog:
                return question(catalog)
        return self.ask(problem, question)

    def for_other_target(self, problem: Problem) -> Catalog:
        """A catalog for another target of the stack that is answered: of its indexes, or of the same snapshot."""
        path = self._settings.snapshot_path(problem.stack.name)
        if self._last is None or self._last[0] != path:
            return self.open(problem)
        return self._of_snapshot(path, problem)

    def with_sources(self, problems: Sequence[Problem]) -> tuple[Problem, ...]:
        """The problems with their direct references resolved.

        Asks git only if a stack has such lines.
        """
        if not any(
            isinstance(root.need, Requirement) and root.need.url
            for problem in problems
            for root in problem.stack.requirements
        ):
            return tuple(problems)
        from resolver.index.sources import with_resolved_sources

        return with_resolved_sources(problems, self._repositories())

    def verified(self, resolution: Resolution) -> Resolution:
        """Return the resolution with what facts take from commits compared with these, as far as git can read them."""
        direct = list(resolution.problem.sources.values())
        sources = [pin.release.source for pin in resolution.pins if pin.release.source is not None]
        if all(source in direct for source in sources):
            return resolution
        from resolver.index.sources import verified

        return verified(resolution, self._repositories())

    def _repositories(self) -> Repositories:
        run = self._settings
        return Repositories(default_folder(), offline=run.offline, warn=run.progress.warn)

    def require_an_index(self, universe: Universe) -> None:
        """Raise IndexFailure if an index has none of the stack's projects, so that the mistake is not in a name.

        If the stack has only one or two projects there, projects of facts are looked up as well.
        """
        problem = universe.problem
        lines = {
            text.name(edge.package.name)
            for edge in universe.roots()
            if edge.package.kind is PackageKind.PROJECT
        }

        def by_index(names: set[NormalizedName]) -> dict[str, list[NormalizedName]]:
            projects = defaultdict[str, list[NormalizedName]](list)
            for name in sorted(names - universe.sources.keys()):
                projects[problem.indexes.binding(name, problem.target.platform).indexes[0]].append(
                    name
                )
            return projects

        def may_have(index: str, name: NormalizedName) -> bool:
            try:
                project = universe.project(name)
            except IndexFailure:  # it is unknown
                return True
            return index in project.unreachable or any(
                page.index == index for page in project.ordered.lookup.pages
            )

        with_facts = by_index({fact.package for fact in problem.facts})
        for index, names in by_index(lines).items():
            tried = list(dict.fromkeys([*names, *with_facts.get(index, ())]))[
                : max(_SEVERAL, len(names))
            ]
            if len(tried) >= _SEVERAL and not any(may_have(index, name) for name in tried):
                row = problem.indexes.indexes.get(index)
                raise IndexFailure(
                    f"Index `{index}` has nothing that the stack asks for.",
                    where=without_secrets((row.url if row else "") or self.pool.pip.index_url),
                    why=f"It answered that it has no page of {', '.join(names)}.",
                    hint="does its address end in /simple? that of `pypi` is pip's: pip config get global.index-url",
                )

    def live(self, problem: Problem, recorded: Sequence[Recorded] = ()) -> LiveCatalog:
        """The catalog of the problem's indexes. Warns of passwords in files, which are shared."""
        for index in problem.indexes.indexes.values():
            if any(map(has_password, (index.url, *index.mirrors))):
                file = (
                    problem.stack.where
                    if index.name in problem.indexes.own_indexes
                    else "indexes.toml"
                )
                self._settings.progress.warn(message("index.password", index=index.name, file=file))
        return LiveCatalog(problem.indexes, problem.target.platform, self.pool, recorded)

    @property
    def used_snapshot(self) -> bool:
        """Whether a snapshot was read because the cache lacked something."""
        return self._last is not None

    def close(self) -> None:
        """Release connections and threads."""
        self.pool.close()

    def open(self, problem: Problem) -> LiveCatalog:
        """The live catalog, with what is recorded about wheels of indexes that are out of reach."""
        return self.live(problem, () if self._settings.offline else problem.recorded)

    def _of_snapshot(self, path: Path, problem: Problem) -> Catalog:
        """That of a stack's snapshot, which is read once for all its targets.

        Tells the user that it is used.
        """
        from resolver.index import snapshot

        if self._last is None or self._last[0] != path:
            self._last = path, snapshot.read(path)
            self._settings.progress.clear()
            day = self._last[1].date.isoformat()
            print_to_stderr(
                translate("cli.offline", self._settings.progress.language, day=day, path=path)
            )
        return snapshot.SnapshotCatalog(
            self._last[1], problem.target.platform, self.pool.files.shipped_linkage
        )
