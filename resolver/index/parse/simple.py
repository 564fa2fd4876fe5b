"""Pages of the simple repository API, bytes to `Listing`. Pure.

JSON is PEP 691 and 700, HTML PEP 503, 592, 658 and 714; PEP 629 versions both, and PEP 792 is in both.
A defect of a single file results in a `Rejection`; one that makes the whole page
unusable is an IndexFailure.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NoReturn

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import IndexFailure
from resolver.index.parse import html
from resolver.index.parse.address import without_credentials
from resolver.index.parse.filename import (
    ARCHIVE_ENDINGS,
    archive_version,
    is_readable,
    starts_with_project,
    wheel_release,
)
from resolver.index.parse.listing import Listing, Rows, bare, packed, value_of
from resolver.model import text
from resolver.model.release import ACTIVE, ProjectStatus, Reason, Rejection

ACCEPT: Final = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"

_JSON_TYPES: Final = (
    "application/vnd.pypi.simple.v1+json",
    "application/json",
    "application/vnd.pypi.simple.latest+json",
)
_MOST_OBJECTS: Final = 600_000  # three for each file, as `html` has it
_LEAST: Final = 18  # bytes of each of the three

# What follows the version in the name of a wheel without build number.
_TAGS: Final = re.compile(r"[\w.]{1,60}-[\w.]{1,60}-[\w.]{1,100}\.whl", re.ASCII)


class _Meta(msgspec.Struct, rename="kebab"):
    api_version: str


class _Name(msgspec.Struct, gc=False):
    filename: str


class _Names(msgspec.Struct, rename="kebab"):
    """A page, of whose files only the names are read."""

    meta: _Meta
    name: str
    files: list[_Name]
    project_status: msgspec.Raw = msgspec.Raw()  # may be of any type


class _Rows(msgspec.Struct):
    """A page, of whose files nothing is read."""

    files: list[msgspec.Raw]


_decode_names = msgspec.json.Decoder(_Names).decode
_decode_rows = msgspec.json.Decoder(_Rows).decode


def parse(body: bytes, content_type: str, *, project: NormalizedName, index: str, url: str) -> Listing:
    """Read the page of `project` that `index` sent from `url`, the last one after redirects. Raises IndexFailure."""
    media = content_type.partition(";")[0].strip().lower()
    body = body.removeprefix(b"\xef\xbb\xbf")
    if not body.strip():
        unusable(project, index, url, "The page is empty.")
    if media.startswith("application/vnd.pypi.simple.v") and not media.startswith("application/vnd.pypi.simple.v1+"):
        unusable(project, index, url, f"Its type is `{media}`; only version 1 is supported (PEP 629).")
    base = url
    if media in _JSON_TYPES or body.lstrip()[:1] == b"{":
        files, project_status = _read_json(body, project, index, url)
    else:
        try:
            files, project_status, base = html.read(body, url)
        except html.HtmlError as error:
            unusable(project, index, url, str(error))
    if any(mark in body for mark in (b"@", b"\\", b"&")):
        try:
            files = [(filename, bare(row, base)) for filename, row in files]
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            unusable(project, index, url, f"A row of it cannot be read: {error}.")
    spelled, aside = _spelled(files, project)
    if aside and not spelled and all(_is_foreign(one, project) for one in aside):
        unusable(project, index, url, f"Every file on it belongs to another project, for example {aside[0].filename}.")
    rows, odd = _ordered(spelled)
    return packed(without_credentials(base), project_status, aside + odd, rows)


def unusable(project: str, index: str, url: str, why: str, hint: str = "") -> NoReturn:
    """Raise the failure of a page that cannot be used."""
    raise IndexFailure(
        f"Index `{index}` sent an unusable page for {project}.",
        where=url,
        why=why,
        hint=hint or "open the address in a browser: a proxy or an incomplete mirror may have answered",
    )


def _read_json(
    body: bytes, project: NormalizedName, index: str, url: str
) -> tuple[Iterable[tuple[str, msgspec.Raw]], ProjectStatus]:
    """The names of files with their rows, and the project's status."""
    # Values that are not needed leave nothing behind, however large they are.
    if len(body) > _LEAST * _MOST_OBJECTS and body.count(b"{") > _MOST_OBJECTS:
        unusable(project, index, url, f"It has more than {_MOST_OBJECTS} objects.")
    try:
        page = _decode_names(body)
        rows = _decode_rows(body).files
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
    return zip([one.filename for one in page.files], rows, strict=True), _standing(page.project_status)


def _standing(given: msgspec.Raw) -> ProjectStatus:
    """PEP 792: "If no status is explicitly noted, then the project is considered to be in the active state."."""
    told = value_of(given)
    found = told if isinstance(told, dict) else {}
    status, reason = found.get("status"), found.get("reason")
    if not isinstance(status, str) or not status:
        return ACTIVE
    return ProjectStatus(status, reason if isinstance(reason, str) else "")


def _spelled(files: Iterable[tuple[str, msgspec.Raw]], project: NormalizedName) -> tuple[Rows, list[Rejection]]:
    """The rows of files by version as spelled in their names, and files that are of no version of the project."""
    spelled: Rows = {}
    aside: list[Rejection] = []
    same = ""  # how the names of the wheels of a release begin, which mostly follow each other
    rows: list[msgspec.Raw] = []
    for filename, row in files:
        if not (same and filename.startswith(same) and _TAGS.fullmatch(filename, len(same))):
            version = _version_of(filename, project)
            if isinstance(version, Rejection):
                aside.append(version)
                continue
            rows = spelled.setdefault(version, [])
            same = "-".join((*filename.split("-", 2)[:2], "")) if filename.endswith(".whl") else ""
        rows.append(row)
    return spelled, aside


def _version_of(filename: str, project: NormalizedName) -> str | Rejection:
    """The version in a file's name, or why the file cannot be used."""
    if not is_readable(filename):
        return Rejection(ascii(filename[:255])[1:-1], Reason.NAME)
    if filename.endswith(".whl"):
        wheel = wheel_release(filename)
        if wheel is None:
            return Rejection(filename, Reason.NAME)
        distribution, version = wheel
        return version if text.name(distribution) == project else Rejection(filename, Reason.FOREIGN, distribution)
    found = archive_version(filename, project)
    if found is not None:
        return found
    is_archive = filename.endswith(ARCHIVE_ENDINGS) and not starts_with_project(filename, project)
    return Rejection(filename, Reason.FOREIGN if is_archive else Reason.FORMAT)


def _is_foreign(aside: Rejection, project: NormalizedName) -> bool:
    if aside.reason is Reason.FORMAT:
        return not starts_with_project(aside.filename, project)
    return aside.reason is Reason.FOREIGN


def _ordered(spelled: Rows) -> tuple[Rows, list[Rejection]]:
    """The rows by version, newest first, and files whose version is not valid.

    Two spellings of one version share the key that sorts first, so that the order of a page's links does not matter.
    """
    spellings: dict[Version, list[str]] = {}
    aside: list[Rejection] = []
    for spelling, rows in spelled.items():
        version = text.version(spelling)
        if version is None:
            names = (msgspec.json.decode(row, type=_Name).filename for row in rows)
            aside += [Rejection(name, Reason.VERSION, spelling) for name in names]
        else:
            spellings.setdefault(version, []).append(spelling)
    ordered = {}
    for version in sorted(spellings, reverse=True):
        same = sorted(spellings[version])
        ordered[same[0]] = [row for spelling in same for row in spelled[spelling]]
    return ordered, aside


_RFC3339 = re.compile(
    r"(?P<moment>\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d+))?(?P<zone>[Zz]|[+-]\d\d:\d\d)?", re.ASCII
)


@lru_cache(1 << 16)
def moment(uploaded: str) -> dt.datetime | None:
    """An upload time as a page gives it, in UTC; None if it is not RFC 3339, or UTC has no such year."""
    match = _RFC3339.fullmatch(uploaded)
    if match is None:
        return None
    # Python 3.10 reads microseconds and nothing longer
    fraction = f".{match['fraction'][:6]:0<6}" if match["fraction"] else ""
    zone = match["zone"] if match["zone"] not in (None, "", "Z", "z") else "+00:00"
    try:
        return dt.datetime.fromisoformat(f"{match['moment']}{fraction}{zone}").astimezone(dt.timezone.utc)
    except (ValueError, OverflowError):
        return None


def in_whole_seconds(uploaded: str) -> str:
    """An upload time in UTC and whole seconds, `2025-11-20T09:59:00Z`; empty if it is not one."""
    found = moment(uploaded)
    return "" if found is None else moment_text(int(found.timestamp()))


def moment_text(seconds: int) -> str:
    """The text of a moment that is given in seconds since 1970."""
    return dt.datetime.fromtimestamp(seconds, dt.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
