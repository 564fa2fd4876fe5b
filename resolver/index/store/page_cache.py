"""Cached pages, and look-ups on the indexes bound to a project.

Imports neither asyncio nor an HTTP client.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final

import msgspec
from msgspec.structs import replace
from packaging.utils import NormalizedName, parse_wheel_filename

from resolver.errors import IndexFailure, InputError, Unreachable
from resolver.index.parse.address import Root, read_root
from resolver.index.protocol import Lookup
from resolver.index.store.cache import Cache
from resolver.model.problem import Binding, Indexes, Recorded
from resolver.model.release import ACTIVE, CoreMetadata, File, Page, ProjectStatus, Rejection
from resolver.model.variant import VariantTable

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_PARSER: Final = "11"  # part of every key: with another number, all pages are read anew
_TOGETHER: Final = 4  # releases: fewer compress worse, of more most is read for nothing
_LEVEL: Final = 1
_WITH: Final = "+"  # in a key: between the page's own and that of its lists of variants


class StoredPage(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """An index's last answer for a project: its address, validators, and the page with a key, "" if there was none.

    `pieces` are the versions of a few releases each, with their files, compressed: 219 pages have
    200,000 files, of which a lock needs a few thousand.
    """

    url: str
    etag: str = ""
    modified: str = ""
    key: str = ""
    project_status: ProjectStatus = ACTIVE
    rejections: tuple[Rejection, ...] = ()
    pieces: tuple[tuple[tuple[str, ...], bytes], ...] = ()
    variant_files: dict[str, File | None] = {}
    variants: dict[str, VariantTable] = {}

    def with_page(self, key: str, page: Page) -> StoredPage:
        """The answer with a page."""
        rows = list(page.releases.items())
        groups = [dict(rows[at : at + _TOGETHER]) for at in range(0, len(rows), _TOGETHER)]
        pieces = tuple((tuple(group), zstd.compress(_encode(group), _LEVEL)) for group in groups)
        return replace(
            self,
            key=key,
            project_status=page.project_status,
            rejections=page.rejections,
            pieces=pieces,
            variant_files=dict(page.variant_files),
        )

    def page(self, project: NormalizedName, index: str) -> Page:
        """Its page, as that of a project on an index."""
        return Page(
            project=project,
            index=index,
            releases=_Releases(self.pieces),
            rejections=self.rejections,
            project_status=self.project_status,
            variant_files=self.variant_files,
            variants=self.variants,
        )


class _Releases(Mapping[str, tuple[File, ...]]):
    """Files by version; a piece is decoded when one of its releases is needed, and only the last one is kept."""

    def __init__(self, pieces: Iterable[tuple[tuple[str, ...], bytes]]) -> None:
        self._pieces = {version: piece for versions, piece in pieces for version in versions}
        self._files: dict[str, tuple[File, ...]] = {}

    def __getitem__(self, version: str) -> tuple[File, ...]:
        files = self._files
        if version not in files:
            piece = self._pieces[version]
            files = self._files = {version: (), **_RELEASES.decode(zstd.decompress(piece))}
        return files[version]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pieces)

    def __len__(self) -> int:
        return len(self._pieces)


_encode: Final = msgspec.msgpack.Encoder().encode
_RELEASES: Final = msgspec.msgpack.Decoder(dict[str, tuple[File, ...]])
_STORED: Final = msgspec.msgpack.Decoder(StoredPage)


class NotCached(IndexFailure):
    """An index was never asked for a project, and is not asked now."""


class PageCache:
    """The cached pages of a set of indexes. May be used from any thread.

    `pages` are those already loaded, by key and name of the index. `recorded` files stand in for an
    index that cannot be reached.
    """

    def __init__(
        self,
        indexes: Indexes,
        platform: str,
        cache: Cache,
        pypi_url: Callable[[], str],
        pages: dict[tuple[str, str], Page] | None = None,
        recorded: Sequence[Recorded] = (),
    ) -> None:
        self._indexes = indexes
        self._platform = platform
        self._cache = cache
        self._pypi_url = pypi_url
        self._pages = {} if pages is None else pages
        self._recorded: dict[NormalizedName, list[Recorded]] = {}
        for row in recorded:
            self._recorded.setdefault(row.project, []).append(row)
        self._roots: dict[str, tuple[Root, ...]] = {}

    def _binding(self, project: NormalizedName) -> Binding:
        return self._indexes.binding(project, self._platform)

    def if_unreachable(self, project: NormalizedName) -> str:
        """What happens if an index of a project cannot be reached: "fail", "next" or "recorded".

        With "recorded" the recorded files stand in for the project's only index.
        """
        binding = self._binding(project)
        recorded = {(row.index,) for row in self._recorded.get(project, ())}
        return (
            "recorded"
            if binding.unreachable == "fail" and binding.indexes in recorded
            else binding.unreachable
        )

    def roots(self, name: str) -> tuple[Root, ...]:
        """The addresses of an index, its mirrors last. Raises InputError."""
        if name not in self._roots:
            index = self._indexes.indexes.get(name)
            if index is None:
                raise InputError(
                    f"A binding names the index `{name}`, which is not defined.",
                    hint="define it as an [[index]] of the stack or of matrices/indexes.toml",
                )
            urls = (index.url or self._pypi_url(), *index.mirrors)
            self._roots[name] = tuple(read_root(url, name) for url in urls)
        return self._roots[name]

    async def lookup_by(
        self, project: NormalizedName, page_key: Callable[[str], Awaitable[str]]
    ) -> Lookup:
        """Look up a project on the indexes bound to it, as far as they can be reached.

        `page_key` returns the key of the page of an index, by its name, "" if it has none. Recorded
        files stand in for an index that cannot be reached; with "first" only if none that can has
        the project. Raises what `page_key` raises, but Unreachable and NotCached only with "fail",
        or if no index answered and nothing is recorded of it.
        """
        binding, strict = self._binding(project), self.if_unreachable(project) == "fail"
        keys: dict[str, str] = {}
        failures: dict[str, IndexFailure] = {}
        for name in binding.indexes:
            try:
                keys[name] = await page_key(name)
            except (Unreachable, NotCached) as error:
                if strict:
                    raise
                failures[name] = error
                continue
            if keys[name] and binding.take == "first":
                break
        pages = {name: self._pages[key, name] for name, key in keys.items() if key}
        if not pages or binding.take == "all":
            pages |= {
                name: page
                for name in failures
                if (page := self._recorded_page(project, name)).releases
            }
        if failures and not keys and not pages and not self._has_recorded(project, failures):
            raise next(iter(failures.values()))  # the first index is the one that most stacks need
        answers = [pages[name] for name in binding.indexes if name in pages]
        # Equal only if pages and unreachable indexes are equal.
        fingerprint = "\n".join(
            (*(f"{name} {key}" for name, key in keys.items()), *(f"{name} -" for name in failures))
        )
        return Lookup(
            tuple(answers[:1] if binding.take == "first" else answers), tuple(failures), fingerprint
        )

    def _has_recorded(self, project: NormalizedName, indexes: Container[str]) -> bool:
        return any(row.index in indexes for row in self._recorded.get(project, ()))

    def _recorded_page(self, project: NormalizedName, index: str) -> Page:
        """Return the recorded wheels of a project on an index, as far as their sha256 is known."""
        releases: dict[str, tuple[File, ...]] = {}
        for row in self._recorded.get(project, ()):
            if row.sha256 and row.index == index:
                file = File(
                    filename=row.filename, sha256=row.sha256, requires_python=row.requires_python
                )
                releases[row.version] = (*releases.get(row.version, ()), file)
        return Page(project=project, index=index, releases=releases)

    def recorded_metadata(self, file: File) -> CoreMetadata | None:
        """The recorded metadata of a file; None for one from an index, which has an address."""
        if file.url or not self._recorded:
            return None
        project = parse_wheel_filename(file.filename)[0]
        for row in self._recorded.get(project, ()):
            if (row.filename, row.sha256) == (file.filename, file.sha256):
                return row.metadata
        return None

    def lookup(self, project: NormalizedName) -> Lookup:
        """Look up a project in the cache.

        Raises IndexFailure if no index bound to it was ever asked for it.
        """

        async def page_key(name: str) -> str:
            answers = [
                answer
                for root in self.roots(name)
                if (answer := self.answer(root, project, name)) is not None
            ]
            if not answers:
                raise NotCached(
                    f"{project} is not in the cache, and --offline does not use the network.",
                    where=f"index `{name}`",
                    hint="lock once without --offline to fill the cache",
                )
            return next((answer.key for answer in answers if answer.key), "")

        try:
            self.lookup_by(project, page_key).send(None)  # which never waits
        except StopIteration as done:
            lookup: Lookup = done.value
        return lookup

    def answer(self, root: Root, project: NormalizedName, name: str) -> StoredPage | None:
        """The last answer of an index, whose page is then loaded; None if it was never asked."""
        stored = self._cache.load("page", cache_key(root, project), _STORED)
        if stored is not None and stored.key and (stored.key, name) not in self._pages:
            self._pages[stored.key, name] = stored.page(project, name)
        return stored

    def store(self, root: Root, project: NormalizedName, answer: StoredPage) -> None:
        """Store an index's answer."""
        self._cache.save("page", cache_key(root, project), answer)

    def store_page(
        self,
        root: Root,
        project: NormalizedName,
        name: str,
        answer: StoredPage,
        body: bytes,
        content_type: str,
        last: StoredPage | None = None,
    ) -> str:
        """Read and store the page that the index `name` sent, and return its key.

        Raises IndexFailure.

        `answer` has no key yet. If the page is that of the `last` answer, it is not read again.
        """
        from resolver.index.parse.simple import parse  # an offline run parses no pages

        digest = sha256(body)
        digest.update("\0".join(("", _PARSER, content_type, project, answer.url)).encode())
        key = digest.hexdigest()[:40]
        if last is not None and last.key.partition(_WITH)[0] == key:
            answer = replace(last, etag=answer.etag, modified=answer.modified)
        else:
            answer = answer.with_page(
                key, parse(body, content_type, project=project, index=name, url=answer.url)
            )
            self._pages[key, name] = answer.page(project, name)
        self.store(root, project, answer)
        return answer.key

    def loaded(self, key: str, name: str) -> Page:
        """Return the page of an index that was loaded under this key."""
        return self._pages[key, name]

    def store_variants(
        self,
        root: Root,
        project: NormalizedName,
        name: str,
        stored: StoredPage,
        variants: Mapping[str, VariantTable],
    ) -> str:
        """Store what was read from the lists of variants on a page, and return the key of the page with them.

        The lists may change while the page does not, so they are part of the key.
        """
        digest = sha256(stored.key.partition(_WITH)[0].encode() + _encode(sorted(variants.items())))
        key = f"{stored.key.partition(_WITH)[0]}{_WITH}{digest.hexdigest()[:40]}"
        answer = replace(stored, key=key, variants=dict(variants))
        self._pages[key, name] = answer.page(project, name)
        self.store(root, project, answer)
        return key


def cache_key(root: Root, project: NormalizedName) -> str:
    """The key of an answer in the cache.

    The user is part of it, as an index may answer each user differently.
    """
    return "\0".join((_PARSER, root.url, root.user, project))
