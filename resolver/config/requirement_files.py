"""The requirements in files of other tools: requirements.txt, pyproject.toml, environment.yml, pylock.toml.

`config/stack_draft` decides which of them a stack can have.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path, PurePath
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs

import msgspec
from packaging.pylock import Package, Pylock, PylockValidationError, is_valid_pylock_path
from packaging.requirements import InvalidRequirement

from resolver.config.lines import TomlText
from resolver.config.load import LARGEST, read_as_text, toml_tables
from resolver.errors import InputError, did_you_mean, shown_address, without_secrets
from resolver.model import text as texts
from resolver.model.message import Message, message
from resolver.model.target import Platform, Target
from resolver.owned_folder import OwnedFolder

_PYTHONS: Final = ("3.11", "3.12", "3.10", "3.13", "3.14", "3.9")  # the first that a file admits is assumed
_LAST_PATCH: Final = 99
_NOT_READ: Final = (".lock", ".py", ".cfg")

# A line that begins with one of pip's options is an option. The first group names indexes.
_INDEX_OPTIONS: Final = frozenset(
    (
        *("-i", "--index-url", "--pypi-url", "--extra-index-url"),
        *("-f", "--find-links", "--no-index", "--trusted-host"),
    )
)
_OTHER_OPTIONS: Final = frozenset(
    (
        *("-e", "--editable", "-r", "--requirement", "-c", "--constraint"),
        *("--pre", "--prefer-binary", "--no-binary", "--only-binary", "--require-hashes", "--hash", "--use-feature"),
        *("-C", "--config-settings", "--config-setting", "--global-option", "--install-option"),
    )
)
_OPTION = re.compile(r"(--?[A-Za-z-]+)[ =]?(.*)")
_WHOLE_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://\S+")
_OPTIONS_AFTER = re.compile(r"\s(--?[A-Za-z].*)")
_HASH = re.compile(r"--hash[= ]\S+")
_GIT = re.compile(r"(?:(?P<name>[^@;]+?)\s*@\s*)?(?P<address>git\+[^#\s]+)#(?P<fragment>\S+)(?P<rest>.*)")

_KEY = re.compile(r"([\w-]+)\s*:\s*([^#]*)")
_ITEM = re.compile(r"""(\s*)-\s+(["']?)(.*)""")
_COMMENT = re.compile(r"(^|\s)#.*")
_CONDA_PYTHON = re.compile(r"python(?:\s*=+\s*|\s+)(3\.[0-9]{1,2})")


class FileLine(msgspec.Struct, frozen=True):
    """A line of a file.

    Only a part whose meaning is known is shown to people: the file may be another than its name says, and the line a
    password.
    """

    # What it says.
    text: str
    # Its place, as file:line.
    where: str
    # What of it may be shown; "" for nothing.
    shown: str = ""


def _shown_option(text: str) -> str:
    """Return an option of pip by name, with the address of an index if there is one; "" for anything else."""
    match = _OPTION.fullmatch(text)
    if match is None or match[1] not in _INDEX_OPTIONS | _OTHER_OPTIONS:
        return ""
    is_address = match[1] in _INDEX_OPTIONS and _WHOLE_ADDRESS.fullmatch(match[2])
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
    marker = f" ; {without_secrets(str(requirement.marker))}" if requirement.marker is not None else ""
    return f"{project} @ {shown_address(requirement.url)}{marker}"


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
    path: Path,
    *,
    python: str = "",
    platform: Platform,
    extras: Sequence[str] = (),
    groups: Sequence[str] = (),
    root: Path | None = None,
) -> FileRequirements:
    """Read a file, whose format its name tells; any other name is that of a requirements file.

    Of a pyproject.toml, that is what the project itself and these extras and groups require; of a pylock.toml, what is
    installed with them on this Python and platform. Nothing outside of the folder `root` is read, by default that of
    the file. Raises InputError.
    """
    result, name = FileRequirements(python), str(path)
    bounds = FolderBounds(path, root)
    if path.suffix == ".toml":
        read = _read_pylock if is_valid_pylock_path(path) else _read_pyproject
        read(TomlText(name, bounds.text(bounds.inside(path, name), name)), result, platform, extras, groups)
    elif path.suffix in _NOT_READ:
        hint = "export it as requirements, by `uv export`, `poetry export` or `pip freeze`, and import those"
        raise InputError(f"a file such as `{path.name}` cannot be imported", where=name, hint=hint)
    else:
        _require_known("extra", extras, (), name)
        _require_known("dependency group", groups, (), name)
        if path.suffix in (".yml", ".yaml"):
            _read_environment(path, result, bounds)
        else:
            _RequirementsFiles(result, bounds).read(path, result.lines)
    result.python = result.python or _PYTHONS[0]
    return result


def _require_known(kind: str, names: Iterable[str], known: Collection[str], where: str) -> None:
    for name in names:
        if texts.name(name) not in known:
            hint = did_you_mean(name, known, f"known are {', '.join(known) or 'none'}")
            raise InputError(f"there is no {kind} `{name}`", where=where, hint=without_secrets(hint))


# --- requirements files


class FolderBounds:
    """The folder that the files of an import must be in: the first file's own, unless another one is given.

    A requirements file of somebody else may include any file of this machine, by its path or through a link. What is
    read is judged by where it really is, and is then opened from the folder's descriptor without following any link, so
    that nobody can put another file in its place meanwhile.
    """

    def __init__(self, file: Path, root: Path | None) -> None:
        self._is_given = root is not None
        self._root = Path(os.path.realpath(file.parent if root is None else root))
        self._file = self._root / file.name  # which was named by the user

    def text(self, inside: PurePath, name: str) -> str:
        """Return the text of a file in the folder. Raises InputError, which calls it by this name."""
        return read_as_text(partial(self._read, inside), name)

    def _read(self, inside: PurePath) -> bytes:
        if not inside.parts:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with OwnedFolder.open(self._root) as folder:
            return folder.read(inside.as_posix(), LARGEST)

    def inside(self, path: Path, where: str) -> PurePath:
        """Return where a file really is in the folder.

        Raises InputError, which does not name the file but where it is named, if it is elsewhere or hidden.
        """
        real = Path(os.path.realpath(path))
        if self._is_given and real.is_relative_to(self._root):
            return real.relative_to(self._root)
        hint = "look at what that line names; if it is meant, allow a folder: --root DIR"
        # without a folder of its own, as in a container, only what lies beside the file
        is_inside = real.parent == self._root if self._root == self._root.parent else real.is_relative_to(self._root)
        if not is_inside:
            why = f"It is not in {self._root}."
            raise InputError("a file outside of the folder is not read", where=where, why=why, hint=hint)
        is_hidden = any(part.startswith(".") for part in real.relative_to(self._root).parts)
        if is_hidden and real != self._file:
            why = "It or its folder has a name that begins with a dot, like many files with passwords."
            raise InputError("a hidden file is not read", where=where, why=why, hint=hint)
        return real.relative_to(self._root)


class _Row(msgspec.Struct, frozen=True):
    """A line of a requirements file that is to be taken."""

    # The line, continuations joined and without comments.
    text: str
    # Its place, as file:line.
    where: str
    # The folder of its file, to which the paths in it are relative.
    folder: Path
    # Where its requirement goes: the lines or the constraints.
    into: list[FileLine]


class _RequirementsFiles:
    """A requirements file and those that it includes, each of which is read once."""

    def __init__(self, result: FileRequirements, bounds: FolderBounds) -> None:
        self._result = result
        self._bounds = bounds
        self._seen: set[tuple[PurePath, bool]] = set()

    def read(self, path: Path, into: list[FileLine]) -> None:
        """Add the lines of a file, if they are not there. Raises InputError."""
        self._take_all(self._rows(path, str(path), into))

    def take(self, text: str, where: str, folder: Path, into: list[FileLine]) -> None:
        """Add a line of a file in this folder, and what it includes. Raises InputError."""
        self._take_all(iter([_Row(text, where, folder, into)]))

    def _take_all(self, rows: Iterator[_Row]) -> None:
        """Take rows, and those of each included file in its place, however deep files include each other."""
        pending = [rows]
        while pending:
            row = next(pending[-1], None)
            if row is None:
                pending.pop()
            elif (included := self._take(row)) is not None:
                pending.append(included)

    def _rows(self, path: Path, where: str, into: list[FileLine]) -> Iterator[_Row]:
        """Return the rows of a file that is named at `where`; none if they have been read."""
        inside = self._bounds.inside(path, where)
        key = inside, into is self._result.constraints
        if key in self._seen:
            return iter(())
        self._seen.add(key)
        lines = texts.file_lines(self._bounds.text(inside, str(path)))
        return (_Row(text, f"{path}:{number}", path.parent, into) for number, text in lines)

    def _take(self, row: _Row) -> Iterator[_Row] | None:
        """Add what a row says; return the rows of the file that it includes, if it does."""
        text = " ".join(row.text.split())
        option, name = texts.file_option(text)
        if option in ("r", "c") and "://" not in name:
            if not name.isprintable():
                raise InputError("a file with such a name is not read", where=row.where)
            return self._rows(row.folder / name, row.where, self._result.constraints if option == "c" else row.into)
        if option == "e" and "git+" in (reference := _in_pep_508(name)):
            row.into.append(FileLine(reference, row.where))
        elif option:
            line = FileLine(text, row.where, _shown_option(text))
            self._result.leave_out(line, "import.folder" if option == "e" else "import.elsewhere")
        elif text.startswith("-"):
            self._leave_out_option(text, row.where)
        else:
            requirement, *options = _OPTIONS_AFTER.split(text, maxsplit=1)
            row.into.append(FileLine(_in_pep_508(requirement), row.where))
            other_options, hashes = _HASH.subn("", "".join(options))
            self._result.hashes += hashes
            if other_options.strip():
                self._leave_out_option(other_options.strip(), row.where)
        return None

    def _leave_out_option(self, text: str, where: str) -> None:
        """Leave out a line that begins with `-`, which need not be an option of pip."""
        line = FileLine(text, where, _shown_option(text))
        is_index = line.shown.partition(" ")[0] in _INDEX_OPTIONS
        self._result.leave_out(line, "import.index" if is_index else "import.option" if line.shown else "import.unread")


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


def _read_environment(path: Path, result: FileRequirements, bounds: FolderBounds) -> None:
    """Add what pip installs into a conda environment: `- pip:` with one item a line, as conda itself writes it."""
    reader, pip_indent, section = _RequirementsFiles(result, bounds), -1, ""
    text = bounds.text(bounds.inside(path, str(path)), str(path))
    for number, row in enumerate(text.splitlines(), 1):
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
    _ProjectTables(document, content, result).take(extras, groups)
    if "dependencies" in project.dynamic:
        result.leave_out(FileLine("dynamic", document.line("project", "dynamic"), "dynamic"), "import.dynamic")


class _TableRow(NamedTuple):
    """A row of a list of requirements in a pyproject.toml, and its place as file:line."""

    row: str | dict[str, str]
    where: str


class _ProjectTables:
    """The lists of requirements of a pyproject.toml, of which extras and groups may include others of their kind."""

    def __init__(self, document: TomlText, content: _Pyproject, result: FileRequirements) -> None:
        self._document = document
        self._project = content.project
        self._result = result
        self._tables: Mapping[str, tuple[tuple[str, ...], Mapping[str, _Rows]]] = {
            "extra": (("project", "optional-dependencies"), content.project.optional_dependencies),
            "dependency group": (("dependency-groups",), content.dependency_groups),
        }
        self._keys = {kind: {texts.name(key): key for key in table} for kind, (_, table) in self._tables.items()}
        self._seen: set[tuple[str, str]] = set()

    def take(self, extras: Sequence[str], groups: Sequence[str]) -> None:
        """Add what the project, these extras and these groups require, each once. Raises InputError."""
        self._take_all(self._rows(("project", "dependencies"), self._project.dependencies))
        self._take_all(self._included("extra", extras, self._document.name))
        self._take_all(self._included("dependency group", groups, self._document.name))

    def _take_all(self, rows: Iterator[_TableRow]) -> None:
        """Take rows, and those of each included list in its place, however deep lists include each other."""
        pending = [rows]
        while pending:
            row = next(pending[-1], None)
            if row is None:
                pending.pop()
            elif isinstance(row.row, dict):
                group = row.row.get("include-group")
                if group is None:
                    hint = '{ include-group = "NAME" }, or a requirement as a string'
                    raise InputError("a row of a dependency group cannot be read", where=row.where, hint=hint)
                pending.append(self._included("dependency group", [group], row.where))
            elif nested := _own_extras(row.row, self._project.name):
                pending.append(self._included("extra", nested, row.where))
            else:
                self._result.lines.append(FileLine(row.row, row.where))

    def _included(self, kind: str, names: Sequence[str], where: str) -> Iterator[_TableRow]:
        """Return the rows of extras or groups that were not taken before. Raises InputError for an unknown one."""
        path, table = self._tables[kind]
        keys = self._keys[kind]
        _require_known(kind, names, keys, where)
        rows: list[Iterator[_TableRow]] = []
        for name in map(texts.name, names):
            if (kind, name) not in self._seen:
                self._seen.add((kind, name))
                rows.append(self._rows((*path, keys[name]), table[keys[name]]))
        return chain.from_iterable(rows)

    def _rows(self, path: tuple[str, ...], rows: _Rows) -> Iterator[_TableRow]:
        """Yield the rows of a list with their places."""
        for number, row in enumerate(rows):
            yield _TableRow(row, self._document.line(*path, number))


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
        key = f"`{error.context}` cannot be used." if error.context else ""  # without its value
        raise InputError("the file is no pylock.toml", where=document.name, why=key) from None
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
        pinned, marker = _pinned(package), package.marker
        line = FileLine(pinned, document.line("packages", number), shown_requirement(pinned))
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
