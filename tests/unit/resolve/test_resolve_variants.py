"""Variants of wheels (PEP 825): the search and its check decide by themselves.

A wrong choice does not pass.
"""

from __future__ import annotations

import dataclasses

import pytest
from msgspec.structs import replace

from resolver.model.fact import Builds, Requires
from resolver.model.problem import Problem
from resolver.model.requirement import ComponentRequirement
from resolver.model.resolution import Resolution
from resolver.model.variant import TargetFeature, Variant
from resolver.resolve.independent_check import check
from tests.components import COMPONENTS
from tests.datacatalog import DataCatalog
from tests.problems import builds, problem, refused, requires, solved, target

A3 = TargetFeature(name="ascend :: npu_type", component="soc", values=("a3",))
NPU = {label: {"ascend :: npu_type": [label]} for label in ("910b", "a3")}


def wanted(*facts: Requires | Builds, feature: TargetFeature = A3) -> Problem:
    return problem(
        "a", facts=facts, target=dataclasses.replace(target(soc="A3"), features=(feature,))
    )


@pytest.fixture
def catalog() -> DataCatalog:
    """A release with a plain wheel and variants for A2 and A3."""
    offered = DataCatalog({"a": {"1": []}})
    offered.add_variants("a", "1", NPU)
    return offered


def with_file(
    answer: Resolution, catalog: DataCatalog, label: str, variant: Variant | None
) -> Resolution:
    """The resolution with another wheel of the page."""
    (pin,) = answer.pins
    ending = f"-any-{label}.whl" if label else "-any.whl"
    (page,) = catalog.lookup(pin.name).pages
    (file,) = [file for file in page.releases["1"] if file.filename.endswith(ending)]
    release = replace(pin.release, file=file, others=(), variant=variant)
    return replace(answer, pins=(replace(pin, release=release),))


@pytest.mark.parametrize(
    ("label", "stated", "fault"),
    [
        ("910b", "910b", "a-1-py3-none-any-910b.whl is a variant that is not for the target"),
        ("", "", "a-1-py3-none-any.whl is not what pip takes"),
        ("a3", "", "a-1-py3-none-any-a3.whl is not of the variant that is pinned"),
        ("910b", "a3", "a-1-py3-none-any-910b.whl is not of the variant that is pinned"),
        ("", "a3", "a-1-py3-none-any.whl is not of the variant that is pinned"),
    ],
)
def test_check_finds_another_variant(
    catalog: DataCatalog, label: str, stated: str, fault: str
) -> None:
    answer = solved(wanted(), catalog)
    assert answer.pins[0].release.file.filename == "a-1-py3-none-any-a3.whl"
    variant = Variant(label=stated) if stated else None
    assert fault in check(wanted(), with_file(answer, catalog, label, variant), catalog)


def test_check_finds_other_wheels_of_another_variant(catalog: DataCatalog) -> None:
    answer = solved(wanted(), catalog)
    (pin,) = answer.pins
    assert pin.release.others == ()
    (page,) = catalog.lookup(pin.name).pages
    others = tuple(file for file in page.releases["1"] if file != pin.release.file)
    wrong = replace(answer, pins=(replace(pin, release=replace(pin.release, others=others)),))
    faults = check(wanted(), wrong, catalog)
    assert [fault for fault in faults if "is not of the variant" in fault] == [
        "a-1-py3-none-any.whl is not of the variant that is pinned",
        "a-1-py3-none-any-910b.whl is not of the variant that is pinned",
    ]


def test_check_finds_a_wheel_that_says_something_else(catalog: DataCatalog) -> None:
    answer = solved(wanted(), catalog)
    name = answer.pins[0].release.file.filename
    catalog._metadata[name] = replace(
        catalog._metadata[name], own_variant={"ascend :: npu_type": ("910b",)}
    )
    assert f"{name} has other properties than its index says" in check(wanted(), answer, catalog)


def test_release_whose_wheel_says_something_else_is_refuted(catalog: DataCatalog) -> None:
    """And the refutation passes its check."""
    name = "a-1-py3-none-any-a3.whl"
    catalog._metadata[name] = replace(
        catalog._metadata[name], own_variant={"ascend :: npu_type": ("910b",)}
    )
    refused(wanted(), catalog)


def test_check_knows_which_facts_a_variant_is_spared(catalog: DataCatalog) -> None:
    of_wheels = replace(requires("a", "", "soc in A2"), wheels=True)
    solved(wanted(of_wheels), catalog)
    of_all = requires("a", "", "soc in A2")
    refused(wanted(of_all), catalog)
    none_fits = replace(A3, values=())
    refused(wanted(of_wheels, feature=none_fits), catalog)


def test_build_for_the_same_component_is_spared(catalog: DataCatalog) -> None:
    catalog.add_archive("a", "1", members={"r.txt": ""}, build_requires=[])
    for_a3 = ComponentRequirement.parse("soc in A3", COMPONENTS)
    assert for_a3 is not None
    conditional = replace(builds("a", "", "r.txt"), when=(for_a3,))
    assert solved(wanted(conditional), catalog).pins[0].release.variant is not None
    always = builds("a", "", "r.txt")
    assert solved(wanted(always), catalog).pins[0].release.file.filename == "a-1.tar.gz"
    none_fits = replace(A3, values=())
    assert (
        solved(wanted(conditional, feature=none_fits), catalog).pins[0].release.file.filename
        == "a-1.tar.gz"
    )
