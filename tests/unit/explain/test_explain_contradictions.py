"""Contradictions of small universes: which there are, their reasons, where they meet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import pytest
from packaging.version import Version

from resolver.explain import cores
from resolver.explain.clock import Clock
from resolver.explain.contradiction import contradiction_of
from resolver.explain.cores import enumerate_cores, found_cores, smallest
from resolver.explain.why import why
from resolver.i18n import translate
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.constraint import ReleaseRequires, RequirementSource
from resolver.model.explanation import Branch, Contradiction
from resolver.model.package import Package
from resolver.model.reason import requirement_of
from resolver.model.resolution import Resolution
from resolver.report.explanation.sentences import branch_sentence, closing_sentence, sentence
from resolver.resolve import sat
from resolver.resolve.clauses import Clauses
from resolver.resolve.refutation import Refutation
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import absent, excludes, metadata, names, problem, requires


def contradictions(
    catalog: DataCatalog, *requirements: str, known: Iterable[facts.Fact] = ()
) -> list[Contradiction]:
    answer = decide(Universe(problem(*requirements, facts=known), catalog))
    assert isinstance(answer, Refutation)
    clauses = answer.clauses
    return [contradiction_of(clauses, core) for core in enumerate_cores(clauses, lambda: False)]


def told(one: Contradiction) -> list[str]:
    """The sentences of a contradiction, then where they meet, or each case."""
    rows = [translate(sentence(reason), "en") for reason in one.reasons]
    if one.closing is not None:
        rows.append("=> " + translate(closing_sentence(one.closing), "en"))
    return rows + list(cases(one.branches))


def cases(branches: Iterable[Branch], indent: str = "- ") -> Iterable[str]:
    for branch in branches:
        yield indent + translate(branch_sentence(branch), "en")
        yield from cases(branch.branches, "  " + indent)


def test_cores_leave_out_faults_of_releases_not_admitted() -> None:
    """That there is none in `==2` is the whole conflict, and is told once."""
    catalog = DataCatalog({"a": {"1": []}})
    catalog.add_wheel("b", "1", tags="cp312-cp312-manylinux_2_28_aarch64")
    found = [
        told(one) for one in contradictions(catalog, "a==2", "b==2", known=[excludes("a", "==1")])
    ]
    assert sorted(found) == [
        [
            f"the stack asks for {name}==2",
            f"no release of {name} matches `==2`; the newest is 1",
            f"=> 1 and 2 leave no choice for {name}",
        ]
        for name in ("a", "b")
    ]


@pytest.mark.parametrize("name", ["soc", "cann", "python"])
def test_project_with_the_name_of_a_component_is_told_as_a_project(name: str) -> None:
    catalog = DataCatalog({"demo": {"1": [f"{name}==2"]}})
    (found,) = contradictions(catalog, "demo")
    assert told(found) == [
        "the stack asks for demo",
        f"demo 1 needs {name}==2",
        f"no index has a project `{name}`",
        f"=> 2 and 3 leave no choice for {name}",
    ]


def test_conflict_about_a_project_that_must_be_absent_is_not_told() -> None:
    """`plugin` is not for this CANN; were it, what `tool` needs would be left out."""
    catalog = DataCatalog({"plugin": {"1": ["tool"]}, "tool": {"1": ["triton"]}})
    known = [requires("plugin", "==1", "cann in 9.1.0"), absent("plugin", "==1", "triton")]
    (found,) = contradictions(catalog, "plugin", "tool", known=known)
    assert told(found)[-1] == "=> 2 and 3 leave no choice for CANN"


def test_contradiction_suggests_a_name_for_a_misspelt_one() -> None:
    """One that is merely similar is no guess."""
    catalog = DataCatalog({"peft": {"1": ["accelerate"]}, "accelerate": {"1": []}})
    sentences = [told(one)[1] for one in contradictions(catalog, "accelerat", "celerat", "peft")]
    assert sorted(sentences) == [
        "no index has a project `accelerat`: did you mean `accelerate`?",
        "no index has a project `celerat`",
    ]


def test_contradiction_suggests_no_project_with_another_word() -> None:
    catalog = DataCatalog({"trainer": {"1": ["mind-llm"]}, "mind-llm": {"1": []}})
    (found,) = contradictions(catalog, "mind-mm", "trainer", "mind-llm")
    assert told(found)[1] == "no index has a project `mind-mm`"


def test_contradiction_says_where_a_project_on_no_index_is_from() -> None:
    """The fact is about all its releases: one about a single release says nothing of the name."""
    known = [names("serve-llm", ">=0", "pypi"), names("serve-rl", "==1", "pypi")]
    found = contradictions(DataCatalog(), "serve-llm", "serve-rl", known=known)
    assert sorted(told(one)[1] for one in found) == [
        "no index has a project `serve-llm`: somebody read it",
        "no index has a project `serve-rl`",
    ]


def test_cores_finds_each_conflict() -> None:
    """An archive of no use, a range of nothing but those, what only a fact and the machine say."""
    catalog = DataCatalog({"a": {"1": ["b"]}, "b": {"1": []}, "old": {"9": []}})
    catalog.add_archive("c", "1", None)
    for number in range(1, 7):
        catalog.add_archive("old", str(number), None)
    found = contradictions(
        catalog, "gone", "c==1", "old<7", "a", known=[requires("b", "", "cann in 8.3.*")]
    )
    assert sorted(map(told, found)) == [
        [
            "the stack asks for a",
            "the target has CANN 8.5.0",
            "b 1 needs cann in 8.3.*",
            "a 1 needs b",
            "=> 2 and 3 leave no choice for CANN",
        ],
        [
            "the stack asks for c==1",
            "c 1 cannot be used: c-1.tar.gz is a source archive without static metadata",
            "=> 1 and 2 leave no choice for c",
        ],
        [
            "the stack asks for gone",
            "no index has a project `gone`",
            "=> 1 and 2 leave no choice for gone",
        ],
        [
            "the stack asks for old<7",
            "old 6, 5, 4, 3 and 2 more releases cannot be used",
            "=> 1 and 2 leave no choice for old",
        ],
    ]


def test_contradiction_cites_the_fact_about_an_archive() -> None:
    catalog = DataCatalog({"lib": {"1": [], "2": []}})
    catalog.add_archive("old", "1", None)
    fact = metadata("old", "==1", "lib<2")
    (one,) = contradictions(catalog, "old", "lib==2", known=[fact])
    (row,) = [reason for reason in one.reasons if isinstance(reason.constraint, ReleaseRequires)]
    assert row.constraint == ReleaseRequires(Package("old"), "lib<2", RequirementSource.FACT, fact)
    assert row.where == fact.where


def test_contradiction_has_needless_prereleases_once() -> None:
    """Whoever asks for the project, in whichever words: its pre-releases are out for one reason."""
    catalog = DataCatalog().serve(
        "app 1: lib", "app 2: helper", "helper 1 2 2.1: lib", "lib 1 2: base<2", "base 1 2"
    )
    catalog.serve(f"lib {' '.join(f'3rc{number}' for number in range(1, 8))}")
    (one,) = contradictions(catalog, "app", "base>=2")
    assert told(one) == [
        "the stack asks for app",
        "the stack asks for base>=2",
        "app 2 needs helper",
        "helper 1 to 2.1 (3 releases) need lib",
        "lib 1 and 2 need base<2",
        "app 1 needs lib",
        (
            "lib 3rc7, 3rc6, 3rc5, 3rc4 and 3 more releases are pre-releases, "
            "which the policy allows only if no final release fits the requirements"
        ),
        "- app 1 and 2: 2 and 5 leave no choice for base",
    ]


def test_branches_join_cases_that_fail_alike() -> None:
    """`plugin` has two reasons, but one release: it is no case.

    `app 2` says what each of its neighbours says.
    """
    catalog = DataCatalog().serve(
        "app 1: lib<2", "app 2: lib<2, base>=2", "app 3: base>=2", "lib 1 2", "base 1 2"
    )
    catalog.serve("plugin 1: base<2, lib>=2")
    (one,) = contradictions(catalog, "plugin", "app")
    assert told(one)[2:] == [
        "app 2 and 3 need base>=2",
        "plugin 1 needs base<2",
        "plugin 1 needs lib>=2",
        "app 1 and 2 need lib<2",
        "- app 2 and 3: 3 and 4 leave no choice for base",
        "- app 1: 5 and 6 leave no choice for lib",
    ]


# --- what asking for another release of a locked project would move


def test_why_moves_only_what_must_move() -> None:
    """The lock's other pins stay, though newer releases are there."""
    catalog = DataCatalog().serve("app 1: a, b, c", "a 2: c==2", "a 1", "b 2 1", "c 3 2 1")
    locked = {name: Version("1") for name in ("app", "a", "b", "c")}
    universe = Universe(problem("app"), catalog, locked)
    answer = decide(universe)
    assert isinstance(answer, Resolution)
    assert {str(pin.version) for pin in answer.pins} == {"1"}
    assert why(answer, universe, text.requirement("a==2"), Clock(60)).moves == (
        ("a", "1", "2"),
        ("c", "1", "2"),
    )


def test_why_says_what_kept_a_release_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a release that is no newer than the pin."""
    catalog = DataCatalog().serve("app 1: a==1", "a 1 0")
    universe = Universe(problem("app"), catalog)
    answer = decide(universe)
    assert isinstance(answer, Resolution)
    late = why(answer, universe, text.requirement("a==0"), Clock(-1))
    assert (late.tried, late.limited, str(late.untried)) == ("", True, "")
    monkeypatch.setattr(sat, "MOST_CONFLICTS", 0)
    given_up = why(answer, universe, text.requirement("a==0"), Clock(60))
    assert not given_up.limited
    assert str(given_up.untried) == "no answer was found within the search limits"


def test_why_joins_lines_of_one_file() -> None:
    """opencv-python requires numpy once for each Python; several lines hold for the newest."""
    lines = ["n>=1.21.2", 'n>=1.9; python_version >= "3.9"', "n!=1.23,<3", "n[x]>=1"]
    catalog = DataCatalog(
        {"app": {"1": [*lines, "b"]}, "b": {"1": ["n>=1"]}, "n": {"2": [], "1.22": []}}
    )
    universe = Universe(problem("app"), catalog)
    answer = decide(universe)
    assert isinstance(answer, Resolution)
    found = why(answer, universe, text.requirement("n"), Clock(60))
    needs = [(one.subject, requirement_of(one)) for one in found.requirements]
    needs = [need for need in needs if need[1] is not None]
    assert needs == [("app", "n!=1.23,<3,>=1.21.2"), ("app", "n[x]>=1"), ("b", "n>=1")]


class Satisfiable:
    """Clauses that nothing clashes in, and that always say so of one more constraint."""

    def __init__(self, constraints: Sequence[ReleaseRequires]) -> None:
        self.asked = 0
        self._constraints = constraints

    def satisfiable(self, *, among: Iterable[ReleaseRequires]) -> bool:
        self.asked += 1
        return True

    def broken(self) -> set[ReleaseRequires]:
        return {self._constraints[self.asked - 1]}


def test_smallest_core_is_sought_with_300_questions() -> None:
    core = [
        ReleaseRequires(Package("a"), f"b=={n}", RequirementSource.METADATA) for n in range(400)
    ]
    clauses = Satisfiable(core)
    found = smallest(cast("Clauses", clauses), core, [], core, lambda: False)
    assert (list(found), clauses.asked) == (core, 300)


def test_core_that_is_no_proof_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a page says is checked as the refutation was: here one constraint is missing."""
    catalog = DataCatalog().serve("a 1: c==1", "b 1: c==2", "c 1 2")
    refuted = decide(Universe(problem("a", "b"), catalog))
    assert isinstance(refuted, Refutation)
    monkeypatch.setattr(
        cores, "enumerate_cores", lambda clauses, _: iter([refuted.core[1:], [*refuted.core]])
    )
    assert found_cores(refuted, Clock(60)) == [[*refuted.core]]
