"""How much the complete engine reads and asks where releases of a package fail in a row."""

from __future__ import annotations

import pytest
from packaging.version import Version

from resolver.model.resolution import Lack
from resolver.resolve.complete import CompleteEngine, Unsatisfiable
from resolver.resolve.grounded import Lacking
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import problem

_MANY = 120


def test_releases_that_fail_in_a_row_are_decided_ahead_of_what_they_fail_against() -> None:
    """Each `sdk` has a `core` of its own, and none of them fits the `dates` that was decided before."""
    catalog = DataCatalog().serve("app 1: alpha, sdk", "alpha 1: dates", "dates 1 2")
    for number in range(_MANY):
        catalog.serve(f"sdk 1.{number}: core==1.{number}", f"core 1.{number}: dates<2")
    engine = CompleteEngine(Universe(problem("app"), catalog))
    chosen = {package.name: str(one.version) for package, one in engine.solve().items()}
    newest = f"1.{_MANY - 1}"
    assert chosen == {"app": "1", "alpha": "1", "dates": "1", "sdk": newest, "core": newest}
    assert engine.rounds < 60
    assert len(catalog.asked) < 40


def test_what_a_decision_asks_not_to_be_is_not_asked_about() -> None:
    """Of `core` only the one that `sdk` pins can be: the hundred others are no question."""
    catalog = DataCatalog().serve("app 1: sdk, zeta==2", "sdk 2: core==1.7", "sdk 1", "zeta 1 2")
    catalog.serve(*(f"core 1.{number}: zeta==1" for number in range(_MANY)))
    engine = CompleteEngine(Universe(problem("app"), catalog))
    chosen = {package.name: one.version for package, one in engine.solve().items()}
    assert chosen == {"app": Version("1"), "sdk": Version("1"), "zeta": Version("2")}
    assert engine.rounds < 20


def test_an_extra_is_looked_for_among_what_is_left_of_its_project() -> None:
    """Each `core[b]` but the oldest needs what is not there; with a `core` decided, only its own is a question."""
    catalog = DataCatalog({"zeta": {"1": []}})
    for number in range(1, _MANY + 1):
        needs = [f"zeta>={1 if number == 1 else 2} ; extra == 'b'"]
        catalog.add_wheel("core", f"1.{number}", needs, extras=["a", "b"])
    engine = CompleteEngine(Universe(problem("core[a,b]"), catalog))
    chosen = {str(package): str(one.version) for package, one in engine.solve().items()}
    assert chosen == {"core": "1.1", "core[a]": "1.1", "core[b]": "1.1", "zeta": "1"}
    assert engine.rounds < 5 * _MANY


def test_a_policy_on_prereleases_is_named_where_many_were_not_read() -> None:
    """Any of 500 releases might ask for the pre-release of `deep`. They are not read; that it is out is a statement."""
    catalog = DataCatalog().serve("app 1: many, deep", "deep 1: gone", "deep 1a1")
    catalog.serve(*(f"many {version}" for version in range(1, 501)))
    engine = CompleteEngine(Universe(problem("app", "deep<2"), catalog))
    with pytest.raises(Unsatisfiable) as caught:
        engine.solve()
    lacking = [one for one in caught.value.core if isinstance(one, Lacking) and one.project == "deep"]
    assert [one.lack for one in lacking] == [Lack.NEEDLESS]
    assert len(catalog.asked) < 10
