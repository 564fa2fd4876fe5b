"""Projects that come from a commit, and distributions that must be absent, in solving."""

from __future__ import annotations

import datetime as dt

from msgspec.structs import replace
from packaging.version import Version

from resolver.lock.applied_facts import applied_facts
from resolver.model.release import File, Release
from resolver.model.resolution import Resolution
from resolver.resolve.independent_check import check
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import (
    absent,
    made,
    metadata,
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


def test_commit_does_not_require_what_its_wheels_do() -> None:
    a2 = replace(requires("vllm-ascend", "<=0.13.0", "soc in A2"), wheels=True)
    catalog = DataCatalog({"vllm-ascend": {"0.13.0": []}})
    here = target(cann="8.5.0", soc="A3")
    assert refused(problem("vllm-ascend", target=here, facts=[a2]), catalog)
    line, source = taken("vllm-ascend", "0.13.0")
    assert pins(with_sources(problem(line, target=here, facts=[a2]), source), catalog) == {
        "vllm-ascend": "0.13.0"
    }
    catalog = DataCatalog()
    catalog.add_archive("vllm-ascend", "0.13.0")
    asked = problem("vllm-ascend", target=here, facts=[a2])
    assert pins(asked, catalog) == {"vllm-ascend": "0.13.0"}
    assert a2 not in applied_facts(solved(asked, catalog))


def test_commit_needs_no_index() -> None:
    class Jealous(DataCatalog):
        def lookup(self, project):  # type: ignore[no-untyped-def]
            assert project != "verl"
            return super().lookup(project)

        def prefetch(self, wanted, look_ahead=None):  # type: ignore[no-untyped-def]
            assert "verl" not in [name for name, _ in wanted]

    line, source = taken("verl", "0.6", "numpy")
    universe = Universe(
        with_sources(problem(line), source), Jealous({"numpy": {"1": ["verl>=0.5"]}})
    )
    assert isinstance(decide(universe, hints=[source.name]), Resolution)


def test_commit_of_another_version_is_told() -> None:
    catalog = DataCatalog({"mindspeed-rl": {"1": ["verl>=0.8"]}, "verl": {"0.9": []}})
    line, source = taken("verl", "0.6.0.dev0")
    assert told(with_sources(problem(line, "mindspeed-rl"), source), catalog) == [
        f"the stack asks for {line} @ stack.toml:5",
        "the stack asks for mindspeed-rl @ stack.toml:6",
        "mindspeed-rl 1 needs verl>=0.8 @ metadata of mindspeed_rl-1-py3-none-any.whl",
        (
            "the stack takes verl from a commit with version 0.6.0.dev0, "
            "which does not match `>=0.8` @ "
            "facts/verl.toml:7"
        ),
    ]


def test_commit_cites_no_metadata_fact() -> None:
    """What was read at a commit is from there, whatever a fact says of the project's archives."""
    line, source = taken("app", "2", "b>=2")
    read = with_sources(problem(line, "b==1"), replace(source, fact=None))
    asked = replace(read, facts=(metadata("app", "", "c"),))
    assert told(asked, DataCatalog({"b": {"1": [], "2": []}})) == [
        f"the stack asks for {line} @ stack.toml:5",
        "the stack asks for b==1 @ stack.toml:6",
        f"app 2 needs b>=2 @ metadata of {source.address}",
    ]


def test_absent_project_is_left_out_of_all_requirements() -> None:
    catalog = DataCatalog(
        {"a": {"1": ["timm>=1", "b", "timm[x] ; extra == 'x'"]}, "b": {"1": []}, "timm": {"1": []}}
    )
    asked = without(problem("a[x]", facts=[requires("b", "==1", "timm")]), "timm")
    found = solved(asked, catalog)
    assert [pin.name for pin in found.pins] == ["a", "b"]
    assert [(row.package, row.dropped, row.fact) for row in found.overrides] == [
        ("a", "timm>=1", "stack.toml:20"),
        ("a", "timm[x]", "stack.toml:20"),
        ("b", "timm", "stack.toml:20"),
    ]


def test_absent_project_excludes_the_other() -> None:
    """triton-ascend up to 3.2 owns the module; later ones ask for triton themselves."""
    rows = "xgrammar 1: triton", "triton 3", "triton-ascend 3.2", "triton-ascend 3.3: triton"
    catalog = DataCatalog().serve(*rows, "vllm-ascend 1: triton-ascend==3.2")
    apart = absent("triton-ascend", "<=3.2", "triton")
    sentence = "triton must not be installed together with triton-ascend: somebody read it"
    for requirements in (("vllm-ascend", "xgrammar"), ("triton-ascend==3.2", "triton")):
        lines = told(problem(*requirements, facts=[apart]), catalog)
        assert f"{sentence} @ facts/triton-ascend.toml:7 (vendor/table#1, vendor)" in lines
        assert [line.partition(" @ ")[0] for line in lines[:2]] == [
            f"the stack asks for {ask}" for ask in requirements
        ]


def test_absent_counts_releases_for_the_target_alone() -> None:
    """Releases for another CANN need triton, and those for this one have it left out.

    No line names a version.
    """
    rows = "xgrammar 1: triton", "triton 3", "triton-ascend 3.2", "triton-ascend 3.3: triton"
    older, newer = (
        "vllm-ascend 0.18: triton-ascend==3.2, xgrammar",
        "vllm-ascend 0.23: triton-ascend==3.3, xgrammar",
    )
    catalog = DataCatalog().serve(*rows, older, newer)
    stated = [
        absent("triton-ascend", "<=3.2", "triton"),
        absent("vllm-ascend", "<=0.18", "triton"),
        requires("vllm-ascend", "==0.18", "cann in 8.5.1"),
        requires("vllm-ascend", "==0.23", "cann in 9.1.0"),
    ]
    before = problem("vllm-ascend", target=target(cann="8.5.1"), facts=stated)
    found = solved(before, catalog)
    assert [pin.name for pin in found.pins] == ["triton-ascend", "vllm-ascend", "xgrammar"]
    assert [(row.package, row.dropped, row.fact) for row in found.overrides] == [
        ("xgrammar", "triton", "vllm-ascend-absent")
    ]
    assert check(before, found, catalog) == []
    after = problem("vllm-ascend", target=target(cann="9.1.0"), facts=stated)
    assert pins(after, catalog) == {
        "triton": "3",
        "triton-ascend": "3.3",
        "vllm-ascend": "0.23",
        "xgrammar": "1",
    }
    anywhere = problem("vllm-ascend<0.20", target=target(), facts=stated)
    assert "triton" not in pins(anywhere, catalog)


def test_check_finds_a_pin_of_another_commit() -> None:
    catalog = DataCatalog({"numpy": {"1": []}})
    line, source = taken("verl", "0.6", "numpy")
    asked = with_sources(problem(line), source)
    found = solved(asked, catalog)
    (verl,) = [pin for pin in found.pins if pin.name == "verl"]

    def violations(**changes: object) -> list[str]:
        changed = replace(verl, release=replace(verl.release, **changes))  # type: ignore[arg-type]
        return check(asked, replace(found, pins=(found.pins[0], changed)), catalog)

    assert violations() == []
    assert violations(source=replace(source, commit="0" * 40)) == [
        "verl is not what the stack's address stands for"
    ]
    assert violations(version=Version("0.7")) == [f"verl 0.7 is not verl 0.6 of {source.address}"]
    assert any("must be absent" in one for one in check(without(asked, "numpy"), found, catalog))


# --- releases that a fact takes from a commit, without a line that names it


def test_release_from_commit_instead_of_wheel() -> None:
    catalog = DataCatalog({"app": {"1": ["old"], "2": ["old"]}, "new": {"1": []}, "old": {"1": []}})
    asked = problem("app==2", facts=[made("app", "2", "new")])
    found = solved(asked, catalog)
    assert {pin.name: str(pin.version) for pin in found.pins} == {"app": "2", "new": "1"}
    (app,) = [pin for pin in found.pins if pin.name == "app"]
    assert app.release.source is not None
    assert app.release.source.trust is not None  # nobody compared it yet
    assert [fact.id for fact in applied_facts(found)] == ["app-sources"]


def test_release_from_commit_only_of_its_version() -> None:
    catalog = DataCatalog({"app": {"1": ["old"], "2": []}, "old": {"1": []}})
    assert pins(problem("app==1", facts=[made("app", "2", "new")]), catalog) == {
        "app": "1",
        "old": "1",
    }


def test_release_from_commit_without_usable_file() -> None:
    catalog = DataCatalog({"app": {"1": []}})
    catalog.add_wheel("app", "2", tags="cp39-cp39-win_amd64")
    assert pins(problem("app"), catalog) == {"app": "1"}
    assert pins(problem("app", facts=[made("app", "2")]), catalog) == {"app": "2"}


def test_release_from_commit_follows_policies() -> None:
    catalog = DataCatalog({"app": {"1": [], "2rc1": []}})
    candidate = made("app", "2rc1")
    assert pins(problem("app", facts=[candidate]), catalog) == {"app": "1"}
    assert pins(problem("app==2rc1", facts=[candidate]), catalog) == {"app": "2rc1"}
    dated = DataCatalog()
    dated.add_wheel("app", "1", uploaded="2026-01-01T00:00:00Z")
    dated.add_wheel("app", "2", uploaded="2026-03-01T00:00:00Z")
    cutoff = dt.datetime(2026, 2, 1, tzinfo=dt.timezone.utc)
    assert pins(problem("app", facts=[made("app", "2")], exclude_newer=cutoff), dated) == {
        "app": "1"
    }
    yanked = DataCatalog({"app": {"1": []}})
    yanked.add_wheel("app", "2", yanked="broken")
    assert pins(problem("app", facts=[made("app", "2")]), yanked) == {"app": "1"}
    assert pins(problem("app==2", facts=[made("app", "2")]), yanked) == {"app": "2"}


def test_release_from_commit_in_a_conflict() -> None:
    catalog = DataCatalog({"app": {"2": []}, "b": {"1": [], "2": []}})
    assert told(problem("app==2", "b==1", facts=[made("app", "2", "b>=2")]), catalog) == [
        "the stack asks for app==2 @ stack.toml:5",
        "the stack asks for b==1 @ stack.toml:6",
        "app 2 needs b>=2 @ facts/app.toml:7 (vendor/table#1, vendor)",
    ]


def test_release_from_commit_is_checked() -> None:
    catalog = DataCatalog({"app": {"2": []}})
    asked = problem("app==2", facts=[made("app", "2")])
    found = solved(asked, catalog)
    (app,) = found.pins

    def faults(release: Release, of: object = asked) -> list[str]:
        changed = replace(found, pins=(replace(app, release=release),))
        return check(of, changed, catalog)  # type: ignore[arg-type]

    assert faults(app.release) == []
    assert app.release.source is not None
    elsewhere = replace(app.release, source=replace(app.release.source, commit="0" * 40))
    assert faults(elsewhere) == ["app 2 is from a commit that no fact has for it"]
    assert faults(app.release, problem("app==2")) == [
        "app 2 is from a commit that no fact has for it"
    ]
    wheel = solved(problem("app==2"), catalog).pins[0].release
    assert "app 2 is a file, and a fact builds it from a commit" in faults(wheel)
    assert wheel.file != File(filename=app.release.file.filename)
