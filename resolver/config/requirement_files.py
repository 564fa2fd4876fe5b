"""The requirements in files of other tools: requirements.txt, pyproject.toml, environment.yml, pylock.toml.

`config/stack_draft` decides which of them a stack can have.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs

import msgspec
from packaging.pylock import Package, Pylock, PylockValidationError, is_valid_pylock_path
from packaging.requirements import InvalidRequirement

from resolver.config.lines import TomlText
from resolver.config.load import file_text, toml_tables
from resolver.errors import InputError, did_you_mean
from resolver.model import text as texts
from resolver.model.message import Message, message
from resolver.model.target import Platform, Target

_PYTHONS: Final = ("3.11", "3.12", "3.10", "3.13", "3.14", "3.9")  # the first that a file admits is assumed
_LAST_PATCH: Final = 99
_NOT_READ: Final = (".lock", ".py", ".cfg")

_INDEX_OPTION = re.compile(r"-[if]\b|--((extra-)?index-url|find-links|no-index|trusted-host)\b")
_OPTIONS_AFTER = re.compile(r"\s(--?[A-Za-z].*)")
_HASH = re.compile(r"--hash[= ]\S+")
_GIT = re.compile(r"(?:(?P<name>[^@;]+?)\s*@\s*)?(?P<address>git\+[^#\s]+)#(?P<fragment>\S+)(?P<rest>.*)")

_KEY = re.compile(r"([\w-]+)\s*:\s*([^#]*)")
_ITEM = re.compile(r"""(\s*)-\s+(["']?)(.*)""")
_COMMENT = re.compile(r"(^|\s)#.*")
_CONDA_PYTHON = re.compile(r"python(?:\s*=+\s*|\s+)(3\.[0-9]{1,2})")


class FileLine(msgspec.Struct, frozen=True):
    """A line of a file, at `where` (file:line)."""

    text: str
    where: str


class FileRequirements(msgspec.Struct):
    """The requirements in a file. `constraints` count only for projects that are required.

    `left_out` are lines that a stack cannot have, and why. `python` is the version given by the user, or else by the
    file. `hashes` is the number of --hash options: a lock has hashes of its own.
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
            self.python = next((line for line in _PYTHONS if any(f"{line}.{at}" in admitted for at in patches)), "")


def read_requirements(
    path: Path, *, python: str = "", platform: Platform, extras: Sequence[str] = (), groups: Sequence[str] = ()
) -> FileRequirements:
    """Read a file, whose format its name tells; any other name is that of a requirements file.

    Of a pyproject.toml, that is what the project itself and these extras and groups require; of a pylock.toml, what is
    installed with them on this Python and platform. Raises InputError.
    """
    result, name = FileRequirements(python), str(path)
    if path.suffix == ".toml":
        read = _read_pylock if is_valid_pylock_path(path) else _read_pyproject
        read(TomlText(name, file_text(path, name)), result, platform, extras, groups)
    elif path.suffix in _NOT_READ:
        hint = "export it as requirements, by `uv export`, `poetry export` or `pip freeze`, and import those"
        raise InputError(f"a file such as `{path.name}` cannot be imported", where=name, hint=hint)
    else:
        _require_known("extra", extras, (), name)
        _require_known("dependency group", groups, (), name)
        if path.suffix in (".yml", ".yaml"):
            _read_environment(path, result)
        else:
            _RequirementsFiles(result).read(path, result.lines)
    result.python = result.python or _PYTHONS[0]
    return result


def _require_known(kind: str, names: Iterable[str], known: Sequence[str], where: str) -> None:
    for name in names:
        if texts.name(name) not in known:
            hint = did_you_mean(name, known, f"known are {', '.join(known) or 'none'}")
            raise InputError(f"there is no {kind} `{name}`", where=where, hint=hint)


# --- requirements files


class _RequirementsFiles:
    """A requirements file and those that it includes, each of which is read once."""

    def __init__(self, result: FileRequirements) -> None:
        self._result = result
        self._seen: set[tuple[str, bool]] = set()

    def read(self, path: Path, into: list[FileLine]) -> None:
        """Add the lines of a file, if they are not there. Raises InputError."""
        key = os.path.realpath(path), into is self._result.constraints
        if key not in self._seen:
            self._seen.add(key)
            for number, text in texts.file_lines(file_text(path, str(path))):
                self.take(text, f"{path}:{number}", path.parent, into)

    def take(self, text: str, where: str, folder: Path, into: list[FileLine]) -> None:
        """Add a line of a file in this folder, and what it includes."""
        line = FileLine(" ".join(text.split()), where)
        option, name = texts.file_option(line.text)
        if option == "e":
            reference = _in_pep_508(name)
            if "git+" in reference:
                into.append(FileLine(reference, where))
            else:
                self._result.leave_out(line, "import.folder")
        elif option and "://" in name:
            self._result.leave_out(line, "import.elsewhere")
        elif option:
            self.read(folder / name, self._result.constraints if option == "c" else into)
        elif line.text.startswith("-"):
            index = _INDEX_OPTION.match(line.text)
            self._result.leave_out(line, "import.index" if index else "import.option")
        else:
            requirement, *options = _OPTIONS_AFTER.split(line.text, maxsplit=1)
            into.append(FileLine(_in_pep_508(requirement), where))
            other_options, hashes = _HASH.subn("", "".join(options))
            self._result.hashes += hashes
            if other_options.strip():
                self._result.leave_out(FileLine(other_options.strip(), where), "import.option")


def _in_pep_508(text: str) -> str:
    """The text, but `git+URL#egg=NAME` as `NAME @ git+URL`, as in PEP 508."""
    match = _GIT.fullmatch(text)
    if match is None:
        return text
    options = parse_qs(match["fragment"])
    name = match["name"] or next(iter(options.get("egg", ())), "")
    folder = f"#subdirectory={options['subdirectory'][0]}" if "subdirectory" in options else ""
    return f"{name} @ {match['address']}{folder}{match['rest']}" if name else text


# --- environment.yml


def _read_environment(path: Path, result: FileRequirements) -> None:
    """Add what pip installs into a conda environment: `- pip:` with one item a line, as conda itself writes it."""
    reader, pip_indent, section = _RequirementsFiles(result), -1, ""
    for number, row in enumerate(file_text(path, str(path)).splitlines(), 1):
        line = FileLine(row.strip(), f"{path}:{number}")
        if key := _KEY.match(row):
            section, pip_indent = key[1], -1
            is_read = not key[2].strip()
        elif item := _ITEM.match(row):
            value = item[3].partition(item[2])[0] if item[2] else _COMMENT.sub("", item[3]).strip()
            pip_indent = pip_indent if len(item[1]) > pip_indent else -1
            is_read = pip_indent >= 0 or value in ("pip", "python", "pip:")
            if pip_indent >= 0:
                reader.take(value, line.where, path.parent, result.lines)
            elif value == "pip:":
                pip_indent = len(item[1])
            elif python := _CONDA_PYTHON.match(value):
                result.python, is_read = result.python or python[1], True
        else:
            is_read = not line.text or line.text.startswith("#")
        if section == "dependencies" and not is_read:
            result.leave_out(line, "import.conda")


# --- pyproject.toml (PEP 621, PEP 735)


_Rows = Sequence[str | dict[str, str]]


class _Project(msgspec.Struct, rename="kebab"):
    name: str = ""
    requires_python: str = ""
    dependencies: tuple[str, ...] = ()
    optional_dependencies: dict[str, tuple[str, ...]] = {}
    dynamic: tuple[str, ...] = ()


class _Pyproject(msgspec.Struct, rename="kebab"):
    project: _Project = msgspec.field(default_factory=_Project)
    dependency_groups: dict[str, tuple[str | dict[str, str], ...]] = {}


def _read_pyproject(
    document: TomlText, result: FileRequirements, _platform: Platform, extras: Sequence[str], groups: Sequence[str]
) -> None:
    try:
        content = msgspec.convert(toml_tables(document.text, document.name), _Pyproject)
    except msgspec.ValidationError as error:
        raise InputError("the file is no pyproject.toml", where=document.name, why=str(error)) from None
    project = content.project
    result.admit(project.requires_python)
    tables: Mapping[str, tuple[tuple[str, ...], Mapping[str, _Rows]]] = {
        "extra": (("project", "optional-dependencies"), project.optional_dependencies),
        "dependency group": (("dependency-groups",), content.dependency_groups),
    }
    seen: set[tuple[str, str]] = set()

    def take(path: tuple[str, ...], rows: _Rows) -> None:
        for number, row in enumerate(rows):
            line = FileLine(str(row), document.line(*path, number))
            if isinstance(row, dict):
                include("dependency group", [row.get("include-group", str(row))], line.where)
            elif nested := _own_extras(row, project.name):
                include("extra", nested, line.where)
            else:
                result.lines.append(line)

    def include(kind: str, names: Sequence[str], where: str) -> None:
        path, table = tables[kind]
        keys = {texts.name(key): key for key in table}
        _require_known(kind, names, [*keys], where)
        for name in map(texts.name, names):
            if (kind, name) not in seen:
                seen.add((kind, name))
                take((*path, keys[name]), table[keys[name]])

    take(("project", "dependencies"), project.dependencies)
    include("extra", extras, document.name)
    include("dependency group", groups, document.name)
    if "dependencies" in project.dynamic:
        result.leave_out(FileLine("dynamic", document.line("project", "dynamic")), "import.dynamic")


def _own_extras(line: str, project: str) -> Sequence[str]:
    """The extras of the project itself that a line names, as one extra includes others."""
    try:
        requirement = texts.requirement(line)
    except InvalidRequirement:
        return ()
    return requirement.extras if requirement.name == texts.name(project) else ()


# --- pylock.toml (PEP 751)


def _read_pylock(
    document: TomlText, result: FileRequirements, platform: Platform, extras: Sequence[str], groups: Sequence[str]
) -> None:
    try:
        lock = Pylock.from_dict(toml_tables(document.text, document.name))
    except PylockValidationError as error:
        raise InputError("the file is no pylock.toml", where=document.name, why=str(error)) from None
    result.admit(str(lock.requires_python or ""))
    _require_known("extra", extras, lock.extras or (), document.name)
    _require_known("dependency group", groups, [*map(texts.name, lock.dependency_groups or ())], document.name)
    target = Target(name="", python=result.python or _PYTHONS[0], platform=platform, glibc=(2, 17))
    environment: Mapping[str, Any] = {
        **target.markers,
        "extras": set(extras),
        "dependency_groups": {*(lock.default_groups or ()), *groups},
    }
    for number, package in enumerate(lock.packages):
        line, marker = FileLine(_pinned(package), document.line("packages", number)), package.marker
        if package.directory or package.archive:
            result.leave_out(line, "import.folder")
        elif marker is None or not re.search(r"\b(?:extras|dependency_groups)\b", str(marker)):
            result.lines.append(FileLine(f"{line.text} ; {marker}", line.where) if marker else line)
        elif document.parse(partial(marker.evaluate, context="lock_file"), environment, "packages", number, "marker"):
            result.lines.append(line)
        else:
            result.leave_out(line, "import.unwanted")


def _pinned(package: Package) -> str:
    if vcs := package.vcs:
        folder = f"#subdirectory={vcs.subdirectory}" if vcs.subdirectory else ""
        return f"{package.name} @ {vcs.type}+{vcs.url or vcs.path}@{vcs.commit_id}{folder}"
    return f"{package.name}=={package.version}" if package.version else package.name
