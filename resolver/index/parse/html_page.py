"""Read HTML index pages: links to files, and the status of the project.

PEP 503, 592, 629, 658, 714 and 792 define the format. `simple` calls this module.

The time that an HTML5 parser takes is quadratic in the depth of the elements: half a second for
200 kB of `<div>`, an hour for 15 MB. So the relevant tags are found with regular expressions in
one pass, and the parser gets only these. A plain link (`_PLAIN_LINK`) is parsed later, when its
release is looked at; until then only the name of its file is known.
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
# What an index page without any file must contain: the meta tag of PEP 629, or a usual heading.
_INDEX = re.compile(
    rb"pypi:repository-version|Links for |Index of /|Directory listing for ", re.IGNORECASE
)
_DOCTYPE = re.compile(rb"\s*<!doctype\s+html", re.IGNORECASE)

# The attributes of a tag, up to its `>`. A tag that is not closed extends to the end of the page.
# This pattern matches at any position, so no part of a page is scanned twice.
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
# The tag of a link whose first attribute is `href`, with an address in which nothing is escaped.
# Group 1 is the file name. Any HTML5 parser finds one tag in it, with the same address.
_PLAIN_LINK = re.compile(
    rb"""<a[ \t\n]+href="(?:[A-Za-z0-9_+~.:/-]*/)?([A-Za-z0-9_+~.-]+)(?:#[A-Za-z0-9=&_-]*)?\""""
    rb"""(?:[ \t\n]+[a-z-]+(?:="[^"]*")?)*[ \t\n]*>"""
)
MOST_FILES: Final = 100_000  # the longest pages of the public indexes have some 30,000 links
_LONGEST_TAG = 64 << 10  # bytes; the tag of a link has about 200
_AT_ONCE = 256 << 10  # bytes of tags that are parsed together
LONGEST: Final = 1 << 16  # characters of a text in an entry
# The content of each meta tag, by its attribute `name`; None is the key of tags without a name.
MetaTags = dict[str | None, str]
Text = Annotated[str, msgspec.Meta(max_length=LONGEST)]


class PageError(Exception):
    """The page cannot be used. The text of the error is a complete sentence that says why."""


class Hashes(msgspec.Struct, gc=False):
    """The hashes of a file on a page, of which only sha256 is read."""

    # As written, without a check; empty if the page has none.
    sha256: Text = ""


class FileEntry(msgspec.Struct, rename="kebab", gc=False):
    """The entry of one file on a page. PEP 691 and PEP 700 define its keys (`files`).

    A field is None if the page does not have it.
    """

    filename: str
    # As written: it may be relative, and may contain credentials.
    url: Text | None = None
    hashes: Hashes | None = None
    # In bytes.
    size: Annotated[int, msgspec.Meta(ge=0, le=1 << 60)] | None = None
    # A specifier of Python versions.
    requires_python: Text | None = None
    # The reason why the file is yanked, or whether it is.
    yanked: Text | bool | None = None
    # A time in ISO 8601.
    upload_time: Text | None = None
    # Whether the index offers the `.metadata` file, or the hashes of that file (PEP 714).
    core_metadata: Hashes | bool | None = None
    # The older name of `core_metadata` (PEP 658).
    dist_info_metadata: Hashes | bool | None = None


# Encodes an entry for the cache. Entries are not shown to users, so their JSON is not formatted.
encode_entry: Final = msgspec.json.Encoder().encode  # noqa: TID251


def read(body: bytes, url: str) -> tuple[list[tuple[str, bytes]], ProjectStatus, str]:
    """Return the files that a page links to, the status of the project, and the base of the links.

    A file is a pair of its name and its entry: the tag of a plain link, or JSON that was encoded
    from another link. Links to folders and to the page itself are not files. `url` is the address
    of the page; it is the base unless the page has a `<base href>`.

    A page is read as UTF-8, whatever its Content-Type says. Raises PageError if it cannot be used.
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
    entries: list[tuple[str, bytes]] = []
    for found in _written_entries(links):
        is_page = True
        if found is not None:
            entries.append(found)
    if not is_page:
        raise PageError(phrase("It is neither JSON nor HTML."))
    if not entries and not _is_empty_index(body):
        raise PageError(
            phrase(
                "It links to no file and does not declare itself an index page; a proxy may "
                "have answered."
            )
        )
    return entries, _project_status(meta), url


def _written_entries(links: list[bytes]) -> Iterator[tuple[str, bytes] | None]:
    """Yield name and entry of the file that each link leads to, in the order of the page.

    None is yielded for a link that leads to no file. Plain links are not parsed.
    """
    escaped: list[bytes] = []
    for tag in links:
        plain = _PLAIN_LINK.fullmatch(tag)
        if plain is None or plain[1] in (b".", b".."):
            escaped.append(tag)
            continue
        yield from _parsed_entries(escaped)
        escaped.clear()
        yield plain[1].decode(), tag
    yield from _parsed_entries(escaped)


def _parsed_entries(links: list[bytes]) -> Iterator[tuple[str, bytes] | None]:
    """Yield name and JSON entry of the file that each link leads to; None if it leads to none."""
    for anchor in _parsed(links):
        entry = _entry(anchor.attributes)
        yield None if entry is None else (entry.filename, encode_entry(entry))


def entry_of_tag(tag: bytes) -> FileEntry | None:
    """Return the entry of the file that the tag of a link leads to; None if it leads to none."""
    for anchor in _parsed([tag]):
        return _entry(anchor.attributes)
    return None


def _is_complete(body: bytes) -> bool:
    """Return whether a page contains `</html>`. The end of the page is searched first."""
    if _HTML_END.search(body, max(0, len(body) - 4096)) is not None:
        return True
    return _HTML_END.search(body) is not None


def _is_empty_index(body: bytes) -> bool:
    """Return whether a page without links to files can be trusted to be an index page.

    It can if it has what `_INDEX` looks for, or if nothing but markup is on it.
    """
    if _INDEX.search(body) is not None:
        return True
    return not _MARKUP.sub(b"", body).strip()


def _tags(body: bytes) -> tuple[list[bytes], list[bytes]]:
    """Return the tags `a`, and the tags `base` and `meta`, each in the order of the page.

    Raises PageError if there are too many, or if one is too long.
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
    """Yield the parsed tags `a`, `base` and `meta`.

    At most about _AT_ONCE bytes are parsed at a time, since an attribute of two bytes takes eighty
    bytes of memory in the parser.
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
    """Return the meta tags by name, and the address in the first `base` tag ("" without one).

    Raises PageError for a version of the API other than 1 (PEP 629).
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
    """Return the status in the meta tags of a page (PEP 792); ACTIVE if they have none."""
    status = meta.get("pypi:project-status")
    if not status:
        return ACTIVE
    return ProjectStatus(status, meta.get("pypi:project-status-reason", ""))


def _entry(attributes: dict[str, str | None]) -> FileEntry | None:
    """Return the entry of the file that a link with these attributes leads to; None without one."""
    address, _, fragment = (attributes.get("href") or "").strip().partition("#")
    filename = address.partition("?")[0].rpartition("/")[2]
    if filename in ("", ".", ".."):
        return None
    entry = FileEntry(
        unquote(filename),
        address,
        _hashes(fragment),
        requires_python=attributes.get("data-requires-python"),
        upload_time=attributes.get("data-upload-time"),
    )
    if "data-yanked" in attributes:
        entry.yanked = attributes["data-yanked"] or True
    # PEP 714: data-core-metadata wins over its older name if both are present.
    for key in ("data-dist-info-metadata", "data-core-metadata"):
        if key in attributes:
            value = (attributes[key] or "").strip()
            entry.core_metadata = value.lower() != "false" and _hashes(value)
    return entry


def _hashes(text: str) -> Hashes:
    """Return the hash of `sha256=…` in the fragment of an address or in an attribute.

    It is empty if there is no such part.
    """
    for part in text.split("&"):
        algorithm, _, digest = part.partition("=")
        if algorithm == "sha256":
            return Hashes(digest)
    return Hashes()
