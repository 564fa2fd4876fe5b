"""Reasons and changes of every kind, singular and plural, and all that is said of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from resolver.i18n import translate
from resolver.model import fact as facts
from resolver.model.change import ComponentChanged
from resolver.model.constraint import NoCandidate, RequirementSource, WhyNot
from resolver.model.explanation import Closing, Contradiction, Environment, Fix
from resolver.model.message import Message
from resolver.model.reason import Reason, RejectedRelease, ReleaseRange, UnparsedFiles
from resolver.model.release import Rejection, RejectionReason
from resolver.model.text import Language
from resolver.report.document import translated
from resolver.report.explanation.fixes import change_sentence, requires_sentence
from resolver.report.explanation.grouping import origin_span
from resolver.report.explanation.sentences import (
    claim,
    closing_sentence,
    sentence,
)
from resolver.report.explanation.unavailable import reason_details
from tests.changes import extras_removed, version
from tests.components import COMPONENTS
from tests.reasons import asks, excluded, exclusive, has, requires, unavailable
from tests.unit.report.samples import fact

ONE = (ReleaseRange("0.28.0", "0.28.0", 1),)
TWO = (ReleaseRange("0.27.0", "0.28.0", 2),)
FIVE = (ReleaseRange("0.27.0", "0.29.1", 5),)
CANDIDATES = tuple(ReleaseRange(f"2.{at}rc1", f"2.{at}rc1", 1) for at in range(9, 0, -1))
WHEEL = Rejection("x-1-cp312-none-any.whl", RejectionReason.TAGS, "cp312-none-any")
OTHER = Rejection("x-1-cp310-none-any.whl", RejectionReason.TAGS, "cp310-none-any")
ARCHIVE = Rejection("x-1.tar.gz", RejectionReason.PYTHON, "Requires-Python >=3.12")
NEWER = [
    Rejection(f"x-1-cp{python}-cp{python}-manylinux_2_28_aarch64.whl", RejectionReason.TAGS)
    for python in (311, 312)
]
MACHINE = (("processor", "aarch64"), ("glibc", "2.17"), ("python", "3.11"))


def needs(
    versions: tuple[ReleaseRange, ...], source: RequirementSource = RequirementSource.METADATA
) -> Reason:
    return requires("trl", versions, "vllm<0.13.0", source=source, where="trl.whl")


def lacks(why: WhyNot, *refusals: RejectedRelease, **more: Any) -> Reason:
    given = {"count": len(refusals), "refusals": refusals, **more}
    return unavailable("x", why, **given)


def refusal(version: str, *files: Rejection) -> RejectedRelease:
    return RejectedRelease(version=version, files=files)


REASONS: tuple[Reason, ...] = (
    asks("trl[vllm]==0.28.0", "a:1"),
    asks("numpy==2", "NAME==V"),
    has("cann", "8.5.0", "a:2"),
    *(needs(spans) for spans in (ONE, TWO, (ReleaseRange("1.0", "1.0", 1), *FIVE), ())),
    needs(ONE, RequirementSource.BUILD),
    excluded("trl", TWO, fact(facts.Excludes, "trl")),
    excluded("deep-ep", ONE, fact(facts.Names, "deep-ep", index="huawei")),
    exclusive(fact(facts.Collides, "triton-ascend", other="triton", module="triton")),
    exclusive(fact(facts.Absent, "triton-ascend", other="triton")),
    lacks(NoCandidate.COMMIT, wanted=">=9.9", newest="2.0"),
    lacks(NoCandidate.PROJECT),
    lacks(NoCandidate.PROJECT, named=fact(facts.Names, "x")),
    lacks(NoCandidate.RELEASE, wanted="==9.9", newest="2.0"),
    lacks(NoCandidate.RELEASE, wanted="==1.5", newest="2.0", nearest=("1.4", "1.6")),
    lacks(NoCandidate.RELEASE, wanted="==0.5", newest="2.0", nearest=("0.9",)),
    lacks(NoCandidate.RELEASE, wanted="==9.9"),
    lacks(NoCandidate.RELEASE),
    lacks(
        NoCandidate.RELEASE,
        wanted="==9.9",
        unread=(UnparsedFiles(RejectionReason.NAME, 1, "x.whl"),),
    ),
    lacks(
        NoCandidate.RELEASE,
        unread=(
            UnparsedFiles(RejectionReason.FOREIGN, 38, "y-1.zip"),
            UnparsedFiles(RejectionReason.FORMAT, 2, "x-1.exe"),
        ),
    ),
    lacks(NoCandidate.FILE, refusal("1", WHEEL)),
    lacks(NoCandidate.FILE, refusal("1", WHEEL, OTHER)),
    lacks(NoCandidate.FILE, refusal("1", WHEEL, OTHER, ARCHIVE)),
    lacks(NoCandidate.FILE, refusal("2", WHEEL), refusal("1", ARCHIVE), count=9),
    lacks(NoCandidate.FILE, wanted="<2"),
    lacks(
        RejectionReason.METADATA,
        refusal("1", Rejection("x-1.whl", RejectionReason.METADATA, "its METADATA is empty")),
    ),
    lacks(RejectionReason.METADATA, refusal("1", Rejection("x-1.whl", RejectionReason.METADATA))),
    lacks(NoCandidate.PRERELEASE, refusal("2rc1")),
    lacks(NoCandidate.NEEDLESS, refusal("2rc1")),
    lacks(RejectionReason.YANKED, refusal("2"), refusal("1")),
    lacks(RejectionReason.NEWER, refusal("2"), count=2),
    lacks(NoCandidate.UNREACHABLE, unreachable=("huawei",)),
    lacks(NoCandidate.FILE, refusal("1", WHEEL, ARCHIVE)),
    lacks(NoCandidate.FILE, refusal("1", *[WHEEL] * 6)),
    lacks(NoCandidate.FILE, refusal("2", WHEEL, OTHER), refusal("1", ARCHIVE)),
    lacks(
        RejectionReason.DYNAMIC,
        refusal(
            "1",
            Rejection("x-1.tar.gz", RejectionReason.DYNAMIC, "`x-1.tar.gz` has no static metadata"),
        ),
    ),
    lacks(RejectionReason.METADATA, where="x-1.whl"),
    # a file that needs more than another one is no further way in
    lacks(NoCandidate.FILE, refusal("1", *NEWER), machine=MACHINE),
    excluded("trl", ONE, fact(facts.Excludes, "trl", reason_zh="")),
    # of releases all over the ends and the number are told, as of candidates between releases, each
    # a run of its own
    needs(CANDIDATES),
    needs(CANDIDATES[1:]),
)


BOTH = "demo[fast,safe]==2.0"
CHANGES = (
    extras_removed("demo[fast]==2.0", "demo==2.0"),
    *(extras_removed(BOTH, after) for after in ("demo[safe]==2.0", "demo==2.0")),
    version(BOTH, "demo[safe]==1.0", steps=-1),
    version("demo==2.0", "demo==1.0rc1", steps=-9, years=-3),
    version("demo==1", "demo==2", steps=1, years=1),
    # Another SoC is another machine.
    ComponentChanged(component=COMPONENTS["soc"], before="A3", after="A2", where="a:1"),
)


def split(shared: int) -> Iterator[Message]:
    """Both environments of a stack in two, which share so many lines: many are counted."""
    lines = tuple(f"tool-{letter}" for letter in "abcdefg"[:shared])
    environments = tuple(
        Environment(name=f"demo-{at}", requires=(*lines, line), pins=(), count=1)
        for at, line in enumerate(("trl==0.28.0", "vllm==0.13.0"), 1)
    )
    fix = Fix(name="A", changes=(), environments=environments, files=(), risky=False)
    return (requires_sentence(fix, environment) for environment in environments)


def all_sentences(language: Language) -> str:
    """Each reason with its origin, and what is told below it; then the other sentences, a line
    each.
    """
    lines = []
    for reason in REASONS:
        origin = translated(origin_span(reason).text, language)
        lines.append(f"{translate(sentence(reason), language)} @ {origin}")
        lines += [f"  {translate(detail, language)}" for detail in reason_details(reason)]
    others = [
        claim(Contradiction(reasons=(needs(ONE),) * count, closing=None)) for count in (1, 2, 4)
    ]
    others += [
        closing_sentence(Closing(subject="a", numbers=numbers)) for numbers in ((2,), (2, 4))
    ]
    others += [*map(change_sentence, CHANGES), *split(7), *split(6)]
    return "\n".join([*lines, *(translate(one, language) for one in others)]) + "\n"
