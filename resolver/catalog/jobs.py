"""Requests about an index page or an archive, and their results; the same in whichever process they run."""

from __future__ import annotations

import msgspec

from resolver.catalog.cache import Lent
from resolver.catalog.http import Patience
from resolver.catalog.metadata import Release
from resolver.model.release import Archive


class PageJob(msgspec.Struct, tag="page", array_like=True, frozen=True):
    """The page of `project` on the index `index`, whose address is `root`, with credentials beside it.

    `etag` and `modified` are the validators of the answer that came from `before`, `known` the key of its page.
    What is stored at `place` has that key.
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


class ArchiveJob(msgspec.Struct, tag="archive", array_like=True, frozen=True):
    """A source archive on disk to be read; `where` is the address to name in a failure."""

    path: str
    release: Release
    where: str


class ArchiveAnswer(msgspec.Struct, tag="archive", array_like=True):
    """The contents of a source archive: see `archive.Contents`."""

    archive: Archive
    texts: dict[str, str]


Job = PageJob | ArchiveJob
Answer = PageAnswer | ArchiveAnswer
