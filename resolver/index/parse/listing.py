"""What a page lists, in the form in which it is kept: rows of PEP 691, some releases together, compressed.

219 pages have 200,000 files, of which a lock looks at a few thousand. So a row is read when its release is needed, and
not before.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

import msgspec
from packaging.utils import NormalizedName

from resolver.errors import IndexFailure
from resolver.index.parse.address import NOWHERE, resolve
from resolver.model.release import File, Page, ProjectStatus, Rejection

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_TOGETHER: Final = 32 << 10  # bytes of rows: less compresses worse, of more most is read for nothing
_LEVEL: Final = 1
_LONGEST: Final = 1 << 16  # bytes of a value
_LONGEST_REASON: Final = 500  # characters of the reason for yanking, which a lock repeats
_LARGEST: Final = 1 << 60  # bytes: a size beyond it is none
_SHA256: Final = re.compile(r"[0-9a-f]{64}")

Rows = dict[str, list[msgspec.Raw]]  # by version, as spelled in file names

_KEYS: Final = (
    *("filename", "url", "hashes", "size", "requires-python", "yanked", "upload-time"),
    *("core-metadata", "dist-info-metadata"),
)
_decode_rows = msgspec.json.Decoder(Rows).decode
_decode_row = msgspec.json.Decoder(dict[str, Any]).decode
_decode_values = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode  # noqa: TID251  a row for the cache


class Listing(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A page. `base` is what its links are relative to; of each piece there are the versions and the packed rows."""

    base: str
    project_status: ProjectStatus
    rejections: tuple[Rejection, ...]
    versions: tuple[tuple[str, ...], ...]
    pieces: tuple[bytes, ...]

    def page(self, project: NormalizedName, index: str) -> Page:
        """It as the page of a project on an index."""
        return Page(
            project=project,
            index=index,
            releases=_Releases(self),
            rejections=self.rejections,
            project_status=self.project_status,
            newest_first=True,
        )


def packed(base: str, project_status: ProjectStatus, rejections: Sequence[Rejection], rows: Rows) -> Listing:
    """A listing of rows whose versions are in order, newest first."""
    compressor = zstd.ZstdCompressor(_LEVEL)
    versions, pieces = [], []
    together: Rows = {}
    size = 0
    for at, (version, files) in enumerate(rows.items(), 1):
        together[version] = files
        size += sum(map(len, files))
        if size >= _TOGETHER or at == len(rows):
            versions.append(tuple(together))
            pieces.append(compressor.compress(_encode(together), compressor.FLUSH_FRAME))
            together, size = {}, 0
    return Listing(base, project_status, tuple(rejections), tuple(versions), tuple(pieces))


def bare(row: msgspec.Raw, base: str) -> msgspec.Raw:
    """The row without credentials, which some indexes write into their links. Raises what decoding a row does."""
    written = bytes(row)
    if b"@" not in written and b"\\" not in written:  # which may be the beginning of an escaped @
        return row
    values = _decode_values(row)
    kept = {key: values[key] for key in _KEYS if key in values}
    address = _followed(value_of(kept.get("url", msgspec.Raw())), base)
    kept["url"] = msgspec.Raw(_encode(None if address == NOWHERE else address))
    return msgspec.Raw(_encode(kept))


class _Releases(Mapping[str, tuple[File, ...]]):
    """Files by version. One whose address must not be followed has NOWHERE instead; equal ones are there once."""

    __slots__ = ("_base", "_files", "_pieces", "_places")

    def __init__(self, listing: Listing) -> None:
        self._base = listing.base
        self._pieces = listing.pieces
        self._places = {version: at for at, versions in enumerate(listing.versions) for version in versions}
        self._files: dict[str, tuple[File, ...]] = {}

    def __getitem__(self, version: str) -> tuple[File, ...]:
        files = self._files.get(version)
        if files is None:
            piece = self._pieces[self._places[version]]
            try:
                files = self._files[version] = _read(_unpacked(piece)[version], self._base)
            except (msgspec.DecodeError, UnicodeDecodeError, KeyError, zstd.ZstdError) as error:
                raise IndexFailure(
                    f"A page cannot be read: {error}.", hint="empty the cache: ascend-lock cache clear"
                ) from None
        return files

    def __contains__(self, version: object) -> bool:
        return version in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


@lru_cache(2)  # for those who look at one release after the other
def _unpacked(piece: bytes) -> Rows:
    return _decode_rows(zstd.decompress(piece))


def _read(rows: Iterable[msgspec.Raw], base: str) -> tuple[File, ...]:
    """The files of a release. A name with several sha256 stays as it is: `screen` refuses it."""
    files: dict[tuple[str, str], File] = {}
    for row in rows:
        file = _file(_values(row), base)
        files.setdefault((file.filename, file.sha256), file)
    return tuple(files.values())


def _values(row: msgspec.Raw) -> dict[str, Any]:
    """The values of a row. Those that are too long or cannot be decoded count as none."""
    if len(row) <= _LONGEST:
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            return _decode_row(row)
    return {key: value_of(raw, too_long=key == "yanked") for key, raw in _decode_values(row).items()}


def _file(row: Mapping[str, Any], base: str) -> File:
    """A file as PEP 691 and 700 have it. A value of another type is ignored, as in pip."""
    get = row.get
    address, python, yanked, size, uploaded = map(get, ("url", "requires-python", "yanked", "size", "upload-time"))
    # PEP 714: core-metadata wins over its older name where both are there.
    offered = get("core-metadata")
    offered = get("dist-info-metadata") if offered is None else offered
    return File(
        str(row["filename"]),
        _followed(address, base),
        _sha256(get("hashes")) or "",
        size if type(size) is int and 0 <= size <= _LARGEST else None,
        "" if python is None or python is False else str(python),
        None if not yanked else yanked[:_LONGEST_REASON] if isinstance(yanked, str) else "",
        uploaded if isinstance(uploaded, str) else "",
        "" if offered is True else _sha256(offered),
    )


def _followed(address: object, base: str) -> str:
    """Where a link leads, without credentials; NOWHERE if it must not be followed."""
    try:
        # Line breaks are looked for here, as urllib takes them out.
        if isinstance(address, str) and address.isprintable():
            return resolve(base, address.partition("#")[0])
    except ValueError:
        pass
    return NOWHERE


def _sha256(hashes: object) -> str | None:
    """The sha256 among hashes, empty without a valid one; None if these are no hashes."""
    digest = hashes.get("sha256", "") if isinstance(hashes, dict) else None
    if not isinstance(digest, str):
        return None
    digest = digest.strip().lower()
    return digest if _SHA256.fullmatch(digest) is not None else ""


def value_of(raw: msgspec.Raw, *, too_long: object = None) -> Any:
    """A decoded value; None if there is none or it cannot be decoded, and `too_long`, undecoded, beyond the limit."""
    if len(raw) > _LONGEST:
        return too_long
    try:
        return msgspec.json.decode(raw) if raw else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
