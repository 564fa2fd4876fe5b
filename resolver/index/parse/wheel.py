"""METADATA in a wheel, found as pip finds it."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Sequence
from typing import Final

from resolver.index.parse.guarded import Guarded, Readable, readable, unpacked
from resolver.index.parse.metadata import Release
from resolver.index.protocol import UnusableFile
from resolver.model import text

METADATA_LIMIT: Final = 16 << 20
DIRECTORY_LIMIT: Final = 16 << 20  # of a zip's list of members; torch's largest wheel has 2 MB

_AT_TOP: Final = re.compile(r"[^/]*\.dist-info/METADATA", re.DOTALL)
_TOLD: Final = 3
_LOCAL_HEADER: Final = 30 + 1024  # a member's header is followed by its name and a short extra field


class Wheel:
    """A wheel, whose list of members is read once. Methods raise UnusableFile, and what reading raises unless OSError.

    A method that failed because of what `file` lacked may be called again.
    """

    def __init__(self, file: Readable, release: Release) -> None:
        self._source = Guarded(file, one_read=DIRECTORY_LIMIT, position=1 << 62)
        self._release = release
        self._archive: zipfile.ZipFile | None = None

    def metadata(self) -> bytes:
        """Its METADATA."""
        with readable(self._release.filename, "wheel"):
            archive = self._archive = self._archive or zipfile.ZipFile(self._source)
            info = archive.getinfo(_member(archive.namelist(), self._release))
            self._source.seek(info.header_offset)
            size = _LOCAL_HEADER + len(info.filename.encode()) + info.compress_size
            if info.file_size <= METADATA_LIMIT:
                self._source.read(size)  # one request for all of it
                content = unpacked(archive, info, METADATA_LIMIT)
                if len(content) <= METADATA_LIMIT:
                    return content
        raise UnusableFile(f"the metadata of {self._release.filename} is larger than 16 MiB")


def _member(names: Iterable[str], release: Release) -> str:
    """METADATA in the .dist-info folder. Raises UnusableFile if there are several, like pip and uv."""
    folders = _folders(names)
    if len(folders) > 1:
        told = ", ".join(f"`{folder}`" for folder in folders[:_TOLD]) + (", …" if len(folders) > _TOLD else "")
        raise UnusableFile(f"{release.filename} has {len(folders)} .dist-info folders ({told}), which pip refuses")
    if not folders or _project(folders[0]) != release.project:
        raise UnusableFile(f"{release.filename} has no .dist-info folder of {release.project}")
    return f"{folders[0]}/METADATA"


def _folders(names: Iterable[str]) -> Sequence[str]:
    """The .dist-info folders with METADATA at the top of a wheel."""
    return list(dict.fromkeys(name.removesuffix("/METADATA") for name in names if _AT_TOP.fullmatch(name)))


def _project(folder: str) -> str:
    """The project of a .dist-info folder, however its name is spelled, as in pip."""
    return text.name(folder.removesuffix(".dist-info").rpartition("-")[0])
