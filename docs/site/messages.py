"""The page of messages: warnings of a lock, findings of verify, and errors."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

import polib

from docs.site.navigation import REPOSITORY, SiteLanguage
from docs.site.writing import cell, table
from resolver import errors
from resolver.verify.report import WARNINGS


class Group(NamedTuple):
    """Messages that the reader meets in the same place."""

    # How their codes begin.
    prefixes: tuple[str, ...]
    title: dict[SiteLanguage, str]
    # Where they are met.
    text: dict[SiteLanguage, str]


_TITLE: Final = {"en": "# Messages", "zh": "# 消息"}
_INTRODUCTION: Final = {
    "en": "What the program says, by the code in its JSON and lock.toml. `{…}` is a value.",
    "zh": "程序给出的消息，按 JSON 和 lock.toml 中的代码（code）列出。`{…}` 处是具体的值。",
}
_GROUPS: Final = (
    Group(
        ("lock.", "linkage.", "as-of.", "trust."),
        {"en": "Warnings and notes of a lock", "zh": "锁文件的警告和说明"},
        {
            "en": "In `warnings` and `notes` of lock.toml, in report.md, and on the terminal.",
            "zh": "出现在 lock.toml 的 `warnings` 和 `notes`、report.zh.md 以及终端中。",
        },
    ),
    Group(
        ("state.", "check.", "bundle."),
        {"en": "States of a lock and of a bundle", "zh": "锁文件和离线包的状态"},
        {
            "en": "From `ascend-lock check` and `bundle --check`.",
            "zh": "由 `ascend-lock check` 和 `bundle --check` 给出。",
        },
    ),
    Group(
        ("rejection.",),
        {"en": "Why a file of an index is not used", "zh": "软件源上的文件为何不被采用"},
        {
            "en": "In reports of conflicts, after the name of the file.",
            "zh": "出现在冲突报告中，位于文件名之后。",
        },
    ),
    Group(
        ("machine.",),
        {"en": "What a build needs of the machine", "zh": "构建需要机器具备什么"},
        {
            "en": "From install.sh, before it installs anything.",
            "zh": "由 install.sh 在安装之前给出。",
        },
    ),
    Group(
        ("script.",),
        {"en": "install.sh and activate.sh", "zh": "install.sh 和 activate.sh"},
        {"en": "On the target machine.", "zh": "在目标机器上给出。"},
    ),
)
_HEAD: Final = {"en": ("code", "message"), "zh": ("代码", "消息")}
_VERIFY: Final[dict[SiteLanguage, str]] = {
    "en": """## Findings of verify

From verify.py and `ascend-lock verify`: in JSON the `code`, the `state` and the sentences `what`,
`why` and `mend`.
""",
    "zh": """## verify 的检查结果

由 verify.py 和 `ascend-lock verify` 给出。JSON 中有代码 `code`、
状态 `state`（`wrong` 为错误，`warning` 为警告），
以及 `what`（现象）、`why`（原因）和 `mend`（修复）三句话。
""",
}
_VERIFY_HEAD: Final = {
    "en": ("code", "state", "what", "why", "mend"),
    "zh": ("代码", "状态", "现象", "原因", "修复"),
}
_ERRORS: Final[dict[SiteLanguage, str]] = {
    "en": """## Errors

Each begins with `error:` and says what is wrong, where, why, and what to do (`hint:`). A name in
braces stands for a value. The number is the exit status. In `--json`, errors are in English.
""",
    "zh": """## 错误

错误消息说明什么有误、在哪里、为什么，以及怎么办。
花括号中的名称代表具体的值，数字是退出状态。
`--json` 中的错误为英文。
""",
}
_ERRORS_HEAD: Final = {"en": ("exit status", "error"), "zh": ("退出状态", "错误")}


def page(language: SiteLanguage) -> str:
    """Return the page in Markdown."""
    texts = _texts(language)
    parts = [_TITLE[language] + "\n", _INTRODUCTION[language] + "\n"]
    for group in _GROUPS:
        parts.append(f"## {group.title[language]}\n\n{group.text[language]}\n")
        rows = [
            (f"`{code}`", cell(text))
            for code, text in texts.items()
            if code.startswith(group.prefixes) and not code.endswith("-hint")
        ]
        parts.append(table(_HEAD[language], rows))
    parts.append(_VERIFY[language])
    parts.append(table(_VERIFY_HEAD[language], _findings(texts)))
    parts.append(_ERRORS[language])
    translations = _translations(language)
    rows = [
        (str(status), cell(translations.get(text, text)))
        for text, status in sorted(raised().items())
    ]
    parts.append(table(_ERRORS_HEAD[language], rows))
    return "\n".join(parts)


def _texts(language: SiteLanguage) -> dict[str, str]:
    """Return the texts by code; of a text with a plural the last form."""
    path = REPOSITORY / "resolver" / "locale" / f"{language}.po"
    texts = {}
    for entry in polib.pofile(str(path)):
        plural = entry.msgstr_plural
        texts[entry.msgid] = plural[max(plural)] if plural else entry.msgstr
    return texts


def _translations(language: SiteLanguage) -> dict[str, str]:
    """Return the sentences of errors in a language by the English ones; none for English."""
    if language == "en":
        return {}
    path = REPOSITORY / "resolver" / "locale" / "phrases" / f"{language}.po"
    return {entry.msgid: entry.msgstr for entry in polib.pofile(str(path))}


def _findings(texts: dict[str, str]) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield a row for each code of verify."""
    for name in texts:
        if not name.startswith("verify.") or not name.endswith("-what"):
            continue
        code = name.removeprefix("verify.").removesuffix("-what")
        state = "warning" if code in WARNINGS else "wrong"
        what, why, mend = (
            texts.get(f"verify.{code}-{part}", "") for part in ("what", "why", "mend")
        )
        yield f"`{code}`", state, cell(what), cell(why), cell(mend)


@lru_cache
def raised() -> dict[str, int]:
    """Return the texts of the errors that the program raises, with their exit statuses."""
    found: dict[str, int] = {}
    for path in sorted((REPOSITORY / "resolver").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                not isinstance(node, ast.Call)
                or not isinstance(node.func, ast.Name)
                or not node.args
            ):
                continue
            error = getattr(errors, node.func.id, None)
            text = _written(node.args[0])
            if text and isinstance(error, type) and issubclass(error, errors.ResolverError):
                found[text] = error.exit_status
    return found


def _written(node: ast.expr) -> str:
    """Return the template of a phrase; empty for another expression."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return ""
    if node.func.id != "phrase" or not isinstance(node.args[0], ast.Constant):
        return ""
    return str(node.args[0].value)
