"""Every way in which a stack or a facts file can be wrong, with the whole message."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from resolver.config.compile import compile_problems
from resolver.config.load import load, stack_names
from resolver.errors import InputError

STACK = """\
[stack]
name = "s"
summary = "a test"
requires = [
    "numpy<2",
    "verl",
]

[target]
python = "3.11"
platform = "linux-aarch64"

[target.system]
cann = "8.5.0"
soc = "A2"
"""

FACTS = """\
[defaults]
strength = "vendor"
source = "a table of the vendor"
checked = 2026-11-20

[[requires]]
versions = "==0.13.0"
needs = ["numpy<2", "cann in 8.5.0 | 8.5.1"]
reason = "it says so"
"""

EVIDENCE = 'source = "our runs on four A2 machines", checked = 2026-01-31'

SYSTEMS = """\
[component.soc]
summary = "SoC family"
known = ["310P", "A2", "A3"]
"""


def message(
    folder: Path,
    stack: str = STACK,
    *,
    name: str = "s",
    facts: str = FACTS,
    indexes: str = "",
    systems: str = SYSTEMS,
    other_facts: str = "",
) -> str:
    """The error of a folder with these files."""
    (folder / "stacks").mkdir()
    (folder / "facts").mkdir()
    (folder / "stacks" / "s.toml").write_text(stack)
    (folder / "facts" / "verl.toml").write_text(facts)
    (folder / "systems.toml").write_text(systems)
    if indexes:
        (folder / "indexes.toml").write_text(indexes)
    if other_facts:
        (folder / "facts" / "vllm.toml").write_text(other_facts)
    with pytest.raises(InputError) as caught:
        compile_problems(load(name, folder))
    return str(caught.value)


def test_the_files_themselves_are_right(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        message(tmp_path)


# --- the stack file


def new_folder(parent: Path, name: str) -> Path:
    folder = parent / name
    folder.mkdir()
    return folder


@pytest.mark.parametrize("need", ["soc in A3 | 910B3", "soc != 910b3"])
def test_a_fact_about_a_chip_speaks_of_its_family(need: str, tmp_path: Path) -> None:
    """No target has such a family: the fact would rule out everything, or nothing."""
    facts = FACTS.replace("cann in 8.5.0 | 8.5.1", need)
    assert message(new_folder(tmp_path, "fact"), facts=facts) == (
        "`910B3` is not a known SoC family\n"
        "  at matrices/facts/verl.toml:8: requires[0].needs[1]\n"
        "hint: did you mean `A2`? known are 310P, A2, A3 (matrices/systems.toml)"
    )
    told = message(new_folder(tmp_path, "stack"), STACK.replace('"verl"', f'"{need}"'))
    assert told.splitlines()[:2] == [
        "`910B3` is not a known SoC family",
        "  at matrices/stacks/s.toml:6: stack.requires[1]",
    ]


def test_a_need_of_a_component_by_another_name(tmp_path: Path) -> None:
    assert message(tmp_path, facts=FACTS.replace("cann in 8.5.0 | 8.5.1", "driver >= 25.3")) == (
        "`driver >= 25.3` asks indexes for a project `driver`\n"
        "  at matrices/facts/verl.toml:8: requires[0].needs[1]\n"
        "  the component of a machine that goes by that name is `hdk`\n"
        "hint: did you mean `hdk >=25.3`?"
    )


TWO_TARGETS = (
    STACK[: STACK.index("[target]")]
    + """\
[[target]]
python = "3.11"
platform = "linux-aarch64"
system = { soc = "A2" }

[[target]]
python = "3.11.4"
platform = "linux-aarch64"
system = { soc = "a2" }
"""
)


def test_two_targets_of_one_name(tmp_path: Path) -> None:
    assert message(tmp_path, TWO_TARGETS) == (
        "two targets are named `linux-aarch64-py311-a2`\n"
        "  at matrices/stacks/s.toml:14: target[1]\n"
        "hint: give one of them a `name`"
    )


def test_an_error_in_the_second_target_is_told_there(tmp_path: Path) -> None:
    assert message(tmp_path, TWO_TARGETS.replace('soc = "a2"', 'soc = "A9"')).splitlines()[:2] == [
        "`A9` is not a known SoC family",
        "  at matrices/stacks/s.toml:17: target[1].system.soc",
    ]


def test_no_target(tmp_path: Path) -> None:
    without = "target = []\n" + STACK[: STACK.index("[target]")]
    assert message(tmp_path, without) == (
        "the stack has no target\n  at matrices/stacks/s.toml:1: target\nhint: add a [target] table"
    )


def test_a_marker_that_compares_what_cannot_be_compared_is_told_before_any_index_is_asked(tmp_path: Path) -> None:
    line = "\"numpy<2 ; sys_platform ~= '1'\""
    assert message(tmp_path, STACK.replace('"numpy<2"', line)) == (
        'the marker of `numpy<2 ; sys_platform ~= "1"` cannot be evaluated\n'
        "  at matrices/stacks/s.toml:5\n"
        "  Undefined <Op('~=')> on 'linux' and '1'.\n"
        "hint: a marker compares a variable of PEP 508 with a text, such as `python_version < '3.12'`"
    )


@pytest.mark.parametrize(
    ("value", "shown"), [('"2026-01-31"', "2026-01-31"), ("20260131", "20260131"), ("true", "True")]
)
def test_a_cut_off_is_a_date(value: str, shown: str, tmp_path: Path) -> None:
    assert message(tmp_path, STACK + f"\n[policy]\nexclude-newer = {value}\n") == (
        f"`{shown}` is not a date\n"
        "  at matrices/stacks/s.toml:18: policy.exclude-newer\n"
        "hint: write exclude-newer = 2026-01-31, without quotes"
    )


def test_a_cut_off_is_in_a_year_that_utc_has(tmp_path: Path) -> None:
    assert message(tmp_path, STACK + "\n[policy]\nexclude-newer = 0001-01-01T00:00:00+23:59\n") == (
        "`0001-01-01 00:00:00+23:59` is not a date\n"
        "  at matrices/stacks/s.toml:18: policy.exclude-newer\n"
        "  it is in no year from 1 to 9999 of UTC\n"
        "hint: write exclude-newer = 2026-01-31, without quotes"
    )


@pytest.mark.parametrize("line", ["numpy " + " " * 100_000 + "x", "numpy ; " + "=" * 100_000, "a_" * 50_000 + " in x"])
def test_the_time_for_what_is_no_requirement_grows_with_its_length_alone(line: str, tmp_path: Path) -> None:
    begin = time.process_time()
    told = message(tmp_path, STACK.replace('"numpy<2"', json.dumps(line)))
    assert time.process_time() - begin < 2
    assert "\n  at matrices/stacks/s.toml:5: stack.requires[0]\n" in told


# --- finding files


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda path: path.symlink_to("gone.toml"), "cannot be read\n  at matrices/stacks/s.toml\n  No such file"),
        (lambda path: path.symlink_to("s.toml"), "cannot be read\n  at matrices/stacks/s.toml\n  Too many levels"),
        (os.mkfifo, "cannot be read\n  at matrices/stacks/s.toml\n  it is not a regular file"),
    ],
)
def test_a_stack_that_is_there_and_no_file(make: Callable[[Path], None], told: str, tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    make(tmp_path / "stacks" / "s.toml")
    with pytest.raises(InputError) as caught:
        load("s", tmp_path)
    assert str(caught.value).startswith(f"`matrices/stacks/s.toml` {told}")


def test_an_unknown_stack_with_a_close_name(tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "verl-qwen3.5.toml").write_text("")
    with pytest.raises(InputError) as caught:
        load("verl-qwen3", tmp_path)
    assert str(caught.value) == (
        "there is no stack `verl-qwen3`\n  at matrices/stacks\nhint: did you mean `verl-qwen3.5`?"
    )


def test_an_unknown_stack_without_one(tmp_path: Path) -> None:
    assert message(tmp_path, name="zzz") == "there is no stack `zzz`\n  at matrices/stacks\nhint: known stacks are s"


def test_a_stack_file_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    path = str(tmp_path / "nope.toml")
    assert message(tmp_path, name=path) == (
        f"there is no stack file `{path}`\n  at {path}\nhint: give a path to a .toml file"
    )


def test_a_stack_file_of_another_name(tmp_path: Path) -> None:
    (tmp_path / "my-stack.toml").write_text(STACK)
    path = str(tmp_path / "my-stak.toml")
    assert message(tmp_path, name=path) == (
        f"there is no stack file `{path}`\n  at {path}\nhint: did you mean `{tmp_path}/my-stack.toml`?"
    )
    with pytest.raises(InputError) as caught:
        load("s.toml", tmp_path)
    assert str(caught.value) == "there is no stack file `s.toml`\n  at s.toml\nhint: did you mean the stack `s`?"


def test_no_folder_of_matrices(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load("s", tmp_path / "matrices")
    assert str(caught.value) == (
        f"there is no folder `{tmp_path}/matrices`\n"
        "hint: run inside the project's folder, or give the folder of facts and stacks with --matrices DIR"
    )


def test_no_folder_of_facts(tmp_path: Path) -> None:
    """A lock without any fact would be no better than what pip makes."""
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "s.toml").write_text(STACK)
    with pytest.raises(InputError) as caught:
        load("s", tmp_path)
    assert str(caught.value) == (
        f"there is no folder `{tmp_path}/facts`, so nothing is known beyond the packages' own metadata\n"
        "hint: give the folder that has it with --matrices DIR, or use no facts in the stack: facts = []"
    )


@pytest.mark.parametrize("folder", ["facts", "stacks", "archives"])
def test_a_folder_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    """Else the stack would be locked as if there were no facts, or each archive downloaded."""
    for name in ("stacks", "facts", "archives"):
        (tmp_path / name).mkdir()
    (tmp_path / "stacks" / "s.toml").write_text(STACK)

    def refusing(call: Callable[[str], object]) -> Callable[[str], object]:
        def refuse(path: str) -> object:
            if str(path) == str(tmp_path / folder):
                raise PermissionError(13, "Permission denied", str(path))
            return call(path)

        return refuse

    for name in ("listdir", "scandir"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name)))
    with pytest.raises(InputError) as caught:
        load("t" if folder == "stacks" else "s", tmp_path)
    assert str(caught.value) == (
        f"a folder cannot be listed\n  at {tmp_path}/{folder}\n  Permission denied\nhint: check the permissions there"
    )


def test_what_macos_and_editors_leave_beside_a_file_is_no_fact_and_no_stack(tmp_path: Path) -> None:
    for name in ("stacks", "facts", "archives"):
        (tmp_path / name).mkdir()
    (tmp_path / "stacks" / "s.toml").write_text(STACK)
    (tmp_path / "facts" / "a.toml").write_text("")
    before = load("s", tmp_path)
    for name in ("stacks/._s.toml", "facts/._a.toml", "archives/._a.json"):
        (tmp_path / name).write_bytes(b"\0\5\26\7\0\2\0\0Mac OS X        ")
    (tmp_path / "facts" / ".#a.toml").symlink_to("somebody@host.1")
    assert load("s", tmp_path) == before
    assert stack_names(tmp_path) == ["s"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [("vrl", "did you mean `verl`?"), ("zzz", "facts are looked up in matrices/facts"), ("../stacks/s", "")],
)
def test_an_unknown_facts_file(name: str, hint: str, tmp_path: Path) -> None:
    found = message(tmp_path, STACK.replace("requires = [", f'facts = ["verl", "{name}"]\nrequires = ['))
    assert found.startswith(
        f"there is no facts file `{name}`\n  at matrices/stacks/s.toml:4: stack.facts[1]\nhint: {hint}"
    )


# --- facts


def fact(row: str) -> str:
    """A facts file with one row, which begins on line 6."""
    return FACTS[: FACTS.index("[[requires]]")] + row


@pytest.mark.parametrize(
    ("keys", "missing", "line", "example"),
    [
        (("strength",), "`strength`", 5, 'strength = "observed"'),
        (("source",), "`source`", 5, 'source = "our runs on four A2 machines"'),
        (("source", "checked"), "`source`, no `checked`", 4, EVIDENCE),
    ],
)
def test_a_fact_needs_its_evidence(
    keys: tuple[str, ...], missing: str, line: int, example: str, tmp_path: Path
) -> None:
    without = "".join(line for line in FACTS.splitlines(keepends=True) if not line.startswith(keys))
    assert message(tmp_path, facts=without) == (
        f"the fact has no {missing}\n"
        f"  at matrices/facts/verl.toml:{line}: requires[0]\n"
        f"hint: add to the row, or to [defaults] of the file, for example: {example}"
    )


def test_a_fact_of_a_stack_needs_it_as_well(tmp_path: Path) -> None:
    own = '\n[[fact.excludes]]\npackage = "verl"\nversions = "==0.1"\nreason = "broken"\nstrength = "observed"\n'
    assert message(tmp_path, stack=STACK + own) == (
        "the fact has no `source`, no `checked`\n"
        f"  at matrices/stacks/s.toml:{len(STACK.splitlines()) + 2}: fact.excludes[0]\n"
        f"hint: add to the row, or to [fact.defaults], for example: {EVIDENCE}"
    )


def test_an_id_that_two_files_use(tmp_path: Path) -> None:
    row = '[[excludes]]\nid = "one"\nreason = "broken"\n'
    assert message(tmp_path, facts=fact(row), other_facts="\n" + fact(row)) == (
        "two facts have the id `one`\n"
        "  at matrices/facts/vllm.toml:8: excludes[0].id\n"
        "  the other is at matrices/facts/verl.toml:6"
    )


# --- indexes


def test_a_stack_with_indexes_of_its_own_is_checked_likewise(tmp_path: Path) -> None:
    assert message(tmp_path, STACK + '[[index]]\nname = "huawei"\n').splitlines()[:2] == [
        "index `huawei` needs a url",
        "  at matrices/stacks/s.toml:17: index[0].name",
    ]
