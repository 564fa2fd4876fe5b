"""Which index answers for a project, and its answer: bindings, mirrors, revalidation, cache."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from packaging.utils import NormalizedName

from resolver.errors import IndexFailure, Unreachable
from resolver.index.net.client import PAGES, Client, Reply
from resolver.index.net.failures import BRIEF, Patience
from resolver.index.net.worker import Once
from resolver.index.parse.address import Root
from resolver.index.parse.simple import ACCEPT
from resolver.index.protocol import Lookup
from resolver.index.store.page_cache import Answer, IndexAnswer, PageCache, mark_of
from resolver.model.message import Message, message
from resolver.model.problem import PYPI, Binding

_PAGE_LIMIT: Final = 32 << 20


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
        return self._cache.lookup_of(project, *await self._answers(project))

    async def mark(self, project: NormalizedName) -> str:
        """The mark of what `lookup` would answer. Makes the same requests."""
        return mark_of(*await self._answers(project))

    async def _answers(self, project: NormalizedName) -> tuple[list[IndexAnswer], tuple[str, ...]]:
        binding = self._cache.binding(project)
        if binding.take == "all":
            asked = {name: asyncio.ensure_future(self._ask(name, project, binding)) for name in binding.indexes}
            await asyncio.gather(*asked.values(), return_exceptions=True)
            return await self._cache.answers(project, lambda name: asked[name])
        return await self._cache.answers(project, lambda name: self._ask(name, project, binding))

    async def _ask(self, name: str, project: NormalizedName, binding: Binding) -> IndexAnswer:
        """The answer of an index, or of its first mirror that answers."""
        lenient = binding.unreachable != "fail"
        if lenient and name in self._down:
            raise self._down[name]
        roots = self._cache.roots(name)
        failure: Unreachable | None = None
        for at, root in enumerate(roots):
            # Little time is spent on an index that does not answer if something else can.
            patience = BRIEF if lenient or at + 1 < len(roots) else None
            fetch = partial(self._fetch, root, name, project, patience)
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

    async def _fetch(self, root: Root, name: str, project: NormalizedName, patience: Patience | None) -> IndexAnswer:
        async with self._few:
            return IndexAnswer(name, root, await self._ask_root(root, name, project, patience))

    async def _ask_root(self, root: Root, name: str, project: NormalizedName, patience: Patience | None) -> str:
        """The key of the current page, "" for none; the page is read."""
        stored = self._cache.answer(root, project)
        if stored is not None and self._cache.page(IndexAnswer(name, root, stored.key), project) is None:
            stored = None
        self._client.remember(root)
        reply = await self._get(root, project, patience, stored)
        if reply.status == 304 and stored is not None and reply.url != stored.url:
            # Redirected to another address than before, so relative links lead elsewhere, too.
            reply = await self._get(root, project, patience, None)
        if reply.status == 304 and stored is not None:
            return stored.key
        if reply.status in (404, 410):
            self._cache.keep(root, project, Answer(reply.url))
            return ""
        if reply.status != 200:
            raise _bad_status(reply.status, name, project, reply.url)
        headers = reply.headers
        answer = Answer(reply.url, headers.get("etag", ""), headers.get("last-modified", ""))
        kind = headers.get("content-type", "")
        async with self._reading:
            keep = self._cache.keep_page
            return await asyncio.to_thread(keep, root, project, name, answer, reply.body, kind, stored)

    async def _get(
        self, root: Root, project: NormalizedName, patience: Patience | None, stored: Answer | None
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
