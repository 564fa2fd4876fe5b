"""What pages, help, comments and requirements/*.txt say of what is shipped."""

from __future__ import annotations

import json
import re
import subprocess
import sysconfig
from pathlib import Path
from pkgutil import resolve_name
from typing import get_args

import pytest
import tomli
from click.testing import CliRunner
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from resolver import __version__
from resolver.cli import commands, console
from resolver.cli.export import Format
from resolver.config import schema
from resolver.index import snapshot
from resolver.index.store import cache
from resolver.lock import bundle
from resolver.model import lock
from resolver.model.fact import KINDS
from resolver.report import fleet, matrix
from resolver.report.explanation import json as conflict_json
from resolver.verify import built
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
            assert anchor in {
                re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings
            }, link


@pytest.mark.parametrize("page", versions_table.HEADS)
def test_the_versions_that_a_page_names_are_those_of_the_locks(page: str) -> None:
    assert (REPOSITORY / page).read_text(encoding="utf-8") == versions_table.updated(page)


# The numbers that a page has of formats, by how the row begins.
FORMATS = {
    "lock.toml": lock.FORMAT,
    "conflict.json": conflict_json.VERSION,
    "matrix.json": matrix.FORMAT,
    "bundle.json": bundle.FORMAT,
    "built.toml": built._BUILT_FORMAT,
    "`verify.py --json`": fleet._SCHEMA,
    "`--json` of every command": console._JSON_FORMAT,
    "每个命令的 `--json`": console._JSON_FORMAT,
    "a snapshot": int(snapshot._FORMAT),
    "快照": int(snapshot._FORMAT),
    "the cache": int(re.sub(r"\D", "", cache.FILE.partition(".")[0])),
    "缓存": int(re.sub(r"\D", "", cache.FILE.partition(".")[0])),
}


@pytest.mark.parametrize("page", ["docs/versions.md", "docs/versions.zh-CN.md"])
def test_the_page_on_versions_names_each_format(page: str) -> None:
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| ([^|、,]+?)(?:[、,][^|]*)? \| (\d+) \|", text)
    assert len(rows) == 9
    assert {name: FORMATS[name] for name, _ in rows} == {name: int(number) for name, number in rows}
    assert f"{__version__}" in text


def test_the_help_of_the_program_ends_with_examples_that_name_shipped_stacks() -> None:
    told = CliRunner().invoke(commands._commands, ["--help"]).output
    assert "..." not in told.partition("Commands:\n")[2].partition("\n\n")[0], (
        "a sentence is cut off"
    )
    listed = told.partition("Examples:\n")[2].partition("\n\n")[0]
    examples = [line.split() for line in listed.splitlines()]
    *of_stacks, completion = examples
    assert [words[:3] for words in of_stacks] == [
        ["ascend-lock", "lock", "verl-qwen3.5"],
        ["ascend-lock", "explain", "trl-guide"],
    ]
    assert completion[:2] == ["eval", '"$(_ASCEND_LOCK_COMPLETE=bash_source']
    assert all(
        (REPOSITORY / "matrices" / "stacks" / f"{words[2]}.toml").is_file() for words in of_stacks
    )


@pytest.mark.parametrize("row", [schema.IndexRow, schema.Binding])
def test_each_key_of_an_index_and_a_binding_is_explained(
    row: type[schema.IndexRow | schema.Binding],
) -> None:
    table = row.__name__.removesuffix("Row").lower()
    text = (REPOSITORY / "docs" / "indexes.md").read_text(encoding="utf-8")
    rows = text.partition(f"| key of `[[{table}]]` |")[2].partition("\n\n")[0].splitlines()[2:]
    assert sorted(line.split("`")[1] for line in rows) == sorted(row.__struct_encode_fields__)


@pytest.mark.parametrize("page", PAGES)
def test_each_make_command_is_in_the_makefile_with_its_variables(page: str) -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    called = re.findall(
        r"(?:^|`)(?:\$ )?make ([a-z-]+)((?: +[A-Z]+=(?:\"[^\"\n]*\"|[^\s`]+))*)", text, re.MULTILINE
    )
    assert called or not page.startswith("README")
    for target, given in called:
        assert f"\n{target}: " in makefile, target
        assert all(f"\n{name} " in makefile for name in re.findall(r"([A-Z]+)=", given)), given


def test_a_variable_that_the_makefile_does_not_know_is_refused() -> None:
    run = subprocess.run(
        ["make", "-C", REPOSITORY, "lock", "stack=x"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert "there is no variable `stack`" in run.stderr


# --- the modules, and what is in them, that pages and the program's own comments name

PACKAGES = sorted(
    path.name for path in (REPOSITORY / "resolver").iterdir() if (path / "__init__.py").exists()
)
# `resolve/universe`, `resolve/solver.py`, `lock/build.applied`, `index.store.file_cache`,
# `report/`, `report/*words`
NAMED = re.compile(rf"`(?:resolver/)?((?:{'|'.join(PACKAGES)})[/.][\w./*]*)`")
TEXTS = (*(REPOSITORY / page for page in PAGES), *(REPOSITORY / "resolver").rglob("*.py"))
FILES = ("lock.toml", "report.md", "report.zh.md")  # not of the program


def _found() -> dict[str, str]:
    return {
        name: str(text.relative_to(REPOSITORY))
        for text in TEXTS
        for name in NAMED.findall(text.read_text(encoding="utf-8"))
        if name not in FILES
    }


def _exists(name: str) -> bool:
    if list((REPOSITORY / "resolver").glob(name)) or list(
        (REPOSITORY / "resolver").glob(f"{name}.py")
    ):
        return True
    try:
        resolve_name(".".join(("resolver", *re.split(r"[/.]", name.removesuffix(".py")))))
    except (ImportError, AttributeError, ValueError):
        return False
    return True


def test_there_is_something_to_look_at() -> None:
    assert {"resolve/project", "report/verify.MODULES", "index/protocol"} <= set(_found())
    assert not _exists("resolve/no_such_module")
    assert not _exists("lock/build.no_such_function")


@pytest.mark.parametrize("name", sorted(_found()))
def test_what_is_named_exists(name: str) -> None:
    assert _exists(name), f"{_found()[name]} names it"


# --- what this project itself is installed from

PROJECT = tomli.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
RUN = [*PROJECT["dependencies"], *EXTRAS["build"], *EXTRAS["sbom"]]


def test_the_stack_asks_for_what_the_project_needs() -> None:
    path = REPOSITORY / "tests" / "recorded" / "self.toml"
    assert tomli.loads(path.read_text(encoding="utf-8"))["stack"]["requires"] == RUN


@pytest.mark.parametrize(("name", "asked"), [("run.txt", RUN), ("dev.txt", [*RUN, *EXTRAS["dev"]])])
def test_the_requirements_pin_what_the_project_needs(name: str, asked: list[str]) -> None:
    text = (REPOSITORY / "requirements" / name).read_text(encoding="utf-8")
    pins: dict[str, list[Requirement]] = {}
    for line in text.splitlines():
        if not line.startswith(" "):
            pin = Requirement(line.removesuffix("\\"))
            pins.setdefault(canonicalize_name(pin.name), []).append(pin)
    for need in map(Requirement, asked):
        assert pins[canonicalize_name(need.name)]
        for pin in pins[canonicalize_name(need.name)]:
            (exact,) = pin.specifier
            assert need.specifier.contains(exact.version, prereleases=True), need


def test_the_environment_starts_in_every_locale() -> None:
    """With LC_ALL=C Python 3.11 cannot read a path that is not ASCII from the file of an editable
    installation.
    """
    for path in Path(sysconfig.get_path("purelib")).glob("__editable__.ascend_lock-*.pth"):
        assert (path.parent / path.read_text(encoding="ascii").strip()).resolve() == REPOSITORY
        assert not path.read_text(encoding="ascii").startswith("/")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_fact_is_documented_and_fuzzed(kind: str) -> None:
    table = (REPOSITORY / "docs/upstream.md").read_text(encoding="utf-8")
    kinds = [row.split("|")[1] for row in table.splitlines() if row.startswith("| ")]
    assert kind in {name.strip() for row in kinds for name in row.split(",")}
    corpus = (REPOSITORY / "tests/fuzz/corpus/facts/all.toml").read_text(encoding="utf-8")
    assert f"[[{kind}]]" in corpus
    assert f"[[{kind}]]" in (REPOSITORY / "matrices/README.md").read_text(encoding="utf-8")


def read(name: str) -> str:
    return (REPOSITORY / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("form", get_args(Format))
def test_every_export_is_documented(form: str) -> None:
    (target,) = re.findall(r"^export: .*FORMAT=(.*?) \[", read("Makefile"), re.MULTILINE)
    assert form in re.findall(r"\w+", target)
    schema = json.loads(read("docs/schemas/export.json"))
    assert form in schema["$defs"]["result"]["properties"]["kind"]["enum"]
    title = {"pylock": "pylock.toml", "ansible": "playbook"}.get(form, form).lower()
    for name in ("docs/export.md", "docs/export.zh-CN.md", "README.md", "README.zh-CN.md"):
        assert title in read(name).lower(), name


def test_the_corpus_has_the_shipped_systems() -> None:
    assert read("tests/fuzz/corpus/systems/shipped.toml") == read("matrices/systems.toml")
