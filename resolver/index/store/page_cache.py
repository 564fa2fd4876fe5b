"""Pages in the cache, and which indexes are asked for a project. Imports neither asyncio nor an HTTP client."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace
from packaging.utils import NormalizedName

from resolver.errors import IndexFailure, InputError, Unreachable
from resolver.index.parse.address import Root, read_root
from resolver.index.protocol import Lookup
from resolver.index.store.cache import ODD, Cache
from resolver.model.problem import PYPI, Binding, Index, Indexes
from resolver.model.release import File, Page, ProjectStatus, Rejection

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_PARSER: Final = "9"  # part of every key: with another number, all pages are read anew
_TOGETHER: Final = 8  # releases: fewer compress worse, of more most is read for nothing
_LEVEL: Final = 1


class Answer(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """An index's last answer for a project: from where, validators, and the key of the page, "" if it had none."""

    url: str
    etag: str = ""
    modified: str = ""
    key: str = ""


class StoredPage(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A page with its key, as an answer may be newer than the page beside it.

    A piece is the versions of a few releases with their files, compressed: 219 pages have 200,000 files, of which a
    lock looks at a few thousand.
    """

    key: str
    project_status: ProjectStatus
    rejections: tuple[Rejection, ...]
    pieces: tuple[tuple[tuple[str, ...], bytes], ...]

    @classmethod
    def of(cls, key: str, page: Page) -> StoredPage:
        """The stored form of a page."""
        rows = list(page.releases.items())
        groups = [dict(rows[at : at + _TOGETHER]) for at in range(0, len(rows), _TOGETHER)]
        pieces = tuple((tuple(group), zstd.compress(_encode(group), _LEVEL)) for group in groups)
        return cls(key, page.project_status, page.rejections, pieces)

    def page(self, project: NormalizedName, index: str) -> Page:
        """It as the page of a project on an index."""
        return Page(
            project=project,
            index=index,
            releases=_Releases(self.pieces),
            rejections=self.rejections,
            project_status=self.project_status,
        )


class _Releases(Mapping[str, tuple[File, ...]]):
    """Files by version; a piece is decoded when one of its releases is needed."""

    def __init__(self, pieces: Iterable[tuple[tuple[str, ...], bytes]]) -> None:
        self._pieces = {version: piece for versions, piece in pieces for version in versions}
        self._files: dict[str, tuple[File, ...]] = {}

    def __getitem__(self, version: str) -> tuple[File, ...]:
        if version not in self._files:
            piece = self._pieces[version]
            try:
                self._files |= {version: (), **_RELEASES.decode(zstd.decompress(piece))}
            except (*ODD, zstd.ZstdError) as error:
                raise IndexFailure(
                    f"A page cannot be read: {error}.", hint="empty the cache: ascend-lock cache clear"
                ) from None
        return self._files[version]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pieces)

    def __len__(self) -> int:
        return len(self._pieces)


_encode: Final = msgspec.msgpack.Encoder().encode
_RELEASES: Final = msgspec.msgpack.Decoder(dict[str, tuple[File, ...]])
_ANSWER: Final = msgspec.msgpack.Decoder(Answer)
_STORED: Final = msgspec.msgpack.Decoder(StoredPage)


class IndexAnswer(NamedTuple):
    """The answer of an index, by its name, about a project: the key of its page in the cache, "" if it has none."""

    name: str
    root: Root
    key: str


class NotCached(IndexFailure):
    """An index was never asked for a project, and is not asked now."""


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
        pages: dict[tuple[str, str], Page] | None = None,
    ) -> None:
        self._indexes = indexes
        self._platform = platform
        self._cache = cache
        self._pypi_url = pypi_url
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

    async def answers(
        self, project: NormalizedName, ask: Callable[[str], Awaitable[IndexAnswer]]
    ) -> tuple[list[IndexAnswer], tuple[str, ...]]:
        """The answers of the indexes bound to a project, and the indexes that could not be asked.

        Raises what `ask` raises, but Unreachable and NotCached only if the binding does not admit that, or no index
        could be asked.
        """
        binding = self.binding(project)
        answers: list[IndexAnswer] = []
        passed: dict[str, IndexFailure] = {}
        for name in binding.indexes:
            try:
                answers.append(await ask(name))
            except (Unreachable, NotCached) as error:
                if binding.unreachable == "fail":
                    raise
                passed[name] = error
                continue
            if answers[-1].key and binding.take == "first":
                break
        if passed and not answers:
            raise next(iter(passed.values()))  # the first index is the one that most stacks need
        return answers, tuple(passed)

    def lookup(self, project: NormalizedName) -> Lookup:
        """What the cache has for a project. Raises IndexFailure if no bound index was ever asked for it."""
        return self.lookup_of(project, *self._cached_answers(project))

    def lookup_of(
        self, project: NormalizedName, answers: Sequence[IndexAnswer], unreachable: tuple[str, ...]
    ) -> Lookup:
        """The answers with their pages."""
        pages = tuple(page for one in answers if (page := self.page(one, project)) is not None)
        return Lookup(pages, unreachable, mark_of(answers, unreachable))

    def mark(self, project: NormalizedName) -> str:
        """The mark of what `lookup` would answer. Raises IndexFailure like `lookup`."""
        return mark_of(*self._cached_answers(project))

    def _cached_answers(self, project: NormalizedName) -> tuple[list[IndexAnswer], tuple[str, ...]]:
        async def ask(name: str) -> IndexAnswer:
            known = [
                IndexAnswer(name, root, answer.key)
                for root in self.roots(name)
                if (answer := self.answer(root, project)) is not None
            ]
            usable = [one for one in known if not one.key or self.page(one, project) is not None]
            if not usable:
                raise NotCached(
                    f"{project} is not in the cache, and --offline does not use the network.",
                    where=f"index `{name}`",
                    hint="lock once without --offline to fill the cache",
                )
            return next((one for one in usable if one.key), usable[0])

        try:
            self.answers(project, ask).send(None)  # which never waits
        except StopIteration as done:
            found: tuple[list[IndexAnswer], tuple[str, ...]] = done.value
        return found

    def answer(self, root: Root, project: NormalizedName) -> Answer | None:
        """An index's last answer; None if it was never asked."""
        return self._cache.load("answer", place_of(root, project), _ANSWER)

    def keep(self, root: Root, project: NormalizedName, answer: Answer) -> None:
        """Store an index's answer."""
        self._cache.save("answer", place_of(root, project), answer)

    def keep_page(
        self,
        root: Root,
        project: NormalizedName,
        name: str,
        answer: Answer,
        body: bytes,
        content_type: str,
        last: Answer | None = None,
    ) -> str:
        """Read and store the page that the index `name` sent, and return its key. Raises IndexFailure.

        `answer` has no key yet. If the page is that of the `last` answer, it is not read again.
        """
        from resolver.index.parse.simple import parse  # an offline run parses no pages

        digest = sha256(body)
        digest.update("\0".join(("", _PARSER, content_type, project, answer.url)).encode())
        key = digest.hexdigest()[:40]
        if last is None or last.key != key:
            read = parse(body, content_type, project=project, index=name, url=answer.url)
            stored = StoredPage.of(key, read)
            self._pages[key, name] = stored.page(project, name)
            self._cache.save("page", place_of(root, project), stored)
        self.keep(root, project, replace(answer, key=key))
        return key

    def page(self, answer: IndexAnswer, project: NormalizedName) -> Page | None:
        """The page of an answer, if it has one that is the last of its root and intact."""
        name, root, key = answer
        page = self._pages.get((key, name))
        if page is None and key:
            stored = self._cache.load("page", place_of(root, project), _STORED)
            if stored is not None and stored.key == key:
                page = self._pages[key, name] = stored.page(project, name)
        return page


def mark_of(answers: Iterable[IndexAnswer], unreachable: Iterable[str]) -> str:
    """The mark of an answer for a project: equal only if pages and unreachable indexes are equal."""
    return "\n".join((*(f"{one.name} {one.key}" for one in answers), *(f"{name} -" for name in unreachable)))


def place_of(root: Root, project: NormalizedName) -> str:
    """Where an answer and its page are. The user is part of it, as an index may answer each user differently."""
    return "\0".join((_PARSER, root.url, root.user, project))
