"""What is to be solved: a stack's requirements, one target, the facts, the policies and the indexes."""

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
from resolver.model.constraint import ComponentValue, Line
from resolver.model.fact import Fact, Need, Practice
from resolver.model.release import CoreMetadata, Source
from resolver.model.repository import specifier
from resolver.model.requirement import Requirement, Value
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

PYPI: Final = "pypi"
Prereleases = Literal["if-necessary", "allow", "never"]


def _wheel(text: str) -> str:
    """The name of a wheel; raises ValueError."""
    parse_wheel_filename(text)
    return text


def _url(text: str) -> str:
    """An address without spaces and control characters; the error shows no password."""
    if " " in text or not text.isprintable():
        raise InputError(
            "an address has a space or a character that does not print",
            hint="percent-encode what belongs to it (a space is %20) and leave out the rest",
        )
    return text


def _project_or_all(text: str) -> str:
    """The name of a project, or `*`; raises ValueError."""
    return text if text == "*" else canonicalize_name(text, validate=True)


_Url = Annotated[str, _url]
Bound = Annotated[str, _project_or_all]


class RootRequirement(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a stack's `requires`, or a build requirement of a lock."""

    need: Need
    origin: Line


class Departure(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="kebab",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """A difference between a stack and the guide it replaces, and the reason; the Chinese texts may be empty."""

    guide: Text
    guide_zh: Text = ""
    here: Text
    here_zh: Text = ""
    reason: Text
    reason_zh: Text = ""


class Checks(msgspec.Struct, frozen=True, kw_only=True):
    """Tests of an installed environment: modules to import, and environment variables for that."""

    imports: tuple[Annotated[str, matching(patterns.MODULE)], ...] = ()
    env: Variables = ()


class Relaxed(msgspec.Struct, frozen=True, kw_only=True):
    """A fact that the stack sets aside: entirely, or only these `needs` of it.

    `where` is file:line.
    """

    fact: Fact
    needs: tuple[str, ...]
    reason: str
    where: str


class Absence(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A distribution that must not be installed. `where` is file:line; the Chinese may be empty."""

    package: NormalizedName
    reason: Sentence
    reason_zh: Sentence = ""
    where: Where


class Recorded(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A wheel as public files describe it, for use if its index cannot be reached.

    It is of matrices/recorded/ or of the stack itself.
    """

    # the name of the index that has the wheel; in matrices/recorded/ the name of the file
    index: Text
    filename: Annotated[str, _wheel] = msgspec.field(name="file")
    # empty if no public file quotes it: a verdict may rest on such a row, but no lock can
    sha256: Annotated[str, matching(patterns.SHA256)] = ""
    # all lines of Requires-Dist
    requires: tuple[RequirementLine, ...]
    requires_python: Annotated[str, specifier] = ""
    # where the hash and the requirements are from
    source: References
    checked: date
    where: Where

    @property
    def project(self) -> NormalizedName:
        """The project of the wheel."""
        return parse_wheel_filename(self.filename)[0]

    @property
    def version(self) -> str:
        """The version of the wheel."""
        return str(parse_wheel_filename(self.filename)[1])

    @property
    def metadata(self) -> CoreMetadata:
        """Its core metadata."""
        return CoreMetadata(str(self.project), self.version, self.requires, self.requires_python)


class Index(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A simple repository (PEP 503).

    `pypi` has no address: it is the index that pip is configured with.

    `mirrors` have the same content and are tried in order if `url` does not answer. An index that
    is not `complete` may lack releases that exist, so that facts about them are no mistakes.
    """

    name: Text
    url: _Url = ""
    mirrors: tuple[_Url, ...] = ()
    complete: bool = True


class Binding(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """The only indexes of some projects.

    `packages` are normalised names, or `*` for every project that no other binding names. With
    `take` = "first" only the first of `indexes` that has the project counts; with "all" their files
    are combined, and the first index counts for a version that several have. `unreachable` says
    whether to fail or to go on with the next one if an index cannot be reached. Without `platforms`
    it is for all of them.
    """

    packages: Annotated[tuple[Bound, ...], NOT_EMPTY]
    indexes: Annotated[tuple[Text, ...], NOT_EMPTY]
    take: Literal["first", "all"] = "first"
    unreachable: Literal["fail", "next"] = "fail"
    platforms: tuple[Platform, ...] = ()
    reason: str = ""


class Indexes(msgspec.Struct, frozen=True, kw_only=True):
    """The indexes of a problem by name, and their bindings; the first one about a project counts.

    Those of the stack are before those of matrices/indexes.toml, or stand alone.
    """

    indexes: Mapping[str, Index]
    bindings: tuple[Binding, ...]
    # the names of the indexes that the stack defines, which replace those of the same name
    own_indexes: frozenset[str] = frozenset()
    # the bindings that the stack has, which are the first of `bindings`
    own_bindings: tuple[Binding, ...] = ()
    # whether nothing of matrices/indexes.toml is among them (`own-indexes-only`)
    own_only: bool = False
    # all bindings of matrices/indexes.toml, if the stack has any index or binding of its own
    shipped: tuple[Binding, ...] = ()

    @property
    def has_own(self) -> bool:
        """Whether the stack says of any project where it is looked up."""
        return self.own_only or bool(self.own_indexes) or bool(self.own_bindings)

    def binding(self, project: NormalizedName, platform: str) -> Binding:
        """The binding of a project on a platform; to `pypi` if no other is about it."""
        for name in (project, "*"):
            for binding in self.bindings:
                if name in binding.packages and (
                    not binding.platforms or platform in binding.platforms
                ):
                    return binding
        return Binding(packages=("*",), indexes=(PYPI,))

    def is_own(self, project: NormalizedName, platform: str) -> bool:
        """Return whether the stack says where a project is looked up: by a binding, or by an index of its binding."""
        binding = self.binding(project, platform)
        return (
            self.own_only
            or binding in self.own_bindings
            or not self.own_indexes.isdisjoint(binding.indexes)
        )

    def shipped_for(self, project: NormalizedName, platform: str) -> tuple[str, ...]:
        """Return the indexes that matrices/indexes.toml names for a project, if the stack has any of its own."""
        if not any(project in binding.packages for binding in self.shipped):
            return ()
        return (
            Indexes(indexes=self.indexes, bindings=self.shipped).binding(project, platform).indexes
        )

    def left_out(self, project: NormalizedName, platform: str) -> tuple[str, ...]:
        """Return the indexes that matrices/indexes.toml names for a project, and that are not asked for it."""
        asked = self.binding(project, platform).indexes
        return tuple(name for name in self.shipped_for(project, platform) if name not in asked)


class Policy(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """Which releases are candidates, and which of them are preferred.

    `exclude_newer` is a moment with a time zone, or None. `as_of` is the day whose releases are
    preferred: a date, `auto` or `newest` (see `resolve/as_of.py`). With `own_indexes_only` a stack
    has only `pypi` and the indexes and bindings that it defines; otherwise it adds them to those of
    matrices/indexes.toml.
    """

    prereleases: Prereleases = "if-necessary"
    prereleases_of: Mapping[NormalizedName, Prereleases] = msgspec.field(default_factory=dict)
    exclude_newer: Cutoff | None = None
    as_of: AsOfText = AUTO
    own_indexes_only: bool = False

    def prereleases_for(self, project: NormalizedName) -> Prereleases:
        """The pre-release policy of one project."""
        return self.prereleases_of.get(project, self.prereleases)


class PolicyOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the command line that replace parts of a stack's policy."""

    # the moment from which on uploads do not exist; None leaves the stack's own
    exclude_newer: dt.datetime | None = None
    # a day, `auto` or `newest`; empty leaves the stack's own
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
    """The content of a stack file, except for its targets. `where` is the file's path as given.

    `enabled_practices` are those that it turns on by name, if it has a single target, for which
    each should make a difference.
    """

    name: str
    summary: str = ""
    summary_zh: str = ""
    source: str
    where: str
    requirements: tuple[RootRequirement, ...]
    departures: tuple[Departure, ...] = ()
    relaxed: tuple[Relaxed, ...] = ()
    absent: tuple[Absence, ...] = ()
    enabled_practices: tuple[str, ...] = ()
    checks: Checks = msgspec.field(default_factory=Checks)


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a resolution depends on, except for the content of the indexes and a previous lock.

    `digest` is the sha256 of the input files; `readings` that of the recorded readings of archives,
    which repeat the content of the archives. With `wheels_only` source archives are no candidates,
    as for build tools. `libraries` are those that come with the system and its components, for the
    binaries of wheels to need. `values` are the known values of each component, nearest to the
    target's first. `near_canns` are the known releases next to a CANN of the target that is not
    known. `sources` are the resolved direct references of the stack, by their text. The
    `available_practices` are not in force; those that are, are among the `facts`.
    """

    stack: Stack
    target: Target
    facts: tuple[Fact, ...]
    policy: Policy
    indexes: Indexes
    digest: str
    readings: str = ""
    wheels_only: bool = False
    libraries: frozenset[str] = frozenset()
    values: Mapping[str, tuple[Value, ...]] = msgspec.field(default_factory=dict)
    near_canns: tuple[str, ...] = ()
    sources: Mapping[str, Source] = msgspec.field(default_factory=dict)
    available_practices: tuple[Practice, ...] = ()
    # wheels of indexes that may be out of reach, one row a file
    recorded: tuple[Recorded, ...] = ()

    def requirements_on(self, name: NormalizedName) -> tuple[RootRequirement, ...]:
        """The stack's lines about a project whose markers hold for the target."""
        return tuple(
            root
            for root in self.stack.requirements
            if isinstance(root.need, Requirement)
            and root.need.name == name
            and (root.need.marker is None or root.need.marker.evaluate(self.target.markers))
        )

    def component_value(self, name: str) -> ComponentValue:
        """Return what the target has of a component, as a constraint."""
        where = self.target.places.get(name, self.stack.where)
        return ComponentValue(name, str(self.target.system[name]), where)

    def source(self, name: NormalizedName) -> tuple[RootRequirement, Source] | None:
        """The stack's direct reference to a project and its source; None if the project is from an index."""
        for root in self.requirements_on(name):
            assert isinstance(root.need, Requirement)  # noqa: S101  only these have a name
            if root.need.url:
                return root, self.sources[root.need.url]
        return None
