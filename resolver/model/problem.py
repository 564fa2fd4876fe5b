"""Problems: everything that is solved at once.

A problem has the requirements of a stack, one target, the facts for the target, a policy, and the
indexes. `config/compile` makes problems from TOML files, and `resolve/solver` solves them.
"""

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
# Whether pre-releases are candidates: "if-necessary" (only if no final release meets the
# requirements, or a requirement names a pre-release), "allow" (always) or "never".
Prereleases = Literal["if-necessary", "allow", "never"]


def _wheel(text: str) -> str:
    """Return a text unchanged; raise ValueError if it is not the file name of a wheel."""
    parse_wheel_filename(text)
    return text


def _url(text: str) -> str:
    """Return an address unchanged; raise InputError if it has spaces or control characters.

    The error does not quote the address, since it may contain a password.
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
    """A parsed line of a stack (`requires`, `constraints`, `overrides`), or of a build.

    The lines of a build are its build requirements, which are solved like a stack.
    """

    # The requirement in the line.
    need: Need
    # The line as a constraint, which has the text and the place.
    origin: Line
    # The number of the line in the stack's file, from 0; -1 for a line that is in no file.
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
    # What the guide says, in Chinese; may be empty. Then the English text is shown.
    guide_zh: Text = ""
    # What the stack has instead.
    here: Text
    # What the stack has instead, in Chinese; may be empty.
    here_zh: Text = ""
    # Why they differ.
    reason: Text
    # The reason in Chinese; may be empty.
    reason_zh: Text = ""


class Checks(msgspec.Struct, frozen=True, kw_only=True):
    """Tests that verify.py makes in an installed environment."""

    # The modules to import.
    imports: tuple[Annotated[str, matching(patterns.MODULE)], ...] = ()
    # The environment variables with which they are imported.
    env: Variables = ()


class Relaxed(msgspec.Struct, frozen=True, kw_only=True):
    """A fact, or some requirements of a fact, that the stack sets aside: they do not count."""

    # The fact.
    fact: Fact
    # The requirements of the fact that are set aside; empty for the whole fact.
    needs: tuple[str, ...]
    # Why the stack sets it aside.
    reason: str
    # file:line of the table in the stack's file.
    where: str


class Absence(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A distribution that must not be installed, as the stack says."""

    # The project of the distribution.
    package: NormalizedName
    # Why it must not be installed, in one sentence.
    reason: Sentence
    # The reason in Chinese; may be empty.
    reason_zh: Sentence = ""
    # file:line of the table in the stack's file.
    where: Where


class Recorded(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A wheel of an index, as public files describe it. It is used if the index does not answer.

    It is a table of the stack's file, or of a file in matrices/recorded/.
    """

    # The name of the index that has the wheel. In matrices/recorded/ it is the name of the file.
    index: Text
    # The file name of the wheel.
    filename: Annotated[str, _wheel] = msgspec.field(name="file")
    # The hash of the wheel; empty if no public file has it. Without a hash, the wheel can show that
    # a stack has a solution, but it cannot be locked.
    sha256: Annotated[str, matching(patterns.SHA256)] = ""
    # All lines of Requires-Dist in its metadata.
    requires: tuple[RequirementLine, ...]
    # Requires-Python in its metadata; empty if there is none.
    requires_python: Annotated[str, specifier] = ""
    # The public files that have the hash and the requirements.
    source: References
    # The day on which somebody last looked at these files.
    checked: date
    # file:line of the table.
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

    # The name of the index in bindings and locks.
    name: Text
    # The address; empty for `pypi`, the index that pip is configured with.
    url: _Url = ""
    # Addresses with the same content, tried in this order if `url` does not answer.
    mirrors: tuple[_Url, ...] = ()
    # False if the index has only some releases of its projects. A fact about a release that it
    # lacks is then no mistake.
    complete: bool = True


class Binding(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A list of projects, and the only indexes that are asked for them."""

    # Normalised names of projects, or `*` for every project that no other binding names.
    packages: Annotated[tuple[Bound, ...], NOT_EMPTY]
    # The names of the indexes, in the order in which they are asked.
    indexes: Annotated[tuple[Text, ...], NOT_EMPTY]
    # "first": only the first index that has the project is used. "all": the releases of all indexes
    # are used; a version that several indexes have is taken from the first of them.
    take: Literal["first", "all"] = "first"
    # If an index cannot be reached: fail ("fail"), or ask the next index ("next").
    unreachable: Literal["fail", "next"] = "fail"
    # The platforms of targets that the binding is for; empty for all.
    platforms: tuple[Platform, ...] = ()
    # Why the projects are bound to these indexes.
    reason: str = ""


class Indexes(msgspec.Struct, frozen=True, kw_only=True):
    """The indexes of a problem, and which projects are bound to them."""

    # The indexes by name.
    indexes: Mapping[str, Index]
    # All bindings: first the stack's, then the ones in matrices/indexes.toml, unless `own_only` is
    # set. For each project the first binding that names it counts.
    bindings: tuple[Binding, ...]
    # The names of the indexes that the stack defines. They replace shipped indexes of the same
    # name.
    own_indexes: frozenset[str] = frozenset()
    # The bindings of the stack. They are the first elements of `bindings`.
    own_bindings: tuple[Binding, ...] = ()
    # Whether matrices/indexes.toml is ignored, except for `pypi` (the policy `own-indexes-only`).
    own_only: bool = False
    # All bindings of matrices/indexes.toml, to tell which of them the stack's own replace. Empty if
    # the stack has no index or binding of its own.
    shipped: tuple[Binding, ...] = ()

    @property
    def has_own(self) -> bool:
        """Return whether the stack defines indexes or bindings, or ignores the shipped ones."""
        return self.own_only or bool(self.own_indexes) or bool(self.own_bindings)

    def binding(self, project: NormalizedName, platform: str) -> Binding:
        """Return the binding of a project on a platform.

        A project that no binding names is bound to `pypi`.
        """
        return _binding(self.bindings, project, platform)

    def is_own(self, project: NormalizedName, platform: str) -> bool:
        """Return whether the stack itself decides from which indexes a project is taken.

        It does if the binding of the project is the stack's, or if the binding names an index that
        the stack defines.
        """
        binding = self.binding(project, platform)
        if self.own_only or binding in self.own_bindings:
            return True
        return not self.own_indexes.isdisjoint(binding.indexes)

    def shipped_for(self, project: NormalizedName, platform: str) -> tuple[str, ...]:
        """Return the names of the indexes that matrices/indexes.toml has for a project.

        Empty if no binding there names the project (`*` does not count), or if the stack has no
        index or binding of its own.
        """
        if not any(project in binding.packages for binding in self.shipped):
            return ()
        return _binding(self.shipped, project, platform).indexes

    def left_out(self, project: NormalizedName, platform: str) -> tuple[str, ...]:
        """Return the indexes in `shipped_for` that are not in the binding of the project."""
        asked = self.binding(project, platform).indexes
        return tuple(name for name in self.shipped_for(project, platform) if name not in asked)


def _binding(bindings: tuple[Binding, ...], project: NormalizedName, platform: str) -> Binding:
    """Return the first binding that names a project, else the first with `*`, else `pypi`."""
    on_platform = [
        binding for binding in bindings if not binding.platforms or platform in binding.platforms
    ]
    for name in (project, "*"):
        for binding in on_platform:
            if name in binding.packages:
                return binding
    return Binding(packages=("*",), indexes=(PYPI,))


class Policy(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """The policy of a stack: which releases are candidates, and which of them are preferred."""

    # The pre-release policy for projects that `prereleases_of` does not name.
    prereleases: Prereleases = "if-necessary"
    # The pre-release policy for single projects, by name.
    prereleases_of: Mapping[NormalizedName, Prereleases] = msgspec.field(default_factory=dict)
    # The cut-off: files uploaded at this moment or later are ignored. It has a time zone; None for
    # no limit.
    exclude_newer: Cutoff | None = None
    # The day whose releases are preferred: a date, `auto` or `newest` (see `resolve/as_of.py`).
    as_of: AsOfText = AUTO
    # True if only `pypi` and the stack's own indexes and bindings are used. Otherwise the indexes
    # and bindings of matrices/indexes.toml are used as well.
    own_indexes_only: bool = False

    def prereleases_for(self, project: NormalizedName) -> Prereleases:
        """Return the pre-release policy of a project."""
        return self.prereleases_of.get(project, self.prereleases)


class PolicyOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the command line that replace parts of a stack's policy."""

    # The cut-off, with a time zone; None to keep the policy's own.
    exclude_newer: dt.datetime | None = None
    # A day in ISO 8601, `auto` or `newest`; empty to keep the policy's own.
    as_of: str = ""

    def applied_to(self, policy: Policy) -> Policy:
        """Return a policy in which these options replace the fields that they set."""
        if self.exclude_newer is not None:
            policy = replace(policy, exclude_newer=self.exclude_newer)
        if self.as_of:
            policy = replace(policy, as_of=self.as_of)
        return policy


NO_OPTIONS: Final = PolicyOptions()


class Stack(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a stack file, except for its targets.

    A stack is what a user asks for: requirements, here called lines, on projects and on components
    of the machine. Groups of a stack share some lines, and each group gets a lock of its own.
    """

    # The name. The folder of the stack's locks has this name.
    name: str
    # What the stack is for; may have several lines.
    summary: str = ""
    # The summary in Chinese; may be empty.
    summary_zh: str = ""
    # The origin of the stack, such as a guide.
    source: str
    # The path of the file, as the user wrote it.
    where: str
    # The name of the group whose lines `requirements` has; empty for a stack without groups, and
    # for a stack with the lines of all groups.
    group: str = ""
    # The lines of `requires` for every group and for `group`, and lines from the command line.
    requirements: tuple[RootRequirement, ...]
    # The lines of `constraints`. They bound the versions of projects that are installed, and
    # require no project.
    constraints: tuple[RootRequirement, ...] = ()
    # The lines of `overrides`. They replace the requirements of releases and facts on the same
    # projects. If no line about a project applies on a target, requirements on it are dropped
    # there.
    overrides: tuple[RootRequirement, ...] = ()
    # The differences from the guide that the stack replaces.
    departures: tuple[Departure, ...] = ()
    # The facts that the stack sets aside.
    relaxed: tuple[Relaxed, ...] = ()
    # The distributions that must not be installed.
    absent: tuple[Absence, ...] = ()
    # The ids of the practices that the stack turns on by name (see `Strength`). `lock/warnings`
    # reports a practice that makes no difference. So the field is empty if the stack has several
    # targets or groups: a practice need not make a difference in each of their locks.
    enabled_practices: tuple[str, ...] = ()
    # The tests of an installed environment.
    checks: Checks = msgspec.field(default_factory=Checks)

    @property
    def argument(self) -> str:
        """Return the argument of commands for this stack.

        It is the name of a shipped stack (in matrices/stacks), and otherwise the path of the file.
        """
        is_shipped = self.where == f"matrices/stacks/{self.name}.toml"
        return self.name if is_shipped else self.where

    def of_group(self, name: str) -> Stack:
        """Return the stack of one group, without the lines of other groups."""
        lines = tuple(root for root in self.requirements if root.group in ("", name))
        return replace(self, group=name, requirements=lines)


class UnknownValue(msgspec.Struct, frozen=True):
    """A value of a target's component that is not in the list of known values."""

    # The component.
    component: Component
    # The value.
    value: str
    # The known values just before and just after it.
    near: tuple[str, ...]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """A stack for one target, with the facts, the policy and the bindings to indexes.

    A resolution depends on these, on what the indexes answer, and on a previous lock.
    """

    # The stack, with the lines of one group.
    stack: Stack
    # The machine to lock for.
    target: Target
    # The number of the target in the stack's file, from 0.
    target_number: int = 0
    # The facts that hold for the target. Practices are among them only if the stack turns them on.
    facts: tuple[Fact, ...]
    # The policy of the stack, changed by options of the command line.
    policy: Policy
    # The indexes, and which projects are bound to them.
    indexes: Indexes
    # The sha256 of the input files.
    digest: str
    # The sha256 of the recorded requirements of archives, which are copies of what the archives
    # contain.
    readings: str = ""
    # Whether source archives are no candidates. It is set for the tools of isolated builds.
    wheels_only: bool = False
    # The names of the libraries that the system and its components provide. Binaries of wheels may
    # need them.
    libraries: frozenset[str] = frozenset()
    # The known values of each component, the nearest to the target's value first.
    values: Mapping[str, tuple[Value, ...]] = msgspec.field(default_factory=dict)
    # The values of the target's components that are in no list of known values.
    unknown: tuple[UnknownValue, ...] = ()
    # For each direct reference of the stack, by its text, the release that is built from the
    # commit.
    sources: Mapping[str, Source] = msgspec.field(default_factory=dict)
    # The practices for the target that the stack does not turn on.
    available_practices: tuple[Practice, ...] = ()
    # Recorded wheels of indexes that may not answer.
    recorded: tuple[Recorded, ...] = ()

    def requirements_on(self, name: NormalizedName) -> tuple[RootRequirement, ...]:
        """Return the stack's lines about a project whose markers are true for the target."""
        lines = []
        for line in self.stack.requirements:
            need = line.need
            if not isinstance(need, Requirement) or need.name != name:
                continue
            if need.applies(self.target.markers):
                lines.append(line)
        return tuple(lines)

    def component_value(self, name: str) -> ComponentValue:
        """Return the target's value of a component as a constraint.

        Raises KeyError if the target does not state the component.
        """
        where = self.target.places.get(name, self.stack.where)
        label = self.target.components[name].label
        return ComponentValue(name, str(self.target.system[name]), where, label)

    def source(self, name: NormalizedName) -> tuple[RootRequirement, Source] | None:
        """Return the line that takes a project from a commit, and the release of that commit.

        None if no line that applies to the target has a direct reference to the project.
        """
        for root in self.requirements_on(name):
            # `requirements_on` returns requirements on projects only.
            assert isinstance(root.need, Requirement)  # noqa: S101
            if root.need.url:
                return root, self.sources[root.need.url]
        return None
