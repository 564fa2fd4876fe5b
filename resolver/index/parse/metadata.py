"""Core metadata: METADATA found in a wheel as pip finds it, and METADATA or PKG-INFO as bytes to `Metadata`."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from packaging.metadata import parse_email
from packaging.requirements import InvalidRequirement
from packaging.utils import NormalizedName

from resolver.errors import WrongRelease
from resolver.index.parse.guarded import Guarded, Readable, readable, unpacked
from resolver.index.protocol import UnusableFile
from resolver.model import text
from resolver.model.release import Metadata

_ENDS: Final = b"\n\n", b"\n\r\n", b"\r\r"  # of a header, apart from the carriage return that ends its last line
_LIMIT: Final = 16 << 20
_MOST_LINES: Final = 50_000  # of a header, which may contain a license
_SHOWN: Final = 300  # characters of a wrong line
MOST_REQUIREMENTS: Final = 10_000  # the distribution with the most extras has about 1,000
MOST_TEXT: Final = 2 << 20  # characters of all requirements: parsing them takes a second and ten times the memory
_MOST_EXTRAS: Final = 100  # extras named in a marker, and markers whose extras cannot be determined


class Release(NamedTuple):
    """A release, according to a file's name."""

    filename: str
    project: NormalizedName
    version: str


class Header(NamedTuple):
    """The header of a metadata file: the metadata, its version, and the fields declared dynamic."""

    metadata: Metadata
    version: tuple[int, int]
    dynamic: frozenset[str]


def read(content: bytes, release: Release, where: str) -> Metadata:
    """The metadata of a wheel, checked to be of its release.

    Raises UnusableFile if it is invalid, WrongRelease if it is of another release.
    """
    return read_header(content, release, where).metadata


def read_header(content: bytes, release: Release, where: str) -> Header:
    """Like `read`, with what PEP 643 needs; `where` is the address to name in a failure."""
    if len(content) > _LIMIT:
        raise UnusableFile(f"the metadata of {release.filename} is larger than 16 MiB")
    # The description may be a megabyte in any encoding and is never needed.
    header = content[: _end(content) + 1]
    if header.count(b"\n") > _MOST_LINES:
        raise UnusableFile(f"the metadata of {release.filename} has a header of more than {_MOST_LINES} lines")
    try:
        raw, unparsed = parse_email(header)
    except Exception as error:  # an e-mail parser fails in many ways on other input
        raise UnusableFile(f"the metadata of {release.filename} cannot be parsed: {error}") from None
    for field in ("name", "version", "metadata-version", "requires-dist", "requires-python", "provides-extra"):
        if field in unparsed:
            raise UnusableFile(f"the metadata of {release.filename} has an unreadable field {field.title()}")
    name, version = raw.get("name", ""), raw.get("version", "")
    if not name or not version:
        raise UnusableFile(f"the metadata of {release.filename} has no {'Version' if name else 'Name'}")
    check_release(name, version, release, where)
    form = re.fullmatch(r"([12])\.(\d{1,4})", raw.get("metadata_version", "1.0").strip())
    if form is None:
        raise UnusableFile(f"the metadata of {release.filename} has the version {raw['metadata_version']!r}")
    metadata = Metadata(
        name,
        version,
        tuple(" ".join(line.split()) for line in raw.get("requires_dist", ())),
        raw.get("requires_python", "").strip(),
        tuple(raw.get("provides_extra", ())),
    )
    check_texts(metadata, release.filename)
    dynamic = frozenset(field.strip().lower() for field in raw.get("dynamic", ()))
    return Header(metadata, (int(form[1]), int(form[2])), dynamic)


def _end(content: bytes) -> int:
    """The position of the first empty line, at the end of the line before."""
    found = len(content)
    for mark in _ENDS:
        at = content.find(mark, 0, found + len(mark) - 1)
        found = at if at >= 0 else found
    return found


def check_release(name: str, version: str, release: Release, where: str) -> None:
    """Raise WrongRelease unless name and version are those of the file's name."""
    if text.name(name) == release.project and text.version(version) == text.version(release.version):
        return
    raise WrongRelease(
        f"The metadata of {release.filename} is for a different release.",
        where=where,
        why=f"It says {name} {version}; expected was {release.project} {release.version}.",
        hint="the file was renamed or its index mixes up files; exclude the release with an `excludes` fact",
    )


def check_texts(metadata: Metadata, filename: str) -> None:
    """Raise UnusableFile if a requirement or Requires-Python is invalid (PEP 508, 440), or there are too many."""
    for what, texts in (("requirements", metadata.requires_dist), ("extras", metadata.provides_extra)):
        if len(texts) > MOST_REQUIREMENTS:
            raise UnusableFile(f"{filename} has {len(texts)} {what}; more than {MOST_REQUIREMENTS} are not read")
    if (length := sum(map(len, metadata.requires_dist))) > MOST_TEXT:
        raise UnusableFile(f"{filename} has requirements of {length} characters; more than {MOST_TEXT} are not read")
    unclear = 0
    for line in metadata.requires_dist:
        extras = text.extras_named(line)
        unclear += extras is None
        if unclear > _MOST_EXTRAS or (extras is not None and len(extras) > _MOST_EXTRAS):
            raise UnusableFile(f"{filename} has the requirement `{_brief(line)}`, which is about too many extras")
        try:
            text.requirement(line)
        except InvalidRequirement as error:
            reason = str(error).partition("\n")[0]
            raise UnusableFile(f"{filename} has the invalid requirement `{_brief(line)}`: {reason}") from None
    if metadata.requires_python and text.pythons(metadata.requires_python) is None:
        raise UnusableFile(f"{filename} has the invalid Requires-Python `{_brief(metadata.requires_python)}`")


def _brief(line: str) -> str:
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


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
