"""What a file with a mistake in it is told: the whole message, for the mistakes that people make."""

from __future__ import annotations

import datetime as dt
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from resolver.errors import InputError
from resolver.matrix import schema
from resolver.matrix.compile import compile_problems
from resolver.matrix.load import load
from resolver.matrix.misfit import misfit
from resolver.matrix.names import stack_names
from resolver.matrix.repair import requirement_hint
from tests.functional.workspace import REPOSITORY
from tests.unit.matrix.test_matrix_errors import FACTS, STACK, SYSTEMS, fact, message
from tests.unit.matrix.test_matrix_sources import SOURCE

TOLD = {
    kind: [pytest.param(*list(row.values())[1:], id=row["what"]) for row in rows]
    for kind, rows in tomli.loads((REPOSITORY / "tests/scenarios/mistakes.toml").read_text("utf-8")).items()
}


@pytest.mark.parametrize(("old", "new", "told"), TOLD["stack"])
def test_a_stack(old: str, new: str, told: str, tmp_path: Path) -> None:
    assert old in STACK
    assert message(tmp_path, STACK.replace(old, new)) == told


@pytest.mark.parametrize(("row", "told"), TOLD["facts"])
def test_a_fact(row: str, told: str, tmp_path: Path) -> None:
    assert message(tmp_path, facts=fact(row)) == told


@pytest.mark.parametrize(("rows", "told"), TOLD["indexes"])
def test_indexes(rows: str, told: str, tmp_path: Path) -> None:
    assert message(tmp_path, indexes=rows) == told.format("matrices/indexes.toml")


@pytest.mark.parametrize(("old", "new", "told"), TOLD["sources"])
def test_a_source(old: str, new: str, told: str, tmp_path: Path) -> None:
    assert SOURCE.count(old) == 1
    assert message(tmp_path, facts=fact(SOURCE.replace(old, new))) == told


@pytest.mark.parametrize(("text", "told"), TOLD["whole"])
def test_a_whole_file(text: str, told: str, tmp_path: Path) -> None:
    assert whole(tmp_path, text.encode()) == told


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"a=" + b"9" * 5000, "it has a number with thousands of digits\nhint: put it in quotes"),
        (b"a=" + b"[" * 3000, "the file is nested too deeply"),
        (b"a=0x1" + b"0" * 8000, "unknown key `a`\n  at matrices/stacks/s.toml:1: a\n"),
        (STACK.encode("utf-16"), "is not UTF-8\n  at matrices/stacks/s.toml:1\n  it is UTF-16\nhint: save it as UTF-8"),
        (STACK.replace("a test", "测试").encode("gbk"), "is not UTF-8\n  at matrices/stacks/s.toml:3\n"),
    ],
    ids=["digits", "nested", "hexadecimal", "UTF-16", "GBK"],
)
def test_bytes_that_are_no_toml(content: bytes, told: str, tmp_path: Path) -> None:
    assert told in whole(tmp_path, content)


def whole(folder: Path, stack: bytes) -> str:
    """What comes of a stack of these bytes; empty where it is right."""
    (folder / "stacks").mkdir()
    (folder / "facts").mkdir()
    (folder / "stacks" / "s.toml").write_bytes(stack)
    (folder / "facts" / "verl.toml").write_text(FACTS)
    (folder / "systems.toml").write_text(SYSTEMS)
    try:
        compile_problems(load("s", folder))
    except InputError as error:
        return str(error)
    return ""


def test_marks_and_line_ends_of_windows_are_no_mistake(tmp_path: Path) -> None:
    assert whole(tmp_path, b"\xef\xbb\xbf" + STACK.replace("\n", "\r\n").encode()) == ""


def test_a_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "facts" / "verl.toml").mkdir(parents=True)
    (tmp_path / "stacks" / "s.toml").write_text(STACK)
    with pytest.raises(InputError) as caught:
        load("s", tmp_path)
    assert str(caught.value) == (
        "`matrices/facts/verl.toml` is a folder\n  at matrices/facts/verl.toml\nhint: a TOML file is expected here"
    )
    with pytest.raises(InputError) as caught:
        load(f"{tmp_path}/stacks", tmp_path)
    assert str(caught.value) == (
        f"`{tmp_path}/stacks` is a folder\n  at {tmp_path}/stacks\nhint: give a path to a .toml file"
    )
    (tmp_path / "stacks" / "t.toml").mkdir()
    with pytest.raises(InputError) as caught:
        load("t", tmp_path)
    assert str(caught.value) == "`t.toml` is a folder\n  at matrices/stacks/t.toml\nhint: a stack is a file"
    assert stack_names(tmp_path) == ["s"]


def test_an_address_is_shown_without_its_password(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    row = '[[index]]\nname = "mine"\nurl = ["https://me:s3cret@h/simple"]\n'
    assert "s3cret" not in message(tmp_path / "a", STACK + row)
    (tmp_path / "b").mkdir()
    assert message(tmp_path / "b", STACK + row.replace('["', "").replace('"]', "")) == (
        "the file is not valid TOML\n"
        "  at matrices/stacks/s.toml:18\n"
        "  Invalid value; column 7 of: url = https://h/simple\n"
        'hint: strings must be in quotes: key = "value"'
    )


# --- msgspec decides, and the words follow it

_RIGHT = tomli.loads(STACK + '[policy]\nprereleases-of = { torch = "allow" }\n[[relax]]\nfact = "f"\nreason = "r"\n')
_VALUES = (1, 1.5, True, "", "x", "3.11", [], ["x"], [1], {}, {"x": "y"}, [{}], dt.date(2026, 1, 1), dt.time(1))


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    rows = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(inner for key, item in rows for inner in _paths(item, (*path, key)))]


@given(st.sampled_from(_paths(_RIGHT)[1:]), st.sampled_from(_VALUES), st.sampled_from(["change", "remove", "rename"]))
def test_the_words_are_for_just_what_is_refused(path: tuple[str | int, ...], value: Any, what: str) -> None:
    """Law: a misfit is found where, and only where, msgspec refuses; it says where and what."""
    content: Any = deepcopy(_RIGHT)
    inner = content
    for step in path[:-1]:
        inner = inner[step]
    if what == "change" or isinstance(inner, list):
        inner[path[-1]] = value
    else:
        was = inner.pop(path[-1])
        if what == "rename":
            inner[f"{path[-1]}x"] = was
    try:
        msgspec.convert(content, schema.StackFile, strict=True)
    except msgspec.ValidationError:
        found = misfit(content, schema.StackFile)
        assert found is not None
        assert found.path[: len(path) - 1] == path[:-1]
    else:
        assert misfit(content, schema.StackFile) is None


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("click~=8", "click~=8.0"),
        ("a[x]~=2,!=2.1", "a[x]~=2.0,!=2.1"),
        ("click>=8.*", "click>=8"),
        ("click >= 8.1.*, <9", "click >= 8.1, <9"),
    ],
)
def test_versions_that_an_operator_does_not_take(line: str, meant: str) -> None:
    assert requirement_hint(line) == f"did you mean `{meant}`?"
