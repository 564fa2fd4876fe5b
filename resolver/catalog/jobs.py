"""What is asked of an index or an archive, and what came of it: the same whichever process does it."""

from __future__ import annotations

import msgspec

from resolver.catalog.cache import Lent
from resolver.catalog.http import Patience
from resolver.catalog.metadata import Release
from resolver.model.release import Archive


class PageJob(msgspec.Struct, tag="page", array_like=True, frozen=True):
    """The page of `project` on the index `index`, whose address is `root`, with credentials beside it.

    `etag` and `modified` are the validators of the answer that came from `before`, `known` the key of the page it had.
    What `place` says is stored goes by that key.
    """

    project: str
    index: str
    root: str
    user: str
    password: str
    place: str
    patience: Patience | None = None
    known: str = ""
    before: str = ""
    etag: str = ""
    modified: str = ""


class PageAnswer(msgspec.Struct, tag="page", array_like=True):
    """What an index answered from `url`. `key` is that of the page, `releases` and `files` are the page.

    All three are empty where the status is not 200, the last two where the key is known.
    """

    status: int
    url: str
    etag: str = ""
    modified: str = ""
    key: str = ""
    releases: bytes = b""
    files: bytes | Lent = b""


class ArchiveJob(msgspec.Struct, tag="archive", array_like=True, frozen=True):
    """A source archive on disk, to be read; `where` is its address for a failure."""

    path: str
    release: Release
    where: str


class ArchiveAnswer(msgspec.Struct, tag="archive", array_like=True):
    """What is in a source archive: see `archive.Contents`."""

    archive: Archive
    texts: dict[str, str]


Job = PageJob | ArchiveJob
Answer = PageAnswer | ArchiveAnswer
