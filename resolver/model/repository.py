"""Projects from git repositories: direct references, and recipes to build a commit."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Annotated
from urllib.parse import parse_qsl

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver import address
from resolver.model import patterns
from resolver.model import text as texts
from resolver.model.text import RequirementLine, Variables, nonempty, printable

_SCHEMES = ("https", "ssh", "file")
# Nothing that a shell, git or a terminal could take for more than an address.
_ADDRESS = re.compile(r"[a-z]+://[A-Za-z0-9._~@:\[\]-]*/[A-Za-z0-9._~/%+-]+\Z")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]*\Z")
_SHORT = re.compile(r"[0-9a-f]{7,40}\Z")


class Direct(msgspec.Struct, frozen=True):
    """`git+URL@REVISION#subdirectory=PATH`.

    The revision is a commit or its beginning, a tag, or a git description.
    """

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
        url = repository(url)
        if not _REVISION.match(revision) or ".." in revision:
            raise ValueError("what follows @ is not a commit or tag")
        options = parse_qsl(fragment, keep_blank_values=True)
        if fragment and [key for key, _ in options] != ["subdirectory"]:
            raise ValueError("only subdirectory=PATH is allowed after #")
        return cls(url, revision, inside(options[0][1]) if fragment else "")

    @property
    def is_commit(self) -> bool:
        """Whether the revision is a full commit hash."""
        return patterns.COMMIT.matches(self.revision)

    def means(self, commit: str, ref: str) -> bool:
        """Whether the revision may be that of a commit whose tag or description is `ref`."""
        return self.revision == ref or (
            _SHORT.match(self.revision) is not None and commit.startswith(self.revision)
        )


def repository(url: str) -> str:
    """An address that may be fetched from, unchanged; raises ValueError, whose text holds no secret."""
    try:
        parts = address.split(url)
    except address.AddressError:
        raise ValueError("the address cannot be read") from None
    if parts.password is not None or (parts.user is not None and parts.scheme != "ssh"):
        raise ValueError(
            "the address contains credentials, which do not belong in a file; use a git credential helper"
        )
    if parts.scheme not in _SCHEMES:
        # what else ends in a colon may be a user
        found = f", not `{parts.scheme}`" if "://" in url else ""
        raise ValueError(f"only {', '.join(_SCHEMES)} are supported{found}")
    if (
        not _ADDRESS.match(url)
        or (parts.scheme != "file") != bool(parts.host)
        or "/-" in url
        or "@-" in url
    ):
        raise ValueError("the address has characters that a repository address must not contain")
    return url


def commit(text: str) -> str:
    """A full commit hash; raises ValueError."""
    if not patterns.COMMIT.matches(text):
        raise ValueError("a commit is 40 hexadecimal digits, in lower case")
    return text


def inside(path: str) -> str:
    """A relative path that stays inside the checkout, in its normal form; raises ValueError."""
    parts = PurePosixPath(path).parts
    if (
        not parts
        or path.startswith(("/", "-"))
        or ".." in parts
        or ".git" in parts
        or not path.isprintable()
    ):
        raise ValueError("it is not a path inside the repository or archive")
    return PurePosixPath(path).as_posix()


def same_repository(url: str, other_url: str) -> bool:
    """Whether two addresses are the same but for what git itself does not distinguish."""
    return _normalized(url) == _normalized(other_url)


def _normalized(url: str) -> str:
    scheme, _, location = url.partition("://")
    host, slash, path = location.partition("/")
    return f"{scheme}://{host.lower()}{slash}{path.rstrip('/').removesuffix('.git')}"


def specifier(text: str) -> str:
    """A specifier set in its normal form; raises ValueError."""
    return str(texts.specifier_set(text))


Inside = Annotated[str, inside]
Address = Annotated[str, repository]
Commit = Annotated[str, commit]


class Step(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="kebab",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """A step before a checkout is built, or the command that builds it.

    A file replaces another (`move`, `to`); lines of the file `in_` that match a regular expression
    of Python are commented out, at least one (`comment`); or a command is `run`. If that builds the
    wheel, `wheels` is a glob that matches this one file.
    """

    move: Inside = ""
    to: Inside = ""
    comment: Annotated[str, nonempty, printable] = ""
    in_: Inside = msgspec.field(name="in", default="")
    run: tuple[Annotated[str, nonempty, printable], ...] = ()
    wheels: Inside = ""


class Submodule(msgspec.Struct, frozen=True):
    """A submodule: its folder in the checkout, its address, and the commit that the repository around it names."""

    path: Inside
    git: Address
    commit: Commit


def _in_order(submodules: tuple[Submodule, ...]) -> tuple[Submodule, ...]:
    """Sorted by path, so that nested ones come after those around them; raises ValueError if two have the same path."""
    paths = [submodule.path for submodule in submodules]
    if repeated := next((path for path in paths if paths.count(path) > 1), None):
        raise ValueError(f"two submodules are at `{repeated}`")
    return tuple(sorted(submodules, key=lambda submodule: submodule.path))


def container(path: str, paths: Iterable[str]) -> str:
    """The innermost of the submodules at `paths` that the one at `path` is in; "" if it is in none."""
    return max((folder for folder in paths if path.startswith(f"{folder}/")), key=len, default="")


class Recipe(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """The requirements of a project at one commit, and how to build it.

    `version` is the one that the build has.

    `requires` are PEP 508 lines as in core metadata, with `extra == "x"` in their markers. `drop`
    are projects that the project's own metadata requires and `requires` leaves out on purpose.
    `rewrites` are distributions whose installed files the project changes when it is built or
    installed. Of `submodules`, each comes after the one that it is in.
    """

    version: Version
    requires: tuple[RequirementLine, ...]
    drop: tuple[NormalizedName, ...] = ()
    requires_python: Annotated[str, specifier] = ""
    build_requires: tuple[RequirementLine, ...]
    isolation: bool = True
    editable: bool = False
    env: Variables = ()  # `{version}` stands for the version
    steps: tuple[Step, ...] = ()
    rewrites: tuple[NormalizedName, ...] = ()
    submodules: Annotated[tuple[Submodule, ...], _in_order] = ()
