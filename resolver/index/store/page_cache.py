"""Pages in the cache, and which of them apply to a project. Imports neither asyncio nor an HTTP client."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec
from packaging.utils import NormalizedName

from resolver.errors import IndexFailure, InputError
from resolver.index.parse.address import Root, read_root
from resolver.index.parse.listing import Listing
from resolver.index.protocol import Lookup, Meter
from resolver.index.store.cache import Cache
from resolver.model.index import PYPI, Binding, Index, Indexes
from resolver.model.release import Page

_PARSER: Final = "8"  # part of every key: with another number, all pages are read anew


class Answer(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """An index's last answer for a project: from where, validators, and the key of the page, "" if it had none."""

    url: str
    etag: str = ""
    modified: str = ""
    key: str = ""


class RawPage(NamedTuple):
    """A page as an index sent it from `url`, after any redirects."""

    url: str
    body: bytes
    content_type: str
    etag: str
    modified: str


class _Stored(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A page with its key: an answer may be newer than the page beside it."""

    key: str
    listing: Listing


_ANSWER: Final = msgspec.msgpack.Decoder(Answer)
_STORED: Final = msgspec.msgpack.Decoder(_Stored)


class PageCache:
    """The cached pages of a set of indexes. May be used from any thread.

    `pages` are those read already, by key and the name of the index.
    """

    def __init__(
        self,
        indexes: Indexes,
        platform: str,
        cache: Cache,
        pypi_url: Callable[[], str],
        meter: Meter,
        pages: dict[tuple[str, str], Page] | None = None,
    ) -> None:
        self._indexes = indexes
        self._platform = platform
        self._cache = cache
        self._pypi_url = pypi_url
        self._meter = meter
        self._pages = {} if pages is None else pages
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
        last, unknown = self._last(project, read=True)
        pages = tuple(page for _, _, page in last if page is not None)
        self._meter.add(hits=len(pages))
        return Lookup(pages, unknown, mark_of(((name, key) for name, key, _ in last), unknown))

    def mark(self, project: NormalizedName) -> str:
        """The mark of what `lookup` would answer, without reading pages. Raises IndexFailure like `lookup`."""
        last, unknown = self._last(project, read=False)
        return mark_of(((name, key) for name, key, _ in last), unknown)

    def _last(
        self, project: NormalizedName, *, read: bool
    ) -> tuple[list[tuple[str, str, Page | None]], tuple[str, ...]]:
        """The last answer of each bound index, as name, key and page (None unless `read`), and indexes never asked."""
        binding = self.binding(project)
        answers: list[tuple[str, str, Page | None]] = []
        unknown = []
        for name in binding.indexes:
            found = (self._of(name, root, project, read=read) for root in self.roots(name))
            known = [one for one in found if one is not None]
            if not known:
                unknown.append(name)
                if binding.unreachable == "fail":
                    break
                continue
            answers.append(next((one for one in known if one[1]), known[0]))
            if answers[-1][1] and binding.take == "first":
                break
        if unknown and (binding.unreachable == "fail" or len(unknown) == len(binding.indexes)):
            raise IndexFailure(
                f"{project} is not in the cache, and --offline does not use the network.",
                where=f"index `{unknown[0]}`",
                hint="lock once without --offline to fill the cache",
            )
        return answers, tuple(unknown)

    def _of(self, name: str, root: Root, project: NormalizedName, *, read: bool) -> tuple[str, str, Page | None] | None:
        answer = self.answer(root, project)
        if answer is None or not (read and answer.key):
            return None if answer is None else (name, answer.key, None)
        page = self.page(answer.key, root, project, name)
        return None if page is None else (name, answer.key, page)

    def answer(self, root: Root, project: NormalizedName) -> Answer | None:
        """An index's last answer; None if it was never asked."""
        return self._cache.load("answer", place_of(root, project), _ANSWER)

    def keep(self, root: Root, project: NormalizedName, answer: Answer) -> None:
        """Store an index's answer."""
        self._cache.save("answer", place_of(root, project), answer)

    def keep_page(
        self, root: Root, project: NormalizedName, page: RawPage, name: str, last: Answer | None = None
    ) -> str:
        """Read and store the page that the index `name` sent, and return its key. Raises IndexFailure.

        If it is the one of its `last` answer, it is not read again.
        """
        from resolver.index.parse.simple import parse  # an offline run parses no pages

        answer = Answer(page.url, page.etag, page.modified, _key(page, project))
        if last is None or last.key != answer.key:
            listing = parse(page.body, page.content_type, project=project, index=name, url=page.url)
            self._pages[answer.key, name] = listing.page(project, name)
            self._cache.save("page", place_of(root, project), _Stored(answer.key, listing))
        if answer != last:
            self.keep(root, project, answer)
        return answer.key

    def page(self, key: str, root: Root, project: NormalizedName, name: str) -> Page | None:
        """The page with that key, if it is the last one of the index `name` from `root` and intact."""
        page = self._pages.get((key, name))
        if page is None and key:
            stored = self._cache.load("page", place_of(root, project), _STORED)
            if stored is not None and stored.key == key:
                page = self._pages[key, name] = stored.listing.page(project, name)
        return page

    def has_page(self, key: str, root: Root, project: NormalizedName, name: str) -> bool:
        """Whether the page of an answer exists, as far as can be told without reading it."""
        return bool(key) and ((key, name) in self._pages or self._cache.has("page", place_of(root, project)))


def mark_of(answers: Iterable[tuple[str, str]], unreachable: Iterable[str]) -> str:
    """The mark of an answer for a project: equal only if pages and unreachable indexes are equal.

    `answers` are the names of indexes with the keys of their pages, "" for none.
    """
    return "\n".join((*(f"{name} {key}" for name, key in answers), *(f"{name} -" for name in unreachable)))


def place_of(root: Root, project: NormalizedName) -> str:
    """Where an answer and its page are. The user is part of it, as an index may answer each user differently."""
    return "\0".join((_PARSER, root.url, root.user, project))


def _key(page: RawPage, project: NormalizedName) -> str:
    """The key of a page: equal only if reading would give the same."""
    digest = sha256(page.body)
    digest.update("\0".join(("", _PARSER, page.content_type, project, page.url)).encode())
    return digest.hexdigest()[:40]
