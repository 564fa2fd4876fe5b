"""When a warning of a fact is shown for a resolution."""

from __future__ import annotations

import pytest

from resolver.config.compile import compile_problems
from resolver.lock.applied_facts import applied_facts
from resolver.model.fact import Warns
from resolver.model.resolution import Resolution
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.unit.explain.inputs import inputs_of, target, warning

NO_SERVER = warning("tool", "<3", "It has no server.", 'unless = ["tool[server]"]')


@pytest.mark.parametrize(
    ("line", "is_shown"),
    [
        ("tool==2", True),
        ("tool[server]==2", False),
        # In use, but this release does not have the extra.
        ("tool[server]==1", True),
        ("tool[server]==3", False),
    ],
)
def test_warns_unless_an_extra_is_in_use(line: str, is_shown: bool) -> None:
    catalog = DataCatalog().serve("web 1", "tool 1 3")
    catalog.add_wheel("tool", "2", ['web ; extra == "server"'], extras=("server",))
    (problem,) = compile_problems(inputs_of(line, more=target() + NO_SERVER))
    resolution = decide(Universe(problem, catalog))
    assert isinstance(resolution, Resolution)
    shown = [fact for fact in applied_facts(resolution) if isinstance(fact, Warns)]
    assert bool(shown) is is_shown
