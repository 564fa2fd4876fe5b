"""Vulnerabilities as listed by an index's legacy JSON.

No standard has them: the simple API (PEP 503, 691, 700, 708, 792) carries none. The software of pip's default index
serves, beside `…/simple/`, a document for each release at `…/pypi/NAME/VERSION/json` that lists them, and some
mirrors copy or forward it. So that address is derived if an index's own ends in `/simple/`, and only then; whether
anything answers there is reported, never guessed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import quote

import msgspec
from packaging.utils import NormalizedName

from resolver.catalog.net.client import Client
from resolver.catalog.parse.address import Root
from resolver.catalog.pool import Pool
from resolver.errors import IndexFailure
from resolver.model import text

_SIMPLE: Final = "/simple/"
_LEGACY: Final = "/pypi/"
_PROBES: Final = 2  # an index may lack one release; two are less likely
_LIMIT: Final = 32 << 20
_ACCEPT: Final = {"Accept": "application/json"}

ReleaseName = tuple[NormalizedName, str]  # a project and the text of its version


class Vulnerability(msgspec.Struct, frozen=True, kw_only=True):
    """One entry as listed by the index. `fixed_in` are version texts; a `withdrawn` entry no longer applies."""

    id: str
    aliases: tuple[str, ...] | None = ()
    summary: str | None = None
    details: str | None = None
    fixed_in: tuple[str, ...] | None = ()
    link: str | None = None
    withdrawn: str | None = None

    @property
    def names(self) -> frozenset[str]:
        """Its identifier and aliases."""
        return frozenset((self.id, *(self.aliases or ())))


class Silent(msgspec.Struct, frozen=True):
    """An index that lists no vulnerabilities. `address` is where they would be; empty if there is no such place."""

    address: str
    why: str


Told = Mapping[ReleaseName, tuple[Vulnerability, ...] | None]  # None if it says nothing about a release


class _Info(msgspec.Struct):
    name: str
    version: str


class _Legacy(msgspec.Struct):
    info: _Info
    vulnerabilities: tuple[Vulnerability, ...] | None = None


_decode = msgspec.json.Decoder(_Legacy).decode


Found = tuple[Vulnerability, ...]


def legacy_address(root: Root, release: ReleaseName) -> str:
    """Where the legacy JSON of a release would be, beside an index whose address ends in `/simple/`."""
    project, version = release
    return f"{root.url.removesuffix(_SIMPLE)}{_LEGACY}{quote(project, safe='')}/{quote(version, safe='')}/json"


def vulnerabilities(releases: Iterable[ReleaseName], root: Root, pool: Pool) -> Told | Silent:
    """What an index lists for each release, requested once each; if it has nothing for the first two, no more are."""
    names = list(dict.fromkeys(releases))
    if not root.url.endswith(_SIMPLE):
        return Silent("", f"its address does not end in `{_SIMPLE}`")
    answers: dict[ReleaseName, Found | str] = {}
    for name in names[:_PROBES]:
        answers |= _ask(pool, root, [name])
        if not isinstance(answers[name], str):
            break
    if isinstance(why := answers[name], str):
        return Silent(legacy_address(root, name), why)
    answers |= _ask(pool, root, [name for name in names if name not in answers])
    return {release: None if isinstance(answer, str) else answer for release, answer in answers.items()}


def distinct(found: Sequence[Vulnerability]) -> Found:
    """Those that still apply, each once: databases have separate entries for the same flaw, which share an alias."""
    kept: list[Vulnerability] = []
    called: set[str] = set()
    for one in sorted(found, key=lambda one: (not one.fixed_in, one.id)):
        if not one.withdrawn and called.isdisjoint(one.names):
            kept.append(one)
            called |= one.names
    return tuple(sorted(kept, key=lambda one: one.id))


def _ask(pool: Pool, root: Root, releases: Sequence[ReleaseName]) -> dict[ReleaseName, Found | str]:
    """The entries of each; or a text that says why there are none."""
    connection = pool.connection()

    async def ask() -> list[Found | str]:
        connection.client.remember(root)
        return await asyncio.gather(*(_one(connection.client, root, release) for release in releases))

    return dict(zip(releases, connection.worker.wait(ask), strict=True))


async def _one(client: Client, root: Root, release: ReleaseName) -> Found | str:
    try:
        reply = await client.get(legacy_address(root, release), headers=_ACCEPT, limit=_LIMIT)
    except IndexFailure as error:
        return error.why.rstrip(".") or error.message
    if reply.status != 200:
        return f"it answered {reply.status}"
    return await asyncio.to_thread(_read, reply.body, release)


def _read(body: bytes, release: ReleaseName) -> Found | str:
    """The entries of a document, or why it is invalid."""
    try:
        told = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "what it sent is not such a document"
    if (text.name(told.info.name), text.version(told.info.version)) != (release[0], text.version(release[1])):
        return "what it sent is of another release"
    return "what it sent has no list of them" if told.vulnerabilities is None else distinct(told.vulnerabilities)
