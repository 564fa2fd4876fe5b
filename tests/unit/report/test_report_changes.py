"""The changes of a fix as sentences."""

from __future__ import annotations

import pytest

from resolver.i18n import translate
from resolver.model.explanation import Change, ChangeKind, Environment, Fix
from resolver.report.explanation.changes import change_sentence, requires_sentence

BOTH = "demo[fast,safe]==2.0"


@pytest.mark.parametrize(
    ("kind", "before", "after", "steps", "english", "chinese"),
    [
        (
            ChangeKind.EXTRA,
            "demo[fast]==2.0",
            "demo==2.0",
            0,
            "demo==2.0 without the extra, instead of demo[fast]==2.0",
            "去掉 extra：将 demo[fast]==2.0 改为 demo==2.0",
        ),
        (
            ChangeKind.EXTRA,
            BOTH,
            "demo[safe]==2.0",
            0,
            "demo[safe]==2.0 without the extra fast, instead of demo[fast,safe]==2.0",
            "去掉 extra fast：将 demo[fast,safe]==2.0 改为 demo[safe]==2.0",
        ),
        (
            ChangeKind.EXTRA,
            BOTH,
            "demo==2.0",
            0,
            "demo==2.0 without the extras fast, safe, instead of demo[fast,safe]==2.0",
            "去掉 extra fast、safe：将 demo[fast,safe]==2.0 改为 demo==2.0",
        ),
        (
            ChangeKind.VERSION,
            BOTH,
            "demo[safe]==1.0",
            -1,
            "ask for demo[safe]==1.0 instead of demo[fast,safe]==2.0 (1 release older, without the extra fast)",
            "将 demo[fast,safe]==2.0 改为 demo[safe]==1.0（比原来旧 1 个版本，去掉 extra fast）",
        ),
        (
            ChangeKind.VERSION,
            "cann in 8.5.0",
            "cann in 8.3.RC1",
            0,
            "ask for cann in 8.3.RC1 instead of cann in 8.5.0",
            "将 cann in 8.5.0 改为 cann in 8.3.RC1",
        ),
    ],
)
def test_the_extras_that_go_are_named(
    kind: ChangeKind, before: str, after: str, steps: int, english: str, chinese: str
) -> None:
    change = Change(kind=kind, subject="demo", before=before, after=after, where="a:1", steps=steps)
    assert translate(change_sentence(change), "en") == english
    assert translate(change_sentence(change), "zh") == chinese


def test_a_release_of_years_before_and_a_pre_release_are_told_to_be() -> None:
    asked = Change(
        kind=ChangeKind.VERSION,
        subject="demo",
        before="demo==2.0",
        after="demo==1.0rc1",
        where="a:1",
        steps=-9,
        years=-3,
    )
    english = "ask for demo==1.0rc1 instead of demo==2.0 (9 releases older, uploaded 3 years earlier, a pre-release)"
    assert translate(change_sentence(asked), "en") == english
    chinese = "将 demo==2.0 改为 demo==1.0rc1（比原来旧 9 个版本，上传时间早 3 年，预发布版本）"
    assert translate(change_sentence(asked), "zh") == chinese
    later = Change(
        kind=ChangeKind.VERSION, subject="demo", before="demo==1", after="demo==2", where="a:1", steps=1, years=1
    )
    told = "ask for demo==2 instead of demo==1 (1 release newer, uploaded a year later)"
    assert translate(change_sentence(later), "en") == told


def test_another_soc_is_another_machine() -> None:
    change = Change(kind=ChangeKind.COMPONENT, subject="soc", before="A3", after="A2", where="a:1")
    assert translate(change_sentence(change), "en") == "use another machine, with SoC A2 instead of A3"
    assert translate(change_sentence(change), "zh") == "换用其他机器：SoC 由 A3 改为 A2"
    stated = Change(kind=ChangeKind.COMPONENT, subject="soc", before="", after="A2", where="a:1")
    assert translate(change_sentence(stated), "en") == "specify SoC A2"


def test_many_lines_that_both_environments_have_are_counted() -> None:
    both = [f"tool-{letter}" for letter in "abcdefg"]

    def split(*shared: str) -> Fix:
        environments = tuple(
            Environment(name=f"demo-{at}", requires=(*shared, line), pins=(), count=1)
            for at, line in enumerate(("trl==0.28.0", "vllm==0.13.0"), 1)
        )
        return Fix(name="A", changes=(), environments=environments, files=(), risky=False)

    many, few = split(*both), split(*both[1:])
    told = translate(requires_sentence(many, many.environments[0]), "en")
    assert told == "environment demo-1 (trl==0.28.0 and 7 lines that both have)"
    told = translate(requires_sentence(many, many.environments[1]), "zh")
    assert told == "环境 demo-2（vllm==0.13.0，以及两个环境共有的 7 行）"
    told = translate(requires_sentence(few, few.environments[0]), "en")
    assert told == "environment demo-1 (tool-b, tool-c, tool-d, tool-e, tool-f, tool-g, trl==0.28.0)"
