"""The schemas of stack, fact, index and systems files, as msgspec types.

Unknown keys are refused. These types stay in this package; `compile` turns them
into those of the model.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal

import msgspec

from resolver.model.fact import MachineNeed
from resolver.model.target import Platform

Text = Annotated[str, msgspec.Meta(min_length=1)]
Texts = Annotated[list[Text], msgspec.Meta(min_length=1)]
Prereleases = Literal["if-necessary", "allow", "never"]
Strength = Literal["enforced", "vendor", "documented", "observed", "practice"]


def _form(pattern: str, description: str, *examples: str) -> msgspec.Meta:
    """A whole text of this form; `schema_errors` tells the rest."""
    return msgspec.Meta(pattern=rf"^{pattern}\Z", description=description, examples=list(examples))


_DAY = Annotated[dt.date, msgspec.Meta(examples=["2026-01-31"])]
_NAME = Annotated[
    str,
    _form(
        r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}",
        "a name of at most 80 letters, digits, `.`, `_` and `-`, beginning with a letter or digit",
    ),
]
_LABEL = Annotated[
    str,
    _form(
        r"[a-z0-9]+(\.[a-z0-9]+)*",
        "a local version label of lower case letters and digits, with dots between them",
        '"empty"',
    ),
]
_MODULE = Annotated[str, _form(r"[A-Za-z_][A-Za-z0-9_.]*", "the name of a module", '"torch"', '"vllm.engine"')]
_GLIBC = Annotated[str, _form(r"2\.\d{1,3}", "a version of glibc", '"2.28"')]


class _Table(msgspec.Struct, forbid_unknown_fields=True, rename="kebab", kw_only=True):
    pass


# --- facts/<project>.toml


class Defaults(_Table, kw_only=True):
    """Values that the rows of the file need not repeat."""

    strength: Strength | None = None
    source: Text | None = None
    checked: _DAY | None = None


class Evidence(_Table, kw_only=True):
    """What every fact has. Without a Chinese text, the English one is shown."""

    id: Text | None = None
    package: Text | None = None
    reason: Text
    reason_zh: Text | None = None
    strength: Strength | None = None
    source: Text | None = None
    checked: _DAY | None = None


class FactRow(Evidence, kw_only=True):
    """A fact about releases. `versions` is one specifier set, or several of which any may match."""

    versions: Text | Texts = ">=0"


class RequirementsRow(FactRow, kw_only=True):
    """A fact that may be a practice; `risk` is for practices only."""

    risk: Text | None = None
    risk_zh: Text | None = None


class RequiresRow(RequirementsRow, kw_only=True):
    needs: Texts
    wheels: bool = False


class ExcludesRow(FactRow, kw_only=True):
    pass


class ReplacesRow(RequirementsRow, kw_only=True):
    drop: Texts
    add: list[Text] = []


class MetadataRow(FactRow, kw_only=True):
    requires: list[Text]
    build_requires: list[Text] | None = None
    requires_python: Text | None = None


class BuildsRow(FactRow, kw_only=True):
    from_: Literal["sdist"] = msgspec.field(name="from", default="sdist")
    requires_from: Text
    when: list[Text] = []
    env: dict[str, str] = {}
    isolation: bool = True
    label: _LABEL | None = None
    build_drop: list[Text] = []
    build_add: list[Text] = []


class CollidesRow(FactRow, kw_only=True):
    with_: Text = msgspec.field(name="with")
    module: Text


class AfterRow(FactRow, kw_only=True):
    others: Texts


class WarnsRow(FactRow, kw_only=True):
    text: Text
    text_zh: Text | None = None
    grave: bool = False
    wheels: bool = False
    with_: list[Text] = msgspec.field(name="with", default_factory=list)
    unless: list[Text] = []
    extra: Text | None = None
    last: Annotated[int, msgspec.Meta(ge=0, le=9, description="a number from 1 to 9")] = 0


class NamesRow(FactRow, kw_only=True):
    index: Text = "pypi"
    component: Text | None = None
    unless_asked: list[Text] = []


class ExportsRow(FactRow, kw_only=True):
    env: Annotated[dict[str, str], msgspec.Meta(min_length=1)]
    optional: bool = False


class AbsentRow(FactRow, kw_only=True):
    without: Text


class ExternalRow(FactRow, kw_only=True):
    """What a build from source needs of the machine, beyond distributions (as `[external]` in PEP 725)."""

    needs: Annotated[list[MachineNeed], msgspec.Meta(min_length=1)]


class StepRow(_Table, kw_only=True):
    """One of: move and to, comment and in, run, run and wheels."""

    move: Text | None = None
    to: Text | None = None
    comment: Text | None = None
    in_: Text | None = msgspec.field(name="in", default=None)
    run: Texts | None = None
    wheels: Text | None = None


class SubmoduleRow(_Table, kw_only=True):
    """A repository inside the checkout."""

    path: Text
    git: Text
    commit: Text


class SourcesRow(Evidence, kw_only=True):
    """A commit of a git repository. Instead of `versions` it has `version`, the version that its build has."""

    git: Text
    commit: Text
    ref: Text = ""
    subdirectory: Text | None = None
    version: Text
    requires: list[Text]
    requires_from: list[Text] = []
    drop: list[Text] = []
    requires_python: Text | None = None
    build_requires: list[Text]
    isolation: bool = True
    editable: bool = False
    env: dict[str, str] = {}
    steps: list[StepRow] = []
    rewrites: list[Text] = []
    submodules: list[SubmoduleRow] = []


class FactFile(_Table, kw_only=True):
    """All facts about one project, by kind. A lock has them in the order of these fields."""

    defaults: Defaults = msgspec.field(default_factory=Defaults)
    requires: list[RequiresRow] = []
    excludes: list[ExcludesRow] = []
    replaces: list[ReplacesRow] = []
    metadata: list[MetadataRow] = []
    builds: list[BuildsRow] = []
    collides: list[CollidesRow] = []
    after: list[AfterRow] = []
    warns: list[WarnsRow] = []
    names: list[NamesRow] = []
    sources: list[SourcesRow] = []
    absent: list[AbsentRow] = []
    exports: list[ExportsRow] = []
    external: list[ExternalRow] = []


# --- indexes.toml, and [[index]] / [[binding]] of a stack


class IndexRow(_Table, kw_only=True):
    """`packages` is shorthand for a binding of these projects to this index alone.

    An index that is not `complete` has only selected releases of its projects.
    """

    name: Text
    url: Text | None = None
    mirrors: list[Text] = []
    packages: list[Text] = []
    complete: bool = True


class BindingRow(_Table, kw_only=True):
    packages: Texts
    indexes: Texts
    take: Literal["first", "all"] = "first"
    unreachable: Literal["fail", "next"] = "fail"
    platforms: list[Platform] = []
    reason: str = ""


class IndexesFile(_Table, kw_only=True):
    index: list[IndexRow] = []
    binding: list[BindingRow] = []


# --- systems.toml


class ComponentRow(_Table, kw_only=True):
    """What is known about a component: what it is, and the values that exist, oldest first."""

    summary: Text
    known: list[Text] = []
    source: str = ""


class SystemsFile(_Table, kw_only=True):
    component: dict[str, ComponentRow]


# --- images.toml


class ImageRow(_Table, kw_only=True):
    """A base image with CANN, and its contents."""

    name: Annotated[str, _form(r"[a-z0-9][A-Za-z0-9._/:@-]{0,254}", "the name of an image with its host and tag")]
    cann: Text
    soc: Text
    python: Annotated[str, _form(r"3\.\d{1,2}", "a version of Python without a patch number", '"3.11"')]
    glibc: _GLIBC
    source: Text | None = None


class ImagesFile(_Table, kw_only=True):
    defaults: Defaults = msgspec.field(default_factory=Defaults)
    image: list[ImageRow] = []


# --- stacks/<stack>.toml


class StackTable(_Table, kw_only=True):
    name: _NAME
    summary: Text
    summary_zh: Text | None = None
    source: str = ""
    requires: list[Text]
    facts: list[Text] | None = None
    practices: Literal["all"] | list[Text] = []


class TargetTable(_Table, kw_only=True):
    name: _NAME | None = None
    python: Annotated[str, _form(r"3\.\d{1,2}(\.\d{1,3})?", "one version of Python", '"3.11"', '"3.11.4"')]
    platform: Platform
    glibc: _GLIBC = "2.28"
    system: Annotated[dict[str, str], msgspec.Meta(examples=['system = { cann = "8.5.0", soc = "A2" }'])] = {}


class PolicyTable(_Table, kw_only=True):
    prereleases: Prereleases = "if-necessary"
    prereleases_of: dict[str, Prereleases] = {}
    exclude_newer: Any = None  # a TOML date or date-time; msgspec has no union of the two


class DepartsRow(_Table, kw_only=True):
    """Where the stack differs from its guide; the Chinese texts are optional."""

    guide: Text
    guide_zh: Text | None = None
    here: Text
    here_zh: Text | None = None
    reason: Text
    reason_zh: Text | None = None


class CheckTable(_Table, kw_only=True):
    imports: list[_MODULE] = []
    env: dict[str, str] = {}


class RelaxRow(_Table, kw_only=True):
    """A fact that the stack sets aside, entirely or some of its needs, and why."""

    fact: Text
    needs: Texts | None = None
    reason: Text


class AbsenceRow(_Table, kw_only=True):
    """A distribution that must not be installed, and why."""

    package: Text
    reason: Text
    reason_zh: Text | None = None


class RecordedRow(_Table, kw_only=True):
    """A wheel on an index that cannot be reached from everywhere, as described by other sources."""

    index: Text
    file: Text
    sha256: Annotated[str, _form(r"[0-9a-f]{64}", "a sha256: 64 hexadecimal digits, in lower case")]
    requires: list[Text]
    requires_python: Text | None = None
    source: Text
    checked: _DAY


class StackFile(_Table, kw_only=True):
    stack: StackTable
    target: TargetTable | list[TargetTable]
    index: list[IndexRow] | None = None
    binding: list[BindingRow] | None = None
    policy: PolicyTable = msgspec.field(default_factory=PolicyTable)
    departs: list[DepartsRow] = []
    relax: list[RelaxRow] = []
    absent: list[AbsenceRow] = []
    recorded: list[RecordedRow] = []
    fact: FactFile = msgspec.field(default_factory=FactFile)
    check: CheckTable = msgspec.field(default_factory=CheckTable)
