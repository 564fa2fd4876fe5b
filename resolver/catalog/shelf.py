"""Pages in the cache, and which of them answer for a project. Imports neither asyncio nor an HTTP client."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from typing import Final

import msgspec
from packaging.utils import NormalizedName

from resolver.catalog import frozen
from resolver.catalog.address import Root, read_root
from resolver.catalog.cache import Cache
from resolver.catalog.meter import Meter
from resolver.catalog.packed import reader
from resolver.catalog.protocol import Lookup
from resolver.errors import IndexFailure, InputError
from resolver.model.index import PYPI, Binding, Index, Indexes
from resolver.model.release import Page
from resolver.profile import counts

_PARSER: Final = "3"  # part of every key: another number, and all pages are parsed anew


class Record(msgspec.Struct, array_like=True, gc=False):
    """What an index last answered for a project: validators, and the key of the parsed page ("" for none)."""

    url: str
    etag: str
    modified: str
    parsed: str


_encode_record = msgspec.msgpack.Encoder().encode
_read_record = reader(msgspec.msgpack.Decoder(Record).decode)


class Shelf:
    """The cached pages of a set of indexes. May be used from any thread. `pages` are those that were read already.

    `careful` looks at all of a page before it answers, and so costs more than most runs need.
    """

    def __init__(
        self,
        indexes: Indexes,
        platform: str,
        cache: Cache,
        pypi_url: Callable[[], str],
        meter: Meter,
        pages: dict[tuple[str, str], Page] | None = None,
        *,
        careful: bool = False,
    ) -> None:
        self._indexes = indexes
        self._platform = platform
        self._cache = cache
        self._pypi_url = pypi_url
        self._meter = meter
        self._pages = {} if pages is None else pages
        self._careful = careful
        self._roots: dict[str, tuple[Root, ...]] = {}

    def binding(self, project: NormalizedName) -> Binding:
        """The binding that rules a project."""
        return self._indexes.binding(project, self._platform)

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

    def lookup(self, project: NormalizedName) -> Lookup:
        """What the cache has of a project; raises IndexFailure where no bound index was ever asked for it."""
        binding = self.binding(project)
        pages = []
        unknown = []
        for name in binding.indexes:
            answers = [self.record(root, project, name) for root in self.roots(name)]
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

    def record(self, root: Root, project: NormalizedName, name: str) -> tuple[Record, Page | None] | None:
        """What the cache has: None for nothing, a page of None where the index did not have the project."""
        content = self._cache.get("page", _key(root, project))
        record = None if content is None else _read_record(content)
        if record is None:
            return None
        if not record.parsed:
            return record, None
        page = self.parsed(record.parsed, project, name)
        return None if page is None else (record, page)

    def keep(self, root: Root, project: NormalizedName, record: Record) -> None:
        """Store what an index answered."""
        self._cache.put("page", _key(root, project), _encode_record(record))

    @counts("parsing")
    def parsed(self, key: str, project: NormalizedName, name: str) -> Page | None:
        """The page of that key, as one of the index `name`."""
        if (known := self._pages.get((key, name))) is not None:
            return known
        content = self._cache.get("parsed", key)
        if content is None:
            return None
        files = self._cache.part("files", key)
        page = frozen.thaw(content, project, name, files, partial(self._lose, key, name), whole=self._careful)
        if page is not None:
            self._pages[key, name] = page
        return page

    @counts("parsing")
    def keep_parsed(self, key: str, page: Page) -> Page:
        """Store a page; the one returned takes less memory."""
        content, files = frozen.freeze(page)
        self._cache.put("files", key, files)
        self._cache.put("parsed", key, content)
        return self.parsed(key, page.project, page.index) or page

    def _lose(self, key: str, name: str) -> None:
        """Forget a page whose files are damaged."""
        self._cache.discard("files", key)
        self._pages.pop((key, name), None)


def _key(root: Root, project: NormalizedName) -> str:
    """The key of a record. Who asks is part of it, as an index may answer each user differently."""
    return "\0".join((_PARSER, root.url, root.user, project))


def parsed_key(body: bytes, content_type: str, project: NormalizedName, url: str) -> str:
    """The key of what is parsed from a body: equal only where parsing would give the same page."""
    digest = blake2b(body, digest_size=20)
    digest.update("\0".join(("", _PARSER, content_type, project, url)).encode())
    return digest.hexdigest()
