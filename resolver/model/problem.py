"""Problems: the requirements of a stack, one target, the facts, the policies and the indexes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Final, Literal

import msgspec
from msgspec.structs import replace
from packaging.utils import NormalizedName, canonicalize_name, parse_wheel_filename

from resolver.errors import InputError
from resolver.model import patterns
from resolver.model.as_of import AUTO
from resolver.model.component import Component, Value
from resolver.model.constraint import ComponentValue, Line
from resolver.model.fact import Fact, Need, Practice
from resolver.model.release import CoreMetadata, Source
from resolver.model.repository import specifier
from resolver.model.requirement import Requirement
from resolver.model.source import References
from resolver.model.target import Platform, Target
from resolver.model.text import (
    NOT_EMPTY,
    AsOfText,
    Cutoff,
    RequirementLine,
    Sentence,
    Text,
    Variables,
    Where,
    matching,
)
from resolver.phrase import phrase

# The name of the index that pip is configured with.
PYPI: Final = "pypi"
# Whether pre-releases are candidates: only if no final release meets the requirements, always, or
# never.
Prereleases = Literal["if-necessary", "allow", "never"]


def _wheel(text: str) -> str:
    """Return a text unchanged; raise ValueError if it is not the file name of a wheel."""
    parse_wheel_filename(text)
    return text


def _url(text: str) -> str:
    """Return an address unchanged; raise InputError if it has spaces or control characters.

    The error shows nothing of the address, which may have a password.
    """
    if " " in text or not text.isprintable():
        raise InputError(
            phrase("an address has a space or a character that does not print"),
            hint=phrase(
                "percent-encode what belongs to it (a space is %20) and leave out the rest"
            ),
        )
    return text


def _project_or_all(text: str) -> str:
    """Return the normalised name of a project, or `*`; raise ValueError for other texts."""
    if text == "*":
        return text
    return canonicalize_name(text, validate=True)


_Url = Annotated[str, _url]
Bound = Annotated[str, _project_or_all]


class RootRequirement(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a stack's `requires`, or of the requirements of a build."""

    # What the line requires.
    need: Need
    # The line as a constraint.
    origin: Line
    # The number of the line in the stack's file, from 0; -1 for a line that is in none.
    number: int = -1
    # The group of the stack that has the line; empty for a line of every group.
    group: str = ""


class Departure(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="kebab",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """A difference between a stack and the guide that it replaces."""

    # What the guide says.
    guide: Text
    # The Chinese texts may be empty; the English ones are shown then.
    guide_zh: Text = ""
    # What the stack has instead.
    here: Text
    # The same in Chinese; may be empty.
    here_zh: Text = ""
    # Why they differ.
    reason: Text
    # The reason in Chinese; may be empty.
    reason_zh: Text = ""


class Checks(msgspec.Struct, frozen=True, kw_only=True):
    """Tests of an installed environment."""

    # The modules to import.
    imports: tuple[Annotated[str, matching(patterns.MODULE)], ...] = ()
    # The environment variables with which they are imported.
    env: Variables = ()


class Relaxed(msgspec.Struct, frozen=True, kw_only=True):
    """A fact that the stack sets aside."""

    fact: Fact
    # The requirements of the fact that are set aside; empty for the whole fact.
    needs: tuple[str, ...]
    # Why, as the stack says.
    reason: str
    # file:line of the stack.
    where: str


class Absence(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A distribution that must not be installed, as the stack says."""

    # The project of the distribution.
    package: NormalizedName
    # Why, in one sentence.
    reason: Sentence
    # The reason in Chinese; may be empty.
    reason_zh: Sentence = ""
    where: Where


class Recorded(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A wheel as public files describe it, for use if its index cannot be reached.

    It is a row of the stack or of a file in matrices/recorded/.
    """

    # The name of the index that has the wheel. In matrices/recorded/ it is the name of the file.
    index: Text
    # The file name of the wheel.
    filename: Annotated[str, _wheel] = msgspec.field(name="file")
    # Empty if no public file quotes it. A verdict may rest on such a row, but no lock can.
    sha256: Annotated[str, matching(patterns.SHA256)] = ""
    # All lines of Requires-Dist.
    requires: tuple[RequirementLine, ...]
    # Requires-Python, as its metadata has it.
    requires_python: Annotated[str, specifier] = ""
    # The public files that have the hash and the requirements.
    source: References
    # The day on which somebody last looked.
    checked: date
    where: Where

    @property
    def project(self) -> NormalizedName:
        """Return the project of the wheel."""
        name, _, _, _ = parse_wheel_filename(self.filename)
        return name

    @property
    def version(self) -> str:
        """Return the version of the wheel."""
        _, version, _, _ = parse_wheel_filename(self.filename)
        return str(version)

    @property
    def metadata(self) -> CoreMetadata:
        """Return the core metadata of the wheel."""
        return CoreMetadata(str(self.project), self.version, self.requires, self.requires_python)


class Index(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A simple repository (PEP 503)."""

    # What bindings and locks call it.
    name: Text
    # Empty for `pypi`, the index that pip is configured with.
    url: _Url = ""
    # Addresses with the same content, tried in this order if `url` does not answer.
    mirrors: tuple[_Url, ...] = ()
    # False if the index may lack releases that exist. A fact about such a release is no mistake.
    complete: bool = True


class Binding(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """The only indexes of some projects."""

    # Normalised names, or `*` for every project that no other binding names.
    packages: Annotated[tuple[Bound, ...], NOT_EMPTY]
    # The names of the indexes, in the order in which they are asked.
    indexes: Annotated[tuple[Text, ...], NOT_EMPTY]
    # "first": only the first index that has the project counts. "all": the files of all indexes are
    # combined; if several have a version, the first of these counts for it.
    take: Literal["first", "all"] = "first"
    # Whether to fail if an index cannot be reached, or to go on with the next one.
    unreachable: Literal["fail", "next"] = "fail"
    # The platforms of targets that it is for; empty for all.
    platforms: tuple[Platform, ...] = ()
    # Why the projects are bound to these indexes.
    reason: str = ""


class Indexes(msgspec.Struct, frozen=True, kw_only=True):
    """The indexes of a problem, and their bindings."""

    # The indexes by name.
    indexes: Mapping[str, Index]
    # The first binding about a project counts. The stack's own come before the ones of
    # matrices/indexes.toml, or stand alone.
    bindings: tuple[Binding, ...]
    # The names of the indexes that the stack defines. They replace others of the same name.
    own_indexes: frozenset[str] = frozenset()
    # The bindings that the stack has, which are the first of `bindings`.
    own_bindings: tuple[Binding, ...] = ()
    # Whether nothing of matrices/indexes.toml counts, except for `pypi` (`own-indexes-only`).
    own_only: bool = False
    # All bindings of matrices/indexes.toml, if the stack has an index or binding of its own.
    shipped: tuple[Binding, ...] = ()

    @property
    def has_own(self) -> bool:
        """Return whether the stack says of any project where to look it up."""
        return self.own_only or bool(self.own_indexes) or bool(self.own_bindings)

    def binding(self, project: NormalizedName, platform: str) -> Binding:
        """Return the binding of a project on a platform; to `pypi` if none is about it."""
        return _binding(self.bindings, project, platform)

    def is_own(self, project: NormalizedName, platform: str) -> bool:
        """Return whether the stack says where to look up a project.

        The stack has the binding of the project, or an index of that binding.
        """
        binding = self.binding(project, platform)
        if self.own_only or binding in self.own_bindings:
            return True
        return not self.own_indexes.isdisjoint(binding.indexes)

    def shipped_for(self, project: NormalizedName, platform: str) -> tuple[str, ...]:
        """Return the indexes that matrices/indexes.toml names for a project.

        Empty if it does not name the project, or the stack has no index or binding of its own.
        """
        if not any(project in binding.packages for binding in self.shipped):
            return ()
        return _binding(self.shipped, project, platform).indexes

    def left_out(self, project: NormalizedName, platform: str) -> tuple[str, ...]:
        """Return the indexes of `shipped_for` that are not asked for the project."""
        asked = self.binding(project, platform).indexes
        return tuple(name for name in self.shipped_for(project, platform) if name not in asked)


def _binding(bindings: tuple[Binding, ...], project: NormalizedName, platform: str) -> Binding:
    on_platform = [
        binding for binding in bindings if not binding.platforms or platform in binding.platforms
    ]
    for name in (project, "*"):
        for binding in on_platform:
            if name in binding.packages:
                return binding
    return Binding(packages=("*",), indexes=(PYPI,))


class Policy(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """Which releases are candidates, and which of them are preferred."""

    # For projects that `prereleases_of` does not name.
    prereleases: Prereleases = "if-necessary"
    # The policy for single projects, by name.
    prereleases_of: Mapping[NormalizedName, Prereleases] = msgspec.field(default_factory=dict)
    # The moment, with a time zone, from which on uploads are ignored; None for no limit.
    exclude_newer: Cutoff | None = None
    # The day whose releases are preferred: a date, `auto` or `newest` (see `resolve/as_of.py`).
    as_of: AsOfText = AUTO
    # Whether the stack has only `pypi` and its own indexes and bindings. Otherwise it adds its own
    # to matrices/indexes.toml.
    own_indexes_only: bool = False

    def prereleases_for(self, project: NormalizedName) -> Prereleases:
        """Return the pre-release policy of a project."""
        return self.prereleases_of.get(project, self.prereleases)


class PolicyOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the command line that replace parts of a stack's policy."""

    # The moment from which on uploads are ignored; None for the policy's own.
    exclude_newer: dt.datetime | None = None
    # A day, `auto` or `newest`; empty for the policy's own.
    as_of: str = ""

    def applied_to(self, policy: Policy) -> Policy:
        """Return the policy with what the options replace."""
        if self.exclude_newer is not None:
            policy = replace(policy, exclude_newer=self.exclude_newer)
        if self.as_of:
            policy = replace(policy, as_of=self.as_of)
        return policy


NO_OPTIONS: Final = PolicyOptions()


class Stack(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a stack file, except for its targets."""

    name: str
    # What the stack is for; may have several lines.
    summary: str = ""
    # The summary in Chinese; may be empty.
    summary_zh: str = ""
    # Where the stack is from, such as a guide.
    source: str
    # The path of the file, as given.
    where: str
    # The group that it is about; empty for a stack without groups, or for all of them together.
    group: str = ""
    # The lines of `requires`, of the group as well, and the ones that options add.
    requirements: tuple[RootRequirement, ...]
    # The lines of `constraints`: bounds on projects that are in force only if something needs them.
    constraints: tuple[RootRequirement, ...] = ()
    # The lines of `overrides`: they replace what releases and facts require of their projects. A
    # project whose lines do not apply on a target is not required there.
    overrides: tuple[RootRequirement, ...] = ()
    # The differences from the guide that it replaces.
    departures: tuple[Departure, ...] = ()
    # The facts that it sets aside.
    relaxed: tuple[Relaxed, ...] = ()
    # The distributions that must not be installed.
    absent: tuple[Absence, ...] = ()
    # The ids of the practices that it turns on, if it has a single target: each of them should make
    # a difference there.
    enabled_practices: tuple[str, ...] = ()
    # The tests of an installed environment.
    checks: Checks = msgspec.field(default_factory=Checks)

    @property
    def argument(self) -> str:
        """Return how a command names the stack: by its name in `matrices`, or else by its path."""
        is_shipped = self.where == f"matrices/stacks/{self.name}.toml"
        return self.name if is_shipped else self.where

    def of_group(self, name: str) -> Stack:
        """Return the stack with the lines of one group and of every group."""
        lines = tuple(root for root in self.requirements if root.group in ("", name))
        return replace(self, group=name, requirements=lines)


class UnknownValue(msgspec.Struct, frozen=True):
    """A release of a component that is in no list of releases."""

    component: Component
    value: str
    # The known releases just before and just after it.
    near: tuple[str, ...]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a resolution depends on, except for the indexes and a previous lock."""

    stack: Stack
    target: Target
    # The number of the target in the stack's file, from 0.
    target_number: int = 0
    # The facts for the target, with the practices in force.
    facts: tuple[Fact, ...]
    policy: Policy
    indexes: Indexes
    # The sha256 of the input files.
    digest: str
    # The sha256 of the recorded readings of archives, which repeat what the archives contain.
    readings: str = ""
    # Whether source archives are no candidates, as for build tools.
    wheels_only: bool = False
    # The libraries of the system and its components, which the binaries of wheels may need.
    libraries: frozenset[str] = frozenset()
    # The known values of each component, the nearest to the target's first.
    values: Mapping[str, tuple[Value, ...]] = msgspec.field(default_factory=dict)
    # The releases of the target's components that are in no list of releases.
    unknown: tuple[UnknownValue, ...] = ()
    # The releases that direct references of the stack mean, by the text of the reference.
    sources: Mapping[str, Source] = msgspec.field(default_factory=dict)
    # The practices that are not in force.
    available_practices: tuple[Practice, ...] = ()
    # Wheels of indexes that may be out of reach, one row a file.
    recorded: tuple[Recorded, ...] = ()

    def requirements_on(self, name: NormalizedName) -> tuple[RootRequirement, ...]:
        """Return the stack's lines about a project whose markers hold for the target."""
        lines = []
        for line in self.stack.requirements:
            need = line.need
            if not isinstance(need, Requirement) or need.name != name:
                continue
            if need.applies(self.target.markers):
                lines.append(line)
        return tuple(lines)

    def component_value(self, name: str) -> ComponentValue:
        """Return the target's value of a component as a constraint."""
        where = self.target.places.get(name, self.stack.where)
        label = self.target.components[name].label
        return ComponentValue(name, str(self.target.system[name]), where, label)

    def source(self, name: NormalizedName) -> tuple[RootRequirement, Source] | None:
        """Return the stack's direct reference to a project, and its source.

        None if the project is from an index.
        """
        for root in self.requirements_on(name):
            # `requirements_on` returns requirements on projects only.
            assert isinstance(root.need, Requirement)  # noqa: S101
            if root.need.url:
                return root, self.sources[root.need.url]
        return None
