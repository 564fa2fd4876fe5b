"""Projects that come from a commit, and distributions that must be absent, in solving."""

from __future__ import annotations

from msgspec.structs import replace
from packaging.version import Version

from resolver.lock.build import applied_facts
from resolver.model.resolution import Resolution
from resolver.resolve.independent_check import check
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import (
    absent,
    pins,
    problem,
    refused,
    requires,
    solved,
    taken,
    target,
    told,
    with_sources,
    without,
)


def test_what_is_required_of_wheels_is_not_of_what_is_built() -> None:
    a2 = replace(requires("vllm-ascend", "<=0.13.0", "soc in A2"), wheels=True)
    catalog = DataCatalog({"vllm-ascend": {"0.13.0": []}})
    here = target(cann="8.5.0", soc="A3")
    assert refused(problem("vllm-ascend", target=here, facts=[a2]), catalog)
    line, source = taken("vllm-ascend", "0.13.0")
    assert pins(with_sources(problem(line, target=here, facts=[a2]), source), catalog) == {"vllm-ascend": "0.13.0"}
    catalog = DataCatalog()
    catalog.add_archive("vllm-ascend", "0.13.0")
    asked = problem("vllm-ascend", target=here, facts=[a2])
    assert pins(asked, catalog) == {"vllm-ascend": "0.13.0"}
    assert a2 not in applied_facts(solved(asked, catalog))


def test_its_index_is_never_asked() -> None:
    class Jealous(DataCatalog):
        def lookup(self, project):  # type: ignore[no-untyped-def]
            assert project != "verl"
            return super().lookup(project)

        def prefetch(self, wanted, look_ahead=None):  # type: ignore[no-untyped-def]
            assert "verl" not in [name for name, _ in wanted]

    line, source = taken("verl", "0.6", "numpy")
    universe = Universe(with_sources(problem(line), source), Jealous({"numpy": {"1": ["verl>=0.5"]}}))
    assert isinstance(decide(universe, hints=[source.name]), Resolution)


def test_a_requirement_on_another_version_is_told_with_the_facts_line() -> None:
    catalog = DataCatalog({"mindspeed-rl": {"1": ["verl>=0.8"]}, "verl": {"0.9": []}})
    line, source = taken("verl", "0.6.0.dev0")
    assert told(with_sources(problem(line, "mindspeed-rl"), source), catalog) == [
        f"the stack asks for {line} @ stack.toml:5",
        "the stack asks for mindspeed-rl @ stack.toml:6",
        "mindspeed-rl 1 needs verl>=0.8 @ metadata of mindspeed_rl-1-py3-none-any.whl",
        (
            "the stack takes verl from a commit with version 0.6.0.dev0, which does not match `>=0.8` @ "
            "facts/verl.toml:7"
        ),
    ]


def test_what_the_stack_keeps_out_is_left_out_wherever_it_is_asked_for() -> None:
    catalog = DataCatalog({"a": {"1": ["timm>=1", "b", "timm[x] ; extra == 'x'"]}, "b": {"1": []}, "timm": {"1": []}})
    asked = without(problem("a[x]", facts=[requires("b", "==1", "timm")]), "timm")
    found = solved(asked, catalog)
    assert [pin.name for pin in found.pins] == ["a", "b"]
    assert [(row.package, row.dropped, row.fact) for row in found.overrides] == [
        ("a", "timm>=1", "stack.toml:20"),
        ("a", "timm[x]", "stack.toml:20"),
        ("b", "timm", "stack.toml:20"),
    ]


def test_elsewhere_the_two_exclude_each_other_and_the_conflict_says_why() -> None:
    """triton-ascend up to 3.2 owns the module; later ones ask for triton themselves."""
    rows = "xgrammar 1: triton", "triton 3", "triton-ascend 3.2", "triton-ascend 3.3: triton"
    catalog = DataCatalog().serve(*rows, "vllm-ascend 1: triton-ascend==3.2")
    apart = absent("triton-ascend", "<=3.2", "triton")
    sentence = "triton must not be installed together with triton-ascend: somebody read it"
    for requirements in (("vllm-ascend", "xgrammar"), ("triton-ascend==3.2", "triton")):
        lines = told(problem(*requirements, facts=[apart]), catalog)
        assert f"{sentence} @ facts/triton-ascend.toml:7 (vendor/table#1, vendor)" in lines
        assert [line.partition(" @ ")[0] for line in lines[:2]] == [f"the stack asks for {ask}" for ask in requirements]


def test_the_check_knows_a_pin_that_is_not_what_the_stack_names() -> None:
    catalog = DataCatalog({"numpy": {"1": []}})
    line, source = taken("verl", "0.6", "numpy")
    asked = with_sources(problem(line), source)
    found = solved(asked, catalog)
    (verl,) = [pin for pin in found.pins if pin.name == "verl"]

    def violations(**changes: object) -> list[str]:
        changed = replace(verl, release=replace(verl.release, **changes))  # type: ignore[arg-type]
        return check(asked, replace(found, pins=(found.pins[0], changed)), catalog)

    assert violations() == []
    assert violations(source=replace(source, commit="0" * 40)) == ["verl is not what the stack's address stands for"]
    assert violations(version=Version("0.7")) == [f"verl 0.7 is not verl 0.6 of {source.address}"]
    assert any("must be absent" in one for one in check(without(asked, "numpy"), found, catalog))
