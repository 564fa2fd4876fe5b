"""The requirements in a file of another tool, and functions that remove secrets from its lines."""

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
from resolver.redaction import is_certain, shown_address

# The versions of Python that a target can get, in the order of preference: the first version that a
# file admits is taken.
PYTHONS: Final = ("3.11", "3.12", "3.10", "3.13", "3.14", "3.9")
# A patch number that is higher than the patch number of any release of Python.
_LAST_PATCH: Final = 99
# The most characters of a line of a requirements file. A requirement with 800 hashes has fewer.
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
# Options of pip and uv about builds. They are ignored: facts say how each project is built.
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
# Options of pip and uv about how the tool itself runs. They are ignored: install.sh runs pip.
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
# The options of pip and uv that may follow a requirement in its line, where pip ignores some.
OPTIONS_AFTER: Final = frozenset(
    (
        "--hash",
        "-C",
        "--config-settings",
        "--config-setting",
        "--global-option",
        "--install-option",
        "--pre",
        "--prefer-binary",
        "--no-binary",
        "--only-binary",
        "--require-hashes",
        "--no-deps",
        *INDEX_OPTIONS,
        *BUILD_OPTIONS,
    )
)
_EDITABLE: Final = ("-e", "--editable")
# All other options whose names may be shown.
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
# The relative path of a folder, with extras. It is no address, so it contains no password.
_FOLDER: Final = re.compile(r"\.{1,2}(/[\w./-]*)?(\[[\w,-]+\])?")
_OPTION = re.compile(r"(--?[A-Za-z-]+)[ =]?(.*)")
# Characters that are line breaks for `str.splitlines`, and so for pip, but white space for others.
# A password may contain them.
_ODD_BREAK = re.compile("[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Carriage returns at the end of a line, as of files that were converted twice.
_LINE_END = re.compile(r"(?<!\r)\r+(?=\n|\Z)")
# Characters that show that a version or a marker may be a part of an address.
_ADDRESS_PART = re.compile(r"[/:@?#\\]")
# Characters that show that the fragment of an address may be a part of another address.
_FRAGMENT_PART = re.compile(r"//|[:@?#\\]")
# The normalised name of a group or extra. A longer one may be a token.
_NAME = re.compile("[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_NAME: Final = 30
_WHOLE_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://\S+")


class FileLine(msgspec.Struct, frozen=True):
    """A line of the file of another tool.

    Only parts with a known meaning are shown to people. The file may not be what its name says, and
    a line may contain a password.
    """

    # The text of the line.
    text: str
    # The place of the line, as file:line.
    where: str
    # The parts of the line that may be shown; empty for none.
    shown: str = ""
    # The requirement that another part of the file has in place of this line; empty if there is
    # none.
    instead: str = ""
    # Why the text is not that of the file; None if it is.
    why: Message | None = None


class OtherSource(msgspec.Struct, frozen=True):
    """The source that a file has for a project, if a stack cannot have it.

    It is a path, an address, an index for this project, or a git repository without a commit or
    tag.
    """

    # The line that names the source.
    line: FileLine
    # The names of the indexes; empty if the source is anything else.
    indexes: tuple[str, ...] = ()
    # The address of the repository without secrets; empty if the source is no git repository.
    repository: str = ""


class NamedIndex(msgspec.Struct, frozen=True):
    """An index that a file has besides that of pip."""

    # The line that has the index.
    line: FileLine
    # Its name; empty without one.
    name: str
    # Whether it serves only the projects whose source names it.
    is_explicit: bool


class CondaSpec(msgspec.Struct, frozen=True):
    """A package that a file asks conda for. `conda_spec` reads it."""

    # The name of the package in conda.
    name: str
    # The versions, as a specifier of PEP 440; empty for all, and None if it has no such versions.
    specifier: str | None
    # Name and versions as the file has them, without channel and build. Versions that cannot be
    # read are not shown.
    shown: str
    # file:line of the specification.
    where: str
    # Whether the package is from a channel that everybody knows.
    is_public: bool
    # Whether pip installed it, so that its name is that of a project.
    is_from_pip: bool = False


class FileRequirements(msgspec.Struct):
    """The requirements in a file of another tool. A reader of `requirement_files` fills it in."""

    # The Python of the target: given by the user, or else by the file; empty if unknown so far.
    python: str
    # The name of the project or environment in the file; empty if it has none.
    name: str = ""
    # The requirements.
    lines: list[FileLine] = []
    # The packages that conda installs. Not all of them are projects of an index.
    conda: list[CondaSpec] = []
    # Bounds on projects, which do not require them.
    constraints: list[FileLine] = []
    # Requirements that replace all other requirements on the same projects.
    overrides: list[FileLine] = []
    # Lines that a stack cannot have, each with the reason.
    left_out: list[tuple[FileLine, Message]] = []
    # The projects with a source that a stack cannot have. They must not be taken from a public
    # index instead, where anybody may own their names.
    other_sources: dict[NormalizedName, OtherSource] = {}
    # The indexes that the file has besides that of pip.
    indexes: list[NamedIndex] = []
    # The number of --hash options. They are ignored, since a lock has hashes itself.
    hashes: int = 0

    def leave_out(self, line: FileLine, code: str) -> None:
        """Record a line that a stack cannot have, with the code of the reason."""
        self.left_out.append((line, message(code)))

    def admit(self, requires_python: str) -> None:
        """Set `python` to the first version of PYTHONS that a Requires-Python admits.

        Nothing happens if `python` is set already, or the Requires-Python cannot be read.
        """
        admitted = texts.python_specifiers(requires_python)
        if admitted is None or self.python:
            return
        for python in PYTHONS:
            if f"{python}.0" in admitted or f"{python}.{_LAST_PATCH}" in admitted:
                self.python = python
                return


def with_whole_lines(content: str) -> str:
    """Return a text without odd line breaks, such as U+2028 or a carriage return alone.

    They are replaced by U+FFFD, which is valid in no requirement. So the line is reported as one
    that cannot be read.
    """
    return _ODD_BREAK.sub("\ufffd", _LINE_END.sub("", content))


def shown_option(text: str) -> str:
    """Return an option of pip without secrets; empty if the text is no known option.

    The result is the name of the option. It has the argument only for the address of an index,
    without its secrets, and for the relative path of an editable folder.
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
    """Return a requirement (PEP 508) or an address without secrets; empty for any other text."""
    if _WHOLE_ADDRESS.fullmatch(text):
        return shown_address(text)
    try:
        requirement = texts.requirement(text)
    except InvalidRequirement:
        return ""
    if not requirement.url:
        return text if is_readable(requirement) else f"{requirement.name} …"
    if not _WHOLE_ADDRESS.fullmatch(requirement.url):
        # If the address has no scheme, the name of the project may really be a user.
        return ""
    # The first `@` stands before the address, since no name of a project or extra contains one.
    project = text.partition("@")[0].rstrip()
    shown = f"{project} @ {shown_address(requirement.url)}"
    if requirement.marker is None:
        return shown
    marker = str(requirement.marker)
    return f"{shown} ; {'…' if _ADDRESS_PART.search(marker) else marker}"


def is_readable(requirement: Requirement) -> bool:
    """Return whether it is certain that `shown_requirement` shows no secret of a requirement.

    It is not certain if a marker, a version or the fragment of the address may be a part of another
    address, or if the host and the path of its address cannot be told from its secrets.
    """
    for clause in requirement.specifier:
        # `===` may be followed by any text.
        if clause.operator == "===" and texts.version(clause.version) is None:
            return False
    if _ADDRESS_PART.search(str(replace(requirement, url=""))):
        return False
    fragment = requirement.url.partition("#")[2]
    return is_certain(requirement.url) and not _FRAGMENT_PART.search(fragment)


def require_known(kind: Phrase, names: Iterable[str], known: Collection[str], where: str) -> None:
    """Raise InputError if the user gave a name that is not known.

    `kind` says what the names are, such as extras. `where` is the place in the error, whose hint
    has the known names.
    """
    for name in names:
        if texts.name(name) not in known:
            shown = shown_names(known)
            hint = did_you_mean(name, shown, known_names(shown))
            complaint = phrase("there is no {kind} `{name}`", kind=kind, name=name)
            raise InputError(complaint, where=where, hint=hint)


def require_included(
    kind: Phrase, names: Iterable[str], known: Collection[str], where: str
) -> None:
    """Raise InputError if a file contains a name that is not known.

    Unlike `require_known`, the error does not quote the name, which may be a secret.
    """
    if not all(texts.name(name) in known for name in names):
        complaint = phrase("there is no such {kind}", kind=kind)
        raise InputError(complaint, where=where, hint=known_names(shown_names(known)))


def shown_names(names: Iterable[str]) -> list[str]:
    """Return the names that a group or an extra may have (PEP 685, PEP 735).

    A file can have any text as a key. One of these names is what the user has to write.
    """
    return [name for name in names if _NAME.fullmatch(name) and len(name) <= _LONGEST_NAME]
