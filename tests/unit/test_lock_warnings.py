"""What a lock warns of, where a neighbour of the case must not be warned of."""

from __future__ import annotations

from collections.abc import Iterable

from resolver.lock.warnings import warnings
from resolver.model.fact import Fact
from resolver.model.message import message
from resolver.model.problem import PYPI, Problem
from resolver.model.release import ProjectStatus
from tests.datacatalog import DataCatalog
from tests.problems import problem, solved


def told(problem: Problem, catalog: DataCatalog, about: Iterable[Fact] = ()) -> list[str]:
    return list(warnings(solved(problem, catalog), tuple(about), catalog))


def test_a_project_is_unsafe_where_its_own_index_says_so() -> None:
    catalog = DataCatalog()
    catalog.add_wheel("a", "2")
    catalog.add_wheel("a", "1", index="other")
    catalog.bind("a", PYPI, "other")
    catalog.add_project("a", index="other", project_status=ProjectStatus("quarantined"))
    asked = problem("a", indexes=catalog.indexes())
    assert told(asked, catalog) == []
    catalog.add_project("a", project_status=ProjectStatus("archived"))
    assert told(asked, catalog) == [], "which is no danger"
    catalog.add_project("a", project_status=ProjectStatus("quarantined", "it steals"))
    assert told(asked, catalog) == [
        message("lock.quarantined-because", package="a 2", index="pypi", reason="it steals")
    ]
