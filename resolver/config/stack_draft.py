"""Stacks made from files of other tools: which of their requirements a stack can have.

`ascend-lock import` calls it. The readers of the files are in `requirement_files`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace
from packaging.utils import (
    NormalizedName,
    canonicalize_name,
)

from resolver.ascend.names import PLUGINS
from resolver.config.conda_names import CondaNames
from resolver.config.draft import Draft, DraftRow, Outcome
from resolver.config.draft_lines import (
    in_single_quotes,
    named_project,
    of_wheel,
    read_need,
    why_moving,
    why_without_labels,
    without_labels,
)
from resolver.config.load import (
    load_components,
    load_facts,
    load_imports,
    load_indexes,
    shipped_stacks,
)
from resolver.config.requirement_files.file_requirements import (
    CondaSpec,
    FileLine,
    FileRequirements,
    NamedIndex,
    OtherSource,
    is_readable,
    shown_names,
    shown_requirement,
)
from resolver.config.schema import ImportRow
from resolver.model import text as texts
from resolver.model.component import Components
from resolver.model.constraint import StackKey
from resolver.model.fact import Absent, Excludes, Names, Need, Sources
from resolver.model.message import TEXT, Message, message, verbatim
from resolver.model.requirement import Requirement
from resolver.model.target import Platform
from resolver.redaction import without_secrets

# Names of projects that are only for CUDA: nvidia-cublas-cu12, cuda-python, cupy-cuda12x.
_CUDA: Final = re.compile(r"(^|-)(nvidia|cuda\d*x?|cu\d+)(-|$)")
# The most characters of a line that a message shows.
_LONGEST: Final = 200
# The codes of reasons that a line names no release, but where a file or a folder is.
_FROM_ELSEWHERE: Final = ("import.conda-build", "import.folder", "import.wheel-address")
# The codes of reasons for which a line is left out, and the user has nothing to decide.
_SETTLED: Final = frozenset(
    (
        TEXT,
        "import.bound",
        "import.brought",
        "import.build-option",
        "import.cuda",
        "import.extra",
        "import.extras-not-taken",
        "import.groups-not-taken",
        "import.index",
        "import.option",
        "import.poetry-setting",
        "import.run-option",
        "import.tool",
        "import.unbounded",
        "import.unwanted",
    )
)


class _UsableLine(NamedTuple):
    """A line of the file in a form that a stack can have."""

    # The line of the stack.
    text: str
    # file:line in the imported file.
    where: str
    # The requirement in the line.
    need: Need
    # The line of the file without secrets.
    shown: str
    # Why the line differs from the line in the file; None if it does not.
    why: Message | None


class _UnusableLine(NamedTuple):
    """A line of the file that a stack cannot have."""

    # The line without secrets, or the question whether something else was meant.
    shown: str
    # Why the stack cannot have it.
    why: Message


def draft(
    requirements: FileRequirements,
    matrices: Path,
    stated: Collection[str],
    platform: Platform,
    *,
    with_plugins: bool = True,
) -> Draft:
    """Return the lines of a stack for the requirements of a file, without repetitions.

    `requirements` come from the file, `matrices` is the folder of facts, and `stated` has the
    names of the components that the target states. Projects for CUDA, local version labels, and
    projects that are installed with a stated component are left out. With `with_plugins`, the
    plugins that the projects need on the target are added. A target that states no component is a
    machine without an NPU and needs none. Raises InputError if the facts cannot be read.
    """
    return _Drafter(matrices, stated, platform).draft(requirements, with_plugins)


class _Drafter:
    """Makes a draft of the requirements of one file, and records the outcome of each line."""

    def __init__(self, matrices: Path, stated: Collection[str], platform: Platform) -> None:
        self._matrices = matrices
        self._components = load_components(matrices)
        self._states_components = bool(stated)
        brought = _brought_projects(self._components, stated)
        self._excluded = {**_excluded_projects(matrices, self._components), **brought}
        # The rows of imports.toml by project and extra. The extra is empty for a row about the
        # project itself.
        self._left_out: dict[tuple[NormalizedName, str], ImportRow] = {}
        for import_row in load_imports(matrices):
            if not import_row.platforms or platform in import_row.platforms:
                self._left_out[import_row.project, import_row.extra or ""] = import_row
        # The projects for which indexes.toml has a binding.
        self._bound = _bound_projects(matrices)
        # The sources that the file has for projects and a stack cannot have.
        self._elsewhere: dict[NormalizedName, OtherSource] = {}
        # The projects among them that a line requires.
        self._asked_elsewhere: set[NormalizedName] = set()
        self._rows: list[DraftRow] = []
        # The rows of imports.toml about extras that were left out.
        self._dropped_extras: list[ImportRow] = []

    def draft(self, requirements: FileRequirements, with_plugins: bool) -> Draft:
        """Return the draft. With `with_plugins`, the plugins that are missing are added to it."""
        for unusable, reason in requirements.left_out:
            self._leave_out(unusable, unusable.shown, reason)
        self._elsewhere = requirements.other_sources
        overrides = self._take_overrides(requirements.overrides)
        asked = [*self._conda_lines(requirements.conda), *requirements.lines]
        lines = [_overridden(line, overrides) for line in self._usable(asked)]
        constraints = self._take_constraints(requirements.constraints, lines)
        self._leave_out_sources()
        self._leave_out_indexes(requirements.indexes)
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
        """Return the lines of `overrides`, and record the outcome of each line."""
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
        """Return the lines of `constraints`, and record the outcome of each line.

        A constraint that names a commit is added to `lines` instead, if they require its project.
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

    def _conda_lines(self, specs: Sequence[CondaSpec]) -> Iterator[FileLine]:
        """Yield the requirements for what conda installs, and record packages that have none."""
        if not specs:
            return
        names = CondaNames(self._matrices)
        for spec in specs:
            taken = names.requirement(spec)
            if isinstance(taken, FileLine):
                yield taken
            else:
                shown, why = taken
                self._leave_out(FileLine("", spec.where), shown, why)

    def _leave_out_sources(self) -> None:
        """Record the sources of projects that no line requires.

        The user has to decide about them, since other projects may require these projects.
        """
        for name, source in self._elsewhere.items():
            if self._is_bound(name, source):
                shown = f"{name}: index {', '.join(shown_names(source.indexes))}".rstrip()
                self._leave_out(source.line, shown, message("import.bound"))
            elif name not in self._asked_elsewhere:
                self._leave_out(source.line, source.line.shown, message("import.uv-source"))

    def _is_bound(self, project: NormalizedName, source: OtherSource) -> bool:
        """Return whether a source is an index, and indexes.toml says where the project is from."""
        return bool(source.indexes) and project in self._bound

    def _leave_out_indexes(self, indexes: Iterable[NamedIndex]) -> None:
        """Record the indexes of the file.

        Nothing is to decide about one that serves only projects that indexes.toml binds.
        """
        unneeded: set[str] = set()
        needed: set[str] = set()
        for name, source in self._elsewhere.items():
            into = unneeded if self._is_bound(name, source) else needed
            into.update(source.indexes)
        for index in indexes:
            is_unneeded = index.is_explicit and index.name in unneeded - needed
            shown = " ".join([index.line.shown, *shown_names([index.name])])
            code = "import.bound" if is_unneeded else "import.uv-index"
            self._leave_out(index.line, shown, message(code))

    def _replacements(self, lines: Sequence[_UsableLine]) -> Iterator[tuple[str, Message]]:
        """Yield the projects that replace extras and that no line requires, with the reasons."""
        names = {line.need.name for line in lines if isinstance(line.need, Requirement)}
        for import_row in self._dropped_extras:
            if import_row.replacement is not None and import_row.replacement not in names:
                names.add(import_row.replacement)
                yield import_row.replacement, verbatim(import_row.reason, import_row.reason_zh)

    def _add(self, requires: dict[str, None], line: str, why: Message) -> None:
        """Add a line that the file does not have to `requires`, and record it."""
        requires[line] = None
        self._rows.append(DraftRow(Outcome.ADDED, "", line, "", why))

    def _take(self, line: _UsableLine, key: StackKey = "requires") -> None:
        """Record a line that the stack has in the list `key`."""
        outcome = Outcome.KEPT if line.why is None else Outcome.CHANGED
        draft_row = DraftRow(outcome, line.shown, line.text, line.where, line.why, key)
        self._rows.append(draft_row)

    def _leave_out(self, line: FileLine | _UsableLine, shown: str, why: Message) -> None:
        """Record a line that is left out. `shown` is its text without secrets."""
        is_settled = why.code in _SETTLED
        outcome = Outcome.LEFT_OUT if is_settled else Outcome.TO_DECIDE
        self._rows.append(DraftRow(outcome, shown[:_LONGEST], "", line.where, why))

    def _usable(self, lines: Iterable[FileLine]) -> Iterator[_UsableLine]:
        """Yield the lines in a form that a stack can have, and record lines that are left out."""
        for line in lines:
            read = self._read(line)
            if isinstance(read, _UsableLine):
                yield read
            else:
                self._leave_out(line, read.shown, read.why)

    def _read(self, line: FileLine) -> _UsableLine | _UnusableLine:
        """Return a line of the file as a line of the stack, or why the stack cannot have it."""
        shown = line.shown or shown_requirement(line.text)
        named = of_wheel(line.instead or line.text)
        plain = without_labels(named)
        need = self._usable_need(named, plain)
        if isinstance(need, Message):
            if need.code == "import.likely":
                shown = named
            elif need.code == "import.unread":  # which says that the line is not shown
                shown = ""
            return _UnusableLine(shown, need)
        why = _why_other_text(line, named, plain)
        changed = self._changed(need) if isinstance(need, Requirement) else None
        if changed is not None:
            need, why = changed
            plain = str(need)
        return _UsableLine(in_single_quotes(plain), line.where, need, shown[:_LONGEST], why)

    def _usable_need(self, line: str, plain_line: str) -> Need | Message:
        """Return the requirement in a line, or why a stack cannot have it.

        `plain_line` is the line without local version labels.
        """
        need = read_need(line, plain_line, self._components)
        if isinstance(need, Requirement):
            return self._why_not(need) or need
        if isinstance(need, Message) and need.code in _FROM_ELSEWHERE:
            # What is for CUDA needs no decision, wherever it is from.
            return self._why_excluded(named_project(line)) or need
        return need

    def _why_not(self, need: Requirement) -> Message | None:
        """Return why a stack cannot have a requirement; None if it can."""
        if not is_readable(need):
            return message("import.secret")
        if texts.extras_in_marker(str(need)):
            return message("import.extra")
        if need.url:
            return why_moving(need)
        if why := self._why_excluded(need.name):
            return why
        is_replaced = (need.name, "") in self._left_out
        return None if is_replaced else self._why_elsewhere(need.name)

    def _why_excluded(self, project: NormalizedName) -> Message | None:
        """Return why no release of a project is for this target; None if it may be."""
        row = self._left_out.get((project, ""))
        if row is not None and row.replacement is not None:
            return None
        if project in self._excluded:
            return self._excluded[project]
        if row is not None and row.repository:
            line = f"{project} @ git+{row.repository}@COMMIT"
            return message("import.built", why=verbatim(row.reason, row.reason_zh), line=line)
        if row is not None:
            return verbatim(row.reason, row.reason_zh)
        return message("import.cuda") if _CUDA.search(project) else None

    def _why_elsewhere(self, project: NormalizedName) -> Message | None:
        """Return why the source that the file has for a project cannot be used.

        None if the file has no source for it, or only an index and indexes.toml binds the project.
        """
        source = self._elsewhere.get(project)
        if source is None or self._is_bound(project, source):
            return None
        self._asked_elsewhere.add(project)
        where = source.line.where
        if source.repository:
            line = f"{project} @ git+{source.repository}@COMMIT"
            return message("import.uv-branch", where=where, line=line)
        return message("import.uv-elsewhere", where=where)

    def _changed(self, need: Requirement) -> tuple[Requirement, Message] | None:
        """Return the requirement that the stack has instead of another one, and why; or None.

        It is on another project, or it lacks an extra.
        """
        if need.url:
            return None
        return self._replaced(need) or self._without_extras(need) or _without_cuda_extras(need)

    def _replaced(self, need: Requirement) -> tuple[Requirement, Message] | None:
        """Return the requirement on the project that replaces another, by imports.toml; or None."""
        import_row = self._left_out.get((need.name, ""))
        if import_row is None or import_row.replacement is None:
            return None
        instead = Requirement(name=import_row.replacement, marker=need.marker)
        return instead, verbatim(import_row.reason, import_row.reason_zh)

    def _without_extras(self, need: Requirement) -> tuple[Requirement, Message] | None:
        """Return a requirement without the extras that imports.toml has; None if it has none.

        The row gives the reason of the first extra.
        """
        import_rows = []
        extras = set()
        for extra in need.extras:
            import_row = self._left_out.get((need.name, extra))
            if import_row is None:
                extras.add(extra)
                continue
            import_rows.append(import_row)
            if import_row.replacement_extra is not None:
                extras.add(import_row.replacement_extra)
        if not import_rows:
            return None
        self._dropped_extras += import_rows
        why = verbatim(import_rows[0].reason, import_rows[0].reason_zh)
        return replace(need, extras=tuple(sorted(extras))), why


def _without_cuda_extras(need: Requirement) -> tuple[Requirement, Message] | None:
    """Return a requirement without its extras for CUDA; None if it has none."""
    cuda = [extra for extra in need.extras if _CUDA.search(extra)]
    if not cuda:
        return None
    others = tuple(extra for extra in need.extras if extra not in cuda)
    return replace(need, extras=others), message("import.cuda-extra", extras=cuda)


def _why_other_text(line: FileLine, named: str, plain: str) -> Message | None:
    """Return why a line of the stack has another text than a line of the file.

    `named` is the line by the name of its project, and `plain` is it without local version labels.
    """
    if line.instead:
        return message("import.source")
    if named != line.text:
        return message("import.wheel")
    if plain != line.text:
        return why_without_labels(named)
    return line.why


def _lacking_plugins(lines: Iterable[_UsableLine]) -> dict[str, str]:
    """Return the plugins that projects of the lines need and no line requires.

    The values are the projects that need them. An extra that is named like a project, such as
    `trl[vllm]`, installs that project.
    """
    names: set[str] = set()
    extras: set[str] = set()
    for line in lines:
        if isinstance(line.need, Requirement):
            names.add(line.need.name)
            extras.update(line.need.extras)
    return {
        plugin: project
        for project, plugin in PLUGINS.items()
        if project in names | extras and plugin not in names
    }


def _overridden(line: _UsableLine, overrides: Sequence[_UsableLine]) -> _UsableLine:
    """Return the override of a line's project in place of the line, as uv applies overrides.

    The line is returned unchanged if its project has no override, or several overrides for
    different machines.
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


def _bound_projects(matrices: Path) -> frozenset[NormalizedName]:
    """Return the projects that indexes.toml binds to indexes. Locks take them from these alone."""
    indexes = load_indexes(matrices)
    if indexes is None:
        return frozenset()
    names: set[NormalizedName] = set()
    for index in indexes.content.index:
        names.update(map(canonicalize_name, index.packages))
    for binding in indexes.content.binding:
        names.update(map(canonicalize_name, binding.packages))
    return frozenset(names)


def _excluded_projects(matrices: Path, components: Components) -> dict[NormalizedName, Message]:
    """Return the projects that an import leaves out because of a fact, with the fact's reason.

    An `excludes` or `names` fact is about all their releases, or an `absent` fact says that they
    must not be installed. A project that a shipped stack takes from a commit, or of which a fact
    knows one, is not left out: locking explains the fact, and that commit is a way out.
    """
    files = load_facts(matrices)
    from_commits = _projects_from_commits(matrices, components)
    for file in files:
        from_commits.update(fact.package for fact in file.content.of(Sources))
    reasons = {}
    for file in files:
        for fact in (*file.content.of(Excludes), *file.content.of(Names)):
            if fact.is_about_all and fact.package not in from_commits:
                reasons[fact.package] = verbatim(fact.reason, fact.reason_zh)
        for absence in file.content.of(Absent):
            reasons[absence.other] = verbatim(absence.reason, absence.reason_zh)
    return reasons


def _projects_from_commits(matrices: Path, components: Components) -> set[NormalizedName]:
    """Return the projects that the shipped stacks take from commits of their repositories."""
    names = set()
    for stack in shipped_stacks(matrices):
        for line in stack.content.stack.requires:
            need = read_need(line, line, components)
            if isinstance(need, Requirement) and need.url:
                names.add(need.name)
    return names


def _brought_projects(
    components: Components, stated: Collection[str]
) -> dict[NormalizedName, Message]:
    """Return the projects that are installed with a stated component, with a reason that says so.

    `stated` has the names of the components that the target states.
    """
    reasons = {}
    for component in components.values():
        if component.name in stated:
            for project in component.packages:
                reasons[project] = message("import.brought", component=component.label)
    return reasons
