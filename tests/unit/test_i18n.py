"""Every text is there in each language, says the same in them, and is used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import polib
import pytest

import resolver
from resolver.audit.fact_checks import Verdict
from resolver.i18n import LANGUAGES, translate
from resolver.model.fact import Strength
from resolver.model.message import Message, joined, message
from resolver.model.release import RejectionReason
from resolver.phrase import phrase

ROOT = Path(resolver.__file__).parent
CATALOGUES = {
    language: polib.pofile(str(ROOT / "locale" / f"{language}.po")) for language in LANGUAGES
}
CHINESE = r"[\u4e00-\u9fff]"
# A code, or the beginning of those that are put together, anywhere, and where it is certainly one
CODE = re.compile(r"""["']([a-z]+\.[a-z0-9+.-]*)(?:["'{]| ~)""")
TOLD = re.compile(
    r"""(?:\b(?:translate|message|about|joined|label)\(\s*f?|last(?:: str )?=\s*)"""
    r"""["']([^"'{]+)"""
)
REMARK = re.compile(r"""\b_(?:contradicted|gone|unmet|holds|unchecked)\(\s*"([a-z-]+)""")
SCRIPT = re.compile(r"(?:message|failure)\('([a-z-]+)'")  # in a template of a script
CODES = sorted(entry.msgid for entry in CATALOGUES["en"])


def forms(entry: polib.POEntry) -> list[str]:
    return list(entry.msgstr_plural.values()) or [entry.msgstr]


def placeholders(told: str) -> set[str]:
    return {field for _, field, _, _ in Formatter().parse(told) if field is not None}


def sources() -> Iterator[str]:
    for path in ROOT.rglob("*"):
        if path.suffix in (".py", ".j2"):
            text = path.read_text(encoding="utf-8")
            yield SCRIPT.sub(r"message('script.\1'", text) if path.name.endswith("sh.j2") else text


@pytest.mark.parametrize("language", LANGUAGES)
def test_texts_have_the_same_placeholders_in_each_language(language: str) -> None:
    english = {entry.msgid: entry for entry in CATALOGUES["en"]}
    other = {entry.msgid: entry for entry in CATALOGUES[language]}
    assert other.keys() == english.keys()
    for code, entry in other.items():
        assert all(forms(entry)), code
        assert bool(entry.msgid_plural) == bool(english[code].msgid_plural), code
        for told in forms(entry):  # one is a word of its own in some languages
            assert placeholders(told) | {"count"} == placeholders(forms(english[code])[-1]) | {
                "count"
            }, code


def test_texts_are_those_of_the_used_codes() -> None:
    every = list(sources())
    told = {code for source in every for code in TOLD.findall(source)}
    told |= {f"upstream.remark-{code}" for source in every for code in REMARK.findall(source)}
    told |= {
        *(f"strength.{one}" for one in Strength),
        *(f"upstream.verdict-{one.value}" for one in Verdict),
    }
    assert [code for code in told if code not in CODES and not code.endswith((".", "-"))] == []
    used = {code for source in every for code in CODE.findall(source)} | told
    names = "conflict."  # begins names of files as well
    beginnings = tuple(code for code in used if code.endswith((".", "-")) and code != names)
    hints = {f"{code}-hint" for code in used}  # of what a script tells
    assert [
        code for code in CODES if code not in used | hints and not code.startswith(beginnings)
    ] == []


def test_texts_in_chinese_have_chinese_punctuation() -> None:
    for entry in CATALOGUES["zh"]:
        for form in forms(entry) if entry.msgid != "script.usage" else ():  # which is a table
            told = form.replace("pylock.名称.toml", "")
            assert not re.search(rf"{CHINESE}[,:;!?()]|[,:;!?()]{CHINESE}", told), entry.msgid
            assert not re.search(rf"{CHINESE}\.|{CHINESE} +{CHINESE}", told), entry.msgid
            # a Latin word or a value stands apart from Chinese; a mark needs no space
            bare = re.sub(
                r"\{(?:predicate|reasons|text|label|extra|where|closing|system|locks)\}", "", told
            )
            assert not re.search(rf"{CHINESE}[A-Za-z0-9{{`]|[A-Za-z0-9}}`]{CHINESE}", bare), (
                entry.msgid
            )


@pytest.mark.parametrize("reason", RejectionReason)
def test_texts_of_rejection_reasons(reason: RejectionReason) -> None:
    assert translate(reason.code, "en", 1) == reason.value
    assert re.search(CHINESE, translate(reason.code, "zh", 1))


def test_translate_unknown_code_or_missing_value() -> None:
    for wrong in (message("lock.no-such"), message("lock.yanked")):
        with pytest.raises(KeyError):
            translate(wrong, "en")


def test_message_hash_of_equal_messages() -> None:
    """Also with what was read from a file, which has its keys in another order."""
    told = message("code", names=joined("comma", ["a", message("b", x=1)]), count=2)
    again = Message(told.code, dict(reversed(told.values.items())))
    assert told == again
    assert len({told, again}) == 1


def test_message_translates_phrases_in_a_list() -> None:
    listed = message("upstream.remark-machine", needs=(phrase("the file is not UTF-8"), "gcc"))
    assert "文件不是 UTF-8 编码" in translate(listed, "zh")
    assert "the file is not UTF-8" in translate(listed, "en")
