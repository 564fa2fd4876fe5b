"""Which versions go together, by facts of every form that says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.ascend.versions import parse_version
from resolver.audit.pairs import Declared, Pairing, pairings, projects_with_pairs, unpaired
from resolver.model.fact import Fact, Pairs, Requires, Strength, Warns
from tests.problems import common, need, requires, taken

APP = NormalizedName("app")
CANNS = [parse_version(text) for text in ("8.5.0", "8.5.1", "9.0.0", "9.1.0")]


def warns(package: str, versions: str, *unless: str) -> Warns:
    """A warning that is needless under each of these conditions."""
    row = {**common(package, versions, "warns"), "id": f"{package}-unless-{'-'.join(unless)}"}
    return Warns(**row, text="t", unless=tuple(map(need, unless)))


def pairs(package: str, versions: str, *others: str, release: str = "") -> Pairs:
    """Return what a table has together with a release."""
    row = {**common(package, versions, "pairs"), "id": f"{package}-{release}-{versions}"}
    return Pairs(**row, release=release, others=tuple(map(need, others)))


def paired(*facts: Fact, declared: Declared | None = None) -> list[Pairing]:
    known = {} if declared is None else {Version("1.0"): declared}
    return pairings(APP, facts, known, CANNS)


def texts(needs: Iterable[object]) -> list[str]:
    return list(map(str, needs))


def test_pairings_are_newest_first_with_their_needs() -> None:
    older = requires(
        "app", "==1.0", "lib==1.0", "cann in 8.5.0 | 8.5.1", "python < 3.12", "numpy>=1"
    )
    newer = requires("app", "==1.1rc1", "lib==1.1.*", "cann >= 9.0.0")
    ranged = requires("app", ">=1.1rc1", "lib>=1.1", "soc in A2")
    rows = paired(older, newer, ranged)
    assert [str(row.release) for row in rows] == ["1.1rc1", "1.0"]
    first, last = rows
    assert texts(first.needs) == ["cann >= 9.0.0", "soc in A2"]
    assert {name: str(pin) for name, pin in first.projects.items()} == {"lib": "==1.1.*"}
    assert texts(first.toolkits) == ["9.0.0", "9.1.0"]
    assert first.facts == (newer, ranged)
    assert texts(last.needs) == ["cann in 8.5.0 | 8.5.1", "python < 3.12"]
    assert texts(last.toolkits) == ["8.5.0", "8.5.1"]
    assert last.facts == (older,)


def test_projects_with_pairs_of_a_release() -> None:
    practice = requires("bold", "==1.0", "lib==1.0")
    facts = [
        requires("app", "==1.0", "cann in 8.5.0"),
        requires("open", ">=1.0", "cann in 8.5.0"),
        requires("free", "==1.0", "numpy>=1"),
        requires("lib", "==1.0", "app==1.0"),
        warns("guided", "==1.0", "cann in 8.5.0"),
        warns("faulty", "==1.0", "cann < 9.0.0"),
        Requires(
            **{**common("bold", "==1.0", "p"), "strength": Strength.PRACTICE},
            risk="r",
            needs=practice.needs,
        ),
    ]
    assert projects_with_pairs(facts) == ["app", "guided", "lib"]


def test_pairing_goes_with_what_it_needs_or_is_paired_with() -> None:
    newest = CANNS[-1]
    table = warns("app", "==1.0", "cann in 8.5.0")
    (both,) = paired(table, requires("app", "==1.0", "cann in 9.1.* | 8.5.*"))
    (guide,) = paired(table)
    (silent,) = paired(requires("app", "==1.0", "lib==1.0"))
    assert [row.goes_with(newest) for row in (both, guide, silent)] == [True, False, False]
    assert texts(both.toolkits) == ["8.5.0"]


@pytest.mark.parametrize(
    ("cann", "npu", "driver"),
    [
        ("8.5.0", "2.0", "25.0.rc1"),
        ("8.5.0", "2.*", "24.1.0"),  # which release that is, is not known
        ("8.5.0 | 8.5.1", "2.0", "25.0.rc1"),
        ("8.5.1 | 9.1.0", "2.0", "24.1.0"),
        ("9.1.0", "2.0", "25.2.0"),
    ],
)
def test_pairing_driver_is_the_newest_required(cann: str, npu: str, driver: str) -> None:
    of_cann = [
        warns("torch-npu", ">=0", "cann != 8.5.*", "hdk >= 25.0.rc1"),
        warns("torch-npu", ">=0", "cann != 9.1.*", "hdk >= 25.2.0"),
        warns("torch-npu", "==3.0", "hdk >= 99.0.0"),
    ]
    own = warns("app", ">=1.0", "hdk >= 24.1.0")
    (row,) = paired(requires("app", "==1.0", f"cann in {cann}", f"torch-npu=={npu}"), own, *of_cann)
    assert str(row.driver) == driver
    assert own in row.facts


def test_pairings_by_name_follow_versions() -> None:
    rows = paired(
        pairs("app", "", "lib==9", release="r0.9"),
        pairs("app", "", "lib==10", release="r0.10"),
        pairs("app", "==1.0", "lib==1", "cann in 9.1.0", "python in 3.10"),
        requires("app", "==1.0", "other==2"),
    )
    assert [str(row.release) for row in rows] == ["1.0", "r0.10", "r0.9"]
    assert {name: str(pin) for name, pin in rows[0].projects.items()} == {
        "lib": "==1",
        "other": "==2",
    }
    assert rows[0].beside == ("lib",)
    assert texts(rows[0].paired) == ["cann in 9.1.0", "python in 3.10"]
    assert [row.goes_with(CANNS[-1]) for row in rows] == [True, False, False]
    assert [{name: str(pin) for name, pin in row.projects.items()} for row in rows[1:]] == [
        {"lib": "==10"},
        {"lib": "==9"},
    ]


def test_pairings_yield_to_what_is_required() -> None:
    """A table that a wheel contradicts is shown as the wheel has it."""
    table = pairs("app", "==1.0", "lib==1")
    (row,) = paired(
        table, declared=Declared(file="app.whl", pins=(requires("x", "==1", "lib==2").needs[0],))
    )
    assert str(row.projects[NormalizedName("lib")]) == "==2"


def test_pairings_take_the_pins_of_a_commit() -> None:
    _, source = taken("app", "1.0.dev5", "lib==3", "numpy>=1")
    (row,) = paired(source.fact, requires("app", "==1.0.dev5", "cann in 9.0.0"))
    assert {name: str(pin) for name, pin in row.projects.items()} == {"lib": "==3"}
    assert row.built == ((),)


def test_pairing_pythons_are_those_of_wheels() -> None:
    wheels = [
        f"app-1.0-cp{minor}-cp{minor}-manylinux_2_28_{arch}.whl"
        for minor in (310, 39)
        for arch in ("x86_64", "aarch64")
    ]
    (row,) = paired(
        pairs("app", "==1.0", "lib==1"),
        declared=Declared(file="", pins=(), wheels=(*wheels, "app-1.0-py3-none-any.whl")),
    )
    assert row.pythons == ("3.9", "3.10")


PINNED = {
    NormalizedName(name): Version(version)
    for name, version in (("app", "1.0"), ("lib", "2.0"), ("other", "1"))
}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ((pairs("app", "==1.0", "lib==2.0"),), []),
        ((pairs("app", "==1.0", "lib==3.0"),), [("app", "lib")]),
        ((pairs("app", "==0.9", "lib==2.0"),), [("app", "lib")]),
        ((pairs("lib", "==2.0", "app==1.0"), pairs("app", "==0.9", "lib==1.0")), []),
        ((requires("app", "==1.0", "cann in 8.5.0"),), []),
    ],
    ids=["paired", "other-partner", "other-release", "by-the-partner", "not-spoken-of"],
)
def test_unpaired_projects_at_other_versions(
    facts: Sequence[Fact], expected: list[tuple[str, str]]
) -> None:
    assert unpaired(PINNED, list(map(NormalizedName, ("app", "lib", "other"))), facts) == expected
