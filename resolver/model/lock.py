"""The lock of one target: the pins, the order of installation, and the facts behind them.

`lock/file` writes these types as lock.toml and reads them. All other files of a lock's folder are
rendered from them by `report`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from resolver.model import patterns, text
from resolver.model.as_of import NEWEST, AsOf, NewerPin
from resolver.model.fact import MachineNeed, Strength
from resolver.model.message import Message, message
from resolver.model.problem import Departure
from resolver.model.repository import Direct, Step
from resolver.model.requirement import written_comparisons
from resolver.model.target import Platform

# The version of the format of lock.toml.
FORMAT = 3

# How a pin is installed: as a wheel of an index ("wheels"), built in an isolated environment
# ("built-apart"), or built in the environment where it is installed ("built-here").
Mode = Literal["wheels", "built-apart", "built-here"]


# msgspec checks the patterns of these texts when a lock is read. Scripts are made of the texts, and
# somebody may have edited the file.
FolderName = Annotated[str, Meta(pattern=patterns.NAME.whole)]
PythonVersion = Annotated[str, Meta(pattern=patterns.PYTHON.whole)]
_Project = Annotated[str, Meta(pattern=patterns.PROJECT.whole)]
_Version = Annotated[str, Meta(pattern=patterns.VERSION.whole)]
Sha256 = Annotated[str, Meta(pattern=patterns.SHA256.whole)]
_Variable = Annotated[str, Meta(pattern=patterns.VARIABLE_NAME.whole)]
_Module = Annotated[str, Meta(pattern=patterns.MODULE.whole)]
_Label = Annotated[str, Meta(pattern=rf"{patterns.LABEL.whole}|\A\Z")]
_VariantLabel = Annotated[str, Meta(pattern=patterns.VARIANT.whole)]
_Property = Annotated[str, Meta(pattern=patterns.PROPERTY.whole)]
_Component = Annotated[str, Meta(pattern=patterns.COMPONENT.whole)]
_Value = Annotated[str, Meta(pattern=patterns.VALUE.whole)]
_Glibc = Annotated[str, Meta(pattern=patterns.GLIBC.whole)]


def bundle_name(project: str, commit: str) -> str:
    """Return the path in a bundle's folder of the git bundle of a commit.

    `ascend-lock bundle` writes the file, and install.sh reads it.
    """
    return f"git/{project}-{commit[:12]}.bundle"


class _Row(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="kebab",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """The base of all tables in lock.toml."""


class LockedFile(_Row, kw_only=True, frozen=True):
    """A file by name and hash.

    It has no address and no size: the lock must be the same with another mirror, and some mirrors
    state no sizes.
    """

    # The name of the file.
    name: str
    # The hash of its bytes, in lower case.
    sha256: Sha256


class LockedVariant(_Row, kw_only=True, frozen=True):
    """The wheel variant of a pin's files (PEP 825)."""

    # The label at the end of the files' names.
    label: _VariantLabel
    # The properties that the label stands for, as `namespace :: feature :: value`, sorted; none for
    # the null variant.
    properties: tuple[_Property, ...] = ()


class LockedSubmodule(_Row, kw_only=True, frozen=True):
    """A git submodule, at the commit that the outer repository names."""

    # The folder in the checkout of the outermost repository.
    path: str
    # The address of the submodule's repository.
    url: str
    # The full hash of the commit.
    commit: str


class LockedGit(_Row, kw_only=True, frozen=True):
    """The commit of a git repository from which a pin is built, and how it is built."""

    # The address of the repository.
    url: str
    # The full hash of the commit.
    commit: str
    # A tag or a description of the commit; empty if none is known.
    ref: str = ""
    # The folder of the project in the repository; empty for the top.
    subdirectory: str = ""
    # Whether the checkout is kept and installed editable.
    editable: bool = False
    # What is done to the checkout before it is built, and the command that builds it.
    steps: tuple[Step, ...] = ()
    # The pins whose installed files the project changes.
    rewrites: tuple[_Project, ...] = ()
    # The submodules. A submodule comes after the submodule that contains it.
    submodules: tuple[LockedSubmodule, ...] = ()
    # Why the requirements were taken from a fact without a check; None if they were read at the
    # commit.
    trust: Message | None = None

    @property
    def reference(self) -> str:
        """Return the part of a direct reference after `@` (PEP 508): `git+URL@COMMIT`."""
        return str(Direct(self.url, self.commit, self.subdirectory))

    @property
    def commits(self) -> tuple[tuple[str, str], ...]:
        """Return the address and the commit of the repository, then of each submodule."""
        commits = [(self.url, self.commit)]
        commits.extend((submodule.url, submodule.commit) for submodule in self.submodules)
        return tuple(commits)


def is_place(origin: str) -> bool:
    """Return whether the origin of a requirement is file:line of an override, not a fact's id."""
    return ".toml:" in origin


class LockedPin(_Row, kw_only=True, frozen=True):
    """A pin: a project that is installed at one version, with its files or its commit."""

    # The normalised name of the project.
    name: _Project
    # The version that is installed (PEP 440).
    version: _Version
    # The name of the index that has the files; empty if the pin is built from git.
    index: str
    # How it is installed.
    mode: Mode
    # The extras that something in the lock requires.
    extras: tuple[_Project, ...] = ()
    # The environment variables of its build.
    env: dict[_Variable, str] = {}
    # The local version (PEP 440) that a source build appends to its version.
    label: _Label = ""
    # The compilers and other programs that the build needs from the machine. Programs that the lock
    # installs for the build are left out.
    external: tuple[MachineNeed, ...] = ()
    # Why the release was yanked, which may be empty; None if it was not (PEP 592).
    yanked: str | None = None
    # For a tool of an isolated build: the pins that are built in its environment. Empty if the lock
    # has only one such environment.
    builds: tuple[_Project, ...] = ()
    # The requirements of its metadata that apply to the target.
    requires: tuple[str, ...] = ()
    # The requirements of its build.
    build_requires: tuple[str, ...] = ()
    # More requirements: the ones that facts add, by the id of the fact, and the stack's overrides,
    # by file:line.
    fact_requires: dict[str, tuple[str, ...]] = {}
    # The files that may be installed; pip chooses the first on the target. Empty if the pin is
    # built from git.
    file: tuple[LockedFile, ...] = ()
    # The commit that it is built from; None if an index has the files.
    git: LockedGit | None = None
    # The variant that the files are; None for plain files. pip refuses the name of a variant, so
    # the file is installed under a plain name.
    variant: LockedVariant | None = None

    def _runtime_requirements(self) -> Iterator[tuple[str, str]]:
        """Yield each requirement with its origin, as a key of `fact_requires`.

        The origin of a requirement from metadata is empty.
        """
        for line in self.requires:
            yield line, ""
        for fact, lines in self.fact_requires.items():
            for line in lines:
                yield line, fact

    @property
    def lines(self) -> tuple[str, ...]:
        """Return all requirements of the pin and of its build."""
        runtime = [line for line, _ in self._runtime_requirements()]
        return (*runtime, *self.build_requires)

    @property
    def needs(self) -> tuple[str, ...]:
        """Return the projects that must be in the environment for the pin, sorted.

        These are the projects that it requires, and for the mode `built-here` also the projects
        that its build requires.
        """
        lines = [line for line, _ in self._runtime_requirements()]
        if self.mode == "built-here":
            lines.extend(self.build_requires)
        names = {text.requirement(line).name for line in lines}
        return tuple(sorted(names - {self.name}))

    def reasons(self, *, build: bool) -> Iterator[tuple[str, Message]]:
        """Yield each project that the pin requires, with a sentence that says so.

        With `build`, yield the projects that its build requires instead.
        """
        package = f"{self.name} {self.version}"
        if build:
            for line in self.build_requires:
                project = text.requirement(line).name
                yield project, message("why.build", line=line, package=package)
            return
        for line, fact in self._runtime_requirements():
            project = text.requirement(line).name
            if is_place(fact):
                yield project, message("why.overridden", line=line, package=package, where=fact)
            elif fact:
                yield project, message("why.needs-fact", line=line, package=package, fact=fact)
            else:
                yield project, message("why.needs", line=line, package=package)


class LockedStage(_Row, kw_only=True, frozen=True):
    """Pins that are installed together, after the pins of earlier stages."""

    # How the pins are installed.
    mode: Mode
    # The names of the pins.
    pins: tuple[str, ...]
    # Why these pins are not in an earlier stage: sentences about the facts that say so.
    because: tuple[Message, ...] = ()


class LockedIndex(_Row, kw_only=True, frozen=True):
    """An index from which files are installed."""

    # The name of the index in the field `index` of pins.
    name: str
    # The address; empty for `pypi`, the index that pip is configured with.
    url: str = ""


class LockedComponent(_Row, kw_only=True, frozen=True):
    """How reports call a component of the target, and whether its value is a minimum.

    Both are copied from matrices/systems.toml.
    """

    # A key of the target's `system`.
    name: str
    # The name as people write it.
    title: str
    # The title in Chinese; may be empty.
    title_zh: str = ""
    # Whether the target's value is the oldest that its machines have.
    minimum: bool = False


class LockedTarget(_Row, kw_only=True, frozen=True):
    """The machine that the lock is for."""

    # The name of the lock's folder.
    name: FolderName
    # `3.11`, or `3.11.14` for this patch release alone.
    python: PythonVersion
    # The operating system and the processor.
    platform: Platform
    # The oldest glibc that its machines have.
    glibc: _Glibc
    # The values of the other components, such as the version of a driver.
    system: dict[_Component, _Value] = {}
    # The titles of these components.
    component: tuple[LockedComponent, ...] = ()

    @property
    def components(self) -> list[LockedComponent]:
        """Return the title of each component of `system`, in the order of `system`.

        A component without an entry in `component` has its name as its title.
        """
        described = {component.name: component for component in self.component}
        plain = {name: LockedComponent(name=name, title=name) for name in self.system}
        return [described.get(name, plain[name]) for name in self.system]

    @property
    def python_line(self) -> str:
        """Return the version of Python without its patch number: `3.11`."""
        return ".".join(self.python.split(".")[:2])


class LockedFact(_Row, kw_only=True, frozen=True):
    """A fact that the lock cites: the pins, their order or a warning follow from it."""

    # The fact's `id`, unique in all files of facts.
    id: str
    # file:line of the fact.
    where: str
    # How certain the fact is.
    strength: Strength
    # Why the fact is true, in one sentence.
    reason: str
    # The reason in Chinese; may be empty.
    reason_zh: str = ""
    # Where the fact can be looked up.
    source: str
    # The day on which somebody last looked, in ISO 8601.
    checked: str


class LockedDriver(_Row, kw_only=True, frozen=True):
    """A requirement on the driver that some machines of the target may not meet.

    install.sh and verify.py compare it with the driver of the machine. A driver is a component of
    which the target states only the oldest value, or no value.
    """

    # The release or the stack that has the requirement.
    by: str
    # The requirements on the driver; one of them must be met.
    needs: Annotated[tuple[str, ...], Meta(min_length=1)]
    # The requirement in words.
    text: str
    # The words in Chinese; may be empty.
    text_zh: str = ""
    # The id of the fact, or file:line of the stack's own line.
    fact: str
    # True if the installation fails on a machine that does not meet the requirement. The
    # requirement is then from a line of the stack, or from a `requires` fact that is more certain
    # than `observed`. False if the machine only gets a warning.
    binding: bool = False

    @property
    def component(self) -> str:
        """Return the name of the component that the requirement is about."""
        written = written_comparisons(self.needs[0])
        assert written is not None  # noqa: S101  or the lock could not be read
        return written.component


class Override(_Row, kw_only=True, frozen=True):
    """A requirement that the lock ignores although a pin has it; `pip check` complains about it."""

    # The pin whose metadata has the requirement.
    package: _Project
    # The version of that pin.
    version: str
    # The project that is required.
    name: str
    # The requirement that is ignored.
    dropped: str
    # Why it is ignored: the id of the fact, or file:line of the stack.
    fact: str


class SkippedRelease(_Row, kw_only=True, frozen=True):
    """A release that is newer than the pin and that all requirements admit, but cannot be used.

    The reason is a source archive without static metadata. It is the release's own archive, or the
    archive of another release that it requires.
    """

    # The project of the release.
    project: _Project
    # The version of the release.
    version: _Version
    # The name of the archive.
    archive: str
    # The project of the archive.
    archive_of: _Project
    # The version of the archive.
    archive_version: _Version
    # The name of the index that has the archive.
    index: str


class LockedExport(_Row, kw_only=True, frozen=True):
    """An environment variable in activate.sh."""

    # The name of the variable.
    name: _Variable
    # The literal value: nothing in it is expanded.
    value: str
    # Whether activate.sh only has a comment that suggests the variable.
    optional: bool = False
    # The ids of the facts that set the variable.
    facts: tuple[str, ...]


class LockedOptional(_Row, kw_only=True, frozen=True):
    """Modules and commands of a pin that may fail to start.

    verify.py reports such a failure, and does not count it as an error.
    """

    # The pin that has the modules and commands.
    package: _Project
    # The dotted names of the modules.
    modules: tuple[_Module, ...] = ()
    # The names of commands and other entry points.
    scripts: tuple[str, ...] = ()
    # True if they may fail only on a machine without an accelerator, False if they may fail on any
    # machine.
    device: bool = False
    # The id of the fact that says why.
    fact: str


class LockedAbsent(_Row, kw_only=True, frozen=True):
    """A distribution that must not be installed. install.sh removes it.

    Requirements on it are ignored, and are among the overrides of the lock.
    """

    # The project of the distribution.
    name: _Project
    # Why it must not be installed, in one sentence.
    reason: str
    # The reason in Chinese; may be empty.
    reason_zh: str = ""
    # What says so: the id of the fact, or file:line of the stack.
    because: str


class PinChange(_Row, kw_only=True, frozen=True):
    """A pin that differs from the previous lock."""

    # The project whose pin differs.
    name: str
    # The previous version; empty for a new pin.
    old: str = ""
    # The version now; empty for a removed pin.
    new: str = ""


def _meets(pin: LockedPin, line: str) -> bool:
    """Return whether a pin meets a requirement on its project."""
    need = text.requirement(line)
    if need.url or not set(need.extras) <= set(pin.extras):
        return False
    return need.specifier.contains(pin.version, prereleases=True)


class Lock(_Row, kw_only=True, frozen=True):
    """The lock of a stack, or of one of its groups, for one target: the content of lock.toml."""

    # The version of the file's format, which docs/versions.md explains.
    format: int
    # The name of the stack.
    stack: FolderName
    # What the stack is for; may have several lines.
    summary: str = ""
    # The summary in Chinese; may be empty.
    summary_zh: str = ""
    # The origin of the stack, such as a guide.
    source: str = ""
    # The sha256 of the files that the lock was made from.
    inputs: Sha256
    # The lines of the stack.
    requires: tuple[str, ...]
    # The machine that the lock is for.
    target: LockedTarget
    # The indexes that the files are from.
    index: tuple[LockedIndex, ...]
    # The stages of the installation, in their order.
    stage: tuple[LockedStage, ...]
    # What is installed, in the order of the stages.
    pin: tuple[LockedPin, ...]
    # The tools of isolated builds.
    build_pin: tuple[LockedPin, ...] = ()
    # The facts that the lock cites.
    fact: tuple[LockedFact, ...] = ()
    # Requirements on the driver that some machines of the target may not meet.
    driver: tuple[LockedDriver, ...] = ()
    # Requirements that are ignored.
    override: tuple[Override, ...] = ()
    # Releases newer than the pins that cannot be used.
    skipped: tuple[SkippedRelease, ...] = msgspec.field(default=(), name="passed-over")
    # The environment variables of activate.sh.
    export: tuple[LockedExport, ...] = ()
    # Distributions that must not be installed.
    absent: tuple[LockedAbsent, ...] = ()
    # The differences between the stack and the guide that it replaces.
    departs: tuple[Departure, ...] = ()
    # Messages that a user must read before the installation, the gravest first.
    warnings: tuple[Message, ...] = ()
    # Messages that a user may want to read.
    notes: tuple[Message, ...] = ()
    # The moment after which uploads are ignored; empty if the stack sets none.
    exclude_newer: str = ""
    # The day whose releases are preferred.
    as_of: AsOf = AsOf(policy=NEWEST)
    # The pins that appeared after that day.
    newer: tuple[NewerPin, ...] = ()
    # The modules that are imported to test the installation.
    imports: tuple[_Module, ...] = ()
    # The environment variables of that test.
    import_env: dict[_Variable, str] = {}
    # Modules and commands that may fail when verify.py starts them.
    optional: tuple[LockedOptional, ...] = ()
    # The pins that differ from the previous lock.
    change: tuple[PinChange, ...] = ()
    # Whether there was no previous lock.
    first: bool = False

    @property
    def title(self) -> str:
        """Return the name and the summary of the lock, for the first lines of other files.

        The summary may have several lines.
        """
        title = f"{self.stack} for {self.target.name}"
        return f"{title}: {self.summary}" if self.summary else title

    def build_environments(self) -> tuple[tuple[LockedPin, ...], ...]:
        """Return the tools of each isolated build environment.

        The environments, and the tools in each, are in the order of `build_pin`.
        """
        environments: dict[tuple[str, ...], list[LockedPin]] = {}
        for tool in self.build_pin:
            environments.setdefault(tool.builds, []).append(tool)
        return tuple(tuple(tools) for tools in environments.values())

    def external(self) -> dict[MachineNeed, list[str]]:
        """Return what the machine must have to install the lock, each with the pins that need it.

        Examples are a C++ compiler, and git.
        """
        users: dict[MachineNeed, list[str]] = {}
        for pin in self.pin:
            for need in pin.external:
                users.setdefault(need, []).append(pin.name)
            if pin.git is not None:
                users.setdefault("git", []).append(pin.name)
        return users

    @property
    def unmet(self) -> tuple[Override, ...]:
        """Return the ignored requirements that pip would insist on, as the pins do not meet them.

        A requirement that a fact drops counts as not met, since the lock may have only its project.
        """
        pins = {pin.name: pin for pin in self.pin}
        unmet = []
        for row in self.override:
            pin = pins.get(row.name)
            if not is_place(row.fact) or pin is None or not _meets(pin, row.dropped):
                unmet.append(row)
        return tuple(unmet)

    def is_overridden(self, row: Override) -> bool:
        """Return whether a requirement is ignored because of the stack's key `overrides`."""
        return is_place(row.fact) and all(row.name != absent.name for absent in self.absent)

    @property
    def requested_projects(self) -> frozenset[str]:
        """Return the projects that the stack's own lines name."""
        return frozenset(text.requirement(line).name for line in self.requires)

    def reasons(self, tools: Sequence[LockedPin] = ()) -> dict[str, list[Message]]:
        """Return the requirements on each project as sentences, by the name of the project.

        The lines of the stack come first, then facts, then metadata. With the `tools` of an
        isolated build environment, return the requirements on each of these tools, from the
        builds in that environment and from other tools.
        """
        by_project: list[tuple[str, Message]] = []
        for pin in tools or self.pin:
            by_project.extend(pin.reasons(build=False))
        for pin in self._built_with(tools):
            by_project.extend(pin.reasons(build=True))
        by_project.sort(key=lambda named: "fact" not in named[1].values)
        reasons: dict[str, list[Message]] = {}
        if not tools:
            for line in self.requires:
                requirement = text.requirement(line)
                reasons.setdefault(requirement.name, []).append(message("why.stack", line=line))
        for project, reason in by_project:
            reasons.setdefault(project, []).append(reason)
        return reasons

    def _built_with(self, tools: Sequence[LockedPin]) -> list[LockedPin]:
        """Return the pins that are built in the isolated environment with these tools.

        Without tools, return the pins that are built in the environment where they are installed.
        All tools of an isolated environment have the same `builds`, which is empty if the lock has
        only one such environment.
        """
        if not tools:
            return [pin for pin in self.pin if pin.mode == "built-here"]
        pins = [pin for pin in self.pin if pin.mode == "built-apart"]
        builds = tools[0].builds
        return [pin for pin in pins if pin.name in builds] if builds else pins

    def needed_by(self) -> dict[str, list[str]]:
        """Return the names of the pins that need each project, sorted.

        A project that no pin needs has no key.
        """
        dependents: dict[str, list[str]] = {}
        for pin in sorted(self.pin, key=lambda pin: pin.name):
            for name in pin.needs:
                dependents.setdefault(name, []).append(pin.name)
        return dependents

    def facts_of(self, export: LockedExport) -> tuple[LockedFact, ...]:
        """Return the facts that set an environment variable, in the order of `fact`."""
        return tuple(fact for fact in self.fact if fact.id in export.facts)

    @property
    def all_warnings(self) -> tuple[Message, ...]:
        """Return `warnings`, then a warning for each commit whose requirements were not checked."""
        warnings = list(self.warnings)
        for pin in self.pin:
            if pin.git is not None and pin.git.trust is not None:
                package = f"{pin.name} {pin.version}"
                warnings.append(message("lock.git-trust", package=package, why=pin.git.trust))
        return tuple(warnings)

    def pins_of(self, stage: LockedStage) -> tuple[LockedPin, ...]:
        """Return the pins of a stage, sorted by name."""
        names = set(stage.pins)
        return tuple(pin for pin in self.pin if pin.name in names)
