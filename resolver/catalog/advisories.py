"""What an index's legacy JSON tells of vulnerabilities.

No standard has them: the simple API (PEP 503, 691, 700, 708, 792) does not carry any. The software of pip's own
default index serves, beside `…/simple/`, a document for each release at `…/pypi/NAME/VERSION/json` that lists them, and
some mirrors copy or pass on what it says. So that address is derived where an index's own ends in `/simple/`, and
nowhere else; whether something answers there is told, never guessed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final
from urllib.parse import quote

import msgspec
from packaging.utils import NormalizedName

from resolver.catalog.address import Root
from resolver.catalog.http import Client
from resolver.catalog.pool import Pool
from resolver.errors import IndexFailure
from resolver.model import text

_SIMPLE: Final = "/simple/"
_LEGACY: Final = "/pypi/"
_PROBES: Final = 2  # a release may be the one that an index lacks; of two that is less likely
_LIMIT: Final = 32 << 20
_ACCEPT: Final = {"Accept": "application/json"}

ReleaseName = tuple[NormalizedName, str]  # a project and the text of its version


class Vulnerability(msgspec.Struct, frozen=True, kw_only=True):
    """One entry, as the index has it. `fixed_in` are version texts; a `withdrawn` one no longer holds."""

    id: str
    aliases: tuple[str, ...] | None = ()
    summary: str | None = None
    details: str | None = None
    fixed_in: tuple[str, ...] | None = ()
    link: str | None = None
    withdrawn: str | None = None

    @property
    def names(self) -> frozenset[str]:
        """All that it is called."""
        return frozenset((self.id, *(self.aliases or ())))


class Silent(msgspec.Struct, frozen=True):
    """An index that tells no vulnerabilities. `address` is where they would be; empty where there is no such place."""

    address: str
    why: str


Told = Mapping[ReleaseName, tuple[Vulnerability, ...] | None]  # None where it says nothing of a release


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
    """What an index tells of each release, asked once for each. Where it has nothing of two, no other is asked."""
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
    """Those that still hold, each once: databases have entries of their own for one flaw, which share an alias."""
    kept: list[Vulnerability] = []
    called: set[str] = set()
    for one in sorted(found, key=lambda one: (not one.fixed_in, one.id)):
        if not one.withdrawn and called.isdisjoint(one.names):
            kept.append(one)
            called |= one.names
    return tuple(sorted(kept, key=lambda one: one.id))


def _ask(pool: Pool, root: Root, releases: Sequence[ReleaseName]) -> dict[ReleaseName, Found | str]:
    """What is told of each; a text says why nothing is."""
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
    return await client.aside(partial(_read, reply.body, release))


def _read(body: bytes, release: ReleaseName) -> Found | str:
    """The entries of a document, or why it is none."""
    try:
        told = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "what it sent is not such a document"
    if (text.name(told.info.name), text.version(told.info.version)) != (release[0], text.version(release[1])):
        return "what it sent is of another release"
    return "what it sent has no list of them" if told.vulnerabilities is None else distinct(told.vulnerabilities)
