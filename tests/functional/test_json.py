"""`--json` of each command is what docs/schemas says, with the number of its format."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import click
import pytest

from resolver.cli import commands
from tests.functional import test_fleet
from tests.functional.machine import make_environment
from tests.functional.test_facts_import import HEAD, UPSTREAM
from tests.functional.test_matrix import FACTS, GRID, INDEXES, SYSTEMS
from tests.functional.workspace import HERE, REPOSITORY, Workspace, row, targets
from tests.loopback import LoopbackIndex
from tests.repositories import Repository
from tests.schemas import strict

DOCS = REPOSITORY / "docs"
SCHEMAS = DOCS / "schemas"


@lru_cache
def _resource(uri: str) -> Any:
    from referencing import Resource

    path = Path(uri.removeprefix("file://"))
    return Resource.from_contents(strict(json.loads(path.read_text(encoding="utf-8"))))


def faults(document: Any, name: str) -> list[str]:
    """What a schema says of a document."""
    from jsonschema import Draft202012Validator
    from referencing import Registry

    registry = Registry(retrieve=_resource)  # type: ignore[call-arg]
    schema = {"$ref": f"{(SCHEMAS / name).as_uri()}.json"}
    validator = Draft202012Validator(schema, registry=registry)
    return [error.message for error in validator.iter_errors(document)]


@pytest.fixture
def workspace(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """A stack that is locked, one without a solution, and facts."""
    workspace.serve("demo 1.0: demo-data", "demo-data 0.9 1.0")
    workspace.facts(
        "demo",
        row("requires", id="demo-data", versions="==1.0", needs=["demo-data==1.0"])
        + row("warns", id="slow", text="it is slow"),
    )
    workspace.stack("demo", "demo-data<1", name="conflict", target=HERE)
    workspace.stack("demo", "demo-data<1", name="split", target=targets("old", "new"))
    workspace.locked_stack("demo", target=HERE)
    (workspace.root / "requirements.in").write_text("demo\n-e .\n")
    return workspace


# The schema, the command, and its exit status.
CASES = [
    ("lock", "lock", 0),
    ("lock", "lock demo", 0),
    ("lock", "lock demo conflict nosuch", 2),
    ("lock", "lock conflict", 1),
    ("lock", "lock nosuch", 2),
    ("lock", "lock demo --check -U", 0),
    ("lock", "lock demo --record", 0),
    ("edit", "add demo demo-data", 0),
    ("edit", "add demo demo-data<1", 1),
    ("edit", "add demo demo-data --frozen", 0),
    ("edit", "remove demo nosuch", 2),
    ("explain", "explain conflict", 1),
    ("explain", "explain split", 1),
    ("lock", "lock split", 1),
    ("explain", "explain demo", 0),
    ("why", "why demo demo", 0),
    ("why", "why demo demo-data==0.9", 0),
    ("why", "why demo nosuch", 2),
    ("tree", "tree demo", 0),
    ("diff", "diff demo demo", 0),
    ("check", "check demo", 0),
    ("check", "check --upstream --files --solve", 4),
    ("facts-check", "facts check demo", 0),
    ("facts-show", "facts show demo", 0),
    ("facts-check", "facts check --sources", 0),
    ("facts-read", "facts read demo", 0),
    ("facts-read-linkage", "facts read-linkage", 0),
    ("facts-scan", "facts scan demo", 0),
    ("bundle", "bundle demo out", 0),
    ("bundle", "bundle out --check", 2),
    ("export", "export demo --format pylock", 0),
    ("export", "export demo --format ansible -o book", 0),
    ("import", "import requirements.in --name mine", 0),
    ("import", "import requirements.in -o mine.toml --lock", 0),
    ("init", "init", 2),
    ("cache", "cache dir", 0),
    ("cache", "cache size", 0),
    ("cache", "cache clear", 0),
    ("help", "help", 0),
    ("help", "help indexes", 0),
    ("help", "help nosuch", 2),
    ("matrix-show", "matrix show --package demo", 0),
    ("matrix-diff", "matrix diff nosuch.json", 2),
    ("fleet", "fleet nosuch.json", 1),
    ("lock", "nosuch", 2),
    ("lock", "lock --nosuch", 2),
]


@pytest.mark.parametrize(("schema", "words", "status"), CASES)
def test_json_is_what_the_schema_says(
    workspace: Workspace, schema: str, words: str, status: int
) -> None:
    run = workspace.run(*words.split(), "--json")
    assert faults(run.json, schema) == [], run
    assert run.json["format"] == 1
    assert run.status == status, run


def test_json_of_a_bundle_that_is_checked(workspace: Workspace) -> None:
    assert workspace.run("bundle", "demo", "out").status == 0
    run = workspace.run("bundle", "out", "--check", "--json")
    assert (run.json["status"], faults(run.json, "bundle")) == ("whole", [])
    next((workspace.root / "out").glob("*.whl")).unlink()
    run = workspace.run("bundle", "out", "--check", "--json")
    assert (run.status, run.json["status"], faults(run.json, "bundle")) == (4, "damaged", [])


def test_json_of_verify_and_sync(workspace: Workspace) -> None:
    python = make_environment(workspace.root / "env")
    run = workspace.run("sync", "demo", "--dry-run", "--json", VIRTUAL_ENV="")
    assert (run.json["status"], faults(run.json, "sync")) == ("planned", [])
    run = workspace.run("verify", "demo", "--python", str(python), "--json")
    assert (run.status, faults(run.json, "verify")) == (1, [])


def test_json_of_fleet(workspace: Workspace) -> None:
    folder = workspace.root / "reports"
    test_fleet.write(folder, "one")
    test_fleet.write(folder, "two", test_fleet.has(glibc="2.39"))
    run = workspace.run("fleet", "reports", "--json")
    assert (run.json["status"], faults(run.json, "fleet")) == ("mixed", [])


def test_json_of_facts_import(workspace: Workspace, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "app")
    repository.commit({"docs/table.md": f"{HEAD}| v1.0 | 9.0.0 | >= 3.10 |\n"})
    (workspace.matrices / "upstream.toml").write_text(UPSTREAM.format(url=repository.url))
    run = workspace.run("facts", "import", "--json")
    assert (run.status, faults(run.json, "facts-import")) == (0, [])


def test_json_of_the_matrix(workspace: Workspace) -> None:
    workspace.serve("plugin 1.0 3.0 4.0", "plugin 2.0: numbers<2", "numbers 1.0 2.0", "trainer 1.0")
    workspace.serve("engine 1.0: numbers", "engine 2.0: numbers>=2")
    workspace.facts("plugin", FACTS)
    workspace.indexes(INDEXES)
    (workspace.matrices / "systems.toml").write_text(SYSTEMS)
    (workspace.matrices / "grid.toml").write_text(GRID)
    built = workspace.run("matrix", "build", "--jobs", "1", "--data", "old.json", "--json")
    assert (built.status, faults(built.json, "matrix-build")) == (0, [])
    workspace.edit("facts/plugin.toml", "numbers>=2", "numbers>=3")
    again = workspace.run("matrix", "build", "--jobs", "1", "--diff", "old.json", "--json")
    assert (again.status, faults(again.json, "matrix-build")) == (5, [])
    run = workspace.run("matrix", "diff", "old.json", "--json")
    assert (run.status, faults(run.json, "matrix-diff")) == (5, [])
    assert run.json["cells"] == again.json["cells"]
    (workspace.root / "matrix.json").rename(workspace.matrices / "matrix.json")
    words = "init --for serve --cann 8.5.0 --soc A2 --platform linux-aarch64 --python 3.11"
    run = workspace.run(*words.split(), "--json")
    assert (run.status, faults(run.json, "init")) == (0, [])


def test_each_command_has_a_schema() -> None:
    """By its words; `add` and `remove` share one, and the commands of the cache."""
    names = {path.stem for path in SCHEMAS.glob("*.json")}
    shared = {"add": "edit", "remove": "edit"}

    def needed(group: click.Group, words: tuple[str, ...]) -> set[str]:
        found = set()
        for name in group.list_commands(click.Context(group)):
            command = group.get_command(click.Context(group), name)
            if isinstance(command, click.Group) and name != "cache":
                found |= needed(command, (*words, name))
            else:
                found.add(shared.get(name, "-".join((*words, name))))
        return found

    assert isinstance(commands._commands, click.Group)
    assert needed(commands._commands, ()) == names - {"error"}


def test_schema_refuses_what_it_does_not_name() -> None:
    rows = {"stacks": [{"name": "demo", "summary": "x"}]}
    assert faults({"format": 1, "status": "listed", **rows}, "lock") == []
    for wrong in (
        {"status": "listed", **rows},
        {"format": 2, "status": "listed", **rows},
        {"format": 1, "status": "listed", "stacks": [{"name": "demo"}]},
        {"format": 1, "status": "listed", **rows, "further": 1},
    ):
        assert faults(wrong, "lock"), wrong
