"""What a file of another tool requires, and what of a line may be shown to people."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

import msgspec
from packaging.requirements import InvalidRequirement

from resolver.errors import InputError, did_you_mean
from resolver.model import text as texts
from resolver.model.message import Message, message
from resolver.redaction import shown_address, without_secrets

# The Pythons of targets; the first one that a file admits is assumed.
PYTHONS: Final = ("3.11", "3.12", "3.10", "3.13", "3.14", "3.9")
# A patch release after any that exists.
_LAST_PATCH: Final = 99

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
    )
)
_OPTION = re.compile(r"(--?[A-Za-z-]+)[ =]?(.*)")
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


class FileRequirements(msgspec.Struct):
    """The requirements in a file."""

    # The Python of the target, given by the user or else by the file.
    python: str
    lines: list[FileLine] = []
    # Lines that count only for projects that are required.
    constraints: list[FileLine] = []
    # Lines that a stack cannot have, and why.
    left_out: list[tuple[FileLine, Message]] = []
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


def shown_option(text: str) -> str:
    """Return what may be shown of an option of pip; "" for anything else.

    It is the name of the option, and the address of an index without its password.
    """
    match = _OPTION.fullmatch(text)
    if match is None:
        return ""
    option, value = match.groups()
    if option in INDEX_OPTIONS and _WHOLE_ADDRESS.fullmatch(value):
        return f"{option} {shown_address(value)}"
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
        return without_secrets(text)
    # The first `@` is before the address: no name of a project or an extra has one.
    project = text.partition("@")[0].rstrip()
    shown = f"{project} @ {shown_address(requirement.url)}"
    if requirement.marker is None:
        return shown
    return f"{shown} ; {without_secrets(str(requirement.marker))}"


def require_known(kind: str, names: Iterable[str], known: Collection[str], where: str) -> None:
    """Raise InputError, with the place and the known names, if one of the names is not known."""
    for name in names:
        if texts.name(name) not in known:
            hint = did_you_mean(name, known, f"known are {', '.join(known) or 'none'}")
            what = f"there is no {kind} `{name}`"
            raise InputError(what, where=where, hint=without_secrets(hint))
