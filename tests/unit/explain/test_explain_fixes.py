"""Ways out of small conflicts: which are found, what they change, and in which order."""

from __future__ import annotations

from io import StringIO
from itertools import chain

import pytest
from msgspec.structs import replace
from packaging.utils import NormalizedName

from resolver.cli import console
from resolver.cli.console import ConflictPage, Progress
from resolver.config.compile import StackCompiler, compile_problems
from resolver.config.schema import StackFile
from resolver.config.toml_files import read_text
from resolver.errors import IndexFailure
from resolver.explain.alternatives import Alternatives
from resolver.explain.clock import Clock
from resolver.explain.explain import explanation_of
from resolver.explain.fixes import lettered
from resolver.explain.loss import loss_of
from resolver.i18n import translate
from resolver.index.protocol import Lookup
from resolver.model import text
from resolver.model.change import Change, ChangeKind
from resolver.model.constraint import ComponentValue, ReleaseRequires, StackLine
from resolver.model.explanation import AttemptOutcome, Explanation, Fix
from resolver.model.problem import NO_OPTIONS
from resolver.model.release import File
from resolver.model.resolution import Resolution
from resolver.phrase import literal
from resolver.report.explanation.fixes import change_sentence
from resolver.resolve import sat
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe
from tests.changes import after_of, before_of
from tests.components import COMPONENTS
from tests.datacatalog import DataCatalog
from tests.unit.explain.inputs import fact, inputs_of, matrix, refutation, target, warning

NEEDS_CANN = matrix("==2", "8.3.RC1", "enforced")
NEEDS_A2 = warning("kernels", "==1", "These kernels are built for A2.", 'unless = ["soc in A2"]')


def ways_out(catalog: DataCatalog, *lines: str, facts: str = "") -> tuple[Fix, ...]:
    return explained(catalog, *lines, facts=facts).fixes


def explained(catalog: DataCatalog, *lines: str, facts: str = "") -> Explanation:
    inputs = inputs_of(*lines, more=target() + facts)
    return explanation_of(
        refutation(inputs, catalog), StackCompiler(inputs), Clock(60), lambda _: catalog
    )


def told(fix: Fix) -> list[str]:
    """The changes of a way out, then its warnings."""
    return [
        *(f"{before_of(change)} -> {after_of(change)}" for change in fix.changes),
        *(fact.text for where in fix.environments for fact in where.warnings),
    ]


def test_fix_solves_what_the_first_conflict_hides() -> None:
    """`base` is missing; that no release of `plugin` is for this CANN shows only later."""
    catalog = DataCatalog({"base": {"1": [], "2": []}, "plugin": {"1": ["base"], "2": ["base<2"]}})
    found = explained(catalog, "base==7", "plugin", facts=matrix(">=1", "8.3.RC1", "enforced"))
    (hidden,) = found.contradictions[1:]
    assert [type(one.constraint) for one in hidden.reasons] == [
        StackLine,
        ComponentValue,
        ReleaseRequires,
    ]
    assert [told(fix) for fix in found.fixes] == [
        ["base==7 -> base==2", "8.5.0 -> 8.3.RC1"],
        ["base==7 -> base==2", "plugin -> "],
    ]
    out = StringIO()
    pages = ConflictPage(out, Progress(enabled=False))  # which comes bit by bit
    pages.why(found.problem, found.contradictions[:1])
    pages.ways(found)
    assert (
        out.getvalue().count(
            "\nAnother conflict, hidden by the ones above: these 3 cannot all hold together"
        )
        == 1
    )


@pytest.mark.parametrize(("room", "is_told"), [(11, True), (8, False)])
def test_hidden_conflict_is_told_shortly_if_there_is_room(
    monkeypatch: pytest.MonkeyPatch, room: int, is_told: bool
) -> None:
    catalog = DataCatalog({"base": {"1": [], "2": []}, "plugin": {"1": ["base"], "2": ["base<2"]}})
    found = explained(catalog, "base==7", "plugin", facts=matrix(">=1", "8.3.RC1", "enforced"))
    monkeypatch.setattr(console, "_WHY", room)
    out = StringIO()
    pages = ConflictPage(out, Progress(enabled=False))
    pages.why(found.problem, found.contradictions[:1])
    pages.ways(found)
    text = " ".join(out.getvalue().split())
    assert "1 more conflict was hidden by the ones above; see the report. " in text
    assert ("the stack asks for plugin; the target has CANN 8.5.0" in text) == is_told
    assert "Another conflict, hidden" not in text


def test_fix_allows_prereleases_with_another_version() -> None:
    """A pre-release of `plugin` is for this CANN; perhaps something asks for it."""
    catalog = DataCatalog(
        {"base": {"1": [], "2": []}, "plugin": {"1": ["base"], "1.1rc1": ["base"], "2": ["base<2"]}}
    )
    found = explained(catalog, "base==7", "plugin", facts=matrix("!=1.1rc1", "8.3.RC1", "enforced"))
    assert len(found.contradictions) == 1
    assert [told(fix) for fix in found.fixes] == [
        ["base==7 -> base==2", "8.5.0 -> 8.3.RC1"],
        ["base==7 -> base==2", ' -> prereleases-of.plugin = "allow"'],
    ]


def test_fix_renames_and_repins_a_line_in_one_change() -> None:
    catalog = DataCatalog({"plugin": {"1": [], "2": ["base==1"]}, "base": {"2": []}})
    fixes = ways_out(catalog, "plugn==2", "base", facts=NEEDS_CANN)
    assert told(fixes[0]) == ["plugn==2 -> plugin==1"]
    assert 'requires = [\n    "plugin==1",\n    "base",\n]' in fixes[0].files[0][1]


def test_fix_for_other_kernels_comes_later_with_a_warning() -> None:
    """The later line is the cheaper one to change, but what it brings is for another SoC."""
    catalog = DataCatalog().serve(
        "plugin 1: base==1, kernels", "plugin 2: base==2", "base 1 2", "kernels 1"
    )
    fixes = ways_out(catalog, "base==1", "plugin==2", facts=NEEDS_A2)
    assert [told(fix) for fix in fixes if len(fix.files) == 1 and not fix.risky] == [
        ["base==1 -> base==2"],
        ["plugin==2 -> plugin==1", "These kernels are built for A2."],
    ]


def warns_of_cann(package: str, version: str) -> str:
    return warning(
        package, f"=={version}", "Seen to fail on this CANN.", 'unless = ["cann in 8.3.RC1"]'
    )


def test_fix_takes_the_cann_that_averts_a_warning() -> None:
    """Of two CANNs for the newest release, a note says of one that it is no pair."""
    facts = (
        matrix("==1", "8.0.0") + matrix("==2", "8.3.RC2 | 8.3.RC1") + warns_of_cann("plugin", "2")
    )
    fixes = ways_out(DataCatalog({"plugin": {"1": [], "2": []}}), "plugin==7", facts=facts)
    assert told(fixes[0]) == ["plugin==7 -> plugin==2", "8.5.0 -> 8.3.RC1"]


def test_fix_avoids_a_release_useless_without_another() -> None:
    grave = warning(
        "plugin", "==2", "It runs on nothing by itself.", 'unless = ["runner"]\ngrave = true'
    )
    catalog = DataCatalog().serve("plugin 1 2: base==2", "base 1 2", "runner 1")
    assert (
        told(ways_out(catalog, "plugin==3", "runner", facts=grave)[0])[0]
        == "plugin==3 -> plugin==2"
    )
    assert (
        told(ways_out(catalog, "plugin==3", "base", facts=grave)[0])[0] == "plugin==3 -> plugin==1"
    )


def test_fix_dropping_a_line_comes_after_a_warned_release() -> None:
    catalog = DataCatalog({"plugin": {"1": [], "2": ["base==2"]}, "base": {"1": []}})
    fixes = ways_out(catalog, "plugin==2", "base", facts=warns_of_cann("plugin", "1"))
    assert [told(fix) for fix in fixes if not fix.risky] == [
        ["plugin==2 -> plugin==1", "Seen to fail on this CANN."],
        ["plugin==2 -> "],
    ]


def test_dropping_what_something_needs_to_work_is_no_fix() -> None:
    """As vllm without vllm-ascend on an A3, for which there is no wheel of the latter."""
    for_a2 = fact("requires", "runner", "==1", 'needs = ["soc in A2"]', "enforced")
    for_none = fact("excludes", "runner", "==1", "", "enforced")
    useless = warning(
        "engine", "==1", "It runs on nothing by itself.", 'unless = ["runner"]\ngrave = true'
    )
    catalog = DataCatalog({"engine": {"1": []}, "runner": {"1": []}})
    assert [told(fix) for fix in ways_out(catalog, "engine", "runner", facts=for_a2 + useless)] == [
        ["310P -> A2"]
    ]
    told_of = explained(catalog, "engine", "runner", facts=for_none + useless)
    assert told_of.fixes == ()
    (attempt, *_) = told_of.attempts
    assert attempt.outcome is AttemptOutcome.USELESS
    assert attempt.warning is not None
    assert translate(attempt.warning, "en") == "It runs on nothing by itself."
    assert [told(fix) for fix in ways_out(catalog, "engine", "runner", facts=for_a2)] == [
        ["runner -> "],
        ["310P -> A2"],
    ]


def test_fix_drops_a_line_rather_than_a_fact() -> None:
    """As flash-attn, with two more changes on offer that go against the fact, and nothing else."""
    for_8_5 = fact("requires", "base", "==2", 'needs = ["cann in 8.5.0"]', "vendor")
    not_here = fact("excludes", "kernels", "", "", "observed").replace('versions = ""\n', "")
    for_8_3 = for_8_5.replace("==2", "==1").replace("8.5.0", "8.3.RC1")
    catalog = DataCatalog({"base": {"1": [], "2": []}, "kernels": {"1": []}})
    fixes = ways_out(catalog, "base==1", "kernels", facts=for_8_5 + for_8_3 + not_here)
    assert [told(fix) for fix in fixes[:2]] == [
        ["base==1 -> base==2", "kernels -> "],
        ["kernels -> ", "8.5.0 -> 8.3.RC1"],
    ]


def test_fix_with_two_environments_comes_after_two_versions() -> None:
    catalog = DataCatalog().serve("plugin 2: base==2, tool==2", "base 1 2", "tool 1 2")
    facts = "".join(warns_of_cann(name, "2") for name in ("base", "tool"))
    first, second, *_ = ways_out(catalog, "base==1", "tool==1", "plugin==2", facts=facts)
    assert told(first)[:2] == ["base==1 -> base==2", "tool==1 -> tool==2"]
    assert len(second.files) == 2


# --- which releases a line comes to


def test_fix_takes_a_listed_prerelease_of_the_pin() -> None:
    catalog = DataCatalog(
        {"plugin": {one: ["base"] for one in ("1", "2rc1", "2rc2", "2", "3rc1")}, "base": {"1": []}}
    )
    facts = matrix("==2,<3rc0", "8.3.RC1") + matrix("==2rc1", "8.5.0") + matrix("==1", "8.3.RC1")
    fixes = ways_out(catalog, "plugin==2", facts=facts + matrix("==3rc1", "8.5.0"))
    assert [told(fix) for fix in fixes[:2]] == [
        ["8.5.0 -> 8.3.RC1"],
        ["plugin==2 -> plugin==2rc1"],
    ]
    assert all("3rc1" not in line for fix in fixes for line in told(fix)), "of another release"
    unlisted = ways_out(
        catalog, "plugin==2", facts=matrix("==2,<3rc0", "8.3.RC1") + matrix("==1", "8.3.RC1")
    )
    assert all(
        "rc" not in line.partition(" -> ")[2].lower().replace("8.3.rc1", "")
        for line in told(unlisted[0])
    )


def test_fix_takes_a_prerelease_with_another_cann() -> None:
    """That no release on offer helps is asked of all that are tried, not of the newest alone."""
    plugin: dict[str, list[str]] = {"1": ["helper>=5"], "2rc1": [], "2": ["gone"]}
    catalog = DataCatalog({"plugin": plugin, "helper": {"1": [], "5": []}})
    facts = matrix("==1", "8.5.0") + matrix("==2rc1", "8.3.RC1") + matrix("==2", "8.5.0")
    fixes = [told(fix) for fix in ways_out(catalog, "plugin==2", "helper==1", facts=facts)]
    assert fixes[:2] == [
        ["plugin==2 -> plugin==1", "helper==1 -> helper==5"],
        ["plugin==2 -> plugin==2rc1", "8.5.0 -> 8.3.RC1"],
    ]


def test_fix_takes_a_release_with_a_mere_note() -> None:
    """Nothing is known of `base 1`, which makes it no better."""
    catalog = DataCatalog({"base": {"1": [], "2": [], "3": ["deep>=9"]}, "deep": {"1": []}})
    note = "base", "==2", "Its recipes are not in the wheel."
    first, *_ = ways_out(catalog, "base==3", "deep==1", facts=warning(*note))
    assert told(first)[:1] == ["base==3 -> base==2"]
    for fault in ("grave = true", 'unless = ["soc in A2"]'):
        first, *_ = ways_out(catalog, "base==3", "deep==1", facts=warning(*note, fault))
        assert told(first)[:1] == ["base==3 -> base==1"]
    for beside in (
        "other",
        "deep",
    ):  # told where that is there; while ways out are looked for nobody knows
        first, *_ = ways_out(
            catalog,
            "base==3",
            "deep==1",
            facts=warning(*note, f'grave = true\nwith = ["{beside}"]'),
        )
        assert told(first)[:1] == ["base==3 -> base==2"]
        assert len(first.environments[0].warnings) == (1 if beside == "deep" else 0)


def test_fix_removes_an_extra_that_the_release_lacks() -> None:
    deep = "deep ; extra == 'gpu'"
    for needs, extras, after in (
        ([deep], ["gpu"], "base[gpu]==2"),
        ([deep], [], "base[gpu]==2"),  # METADATA that does not list it, and has a line for it
        ([], ["gpu"], "base[gpu]==2"),
        ([], [], "base==2"),
    ):
        catalog = DataCatalog({"deep": {"1": []}, "other": {"1": []}})
        catalog.add_wheel("base", "2", needs, extras=extras)
        catalog.add_wheel("base", "3", ["other>=9", deep], extras=["gpu"])
        fixes = ways_out(catalog, "base[GPU]==3", "other==1")
        assert ["base[GPU]==3 -> " + after] in map(told, fixes)
        fix = next(fix for fix in fixes if after_of(fix.changes[0]) == after)
        assert not fix.environments[0].warnings


def test_fix_avoids_a_release_that_fails_beside_another() -> None:
    """What is beside a release is known when it is locked: then a newer one is asked for.

    `tool` 2 fails beside `engine` 2, as a fact says, `tool` 3 is bounded by one, and what it needs
    by its metadata keeps `tool` 4 from the `base` that a line pins.
    """
    catalog = DataCatalog().serve("engine 1 2", "plugin 2: engine>=2", "base 1 2")
    catalog.serve("tool 1: engine<2", "tool 2 3 5 6", "tool 4: base>=2")
    facts = warning("tool", "==2", "It fails.", 'grave = true\nwith = ["engine>=2"]')
    facts += fact("constrains", "tool", "==3", 'bounds = ["engine<2"]')
    first, *_ = ways_out(catalog, "tool==1", "plugin==2", "base==1", facts=facts)
    assert told(first) == ["tool==1 -> tool==5"]


def test_fix_with_one_release_further_away_is_left_out() -> None:
    """Any newer `codec` does; nothing speaks for one that is newer than needed."""
    catalog = DataCatalog().serve("torch 1 2 3", "codec 1 2 3 4", "app 1: torch<2, codec>=2")
    lines = ("app==1", "torch==2", "codec==1")
    ways = [told(fix) for fix in ways_out(catalog, *lines)]
    both = [way for way in ways if "torch==2 -> torch==1" in way and len(way) == 2]
    assert both == [["torch==2 -> torch==1", "codec==1 -> codec==2"]]


@pytest.mark.parametrize("required", ["toolkit", "app[widgets]"])
@pytest.mark.parametrize("is_line", [False, True])
def test_what_an_extra_installs_is_worth_a_line(required: str, *, is_line: bool) -> None:
    """An older `app` without its extra `gui` is one change, and keeps `torch` and `codec`.

    `toolkit` is what the extra is for. If a line asks for it as well, nothing is lost.
    """
    catalog = DataCatalog(
        {"torch": {"1": [], "2": []}, "codec": {"1": [], "2": []}, "toolkit": {"1": []}}
    )
    catalog.add_wheel("app", "1", [])
    extras = {"gui": required, "widgets": "toolkit"}
    needs = [f"{needed} ; extra == '{extra}'" for extra, needed in extras.items()]
    catalog.add_wheel("app", "2", ["torch<2", "codec>=2", *needs], extras=list(extras))
    lines = ["app[gui]==2", "torch==2", "codec==1", *["toolkit"] * is_line]
    first, *_ = ways_out(catalog, *lines)
    changed = {change.subject for change in first.changes}
    assert changed == ({"app"} if is_line else {"torch", "codec"})


def test_fix_overrides_only_releases_of_the_targets_lines() -> None:
    catalog = DataCatalog(
        {"plugin": {one: [f"base=={one}"] for one in "123"}, "base": {one: [] for one in "1234"}}
    )
    here, there = (
        "plugin==2 ; platform_machine == 'aarch64'",
        "plugin==3 ; platform_machine == 'x86_64'",
    )
    (override,) = (fix for fix in ways_out(catalog, here, there, "base==4") if fix.risky)
    assert 'versions = "==2"' in after_of(override.changes[0])
    assert before_of(override.changes[0]) == "base==2"


@pytest.mark.parametrize(("glibc", "is_first"), [("2.28", True), ("2.31", False)])
def test_fix_changes_a_glibc_that_is_only_assumed_before_a_line(glibc: str, is_first: bool) -> None:
    """Newer wheels of `plugin` are for a newer glibc, and its archives state nothing."""
    catalog = DataCatalog({"plugin": {one: [] for one in ("0.1", "0.2", "0.3")}})
    for version in ("0.4", "0.5"):
        catalog.add_wheel("plugin", version, tags="cp311-cp311-manylinux_2_34_aarch64")
        catalog.add_archive("plugin", version, requires=None)
    facts = matrix("==0.5", "8.3.RC1") + matrix("<=0.3", "8.3.RC1") + matrix("==0.4", "8.3.RC1")
    inputs = inputs_of("plugin>=0.4", more=target().replace("2.28", glibc) + facts)
    found = explanation_of(
        refutation(inputs, catalog), StackCompiler(inputs), Clock(60), lambda _: catalog
    )
    changed = [told(fix) for fix in found.fixes if not fix.risky]
    newer = [f"{glibc} -> 2.34", "8.5.0 -> 8.3.RC1"]
    older = ["plugin>=0.4 -> plugin==0.3", "8.5.0 -> 8.3.RC1"]
    assert changed[:2] == ([newer, older] if is_first else [older, newer])


def test_split_puts_nothing_where_it_does_not_work() -> None:
    """`engine` clashes with nothing, but does not run without `plugin`."""
    idle = warning("engine", "==1", "It cannot run by itself.", 'grave = true\nunless = ["plugin"]')
    for needs, splits in (
        ("base==1", [[("trainer",), ("engine", "plugin")]]),
        ("base==1, engine", []),
    ):  # comes back
        catalog = DataCatalog().serve(
            f"trainer 1: {needs}", "plugin 1: base==2", "engine 1", "base 1 2"
        )
        fixes = ways_out(catalog, "trainer", "engine", "plugin", facts=idle)
        found = [
            [where.requires for where in fix.environments]
            for fix in fixes
            if len(fix.environments) > 1
        ]
        assert found[:1] == splits


def test_split_follows_what_does_not_work_without_each_other() -> None:
    """`client` clashes with nothing, and needs `engine`, which needs `plugin`."""
    facts = warning("engine", "==1", "It idles.", 'grave = true\nunless = ["plugin"]')
    facts += warning("client", "==1", "It waits.", 'grave = true\nunless = ["engine"]')
    catalog = DataCatalog().serve("trainer 1: base==1", "plugin 1: base==2", "base 1 2")
    catalog.serve("engine 1", "client 1")
    fixes = ways_out(catalog, "trainer", "client", "engine", "plugin", facts=facts)
    (split,) = [fix for fix in fixes if len(fix.environments) > 1]
    first, second = (where.requires for where in split.environments)
    assert (first, second) == (("trainer",), ("client", "engine", "plugin"))


def test_fix_keeps_an_extra_named_version() -> None:
    """Its name is the one of a part of the line."""
    catalog = DataCatalog()
    for version in ("1", "2"):
        requires = [f"b=={version}", 'c; extra == "version"']
        catalog.add_wheel("a", version, requires, extras=["version"])
    catalog.serve("b 1 2", "c 1")
    assert ["a[version]==1 -> a[version]==2"] in map(
        told, ways_out(catalog, "a[version]==1", "b==2")
    )


def test_fix_changes_a_line_that_is_written_on_two_lines() -> None:
    catalog = DataCatalog().serve("a 1: b==1", "a 2: b==2", "b 1 2")
    inputs = inputs_of("b==2", more=target())
    text = inputs.stack.text.replace('"b==2",', '"b==2", """\na==1""",')
    inputs = replace(inputs, stack=read_text(text, StackFile, "demo.toml", COMPONENTS))
    found = explanation_of(
        refutation(inputs, catalog), StackCompiler(inputs), Clock(60), lambda _: catalog
    )
    assert ["a==1 -> a==2"] in map(told, found.fixes)


class Incomplete(DataCatalog):
    """A catalog that cannot get the page of one project."""

    def lookup(self, project: NormalizedName) -> Lookup:
        if project == "far":
            raise IndexFailure(literal("the page of far cannot be had"))
        return super().lookup(project)


@pytest.mark.parametrize("releases", [["c 1: far"], ["c 1: far", "c 2: far, b==9"]])
def test_conflict_is_explained_without_a_page_beside_it(releases: list[str]) -> None:
    """`a` and `b` clash whatever `c` needs."""
    catalog = Incomplete()
    catalog.serve("a 1 2", "b 1: a==2", *releases)
    found = explained(catalog, "a==1", "b==1", "c")
    lines = [[one.constraint.text for one in each.reasons[:2]] for each in found.contradictions]
    assert lines == [["a==1", "b==1"]]
    assert "the page of far cannot be had" in [str(attempt.why) for attempt in found.attempts]


def test_explanation_ends_where_the_engine_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = DataCatalog().serve("a 1 2", "b 1: a==2")
    inputs = inputs_of("a==1", "b==1", more=target())
    refuted = refutation(inputs, catalog)
    found = explanation_of(
        refuted,
        StackCompiler(inputs),
        Clock(60),
        lambda _: catalog,
        report=lambda *_: monkeypatch.setattr(sat, "MOST_CONFLICTS", 0),
    )
    assert found.contradictions
    assert found.limited


def test_fix_finds_a_listed_pair_beside_an_unlisted_release() -> None:
    """The unlisted release alone is the smaller change, and nobody knows what it is for."""
    catalog = DataCatalog({"base": {"1": [], "2": []}})
    for version, base in (("1", "1"), ("2", "2"), ("2.post1", "2")):
        catalog.add_wheel("plugin", version, [f"base=={base}"])
    facts = matrix("==2", "8.3.RC1", "enforced") + matrix("==1", "8.5.0", "enforced")
    found = [told(fix) for fix in ways_out(catalog, "base==2", "plugin==2", facts=facts)]
    assert found[:3] == [
        ["base==2 -> base==1", "plugin==2 -> plugin==1"],
        ["8.5.0 -> 8.3.RC1"],
        ["plugin==2 -> plugin==2.post1"],
    ]
    assert ["plugin==2 -> plugin==2.post1", "base==2 -> base==1"] not in found


def test_fix_against_a_fact_spares_some_of_the_stack() -> None:
    """Without the fact about 2 the lines stay; without the one about 1 nothing more does."""
    catalog = DataCatalog({"plugin": {"2": [], "1": []}, "base": {"1": []}})
    facts = "".join(
        fact("requires", "plugin", f"=={one}", 'needs = ["base==2"]') for one in ("2", "1")
    )
    fixes = ways_out(catalog, "plugin==2", "base", facts=facts)
    assert [told(fix) for fix in fixes] == [["plugin==2 -> "], ["base==2 -> "]]


def test_fix_sets_no_table_aside_where_others_help() -> None:
    catalog = DataCatalog({"plugin": {"2": [], "1": []}, "base": {"1": []}})
    facts = matrix("==2", "8.2.0") + matrix("==1", "8.3.RC1")
    fixes = ways_out(catalog, "plugin==2", "base", facts=facts)
    assert [told(fix) for fix in fixes] == [["8.5.0 -> 8.2.0"], ["plugin==2 -> "]]


def test_fix_names_one_value_of_a_component() -> None:
    """Two that differ in nothing else are one."""
    catalog = DataCatalog({"plugin": {"2": [], "1": []}})
    (fix,) = ways_out(catalog, "plugin==2", facts=matrix("", "8.2.0 | 8.3.RC1"))
    assert told(fix) == ["8.5.0 -> 8.3.RC1"]
    (change,) = fix.changes
    other = replace(fix, changes=(replace(change, after="8.2.0"),))
    losses = [(loss_of(fix), fix), (loss_of(other, price=1), other)]
    listed = list(lettered(losses, "demo", NO_OPTIONS))
    assert [told(each) for each in listed] == [["8.5.0 -> 8.3.RC1"]]


def test_fix_without_an_extra_is_listed_once() -> None:
    """The newer `app` has no extra `fast`, so whether the line still names it is all the same."""
    catalog = DataCatalog({"engine": {"1": [], "2": []}})
    catalog.add_wheel("app", "1", ["engine==1 ; extra == 'fast'"], extras=["fast"])
    catalog.add_wheel("app", "2", ["engine==2"])
    fixes = ways_out(catalog, "app[fast]==1", "engine==2")
    fix = next(fix for fix in fixes if told(fix) == ["app[fast]==1 -> app==2"])
    (change,) = fix.changes
    (environment,) = fix.environments
    with_extra = replace(
        fix,
        changes=(replace(change, after=text.requirement("app[fast]==2")),),
        environments=(replace(environment, gone=("app[fast]",)),),
    )
    losses = [(loss_of(fix), fix), (loss_of(with_extra, price=1), with_extra)]
    assert [told(each) for each in lettered(losses, "demo", NO_OPTIONS)] == [told(fix)]


def test_fix_warns_of_a_release_that_no_line_pins() -> None:
    """The stack did not say which release of `kernels` it is to be."""
    catalog = DataCatalog({"plugin": {"2": []}, "kernels": {"1": []}})
    facts = NEEDS_CANN + warning("kernels", "==1", "No table names this release.")
    (fix, *_) = ways_out(catalog, "plugin==2", "kernels", facts=facts)
    assert told(fix) == ["8.5.0 -> 8.3.RC1", "No table names this release."]
    (fix, *_) = ways_out(catalog, "plugin==2", "kernels==1", facts=facts)
    assert told(fix) == ["8.5.0 -> 8.3.RC1"]


def test_fix_bringing_in_what_does_not_work_is_last() -> None:
    """No line and no conflict is about `engine`, which `app` 2 needs; without it, A is `app` 2."""
    catalog = DataCatalog().serve("base 1 2", "app 1: base==1", "app 2: engine", "engine 1")
    grave = 'unless = ["engine-ascend"]\ngrave = true'
    facts = warning("engine", "==1", "It cannot serve.", grave)
    fixes = ways_out(catalog, "base==2", "app==1", facts=facts)
    assert told(fixes[0]) == ["base==2 -> base==1"]
    assert told(fixes[-1]) == ["app==1 -> app==2", "It cannot serve."]
    first, *_ = ways_out(catalog, "base==2", "app==1")
    assert told(first) == ["app==1 -> app==2"]


def test_fix_alone_by_years_comes_after_a_drop_and_says_so() -> None:
    """What the stack is about must not become years older while what it needs stays new."""
    catalog = DataCatalog().serve("base 1")
    catalog.add_wheel("app", "3", ["base==9"], uploaded="2026-01-01T00:00:00Z")
    catalog.add_wheel("app", "1", uploaded="2024-01-01T00:00:00Z")
    catalog.add_wheel("tool", "1", uploaded="2026-01-01T00:00:00Z")
    fixes = ways_out(catalog, "tool", "base", "app==3")
    assert [told(fix) for fix in fixes][:2] == [["app==3 -> "], ["app==3 -> app==1"]]
    sentence = translate(change_sentence(fixes[1].changes[0]), "en")
    assert "alone: the lines beside it stay as new as they are" in sentence


def test_fix_moves_what_is_needed_before_what_needs_it() -> None:
    """The application is what the stack is for; how many releases are between says nothing."""
    catalog = DataCatalog().serve("app 1: library", "app 2: library==1")
    for version in ("1", "2", "3", "4", "5"):
        catalog.add_wheel("library", version, uploaded=f"2026-0{version}-01T00:00:00Z")
    fixes = ways_out(catalog, "app==2", "library==5")
    assert [told(fix) for fix in fixes[:2]] == [
        ["library==5 -> library==1"],
        ["app==2 -> app==1"],
    ]
    assert [change.is_older_requirer for fix in fixes[:2] for change in fix.changes] == [
        False,
        True,
    ]


def test_fix_that_moves_both_takes_no_older_release_instead() -> None:
    """`app` goes back with `library`, and not in its place."""
    catalog = DataCatalog().serve("library 1 2 3", "app 1: library==1", "app 2: library==2")
    catalog.serve("tool 1: library==1")
    first, *_ = ways_out(catalog, "app==2", "library==3", "tool==1")
    assert told(first) == ["app==2 -> app==1", "library==3 -> library==1"]
    assert not any(change.is_older_requirer for change in first.changes)


@pytest.mark.parametrize(("needs", "years"), [("tool", {}), ("tool<1", {"tool": 2})])
def test_fix_open_line_is_old_beside_the_day_of_its_stack(
    needs: str, years: dict[str, int]
) -> None:
    """`tool 1` is what there was on the day of `base 1`, and `tool 0.1` was old even then."""
    catalog = DataCatalog()
    catalog.add_wheel("base", "1", uploaded="2024-01-01T00:00:00Z")
    catalog.add_wheel("base", "2", uploaded="2025-06-01T00:00:00Z")
    catalog.add_wheel("extra", "1", ["base==1", needs], uploaded="2024-01-01T00:00:00Z")
    for version, day in (("0.1", "2022-01-01"), ("1", "2024-01-10"), ("2", "2026-01-01")):
        catalog.add_wheel("tool", version, uploaded=f"{day}T00:00:00Z")
    refuted = refutation(inputs_of("base==2", "extra", "tool", more=target()), catalog)
    changed = inputs_of("base==1", "extra", "tool", more=target())
    (problem,) = compile_problems(changed)
    lock = decide(Universe(problem, catalog))
    assert isinstance(lock, Resolution)
    assert Alternatives(refuted.clauses, lambda: False).years_behind(lock) == years


def test_fix_with_an_unlisted_release_comes_after_an_old_one_beside() -> None:
    """What tables pair decides; `tool` is a year older, which nothing in the way out tells."""
    catalog = DataCatalog()
    for version in ("1", "2"):
        catalog.serve(f"base {version}", f"plugin {version}: base=={version}")
    catalog.serve("extra 1: base==1, tool<2", "extra 2: base==2")
    catalog.add_wheel("tool", "1", uploaded="2024-01-01T00:00:00Z")
    catalog.add_wheel("tool", "2", uploaded="2025-06-01T00:00:00Z")
    lines = "base==2", "extra==1", "tool", "plugin"
    found = [told(fix) for fix in ways_out(catalog, *lines, facts=matrix("==1", "8.5.0"))]
    beside, unlisted = ["base==2 -> base==1"], ["extra==1 -> extra==2"]
    assert [each for each in found if each in (beside, unlisted)] == [beside, unlisted]


def test_fix_sets_no_fact_about_chips_aside() -> None:
    """A release for another chip does not run, whatever the stack says; one for a CANN may."""
    catalog = DataCatalog().serve("plugin 1: base", "base 1")
    for one, other, is_set_aside in (
        ("soc in A2", "soc in 310P", False),
        ("cann in 8.3.RC1", "cann in 8.5.0", True),
    ):
        tables = fact("requires", "plugin", "==1", f'needs = ["{one}"]')
        tables += fact("requires", "base", "==1", f'needs = ["{other}"]')
        fixes = ways_out(catalog, "plugin", facts=tables)
        kinds = {change.kind for fix in fixes for change in fix.changes}
        assert (ChangeKind.RELAX in kinds) is is_set_aside


@pytest.mark.parametrize(
    ("source", "is_proposed"),
    [
        (f"demo/plugin Dockerfile @{'a' * 40}", True),
        (f"demo/trainer Dockerfile @{'a' * 40}", False),
        (f"demo/images Dockerfile @{'a' * 40}", True),
        ("demo/trainer#1", True),
    ],
)
def test_fix_turns_on_what_an_image_of_the_stacks_projects_does(
    source: str, is_proposed: bool
) -> None:
    """An image for training says nothing of a stack without `trainer`, if it is known to be its."""
    catalog = DataCatalog().serve("plugin 1: engine==2, cv<4", "engine 2: cv>=4", "cv 3 4")
    what = 'drop = ["cv"]\nadd = ["cv"]\nrisk = "Nobody tested it."'
    practice = fact("replaces", "engine", "==2", what, "practice").replace("demo/tests#1", source)
    known = warning("plugin", "==1", "It is new.") + warning("trainer", "==9", "It is new.")
    fixes = ways_out(catalog, "plugin==1", facts=practice + known)
    kinds = {change.kind for fix in fixes for change in fix.changes}
    assert (ChangeKind.PRACTICE in kinds) is is_proposed


def test_fix_shows_changed_and_paired_pins_first_of_many() -> None:
    names = [f"p{number:02}" for number in range(12)]
    catalog = DataCatalog().serve("y 1: z==1", "y 2: z==2", "z 1 2", "plugin 1")
    catalog.serve(*(f"{name} 1" for name in names))
    facts = matrix("==1", "8.5.0")
    fixes = ways_out(catalog, *names, "plugin", "z==2", "y==1", facts=facts)
    shown = [pin.name for pin in fixes[0].environments[0].pins]
    assert shown == ["y", "plugin", "z", *names[:7]]


def test_fix_is_found_among_a_thousand_releases() -> None:
    """As with botocore: what is known to clash is not looked at one by one."""
    catalog = DataCatalog(
        {"daily": {f"1.{day}": [] for day in range(1000)}, "core": {"1": ["daily==1.7"]}}
    )
    first, *_ = ways_out(catalog, "core==1", "daily==1.990")
    assert told(first) == ["daily==1.990 -> daily==1.7"]


def test_fix_of_years_ago_is_not_listed_beside_a_newer_one() -> None:
    """The old one limits nothing, as what it does not go with did not exist yet."""
    catalog = DataCatalog({"base": {"2": []}})
    catalog.add_wheel("plugin", "1", uploaded="2021-05-01T12:00:00Z")
    catalog.add_wheel("plugin", "2", ["base<2"], uploaded="2024-04-29T12:00:00Z")
    catalog.add_wheel("plugin", "2.1", ["base<2"], uploaded="2024-06-30T12:00:00Z")
    catalog.add_wheel("plugin", "3", uploaded="2025-01-01T12:00:00Z")
    fixes = ways_out(catalog, "plugin==2", "base==2")
    safe = [told(fix) for fix in fixes if not fix.risky]
    assert safe[0] == ["plugin==2 -> plugin==3"]
    assert ["plugin==2 -> plugin==1"] not in safe


def test_fix_maintained_series_is_not_of_years_ago() -> None:
    catalog = DataCatalog({"base": {"1": []}})
    catalog.add_wheel("plugin", "1.1", uploaded="2026-01-01T00:00:00Z")
    catalog.add_wheel("plugin", "2.0", ["base==2"], uploaded="2023-01-01T00:00:00Z")
    first, *_ = ways_out(catalog, "plugin==2.0", "base==1")
    assert told(first) == ["plugin==2.0 -> plugin==1.1"]
    assert first.changes[0].years == 0


def test_fix_with_an_unlisted_release_comes_after_listed_ones() -> None:
    """As with vllm-ascend 0.7.3rc2, which does not say what it needs, and so never clashes."""
    catalog = DataCatalog().serve(
        "plugin 0.7rc2", "plugin 1: base==1, tool==1", "plugin 2rc1: base==2"
    )
    catalog.serve("base 1 3", "tool 1 2")
    facts = matrix(">=1,!=2rc1", "8.3.RC1", "enforced") + matrix("==2rc1", "8.5.0", "enforced")
    fixes = ways_out(catalog, "plugin==2rc1", "base==3", "tool==2", facts=facts)
    assert [told(fix) for fix in fixes[:2]] == [
        [
            "plugin==2rc1 -> plugin==1",
            "base==3 -> base==1",
            "tool==2 -> tool==1",
            "8.5.0 -> 8.3.RC1",
        ],
        ["plugin==2rc1 -> plugin==0.7rc2"],
    ]


def test_fix_without_the_cutoff_changes_a_version_too() -> None:
    """Once `plugin 1` is there, `base 3` turns out to be too new."""
    catalog = DataCatalog()
    catalog.add_wheel("plugin", "1", ["base==2"], uploaded="2026-03-01T00:00:00Z")
    for version, month in (("1", 1), ("2", 4), ("3", 6)):
        catalog.add_wheel("base", version, uploaded=f"2026-0{month}-01T00:00:00Z")
    policy = "[policy]\nexclude-newer = 2026-02-01  # the guide's day\n"
    (fix, *_) = ways_out(catalog, "plugin==1", "base==3", facts=policy)
    assert told(fix) == ["exclude-newer = 2026-02-01 -> ", "base==3 -> base==2"]
    assert "exclude-newer" not in fix.files[0][1]


@pytest.mark.parametrize("day", ["2023-01-01", "2025-01-01"])
def test_fix_with_a_release_of_years_ago_comes_after_a_drop(day: str) -> None:
    """Nothing in the changes tells that another CANN leads to it."""
    catalog = DataCatalog({"base": {"1": []}})
    catalog.add_wheel("plugin", "1", uploaded=f"{day}T00:00:00Z")
    catalog.add_wheel("plugin", "2", ["more==1"], uploaded="2026-01-01T00:00:00Z")
    facts = matrix("==1", "8.3.RC1") + matrix("==2", "8.5.0")
    lines = [told(fix) for fix in ways_out(catalog, "plugin", "base", facts=facts) if not fix.risky]
    assert lines == [["plugin -> "], ["8.5.0 -> 8.3.RC1"]]


def test_fix_with_releases_beside_of_a_year_ago_comes_before_a_drop() -> None:
    """Several of them are no worse than one; `plugin` itself is of the same day."""
    catalog = DataCatalog().serve("plugin 1: tool<2, util<2", "plugin 2: more==1")
    for name in ("tool", "util"):
        catalog.add_wheel(name, "1", uploaded="2025-01-01T00:00:00Z")
        catalog.add_wheel(name, "2", uploaded="2026-02-01T00:00:00Z")
    facts = matrix("==1", "8.3.RC1") + matrix("==2", "8.5.0")
    fixes = ways_out(catalog, "plugin", "tool", "util", facts=facts)
    lines = [told(fix) for fix in fixes if not fix.risky]
    assert lines == [["8.5.0 -> 8.3.RC1"], ["plugin -> "]]


def test_fix_changes_what_refutes_each_release() -> None:
    """The pre-release counts only where no final one is admitted, as by a release of `tool`."""
    tool = {"1": [], "2": [], "3": [], "4": [], "5": [], "9": ["gone"]}
    catalog = DataCatalog({"tool": tool, "plugin": {"1rc1": [], "1": []}})
    found = ways_out(catalog, "tool==9", "plugin", facts=matrix("==1", "8.3.RC1", "enforced"))
    assert [told(fix) for fix in found] == [
        ["tool==9 -> tool==5", "8.5.0 -> 8.3.RC1"],
        ["tool==9 -> tool==5", ' -> prereleases-of.plugin = "allow"'],
    ]


def test_fix_shows_ten_pins_those_in_conflict_first() -> None:
    names = [f"p{number:02}" for number in range(12)]
    catalog = DataCatalog().serve("y 1: z==1", "y 2: z==2", "z 1 2")
    catalog.serve(*(f"{name} 1" for name in names))
    fixes = ways_out(catalog, *names, "y==1", "z==2")
    shown = [pin.name for pin in fixes[0].environments[0].pins]
    assert shown == ["y", "z", *names[:8]]


class Searched(DataCatalog):
    """A catalog that lists the archives in which something was looked for."""

    def __init__(self, plain: dict[str, dict[str, list[str]]]) -> None:
        super().__init__(plain)
        self.searched: list[str] = []

    def member(self, file: File, path: str) -> str:
        self.searched.append(file.filename)
        return super().member(file, path)


def test_fix_reads_the_notes_of_three_archives() -> None:
    """None of them notes anything, and archives may be large."""
    catalog = Searched({"tool": {"1": ["old"]}, "setuptools": {"80": []}})
    for version in range(1, 7):
        catalog.add_archive("old", f"{version}", None, members={})
    found = explained(catalog, "tool")
    assert found.contradictions
    assert list(dict.fromkeys(catalog.searched)) == ["old-6.tar.gz", "old-5.tar.gz", "old-4.tar.gz"]


ROWS = "".join(
    fact(
        "requires",
        "plugin",
        f"=={one}",
        f'needs = ["cann in {cann}", "engine=={one}", "base=={one}"]',
    )
    for one, cann in (("1", "8.3.RC1"), ("2", "8.3.RC1"), ("3", "8.5.0"), ("4", "8.5.0"))
)


def test_fix_takes_no_release_among_those_for_other_machines() -> None:
    """No table lists 2, and what it lists before and after needs another CANN."""
    catalog = DataCatalog({"plugin": {one: [] for one in ("1", "2", "3", "4")}, "base": {"1": []}})
    facts = matrix("==1", "8.2.0") + matrix("==3", "8.2.0")
    afters = {tuple(told(fix)) for fix in ways_out(catalog, "plugin==1", "base", facts=facts)}
    assert ("plugin==1 -> plugin==2",) not in afters
    assert {("8.5.0 -> 8.2.0",), ("plugin==1 -> plugin==4",)} <= afters


def test_fix_of_prereleases_is_not_listed_beside_final_releases() -> None:
    catalog = DataCatalog({"plugin": {"2": [], "1": []}})
    facts = matrix("==1", "8.5.0") + matrix("==2", "8.3.RC1")
    fixes = ways_out(catalog, "plugin==2", facts=facts)
    fix = next(fix for fix in fixes if told(fix) == ["plugin==2 -> plugin==1"])
    (change,) = fix.changes
    other = replace(fix, changes=(replace(change, after=text.requirement("plugin==2rc1")),))
    losses = [(loss_of(fix), fix), (loss_of(other, price=1), other)]
    assert [told(each) for each in lettered(losses, "demo", NO_OPTIONS)] == [told(fix)]


def test_fix_takes_a_whole_row_first() -> None:
    """Each of the three lines changes, to the nearest row; no set of fewer changes helps."""
    releases = ("1", "2", "3", "4")
    catalog = DataCatalog({name: {one: [] for one in releases} for name in ("base", "engine")})
    catalog.serve(*(f"plugin {one}" for one in releases), "tool 1 2")
    asked: list[tuple[str, ...]] = []
    inputs = inputs_of("tool==1", "base==1", "engine==2", "plugin==2", more=target() + ROWS)
    explanation_of(
        refutation(inputs, catalog),
        StackCompiler(inputs),
        Clock(60),
        lambda _: catalog,
        report_fix=lambda changes: asked.append(tuple(after_of(change) for change in changes)),
    )
    assert asked == [("base==3", "engine==3", "plugin==3")]


def test_fix_of_a_row_changes_no_line_in_vain() -> None:
    """`engine` suits the row that the stack is in; only `tool` does not."""
    catalog = DataCatalog(
        {name: {one: [] for one in "1234"} for name in ("base", "engine", "plugin")}
    )
    catalog.serve("tool 1: base==1", "tool 2: base==3", "tool 3: base==9")
    fixes = ways_out(catalog, "tool==3", "base==3", "engine==3", "plugin==3", facts=ROWS)
    assert told(fixes[0]) == ["tool==3 -> tool==2"]


@pytest.mark.parametrize(("day", "years"), [("2024-01-03", 0), ("2024-01-01", -1)])
def test_fix_counts_full_years(day: str, years: int) -> None:
    catalog = DataCatalog().serve("base 1")
    catalog.add_wheel("plugin", "2", ["base==2"], uploaded="2025-01-01T00:00:00Z")
    catalog.add_wheel("plugin", "1", uploaded=f"{day}T00:00:00Z")
    fixes = ways_out(catalog, "plugin==2", "base")
    changes = chain.from_iterable(fix.changes for fix in fixes)
    assert [change.years for change in changes if after_of(change) == "plugin==1"] == [years]


def test_fix_that_goes_against_facts_is_the_last_and_only_one() -> None:
    catalog = DataCatalog({"plugin": {"2": []}, "base": {"1": [], "2": ["plugin<2"]}})
    facts = fact("requires", "plugin", "==2", 'needs = ["base==2"]') + matrix("==2", "8.3.RC1")
    fixes = ways_out(catalog, "plugin==2", "base==1", facts=facts)
    assert [fix.risky for fix in fixes] == [*[False] * (len(fixes) - 1), True]


def test_fix_keeps_a_line_that_the_stack_had() -> None:
    """A line for `new` lets `old` be absent; with it alone, nothing is left of the stack."""
    catalog = DataCatalog().serve("a 1: old, new, lost", "b 1: gone", "old 1", "new 1")
    facts = fact("collides", "new", ">=0", 'module = "it"\nwith = "old"', "enforced")
    facts += fact("absent", "new", ">=0", 'without = "old"', "vendor")
    found = [told(fix) for fix in ways_out(catalog, "a==1", "b==1", facts=facts)]
    assert not [changes for changes in found if {"a==1 -> ", "b==1 -> "} <= set(changes)]


def test_fix_drops_lines_that_are_impossible_together() -> None:
    """Each of the five pins is unusable for a reason of its own, and `last` clashes beside them."""
    names = [f"bad{number}" for number in range(5)]
    catalog = DataCatalog().serve("base 1 2", "good 1: base==1", "last 1: base==2")
    for name in names:
        catalog.add_wheel(name, "1", tags="cp39-cp39-win_amd64")
    asked: list[tuple[str, ...]] = []
    inputs = inputs_of(*(f"{name}==1" for name in names), "good", "last", more=target())
    explanation_of(
        refutation(inputs, catalog),
        StackCompiler(inputs),
        Clock(60),
        lambda _: catalog,
        report_fix=lambda changes: asked.append(tuple(change.subject for change in changes)),
    )
    assert asked == [(*names, "last")]


_OF_310 = "cp310-cp310-manylinux_2_17_aarch64"


def test_python_that_several_lines_need_is_tried_first() -> None:
    """Each line alone can get another version; what was meant is another Python."""
    catalog = DataCatalog()
    for name in ("plugin", "other", "kernels"):
        catalog.add_wheel(name, "1", tags=_OF_310)
        catalog.add_wheel(name, "2")
    inputs = inputs_of("plugin==1", "other==1", "kernels==1", more=target())
    first: list[tuple[Change, ...]] = []
    found = explanation_of(
        refutation(inputs, catalog),
        StackCompiler(inputs),
        Clock(60),
        lambda _: catalog,
        report_fix=first.append,
    )
    assert [[after_of(change) for change in changes] for changes in first] == [["3.10"]]
    assert told(found.fixes[0]) == ["3.11 -> 3.10"]


def test_versions_are_loosened_with_the_python_that_lines_need() -> None:
    """With the target's Python there is no release of `plugin`, whatever its version."""
    catalog = DataCatalog()
    for version, needs in (("1", ["base==1"]), ("2", ["base==2"])):
        catalog.add_wheel("plugin", version, needs, tags=_OF_310)
    catalog.add_wheel("other", "1", ["base==3"])
    catalog.add_wheel("other", "2", ["base==2"])
    catalog.serve("base 1 2 3")
    fixes = ways_out(catalog, "plugin==1", "other==1")
    whole = [told(fix) for fix in fixes if all(after_of(change) for change in fix.changes)]
    assert whole[0] == ["3.11 -> 3.10", "plugin==1 -> plugin==2", "other==1 -> other==2"]


def test_fixes_beside_a_line_that_pins_no_version() -> None:
    """`===` may name any text (PEP 440)."""
    catalog = DataCatalog().serve("plugin 1: base==1", "base 1", "odd 1")
    fixes = ways_out(catalog, "odd===any", "plugin==7", facts=matrix(">=1", "8.5.0"))
    assert fixes


def test_fix_warns_of_what_its_lock_does_not_meet() -> None:
    """`trainer` knows `engine` up to 1 alone, as its extra says, and `runner` needs 2."""
    catalog = DataCatalog().serve("engine 1 2", "runner 1: engine==2", "tool 1 2")
    line = 'engine<2; extra == "engine"'
    catalog.add_wheel("trainer", "1", [line], extras=["engine"])
    (fix, *_) = ways_out(catalog, "trainer", "runner", "tool==3")
    (environment,) = fix.environments
    (unmet,) = environment.unmet
    assert unmet.values["other"] == "engine 2"


def test_fix_that_differs_only_in_what_follows_is_listed_once() -> None:
    """Any `helper` from 2 on goes with the new `plugin`, which needs it."""
    rows = "plugin 1: helper<2", "plugin 2: helper>=2", "helper 1 2 3 4"
    catalog = DataCatalog().serve(*rows)
    table = matrix("==1", "8.3.RC1", "enforced")
    found = ways_out(catalog, "plugin==1", "helper==1", facts=table)
    of_lines = [told(fix) for fix in found if not fix.risky]
    assert of_lines == [
        ["8.5.0 -> 8.3.RC1"],
        ["plugin==1 -> plugin==2", "helper==1 -> helper==2"],
    ]


def test_fix_puts_no_similar_project_in_the_place_of_one_of_ones_own() -> None:
    catalog = DataCatalog().serve("torchao 1", "other 1")
    found = ways_out(catalog, "torchair", "other", facts=fact("warns", "torchao", "", 'text = "x"'))
    assert [told(fix) for fix in found] == [["torchair -> "]]


def test_fix_that_changes_the_same_and_more_is_not_listed() -> None:
    catalog = DataCatalog({"plugin": {"2": [], "1": []}})
    facts = matrix("==1", "8.5.0") + matrix("==2", "8.3.RC1")
    fixes = ways_out(catalog, "plugin==2", facts=facts)
    fix = next(fix for fix in fixes if told(fix) == ["plugin==2 -> plugin==1"])
    cann = next(fix for fix in fixes if told(fix) == ["8.5.0 -> 8.3.RC1"])
    both = replace(fix, changes=(*fix.changes, *cann.changes))
    losses = [(loss_of(fix), fix), (loss_of(both), both)]
    assert [told(each) for each in lettered(losses, "demo", NO_OPTIONS)] == [told(fix)]


def test_release_that_later_ones_speak_against_is_replaced() -> None:
    """`trainer` 2 does not bound `engine`; 4 says that it does not go with 9, and 5 does."""
    catalog = DataCatalog()
    needs = {"1": ">=1", "2": ">=1", "3": "==8", "4": "<9,>=8", "5": ">=8,<10"}
    for month, (version, bound) in enumerate(needs.items(), 1):
        lines = [f'engine{bound}; extra == "engine"']
        uploaded = f"2025-{month:02}-01T00:00:00Z"
        catalog.add_wheel("trainer", version, lines, extras=["engine"], uploaded=uploaded)
    catalog.add_wheel("engine", "9", uploaded="2025-03-15T00:00:00Z")
    first, *others = ways_out(catalog, "trainer[engine]==3", "engine==9")
    assert told(first) == ["trainer[engine]==3 -> trainer[engine]==5"]
    assert first.environments[0].unmet == ()
    assert all("trainer[engine]==2" not in " ".join(told(fix)) for fix in others)


def test_release_that_later_ones_speak_against_stays_without_another() -> None:
    catalog = DataCatalog()
    for month, (version, bound) in enumerate({"2": ">=1", "3": "==8", "4": "<9"}.items(), 1):
        lines = [f'engine{bound}; extra == "engine"']
        uploaded = f"2025-{month:02}-01T00:00:00Z"
        catalog.add_wheel("trainer", version, lines, extras=["engine"], uploaded=uploaded)
    catalog.add_wheel("engine", "9", uploaded="2025-03-15T00:00:00Z")
    first, *_ = ways_out(catalog, "trainer[engine]==3", "engine==9")
    assert told(first) == ["trainer[engine]==3 -> trainer[engine]==2"]
    (unmet,) = first.environments[0].unmet
    assert "No set of releases" not in translate(unmet, "en")


def test_line_is_told_in_place_of_what_is_unusable() -> None:
    """`plugin` needs an `engine` whose archive states nothing; the stack asks for another one."""
    catalog = DataCatalog().serve("plugin 1: engine==1", "plugin 2: engine==2", "engine 2")
    catalog.add_archive("engine", "1", None)
    found = explained(catalog, "engine==2", "plugin==1")
    (only,) = found.contradictions
    assert [type(one.constraint) for one in only.reasons] == [StackLine, StackLine, ReleaseRequires]
    assert told(found.fixes[0]) == ["plugin==1 -> plugin==2"]


@pytest.mark.parametrize(("lines", "is_warned"), [([], False), (["qwen3.5-tools"], True)])
def test_warning_about_models_is_for_stacks_that_name_them(
    lines: list[str], is_warned: bool
) -> None:
    catalog = DataCatalog().serve("base 1 2", "plugin 2: base==2", "qwen3.5-tools 1")
    no_classes = warning("base", "==2", "It has no classes for it.", 'model = "Qwen3.5"')
    asked = ["base==1", "plugin==2", *lines]
    first, *_ = ways_out(catalog, *asked, facts=f"{no_classes}grave = true\n")
    expected = ["It has no classes for it."] if is_warned else []
    assert told(first) == ["base==1 -> base==2", *expected]
