"""Chinese for English texts of other packages that a Chinese sentence quotes, such as why an index did not answer."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

import msgspec

from resolver.model.text import Language


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


def heard(text: str, language: Language) -> str:
    """A warning of a run in the language; unchanged if it has no Chinese."""
    if language == "en":
        return text
    told = next((told for phrase in _HEARD if (told := phrase.chinese_of(text)) is not None), text)
    return _TRIED.sub(r"（尝试 \1 次）。", told)
