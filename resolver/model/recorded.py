"""What is known of a file on an index that could not be asked, by the word of others."""

from __future__ import annotations

import datetime as dt

import msgspec
from packaging.utils import NormalizedName


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """A wheel as a stack tells of it. It counts only where its index cannot be reached.

    `requires` are PEP 508 lines. `source` says who quotes the hash and where the requirements are from;
    `where` is file:line.
    """

    project: NormalizedName
    version: str
    index: str
    filename: str
    sha256: str
    requires: tuple[str, ...]
    requires_python: str
    source: str
    checked: dt.date
    where: str
