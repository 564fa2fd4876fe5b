"""Pages in the cache, and which of them apply to a project. Imports neither asyncio nor an HTTP client."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace
from packaging.utils import NormalizedName

from resolver.catalog.meter import Meter
from resolver.catalog.parse.address import Root, read_root
from resolver.catalog.protocol import Lookup
from resolver.catalog.store import frozen
from resolver.catalog.store.cache import Cache
from resolver.catalog.store.packed import reader
from resolver.errors import IndexFailure, InputError
from resolver.model.index import PYPI, Binding, Index, Indexes
from resolver.model.release import Page

_PARSER: Final = "7"  # part of every key: with another number, all pages are parsed anew


class Record(msgspec.Struct, array_like=True, gc=False):
    """An index's last answer for a project: validators, the key of the parsed page ("" for none), the page.

    The page is in the form of `frozen`: its releases here, its files in an entry of their own with the seal `files`.
    """

    url: str
    etag: str
    modified: str
    parsed: str
    releases: msgspec.Raw = msgspec.Raw(msgspec.msgpack.encode(None))
    files: bytes = b""


class RawPage(NamedTuple):
    """A page as an index sent it from `url`, after any redirects."""

    url: str
    body: bytes
    content_type: str
    etag: str
    modified: str


_encode_record = msgspec.msgpack.Encoder().encode
_read_record = reader(msgspec.msgpack.Decoder(Record).decode)


class _Found(NamedTuple):
    """The last answers of a binding's indexes: pages with their keys, the key of each answer, indexes never asked."""

    pages: list[tuple[str, Page | None]]
    answers: tuple[tuple[str, str], ...]
    unknown: tuple[str, ...]

    def mark(self) -> str:
        """See `mark_of`."""
        return mark_of(self.answers, self.unknown)


class Shelf:
    """The cached pages of a set of indexes. May be used from any thread. `pages` are those read already.

    `careful` checks all of a page before it is used, which costs more than most runs need.
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
        """The binding that applies to a project."""
        return self._indexes.binding(project, self._platform)

    def roots(self, name: str) -> tuple[Root, ...]:
        """The addresses of an index, its mirrors last. Raises InputError."""
        if name not in self._roots:
            index = self._indexes.indexes.get(name) or (Index(name=PYPI) if name == PYPI else None)
            if index is None:
                raise InputError(
                    f"A binding names the index `{name}`, which is not defined.",
                    hint="define it as an [[index]] of the stack or of matrices/indexes.toml",
                )
            url = index.url or (self._pypi_url() if name == PYPI else "")
            if not url:
                raise InputError(
                    f"The index `{name}` has no url.", hint="set pip's with `pip config set global.index-url URL`"
                )
            self._roots[name] = tuple(read_root(one, name) for one in (url, *index.mirrors))
        return self._roots[name]

    def lookup(self, project: NormalizedName) -> Lookup:
        """What the cache has for a project. Raises IndexFailure if no bound index was ever asked for it."""
        found = self._found(project, loaded=True)
        pages = tuple(page for _, page in found.pages if page is not None)
        self._meter.add(hits=len(pages))
        return Lookup(pages, found.unknown, found.mark())

    def mark(self, project: NormalizedName) -> str:
        """The mark of what `lookup` would answer, without reading pages. Raises IndexFailure like `lookup`."""
        return self._found(project, loaded=False).mark()

    def _found(self, project: NormalizedName, *, loaded: bool) -> _Found:
        binding = self.binding(project)
        pages: list[tuple[str, Page | None]] = []
        marks = []
        unknown = []
        for name in binding.indexes:
            answers = [self._answer(root, project, name, loaded=loaded) for root in self.roots(name)]
            known = [answer for answer in answers if answer is not None]
            if not known:
                unknown.append(name)
                if binding.unreachable == "fail":
                    break
                continue
            key, page = next((answer for answer in known if answer[0]), known[0])
            marks.append((name, key))
            if key:
                pages.append((key, page))
                if binding.take == "first":
                    break
        if unknown and (binding.unreachable == "fail" or len(unknown) == len(binding.indexes)):
            raise IndexFailure(
                f"{project} is not in the cache, and --offline does not use the network.",
                where=f"index `{unknown[0]}`",
                hint="lock once without --offline to fill the cache",
            )
        return _Found(pages, tuple(marks), tuple(unknown))

    def _answer(
        self, root: Root, project: NormalizedName, name: str, *, loaded: bool
    ) -> tuple[str, Page | None] | None:
        """The key of the page that an index last sent ("" if it had none), and the page; None without an answer."""
        record = self.record(root, project)
        if record is None or not record.parsed or not loaded:
            return None if record is None else (record.parsed, None)
        page = self._thawed(record, root, project, name)
        return None if page is None else (record.parsed, page)

    def record(self, root: Root, project: NormalizedName) -> Record | None:
        """An index's last answer; None if it was never asked."""
        content = self._cache.get("page", page_key(root, project))
        return None if content is None else _read_record(content)

    def keep(self, root: Root, project: NormalizedName, record: Record) -> None:
        """Store an index's answer, except a page that is not here yet."""
        self._cache.put("page", page_key(root, project), _encode_record(record))

    def keep_page(
        self, root: Root, project: NormalizedName, page: RawPage, name: str, stored: Record | None = None
    ) -> str:
        """Read and store the page that the index `name` sent, and return its key. Raises IndexFailure.

        If it is the one `stored`, it is not read again.
        """
        from resolver.catalog.parse.simple import parse  # an offline run parses no pages

        key = _parsed_key(page, project)
        if stored is not None and stored.parsed == key:
            record = replace(stored, url=page.url, etag=page.etag, modified=page.modified)
            if record != stored:
                self.keep(root, project, record)
            return key
        releases, files = frozen.freeze(parse(page.body, page.content_type, project=project, index=name, url=page.url))
        seal = self._cache.put("files", page_key(root, project), files)
        record = Record(page.url, page.etag, page.modified, key, msgspec.Raw(releases), seal)
        self.keep(root, project, record)
        if self._thawed(record, root, project, name) is None:  # nothing could be stored
            kept = frozen.thaw(releases, project, name, frozen.Frozen(releases, files).read)
            if kept is not None:
                self._pages[key, name] = kept
        return key

    def parsed(self, key: str, root: Root, project: NormalizedName, name: str) -> Page | None:
        """The page with that key, if it is the last answer of the index `name` from `root`."""
        if (known := self._pages.get((key, name))) is not None:
            return known
        record = self.record(root, project)
        return self._thawed(record, root, project, name) if record is not None and record.parsed == key else None

    def has_page(self, record: Record, root: Root, project: NormalizedName, name: str) -> bool:
        """Whether the page of a record exists, as far as can be told without reading it."""
        here = (record.parsed, name) in self._pages or self._cache.has("files", page_key(root, project))
        return bool(record.parsed) and here

    def forget(self, key: str, root: Root, project: NormalizedName, name: str) -> None:
        """Have a page parsed anew, as the stored one is damaged."""
        self._lose(key, root, project, name)
        self._cache.discard("page", page_key(root, project))

    def _thawed(self, record: Record, root: Root, project: NormalizedName, name: str) -> Page | None:
        if (known := self._pages.get((record.parsed, name))) is not None:
            return known
        files = self._cache.part("files", page_key(root, project), record.files)
        lost = partial(self._lose, record.parsed, root, project, name)
        page = frozen.thaw(bytes(record.releases), project, name, files, lost, whole=self._careful)
        if page is not None:
            self._pages[record.parsed, name] = page
        return page

    def _lose(self, key: str, root: Root, project: NormalizedName, name: str) -> None:
        """Forget a page whose files are damaged."""
        self._cache.discard("files", page_key(root, project))
        self._pages.pop((key, name), None)


def page_key(root: Root, project: NormalizedName) -> str:
    """The key of a record. The user is part of it, as an index may answer each user differently."""
    return "\0".join((_PARSER, root.url, root.user, project))


def mark_of(answers: Iterable[tuple[str, str]], unreachable: Iterable[str]) -> str:
    """The mark of an answer for a project: equal only if pages and unreachable indexes are equal.

    `answers` are the names of indexes with the keys of their pages, "" for none.
    """
    return "\n".join((*(f"{name} {key}" for name, key in answers), *(f"{name} -" for name in unreachable)))


def _parsed_key(page: RawPage, project: NormalizedName) -> str:
    """The key of a parsed page: equal only if parsing would give the same page."""
    digest = sha256(page.body)
    digest.update("\0".join(("", _PARSER, page.content_type, project, page.url)).encode())
    return digest.hexdigest()[:40]
