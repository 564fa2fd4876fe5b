"""The facts and stacks that the project ships say in Chinese what they say in English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from resolver.config.load import read
from resolver.config.schema import StackFile
from resolver.model.fact import Fact, Warns
from tests.unit.config.folders import MATRICES, SHIPPED, SHIPPED_FILES

STACKS = sorted((MATRICES / "stacks").glob("*.toml"))

_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_VERSION = re.compile(r"[0-9]+(?:\.[0-9A-Za-z]+)+")  # 2.8.0.post2, 8.3.RC1, 9.1.X
_HALF_WIDTH = re.compile(r"[\u4e00-\u9fff][,.;:!?()]|[,.;:!?()][\u4e00-\u9fff]")


def texts(fact: Fact) -> dict[str, tuple[str, str]]:
    """English and Chinese of each text, by its key."""
    found = {"reason": (fact.reason, fact.reason_zh)}
    if isinstance(fact, Warns):
        found["text"] = (fact.text, fact.text_zh)
    return found


def complaints(key: str, english: str, chinese: str) -> list[str]:
    """What is wrong with the Chinese of one text."""
    if not _CHINESE.search(chinese):
        return [f"`{key}-zh` is missing or has no Chinese in it: write below `{key}` what it says, in Chinese"]
    found = []
    told, told_zh = set(_VERSION.findall(english)), set(_VERSION.findall(chinese))
    if told - told_zh:
        found.append(f"`{key}-zh` does not name {', '.join(sorted(told - told_zh))}, which `{key}` names")
    if told_zh - told:
        found.append(f"`{key}-zh` names {', '.join(sorted(told_zh - told))}, which `{key}` does not name")
    if half := _HALF_WIDTH.search(chinese):
        found.append(f"`{key}-zh` has half-width punctuation beside Chinese: {half[0]}")
    return found


def test_all_files_are_read() -> None:
    assert {fact.package for fact in SHIPPED} == {path.stem for path in SHIPPED_FILES}


@pytest.mark.parametrize("fact", SHIPPED, ids=lambda fact: fact.id)
def test_a_shipped_fact_says_the_same_in_chinese(fact: Fact) -> None:
    found = [line for key, pair in texts(fact).items() for line in complaints(key, *pair)]
    assert not found, "\n".join([f"{fact.where}: the fact {fact.id}:", *found])


def stack_texts(stack: StackFile) -> Iterator[tuple[str, str, str]]:
    """Each text of a stack for people: its key, English and Chinese."""
    yield "summary", stack.stack.summary, stack.stack.summary_zh or ""
    for absent in stack.absent:
        yield "reason", absent.reason, absent.reason_zh or ""
    for row in stack.departs:
        yield "guide", row.guide, row.guide_zh or ""
        yield "here", row.here, row.here_zh or ""
        yield "reason", row.reason, row.reason_zh or ""


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.stem)
def test_a_shipped_stack_says_the_same_in_chinese(path: Path) -> None:
    told = list(stack_texts(read(path, StackFile, path.name).content))
    # a name with its version, or a commit, is the same in both
    assert not [line for key, *pair in told if pair[0] != pair[1] for line in complaints(key, *pair)]
    assert not [english for key, english, chinese in told if english == chinese and " and " in english]
