"""A run has one language: results, errors and help."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator

import click
import pytest

from resolver.cli.commands import _commands as commands
from tests.functional.workspace import ANYWHERE, Workspace

# Words of English in a row; a Chinese sentence has names and commands among its own words.
ENGLISH = re.compile(r"(?:\b[a-z]+,? ){3,}[a-z]+\b")
# What stays as it is: what is in backticks or quotes, and the commands of examples.
AS_IT_IS = re.compile(r"`[^`]*`|'[^']*'|^ +ascend-lock .*?(?:  |$)", re.MULTILINE)


def every_command(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of each command."""
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from every_command(below, (*path, name))


@pytest.mark.parametrize("words", list(every_command(commands)), ids=" ".join)
def test_help_in_chinese_has_no_english(words: tuple[str, ...], workspace: Workspace) -> None:
    run = workspace.run(*words, "--help", LANG="zh_CN.UTF-8", COLUMNS="80")
    assert run.status == 0, run
    assert ENGLISH.findall(AS_IT_IS.sub("", run.stdout)) == []
    assert run.stdout.startswith("用法：ascend-lock")


def test_help_in_chinese_fits_the_terminal(workspace: Workspace) -> None:
    printed = workspace.run("lock", "--help", "--lang", "zh", COLUMNS="60").stdout
    lines = printed.splitlines()
    assert max(sum(2 if char > "\u2e80" else 1 for char in line) for line in lines) <= 60
    assert not any(re.match(r" *[，。；：）]", line) for line in lines)


def test_help_in_english_is_that_of_click(workspace: Workspace) -> None:
    printed = workspace.run("cache", "size", "--help").stdout
    assert printed.startswith("Usage: ascend-lock cache size [OPTIONS]\n")
    assert "  -h, --help            Show this message and exit.\n" in printed


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["lokc"], "没有命令 `lokc`\n提示：是否想写 `lock`？"),
        (["venv"], "没有命令 `venv`\n提示：python3.11 -m venv env，使用锁文件目标的 Python"),
        (["lock", "--nosuch"], "没有选项 '--nosuch'。\n提示：见 `ascend-lock lock --help`"),
        (["tree"], "缺少参数 'STACK'。\n提示：见 `ascend-lock tree --help`"),
        (
            ["lock", "demo", "--as-of", "soon"],
            """'--as-of' 的值无效：`soon` 既不是 2026-03-01 这样的日期，也不是 `auto` 或 `newest`
提示：见 `ascend-lock lock --help`""",
        ),
        (
            ["lock", "demo"],
            """没有软件栈 `demo`
  位置：matrices/stacks
提示：那里一个也没有：请用 --matrices DIR 给出别的目录""",
        ),
    ],
)
def test_errors_in_chinese(arguments: list[str], error: str, workspace: Workspace) -> None:
    run = workspace.run(*arguments, LANG="zh_CN.UTF-8")
    assert (run.status, run.stderr) == (2, f"错误：{error}\n")


def test_error_of_a_file_in_chinese(workspace: Workspace) -> None:
    workspace.stack("demo", "[")
    run = workspace.run("--lang", "zh", "lock", "demo")
    assert run.stderr.startswith("错误：`[`：不是依赖声明\n  位置：matrices/stacks/demo.toml:")


def test_error_of_an_encoding_in_chinese(workspace: Workspace) -> None:
    path = workspace.stack("demo")
    path.write_bytes(path.read_bytes().replace(b"a stack", "软件".encode("gbk")))
    run = workspace.run("--lang", "zh", "lock", "demo")
    assert "不是 UTF-8" in run.stderr
    assert not re.search("[a-z]{3} [a-z]{3}", re.sub("`[^`]*`", "", run.stderr)), run.stderr


def test_locked_target_has_chinese_commas(workspace: Workspace) -> None:
    workspace.serve("base 1.0")
    workspace.stack("base", target=ANYWHERE)
    run = workspace.run("lock", "demo", "--lang", "zh")
    assert "目标 linux-aarch64，Python 3.11：" in run.stdout


def test_help_in_english_cuts_no_summary(workspace: Workspace) -> None:
    printed = workspace.run("facts", "--help").stdout
    commands_text = printed.partition("Commands:\n")[2].partition("\n\n")[0]
    assert "..." not in commands_text
    assert "a wheel of" in commands_text


def test_error_of_an_index_in_chinese(workspace: Workspace) -> None:
    workspace.stack("demo")
    run = workspace.run("lock", "demo", "--lang=zh", PIP_INDEX_URL="http://127.0.0.1:9/simple/")
    assert "错误：无法访问软件源 `pypi`。\n" in run.stderr
    assert "  连接被拒绝（尝试" in run.stderr
    assert not re.search("[a-z]{2} [a-z]{2}", re.sub("`[^`]*`", "", run.stderr))


def test_error_in_json_is_english(workspace: Workspace) -> None:
    run = workspace.run("lock", "demo", "--json", LANG="zh_CN.UTF-8")
    assert json.loads(run.stdout)["message"] == "there is no stack `demo`"
    assert run.stderr.startswith("错误：没有软件栈 `demo`\n")


@pytest.mark.parametrize(
    ("environment", "error"),
    [
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_US.UTF-8"}, "error:"),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "zh_CN.UTF-8"}, "错误："),
        ({"LANG": "zh_CN.UTF-8", "PYTHONIOENCODING": "ascii"}, "error:"),
        ({"LANG": "fr_FR.UTF-8"}, "error:"),
    ],
)
def test_language_of_the_locale(
    environment: dict[str, str], error: str, workspace: Workspace
) -> None:
    assert workspace.run_alone("lokc", **environment).stderr.startswith(error)


def test_language_of_the_last_option(workspace: Workspace) -> None:
    chinese, english = "错误：", "error:"
    for arguments, begins in (
        (["--lang", "en", "lock", "demo", "--lang=zh"], chinese),
        (["--lang", "zh", "lock", "demo", "--lang", "en"], english),
        (["lock", "demo", "--lang", "fr"], english),
        (["why", "demo", "--", "--lang", "zh"], english),
    ):
        assert workspace.run(*arguments).stderr.startswith(begins), arguments


def test_english_loads_no_catalog_of_phrases(workspace: Workspace) -> None:
    """Neither an error nor a help in English reads texts, which takes longer than both."""
    script = (
        "import sys\n"
        "from resolver.cli.commands import status\n"
        "for arguments in (['lokc'], ['lock', '--help']):\n"
        "    sys.argv = ['ascend-lock', *arguments]\n"
        "    status()\n"
        "print('polib' in sys.modules)\n"
    )
    process = workspace.begin([sys.executable, "-c", script])
    assert workspace.finish(process).stdout.endswith("False\n")
