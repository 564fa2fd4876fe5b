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

# The first that a file admits is assumed.
PYTHONS: Final = ("3.11", "3.12", "3.10", "3.13", "3.14", "3.9")
_LAST_PATCH: Final = 99

# A line that begins with one of pip's options is an option. The first group names indexes.
INDEX_OPTIONS: Final = frozenset(
    (
        *("-i", "--index-url", "--pypi-url", "--extra-index-url"),
        *("-f", "--find-links", "--no-index", "--trusted-host"),
    )
)
_OTHER_OPTIONS: Final = frozenset(
    (
        *("-e", "--editable", "-r", "--requirement", "-c", "--constraint"),
        *(
            "--pre",
            "--prefer-binary",
            "--no-binary",
            "--only-binary",
            "--require-hashes",
            "--hash",
            "--use-feature",
        ),
        *("-C", "--config-settings", "--config-setting", "--global-option", "--install-option"),
    )
)
_OPTION = re.compile(r"(--?[A-Za-z-]+)[ =]?(.*)")
_WHOLE_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://\S+")


class FileLine(msgspec.Struct, frozen=True):
    """A line of a file.

    Only a part whose meaning is known is shown to people: the file may be another than its name
    says, and the line a password.
    """

    # What it says.
    text: str
    # Its place, as file:line.
    where: str
    # What of it may be shown; "" for nothing.
    shown: str = ""


class FileRequirements(msgspec.Struct):
    """The requirements in a file. `constraints` count only for projects that are required.

    `left_out` are lines that a stack cannot have, and why. `python` is the version given by the
    user, or else by the file. `hashes` is the number of --hash options: a lock has hashes of its
    own.
    """

    python: str
    lines: list[FileLine] = []
    constraints: list[FileLine] = []
    left_out: list[tuple[FileLine, Message]] = []
    hashes: int = 0

    def leave_out(self, line: FileLine, code: str) -> None:
        """Note a line that is not taken over; the code is that of the reason."""
        self.left_out.append((line, message(code)))

    def admit(self, requires_python: str) -> None:
        """Take the nearest Python that a Requires-Python admits, unless one was given."""
        admitted = texts.python_specifiers(requires_python)
        if admitted is not None and not self.python:
            patches = (0, _LAST_PATCH)
            self.python = next(
                (line for line in PYTHONS if any(f"{line}.{at}" in admitted for at in patches)), ""
            )


def shown_option(text: str) -> str:
    """Return an option of pip by name, with the address of an index if there is one; "" for anything else."""
    match = _OPTION.fullmatch(text)
    if match is None or match[1] not in INDEX_OPTIONS | _OTHER_OPTIONS:
        return ""
    is_address = match[1] in INDEX_OPTIONS and _WHOLE_ADDRESS.fullmatch(match[2])
    return f"{match[1]} {shown_address(match[2])}" if is_address else match[1]


def shown_requirement(text: str) -> str:
    """Return a requirement (PEP 508) or an address as it may be shown; "" for what is neither."""
    if _WHOLE_ADDRESS.fullmatch(text):
        return shown_address(text)
    try:
        requirement = texts.requirement(text)
    except InvalidRequirement:
        return ""
    if not requirement.url:
        return without_secrets(text)
    # no name of a project or an extra has an `@`
    project = text.partition("@")[0].rstrip()
    marker = (
        f" ; {without_secrets(str(requirement.marker))}" if requirement.marker is not None else ""
    )
    return f"{project} @ {shown_address(requirement.url)}{marker}"


def require_known(kind: str, names: Iterable[str], known: Collection[str], where: str) -> None:
    """Raise InputError, with the place and the known names, if one of the names is not known."""
    for name in names:
        if texts.name(name) not in known:
            hint = did_you_mean(name, known, f"known are {', '.join(known) or 'none'}")
            raise InputError(
                f"there is no {kind} `{name}`", where=where, hint=without_secrets(hint)
            )
