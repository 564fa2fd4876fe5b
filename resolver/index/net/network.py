"""The part of a live catalog that runs in a background thread: look-ups and look-ahead; and that thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import (
    TimeoutError as FutureTimeoutError,
)  # not the built-in one before Python 3.11
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

import httpx
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.errors import IndexFailure, Unreachable
from resolver.index.net.client import QUICK_RETRY, Client, RetryPolicy, conditions
from resolver.index.net.pipconfig import PipConfig
from resolver.index.net.remote_files import Once, RemoteFiles
from resolver.index.net.slots import Slots
from resolver.index.parse.address import Root
from resolver.index.parse.distribution import FileRelease, one_of_each_label
from resolver.index.parse.simple import ACCEPT
from resolver.index.protocol import UNREACHABLE, LookAhead, Lookup, Meter, result_of
from resolver.index.store.file_cache import FileCache
from resolver.index.store.page_cache import PageCache, StoredPage
from resolver.model.message import Message, message
from resolver.model.problem import PYPI
from resolver.model.release import CoreMetadata, File
from resolver.model.variant import VariantTable

# Concurrent look-aheads. More gained nothing on the mirror measured, and holds more pages in
# memory.
AHEAD: Final = 32
_MOST_AHEAD: Final = 1000  # wheels that wait to be read ahead at once
_PAGE_LIMIT: Final = 32 << 20
_THREADS: Final = 8  # for names of hosts, and for reading pages and archives
# Releases of a page of which the list of variants is read; and those whose wheels are opened, as
# there is no list.
_MOST_TABLES: Final = 100
_MOST_UNLISTED: Final = 5
_LEFT_OUT: Final = VariantTable(fault="its release is too old for its variants to be read")
_LAST_TURNS: Final = 5
_PATIENCE: Final = 10.0  # seconds to cancel everything; a thousandth is normally enough

T = TypeVar("T")


class LoopThread:
    """A thread that runs coroutines until it is closed.

    If memory is short, the event loop and its callbacks fail anywhere. All `wait` calls then raise
    the error, and the loop goes on, as it is needed for closing; asyncio's own tracebacks are not
    for the user.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda _, __: None)
        self._threads = ThreadPoolExecutor(_THREADS, "ascend-lock")
        self._loop.set_default_executor(self._threads)
        self._waiting: set[Future[Any]] = set()
        self._thread = threading.Thread(target=self._run, name="ascend-lock-network", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                self._loop.run_forever()
            except Exception as error:
                for future in tuple(self._waiting):
                    with suppress(Exception):  # it is done
                        future.set_exception(error)
            else:
                return

    def wait(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run the coroutine that `work` returns in the thread, and return its result.

        An interrupt cancels it.
        """
        future: Future[T] = Future()
        self._waiting.add(future)

        async def run() -> None:
            try:
                future.set_result(await work())
            except Exception as error:
                future.set_exception(error)
            except asyncio.CancelledError:
                future.cancel()

        running = asyncio.run_coroutine_threadsafe(run(), self._loop)
        try:
            return result_of(future)
        except BaseException:
            running.cancel()
            raise
        finally:
            self._waiting.discard(future)

    def call_soon(self, call: Callable[[], None]) -> None:
        """Call something in the thread, without waiting."""
        self._loop.call_soon_threadsafe(call)

    def close(self, cleanup: Callable[[], Awaitable[None]]) -> None:
        """Cancel running work, await `cleanup`, end the thread.

        What runs in other threads is not waited for.
        """

        async def finish() -> None:
            running = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            await cleanup()
            for _ in range(
                _LAST_TURNS
            ):  # closed connections release their sockets in later iterations of the loop
                await asyncio.sleep(0)
            await self._loop.shutdown_asyncgens()

        hangs = False
        try:
            asyncio.run_coroutine_threadsafe(finish(), self._loop).result(_PATIENCE)
        except FutureTimeoutError:
            hangs = (
                True  # because of something left locked by an interrupt; it ends with the process
            )
        finally:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._loop.call_soon_threadsafe(self._loop.stop)
            if not hangs:
                self._thread.join()
                self._loop.close()


class Connection:
    """What all catalogs of a run use of the network: one thread and one client, which request nothing twice.

    Everything but `worker` and `close` is for its event loop. Raises InputError for settings that
    cannot be used.
    """

    def __init__(
        self, pip: PipConfig, meter: Meter, files: FileCache, warn: Callable[[Message], None]
    ) -> None:
        self.client = Client(pip, meter)
        self.files = RemoteFiles(files, self.client, warn)
        self.pages = Once()
        self.look_ahead_slots = Slots(AHEAD)
        self.parser_slot = asyncio.Semaphore(1)  # a page of 5 MB takes 50 MB while it is parsed
        self.worker = LoopThread()

    def close(self) -> None:
        """Cancel everything, close connections, remove downloaded files."""
        try:
            self.worker.close(self.client.close)
        finally:
            self.files.close()


class Network:
    """Look-ups and look-ahead of one catalog. All but `worker` is for its event loop."""

    def __init__(
        self,
        pages: PageCache,
        connection: Connection,
        warn: Callable[[Message], None],
        release: Callable[[File], FileRelease],
    ) -> None:
        self.worker = connection.worker
        self.files = connection.files
        self._cache = pages
        self._connection = connection
        self._warn = warn
        self._release = release
        self._down: dict[str, Unreachable] = {}
        self._prefetched: set[tuple[NormalizedName, str, Hashable]] = set()
        self._opened: set[NormalizedName] = set()  # projects for which an archive was opened ahead
        self._tasks: set[asyncio.Task[None]] = set()

    async def fingerprints(self, projects: Sequence[NormalizedName]) -> list[str]:
        """The fingerprints of what `lookup` would return for each, requested concurrently."""

        async def fingerprint(project: NormalizedName) -> str:
            try:
                return (await self.lookup(project)).fingerprint
            except Unreachable:
                return UNREACHABLE

        return await asyncio.gather(*map(fingerprint, projects))

    async def close(self) -> None:
        """Cancel the look-ahead; the connection is not closed."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def prefetch_metadata(self, files: Sequence[tuple[File, FileRelease]]) -> None:
        """Start to read these wheels."""

        async def read(file: File, release: FileRelease) -> None:
            with suppress(Exception):  # raised again when the metadata is needed
                async with self._connection.look_ahead_slots.of(file.url):
                    await self.files.metadata(file, release)

        for file, release in files[
            :_MOST_AHEAD
        ]:  # a hundred thousand tasks would take memory and time
            self._start(read(file, release))

    def prefetch(
        self, requests: Iterable[tuple[NormalizedName, SpecifierSet]], look_ahead: LookAhead | None
    ) -> None:
        """Start to look ahead: once for each specifier, since a narrower one may lead to another release."""
        for project, specifier in requests:
            key = project, str(specifier), look_ahead.target if look_ahead is not None else None
            if key not in self._prefetched:
                self._prefetched.add(key)
                self._prefetched.add((project, "", key[2]))
                self._start(self._look_ahead(project, specifier, look_ahead))

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)  # the event loop itself only has weak references
        task.add_done_callback(self._tasks.discard)

    async def _look_ahead(
        self, project: NormalizedName, specifier: SpecifierSet, look_ahead: LookAhead | None
    ) -> None:
        """Read the page, the likely file's metadata, and what that requires.

        Failures are raised when it is needed.
        """
        try:
            lookup = await self.lookup(project)
            if look_ahead is None:
                return
            file = look_ahead.likely_file(project, lookup, specifier)
            if file is None or not file.url:  # none, or a recorded one
                return
            async with self._connection.look_ahead_slots.of(file.url):
                release = self._release(file)
                if file.is_wheel:
                    metadata: CoreMetadata | None = await self.files.metadata(file, release)
                elif project in self._opened:
                    return  # tens of megabytes: worth guessing one per project
                else:
                    self._opened.add(project)
                    metadata = (await self.files.archive(file, release)).metadata
            if metadata is not None:
                requests = look_ahead.next_requirements(
                    project, metadata
                )  # one guess for each project
                self.prefetch(
                    (
                        row
                        for row in requests
                        if (row[0], "", look_ahead.target) not in self._prefetched
                    ),
                    look_ahead,
                )
        except Exception:  # noqa: S110 -- a look-ahead never fails; the error stays in the future of the request
            pass

    # Pages

    async def lookup(self, project: NormalizedName) -> Lookup:
        """Look up a project on the indexes bound to it. Raises IndexFailure and InputError."""
        return await self._cache.lookup_by(project, lambda name: self._page_key(name, project))

    async def _page_key(self, name: str, project: NormalizedName) -> str:
        """The key of the page of an index, or of its first mirror that answers; "" if it has none."""
        otherwise = self._cache.if_unreachable(project)
        lenient = otherwise != "fail"
        if lenient and name in self._down:
            raise self._down[name]
        roots = self._cache.roots(name)
        for root in roots:
            # Little time is spent on an index that does not answer if something else can.
            patience = QUICK_RETRY if lenient or root != roots[-1] else None
            fetch = partial(self._fetch_page, root, name, project, patience)
            try:
                return await self._connection.pages.do((root, name, project, patience), fetch)
            except Unreachable as error:
                failure = error
        hint = failure.hint
        if name != PYPI and not lenient:
            hint += f"; an address that serves the same files can be added to `mirrors` of [[index]] `{name}`"
        failure = Unreachable(
            f"Index `{name}` cannot be reached.", where=failure.where, why=failure.why, hint=hint
        )
        if lenient and name not in self._down:  # which another task may have found out meanwhile
            self._down[name] = failure
            self._warn(message(f"index.unreachable-{otherwise}", index=name, why=failure.why))
        raise failure

    async def _fetch_page(
        self, root: Root, name: str, project: NormalizedName, patience: RetryPolicy | None
    ) -> str:
        """The key of the current page, which is stored; "" if there is none."""
        stored = self._cache.answer(root, project, name)
        self._connection.client.use(root)
        key = await self._ask(root, name, project, patience, stored)
        if key is None:
            key = await self._ask(root, name, project, patience, None)
        assert key is not None, "without a stored page none can be at another address"  # noqa: S101
        if key and self._cache.loaded(key, name).variant_files:
            return await self._with_variants(root, name, project)
        return key

    async def _with_variants(self, root: Root, name: str, project: NormalizedName) -> str:
        """Read the lists of variants on the stored page, and return the key of the page with them.

        Releases beyond a limit have their variants left out, the oldest first.
        """
        stored = self._cache.answer(root, project, name)
        assert stored is not None, "the page was stored just now"  # noqa: S101
        page = stored.page(project, name)
        wanted = {
            version: page.variant_files[version]
            for version in page.releases
            if version in page.variant_files
        }
        listed = [version for version, file in wanted.items() if file is not None][:_MOST_TABLES]
        unlisted = [version for version, file in wanted.items() if file is None][:_MOST_UNLISTED]
        versions = [*listed, *unlisted]

        async def table(version: str) -> VariantTable:
            file = wanted[version]
            wheels = [] if file is not None else one_of_each_label(page.releases[version])
            rows = [(wheel, FileRelease(wheel.filename, project, version)) for wheel in wheels]
            async with self._connection.look_ahead_slots.of(root.url):
                return await self.files.variants(file, rows)

        tables = await asyncio.gather(*map(table, versions))
        variants = dict.fromkeys(wanted, _LEFT_OUT) | dict(zip(versions, tables, strict=True))
        return self._cache.store_variants(root, project, name, stored, variants)

    async def _ask(
        self,
        root: Root,
        name: str,
        project: NormalizedName,
        patience: RetryPolicy | None,
        stored: StoredPage | None,
    ) -> str | None:
        """Return what `_fetch_page` does, or None if the stored page, which is unchanged, is now at another address.

        Relative links then lead elsewhere, too. A page is parsed before its host may send another
        one: 16 bodies of a host are in memory at most.
        """
        client = self._connection.client

        async def store(response: httpx.Response) -> str | None:
            url, status = response.extensions["address"], response.status_code
            if status == 304 and stored is not None:
                return stored.key if url == stored.url else None
            if status in (404, 410):
                self._cache.store(root, project, StoredPage(url))
                return ""
            if status != 200:
                raise _bad_status(status, name, project, url)
            answer = StoredPage(
                url, response.headers.get("etag", ""), response.headers.get("last-modified", "")
            )
            kind = response.headers.get("content-type", "")
            body = await client.body(response, _PAGE_LIMIT)
            async with self._connection.parser_slot:
                return await asyncio.to_thread(
                    self._cache.store_page, root, project, name, answer, body, kind, stored
                )

        headers = {"Accept": ACCEPT} | (
            {} if stored is None else conditions(stored.etag, stored.modified)
        )
        return await client.request(root.page(project), store, headers=headers, patience=patience)


def _bad_status(status: int, name: str, project: str, url: str) -> IndexFailure:
    hint = "open the address in a browser to see what it serves"
    if status in (401, 403):
        hint = "put `machine HOST login USER password PASSWORD` in ~/.netrc"
        if name == PYPI:
            hint += ", or the address with both into pip's settings: `pip config set global.index-url …`"
    message = f"Index `{name}` did not answer for {project}."
    return IndexFailure(message, where=url, why=f"It answered {status}.", hint=hint)
