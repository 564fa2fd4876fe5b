"""Contradictions and causes that reports say once."""

from __future__ import annotations

from resolver.explain.contradictions import contradiction, cores
from resolver.model.explanation import Contradiction
from resolver.report.explanation.conflict import conflict_blocks
from resolver.report.explanation.reasons import said_once
from resolver.report.terminal import terminal_text
from resolver.resolve.solver import Refutation, decide
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import problem


def found(catalog: DataCatalog, *lines: str) -> tuple[list[Contradiction], str]:
    """Return the contradictions of a stack, and the page about them."""
    asked = problem(*lines)
    answer = decide(Universe(asked, catalog))
    assert isinstance(answer, Refutation)
    known = [contradiction(answer.clauses, core) for core in cores(answer.clauses, lambda: False)]
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
