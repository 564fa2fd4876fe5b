"""Families on which a plain search takes exponentially many rounds, or on which each round cost too much."""

from __future__ import annotations

from random import Random

import pytest

from resolver.model.resolution import Resolution
from tests.datacatalog import DataCatalog
from tests.problems import problem, solved


def pins(resolution: Resolution) -> dict[str, str]:
    return {pin.name: str(pin.version) for pin in resolution.pins}


@pytest.mark.parametrize("groups", [2, 6])
def test_runs_of_releases_with_the_same_requirements(groups: int) -> None:
    """Two of each group want the same project old and new, in 60 releases of which one oldest does not."""
    releases: dict[str, dict[str, list[str]]] = {}
    for group in range(groups):
        releases[f"base{group}"] = {str(version): [] for version in range(1, 5)}
        releases[f"one{group}"] = {str(version): [f"base{group}<3"] for version in range(1, 61)}
        releases[f"two{group}"] = {str(version): [f"base{group}>=3"] if version > 1 else [] for version in range(1, 61)}
    names = [f"{name}{group}" for group in range(groups) for name in ("one", "two")]
    resolution = solved(problem(*names), DataCatalog(releases))
    found = pins(resolution)
    for group in range(groups):
        assert (found[f"one{group}"], found[f"two{group}"], found[f"base{group}"]) == ("60", "1", "2")
    assert resolution.engine == "search"
    assert resolution.rounds <= 5 * groups


@pytest.mark.parametrize("groups", [2, 4])
def test_conflicts_that_show_late(groups: int) -> None:
    """boto3, botocore and urllib3, with who wants a newer urllib3 at the end of a chain."""
    releases: dict[str, dict[str, list[str]]] = {}
    for group in range(groups):
        releases[f"url{group}"] = {str(version): [] for version in range(1, 9)}
        releases[f"core{group}"] = {
            str(version): [f"url{group}<4"] if version > 5 else [f"url{group}"] for version in range(1, 41)
        }
        releases[f"boto{group}"] = {str(version): [f"core{group}=={version}"] for version in range(1, 41)}
        releases[f"late{group}"] = {"1": [f"url{group}>=6"]}
        releases[f"zchain{group}"] = {"1": [f"late{group}"]}
    resolution = solved(
        problem(*(f"{name}{group}" for group in range(groups) for name in ("boto", "zchain"))), DataCatalog(releases)
    )
    found = pins(resolution)
    for group in range(groups):
        assert (found[f"boto{group}"], found[f"core{group}"], found[f"url{group}"]) == ("5", "5", "8")
    assert resolution.rounds <= 300 * groups


def test_a_thousand_projects_take_a_round_each_in_the_end() -> None:
    """A chain longer than Python's stack is deep, and than the rounds after which a search gives up."""
    many = 1_010
    releases = {f"p{number}": {"1": [f"p{number + 1}"], "2": [f"p{number + 1}"]} for number in range(many)}
    releases[f"p{many}"] = {"1": []}
    resolution = solved(problem("p0"), DataCatalog(releases))
    assert (resolution.engine, len(resolution.pins)) == ("search", many + 1)
    assert resolution.rounds <= 2.1 * many


def test_layers_are_decided_from_above_whatever_their_names_are() -> None:
    """Who asks for a project is decided before it, so each is decided once, for the newest that all of them take."""
    random = Random(3)
    layers = [[f"p{number:03}" for number in range(at * 20, at * 20 + 20)] for at in reversed(range(12))]
    releases: dict[str, dict[str, list[str]]] = {}
    for layer, below in zip(layers, [*layers[1:], []], strict=True):
        for name in layer:
            some = random.sample(below, min(3, len(below)))
            lines = [f"{one}<{random.randint(5, 9)}" if random.random() < 0.2 else f"{one}>=2" for one in some]
            releases[name] = {str(version): lines for version in range(1, 10)}
    resolution = solved(problem(*layers[0]), DataCatalog(releases))
    found = pins(resolution)
    assert resolution.rounds == len(found)
    ends: dict[str, int] = {}
    for name, version in found.items():
        for line in releases[name][version]:
            if "<" in line:
                one, _, end = line.partition("<")
                ends[one] = min(int(end), ends.get(one, 10))
    assert len(ends) > 50
    assert found == {name: str(ends.get(name, 10) - 1) for name in found}
