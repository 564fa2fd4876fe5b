"""The check of a resolution knows every kind of fact, or it is known to have no effect on one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from resolver import resolve
from resolver.model.fact import KINDS, Fact

# The kinds that neither forbid nor require a release: why.
WITHOUT_EFFECT = {
    "after": "it orders the installation",
    "warns": "it warns, or prefers another release",
    "exports": "it sets variables on the machine",
    "external": "a build needs it of the machine",
    "optional": "its programs need not start",
    "pairs": "no lock depends on it",
}
# The modules that check an answer without the code that found it.
CHECKING = ("independent_*.py", "check_refutation.py")


def named_kinds() -> Iterator[str]:
    """The kinds that the checking modules name: `facts.Builds`."""
    folder = Path(resolve.__file__).parent
    for pattern in CHECKING:
        for path in folder.glob(pattern):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "facts":
                    yield node.attr


def adds_needs_or_bounds(kind: type[Fact]) -> bool:
    """Whether the check reads the kind through what all kinds have."""
    hooks = ("added_needs", "needs_for", "bounds_for")
    return any(getattr(kind, hook) is not getattr(Fact, hook) for hook in hooks)


@pytest.mark.parametrize("name", KINDS)
def test_check_knows_every_kind_that_has_an_effect(name: str) -> None:
    kind = KINDS[name]
    is_checked = kind.__name__ in set(named_kinds()) or adds_needs_or_bounds(kind)
    assert is_checked != (name in WITHOUT_EFFECT)
