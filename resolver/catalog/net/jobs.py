"""Requests about an index page or an archive, and their results; the same in whichever process they run."""

from __future__ import annotations

import msgspec

from resolver.catalog.net.http import Patience
from resolver.catalog.parse.metadata import Release
from resolver.catalog.store.answers import ArchiveAnswer, PageAnswer


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


class ArchiveJob(msgspec.Struct, tag="archive", array_like=True, frozen=True):
    """A source archive on disk to be read; `where` is the address to name in a failure."""

    path: str
    release: Release
    where: str


Job = PageJob | ArchiveJob
Answer = PageAnswer | ArchiveAnswer
