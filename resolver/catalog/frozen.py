"""Parsed pages in a form that is read back in microseconds and decoded release by release.

150 pages hold 100,000 files, of which a lock looks at a few hundred.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from packaging.utils import NormalizedName

from resolver.model.release import File, Page, SetAside


class _Frozen(msgspec.Struct, array_like=True, gc=False):
    project: str
    set_aside: tuple[SetAside, ...]
    releases: dict[str, msgspec.Raw]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Frozen).decode
_decode_files = msgspec.msgpack.Decoder(tuple[File, ...]).decode


class Releases(Mapping[str, tuple[File, ...]]):
    """Files by version text; a release's files are decoded when first asked for."""

    __slots__ = ("_files", "_raw")

    def __init__(self, raw: dict[str, msgspec.Raw]) -> None:
        self._raw = raw
        self._files: dict[str, tuple[File, ...]] = {}

    def __getitem__(self, version: str) -> tuple[File, ...]:
        files = self._files.get(version)
        if files is None:
            files = self._files[version] = _decode_files(self._raw[version])
        return files

    def __contains__(self, version: object) -> bool:
        return version in self._raw

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)


def freeze(page: Page) -> bytes:
    """The page as bytes, without the name of its index."""
    return _encode((page.project, page.set_aside, dict(page.releases)))


def thaw(frozen: bytes, project: NormalizedName, index: str) -> Page | None:
    """The page that was frozen; None where the bytes are of another shape or project."""
    try:
        page = _decode(frozen)
    except msgspec.DecodeError:
        return None
    if page.project != project:
        return None
    return Page(project=project, index=index, releases=Releases(page.releases), set_aside=page.set_aside)
