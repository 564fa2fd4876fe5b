"""Changes of lines made of texts, and the texts that a report shows of changes."""

from __future__ import annotations

from typing import Any

from resolver.config.decode import parse_need
from resolver.model import text
from resolver.model.change import Change, ExtrasRemoved, LineDropped, VersionChanged
from resolver.model.constraint import StackLine
from resolver.model.problem import RootRequirement
from resolver.report.explanation.fixes import ends
from tests.components import COMPONENTS


def line(asked: str, where: str = "a:1") -> RootRequirement:
    need = parse_need(asked, COMPONENTS, direct=True)
    return RootRequirement(need=need, origin=StackLine(asked, where))


def version(before: str, after: str, **more: Any) -> VersionChanged:
    return VersionChanged(before=line(before), after=text.requirement(after), **more)


def extras_removed(before: str, after: str, **more: Any) -> ExtrasRemoved:
    return ExtrasRemoved(before=line(before), after=text.requirement(after), **more)


def dropped(before: str, **more: Any) -> LineDropped:
    return LineDropped(before=line(before), **more)


def before_of(change: Change) -> str:
    return ends(change)[0]


def after_of(change: Change) -> str:
    return ends(change)[1]
