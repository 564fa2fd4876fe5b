"""Chinese for English texts of other packages that a Chinese sentence quotes, such as why an index did not answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from resolver.lock import phrases
from resolver.lock import warnings as lock_warnings
from resolver.lock.phrases import Phrase
from resolver.model.lock import LockedFact
from resolver.model.text import Language

_QUOTED: Final = (
    Phrase("its address does not end in `{ending}`", "它的地址不以 `{ending}` 结尾"),
    Phrase("it answered {status}", "它返回了 {status}"),
    Phrase("what it sent is not such a document", "它返回的不是这样的文档"),
    Phrase("what it sent is of another release", "它返回的是另一个版本的内容"),
    Phrase("what it sent has no list of them", "它返回的内容中没有漏洞列表"),
    Phrase(
        "the repository was not read, so its requirements rest on the fact `{id}` only",
        "没有读取代码仓库，因此它的依赖只以事实 `{id}` 为依据",
    ),
    Phrase(
        "no file of the repository was compared, so its requirements rest on the fact `{id}` only",
        "没有核对代码仓库中的文件，因此它的依赖只以事实 `{id}` 为依据",
    ),
)
# Warnings of the catalog during a run
_HEARD: Final = (
    Phrase(
        "Index `{name}` cannot be reached. {why} Its projects are looked up on the next index bound to them.",
        "无法访问软件源 `{name}`：{why} 其中的项目改从为其绑定的下一个软件源查找。",
    ),
    Phrase(
        "Index `{name}` cannot be reached. {why} The stack's own records of its files are used instead.",
        "无法访问软件源 `{name}`：{why} 改为采用软件栈对其文件的说明。",
    ),
    Phrase(
        "{url} could not be read: {why}\nhint: git can use a mirror or a copy instead: {command}",
        "无法读取 {url}：{why}\n提示：git 可以改用镜像或副本：{command}",
    ),
    Phrase("{url} could not be read: {why}", "无法读取 {url}：{why}"),
    Phrase(
        "The index has no sha256 for {file}; it was downloaded ({size} bytes) and hashed: {sha256}.",
        "软件源没有提供 {file} 的 sha256；已下载该文件（{size} 字节），计算得到：{sha256}。",
    ),
    Phrase(
        "The cache in {folder} is not writable ({why}); continuing without it.\nhint: set {variable} to a folder "
        "that you can write to",
        "无法写入缓存目录 {folder}（{why}）；将不使用缓存继续。\n提示：请将 {variable} 设为您自己的目录",
    ),
    Phrase(
        "The address of index `{name}` has a password, which everybody has who has {file}."
        "\nhint: leave it out there and write it into ~/.netrc: machine HOST login USER password PASSWORD",
        "软件源 `{name}` 的地址中有密码，任何拥有 {file} 的人都能看到。"
        "\n提示：请从该文件中删去密码，写入 ~/.netrc：machine HOST login USER password PASSWORD",
    ),
    Phrase(
        "There are no facts about {name} in {folder}, and the ones that ship with ascend-lock are not used."
        "\nhint: copy the whole folder matrices and add yours to it; facts for one stack can be in its own file, as "
        "[[fact.requires]] and the like",
        "{folder} 中没有关于 {name} 的事实，也不会采用 ascend-lock 自带的事实。"
        "\n提示：请复制整个 matrices 目录，再把自己的事实加进去；只用于某个软件栈的事实可以写在它自己的文件中，如 "
        "[[fact.requires]]",
    ),
    Phrase(
        "The cache in {folder} is damaged ({why}); it is now {name} there, and a new one is used.",
        "{folder} 中的缓存已损坏（{why}）；已将其改名为 {name}，并改用新的缓存。",
    ),
)
# How often an index was tried, which ends the reason of it
_TRIED: Final = re.compile(r" \((\d+) (?:try|tries)\)\. ?")
# Items that two of a lock's phrases list, each after a colon
_FROM: Final = re.compile(r" \(from ([^()]+)\)(, )?")
_ON: Final = re.compile(r" on ([^()]+) \(it is from ([^()]+) now\)(, )?")


def quoted(text: str, language: Language) -> str:
    """A reason in the language; unchanged if it has no Chinese."""
    if language == "en":
        return text
    told = next((told for phrase in _QUOTED if (told := phrase.chinese_of(text)) is not None), text)
    return _TRIED.sub(r"（尝试 \1 次）。", told)


def heard(text: str, language: Language) -> str:
    """A warning of a run in the language; unchanged if it has no Chinese."""
    if language == "en":
        return text
    told = next((told for phrase in _HEARD if (told := phrase.chinese_of(text)) is not None), text)
    return _TRIED.sub(r"（尝试 \1 次）。", told)


def caution(sentence: str, about: Sequence[LockedFact]) -> str:
    """A warning or note of a lock that rests on these facts, in Chinese; free text is unchanged."""
    if (told := phrases.UNREACHABLE.chinese_of(sentence)) is not None:
        return _FROM.sub(_from, told)
    if (told := phrases.ELSEWHERE.chinese_of(sentence)) is not None:
        return _ON.sub(_on, told)
    subject, _, reason = sentence.partition(": ")
    chinese = quoted(reason, "zh")
    return f"{subject}：{chinese}" if chinese != reason else lock_warnings.in_chinese(sentence, about)


def _from(found: re.Match[str]) -> str:
    return f"（来自 {found[1]}）" + "、" * bool(found[2])


def _on(found: re.Match[str]) -> str:
    return f" 在 {found[1].replace(' and ', '、')}（现在来自 {found[2]}）" + "、" * bool(found[3])
