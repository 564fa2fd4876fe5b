"""Names from elsewhere reach a terminal, a report or a script only in a form in which they do
nothing.

What indexes send is in tests/hostile/attacks.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.functional.machine import make_environment
from tests.functional.workspace import Workspace, tree
from tests.hostile.scene import is_harmless
from tests.loopback import LoopbackIndex

# A title for the window, a cleared screen, writing turned round, a tag, commands, C1, the end of a
# table's cell.
EVIL = "\x1b]0;owned\x07\x1b[2J\u202egnp.exe\u2066<script>alert(1)</script>$(touch pwned)`touch pwned`\x9b31m|"

# A source has no control characters, but any other text that something was tried with.
EVIL_SOURCE = (
    "tried on linux-x86_64 (2026-11-20): <script>alert(1)</script>$(touch pwned)`touch pwned`|"
)

Setup = Callable[[Workspace], None]


def of_stack(**tables: Any) -> Setup:
    """The stack, with these keys of [stack] written in TOML's (and JSON's) way."""

    def setup(workspace: Workspace) -> None:
        rows = {"name": "demo", "summary": "s", "requires": ["demo"], **tables}
        text = "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in rows.items())
        path = workspace.matrices / "stacks" / "demo.toml"
        path.write_text(
            f'[stack]\n{text}[target]\nname = "there"\npython = "3.11"\nplatform = "linux-aarch64"\n'
        )

    return setup


def of_fact(rows: str) -> Setup:
    """Facts about demo in which EVIL and EVIL_SOURCE stand for the texts."""
    rows = rows.replace("EVIL_SOURCE", json.dumps(EVIL_SOURCE)).replace("EVIL", json.dumps(EVIL))
    return lambda workspace: workspace.facts("demo", rows)


@pytest.mark.parametrize(
    ("setup", "is_status"),
    [
        pytest.param(of_stack(summary=EVIL, source=EVIL), 0, id="summary and source of a stack"),
        pytest.param(of_stack(requires=[EVIL]), 2, id="requirement of a stack"),
        pytest.param(of_stack(**{EVIL: 1}), 2, id="key of a stack"),
        pytest.param(of_stack(name="demo\n"), 2, id="name of a stack that ends its line"),
        pytest.param(
            of_fact("[[warns]]\ntext = EVIL\nreason = EVIL\nid = EVIL\nsource = EVIL_SOURCE\n"),
            0,
            id="warning",
        ),
        pytest.param(
            of_fact("[[warns]]\ntext = 'w'\nreason = 'r'\nsource = [EVIL]\n"),
            2,
            id="source of a fact",
        ),
        pytest.param(
            of_fact("[[excludes]]\nversions = '==9'\nid = EVIL\nreason = EVIL\n"),
            2,
            id="id of a fact",
        ),
        pytest.param(
            of_fact(
                "[[requires]]\nneeds = ['absent']\nid = EVIL\nreason = EVIL\nsource = EVIL_SOURCE\n"
            ),
            1,
            id="conflict",
        ),
    ],
)
def test_what_is_hostile_is_told_harmlessly(
    workspace: Workspace, setup: Setup, is_status: int
) -> None:
    workspace.serve("demo 1.0")
    workspace.stack("demo")
    setup(workspace)
    run = workspace.lock()
    assert run.status == is_status
    written = tree(workspace.locks) if is_status == 0 else {}
    told = {"stdout": run.stdout, "stderr": run.stderr, **written}
    for name, content in told.items():
        text = content.decode() if isinstance(content, bytes) else content or ""
        assert is_harmless(text), name
    assert not list(workspace.root.rglob("pwned"))


# Besides what EVIL has: the separators of lines and paragraphs.
ACTING = f"\x1b[2J\u202e\u2028\u2029\x9b31m\x07{EVIL}"


def test_edits_tell_lines_harmlessly(workspace: Workspace) -> None:
    """A line of a stack may have any text in its marker."""
    line = f"demo ; platform_release != '{ACTING}'"
    workspace.serve("demo 1.0", "other 1.0")
    of_stack(requires=[line, "other"])(workspace)
    runs = [
        workspace.run("add", "demo", f"demo>=0.1 ; platform_release != '{ACTING}'", "--frozen"),
        workspace.run("remove", "demo", "demo", "--frozen"),
    ]
    for run in runs:
        assert (run.status, is_harmless(run.stdout + run.stderr)) == (0, True), run
        assert "\\u2028" in run.stdout


def test_names_of_files_are_told_harmlessly(workspace: Workspace) -> None:
    """Those that do not belong to a bundle, or to the folder of locks."""
    name = ACTING.replace("/", "")
    workspace.serve("demo 1.0")
    workspace.locked_stack("demo")
    assert workspace.run("bundle", "demo", "out").status == 0
    (workspace.root / "out" / f"{name}.partial").touch()
    for folder in (workspace.locks / "demo" / name, workspace.locks / name / "there"):
        folder.mkdir(parents=True)
        (folder / "lock.toml").write_text("")
    for command in (
        "bundle demo out",
        "bundle out --check",
        "bundle demo out --prune",
        "check",
        "check demo",
    ):
        run = workspace.run(*command.split())
        assert is_harmless(run.stdout + run.stderr), command
        if command.startswith("check"):
            assert "\\u2028" in run.stdout + run.stderr, command


def test_a_name_on_the_command_line_is_told_harmlessly(workspace: Workspace) -> None:
    workspace.serve("demo 1.0")
    workspace.locked_stack("demo")
    name = ACTING.replace("/", "")
    for arguments in (
        ["export", "demo", "--format", "pylock", "-o", name],
        ["import", f"{name}.txt"],
        ["cache", "dir"],
        ["tree", name],
        ["diff", name],
        ["matrix", name],
    ):
        run = workspace.run(*arguments, ASCEND_LOCK_CACHE=str(workspace.root / name))
        assert is_harmless(run.stdout + run.stderr), arguments


def test_data_for_other_programs_is_harmless_on_a_terminal(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """JSON allows C1 and marks that turn the writing."""
    make_environment(workspace.root / "env")
    index.add_wheel("demo", "1.0", yanked=EVIL)
    of_stack(summary=EVIL, source=EVIL, requires=["demo==1.0"])(workspace)
    of_fact("[[warns]]\ntext = EVIL\nreason = EVIL\nid = EVIL\nsource = EVIL_SOURCE\n")(workspace)
    commands = [
        "lock",
        "lock demo --json",
        "check demo --json",
        "why demo demo --json",
    ]
    commands += [
        "verify demo --json --python env",
        "bundle demo out",
        "export demo --format sbom",
        "export demo --format pylock",
    ]
    for command in commands:
        run = workspace.run(*command.split())
        assert (run.status, is_harmless(run.stdout + run.stderr)) == (
            command.startswith("verify"),
            True,
        ), run
        assert run.stdout
    run = workspace.lock(stack=EVIL)
    assert (run.status, is_harmless(run.stderr)) == (2, True)


def test_a_hostile_lock_is_told_harmlessly(workspace: Workspace) -> None:
    """It came with a change that somebody offers."""
    workspace.serve("demo 1.0")
    workspace.locked_stack("demo")
    path = workspace.folder() / "lock.toml"
    good = path.read_text()
    for field in ('"demo-1.0-py3-none-any.whl"', 'version = "1.0"', 'name = "demo"'):
        evil = json.dumps(EVIL)
        path.write_text(
            good.replace(field, f"{field.partition(' = ')[0]} = {evil}" if " = " in field else evil)
        )
        runs = [
            workspace.run("check"),
            workspace.run("check", "demo", "--upstream"),
            workspace.run("bundle", "demo", "x"),
            workspace.lock(),
        ]
        assert [run.status for run in runs] == [4, 4, 2, 2]
        for run in runs:
            told = run.stdout + run.stderr
            assert is_harmless(told)
            assert "\\u202egnp.exe" in told or "- at `$.pin[0]." in told, "what is wrong, or where"


def test_a_report_shows_markup_instead_of_being_it(workspace: Workspace) -> None:
    workspace.serve("demo 1.0")
    workspace.stack("demo")
    workspace.facts("demo", "[[warns]]\ntext = '<b>x</b> | [y](http://z) `c`'\nreason = 'r'\n")
    workspace.locked()
    shown = r"- demo: \<b>x\</b> \| \[y\](http://z) \`c\` (matrices/facts/demo.toml:6)"
    assert shown in workspace.read("report.md").splitlines()


def test_report_mentions_nobody(workspace: Workspace) -> None:
    """On a forge, a reason for yanking would notify people and refer to issues."""
    reason = "@maintainer and (@org/team), 请@user; see #12, me@host.example, a#3 and <@x> # 4"
    reason += ", !5, GH-6, x!7, aGH-8, org/team#9, org/team1!10 and 1!2.0"
    workspace.index.add_wheel("demo", "1.0", yanked=reason)
    workspace.stack("demo==1.0")
    workspace.locked()
    line = next(line for line in workspace.read("report.md").splitlines() if "maintainer" in line)
    shown = (
        "@&#8203;maintainer and (@&#8203;org/team), 请@&#8203;user; see #&#8203;12, "
        r"me@host.example, a#&#8203;3 and \<@&#8203;x> # 4, "
        "!&#8203;5, GH-&#8203;6, x!&#8203;7, aGH-8, org/team#&#8203;9, org/team1!&#8203;10 and 1!2.0"
    )
    assert shown in line


def test_requires_python_of_too_many_digits_admits_nothing(workspace: Workspace) -> None:
    """Python refuses to read such a number; the check of the proof reads the page on its own."""
    workspace.index.add_wheel("demo", "1.0", requires_python=f">=3.{'9' * 5000}")
    workspace.stack("demo")
    run = workspace.lock()
    assert run.status == 1, run
    assert len(run.stderr) < 5000


@pytest.mark.parametrize("requirement", ["beta @ {}", "beta @ {} ; 'x'", "beta >= {}"])
def test_a_password_in_metadata_is_not_shown(workspace: Workspace, requirement: str) -> None:
    """A vendor's wheel may name a private server, with the password of who built it."""
    address = "https://builder:hunter2@files.example/beta-1.0-py3-none-any.whl"
    workspace.index.add_wheel("demo", "1.0", requires=[requirement.format(address)])
    workspace.stack("demo")
    lock, explain = workspace.lock(), workspace.run("explain", "demo", "--json")
    assert lock.status == 1, lock
    written = [file.read_bytes() for file in workspace.folder().rglob("*") if file.is_file()]
    assert written
    shown = [text.encode() for run in (lock, explain) for text in (run.stdout, run.stderr)]
    assert not [text for text in (*written, *shown) if b"hunter2" in text]
