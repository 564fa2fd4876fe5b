"""Parse pages of the simple repository API. A page lists the files of one project.

A page is JSON (PEP 691, PEP 700) or HTML (PEP 503, 592, 658 and 714; see `html_page`). In both
formats PEP 629 defines the version of the API, and PEP 792 the status of the project.

A defect of a single file results in a `Rejection` of that file. A defect that makes the whole page
unusable raises IndexFailure.

A page has one entry for each file: an element of `files` in JSON, a link in HTML. `read` parses
only the file names, since a lock looks at about one release in fifty. `files_of` parses the
complete entries of one release. `net.remote_pages` and `store.page_cache` call both.
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
    FileEntry,
    Hashes,
    PageError,
    Text,
    encode_entry,
    entry_of_tag,
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
# Characters of a reason for yanking that are kept, since a lock repeats it.
_LONGEST_REASON: Final = 500

# `_counts.files` is the number of file entries decoded so far. A page is read by one thread, so
# each thread has its own count.
_counts: Final = threading.local()


class _TooManyError(Exception):
    """A page has more than MOST_FILES files."""


class _Counted(msgspec.Struct, gc=False):
    """A file entry that is counted, and of which no field is decoded.

    The type has no fields, so msgspec skips every key.
    """

    def __post_init__(self) -> None:
        _count_file()


class _Outline(msgspec.Struct):
    """A JSON page whose files are only counted. Other defects are found when it is read."""

    files: list[_Counted] = []


class _Named(msgspec.Struct, gc=False):
    """A file entry that is counted, and of which only the name is decoded."""

    filename: str

    def __post_init__(self) -> None:
        _count_file()


class _Names(msgspec.Struct):
    """A JSON page whose files are counted and decoded to their names."""

    files: list[_Named] = []


def _count_file() -> None:
    """Count one more file entry of this thread's page. Raises _TooManyError beyond MOST_FILES."""
    _counts.files += 1
    if _counts.files > MOST_FILES:
        raise _TooManyError


class _Meta(msgspec.Struct, rename="kebab"):
    """The object `meta` of a JSON page."""

    # The version of the API (PEP 629), such as `1.1`.
    api_version: Text


class _Page(msgspec.Struct, rename="kebab"):
    """A JSON page whose files were counted before. Keys without a field here take no memory."""

    meta: _Meta
    # The name of the project, as the page spells it.
    name: Text
    # The undecoded JSON of each file entry.
    files: list[msgspec.Raw]
    # The undecoded value of PEP 792, which may be of any JSON type.
    project_status: msgspec.Raw = msgspec.Raw(b"null")


class _Status(msgspec.Struct):
    """The object `project-status` of a JSON page (PEP 792)."""

    # Empty if the page does not state it.
    status: str = ""
    # Why the project has this status; empty if the page does not state it.
    reason: str = ""


class _Filename(msgspec.Struct):
    """A file entry of which only the name is decoded, without counting it."""

    filename: str


class WrittenPage(NamedTuple):
    """A page whose files were sorted into releases by name. Their other fields are not decoded."""

    # The address that links are relative to.
    base: str
    # The undecoded file entries by version, the newest version first. The key is the version as
    # the file names spell it. `stored`, then `files_of`, make a file of an entry. An entry of type
    # msgspec.Raw keeps the whole page in memory.
    releases: dict[str, list[Written]]
    # The files that no release can use, with the reasons.
    rejections: tuple[Rejection, ...]
    # The status of the project (PEP 792).
    project_status: ProjectStatus
    # For each version with variant wheels, the file that lists its variants (PEP 825); None if the
    # page has no such file.
    variant_files: dict[str, File | None]


def _alone(field: msgspec.structs.FieldInfo) -> type[msgspec.Struct]:
    """Return a struct type that has only `field`, under the same JSON key."""
    kind = (field.name, field.type, field.default)
    return msgspec.defstruct("Entry", [kind], rename={field.name: field.encode_name})


# An undecoded file entry, as the index sent it: a JSON object, or the `<a …>` tag of a link.
Written = bytes | msgspec.Raw

# Bytes of an entry. A longer one is stored without the keys that are not needed. The entries of
# public indexes have half of that.
_LONGEST_WRITTEN: Final = 2 << 10

_ODD: Final = (msgspec.DecodeError, UnicodeDecodeError)
_decode_page = msgspec.json.Decoder(_Page).decode
_decode_entry = msgspec.json.Decoder(FileEntry).decode
_decode_outline = msgspec.json.Decoder(_Outline).decode
_decode_names = msgspec.json.Decoder(_Names).decode
_decode_filename = msgspec.json.Decoder(_Filename).decode
# A decoder for each field but the file name, which skips all other keys of an entry.
_FIELDS: Final = [
    (field.name, msgspec.json.Decoder(_alone(field)).decode)
    for field in msgspec.structs.fields(FileEntry)
    if not field.required
]


def parse(body: bytes, content_type: str, *, project: NormalizedName, index: str, url: str) -> Page:
    """Return the page of a project, with the fields of all its files.

    `index` is the name of the index that sent `body`. `url` is the address of the page after
    redirects. Raises IndexFailure if the page cannot be used.
    """
    written = read(body, content_type, project=project, index=index, url=url)
    releases = {}
    for version, entries in written.releases.items():
        releases[version] = files_of(
            [stored(entry, written.base) for entry in entries], written.base
        )
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
    """Return a page of which only the names of the files are decoded.

    It has the same arguments as `parse`. Raises IndexFailure if the page cannot be used.
    """
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
    """Return a page as `read` does, for a body without a byte order mark.

    Raises PageError if the page cannot be used, and the exceptions of `_ODD` and RecursionError if
    it is JSON that cannot be decoded.
    """
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
    entries: Iterable[tuple[str, Written]]
    if media_type in _JSON_TYPES or body.lstrip()[:1] == b"{":
        entries, status = _read_json(body, project)
    else:
        entries, status, url = html_page.read(body, url)
    found = _sorted_out(entries, project)
    rejections = found.rejections
    has_rejections_only = bool(rejections) and not found.entries
    if has_rejections_only and all(_is_foreign(file, project) for file in rejections):
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
    """Return the file names of a JSON page with their entries, and the status of the project.

    Raises the exceptions of `_read`.
    """
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
        names = [_decode_filename(entry).filename for entry in page.files]
    return zip(names, page.files, strict=True), _project_status(page.project_status)


def _names(body: bytes) -> list[str] | None:
    """Return the file names of a JSON page; None if they cannot be decoded all at once.

    Raises PageError for more than MOST_FILES files, and the exceptions of `_ODD` if the page is not
    JSON with a list `files`.
    """
    _counts.files = 0
    try:
        return [entry.filename for entry in _decode_names(body).files]
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
    """Return the status in a JSON page; ACTIVE if it is missing, invalid or too long.

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


def _entry(raw: Written) -> FileEntry:
    """Return a decoded JSON entry. Fields with a value of a wrong type or length are left out.

    A `yanked` of a wrong type counts as true. Raises msgspec.DecodeError if the entry has no file
    name.
    """
    try:
        return _decode_entry(raw)
    except _ODD:
        pass
    entry = FileEntry(_decode_filename(raw).filename)
    for name, decode in _FIELDS:
        try:
            setattr(entry, name, getattr(decode(raw), name))
        except _ODD:
            if name == "yanked":
                entry.yanked = True
    return entry


def files_of(written: Iterable[bytes], base: str) -> tuple[File, ...]:
    """Return the files of a release from its stored entries.

    Links are relative to the address `base`. Entries with the same file name and sha256 result in
    one file, the first of them. A link that leads to no file is left out.
    """
    files: dict[tuple[str, str], File] = {}
    for stored_entry in written:
        entry = _parsed_entry(stored_entry)
        if entry is not None:
            file = _file(entry, base)
            files.setdefault((file.filename, file.sha256), file)
    return tuple(files.values())


def _parsed_entry(written: bytes) -> FileEntry | None:
    """Return a decoded entry; None for a link that leads to no file."""
    return entry_of_tag(written) if written.startswith(b"<") else _entry(written)


def stored(sent: Written, base: str) -> bytes:
    """Return an entry in the form in which it is kept in the cache.

    It has no credentials in its address. If it is long, the keys that are not needed are dropped.
    `base` is the address that its link is relative to.
    """
    written = bytes(sent)
    if written.startswith(b"<"):  # a plain link has no credentials
        return written
    is_short = len(written) <= _LONGEST_WRITTEN
    if is_short and b"@" not in written and b"\\" not in written:
        return written
    entry = _entry(written)
    url = _followed(entry.url, base)
    # It is joined once more when it is read, which may give a host to an address without one.
    entry.url = url if _followed(url, base) == url else NOWHERE
    return encode_entry(entry)


class _Sorted(NamedTuple):
    """The file entries of a page, sorted by file name."""

    # The entries of each version. The key is the version as the file names spell it.
    entries: dict[str, list[Written]]
    # The versions that have variant wheels, which have a label in their names (PEP 825).
    labelled: set[str]
    # The files whose names rule them out.
    rejections: list[Rejection]
    # File name and entry of each file that may list the variants of a release. `rejections` has
    # these files, too.
    tables: list[tuple[str, Written]]


def _sorted_out(entries: Iterable[tuple[str, Written]], project: NormalizedName) -> _Sorted:
    """Return the entries sorted by file name, from pairs of a file name and its entry."""
    found = _Sorted({}, set(), [], [])
    for filename, written in entries:
        version = _version_of(filename, project)
        if isinstance(version, str):
            if version in found.entries:
                found.entries[version].append(written)
            else:
                found.entries[version] = [written]
            if label_of(filename):
                found.labelled.add(version)
            continue
        found.rejections.append(version)
        if filename.endswith(VARIANTS_ENDING):
            found.tables.append((filename, written))
    return found


def _releases(found: _Sorted, base: str) -> tuple[dict[str, list[Written]], list[str]]:
    """Return the entries by version, newest first, and the versions that have variant wheels.

    If the file names spell a version in several ways, the key is the spelling that sorts first as
    text, so that the order of the page does not matter. Files whose version violates PEP 440 are
    added to `found.rejections`.
    """
    spellings: dict[Version, list[str]] = {}
    for spelling, entries in found.entries.items():
        version = text.version(spelling)
        if version is not None:
            spellings.setdefault(version, []).append(spelling)
            continue
        for file in files_of(map(bytes, entries), base):
            found.rejections.append(Rejection(file.filename, RejectionReason.VERSION, spelling))
    releases: dict[str, list[Written]] = {}
    labelled: list[str] = []
    for version in sorted(spellings, reverse=True):
        keys = sorted(spellings[version])
        entries_of_version: list[Written] = []
        for key in keys:
            entries_of_version += found.entries[key]
        releases[keys[0]] = entries_of_version
        if not found.labelled.isdisjoint(keys):
            labelled.append(keys[0])
    return releases, labelled


def _variant_files(
    labelled: Iterable[str],
    tables: Iterable[tuple[str, Written]],
    project: NormalizedName,
    base: str,
) -> dict[str, File | None]:
    """Return for each version in `labelled` the file that lists its variants (PEP 825).

    The value is None if there is no such file. `tables` has the files that may be lists. If there
    are several for one version, the first is used.
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
    """Return the rejections without the lists of variants that are in use."""
    names = {file.filename for file in variant_files.values() if file is not None}
    return tuple(rejection for rejection in rejections if rejection.filename not in names)


def _version_of(filename: str, project: NormalizedName) -> str | Rejection:
    """Return the version in a file name as written, or why the file cannot be used."""
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
    """Return whether a rejected file belongs to another project, by its name."""
    if rejection.reason is RejectionReason.FORMAT:
        return not starts_with_project(rejection.filename, project)
    return rejection.reason is RejectionReason.FOREIGN


def _file(entry: FileEntry, base: str) -> File:
    """Return the file of a decoded entry. Its address is made absolute with `base`."""
    # PEP 714: core-metadata wins over its older name if both are present.
    metadata = entry.dist_info_metadata if entry.core_metadata is None else entry.core_metadata
    return File(
        filename=entry.filename,
        url=_followed(entry.url, base),
        sha256="" if entry.hashes is None else _sha256(entry.hashes),
        size=entry.size,
        requires_python=entry.requires_python or "",
        yanked=_reason_for_yanking(entry.yanked),
        uploaded=entry.upload_time or "",
        metadata=_metadata_sha256(metadata),
    )


def _reason_for_yanking(yanked: str | bool | None) -> str | None:
    """Return the reason why a file is yanked, which may be empty; None if it is not yanked."""
    if not yanked:
        return None
    return "" if yanked is True else yanked[:_LONGEST_REASON]


def _metadata_sha256(metadata: Hashes | bool | None) -> str | None:
    """Return the sha256 of a `.metadata` file (PEP 714).

    It is empty if the index states no sha256, and None if the index does not offer the file.
    """
    if metadata is None or metadata is False:
        return None
    return "" if metadata is True else _sha256(metadata)


def _followed(address: str | None, base: str) -> str:
    """Return the absolute address of a link, without credentials and fragment.

    Return NOWHERE if the address is missing or must not be followed.
    """
    if address is None:
        return NOWHERE
    try:
        return resolve(base, address.partition("#")[0])
    except ValueError:
        return NOWHERE


def _sha256(hashes: Hashes) -> str:
    """Return the sha256 in lower case; empty if it is not 64 hexadecimal digits."""
    digest = hashes.sha256.strip().lower()
    is_valid = len(digest) == 64 and not digest.strip("0123456789abcdef")
    return digest if is_valid else ""
