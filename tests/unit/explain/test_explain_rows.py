"""Rows of compatibility tables: what else changes with them, and which come first."""

from __future__ import annotations

import pytest
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.config.compile import StackCompiler
from resolver.explain.clock import Clock
from resolver.explain.explain import explanation_of
from resolver.explain.trials import Answer, Trials
from resolver.model.edit import Edits, SetLine
from tests.datacatalog import DataCatalog
from tests.unit.explain.inputs import fact, inputs_of, refutation, target

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


def first_way(catalog: DataCatalog, *lines: str, more: str) -> list[str]:
    """What the first way out that is found asks for."""
    inputs = inputs_of(*lines, more=more)
    found: list[list[str]] = []
    explanation_of(
        refutation(inputs, catalog),
        StackCompiler(inputs),
        Clock(60),
        lambda _: catalog,
        report_fix=lambda changes: found.append([change.after for change in changes]),
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


def test_row_drops_a_companion_that_no_release_suits(monkeypatch: pytest.MonkeyPatch) -> None:
    """`kernels` are for no machine of this kind, and `plugin` does not need them."""
    catalog = DataCatalog().serve("plugin 1 2", *RELEASES)
    facts = PLUGINS + kernels(">=0.dev0", "soc != 310P")
    rows: list[Edits] = []
    solve_near = Trials.solve_near

    def recorded(
        trials: Trials, edits: Edits, preferred: dict[NormalizedName, Version], *share: float
    ) -> Answer:
        rows.append(edits)
        return solve_near(trials, edits, preferred, *share)

    monkeypatch.setattr(Trials, "solve_near", recorded)
    way = first_way(catalog, *LINES, more=target() + facts)
    assert way == ["engine==1", "base==1", "plugin==1", ""]
    assert SetLine(3, "") in rows[0]


def test_row_keeps_a_companion_that_its_anchor_needs() -> None:
    """`plugin` 1 needs `kernels`, which are for another CANN; with it, nothing is dropped."""
    catalog = DataCatalog().serve("plugin 1: kernels", "plugin 2", *RELEASES)
    facts = PLUGINS + kernels(">=0.dev0", "cann in 8.3.RC1")
    way = first_way(catalog, *LINES, more=target() + facts)
    assert way == ["engine==2", "base==2", "8.3.RC1"]


def test_row_may_bring_what_makes_a_project_needless() -> None:
    """That `clash` is needless beside `plugin` holds only with the CANN that `plugin` is for."""
    catalog = DataCatalog().serve("engine 2: clash", "plugin 2", "clash 1", "base 1 2")
    needs = 'needs = ["cann in 8.3.RC1", "engine==2", "base==2"]'
    facts = fact("requires", "plugin", ">=0", needs)
    facts += fact("absent", "plugin", ">=0", 'without = "clash"')
    way = first_way(catalog, "plugin==2", "engine", "base==1", more=target() + facts)
    assert way == ["base==2", "8.3.RC1"]
