"""Words that users of uv, pip, pip-tools, poetry and pixi would type."""

from __future__ import annotations

import re
import shutil

import pytest

from resolver.cli import COMMANDS
from resolver.cli.former import find_former
from resolver.cli.words import ANSWERS, OPTION_ANSWERS, SERVE
from tests.functional.workspace import REPOSITORY, Workspace

# From the help of uv, pip, pip-tools, poetry and pixi, without what manages those tools themselves.
WORDS = """
    activate add audit build cache check clean compile completion config create dependencies deps
    develop doctor downgrade download env environment exec export freeze graph hash help import index info init inspect
    install list lock new outdated pin pip pip-compile pip-sync platform prune publish python
    reinstall relock remove repo resolve rm run search self serve shell show sync task test tool tree
    uninstall unlock update upgrade upload validate venv version wheel why
"""


@pytest.mark.parametrize("word", WORDS.split())
def test_word_of_another_tool_is_known(workspace: Workspace, word: str) -> None:
    if word in COMMANDS:
        assert workspace.run(word, "--help").status == 0
        return
    run = workspace.run(word)
    assert (run.status, run.error) == (2, f"there is no command `{word}`")
    assert f"hint: {ANSWERS[word]}" in run.stderr


def test_answers_name_commands_that_exist() -> None:
    for word, answer in ANSWERS.items():
        assert word not in COMMANDS
        for command in re.findall(r"ascend-lock ([a-z]+)", str(answer)):
            assert command in COMMANDS, answer


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("pip compile reqs.in", ANSWERS["compile"]),
        ("pip freeze", ANSWERS["freeze"]),
        ("pip nonsense", ANSWERS["pip"]),
        ("pip sync reqs.txt", "ascend-lock sync"),
        ("uv sync", "ascend-lock sync"),
        ("poetry update", ANSWERS["update"]),
        ("pixi add numpy", "ascend-lock add"),
    ],
)
def test_word_after_pip_is_answered(workspace: Workspace, words: str, hint: object) -> None:
    run = workspace.refused(f"there is no command `{' '.join(words.split()[:2])}`", *words.split())
    assert run.stderr.endswith(f"\nhint: {hint}\n")


def test_words_after_two_tools_are_answered(workspace: Workspace) -> None:
    run = workspace.refused("there is no command `uv pip compile`", "uv", "pip", "compile", "a.in")
    assert run.stderr.endswith(f"\nhint: {ANSWERS['compile']}\n")
    run = workspace.refused("there is no command `uv pip`", "uv", "pip")
    assert run.stderr.endswith(f"\nhint: {ANSWERS['pip']}\n")


def test_words_of_other_commands_are_answered(workspace: Workspace) -> None:
    run = workspace.refused("No such command 'prune'.", "cache", "prune")
    assert run.stderr.endswith("\nhint: ascend-lock cache clear\n")
    run = workspace.refused("No such option '-V'.", "-V")
    assert run.stderr.endswith("\nhint: ascend-lock --version\n")
    for form, hint in (
        ("pylock.toml", "pip and uv install from a pylock.toml: --format pylock"),
        ("poetry", "requirements.txt in the lock's folder has every pin with its hashes"),
    ):
        told = f"`{form}` is no format of an export"
        run = workspace.refused(told, "export", "demo", "--format", form)
        assert run.stderr.endswith(f"\nhint: {hint}\n")


def test_project_in_the_place_of_a_stack_is_told(workspace: Workspace) -> None:
    workspace.serve("base 1.0")
    workspace.locked_stack("base")
    run = workspace.refused("a stack is needed", "tree", "--invert", "base")
    assert run.stderr.endswith("\nhint: ascend-lock tree STACK --package base --invert\n")
    run = workspace.refused("there is no lock of `bas`", "tree", "--invert", "bas")
    assert "--package" not in run.stderr


def test_lock_whose_stack_is_elsewhere_is_told(workspace: Workspace) -> None:
    workspace.serve("base 1.0")
    workspace.locked_stack("base")
    (workspace.matrices / "stacks" / "demo.toml").unlink()
    hint = "locks/demo has its lock; give the path of the stack's file: path/to/demo.toml"
    for words in (("why", "demo", "base"), ("export", "demo", "--format", "pylock")):
        run = workspace.refused("there is no stack `demo`", *words)
        assert run.stderr.endswith(f"\nhint: {hint}\n")
    run = workspace.refused("there is no stack `dem`", "why", "dem", "base")
    assert "has its lock" not in run.stderr


def test_name_of_a_pyproject_without_its_ending_is_told(workspace: Workspace) -> None:
    (workspace.root / "pyproject.toml").touch()
    run = workspace.refused(
        "`pyproject.toml` is no stack; one can be made of it", "lock", "pyproject"
    )
    assert run.stderr.endswith("\nhint: ascend-lock import pyproject.toml\n")


def option_answers() -> list[tuple[str, str, str]]:
    """Return each command and option of other tools, with the answer."""
    return [
        (command, option, str(answer))
        for command, answers in OPTION_ANSWERS.items()
        for option, answer in answers.items()
    ]


@pytest.mark.parametrize(("command", "option", "answer"), option_answers())
def test_option_of_another_tool_is_answered(
    workspace: Workspace, command: str, option: str, answer: str
) -> None:
    run = workspace.refused(f"No such option '{option}'.", *command.split(), "demo", option)
    assert run.stderr.endswith(f"\nhint: {answer}\n")
    for name in re.findall(r"ascend-lock ([a-z]+)", answer):
        assert name in COMMANDS


def test_option_of_matrix_is_answered(workspace: Workspace) -> None:
    run = workspace.refused("No such option '--cann'.", "matrix", "--cann", "8.5.1")
    assert run.stderr.endswith("\nhint: ascend-lock matrix show --cann VERSION\n")


def test_option_of_any_command_is_answered(workspace: Workspace) -> None:
    run = workspace.run("lock", "demo", "--index-url", "x", "--lang", "zh")
    assert run.stderr == (
        "错误：没有选项 '--index-url'。\n"
        "提示：软件源见 matrices/indexes.toml，pip 的设置见 `pip config list`\n"
    )


@pytest.mark.parametrize(
    "name", ["requirements.txt", "sub/dev.in", "environment.yml", "pyproject.toml", "uv.lock"]
)
@pytest.mark.parametrize("command", ["lock", "tree", "check"])
def test_file_of_another_tool_is_to_be_imported(
    workspace: Workspace, command: str, name: str
) -> None:
    (workspace.root / "sub").mkdir()
    (workspace.root / name).touch()
    if command == "tree" and not name.endswith(".toml"):
        pytest.skip("the folder of a lock may have any name")
    run = workspace.refused(f"`{name}` is no stack; one can be made of it", command, name)
    assert run.stderr.endswith(f"\nhint: ascend-lock import {name}\n")


def own_stack(workspace: Workspace, name: str) -> None:
    """Write a stack into the folder of the workspace."""
    workspace.stack("base", name=name).rename(workspace.root / f"{name}.toml")


def test_stacks_of_the_folder_are_listed_and_suggested(workspace: Workspace) -> None:
    own_stack(workspace, "mine")
    own_stack(workspace, "demo")
    workspace.stack("base", name="demo")
    (workspace.root / "pyproject.toml").write_text("[project]\n")
    run = workspace.run("lock")
    assert [line.split()[0] for line in run.stdout.splitlines()] == ["demo.toml", "mine", "demo"]
    run = workspace.refused("there is no stack `mien`", "lock", "mien")
    assert run.stderr.endswith("\nhint: did you mean `mine`?\n")
    run = workspace.refused("there is no stack `zzz`", "lock", "zzz")
    assert run.stderr.endswith("\nhint: known stacks are demo.toml, mine, demo\n")
    run = workspace.refused("there is no stack file `mine/train`", "lock", "mine/train")
    assert run.stderr.endswith("named so: mine --target train\n")


def test_why_without_a_stack_takes_the_only_one(workspace: Workspace) -> None:
    workspace.serve("base 1.0")
    own_stack(workspace, "mine")
    run = workspace.run("why", "base")
    assert run.status == 0
    assert run.stderr.startswith("The stack is mine, the only one in this folder")
    assert run.stdout == workspace.run("why", "mine", "base").stdout
    error = "a stack and a project are needed"
    assert "\nhint: ascend-lock why mine NAME\n" in workspace.refused(error, "why", "mine").stderr
    own_stack(workspace, "other")
    hint = "hint: ascend-lock why STACK base, where STACK is one of mine, other\n"
    assert hint in workspace.refused(error, "why", "base").stderr
    for name in ("mine", "other"):
        (workspace.root / f"{name}.toml").unlink()
    hint = "hint: name the stack: ascend-lock why STACK base\n"
    assert hint in workspace.refused(error, "why", "base").stderr


def test_group_is_named_like_a_target(workspace: Workspace) -> None:
    workspace.serve("base 1.0")
    workspace.stack(
        "base", more='[group.train]\nrequires = ["base"]\n[group.eval]\nrequires = ["base"]\n'
    )
    assert workspace.run("lock", "demo", "--group", "train").status == 0
    assert [path.name for path in (workspace.locks / "demo").iterdir()] == ["there-train"]
    assert workspace.run("tree", "demo/train").status == 0


def test_bundle_is_served_by_any_server(workspace: Workspace) -> None:
    run = workspace.refused("a stack and a folder are needed", "bundle", "serve")
    assert run.stderr.endswith(f"\nhint: {SERVE}\n")


def test_bundle_of_a_file_lacks_the_folder(workspace: Workspace) -> None:
    run = workspace.refused("a stack and a folder are needed", "bundle", "tiny.toml")
    assert run.stderr.endswith("\nhint: ascend-lock bundle tiny.toml DIR\n")


def test_help_names_completion(workspace: Workspace) -> None:
    run = workspace.run("--help")
    assert '  eval "$(_ASCEND_LOCK_COMPLETE=bash_source ascend-lock)"  complete' in run.stdout
    assert "ascend-lock help completion" in run.stdout


def test_lock_without_a_stack_lists_them(workspace: Workspace) -> None:
    workspace.stack("demo")
    run = workspace.run("lock")
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout == "  demo  a stack of tests\n"


@pytest.mark.parametrize(
    ("former", "current"),
    [
        ("stacks", "lock"),
        ("pairs --package base", "matrix show --package base"),
        ("explain demo --package base", "why demo base"),
        ("explain --package=base demo --offline", "why demo --offline base"),
        ("matrix --jobs 1", "matrix build --jobs 1"),
    ],
)
def test_former_name_does_the_same_with_a_hint(
    workspace: Workspace, former: str, current: str
) -> None:
    workspace.serve("base 1.0", "top 1.0: base")
    workspace.locked_stack("top")
    found = find_former(former.split())
    assert found is not None
    assert found[1] == current.split()
    run, as_today = workspace.run(*former.split()), workspace.run(*current.split())
    assert (run.status, run.stdout) == (as_today.status, as_today.stdout)
    hint = f"`ascend-lock {found[0].words}` is now `ascend-lock {found[0].current}`"
    assert run.stderr == f"hint: {hint}\n{as_today.stderr}"


def test_matrix_without_a_word_shows_its_commands(workspace: Workspace) -> None:
    run = workspace.run("matrix")
    assert run.status == 2
    assert "build  Solve" in run.stderr
    assert "hint" not in run.stderr
    assert list(workspace.root.glob("matrix.*")) == []


def test_snapshot_is_now_lock_record(workspace: Workspace) -> None:
    workspace.serve("base 1.0")
    workspace.stack("base")
    run = workspace.run("snapshot", "demo", "--lang", "zh")
    assert run.status == 0
    assert run.stderr == "提示：`ascend-lock snapshot` 现在是 `ascend-lock lock --record`\n"
    assert not workspace.locks.exists()
    assert (workspace.root / "snapshots" / "demo.snapshot").is_file()


def test_record_refuses_what_only_locking_has(workspace: Workspace) -> None:
    error = "--record writes no lock, so --upgrade-package has no meaning."
    workspace.refused(error, "lock", "demo", "--record", "-P", "base")
    workspace.refused("Missing argument 'STACK...'.", "lock", "--record")


@pytest.mark.parametrize(
    "words", ["matrix show", "matrix --lang zh show", "matrix shwo", "matrix -h"]
)
def test_present_names_are_not_rewritten(words: str) -> None:
    assert find_former(words.split()) is None


def test_help_has_no_former_name(workspace: Workspace) -> None:
    listed = workspace.run("--help").stdout.partition("Commands:\n")[2]
    names = [line.split()[0] for line in listed.splitlines() if line.startswith("  ")]
    assert {"stacks", "snapshot", "pairs"}.isdisjoint(names)


def test_short_options_of_uv_are_known(workspace: Workspace) -> None:
    workspace.serve("base 1.0", "top 1.0")
    workspace.locked_stack("base", "top")
    workspace.serve("base 2.0", "top 2.0")
    workspace.run("lock", "demo", "-P", "base")
    assert workspace.pins() == {"base": "2.0", "top": "1.0"}
    workspace.run("lock", "demo", "-U")
    assert workspace.pins() == {"base": "2.0", "top": "2.0"}


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["tree", "demo", "torch"], "ascend-lock tree STACK --package NAME shows what is below"),
        (["init", "demo"], "what the stack is for is --for USE, and its file -o NAME.toml"),
        (["lock", "demo", "--as-of", "today"], "did you mean `newest`?"),
        (["lock", "demo", "--as-of", "latest"], "did you mean `newest`?"),
        (["export", "demo", "--format", "requirements-txt"], "requirements.txt is in the lock's"),
        (["export", "demo", "--format", "requirements.txt"], "requirements.txt is in the lock's"),
        (["lock", "mine.tml"], "the name of a stack's file ends in .toml"),
        (["lock", "yours.tml"], "did you mean `yours.toml`?"),
    ],
)
def test_hint_for_what_is_written_otherwise(
    workspace: Workspace, words: list[str], hint: str
) -> None:
    workspace.stack("a")
    (workspace.root / "mine.tml").touch()
    (workspace.root / "yours.toml").touch()
    run = workspace.run(*words)
    assert run.status == 2
    assert f"\nhint: {hint}" in run.stderr


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("requires =", "dependencies =", "did you mean `requires`?"),
        ("requires =", "requires-python = '>=3.11'\nrequires =", "`[target] python`?"),
        ("glibc =", "requires-python = '>=3.11'\nglibc =", "did you mean `python`?"),
        ("[target.system]", "[system]", "did you mean `[target.system]`?"),
        ("cann =", "driver =", "did you mean `hdk`?"),
        ("'A2'", "'910'", "910B is A2; 910C is A3"),
        ("'A2'", "'Ascend910'", "Ascend910B is A2; Ascend910C is A3"),
    ],
)
def test_hint_for_a_key_or_value_of_others(
    workspace: Workspace, old: str, new: str, hint: str
) -> None:
    shutil.copy(REPOSITORY / "matrices" / "systems.toml", workspace.matrices)
    system = "glibc = '2.34'\n[target.system]\ncann = '8.5.0'\nsoc = 'A2'\n"
    path = workspace.stack("a", more=system)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    run = workspace.run("lock", "demo")
    assert run.status == 2
    assert run.stderr.rstrip().endswith(hint)


def test_tree_without_a_solution_names_the_report(workspace: Workspace) -> None:
    workspace.serve("a 1.0")
    workspace.stack("a==2.0")
    assert workspace.run("lock", "demo").status == 1
    run = workspace.refused("there is no lock of `demo`", "tree", "demo")
    report = "locks/demo/there/conflict.md"
    assert f"hint: there is no solution so far; its report is {report}\n" in run.stderr
