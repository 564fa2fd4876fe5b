"""The lock of one target: pins, the order of installation, and the reasons.

All other files are rendered from it.
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
from resolver.model.repository import Step
from resolver.model.target import Platform

FORMAT = 2

Mode = Literal["wheels", "built-apart", "built-here"]


# The form of texts is checked when a lock is read: scripts are made of them, and the file may have
# been edited.
FolderName = Annotated[str, Meta(pattern=patterns.NAME.whole)]
PythonVersion = Annotated[str, Meta(pattern=patterns.PYTHON.whole)]
_Project = Annotated[str, Meta(pattern=patterns.PROJECT.whole)]
_Version = Annotated[str, Meta(pattern=patterns.VERSION.whole)]
_Sha256 = Annotated[str, Meta(pattern=patterns.SHA256.whole)]
_Variable = Annotated[str, Meta(pattern=patterns.VARIABLE_NAME.whole)]
_Module = Annotated[str, Meta(pattern=patterns.MODULE.whole)]
_Label = Annotated[str, Meta(pattern=rf"{patterns.LABEL.whole}|\A\Z")]
_VariantLabel = Annotated[str, Meta(pattern=patterns.VARIANT.whole)]
_Property = Annotated[str, Meta(pattern=patterns.PROPERTY.whole)]
_Glibc = Annotated[str, Meta(pattern=patterns.GLIBC.whole)]


def bundle_name(project: str, commit: str) -> str:
    """The path of a git source in a wheelhouse: what `ascend-lock bundle` writes and install.sh reads."""
    return f"git/{project}-{commit[:12]}.bundle"


class _Row(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="kebab",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    pass


class LockedFile(_Row, kw_only=True, frozen=True):
    """A file by name and hash, never by address.

    It has no size: not every mirror gives one, and a change of mirror must change no byte.
    """

    name: str
    sha256: _Sha256


class LockedVariant(_Row, kw_only=True, frozen=True):
    """The variant (PEP 825) of which the files of a pin are."""

    # The label at the end of their names.
    label: _VariantLabel
    # What it stands for, as `namespace :: feature :: value`, sorted; none for the null variant.
    properties: tuple[_Property, ...] = ()


class LockedSubmodule(_Row, kw_only=True, frozen=True):
    """A submodule at the commit that the repository around it names."""

    path: str
    url: str
    commit: str


class LockedGit(_Row, kw_only=True, frozen=True):
    """A commit of a git repository that a pin is built from. `ref` is its tag or description.

    `rewrites` are pins whose installed files it changes. Of `submodules`, each comes after the one
    that it is in. `trust` says why its requirements were not verified; None if they were read at
    the commit.
    """

    url: str
    commit: str
    ref: str = ""
    subdirectory: str = ""
    editable: bool = False
    steps: tuple[Step, ...] = ()
    rewrites: tuple[_Project, ...] = ()
    submodules: tuple[LockedSubmodule, ...] = ()
    trust: Message | None = None

    @property
    def reference(self) -> str:
        """The direct reference (PEP 508) without the project's name."""
        fragment = f"#subdirectory={self.subdirectory}" if self.subdirectory else ""
        return f"git+{self.url}@{self.commit}{fragment}"

    @property
    def commits(self) -> tuple[tuple[str, str], ...]:
        """Address and commit of the repository and its submodules."""
        return (
            (self.url, self.commit),
            *((module.url, module.commit) for module in self.submodules),
        )


class LockedPin(_Row, kw_only=True, frozen=True):
    """A project at one version. `file` begins with the one that pip chooses on the target.

    `index` is the name of its index; empty, as is `file`, if it is built from `git`. `mode` says
    how it is installed. `label` is the local version that a source build appends to its version.
    `external` is what its build needs of the machine that the lock does not have (see
    `fact.MachineNeed`). `requires` are the requirements of its metadata that apply to the target,
    `build_requires` those of its build, and `fact_requires` those of facts, by id. If build tools
    are in several environments, `builds` are the archives that are built in that of this one.
    `variant` is that of its files, None for plain ones: pip refuses the name of a variant, so that
    it is installed under a plain one.
    """

    name: _Project
    version: _Version
    index: str
    mode: Mode
    extras: tuple[_Project, ...] = ()
    env: dict[_Variable, str] = {}
    label: _Label = ""
    external: tuple[MachineNeed, ...] = ()
    yanked: str | None = None
    builds: tuple[_Project, ...] = ()
    requires: tuple[str, ...] = ()
    build_requires: tuple[str, ...] = ()
    fact_requires: dict[str, tuple[str, ...]] = {}
    file: tuple[LockedFile, ...] = ()
    git: LockedGit | None = None
    variant: LockedVariant | None = None

    def _requirements(self, *, build: bool) -> Iterator[tuple[str, str]]:
        """The lines that it requires, or that its `build` does, each with the fact that states it ("": metadata)."""
        yield from ((line, "") for line in (self.build_requires if build else self.requires))
        if not build:
            yield from (
                (line, fact) for fact, lines in self.fact_requires.items() for line in lines
            )

    @property
    def lines(self) -> tuple[str, ...]:
        """All lines that it and its build require."""
        return tuple(line for build in (False, True) for line, _ in self._requirements(build=build))

    @property
    def needs(self) -> tuple[str, ...]:
        """The projects that must be installed in its environment, sorted."""
        kinds = (False, True) if self.mode == "built-here" else (False,)
        names = {
            text.requirement(line).name
            for build in kinds
            for line, _ in self._requirements(build=build)
        }
        return tuple(sorted(names - {self.name}))

    def reasons(self, *, build: bool) -> Iterator[tuple[str, Message]]:
        """The same lines as reasons to install the projects that they name, which come first."""
        for line, fact in self._requirements(build=build):
            values = {
                "line": line,
                "package": f"{self.name} {self.version}",
                **({"fact": fact} if fact else {}),
            }
            code = "why.build" if build else "why.needs-fact" if fact else "why.needs"
            yield text.requirement(line).name, message(code, **values)


class LockedStage(_Row, kw_only=True, frozen=True):
    """Pins that are installed together, after those of earlier stages.

    `because` cites the facts of the order.
    """

    mode: Mode
    pins: tuple[str, ...]
    because: tuple[Message, ...] = ()


class LockedIndex(_Row, kw_only=True, frozen=True):
    """An index that files came from. `pypi` has no address."""

    name: str
    url: str = ""


class LockedTarget(_Row, kw_only=True, frozen=True):
    """The machine that the lock is for."""

    name: FolderName
    python: PythonVersion
    platform: Platform
    glibc: _Glibc
    system: dict[str, str] = {}

    @property
    def python_line(self) -> str:
        """`3.11`, of whatever patch release."""
        return ".".join(self.python.split(".")[:2])


class LockedFact(_Row, kw_only=True, frozen=True):
    """A fact in use. The Chinese may be empty."""

    id: str
    where: str
    strength: Strength
    reason: str
    reason_zh: str = ""
    source: str
    checked: str


class LockedDriver(_Row, kw_only=True, frozen=True):
    """A requirement on the driver (HDK) that the target may not meet: one of `needs`, which are alternatives.

    `by` is what requires it, `text` describes it (the Chinese may be empty), `fact` is the id of
    the fact, or file:line of the stack's own line. It is `binding` if a line of the stack requires
    it, or a fact that is more than an observation; otherwise a machine that does not meet it is
    only warned.
    """

    by: str
    needs: tuple[str, ...]
    text: str
    text_zh: str = ""
    fact: str
    binding: bool = False


class Override(_Row, kw_only=True, frozen=True):
    """A requirement in the metadata of `package` that is ignored, so that pip check complains.

    `name` is the required project, `dropped` the requirement, `fact` the id of the fact, or
    file:line of the stack's own row.
    """

    package: _Project
    version: str
    name: str
    dropped: str
    fact: str


class SkippedRelease(_Row, kw_only=True, frozen=True):
    """A release newer than the pin of its project, admitted by all requirements on it, that cannot be used.

    The reason is `archive`, a source archive without static metadata: its own, or that of a release
    of `archive_of` that it needs.
    """

    project: _Project
    version: _Version
    archive: str
    archive_of: _Project
    archive_version: _Version
    index: str


class LockedExport(_Row, kw_only=True, frozen=True):
    """An environment variable in activate.sh, with the ids of its `facts`; an `optional` one is a comment there."""

    name: _Variable
    value: str
    optional: bool = False
    facts: tuple[str, ...]


class LockedOptional(_Row, kw_only=True, frozen=True):
    """What of a pin may fail to start: verify.py tells it, and does not count it."""

    # The pin that offers it.
    package: _Project
    # Its modules, by dotted name.
    modules: tuple[_Module, ...] = ()
    # Its commands, and other entry points.
    scripts: tuple[str, ...] = ()
    # Whether it may fail only where there is no NPU; otherwise it may anywhere.
    npu: bool = False
    # The id of the fact, whose reason is told.
    fact: str


class LockedAbsent(_Row, kw_only=True, frozen=True):
    """A distribution that must not be installed.

    `because` is the id of the fact, or file:line of the stack.

    The Chinese may be empty.
    """

    name: _Project
    reason: str
    reason_zh: str = ""
    because: str


class PinChange(_Row, kw_only=True, frozen=True):
    """A difference from the previous lock: `old` is empty for a new pin, `new` for a removed one."""

    name: str
    old: str = ""
    new: str = ""


class Lock(_Row, kw_only=True, frozen=True):
    """The lock of a target.

    `requires` are the stack's lines, `inputs` the digest of the files that it was made from.

    `pin` is what is installed, in the order of `stage`, and `build_pin` the tools of isolated
    builds. `override` are ignored requirements, `skipped` newer releases that cannot be used,
    `absent` distributions that must not be installed, `departs` the differences from a guide.
    `as_of` is the day whose releases are preferred, and `newer` are the pins that appeared later.
    `imports` are tested after the installation, with `import_env`. `optional` is what may fail when
    verify.py starts everything. `change` lists the differences from the previous lock; `first`
    tells that there was none.
    """

    format: int
    stack: FolderName
    summary: str = ""
    summary_zh: str = ""
    source: str = ""
    inputs: _Sha256
    requires: tuple[str, ...]
    target: LockedTarget
    index: tuple[LockedIndex, ...]
    stage: tuple[LockedStage, ...]
    pin: tuple[LockedPin, ...]
    build_pin: tuple[LockedPin, ...] = ()
    fact: tuple[LockedFact, ...] = ()
    driver: tuple[LockedDriver, ...] = ()
    override: tuple[Override, ...] = ()
    skipped: tuple[SkippedRelease, ...] = msgspec.field(default=(), name="passed-over")
    export: tuple[LockedExport, ...] = ()
    absent: tuple[LockedAbsent, ...] = ()
    departs: tuple[Departure, ...] = ()
    warnings: tuple[Message, ...] = ()
    notes: tuple[Message, ...] = ()
    exclude_newer: str = ""
    as_of: AsOf = AsOf(policy=NEWEST)
    newer: tuple[NewerPin, ...] = ()
    imports: tuple[_Module, ...] = ()
    import_env: dict[_Variable, str] = {}
    optional: tuple[LockedOptional, ...] = ()
    change: tuple[PinChange, ...] = ()
    first: bool = False

    @property
    def title(self) -> str:
        """What the lock is for, for the first lines of other files; a summary may have several lines."""
        return ": ".join(filter(None, (f"{self.stack} for {self.target.name}", self.summary)))

    def build_environments(self) -> tuple[tuple[LockedPin, ...], ...]:
        """The build tools of each isolated environment, in the order of `build_pin`."""
        groups = dict.fromkeys(pin.builds for pin in self.build_pin)
        return tuple(
            tuple(pin for pin in self.build_pin if pin.builds == builds) for builds in groups
        )

    def external(self) -> dict[MachineNeed, list[str]]:
        """What source builds need of the machine, each with the pins that need it."""
        users: dict[MachineNeed, list[str]] = {}
        for pin in self.pin:
            for need in pin.external if pin.git is None else (*pin.external, "git"):
                users.setdefault(need, []).append(pin.name)
        return users

    @property
    def requested_projects(self) -> frozenset[str]:
        """The projects that the stack's own lines name."""
        return frozenset(text.requirement(line).name for line in self.requires)

    def reasons(self, tools: Sequence[LockedPin] = ()) -> dict[str, list[Message]]:
        """What requires each project: the stack's lines first, then facts, then metadata.

        With the `tools` of an isolated build environment, what requires those.
        """
        builds = [pin for pin in self.pin if pin.mode == ("built-apart" if tools else "built-here")]
        if tools and tools[0].builds:
            builds = [pin for pin in builds if pin.name in tools[0].builds]
        rows = [row for pin in tools or self.pin for row in pin.reasons(build=False)]
        rows += [row for pin in builds for row in pin.reasons(build=True)]
        stack = [
            (text.requirement(line).name, message("why.stack", line=line))
            for line in self.requires
            if not tools
        ]
        reasons: dict[str, list[Message]] = {}
        for name, reason in (*stack, *sorted(rows, key=lambda row: "fact" not in row[1].values)):
            reasons.setdefault(name, []).append(reason)
        return reasons

    def needed_by(self) -> dict[str, list[str]]:
        """The pins that need each pin, sorted; without those that nothing needs."""
        dependents: dict[str, list[str]] = {}
        for pin in sorted(self.pin, key=lambda pin: pin.name):
            for name in pin.needs:
                dependents.setdefault(name, []).append(pin.name)
        return dependents

    def facts_of(self, row: LockedExport) -> tuple[LockedFact, ...]:
        """The facts behind an environment variable, in the order of the files."""
        return tuple(fact for fact in self.fact if fact.id in row.facts)

    @property
    def all_warnings(self) -> tuple[Message, ...]:
        """The warnings, and one for each pin whose requirements were not verified."""
        trusted = (
            message("lock.git-trust", package=f"{pin.name} {pin.version}", why=pin.git.trust)
            for pin in self.pin
            if pin.git and pin.git.trust
        )
        return (*self.warnings, *trusted)

    def pins_of(self, stage: LockedStage) -> tuple[LockedPin, ...]:
        """The pins of a stage, sorted by name."""
        names = set(stage.pins)
        return tuple(pin for pin in self.pin if pin.name in names)
