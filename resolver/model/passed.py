"""A release that was passed over."""

from __future__ import annotations

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version


class PassedOver(msgspec.Struct, frozen=True, kw_only=True):
    """A release newer than the pin of its project: all that asks for it admits it, and still it cannot be used.

    For it needs `archive`, or is itself that: a source archive without static metadata, of a release of `archive_of`.
    """

    project: NormalizedName
    version: Version
    archive: str
    archive_of: NormalizedName
    archive_version: Version
    index: str
