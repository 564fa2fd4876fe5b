"""Pages of the simple repository API, bytes to `Page`. Pure.

JSON is PEP 691 and 700, HTML PEP 503, 592, 658 and 714; PEP 629 versions both, and PEP 792 is in both.
A defect of a single file results in a `SetAside`; one that makes the whole page
unusable is an IndexFailure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NoReturn

import msgspec
from msgspec.structs import replace
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.catalog.parse import html
from resolver.catalog.parse.address import NOWHERE, Base
from resolver.catalog.parse.filename import (
    ARCHIVE_ENDINGS,
    archive_version,
    are_printable,
    are_readable,
    is_readable,
    plain_runs,
    starts_with_project,
    wheel_release,
)
from resolver.catalog.parse.hashes import read_sha256
from resolver.catalog.parse.html import LONGEST_REASON
from resolver.errors import IndexFailure
from resolver.model import text
from resolver.model.release import ACTIVE, File, Page, Reason, SetAside, Standing

ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"

_LARGEST = 1 << 60  # bytes: a size beyond it is none
_JSON_TYPES = ("application/vnd.pypi.simple.v1+json", "application/json", "application/vnd.pypi.simple.latest+json")


class _Meta(msgspec.Struct, rename="kebab"):
    api_version: str


class _Hashes(msgspec.Struct, frozen=True):
    sha256: str = ""


class _File(msgspec.Struct, rename="kebab", gc=False):
    filename: str
    url: str
    hashes: _Hashes = _Hashes()
    requires_python: str | None = None
    yanked: bool | str = False
    core_metadata: bool | _Hashes | None = None
    dist_info_metadata: bool | _Hashes | None = None
    size: int | None = None
    upload_time: str | None = None


class _Project(msgspec.Struct, rename="kebab"):
    meta: _Meta
    name: str
    files: list[_File]
    project_status: msgspec.Raw = (
        msgspec.Raw()
    )  # a value not in PEP 792 means nothing, and must not prevent files from being read


class _Row(msgspec.Struct, rename="kebab", gc=False):
    """A file whose optional values may be of any type."""

    filename: str
    url: str
    hashes: msgspec.Raw = msgspec.Raw()
    requires_python: msgspec.Raw = msgspec.Raw()
    yanked: msgspec.Raw = msgspec.Raw()
    core_metadata: msgspec.Raw = msgspec.Raw()
    dist_info_metadata: msgspec.Raw = msgspec.Raw()
    size: msgspec.Raw = msgspec.Raw()
    upload_time: msgspec.Raw = msgspec.Raw()


class _Rows(msgspec.Struct, rename="kebab"):
    """A page whose files are such rows."""

    meta: _Meta
    name: str
    files: list[_Row]
    project_status: msgspec.Raw = msgspec.Raw()


_HEX = b"0123456789abcdef"
_MOST_OBJECTS = 600_000  # three for each file, as `html` has it
_LEAST = 18  # bytes of each of the three
_LONGEST = 1 << 16  # bytes of a value that is of any type

# Escaped surrogates: a pair, which is a character, or a lone one. Backslashes before it may be escaped themselves.
_LONE = re.compile(
    rb"(?<!\\)((?:\\\\)*)(?:(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)

_decode_project = msgspec.json.Decoder(_Project).decode
_decode_rows = msgspec.json.Decoder(_Rows).decode


def parse(body: bytes, content_type: str, *, project: NormalizedName, index: str, url: str) -> Page:
    """Read the page of `project` that `index` sent from `url`, the last one after redirects. Raises IndexFailure."""
    media, _, parameters = content_type.partition(";")
    media = media.strip().lower()
    body = body.removeprefix(b"\xef\xbb\xbf")
    if not body.strip():
        unusable(project, index, url, "The page is empty.")
    if media.startswith("application/vnd.pypi.simple.v") and not media.startswith("application/vnd.pypi.simple.v1+"):
        unusable(project, index, url, f"Its type is `{media}`; only version 1 is supported (PEP 629).")
    plain = False
    if media in _JSON_TYPES or body.lstrip()[:1] == b"{":
        files, standing, plain = _read_json(body, project, index, url)
    else:
        try:
            files, standing = html.read(body, parameters, url)
        except html.HtmlError as error:
            unusable(project, index, url, str(error))
    return replace(group(files, project=project, index=index, url=url, plain=plain), standing=standing)


def unusable(project: str, index: str, url: str, why: str, hint: str = "") -> NoReturn:
    """Raise the failure of a page that cannot be used."""
    raise IndexFailure(
        f"Index `{index}` sent an unusable page for {project}.",
        where=url,
        why=why,
        hint=hint or "open the address in a browser: a proxy or an incomplete mirror may have answered",
    )


def group(files: list[File], *, project: NormalizedName, index: str, url: str, plain: bool = False) -> Page:
    """Sort files by release and set aside what cannot be used.

    Two spellings of one version share the key that sorts first, so that the
    order of a page's links does not matter. A name listed with several
    sha256 is kept as it is: `screen` refuses it, as nobody can tell which one is right.
    With `plain`, names and addresses are known to be printable.
    """
    spelled: dict[str, list[File]] = {}
    aside: list[SetAside] = []
    seen: set[tuple[str, str]] = set()
    foreign = at = 0
    for version, count in _runs(files, project, plain=plain):
        run = files[at : at + count]
        at += count
        if version:
            spelled.setdefault(version, []).extend(run)
            continue
        for file in run:
            found = _version_of(file, project)
            if isinstance(found, SetAside):
                aside.append(found)
                foreign += found.reason is Reason.FOREIGN or (
                    found.reason is Reason.FORMAT and not starts_with_project(file.filename, project)
                )
            elif (file.filename, file.sha256) not in seen:
                seen.add((file.filename, file.sha256))
                spelled.setdefault(found, []).append(file)
    if foreign and foreign == len(aside) and not spelled:
        unusable(project, index, url, f"Every file on it belongs to another project, for example {aside[0].filename}.")
    releases, odd = _merge(spelled)
    return Page(project=project, index=index, releases=releases, set_aside=tuple(aside + odd))


def _runs(files: list[File], project: NormalizedName, *, plain: bool) -> Iterable[tuple[str, int]]:
    """Versions with how many files of them follow each other; "" where a name is not a common one of the project.

    Nothing is known at once of a page with a name or address that cannot be read, or a name that is there twice.
    """
    filenames = [file.filename for file in files]
    readable = are_readable(filenames) and (plain or are_printable("".join([file.url for file in files])))
    if not readable or len(set(filenames)) != len(filenames):
        return [("", len(files))]
    return plain_runs(filenames, project)


def _version_of(file: File, project: NormalizedName) -> str | SetAside:
    """The version in a file's name, or why the file cannot be used."""
    filename = file.filename
    if not (is_readable(filename) and file.url.isprintable()):
        reason = Reason.ADDRESS if file.url == NOWHERE else Reason.NAME
        return SetAside(ascii(filename[:255])[1:-1], reason)
    if filename.endswith(".whl"):
        wheel = wheel_release(filename)
        if wheel is None:
            return SetAside(filename, Reason.NAME)
        distribution, version = wheel
        return version if text.name(distribution) == project else SetAside(filename, Reason.FOREIGN, distribution)
    found = archive_version(filename, project)
    if found is not None:
        return found
    is_archive = filename.endswith(ARCHIVE_ENDINGS) and not starts_with_project(filename, project)
    return SetAside(filename, Reason.FOREIGN if is_archive else Reason.FORMAT)


def _merge(spelled: dict[str, list[File]]) -> tuple[dict[str, tuple[File, ...]], list[SetAside]]:
    """Merge the spellings of one version; set aside files whose version is not valid."""
    versions = [text.version(spelling) for spelling in spelled]
    if None not in versions and len(set(versions)) == len(versions):
        return {spelling: tuple(files) for spelling, files in spelled.items()}, []
    spellings: dict[Version, list[str]] = {}
    aside: list[SetAside] = []
    for (spelling, files), version in zip(spelled.items(), versions, strict=True):
        if version is None:
            aside += [SetAside(file.filename, Reason.VERSION, spelling) for file in files]
        else:
            spellings.setdefault(version, []).append(spelling)
    releases = {}
    for same in spellings.values():
        same.sort()
        releases[same[0]] = tuple(file for spelling in same for file in spelled[spelling])
    return releases, aside


def _read_json(body: bytes, project: NormalizedName, index: str, url: str) -> tuple[list[File], Standing, bool]:
    """The files and status of a page, and whether its names and addresses are known to be printable."""
    # Values that are not needed leave nothing behind, however large they are.
    if len(body) > _LEAST * _MOST_OBJECTS and body.count(b"{") > _MOST_OBJECTS:
        unusable(project, index, url, f"It has more than {_MOST_OBJECTS} objects.")
    try:
        try:
            page = _decoded(body)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            page = _decoded(_LONE.sub(_without_lone, body))
        standing = _standing(page.project_status)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        unusable(project, index, url, f"It is not a JSON page of PEP 691: {error}.")
    except RecursionError:
        unusable(project, index, url, "It is not a JSON page of PEP 691: its values are nested too deeply.")
    if page.meta.api_version.partition(".")[0] != "1":
        unusable(
            project, index, url, f"Its API version is {page.meta.api_version}; only version 1 is supported (PEP 629)."
        )
    if text.name(page.name) != project:
        unusable(project, index, url, f"It is a page for another project, `{page.name}`.")
    given = [one.url for one in page.files]
    addresses = Base(url).resolve_all(given)
    digests = _sha256s([one.hashes.sha256 for one in page.files])
    metadata = _metadata_sha256s(page.files)
    files = [
        File(
            one.filename,
            address,
            digest,
            size if (size := one.size) is not None and 0 <= size <= _LARGEST else None,
            one.requires_python or "",
            None if not (yanked := one.yanked) else ("" if yanked is True else yanked[:LONGEST_REASON]),
            one.upload_time or "",
            offered,
        )
        for one, address, digest, offered in zip(page.files, addresses, digests, metadata, strict=True)
    ]
    return files, standing, addresses is given and _is_plain(body)


def _decoded(body: bytes) -> _Project:
    """A page of JSON. Raises msgspec.DecodeError, also for half a surrogate pair."""
    try:
        return _decode_project(body)
    except msgspec.ValidationError:
        return _plainly(_decode_rows(body))


def _without_lone(found: re.Match[bytes]) -> bytes:
    """The match with U+FFFD for an escape that is half of a surrogate pair, and so no character (RFC 8259, 8.2)."""
    return found[0] if found[2] else found[1] + rb"\ufffd"


def _is_plain(body: bytes) -> bool:
    """Whether all texts of a JSON page are printable: JSON has control characters only in escapes, except DEL."""
    return body.isascii() and b"\\" not in body and b"\x7f" not in body


def _plainly(page: _Rows) -> _Project:
    """A page with rows that have values of other types than PEP 691 and 700 say. Such values are ignored, as in pip.

    Raises msgspec.ValidationError if a name or address is not a text.
    """
    files = []
    for row in page.files:
        python, size, moment = map(_value, (row.requires_python, row.size, row.upload_time))
        yanked = _value(row.yanked, too_long=True)
        files.append(
            _File(
                row.filename,
                row.url,
                _hashes(_value(row.hashes)) or _Hashes(),
                None if python is None or python is False else str(python),
                yanked if isinstance(yanked, str) else bool(yanked),
                _offered(_value(row.core_metadata)),
                _offered(_value(row.dist_info_metadata)),
                size if type(size) is int else None,
                moment if isinstance(moment, str) else None,
            )
        )
    return _Project(page.meta, page.name, files, page.project_status)


def _value(raw: msgspec.Raw, *, too_long: object = None) -> object:
    """A decoded value; None if there is none, and `too_long`, undecoded, for one beyond the limit."""
    if len(raw) > _LONGEST:
        return too_long
    found: object = msgspec.json.decode(raw) if raw else None
    return found


def _hashes(given: object) -> _Hashes | None:
    digest = given.get("sha256") if isinstance(given, dict) else None
    return _Hashes(digest) if isinstance(digest, str) else None


def _offered(given: object) -> bool | _Hashes | None:
    return given if isinstance(given, bool) else _hashes(given)


def _sha256s(given: list[str]) -> list[str]:
    """`read_sha256` of each. If all are valid, as on nearly every page, they are checked in one go."""
    whole = "".join(given)
    if set(map(len, given)) == {64} and whole.isascii() and not whole.encode().translate(None, _HEX):
        return given
    return [read_sha256(digest) for digest in given]


def _standing(given: msgspec.Raw) -> Standing:
    """PEP 792: "If no status is explicitly noted, then the project is considered to be in the active state."."""
    told = _value(given)
    found = told if isinstance(told, dict) else {}
    status, reason = found.get("status"), found.get("reason")
    if not isinstance(status, str) or not status:
        return ACTIVE
    return Standing(status, reason if isinstance(reason, str) else "")


def _metadata_sha256s(files: list[_File]) -> list[str | None]:
    """For each file None if no `.metadata` file is offered, else its sha256, or an empty text without one."""
    if not any(one.core_metadata or one.dist_info_metadata for one in files):
        return [None] * len(files)
    # PEP 714: core-metadata wins over its older name where both are there.
    offered = [one.core_metadata if one.core_metadata is not None else one.dist_info_metadata for one in files]
    digests = iter(_sha256s([one.sha256 for one in offered if isinstance(one, _Hashes)]))
    return [next(digests) if isinstance(one, _Hashes) else ("" if one else None) for one in offered]
