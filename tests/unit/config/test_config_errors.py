"""The messages for mistakes in files, at the key of each."""

from __future__ import annotations

import datetime as dt
import json
import time
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import tomli
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from resolver import files
from resolver.config import schema
from resolver.config.compile import compile_problems
from resolver.config.find_stack import stack_names
from resolver.config.load import load
from resolver.config.toml_files import read_text
from resolver.errors import InputError
from tests.functional.workspace import REPOSITORY
from tests.unit.config.folders import FACTS, HEAD, STACK, matrices, message, requiring
from tests.unit.config.test_config_sources import SOURCE

MISTAKES = tomli.loads((REPOSITORY / "tests/scenarios/mistakes.toml").read_text("utf-8"))


def mistakes(kind: str) -> list[Any]:
    """Return the rows of a kind as parameters: what is changed, and the message."""
    parameters = []
    for row in MISTAKES[kind]:
        name = row.pop("what")
        parameters.append(pytest.param(*row.values(), id=name))
    return parameters


@pytest.mark.parametrize(("old", "new", "expected"), mistakes("stack"))
def test_stack_mistake_has_its_message(old: str, new: str, expected: str, tmp_path: Path) -> None:
    assert old in STACK
    assert message(tmp_path, STACK.replace(old, new)) == expected


@pytest.mark.parametrize(("row", "expected"), mistakes("facts"))
def test_fact_mistake_has_its_message(row: str, expected: str, tmp_path: Path) -> None:
    assert message(tmp_path, facts=HEAD + row) == expected


@pytest.mark.parametrize(("rows", "expected"), mistakes("indexes"))
def test_index_mistake_has_its_message(rows: str, expected: str, tmp_path: Path) -> None:
    assert message(tmp_path, indexes=rows) == expected.format("matrices/indexes.toml")


@pytest.mark.parametrize(("old", "new", "expected"), mistakes("sources"))
def test_commit_mistake_has_its_message(old: str, new: str, expected: str, tmp_path: Path) -> None:
    assert SOURCE.count(old) == 1
    assert message(tmp_path, facts=HEAD + SOURCE.replace(old, new)) == expected


@pytest.mark.parametrize(
    ("name", "files", "place"),
    [
        ("verl", {}, "matrices/facts/verl.toml:6: requires[0]"),
        (
            "vllm",
            {"facts": f'{HEAD}[[collides]]\nwith = "vllm"\nmodule = "m"\nreason = "r"\n'},
            "matrices/facts/verl.toml:6",
        ),
        (
            "torch",
            {"indexes": '[[binding]]\npackages = ["torch"]\nindexes = ["pypi"]\n'},
            "matrices/indexes.toml:2: binding[0].packages[0]",
        ),
        (
            "torch",
            {"stack": STACK + '\n[[binding]]\npackages = ["torch"]\nindexes = ["pypi"]\n'},
            "matrices/stacks/s.toml:18: binding[0].packages[0]",
        ),
    ],
)
def test_component_named_like_a_project_is_refused(
    tmp_path: Path, name: str, files: dict[str, str], place: str
) -> None:
    """A line on the project would be one on the component, and nothing would be installed."""
    folder = matrices(tmp_path, **files)
    with (folder / "systems.toml").open("a") as systems:
        systems.write(f'[component.{name}]\nsummary = "s"\nminimum = true\n')
    with pytest.raises(InputError) as caught:
        compile_problems(load("s", folder))
    assert caught.value.message == f"`{name}` is a project here, and a component in systems.toml"
    assert caught.value.where.startswith(place)


def test_component_of_no_target_swallows_no_line(tmp_path: Path) -> None:
    folder = matrices(tmp_path, requiring("verl", "leaf>=2"))
    with (folder / "systems.toml").open("a") as systems:
        systems.write('[component.leaf]\nsummary = "s"\nminimum = true\n')
    with pytest.raises(InputError) as caught:
        compile_problems(load("s", folder))
    assert str(caught.value) == (
        "no target has a component `leaf`, so `leaf>=2` asks for nothing\n"
        "  at matrices/stacks/s.toml:4: stack.requires[1]\n"
        "hint: state leaf in [target.system]; if a project is meant, give the component of "
        "systems.toml another name"
    )
    stack = requiring("verl", "leaf>=2") + 'leaf = "3"\n'
    (folder / "stacks" / "s.toml").write_text(stack)
    assert compile_problems(load("s", folder))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a=" + b"9" * 5000, "it has a number or key of more than 1000 characters"),
        (b"a=" + b"[" * 3000, "it is nested too deeply"),
        (b"a=0x1" + b"0" * 8000, "it has a number or key of more than 1000 characters"),
        (
            b"",
            (
                "the key `stack` is missing\n"
                "  at matrices/stacks/s.toml:1\n"
                "hint: it must have stack, target"
            ),
        ),
        (
            b'"a\\u001b[31m" = 2',
            "unknown key `a\\x1b[31m`\n  at matrices/stacks/s.toml:1: a\\x1b[31m\n",
        ),
        (
            STACK.replace("\n", "\r").encode(),
            "s.toml:1\n  Expected newline or end of document after a statement; column 8",
        ),
        (
            STACK.encode("utf-16"),
            (
                "is not UTF-8\n  at matrices/stacks/s.toml:1\n"
                "  it has the byte 0xff where UTF-8 cannot have it\nhint: save it"
            ),
        ),
        (
            STACK.replace("a test", "测试").encode("gbk"),
            "is not UTF-8\n  at matrices/stacks/s.toml:3\n",
        ),
    ],
    ids=["digits", "nested", "hexadecimal", "empty", "control", "CR", "UTF-16", "GBK"],
)
def test_file_that_is_no_stack_is_refused(content: bytes, expected: str, tmp_path: Path) -> None:
    assert expected in message(tmp_path, content)


def test_windows_byte_order_mark_and_line_ends_are_read(tmp_path: Path) -> None:
    matrices(tmp_path, b"\xef\xbb\xbf" + STACK.replace("\n", "\r\n").encode())
    assert compile_problems(load("s", tmp_path))


@pytest.mark.parametrize(
    "line", ["numpy " + " " * 100_000 + "x", "numpy ; " + "=" * 100_000, "a_" * 50_000 + " in x"]
)
def test_requirement_is_refused_in_linear_time(line: str, tmp_path: Path) -> None:
    begin = time.process_time()
    error = message(tmp_path, STACK.replace('"numpy<2"', json.dumps(line)))
    assert time.process_time() - begin < 2
    assert "\n  at matrices/stacks/s.toml:5: stack.requires[0]\n" in error


DEFAULTS = '[fact.defaults]\nstrength = "observed"\nsource = "a/b#1"\nchecked = 2026-01-01\n'
BUILDS = '[[fact.builds]]\npackage = "a"\nreason = "r"\nrequires-from = "r.txt"\nwhen = ["torch"]\n'


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"s"', '"a/b"', "`a/b` is not a name of at most 80 letters"),
        ('"3.11"', '">=3.11"', "`>=3.11` is not one version of Python"),
        (
            "[target.system]",
            'glibc = "2.28.1"\n[target.system]',
            "`2.28.1` is not a version of glibc",
        ),
        ("[target.system]", "[target.env]", "unknown key `env`"),
        (
            "[target]",
            '[check]\nimports = ["import os"]\n[target]',
            "`import os` is not the name of a module",
        ),
        (
            "[target]",
            '[[recorded]]\nsha256 = "abc"\n[target]',
            "`abc` is not a sha256: 64 hexadecimal digits",
        ),
        (
            "[target]",
            '[[fact.builds]]\nlabel = "+E"\n[target]',
            "`+E` is not a local version label",
        ),
        ("[target]", f"{DEFAULTS}{BUILDS}[target]", "`when` cannot be used"),
        ("[target]", "[policy]\nprereleases = true\n[target]", "`prereleases` cannot be used"),
        (
            "[target]",
            "[policy]\nexclude-newer = '2026-01-31'\n[target]",
            "`exclude-newer` cannot be used",
        ),
        (
            "[target]",
            "[policy]\nexclude-newer = 20260131\n[target]",
            "`exclude-newer` cannot be used",
        ),
        (
            "[target]",
            "[policy]\nexclude-newer = 0001-01-01T00:00:00+23:59\n[target]",
            "`exclude-newer` cannot be used",
        ),
        ("[target]", "[[fact.excludes]]\nversions = []\n[target]", "`versions` cannot be used"),
        ("[target]", "[[fact.exports]]\nenv = {}\n[target]", "`env` cannot be used"),
        ("[target]", "[[fact.warns]]\nlast = 10\n[target]", "`last` cannot be `10`"),
        ("[target]", '[[fact.warns]]\nchecked = "2026-1-1"\n[target]', "`checked` cannot be used"),
    ],
)
def test_schema_refuses_values(old: str, new: str, expected: str, tmp_path: Path) -> None:
    assert message(tmp_path, STACK.replace(old, new)).startswith(expected)


# --- the places of errors

_RIGHT = tomli.loads(
    STACK + '[policy]\nprereleases-of = { torch = "allow" }\n[[relax]]\nfact = "f"\nreason = "r"\n'
)
_VALUES = (
    1,
    1.5,
    True,
    "",
    "x",
    "3.11",
    [],
    ["x"],
    [1],
    {},
    {"x": "y"},
    [{}],
    dt.date(2026, 1, 1),
    dt.time(1),
)
_NAMES = ("x", "x - at `$.stack", "x` - at `$.policy.y[1][...]", "[0]", "\0`")


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the paths of a value and of all that is in it."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    paths = [path]
    for key, item in items:
        paths += _paths(item, (*path, key))
    return paths


def _key(path: tuple[str | int, ...]) -> str:
    """Return a path as errors write it."""
    dotted = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return dotted.lstrip(".")


@given(
    st.sampled_from(_paths(_RIGHT)[1:]),
    st.sampled_from(_VALUES),
    st.sampled_from(["change", "remove", *_NAMES]),
)
def test_schema_error_is_at_its_key(path: tuple[str | int, ...], value: Any, what: str) -> None:
    """Law: whatever is changed in a table, an error is about that table or what is in it."""
    content: Any = deepcopy(_RIGHT)
    inner = content
    for step in path[:-1]:
        inner = inner[step]
    if what == "change" or isinstance(inner, list):
        inner[path[-1]] = value
    else:
        old_value = inner.pop(path[-1])
        if what != "remove":
            inner[what] = old_value
    try:
        read_text(tomli_w.dumps(content), schema.StackFile, "s.toml")
    except InputError as error:
        _, _, key = error.where.partition(": ")
        assert key.startswith(_key(path[:-1]))


# --- rows that contradict each other

TARGET = '[[target]]\npython = "3.11"\nplatform = "linux-aarch64"\nsystem = {{ soc = "{}" }}\n'
FACT_WITHOUT_SOURCE = """
[[fact.excludes]]
package = "verl"
versions = "==0.1"
reason = "broken"
strength = "observed"
"""
WITHOUT_TARGET = STACK[: STACK.index("[target]")]
TWICE = '[[excludes]]\nid = "one"\nreason = "broken"\n'


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (
            {"stack": STACK.replace('"verl"', '"soc != 910b3"')},
            (
                "`910B3` is not a known SoC\n"
                "  at matrices/stacks/s.toml:6: stack.requires[1]\n"
                "hint: known are "
            ),
        ),
        (
            {"facts": FACTS.replace("cann in 8.5.0 | 8.5.1", "soc in A3 | 910B3")},
            (
                "`910B3` is not a known SoC\n"
                "  at matrices/facts/verl.toml:8: requires[0].needs[1]\n"
                "hint: known"
            ),
        ),
        (
            {"stack": WITHOUT_TARGET + TARGET.format("A2") + TARGET.format("a2")},
            (
                "two targets are named `linux-aarch64-py311-a2`\n"
                "  at matrices/stacks/s.toml:13: target[1]"
            ),
        ),
        (
            {"stack": WITHOUT_TARGET + TARGET.format("A2") + TARGET.format("950")},
            (
                "`950` is not a known SoC\n"
                "  at matrices/stacks/s.toml:16: target[1].system.soc\n"
                "hint: known are "
            ),
        ),
        (
            {"stack": f"target = []\n{WITHOUT_TARGET}"},
            "the stack has no target\n  at matrices/stacks/s.toml:1: target",
        ),
        (
            {"stack": STACK.replace('"numpy<2"', "\"numpy<2 ; sys_platform ~= '1'\"")},
            (
                'the marker of `numpy<2 ; sys_platform ~= "1"` cannot be evaluated\n'
                "  at matrices/stacks/s.toml:5\n"
                "  Undefined <Op('~=')> on 'linux' and '1'."
            ),
        ),
        (
            {"stack": STACK.replace('"numpy<2"', "\"numpy<2 ; platform_version >= '5'\"")},
            (
                'the marker of `numpy<2 ; platform_version >= "5"` cannot be evaluated\n'
                "  at matrices/stacks/s.toml:5\n"
            ),
        ),
        (
            {"facts": FACTS.replace("cann in 8.5.0 | 8.5.1", "numpy ; sys_platform ~= '1'")},
            (
                'the marker of `numpy ; sys_platform ~= "1"` cannot be evaluated\n'
                "  at matrices/facts/verl.toml:6\n"
            ),
        ),
        (
            {"facts": FACTS.replace('strength = "vendor"\n', "")},
            (
                "the key `strength` is missing\n"
                "  at matrices/facts/verl.toml:5: requires[0]\n"
                "hint: it must "
            ),
        ),
        (
            {"stack": STACK + FACT_WITHOUT_SOURCE},
            "the key `source` is missing\n  at matrices/stacks/s.toml:17: fact.excludes[0]\n",
        ),
        (
            {"facts": HEAD + TWICE, "other_facts": "\n" + HEAD + TWICE},
            "two facts have the id `one`\n  at matrices/facts/vllm.toml:8: excludes[0].id\n",
        ),
        (
            {"stack": STACK + '[[index]]\nname = "huawei"\n'},
            (
                "index `huawei` needs a url\n  at matrices/stacks/s.toml:17: index[0].name\n"
                "  `pypi` is the index that pip on this machine is configured with; "
                "every other index needs an address"
            ),
        ),
    ],
)
def test_rows_that_contradict_are_refused(
    changed: dict[str, str], expected: str, tmp_path: Path
) -> None:
    assert message(tmp_path, **changed).startswith(expected)


# --- finding files


@pytest.mark.parametrize(
    ("name", "hint"),
    [("vrl", "did you mean `verl`?"), ("zzz", "known are verl"), ("../stacks/s", "")],
)
def test_facts_file_that_is_unknown_has_a_hint(name: str, hint: str, tmp_path: Path) -> None:
    stack = STACK.replace("requires = [", f'facts = ["verl", "{name}"]\nrequires = [')
    error = message(tmp_path, stack)
    assert error.startswith(
        f"there is no facts file `{name}`\n"
        "  at matrices/stacks/s.toml:4: stack.facts[1]\n"
        f"hint: {hint}"
    )


def test_folder_that_is_missing_is_an_error(tmp_path: Path) -> None:
    """A lock without any fact would be no better than what pip makes."""
    with pytest.raises(InputError, match=r"there is no folder `.*/none`\nhint: give the folder"):
        load("s", tmp_path / "none")
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "s.toml").write_text(STACK)
    with pytest.raises(
        InputError, match=r"there is no folder `.*/facts`, so nothing is known beyond the packages"
    ):
        load("s", tmp_path)


@pytest.mark.parametrize("folder", ["facts", "stacks", "archives"])
def test_folder_that_cannot_be_listed_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    """Else the stack would be locked as if there were no facts, or each archive downloaded."""
    matrices(tmp_path)
    list_files = files.list_files

    def refuse(path: Path, ending: str) -> list[Path]:
        if path.name == folder:
            raise PermissionError(13, "Permission denied", str(path))
        return list_files(path, ending)

    monkeypatch.setattr(files, "list_files", refuse)
    # The folder of stacks is listed only for the hint about an unknown stack.
    stack = "t" if folder == "stacks" else "s"
    assert message(tmp_path, name=stack) == (
        "a folder cannot be listed\n"
        f"  at {tmp_path}/{folder}\n"
        "  Permission denied\n"
        "hint: check the permissions there"
    )


def test_folder_ignores_what_macos_and_editors_leave(tmp_path: Path) -> None:
    (matrices(tmp_path) / "archives").mkdir()
    before = load("s", tmp_path)
    for name in ("stacks/._s.toml", "facts/._a.toml", "archives/._a.json"):
        (tmp_path / name).write_bytes(b"\0\5\26\7\0\2\0\0Mac OS X        ")
    (tmp_path / "facts" / ".#a.toml").symlink_to("somebody@host.1")
    (tmp_path / "stacks" / "folder.toml").mkdir()
    assert load("s", tmp_path) == before
    assert stack_names(tmp_path) == ["s"]
