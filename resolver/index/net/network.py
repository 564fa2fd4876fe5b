"""The part of a live catalog that runs on the background thread: which index answers, files, look-ahead.

Of it the catalogs of one run share a `Connection`: one thread, one client, each page requested once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Hashable, Iterable, Sequence
from functools import partial
from typing import Final

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.errors import IndexFailure, Unreachable
from resolver.files import require_spare
from resolver.index.net.client import PAGES, Client, Reply
from resolver.index.net.downloads import Downloads
from resolver.index.net.failures import BRIEF, Patience
from resolver.index.net.pipconfig import PipConfig
from resolver.index.net.remote_files import Files
from resolver.index.net.worker import Once, Worker
from resolver.index.parse.address import Root
from resolver.index.parse.metadata import Release
from resolver.index.parse.simple import ACCEPT
from resolver.index.protocol import NOBODY, Follow, Lookup, Meter
from resolver.index.store.file_cache import FileCache
from resolver.index.store.page_cache import PageCache, StoredPage
from resolver.model.message import Message, message
from resolver.model.problem import PYPI, Binding
from resolver.model.release import File, Metadata

# Concurrent look-aheads. More gained nothing on the mirror measured, and holds more pages in memory.
AHEAD: Final = 32
_MOST_AHEAD: Final = 1000  # wheels that wait to be read ahead at once
_PAGE_LIMIT: Final = 32 << 20
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
                return (await self.lookup(project)).mark
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
                    metadata = (await self.files.archive(file, release)).metadata
            if metadata is not None:
                likely = follow.then(project, metadata)  # one guess for each project
                self.expect((one for one in likely if (one[0], "", follow.target) not in self._expected), follow)
        except Exception:  # noqa: S110 -- a look-ahead never fails; the error stays in the future of the request
            pass


class Pages:
    """Looks projects up. Lives on an event loop. `fetched` are the pages requested by any catalog of the run."""

    def __init__(self, cache: PageCache, fetched: Once, client: Client, warn: Callable[[Message], None]) -> None:
        self._cache = cache
        self._client = client
        self._fetched = fetched
        self._warn = warn
        self._down: dict[str, Unreachable] = {}
        self._few = asyncio.Semaphore(PAGES)  # limits the bodies held in memory
        self._reading = asyncio.Semaphore(1)  # a page of 5 MB takes 50 MB while it is parsed

    async def lookup(self, project: NormalizedName) -> Lookup:
        """Ask the indexes bound to a project. Raises IndexFailure and InputError."""
        binding = self._cache.binding(project)
        if binding.take == "all":
            asked = {name: asyncio.ensure_future(self._ask(name, project, binding)) for name in binding.indexes}
            await asyncio.gather(*asked.values(), return_exceptions=True)
            return await self._cache.lookup_by(project, lambda name: asked[name])
        return await self._cache.lookup_by(project, lambda name: self._ask(name, project, binding))

    async def _ask(self, name: str, project: NormalizedName, binding: Binding) -> str:
        """The key of the page of an index, or of its first mirror that answers; "" for none."""
        lenient = binding.unreachable != "fail"
        if lenient and name in self._down:
            raise self._down[name]
        roots = self._cache.roots(name)
        failure: Unreachable | None = None
        for at, root in enumerate(roots):
            # Little time is spent on an index that does not answer if something else can.
            patience = BRIEF if lenient or at + 1 < len(roots) else None
            fetch = partial(self._ask_root, root, name, project, patience)
            try:
                return await self._fetched.do((root, name, project), fetch)
            except Unreachable as error:
                failure = error
        assert failure is not None, "an index has at least one root"  # noqa: S101
        hint = failure.hint
        if name != PYPI and not lenient:
            hint += f"; an address that serves the same files can be added to `mirrors` of [[index]] `{name}`"
        named = Unreachable(f"Index `{name}` cannot be reached.", where=failure.where, why=failure.why, hint=hint)
        if lenient and name not in self._down:
            self._down[name] = named
            instead = "next" if binding.unreachable == "next" else "recorded"
            self._warn(message(f"index.unreachable-{instead}", index=name, why=named.why))
        raise named

    async def _ask_root(self, root: Root, name: str, project: NormalizedName, patience: Patience | None) -> str:
        """The key of the current page, "" for none; the page is read."""
        async with self._few:
            stored = self._cache.answer(root, project, name)
            self._client.remember(root)
            reply = await self._get(root, project, patience, stored)
            if reply.status == 304 and stored is not None and reply.url != stored.url:
                # Redirected to another address than before, so relative links lead elsewhere, too.
                reply = await self._get(root, project, patience, None)
            if reply.status == 304 and stored is not None:
                return stored.key
            if reply.status in (404, 410):
                self._cache.keep(root, project, StoredPage(reply.url))
                return ""
            if reply.status != 200:
                raise _bad_status(reply.status, name, project, reply.url)
            headers = reply.headers
            answer = StoredPage(reply.url, headers.get("etag", ""), headers.get("last-modified", ""))
            kind = headers.get("content-type", "")
            async with self._reading:
                keep = self._cache.keep_page
                return await asyncio.to_thread(keep, root, project, name, answer, reply.body, kind, stored)

    async def _get(
        self, root: Root, project: NormalizedName, patience: Patience | None, stored: StoredPage | None
    ) -> Reply:
        given = {"If-None-Match": stored.etag, "If-Modified-Since": stored.modified} if stored is not None else {}
        headers = {"Accept": ACCEPT} | {field: value for field, value in given.items() if value}
        return await self._client.get(root.page(project), headers=headers, limit=_PAGE_LIMIT, patience=patience)


def _bad_status(status: int, name: str, project: str, url: str) -> IndexFailure:
    message = f"Index `{name}` did not answer for {project}."
    why = f"It answered {status}."
    if status in (401, 403):
        hint = "put `machine HOST login USER password PASSWORD` in ~/.netrc"
        if name == PYPI:
            hint += ", or the address with both into pip's settings: `pip config set global.index-url …`"
        return IndexFailure(message, where=url, why=why, hint=hint)
    return IndexFailure(message, where=url, why=why, hint="open the address in a browser to see what it serves")
