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

ACCEPT: Final = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"

_JSON_TYPES: Final = (
    "application/vnd.pypi.simple.v1+json",
    "application/json",
    "application/vnd.pypi.simple.latest+json",
)
_LONGEST_REASON: Final = 500  # characters of the reason for yanking, which a lock repeats


_counts: Final = threading.local()  # a page is read by one thread


class _TooManyError(Exception):
    """A page has more files than are read."""


class _Counted(msgspec.Struct, gc=False):
    """A file on a page, of which nothing is built: msgspec skips the keys that a type does not have."""

    def __post_init__(self) -> None:
        _counts.files += 1
        if _counts.files > MOST_FILES:
            raise _TooManyError


class _Outline(msgspec.Struct):
    """The files of a page, counted. What else is wrong with it is told by those who need it."""

    files: list[_Counted] = []


class _Meta(msgspec.Struct, rename="kebab"):
    api_version: Text


class _Page(msgspec.Struct, rename="kebab"):
    """A page whose files were counted. Keys that are not needed take no memory."""

    meta: _Meta
    name: Text
    files: list[msgspec.Raw]
    project_status: msgspec.Raw = msgspec.Raw(b"null")  # may be of any type


class _Status(msgspec.Struct):
    status: str = ""
    reason: str = ""


class _Filename(msgspec.Struct):
    filename: str


def _alone(field: msgspec.structs.FieldInfo) -> type[msgspec.Struct]:
    """Return the type of a row that has only this field, under the same key."""
    kind = (field.name, field.type, field.default)
    return msgspec.defstruct("Row", [kind], rename={field.name: field.encode_name})


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
    body = body.removeprefix(b"\xef\xbb\xbf")
    media = content_type.partition(";")[0].strip().lower()
    try:
        if not body.strip():
            raise PageError("The page is empty.")
        if media.startswith("application/vnd.pypi.simple.v") and not media.startswith(
            "application/vnd.pypi.simple.v1+"
        ):
            raise PageError(f"Its type is `{media}`; only version 1 is supported (PEP 629).")
        rows: Iterable[FileRow]
        if media in _JSON_TYPES or body.lstrip()[:1] == b"{":
            rows, status = _read_json(body, project)
        else:
            rows, status, url = html_page.read(body, url)
        tables: list[FileRow] = []
        releases, rejections = _grouped(rows, project, url, tables)
        variant_files = _variant_files(releases, tables, project, url)
    except PageError as error:
        why = str(error)
    except _ODD as error:
        why = f"It is not a JSON page of PEP 691: {error}."
    except RecursionError:
        why = "It is not a JSON page of PEP 691: its values are nested too deeply."
    else:
        return Page(
            project=project,
            index=index,
            releases=releases,
            rejections=_without_tables(rejections, variant_files),
            project_status=status,
            variant_files=variant_files,
        )
    raise IndexFailure(
        f"Index `{index}` sent an unusable page for {project}.",
        where=url,
        why=why,
        hint="open the address in a browser: a proxy or an incomplete mirror may have answered",
    )


def _read_json(body: bytes, project: NormalizedName) -> tuple[Iterable[FileRow], ProjectStatus]:
    _counts.files = 0
    try:
        _decode_outline(body)
    except _TooManyError:
        raise PageError(f"It has more than {MOST_FILES} files.") from None
    page = _decode_page(body)
    if page.meta.api_version.partition(".")[0] != "1":
        raise PageError(
            f"Its API version is {page.meta.api_version}; only version 1 is supported (PEP 629)."
        )
    if text.name(page.name) != project:
        raise PageError(f"It is a page for another project, `{page.name}`.")
    return map(_row, page.files), _project_status(page.project_status)


def _project_status(raw: msgspec.Raw) -> ProjectStatus:
    """PEP 792: "If no status is explicitly noted, then the project is considered to be in the active state."."""
    try:
        value = msgspec.json.decode(raw, type=_Status) if len(raw) <= LONGEST else _Status()
    except _ODD:
        return ACTIVE
    return ProjectStatus(value.status, value.reason) if value.status else ACTIVE


def _row(raw: msgspec.Raw) -> FileRow:
    """A row without the values of another type or length, except that such a `yanked` is true.

    Needs a file name.
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
            row.yanked = row.yanked or name == "yanked"
    return row


def _grouped(
    rows: Iterable[FileRow], project: NormalizedName, base: str, tables: list[FileRow]
) -> tuple[dict[str, tuple[File, ...]], tuple[Rejection, ...]]:
    """The files by version, newest first, without duplicates, and the rejected ones.

    Of several spellings of a version, the key is the one that sorts first, whatever the order of
    the page. A name with several sha256 is left to `Compatibility`. What may be a list of variants
    is rejected, and added to `tables`.
    """
    by_spelling: dict[str, dict[tuple[str, str], File]] = {}
    rejections: list[Rejection] = []
    for row in rows:
        version = _version_of(row.filename, project)
        if isinstance(version, Rejection):
            rejections.append(version)
            if row.filename.endswith(VARIANTS_ENDING):
                tables.append(row)
            continue
        file = _file(row, base)
        by_spelling.setdefault(version, {}).setdefault((file.filename, file.sha256), file)
    if (
        rejections
        and not by_spelling
        and all(_is_foreign(rejection, project) for rejection in rejections)
    ):
        raise PageError(
            f"Every file on it belongs to another project, for example {rejections[0].filename}."
        )
    spellings: dict[Version, list[str]] = {}
    for spelling, files in by_spelling.items():
        if (parsed := text.version(spelling)) is not None:
            spellings.setdefault(parsed, []).append(spelling)
        else:
            rejections += (
                Rejection(filename, RejectionReason.VERSION, spelling) for filename, _ in files
            )
    releases = {}
    for parsed in sorted(spellings, reverse=True):
        keys = sorted(spellings[parsed])
        releases[keys[0]] = tuple(file for key in keys for file in by_spelling[key].values())
    return releases, tuple(rejections)


def _variant_files(
    releases: Mapping[str, Sequence[File]],
    tables: Iterable[FileRow],
    project: NormalizedName,
    base: str,
) -> dict[str, File | None]:
    """Return the list of variants of each release that has variant wheels; None for one without a list."""
    labelled = {
        version: None
        for version, files in releases.items()
        # a plain wheel without a build tag has four hyphens: few names are taken apart
        if any(file.filename.count("-") > 4 and label_of(file.filename) for file in files)
    }
    if not labelled:
        return {}
    by_version = {text.version(version): version for version in labelled}
    found: dict[str, File | None] = dict(labelled)
    for row in tables:
        if is_readable(row.filename) and (match := prefix_of(project).match(row.filename)):
            version = by_version.get(
                text.version(row.filename[match.end() : -len(VARIANTS_ENDING)])
            )
            if version is not None and found[version] is None:
                found[version] = _file(row, base)
    return found


def _without_tables(
    rejections: tuple[Rejection, ...], found: Mapping[str, File | None]
) -> tuple[Rejection, ...]:
    """Return the rejections without those of lists of variants that are used."""
    names = {file.filename for file in found.values() if file is not None}
    return tuple(row for row in rejections if row.filename not in names) if names else rejections


def _version_of(filename: str, project: NormalizedName) -> str | Rejection:
    """The version in a file's name, or why the file cannot be used."""
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
    is_archive = filename.endswith(ARCHIVE_ENDINGS) and not starts_with_project(filename, project)
    return Rejection(filename, RejectionReason.FOREIGN if is_archive else RejectionReason.FORMAT)


def _is_foreign(rejection: Rejection, project: NormalizedName) -> bool:
    if rejection.reason is RejectionReason.FORMAT:
        return not starts_with_project(rejection.filename, project)
    return rejection.reason is RejectionReason.FOREIGN


def _file(row: FileRow, base: str) -> File:
    # PEP 714: core-metadata wins over its older name if both are present.
    metadata = row.dist_info_metadata if row.core_metadata is None else row.core_metadata
    return File(
        row.filename,
        _followed(row.url, base),
        _sha256(row.hashes) if row.hashes is not None else "",
        row.size,
        row.requires_python or "",
        None if not row.yanked else "" if row.yanked is True else row.yanked[:_LONGEST_REASON],
        row.upload_time or "",
        None if not metadata else "" if metadata is True else _sha256(metadata),
    )


def _followed(address: str | None, base: str) -> str:
    """The address of a link, without credentials; NOWHERE if it must not be followed."""
    try:
        return NOWHERE if address is None else resolve(base, address.partition("#")[0])
    except ValueError:
        return NOWHERE


def _sha256(hashes: Hashes) -> str:
    """The sha256, "" if it is invalid."""
    digest = hashes.sha256.strip().lower()
    return digest if len(digest) == 64 and not digest.strip("0123456789abcdef") else ""
