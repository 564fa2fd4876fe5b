"""Read the contents of files on servers: metadata, members, binaries and sha256.

A content is taken from the cache, from a `.metadata` file (PEP 658), from parts of the file that
are requested as ranges (RFC 9110, 14), or otherwise from the whole file, which is downloaded.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Hashable, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import IO, Any, Final, NamedTuple, TypeVar

import httpx
from msgspec.structs import replace

from resolver import files as disk
from resolver.index.net.client import IDENTITY_ENCODING, Client, TooLongAnswer, conditions
from resolver.index.net.downloads import PartialFile, Transfer, altered, check_status
from resolver.index.net.once import once
from resolver.index.net.ranges import TAIL, DistrustError, RangedFile
from resolver.index.parse.address import NOWHERE
from resolver.index.parse.archive import read_archive, read_member
from resolver.index.parse.binaries import (
    Limits,
    binary_members,
    cost_of,
    linkage_of_wheel,
    read_linkage,
    within,
)
from resolver.index.parse.distribution import FileRelease, label_of
from resolver.index.parse.guarded import MissingSpanError, RangeFile
from resolver.index.parse.metadata import read
from resolver.index.parse.variants import TABLE_LIMIT, own_properties, read_table
from resolver.index.parse.wheel import METADATA_LIMIT, wheel_metadata, wheel_text, wheel_variant
from resolver.index.protocol import UnusableFile
from resolver.index.store.file_cache import FileCache, FileHash
from resolver.model.linkage import Linkage
from resolver.model.message import Message, message
from resolver.model.release import Archive, CoreMetadata, File
from resolver.model.variant import VariantTable
from resolver.owned_folder import OwnedFolder
from resolver.phrase import Phrase, phrase

T = TypeVar("T")

_LARGEST_SEARCHED: Final = 128 << 20  # bytes of a wheel that is downloaded to read one member
_AT_ONCE: Final = 8  # binaries of one wheel that are fetched concurrently


class WheelLinkage(NamedTuple):
    """The linkage of a wheel, and what reading it cost."""

    # None if the binaries were not read.
    linkage: Linkage | None
    # The bytes that were fetched and decompressed.
    cost: Limits


class RemoteFiles:
    """Reads each content of files on servers at most once, on an event loop, and caches it.

    Files that are downloaded completely are kept in a temporary folder that `close` removes. All
    methods raise UnusableFile if the content of a file cannot be used, and IndexFailure if its
    server does not give it. `release` is the release of a file.
    """

    def __init__(self, cache: FileCache, client: Client, warn: Callable[[Message], None]) -> None:
        """Store contents in `cache`; `warn` is called for each file that had to be hashed."""
        # For `once`.
        self.tasks: dict[Hashable, asyncio.Task[Any]] = {}
        self._cache = cache
        self._client = client
        self._warn = warn
        self._folder: TemporaryDirectory[str] | None = None

    def close(self) -> None:
        """Remove downloaded files."""
        if self._folder is not None:
            self._folder.cleanup()

    # Metadata of wheels

    @once
    async def metadata(self, file: File, release: FileRelease) -> CoreMetadata:
        """Return the core metadata of a wheel; for a variant wheel with its own properties."""
        stored = self._cache.metadata(file, release)
        if stored is not None:
            return stored
        label = label_of(file.filename)
        # A variant wheel is opened in any case, for its properties.
        is_from_metadata_file = file.metadata is not None and not label
        separate = bool(file.metadata) and not label
        try:
            metadata = None
            if is_from_metadata_file:
                metadata = await self._metadata_file(file, release)
            if metadata is None:
                separate = False
                readers = (wheel_metadata, wheel_variant) if label else (wheel_metadata,)
                content, *variant = await self._of_wheel(file, release, *readers)
                metadata = read(content, release, file.url).metadata
                if label:
                    properties = own_properties(variant[0], label, file.filename)
                    metadata = replace(metadata, own_variant=properties)
        except UnusableFile as error:
            self._cache.store_metadata(file, error, separate=separate)
            raise
        self._cache.store_metadata(file, metadata, separate=separate)
        return metadata

    async def _metadata_file(self, file: File, release: FileRelease) -> CoreMetadata | None:
        """Return the metadata in a wheel's `.metadata` file (PEP 658).

        None if the server does not have it, or if it is invalid and its sha256 is not known: then
        the wheel itself is read.
        """
        path, separator, query = file.url.partition("?")
        shown_url = f"{path}.metadata"
        url = f"{shown_url}{separator}{query}"

        async def consume(response: httpx.Response) -> bytes | None:
            if response.status_code != 200:
                return None
            return await self._client.body(response, METADATA_LIMIT)

        content = await self._client.request(url, consume, headers=IDENTITY_ENCODING)
        if content is None:
            return None
        if file.metadata:
            subject = phrase("The .metadata file of {file} is not the one", file=file.filename)
            _require_sha256(content, file.metadata, subject, shown_url)
        try:
            return read(content, release, shown_url).metadata
        except UnusableFile:
            if file.metadata:
                raise
            return None

    # Lists of variants

    async def variants(
        self, table: File | None, wheels: Sequence[tuple[File, FileRelease]]
    ) -> VariantTable:
        """Return the variants of a release: the properties of each label (PEP 825).

        They are read from the list of the index, `table`, or without one from `wheels`, one wheel
        of each label. If these cannot be used, the `fault` of the result says why. Raises
        IndexFailure, but not UnusableFile.
        """
        try:
            if table is not None:
                return await self._listed_variants(table)
            own_tables = [await self._own_table(file, release) for file, release in wheels]
        except UnusableFile as error:
            return VariantTable(fault=str(error))
        variants = {}
        for own_table in own_tables:
            variants.update(own_table.variants)
        longest = max((own_table.namespaces for own_table in own_tables), key=len, default=())
        return VariantTable(longest, variants)

    async def _listed_variants(self, table: File) -> VariantTable:
        """Return the variants in the list of an index."""
        _require_address(table)
        stored = self._cache.variants(table)
        if stored is not None:
            return stored

        async def consume(response: httpx.Response) -> bytes:
            if response.status_code in (404, 410):
                raise UnusableFile(f"{table.filename} is not there, although the index lists it")
            check_status(response.status_code, table)
            try:
                return await self._client.body(response, TABLE_LIMIT)
            except TooLongAnswer:
                raise UnusableFile(
                    f"{table.filename} is longer than {TABLE_LIMIT >> 10} KiB"
                ) from None

        content = await self._client.request(table.url, consume, headers={})
        if table.sha256:
            subject = phrase("{file} is not the file", file=table.filename)
            _require_sha256(content, table.sha256, subject, table.url)
        variants = read_table(content, table.filename)
        self._cache.store_variants(table, variants)
        return variants

    @once
    async def _own_table(self, file: File, release: FileRelease) -> VariantTable:
        """Return the variant that a wheel describes in its own `variant.json`."""
        _require_address(file)
        stored = self._cache.variants(file)
        if stored is not None:
            return stored
        (content,) = await self._of_wheel(file, release, wheel_variant)
        own_properties(content, label_of(file.filename), file.filename)
        variants = read_table(content, file.filename)
        self._cache.store_variants(file, variants)
        return variants

    # Members of wheels

    async def _of_wheel(
        self,
        file: File,
        release: FileRelease,
        *readers: Callable[[IO[bytes] | RangeFile, FileRelease], bytes],
    ) -> list[bytes]:
        """Return the members of a wheel that `readers` read.

        They are read from ranges. If the server does not support these, the whole wheel is
        downloaded, and its sha256 is checked.
        """

        def members(content: IO[bytes] | RangeFile) -> list[bytes]:
            return [reader(content, release) for reader in readers]

        try:
            ranges = await RangedFile.open(self._client, file)
            return await ranges.read(members)
        except DistrustError:
            download = await self._fetch(file)
        try:
            with download.path.open("rb") as wheel:
                return members(wheel)
        finally:
            download.path.unlink()

    @once
    async def wheel_text(self, file: File, release: FileRelease, path: str) -> str | None:
        """Return the member at `path` of a wheel as text; None if there is no such member.

        If the server does not support ranges, a large wheel is not downloaded, and UnusableFile is
        raised.
        """
        try:
            ranges = await RangedFile.open(self._client, file)
            return await ranges.read(lambda content: wheel_text(content, release.filename, path))
        except DistrustError:
            if file.size is None or file.size > _LARGEST_SEARCHED:
                raise UnusableFile(
                    f"{path} of {file.filename} cannot be read without the whole wheel"
                ) from None
        download = await self._download(file)
        with download.path.open("rb") as wheel:
            return wheel_text(wheel, release.filename, path)

    # Binaries of wheels

    async def linkage(
        self, file: File, release: FileRelease, budget: Limits, *, partly: bool = False
    ) -> WheelLinkage:
        """Return the linkage of a wheel, and what reading it cost.

        It is read from ranges, or from the whole wheel if the server does not support these. If the
        binaries together exceed the budget, the linkage is None, and only the list of members is
        fetched. With `partly`, the smallest binaries are read then, and the others are listed as
        unread.
        """
        try:
            reading = await self._linkage_by_ranges(file, release, budget, partly=partly)
        except (UnusableFile, MissingSpanError, DistrustError):
            # The server may send wrong ranges, which the sha256 of the whole file would show. A
            # span is missing if the header of a member is longer than expected.
            if file.size is None or file.size > budget.packed:
                return WheelLinkage(None, Limits(0, 0))
            reading = await self._linkage_of_download(file, file.size, release, budget)
            if reading.linkage is not None and not reading.linkage.is_complete and not partly:
                reading = reading._replace(linkage=None)
        if reading.linkage is not None and reading.linkage.is_complete:
            self._cache.store_linkage(file, reading.linkage)
        return reading

    async def _linkage_by_ranges(
        self, file: File, release: FileRelease, budget: Limits, *, partly: bool
    ) -> WheelLinkage:
        """Return what `linkage` returns, from ranges alone.

        Raises also DistrustError and MissingSpanError.
        """
        ranges = await RangedFile.open(self._client, file)
        members = await ranges.read(lambda content: binary_members(content, release.filename))
        chosen = within(members, budget)
        if len(chosen) < len(members) and not partly:
            return WheelLinkage(None, Limits(ranges.received, 0))
        longest = budget.packed + TAIL
        for first in range(0, len(chosen), _AT_ONCE):
            requests = []
            for member in chosen[first : first + _AT_ONCE]:
                end = min(member.end, ranges.size)
                requests.append(ranges.request(member.start, end, longest))
            await asyncio.gather(*requests)
        linkage = await asyncio.to_thread(read_linkage, ranges.content, release.filename, budget)
        return WheelLinkage(linkage, Limits(ranges.received, cost_of(chosen).unpacked))

    async def _linkage_of_download(
        self, file: File, size: int, release: FileRelease, budget: Limits
    ) -> WheelLinkage:
        """Return what `linkage` returns, from the whole wheel, which has `size` bytes."""
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
        return WheelLinkage(linkage, Limits(size, 0))

    # Source archives

    @once
    async def archive(self, file: File, release: FileRelease) -> Archive:
        """Return the static metadata of a source archive."""
        stored = self._cache.archive(file)
        if stored is not None:
            return stored
        download = await self._download(file)
        reading = asyncio.to_thread(read_archive, download.path, release, file.url)
        return await _stored(reading, partial(self._cache.store_archive, file))

    @once
    async def member(self, file: File, release: FileRelease, path: str) -> str:
        """Return the text of the file at `path` below the top folder of a source archive."""
        download = await self._download(file)
        reading = asyncio.to_thread(read_member, download.path, release, path)
        return await _stored(reading, partial(self._cache.store_member, file, path))

    # Whole files

    @once
    async def sha256(self, file: File) -> File:
        """Return a file whose page has no sha256, with its sha256 and size filled in.

        The file is downloaded, unless the server says that it has not changed since an earlier run.
        """
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
        """Return whether the server says that a file has not changed since it was hashed."""
        validators = conditions(file_hash.etag, file_hash.modified)
        if not validators:
            return False

        async def consume(response: httpx.Response) -> bool:
            return response.status_code == 304

        headers = IDENTITY_ENCODING | validators
        return await self._client.request(file.url, consume, headers=headers, long=True)

    @once
    async def _download(self, file: File) -> PartialFile:
        """Download a file and keep it until `close`: `archive` and `member` often need the same."""
        return await self._fetch(file)

    async def _fetch(self, file: File) -> PartialFile:
        """Download a file, and check its sha256 against the page.

        Raises InputError if the disk fails.
        """
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
            subject = phrase("{file} could not be stored for reading.", file=file.filename)
            where = folder or error.filename or ""
            raise disk.input_error(
                error, subject, where, phrase("set TMPDIR to another folder")
            ) from None


async def _stored(reading: Awaitable[T], store: Callable[[T | UnusableFile], None]) -> T:
    """Await a content, store it, and return it. UnusableFile is stored and raised."""
    try:
        content = await reading
    except UnusableFile as error:
        store(error)
        raise
    store(content)
    return content


def _require_address(file: File) -> None:
    """Raise UnusableFile if the page gives an address of the file that must not be requested."""
    if file.url == NOWHERE:
        raise UnusableFile(f"{file.filename} has an address that an index must not point to")


def _require_sha256(content: bytes, listed: str, subject: Phrase, url: str) -> None:
    """Raise WrongFile unless a content has the listed sha256. `subject` begins its message."""
    digest = sha256(content).hexdigest()
    if digest != listed:
        raise altered(subject, url, digest, listed)
