"""Reasons made by hand."""

from __future__ import annotations

from typing import Any

from resolver.model import fact as facts
from resolver.model.constraint import (
    ComponentValue,
    Excluded,
    Exclusive,
    ReleaseRequires,
    RequirementSource,
    StackLine,
    Unavailable,
    WhyNot,
)
from resolver.model.package import Package
from resolver.model.reason import Evidence, Reason, ReleaseRange
from tests.components import COMPONENTS


def asks(text: str, where: str = "") -> Reason:
    """The stack asks for a project."""
    return Reason(constraint=StackLine(text, where), where=where)


def has(component: str, value: str, where: str = "") -> Reason:
    """The target has a value of a component."""
    label = COMPONENTS[component].label
    return Reason(constraint=ComponentValue(component, value, where, label), where=where)


def requires(
    subject: str | Package,
    versions: tuple[ReleaseRange, ...],
    text: str,
    *,
    source: RequirementSource = RequirementSource.METADATA,
    where: str = "",
    fact: facts.Fact | None = None,
) -> Reason:
    """Releases of `project` or `project[extra]` require something."""
    if isinstance(subject, str):
        name, _, extra = subject.removesuffix("]").partition("[")
        subject = Package(name, extra)
    constraint = ReleaseRequires(subject, text, source, fact)
    return Reason(constraint=constraint, versions=versions, where=where)


def excluded(
    project: str, versions: tuple[ReleaseRange, ...], fact: facts.Excludes | facts.Names
) -> Reason:
    """A fact excludes releases."""
    return Reason(constraint=Excluded(project, fact), versions=versions, where=fact.where)


def exclusive(fact: facts.Collides | facts.Absent) -> Reason:
    """A fact says that two distributions exclude each other."""
    return Reason(constraint=Exclusive(fact), where=fact.where)


def unavailable(
    subject: str, why: WhyNot, wanted: str = "", *, where: str = "pypi", **evidence: Any
) -> Reason:
    """Releases cannot be used; `evidence` are the fields of an `Evidence`."""
    constraint = Unavailable(Package(subject), why, wanted)
    return Reason(constraint=constraint, where=where, evidence=Evidence(**evidence))
