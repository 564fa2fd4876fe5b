"""Ways out that take from shipped stacks what no index has."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain

from resolver.config.compile import StackCompiler
from resolver.config.schema import StackFile
from resolver.config.toml_files import Document, read_text
from resolver.explain import heuristics
from resolver.explain.clock import Clock
from resolver.explain.cores import enumerate_cores
from resolver.explain.explain import explanation_of
from resolver.explain.repairs import Repairs
from resolver.explain.search_results import FixSearchResults
from resolver.explain.trials import Trials
from resolver.i18n import translate
from resolver.model.explanation import Explanation
from resolver.model.problem import NO_OPTIONS
from resolver.report.explanation.fixes import change_sentences
from tests.datacatalog import DataCatalog
from tests.unit.explain.inputs import fact, inputs_of, refutation, target, warning

COMMIT = "1" * 40
AT_COMMIT = f"trainer @ git+https://example.org/trainer.git@{COMMIT}"
SHIPPED = f"""\
[stack]
name = "training"
requires = ["base==1", "{AT_COMMIT}", "helper"]

[target]
python = "3.11"
platform = "linux-aarch64"
glibc = "2.28"
system = {{ cann = "8.3.RC1", soc = "310P" }}

[[fact.sources]]
package = "trainer"
git = "https://example.org/trainer.git"
commit = "{COMMIT}"
version = "5"
requires = ["NEEDED"]
requires-python = ">=3.9"
build-requires = ["setuptools"]
steps = [{{ run = ["make"], wheels = "*.whl" }}]
reason = "A guide builds it."
strength = "observed"
source = "demo/tests#1"
checked = 2026-01-01
"""
TAKEN = "use trainer from the commits of the shipped stack `training`, built in the same way"


def explained(
    catalog: DataCatalog,
    *lines: str,
    needed: str = "base==1",
    more: str = "",
    shipped: Sequence[str] = (SHIPPED,),
) -> Explanation:
    stacks: list[Document[StackFile]] = [
        read_text(text.replace("NEEDED", needed), StackFile, "training.toml") for text in shipped
    ]
    inputs = inputs_of(*lines, more=target() + more)
    return explanation_of(
        refutation(inputs, catalog),
        StackCompiler(inputs),
        Clock(60),
        lambda _: catalog,
        read_shipped=lambda: stacks,
    )


def sentences(found: Explanation) -> list[list[str]]:
    """Return the changes of each way out."""
    return [
        [translate(sentence, "en") for sentence in change_sentences(fix.changes)]
        for fix in found.fixes
    ]


def test_fix_takes_a_project_that_no_index_has_from_a_shipped_stack() -> None:
    catalog = DataCatalog().serve("base 1 2", "setuptools 80")
    found = explained(catalog, "trainer", "base")
    assert sentences(found)[0] == [
        f"ask for {AT_COMMIT} instead of trainer",
        TAKEN,
    ]
    ((_, text),) = found.fixes[0].files
    assert f'"{AT_COMMIT}"' in text
    assert "[[fact.sources.steps]]" in text


def test_fix_with_a_shipped_source_drops_what_clashes_beside_it() -> None:
    catalog = DataCatalog().serve("base 1 2", "tool 1: base==9", "setuptools 80")
    first = sentences(explained(catalog, "trainer", "base", "tool"))[0]
    assert (first[0], first[-1]) == (f"ask for {AT_COMMIT} instead of trainer", "drop tool")


def test_fix_takes_the_lines_and_the_cann_of_a_shipped_stack() -> None:
    """What `trainer` needs is for the CANN of that stack alone, and `helper` is on no index."""
    catalog = DataCatalog().serve("base 1 2", "setuptools 80", "plugin 1")
    cann = fact("requires", "plugin", "==1", 'needs = ["cann in 8.3.RC1"]', "enforced")
    found = explained(catalog, "trainer", "base==2", needed="plugin==1", more=cann)
    because = "because plugin 1 needs cann in 8.3.RC1"
    assert f"CANN 8.3.RC1 instead of 8.5.0, {because}" in sentences(found)[0]


def test_fix_by_a_shipped_stack_adds_what_its_projects_need() -> None:
    """`base` does not work without `helper`, which a line of that stack is about."""
    catalog = DataCatalog().serve("base 1 2", "setuptools 80", "helper 1", "other 1")
    grave = warning("base", "==1", "It stands still.", 'unless = ["helper"]\ngrave = true')
    found = explained(catalog, "trainer", "base==2", more=grave)
    assert "add the line helper" in sentences(found)[0]
    assert "add the line other" not in sentences(found)[0]


def test_fix_by_a_shipped_stack_may_be_old() -> None:
    """Its `base` is five years older than the newest, which the line admits as well."""
    catalog = DataCatalog().serve("setuptools 80")
    catalog.add_wheel("base", "1", uploaded="2019-05-01T12:00:00Z")
    catalog.add_wheel("base", "2", uploaded="2024-06-01T12:00:00Z")
    first, *_ = sentences(explained(catalog, "trainer", "base"))
    assert first[0] == f"ask for {AT_COMMIT} instead of trainer"


def described(commit: str, day: str, needed: str) -> str:
    """A fact about a commit of `trainer`, of this day."""
    return f"""
[[fact.sources]]
package = "trainer"
git = "https://example.org/trainer.git"
commit = "{commit}"
committed = {day}
version = "5"
requires = ["{needed}"]
requires-python = ">=3.9"
build-requires = ["setuptools"]
reason = "A guide builds it."
strength = "observed"
source = "demo/tests#1"
checked = 2026-01-01
"""


def test_fix_takes_a_project_that_no_index_has_from_a_described_commit() -> None:
    """The latest commit goes with another `base` than the stack pins, the one before with this."""
    catalog = DataCatalog().serve("base 1 2 3", "setuptools 80")
    facts = described("a" * 40, "2026-03-01", "base==3")
    facts += described("b" * 40, "2026-02-01", "base>=2") + described(
        "c" * 40, "2026-01-01", "base"
    )
    found = explained(catalog, "trainer[fast]", "base==2", more=facts, shipped=())
    line = f"trainer[fast] @ git+https://example.org/trainer.git@{'b' * 40}"
    assert sentences(found)[0] == [f"ask for {line} instead of trainer[fast]"]


def test_fix_takes_from_described_commits_what_a_shipped_stack_lacks() -> None:
    catalog = DataCatalog().serve("base 1 2", "setuptools 80")
    other = described("a" * 40, "2026-03-01", "base").replace("trainer", "other")
    first, *_ = sentences(explained(catalog, "trainer", "base", "other", more=other))
    line = f"other @ git+https://example.org/other.git@{'a' * 40}"
    assert f"ask for {line} instead of other" in first
    assert TAKEN in first


ABSENT = """
[[absent]]
package = "images"
reason = "The guide removes it."
"""
FOR_CUDA = fact("names", "trainer", ">=6", 'index = "pypi"')


def test_fix_by_a_shipped_stack_drops_what_must_be_absent() -> None:
    catalog = DataCatalog().serve("base 1 2", "images 1", "setuptools 80")
    first, *_ = sentences(explained(catalog, "images", "trainer", shipped=[SHIPPED + ABSENT]))
    assert first == [
        "drop images, which the shipped stack `training` must not have",
        f"ask for {AT_COMMIT} instead of trainer",
        TAKEN,
    ]


def test_fix_takes_an_older_release_as_a_shipped_stack_has_it() -> None:
    """The newer one on the index is for CUDA, and 5 has an extra without which it cannot serve."""
    shipped = SHIPPED.replace(AT_COMMIT, "trainer[npu]==5")
    catalog = DataCatalog().serve("base 1 2", "trainer 6")
    catalog.add_wheel("trainer", "5", ['base ; extra == "npu"'], extras=("npu",))
    grave = warning("trainer", "<6", "It has no server.", 'unless = ["trainer[npu]"]\ngrave = true')
    found = explained(catalog, "base", "trainer==6", more=FOR_CUDA + grave, shipped=[shipped])
    first, *_ = sentences(found)
    assert first == [
        "ask for trainer[npu]==5 instead of trainer==6",
        "as the shipped stack `training` has it",
    ]


def test_fix_loosens_what_clashes_with_a_shipped_stack() -> None:
    """Its line stays, though `trainer` 4 would go with every other line; so does the machine."""
    shipped = SHIPPED.replace(AT_COMMIT, "trainer==5").replace("3.11", "3.10")
    catalog = DataCatalog().serve("trainer 4 6", "trainer 5: tool==1, kit==1", "tool 1 2")
    catalog.serve("kit 1 2")
    found = explained(catalog, "tool==2", "kit==2", "trainer==6", more=FOR_CUDA, shipped=[shipped])
    assert [
        "ask for trainer==5 instead of trainer==6",
        "as the shipped stack `training` has it",
        "ask for tool==1 instead of tool==2 (1 release older), because trainer 5 needs tool==1",
        "ask for kit==1 instead of kit==2 (1 release older), because trainer 5 needs kit==1",
    ] in sentences(found)


def test_shipped_stack_that_has_all_is_loosened_before_one_that_lacks_some() -> None:
    """`small` locks at once, with `helper` alone; `training` has all, and clashes with `tool`."""
    sources = SHIPPED[SHIPPED.index("[[fact.sources]]") :].replace("NEEDED", "base==1")
    machine = SHIPPED[SHIPPED.index("[target]") : SHIPPED.index("[[fact.sources]]")]
    lines = {name: AT_COMMIT.replace("trainer", name) for name in ("trainer", "helper")}
    of_helper = sources.replace("trainer", "helper").replace('["base==1"]', "[]")
    rows = {"trainer": sources, "helper": of_helper}
    training = f'[stack]\nname = "training"\nrequires = {json.dumps([*lines.values()])}\n{machine}'
    small = f'[stack]\nname = "small"\nrequires = {json.dumps([lines["helper"]])}\n{machine}'
    texts = ["\n".join([training, *rows.values()]), small + rows["helper"]]
    stacks = [read_text(text, StackFile, "shipped.toml") for text in texts]
    catalog = DataCatalog().serve("base 1 9", "tool 1: base==9", "setuptools 80")
    inputs = inputs_of("trainer", "helper", "tool==1", more=target())
    clauses = refutation(inputs, catalog).clauses
    trials = Trials(
        StackCompiler(inputs),
        clauses.universe,
        Clock(60),
        NO_OPTIONS,
        lambda _: catalog,
        lambda: stacks,
    )
    found = list(enumerate_cores(clauses, trials.clock.expired))
    repairs = Repairs(clauses, found, trials, FixSearchResults(lambda _: None), [])
    heuristics.try_shipped(repairs, list(chain.from_iterable(found)))
    assert [fix.dropped for fix, _ in repairs.results.fixes] == [{"tool"}, {"trainer"}]
