"""Where a statement comes from: its place, the evidence of its fact, and links to both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

import msgspec

from resolver.i18n import translate
from resolver.model.dependency import NeedSource
from resolver.model.fact import Fact
from resolver.model.resolution import Asks, Forbids, Has, Lack, Lacks, Needs, Shares, Statement, fact_of
from resolver.model.text import Language

_FILE = re.compile(r".+(?::\d+|\.whl|\.zip|\.tar\.gz)")  # anything else is the name of an index
# As an origin of the search spells it.
_METADATA = "metadata of "
_BUILD = "build-system.requires of "


class Place(msgspec.Struct, frozen=True):
    """An origin. `told` is its description; `where` is its file:line, empty if it is not in our files."""

    told: str
    where: str
    fact: Fact | None


def place_of(statement: Statement, language: Language) -> Place:
    """The origin of a statement, without the fact's strength."""
    fact = fact_of(statement)
    where = statement.where
    match statement:
        case Needs(source=NeedSource.METADATA):
            return Place(translate("conflict.metadata-of", language, filename=where.removeprefix(_METADATA)), "", fact)
        case Needs(source=NeedSource.BUILD, fact=None):
            return Place(translate("conflict.build-of", language, filename=where.removeprefix(_BUILD)), "", fact)
        case Lacks(lack=Lack.UNUSABLE, refusals=refusals) if refusals:
            names = [refusal.files[0].filename for refusal in refusals]
            return Place(translate("comma", language).join(names) or where, "", fact)
        case Lacks() if where and not _FILE.fullmatch(where):
            return Place(_looked_up(statement, language), "", fact)
        case Asks() | Has() | Needs() | Forbids() | Shares() | Lacks():
            return Place(where, where, fact)


def _looked_up(statement: Lacks, language: Language) -> str:
    """The indexes that answered, and those that did not."""
    asked = [name for name in statement.where.split(", ") if name not in statement.unreachable]
    told = translate("conflict.looked-up", language, indexes=", ".join(asked)) if asked else ""
    if not statement.unreachable:
        return told
    failed = translate("conflict.not-reached", language, indexes=", ".join(statement.unreachable))
    return translate("semicolon", language).join(part for part in (told, failed) if part)


def with_strength(place: Place, language: Language) -> str:
    """The description of the origin, with the strength of the fact."""
    if place.fact is None:
        return place.told
    strength = translate(f"strength.{place.fact.strength.value}", language)
    return translate("conflict.with-strength", language, where=place.told, strength=strength)


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


class Cited(msgspec.Struct, frozen=True):
    """A piece of a text and its address; empty if it has none."""

    text: str
    href: str


def source_line(where: str) -> str:
    """The link to a file:line of the matrices, relative to a lock's folder; empty for any other place."""
    match = _MATRICES.fullmatch(where)
    return f"{_UP}/{quote(match['path'])}#L{match['line']}" if match else ""


def cited(source: str) -> tuple[Cited, ...]:
    """The text of a fact's source, split into recognizable addresses and the rest.

    Recognized are addresses, `owner/repo#123` (and `, #124` after it), `owner/repo path @sha` and the same
    with a tag for the commit.
    """
    return tuple(piece for piece in _pieces(source) if piece.text)


def _pieces(source: str) -> Iterator[Cited]:
    at = 0
    repo = ""
    for match in _CITED.finditer(source):
        repo = match["repo"] or (repo if match["more"] else "")
        href = _address(match, repo)
        if href:
            yield Cited(source[at : match.start()], "")
            yield Cited(match[0], href)
            at = match.end()
    yield Cited(source[at:], "")


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
