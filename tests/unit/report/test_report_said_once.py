"""Contradictions and causes that reports say once."""

from __future__ import annotations

from resolver.explain.contradiction import contradiction_of
from resolver.explain.cores import enumerate_cores
from resolver.model.explanation import Contradiction
from resolver.report.explanation.conflict import conflict_blocks, conflict_pages
from resolver.report.explanation.grouping import alike, grouped, members_of, said_once
from resolver.report.terminal import terminal_text
from resolver.resolve.refutation import Refutation
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import problem
from tests.unit.report import samples


def found(catalog: DataCatalog, *lines: str) -> tuple[list[Contradiction], str]:
    """Return the contradictions of a stack, and the page about them."""
    asked = problem(*lines)
    answer = decide(Universe(asked, catalog))
    assert isinstance(answer, Refutation)
    known = [
        contradiction_of(answer.clauses, core)
        for core in enumerate_cores(answer.clauses, lambda: False)
    ]
    return known, terminal_text(conflict_blocks(asked, known, ()), "en")


def test_conflict_by_way_of_another_line_is_said_once() -> None:
    """`plugin` needs the `engine` of the other line, which clashes with `tool` itself."""
    catalog = DataCatalog().serve(
        "tool 1: base==1", "engine 1: base==2", "plugin 1: engine==1", "base 1 2"
    )
    known, page = found(catalog, "tool==1", "engine==1", "plugin==1")
    assert len(known) == 2
    assert page.count("engine 1 needs base==2") == 1
    assert "Conflict 1 of" not in page


def test_conflicts_for_different_reasons_are_all_said() -> None:
    catalog = DataCatalog().serve(
        "a 1: x==1", "b 1: x==2", "c 1: y==1", "d 1: y==2", "x 1 2", "y 1 2"
    )
    known, page = found(catalog, "a", "b", "c", "d")
    assert said_once(known) == known
    assert "Conflict 2 of 2" in page


def test_releases_without_a_file_for_one_reason_are_one_line() -> None:
    catalog = DataCatalog()
    for version in ("1", "2", "3"):
        for python in ("cp310", "cp311", "cp312"):
            catalog.add_wheel("decoder", version, tags=f"{python}-{python}-manylinux_2_28_x86_64")
    _, page = found(catalog, "decoder")
    assert page.count("each needs x86_64") == 1
    assert "3, 2 and 1: each needs x86_64" in page


def test_conflicts_of_one_kind_are_one() -> None:
    """`decoder` and `player` have wheels for another machine alone."""
    catalog = DataCatalog()
    for name in ("decoder", "player"):
        catalog.add_wheel(name, "1", tags="cp311-cp311-manylinux_2_28_x86_64")
    known, page = found(catalog, "decoder", "player")
    assert [len(group) for group in alike(known)] == [2]
    assert page.count("has no file for the target") == 1
    assert "Likewise, there is no choice for player." in page


def test_conflicts_with_pins_of_one_project_are_one() -> None:
    catalog = DataCatalog().serve("engine 1: base==1, vision==1", "base 1 2", "vision 1 2")
    known, page = found(catalog, "engine", "base==2", "vision==2")
    assert [len(group) for group in alike(known)] == [2]
    assert "Likewise, there is no choice for vision." in page


def test_conflicts_with_pins_of_several_projects_are_several() -> None:
    catalog = DataCatalog().serve(
        "engine 1: base==1", "tool 1: vision==1", "base 1 2", "vision 1 2"
    )
    known, _ = found(catalog, "engine", "tool", "base==2", "vision==2")
    assert [len(group) for group in alike(known)] == [1, 1]


def test_pages_about_many_conflicts_get_shorter() -> None:
    """The first has all reasons with their places; in the last, one conflict is in a few lines."""
    catalog = DataCatalog()
    lines = []
    for name in "abcdefghij":
        catalog.serve(f"{name} 1: {name}{name}==1", f"{name}{name} 1 2")
        lines += [name, f"{name}{name}==2"]
    asked = problem(*lines)
    known, _ = found(catalog, *lines)
    pages = [terminal_text(page, "en") for page in conflict_pages(asked, known, ())]
    lengths = [page.count("\n") for page in pages]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > 50
    assert lengths[-1] < 10
    assert "and 9 more, see the report" in pages[-1]


def test_grouped_reasons_state_no_constraint_but_those_of_the_core() -> None:
    (long,) = samples.long().contradictions
    known = {reason.constraint for reason in long.reasons}
    shown = grouped(long).reasons
    assert len(shown) < len(long.reasons)
    assert {reason.constraint for reason in shown} <= known
    members = [member for reason in shown for member in members_of(reason)]
    assert {member.constraint for member in members} == known
