"""From TOML to problems: facts, policy, indexes, digest."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from resolver.config.compile import compile_problems
from resolver.config.load import load
from resolver.model.fact import Builds, Metadata, Replaces, Requires, Strength, Warns
from resolver.model.problem import Binding, Index
from tests.unit.config.folders import HEAD, STACK
from tests.unit.config.folders import problem as compiled

UTC = dt.timezone.utc


def test_compile_gives_stack_target_and_indexes(tmp_path: Path) -> None:
    problem = compiled(tmp_path, STACK.replace('"verl"', '"cann in 8.5.0 | 8.5.1"'))
    assert (problem.stack.name, problem.stack.where) == ("s", "matrices/stacks/s.toml")
    origins = [root.origin for root in problem.stack.requirements]
    assert [(str(origin), origin.where) for origin in origins] == [
        ("the stack asks for numpy<2", "matrices/stacks/s.toml:5"),
        ("the stack asks for cann in 8.5.0 | 8.5.1", "matrices/stacks/s.toml:6"),
    ]
    assert problem.target.name == "linux-aarch64-py311-cann8.5.0-a2"
    assert {component: str(value) for component, value in problem.target.system.items()} == {
        "cann": "8.5.0",
        "glibc": "2.28",
        "python": "3.11",
        "soc": "A2",
    }
    assert problem.target.glibc == (2, 28)
    assert problem.indexes.binding("numpy", "linux-aarch64").indexes == ("pypi",)
    assert compile_problems(load(str(tmp_path / "stacks" / "s.toml"), tmp_path)) == (problem,)


def test_compile_reads_the_keys_of_facts(tmp_path: Path) -> None:
    rows = """
[[requires]]
versions = ["==1", ">=3,<4"]
needs = ["numpy<2 ; platform_machine == 'aarch64'", "cann >= 8.5.0"]
reason = '''so
  it is'''
reason-zh = "  有人见过 "
strength = "documented"
[[replaces]]
drop = ["Torch_NPU"]
reason = "wrong"
[[metadata]]
requires = ["a"]
build-requires = []
requires-python = ">=3.9"
reason = "read"
[[builds]]
requires-from = "requirements/./common.txt"
env = { B = "2", A = "{version}" }
reason = "empty"
[[warns]]
text = "mind this"
with = ["torch>=2"]
reason = "seen"
"""
    requires, replaces, metadata, builds, warns = compiled(tmp_path, facts=HEAD + rows).facts
    assert (requires.id, requires.where) == ("verl-requires-1", "matrices/facts/verl.toml:7")
    assert (requires.reason, requires.reason_zh, requires.strength) == (
        "so it is",
        "有人见过",
        Strength.DOCUMENTED,
    )
    assert list(map(str, requires.versions)) == ["==1", "<4,>=3"]
    assert isinstance(requires, Requires)
    assert list(map(str, requires.needs)) == [
        'numpy<2 ; platform_machine == "aarch64"',
        "cann >= 8.5.0",
    ]
    assert (str(replaces.versions[0]), replaces.strength, replaces.reason_zh) == (
        ">=0",
        Strength.VENDOR,
        "",
    )
    assert isinstance(replaces, Replaces)
    assert (replaces.drop, replaces.add) == (("torch-npu",), ())
    assert isinstance(metadata, Metadata)
    assert (metadata.build_requires, str(metadata.requires_python)) == ((), ">=3.9")
    assert isinstance(builds, Builds)
    assert (builds.requires_from, builds.env) == (
        "requirements/common.txt",
        (("A", "{version}"), ("B", "2")),
    )
    assert isinstance(warns, Warns)
    assert (list(map(str, warns.together_with)), warns.text_zh, warns.extra) == (
        ["torch>=2"],
        "",
        "",
    )


@pytest.mark.parametrize(
    ("needs", "remaining"),
    [
        ('needs = ["numpy<2"]', [["cann in 8.5.0 | 8.5.1"]]),
        ('needs = ["cann in 8.5.0 | 8.5.1"]', [["numpy<2"]]),
        ('needs = ["numpy<2", "cann in 8.5.0 | 8.5.1"]', []),
        ("", []),
    ],
)
def test_relax_sets_needs_of_a_fact_aside(
    needs: str, remaining: list[list[str]], tmp_path: Path
) -> None:
    stack = STACK + f'[[relax]]\nfact = "verl-requires-1"\n{needs}\nreason = "it works here"\n'
    problem = compiled(tmp_path, stack)
    assert [
        [str(need) for need in fact.needs] for fact in problem.facts if isinstance(fact, Requires)
    ] == remaining


@pytest.mark.parametrize(
    ("written", "cutoff"),
    [
        # A day counts to its end.
        ("2026-11-20", dt.datetime(2026, 11, 21, tzinfo=UTC)),
        ("2026-12-31", dt.datetime(2027, 1, 1, tzinfo=UTC)),
        ("2026-11-20T10:00:00Z", dt.datetime(2026, 11, 20, 10, tzinfo=UTC)),
        ("2026-11-20 10:00:00", dt.datetime(2026, 11, 20, 10, tzinfo=UTC)),
        ("2026-11-20T10:00:00+02:00", dt.datetime(2026, 11, 20, 8, tzinfo=UTC)),
    ],
)
def test_policy_cut_off_is_a_moment(written: str, cutoff: dt.datetime, tmp_path: Path) -> None:
    problem = compiled(tmp_path, f"{STACK}[policy]\nexclude-newer = {written}\n")
    assert problem.policy.exclude_newer == cutoff


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


def test_indexes_bind_projects_by_platform(tmp_path: Path) -> None:
    problem = compiled(tmp_path, indexes=INDEXES)
    indexes = problem.indexes
    assert indexes.indexes == {
        "pypi": Index(name="pypi"),
        "cpu": Index(name="cpu", url="https://cpu.test/whl", mirrors=("https://mirror.test/whl",)),
    }
    assert indexes.binding("torch-npu", "linux-aarch64") == Binding(
        packages=("torch-npu",),
        indexes=("pypi", "cpu"),
        take="all",
        unreachable="next",
        reason="both have some",
    )
    assert indexes.binding("torch", "linux-x86_64").indexes == ("cpu",)
    assert indexes.binding("torch", "linux-aarch64").indexes == ("pypi",)
    assert indexes.binding("torchaudio", "linux-aarch64").indexes == ("cpu",)
    assert indexes.binding("anything", "linux-aarch64").indexes == ("pypi",)
    assert not indexes.has_own


_OF_SOC = """
[[requires]]
id = "on-a3"
needs = ["cann in 9.0.0"]
when = ["soc in A3"]
reason = "the image for A3"
[[requires]]
id = "elsewhere"
needs = ["cann in 8.5.0"]
unless = ["soc in A3 | 310P"]
reason = "the table"
[[sources]]
id = "tag"
git = "https://host.test/verl.git"
commit = "c0ffeec0ffeec0ffeec0ffeec0ffeec0ffeecafe"
version = "1"
requires = []
build-requires = []
release = true
when = ["soc in A3"]
reason = "the tag"
"""


@pytest.mark.parametrize(
    ("soc", "ids"),
    [("A2", ["elsewhere"]), ("A3", ["on-a3", "tag"]), ("310P", []), ("", ["elsewhere"])],
)
def test_facts_apply_to_their_socs(soc: str, ids: list[str], tmp_path: Path) -> None:
    stack = STACK.replace('soc = "A2"', f'soc = "{soc}"' if soc else "")
    problem = compiled(tmp_path, stack, facts=HEAD + _OF_SOC)
    assert [fact.id for fact in problem.facts] == ids
