"""Contents of wheels and source archives, from the cache, the `.metadata` file, or the file itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from hashlib import sha256

import httpx

from resolver.errors import IndexFailure
from resolver.index.net.client import PLAIN, Client
from resolver.index.net.downloads import Download, Downloads, check_status
from resolver.index.net.range_file import Ranges
from resolver.index.net.worker import Once
from resolver.index.parse.archive import read_archive, read_member
from resolver.index.parse.metadata import METADATA_LIMIT, Release, read
from resolver.index.protocol import UnusableFile
from resolver.index.store.stored import Hashed, NoMember, Stored, Told
from resolver.model.release import Archive, File, Metadata


class Files:
    """Reads files on servers. Lives on an event loop; each file is read once."""

    def __init__(
        self,
        stored: Stored,
        client: Client,
        downloads: Downloads,
        warn: Callable[[str], None],
    ) -> None:
        self._stored = stored
        self._client = client
        self._downloads = downloads
        self._ranges = Ranges(client, downloads)
        self._warn = warn
        self._once = Once()

    async def metadata(self, file: File, release: Release) -> Metadata:
        """A wheel's metadata. Raises UnusableFile and IndexFailure."""
        return await self._once.do(("metadata", file.url, file.sha256), lambda: self._metadata(file, release))

    async def archive(self, file: File, release: Release) -> Archive:
        """The static contents of a source archive. Raises UnusableFile and IndexFailure."""
        return await self._once.do(("archive", file.url, file.sha256), lambda: self._archive(file, release))

    async def member(self, file: File, release: Release, path: str) -> str:
        """The text of a file in a source archive. Raises UnusableFile and IndexFailure."""
        return await self._once.do(("member", file.url, file.sha256, path), lambda: self._member(file, release, path))

    async def sha256(self, file: File) -> File:
        """The file with its sha256 and size; raises IndexFailure."""
        return await self._once.do(("sha256", file.url), lambda: self._sha256(file))

    def cancel(self) -> None:
        """Cancel what is still being read."""
        self._once.cancel()

    async def _metadata(self, file: File, release: Release) -> Metadata:
        if (known := self._stored.metadata(file, release)) is not None:
            return known
        told = Told.BESIDE if file.metadata else Told.SERVER
        try:
            metadata = await self._beside(file, release)
            if metadata is None:
                told = Told.SERVER
                content, is_whole = await self._ranges.metadata(file, release)
                told = Told.FILE if is_whole and file.sha256 else Told.SERVER
                metadata = read(content, release, file.url)
        except UnusableFile as error:
            self._stored.keep_metadata(file, told, str(error))
            raise
        self._stored.keep_metadata(file, told, metadata)
        return metadata

    async def _beside(self, file: File, release: Release) -> Metadata | None:
        """The `.metadata` file beside a wheel (PEP 658), or None if there is none that can be relied on."""
        if file.metadata is None:
            return None
        path, mark, query = file.url.partition("?")
        reply = await self._client.get(f"{path}.metadata{mark}{query}", headers=PLAIN, limit=METADATA_LIMIT)
        if reply.status != 200:
            return None
        if file.metadata and (digest := sha256(reply.body).hexdigest()) != file.metadata:
            raise IndexFailure(
                f"The .metadata file of {file.filename} is not the one listed on its index page.",
                where=f"{path}.metadata",
                why=f"Its sha256 is {digest}; the page says {file.metadata}.",
                hint="a mirror or proxy may serve an altered or incomplete file; try again or use another index",
            )
        try:
            return read(reply.body, release, f"{path}.metadata")
        except UnusableFile:
            if file.metadata:
                raise
            return None

    async def _archive(self, file: File, release: Release) -> Archive:
        if (known := self._stored.archive(file)) is not None:
            return known
        download = await self._download(file)
        try:
            found = await asyncio.to_thread(read_archive, download.path, release, file.url)
        except UnusableFile as error:
            self._stored.put("archive", file.sha256, str(error))
            raise
        for path, text in found.texts.items():
            self._stored.keep_member(file, path, text)
        self._stored.put("archive", file.sha256, found.archive)
        return found.archive

    async def _member(self, file: File, release: Release, path: str) -> str:
        if (known := self._stored.member(file, path)) is not None:
            return known
        download = await self._download(file)
        try:
            found = await asyncio.to_thread(read_member, download.path, release, path)
        except UnusableFile as error:
            self._stored.keep_member(file, path, NoMember(str(error)))
            raise
        self._stored.keep_member(file, path, found)
        return found

    async def _download(self, file: File) -> Download:
        """Download the archive. It is kept for the run, since `member` is usually called right after `archive`."""
        return await self._once.do(("download", file.url, file.sha256), lambda: self._downloads.fetch(file))

    async def _sha256(self, file: File) -> File:
        known = self._stored.hashed(file)
        conditions = {"If-None-Match": known.etag, "If-Modified-Since": known.modified} if known else {}
        headers = PLAIN | {field: value for field, value in conditions.items() if value}

        async def consume(response: httpx.Response) -> Hashed:
            if response.status_code == 304 and known is not None:
                return known
            check_status(response.status_code, file)
            download = await self._downloads.keep(response, file)
            download.path.unlink()
            validators = response.headers.get("etag", ""), response.headers.get("last-modified", "")
            return Hashed(download.sha256, download.size, *validators)

        hashed = await self._client.request(file.url, consume, headers=headers, long=True)
        if hashed is not known:
            self._stored.put("hash", file.url, hashed)
            self._warn(
                f"The index has no sha256 for {file.filename}; "
                f"it was downloaded ({hashed.size} bytes) and hashed: {hashed.sha256}."
            )
        return hashed.fill(file)
