"""Projects that are built from git repositories: direct references, and recipes of builds."""

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
# The addresses that are admitted. They have no characters that a shell, git or a terminal could
# interpret.
_ADDRESS = re.compile(r"[a-z]+://[A-Za-z0-9._~@:\[\]-]*/[A-Za-z0-9._~/%+-]+\Z")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]*\Z")
_SHORT_HASH = re.compile(r"[0-9a-f]{7,40}\Z")


class Direct(msgspec.Struct, frozen=True):
    """A direct reference: `git+URL@REVISION#subdirectory=PATH` (PEP 508, PEP 440)."""

    # The address of the repository.
    url: str
    # A commit, the beginning of a commit, a tag, or a description as `git describe` prints it.
    revision: str
    # The folder of the project in the repository; empty for the top.
    subdirectory: str = ""

    @classmethod
    def parse(cls, text: str) -> Direct:
        """Return the direct reference in a text.

        Raises ValueError if the text is none. The message contains no credentials.
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

    def __str__(self) -> str:
        """Return the reference as text."""
        fragment = f"#subdirectory={self.subdirectory}" if self.subdirectory else ""
        return f"git+{self.url}@{self.revision}{fragment}"

    @property
    def is_commit(self) -> bool:
        """Return whether the revision is a full commit hash."""
        return patterns.COMMIT.matches(self.revision)

    def means(self, commit: str, ref: str) -> bool:
        """Return whether the revision may name a commit.

        It may if it is the tag or description `ref` of the commit, or a beginning of the commit's
        hash of at least 7 digits.
        """
        if self.revision == ref:
            return True
        return _SHORT_HASH.match(self.revision) is not None and commit.startswith(self.revision)


def repository(url: str) -> str:
    """Return the address of a repository unchanged.

    Raises ValueError if git must not fetch from it. The message contains no credentials.
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
    """Return a relative path in a checkout or archive in its normal form.

    Raises ValueError if the path is empty, leads out of the folder or into `.git`, could be an
    option, or has control characters.
    """
    pure_path = PurePosixPath(path)
    leaves = path.startswith("/") or ".." in pure_path.parts
    is_option = path.startswith("-")
    is_of_git = ".git" in pure_path.parts
    if not pure_path.parts or leaves or is_option or is_of_git or not path.isprintable():
        raise ValueError(phrase("it is not a path inside the repository or archive"))
    return pure_path.as_posix()


def same_repository(url: str, other_url: str) -> bool:
    """Return whether two addresses name the same repository.

    Letter case in the host, a final slash and a final `.git` make no difference.
    """
    return _normalized(url) == _normalized(other_url)


def _normalized(url: str) -> str:
    """Return a spelling of an address that is the same for all spellings of one repository."""
    scheme, _, location = url.partition("://")
    host, slash, path = location.partition("/")
    return f"{scheme}://{host.lower()}{slash}{path.rstrip('/').removesuffix('.git')}"


def specifier(text: str) -> str:
    """Return a specifier set (PEP 440) in its normal form; raise ValueError if it is none."""
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
    """A step that is done in a checkout before the build, or the command that builds the wheel.

    A step moves a file (`move`, `to`), comments out lines of a file (`comment`, `in`), or runs a
    command (`run`). A command that builds the wheel has `wheels` as well.
    """

    # The path of the file to move.
    move: Inside = ""
    # The new path of the file. A file with this path is replaced.
    to: Inside = ""
    # A regular expression of Python. Lines that match are commented out; at least one must match.
    comment: Annotated[str, nonempty, printable] = ""
    # The path of the file that has the lines.
    in_: Inside = msgspec.field(name="in", default="")
    # The command, as a list of arguments.
    run: tuple[Annotated[str, nonempty, printable], ...] = ()
    # For a command that builds the wheel: a glob that matches the wheel.
    wheels: Inside = ""


class Submodule(msgspec.Struct, frozen=True):
    """A submodule of a repository."""

    # The folder in the checkout.
    path: Inside
    # The address of the submodule's repository.
    git: Address
    # The commit of the submodule, which the outer repository names.
    commit: Commit


def _in_order(submodules: tuple[Submodule, ...]) -> tuple[Submodule, ...]:
    """Return submodules sorted by path.

    So a submodule comes after the submodule that contains it. Raises ValueError if two submodules
    have the same path.
    """
    paths: set[str] = set()
    for submodule in submodules:
        if submodule.path in paths:
            raise ValueError(phrase("two submodules are at `{path}`", path=submodule.path))
        paths.add(submodule.path)
    return tuple(sorted(submodules, key=lambda submodule: submodule.path))


def container(path: str, paths: Iterable[str]) -> str:
    """Return the folder of the innermost submodule that contains the submodule at `path`.

    `paths` are the folders of all submodules. Empty if no submodule contains it.
    """
    containing = [folder for folder in paths if path.startswith(f"{folder}/")]
    return max(containing, key=len, default="")


class Recipe(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """The requirements of a project at one commit, and the steps to build it.

    A `sources` fact states it, or it is read from the files at the commit.
    """

    # The version that the build gives itself.
    version: Version
    # The requirements as in core metadata (PEP 508), with `extra == "x"` in the markers of extras.
    requires: tuple[RequirementLine, ...]
    # Projects that the metadata at the commit requires, and that `requires` leaves out on purpose.
    drop: tuple[NormalizedName, ...] = ()
    # The versions of Python that the project admits (Requires-Python); empty for all.
    requires_python: Annotated[str, specifier] = ""
    # The requirements of the build (PEP 518).
    build_requires: tuple[RequirementLine, ...]
    # Whether the project is built in an isolated environment.
    isolation: bool = True
    # Whether the checkout is kept and installed editable.
    editable: bool = False
    # Environment variables of the build. `{version}` in a value stands for the version.
    env: Variables = ()
    # The steps that are done in the checkout before the build, and the command that builds it.
    steps: tuple[Step, ...] = ()
    # Distributions whose installed files the project changes when it is built or installed.
    rewrites: tuple[NormalizedName, ...] = ()
    # The submodules. A submodule comes after the submodule that contains it.
    submodules: Annotated[tuple[Submodule, ...], _in_order] = ()
