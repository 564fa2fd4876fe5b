"""Request the pages of projects from the servers of indexes."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from typing import Any, Final

import httpx
from packaging.utils import NormalizedName

from resolver.errors import IndexFailure
from resolver.index.net.client import Client, RetryPolicy, conditions
from resolver.index.net.once import once
from resolver.index.net.remote_files import RemoteFiles
from resolver.index.net.slots import Slots
from resolver.index.parse.address import Root
from resolver.index.parse.distribution import FileRelease, one_of_each_label
from resolver.index.parse.simple import ACCEPT
from resolver.index.store.page_cache import IndexAnswer, PageCache, StoredPage
from resolver.model.problem import PYPI
from resolver.model.variant import VariantTable
from resolver.phrase import phrase

_PAGE_LIMIT: Final = 32 << 20  # bytes
# For this many releases of a page, the list of variants is read (PEP 825).
_MOST_TABLES: Final = 100
# For this many releases without such a list, wheels are opened to learn their variants.
_MOST_UNLISTED: Final = 5
# Stands for the variants of all other releases.
_LEFT_OUT: Final = VariantTable(fault="its release is too old for its variants to be read")


class RemotePages:
    """Requests each page at most once, on an event loop.

    If the server says that a page has not changed since an earlier run, it is read from the cache.
    """

    def __init__(
        self, cache: PageCache, client: Client, files: RemoteFiles, look_ahead_slots: Slots
    ) -> None:
        """Store pages in `cache`. `files` reads the lists of variants."""
        # For `once`.
        self.tasks: dict[Hashable, asyncio.Task[Any]] = {}
        self._cache = cache
        self._client = client
        self._files = files
        self._look_ahead_slots = look_ahead_slots
        # One page is parsed at a time: a page of 5 MB takes 50 MB of memory meanwhile.
        self._parser_slot = asyncio.Semaphore(1)

    @once
    async def answer(
        self, root: Root, index: str, project: NormalizedName, patience: RetryPolicy | None
    ) -> IndexAnswer:
        """Return the answer of one address of an index about a project, and store it in the cache.

        `index` is the name of the index. `patience` says how often a request is tried; None means
        as often as usual. Raises IndexFailure, or Unreachable after the last try.
        """
        self._client.use(root)
        stored = self._cache.load(root, project)
        answer = await self._request(root, index, project, patience, stored)
        if answer is None:
            answer = await self._request(root, index, project, patience, None)
        assert answer is not None, "without a stored page none can be at another address"  # noqa: S101
        if answer.variant_files:
            answer = await self._with_variants(root, index, project, answer)
        return self._cache.answer(answer, project, index)

    async def _request(
        self,
        root: Root,
        index: str,
        project: NormalizedName,
        patience: RetryPolicy | None,
        stored: StoredPage | None,
    ) -> StoredPage | None:
        """Request a page, store the answer, and return it.

        `stored` is the answer of an earlier run, if there is one; it is returned if the page has
        not changed. None if the page has not changed, but the request was redirected to another
        address than then: relative links of the stored page would lead elsewhere.
        """

        async def consume(response: httpx.Response) -> StoredPage | None:
            url = response.extensions["address"]
            status = response.status_code
            if status == 304 and stored is not None:
                return stored if url == stored.url else None
            if status in (404, 410):
                absent = StoredPage(url)
                self._cache.store(root, project, absent)
                return absent
            if status != 200:
                raise _bad_status(status, index, project, url)
            return await self._read(response, root, index, project, stored)

        headers = {"Accept": ACCEPT}
        if stored is not None:
            headers |= conditions(stored.etag, stored.modified)
        url = root.page(project)
        return await self._client.request(url, consume, headers=headers, patience=patience)

    async def _read(
        self,
        response: httpx.Response,
        root: Root,
        index: str,
        project: NormalizedName,
        stored: StoredPage | None,
    ) -> StoredPage:
        """Read the page in the body of a response, store it, and return it as an answer.

        The page is parsed before the slot of the request is free again. So at most 16 bodies of one
        host are in memory at a time.
        """
        answer = StoredPage(
            url=response.extensions["address"],
            etag=response.headers.get("etag", ""),
            modified=response.headers.get("last-modified", ""),
        )
        content_type = response.headers.get("content-type", "")
        body = await self._client.body(response, _PAGE_LIMIT)
        async with self._parser_slot:
            return await asyncio.to_thread(
                self._cache.store_page, root, project, index, answer, body, content_type, stored
            )

    async def _with_variants(
        self, root: Root, index: str, project: NormalizedName, answer: StoredPage
    ) -> StoredPage:
        """Read the variants of a page's releases, store the answer with them, and return it.

        They are read from the lists of variants, or without one from wheels. Beyond a limit of
        releases, the variants of older releases are not read.
        """
        page = answer.page(project, index)
        variants: dict[str, VariantTable] = {}
        listed: list[str] = []
        unlisted: list[str] = []
        for version in page.releases:
            if version in page.variant_files:
                variants[version] = _LEFT_OUT
                if page.variant_files[version] is not None:
                    listed.append(version)
                else:
                    unlisted.append(version)

        async def read(version: str) -> None:
            table = page.variant_files[version]
            wheels = [] if table is not None else one_of_each_label(page.releases[version])
            releases = [FileRelease(wheel.filename, project, version) for wheel in wheels]
            async with self._look_ahead_slots.of(root.url):
                variants[version] = await self._files.variants(
                    table, list(zip(wheels, releases, strict=True))
                )

        versions = listed[:_MOST_TABLES] + unlisted[:_MOST_UNLISTED]
        await asyncio.gather(*map(read, versions))
        return self._cache.store_variants(root, project, answer, variants)


def _bad_status(status: int, index: str, project: str, url: str) -> IndexFailure:
    """Return the failure of a page for which the server sent an unexpected HTTP status."""
    hint = phrase("open the address in a browser to see what it serves")
    if status in (401, 403):
        hint = phrase("put `machine HOST login USER password PASSWORD` in ~/.netrc")
        if index == PYPI:
            hint = phrase(
                "put `machine HOST login USER password PASSWORD` in ~/.netrc, or the address with "
                "both into pip's settings: `pip config set global.index-url …`"
            )
    message = phrase("Index `{index}` did not answer for {project}.", index=index, project=project)
    return IndexFailure(
        message, where=url, why=phrase("It answered {status}.", status=status), hint=hint
    )
