"""Requesting and reading what jobs are about. Stores nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TypeVar

from packaging.utils import NormalizedName

from resolver.catalog.net.http import Client, Reply
from resolver.catalog.net.jobs import ArchiveJob, PageJob
from resolver.catalog.parse import simple
from resolver.catalog.parse.address import Root
from resolver.catalog.parse.simple import parse
from resolver.catalog.store.answers import ArchiveAnswer, PageAnswer
from resolver.catalog.store.frozen import freeze
from resolver.catalog.store.shelf import parsed_key

T = TypeVar("T")

_PAGE_LIMIT: Final = 32 << 20


class Aside(Protocol):
    """Calls something slow."""

    def __call__(self, call: Callable[[], T], /) -> Awaitable[T]:
        """Return or raise what the call does."""
        ...


class Reader:
    """Does jobs. Lives on an event loop; slow work that others need not wait for goes `aside`."""

    def __init__(self, client: Client, aside: Aside) -> None:
        self._client = client
        self._aside = aside

    async def page(self, job: PageJob) -> PageAnswer:
        """Request a page, and read it unless it is known. Raises IndexFailure and InputError."""
        self.know(job)
        conditions = {"If-None-Match": job.etag, "If-Modified-Since": job.modified}
        reply = await self._get(job, {field: value for field, value in conditions.items() if value})
        if reply.status == 304 and reply.url != job.before:
            # Redirected to another address than before, so relative links lead elsewhere, too.
            reply = await self._get(job, {})
        if reply.status != 200:
            return PageAnswer(reply.status, reply.url)
        return await self._aside(partial(_read_page, job, reply))

    def know(self, job: PageJob) -> None:
        """Remember the credentials of a page's index for further requests to its origin."""
        self._client.remember(Root(job.root, job.user, job.password))

    async def archive(self, job: ArchiveJob) -> ArchiveAnswer:
        """Read a source archive. Raises UnusableFile and IndexFailure."""
        return await self._client.apart(partial(_read_archive, job))

    async def _get(self, job: PageJob, conditions: dict[str, str]) -> Reply:
        headers = {"Accept": simple.ACCEPT, **conditions}
        address = Root(job.root).page(job.project)
        return await self._client.get(address, headers=headers, limit=_PAGE_LIMIT, patience=job.patience)


def _read_page(job: PageJob, reply: Reply) -> PageAnswer:
    project = NormalizedName(job.project)
    content_type = reply.headers.get("content-type", "")
    key = parsed_key(reply.body, content_type, project, reply.url)
    answer = PageAnswer(
        reply.status, reply.url, reply.headers.get("etag", ""), reply.headers.get("last-modified", ""), key
    )
    if key != job.known:
        page = freeze(parse(reply.body, content_type, project=project, index=job.index, url=reply.url))
        answer.releases, answer.files = page.releases, page.files
    return answer


def _read_archive(job: ArchiveJob) -> ArchiveAnswer:
    from resolver.catalog.parse.archive import read_archive  # a third of the time of starting a process

    found = read_archive(Path(job.path), job.release, job.where)
    return ArchiveAnswer(found.archive, dict(found.texts))
