"""Rows of compatibility tables: what else changes with them, and which come first."""

from __future__ import annotations

import pytest
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.config.compile import StackCompiler
from resolver.explain.clock import Clock
from resolver.explain.explain import explanation_of
from resolver.explain.trials import SHARE_OF_FIRST_ROW, SHARE_OF_ROW, Answer, Trials
from resolver.model.edit import Edits, SetLine
from tests.changes import after_of
from tests.datacatalog import DataCatalog
from tests.unit.explain.inputs import KNOWN, fact, inputs_of, refutation, target

# `plugin` 1 is for the target's CANN, 2 for another one; each goes with one `engine` and `base`.
PLUGINS = "".join(
    fact(
        "requires",
        "plugin",
        f"=={one}",
        f'needs = ["cann in {cann}", "engine=={one}", "base=={one}"]',
    )
    for one, cann in (("1", "8.5.0"), ("2", "8.3.RC1"))
)
RELEASES = ("engine 1 2 3", "base 1 2 3", "kernels 1rc1 1rc2 1rc3 1 2")
LINES = ("engine==3", "base==3", "plugin==2", "kernels==2")


def kernels(versions: str, need: str) -> str:
    return fact("requires", "kernels", versions, f'needs = ["{need}"]', "vendor")


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> list[Edits]:
    """Return the edits of all rows that are solved, in this order."""
    solved: list[Edits] = []
    solve_near = Trials.solve_near

    def recorded(
        trials: Trials,
        edits: Edits,
        preferred: dict[NormalizedName, Version],
        share: float = SHARE_OF_ROW,
    ) -> Answer:
        if share in (SHARE_OF_ROW, SHARE_OF_FIRST_ROW):
            solved.append(edits)
        return solve_near(trials, edits, preferred, share)

    monkeypatch.setattr(Trials, "solve_near", recorded)
    return solved


def first_way(catalog: DataCatalog, *lines: str, more: str) -> list[str]:
    """What the first way out that is found asks for."""
    inputs = inputs_of(*lines, more=more)
    found: list[list[str]] = []
    explanation_of(
        refutation(inputs, catalog),
        StackCompiler(inputs),
        Clock(60),
        lambda _: catalog,
        report_fix=lambda changes: found.append([after_of(change) for change in changes]),
    )
    return found[0]


def test_row_takes_the_prerelease_that_its_cann_has() -> None:
    """No final `kernels` is for the target's CANN; only with the pre-release CANN can stay."""
    catalog = DataCatalog().serve("plugin 1 2", *RELEASES)
    facts = kernels("==1rc1", "cann in 8.5.0") + kernels("==1rc2", "cann in 8.5.0")
    facts += kernels(">=1", "cann in 8.3.RC1")
    way = first_way(catalog, *LINES, more=target() + PLUGINS + facts)
    assert way == ["engine==1", "base==1", "plugin==1", "kernels==1rc2"]


def test_row_gives_a_bare_line_the_prerelease_that_its_cann_has() -> None:
    catalog = DataCatalog().serve("plugin 1 2", *RELEASES)
    facts = kernels("==1rc2", "cann in 8.5.0") + kernels(">=1", "cann in 8.3.RC1")
    lines = ("engine==3", "base==3", "plugin==2", "kernels")
    way = first_way(catalog, *lines, more=target() + PLUGINS + facts)
    assert way == ["engine==1", "base==1", "plugin==1", "kernels==1rc2"]


def test_row_drops_a_companion_that_no_release_suits(rows: list[Edits]) -> None:
    """`kernels` are for no machine of this kind, and `plugin` does not need them."""
    catalog = DataCatalog().serve("plugin 1 2", *RELEASES)
    facts = PLUGINS + kernels(">=0.dev0", "soc != 310P")
    way = first_way(catalog, *LINES, more=target() + facts)
    assert way == ["engine==1", "base==1", "plugin==1", ""]
    assert SetLine(3, "") in rows[0]


@pytest.mark.parametrize(
    "more",
    [
        fact("constrains", "tool", ">=0", 'bounds = ["engine<9"]'),
        fact("warns", "tool", ">=0", 'with = ["engine>=9"]\ntext = "it fails"'),
    ],
)
def test_row_leaves_lines_that_only_bound_others(rows: list[Edits], more: str) -> None:
    """`tool` bounds or warns of `engine`, but goes with many releases of it."""
    catalog = DataCatalog().serve("plugin 1 2", "tool 1 2", *RELEASES)
    lines = ("engine==3", "base==3", "plugin==2", "tool==1")
    way = first_way(catalog, *lines, more=target() + PLUGINS + more)
    assert way == ["engine==1", "base==1", "plugin==1"]
    changed = [edit.number for edits in rows for edit in edits if isinstance(edit, SetLine)]
    assert 3 not in changed


def test_row_keeps_a_companion_that_its_anchor_needs() -> None:
    """`plugin` 1 needs `kernels`, which are for another CANN; with it, nothing is dropped."""
    catalog = DataCatalog().serve("plugin 1: kernels", "plugin 2", *RELEASES)
    facts = PLUGINS + kernels(">=0.dev0", "cann in 8.3.RC1")
    way = first_way(catalog, *LINES, more=target() + facts)
    assert way == ["engine==2", "base==2", "8.3.RC1"]


def test_row_for_the_same_machine_changes_other_lines_that_refute_it(rows: list[Edits]) -> None:
    """As in a freeze: no table is about `web` and `form`, and `plugin` 2 needs another CANN."""
    catalog = DataCatalog().serve(
        "plugin 1: web>=2", "plugin 2", *RELEASES, "web 1", "web 2: form>=2", "form 1 2", "late 1"
    )
    lines = ("engine==3", "base==3", "plugin==2", "web==1", "form==1", "late==1")
    inputs = inputs_of(*lines, more=target() + PLUGINS)
    explained = explanation_of(
        refutation(inputs, catalog), StackCompiler(inputs), Clock(60), lambda _: catalog
    )
    ways = [set(map(after_of, fix.changes)) for fix in explained.fixes]
    assert {"engine==2", "base==2", "8.3.RC1"} in ways
    assert {"engine==1", "base==1", "plugin==1", "web==2", "form==2"} in ways
    assert any({SetLine(3, "web"), SetLine(4, "form")}.issubset(edits) for edits in rows)


def test_row_may_bring_what_makes_a_project_needless() -> None:
    """That `clash` is needless beside `plugin` holds only with the CANN that `plugin` is for."""
    catalog = DataCatalog().serve("engine 2: clash", "plugin 2", "clash 1", "base 1 2")
    needs = 'needs = ["cann in 8.3.RC1", "engine==2", "base==2"]'
    facts = fact("requires", "plugin", ">=0", needs)
    facts += fact("absent", "plugin", ">=0", 'without = "clash"')
    way = first_way(catalog, "plugin==2", "engine", "base==1", more=target() + facts)
    assert way == ["base==2", "8.3.RC1"]


def test_row_takes_the_python_that_its_releases_admit(rows: list[Edits]) -> None:
    """`plugin` 3 is for this Python, but not for `tool` 1; no contradiction is about Python."""
    catalog = DataCatalog().serve("engine 1 2 3", "base 1 2 3", "plugin 1 2", "plugin 3: tool>=2")
    catalog.serve("tool 1: engine<3")
    facts = "".join(
        fact(
            "requires",
            "plugin",
            f"=={one}",
            f'needs = ["cann in 8.5.0", "python < 3.12", "engine=={one}", "base=={one}"]',
        )
        for one in ("1", "2")
    )
    facts += fact("requires", "plugin", "==3", 'needs = ["cann in 8.5.0"]')
    lines = ("tool==1", "engine==3", "base==3", "plugin")
    way = first_way(catalog, *lines, more=target(python="3.12") + facts)
    assert way == ["3.11", "engine==2", "base==2"]
    assert len(rows) == 3, "plugin 3 alone, with another tool, and plugin 1 for this Python"


def test_row_of_what_the_stack_pins_comes_first(rows: list[Edits]) -> None:
    """The line about `plugin`, which is the anchor, says nothing of its release."""
    catalog = DataCatalog().serve("engine 1 2 3 4", "base 1 2 3 4", "plugin 1 2 3 4")
    facts = "".join(
        fact("requires", "plugin", f"=={one}", f'needs = ["cann in 8.5.0", "engine=={one}"]')
        + fact("requires", "plugin", f"=={one}", f'needs = ["base=={one}"]')
        for one in ("1", "2", "3", "4")
    )
    way = first_way(catalog, "plugin", "engine==2", "base==9", more=target() + facts)
    assert way == ["base==2"]
    assert SetLine(0, "plugin==2") in rows[0]


def test_row_nearest_to_what_the_stack_pins_comes_first(rows: list[Edits]) -> None:
    """No row has `engine` 1, which the stack pins; that of `plugin` 2 is next to it."""
    catalog = DataCatalog().serve("engine 1 2 3 4", "plugin 2 3 4")
    facts = "".join(
        fact("requires", "plugin", f"=={one}", f'needs = ["cann in 8.5.0", "engine=={one}"]')
        for one in ("2", "3", "4")
    )
    way = first_way(catalog, "plugin", "engine==1", more=target() + facts)
    assert way == ["engine==2"]
    assert SetLine(0, "plugin==2") in rows[0]


def test_rows_end_with_what_refutes_all_of_them(rows: list[Edits]) -> None:
    """Whatever `plugin` is taken, a project of its own that is far away needs another `other`."""
    numbers = ("1", "2", "3", "4", "5", "6")
    catalog = DataCatalog().serve("engine 1 2 3 4 5 6 9", "other 1 2")
    for one in numbers:
        catalog.serve(
            f"plugin {one}: near=={one}", f"near {one}: far{one}", f"far{one} 1: last{one}"
        )
        catalog.serve(f"last{one} 1: other>=2")
    facts = "".join(
        fact("requires", "plugin", f"=={one}", f'needs = ["cann in 8.5.0", "engine=={one}"]')
        for one in numbers
    )
    first_way(catalog, "engine==9", "plugin==6", "other==1", more=target() + facts)
    assert SetLine(1, "plugin==6") in rows[0]
    assert SetLine(1, "plugin==5") in rows[1]
    # The third asks whether there can be another one, and is no row. `other` refutes them all.
    assert SetLine(1, "plugin==6") in rows[3]
    assert SetLine(2, "other") in rows[3]
    assert len(rows) == 4


def test_anchor_is_what_most_of_the_others_follow_from(rows: list[Edits]) -> None:
    """`runtime` names more projects; `plugin` decides `engine`, from which `runtime` follows."""
    catalog = DataCatalog().serve("plugin 1 2", "engine 1: runtime==1", "engine 2: runtime==2")
    catalog.serve("runtime 1 2", "lib 1 2 3", "util 1 2 3")
    facts = ""
    for one in ("1", "2"):
        facts += fact(
            "requires", "plugin", f"=={one}", f'needs = ["cann in 8.5.0", "engine=={one}"]'
        )
        needs = f'needs = ["cann in 8.5.0", "lib=={one}", "util=={one}"]'
        facts += fact("requires", "runtime", f"=={one}", needs)
    lines = ("plugin", "engine==1", "runtime", "lib==3", "util==3")
    way = first_way(catalog, *lines, more=target() + facts)
    assert way == ["lib==1", "util==1"]
    assert SetLine(0, "plugin==1") in rows[0]


def row(version: str, cann: str) -> str:
    """`plugin` of this version goes with `engine` of the same, and with a CANN."""
    release = version.replace("rc1", "")
    needs = f'needs = ["engine=={release}", "cann in {cann}"]'
    return fact("requires", "plugin", f"=={version}", needs, "vendor")


def test_row_of_the_same_cann_line_comes_before_older_releases(rows: list[Edits]) -> None:
    """The line names a pre-release; the final one is for 8.5.1, and `plugin` 1 for 8.5.0."""
    catalog = DataCatalog().serve("engine 1 2 3", "plugin 1 2rc1 3rc1 3")
    facts = row("1", "8.5.0") + row("2rc1", "8.3.RC1") + row("3rc1", "8.5.1") + row("3", "8.5.1")
    known = {**KNOWN, "cann": ["8.3.RC1", "8.5.0", "8.5.1"]}
    inputs = inputs_of("engine==3", "plugin==2rc1", more=target() + facts, known=known)
    (first, *_) = explanation_of(
        refutation(inputs, catalog), StackCompiler(inputs), Clock(60), lambda _: catalog
    ).fixes
    assert [after_of(change) for change in first.changes] == ["plugin==3", "8.5.1"]
    assert SetLine(1, "plugin==3") in rows[0]
