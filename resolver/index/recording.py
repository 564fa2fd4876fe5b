"""A catalog that remembers its answers, to make a snapshot of them.

A snapshot is compact and has no addresses. So addresses, and whatever no target could use, are removed once, when
the recording becomes a snapshot, not while it is written or read.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable
from itertools import product
from typing import Final, Generic, TypeVar

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.index.parse.address import NOWHERE
from resolver.index.parse.filename import wheel_parts
from resolver.index.parse.simple import moment
from resolver.index.protocol import Catalog, CatalogOver, Follow, Lookup, UnusableFile
from resolver.index.snapshot import Snapshot, key_of, sorted_page
from resolver.model.release import Archive, File, Metadata, Page, Reason, Rejection
from resolver.model.target import PLATFORMS, Target

PYTHONS: Final = ("3.10", "3.11", "3.12", "3.13")

_K = TypeVar("_K")
_T = TypeVar("_T")


class RecordingCatalog(CatalogOver):
    """Remembers the answers of `inner`.

    That a file is unusable is an answer too; a failure of an index is not.
    What `expect` fetches ahead counts only once it is requested.
    """

    def __init__(self, inner: Catalog) -> None:
        super().__init__(inner)
        self._lookups: dict[NormalizedName, Lookup] = {}
        self._metadata = _Answers[str, Metadata]()
        self._archives = _Answers[str, Archive]()
        self._members = _Answers[tuple[str, str], tuple[str]]()
        self._hashed: dict[str, tuple[str, int | None]] = {}

    def lookup(self, project: NormalizedName) -> Lookup:
        answer = self._lookups[project] = self.inner.lookup(project)
        return answer

    def metadata(self, file: File) -> Metadata:
        return self._metadata.ask(key_of(file), lambda: self.inner.metadata(file))

    def archive(self, file: File) -> Archive:
        return self._archives.ask(key_of(file), lambda: self.inner.archive(file))

    def member(self, file: File, path: str) -> str:
        return self._members.ask((key_of(file), path), lambda: (self.inner.member(file, path),))[0]

    def sha256(self, file: File) -> File:
        answer = self.inner.sha256(file)
        if (answer.sha256, answer.size) != (file.sha256, file.size):
            self._hashed[key_of(file)] = (answer.sha256, answer.size)
        return answer

    def expect(self, wanted: Iterable[tuple[NormalizedName, SpecifierSet]], follow: Follow | None = None) -> None:  # noqa: ARG002
        """See `Catalog`. Nothing is followed, as the answers of a look-ahead would not be recorded."""
        self.inner.expect(wanted, None)

    def snapshot(self, *, stack: str, date: dt.date, target: Target) -> Snapshot:
        """Everything requested so far, as a snapshot of a stack for the platform of one target.

        `date` is the day of the recording. Files that no CPython 3.10 to 3.13 (and that of the target) on any supported
        platform could use are left out, except one if a release has no other.
        """
        pythons = {*PYTHONS, ".".join(map(str, target.python_line))}
        targets = (Target(name="", python=one, platform=other, glibc=(2, 99)) for one in pythons for other in PLATFORMS)
        tags = frozenset(tag for one in targets for tag in one.tags)
        return Snapshot(
            stack=stack,
            date=date,
            lookups={
                project: {
                    target.platform: Lookup(tuple(_trimmed(page, tags) for page in lookup.pages), lookup.unreachable)
                }
                for project, lookup in self._lookups.items()
            },
            metadata=self._metadata.cleaned(_clean_metadata),
            archives=self._archives.cleaned(_clean_archive),
            members=self._members.cleaned(_clean_member),
            hashed=dict(self._hashed),
        )


class _Answers(Generic[_K, _T]):
    """Answers about files; a text is the reason why one cannot be used."""

    def __init__(self) -> None:
        self._given: dict[_K, _T | str] = {}

    def ask(self, key: _K, ask: Callable[[], _T]) -> _T:
        """Ask, and remember the answer under `key`."""
        try:
            answer = self._given[key] = ask()
        except UnusableFile as refusal:
            self._given[key] = str(refusal)
            raise
        return answer

    def cleaned(self, clean: Callable[[_T], _T]) -> dict[_K, _T | str]:
        """All answers without addresses."""
        return {
            key: without_addresses(value) if isinstance(value, str) else clean(value)
            for key, value in self._given.items()
        }


# What a target could use


def _trimmed(page: Page, tags: frozenset[str]) -> Page:
    """The page without addresses, and without rows that cannot affect a choice.

    A release that no target could use keeps one row, so that the reason for setting it aside stays visible; so does
    a file that was set aside, unless its format is the reason and its release has other rows.
    """
    releases = {}
    for version, files in page.releases.items():
        rows = sorted((_bare(file) for file in files if file.url != NOWHERE), key=lambda file: file.filename)
        releases[version] = tuple(file for file in rows if _fits(file.filename, tags)) or tuple(rows[:1])
    heads = {f"{_head(file.filename, version)}{version}" for version, files in releases.items() for file in files}
    rejections = (
        Rejection(row.filename, row.reason, without_addresses(row.detail))
        for row in page.rejections
        if row.reason is not Reason.FORMAT or not any(_continues(row.filename, head) for head in heads)
    )
    return sorted_page(page.project, page.index, releases, rejections)


def _head(filename: str, version: str) -> str:
    return filename.partition(f"-{version}")[0] + "-"


def _continues(filename: str, head: str) -> bool:
    # `1.2` must not match `x-1.20.exe` or `x-1.2.1.exe`
    return filename.startswith(head) and re.match(r"[.-](?!\d)", filename[len(head) :]) is not None


def _bare(file: File) -> File:
    # The hash of a `.metadata` file is only useful for fetching it, and does not compress.
    yanked = None if file.yanked is None else without_addresses(file.yanked)
    return replace(file, url="", metadata=None, yanked=yanked, uploaded=in_whole_seconds(file.uploaded))


def in_whole_seconds(uploaded: str) -> str:
    """An upload time in UTC and whole seconds, `2025-11-20T09:59:00Z`; empty if it is not one."""
    found = moment(uploaded)
    return "" if found is None else found.strftime("%Y-%m-%dT%H:%M:%SZ")


def _fits(filename: str, tags: frozenset[str]) -> bool:
    """Whether a target could install a file, judging by its tags; source archives always fit."""
    if not filename.endswith(".whl"):
        return True
    parts = wheel_parts(filename)
    sets = (parts.python.split("."), parts.abi.split("."), parts.platform.split(".")) if parts is not None else ((),)
    return any("-".join(tag).lower() in tags for tag in product(*sets))


# Addresses

# Hosts of source code. A direct reference to one of them is worth showing, and none is an index.
_FORGES = frozenset({"bitbucket.org", "gitcode.com", "gitee.com", "github.com", "gitlab.com", "huggingface.co"})
_NO_HOST = "address.invalid"  # RFC 2606
_ADDRESS = re.compile(r"://(?P<authority>(?:\[[^\s\]]*\])?[^\s/?#'\"<>()\[\]]*)(?P<rest>[^\s'\"<>]*)")
_HOST = re.compile(r"(?<![\w.-])(?:[a-z0-9-]+\.)+(?:cn|com|dev|io|net|org)(?![\w.-]*\w)", re.IGNORECASE)


def without_addresses(text: str) -> str:
    """Prose with host names replaced, except those of code hosts."""
    return _HOST.sub(lambda match: _known_host(match[0]), _without_urls(text))


def _without_urls(text: str) -> str:
    """Any text with the host of each URL replaced. Project names may look like hosts: `zope.org`."""
    return _ADDRESS.sub(
        lambda match: (
            f"://{_known_host(match['authority'])}" + _HOST.sub(lambda inner: _known_host(inner[0]), match["rest"])
        ),
        text,
    )


def _known_host(authority: str) -> str:
    host = authority.rpartition("@")[2].lower()  # without credentials
    return host if host in _FORGES else _NO_HOST


def _clean_metadata(value: Metadata) -> Metadata:
    return replace(value, requires_dist=tuple(map(_without_urls, value.requires_dist)))


def _clean_archive(value: Archive) -> Archive:
    metadata = None if value.metadata is None else _clean_metadata(value.metadata)
    build = None if value.build_requires is None else tuple(map(_without_urls, value.build_requires))
    return Archive(metadata, build, without_addresses(value.why_dynamic))


def _clean_member(member: tuple[str]) -> tuple[str]:
    # Lines of a requirements file are comments, options and requirements, which may look like hosts.
    lines = (
        (without_addresses if line.lstrip().startswith(("#", "-")) else _without_urls)(line)
        for line in member[0].splitlines(keepends=True)
    )
    return ("".join(lines),)
