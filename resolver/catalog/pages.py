"""Which index answers for a project, and what it answers: bindings, mirrors, revalidation, the cache."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from packaging.utils import NormalizedName

from resolver.catalog import simple
from resolver.catalog.address import Root
from resolver.catalog.http import BRIEF, Client, Patience, Reply
from resolver.catalog.meter import Meter
from resolver.catalog.protocol import Lookup
from resolver.catalog.shelf import Record, Shelf, parsed_key
from resolver.catalog.wire import CONNECTIONS
from resolver.catalog.worker import Once
from resolver.errors import IndexFailure, Unreachable
from resolver.model.index import Binding
from resolver.model.release import Page

_PAGE_LIMIT: Final = 32 << 20


class Pages:
    """Looks projects up. Lives on an event loop. `fetched` are the pages that any catalog of the run asked for."""

    def __init__(self, shelf: Shelf, fetched: Once, meter: Meter, warn: Callable[[str], None]) -> None:
        self._shelf = shelf
        self._fetched = fetched
        self._meter = meter
        self._warn = warn
        self._down: dict[str, Unreachable] = {}
        self._few = asyncio.Semaphore(CONNECTIONS)  # no more bodies than these are held in memory

    async def lookup(self, client: Client, project: NormalizedName) -> Lookup:
        """Ask the indexes bound to a project; raises IndexFailure and InputError."""
        binding = self._shelf.binding(project)
        lenient = binding.unreachable != "fail"
        pages = []
        passed = []
        failure: Unreachable | None = None
        if binding.take == "all":
            asked = [asyncio.ensure_future(self._ask(client, name, project, binding)) for name in binding.indexes]
            await asyncio.gather(*asked, return_exceptions=True)
        for at, name in enumerate(binding.indexes):
            try:
                page = await (asked[at] if binding.take == "all" else self._ask(client, name, project, binding))
            except Unreachable as error:
                if not lenient:
                    raise
                failure = error
                passed.append(name)
                continue
            if page is not None:
                pages.append(page)
                if binding.take == "first":
                    break
        if failure is not None and len(passed) == len(binding.indexes):
            raise failure
        return Lookup(tuple(pages), tuple(passed))

    async def _ask(self, client: Client, name: str, project: NormalizedName, binding: Binding) -> Page | None:
        """The page of a project on one index or the first of its mirrors that answers."""
        lenient = binding.unreachable != "fail"
        if lenient and name in self._down:
            raise self._down[name]
        roots = self._shelf.roots(name)
        failure: Unreachable | None = None
        for at, root in enumerate(roots):
            # Where something else can answer instead, little time is spent on what does not.
            patience = BRIEF if lenient or at + 1 < len(roots) else None
            fetch = partial(self._fetch, client, root, name, project, patience)
            try:
                return await self._fetched.do((root, name, project), fetch)
            except Unreachable as error:
                failure = error
        assert failure is not None, "an index has at least one root"  # noqa: S101
        named = Unreachable(
            f"Index `{name}` cannot be reached.", where=failure.where, why=failure.why, hint=failure.hint
        )
        if lenient and name not in self._down:
            self._down[name] = named
            instead = (
                "Its projects are looked up on the next index bound to them."
                if binding.unreachable == "next"
                else "What the stack tells of its files is taken instead."
            )
            self._warn(f"{named.message} {named.why} {instead}")
        raise named

    async def _fetch(
        self, client: Client, root: Root, name: str, project: NormalizedName, patience: Patience | None
    ) -> Page | None:
        async with self._few:
            return await self._ask_root(client, root, name, project, patience)

    async def _ask_root(
        self, client: Client, root: Root, name: str, project: NormalizedName, patience: Patience | None
    ) -> Page | None:
        client.remember(root)
        stored = self._shelf.record(root, project, name)
        headers = {"Accept": simple.ACCEPT}
        if stored is not None:
            record, page = stored
            if page is not None and (record.etag or record.modified):
                conditions = {"If-None-Match": record.etag, "If-Modified-Since": record.modified}
                headers |= {field: value for field, value in conditions.items() if value}
        reply = await client.get(root.page(project), headers=headers, limit=_PAGE_LIMIT, patience=patience)
        if reply.status == 304 and stored is not None:
            if reply.url == stored[0].url:
                self._meter.add(hits=1, revalidated=1)
                return stored[1]
            # Redirected elsewhere than before: relative links would lead elsewhere, too.
            reply = await client.get(
                root.page(project), headers={"Accept": simple.ACCEPT}, limit=_PAGE_LIMIT, patience=patience
            )
        if reply.status in (404, 410):
            self._shelf.keep(root, project, Record(reply.url, "", "", ""))
            return None
        if reply.status != 200:
            raise _bad_status(reply.status, name, project, reply.url)
        return await client.aside(partial(self._read, reply, stored, root, project, name))

    def _read(
        self,
        reply: Reply,
        stored: tuple[Record, Page | None] | None,
        root: Root,
        project: NormalizedName,
        name: str,
    ) -> Page:
        """The page that was sent: parsed, unless it was before."""
        content_type = reply.headers.get("content-type", "")
        parsed = parsed_key(reply.body, content_type, project, reply.url)
        validators = reply.headers.get("etag", ""), reply.headers.get("last-modified", "")
        new = Record(reply.url, *validators, parsed)
        if stored is not None and stored[0].parsed == parsed and stored[1] is not None:
            page = stored[1]
            self._meter.add(hits=1, revalidated=1)
            if stored[0] == new:
                return page
        else:
            known = self._shelf.parsed(parsed, project, name)
            if known is None:
                read = simple.parse(reply.body, content_type, project=project, index=name, url=reply.url)
                known = self._shelf.keep_parsed(parsed, read)
            page = known
        self._shelf.keep(root, project, new)
        return page


def _bad_status(status: int, name: str, project: str, url: str) -> IndexFailure:
    message = f"Index `{name}` did not answer for {project}."
    why = f"It answered {status}."
    if status in (401, 403):
        hint = f"put user and password in ~/.netrc, or in the address of index `{name}`"
        return IndexFailure(message, where=url, why=why, hint=hint)
    return IndexFailure(message, where=url, why=why, hint="open the address in a browser to see what is there")
