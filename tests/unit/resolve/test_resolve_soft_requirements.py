"""What an extra says of a project that is there anyway is preferred, and told if it is not met."""

from __future__ import annotations

import pytest

from resolver.errors import IndexFailure
from resolver.model.fact import Fact
from resolver.model.release import CoreMetadata, File
from resolver.model.resolution import Resolution
from resolver.phrase import literal
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import collides, constrains, pins, problem, requires, solved


def index(newest: str = 'torch>=2.6; extra == "torch"') -> DataCatalog:
    catalog = DataCatalog({"torch": {"2.6": [], "2.5": []}})
    catalog.add_wheel("models", "5", [newest], extras=["torch"])
    catalog.add_wheel("models", "4", ['torch>=2.2; extra == "torch"'], extras=["torch"])
    return catalog


def unmet(
    *lines: str, catalog: DataCatalog, facts: tuple[Fact, ...] = ()
) -> list[tuple[str, str, str]]:
    resolution = solved(problem(*lines, facts=facts), catalog)
    return [(row.project, row.bound, row.other_version) for row in resolution.unmet_bounds]


def test_soft_bound_takes_a_release_that_meets_it() -> None:
    assert pins(problem("models", "torch==2.5"), index()) == {"models": "4", "torch": "2.5"}


def test_soft_bound_installs_nothing() -> None:
    assert pins(problem("models"), index()) == {"models": "5"}


def test_soft_bound_that_nothing_meets_is_told() -> None:
    assert pins(problem("models==5", "torch==2.5"), index()) == {"models": "5", "torch": "2.5"}
    assert unmet("models==5", "torch==2.5", catalog=index()) == [("models", "torch>=2.6", "2.5")]


def test_soft_bound_between_projects_that_nobody_named_is_met_or_not_told() -> None:
    catalog = index()
    catalog.serve("app 1: models==5, torch==2.5", "other 1: models, torch==2.5")
    assert unmet("app", catalog=catalog) == []
    assert unmet("app", "models", catalog=catalog) == [("models", "torch>=2.6", "2.5")]
    assert pins(problem("other"), catalog)["models"] == "4"


def test_soft_bound_is_no_pin() -> None:
    catalog = index('torch==2.6; extra == "torch"')
    assert pins(problem("models", "torch==2.5"), catalog) == {"models": "5", "torch": "2.5"}
    assert unmet("models", "torch==2.5", catalog=catalog) == []


def test_soft_bound_holds_for_older_releases() -> None:
    catalog = index('torch<2.5; extra == "torch"')
    assert pins(problem("models", "torch==2.5"), catalog) == {"models": "5", "torch": "2.5"}
    assert unmet("models", "torch==2.5", catalog=catalog) == [("models", "torch<2.5", "2.5")]
    assert pins(problem("models", "torch"), index('torch<2.6; extra == "torch"')) == {
        "models": "5",
        "torch": "2.5",
    }


def test_soft_bound_that_nothing_meets_stops_no_other() -> None:
    catalog = index()
    catalog.add_wheel("arrays", "2", ['torch<2; extra == "torch"'], extras=["torch"])
    lines = ("models", "arrays", "torch==2.5")
    assert pins(problem(*lines), catalog) == {"arrays": "2", "models": "4", "torch": "2.5"}
    assert unmet(*lines, catalog=catalog) == [("arrays", "torch<2", "2.5")]


def test_soft_bound_with_a_marker_of_another_target() -> None:
    catalog = index('torch>=2.6; extra == "torch" and platform_machine == "x86_64"')
    assert pins(problem("models", "torch==2.5"), catalog) == {"models": "5", "torch": "2.5"}


def test_soft_bound_of_an_extra_of_another_name() -> None:
    catalog = DataCatalog({"torch": {"2.6": [], "2.5": []}})
    catalog.add_wheel("models", "5", ['torch>=2.6; extra == "all"'], extras=["all"])
    assert unmet("models", "torch==2.5", catalog=catalog) == []


@pytest.mark.parametrize(
    "fact", [constrains("models", "", "torch>=2.1"), requires("torch", "", "models")]
)
def test_soft_bound_gives_way_to_a_fact_about_both(fact: Fact) -> None:
    catalog = index()
    assert pins(problem("models", "torch==2.5", facts=[fact]), catalog) == {
        "models": "5",
        "torch": "2.5",
    }
    assert unmet("models", "torch==2.5", catalog=catalog, facts=(fact,)) == []


def with_extra(name: str, version: str, line: str, extra: str, catalog: DataCatalog) -> None:
    catalog.add_wheel(name, version, [f'{line}; extra == "{extra}"'], extras=[extra])


def test_soft_bounds_that_contradict_change_nothing() -> None:
    catalog = DataCatalog({"x": {"2": [], "1": []}})
    with_extra("a", "1", "x>=2", "x", catalog)
    with_extra("b", "1", "x<2", "x", catalog)
    stack = problem("a", "b", "x")
    first = pins(stack, catalog)
    assert first == {"a": "1", "b": "1", "x": "2"}
    assert pins(stack, catalog, preferred=first) == first


def test_soft_bound_is_not_met_at_the_cost_of_others() -> None:
    catalog = DataCatalog({"x": {"2": [], "1": []}})
    for name in ("a", "b", "c"):
        with_extra(name, "1", "x>=2", "x", catalog)
    with_extra("d", "1", "x<2", "x", catalog)
    assert unmet("a", "b", "c", "d", "x", catalog=catalog) == [("d", "x<2", "2")]


@pytest.mark.parametrize("bound", ["torch==2.6.*", "torch~=2.6.0"])
def test_soft_upper_bound_is_no_lower_bound(bound: str) -> None:
    catalog = DataCatalog({"torch": {"2.7": [], "2.5": []}})
    with_extra("models", "2", bound, "torch", catalog)
    with_extra("models", "1", "torch==2.5.*", "torch", catalog)
    assert pins(problem("models", "torch"), catalog) == {"models": "1", "torch": "2.5"}


def test_soft_bound_is_no_pin_of_an_older_release() -> None:
    catalog = DataCatalog({"torch": {"2.5": []}})
    with_extra("models", "5", "torch>=2.6", "torch", catalog)
    with_extra("models", "4", "torch==2.1", "torch", catalog)
    assert pins(problem("models", "torch"), catalog) == {"models": "4", "torch": "2.5"}


def test_soft_bound_gives_way_to_a_fact_about_the_release() -> None:
    catalog = DataCatalog({"torch": {"2.5": []}})
    with_extra("models", "5", "torch>=2.6", "torch", catalog)
    with_extra("models", "4", "torch<2.2", "torch", catalog)
    facts = [requires("models", "==4", "torch>=2.3")]
    assert pins(problem("models", "torch", facts=facts), catalog) == {"models": "4", "torch": "2.5"}


def test_soft_bound_is_about_no_module_of_that_name() -> None:
    catalog = DataCatalog({"triton": {"2": []}, "triton-ascend": {"1": []}})
    catalog.add_wheel("liger", "1", ["triton", 'triton<3; extra == "triton"'], extras=["triton"])
    facts = [collides("triton-ascend", "", "triton", "triton"), constrains("liger", "", "triton<3")]
    assert pins(problem("liger", facts=facts), catalog) == {"liger": "1", "triton": "2"}


def test_soft_bound_is_given_up_if_an_index_fails() -> None:
    catalog = index()
    universe = Universe(problem("models", "torch==2.5"), catalog)
    answer = decide(universe)
    assert isinstance(answer, Resolution)
    assert (answer.unmet_bounds, universe.optional_reads.has_failed) == ((), False)

    def fail(file: File) -> CoreMetadata:
        if file.filename.startswith("models-4"):
            raise IndexFailure(literal("it did not answer"))
        return DataCatalog.metadata(catalog, file)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalog, "metadata", fail)
        universe = Universe(universe.problem, catalog)
        answer = decide(universe)
    assert isinstance(answer, Resolution)
    assert [row.bound for row in answer.unmet_bounds] == ["torch>=2.6"]
    assert universe.optional_reads.has_failed


def history(*bounds: str) -> DataCatalog:
    """trainer 1, 2, …, one each month, have these bounds on `engine` in an extra of that name."""
    catalog = DataCatalog()
    for month, bound in enumerate(bounds, 1):
        lines = [f'engine{bound}; extra == "engine"']
        uploaded = f"2025-{month:02}-01T00:00:00Z"
        catalog.add_wheel("trainer", str(month), lines, extras=["engine"], uploaded=uploaded)
    return catalog


def with_engine(catalog: DataCatalog, *versions: str, month: int) -> DataCatalog:
    for version in versions:
        catalog.add_wheel("engine", version, uploaded=f"2025-{month:02}-15T00:00:00Z")
    return catalog


@pytest.mark.parametrize("line", ["trainer==1", "trainer[engine]==1"])
def test_upper_bound_of_a_later_release_is_told(line: str) -> None:
    """Release 3 was the first to know engine 9, and said that it did not work with it."""
    catalog = with_engine(history(">=1", ">=1", "<9,>=1"), "9", month=4)
    resolution = solved(problem(line, "engine==9"), catalog)
    (row,) = resolution.unmet_bounds
    assert (row.project, row.version, row.stated_by) == ("trainer", "1", "3")
    assert (row.bound, row.other_version) == ("engine<9,>=1", "9")


def test_upper_bound_of_a_later_release_chooses_an_older_one_of_the_other() -> None:
    catalog = with_engine(history(">=1", "<9,>=1"), "9", month=4)
    with_engine(catalog, "8", month=3)
    assert pins(problem("trainer==1", "engine"), catalog) == {"trainer": "1", "engine": "8"}


@pytest.mark.parametrize(
    ("bounds", "version", "month"),
    [
        ((">=1", "<9,>=1"), "8", 4),  # it is met
        ((">=1", "<9,>=1"), "9", 1),  # release 1 is not older
        ((">=1", ">=1"), "9", 4),  # no release has an upper bound
        (("<10", "<9"), "9", 4),  # its own holds
    ],
)
def test_upper_bound_of_a_later_release_that_says_nothing(
    bounds: tuple[str, ...], version: str, month: int
) -> None:
    catalog = history(*bounds)
    catalog.add_wheel("engine", version, uploaded=f"2025-{month:02}-01T00:00:00Z")
    resolution = solved(problem("trainer==1", f"engine=={version}"), catalog)
    assert resolution.unmet_bounds == ()


def test_lower_bound_of_a_later_release_is_not_for_an_older_one() -> None:
    catalog = with_engine(history(">=1", "<9,>=5"), "4", month=4)
    assert solved(problem("trainer==1", "engine==4"), catalog).unmet_bounds == ()


def test_upper_bound_is_sought_in_twenty_later_releases() -> None:
    catalog = DataCatalog()
    for number in range(22):
        bound = "<9" if number == 21 else ">=1"
        uploaded = f"2025-01-{number + 1:02}T00:00:00Z"
        line = f'engine{bound}; extra == "engine"'
        catalog.add_wheel("trainer", str(number), [line], extras=["engine"], uploaded=uploaded)
    with_engine(catalog, "9", month=12)
    (row,) = solved(problem("trainer==1", "engine==9"), catalog).unmet_bounds
    assert row.stated_by == "21"
    assert solved(problem("trainer==0", "engine==9"), catalog).unmet_bounds == ()


def test_later_release_that_cannot_be_read_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = with_engine(history(">=1", "<9,>=1"), "9", month=4)
    read = catalog.metadata

    def fail(file: File) -> CoreMetadata:
        if file.filename.startswith("trainer-2"):
            raise IndexFailure(literal("it did not answer"))
        return read(file)

    monkeypatch.setattr(catalog, "metadata", fail)
    universe = Universe(problem("trainer==1", "engine==9"), catalog)
    answer = decide(universe)
    assert isinstance(answer, Resolution)
    assert (answer.unmet_bounds, universe.optional_reads.has_failed) == ((), True)
