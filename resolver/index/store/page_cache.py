"""The pages of indexes in the cache.

Imports neither asyncio nor an HTTP client, for offline runs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec.structs import replace
from packaging.utils import NormalizedName

from resolver.index.parse.address import Root
from resolver.index.store.cache import Cache
from resolver.model.release import ACTIVE, File, Page, ProjectStatus, Rejection
from resolver.model.variant import VariantTable

# A run that knows its lock looks at no release, and parses no page.
if TYPE_CHECKING:
    from resolver.index.parse.simple import WrittenPage

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# Part of every key: with another number, all pages are read anew.
_PARSER: Final = "12"
# Releases that are compressed together. Fewer compress worse; of more, most is read for nothing.
_RELEASES_OF_PIECE: Final = 4
_LEVEL: Final = 1
# Stands in a key between the key of the page and the key of its lists of variants.
_WITH_VARIANTS: Final = "+"
# The entries of keys in the cache, beside those of pages.
_KIND_OF_KEY: Final = "page-key"


class StoredPage(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The last answer of an index about a project, as stored."""

    # The address that answered, after redirects.
    url: str
    # The validators of the answer, with which the index is asked whether the page has changed.
    etag: str = ""
    modified: str = ""
    # Identifies the content of the page; empty if the index had no page.
    key: str = ""
    project_status: ProjectStatus = ACTIVE
    rejections: tuple[Rejection, ...] = ()
    # The address that links on the page are relative to.
    base: str = ""
    # The versions of a few releases each, with their files as they were sent, compressed: 219 pages
    # have 200,000 files, of which a lock needs a few thousand.
    pieces: tuple[tuple[tuple[str, ...], bytes], ...] = ()
    # The lists of variants (PEP 825) by version; None for a release without a list.
    variant_files: dict[str, File | None] = {}
    # What was read from the lists of variants, by version.
    variants: dict[str, VariantTable] = {}

    def with_page(self, key: str, page: WrittenPage) -> StoredPage:
        """Return the answer with a page, of which no second copy is made."""
        from resolver.index.parse.simple import stored

        versions = list(page.releases)
        pieces = []
        # Making one takes as long as a piece.
        compressor = zstd.ZstdCompressor(_LEVEL)
        for start in range(0, len(versions), _RELEASES_OF_PIECE):
            piece = {
                version: [stored(row, page.base) for row in page.releases[version]]
                for version in versions[start : start + _RELEASES_OF_PIECE]
            }
            packed = compressor.compress(_encode(piece), compressor.FLUSH_FRAME)
            pieces.append((tuple(piece), packed))
        return replace(
            self,
            key=key,
            project_status=page.project_status,
            rejections=page.rejections,
            base=page.base,
            pieces=tuple(pieces),
            variant_files=page.variant_files,
        )

    def page(self, project: NormalizedName, index: str) -> Page:
        """Return the page, as the page of a project on an index."""
        return Page(
            project=project,
            index=index,
            releases=_Releases(self.pieces, self.base),
            rejections=self.rejections,
            project_status=self.project_status,
            variant_files=self.variant_files,
            variants=self.variants,
        )


class _Releases(Mapping[str, tuple[File, ...]]):
    """The files of a page by version.

    A piece is unpacked when one of its releases is needed, and only the last one is kept.
    """

    def __init__(self, pieces: Iterable[tuple[tuple[str, ...], bytes]], base: str) -> None:
        self._pieces: dict[str, bytes] = {}
        for versions, piece in pieces:
            for version in versions:
                self._pieces[version] = piece
        self._base = base
        # Of the last piece: the rows that were not looked at, and the files of those that were.
        self._rows: dict[str, list[bytes]] = {}
        self._files: dict[str, tuple[File, ...]] = {}

    def __getitem__(self, version: str) -> tuple[File, ...]:
        files = self._files.get(version)
        if files is None:
            # Another thread may have another piece meanwhile.
            rows, known = self._rows, self._files
            if version not in rows:
                rows = _ROWS.decode(zstd.decompress(self._pieces[version]))
                known = {}
                self._rows, self._files = rows, known
            from resolver.index.parse.simple import files_of

            # The version may be missing in a damaged piece.
            files = files_of(rows.get(version, ()), self._base)
            known[version] = files
        return files

    def __iter__(self) -> Iterator[str]:
        return iter(self._pieces)

    def __len__(self) -> int:
        return len(self._pieces)


_encode: Final = msgspec.msgpack.Encoder().encode
_ROWS: Final = msgspec.msgpack.Decoder(dict[str, list[bytes]])
_STORED: Final = msgspec.msgpack.Decoder(StoredPage)
_KEY: Final = msgspec.msgpack.Decoder(str)


class IndexAnswer(NamedTuple):
    """What an index says of a project."""

    # Identifies the content of the page and of its lists of variants; empty without a page.
    key: str
    # The project's page; None if the index does not have the project.
    page: Page | None


class PageCache:
    """The last answers of indexes, which the catalogs of a run share.

    May be used from any thread.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        # By key and name of the index, so that equal pages of a run are one object.
        self._pages: dict[tuple[str, str], Page] = {}

    def load(self, root: Root, project: NormalizedName) -> StoredPage | None:
        """Return the last answer from an address of an index; None if it was never asked."""
        return self._cache.load("page", cache_key(root, project), _STORED)

    def load_answer(self, root: Root, project: NormalizedName, index: str) -> IndexAnswer | None:
        """Return what the last answer says of the project; None if it was never asked."""
        stored = self.load(root, project)
        return None if stored is None else self.answer(stored, project, index)

    def load_key(self, root: Root, project: NormalizedName, index: str) -> IndexAnswer | None:
        """Return the key of the last answer, with a page that has nothing.

        It has a thousandth of the bytes of the answer.
        """
        key = self._cache.load(_KIND_OF_KEY, cache_key(root, project), _KEY)
        if key is None:
            return self.load_answer(root, project, index)
        empty = Page(project=project, index=index, releases={})
        return IndexAnswer(key, empty if key else None)

    def store(self, root: Root, project: NormalizedName, answer: StoredPage) -> None:
        """Store the answer from an address of an index."""
        key = cache_key(root, project)
        self._cache.save("page", key, answer)
        self._cache.save(_KIND_OF_KEY, key, answer.key)

    def answer(self, stored: StoredPage, project: NormalizedName, index: str) -> IndexAnswer:
        """Return what a stored answer says of the project."""
        if not stored.key:
            return IndexAnswer("", None)
        page = self._pages.get((stored.key, index))
        if page is None:
            page = stored.page(project, index)
            self._pages[stored.key, index] = page
        return IndexAnswer(stored.key, page)

    def store_page(
        self,
        root: Root,
        project: NormalizedName,
        index: str,
        answer: StoredPage,
        body: bytes,
        content_type: str,
        last: StoredPage | None,
    ) -> StoredPage:
        """Parse and store the page that an index sent, and return the answer with the page.

        `answer` has the address and the validators alone. If the page is the same as in the `last`
        answer, it is not parsed again. Raises IndexFailure.
        """
        from resolver.index.parse.simple import read

        digest = sha256(body)
        digest.update("\0".join(("", _PARSER, content_type, project, answer.url)).encode())
        key = digest.hexdigest()[:40]
        if last is not None and _key_of_page(last) == key:
            stored = replace(last, etag=answer.etag, modified=answer.modified)
        else:
            page = read(body, content_type, project=project, index=index, url=answer.url)
            stored = answer.with_page(key, page)
        self.store(root, project, stored)
        return stored

    def store_variants(
        self,
        root: Root,
        project: NormalizedName,
        answer: StoredPage,
        variants: Mapping[str, VariantTable],
    ) -> StoredPage:
        """Store what was read from the lists of variants, and return the answer with it.

        The lists may change while the page does not, so they are part of the key.
        """
        key_of_page = _key_of_page(answer)
        digest = sha256(key_of_page.encode() + _encode(sorted(variants.items())))
        key = f"{key_of_page}{_WITH_VARIANTS}{digest.hexdigest()[:40]}"
        stored = replace(answer, key=key, variants=dict(variants))
        self.store(root, project, stored)
        return stored


def _key_of_page(answer: StoredPage) -> str:
    """Return the key of an answer's page without its lists of variants."""
    return answer.key.partition(_WITH_VARIANTS)[0]


def cache_key(root: Root, project: NormalizedName) -> str:
    """Return the key of an answer in the cache.

    The user is part of it, as an index may answer each user differently.
    """
    return "\0".join((_PARSER, root.url, root.user, project))
