"""Warnings and notes of a lock in both languages: the lock holds the English, a terminal may want Chinese."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

import msgspec


class Phrase(msgspec.Struct, frozen=True, dict=True):
    """One sentence in both languages, with the same placeholders."""

    en: str
    zh: str

    def __call__(self, **values: object) -> str:
        """The English sentence."""
        return self.en.format(**values)

    def chinese_of(self, sentence: str) -> str | None:
        """The Chinese for an English sentence made by this phrase; None for any other."""
        values = self.values_of(sentence)
        return None if values is None else self.zh.format(**values)

    def values_of(self, sentence: str) -> dict[str, str] | None:
        """The values of the placeholders in an English sentence made by this phrase; None for any other."""
        found = self._form.fullmatch(sentence)
        return None if found is None else found.groupdict()

    @cached_property
    def _form(self) -> re.Pattern[str]:
        parts = re.split(r"\{(\w+)\}", self.en)
        held = [
            re.escape(part) if number % 2 == 0 else f"(?P<{part}>{'[^()]*' if part == 'where' else '.*?'})"
            for number, part in enumerate(parts)
        ]
        return re.compile("".join(held), re.DOTALL)


RELAXED: Final = Phrase(
    "the stack sets aside the {strength} fact `{fact}`{needs}: {reason} ({where})",
    "软件栈不采用事实 `{fact}`{needs}（{strength}）：{reason}（{where}）",
)
PRACTICE_NEEDLESS: Final = Phrase(
    "the practice `{practice}` makes no difference here: remove it from the stack's `practices`",
    "惯例 `{practice}` 在此不起作用：请从软件栈的 `practices` 中删除",
)
UNKNOWN: Final = Phrase(
    "the target has CANN {value}, which is in no list of releases (systems.toml); the nearest known: {near}. "
    "Facts that name releases do not apply to it, those about ranges do: check the number, or add it to `known`",
    "目标机器的 CANN 为 {value}，不在任何版本列表中（systems.toml）；最接近的已知版本：{near}。"
    "写明具体版本的事实对它不起作用，按范围写的事实仍然有效：请核对版本号，或将它加入 `known`",
)
UNCHECKED_FACT: Final = Phrase(
    "{package} needs {need}; the target does not specify this, so it was not checked ({where})",
    "{package} 需要 {need}；目标中没有说明，因此未检查（{where}）",
)
UNCHECKED_LINE: Final = Phrase(
    "the stack asks for {line}; the target does not specify this, so it was not checked",
    "软件栈要求 {line}；目标中没有说明，因此未检查",
)
LEFT_TO_THE_MACHINE_FACT: Final = Phrase(
    "{package} needs {need}; the target does not promise that, so install.sh and verify.py check the machine's driver "
    "({where})",
    "{package} 需要 {need}；目标没有保证这一点，因此由 install.sh 和 verify.py 检查机器的驱动（{where}）",
)
LEFT_TO_THE_MACHINE_LINE: Final = Phrase(
    "the stack asks for {line}; the target does not promise that, so install.sh and verify.py check the machine's "
    "driver. Facts about drivers go by `hdk` in the target alone",
    "软件栈要求 {line}；目标没有保证这一点，因此由 install.sh 和 verify.py 检查机器的驱动。"
    "关于驱动的事实只看目标中的 `hdk`",
)
FELL_BACK_FOR: Final = Phrase(
    "{package} is far behind the newest release, {newest}; nothing newer is possible here, because {why}",
    "{package} 远落后于最新版本 {newest}；此处无法采用更新的版本，因为 {why}",
)
FELL_BACK: Final = Phrase(
    "{package} is far behind the newest release, {newest}; explain --package {project} says what keeps newer ones out",
    "{package} 远落后于最新版本 {newest}；用 explain --package {project} 可查看为何不能采用更新的版本",
)
LOST_EXTRA: Final = Phrase(
    "{package} has no extra `{extra}`, which the stack asks for; nothing was added for it. `{other}` has it, and was "
    "not taken; explain --package with that says why",
    "{package} 没有软件栈所要求的 extra `{extra}`；没有为它添加任何内容。`{other}` 有它，但未被采用；"
    "用 explain --package 加上它可查看原因",
)
NO_EXTRA_BUT: Final = Phrase(  # before the phrase that is its beginning
    "{package} has no extra `{extra}`, although it is requested; nothing was added for it. It has an extra `{other}`",
    "{package} 没有所要求的 extra `{extra}`；没有为它添加任何内容。它有一个名为 `{other}` 的 extra",
)
NO_EXTRA: Final = Phrase(
    "{package} has no extra `{extra}`, although it is requested; nothing was added for it",
    "{package} 没有所要求的 extra `{extra}`；没有为它添加任何内容",
)
NO_SUCH_PIN: Final = Phrase(
    "the policy prereleases-of names `{name}`, which is not in the lock, but `{other}` is",
    "策略 prereleases-of 提到 `{name}`，但锁文件中没有它；有 `{other}`",
)
NO_SUCH_SUBJECT: Final = Phrase(
    "the stack's fact `{fact}` is about `{name}`, which is not in the lock, but `{other}` is ({where})",
    "软件栈自己的事实 `{fact}` 是关于 `{name}` 的，但锁文件中没有它；有 `{other}`（{where}）",
)
YANKED: Final = Phrase("{package} was yanked by its maintainers{reason}", "{package} 已被维护者撤回（yanked）{reason}")
KERNEL: Final = Phrase(
    "{package} needs `{line}`, which depends on the machine's kernel; it is unknown when locking, so it was read "
    "as empty",
    "{package} 需要 `{line}`，这取决于机器的内核；锁定时内核未知，因此按空值处理",
)
QUARANTINED: Final = Phrase(
    "{package}: index `{index}` marks the project as unsafe to use (quarantined){reason}",
    "{package}：软件源 `{index}` 表示该项目不安全（quarantined，已隔离）{reason}",
)
ELSEWHERE: Final = Phrase(
    "the stack's own index list replaces matrices/indexes.toml, which would have looked up {projects}",
    "软件栈自己的软件源列表取代了 matrices/indexes.toml，后者的查询位置是：{projects}",
)
UNREACHABLE: Final = Phrase(
    "index `{index}` could not be reached; locked without it: {projects}",
    "无法访问软件源 `{index}`；未经它锁定的有：{projects}",
)
ON_TRUST: Final = Phrase(
    "{package} was taken on trust: index `{index}` could not be reached, so its sha256 "
    "and requirements are those recorded in the stack ({where}), and the file was not seen. Source: "
    "{source} (checked {checked}). pip refuses a file with another sha256; "
    "to compare this with the index, lock again where the index can be reached",
    "{package} 未经核实：无法访问软件源 `{index}`，其 sha256 和依赖取自软件栈的说明（{where}），没有见到文件本身。"
    "来源：{source}（{checked} 查看）。pip 会拒绝 sha256 不同的文件；在能访问该软件源的地方重新锁定，即可与软件源核对",
)
PASSED_OVER: Final = Phrase(
    "{package} was skipped in favour of {pin}: `{archive}` (index `{index}`) has no static metadata, and locking "
    "never runs "
    "a package's code. Read its setup.py and write what it needs into matrices/facts/{of}.toml as a `metadata` fact "
    '([[metadata]] with versions = "=={version}" and requires = […]), then lock with --upgrade-package {project}',
    "未采用 {package}，锁定的是 {pin}：`{archive}`（软件源 `{index}`）没有静态元数据，而锁定时从不运行软件包的代码。"
    "请阅读其 setup.py，把它的依赖写入 matrices/facts/{of}.toml，作为一条 `metadata` 事实"
    '（[[metadata]]，versions = "=={version}"，requires = […]），然后用 --upgrade-package {project} 重新锁定',
)
UNBUILT: Final = Phrase(
    "the build tools of {names} could not be locked ({why}); "
    "install.sh uses those in the environment and downloads none",
    "构建 {names} 的工具无法锁定（{why}）；install.sh 使用环境中已有的工具构建，不下载任何工具",
)
NOT_HERE: Final = Phrase(
    "`{line}` does not apply: its marker is false for this target ({where})",
    "未采用 `{line}`：其标记（marker）对此目标不成立（{where}）",
)

# All of the above, in their order
PHRASES: Final = tuple(one for one in list(globals().values()) if isinstance(one, Phrase))

# Reasons for a pin, as phrased by origins in English (model/origin.py); longer ones first
_WHY: Final = (
    Phrase("the stack asks for {line}", "软件栈要求 {line}"),
    Phrase("building {package} needs {line}", "构建 {package} 需要 {line}"),
    Phrase("{package} needs {line}", "{package} 要求 {line}"),
    Phrase("{package} is an extra of {line}", "{package} 是 {line} 的 extra"),
)
_FACT: Final = re.compile(r"(.*) \(fact ([^()]+)\)", re.DOTALL)

AFTER: Final = Phrase("{package} after {others}: {reason} ({where})", "{package} 在 {others} 之后：{reason}（{where}）")
REWRITES: Final = Phrase(
    "{package} rewrites installed files of {others} ({where})", "{package} 会改写 {others} 已安装的文件（{where}）"
)
PIP_FIRST: Final = Phrase(
    "pip comes first: it installs everything else, and must not replace itself halfway",
    "先装 pip：其余软件包都由它安装，它不能在安装途中替换自身",
)
ALONE_FIRST: Final = Phrase(
    "built before the rest is downloaded: the build needs nothing of this environment, and if it fails, it fails early",
    "在下载其余软件包之前构建：该构建不需要此环境中的任何东西，如果失败也能尽早发现",
)
# What is wrong with a bundle
SUMS_NO_TEXT: Final = Phrase("{file} cannot be read: it is not text", "无法读取 {file}：它不是文本")
SUMS_UNREADABLE: Final = Phrase("{file} cannot be read: {why}", "无法读取 {file}：{why}")
SUMS_DIFFER: Final = Phrase(
    "{file} and {other} do not list the same files: one of them was changed",
    "{file} 和 {other} 列出的文件不同：其中之一被改动过",
)
FILE_GONE: Final = Phrase("{file} is missing", "缺少 {file}")
FILE_SIZE: Final = Phrase("{file} has {size} bytes, not {wanted}", "{file} 的大小是 {size} 字节，应为 {wanted}")
FILE_CONTENT: Final = Phrase(
    "{file} has different content: its sha256 is not {wanted}", "{file} 的内容不同：其 sha256 不是 {wanted}"
)
_FAULTS: Final = (SUMS_NO_TEXT, SUMS_UNREADABLE, SUMS_DIFFER, FILE_SIZE, FILE_CONTENT, FILE_GONE)

FROM_GIT: Final = Phrase("{names}, from git", "{names}，来自 git")
BUILT_APART: Final = Phrase("{names}, built from source in a separate environment", "{names}，在独立的环境中从源码构建")
BUILT_HERE: Final = Phrase("{names}, built from source in this environment", "{names}，在此环境中从源码构建")
SO_MANY: Final = Phrase("{count} distributions", "{count} 个软件包")


def chinese(sentence: str) -> str | None:
    """The Chinese for a sentence of a lock; None if there is none."""
    return next((told for phrase in PHRASES if (told := phrase.chinese_of(sentence)) is not None), None)


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b` or `a, b and c`; at least one name."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _listed_zh(names: str) -> str:
    return names.replace(", ", "、").replace(" and ", "、")


def title(stage: str) -> str:
    """The Chinese for the title of a stage."""
    for phrase in (FROM_GIT, BUILT_APART, BUILT_HERE):
        if (told := phrase.values_of(stage)) is not None:
            return phrase.zh.format(names=title(told["names"]))
    return SO_MANY.chinese_of(stage) or _listed_zh(stage)


def fault(sentence: str) -> str:
    """The Chinese for a fault of a bundle."""
    return next((told for phrase in _FAULTS if (told := phrase.chinese_of(sentence)) is not None), sentence)


def why(sentence: str) -> str:
    """The Chinese for a reason for a pin."""
    found = _FACT.fullmatch(sentence)
    said, fact = (found[1], f"（事实 {found[2]}）") if found is not None else (sentence, "")
    return next((told for phrase in _WHY if (told := phrase.chinese_of(said)) is not None), said) + fact


def order(sentence: str, reasons: Mapping[str, str]) -> str:
    """The Chinese for a reason for the order of stages; `reasons` has the Chinese reason of each fact, by its place."""
    told = AFTER.values_of(sentence)
    if told is not None:
        reason = reasons.get(told["where"]) or told["reason"]
        return AFTER.zh.format(**{**told, "others": _listed_zh(told["others"]), "reason": reason})
    told = REWRITES.values_of(sentence)
    if told is not None:
        return REWRITES.zh.format(**{**told, "others": _listed_zh(told["others"])})
    return PIP_FIRST.chinese_of(sentence) or ALONE_FIRST.chinese_of(sentence) or sentence
