"""Where a statement comes from: its place, the evidence of its fact, and links to both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

from resolver.model.dependency import NeedSource
from resolver.model.fact import Fact
from resolver.model.message import Message, joined, message
from resolver.model.resolution import Asks, Forbids, Has, Lack, Lacks, Needs, Shares, Statement
from resolver.report.document import Line, Span

_FILE = re.compile(r".+(?::\d+|\.whl|\.zip|\.tar\.gz)")  # anything else is the name of an index
# As an origin of the search spells it.
_METADATA = "metadata of "
_BUILD = "build-system.requires of "


def place_of(statement: Statement) -> Span:
    """The origin of a statement, without the fact's strength, and the link to it if it is in our files."""
    where = statement.where
    match statement:
        case Needs(source=NeedSource.METADATA):
            return Span(message("conflict.metadata-of", filename=where.removeprefix(_METADATA)))
        case Needs(source=NeedSource.BUILD, fact=None):
            return Span(message("conflict.build-of", filename=where.removeprefix(_BUILD)))
        case Lacks(lack=Lack.UNUSABLE, refusals=refusals) if refusals:
            return Span(joined("comma", [refusal.files[0].filename for refusal in refusals]))
        case Lacks() if where and not _FILE.fullmatch(where):
            return Span(_looked_up(statement))
        case Asks() | Has() | Needs() | Forbids() | Shares() | Lacks():
            return Span(where, source_line(where))


def _looked_up(statement: Lacks) -> Message:
    """The indexes that answered, and those that did not."""
    failed = ", ".join(statement.unreachable)
    asked = ", ".join(name for name in statement.where.split(", ") if name not in statement.unreachable)
    told = [message("conflict.looked-up", indexes=asked)] if asked else []
    return joined("semicolon", [*told, *([message("conflict.not-reached", indexes=failed)] if failed else [])])


def with_strength(fact: Fact, where: str = "") -> Message:
    """The strength of a fact, after its place."""
    return message("conflict.with-strength", where=where, strength=message(f"strength.{fact.strength.value}"))


_FORGE = "https://github.com"
_UP = "../../.."  # from locks/<stack>/<target>/ to the root of the repository
_MATRICES = re.compile(r"(?P<path>matrices/(?!.*\.\.)[^:\s]+\.toml):(?P<line>\d+)")
# Projects that facts cite without an owner.
_OWNERS = {"verl": "verl-project", "vllm": "vllm-project", "vllm-ascend": "vllm-project"}

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_PATH = r"[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*"
_CITED = re.compile(
    rf"""
      (?P<url> https?://[^\s<>"'()；，。]+[^\s<>"'()；，。.,;] )
    | (?<![\w/.-]) (?P<repo> {_NAME}/{_NAME} ) \# (?P<issue> \d+ )
    | (?<=,[ ]) \# (?P<more> \d+ )
    | (?<![\w/.-]) (?P<home> (?: {_NAME}/ )? {_NAME} ) (?: [ ] (?P<path> {_PATH} ) )? [ ] (?:
        @ (?P<commit> [0-9a-f]{{7,40}} ) | (?P<tag> v\d+(?:\.\d+)+ ) ) (?![\w.])
    """,
    re.VERBOSE,
)


def source_line(where: str) -> str:
    """The link to a file:line of the matrices, relative to a lock's folder; empty for any other place."""
    match = _MATRICES.fullmatch(where)
    return f"{_UP}/{quote(match['path'])}#L{match['line']}" if match else ""


def cited(source: str) -> Line:
    """The text of a fact's source, split into recognizable addresses and the rest.

    Recognized are addresses, `owner/repo#123` (and `, #124` after it), `owner/repo path @sha` and the same
    with a tag for the commit.
    """
    return tuple(piece for piece in _pieces(source) if piece.text)


def _pieces(source: str) -> Iterator[Span]:
    at = 0
    repo = ""
    for match in _CITED.finditer(source):
        repo = match["repo"] or (repo if match["more"] else "")
        href = _address(match, repo)
        if href:
            yield Span(source[at : match.start()])
            yield Span(match[0], href)
            at = match.end()
    yield Span(source[at:])


def _address(match: re.Match[str], repo: str) -> str:
    if match["url"]:
        return quote(match["url"], safe=":/?#[]@!$&*+,;=%~-._")
    if issue := match["issue"] or match["more"]:
        return f"{_FORGE}/{repo}/issues/{issue}" if repo else ""
    home, path = match["home"], match["path"]
    if "/" not in home:
        if home not in _OWNERS:
            return ""
        home = f"{_OWNERS[home]}/{home}"
    revision = match["commit"] or match["tag"]
    if not path:
        return f"{_FORGE}/{home}/tree/{revision}"
    kind = "blob" if "." in path.rpartition("/")[2] else "tree"
    return f"{_FORGE}/{home}/{kind}/{revision}/{path}"
