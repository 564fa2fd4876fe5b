"""What came of asking an index or reading an archive, as it is stored: the same whichever process did it."""

from __future__ import annotations

import msgspec

from resolver.catalog.store.cache import Lent
from resolver.model.release import Archive


class PageAnswer(msgspec.Struct, tag="page", array_like=True):
    """An index's answer from `url`. `key` is that of the page, `releases` and `files` are the page.

    All three are empty if the status is not 200; the last two also if the key is known already.
    """

    status: int
    url: str
    etag: str = ""
    modified: str = ""
    key: str = ""
    releases: bytes = b""
    files: bytes | Lent = b""


class ArchiveAnswer(msgspec.Struct, tag="archive", array_like=True):
    """The contents of a source archive: see `archive.Contents`."""

    archive: Archive
    texts: dict[str, str]
