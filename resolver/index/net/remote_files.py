"""Contents of wheels and source archives, from the cache, `.metadata`, some ranges (RFC 9110, 14) or all of it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, Concatenate, Final, NamedTuple, ParamSpec, TypeVar

import httpx

from resolver import files as disk
from resolver.errors import IndexFailure
from resolver.index.net.client import IDENTITY_ENCODING, Client, conditions
from resolver.index.net.downloads import PartialFile, Transfer, altered, check_status, content_range
from resolver.index.parse.archive import (
    DIRECTORY_LIMIT,
    METADATA_LIMIT,
    MissingSpanError,
    RangeFile,
    read_archive,
    read_member,
    wheel_metadata,
)
from resolver.index.parse.distribution import FileRelease
from resolver.index.parse.metadata import read
from resolver.index.protocol import UnusableFile
from resolver.index.store.file_cache import FileCache, FileHash
from resolver.model.message import Message, message
from resolver.model.release import Archive, CoreMetadata, File

P = ParamSpec("P")
T = TypeVar("T")

# Contains the list of members and METADATA of nine wheels in ten, as METADATA comes last before the list.
_TAIL: Final = 64 << 10
_LONGEST: Final = max(DIRECTORY_LIMIT, METADATA_LIMIT) + _TAIL
_MOST: Final = 8


class _Span(NamedTuple):
    start: int
    content: bytes
    total: int
    etag: str


class _DistrustError(Exception):
    """The server's answers to ranges contradict each other."""


class Once:
    """Work that is done once per key, however many wait for it. Lives on one event loop."""

    def __init__(self) -> None:
        self._tasks: dict[Hashable, asyncio.Task[Any]] = {}

    async def do(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of `work`, which is started unless it was before; its failure is raised for all who wait."""
        task: asyncio.Task[T] | None = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.ensure_future(work())
            # Retrieve the failure, as asyncio complains about failures that nobody retrieves.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        # Shielded, since one of those who wait may be cancelled.
        return await asyncio.shield(task)


_Method = Callable[Concatenate["RemoteFiles", P], Coroutine[Any, Any, T]]


def _once(work: _Method[P, T]) -> _Method[P, T]:
    """Done once for the same arguments, however many wait for it."""

    def wait(files: RemoteFiles, /, *arguments: P.args, **named: P.kwargs) -> Coroutine[Any, Any, T]:
        return files.once.do((work.__name__, *arguments), lambda: work(files, *arguments, **named))

    return wait


class RemoteFiles:
    """Reads files on servers, each once. Lives on an event loop. Whole files are in a folder that `close` removes."""

    def __init__(self, cache: FileCache, client: Client, warn: Callable[[Message], None]) -> None:
        self._cache = cache
        self._client = client
        self._warn = warn
        self._folder: TemporaryDirectory[str] | None = None
        self.once = Once()

    def close(self) -> None:
        """Remove what was downloaded."""
        if self._folder is not None:
            self._folder.cleanup()

    @_once
    async def metadata(self, file: File, release: FileRelease) -> CoreMetadata:
        """A wheel's metadata. Raises UnusableFile and IndexFailure."""
        if (known := self._cache.metadata(file, release)) is not None:
            return known
        beside = bool(file.metadata)
        try:
            metadata = await self._metadata_file(file, release)
            if metadata is None:
                beside = False
                metadata = read(await self._of_wheel(file, release), release, file.url).metadata
        except UnusableFile as error:
            self._cache.store_metadata(file, error, beside=beside)
            raise
        self._cache.store_metadata(file, metadata, beside=beside)
        return metadata

    async def _metadata_file(self, file: File, release: FileRelease) -> CoreMetadata | None:
        """The `.metadata` file beside a wheel (PEP 658), or None if there is none that can be relied on."""
        if file.metadata is None:
            return None
        path, mark, query = file.url.partition("?")
        reply = await self._client.get(f"{path}.metadata{mark}{query}", headers=IDENTITY_ENCODING, limit=METADATA_LIMIT)
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

    async def _of_wheel(self, file: File, release: FileRelease) -> bytes:
        """METADATA, read in parts if the server has ranges, else of the whole wheel, compared with its hash."""
        try:
            return await self._of_parts(file, release)
        except _DistrustError:
            whole = await self._fetch(file)
        try:
            with whole.path.open("rb") as wheel:
                return wheel_metadata(wheel, release)
        finally:
            whole.path.unlink()

    async def _of_parts(self, file: File, release: FileRelease) -> bytes:
        """METADATA. Raises _DistrustError."""
        tail = await self._part(file, f"bytes=-{_TAIL}")
        is_whole = tail.start == 0 and file.sha256 != ""
        if tail.start + len(tail.content) != tail.total or (is_whole and _digest(tail.content) != file.sha256):
            raise _DistrustError
        content = RangeFile(tail.total)
        content.add(tail.start, tail.content)
        for _ in range(_MOST):
            try:
                return wheel_metadata(content, release)
            except MissingSpanError as missing:
                start, end = missing.args
            except UnusableFile:
                # The server may mix up ranges; a whole file can be compared with its hash.
                raise _DistrustError from None
            part = await self._part(file, f"bytes={start}-{end - 1}")
            answered = part.start, len(part.content), part.total, part.etag
            if answered != (start, end - start, tail.total, tail.etag):
                raise _DistrustError
            content.add(part.start, part.content)
        raise _DistrustError

    async def _part(self, file: File, span: str) -> _Span:
        """A part. Raises _DistrustError if the answer is none."""

        async def consume(response: httpx.Response) -> _Span:
            if response.status_code != 206:
                if response.status_code in (401, 403, 404, 410):
                    check_status(response.status_code, file)
                raise _DistrustError
            start, last, total = content_range(response) or (0, _LONGEST, 0)
            length = last - start + 1
            if length > _LONGEST or last >= total or file.size not in (None, total):
                raise _DistrustError
            try:
                content = await self._client.body(response, length)
            except IndexFailure:  # longer than it claims
                raise _DistrustError from None
            if len(content) != length:
                raise _DistrustError
            return _Span(start, content, total, response.headers.get("etag", ""))

        return await self._client.request(file.url, consume, headers={**IDENTITY_ENCODING, "Range": span})

    @_once
    async def archive(self, file: File, release: FileRelease) -> Archive:
        """The static contents of a source archive. Raises UnusableFile and IndexFailure."""
        if (known := self._cache.archive(file)) is not None:
            return known
        download = await self._download(file)
        reading = asyncio.to_thread(read_archive, download.path, release, file.url)
        return await _kept(reading, partial(self._cache.store_archive, file))

    @_once
    async def member(self, file: File, release: FileRelease, path: str) -> str:
        """The text of a file in a source archive. Raises UnusableFile and IndexFailure."""
        if (known := self._cache.member(file, path)) is not None:
            return known
        download = await self._download(file)
        reading = asyncio.to_thread(read_member, download.path, release, path)
        return await _kept(reading, partial(self._cache.store_member, file, path))

    @_once
    async def _download(self, file: File) -> PartialFile:
        """Download the archive. It is kept for the run, since `member` is usually called right after `archive`."""
        return await self._fetch(file)

    async def _fetch(self, file: File) -> PartialFile:
        """Download a file and check it against its page. Raises IndexFailure."""
        folder = ""
        try:
            if self._folder is None:
                self._folder = TemporaryDirectory(prefix=".ascend-lock-", ignore_cleanup_errors=True)
            folder = mkdtemp(dir=self._folder.name)
            return await Transfer(self._client, Path(folder), lambda _: None).fetch(file)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            message, hint = f"{file.filename} could not be stored for reading.", "set TMPDIR to another folder"
            raise disk.input_error(error, message, folder or error.filename or "", hint) from None

    @_once
    async def sha256(self, file: File) -> File:
        """The file with its sha256 and size; raises IndexFailure."""
        known = self._cache.hashed(file)
        if known is not None and await self._is_unchanged(file, known):
            return known.fill(file)
        download = await self._download(file)
        hashed = FileHash(download.sha256, download.size, *download.validators)
        self._cache.store_hash(file, hashed)
        told = {"file": file.filename, "size": hashed.size, "sha256": hashed.sha256}
        self._warn(message("index.unhashed", **told))
        return hashed.fill(file)

    async def _is_unchanged(self, file: File, known: FileHash) -> bool:
        """Whether a file on a server is still the one that was downloaded."""
        headers = IDENTITY_ENCODING | conditions(known.etag, known.modified)

        async def consume(response: httpx.Response) -> bool:
            return response.status_code == 304

        return headers != IDENTITY_ENCODING and await self._client.request(
            file.url, consume, headers=headers, long=True
        )


async def _kept(reading: Awaitable[T], keep: Callable[[T | UnusableFile], None]) -> T:
    """What is read, which is kept for later; so is the reason why a file cannot be used."""
    try:
        found = await reading
    except UnusableFile as error:
        keep(error)
        raise
    keep(found)
    return found


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()
