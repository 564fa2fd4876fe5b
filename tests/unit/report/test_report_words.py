"""Every word is there in both languages, says the same in them, and is used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from resolver.audit.verdict import Saying, Verdict
from resolver.model.fact import Strength
from resolver.model.release import Reason
from resolver.report import report_words
from resolver.report import words as lock_words
from resolver.report.explanation import words
from resolver.report.upstream import words as upstream_words
from resolver.report.words import Counted, Words

RENDER = Path(words.__file__).parents[1]
CHINESE = r"[\u4e00-\u9fff]"


def entries() -> Iterator[tuple[str, Words]]:
    for module in (words, upstream_words, lock_words, report_words):
        for name, value in vars(module).items():
            every = value.values() if isinstance(value, dict) else value if type(value) is tuple else (value,)
            for entry in every:
                if isinstance(entry, Words):
                    yield name, entry
                elif isinstance(entry, Counted):
                    yield f"{name}, one", Words(entry.one, entry.zh)
                    yield f"{name}, many", Words(entry.many, entry.zh_many or entry.zh)


@pytest.mark.parametrize(("name", "entry"), list(entries()))
def test_both_languages_have_the_same_placeholders(name: str, entry: Words) -> None:
    def placeholders(text: str) -> set[str]:
        return {field for _, field, _, _ in Formatter().parse(text) if field is not None}

    assert entry.en
    assert entry.zh
    # the number of an English singular is a word of its own there
    assert placeholders(entry.en) == placeholders(entry.zh), name


@pytest.mark.parametrize(("name", "entry"), list(entries()))
def test_chinese_has_chinese_punctuation(name: str, entry: Words) -> None:
    told = entry.zh.replace("pylock.名称.toml", "")
    assert not re.search(rf"{CHINESE}[,:;!?()]|[,:;!?()]{CHINESE}", told), name
    assert not re.search(rf"{CHINESE}\.|{CHINESE} +{CHINESE}", told), name
    # a Latin word or a value stands apart from Chinese; a mark needs no space
    bare = re.sub(r"\{(?:predicate|reasons|text|label|extra|where|closing|system|locks)\}", "", told)
    assert not re.search(rf"{CHINESE}[A-Za-z0-9{{`]|[A-Za-z0-9}}`]{CHINESE}", bare), name


def test_nothing_is_unused() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (RENDER / "upstream").glob("*.py"))
    names = [name for name, entry in vars(upstream_words).items() if isinstance(entry, (Words, Counted))]
    assert [name for name in names if not re.search(rf"\b(words\.)?{name}\b(?! =)", source)] == []
    source = (RENDER / "report.py").read_text(encoding="utf-8")
    assert [name for name in vars(report_words) if name.isupper() and f"words.{name}" not in source] == []
    files = [*(RENDER / "explanation").glob("*.py"), RENDER / "templates" / "conflict.html.j2"]
    files += (RENDER.parent / "cli").glob("*.py")
    source = "\n".join(path.read_text(encoding="utf-8") for path in files)
    names = [name for name, entry in vars(words).items() if isinstance(entry, (Words, Counted))]
    assert [name for name in names if len(re.findall(rf"\b{name}\b", source)) < 2] == []


def test_only_this_module_has_chinese() -> None:
    for path in (*(RENDER / "explanation").glob("*.py"), *(RENDER / "upstream").glob("*.py"), RENDER / "report.py"):
        if path.name not in ("words.py", "columns.py"):
            assert not re.search(CHINESE, path.read_text(encoding="utf-8")), path.name


def test_every_kind_has_words() -> None:
    assert set(report_words.STRENGTHS) == {strength.value for strength in Strength}
    assert set(upstream_words.VERDICTS) == set(Verdict)
    assert set(upstream_words.SAYINGS) == set(Saying)


@pytest.mark.parametrize("reason", Reason)
def test_reasons_are_told_in_both_languages(reason: Reason) -> None:
    assert words.PREDICATES[reason]("en", 1) == reason.value
    assert re.search(CHINESE, words.PREDICATES[reason]("zh", 1))
    assert words.PREDICATES[reason]("zh", 2) == words.PREDICATES[reason]("zh", 1)


def test_lists() -> None:
    assert words.listed(["a"], "en") == "a"
    assert words.listed(["a", "b", "c"], "en") == "a, b and c"
    assert words.listed(["a", "b", "c"], "zh") == "a、b 和 c"
    assert words.numbers([1, 3, 4], "en") == "1, 3 and 4"
    assert words.numbers([1, 3, 4], "zh") == "1、3、4"


def test_no_space_after_a_full_width_mark() -> None:
    assert words.NEEDS("zh", 5, releases="a 1 至 5（共 5 个版本）", needs="b<2") == "a 1 至 5（共 5 个版本）要求 b<2"
