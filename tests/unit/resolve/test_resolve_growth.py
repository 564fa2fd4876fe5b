"""How much work a problem is, however strange.

It is counted in rounds, in files that are read, and in the interpreter's instructions.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from random import Random
from types import FrameType
from typing import Any
from weakref import ref

import pytest
from packaging.utils import NormalizedName

from resolver.model.constraint import NoCandidate, Unavailable
from resolver.resolve.complete import CompleteEngine, Unsatisfiable
from resolver.resolve.solver import search, solve
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import problem, requires
from tests.property.found import pins

Asked = tuple[DataCatalog, list[str]]


def to(last: int, first: int = 1) -> str:
    return " ".join(map(str, range(first, last + 1)))


def searched(catalog: DataCatalog, *requirements: str) -> tuple[dict[str, str], int]:
    """The pins that the search finds by itself, and in how many rounds."""
    rounds = [0]
    universe = Universe(problem(*requirements), catalog)
    resolution = search(universe, tick=lambda count, _: rounds.append(count))
    assert resolution is not None
    return pins(resolution), rounds[-1]


def instructions(function: Callable[[], object]) -> int:
    """The bytecode instructions of a call in this thread.

    C code inside an instruction does not count.
    """
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if event == "opcode":
            count += 1
        else:
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


# --- twice the input is at most four times the work
# resolvelib looks at all that it knows in each round. What is more than that square is a mistake of
# ours.


def chained_extras(count: int) -> Asked:
    lines = [f'x[e{at + 1}]; extra == "e{at}"' for at in range(count)]
    return DataCatalog({"x": {"1": lines}}), ["x[e0]"]


def all_extras(count: int) -> Asked:
    lines = [f'x[e{at}]; extra == "all"' for at in range(count)] + [
        f'y; extra == "e{at}"' for at in range(count)
    ]
    return DataCatalog({"x": {"1": lines}, "y": {"1": []}}), ["x[all]"]


def extras_of_one_line(count: int) -> Asked:
    catalog = DataCatalog(
        {"x": {"1": [f'y!=9.{at}; extra == "e{at}"' for at in range(count)]}, "y": {"1": []}}
    )
    return catalog, [f"x[{','.join(f'e{at}' for at in range(count))}]"]


def ranges_of_metadata(count: int) -> Asked:
    lines = [f"y!={at},<={count}" for at in range(count)]
    return DataCatalog({"x": {"1": lines}}).serve(f"y {to(count, 0)}"), ["x"]


def parents_that_narrow(count: int) -> Asked:
    """Each takes one more release of what was decided before."""
    parents = {f"x{at}": {"1": [f"a<{count - at}"]} for at in range(count - 1)}
    return DataCatalog(parents).serve(f"a {to(count - 1, 0)}"), ["a", *parents]


def files_of_one_release(count: int) -> Asked:
    catalog = DataCatalog()
    for build in range(count):
        catalog.add_wheel("x", "1", tags=f"{build}-py3-none-any")
    return catalog, ["x"]


def releases_in_vain(count: int) -> Asked:
    """Each x needs the y of its number, which needs the z of its number.

    Only the oldest z is asked for.
    """
    rows = [
        f"{name} {at}: {below}=={at}" for name, below in ("xy", "yz") for at in range(1, count + 1)
    ]
    return DataCatalog().serve(*rows, f"z {to(count)}"), ["x", "z<2"]


@pytest.mark.parametrize(
    ("family", "size"),
    [
        (chained_extras, 40),
        (all_extras, 40),
        (extras_of_one_line, 40),
        (ranges_of_metadata, 80),
        (parents_that_narrow, 20),
        (files_of_one_release, 400),
        (releases_in_vain, 40),
    ],
)
def test_growth_is_at_most_quadratic(family: Callable[[int], Asked], size: int) -> None:
    def work(count: int) -> int:
        catalog, requirements = family(count)
        stated = problem(*requirements)
        solve(stated, catalog)  # texts are parsed once in a process
        return instructions(lambda: solve(stated, catalog))

    assert work(2 * size) < 4.5 * work(size)


# --- families on which a plain search takes exponentially many rounds


def test_growth_with_runs_of_equal_requirements() -> None:
    """Two projects of each group want a third one old and new, in all releases but one.

    Each has 60 releases.
    """
    groups, catalog = range(6), DataCatalog()
    for group in groups:
        catalog.serve(f"base{group} {to(4)}", f"one{group} {to(60)}: base{group}<3")
        catalog.serve(f"two{group} 1", f"two{group} {to(60, 2)}: base{group}>=3")
    names = [f"{name}{group}" for group in groups for name in ("one", "two")]
    found, rounds = searched(catalog, *names)
    for group in groups:
        assert (found[f"one{group}"], found[f"two{group}"], found[f"base{group}"]) == (
            "60",
            "1",
            "2",
        )
    assert rounds <= 5 * len(groups)


def test_growth_with_conflicts_that_show_late() -> None:
    """boto3, botocore and urllib3, with who wants a newer urllib3 at the end of a chain."""
    groups, catalog = range(4), DataCatalog()
    for group in groups:
        catalog.serve(f"url{group} {to(8)}", f"core{group} {to(5)}: url{group}")
        catalog.serve(f"core{group} {to(40, 6)}: url{group}<4", f"zchain{group} 1: late{group}")
        catalog.serve(
            *(f"boto{group} {at}: core{group}=={at}" for at in range(1, 41)),
            f"late{group} 1: url{group}>=6",
        )
    names = [f"{name}{group}" for group in groups for name in ("boto", "zchain")]
    engine = CompleteEngine(Universe(problem(*names), catalog))
    found = chosen(engine)
    for group in groups:
        assert (found[f"boto{group}"], found[f"core{group}"], found[f"url{group}"]) == (
            "5",
            "5",
            "8",
        )
    assert engine.rounds <= 300 * len(groups)


def test_growth_with_a_chain_of_a_thousand_projects() -> None:
    """A chain is longer than Python's stack is deep, and takes more rounds than a search may."""
    many = 1_010
    catalog = DataCatalog().serve(
        *(f"p{number} 1 2: p{number + 1}" for number in range(many)), f"p{many} 1"
    )
    found, rounds = searched(catalog, "p0")
    assert len(found) == many + 1
    assert rounds <= 2.1 * many


def test_search_decides_layers_from_above() -> None:
    """What requires a project is decided before it, so each is decided once.

    It is decided for the newest release that all of them admit.
    """
    random = Random(3)
    layers = [
        [f"p{number:03}" for number in range(at * 20, at * 20 + 20)] for at in reversed(range(12))
    ]
    lines: dict[str, list[str]] = {}
    for layer, below in zip(layers, [*layers[1:], []], strict=True):
        for name in layer:
            some = random.sample(below, min(3, len(below)))
            lines[name] = [
                f"{one}<{random.randint(5, 9)}" if random.random() < 0.2 else f"{one}>=2"
                for one in some
            ]
    catalog = DataCatalog(
        {name: dict.fromkeys(to(9).split(), needs) for name, needs in lines.items()}
    )
    found, rounds = searched(catalog, *layers[0])
    assert rounds == len(found)
    ends: dict[str, int] = {}
    for name in found:
        for line in lines[name]:
            if "<" in line:
                one, _, end = line.partition("<")
                ends[one] = min(int(end), ends.get(one, 10))
    assert len(ends) > 50
    assert found == {name: str(ends.get(name, 10) - 1) for name in found}


# --- how much the complete engine reads and asks where releases of a package fail in a row

_MANY = 120


def chosen(engine: CompleteEngine) -> dict[str, str]:
    return {str(package): str(one.version) for package, one in engine.solve().items()}


def test_engine_skips_releases_that_fail_in_a_row() -> None:
    """Each `sdk` has a `core` of its own, and none fits the `dates` that was decided before."""
    catalog = DataCatalog().serve("app 1: alpha, sdk", "alpha 1: dates", "dates 1 2")
    for number in range(_MANY):
        catalog.serve(f"sdk 1.{number}: core==1.{number}", f"core 1.{number}: dates<2")
    engine = CompleteEngine(Universe(problem("app"), catalog))
    newest = f"1.{_MANY - 1}"
    assert chosen(engine) == {"app": "1", "alpha": "1", "dates": "1", "sdk": newest, "core": newest}
    assert engine.rounds < 60
    assert len(catalog.asked) < 40


def test_engine_skips_what_a_decision_rules_out() -> None:
    """Of `core` only the one that `sdk` pins can be: the hundred others are no question."""
    catalog = DataCatalog().serve("app 1: sdk, zeta==2", "sdk 2: core==1.7", "sdk 1", "zeta 1 2")
    catalog.serve(*(f"core 1.{number}: zeta==1" for number in range(_MANY)))
    engine = CompleteEngine(Universe(problem("app"), catalog))
    assert chosen(engine) == {"app": "1", "sdk": "1", "zeta": "2"}
    assert engine.rounds < 20


def test_engine_takes_an_extra_of_the_decided_release() -> None:
    """Each `core[b]` but the oldest needs what is not there.

    Once a `core` is decided, only its own extra is asked about.
    """
    catalog = DataCatalog({"zeta": {"1": []}})
    for number in range(1, _MANY + 1):
        needs = [f"zeta>={1 if number == 1 else 2} ; extra == 'b'"]
        catalog.add_wheel("core", f"1.{number}", needs, extras=["a", "b"])
    engine = CompleteEngine(Universe(problem("core[a,b]"), catalog))
    assert chosen(engine) == {"core": "1.1", "core[a]": "1.1", "core[b]": "1.1", "zeta": "1"}
    assert engine.rounds < 5 * _MANY


def test_engine_names_the_policy_if_many_are_unread() -> None:
    """Any of 500 releases might ask for the pre-release of `deep`.

    They are not read; that it is out is a statement.
    """
    catalog = DataCatalog().serve(
        "app 1: many, deep", "deep 1: gone", "deep 1a1", f"many {to(500)}"
    )
    engine = CompleteEngine(Universe(problem("app", "deep<2"), catalog))
    with pytest.raises(Unsatisfiable) as caught:
        engine.solve()
    lacking = [
        one for one in caught.value.core if isinstance(one, Unavailable) and one.project == "deep"
    ]
    assert [one.why for one in lacking] == [NoCandidate.NEEDLESS]
    assert len(catalog.asked) < 10


def test_variants_keep_few_projects_alive() -> None:
    """A matrix has hundreds of problems, each with facts of its own about a project."""
    catalog = DataCatalog({"x": {"1": [], "2": []}})
    universe = Universe(problem("x"), catalog)
    projects = []
    for number in range(40):
        universe = universe.for_problem(
            problem("x", facts=[requires("x", "==1", f"y<{number + 2}")])
        )
        projects.append(ref(universe.project(NormalizedName("x"))))
    gc.collect()
    assert sum(project() is not None for project in projects) < 20
