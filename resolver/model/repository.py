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
from resolver.phrase import phrase

_SCHEMES = ("https", "ssh", "file")
# Nothing that a shell, git or a terminal could take for more than an address.
_ADDRESS = re.compile(r"[a-z]+://[A-Za-z0-9._~@:\[\]-]*/[A-Za-z0-9._~/%+-]+\Z")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]*\Z")
_SHORT_HASH = re.compile(r"[0-9a-f]{7,40}\Z")


class Direct(msgspec.Struct, frozen=True):
    """A direct reference: `git+URL@REVISION#subdirectory=PATH` (PEP 508, PEP 440)."""

    # The address of the repository.
    url: str
    # A commit or its beginning, a tag, or a description as of `git describe`.
    revision: str
    # The folder of the project in the repository; empty for the top.
    subdirectory: str = ""

    @classmethod
    def parse(cls, text: str) -> Direct:
        """Return the reference that a text spells.

        Raises ValueError, which shows no credentials.
        """
        if not text.startswith("git+"):
            raise ValueError(phrase("only git repositories are supported"))
        address, _, fragment = text.removeprefix("git+").partition("#")
        path_start = address.find("/", address.find("://") + 3)
        url, at_sign, revision = address.rpartition("@")
        # An `@` before the path belongs to a user.
        if not at_sign or path_start < 0 or len(url) < path_start:
            raise ValueError(phrase("it names no commit or tag"))
        url = repository(url)
        if not _REVISION.match(revision) or ".." in revision:
            raise ValueError(phrase("what follows @ is not a commit or tag"))
        options = parse_qsl(fragment, keep_blank_values=True)
        if fragment and [key for key, _ in options] != ["subdirectory"]:
            raise ValueError(phrase("only subdirectory=PATH is allowed after #"))
        return cls(url, revision, inside(options[0][1]) if fragment else "")

    @property
    def is_commit(self) -> bool:
        """Return whether the revision is a full commit hash."""
        return patterns.COMMIT.matches(self.revision)

    def means(self, commit: str, ref: str) -> bool:
        """Return whether the revision may mean a commit whose tag or description is `ref`."""
        if self.revision == ref:
            return True
        return _SHORT_HASH.match(self.revision) is not None and commit.startswith(self.revision)


def repository(url: str) -> str:
    """Return an address unchanged if git may fetch from it.

    Raises ValueError, which shows no credentials.
    """
    try:
        parts = address.split(url)
    except address.AddressError:
        raise ValueError(phrase("the address cannot be read")) from None
    if parts.password is not None or (parts.user is not None and parts.scheme != "ssh"):
        raise ValueError(
            phrase(
                "the address contains credentials, which do not belong in a file; use a git "
                "credential helper"
            )
        )
    if parts.scheme not in _SCHEMES:
        # Without `://`, what comes before the colon may be a user.
        schemes = ", ".join(_SCHEMES)
        if "://" not in url:
            raise ValueError(phrase("only {schemes} are supported", schemes=schemes))
        raise ValueError(
            phrase(
                "only {schemes} are supported, not `{scheme}`", schemes=schemes, scheme=parts.scheme
            )
        )
    needs_host = parts.scheme != "file"
    # What begins with `-` could be an option of git or ssh.
    has_option = "/-" in url or "@-" in url
    if not _ADDRESS.match(url) or needs_host != bool(parts.host) or has_option:
        raise ValueError(
            phrase("the address has characters that a repository address must not contain")
        )
    return url


def commit(text: str) -> str:
    """Return a text unchanged; raise ValueError if it is not a full commit hash."""
    if not patterns.COMMIT.matches(text):
        raise ValueError(phrase("a commit is 40 hexadecimal digits, in lower case"))
    return text


def inside(path: str) -> str:
    """Return a relative path in its normal form.

    Raises ValueError if it could leave the checkout, or is empty.
    """
    pure_path = PurePosixPath(path)
    leaves = path.startswith("/") or ".." in pure_path.parts
    is_option = path.startswith("-")
    is_of_git = ".git" in pure_path.parts
    if not pure_path.parts or leaves or is_option or is_of_git or not path.isprintable():
        raise ValueError(phrase("it is not a path inside the repository or archive"))
    return pure_path.as_posix()


def same_repository(url: str, other_url: str) -> bool:
    """Return whether two addresses are of one repository.

    Case in the host's name, a final slash and `.git` make no difference.
    """
    return _normalized(url) == _normalized(other_url)


def _normalized(url: str) -> str:
    scheme, _, location = url.partition("://")
    host, slash, path = location.partition("/")
    return f"{scheme}://{host.lower()}{slash}{path.rstrip('/').removesuffix('.git')}"


def specifier(text: str) -> str:
    """Return a specifier set in its normal form; raise ValueError for other texts."""
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

    A step moves a file, comments out lines, or runs a command.
    """

    # The file to move.
    move: Inside = ""
    # The file that it replaces.
    to: Inside = ""
    # A regular expression of Python. Lines that match are commented out; at least one must match.
    comment: Annotated[str, nonempty, printable] = ""
    # The file that has the lines.
    in_: Inside = msgspec.field(name="in", default="")
    # The command, as a list of arguments.
    run: tuple[Annotated[str, nonempty, printable], ...] = ()
    # A glob that matches the wheel, if the command builds it.
    wheels: Inside = ""


class Submodule(msgspec.Struct, frozen=True):
    """A submodule of a repository."""

    # The folder in the checkout.
    path: Inside
    # The address of the submodule's repository.
    git: Address
    # The commit that the repository around it names.
    commit: Commit


def _in_order(submodules: tuple[Submodule, ...]) -> tuple[Submodule, ...]:
    """Return submodules sorted by path, so that each comes after the one that contains it.

    Raises ValueError if two have the same path.
    """
    paths: set[str] = set()
    for submodule in submodules:
        if submodule.path in paths:
            raise ValueError(phrase("two submodules are at `{path}`", path=submodule.path))
        paths.add(submodule.path)
    return tuple(sorted(submodules, key=lambda submodule: submodule.path))


def container(path: str, paths: Iterable[str]) -> str:
    """Return the innermost submodule that contains the one at `path`; empty if none does.

    `paths` are the folders of all submodules.
    """
    containing = [folder for folder in paths if path.startswith(f"{folder}/")]
    return max(containing, key=len, default="")


class Recipe(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """The requirements of a project at one commit, and how to build it."""

    # The version that the build has.
    version: Version
    # Requirements as in core metadata (PEP 508), with `extra == "x"` in the markers of extras.
    requires: tuple[RequirementLine, ...]
    # Projects that the metadata at the commit requires, and `requires` leaves out on purpose.
    drop: tuple[NormalizedName, ...] = ()
    # The versions of Python that the project admits.
    requires_python: Annotated[str, specifier] = ""
    # What the build requires (PEP 518).
    build_requires: tuple[RequirementLine, ...]
    # Whether it is built in an isolated environment.
    isolation: bool = True
    # Whether the checkout is kept and installed editable.
    editable: bool = False
    # Environment variables of the build. `{version}` in a value stands for the version.
    env: Variables = ()
    # What is done to the checkout before it is built, and the command that builds it.
    steps: tuple[Step, ...] = ()
    # Distributions whose installed files the project changes when it is built or installed.
    rewrites: tuple[NormalizedName, ...] = ()
    # Each submodule comes after the one that contains it.
    submodules: Annotated[tuple[Submodule, ...], _in_order] = ()
