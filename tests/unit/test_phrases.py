"""Every sentence of an error and of help has its Chinese, and errors are raised with phrases."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import click
import msgspec
import polib
import pytest

import resolver
from resolver.cli import usage
from resolver.cli.commands import _commands as commands
from resolver.cli.translated_help import sentences, summary
from resolver.errors import InputError
from resolver.i18n import error_text, translate, translate_phrase
from resolver.model.message import Message, message
from resolver.phrase import Phrase, as_phrase, cause, listed, literal, phrase

ROOT = Path(resolver.__file__).parent
CATALOG = polib.pofile(str(ROOT / "locale" / "phrases" / "zh.po"))
CHINESE = {entry.msgid: entry.msgstr for entry in CATALOG}
HAN = r"[\u4e00-\u9fff]"
# What no phrase of the code has: texts of the operating system, of tomli and of packaging.
OF_SYSTEM = re.compile(
    r"[A-Z][A-Za-z/ ,@()'=\]\\-]+|it is not a regular file|it is a symbolic link|it cannot be read"
)
# Programs that run without the package, and what is stored of files that were rejected.
STORED = (
    "verify/",
    "ascend/",
    "index/parse/",
    "owned_folder.py",
    "openat.py",
    "files.py",
    "address.py",
)
# Errors that carry the text of another error.
CARRIERS = {"ValueError", "PageError", "NoAnswerError", "LimitError", "AddressError"}
# How a command begins.
COMMAND = ("ascend-lock ", "pip ", " -m venv ")
# Two words of English, as no option or path has them.
SENTENCE = re.compile(r"(?<![-`./\w])[A-Za-z]{2,} [a-z]{2,}(?![-`./\w])")


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def calls(tree: ast.AST, *names: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in names:
                yield node


def placeholders(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


def templates() -> dict[str, str]:
    """The templates in the code, each with a place where it is."""
    found = {}
    for path, tree in trees():
        for call in calls(tree, "phrase"):
            template = call.args[0]
            assert isinstance(template, ast.Constant), f"{path}:{call.lineno} is no literal"
            found[template.value] = f"{path}:{call.lineno}"
    return found


def walk(command: click.Command, parent: click.Context | None = None) -> Iterator[click.Context]:
    """The context of a command, and those of the commands below it."""
    context = click.Context(command, parent=parent, info_name=command.name)
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from walk(below, context)


def help_texts() -> set[str]:
    """What the help of all commands has, as templates."""
    texts: set[str] = set()
    for context in walk(commands):
        command = context.command
        texts |= {
            summary(command),
            *sentences(command.help or ""),
            *sentences(command.epilog or ""),
        }
        for parameter in command.get_params(context):
            texts |= set(sentences(getattr(parameter, "help", None) or ""))
    return {as_phrase(text).template for text in texts if text}


def has_words(template: str) -> bool:
    return bool(re.search("[A-Za-z]{2}", re.sub(r"\{\w+\}", "", template)))


def test_phrases_have_chinese() -> None:
    needed = {**dict.fromkeys(help_texts(), "help"), **templates()}
    missing = {text: place for text, place in needed.items() if has_words(text)}
    assert {text: place for text, place in missing.items() if not CHINESE.get(text)} == {}
    unused = [text for text in CHINESE if text not in needed and not OF_SYSTEM.fullmatch(text)]
    assert unused == []


def test_chinese_phrases_name_chinese_pages() -> None:
    docs = ROOT.parent / "docs"
    for chinese in CHINESE.values():
        for page in re.findall(r"docs/([a-z-]+)\.md", chinese):
            assert not (docs / f"{page}.zh-CN.md").exists(), chinese


def test_phrases_have_the_same_placeholders() -> None:
    for english, chinese in CHINESE.items():
        assert placeholders(english) == placeholders(chinese), english


def test_phrases_have_values_with_names() -> None:
    for path, tree in trees():
        for call in calls(tree, "phrase"):
            template = call.args[0]
            assert isinstance(template, ast.Constant)
            names = {keyword.arg for keyword in call.keywords}
            if not path.startswith("cli/usage"):
                assert names == placeholders(template.value), f"{path}:{call.lineno}"


def test_phrases_have_chinese_punctuation() -> None:
    for english, chinese in CHINESE.items():
        told = re.sub("`[^`]*`", "``", chinese)
        assert not re.search(rf"{HAN}[,:;!?()]|[,:;!?()]{HAN}", told), english
        assert not re.search(rf"{HAN}\.(?![.\w])|{HAN} +{HAN}", told), english
        assert not re.search(rf"{HAN}[A-Za-z0-9`]|[A-Za-z0-9`]{HAN}", told), english


def test_errors_are_raised_with_phrases() -> None:
    """mypy checks the errors that people see, and this those whose text becomes a part of them."""
    wrong = []
    for path, tree in trees():
        if path.startswith(STORED):
            continue
        texts = (ast.Constant, ast.JoinedStr, ast.BinOp)
        raised = [call for call in calls(tree, *CARRIERS) if call.args]
        wrong += [f"{path}:{call.lineno}" for call in raised if isinstance(call.args[0], texts)]
    assert wrong == []


def test_literals_are_no_sentences() -> None:
    wrong = []
    for path, tree in trees():
        for call in calls(tree, "literal"):
            for part in ast.walk(call.args[0]):
                is_text = isinstance(part, ast.Constant) and isinstance(part.value, str)
                if is_text and SENTENCE.search(part.value) and not part.value.startswith(COMMAND):
                    wrong.append(f"{path}:{call.lineno}: {part.value}")
    assert wrong == []


def test_phrase_keeps_its_sentence_in_errors() -> None:
    why = phrase("it has {count} characters", count=3)
    error = InputError(phrase("a source is too long to be read"), why=why)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "a source is too long to be read\n  it has 3 characters"
    assert error_text(again, "zh") == "来源过长，无法读取\n  共 3 个字符"
    assert cause(ValueError(why)) is why
    assert str(cause(ValueError("two\nlines"))) == "two"


def test_phrase_in_a_phrase_is_translated() -> None:
    inner = phrase("there is no stack `{stack}`", stack="{a}")
    both = listed([inner, literal("git -C x")])
    assert translate_phrase(both, "en") == "there is no stack `{a}`; git -C x"
    assert translate_phrase(both, "zh") == "没有软件栈 `{a}`；git -C x"
    assert translate_phrase(both, "fr") == translate_phrase(both, "en")


def test_error_in_chinese_keeps_no_secret_and_no_control_character() -> None:
    url = "https://me:hunter2@h.example/a?token=hunter2"
    error = InputError(
        phrase("`{name}` cannot be read", name=url),
        where=url,
        why=phrase("{url} does not give {commit}", url=url, commit="\x1b[31m"),
        hint=phrase("give a path to a .toml file"),
    )
    assert error_text(error, "zh").split("\n") == [
        "无法读取 `https://h.example/a`",
        "  位置：https://h.example/a",
        "  https://h.example/a 不提供 \\x1b[31m",
        "提示：请给出 .toml 文件的路径",
    ]


@pytest.mark.parametrize(
    ("sentence", "chinese"),
    [
        ("No such option '--x'.", "没有选项 '--x'。"),
        (
            "Invalid value for '--jobs': 0 is not in the range x>=1.",
            "'--jobs' 的值无效：0 不在范围 x>=1 内。",
        ),
        ("Missing argument 'STACK'.", "缺少参数 'STACK'。"),
        ("something that click never said", "something that click never said"),
    ],
)
def test_usage_sentence_of_click(sentence: str, chinese: str) -> None:
    found = usage.sentence(sentence)
    assert str(found) == sentence
    assert translate_phrase(found, "zh") == chinese


def test_usage_sentences_are_those_of_click() -> None:
    """Each sentence with which this release of click refuses a command line is known."""
    folder = Path(click.__file__).parent
    said = set()
    for name in ("exceptions.py", "types.py", "parser.py", "core.py"):
        tree = ast.parse((folder / name).read_text(encoding="utf-8"))
        for call in calls(tree, "_", "ngettext"):
            said |= {part.value for part in call.args if isinstance(part, ast.Constant)}
    refusing = re.compile(
        r"^(Invalid value|Missing (argument|option)|No such|Option |Got unexp|\{value)"
    )
    beyond = (
        "{value!r} is not a valid boolean",
        "{value!r} is not a valid UUID",
        "{value!r} is not {choice}",
    )
    known = [re.sub(r"\{\w+\}|[ .]", "", each.template) for each in usage.SENTENCES]
    for template in said:
        if refusing.match(template) and not template.startswith(beyond):
            plain = re.sub(r"\{[^}]*\}|[ .]", "", template)
            assert any(each.startswith(plain[:14]) for each in known), template


def test_phrase_has_no_value_without_a_name() -> None:
    with pytest.raises(TypeError):
        phrase("{0}", "x")  # type: ignore[call-arg]
    assert isinstance(phrase("{a}", a=1), Phrase)


def test_phrase_in_a_message_is_translated() -> None:
    why = phrase("{url} does not give {commit}", url="u", commit=literal("c"))
    failed = message("cli.row-failed", message=listed([why, phrase("it is empty")]))
    assert translate(failed, "en") == "failed: u does not give c; it is empty"
    assert translate(failed, "zh") == "失败：u 不提供 c；它是空的"
    assert msgspec.json.decode(msgspec.json.encode(failed), type=Message) == failed
