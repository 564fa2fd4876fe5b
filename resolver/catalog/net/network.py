"""The part of a live catalog that runs on the background thread: look-ups, files, look-ahead."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.catalog.meter import Meter
from resolver.catalog.net.connection import AHEAD, Connection
from resolver.catalog.net.files import Files
from resolver.catalog.net.pages import Pages
from resolver.catalog.net.worker import Once
from resolver.catalog.parse.metadata import Release
from resolver.catalog.protocol import NOBODY, Follow, Lookup
from resolver.catalog.store.page_cache import PageCache
from resolver.catalog.store.stored import Stored
from resolver.errors import Unreachable
from resolver.model.release import Archive, File, Metadata

_GUESSES: Final = 3  # releases guessed for a project because of others

_Wanted = Sequence[tuple[NormalizedName, SpecifierSet]]


class Network:
    """Blocking calls for other threads; each waits for work on the event loop."""

    def __init__(
        self,
        cache: PageCache,
        connection: Connection,
        stored: Stored,
        meter: Meter,
        warn: Callable[[str], None],
        release: Callable[[File], Release],
    ) -> None:
        self._connection = connection
        self._worker = connection.worker
        self._files = Files(stored, connection.client, connection.downloads, warn)
        self._pages = Pages(cache, connection.pages, connection.client, meter, warn)
        self._release = release
        self._once = Once()
        self._expected: set[tuple[NormalizedName, str, Hashable]] = set()
        self._ahead_of: dict[tuple[NormalizedName, Hashable], list[str]] = {}  # with the versions picked
        self._opened: set[NormalizedName] = set()  # projects for which an archive was opened ahead
        self._tasks: set[asyncio.Task[None]] = set()

    def lookup(self, project: NormalizedName) -> Lookup:
        """All pages of a project."""
        if (known := self._once.known(project)) is not None:
            found: Lookup = known
            return found

        return self._worker.wait(lambda: self._lookup(project))

    def marks(self, projects: Sequence[NormalizedName]) -> list[str]:
        """The marks of what `lookup` would answer for each, requested concurrently."""

        async def ask() -> list[str]:
            return await asyncio.gather(*(self._mark(project) for project in projects))

        return self._worker.wait(ask)

    def metadata(self, file: File, release: Release) -> Metadata:
        """A wheel's metadata."""
        return self._worker.wait(lambda: self._files.metadata(file, release))

    def archive(self, file: File, release: Release) -> Archive:
        """The static contents of a source archive."""
        return self._worker.wait(lambda: self._files.archive(file, release))

    def member(self, file: File, release: Release, path: str) -> str:
        """The text of a file in a source archive."""
        return self._worker.wait(lambda: self._files.member(file, release, path))

    def sha256(self, file: File) -> File:
        """The file with sha256 and size."""
        return self._worker.wait(lambda: self._files.sha256(file))

    def expect(self, wanted: _Wanted, follow: Follow | None) -> None:
        """Start to look ahead, without waiting."""
        self._worker.tell(lambda: self._expect(wanted, follow))

    def expect_metadata(self, files: Sequence[tuple[File, Release]]) -> None:
        """Start to read these wheels, without waiting."""
        left = iter(files)

        async def read() -> None:
            for file, release in left:
                with contextlib.suppress(Exception):  # whoever really needs it will meet the failure again
                    async with self._connection.ahead:
                        await self._files.metadata(file, release)

        def begin() -> None:
            for _ in files[
                :AHEAD
            ]:  # a page may have a hundred thousand files; a task for each would take memory and time
                task = asyncio.ensure_future(read())
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

        self._worker.tell(begin)

    def close(self) -> None:
        """Cancel the look-ahead and its reading; the connection is not closed."""

        async def stop() -> None:
            for task in tuple(self._tasks):
                task.cancel()
            self._files.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        self._worker.wait(stop)

    async def _lookup(self, project: NormalizedName) -> Lookup:
        return await self._once.do(project, lambda: self._pages.lookup(project))

    async def _mark(self, project: NormalizedName) -> str:
        try:
            return await self._pages.mark(project)
        except Unreachable:
            return NOBODY

    def _expect(self, wanted: _Wanted, follow: Follow | None) -> None:
        """What the search needs: once for each range, since a narrower one may lead to another release."""
        for project, specifier in wanted:
            key = project, str(specifier), follow.target if follow is not None else None
            if key not in self._expected:
                self._expected.add(key)
                self._begin_ahead(project, specifier, follow)

    def _guess(self, wanted: Iterable[tuple[NormalizedName, SpecifierSet]], follow: Follow) -> None:
        """What a release may lead to: once for each project, and again if nothing picked so far will do."""
        for project, specifier in wanted:
            picked = self._ahead_of.get((project, follow.target))
            if picked is None or (picked and len(picked) < _GUESSES and not _any_fits(picked, specifier)):
                self._expected.add((project, str(specifier), follow.target))
                self._begin_ahead(project, specifier, follow)

    def _begin_ahead(self, project: NormalizedName, specifier: SpecifierSet, follow: Follow | None) -> None:
        if follow is not None:
            self._ahead_of.setdefault((project, follow.target), [])
        task = asyncio.ensure_future(self._look_ahead(project, specifier, follow))
        self._tasks.add(task)  # the event loop itself only has weak references
        task.add_done_callback(self._tasks.discard)

    async def _look_ahead(self, project: NormalizedName, specifier: SpecifierSet, follow: Follow | None) -> None:
        """Page, likely file, its metadata, and what that requires. Whoever needs the answer will meet failures."""
        try:
            lookup = await self._lookup(project)
            if follow is None:
                return
            async with self._connection.ahead:
                file = follow.pick(project, lookup, specifier)
                if file is None:
                    return
                release = self._release(file)
                picked = self._ahead_of[project, follow.target]
                if release.version not in picked:
                    picked.append(release.version)
                if file.is_wheel:
                    metadata: Metadata | None = await self._files.metadata(file, release)
                elif project in self._opened:
                    return  # tens of megabytes: worth guessing one per project
                else:
                    self._opened.add(project)
                    archive = await self._files.archive(file, release)
                    metadata = archive.metadata
                    follow.built(project, archive.build_requires or ())
            if metadata is not None:
                self._guess(follow.then(project, metadata), follow)
        except Exception:  # noqa: S110 -- a look-ahead never fails; the error stays in the future of the request
            pass


def _any_fits(versions: Sequence[str], specifier: SpecifierSet) -> bool:
    return any(specifier.contains(version, prereleases=True) for version in versions)
