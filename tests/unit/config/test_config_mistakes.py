"""What a file with a mistake in it is told: the whole message, for the mistakes that people make."""

from __future__ import annotations

import datetime as dt
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import tomli
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from resolver.config import schema
from resolver.config.compile import compile_problems
from resolver.config.document import read_text
from resolver.config.load import load, stack_names
from resolver.errors import InputError
from tests.functional.workspace import REPOSITORY
from tests.unit.config.test_config_errors import FACTS, STACK, SYSTEMS, fact, message
from tests.unit.config.test_config_sources import SOURCE

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


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"a=" + b"9" * 5000, "it is nested too deeply, or has a number with thousands of digits"),
        (b"a=" + b"[" * 3000, "it is nested too deeply, or has a number with thousands of digits"),
        (b"a=0x1" + b"0" * 8000, "unknown key `a`\n  at matrices/stacks/s.toml:1: a\n"),
        (b"", "the key `stack` is missing\n  at matrices/stacks/s.toml:1\nhint: it must have stack, target"),
        (b'"a\\u001b[31m" = 2', "unknown key `a\\x1b[31m`\n  at matrices/stacks/s.toml:1: a\\x1b[31m\n"),
        (
            STACK.replace("\n", "\r").encode(),
            "s.toml:1\n  Expected newline or end of document after a statement; column 8",
        ),
        (STACK.encode("utf-16"), "is not UTF-8\n  at matrices/stacks/s.toml:1\n  invalid start byte\nhint: save it"),
        (STACK.replace("a test", "测试").encode("gbk"), "is not UTF-8\n  at matrices/stacks/s.toml:3\n"),
    ],
    ids=["digits", "nested", "hexadecimal", "empty", "control", "CR", "UTF-16", "GBK"],
)
def test_bytes_that_are_no_stack(content: bytes, told: str, tmp_path: Path) -> None:
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
        "`matrices/facts/verl.toml` cannot be read\n  at matrices/facts/verl.toml\n  it is not a regular file"
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
    wrong = STACK.replace("linux-aarch64", "https://me:s3cret@h")
    assert message(tmp_path / "a", wrong).startswith("`https://h` is not a value of `platform`\n")
    (tmp_path / "b").mkdir()
    assert message(tmp_path / "b", STACK + "[[index]]\nname = 'mine'\nurl = https://me:s3cret@h/simple\n") == (
        "the file is not valid TOML\n"
        "  at matrices/stacks/s.toml:18\n"
        "  Invalid value; column 7 of: url = https://h/simple\n"
        'hint: a string is in plain quotes: key = "value"'
    )


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"s"', '"a/b"', "`a/b` is not a name of at most 80 letters"),
        ('"3.11"', '">=3.11"', "`>=3.11` is not one version of Python"),
        ("[target.system]", 'glibc = "2.28.1"\n[target.system]', "`2.28.1` is not a version of glibc"),
        ("[target]", '[check]\nimports = ["import os"]\n[target]', "`import os` is not the name of a module"),
        ("[target]", '[[recorded]]\nsha256 = "abc"\n[target]', "`abc` is not a sha256: 64 hexadecimal digits"),
        ("[target]", '[[fact.builds]]\nlabel = "+E"\n[target]', "`+E` is not a local version label"),
        (
            "[target]",
            (
                '[fact.defaults]\nstrength = "observed"\nsource = "s"\nchecked = 2026-01-01\n[[fact.builds]]\n'
                'package = "a"\nreason = "r"\nrequires-from = "r.txt"\nwhen = ["torch"]\n[target]'
            ),
            "`torch` is not a component of the target",
        ),
        ("[target]", "[policy]\nprereleases = true\n[target]", "`prereleases` cannot be used"),
        ("[target]", "[[fact.excludes]]\nversions = []\n[target]", "`versions` cannot be used"),
        ("[target]", "[[fact.exports]]\nenv = {}\n[target]", "`env` cannot be used"),
        ("[target]", "[[fact.warns]]\nlast = 10\n[target]", "`last` cannot be used"),
        ("[target]", '[[fact.warns]]\nchecked = "2026-1-1"\n[target]', "`checked` cannot be used"),
        ("[target.system]", "[target.env]", "unknown key `env`"),
    ],
)
def test_what_the_schema_refuses(old: str, new: str, told: str, tmp_path: Path) -> None:
    assert message(tmp_path, STACK.replace(old, new)).startswith(told)


# --- where msgspec refuses, the place is that of the file

_RIGHT = tomli.loads(STACK + '[policy]\nprereleases-of = { torch = "allow" }\n[[relax]]\nfact = "f"\nreason = "r"\n')
_VALUES = (1, 1.5, True, "", "x", "3.11", [], ["x"], [1], {}, {"x": "y"}, [{}], dt.date(2026, 1, 1), dt.time(1))
_NAMES = ("x", "x - at `$.stack", "x` - at `$.policy.y[1][...]", "[0]", "\0`")


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    rows = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(inner for key, item in rows for inner in _paths(item, (*path, key)))]


def _key(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


@given(st.sampled_from(_paths(_RIGHT)[1:]), st.sampled_from(_VALUES), st.sampled_from(["change", "remove", *_NAMES]))
def test_what_is_refused_is_told_at_its_key(path: tuple[str | int, ...], value: Any, what: str) -> None:
    """Law: whatever is changed in a table, an error is about that table or what is in it."""
    content: Any = deepcopy(_RIGHT)
    inner = content
    for step in path[:-1]:
        inner = inner[step]
    if what == "change" or isinstance(inner, list):
        inner[path[-1]] = value
    else:
        was = inner.pop(path[-1])
        if what != "remove":
            inner[what] = was
    try:
        read_text(tomli_w.dumps(content), schema.StackFile, "s.toml")
    except InputError as error:
        _, _, key = error.where.partition(": ")
        assert key.startswith(_key(path[:-1]))
