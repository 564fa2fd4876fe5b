"""What successive changes of one line or component are together."""

from __future__ import annotations

import pytest

from resolver.explain.changed_stack import ChangedStack
from resolver.model import text
from resolver.model.change import Change, ComponentChanged, LineAdded, VersionChanged
from tests import changes
from tests.components import COMPONENTS


def version(before: str, after: str, steps: int = 0) -> VersionChanged:
    return changes.version(before, after, steps=steps)


def component(before: str, after: str) -> ComponentChanged:
    return ComponentChanged(component=COMPONENTS["cann"], before=before, after=after)


def added(line: str, group: str = "") -> LineAdded:
    return LineAdded(need=text.requirement(line), absent="old", number=-1, group=group)


def without_extras(before: str, after: str) -> Change:
    return changes.extras_removed(before, after)


DROPPED = changes.dropped("new==1")


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        (
            version("a[x]==3", "a[x]==2", -1),
            version("a[x]==2", "a[x]==1", -1),
            version("a[x]==3", "a[x]==1", -2),
        ),
        (
            version("a[x]==3", "a[x]==2", -1),
            without_extras("a[x]==2", "a==2"),
            version("a[x]==3", "a==2", -1),
        ),
        (
            without_extras("a[x]==3", "a==3"),
            version("a==3", "a==2", -1),
            version("a[x]==3", "a==2", -1),
        ),
        (version("a==3", "a==2", -1), version("a==2", "a==3", 1), None),
        (version("a_b==3", "a-b==2", -1), version("a-b==2", "a-b==3", 1), None),
        (
            component("8.5.0", "8.3.RC1"),
            component("8.3.RC1", "8.2.RC1"),
            component("8.5.0", "8.2.RC1"),
        ),
        (component("8.5.0", "8.3.RC1"), component("8.3.RC1", "8.5.0"), None),
        (added("new==1"), version("new==1", "new==2"), added("new==2")),
        (added("new==1", "a"), version("new==1", "new==2"), added("new==2", "a")),
        (added("new==1"), DROPPED, None),
    ],
)
def test_then_joins_changes_of_one_place(
    first: Change, second: Change, together: Change | None
) -> None:
    stacks = [ChangedStack((change,), 0, risky=False) for change in (first, second)]
    changed = stacks[0].then(stacks[1]).changes
    assert changed == (() if together is None else (together,))
