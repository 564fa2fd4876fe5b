"""Contents of wheels and archives: from the cache, a `.metadata` file, ranges (RFC 9110, 14) or the whole file."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import IO, Any, Concatenate, Final, NamedTuple, ParamSpec, TypeVar

import httpx
from msgspec.structs import replace

from resolver import files as disk
from resolver.errors import IndexFailure
from resolver.index.net.client import IDENTITY_ENCODING, Client, TooLongAnswer, conditions
from resolver.index.net.downloads import PartialFile, Transfer, altered, check_status, content_range
from resolver.index.parse.address import NOWHERE
from resolver.index.parse.archive import (
    DIRECTORY_LIMIT,
    METADATA_LIMIT,
    MissingSpanError,
    RangeFile,
    read_archive,
    read_member,
    wheel_metadata,
    wheel_text,
    wheel_variant,
)
from resolver.index.parse.binaries import (
    Limits,
    binary_members,
    cost_of,
    linkage_of_wheel,
    read_linkage,
    within,
)
from resolver.index.parse.distribution import FileRelease, label_of
from resolver.index.parse.metadata import read
from resolver.index.parse.variants import TABLE_LIMIT, own_properties, read_table
from resolver.index.protocol import UnusableFile
from resolver.index.store.file_cache import FileCache, FileHash
from resolver.model.linkage import Linkage
from resolver.model.message import Message, message
from resolver.model.release import Archive, CoreMetadata, File
from resolver.model.variant import VariantTable
from resolver.owned_folder import OwnedFolder

P = ParamSpec("P")
T = TypeVar("T")

# Bytes at the end of a wheel that have the list of members and METADATA before it, in nine wheels
# of ten.
_TAIL: Final = 64 << 10
_LONGEST: Final = max(DIRECTORY_LIMIT, METADATA_LIMIT) + _TAIL
_MOST_RANGES: Final = 8
_LARGEST_SEARCHED: Final = 128 << 20  # bytes of a wheel that is downloaded to be searched
_AT_ONCE: Final = 8  # binaries of one wheel that are fetched concurrently


class _Span(NamedTuple):
    start: int
    content: bytes
    total: int
    etag: str


class WheelReading(NamedTuple):
    """The linkage of a wheel, None if it was left unread, and what reading it took."""

    linkage: Linkage | None
    cost: Limits


_FREE: Final = Limits(0, 0)


class _DistrustError(Exception):
    """The server's answers to ranges contradict each other."""


class _Ranges:
    """A file on a server of which spans are fetched. All of its methods raise _DistrustError."""

    def __init__(self, part: Callable[..., Awaitable[_Span]], tail: _Span) -> None:
        self._part = part
        self._tail = tail
        self.size = tail.total
        self.content = RangeFile(tail.total)
        self.content.add(tail.start, tail.content)
        self.fetched = len(tail.content)

    async def read(self, reader: Callable[[RangeFile], T]) -> T:
        """Return what `reader` makes of the file, for which the spans that it needs are fetched."""
        for _ in range(_MOST_RANGES):
            try:
                return reader(self.content)
            except MissingSpanError as missing:
                start, end = missing.args
            except UnusableFile:
                # the server may mix up ranges; a whole file can be compared with its hash
                raise _DistrustError from None
            await self.fetch(start, end, _LONGEST)
        raise _DistrustError

    async def fetch(self, start: int, end: int, longest: int) -> None:
        """Fetch a span, from a position up to another, of at most so many bytes."""
        part = await self._part(f"bytes={start}-{end - 1}", longest)
        answered = part.start, len(part.content), part.total, part.etag
        if answered != (start, end - start, self._tail.total, self._tail.etag):
            raise _DistrustError
        self.content.add(part.start, part.content)
        self.fetched += len(part.content)


class Once:
    """Work that is done once for each key, however many tasks await it, on one event loop."""

    def __init__(self) -> None:
        self._tasks: dict[Hashable, asyncio.Task[Any]] = {}

    async def do(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of `work`, which is started the first time; its failure is raised for all who wait."""
        task: asyncio.Task[T] | None = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.ensure_future(work())
            # asyncio complains about a failure that nobody retrieves
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        # shielded, since a task that waits may be cancelled
        return await asyncio.shield(task)


_Method = Callable[Concatenate["RemoteFiles", P], Coroutine[Any, Any, T]]


def _once(work: _Method[P, T]) -> _Method[P, T]:
    """Done once for the same positional arguments."""

    def wait(
        files: RemoteFiles, /, *arguments: P.args, **keywords: P.kwargs
    ) -> Coroutine[Any, Any, T]:
        return files.once.do(
            (work.__name__, *arguments), lambda: work(files, *arguments, **keywords)
        )

    return wait


class RemoteFiles:
    """Reads files on servers, each once, on an event loop.

    Whole files are in a folder that `close` removes.
    """

    def __init__(self, cache: FileCache, client: Client, warn: Callable[[Message], None]) -> None:
        self._cache = cache
        self._client = client
        self._warn = warn
        self._folder: TemporaryDirectory[str] | None = None
        self.once = Once()

    def close(self) -> None:
        """Remove downloaded files."""
        if self._folder is not None:
            self._folder.cleanup()

    @_once
    async def metadata(self, file: File, release: FileRelease) -> CoreMetadata:
        """A wheel's metadata. Raises UnusableFile and IndexFailure."""
        if (stored := self._cache.metadata(file, release)) is not None:
            return stored
        separate = bool(file.metadata) and not label_of(file.filename)
        try:
            metadata = await self._metadata_file(file, release)
            if metadata is None:
                separate = False
                content = await self._of_wheel(file, release, wheel_metadata)
                metadata = read(content, release, file.url).metadata
            if label := label_of(file.filename):
                content = await self._of_wheel(file, release, wheel_variant)
                metadata = replace(
                    metadata, own_variant=own_properties(content, label, file.filename)
                )
        except UnusableFile as error:
            self._cache.store_metadata(file, error, separate=separate)
            raise
        self._cache.store_metadata(file, metadata, separate=separate)
        return metadata

    async def _metadata_file(self, file: File, release: FileRelease) -> CoreMetadata | None:
        """The content of the `.metadata` file of a wheel (PEP 658), or None if there is no reliable one."""
        if file.metadata is None or label_of(
            file.filename
        ):  # a variant is opened in any case, for its properties
            return None
        path, separator, query = file.url.partition("?")
        url = f"{path}.metadata{separator}{query}"
        reply = await self._client.get(url, headers=IDENTITY_ENCODING, limit=METADATA_LIMIT)
        if reply.status != 200:
            return None
        if file.metadata and (digest := _digest(reply.body)) != file.metadata:
            what = f"The .metadata file of {file.filename} is not the one"
            raise altered(what, f"{path}.metadata", digest, file.metadata)
        try:
            return read(reply.body, release, f"{path}.metadata").metadata
        except UnusableFile:
            if file.metadata:
                raise
            return None

    async def variants(
        self, table: File | None, wheels: Sequence[tuple[File, FileRelease]]
    ) -> VariantTable:
        """Return what the labels of a release's wheels stand for: from the index's list, or else from these wheels.

        The result says what is wrong with what was read. Raises IndexFailure if a server does not
        answer.
        """
        try:
            if table is not None:
                return await self._listed_variants(table)
            tables = [await self._own_table(file, release) for file, release in wheels]
        except UnusableFile as error:
            return VariantTable(fault=str(error))
        longest = max((row.namespaces for row in tables), key=len, default=())
        return VariantTable(
            longest, {label: values for row in tables for label, values in row.variants.items()}
        )

    async def _listed_variants(self, table: File) -> VariantTable:
        """Read the list of an index. Raises UnusableFile and IndexFailure."""
        if table.url == NOWHERE:
            raise UnusableFile(f"{table.filename} has an address that an index must not point to")
        if (stored := self._cache.variants(table)) is not None:
            return stored

        async def consume(response: httpx.Response) -> bytes | None:
            if response.status_code in (404, 410):
                return None
            check_status(response.status_code, table)
            try:
                return await self._client.body(response, TABLE_LIMIT)
            except TooLongAnswer:
                raise UnusableFile(
                    f"{table.filename} is longer than {TABLE_LIMIT >> 10} KiB"
                ) from None

        content = await self._client.request(table.url, consume, headers={})
        if content is None:
            raise UnusableFile(f"{table.filename} is not there, although the index lists it")
        if table.sha256 and (digest := _digest(content)) != table.sha256:
            raise altered(f"{table.filename} is not the file", table.url, digest, table.sha256)
        variants = read_table(content, table.filename)
        self._cache.store_variants(table, variants)
        return variants

    @_once
    async def _own_table(self, file: File, release: FileRelease) -> VariantTable:
        """Read the list that a variant wheel has of itself.

        Raises UnusableFile and IndexFailure.
        """
        if file.url == NOWHERE:
            raise UnusableFile(f"{file.filename} has an address that an index must not point to")
        if (stored := self._cache.variants(file)) is not None:
            return stored
        content = await self._of_wheel(file, release, wheel_variant)
        own_properties(content, label_of(file.filename), file.filename)
        variants = read_table(content, file.filename)
        self._cache.store_variants(file, variants)
        return variants

    async def _of_wheel(
        self,
        file: File,
        release: FileRelease,
        reader: Callable[[IO[bytes] | RangeFile, FileRelease], bytes],
    ) -> bytes:
        """Return a member, by range requests if the server handles them, else from the whole wheel, checked by hash."""
        try:
            ranges = await self._open(file)
            return await ranges.read(lambda content: reader(content, release))
        except _DistrustError:
            download = await self._fetch(file)
        try:
            with download.path.open("rb") as wheel:
                return reader(wheel, release)
        finally:
            download.path.unlink()

    async def _open(self, file: File) -> _Ranges:
        """Return a file of which the end was fetched. Raises _DistrustError."""
        tail = await self._part(file, f"bytes=-{_TAIL}")
        is_whole = tail.start == 0 and file.sha256 != ""
        if tail.start + len(tail.content) != tail.total or (
            is_whole and _digest(tail.content) != file.sha256
        ):
            raise _DistrustError
        return _Ranges(partial(self._part, file), tail)

    @_once
    async def wheel_text(self, file: File, release: FileRelease, path: str) -> str | None:
        """A member of a wheel as text, None if there is none.

        Raises UnusableFile and IndexFailure.
        """
        try:
            ranges = await self._open(file)
            return await ranges.read(lambda content: wheel_text(content, release.filename, path))
        except _DistrustError:
            if file.size is None or file.size > _LARGEST_SEARCHED:
                raise UnusableFile(
                    f"{path} of {file.filename} cannot be read without the whole wheel"
                ) from None
        download = await self._download(file)
        with download.path.open("rb") as wheel:
            return wheel_text(wheel, release.filename, path)

    async def linkage(
        self, file: File, release: FileRelease, budget: Limits, *, partly: bool = False
    ) -> WheelReading:
        """Return the linkage of a wheel, by ranges; from the whole wheel where a server does not handle them.

        A wheel that would exceed the budget is left unread, and only its list of members is
        fetched; with `partly`, its smallest binaries are read. Raises UnusableFile, and
        IndexFailure.
        """
        try:
            return await self._linkage_by_ranges(file, release, budget, partly=partly)
        except (UnusableFile, MissingSpanError, _DistrustError):
            # The server may mix up ranges; a whole file can be compared with its hash. And a span
            # is missing after a member's header that is longer than such headers are.
            if file.size is None or file.size > budget.packed:
                return WheelReading(None, _FREE)
        download = await self._fetch(file)
        try:
            linkage = await asyncio.to_thread(
                linkage_of_wheel, download.path, release.filename, budget
            )
        except UnusableFile as error:
            self._cache.store_linkage(file, error)
            raise
        finally:
            download.path.unlink()
        if not linkage.is_complete and not partly:
            return WheelReading(None, Limits(file.size, 0))
        return self._stored_linkage(file, WheelReading(linkage, Limits(file.size, 0)))

    async def _linkage_by_ranges(
        self, file: File, release: FileRelease, budget: Limits, *, partly: bool
    ) -> WheelReading:
        """Return the linkage of a wheel.

        Raises _DistrustError, MissingSpanError, UnusableFile and IndexFailure.
        """
        ranges = await self._open(file)
        members = await ranges.read(lambda content: binary_members(content, release.filename))
        chosen = within(members, budget)
        if len(chosen) < len(members) and not partly:
            return WheelReading(None, Limits(ranges.fetched, 0))
        longest = budget.packed + _TAIL
        for start in range(0, len(chosen), _AT_ONCE):
            members_now = chosen[start : start + _AT_ONCE]
            spans = [(member.start, min(member.end, ranges.size)) for member in members_now]
            await asyncio.gather(*(ranges.fetch(*span, longest) for span in spans))
        linkage = await asyncio.to_thread(read_linkage, ranges.content, release.filename, budget)
        cost = Limits(ranges.fetched, cost_of(chosen).unpacked)
        return self._stored_linkage(file, WheelReading(linkage, cost))

    def _stored_linkage(self, file: File, reading: WheelReading) -> WheelReading:
        if reading.linkage is not None and reading.linkage.is_complete:
            self._cache.store_linkage(file, reading.linkage)
        return reading

    async def _part(self, file: File, span: str, longest: int = _LONGEST) -> _Span:
        """A range of a file. Raises _DistrustError."""

        async def consume(response: httpx.Response) -> _Span:
            if response.status_code != 206:
                if response.status_code in (401, 403, 404, 410):
                    check_status(response.status_code, file)
                raise _DistrustError
            start, last, total = content_range(response) or (0, longest, 0)
            length = last - start + 1
            if length > longest or last >= total or file.size not in (None, total):
                raise _DistrustError
            try:
                content = await self._client.body(response, length)
            except IndexFailure:  # longer than it claims
                raise _DistrustError from None
            if len(content) != length:
                raise _DistrustError
            return _Span(start, content, total, response.headers.get("etag", ""))

        return await self._client.request(
            file.url, consume, headers={**IDENTITY_ENCODING, "Range": span}
        )

    @_once
    async def archive(self, file: File, release: FileRelease) -> Archive:
        """The static contents of a source archive. Raises UnusableFile and IndexFailure."""
        if (stored := self._cache.archive(file)) is not None:
            return stored
        download = await self._download(file)
        reading = asyncio.to_thread(read_archive, download.path, release, file.url)
        return await _stored(reading, partial(self._cache.store_archive, file))

    @_once
    async def member(self, file: File, release: FileRelease, path: str) -> str:
        """The text of a file in a source archive. Raises UnusableFile and IndexFailure."""
        download = await self._download(file)
        reading = asyncio.to_thread(read_member, download.path, release, path)
        return await _stored(reading, partial(self._cache.store_member, file, path))

    @_once
    async def _download(self, file: File) -> PartialFile:
        """Download an archive for the run, since `member` is usually called right after `archive`."""
        return await self._fetch(file)

    async def _fetch(self, file: File) -> PartialFile:
        """Download a file and check it against its page. Raises IndexFailure."""
        folder = ""
        try:
            if self._folder is None:
                self._folder = TemporaryDirectory(
                    prefix=".ascend-lock-", ignore_cleanup_errors=True
                )
            folder = mkdtemp(dir=self._folder.name)
            with OwnedFolder.open(Path(folder)) as owned:
                return await Transfer(self._client, owned, lambda _: None).fetch(file)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            message, hint = (
                f"{file.filename} could not be stored for reading.",
                "set TMPDIR to another folder",
            )
            raise disk.input_error(error, message, folder or error.filename or "", hint) from None

    @_once
    async def sha256(self, file: File) -> File:
        """The file with its sha256 and size; raises IndexFailure."""
        stored = self._cache.hashed(file)
        if stored is not None and await self._is_unchanged(file, stored):
            return stored.fill(file)
        download = await self._download(file)
        file_hash = FileHash(download.sha256, download.size, *download.validators)
        self._cache.store_hash(file, file_hash)
        self._warn(
            message(
                "index.unhashed", file=file.filename, size=file_hash.size, sha256=file_hash.sha256
            )
        )
        return file_hash.fill(file)

    async def _is_unchanged(self, file: File, file_hash: FileHash) -> bool:
        """Whether a file on a server is still the one that was downloaded."""
        headers = IDENTITY_ENCODING | conditions(file_hash.etag, file_hash.modified)

        async def consume(response: httpx.Response) -> bool:
            return response.status_code == 304

        return headers != IDENTITY_ENCODING and await self._client.request(
            file.url, consume, headers=headers, long=True
        )


async def _stored(reading: Awaitable[T], store: Callable[[T | UnusableFile], None]) -> T:
    """The content of a file, which is stored, as is the reason why the file cannot be used."""
    try:
        content = await reading
    except UnusableFile as error:
        store(error)
        raise
    store(content)
    return content


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()
