"""Parser of pages of the simple repository API.

JSON is PEP 691 and 700, HTML (`html_page`) PEP 503, 592, 658 and 714; PEP 629 versions both, and
PEP 792 is in both. A defect of a single file results in a `Rejection`; one that makes the whole
page unusable is an IndexFailure.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import IndexFailure
from resolver.index.parse import html_page
from resolver.index.parse.address import NOWHERE, resolve
from resolver.index.parse.distribution import (
    ARCHIVE_ENDINGS,
    archive_version,
    is_readable,
    label_of,
    prefix_of,
    starts_with_project,
    wheel_parts,
)
from resolver.index.parse.html_page import LONGEST, MOST_FILES, FileRow, Hashes, PageError, Text
from resolver.index.parse.variants import VARIANTS_ENDING
from resolver.model import text
from resolver.model.release import ACTIVE, File, Page, ProjectStatus, Rejection, RejectionReason

_API: Final = "application/vnd.pypi.simple.v"
ACCEPT: Final = f"{_API}1+json, {_API}1+html;q=0.2, text/html;q=0.01"

_JSON_TYPES: Final = (
    f"{_API}1+json",
    "application/json",
    "application/vnd.pypi.simple.latest+json",
)
# Characters of the reason for yanking, which a lock repeats.
_LONGEST_REASON: Final = 500

# The number of files of a page. A page is read by one thread.
_counts: Final = threading.local()


class _TooManyError(Exception):
    """A page has more files than are read."""


class _Counted(msgspec.Struct, gc=False):
    """A file on a page, of which nothing is built.

    msgspec skips the keys that a type does not have.
    """

    def __post_init__(self) -> None:
        _counts.files += 1
        if _counts.files > MOST_FILES:
            raise _TooManyError


class _Outline(msgspec.Struct):
    """The files of a page, counted. Other mistakes are found when the page is read."""

    files: list[_Counted] = []


class _Meta(msgspec.Struct, rename="kebab"):
    api_version: Text


class _Page(msgspec.Struct, rename="kebab"):
    """A page whose files were counted. Keys that are not needed take no memory."""

    meta: _Meta
    name: Text
    files: list[msgspec.Raw]
    # May be of any type.
    project_status: msgspec.Raw = msgspec.Raw(b"null")


class _Status(msgspec.Struct):
    status: str = ""
    reason: str = ""


class _Filename(msgspec.Struct):
    filename: str


def _alone(field: msgspec.structs.FieldInfo) -> type[msgspec.Struct]:
    """Return the type of a row that has only this field, under the same key."""
    kind = (field.name, field.type, field.default)
    return msgspec.defstruct("Row", [kind], rename={field.name: field.encode_name})


# The files of a page: by version as written, then by name and sha256.
FilesBySpelling = dict[str, dict[tuple[str, str], File]]

_ODD: Final = (msgspec.DecodeError, UnicodeDecodeError)
_decode_page = msgspec.json.Decoder(_Page).decode
_decode_row = msgspec.json.Decoder(FileRow).decode
_decode_outline = msgspec.json.Decoder(_Outline).decode
_decode_filename = msgspec.json.Decoder(_Filename).decode
# A reader of each other field by itself, which skips the rest of a row.
_FIELDS: Final = [
    (field.name, msgspec.json.Decoder(_alone(field)).decode)
    for field in msgspec.structs.fields(FileRow)
    if not field.required
]


def parse(body: bytes, content_type: str, *, project: NormalizedName, index: str, url: str) -> Page:
    """Read the page of `project` that `index` sent from `url`, the last one after redirects.

    Raises IndexFailure.
    """
    try:
        return _parse(body.removeprefix(b"\xef\xbb\xbf"), content_type, project, index, url)
    except PageError as error:
        why = str(error)
    except _ODD as error:
        why = f"It is not a JSON page of PEP 691: {error}."
    except RecursionError:
        why = "It is not a JSON page of PEP 691: its values are nested too deeply."
    raise IndexFailure(
        f"Index `{index}` sent an unusable page for {project}.",
        where=url,
        why=why,
        hint="open the address in a browser: a proxy or an incomplete mirror may have answered",
    )


def _parse(body: bytes, content_type: str, project: NormalizedName, index: str, url: str) -> Page:
    """Read a page. Raises PageError, and what msgspec raises for JSON."""
    media_type = content_type.partition(";")[0].strip().lower()
    if not body.strip():
        raise PageError("The page is empty.")
    if media_type.startswith(_API) and not media_type.startswith(f"{_API}1+"):
        raise PageError(f"Its type is `{media_type}`; only version 1 is supported (PEP 629).")
    rows: Iterable[FileRow]
    if media_type in _JSON_TYPES or body.lstrip()[:1] == b"{":
        rows, status = _read_json(body, project)
    else:
        rows, status, url = html_page.read(body, url)
    files, rejections, tables = _sorted_out(rows, project, url)
    if rejections and not files and all(_is_foreign(row, project) for row in rejections):
        raise PageError(
            f"Every file on it belongs to another project, for example {rejections[0].filename}."
        )
    releases = _releases(files, rejections)
    variant_files = _variant_files(releases, tables, project, url)
    return Page(
        project=project,
        index=index,
        releases=releases,
        rejections=_without_tables(rejections, variant_files),
        project_status=status,
        variant_files=variant_files,
    )


def _read_json(body: bytes, project: NormalizedName) -> tuple[Iterable[FileRow], ProjectStatus]:
    """Return the files on a JSON page, and its project's status. Raises as `_parse` does."""
    _counts.files = 0
    try:
        _decode_outline(body)
    except _TooManyError:
        raise PageError(f"It has more than {MOST_FILES} files.") from None
    page = _decode_page(body)
    version = page.meta.api_version
    if version.partition(".")[0] != "1":
        raise PageError(f"Its API version is {version}; only version 1 is supported (PEP 629).")
    if text.name(page.name) != project:
        raise PageError(f"It is a page for another project, `{page.name}`.")
    return map(_row, page.files), _project_status(page.project_status)


def _project_status(raw: msgspec.Raw) -> ProjectStatus:
    """Return the status in a JSON page.

    PEP 792: "If no status is explicitly noted, then the project is considered to be in the active
    state."
    """
    if len(raw) > LONGEST:
        return ACTIVE
    try:
        value = msgspec.json.decode(raw, type=_Status)
    except _ODD:
        return ACTIVE
    return ProjectStatus(value.status, value.reason) if value.status else ACTIVE


def _row(raw: msgspec.Raw) -> FileRow:
    """Return a file on a page without values of another type or length.

    A `yanked` of another type counts as true. Raises msgspec.DecodeError without a file name.
    """
    try:
        return _decode_row(raw)
    except _ODD:
        pass
    row = FileRow(_decode_filename(raw).filename)
    for name, decode in _FIELDS:
        try:
            setattr(row, name, getattr(decode(raw), name))
        except _ODD:
            if name == "yanked":
                row.yanked = True
    return row


def _sorted_out(
    rows: Iterable[FileRow], project: NormalizedName, base: str
) -> tuple[FilesBySpelling, list[Rejection], list[FileRow]]:
    """Return the files of a page without duplicates, the rejected files, and lists of variants.

    The files are by version. A name with several sha256 is left to `Compatibility`. What may be a
    list of variants is among the rejected files, too.
    """
    files: FilesBySpelling = {}
    rejections: list[Rejection] = []
    tables: list[FileRow] = []
    for row in rows:
        version = _version_of(row.filename, project)
        if isinstance(version, Rejection):
            rejections.append(version)
            if row.filename.endswith(VARIANTS_ENDING):
                tables.append(row)
            continue
        file = _file(row, base)
        files.setdefault(version, {}).setdefault((file.filename, file.sha256), file)
    return files, rejections, tables


def _releases(files: FilesBySpelling, rejections: list[Rejection]) -> dict[str, tuple[File, ...]]:
    """Return the files by version, newest first.

    Files without a valid version are added to `rejections`. Of several spellings of a version, the
    key is the one that sorts first, whatever the order of the page.
    """
    spellings: dict[Version, list[str]] = {}
    for spelling, spelled_files in files.items():
        version = text.version(spelling)
        if version is not None:
            spellings.setdefault(version, []).append(spelling)
            continue
        for filename, _ in spelled_files:
            rejections.append(Rejection(filename, RejectionReason.VERSION, spelling))
    releases = {}
    for version in sorted(spellings, reverse=True):
        keys = sorted(spellings[version])
        files_of_version: list[File] = []
        for key in keys:
            files_of_version += files[key].values()
        releases[keys[0]] = tuple(files_of_version)
    return releases


def _variant_files(
    releases: Mapping[str, Sequence[File]],
    tables: Iterable[FileRow],
    project: NormalizedName,
    base: str,
) -> dict[str, File | None]:
    """Return the list of variants of each release that has variant wheels.

    None stands for a release without a list.
    """
    variant_files: dict[str, File | None] = {}
    for version, files in releases.items():
        if any(label_of(file.filename) for file in files):
            variant_files[version] = None
    if not variant_files:
        return {}
    keys = {text.version(version): version for version in variant_files}
    for row in tables:
        if not is_readable(row.filename):
            continue
        match = prefix_of(project).match(row.filename)
        if match is None:
            continue
        written_version = row.filename[match.end() : -len(VARIANTS_ENDING)]
        key = keys.get(text.version(written_version))
        if key is not None and variant_files[key] is None:
            variant_files[key] = _file(row, base)
    return variant_files


def _without_tables(
    rejections: Sequence[Rejection], variant_files: Mapping[str, File | None]
) -> tuple[Rejection, ...]:
    """Return the rejections without those lists of variants that are used."""
    names = {file.filename for file in variant_files.values() if file is not None}
    return tuple(rejection for rejection in rejections if rejection.filename not in names)


def _version_of(filename: str, project: NormalizedName) -> str | Rejection:
    """Return the version in a file's name, or why the file cannot be used."""
    if not is_readable(filename):
        return Rejection(ascii(filename[:255])[1:-1], RejectionReason.NAME)
    if filename.endswith(".whl"):
        parts = wheel_parts(filename)
        if parts is None:
            return Rejection(filename, RejectionReason.NAME)
        if text.name(parts.distribution) != project:
            return Rejection(filename, RejectionReason.FOREIGN, parts.distribution)
        return parts.version
    version = archive_version(filename, project)
    if version is not None:
        return version
    is_archive = filename.endswith(ARCHIVE_ENDINGS)
    if is_archive and not starts_with_project(filename, project):
        return Rejection(filename, RejectionReason.FOREIGN)
    return Rejection(filename, RejectionReason.FORMAT)


def _is_foreign(rejection: Rejection, project: NormalizedName) -> bool:
    """Return whether a rejected file is of another project."""
    if rejection.reason is RejectionReason.FORMAT:
        return not starts_with_project(rejection.filename, project)
    return rejection.reason is RejectionReason.FOREIGN


def _file(row: FileRow, base: str) -> File:
    """Return a file on a page with its address made absolute."""
    # PEP 714: core-metadata wins over its older name if both are present.
    metadata = row.dist_info_metadata if row.core_metadata is None else row.core_metadata
    return File(
        filename=row.filename,
        url=_followed(row.url, base),
        sha256="" if row.hashes is None else _sha256(row.hashes),
        size=row.size,
        requires_python=row.requires_python or "",
        yanked=_reason_for_yanking(row.yanked),
        uploaded=row.upload_time or "",
        metadata=_metadata_sha256(metadata),
    )


def _reason_for_yanking(yanked: str | bool | None) -> str | None:
    """Return why a file is yanked, empty without a reason; None if it is not yanked."""
    if not yanked:
        return None
    return "" if yanked is True else yanked[:_LONGEST_REASON]


def _metadata_sha256(metadata: Hashes | bool | None) -> str | None:
    """Return the sha256 of a `.metadata` file, empty without one; None if there is no such file."""
    if metadata is None or metadata is False:
        return None
    return "" if metadata is True else _sha256(metadata)


def _followed(address: str | None, base: str) -> str:
    """Return the address of a link, without credentials; NOWHERE if it must not be followed."""
    if address is None:
        return NOWHERE
    try:
        return resolve(base, address.partition("#")[0])
    except ValueError:
        return NOWHERE


def _sha256(hashes: Hashes) -> str:
    """Return the sha256, empty if it is invalid."""
    digest = hashes.sha256.strip().lower()
    is_valid = len(digest) == 64 and not digest.strip("0123456789abcdef")
    return digest if is_valid else ""
