"""Store the pages of indexes in the cache, and read them from there.

Neither asyncio nor an HTTP client is imported, so that offline runs start quickly.
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

# Imported late, since a run that only compares fingerprints parses no page.
if TYPE_CHECKING:
    from resolver.index.parse.simple import WrittenPage

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# The version of the parser and of the stored form. It is a part of every key, so after a change of
# it all pages are requested and parsed again.
_PARSER: Final = "12"
# The number of releases that are compressed together, as a piece. With fewer, compression is worse.
# With more, most of what is decompressed is not needed.
_RELEASES_OF_PIECE: Final = 4
_LEVEL: Final = 1  # of compression
# In a key, this is between the key of the page and the key of its variants.
_WITH_VARIANTS: Final = "+"
# The kind of the cache's entries that have only the key of an answer.
_KIND_OF_KEY: Final = "page-key"


class StoredPage(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The last answer of an index about a project, in the form in which it is stored."""

    # The address of the page after redirects.
    url: str
    # The ETag and Last-Modified of the answer, with which the index is asked whether the page has
    # changed.
    etag: str = ""
    modified: str = ""
    # Identifies the content of the page, and of the lists of variants; empty if the index has no
    # page of the project.
    key: str = ""
    # The status of the project (PEP 792).
    project_status: ProjectStatus = ACTIVE
    # The files on the page that no release can use.
    rejections: tuple[Rejection, ...] = ()
    # The address that links on the page are relative to.
    base: str = ""
    # The versions of a few releases, and their compressed file entries (`parse.simple.stored`).
    # They are decompressed only if they are needed: 219 pages have 200,000 files, of which a lock
    # needs a few thousand.
    pieces: tuple[tuple[tuple[str, ...], bytes], ...] = ()
    # For each version with variant wheels, the file that lists its variants (PEP 825); None if the
    # index has no such file.
    variant_files: dict[str, File | None] = {}
    # The variants that were read from these files, by version.
    variants: dict[str, VariantTable] = {}

    def with_page(self, key: str, page: WrittenPage) -> StoredPage:
        """Return this answer with the content of a page, and the key of that content."""
        from resolver.index.parse.simple import stored

        versions = list(page.releases)
        pieces = []
        # One compressor for all pieces: making one takes as long as compressing a piece.
        compressor = zstd.ZstdCompressor(_LEVEL)
        for start in range(0, len(versions), _RELEASES_OF_PIECE):
            piece: dict[str, list[bytes]] = {}
            for version in versions[start : start + _RELEASES_OF_PIECE]:
                piece[version] = [stored(entry, page.base) for entry in page.releases[version]]
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
        """Return the page of a project on an index. Its files are parsed when they are needed."""
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

    A piece, which has a few releases, is decompressed when one of its releases is needed. Only the
    last piece is kept decompressed.
    """

    def __init__(self, pieces: Iterable[tuple[tuple[str, ...], bytes]], base: str) -> None:
        """Use the pieces of a `StoredPage`; links are relative to `base`."""
        self._pieces: dict[str, bytes] = {}
        for versions, piece in pieces:
            for version in versions:
                self._pieces[version] = piece
        self._base = base
        # The file entries in the last piece, by version.
        self._entries: dict[str, list[bytes]] = {}
        # The files in the last piece that were parsed, by version.
        self._files: dict[str, tuple[File, ...]] = {}

    def __getitem__(self, version: str) -> tuple[File, ...]:
        files = self._files.get(version)
        if files is None:
            # Local names, since another thread may replace the last piece meanwhile.
            entries, known = self._entries, self._files
            if version not in entries:
                entries = _ENTRIES.decode(zstd.decompress(self._pieces[version]))
                known = {}
                self._entries, self._files = entries, known
            from resolver.index.parse.simple import files_of

            # The version may be missing in a damaged piece.
            files = files_of(entries.get(version, ()), self._base)
            known[version] = files
        return files

    def __iter__(self) -> Iterator[str]:
        return iter(self._pieces)

    def __len__(self) -> int:
        return len(self._pieces)


_encode: Final = msgspec.msgpack.Encoder().encode
_ENTRIES: Final = msgspec.msgpack.Decoder(dict[str, list[bytes]])
_STORED: Final = msgspec.msgpack.Decoder(StoredPage)
_KEY: Final = msgspec.msgpack.Decoder(str)


class IndexAnswer(NamedTuple):
    """The answer of an index about a project."""

    # Identifies the content of the page and of its lists of variants; empty without a page.
    key: str
    # The page of the project; None if the index does not have the project.
    page: Page | None


class PageCache:
    """The last answers of indexes in the cache, for all catalogs of a run.

    It may be used from any thread. `root` is an address of an index with its credentials.
    """

    def __init__(self, cache: Cache) -> None:
        """Keep the answers in `cache`."""
        self._cache = cache
        # By key and name of the index, so that equal pages are one object in a run.
        self._pages: dict[tuple[str, str], Page] = {}

    def load(self, root: Root, project: NormalizedName) -> StoredPage | None:
        """Return the last answer from an address of an index about a project, as stored.

        None if it was never asked.
        """
        return self._cache.load("page", cache_key(root, project), _STORED)

    def load_answer(self, root: Root, project: NormalizedName, index: str) -> IndexAnswer | None:
        """Return the last answer about a project, with its page; None if it was never asked."""
        stored = self.load(root, project)
        return None if stored is None else self.answer(stored, project, index)

    def load_key(self, root: Root, project: NormalizedName, index: str) -> IndexAnswer | None:
        """Return the last answer with its key, but with an empty page; None if it was never asked.

        This reads a thousandth of the bytes of the complete answer.
        """
        key = self._cache.load(_KIND_OF_KEY, cache_key(root, project), _KEY)
        if key is None:
            return self.load_answer(root, project, index)
        empty = Page(project=project, index=index, releases={})
        return IndexAnswer(key, empty if key else None)

    def store(self, root: Root, project: NormalizedName, answer: StoredPage) -> None:
        """Store the answer from an address of an index about a project."""
        key = cache_key(root, project)
        self._cache.save("page", key, answer)
        self._cache.save(_KIND_OF_KEY, key, answer.key)

    def answer(self, stored: StoredPage, project: NormalizedName, index: str) -> IndexAnswer:
        """Return a stored answer as an `IndexAnswer` about the project."""
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
        """Parse the page that an index sent, store it, and return the complete answer.

        `answer` has only the address and the validators. `last` is the stored answer of an earlier
        run; if the page is the same in it, it is not parsed again. Raises IndexFailure if the page
        cannot be used.
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
        """Store an answer with the variants of its releases, and return it.

        The key depends on the variants, too, since they may change while the page does not.
        """
        key_of_page = _key_of_page(answer)
        digest = sha256(key_of_page.encode() + _encode(sorted(variants.items())))
        key = f"{key_of_page}{_WITH_VARIANTS}{digest.hexdigest()[:40]}"
        stored = replace(answer, key=key, variants=dict(variants))
        self.store(root, project, stored)
        return stored


def _key_of_page(answer: StoredPage) -> str:
    """Return the part of an answer's key that identifies the page without the variants."""
    return answer.key.partition(_WITH_VARIANTS)[0]


def cache_key(root: Root, project: NormalizedName) -> str:
    """Return the key of the cache's entry with the answer of an address about a project.

    It contains the user, since an index may answer each user differently.
    """
    return "\0".join((_PARSER, root.url, root.user, project))
