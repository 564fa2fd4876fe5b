"""Which index answers for a project, and what it answers: bindings, mirrors, revalidation, the cache."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from hashlib import blake2b
from typing import Final

import msgspec
from packaging.utils import NormalizedName

from resolver.catalog import frozen, simple
from resolver.catalog.address import Root, read_root
from resolver.catalog.cache import Cache
from resolver.catalog.http import BRIEF, Client, Patience, Unreachable
from resolver.catalog.meter import Meter
from resolver.catalog.protocol import Lookup
from resolver.errors import IndexFailure, InputError
from resolver.model.index import PYPI, Index, Indexes
from resolver.model.release import Page

_PAGE_LIMIT: Final = 256 << 20
_PARSER: Final = "1"  # part of every key: another number, and all pages are parsed anew


class _Record(msgspec.Struct, array_like=True, gc=False):
    """What an index last answered for a project: validators, and the key of the parsed page ("" for none)."""

    url: str
    etag: str
    modified: str
    parsed: str


_encode_record = msgspec.msgpack.Encoder().encode
_decode_record = msgspec.msgpack.Decoder(_Record).decode


class Pages:
    """Looks projects up. `lookup` lives on an event loop; `cached` asks no network."""

    def __init__(
        self,
        indexes: Indexes,
        platform: str,
        cache: Cache,
        pypi_url: Callable[[], str],
        meter: Meter,
        warn: Callable[[str], None],
    ) -> None:
        self._indexes = indexes
        self._platform = platform
        self._cache = cache
        self._pypi_url = pypi_url
        self._meter = meter
        self._warn = warn
        self._roots: dict[str, tuple[Root, ...]] = {}
        self._down: dict[str, Unreachable] = {}

    def roots(self, name: str) -> tuple[Root, ...]:
        """The addresses of an index, its mirrors last; raises InputError."""
        if name not in self._roots:
            index = self._indexes.indexes.get(name) or (Index(name=PYPI) if name == PYPI else None)
            if index is None:
                raise InputError(f"A binding names the index `{name}`, which is not defined.")
            url = index.url or (self._pypi_url() if name == PYPI else "")
            if not url:
                raise InputError(f"The index `{name}` has no url.")
            self._roots[name] = tuple(read_root(one, name) for one in (url, *index.mirrors))
        return self._roots[name]

    def cached(self, project: NormalizedName) -> Lookup:
        """What the cache has of a project; raises IndexFailure where no bound index was ever asked for it."""
        binding = self._indexes.binding(project, self._platform)
        pages = []
        unknown = []
        for name in binding.indexes:
            answers = [self._stored(root, project, name) for root in self.roots(name)]
            known = [answer for answer in answers if answer is not None]
            if not known:
                unknown.append(name)
                if binding.unreachable == "fail":
                    break
                continue
            page = next((page for _, page in known if page is not None), None)
            if page is not None:
                self._meter.add(hits=1)
                pages.append(page)
                if binding.take == "first":
                    break
        if unknown and (binding.unreachable == "fail" or len(unknown) == len(binding.indexes)):
            raise IndexFailure(
                f"{project} is not in the cache, and --offline asks no network.",
                where=f"index `{unknown[0]}`",
                hint="lock once without --offline; the cache then has what is needed",
            )
        return Lookup(tuple(pages), tuple(unknown))

    async def lookup(self, client: Client, project: NormalizedName) -> Lookup:
        """Ask the indexes bound to a project; raises IndexFailure and InputError."""
        binding = self._indexes.binding(project, self._platform)
        lenient = binding.unreachable == "next"
        pages = []
        passed = []
        failure: Unreachable | None = None
        if binding.take == "all":
            asked = [asyncio.ensure_future(self._ask(client, name, project, lenient)) for name in binding.indexes]
            await asyncio.gather(*asked, return_exceptions=True)
        for at, name in enumerate(binding.indexes):
            try:
                page = await (asked[at] if binding.take == "all" else self._ask(client, name, project, lenient))
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

    async def _ask(self, client: Client, name: str, project: NormalizedName, lenient: bool) -> Page | None:
        """The page of a project on one index or the first of its mirrors that answers."""
        if lenient and name in self._down:
            raise self._down[name]
        roots = self.roots(name)
        failure: Unreachable | None = None
        for at, root in enumerate(roots):
            # Where something else can answer instead, little time is spent on what does not.
            patience = BRIEF if lenient or at + 1 < len(roots) else None
            try:
                return await self._fetch(client, root, name, project, patience)
            except Unreachable as error:
                failure = error
        assert failure is not None, "an index has at least one root"  # noqa: S101
        named = Unreachable(
            f"Index `{name}` cannot be reached.", where=failure.where, why=failure.why, hint=failure.hint
        )
        if lenient and name not in self._down:
            self._down[name] = named
            self._warn(f"{named.message} {named.why} Its projects are looked up on the next index bound to them.")
        raise named

    async def _fetch(
        self, client: Client, root: Root, name: str, project: NormalizedName, patience: Patience | None
    ) -> Page | None:
        client.remember(root)
        stored = self._stored(root, project, name)
        headers = {"Accept": simple.ACCEPT}
        if stored is not None:
            record, page = stored
            if page is not None and (record.etag or record.modified):
                conditions = {"If-None-Match": record.etag, "If-Modified-Since": record.modified}
                headers |= {field: value for field, value in conditions.items() if value}
        reply = await client.get(root.page(project), headers=headers, limit=_PAGE_LIMIT, patience=patience)
        if reply.status == 304 and stored is not None:
            if reply.url == stored[0].url:
                self._meter.add(hits=1)
                return stored[1]
            # Redirected elsewhere than before: relative links would lead elsewhere, too.
            reply = await client.get(
                root.page(project), headers={"Accept": simple.ACCEPT}, limit=_PAGE_LIMIT, patience=patience
            )
        if reply.status in (404, 410):
            self._cache.put("page", _key(root, project), _encode_record(_Record(reply.url, "", "", "")))
            return None
        if reply.status != 200:
            raise _bad_status(reply.status, name, project, reply.url)
        content_type = reply.headers.get("content-type", "")
        parsed = _parsed_key(reply.body, content_type, project, reply.url)
        validators = reply.headers.get("etag", ""), reply.headers.get("last-modified", "")
        new = _Record(reply.url, *validators, parsed)
        if stored is not None and stored[0].parsed == parsed and stored[1] is not None:
            page = stored[1]
            self._meter.add(hits=1)
            if stored[0] == new:
                return page
        else:
            page = self._parsed(parsed, project, name)
            if page is None:
                read = simple.parse(reply.body, content_type, project=project, index=name, url=reply.url)
                content = frozen.freeze(read)
                self._cache.put("parsed", parsed, content)
                page = frozen.thaw(content, project, name) or read
        self._cache.put("page", _key(root, project), _encode_record(new))
        return page

    def _stored(self, root: Root, project: NormalizedName, name: str) -> tuple[_Record, Page | None] | None:
        """What the cache has: None for nothing, a page of None where the index did not have the project."""
        content = self._cache.get("page", _key(root, project))
        if content is None:
            return None
        try:
            record = _decode_record(content)
        except msgspec.DecodeError:
            return None
        if not record.parsed:
            return record, None
        page = self._parsed(record.parsed, project, name)
        return None if page is None else (record, page)

    def _parsed(self, key: str, project: NormalizedName, name: str) -> Page | None:
        content = self._cache.get("parsed", key)
        return None if content is None else frozen.thaw(content, project, name)


def _key(root: Root, project: NormalizedName) -> str:
    """The key of a record. Who asks is part of it, as an index may answer each user differently."""
    return "\0".join((_PARSER, root.url, root.user, root.password, project))


def _parsed_key(body: bytes, content_type: str, project: NormalizedName, url: str) -> str:
    digest = blake2b(body, digest_size=20)
    digest.update("\0".join(("", _PARSER, content_type, project, url)).encode())
    return digest.hexdigest()


def _bad_status(status: int, name: str, project: str, url: str) -> IndexFailure:
    message = f"Index `{name}` did not answer for {project}."
    why = f"It answered {status}."
    if status in (401, 403):
        hint = f"put user and password in ~/.netrc, or in the address of index `{name}`"
        return IndexFailure(message, where=url, why=why, hint=hint)
    return IndexFailure(message, where=url, why=why, hint="open the address in a browser to see what is there")
