"""What the pages and the help of the program say of what is shipped."""

from __future__ import annotations

import re
import subprocess

import pytest
from click.testing import CliRunner

from resolver.cli import commands
from resolver.config import schema
from tests import versions_table
from tests.functional.workspace import REPOSITORY

PAGES = [
    "README.md",
    "README.zh-CN.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "matrices/README.md",
    *sorted(f"docs/{path.name}" for path in REPOSITORY.glob("docs/*.md")),
]


@pytest.mark.parametrize("page", PAGES)
def test_each_link_to_a_file_leads_to_one_and_to_a_heading_of_it(page: str) -> None:
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\((?!\w+:)([^)\s]+)\)", text):
        name, _, anchor = link.partition("#")
        path = (REPOSITORY / page).parent / name if name else REPOSITORY / page
        assert path.exists(), link
        if anchor:
            headings = re.findall(r"(?m)^#+ (.*)$", path.read_text(encoding="utf-8"))
            assert anchor in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}, link


@pytest.mark.parametrize("page", versions_table.HEADS)
def test_the_versions_that_a_page_names_are_those_of_the_locks(page: str) -> None:
    assert versions_table.shown(page) == versions_table.table(page)


def test_the_help_of_the_program_ends_with_examples_that_name_shipped_stacks() -> None:
    told = CliRunner().invoke(commands._commands, ["--help"]).output
    assert "..." not in told.partition("Commands:\n")[2].partition("\n\n")[0], "a sentence is cut off"
    examples = [line.split() for line in told.partition("Examples:\n")[2].splitlines()]
    assert [words[:3] for words in examples] == [
        ["ascend-lock", "lock", "verl-qwen3.5"],
        ["ascend-lock", "explain", "trl-guide"],
    ]
    assert all((REPOSITORY / "matrices" / "stacks" / f"{words[2]}.toml").is_file() for words in examples)


@pytest.mark.parametrize("row", [schema.IndexRow, schema.BindingRow])
def test_each_key_of_an_index_and_a_binding_is_explained(row: type[schema.IndexRow | schema.BindingRow]) -> None:
    table = row.__name__.removesuffix("Row").lower()
    text = (REPOSITORY / "docs" / "indexes.md").read_text(encoding="utf-8")
    rows = text.partition(f"| key of `[[{table}]]` |")[2].partition("\n\n")[0].splitlines()[2:]
    assert sorted(line.split("`")[1] for line in rows) == sorted(row.__struct_encode_fields__)


@pytest.mark.parametrize("page", PAGES)
def test_each_make_command_is_in_the_makefile_with_its_variables(page: str) -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    called = re.findall(r"(?:^|`)(?:\$ )?make ([a-z-]+)((?: +[A-Z]+=(?:\"[^\"\n]*\"|[^\s`]+))*)", text, re.MULTILINE)
    assert called or not page.startswith("README")
    for target, given in called:
        assert f"\n{target}: " in makefile, target
        assert all(f"\n{name} " in makefile for name in re.findall(r"([A-Z]+)=", given)), given


def test_a_variable_that_the_makefile_does_not_know_is_refused() -> None:
    run = subprocess.run(["make", "-C", REPOSITORY, "lock", "stack=x"], capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "there is no variable `stack`" in run.stderr
