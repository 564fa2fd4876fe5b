"""Read single members of a wheel: METADATA, `variant.json` (PEP 825), and texts.

The file may be a `RangeFile`, of which only parts were fetched. Then each function raises
MissingSpanError if it needs a part that is missing; the caller fetches that, and calls again.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Sequence
from typing import IO, Final

from resolver.index.parse.distribution import FileRelease
from resolver.index.parse.guarded import (
    ANYWHERE,
    DIRECTORY_LIMIT,
    Guarded,
    RangeFile,
    TooLargeError,
    readable,
    unpacked,
)
from resolver.index.parse.plain_zip import PlainZip
from resolver.index.parse.variants import MEMBER, TABLE_LIMIT
from resolver.index.protocol import UnusableFile
from resolver.model import text

METADATA_LIMIT: Final = 16 << 20  # bytes
_TEXT_LIMIT: Final = 128 << 20  # bytes of a member that `wheel_text` returns
_METADATA: Final = "METADATA"
_METADATA_AT_TOP: Final = re.compile(rf"[^/]*\.dist-info/{_METADATA}", re.DOTALL)
_MOST_SHOWN: Final = 3  # folders that a message names
# Bytes of the header before a member's content, apart from the name: 30, and an extra field.
_LOCAL_HEADER: Final = 30 + 1024


def wheel_metadata(file: IO[bytes] | RangeFile, release: FileRelease) -> bytes:
    """Return the content of METADATA in a wheel.

    Raises UnusableFile if the wheel or METADATA cannot be read, and MissingSpanError.
    """
    content = _dist_info_member(file, release, _METADATA, METADATA_LIMIT)
    if content is None:
        raise UnusableFile(
            f"the metadata of {release.filename} is larger than {METADATA_LIMIT >> 20} MiB"
        )
    return content


def wheel_variant(file: IO[bytes] | RangeFile, release: FileRelease) -> bytes:
    """Return the content of `variant.json` in a variant wheel (PEP 825).

    Raises UnusableFile if the wheel or the member cannot be read, and MissingSpanError.
    """
    content = _dist_info_member(file, release, MEMBER, TABLE_LIMIT)
    if content is None:
        raise UnusableFile(f"{MEMBER} of {release.filename} is larger than {TABLE_LIMIT >> 10} KiB")
    return content


def _dist_info_member(
    file: IO[bytes] | RangeFile, release: FileRelease, name: str, limit: int
) -> bytes | None:
    """Return the content of the file `name` in a wheel's .dist-info folder.

    None if it has more than `limit` bytes. Raises UnusableFile if it is missing or cannot be read,
    and MissingSpanError.
    """
    source = Guarded(file, one_read=DIRECTORY_LIMIT, position=ANYWHERE)
    with readable(release.filename, "wheel"):
        plain = PlainZip.open(source)
        if plain is not None:
            member = plain.member(_dist_info_path(plain.names, release, name))
            if member is not None and member.unpacked > limit:
                return None
            content = None if member is None else plain.content(member)
            if content is not None:
                return content
        archive = zipfile.ZipFile(source)
        info = archive.getinfo(_dist_info_path(archive.namelist(), release, name))
        source.seek(info.header_offset)
        if info.file_size <= limit:
            _request_member(source, info)
            return unpacked(archive, info, limit)
    return None


def _dist_info_path(names: Sequence[str], release: FileRelease, name: str) -> str:
    """Return the path of the file `name` in a wheel's .dist-info folder.

    `names` are the names of all members. Raises UnusableFile if there is no such file or folder.
    """
    path = f"{_dist_info_folder(names, release)}/{name}"
    if path not in names:
        raise UnusableFile(f"{release.filename} has no {name}")
    return path


def wheel_text(file: IO[bytes] | RangeFile, filename: str, path: str) -> str | None:
    """Return the member at `path` of a wheel as text; None if there is no such member.

    Bytes that are not UTF-8 become U+FFFD. A file of the .dist-info folder may be named without the
    folder: RECORD, METADATA, entry_points.txt. Raises UnusableFile if the wheel cannot be read, and
    MissingSpanError.
    """
    source = Guarded(file, one_read=max(DIRECTORY_LIMIT, _TEXT_LIMIT), position=ANYWHERE)
    with readable(filename, "wheel"):
        archive = zipfile.ZipFile(source)
        name = _member_name(archive.namelist(), path)
        if name is None:
            return None
        info = archive.getinfo(name)
        if info.file_size > _TEXT_LIMIT:
            raise TooLargeError(f"its {name} is larger than {_TEXT_LIMIT >> 20} MiB")
        source.seek(info.header_offset)
        _request_member(source, info)
        return unpacked(archive, info, _TEXT_LIMIT).decode("utf-8", "replace")


def _request_member(source: Guarded, info: zipfile.ZipInfo) -> None:
    """Read the member at the position, so that one MissingSpanError is about all of it."""
    source.read(_LOCAL_HEADER + len(info.filename.encode()) + info.compress_size)


def _member_name(names: Sequence[str], path: str) -> str | None:
    """Return the name of the member at `path`, which may lack the .dist-info folder.

    None if there is no such member, or several .dist-info folders have it.
    """
    if path in names:
        return path
    if "/" in path:
        return None
    ending = f".dist-info/{path}"
    members = [name for name in names if name.endswith(ending) and name.count("/") == 1]
    return members[0] if len(members) == 1 else None


def _dist_info_folder(names: Iterable[str], release: FileRelease) -> str:
    """Return the .dist-info folder of a wheel: the folder at the top that has METADATA.

    Raises UnusableFile if there are several, as pip and uv do, or none of the project.
    """
    folders: list[str] = []
    for name in names:
        if name.endswith(_METADATA) and _METADATA_AT_TOP.fullmatch(name):
            folder = name.removesuffix(f"/{_METADATA}")
            if folder not in folders:
                folders.append(folder)
    if len(folders) > 1:
        shown = ", ".join(f"`{folder}`" for folder in folders[:_MOST_SHOWN])
        if len(folders) > _MOST_SHOWN:
            shown += ", …"
        raise UnusableFile(
            f"{release.filename} has {len(folders)} .dist-info folders ({shown}), which pip refuses"
        )
    if not folders or _project_of(folders[0]) != release.project:
        raise UnusableFile(f"{release.filename} has no .dist-info folder of {release.project}")
    return folders[0]


def _project_of(folder: str) -> str:
    """Return the project in the name of a .dist-info folder, normalized (PEP 503)."""
    distribution = folder.removesuffix(".dist-info").rpartition("-")[0]
    return text.name(distribution)
