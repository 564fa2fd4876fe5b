"""A stack made of the requirements in a file of another tool: which of them a stack for NPUs can have, and its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec
import tomli_w
from msgspec.structs import replace
from packaging.markers import UndefinedEnvironmentName
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.config.decode import parse_need
from resolver.config.load import load_facts
from resolver.config.requirement_files.file_requirements import (
    FileLine,
    FileRequirements,
    shown_requirement,
)
from resolver.errors import InputError, escaped
from resolver.model.fact import Need
from resolver.model.message import Message, message, verbatim
from resolver.model.requirement import Requirement
from resolver.model.target import Target
from resolver.redaction import without_secrets

# How NVIDIA and others name what is for CUDA alone: nvidia-cublas-cu12, cuda-python, cupy-cuda12x.
_CUDA: Final = re.compile(r"(^|-)(nvidia|cuda\d*x?|cu\d+)(-|$)")
_LABEL: Final = re.compile(r"(?<=[0-9a-z])\+[a-z0-9]+([._-][a-z0-9]+)*", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"[./~]|[^;]*(?<!\bgit\+https)(?<!\bgit\+ssh)(?<!\bgit\+file)://")
_PLUGINS: Final = {"torch": "torch-npu", "vllm": "vllm-ascend"}
_MARKERS: Final = Target(
    name="", python="3.11", platform="linux-aarch64", glibc=(2, 28)
).markers  # any target's
_LONGEST: Final = 200  # characters of a line that are told
_ALL: Final = SpecifierSet(">=0")
_HEAD: Final = """\
# What {file} asks for, as `ascend-lock import` took it over.
# The target is an assumption where no option named it: check it.

"""


class Draft(msgspec.Struct, frozen=True):
    """The lines of a stack, and messages about those that are not as in the file."""

    requires: tuple[str, ...]
    messages: tuple[Message, ...]
    lacking: tuple[str, ...]  # plugins without which what it asks for does not run on NPUs

    def text(
        self, name: str, file: str, target: Mapping[str, str], system: Mapping[str, str]
    ) -> str:
        """The text of the stack file."""
        summary = f"What {escaped(file)} asks for, on Ascend {system['soc']}"
        stack = {"name": name, "summary": summary, "requires": self.requires}
        tables = {"stack": stack, "target": {**target, "system": system}}
        return _HEAD.format(file=escaped(file)) + tomli_w.dumps(tables)


def draft(requirements: FileRequirements, matrices: Path) -> Draft:
    """What a stack can have of a file, in its order and each line once, without CUDA's projects and local versions.

    Raises InputError if the facts cannot be read.
    """
    messages = [_left_out(line, why) for line, why in requirements.left_out]
    excluded = _excluded_projects(matrices)
    lines = [*_usable(requirements.lines, excluded, messages)]
    bounds = {
        need.name: SpecifierSet()
        for _, need in lines
        if isinstance(need, Requirement) and not need.url
    }
    for line, need in _usable(requirements.constraints, excluded, messages):
        if not isinstance(need, Requirement) or need.name not in bounds:
            messages.append(
                _left_out(
                    _as_shown(line), message("import.constraint", line=without_secrets(str(need)))
                )
            )
        elif need.marker is not None:
            lines.append((line, need))
        else:
            bounds[need.name] &= need.specifier
    names = {need.name for _, need in lines if isinstance(need, Requirement)}
    if requirements.hashes:
        messages.append(message("import.hashes", count=requirements.hashes))
    lacking = tuple(
        plugin for project, plugin in _PLUGINS.items() if project in names and plugin not in names
    )
    return Draft(
        tuple(dict.fromkeys(_bounded(line, need, bounds) for line, need in lines)),
        tuple(messages),
        lacking,
    )


def _usable(
    lines: Iterable[FileLine], excluded: Mapping[NormalizedName, Message], messages: list[Message]
) -> Iterator[tuple[FileLine, Need]]:
    """The lines that a stack can have, as it has them."""
    for line in lines:
        if _ADDRESS.match(line.text) or line.text.startswith("git+"):
            code = "import.unnamed" if line.text.startswith("git+") else "import.folder"
            messages.append(_left_out(_as_shown(line), message(code)))
            continue
        head, *marker = line.text.partition(";")
        plain = line.text if "://" in head else "".join((_LABEL.sub("", head), *marker))
        try:
            need = parse_need(plain, direct=True)
            if isinstance(need, Requirement) and need.marker:
                need.marker.evaluate(_MARKERS)
        except (InputError, ValueError, UndefinedEnvironmentName) as error:
            line = _as_shown(line)
            # the reason that something is no requirement quotes it
            is_read = line.shown and not isinstance(error, InputError)
            messages.append(
                _left_out(
                    line,
                    verbatim(without_secrets(str(error))) if is_read else message("import.unread"),
                )
            )
            continue
        if isinstance(need, Requirement) and _has_secret(need):
            messages.append(_left_out(_as_shown(line), message("import.unread")))
            continue
        if isinstance(need, Requirement) and not need.url:
            why = excluded.get(need.name) or (_CUDA.search(need.name) and message("import.cuda"))
            if why:
                messages.append(_left_out(_as_shown(line), why))
                continue
        if plain != line.text:
            messages.append(
                message("import.label", where=line.where, line=shown_requirement(plain))
            )
        yield FileLine(plain if "'" in plain else plain.replace('"', "'"), line.where), need


def _has_secret(need: Requirement) -> bool:
    """Return whether a requirement may hold a password, although it can be read.

    An address in a marker or a version may have one. So may one of git whose host has a port, which
    may be its beginning, if what looks like a revision has a `/`, as in
    `https://user:12/rest@host/path`.
    """
    text = str(replace(need, url=""))
    if without_secrets(text) != text:
        return True
    repository, _, revision = need.url.partition("#")[0].rpartition("@")
    authority = repository.partition("://")[2].partition("/")[0]
    return ":" in authority and "/" in revision


def _bounded(line: FileLine, need: Need, bounds: Mapping[NormalizedName, SpecifierSet]) -> str:
    if not isinstance(need, Requirement) or need.url or not str(bounds[need.name]):
        return line.text
    return str(replace(need, specifier=need.specifier & bounds[need.name])).replace('"', "'")


def _excluded_projects(matrices: Path) -> dict[NormalizedName, Message]:
    """The projects of which facts exclude all releases, or that another project replaces; and why."""
    reasons = {}
    for file in load_facts(matrices):
        for fact in (*file.content.excludes, *file.content.names):
            if _ALL in fact.versions:
                reasons[fact.package] = verbatim(fact.reason, fact.reason_zh)
        for fact in file.content.absent:
            reasons[fact.other] = verbatim(fact.reason, fact.reason_zh)
    return reasons


def _as_shown(line: FileLine) -> FileLine:
    """Return a line that is to be a requirement, with what of it may be shown."""
    return replace(line, shown=shown_requirement(line.text))


def _left_out(line: FileLine, why: Message) -> Message:
    """Return the message about a line, which is quoted only as far as its meaning is known."""
    if not line.shown:
        return message("import.left-out-unread", where=line.where, why=why)
    return message("import.left-out", where=line.where, why=why, line=line.shown[:_LONGEST])
