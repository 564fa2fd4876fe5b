"""What a file of another tool requires, and what of a line may be shown to people."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

import msgspec
from msgspec.structs import replace
from packaging.requirements import InvalidRequirement
from packaging.utils import NormalizedName

from resolver.errors import InputError, did_you_mean, known_names
from resolver.model import text as texts
from resolver.model.message import Message, message
from resolver.model.requirement import Requirement
from resolver.phrase import Phrase, phrase
from resolver.redaction import is_certain, shown_address, without_secrets

# The Pythons of targets; the first one that a file admits is assumed.
PYTHONS: Final = ("3.11", "3.12", "3.10", "3.13", "3.14", "3.9")
# A patch release after any that exists.
_LAST_PATCH: Final = 99
# Characters of a line of a requirements file; a requirement with 800 hashes has fewer.
LONGEST_LINE: Final = 64 << 10

# The options of pip that name indexes.
INDEX_OPTIONS: Final = frozenset(
    (
        "-i",
        "--index-url",
        "--pypi-url",
        "--extra-index-url",
        "-f",
        "--find-links",
        "--no-index",
        "--trusted-host",
    )
)
# Options of pip and uv about builds, which install.sh decides for each project by facts.
BUILD_OPTIONS: Final = frozenset(
    (
        "--no-build-isolation",
        "--no-build-isolation-package",
        "--build-constraint",
        "--no-build",
        "--no-build-package",
        "--use-pep517",
        "--no-use-pep517",
        "--check-build-dependencies",
    )
)
# Options of pip and uv about how pip runs: a lock has every file, and install.sh runs pip.
WITHOUT_MEANING: Final = frozenset(
    (
        "-U",
        "--upgrade",
        "--no-deps",
        "--user",
        "-t",
        "--target",
        "--no-cache-dir",
        "--cache-dir",
        "--force-reinstall",
        "--ignore-installed",
        "--break-system-packages",
        "--no-compile",
        "--progress-bar",
        "--timeout",
        "--default-timeout",
        "--retries",
        "--proxy",
        "--cert",
        "--client-cert",
        "-q",
        "--quiet",
        "-v",
        "--verbose",
        "--disable-pip-version-check",
        "--no-warn-script-location",
        "--index-strategy",
        "--prerelease",
        "--resolution",
        "--emit-index-url",
        "--process-dependency-links",
        "--isolated",
        "--no-input",
    )
)
_EDITABLE: Final = ("-e", "--editable")
_OTHER_OPTIONS: Final = frozenset(
    (
        "-e",
        "--editable",
        "-r",
        "--requirement",
        "-c",
        "--constraint",
        "--pre",
        "--prefer-binary",
        "--no-binary",
        "--only-binary",
        "--require-hashes",
        "--hash",
        "--use-feature",
        "-C",
        "--config-settings",
        "--config-setting",
        "--global-option",
        "--install-option",
        *BUILD_OPTIONS,
        *WITHOUT_MEANING,
    )
)
# A folder that is to be installed editable, with extras: no address, and so without a password.
_FOLDER: Final = re.compile(r"\.{1,2}(/[\w./-]*)?(\[[\w,-]+\])?")
_OPTION = re.compile(r"(--?[A-Za-z-]+)[ =]?(.*)")
# Line breaks for Python, and so for pip, which are white space for others: a password may have it.
_ODD_BREAK = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Part of an address, in a text that has none: a version or a marker, or a fragment with a path.
_ADDRESS_PART = re.compile(r"[/:@?#\\]")
_FRAGMENT_PART = re.compile(r"//|[:@?#\\]")
_WHOLE_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://\S+")


class FileLine(msgspec.Struct, frozen=True):
    """A line of a file.

    People are shown only what has a known meaning: the file may be another than its name says, and
    the line a password.
    """

    # What the line says.
    text: str
    # Its place, as file:line.
    where: str
    # What of it may be shown; "" for nothing.
    shown: str = ""
    # What another part of the file has taken in its place; "" for the line itself.
    instead: str = ""


class OtherSource(msgspec.Struct, frozen=True):
    """A source of a project that a stack cannot have.

    It is a path, an address, an index of its own, or a repository without a commit or tag.
    """

    # The place that names it.
    line: FileLine
    # Whether it is nothing but an index.
    is_index: bool = False
    # What may be shown of the repository if it names no commit or tag; empty for another source.
    repository: str = ""


class FileRequirements(msgspec.Struct):
    """The requirements in a file."""

    # The Python of the target, given by the user or else by the file.
    python: str
    # What the file calls its project or environment; empty if it has no such name.
    name: str = ""
    lines: list[FileLine] = []
    # Lines that count only for projects that are required.
    constraints: list[FileLine] = []
    # Lines that replace what others require of their projects.
    overrides: list[FileLine] = []
    # Lines that a stack cannot have, and why.
    left_out: list[tuple[FileLine, Message]] = []
    # The projects that are from elsewhere. On a public index, anybody may own their names.
    other_sources: dict[NormalizedName, OtherSource] = {}
    # How many --hash options the file has; a lock has hashes of its own.
    hashes: int = 0

    def leave_out(self, line: FileLine, code: str) -> None:
        """Note a line that is not taken over, with the code of the reason."""
        self.left_out.append((line, message(code)))

    def admit(self, requires_python: str) -> None:
        """Take the first Python that a Requires-Python admits, unless one was given."""
        admitted = texts.python_specifiers(requires_python)
        if admitted is None or self.python:
            return
        for python in PYTHONS:
            if f"{python}.0" in admitted or f"{python}.{_LAST_PATCH}" in admitted:
                self.python = python
                return


def with_whole_lines(content: str) -> str:
    """Replace line breaks that only `str.splitlines` knows, such as U+2028.

    The replacement, U+FFFD, is valid in no requirement, so that the line is reported.
    """
    return _ODD_BREAK.sub("\ufffd", content)


def shown_option(text: str) -> str:
    """Return what may be shown of an option of pip; "" for anything else.

    It is the name of the option, with the address of an index without its password, or with the
    relative path of an editable folder.
    """
    match = _OPTION.fullmatch(text)
    if match is None:
        return ""
    option, value = match.groups()
    if option in INDEX_OPTIONS and _WHOLE_ADDRESS.fullmatch(value):
        return f"{option} {shown_address(value)}"
    if option in _EDITABLE and _FOLDER.fullmatch(value):
        return f"{option} {value}"
    is_known = option in INDEX_OPTIONS or option in _OTHER_OPTIONS
    return option if is_known else ""


def shown_requirement(text: str) -> str:
    """Return what may be shown of a requirement (PEP 508) or address; "" for anything else."""
    if _WHOLE_ADDRESS.fullmatch(text):
        return shown_address(text)
    try:
        requirement = texts.requirement(text)
    except InvalidRequirement:
        return ""
    if not requirement.url:
        return text if is_readable(requirement) else f"{requirement.name} …"
    if not _WHOLE_ADDRESS.fullmatch(requirement.url):
        # Without a scheme, what looks like the name of the project may be the user.
        return ""
    # The first `@` is before the address: no name of a project or an extra has one.
    project = text.partition("@")[0].rstrip()
    shown = f"{project} @ {shown_address(requirement.url)}"
    if requirement.marker is None:
        return shown
    marker = str(requirement.marker)
    return f"{shown} ; {'…' if _ADDRESS_PART.search(marker) else marker}"


def is_readable(requirement: Requirement) -> bool:
    """Return whether it is certain which part of a requirement could be a password.

    It is not if a marker, a version or the fragment of its address may be part of another address,
    or if it is not certain what of its address is host and path.
    """
    for clause in requirement.specifier:
        # `===` compares with any text
        if clause.operator == "===" and texts.version(clause.version) is None:
            return False
    if _ADDRESS_PART.search(str(replace(requirement, url=""))):
        return False
    fragment = requirement.url.partition("#")[2]
    return is_certain(requirement.url) and not _FRAGMENT_PART.search(fragment)


def require_known(kind: Phrase, names: Iterable[str], known: Collection[str], where: str) -> None:
    """Raise InputError, with the place and the known names, if the user gave an unknown name."""
    for name in names:
        if texts.name(name) not in known:
            hint = did_you_mean(name, known, known_names(known)).with_values(without_secrets)
            what = phrase("there is no {kind} `{name}`", kind=kind, name=name)
            raise InputError(what, where=where, hint=hint)


def require_included(
    kind: Phrase, names: Iterable[str], known: Collection[str], where: str
) -> None:
    """Do what `require_known` does for names in a file, which are not shown."""
    if not all(texts.name(name) in known for name in names):
        what = phrase("there is no such {kind}", kind=kind)
        raise InputError(what, where=where, hint=known_names(known).with_values(without_secrets))
