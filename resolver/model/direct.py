"""A direct reference to a git repository (PEP 508, PEP 610): where a project comes from instead of an index."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from urllib.parse import parse_qsl, urlsplit

import msgspec

_SCHEMES = ("https", "ssh", "file")
# Nothing that a shell, git or a terminal could take for more than an address.
_ADDRESS = re.compile(r"[a-z]+://[A-Za-z0-9._~@:\[\]-]*/[A-Za-z0-9._~/%+-]+\Z")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]*\Z")
_COMMIT = re.compile(r"[0-9a-f]{40}\Z")
_SHORT = re.compile(r"[0-9a-f]{7,40}\Z")


class Direct(msgspec.Struct, frozen=True):
    """`git+URL@REVISION#subdirectory=PATH`. The revision is a commit, its beginning, a tag or a describe text."""

    url: str
    revision: str
    subdirectory: str = ""

    @classmethod
    def parse(cls, text: str) -> Direct:
        """Read a reference; raises ValueError, whose text never holds credentials."""
        if not text.startswith("git+"):
            raise ValueError("only git repositories are supported")
        address, _, fragment = text.removeprefix("git+").partition("#")
        path_at = address.find("/", address.find("://") + 3)
        url, mark, revision = address.rpartition("@")
        if not mark or path_at < 0 or len(url) < path_at:
            raise ValueError("it names no commit or tag")
        return cls(repository(url), _revision(revision), _subdirectory(fragment))

    @property
    def is_commit(self) -> bool:
        """Whether the revision is a commit in full."""
        return _COMMIT.match(self.revision) is not None

    def means(self, commit: str, ref: str) -> bool:
        """Whether the revision can stand for a commit that people know as `ref`."""
        return self.revision == ref or (_SHORT.match(self.revision) is not None and commit.startswith(self.revision))


def repository(url: str) -> str:
    """An address that may be fetched from, as it was given; raises ValueError without naming what is secret in it."""
    try:
        parts = urlsplit(url)
        password, user = parts.password, parts.username
    except ValueError:
        raise ValueError("the address cannot be read") from None
    if password is not None or (user is not None and parts.scheme != "ssh"):
        raise ValueError("the address contains credentials, which do not belong in a file; use a git credential helper")
    if parts.scheme not in _SCHEMES:
        raise ValueError(f"only {', '.join(_SCHEMES)} are supported, not `{parts.scheme}`")
    if not _ADDRESS.match(url) or (parts.scheme != "file") != bool(parts.hostname) or "/-" in url or "@-" in url:
        raise ValueError("the address has characters that a repository address must not contain")
    return url


def commit(text: str) -> str:
    """A commit in full; raises ValueError."""
    if not _COMMIT.match(text):
        raise ValueError("a commit is 40 hexadecimal digits, in lower case")
    return text


def inside(path: str) -> str:
    """A relative path that stays inside the checkout, in its normal form; raises ValueError."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith(("/", "-")) or ".." in parts or ".git" in parts or not path.isprintable():
        raise ValueError("it is not a path inside the repository")
    return PurePosixPath(path).as_posix()


def same_repository(one: str, other: str) -> bool:
    """Whether two addresses are the same but for what git itself does not distinguish."""
    return _plain(one) == _plain(other)


def _plain(url: str) -> str:
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.lower()}{slash}{path.rstrip('/').removesuffix('.git')}"


def _revision(text: str) -> str:
    if not _REVISION.match(text) or ".." in text:
        raise ValueError("what follows @ is not a commit or tag")
    return text


def _subdirectory(fragment: str) -> str:
    if not fragment:
        return ""
    found = parse_qsl(fragment, keep_blank_values=True)
    if [key for key, _ in found] != ["subdirectory"]:
        raise ValueError("only subdirectory=PATH is allowed after #")
    return inside(found[0][1])
