"""Long contradictions on one screen."""

from __future__ import annotations

from msgspec.structs import replace

from resolver.model.dependency import NeedSource
from resolver.model.explanation import Branch, Closing, Contradiction
from resolver.model.resolution import Asks, Has, Lack, Lacks, Needs, Span
from resolver.report.explanation.grouping import grouped
from resolver.report.explanation.sentences import branch_sentence, explanation_sentence


def needs(version: str, text: str) -> Needs:
    versions = (Span(version, version, 1),)
    return Needs(subject="plugin", versions=versions, needs=text, source=NeedSource.FACT, where=f"f:{version}")


def case(version: str, subject: str, *numbers: int) -> Branch:
    return Branch(
        subject="plugin",
        versions=(Span(version, version, 1),),
        closing=Closing(subject=subject, numbers=numbers),
    )


LONG = Contradiction(
    statements=(
        Asks(text="plugin", where="stack.toml:1"),
        Has(component="cann", value="9.1.0", where="stack.toml:2"),
        needs("0.9", "cann in 8.1.RC1"),
        needs("0.10", "cann in 8.2.RC1"),
        needs("0.13", "cann in 8.5.0 | 8.5.1"),
        needs("0.14", "cann in 8.5.0"),
        needs("0.20", "triton==3.2.1"),
        needs("0.23", "triton==3.2.2"),
        needs("0.24", "triton==3.2.1"),
        Lacks(subject="triton", wanted="==3.2.1", lack=Lack.RELEASE, where="pypi", newest="3.2.0"),
        Lacks(subject="triton", wanted="==3.2.2", lack=Lack.RELEASE, where="pypi", newest="3.2.0"),
    ),
    closing=None,
    branches=(
        case("0.9", "cann", 2, 3),
        case("0.10", "cann", 2, 4),
        case("0.13", "cann", 2, 5),
        case("0.14", "cann", 2, 6),
        case("0.20", "triton", 7, 10),
        case("0.23", "triton", 8, 11),
        case("0.24", "triton", 9, 10),
    ),
)


def test_a_long_contradiction_is_grouped_by_cause_newest_first() -> None:
    short = grouped(LONG)
    assert [explanation_sentence(one, "en") for one in short.statements] == [
        "the stack asks for plugin",
        "the target has CANN 9.1.0",
        "plugin 0.14, 0.13, 0.10 and 0.9 need cann in 8.5.0 | 8.5.1 | 8.2.RC1 | 8.1.RC1",
        "plugin 0.24, 0.23 and 0.20 need triton==3.2.1 | triton==3.2.2",
        "no release of triton matches `==3.2.1 | ==3.2.2`; the newest is 3.2.0",
    ]
    assert [branch_sentence(one, "en") for one in short.branches] == [
        "plugin 0.24, 0.23 and 0.20: 4 and 5 leave no choice for triton",
        "plugin 0.14, 0.13, 0.10 and 0.9: 2 and 3 leave no choice for CANN",
    ]
    assert [getattr(one, "where", "") for one in short.statements[2:4]] == ["f:0.14", "f:0.24"]


def test_a_short_one_stays_as_it_is() -> None:
    short = replace(LONG, statements=LONG.statements[:10], branches=())
    assert grouped(short) is short
