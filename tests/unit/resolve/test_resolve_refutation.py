"""The check of refutations passes what is true of archives, commits and facts, and nothing else."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet

from resolver.model.fact import Fact, Strength
from resolver.model.message import message
from resolver.model.problem import Problem
from resolver.resolve.check_refutation import check_refutation
from resolver.resolve.premises import premises
from tests.datacatalog import DataCatalog
from tests.problems import (
    absent,
    builds,
    made,
    metadata,
    pins,
    problem,
    refused,
    replaces,
    requires,
    taken,
    told,
    with_sources,
    without,
)

LATER = ">=3.12"
UNREAD = message("conflict.commit-not-read", subject="a", commit="v1", url="https://git.test/a")


# --- what permits a pre-release


@pytest.mark.parametrize(
    ("app", "lib"),
    [
        (["lib", "lib<2 ; extra == 'x'"], {"2": ["app[x]"], "3rc1": []}),
        (["lib[x]", "lib>=3rc1 ; extra == 'x'"], {"1": ["app[x] ; extra == 'x'"], "3rc1": []}),
    ],
)
def test_extra_permits_a_prerelease_only_if_required(
    app: list[str], lib: dict[str, list[str]]
) -> None:
    """The extra of app would permit lib 3rc1, and only the final release requires that extra."""
    catalog = DataCatalog({"app": {"1": app}, "lib": lib})
    assert refused(problem("app"), catalog)
    allowed = problem("app", prereleases="allow")
    assert pins(allowed, catalog) == {"app": "1", "lib": "3rc1"}


def test_permission_of_a_prerelease_permits_no_yanked_release() -> None:
    """What app 2 needs of lib leaves the yanked release alone, and would permit a pre-release."""
    catalog = DataCatalog(
        {
            "app": {"1": ["lib"], "2": ["lib<1.1"]},
            "lib": {"1.1": ["gone"], "3rc1": []},
        }
    )
    catalog.add_wheel("lib", "1", yanked="broken")
    assert refused(problem("app"), catalog)


# --- Requires-Python of what is not a wheel


@pytest.mark.parametrize("is_built", [False, True])
def test_refutation_by_the_python_of_an_archive(is_built: bool) -> None:
    catalog = DataCatalog()
    catalog.add_archive("a", "1", members={"needs.txt": ""}, metadata_python=LATER)
    facts = [builds("a", "", "needs.txt")] if is_built else []
    assert told(problem("a", facts=facts), catalog) == [
        "the stack asks for a @ stack.toml:5",
        "a 1 cannot be used: Requires-Python >=3.12 @ a-1.tar.gz",
    ]


def test_refutation_by_the_python_that_a_fact_states() -> None:
    catalog = DataCatalog()
    catalog.add_archive("a", "1", None)
    fact = replace(metadata("a", ""), requires_python=SpecifierSet(LATER))
    assert told(problem("a", facts=[fact]), catalog) == [
        "the stack asks for a @ stack.toml:5",
        "a 1 cannot be used: Requires-Python >=3.12 @ a-1.tar.gz",
    ]


def test_refutation_by_the_python_of_a_commit() -> None:
    line, source = taken("a", "1", requires_python=LATER)
    refusal = f"a 1 cannot be used: Requires-Python >=3.12 @ {source.address}"
    assert told(with_sources(problem(line), source), DataCatalog()) == [
        f"the stack asks for {line} @ stack.toml:5",
        refusal,
    ]
    of_release = problem("a", facts=[made("a", "1", requires_python=LATER)])
    assert told(of_release, DataCatalog({"a": {"1": []}})) == [
        "the stack asks for a @ stack.toml:5",
        refusal,
    ]


def test_refutation_by_a_commit_of_which_nothing_is_known() -> None:
    """The release on the index is not what the line asks for."""
    line, source = taken("a", "1")
    unknown = replace(source, fact=None, unknown=UNREAD)
    lines = told(with_sources(problem(line), unknown), DataCatalog({"a": {"1": []}}))
    assert lines[0] == f"the stack asks for {line} @ stack.toml:5"
    assert lines[1].startswith("no fact describes v1 of https://git.test/a, and the repository ")
    assert len(lines) == 2


# --- lines for other targets


def test_refutation_beside_a_commit_for_another_target() -> None:
    line, source = taken("a", "5")
    elsewhere = f"{line} ; platform_machine == 'x86_64'"
    catalog = DataCatalog({"a": {"1": []}})
    assert told(with_sources(problem(elsewhere, "a>=3"), source), catalog) == [
        "the stack asks for a>=3 @ stack.toml:6",
        "no release of a matches `>=3`; the newest is 1 @ looked up on pypi",
    ]


# --- requirements that facts drop: what refutes a problem without the fact refutes none with it

INDEX = DataCatalog({"app": {"1": ["b<2"]}, "b": {"1": [], "2": []}})
ASKED = problem("app", "b>=2")
UNMET = "app 1 does not require b<2"


def faults(then: Problem, now: Problem, catalog: DataCatalog = INDEX) -> list[str]:
    """Return what the check says of the refutation of a problem, for another one."""
    refutation = refused(then, catalog)
    reasons = premises(refutation.clauses, refutation.core)
    assert check_refutation(then, reasons, catalog) == []
    return check_refutation(now, reasons, catalog)


def with_facts(asked: Problem, *facts: Fact) -> Problem:
    return replace(asked, facts=facts)


def test_refutation_by_a_requirement_that_a_fact_drops() -> None:
    assert faults(ASKED, with_facts(ASKED, replaces("app", "", ["b"]))) == [UNMET]
    assert faults(ASKED, with_facts(ASKED, replaces("app", "==2", ["b"]))) == []


@pytest.mark.parametrize(
    ("of_fact", "of_replacement", "is_dropped"),
    [
        (Strength.VENDOR, Strength.PRACTICE, True),
        (Strength.VENDOR, Strength.VENDOR, False),
        (Strength.ENFORCED, Strength.PRACTICE, False),
        (Strength.PRACTICE, Strength.PRACTICE, False),
    ],
)
def test_refutation_by_a_need_that_a_practice_drops(
    of_fact: Strength, of_replacement: Strength, is_dropped: bool
) -> None:
    catalog = DataCatalog({"app": {"1": []}, "b": {"1": [], "2": []}})
    fact = replace(requires("app", "", "b<2"), strength=of_fact)
    replacement = replace(replaces("app", "", ["b"]), strength=of_replacement)
    found = faults(with_facts(ASKED, fact), with_facts(ASKED, fact, replacement), catalog)
    assert found == ([UNMET] if is_dropped else [])


def test_refutation_by_what_a_replacement_adds() -> None:
    practice = replace(replaces("app", "", ["b"], "b<1"), strength=Strength.PRACTICE)
    asked = with_facts(ASKED, practice)
    assert faults(asked, asked) == []


def test_refutation_by_a_build_that_facts_do_not_change() -> None:
    catalog = DataCatalog({"b": {"1": [], "2": []}})
    catalog.add_archive("app", "1", build_requires=["b<2"], members={"needs.txt": ""})
    built = builds("app", "", "needs.txt", isolation=False)
    asked = with_facts(ASKED, built)
    assert faults(asked, with_facts(ASKED, built, replaces("app", "", ["b"])), catalog) == []


def test_refutation_by_an_address_that_a_fact_drops() -> None:
    catalog = DataCatalog({"app": {"1": ["b @ https://b.test/b.zip"]}, "b": {"2": []}})
    found = faults(ASKED, with_facts(ASKED, replaces("app", "", ["b"])), catalog)
    assert found == ["the file of app 1 can be used"]


def test_refutation_by_a_requirement_on_an_absent_project() -> None:
    asked = problem("app", "c")
    catalog = DataCatalog({"app": {"1": ["b<2"]}, "c": {"1": ["b>=2"]}, "b": {"1": [], "2": []}})
    gone = [f"b must be absent, so that {name} 1 does not require it" for name in ("app", "c")]
    assert faults(asked, without(asked, "b"), catalog) == gone
    assert faults(asked, with_facts(asked, absent("app", "==1", "b")), catalog) == gone
    assert faults(asked, with_facts(asked, absent("app", "==2", "b")), catalog) == []
