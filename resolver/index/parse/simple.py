"""Parser of pages of the simple repository API.

JSON is PEP 691 and 700, HTML (`html_page`) PEP 503, 592, 658 and 714; PEP 629 versions both, and
PEP 792 is in both. A defect of a single file results in a `Rejection`; one that makes the whole
page unusable is an IndexFailure.

Of the files of a page only the names are read at once, since a lock looks at one release in fifty.
`files_of` reads the rest.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import IndexFailure
from resolver.index.parse import html_page
from resolver.index.parse.address import NOWHERE, resolve
from resolver.index.parse.distribution import (
    ARCHIVE_ENDINGS,
    archive_version,
    distribution_and_version,
    is_readable,
    label_of,
    prefix_of,
    starts_with_project,
)
from resolver.index.parse.html_page import (
    LONGEST,
    MOST_FILES,
    FileRow,
    Hashes,
    PageError,
    Text,
    encode_row,
    row_of_tag,
)
from resolver.index.parse.variants import VARIANTS_ENDING
from resolver.model import text
from resolver.model.release import ACTIVE, File, Page, ProjectStatus, Rejection, RejectionReason
from resolver.phrase import cause, phrase

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
        _count_file()


class _Outline(msgspec.Struct):
    """The files of a page, counted. Other mistakes are found when the page is read."""

    files: list[_Counted] = []


class _Named(msgspec.Struct, gc=False):
    """A file on a page, of which only the name is built."""

    filename: str

    def __post_init__(self) -> None:
        _count_file()


class _Names(msgspec.Struct):
    """The names of the files of a page, counted."""

    files: list[_Named] = []


def _count_file() -> None:
    """Count a file of the page that is read. Raises _TooManyError."""
    _counts.files += 1
    if _counts.files > MOST_FILES:
        raise _TooManyError


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


class WrittenPage(NamedTuple):
    """A page of which the files were sorted by their names alone."""

    # The address that links are relative to.
    base: str
    # The files of each release as they were sent, for `stored` and then `files_of`; the newest
    # first. The key is the version as the first file name spells it. They are parts of the page.
    releases: dict[str, list[Written]]
    rejections: tuple[Rejection, ...]
    project_status: ProjectStatus
    # The lists of variants by version, as in `Page`.
    variant_files: dict[str, File | None]


def _alone(field: msgspec.structs.FieldInfo) -> type[msgspec.Struct]:
    """Return the type of a row that has only this field, under the same key."""
    kind = (field.name, field.type, field.default)
    return msgspec.defstruct("Row", [kind], rename={field.name: field.encode_name})


# A file on a page as it was sent: JSON, or the tag of a link.
Written = bytes | msgspec.Raw

# Bytes of a file on a page beyond which its keys that are not needed are dropped. The files of
# public indexes have half of it.
_LONGEST_WRITTEN: Final = 2 << 10

_ODD: Final = (msgspec.DecodeError, UnicodeDecodeError)
_decode_page = msgspec.json.Decoder(_Page).decode
_decode_row = msgspec.json.Decoder(FileRow).decode
_decode_outline = msgspec.json.Decoder(_Outline).decode
_decode_names = msgspec.json.Decoder(_Names).decode
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
    written = read(body, content_type, project=project, index=index, url=url)
    releases = {}
    for version, rows in written.releases.items():
        releases[version] = files_of([stored(row, written.base) for row in rows], written.base)
    return Page(
        project=project,
        index=index,
        releases=releases,
        rejections=written.rejections,
        project_status=written.project_status,
        variant_files=written.variant_files,
    )


def read(
    body: bytes, content_type: str, *, project: NormalizedName, index: str, url: str
) -> WrittenPage:
    """Read a page as `parse` does, but of its files only the names. Raises IndexFailure."""
    try:
        return _read(body.removeprefix(b"\xef\xbb\xbf"), content_type, project, url)
    except PageError as error:
        why = cause(error)
    except _ODD as error:
        why = phrase("It is not a JSON page of PEP 691: {cause}.", cause=cause(error))
    except RecursionError:
        why = phrase("It is not a JSON page of PEP 691: its values are nested too deeply.")
    raise IndexFailure(
        phrase(
            "Index `{index}` sent an unusable page for {project}.", index=index, project=project
        ),
        where=url,
        why=why,
        hint=phrase(
            "open the address in a browser: a proxy or an incomplete mirror may have answered"
        ),
    )


def _read(body: bytes, content_type: str, project: NormalizedName, url: str) -> WrittenPage:
    """Read a page. Raises PageError, and what msgspec raises for JSON."""
    media_type = content_type.partition(";")[0].strip().lower()
    if not body.strip():
        raise PageError(phrase("The page is empty."))
    if media_type.startswith(_API) and not media_type.startswith(f"{_API}1+"):
        raise PageError(
            phrase(
                "Its type is `{media_type}`; only version 1 is supported (PEP 629).",
                media_type=media_type,
            )
        )
    rows: Iterable[tuple[str, Written]]
    if media_type in _JSON_TYPES or body.lstrip()[:1] == b"{":
        rows, status = _read_json(body, project)
    else:
        rows, status, url = html_page.read(body, url)
    found = _sorted_out(rows, project)
    rejections = found.rejections
    if rejections and not found.rows and all(_is_foreign(row, project) for row in rejections):
        raise PageError(
            phrase(
                "Every file on it belongs to another project, for example {file}.",
                file=rejections[0].filename,
            )
        )
    releases, labelled = _releases(found, url)
    variant_files = _variant_files(labelled, found.tables, project, url)
    return WrittenPage(
        base=url,
        releases=releases,
        rejections=_without_tables(rejections, variant_files),
        project_status=status,
        variant_files=variant_files,
    )


def _read_json(
    body: bytes, project: NormalizedName
) -> tuple[Iterable[tuple[str, Written]], ProjectStatus]:
    """Return the files on a JSON page, and its project's status. Raises as `_read` does."""
    names = _names(body)
    page = _decode_page(body)
    version = page.meta.api_version
    if version.partition(".")[0] != "1":
        raise PageError(
            phrase(
                "Its API version is {version}; only version 1 is supported (PEP 629).",
                version=version,
            )
        )
    if text.name(page.name) != project:
        raise PageError(phrase("It is a page for another project, `{name}`.", name=page.name))
    if names is None:
        names = [_decode_filename(row).filename for row in page.files]
    return zip(names, page.files, strict=True), _project_status(page.project_status)


def _names(body: bytes) -> list[str] | None:
    """Return the names of the files of a JSON page; None if one of them cannot be read.

    Raises PageError if there are too many, and what msgspec raises if it is no JSON.
    """
    _counts.files = 0
    try:
        return [row.filename for row in _decode_names(body).files]
    except _TooManyError:
        raise PageError(phrase("It has more than {limit} files.", limit=MOST_FILES)) from None
    except _ODD:
        pass
    _counts.files = 0
    try:
        _decode_outline(body)
    except _TooManyError:
        raise PageError(phrase("It has more than {limit} files.", limit=MOST_FILES)) from None
    return None


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


def _row(raw: Written) -> FileRow:
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


def files_of(written: Iterable[bytes], base: str) -> tuple[File, ...]:
    """Return the files of a release, of which a page at `base` has these rows.

    What is listed twice alike is one file.
    """
    files: dict[tuple[str, str], File] = {}
    for one in written:
        row = _written_row(one)
        if row is not None:
            file = _file(row, base)
            files.setdefault((file.filename, file.sha256), file)
    return tuple(files.values())


def _written_row(written: bytes) -> FileRow | None:
    """Return a row of a page; None for a link that leads to no file."""
    return row_of_tag(written) if written.startswith(b"<") else _row(written)


def stored(sent: Written, base: str) -> bytes:
    """Return a row of a page as it is kept, without credentials and without what is not needed."""
    written = bytes(sent)
    if written.startswith(b"<"):  # a plain link has no credentials
        return written
    is_short = len(written) <= _LONGEST_WRITTEN
    if is_short and b"@" not in written and b"\\" not in written:
        return written
    row = _row(written)
    url = _followed(row.url, base)
    # It is joined once more when it is read, which may give a host to an address without one.
    row.url = url if _followed(url, base) == url else NOWHERE
    return encode_row(row)


class _Sorted(NamedTuple):
    """The files of a page, sorted by their names."""

    # The rows by version as written.
    rows: dict[str, list[Written]]
    # These versions have wheels with a label.
    labelled: set[str]
    rejections: list[Rejection]
    # What may be a list of variants, by name. It is among the rejected files, too.
    tables: list[tuple[str, Written]]


def _sorted_out(rows: Iterable[tuple[str, Written]], project: NormalizedName) -> _Sorted:
    """Return the files of a page, of which the names are given."""
    found = _Sorted({}, set(), [], [])
    for filename, written in rows:
        version = _version_of(filename, project)
        if isinstance(version, str):
            if version in found.rows:
                found.rows[version].append(written)
            else:
                found.rows[version] = [written]
            if label_of(filename):
                found.labelled.add(version)
            continue
        found.rejections.append(version)
        if filename.endswith(VARIANTS_ENDING):
            found.tables.append((filename, written))
    return found


def _releases(found: _Sorted, base: str) -> tuple[dict[str, list[Written]], list[str]]:
    """Return the rows by version, newest first, and the versions with variant wheels.

    Files without a valid version are added to the rejections. Of several spellings of a version,
    the key is the one that sorts first, whatever the order of the page.
    """
    spellings: dict[Version, list[str]] = {}
    for spelling, rows in found.rows.items():
        version = text.version(spelling)
        if version is not None:
            spellings.setdefault(version, []).append(spelling)
            continue
        for file in files_of(map(bytes, rows), base):
            found.rejections.append(Rejection(file.filename, RejectionReason.VERSION, spelling))
    releases: dict[str, list[Written]] = {}
    labelled: list[str] = []
    for version in sorted(spellings, reverse=True):
        keys = sorted(spellings[version])
        rows_of_version: list[Written] = []
        for key in keys:
            rows_of_version += found.rows[key]
        releases[keys[0]] = rows_of_version
        if not found.labelled.isdisjoint(keys):
            labelled.append(keys[0])
    return releases, labelled


def _variant_files(
    labelled: Iterable[str],
    tables: Iterable[tuple[str, Written]],
    project: NormalizedName,
    base: str,
) -> dict[str, File | None]:
    """Return the list of variants of each release that has variant wheels.

    None stands for a release without a list.
    """
    variant_files: dict[str, File | None] = dict.fromkeys(labelled)
    if not variant_files:
        return {}
    keys = {text.version(version): version for version in variant_files}
    for filename, written in tables:
        if not is_readable(filename):
            continue
        match = prefix_of(project).match(filename)
        if match is None:
            continue
        written_version = filename[match.end() : -len(VARIANTS_ENDING)]
        key = keys.get(text.version(written_version))
        if key is not None and variant_files[key] is None:
            (variant_files[key],) = files_of([bytes(written)], base)
    return variant_files


def _without_tables(
    rejections: Sequence[Rejection], variant_files: Mapping[str, File | None]
) -> tuple[Rejection, ...]:
    """Return the rejections without those lists of variants that are used."""
    names = {file.filename for file in variant_files.values() if file is not None}
    return tuple(rejection for rejection in rejections if rejection.filename not in names)


def _version_of(filename: str, project: NormalizedName) -> str | Rejection:
    """Return the version in a file's name, or why the file cannot be used."""
    wheel = distribution_and_version(filename)
    if wheel is not None:
        distribution, version = wheel
        if text.name(distribution) == project:
            return version
        return Rejection(filename, RejectionReason.FOREIGN, distribution)
    if not is_readable(filename):
        return Rejection(ascii(filename[:255])[1:-1], RejectionReason.NAME)
    if filename.endswith(".whl"):
        return Rejection(filename, RejectionReason.NAME)
    archived = archive_version(filename, project)
    if archived is not None:
        return archived
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
