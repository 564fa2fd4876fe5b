"""Find the project on an index that a conda package corresponds to.

An index may have another project of the same name: anybody may have uploaded a `sqlite` or an `xz`.
So a package becomes a requirement only in two cases: imports.toml maps it to a project, or facts,
stacks or the pins of the matrix have a project of its name.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from resolver import files
from resolver.config.load import load_conda, load_facts, load_imports, shipped_stacks
from resolver.config.requirement_files.file_requirements import CondaSpec, FileLine
from resolver.config.schema import CondaRow
from resolver.model import text as texts
from resolver.model.message import Message, message, verbatim

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# A specifier that names one release, and one that does so with numbers alone.
_EXACT: Final = re.compile(r"==[^,*]+")
_OF_NUMBERS: Final = re.compile(r"==[0-9.]+")
# The tools of an environment, which `pip freeze` leaves out as well.
_TOOLS: Final = frozenset(("setuptools", "wheel"))


class Unusable(NamedTuple):
    """A package of conda of which a stack can have no requirement."""

    # The part of its specification that may be shown; may be empty.
    shown: str
    # Why a stack cannot have it.
    why: Message


class _Matrix(msgspec.Struct):
    """The keys of matrix.json that are read."""

    # The pins of all its cells, as `NAME==VERSION`.
    pins: tuple[str, ...] = ()


class CondaNames:
    """The packages of conda whose project is known, and those that are no projects."""

    def __init__(self, matrices: Path) -> None:
        """Read the names from the files in `matrices`. Raises InputError."""
        self._rows: dict[str, CondaRow] = {}
        # The rows by the beginning of the names of their packages.
        self._beginnings: dict[str, CondaRow] = {}
        for row in load_conda(matrices):
            for package in row.packages:
                rows = self._beginnings if package.endswith("*") else self._rows
                rows[package.rstrip("*")] = row
        self._known = _known_projects(matrices)

    def requirement(self, spec: CondaSpec) -> FileLine | Unusable:
        """Return the requirement for a package, or why there is none.

        The specification of a package is shown only if its name is known: of a file that is no
        environment of conda, any other may be a password.
        """
        if spec.is_from_pip and spec.specifier is not None:
            return _line(spec.name, spec, message("import.conda-spec"))
        row, known_as = self._row(spec.name)
        is_same = texts.name(spec.name) in self._known if row is None else row.same_name
        if spec.name in _TOOLS:
            return Unusable(spec.shown, message("import.tool"))
        if row is None and not is_same:
            return Unusable("", message("import.conda-unknown"))
        if row is not None and row.project is None and not is_same:
            return Unusable(known_as, verbatim(row.reason, row.reason_zh))
        if not spec.is_public:
            return Unusable(spec.shown, message("import.conda-channel"))
        if spec.specifier is None:
            return Unusable(spec.shown, message("import.conda"))
        if row is None or row.project is None:
            return _line(spec.name, spec, message("import.conda-spec"))
        if row.longer and _EXACT.fullmatch(spec.specifier):
            # PEP 440 has no wildcard after a pre-release, such as `4.10.0rc1`.
            if not _OF_NUMBERS.fullmatch(spec.specifier):
                return Unusable(spec.shown, message("import.conda"))
            spec = msgspec.structs.replace(spec, specifier=f"{spec.specifier}.*")
        return _line(row.project, spec, verbatim(row.reason, row.reason_zh))

    def _row(self, package: str) -> tuple[CondaRow | None, str]:
        """Return the row about a package, and the name or pattern by which the row has it."""
        if package in self._rows:
            return self._rows[package], package
        for beginning, row in self._beginnings.items():
            if package.startswith(beginning):
                return row, f"{beginning}*"
        return None, ""


def _line(project: str, spec: CondaSpec, why: Message) -> FileLine:
    """Return a requirement in place of a package of conda, with why it is another text."""
    text = f"{project}{spec.specifier}"
    return FileLine(text, spec.where, spec.shown, why=None if text == spec.shown else why)


def _known_projects(matrices: Path) -> frozenset[str]:
    """Return the projects that facts, imports.toml, stacks or pins of the matrix name.

    All of these are in a wheel of this program. Raises InputError.
    """
    names: set[str] = set()
    for facts in load_facts(matrices):
        names.add(texts.name(Path(facts.name).stem))
    for row in load_imports(matrices):
        names.update(project for project in (row.project, row.replacement) if project)
    for stack in shipped_stacks(matrices):
        names.update(map(_project, stack.content.stack.requires))
    names.update(map(_project, _matrix_pins(matrices / "matrix.json")))
    return frozenset(names)


def _matrix_pins(path: Path) -> tuple[str, ...]:
    """Return the pins in a matrix.json; none if there is no such file, or it is another file."""
    try:
        return msgspec.json.decode(files.read(path), type=_Matrix).pins
    except (OSError, msgspec.DecodeError):
        return ()


def _project(line: str) -> str:
    """Return the name at the beginning of a requirement."""
    named = _NAME.match(line)
    return texts.name(named[0]) if named else ""
