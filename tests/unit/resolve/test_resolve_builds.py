"""Separate build environment in which a lock's source archives are built."""

from __future__ import annotations

import pytest
from packaging.version import Version

from resolver.i18n import translate
from resolver.model.fact import Fact
from resolver.model.resolution import Resolution
from resolver.report.explanation.sentences import sentence
from resolver.resolve.builds import ALL_ARCHIVES, build_problem, solve_builds
from resolver.resolve.refutation import Refutation
from tests.datacatalog import DataCatalog
from tests.problems import builds, metadata, problem, solved, taken, with_sources


def tools() -> DataCatalog:
    catalog = DataCatalog(
        {"setuptools": {"79": [], "80": []}, "wheel": {"1": []}, "ninja": {"1": ["wheel"]}}
    )
    catalog.add_wheel("a", "1")
    return catalog


def built(catalog: DataCatalog, *requirements: str, **more: object) -> dict[str, str]:
    ((archives, answer),) = solve_builds(solved(problem(*requirements), catalog), catalog, **more)
    assert archives == ALL_ARCHIVES
    assert isinstance(answer, Resolution)
    return {pin.name: str(pin.version) for pin in answer.pins}


def test_builds_pin_what_archives_require() -> None:
    catalog = tools()
    catalog.add_archive("b", "1", build_requires=["setuptools<80", "ninja"])
    catalog.add_archive("c", "1", build_requires=None)
    assert built(catalog, "a", "b") == {"ninja": "1", "setuptools": "79", "wheel": "1"}
    assert built(catalog, "c") == {"setuptools": "80", "wheel": "1"}  # PEP 517's default


def test_builds_refuse_a_tool_without_a_wheel() -> None:
    catalog = tools()
    catalog.add_archive("b", "1", build_requires=["tool"])
    catalog.add_archive("tool", "1")
    ((_, answer),) = solve_builds(solved(problem("b"), catalog), catalog)
    assert isinstance(answer, Refutation)
    assert [translate(sentence(reason), "en") for reason in answer.reasons] == [
        "building b 1 needs tool",
        (
            "tool 1 has no file for the target: tool-1.tar.gz is a source archive, "
            "and build tools are not built "
            "from source themselves"
        ),
    ]


BY_ARCHIVE = "build-system.requires of a-1.tar.gz"
BY_FACT = "facts/a.toml:7"


@pytest.mark.parametrize(
    ("facts", "places"),
    [
        ([], {"nowhere": BY_ARCHIVE}),
        ([metadata("a", "")], {"nowhere": BY_ARCHIVE}),
        ([metadata("a", "", build_requires=["tool"])], {"tool": BY_FACT}),
        ([builds("a", "", "needs.txt")], {"nowhere": BY_ARCHIVE}),
        ([builds("a", "", "needs.txt", add=["tool"])], {"nowhere": BY_ARCHIVE, "tool": BY_FACT}),
        (
            [builds("a", "", "needs.txt"), metadata("a", "", build_requires=["tool"])],
            {"nowhere": BY_ARCHIVE},
        ),
    ],
)
def test_builds_name_the_fact_that_requires_a_tool(
    facts: list[Fact], places: dict[str, str]
) -> None:
    catalog = DataCatalog()
    catalog.add_archive("a", "1", build_requires=["nowhere"], members={"needs.txt": ""})
    wanted = build_problem(solved(problem("a", facts=facts), catalog), catalog, ("a",))
    assert wanted is not None
    found = {root.origin.text: root.origin.where for root in wanted.stack.requirements}
    assert found == places


def test_builds_name_the_fact_about_a_commit() -> None:
    line, source = taken("a", "1", build_requires=("tool",))
    resolution = solved(with_sources(problem(line), source), DataCatalog())
    wanted = build_problem(resolution, DataCatalog(), ("a",))
    assert wanted is not None
    assert [root.origin.where for root in wanted.stack.requirements] == [BY_FACT]


def test_builds_of_contradicting_tools_are_apart() -> None:
    catalog = tools()
    catalog.add_archive("b", "1", build_requires=["setuptools<80"])
    catalog.add_archive("c", "1", build_requires=["setuptools>=80"])
    catalog.add_archive("d", "1", build_requires=["setuptools", "ninja"])
    catalog.add_archive("e", "1", build_requires=["nowhere"])
    catalog.add_archive("f", "1", build_requires=["setuptools>=80"])
    resolution = solved(problem("b", "c", "d", "e", "f"), catalog)
    kept = {("c", "f"): {"setuptools": Version("81")}, ALL_ARCHIVES: {"setuptools": Version("80")}}
    catalog.add_wheel("setuptools", "81")
    found = solve_builds(resolution, catalog, preferred=kept)
    assert [(one.archives, type(one.answer)) for one in found] == [
        (("b", "d"), Resolution),
        (("c", "f"), Resolution),
        (("e",), Refutation),
    ]
    pins = [{pin.name: str(pin.version) for pin in one.answer.pins} for one in found[:2]]
    assert pins == [{"ninja": "1", "setuptools": "79", "wheel": "1"}, {"setuptools": "81"}]
