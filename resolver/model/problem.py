"""What is to be solved: a stack's wishes, one target, the facts, the policies and the indexes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Final, Literal

import msgspec
from packaging.utils import NormalizedName, canonicalize_name, parse_wheel_filename

from resolver.errors import InputError
from resolver.model.dependency import NeedLine, StackLine
from resolver.model.fact import Fact, Need, Practice
from resolver.model.release import Source
from resolver.model.repository import specifier
from resolver.model.requirement import Requirement, Value
from resolver.model.target import Platform, Target
from resolver.model.text import NOT_EMPTY, Cutoff, RequirementLine, Sentence, Text, Variables, Where, matching

PYPI: Final = "pypi"
_MODULE = matching(r"[A-Za-z_][A-Za-z0-9_.]*", "the name of a module", '"torch"', '"vllm.engine"')
_SHA256 = matching(r"[0-9a-f]{64}", "a sha256: 64 hexadecimal digits, in lower case")
Prereleases = Literal["if-necessary", "allow", "never"]


def _wheel(text: str) -> str:
    """The name of a wheel; raises ValueError."""
    parse_wheel_filename(text)
    return text


def _url(text: str) -> str:
    """An address that is one word wherever it is written; the error shows no password."""
    if " " in text or not text.isprintable():
        raise InputError(
            "an address has a space or a character that does not print",
            hint="percent-encode what belongs to it (a space is %20) and leave out the rest",
        )
    return text


def _bound(text: str) -> str:
    """The name of a project, or `*`; raises ValueError."""
    return text if text == "*" else canonicalize_name(text, validate=True)


_Url = Annotated[str, _url]
Bound = Annotated[str, _bound]


class RootRequirement(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a stack's `requires`, or a build requirement of a lock."""

    need: Need
    origin: StackLine | NeedLine


class Departure(
    msgspec.Struct, frozen=True, kw_only=True, rename="kebab", omit_defaults=True, forbid_unknown_fields=True
):
    """A difference between a stack and the guide it replaces, and the reason; the Chinese texts may be empty."""

    guide: Text
    guide_zh: Text = ""
    here: Text
    here_zh: Text = ""
    reason: Text
    reason_zh: Text = ""


class Checks(msgspec.Struct, frozen=True, kw_only=True):
    """What an installed environment must pass: imports, with environment variables set for them."""

    imports: tuple[Annotated[str, _MODULE], ...] = ()
    env: Variables = ()


class Relaxed(msgspec.Struct, frozen=True, kw_only=True):
    """A fact that the stack sets aside: entirely, or only the given `needs` of it. `where` is file:line."""

    fact: Fact
    needs: tuple[str, ...]
    reason: str
    where: str


class Absence(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A distribution that the stack keeps out. `where` is file:line; the Chinese may be empty."""

    package: NormalizedName
    reason: Sentence
    reason_zh: Sentence = ""
    where: Where


class Recorded(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A wheel as a stack tells of it. It counts only where its index cannot be reached.

    `requires` are PEP 508 lines. `source` says who quotes the hash and where the requirements are from;
    `where` is file:line.
    """

    index: Text
    filename: Annotated[str, _wheel] = msgspec.field(name="file")
    sha256: Annotated[str, _SHA256]
    requires: tuple[RequirementLine, ...]
    requires_python: Annotated[str, specifier] = ""
    source: Sentence
    checked: date
    where: Where

    @property
    def project(self) -> NormalizedName:
        """The project whose wheel it is."""
        return parse_wheel_filename(self.filename)[0]

    @property
    def version(self) -> str:
        """The release that it is of."""
        return str(parse_wheel_filename(self.filename)[1])


class Index(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A simple repository (PEP 503). `pypi` has no address: it is what pip is configured with.

    `mirrors` are tried in order where `url` does not answer; they serve the same content. Where it is not `complete`,
    that it lacks a release says nothing of what there is: no fact about such a release is a mistake.
    """

    name: Text
    url: _Url = ""
    mirrors: tuple[_Url, ...] = ()
    complete: bool = True


class Binding(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """Where projects are looked up, and nowhere else.

    `packages` are normalised names, or `*` for every project that no other binding names. With `take` = "first" the
    first of `indexes` that has the project answers alone; with "all" they answer together, the first named winning
    where two have the same version. `unreachable` says what happens when one cannot be reached. Empty `platforms` means
    all.
    """

    packages: Annotated[tuple[Bound, ...], NOT_EMPTY]
    indexes: Annotated[tuple[Text, ...], NOT_EMPTY]
    take: Literal["first", "all"] = "first"
    unreachable: Literal["fail", "next"] = "fail"
    platforms: tuple[Platform, ...] = ()
    reason: str = ""


class Indexes(msgspec.Struct, frozen=True, kw_only=True):
    """All indexes of a problem and their bindings; earlier bindings win.

    `own` tells that the stack brought its own list instead of matrices/indexes.toml, whose bindings are
    `replaced` then: they rule nothing, and a lock warns where they would have led elsewhere.
    """

    indexes: Mapping[str, Index]
    bindings: tuple[Binding, ...]
    own: bool = False
    replaced: tuple[Binding, ...] = ()

    def binding(self, project: NormalizedName, platform: str) -> Binding:
        """The one binding that rules a project on a platform; `pypi` where none names it."""
        for wanted in (project, "*"):
            for binding in self.bindings:
                if wanted in binding.packages and (not binding.platforms or platform in binding.platforms):
                    return binding
        return Binding(packages=("*",), indexes=(PYPI,))


class Policy(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """What may be chosen at all. `exclude_newer` is a moment with a time zone, or None."""

    prereleases: Prereleases = "if-necessary"
    prereleases_of: Mapping[NormalizedName, Prereleases] = msgspec.field(default_factory=dict)
    exclude_newer: Cutoff | None = None

    def prereleases_for(self, project: NormalizedName) -> Prereleases:
        """The pre-release policy of one project."""
        return self.prereleases_of.get(project, self.prereleases)


class Stack(msgspec.Struct, frozen=True, kw_only=True):
    """What a stack file says, except for its targets. `where` is the file's path as given.

    `practices` are those that it turns on by name for its only target: each should make a difference there. Where
    several targets share them, one may be for another target.
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
    practices: tuple[str, ...] = ()
    recorded: tuple[Recorded, ...] = ()
    checks: Checks = msgspec.field(default_factory=Checks)


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a resolution depends on, except for the content of the indexes and a previous lock.

    `digest` is the sha256 of all input files that it was made from; `readings` that of the recorded readings of
    archives beside them, which say nothing that the archives themselves do not. With `wheels_only` source archives do
    not count, as for build tools. `values` are the known values of components, nearest to the target's first. If the
    target's CANN is no known release, `near_canns` are the known ones next to it. `sources` maps the text of each
    direct reference of the stack to what it stands for. `practices` are those that are known but not in
    force; those in force are among the `facts`.
    """

    stack: Stack
    target: Target
    facts: tuple[Fact, ...]
    policy: Policy
    indexes: Indexes
    digest: str
    readings: str = ""
    wheels_only: bool = False
    values: Mapping[str, tuple[Value, ...]] = msgspec.field(default_factory=dict)
    near_canns: tuple[str, ...] = ()
    sources: Mapping[str, Source] = msgspec.field(default_factory=dict)
    practices: tuple[Practice, ...] = ()

    def requirements_on(self, name: NormalizedName) -> tuple[RootRequirement, ...]:
        """The stack's lines about a project whose markers hold for the target."""
        return tuple(
            root
            for root in self.stack.requirements
            if isinstance(root.need, Requirement)
            and root.need.name == name
            and (root.need.marker is None or root.need.marker.evaluate(self.target.markers))
        )

    def source(self, name: NormalizedName) -> tuple[RootRequirement, Source] | None:
        """The line that takes a project from a repository, and what it stands for; None if an index serves it."""
        for root in self.requirements_on(name):
            assert isinstance(root.need, Requirement)  # noqa: S101  only these are asked for by name
            if root.need.url:
                return root, self.sources[root.need.url]
        return None
