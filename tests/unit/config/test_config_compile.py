"""What the TOML comes to: problems, facts, policy, indexes, digest."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import networkx
import pytest

from resolver.config.compile import compile_problems, moment
from resolver.config.load import load, stack_names
from resolver.model import fact as facts
from resolver.model.index import Binding, Index
from resolver.model.problem import Problem

STACK = """\
[stack]
name = "demo"
summary = "a test"
requires = ["numpy<2", "cann in 8.5.0 | 8.5.1"]
facts = ["verl"]
"""

TARGET = """\
[target]
python = "3.11"
platform = "linux-aarch64"
system = { cann = "8.5.0.B160" }
"""

FACTS = """\
[defaults]
strength = "documented"
source = "a guide"
checked = 2026-11-20
"""


def compiled(
    folder: Path, stack: str = STACK + TARGET, fact_rows: str = "", indexes: str = "", cutoff: dt.datetime | None = None
) -> tuple[Problem, ...]:
    for name in ("stacks", "facts"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "stacks" / "demo.toml").write_text(stack)
    (folder / "facts" / "verl.toml").write_text(FACTS + fact_rows)
    if indexes:
        (folder / "indexes.toml").write_text(indexes)
    return compile_problems(load("demo", folder), exclude_newer=cutoff)


def test_a_problem(tmp_path: Path) -> None:
    (problem,) = compiled(tmp_path)
    assert (problem.stack.name, problem.stack.where) == ("demo", "matrices/stacks/demo.toml")
    assert [(str(ask.origin), ask.origin.where) for ask in problem.stack.asks] == [
        ("the stack asks for numpy<2", "matrices/stacks/demo.toml:4"),
        ("the stack asks for cann in 8.5.0 | 8.5.1", "matrices/stacks/demo.toml:4"),
    ]
    assert problem.target.name == "linux-aarch64-py311-cann8.5.0.b160"
    assert {component: str(value) for component, value in problem.target.system.items()} == {
        "cann": "8.5.0.B160",
        "glibc": "2.28",
        "python": "3.11",
    }
    assert problem.target.glibc == (2, 28)
    assert problem.indexes.binding("numpy", "linux-aarch64").indexes == ("pypi",)


def test_a_stack_given_by_its_path_is_the_same(tmp_path: Path) -> None:
    (by_name,) = compiled(tmp_path)
    (by_path,) = compile_problems(load(str(tmp_path / "stacks" / "demo.toml"), tmp_path))
    assert by_path == by_name


def test_several_targets_in_the_order_of_the_file(tmp_path: Path) -> None:
    rows = '[[target]]\npython = "3.11"\nplatform = "linux-x86_64"\n\n[[target]]\nname = "old"\npython = "3.10.4"\n'
    several = compiled(tmp_path, STACK + rows + 'platform = "linux-aarch64"\nglibc = "2.35"\n')
    assert [problem.target.name for problem in several] == ["linux-x86_64-py311", "old"]
    assert [problem.target.glibc for problem in several] == [(2, 28), (2, 35)]


def test_a_build_applies_to_the_targets_that_promise_its_conditions(tmp_path: Path) -> None:
    row = '[[builds]]\nrequires-from = "r.txt"\nreason = "for {}"\n'
    rows = row.format("all") + row.format("A3") + 'when = ["soc in A3"]\n'
    targets = [(None, "2.28"), ("A2", "2.31"), ("A3", "2.35")]
    text = "".join(
        f'[[target]]\nname = "{glibc}"\npython = "3.11"\nplatform = "linux-aarch64"\nglibc = "{glibc}"\n'
        + (f'system = {{ soc = "{soc}" }}\n' if soc else "")
        for soc, glibc in targets
    )
    problems = compiled(tmp_path, STACK.replace(', "cann in 8.5.0 | 8.5.1"', "") + text, rows)
    found = [[fact.reason for fact in problem.facts] for problem in problems]
    assert found == [["for all"], ["for all"], ["for all", "for A3"]]


def test_every_kind_of_fact(tmp_path: Path) -> None:
    rows = """
[[requires]]
versions = ["==1", ">=3,<4"]
needs = ["numpy<2 ; platform_machine == 'aarch64'", "cann >= 8.5.0"]
reason = '''so
  it is'''
strength = "vendor"
[[excludes]]
reason = "broken"
[[replaces]]
drop = ["Torch_NPU"]
add = ["torch"]
reason = "wrong"
[[metadata]]
requires = ["a"]
build-requires = []
requires-python = ">=3.9"
reason = "read"
[[builds]]
requires-from = "requirements/common.txt"
env = { B = "2", A = "{version}" }
isolation = false
build-drop = ["torch"]
build-add = ["ninja"]
reason = "empty"
[[collides]]
with = "Triton"
module = "triton"
reason = "both own it"
[[after]]
others = ["torch"]
reason = "it imports it"
[[warns]]
text = "mind this"
with = ["torch>=2"]
unless = ["numpy<2"]
reason = "seen"
[[names]]
reason = "another project"
[[exports]]
env = { B = "2", A = "1" }
optional = true
reason = "it runs better so"
"""
    (problem,) = compiled(tmp_path, fact_rows=rows)
    kinds = [facts.Requires, facts.Excludes, facts.Replaces, facts.Metadata, facts.Builds]
    kinds += [facts.Collides, facts.After, facts.Warns, facts.Names, facts.Exports]
    assert [type(fact) for fact in problem.facts] == kinds
    requires, excludes, replaces, metadata, builds, collides, after, warns, names, exports = problem.facts
    assert (requires.id, requires.where) == ("verl-requires-1", "matrices/facts/verl.toml:6")
    assert (requires.reason, requires.strength) == ("so it is", facts.Strength.VENDOR)
    assert list(map(str, requires.versions)) == ["==1", "<4,>=3"]
    assert list(map(str, requires.needs)) == ['numpy<2 ; platform_machine == "aarch64"', "cann >= 8.5.0"]
    assert (str(excludes.versions[0]), excludes.strength) == (">=0", facts.Strength.DOCUMENTED)
    assert (replaces.drop, list(map(str, replaces.add))) == (("torch-npu",), ["torch"])
    assert (list(map(str, metadata.requires)), metadata.build_requires) == (["a"], ())
    assert str(metadata.requires_python) == ">=3.9"
    assert (builds.env, builds.isolation, builds.build_drop) == ((("A", "{version}"), ("B", "2")), False, ("torch",))
    assert list(map(str, builds.build_add)) == ["ninja"]
    assert (collides.other, collides.module) == ("triton", "triton")
    assert list(map(str, warns.beside)) == ["torch>=2"]
    assert (after.others, warns.text, list(map(str, warns.unless)), names.index) == (
        ("torch",),
        "mind this",
        ["numpy<2"],
        "pypi",
    )
    assert (exports.env, exports.optional) == ((("A", "1"), ("B", "2")), True)


def test_the_chinese_of_a_fact(tmp_path: Path) -> None:
    rows = """
[[warns]]
text = "mind this"
text-zh = "注意"
reason = "seen"
reason-zh = "  有人见过 "
[[warns]]
text = "mind that"
reason = "heard"
"""
    (problem,) = compiled(tmp_path, fact_rows=rows)
    both, english = problem.facts
    assert isinstance(both, facts.Warns)
    assert isinstance(english, facts.Warns)
    assert (both.text_zh, both.reason_zh) == ("注意", "有人见过")
    assert (english.text_zh, english.reason_zh) == ("", "")


def test_no_facts_where_the_stack_wants_none(tmp_path: Path) -> None:
    (problem,) = compiled(tmp_path, STACK.replace('["verl"]', "[]") + TARGET, '[[excludes]]\nreason = "broken"\n')
    assert problem.facts == ()


# --- what a stack says of facts

TWO_NEEDS = """
[[requires]]
id = "verl-needs"
needs = ["numpy<2", "cann >= 8.5.0"]
reason = "so it is"
[[excludes]]
id = "verl-broken"
versions = "==1"
reason = "broken"
"""


def test_a_fact_set_aside_is_gone_and_told(tmp_path: Path) -> None:
    stack = STACK + TARGET + '[[relax]]\nfact = "verl-broken"\nreason = "it works here"\n'
    (problem,) = compiled(tmp_path, stack, TWO_NEEDS)
    assert [fact.id for fact in problem.facts] == ["verl-needs"]
    (relaxed,) = problem.stack.relaxed
    assert (relaxed.fact.id, relaxed.needs, relaxed.reason) == ("verl-broken", (), "it works here")
    assert relaxed.where == f"matrices/stacks/demo.toml:{len((STACK + TARGET).splitlines()) + 1}"


@pytest.mark.parametrize(
    ("needs", "left"),
    [('"numpy<2"', [["cann >= 8.5.0"]]), ('"numpy<2", "cann >= 8.5.0"', []), ('"cann >= 8.5.0"', [["numpy<2"]])],
)
def test_some_needs_of_a_fact_set_aside(needs: str, left: list[list[str]], tmp_path: Path) -> None:
    stack = STACK + TARGET + f'[[relax]]\nfact = "verl-needs"\nneeds = [{needs}]\nreason = "it works here"\n'
    (problem,) = compiled(tmp_path, stack, TWO_NEEDS)
    kept = [[str(need) for need in fact.needs] for fact in problem.facts if isinstance(fact, facts.Requires)]
    assert kept == left


def test_facts_of_the_stack_itself_come_last_and_have_ids_of_their_own(tmp_path: Path) -> None:
    own = '[fact.defaults]\nstrength = "observed"\nsource = "a run"\nchecked = 2026-11-20\n'
    own += '[[fact.replaces]]\npackage = "Trl"\ndrop = ["vllm"]\nreason = "wrong"\n'
    (problem,) = compiled(tmp_path, STACK + TARGET + own, TWO_NEEDS)
    assert [fact.id for fact in problem.facts] == ["verl-needs", "verl-broken", "stack-trl-replaces-1"]
    fact = problem.facts[-1]
    assert (fact.package, fact.strength, str(fact.versions[0])) == ("trl", facts.Strength.OBSERVED, ">=0")
    assert fact.where == f"matrices/stacks/demo.toml:{len((STACK + TARGET).splitlines()) + 5}"


def test_a_fact_of_the_stack_itself_can_be_about_any_project_of_the_matrices(tmp_path: Path) -> None:
    own = '[[fact.excludes]]\npackage = "verl"\nversions = "==2"\nreason = "broken, too"\n'
    own += 'strength = "observed"\nsource = "a run"\nchecked = 2026-11-20\n'
    (problem,) = compiled(tmp_path, STACK + TARGET + own, TWO_NEEDS)
    assert [fact.id for fact in problem.facts] == ["verl-needs", "verl-broken", "stack-verl-excludes-1"]


def test_what_a_stack_sets_aside_changes_the_digest(tmp_path: Path) -> None:
    (before,) = compiled(tmp_path, fact_rows=TWO_NEEDS)
    stack = STACK + TARGET + '[[relax]]\nfact = "verl-broken"\nreason = "it works here"\n'
    (after,) = compiled(tmp_path, stack, TWO_NEEDS)
    assert before.digest != after.digest


# --- policy

UTC = dt.timezone.utc


@pytest.mark.parametrize(
    ("written", "cutoff"),
    [
        ("2026-11-20", dt.datetime(2026, 11, 21, tzinfo=UTC)),  # a day counts to its end
        ("2026-11-20T10:00:00Z", dt.datetime(2026, 11, 20, 10, tzinfo=UTC)),
        ("2026-11-20 10:00:00", dt.datetime(2026, 11, 20, 10, tzinfo=UTC)),
        ("2026-11-20T10:00:00+02:00", dt.datetime(2026, 11, 20, 8, tzinfo=UTC)),
    ],
)
def test_cut_off(written: str, cutoff: dt.datetime, tmp_path: Path) -> None:
    (problem,) = compiled(tmp_path, f"{STACK}{TARGET}[policy]\nexclude-newer = {written}\n")
    assert problem.policy.exclude_newer == cutoff


def test_a_cut_off_of_the_command_goes_before_that_of_the_stack(tmp_path: Path) -> None:
    later = dt.datetime(2027, 1, 1, tzinfo=UTC)
    (problem,) = compiled(tmp_path, STACK + TARGET + "[policy]\nexclude-newer = 2026-11-20\n", cutoff=later)
    assert problem.policy.exclude_newer == later


def test_the_end_of_a_year() -> None:
    assert moment(dt.date(2026, 12, 31)) == dt.datetime(2027, 1, 1, tzinfo=UTC)


def test_prereleases(tmp_path: Path) -> None:
    policy = '[policy]\nprereleases = "never"\nprereleases-of = { Torch_NPU = "allow" }\n'
    (problem,) = compiled(tmp_path, STACK + TARGET + policy)
    assert problem.policy.prereleases_for("torch-npu") == "allow"
    assert problem.policy.prereleases_for("torch") == "never"


# --- indexes

INDEXES = """\
[[index]]
name = "pypi"
[[index]]
name = "cpu"
url = "https://cpu.test/whl"
mirrors = ["https://mirror.test/whl"]
packages = ["torchaudio"]
[[binding]]
packages = ["Torch_NPU"]
indexes = ["pypi", "cpu"]
take = "all"
unreachable = "next"
reason = "both have some"
[[binding]]
packages = ["torch"]
indexes = ["cpu"]
platforms = ["linux-x86_64"]
"""


def test_bindings(tmp_path: Path) -> None:
    (problem,) = compiled(tmp_path, indexes=INDEXES)
    indexes = problem.indexes
    assert indexes.indexes == {
        "pypi": Index(name="pypi"),
        "cpu": Index(name="cpu", url="https://cpu.test/whl", mirrors=("https://mirror.test/whl",)),
    }
    assert indexes.binding("torch-npu", "linux-aarch64") == Binding(
        packages=("torch-npu",), indexes=("pypi", "cpu"), take="all", unreachable="next", reason="both have some"
    )
    assert indexes.binding("torch", "linux-x86_64").indexes == ("cpu",)
    assert indexes.binding("torch", "linux-aarch64").indexes == ("pypi",)
    assert indexes.binding("torchaudio", "linux-aarch64").indexes == ("cpu",)
    assert indexes.binding("anything", "linux-aarch64").indexes == ("pypi",)
    assert not indexes.own


def test_of_two_bindings_of_a_project_the_first_rules_where_it_applies(tmp_path: Path) -> None:
    rest = '[[binding]]\npackages = ["torch"]\nindexes = ["pypi"]\n'
    (problem,) = compiled(tmp_path, indexes=INDEXES + rest)
    assert problem.indexes.binding("torch", "linux-x86_64").indexes == ("cpu",)
    assert problem.indexes.binding("torch", "linux-aarch64").indexes == ("pypi",)


def test_a_stack_may_bring_its_own(tmp_path: Path) -> None:
    own = '[[index]]\nname = "mine"\nurl = "http://127.0.0.1:8000"\n[[binding]]\npackages = ["*"]\nindexes = ["mine"]\n'
    (problem,) = compiled(tmp_path, STACK + TARGET + own, indexes=INDEXES)
    assert problem.indexes.own
    assert problem.indexes.binding("torch", "linux-x86_64").indexes == ("mine",)


# --- digest


def test_the_digest_is_of_all_inputs_and_of_nothing_else(tmp_path: Path) -> None:
    before = compiled(tmp_path, indexes=INDEXES)[0].digest
    assert compiled(tmp_path, indexes=INDEXES)[0].digest == before
    changes = [
        compiled(tmp_path, STACK.replace("a test", "a guide") + TARGET, indexes=INDEXES),
        compiled(tmp_path, fact_rows='[[excludes]]\nreason = "broken"\n', indexes=INDEXES),
        compiled(tmp_path, indexes=INDEXES + "\n"),
        compiled(tmp_path, indexes=INDEXES, cutoff=dt.datetime(2027, 1, 1, tzinfo=UTC)),
    ]
    assert len({before, *(problem.digest for (problem,) in changes)}) == 5


def test_line_endings_change_no_digest(tmp_path: Path) -> None:
    before = compiled(tmp_path)[0].digest
    path = tmp_path / "stacks" / "demo.toml"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert compile_problems(load("demo", tmp_path))[0].digest == before


# --- what the project ships

MATRICES = Path(__file__).parents[3] / "matrices"
ALL_FACTS = "verl-qwen3.5"  # a stack that leaves none out


@pytest.mark.parametrize("stack", stack_names(MATRICES))
def test_the_shipped_stacks_compile(stack: str) -> None:
    problems = compile_problems(load(stack, MATRICES))
    assert problems
    for problem in problems:
        assert problem.stack.name == stack
        assert problem.stack.asks
        assert problem.stack.summary
        assert problem.stack.source
        assert "soc" in problem.target.system
        assert "cann" in problem.target.system


def test_the_shipped_facts_have_their_evidence() -> None:
    (problem, *_) = compile_problems(load(ALL_FACTS, MATRICES))
    assert problem.facts
    for fact in problem.facts:
        assert len(fact.reason.split()) > 3, fact.where
        assert fact.source.strip(), fact.where
        assert "://" not in fact.source, f"{fact.where}: a source is named, an address rots"
        assert dt.date(2026, 1, 1) < fact.checked <= dt.date.today(), fact.where


def test_the_shipped_facts_form_no_cycles() -> None:
    """A row needs its pins, not the reverse."""
    (problem, *_) = compile_problems(load(ALL_FACTS, MATRICES))
    needs = networkx.DiGraph()
    for fact in problem.facts:
        stated = fact.needs if isinstance(fact, facts.Requires) else ()
        needs.add_edges_from((fact.package, need.name) for need in stated if hasattr(need, "name"))
    assert list(networkx.simple_cycles(needs)) == []
