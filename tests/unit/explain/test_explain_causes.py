"""Why lines and components change in a way out although no conflict is about them."""

from __future__ import annotations

import pytest

from resolver.config.compile import compile_problems
from resolver.explain.causes import with_causes
from resolver.i18n import translate
from resolver.model.change import Change, ComponentChanged
from resolver.model.explanation import Environment, Fix
from resolver.model.package import Package
from resolver.model.resolution import Resolution
from resolver.report.explanation.fixes import change_sentence
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe
from tests.changes import dropped, version
from tests.components import COMPONENTS
from tests.datacatalog import DataCatalog
from tests.unit.explain.inputs import inputs_of, matrix, target

CATALOG = DataCatalog().serve(
    "torch 7 8",
    "torch-plugin 7: torch==7",
    "ascend 1: torch==7, torch-plugin==7",
    "vision 3: torch==8",
    "vision 2: torch==7",
    "zest 1: torch==7",
)
CANN = ComponentChanged(component=COMPONENTS["cann"], before="8.3.RC1", after="8.5.0")


def sentence(
    change: Change, *lines: str, off: tuple[str, ...] = (), beside: tuple[Change, ...] = ()
) -> str:
    """Return what is said of a change whose stack has these lines, with changes `beside` it."""
    table = matrix("==1", "8.5.0").replace('"plugin"', '"ascend"')
    (problem,) = compile_problems(inputs_of(*lines, more=target() + table))
    universe = Universe(problem, CATALOG)
    resolution = decide(universe)
    assert isinstance(resolution, Resolution)
    # The search for contradictions opens what the lines of the original stack pin.
    newest = universe.candidate(Package("vision"), 0)
    assert newest is not None
    universe.edges(newest)
    environment = Environment(name="demo", requires=(), pins=(), count=1, off=off)
    fix = Fix(
        name="", changes=(change, *beside), environments=(environment,), files=(), risky=False
    )
    changed, *_ = with_causes(fix, [], resolution, universe)
    return translate(change_sentence(changed), "en")


def test_cause_is_the_release_that_pins_and_not_one_that_follows() -> None:
    """`torch-plugin` pins `torch` as well, and is pinned by `ascend` itself."""
    told = sentence(version("torch==8", "torch==7"), "torch==7", "torch-plugin", "ascend")
    assert told == "ask for torch==7 instead of torch==8, because ascend 1 needs torch==7"


def test_cause_is_what_does_not_change_itself() -> None:
    lines = "torch==7", "vision==2", "zest"
    vision = version("vision==3", "vision==2")
    told = sentence(version("torch==8", "torch==7"), *lines, beside=(vision,))
    assert told == "ask for torch==7 instead of torch==8, because zest 1 needs torch==7"


def test_cause_is_what_the_former_release_needed() -> None:
    told = sentence(version("vision==3", "vision==2"), "torch==7", "vision==2")
    assert told == "ask for vision==2 instead of vision==3, because vision 3 needs torch==8"


def test_cause_of_a_component_is_the_table_of_a_pin() -> None:
    told = sentence(CANN, "ascend")
    assert told == "CANN 8.5.0 instead of 8.3.RC1, because ascend 1 needs cann in 8.5.0"


def test_cause_of_a_component_is_none_where_markers_choose_lines() -> None:
    """What the lock has there follows from the change, and is no reason for it."""
    told = sentence(CANN, "ascend", off=("ascend==2",))
    assert told == "CANN 8.5.0 instead of 8.3.RC1"


@pytest.mark.parametrize(
    "change",
    [
        version("torch==8", "torch==7", shipped="training"),
        version("torch>=6", "torch==7"),
        dropped("torch==8"),
    ],
)
def test_cause_is_left_out_where_nothing_forces_the_change(change: Change) -> None:
    assert "because" not in sentence(change, "torch==7", "ascend")
