"""A stack made of a file of another tool: which requirements a stack can have, and its text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote

import msgspec
import tomli_w
from msgspec.structs import replace
from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.utils import (
    InvalidWheelFilename,
    NormalizedName,
    canonicalize_name,
    parse_wheel_filename,
)

from resolver.ascend.names import PLUGINS
from resolver.config.decode import parse_need
from resolver.config.load import load_components, load_facts, load_imports, load_indexes
from resolver.config.requirement_files.file_requirements import (
    FileLine,
    FileRequirements,
    OtherSource,
    is_readable,
    shown_requirement,
)
from resolver.config.schema import ImportRow
from resolver.errors import InputError, escaped
from resolver.i18n import translate_phrase
from resolver.model import text as texts
from resolver.model.component import Components
from resolver.model.constraint import StackKey
from resolver.model.fact import Absent, Excludes, Names, Need
from resolver.model.message import TEXT, Message, message, verbatim
from resolver.model.requirement import Requirement
from resolver.model.target import Platform, Target
from resolver.model.text import Language
from resolver.phrase import Phrase, phrase
from resolver.redaction import without_secrets

# How NVIDIA and others name what is for CUDA alone: nvidia-cublas-cu12, cuda-python, cupy-cuda12x.
_CUDA: Final = re.compile(r"(^|-)(nvidia|cuda\d*x?|cu\d+)(-|$)")
# A local version label: `+cpu` in `torch==2.9.0+cpu`.
_LABEL: Final = re.compile(r"(?<=[0-9a-z])\+[a-z0-9]+([._-][a-z0-9]+)*", re.IGNORECASE)
# A path or an address that is not a git repository.
_ADDRESS: Final = re.compile(r"[./~]|[^;]*(?<!\bgit\+https)(?<!\bgit\+ssh)(?<!\bgit\+file)://")
# The path of a file, or an address that stands for one.
_PATH: Final = re.compile(r"[./~]|file:")
_PROJECT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\s*(\[[^]]*\])?")
# The markers of any target, to see whether a marker can be evaluated.
_MARKERS: Final = Target(name="", python="3.11", platform="linux-aarch64", glibc=(2, 28)).markers
# Characters of a line that a message shows.
_LONGEST: Final = 200
# Why a line is left out for good. Other reasons leave something to decide.
_SETTLED: Final = frozenset(
    (
        TEXT,
        "import.brought",
        "import.build-option",
        "import.cuda",
        "import.extra",
        "import.index",
        "import.option",
        "import.run-option",
        "import.tool",
        "import.unbounded",
        "import.unwanted",
    )
)
_ALL: Final = SpecifierSet(">=0")


class Outcome(Enum):
    """What became of a line of the file."""

    KEPT = "kept"
    CHANGED = "changed"
    # A line that the file does not have.
    ADDED = "added"
    LEFT_OUT = "left-out"
    # A line that is left out, and that people may want in another form.
    TO_DECIDE = "to-decide"


class DraftRow(msgspec.Struct, frozen=True):
    """A line of the file, or a new one, and what became of it."""

    outcome: Outcome
    # What of the file's line may be shown; empty for nothing, and for a new line.
    before: str
    # The line of the stack; empty without one.
    after: str
    # Its place, as file:line; empty for a new line.
    where: str
    # Why it is not kept; None if it is.
    why: Message | None = None
    # The list of the stack that has the line.
    key: StackKey = "requires"


class Draft(msgspec.Struct, frozen=True):
    """What a stack takes over of a file."""

    # The lines of the stack.
    requires: tuple[str, ...]
    constraints: tuple[str, ...]
    overrides: tuple[str, ...]
    # What became of each line of the file.
    rows: tuple[DraftRow, ...]
    # The plugins without which the lines do not run on the target, and which are not among them.
    lacking: tuple[str, ...]

    def text(
        self,
        name: str,
        file: str,
        target: Mapping[str, str],
        system: Mapping[str, str],
        language: Language = "en",
    ) -> str:
        """Return the text of the stack's file, made of `file`, for this target.

        Its comments are in one language, its summary in all of them.
        """
        summary = phrase("What {file} asks for", file=escaped(file))
        stack = {
            "name": name,
            "summary": str(summary),
            "summary-zh": translate_phrase(summary, "zh"),
            "requires": self.requires,
        }
        if self.constraints:
            stack["constraints"] = self.constraints
        if self.overrides:
            stack["overrides"] = self.overrides
        tables = {"stack": stack, "target": {**target, "system": system} if system else target}
        head = "".join(f"# {translate_phrase(line, language)}\n" for line in _head(escaped(file)))
        return f"{head}\n{tomli_w.dumps(tables)}"


def _head(file: str) -> tuple[Phrase, ...]:
    """Return the lines of the comment that a stack begins with."""
    return (
        phrase("What {file} asks for, as `ascend-lock import` took it over.", file=file),
        phrase("The target is an assumption where no option named it: check it."),
    )


class _UsableLine(NamedTuple):
    """A line that a stack can have."""

    # The line as the stack has it.
    text: str
    # Its place in the file, as file:line.
    where: str
    need: Need
    # What of the file's line may be shown.
    shown: str
    # Why the line is not as in the file; None if it is.
    why: Message | None


def draft(
    requirements: FileRequirements,
    matrices: Path,
    stated: Collection[str],
    platform: Platform,
    *,
    with_plugins: bool = True,
) -> Draft:
    """Return what a stack can have of a file, in its order and each line once.

    Projects for CUDA, local version labels, and what comes with the `stated` components of the
    target are left out. `with_plugins`, the plugins are added with which its projects run on the
    target; one that states no component is a machine without NPU. Raises InputError if the facts
    cannot be read.
    """
    return _Drafter(matrices, stated, platform).draft(requirements, with_plugins)


class _Drafter:
    """Takes lines of a file over, and notes what becomes of each."""

    def __init__(self, matrices: Path, stated: Collection[str], platform: Platform) -> None:
        self._components = load_components(matrices)
        self._states_components = bool(stated)
        brought = _brought_projects(self._components, stated)
        self._excluded = {**_excluded_projects(matrices), **brought}
        # What the data of imports leaves out, by project and extra; an empty extra stands for none.
        self._left_out: dict[tuple[NormalizedName, str], ImportRow] = {}
        for row in load_imports(matrices):
            if not row.platforms or platform in row.platforms:
                self._left_out[row.project, row.extra or ""] = row
        # The projects that indexes.toml says the indexes of.
        self._bound = _bound_projects(matrices)
        # The projects that the file takes from elsewhere.
        self._elsewhere: dict[NormalizedName, OtherSource] = {}
        # Those of them that a line asks for.
        self._asked_elsewhere: set[NormalizedName] = set()
        self._rows: list[DraftRow] = []
        # The rows about extras that were left out.
        self._dropped_extras: list[ImportRow] = []

    def draft(self, requirements: FileRequirements, with_plugins: bool) -> Draft:
        """Return what a stack can have of a file, with the plugins that it lacks."""
        for unusable, reason in requirements.left_out:
            self._leave_out(unusable, unusable.shown, reason)
        self._elsewhere = requirements.other_sources
        overrides = self._take_overrides(requirements.overrides)
        lines = [_overridden(line, overrides) for line in self._usable(requirements.lines)]
        constraints = self._take_constraints(requirements.constraints, lines)
        self._leave_out_sources()
        if requirements.hashes:
            why = message("import.hashes", count=requirements.hashes)
            self._rows.append(DraftRow(Outcome.LEFT_OUT, "--hash", "", "", why))
        for line in lines:
            self._take(line)
        requires = dict.fromkeys(line.text for line in lines)
        for name, why in self._replacements(lines):
            self._add(requires, name, why)
        lacking = _lacking_plugins(lines) if self._states_components else {}
        if with_plugins:
            for plugin, project in lacking.items():
                self._add(requires, plugin, message("imported.plugin", project=project))
            lacking = {}
        return Draft(
            requires=tuple(requires),
            constraints=constraints,
            overrides=tuple(dict.fromkeys(line.text for line in overrides)),
            rows=tuple(self._rows),
            lacking=tuple(lacking),
        )

    def _take_overrides(self, overrides: Iterable[FileLine]) -> list[_UsableLine]:
        """Return the lines that replace what others require; note each of them."""
        taken = []
        for line in self._usable(overrides):
            if isinstance(line.need, Requirement) and not line.need.url:
                taken.append(line)
                self._take(line, "overrides")
            else:
                self._leave_out(line, line.shown, message("import.override"))
        return taken

    def _take_constraints(
        self, constraints: Iterable[FileLine], lines: list[_UsableLine]
    ) -> tuple[str, ...]:
        """Return the lines that bound projects, and note each of them.

        One that names a commit becomes a line of its project, if the lines have that.
        """
        names = {line.need.name for line in lines if isinstance(line.need, Requirement)}
        taken: dict[str, None] = {}
        for line in self._usable(constraints):
            need = line.need
            if isinstance(need, Requirement) and need.url and need.name in names:
                lines.append(line)
            elif not isinstance(need, Requirement) or need.url:
                why = message("import.constraint", line=without_secrets(str(need)))
                self._leave_out(line, line.shown, why)
            elif need.extras or not str(need.specifier):
                self._leave_out(line, line.shown, message("import.unbounded"))
            else:
                taken[line.text] = None
                self._take(line, "constraints")
        return tuple(taken)

    def _leave_out_sources(self) -> None:
        """Note the sources of projects that no line asks for: other projects may require them."""
        for name, source in self._elsewhere.items():
            if name not in self._asked_elsewhere:
                self._leave_out(source.line, source.line.shown, message("import.uv-source"))

    def _replacements(self, lines: Sequence[_UsableLine]) -> Iterator[tuple[str, Message]]:
        """Yield the projects that take the place of extras, unless lines ask for them."""
        names = {line.need.name for line in lines if isinstance(line.need, Requirement)}
        for row in self._dropped_extras:
            if row.replacement is not None and row.replacement not in names:
                names.add(row.replacement)
                yield row.replacement, verbatim(row.reason, row.reason_zh)

    def _add(self, requires: dict[str, None], line: str, why: Message) -> None:
        """Add a line that the file does not have."""
        requires[line] = None
        self._rows.append(DraftRow(Outcome.ADDED, "", line, "", why))

    def _take(self, line: _UsableLine, key: StackKey = "requires") -> None:
        """Note a line that this list of the stack has."""
        outcome = Outcome.KEPT if line.why is None else Outcome.CHANGED
        row = DraftRow(outcome, line.shown, line.text, line.where, line.why, key)
        self._rows.append(row)

    def _leave_out(self, line: FileLine | _UsableLine, shown: str, why: Message) -> None:
        """Note a line that the stack does not have; `shown` is what of it may be quoted."""
        is_settled = why.code in _SETTLED
        outcome = Outcome.LEFT_OUT if is_settled else Outcome.TO_DECIDE
        self._rows.append(DraftRow(outcome, shown[:_LONGEST], "", line.where, why))

    def _usable(self, lines: Iterable[FileLine]) -> Iterator[_UsableLine]:
        """Yield the lines that a stack can have; note what is wrong with the other ones."""
        for line in lines:
            shown = shown_requirement(line.text)
            named = _of_wheel(line.instead or line.text)
            text = _without_labels(named)
            need = _need(named, text, self._components)
            if isinstance(need, Requirement) and (why_not := self._why_not(need)):
                need = why_not
            if isinstance(need, Message):
                self._leave_out(line, shown, need)
                continue
            why = None
            if line.instead:
                why = message("import.source")
            elif named != line.text:
                why = message("import.wheel")
            elif text != line.text:
                why = _why_without_labels(named)
            if isinstance(need, Requirement) and (changed := self._changed(need)):
                need, why = changed
                text = str(need)
            yield _UsableLine(_in_single_quotes(text), line.where, need, shown[:_LONGEST], why)

    def _why_not(self, need: Requirement) -> Message | None:
        """Return why a stack cannot have a requirement; None if it can."""
        if not is_readable(need):
            return message("import.secret")
        if texts.extras_in_marker(str(need)):
            return message("import.extra")
        if need.url:
            return None
        if need.name in self._excluded:
            return self._excluded[need.name]
        row = self._left_out.get((need.name, ""))
        if row is not None and row.replacement is None:
            return verbatim(row.reason, row.reason_zh)
        if _CUDA.search(need.name):
            return message("import.cuda")
        return self._why_elsewhere(need.name) if row is None else None

    def _why_elsewhere(self, project: NormalizedName) -> Message | None:
        """Return that a project is from elsewhere; None for one that indexes.toml finds."""
        source = self._elsewhere.get(project)
        if source is None or (source.is_index and project in self._bound):
            return None
        self._asked_elsewhere.add(project)
        where = source.line.where
        if source.repository:
            line = f"{project} @ git+{source.repository}@COMMIT"
            return message("import.uv-branch", where=where, line=line)
        return message("import.uv-elsewhere", where=where)

    def _changed(self, need: Requirement) -> tuple[Requirement, Message] | None:
        """Return what to ask for instead of a requirement, and why; None if it is fine.

        Another project takes its place, or it is without an extra.
        """
        if need.url:
            return None
        row = self._left_out.get((need.name, ""))
        if row is not None and row.replacement is not None:
            instead = Requirement(name=row.replacement, marker=need.marker)
            return instead, verbatim(row.reason, row.reason_zh)
        for extra in need.extras:
            row = self._left_out.get((need.name, extra))
            if row is not None:
                self._dropped_extras.append(row)
                others = tuple(other for other in need.extras if other != extra)
                return replace(need, extras=others), verbatim(row.reason, row.reason_zh)
        return None


def _lacking_plugins(lines: Iterable[_UsableLine]) -> dict[str, str]:
    """Return the plugins that no line asks for, each with the project that runs with it."""
    names = {line.need.name for line in lines if isinstance(line.need, Requirement)}
    return {
        plugin: project
        for project, plugin in PLUGINS.items()
        if project in names and plugin not in names
    }


def _overridden(line: _UsableLine, overrides: Sequence[_UsableLine]) -> _UsableLine:
    """Return a line as the only override of its project has it, which counts for all.

    So does uv. Several overrides of a project, for different machines, leave the line alone.
    """
    need = line.need
    if not isinstance(need, Requirement) or need.url:
        return line
    named = [
        override
        for override in overrides
        if isinstance(override.need, Requirement) and override.need.name == need.name
    ]
    if len(named) != 1 or named[0].text == line.text:
        return line
    why = message("import.overridden")
    return line._replace(text=named[0].text, need=named[0].need, why=why)


def _of_wheel(line: str) -> str:
    """Return the release that a wheel at a path is, by its name, as `pip freeze` writes paths.

    Any other line is returned as it is.
    """
    reference, semicolon, marker = line.partition(";")
    project, _, address = reference.partition("@")
    project = project.strip()
    if not _PROJECT.fullmatch(project):
        project, address = "", reference
    address = address.strip()
    if not _PATH.match(address):
        return line
    filename = unquote(re.split("[?#]", address, maxsplit=1)[0].rpartition("/")[2])
    try:
        name, version, _, _ = parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return line
    if project and canonicalize_name(project.partition("[")[0].rstrip()) != name:
        return line
    condition = f" {semicolon}{marker}" if semicolon else ""
    return f"{project or name}=={version}{condition}"


def _without_labels(line: str) -> str:
    """Return a line without local version labels, which an address and a marker keep."""
    head, semicolon, marker = line.partition(";")
    return line if "://" in head else _LABEL.sub("", head) + semicolon + marker


def _why_without_labels(line: str) -> Message:
    """Return why a stack has a line without its local version labels."""
    label = _LABEL.search(line)
    assert label is not None  # noqa: S101  the line has one
    code = "import.label-cuda" if label[0].lower().startswith("+cu") else "import.label"
    return message(code, label=label[0])


def _in_single_quotes(line: str) -> str:
    """Return a line with single quotes, which TOML need not escape, if it has no mixed ones."""
    return line if "'" in line else line.replace('"', "'")


def _need(line: str, plain_line: str, components: Components) -> Need | Message:
    """Return the requirement in a line without labels, or why a stack cannot have the line."""
    if line.startswith("git+"):
        return message("import.unnamed")
    if _ADDRESS.match(line):
        return message("import.folder")
    try:
        need = parse_need(plain_line, components, direct=True)
        if isinstance(need, Requirement):
            need.applies(_MARKERS)
    except InputError:
        # The error quotes the line, of which nothing may be shown.
        return message("import.unread")
    except ValueError as error:
        return _error_text(error, line)
    return need


def _error_text(error: Exception, line: str) -> Message:
    """Return why a line cannot be used, by an error that may quote the line."""
    try:
        requirement = texts.requirement(line)
    except InvalidRequirement:
        return message("import.unread")
    if not is_readable(requirement):
        return message("import.secret")
    return message("import.unusable", why=without_secrets(str(error)))


def _bound_projects(matrices: Path) -> frozenset[NormalizedName]:
    """Return the projects that indexes.toml binds to indexes: a lock looks nowhere else."""
    indexes = load_indexes(matrices)
    if indexes is None:
        return frozenset()
    names: set[NormalizedName] = set()
    for index in indexes.content.index:
        names.update(map(canonicalize_name, index.packages))
    for binding in indexes.content.binding:
        names.update(map(canonicalize_name, binding.packages))
    return frozenset(names)


def _excluded_projects(matrices: Path) -> dict[NormalizedName, Message]:
    """Return the projects that no stack can have, with the reason that a fact gives.

    A fact excludes all their releases, or says that another project replaces them.
    """
    reasons = {}
    for file in load_facts(matrices):
        for fact in (*file.content.of(Excludes), *file.content.of(Names)):
            if _ALL in fact.versions:
                reasons[fact.package] = verbatim(fact.reason, fact.reason_zh)
        for absence in file.content.of(Absent):
            reasons[absence.other] = verbatim(absence.reason, absence.reason_zh)
    return reasons


def _brought_projects(
    components: Components, stated: Collection[str]
) -> dict[NormalizedName, Message]:
    """Return the projects that come with components of the target, with that as the reason."""
    reasons = {}
    for component in components.values():
        if component.name in stated:
            for project in component.packages:
                reasons[project] = message("import.brought", component=component.label)
    return reasons
