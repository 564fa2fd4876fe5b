"""HTML index pages: their links and the status of the project (PEP 503, 592, 629, 658, 714, 792).

An HTML5 parser takes time quadratic in the depth: half a second for 200 kB of `<div>`, an hour for
15 MB. So it is given only the relevant tags, which are found in one pass. Of a plain link only the
name of its file is read; the parser is given it when the release of that file is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import unquote

import msgspec

from resolver.index.parse.address import resolve
from resolver.model.release import ACTIVE, ProjectStatus
from resolver.phrase import phrase

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_HTML = re.compile(rb"<html[\s>]", re.IGNORECASE)
_HTML_END = re.compile(rb"</html\s*>", re.IGNORECASE)
# What identifies the page of a project without files: PEP 629, or the usual heading.
_INDEX = re.compile(
    rb"pypi:repository-version|Links for |Index of /|Directory listing for ", re.IGNORECASE
)
_DOCTYPE = re.compile(rb"\s*<!doctype\s+html", re.IGNORECASE)

# A tag's attributes; an unclosed one extends to the end of the page. The pattern matches wherever
# it begins, so no part of a page is scanned twice.
_REST = rb"""(?:[^>"']+|"[^"]*(?:"|\Z)|'[^']*(?:'|\Z)){0,400}[^>]*(?:>|\Z)"""
_COMMENT = rb"!--(?:-?>|.*?(?:--!?>|\Z))"
# Elements whose content is not markup.
_NOT_READ = (
    rb"(script|style|textarea|title|template|xmp|iframe|noembed|noframes)(?=[\s/>])"
    rb".*?(?:</\1(?=[\s/>])|\Z)"
)
_TAGS = re.compile(
    rb"<(?:(a|base|meta)(?=[\s/>])"
    + _REST
    + rb"|"
    + _COMMENT
    + rb"|"
    + _NOT_READ.replace(rb"\1", rb"\2")
    + rb"|[a-z]"
    + _REST
    + rb")",
    re.IGNORECASE | re.DOTALL,
)
_MARKUP = re.compile(
    rb"<(?:" + _COMMENT + rb"|" + _NOT_READ + rb"|[a-z/!?]" + _REST + rb")",
    re.IGNORECASE | re.DOTALL,
)
# A link that begins with its address, in which nothing is escaped. Any HTML5 parser finds one tag
# in it, with the same address.
_PLAIN_LINK = re.compile(
    rb"""<a[ \t\n]+href="(?:[A-Za-z0-9_+~.:/-]*/)?([A-Za-z0-9_+~.-]+)(?:#[A-Za-z0-9=&_-]*)?\""""
    rb"""(?:[ \t\n]+[a-z-]+(?:="[^"]*")?)*[ \t\n]*>"""
)
MOST_FILES: Final = 100_000  # the longest pages of the public indexes have some 30,000 links
_LONGEST_TAG = 64 << 10  # bytes; a link has some 200
_AT_ONCE = 256 << 10  # bytes of tags that are parsed together
LONGEST: Final = 1 << 16  # characters of a value
MetaTags = dict[str | None, str]
Text = Annotated[str, msgspec.Meta(max_length=LONGEST)]


class PageError(Exception):
    """The page cannot be used; the text is a sentence."""


class Hashes(msgspec.Struct, gc=False):
    """The hashes of a file."""

    # Empty without one.
    sha256: Text = ""


class FileRow(msgspec.Struct, rename="kebab", gc=False):
    """A file on a page, with the keys of PEP 691."""

    filename: str
    url: Text | None = None
    hashes: Hashes | None = None
    size: Annotated[int, msgspec.Meta(ge=0, le=1 << 60)] | None = None
    requires_python: Text | None = None
    yanked: Text | bool | None = None
    upload_time: Text | None = None
    core_metadata: Hashes | bool | None = None
    dist_info_metadata: Hashes | bool | None = None


# Of a row for the cache, which nobody is shown.
encode_row: Final = msgspec.json.Encoder().encode  # noqa: TID251


def read(body: bytes, url: str) -> tuple[list[tuple[str, bytes]], ProjectStatus, str]:
    """Return the files that a page links to, its project's status, and the base of its links.

    Of a file, return the name, and the tag of its link or the file as JSON.

    A page is in UTF-8, whatever its header says. Links to folders and to the page itself are not
    files. Raises PageError.
    """
    is_document = _HTML.search(body, 0, 4096) is not None
    if is_document and not _is_complete(body):
        raise PageError(phrase("It ends before `</html>`."))
    links, others = _tags(body)
    meta, base = _page_info(others)
    if base:
        try:
            url = resolve(url, base.strip())
        except ValueError:
            raise PageError(phrase("Its `<base href>` is no address to go by.")) from None
    is_page = is_document or _DOCTYPE.match(body) is not None
    rows: list[tuple[str, bytes]] = []
    for found in _written_rows(links):
        is_page = True
        if found is not None:
            rows.append(found)
    if not is_page:
        raise PageError(phrase("It is neither JSON nor HTML."))
    if not rows and not _is_empty_index(body):
        raise PageError(
            phrase(
                "It links to no file and does not declare itself an index page; a proxy may "
                "have answered."
            )
        )
    return rows, _project_status(meta), url


def _written_rows(links: list[bytes]) -> Iterator[tuple[str, bytes] | None]:
    """Yield the files that links lead to, in the order of the page; None for another link."""
    escaped: list[bytes] = []
    for tag in links:
        plain = _PLAIN_LINK.fullmatch(tag)
        if plain is None or plain[1] in (b".", b".."):
            escaped.append(tag)
            continue
        yield from _parsed_rows(escaped)
        escaped.clear()
        yield plain[1].decode(), tag
    yield from _parsed_rows(escaped)


def _parsed_rows(links: list[bytes]) -> Iterator[tuple[str, bytes] | None]:
    """Yield the files that these links lead to, as JSON; None for another link."""
    for anchor in _parsed(links):
        row = _row(anchor.attributes)
        yield None if row is None else (row.filename, encode_row(row))


def row_of_tag(tag: bytes) -> FileRow | None:
    """Return the file that a link leads to; None if it leads to none."""
    for anchor in _parsed([tag]):
        return _row(anchor.attributes)
    return None


def _is_complete(body: bytes) -> bool:
    """Return whether a page has `</html>`, which is mostly at its end."""
    if _HTML_END.search(body, max(0, len(body) - 4096)) is not None:
        return True
    return _HTML_END.search(body) is not None


def _is_empty_index(body: bytes) -> bool:
    """Return whether a page without links to files declares itself an index page, or is blank."""
    if _INDEX.search(body) is not None:
        return True
    return not _MARKUP.sub(b"", body).strip()


def _tags(body: bytes) -> tuple[list[bytes], list[bytes]]:
    """Return the tags of links, and the tags `base` and `meta`.

    Raises PageError if they are too many or too long.
    """
    links: list[bytes] = []
    others: list[bytes] = []
    for match in _TAGS.finditer(body):
        name = match[1]
        if not name:
            continue
        if match.end() - match.start() > _LONGEST_TAG:
            raise PageError(
                phrase("A tag of it is longer than {limit} KiB.", limit=_LONGEST_TAG >> 10)
            )
        if name in b"aA":
            links.append(match[0])
        else:
            others.append(match[0])
        if len(links) + len(others) > MOST_FILES:
            raise PageError(phrase("It has more than {limit} links.", limit=MOST_FILES))
    return links, others


def _parsed(tags: list[bytes]) -> Iterator[LexborNode]:
    """Yield the parsed tags.

    A few are parsed at a time, since an attribute of two bytes takes eighty in memory.
    """
    from selectolax.lexbor import LexborHTMLParser

    start = 0
    size = 0
    for end, tag in enumerate(tags, 1):
        size += len(tag)
        if size > _AT_ONCE or end == len(tags):
            yield from LexborHTMLParser(b"</a>".join(tags[start:end])).css("a, base, meta")
            start = end
            size = 0


def _page_info(tags: list[bytes]) -> tuple[MetaTags, str]:
    """Return the page's meta tags by name, and the address of its `base` tag ("" without one).

    Raises PageError.
    """
    meta: MetaTags = {}
    bases: list[str] = []
    for node in _parsed(tags):
        attributes = node.attributes
        name = attributes.get("name")
        content = (attributes.get("content") or "").strip()
        if node.tag == "base" and "href" in attributes:
            bases.append(attributes["href"] or "")
        if name == "pypi:repository-version" and content.partition(".")[0] != "1":
            raise PageError(
                phrase(
                    "Its API version is {version}; only version 1 is supported (PEP 629).",
                    version=repr(content),
                )
            )
        meta[name] = content
    return meta, bases[0] if bases else ""


def _project_status(meta: MetaTags) -> ProjectStatus:
    status = meta.get("pypi:project-status")
    if not status:
        return ACTIVE
    return ProjectStatus(status, meta.get("pypi:project-status-reason", ""))


def _row(attributes: dict[str, str | None]) -> FileRow | None:
    """Return the file that a link leads to; None if it leads to none."""
    address, _, fragment = (attributes.get("href") or "").strip().partition("#")
    filename = address.partition("?")[0].rpartition("/")[2]
    if filename in ("", ".", ".."):
        return None
    row = FileRow(
        unquote(filename),
        address,
        _hashes(fragment),
        requires_python=attributes.get("data-requires-python"),
        upload_time=attributes.get("data-upload-time"),
    )
    if "data-yanked" in attributes:
        row.yanked = attributes["data-yanked"] or True
    # PEP 714: data-core-metadata wins over its older name if both are present.
    for key in ("data-dist-info-metadata", "data-core-metadata"):
        if key in attributes:
            value = (attributes[key] or "").strip()
            row.core_metadata = value.lower() != "false" and _hashes(value)
    return row


def _hashes(text: str) -> Hashes:
    """Return the hash of `sha256=…` in a fragment or attribute."""
    for part in text.split("&"):
        algorithm, _, digest = part.partition("=")
        if algorithm == "sha256":
            return Hashes(digest)
    return Hashes()
