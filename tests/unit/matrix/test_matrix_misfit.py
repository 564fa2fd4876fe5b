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
from tests.unit.matrix.test_matrix_errors import FACTS, STACK, SYSTEMS, fact, message


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            "[stack]",
            "[[stack]]",
            "`stack` is a list; it must be a table\n"
            "  at matrices/stacks/s.toml:1: stack\n"
            "hint: write [stack] instead of [[stack]]",
            id="stack list",
        ),
        pytest.param(
            """requires = [
    "numpy<2",
    "verl",
]""",
            'requires = "numpy"',
            '`requires` is a string ("numpy"); it must be a list of strings\n'
            "  at matrices/stacks/s.toml:4: stack.requires\n"
            'hint: put it in brackets: requires = ["numpy"]',
            id="requires str",
        ),
        pytest.param(
            '"verl",',
            '["verl"],',
            "`requires[1]` is a list; it must be a string\n"
            "  at matrices/stacks/s.toml:6: stack.requires[1]\n"
            "hint: write it without brackets",
            id="requires nested",
        ),
        pytest.param(
            '"3.11"',
            '">=3.11"',
            "`>=3.11` is not one version of Python\n"
            "  at matrices/stacks/s.toml:10: target.python\n"
            'hint: write for example "3.11" or "3.11.4"',
            id="python bad",
        ),
        pytest.param(
            "linux-aarch64",
            "linux-amd64",
            "`linux-amd64` is not a value of `platform`\n"
            "  at matrices/stacks/s.toml:11: target.platform\n"
            "hint: did you mean `linux-x86_64`? it may be linux-aarch64, linux-x86_64",
            id="platform amd",
        ),
        pytest.param(
            'platform = "linux-aarch64"',
            'platform = "linux-aarch64"\ncann = "8.5.0"',
            "unknown key `cann`\n"
            "  at matrices/stacks/s.toml:12: target.cann\n"
            "hint: components belong in [target.system]",
            id="cann in target",
        ),
        pytest.param(
            "[target.system]",
            "[system]",
            "unknown key `system`\n"
            "  at matrices/stacks/s.toml:13: system\n"
            "hint: `system` belongs in [target.system]; known keys here are stack, target, index, binding, "
            "policy, departs, relax, absent, recorded, fact, check",
            id="system top",
        ),
        pytest.param(
            '[target.system]\ncann = "8.5.0"\nsoc = "A2"',
            'system = "8.5.0"',
            '`system` is a string ("8.5.0"); it must be a table of strings\n'
            "  at matrices/stacks/s.toml:13: target.system\n"
            'hint: write for example system = { cann = "8.5.0", soc = "A2" }',
            id="system str",
        ),
        pytest.param(
            "cann =",
            "CANN =",
            "`CANN` is not a component of a system table\n"
            "  at matrices/stacks/s.toml:14: target.system.CANN\n"
            "hint: did you mean `cann`? components are cann, hdk and soc; python and glibc are keys of the "
            "target itself",
            id="cann case",
        ),
        pytest.param(
            'name = "s"',
            'name = "s"\nname = "t"',
            "the file is not valid TOML\n"
            "  at matrices/stacks/s.toml:3\n"
            '  Cannot overwrite a value; column 11 of: name = "t"\n'
            "hint: a key or table may appear only once: merge the two, or remove one",
            id="dup key",
        ),
        pytest.param(
            "[target.system]",
            "[target]\n[target.system]",
            "the file is not valid TOML\n"
            "  at matrices/stacks/s.toml:13\n"
            "  [target] already exists, at line 9; column 8 of: [target]\n"
            "hint: for several, write [[target]] at the start of each, or merge the two",
            id="dup table",
        ),
        pytest.param(
            "[target]",
            '[[target]]  # the first\npython="3.11"\n[target]',
            "the file is not valid TOML\n"
            "  at matrices/stacks/s.toml:11\n"
            "  [[target]] already exists, at line 9; column 8 of: [target]\n"
            "hint: for several, write [[target]] at the start of each",
            id="the other way round",
        ),
        pytest.param(
            '[target.system]\ncann = "8.5.0"',
            'system = { cann = "8.5.0" }\n[target.system]',
            "the file is not valid TOML\n"
            "  at matrices/stacks/s.toml:14\n"
            "  [target.system] already exists, as a key; column 15 of: [target.system]\n"
            "hint: a key or table may appear only once: merge the two, or remove one",
            id="table of an inline table",
        ),
        pytest.param(
            'name = "s"',
            'name = "C:\\Users"',
            "the file is not valid TOML\n"
            "  at matrices/stacks/s.toml:2\n"
            '  Invalid hex value; column 13 of: name = "C:\\Users"\n'
            "hint: write \\\\ for a backslash, or the string in single quotes",
            id="backslash before u",
        ),
        pytest.param(
            'name = "s"',
            'name = "s\x07"',
            "the file is not valid TOML\n"
            "  at matrices/stacks/s.toml:2\n"
            "  Illegal character '\\x07'; column 10 of: name = \"s\\x07\"\n"
            "hint: remove the character, or write it as an escape such as \\u0007",
            id="control character",
        ),
        pytest.param(
            'name = "s"',
            "name = 0x1" + "0" * 8000,
            "`name` is a number; it must be a string\n  at matrices/stacks/s.toml:2: stack.name",
            id="hexadecimal of thousands of digits",
        ),
        pytest.param(
            "[target]",
            "[target.a2]",
            "unknown key `a2`\n"
            "  at matrices/stacks/s.toml:9: target.a2\n"
            'hint: for several, write each as a table [[target]] with name = "a2"; known keys are name, python, '
            "platform, "
            "glibc, system",
            id="targets by name",
        ),
        pytest.param(
            'python = "3.11"',
            'python = ["3.10", "3.11"]',
            "`python` is a list; it must be a string\n"
            "  at matrices/stacks/s.toml:10: target.python\n"
            "hint: write it without brackets; for several targets, write each as a table [[target]]",
            id="several pythons",
        ),
        pytest.param(
            """requires = [
    "numpy<2",
    "verl",
]""",
            '[requirements]\nnumpy = "<2"',
            "unknown key `requirements`\n"
            "  at matrices/stacks/s.toml:4: requirements\n"
            'hint: what to install belongs in [stack]: requires = ["torch==2.8.0", …]',
            id="a table of requirements",
        ),
        pytest.param(
            """requires = [
    "numpy<2",
    "verl",
]""",
            '[stack.requires]\nnumpy = "<2"\nverl = "0.7.1"\nray = "*"\ntrl = { version = "1" }',
            "`requires` is a table; it must be a list of strings\n"
            "  at matrices/stacks/s.toml:4: stack.requires\n"
            'hint: write a list: requires = ["numpy<2", "verl==0.7.1", "ray", "trl"]',
            id="requires as a table",
        ),
        pytest.param(
            "requires = [",
            "dependencies = [",
            "unknown key `dependencies`\n"
            "  at matrices/stacks/s.toml:4: stack.dependencies\n"
            "hint: did you mean `requires`? known keys are name, summary, summary-zh, source, requires, facts",
            id="as other tools call it",
        ),
        pytest.param(
            'summary = "a test"',
            'summary = "a test"\nexclude-newer = 2026-01-01',
            "unknown key `exclude-newer`\n"
            "  at matrices/stacks/s.toml:4: stack.exclude-newer\n"
            "hint: `exclude-newer` belongs in [policy]; known keys here are name, summary, summary-zh, source, "
            "requires, facts",
            id="exclude in stack",
        ),
        pytest.param(
            "[target]",
            '[policy]\nprereleases = "allowed"\n[target]',
            "`allowed` is not a value of `prereleases`\n"
            "  at matrices/stacks/s.toml:10: policy.prereleases\n"
            "hint: did you mean `allow`? it may be allow, if-necessary, never",
            id="policy pre",
        ),
        pytest.param(
            "[target]",
            "[policy]\nprereleases = true\n[target]",
            "`prereleases` is a boolean (true); it must be a string\n"
            "  at matrices/stacks/s.toml:10: policy.prereleases\n"
            "hint: it may be allow, if-necessary, never",
            id="policy pre bool",
        ),
        pytest.param(
            "[target]",
            "[policy]\nexclude-newer = 2026-02-31\n[target]",
            "the file is not valid TOML\n"
            "  at matrices/stacks/s.toml:10\n"
            "  Invalid date or datetime; column 17 of: exclude-newer = 2026-02-31\n"
            "hint: a date is written 2026-01-31, without quotes",
            id="policy bad date",
        ),
        pytest.param(
            '"verl"',
            "\"verl; python_version = '3.11'\"",
            "`verl; python_version = '3.11'` is not a requirement\n"
            "  at matrices/stacks/s.toml:6: stack.requires[1]\n"
            "  Expected marker operator, one of <=, <, !=, ==, >=, >, ~=, ===, in, not in, at `= '3.11'`\n"
            "hint: did you mean `verl; python_version == '3.11'`?",
            id="marker =",
        ),
        pytest.param(
            '"verl"',
            "\"verl; pyton_version >= '3.11'\"",
            "`verl; pyton_version >= '3.11'` is not a requirement\n"
            "  at matrices/stacks/s.toml:6: stack.requires[1]\n"
            "  Expected a marker variable or quoted string, at `pyton_version >= '3.11'`\n"
            "hint: did you mean `verl; python_version >= '3.11'`?",
            id="marker var",
        ),
        pytest.param(
            '"verl"',
            '"verl; python_version >= 3.11"',
            "`verl; python_version >= 3.11` is not a requirement\n"
            "  at matrices/stacks/s.toml:6: stack.requires[1]\n"
            "  Expected a marker variable or quoted string, at `3.11`\n"
            "hint: did you mean `verl; python_version >= '3.11'`?",
            id="marker unq",
        ),
        pytest.param(
            '"verl"',
            '"verl 0.7.1"',
            "`verl 0.7.1` is not a requirement\n"
            "  at matrices/stacks/s.toml:6: stack.requires[1]\n"
            "  Expected semicolon (after name with no version specifier) or end, at `0.7.1`\n"
            "hint: did you mean `verl==0.7.1`?",
            id="version sp",
        ),
        pytest.param(
            '"verl"',
            '"verl=0.7.1"',
            "`verl=0.7.1` is not a requirement\n"
            "  at matrices/stacks/s.toml:6: stack.requires[1]\n"
            "  Expected semicolon (after name with no version specifier) or end, at `=0.7.1`\n"
            "hint: did you mean `verl==0.7.1`?",
            id="version =",
        ),
        pytest.param(
            '"verl"',
            '"verl==v0.7.x"',
            "`verl==v0.7.x` is not a requirement\n"
            "  at matrices/stacks/s.toml:6: stack.requires[1]\n"
            "  Expected comma (within version specifier), semicolon (after version specifier) or end, at `.x`\n"
            "hint: did you mean `verl==v0.7.*`?",
            id="v v",
        ),
        pytest.param(
            '"verl"',
            '"git+https://github.com/volcengine/verl"',
            "`git+https://github.com/volcengine/verl` is not a requirement\n"
            "  at matrices/stacks/s.toml:6: stack.requires[1]\n"
            "  Expected semicolon (after name with no version specifier) or end, at "
            "`+https://github.com/volcengine/verl`\n"
            "hint: write the name first: `verl @ git+https://host/path@COMMIT`",
            id="url",
        ),
        pytest.param(
            '"verl"',
            '"-r requirements.txt"',
            "`-r requirements.txt` is not a requirement\n"
            "  at matrices/stacks/s.toml:6: stack.requires[1]\n"
            "  Expected package name at the start of dependency specifier, at `-r requirements.txt`\n"
            "hint: pip options are not allowed here; matrices/indexes.toml says where projects come from; a "
            "requirement looks like `numpy<2` or `ray[default]==2.41.0` (PEP 508)",
            id="pip opt",
        ),
        pytest.param(
            '"verl"',
            '"./verl"',
            "`./verl` is not a requirement\n"
            "  at matrices/stacks/s.toml:6: stack.requires[1]\n"
            "  Expected package name at the start of dependency specifier, at `./verl`\n"
            "hint: folders are not supported; give a release or a commit: `verl @ git+https://host/path@COMMIT`",
            id="just path",
        ),
        pytest.param(
            '"verl"',
            "“verl”",
            "the file is not valid TOML\n"
            "  at matrices/stacks/s.toml:6\n"
            "  Invalid value; column 5 of: “verl”,\n"
            'hint: write the plain quote " instead of “',
            id="chinese quote",
        ),
        pytest.param(
            '"numpy<2",',
            '"numpy<2"',
            "the file is not valid TOML\n"
            "  at matrices/stacks/s.toml:6\n"
            '  Unclosed array; column 5 of: "verl",\n'
            "hint: a comma or `]` is missing before this",
            id="comma missing",
        ),
        pytest.param(
            "[target]",
            '[check]\nimports = ["import torch"]\n[target]',
            "`import torch` is not the name of a module\n"
            "  at matrices/stacks/s.toml:10: check.imports[0]\n"
            'hint: write for example "torch" or "vllm.engine"',
            id="check import",
        ),
        pytest.param(
            "[target.system]",
            'glibc = "2.28.1"\n[target.system]',
            "`2.28.1` is not a version of glibc\n"
            "  at matrices/stacks/s.toml:13: target.glibc\n"
            'hint: write for example "2.28"',
            id="glibc bad",
        ),
        pytest.param(
            "[target]",
            '[[recorded]]\nindex = "pypi"\nfile = "x-1-py3-none-any.whl"\nsha256 = "abc"\n'
            'requires = []\nsource = "x"\nchecked = 2026-01-01\n[target]',
            "`abc` is not a sha256: 64 hexadecimal digits, in lower case\n"
            "  at matrices/stacks/s.toml:12: recorded[0].sha256",
            id="recorded sha",
        ),
        pytest.param(
            "[target]",
            'absent = ["triton"]\n[target]',
            "unknown key `absent`\n"
            "  at matrices/stacks/s.toml:9: stack.absent\n"
            "hint: `absent` belongs in [[absent]] or [[fact.absent]]; known keys here are name, summary, "
            "summary-zh, source, requires, facts",
            id="absent str",
        ),
    ],
)
def test_a_stack(old: str, new: str, expected: str, tmp_path: Path) -> None:
    assert old in STACK
    assert message(tmp_path, STACK.replace(old, new)) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(
            "",
            "the table [stack] is missing\n"
            "  at matrices/stacks/s.toml:1\n"
            "hint: it must have stack, target; it may have index, binding, policy, departs, relax, absent, "
            "recorded, fact, check",
            id="empty",
        ),
        pytest.param(
            "stack:\n  name: x\n",
            "the file is not valid TOML\n"
            "  at matrices/stacks/s.toml:1\n"
            "  Expected '=' after a key in a key/value pair; column 6 of: stack:\n"
            "hint: a line is `key = value`, a `[table]`, or a `# comment`",
            id="yaml",
        ),
        pytest.param(
            'stack = "x"\n' + STACK[STACK.index("[target]") :],
            '`stack` is a string ("x"); it must be a table\n'
            "  at matrices/stacks/s.toml:1: stack\n"
            "hint: write a table [stack]",
            id="stack string",
        ),
        pytest.param(
            STACK.replace("\n", "\r"),
            "the file is not valid TOML\n"
            "  at matrices/stacks/s.toml:1\n"
            "  Expected newline or end of document after a statement; column 8 of: [stack]\\rname = "
            '"s"\\rsummary = "a test"\\rrequires = [\\r    "numpy<2",\\r    "verl",\\r]…\n'
            "hint: save the file with Unix or Windows line endings",
            id="cr",
        ),
        pytest.param(
            STACK.encode("utf-16"),
            "`matrices/stacks/s.toml` is not UTF-8\n"
            "  at matrices/stacks/s.toml:1\n"
            "  it is UTF-16\n"
            "hint: save it as UTF-8, or convert it: iconv -f GB18030 -t UTF-8 OLD > NEW",
            id="utf16",
        ),
        pytest.param(
            STACK.replace("a test", "测试").encode("gbk"),
            "`matrices/stacks/s.toml` is not UTF-8\n"
            "  at matrices/stacks/s.toml:3\n"
            "  it has the byte 0xb2\n"
            "hint: save it as UTF-8, or convert it: iconv -f GB18030 -t UTF-8 OLD > NEW",
            id="gbk",
        ),
        pytest.param(
            "a=" + "9" * 5000,
            "the file cannot be read\n  at matrices/stacks/s.toml\n  it has a number with thousands of digits\n"
            "hint: put it in quotes",
            id="digits",
        ),
        pytest.param(
            "a=" + "[" * 3000,
            "the file is nested too deeply\n  at matrices/stacks/s.toml\n"
            "hint: no key of a stack or fact needs lists in lists in lists",
            id="deep",
        ),
        pytest.param(
            '"a\\u001b[31m" = 2\n' + STACK,
            "unknown key `a\\x1b[31m`\n"
            "  at matrices/stacks/s.toml:1: a\\x1b[31m\n"
            "hint: known keys are stack, target, index, binding, policy, departs, relax, absent, recorded, "
            "fact, check",
            id="ctrl key",
        ),
    ],
)
def test_a_whole_file(content: str | bytes, expected: str, tmp_path: Path) -> None:
    body = content if isinstance(content, bytes) else content.encode()
    assert whole(tmp_path, body) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param(
            '[requires]\nneeds = ["x"]\nreason = "r"\n',
            "`requires` is a table; it must be a list of tables\n"
            "  at matrices/facts/verl.toml:6: requires\n"
            "hint: write [[requires]] instead of [requires]",
            id="req table",
        ),
        pytest.param(
            '[[requires]]\nneeds = ["x"]\nreason = "r"\nstrength = "Vendor"\n',
            "`Vendor` is not a value of `strength`\n"
            "  at matrices/facts/verl.toml:9: requires[0].strength\n"
            "hint: did you mean `vendor`? it may be documented, enforced, observed, vendor",
            id="strength",
        ),
        pytest.param(
            '[[requires]]\nneeds = ["x"]\nreason = "r"\nchecked = 2026-11-20T10:00:00\n',
            "`checked` is a date with a time (2026-11-20 10:00:00); it must be a date\n"
            "  at matrices/facts/verl.toml:9: requires[0].checked\n"
            "hint: write only the date: checked = 2026-01-31",
            id="checked dt",
        ),
        pytest.param(
            '[[excludes]]\nversions = 1.0\nreason = "r"\n',
            "`versions` is a number (1.0); it must be a string or a list of strings\n"
            "  at matrices/facts/verl.toml:7: excludes[0].versions\n"
            'hint: put it in quotes: versions = "1.0"',
            id="versions num",
        ),
        pytest.param(
            '[[excludes]]\nversions = []\nreason = "r"\n',
            "`versions` is an empty list\n"
            "  at matrices/facts/verl.toml:7: excludes[0].versions\n"
            "hint: name at least one",
            id="versions elist",
        ),
        pytest.param(
            '[[builds]]\nisolation = "no"\nrequires-from = "c.txt"\nreason = "r"\n',
            '`isolation` is a string ("no"); it must be true or false\n'
            "  at matrices/facts/verl.toml:7: builds[0].isolation\n"
            "hint: write true or false, without quotes",
            id="isolation",
        ),
        pytest.param(
            '[[builds]]\nlabel = "+Empty"\nrequires-from = "c.txt"\nreason = "r"\n',
            "`+Empty` is not a local version label of lower case letters and digits, with dots between them\n"
            "  at matrices/facts/verl.toml:7: builds[0].label\n"
            'hint: write for example "empty"',
            id="label",
        ),
        pytest.param(
            '[[requires]]\nneeds = ["can in 8.5.0"]\nreason = "r"\n',
            "`can in 8.5.0` is not a requirement\n"
            "  at matrices/facts/verl.toml:7: requires[0].needs[0]\n"
            "  Expected semicolon (after name with no version specifier) or end, at `in 8.5.0`\n"
            "hint: did you mean `cann in 8.5.0`? components are cann, glibc, hdk, python, soc",
            id="comp",
        ),
        pytest.param(
            '[[requires]]\nneeds = ["CANN 8.5.0"]\nreason = "r"\n',
            "`CANN 8.5.0` is not a requirement\n"
            "  at matrices/facts/verl.toml:7: requires[0].needs[0]\n"
            "  Expected semicolon (after name with no version specifier) or end, at `8.5.0`\n"
            "hint: did you mean `cann==8.5.0`?",
            id="comp in capitals",
        ),
        pytest.param(
            '[[requires]]\nneeds = ["CANN==8.5.0"]\nreason = "r"\n',
            "`CANN==8.5.0` states no condition on the component `cann`\n"
            "  at matrices/facts/verl.toml:7: requires[0].needs[0]\n"
            "hint: did you mean `cann==8.5.0`?",
            id="comp in capitals, compared",
        ),
        pytest.param(
            '[[replaces]]\ndrop = ["torch==2.8"]\nreason = "r"\n',
            "`torch==2.8` is not the name of a project\n"
            "  at matrices/facts/verl.toml:7: replaces[0].drop[0]\n"
            "hint: write only the name, without versions, extras or markers",
            id="drop spec",
        ),
        pytest.param(
            '[[exports]]\nreason = "r"\nenv = {}\n',
            "`env` is an empty table\n  at matrices/facts/verl.toml:8: exports[0].env\nhint: name at least one",
            id="exports",
        ),
        pytest.param(
            '[[fact.requires]]\npackage = "verl"\nneeds = ["numpy"]\nreason = "x"\n',
            "unknown key `fact`\n"
            "  at matrices/facts/verl.toml:6: fact\n"
            "hint: a facts file has rows such as [[requires]]; known keys are defaults, requires, excludes, "
            "replaces, metadata, builds, collides, after, warns, names, sources, absent, exports",
            id="as in a stack",
        ),
        pytest.param(
            '[[warns]]\nmessage = "x"\nreason = "x"\n',
            "unknown key `message`\n"
            "  at matrices/facts/verl.toml:7: warns[0].message\n"
            "hint: did you mean `text`? known keys are id, package, reason, reason-zh, strength, source, checked, "
            "versions, text, text-zh, grave, wheels, with, unless, extra, last",
            id="another word for text",
        ),
    ],
)
def test_a_fact(row: str, expected: str, tmp_path: Path) -> None:
    assert message(tmp_path, facts=fact(row)) == expected


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
