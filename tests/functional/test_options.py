"""The options of every command, `--target`, and how much is printed."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from resolver.cli import commands
from resolver.cli.common import COMMON, Command
from tests.functional.workspace import Workspace, targets


def every_command(
    group: click.Command = commands._commands, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield each command and group, with its words."""
    yield words, group
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            found = group.get_command(context, name)
            assert found is not None
            yield from every_command(found, (*words, name))


@pytest.mark.parametrize(("words", "command"), list(every_command()))
def test_common_options_end_each_help(
    workspace: Workspace, words: tuple[str, ...], command: click.Command
) -> None:
    assert isinstance(command, Command)
    run = workspace.run(*words, "--help")
    assert run.status == 0
    common = run.stdout.partition("Options of every command:\n")[2]
    for option in COMMON:
        assert option.opts[-1] in common
        assert run.stdout.count(f"  {', '.join(option.opts)} ") == 1


@pytest.mark.parametrize(
    "words", ["--lang zh lock nope", "lock --lang zh nope", "--lang en lock --lang zh nope"]
)
def test_common_option_may_come_before_the_command(workspace: Workspace, words: str) -> None:
    workspace.stack("demo")
    workspace.serve("demo 1.0")
    assert workspace.run("tree", "demo").status == 2
    run = workspace.run(*words.replace("nope", "demo").split())
    assert run.status == 0
    assert "个" in run.stdout


@pytest.mark.parametrize("language", ["zh-CN", "zh_CN", "zh_CN.UTF-8", "ZH"])
def test_language_may_be_named_as_a_locale(workspace: Workspace, language: str) -> None:
    run = workspace.run("lock", "nope", "--lang", language)
    assert run.stderr.startswith("错误：没有软件栈 `nope`")


@pytest.mark.parametrize(("name", "command"), [("own.toml", "lock"), ("r.txt", "import")])
def test_file_in_place_of_a_command(workspace: Workspace, name: str, command: str) -> None:
    (workspace.root / name).write_text("")
    run = workspace.run(name)
    assert run.status == 2
    assert run.stderr.endswith(f"hint: ascend-lock {command} {name}\n")


def test_folder_is_no_stack(workspace: Workspace) -> None:
    """`.` is what one types in the folder of a stack."""
    workspace.stack("demo")
    (workspace.root / "own.toml").write_text('[stack]\nname = "own"\n')
    (workspace.root / "notes.toml").write_text("a = 1\n")
    for words in ("lock .", "explain .", "check .", "bundle . to", "why . demo", "remove . demo"):
        run = workspace.run(*words.split())
        assert (run.status, run.error) == (2, "`.` is a folder"), words
        assert "hint: its stacks are own.toml" in run.stderr
    below = workspace.run("lock", "matrices/stacks").stderr
    assert "hint: its stacks are matrices/stacks/demo.toml" in below


def test_common_option_of_a_group_is_that_of_its_command(workspace: Workspace) -> None:
    run = workspace.run("facts", "--lang", "zh", "check")
    assert run == workspace.run("facts", "check", "--lang", "zh")
    assert run != workspace.run("facts", "check")


def test_option_without_a_meaning_is_accepted(workspace: Workspace) -> None:
    workspace.serve("base 1.0")
    workspace.locked_stack("base")
    plain = workspace.run("tree", "demo")
    assert workspace.run("--offline", "tree", "demo") == plain
    assert workspace.run("tree", "demo", "--offline") == plain
    assert workspace.run("cache", "--locks", "x", "--offline", "dir").status == 0


def test_json_before_the_command_is_for_errors_too(workspace: Workspace) -> None:
    run = workspace.run("--json", "lock", "nope")
    assert (run.status, run.json["status"]) == (2, "error")


def test_quiet_prints_no_notes_and_no_warnings(workspace: Workspace) -> None:
    workspace.serve("base 1.0")
    workspace.stack("base")
    run = workspace.run("-q", "lock", "demo")
    assert (run.status, run.stdout, run.stderr) == (0, "", "")
    assert workspace.pins() == {"base": "1.0"}
    assert workspace.run("stacks", "-q").stderr == ""
    assert workspace.run("tree", "demo", "-q") == workspace.run("tree", "demo")


def test_quiet_prints_errors_and_conflicts(workspace: Workspace) -> None:
    workspace.serve("base 1.0")
    workspace.stack("base>=2")
    run = workspace.run("lock", "demo", "--quiet")
    assert run.status == 1
    assert "No environment satisfies demo" in run.stderr
    assert workspace.run("lock", "nope", "-q").error == "there is no stack `nope`"


def test_verbose_names_what_is_asked_without_secrets(workspace: Workspace) -> None:
    workspace.serve("base 1.0")
    workspace.stack("base")
    secret = workspace.index_url.replace("http://", "http://user:secret@")
    run = workspace.run("lock", "demo", "-v", PIP_INDEX_URL=secret)
    assert run.status == 0
    asked = [line for line in run.stderr.splitlines() if "/base/: 200, 0." in line]
    assert asked
    assert "secret" not in run.stderr
    again = workspace.run("lock", "demo", "-v", PIP_INDEX_URL=secret)
    assert "the lock is from the cache" in again.stderr
    offline = workspace.run("lock", "demo", "-v", "--anew", "--offline", PIP_INDEX_URL=secret)
    assert "pypi base: from the cache\n" in offline.stderr
    assert workspace.run("lock", "demo", "-v", "-q").stderr == ""


def test_verbose_run_over_several_stacks_tells_of_each(workspace: Workspace) -> None:
    workspace.serve("base 1.0", "top 1.0")
    workspace.stack("base", name="one")
    workspace.stack("top", name="two")
    run = workspace.run("lock", "one", "two", "-v")
    assert "/base/: 200" in run.stderr
    assert "/top/: 200" in run.stderr


@pytest.fixture
def several(workspace: Workspace) -> Workspace:
    """A stack with the targets `old`, `new` and `newer`."""
    workspace.serve("base 1.0")
    workspace.locked_stack("base", target=targets("old", "new", "newer"))
    return workspace


@pytest.mark.parametrize("words", ["lock demo", "check demo", "tree demo", "verify demo"])
def test_target_is_named_by_a_unique_beginning(several: Workspace, words: str) -> None:
    full = several.run(*words.split(), "--target", "old")
    assert several.run(*words.split(), "--target", "o") == full
    assert several.run(*words.split(), "--target", "new").status == full.status


@pytest.mark.parametrize("words", ["lock demo", "tree demo", "bundle demo out"])
def test_ambiguous_target_names_the_candidates(several: Workspace, words: str) -> None:
    run = several.refused("several targets begin with `ne`", *words.split(), "--target", "ne")
    assert "hint: choose one of new, newer\n" in run.stderr


@pytest.mark.parametrize("words", ["check", "lock", "facts check", "verify"])
def test_help_of_a_check_names_the_others(workspace: Workspace, words: str) -> None:
    told = " ".join(workspace.run(*words.split(), "--help").stdout.split())
    others = told.partition("See also: ")[2]
    for name in ("check", "check --upstream", "lock --check", "facts check", "verify"):
        is_own = name.replace(" --upstream", "").replace(" --check", "") == words
        assert (f"`{name}`" in others) != is_own, name
