"""The part of a live catalog that runs on the background thread: look-ups, files, look-ahead.

Of it the catalogs of one run share a `Connection`: one thread, one client, each page requested once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Hashable, Iterable, Sequence
from typing import Final

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.errors import Unreachable
from resolver.files import require_spare
from resolver.index.net.client import Client
from resolver.index.net.downloads import Downloads
from resolver.index.net.files import Files
from resolver.index.net.pages import Pages
from resolver.index.net.pipconfig import PipConfig
from resolver.index.net.worker import Once, Worker
from resolver.index.parse.metadata import Release
from resolver.index.protocol import NOBODY, Follow, Lookup, Meter
from resolver.index.store.file_cache import FileCache
from resolver.index.store.page_cache import PageCache
from resolver.model.message import Message
from resolver.model.release import File, Metadata

# Concurrent look-aheads. More gained nothing on the mirror measured, and holds more pages in memory.
AHEAD: Final = 32
_MOST_AHEAD: Final = 1000  # wheels that wait to be read ahead at once
_FILES: Final = 40  # descriptors: for connections, and files read and written meanwhile


class Connection:
    """Started by the first use of the network. Everything but `worker` and `close` is for its event loop.

    Raises OSError if too few files can be opened, InputError for settings that cannot be used.
    """

    def __init__(self, pip: PipConfig, meter: Meter) -> None:
        require_spare(_FILES)
        self.client = Client(pip, meter)
        self.downloads = Downloads(self.client)
        self.pages = Once(again=True)  # what failed for one stack may work for the next
        self.ahead = asyncio.Semaphore(AHEAD)
        self.worker = Worker()

    def close(self) -> None:
        """Cancel everything, close connections, remove downloaded files."""
        try:
            self.worker.close(self.client.close)
        finally:
            self.downloads.close()


class Network:
    """Look-ups, files and look-ahead of one catalog. All but `worker` is for its event loop."""

    def __init__(
        self,
        pages: PageCache,
        connection: Connection,
        files: FileCache,
        warn: Callable[[Message], None],
        release: Callable[[File], Release],
    ) -> None:
        self.worker = connection.worker
        self.files = Files(files, connection.client, connection.downloads, warn)
        self._pages = Pages(pages, connection.pages, connection.client, warn)
        self._few = connection.ahead
        self._release = release
        self._once = Once()
        self._expected: set[tuple[NormalizedName, str, Hashable]] = set()
        self._opened: set[NormalizedName] = set()  # projects for which an archive was opened ahead
        self._tasks: set[asyncio.Task[None]] = set()

    async def lookup(self, project: NormalizedName) -> Lookup:
        """All pages of a project."""
        return await self._once.do(project, lambda: self._pages.lookup(project))

    async def marks(self, projects: Sequence[NormalizedName]) -> list[str]:
        """The marks of what `lookup` would answer for each, requested concurrently."""

        async def mark(project: NormalizedName) -> str:
            try:
                return await self._pages.mark(project)
            except Unreachable:
                return NOBODY

        return await asyncio.gather(*map(mark, projects))

    async def close(self) -> None:
        """Cancel the look-ahead and its reading; the connection is not closed."""
        for task in tuple(self._tasks):
            task.cancel()
        self.files.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def expect_metadata(self, files: Sequence[tuple[File, Release]]) -> None:
        """Start to read these wheels."""

        async def read(file: File, release: Release) -> None:
            with contextlib.suppress(Exception):  # whoever really needs it will meet the failure again
                async with self._few:
                    await self.files.metadata(file, release)

        for file, release in files[:_MOST_AHEAD]:  # a hundred thousand tasks would take memory and time
            self._start(read(file, release))

    def expect(self, wanted: Iterable[tuple[NormalizedName, SpecifierSet]], follow: Follow | None) -> None:
        """Start to look ahead: once for each range, since a narrower one may lead to another release."""
        for project, specifier in wanted:
            key = project, str(specifier), follow.target if follow is not None else None
            if key not in self._expected:
                self._expected.add(key)
                self._expected.add((project, "", key[2]))
                self._start(self._look_ahead(project, specifier, follow))

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)  # the event loop itself only has weak references
        task.add_done_callback(self._tasks.discard)

    async def _look_ahead(self, project: NormalizedName, specifier: SpecifierSet, follow: Follow | None) -> None:
        """Page, likely file, its metadata, and what that requires. Whoever needs the answer will meet failures."""
        try:
            lookup = await self.lookup(project)
            if follow is None:
                return
            async with self._few:
                file = follow.pick(project, lookup, specifier)
                if file is None:
                    return
                release = self._release(file)
                if file.is_wheel:
                    metadata: Metadata | None = await self.files.metadata(file, release)
                elif project in self._opened:
                    return  # tens of megabytes: worth guessing one per project
                else:
                    self._opened.add(project)
                    archive = await self.files.archive(file, release)
                    metadata = archive.metadata
                    follow.built(project, archive.build_requires or ())
            if metadata is not None:
                likely = follow.then(project, metadata)  # one guess for each project
                self.expect((one for one in likely if (one[0], "", follow.target) not in self._expected), follow)
        except Exception:  # noqa: S110 -- a look-ahead never fails; the error stays in the future of the request
            pass
