"""Explanations made by hand, one for each thing that a report must be able to tell."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from msgspec.structs import replace
from packaging.utils import canonicalize_name

from resolver.model import fact as facts
from resolver.model.change import (
    ArchiveStated,
    Change,
    ComponentChanged,
    FactSetAside,
    LinesDivided,
    RequirementRemoved,
    VersionChanged,
)
from resolver.model.constraint import NoCandidate, RequirementSource, StackLine
from resolver.model.explanation import (
    Attempt,
    AttemptOutcome,
    Branch,
    Closing,
    Contradiction,
    Environment,
    Explanation,
    Fix,
    ShownPin,
    Why,
)
from resolver.model.message import Message, verbatim
from resolver.model.package import Package
from resolver.model.problem import Policy, Problem, RootRequirement, Stack
from resolver.model.reason import Reason, RejectedRelease, ReleaseRange
from resolver.model.release import Rejection, RejectionReason
from resolver.model.source import Document, References
from tests import changes, reasons
from tests.components import COMPONENTS
from tests.problems import PYPI_ONLY, common, need, target
from tests.references import read_source

MATRIX = read_source(
    "vllm-project/vllm-ascend docs/source/community/versioning_policy.md "
    "@98f2ce96b1b9a5a35e0e7a8d2f3c4b5a69788796 #L24"
)


def fact(kind: type[Any], package: str, **fields: Any) -> Any:
    """A fact of any kind on line 12 of the package's file."""
    told = {
        "reason": "Somebody read it.",
        "reason_zh": "有人读到过。",
        "where": f"matrices/facts/{package}.toml:12",
    }
    return kind(**{**common(package, "", "fact"), **told, **fields})


def problem(name: str, *lines: str, where: str = "", **system: str) -> Problem:
    """A stack of the matrices, its first line on line 9."""
    path = where or f"matrices/stacks/{name}.toml"
    requirements = tuple(
        RootRequirement(need=need(line), origin=StackLine(line, f"{path}:{at}"))
        for at, line in enumerate(lines, 9)
    )
    stack = Stack(name=name, summary="a sample", source="", where=path, requirements=requirements)
    stated = system or {"cann": "8.5.0", "soc": "A2"}
    return Problem(
        stack=stack,
        target=target(**stated),
        facts=(),
        policy=Policy(),
        indexes=PYPI_ONLY,
        digest="0" * 64,
    )


def asks(text: str, line: int, stack: str = "trl-vllm-train") -> Reason:
    return reasons.asks(text, f"matrices/stacks/{stack}.toml:{line}")


def needs(
    subject: str, versions: str | ReleaseRange, what: str, fact: facts.Fact | None = None
) -> Reason:
    """Releases need something, by the metadata of the newest or by a fact."""
    span = ReleaseRange(versions, versions, 1) if isinstance(versions, str) else versions
    name = canonicalize_name(subject.partition("[")[0]).replace("-", "_")
    where = fact.where if fact else f"{name}-{span.newest}-py3-none-any.whl"
    source = RequirementSource.FACT if fact else RequirementSource.METADATA
    return reasons.requires(subject, (span,), what, source=source, where=where, fact=fact)


MATRIX_FACT = fact(
    facts.Requires,
    "vllm-ascend",
    id="vllm-ascend-0.13.0-matrix",
    needs=(need("vllm==0.13.0"),),
    reason="A vllm-ascend release is written against one vllm release, here 0.13.0.",
    reason_zh="每个 vllm-ascend 版本都针对一个特定的 vllm 版本编写，此处为 0.13.0。",
    source=MATRIX,
    where="matrices/facts/vllm-ascend.toml:113",
)
SLEEP = fact(
    facts.Warns,
    "trl",
    id="trl-sleep-mode",
    text="Sleep mode of vllm is not supported on NPUs before vllm-ascend 0.11.",
    text_zh="vllm-ascend 0.11 之前不支持 NPU 上的 vllm 休眠模式。",
    extra="",
    unless=(),
    source=read_source(
        "vllm-project/vllm-ascend#7359",
        "vllm-project/vllm-ascend#7497",
        "example.test/guide?x=1 (2026-11-20)",
    ),
)


OLD, ASCEND = "trl[vllm]==0.28.0", "vllm-ascend==0.13.0"
ADDED = """[[fact.replaces]]
package = "trl"
versions = "==0.28.0"
drop = ["vllm"]
add = []
"""


def trl() -> Explanation:
    """The flagship: four statements, a fix of each sort."""
    plain = "trl==0.28.0"
    vllm = canonicalize_name("vllm")
    newer = changes.version(OLD, "trl[vllm]==1.6.0", where=_place(9), steps=12)
    extra = changes.extras_removed(OLD, plain, where=_place(9))
    aside = FactSetAside(
        fact=MATRIX_FACT.id, need="vllm==0.13.0", removed=vllm, where=MATRIX_FACT.where
    )
    added = RequirementRemoved(
        package="trl[vllm]", removed=vllm, needs=("vllm<0.13.0,>=0.10.2",), rows=ADDED
    )
    both = {"trl": "0.28.0", "vllm-ascend": "0.13.0", "vllm": "0.13.0"}
    moved = {
        "trl": "1.6.0",
        "vllm-ascend": "0.13.0",
        "vllm": "0.13.0",
        "torch": "2.8.0",
        "transformers": "4.57.6",
    }
    return Explanation(
        problem=problem("trl-vllm-train", OLD, ASCEND),
        text=_toml(_environment(OLD, ASCEND, pins={}, count=0))[1],
        contradictions=(
            Contradiction(
                reasons=(
                    asks(OLD, 9),
                    needs("trl[vllm]", "0.28.0", "vllm<0.13.0,>=0.10.2"),
                    asks(ASCEND, 10),
                    needs("vllm-ascend", "0.13.0", "vllm==0.13.0", MATRIX_FACT),
                ),
                closing=Closing(subject="vllm", numbers=(2, 4)),
                notes=(SLEEP,),
            ),
        ),
        fixes=(
            _alone(
                "A",
                newer,
                _environment(str(newer.after), ASCEND, pins=moved, count=214, warnings=(SLEEP,)),
            ),
            _alone(
                "B",
                extra,
                _environment(
                    plain, ASCEND, pins=both, count=209, gone=("outlines", "mistral-common")
                ),
            ),
            _split(),
            _alone(
                "D",
                aside,
                _environment(OLD, ASCEND, pins=both | {"vllm": "0.12.0"}, count=207),
                more=f'\n[[relax]]\nfact = "{MATRIX_FACT.id}"\nneeds = ["vllm==0.13.0"]\n',
                risky=True,
            ),
            _alone(
                "E",
                added,
                _environment(OLD, ASCEND, pins=both, count=207, warnings=(SLEEP,)),
                more=f"\n{ADDED}",
                risky=True,
            ),
        ),
        attempts=(
            Attempt(
                changes=(
                    changes.version(ASCEND, "vllm-ascend==0.11.0", where=_place(10), steps=-2),
                ),
                outcome=AttemptOutcome.CONFLICT,
                because=(
                    needs("vllm-ascend", "0.11.0", "cann in 8.3.RC2", MATRIX_FACT),
                    reasons.has("cann", "8.5.0", "matrices/stacks/trl-vllm-train.toml:20"),
                ),
            ),
            Attempt(
                changes=(
                    ComponentChanged(
                        component=COMPONENTS["cann"],
                        before="8.5.0",
                        after="8.3.RC2",
                        where=_place(20),
                    ),
                ),
                outcome=AttemptOutcome.UNDECIDED,
            ),
            Attempt(
                changes=(changes.dropped(ASCEND, where=_place(10)),),
                outcome=AttemptOutcome.USELESS,
                warning=verbatim(SLEEP.text, SLEEP.text_zh),
            ),
        ),
        limited=False,
    )


def _place(line: int) -> str:
    return f"matrices/stacks/trl-vllm-train.toml:{line}"


def _environment(
    *lines: str, pins: Mapping[str, str], count: int, name: str = "trl-vllm-train", **more: Any
) -> Environment:
    rows = tuple(
        ShownPin(name=one, version=version, wished=one in ("trl", "vllm-ascend"))
        for one, version in pins.items()
    )
    return Environment(name=name, requires=lines, pins=rows, count=count, **more)


def _alone(
    name: str, change: Change, where: Environment, *, more: str = "", risky: bool = False
) -> Fix:
    """A fix of one change. `more` stands at the end of its stack."""
    stack, text = _toml(where)
    return Fix(
        name=name,
        changes=(change,),
        environments=(where,),
        files=((stack, text + more),),
        risky=risky,
        texts=(text + more,),
    )


def _toml(where: Environment) -> tuple[str, str]:
    quoted = "".join(f'    "{line}",\n' for line in where.requires)
    return where.name, f'[stack]\nname = "{where.name}"\nrequires = [\n{quoted}]\n'


def _split() -> Fix:
    parts = (
        _environment(
            OLD, pins={"trl": "0.28.0", "vllm": "0.12.0"}, count=170, name="trl-vllm-train-1"
        ),
        _environment(
            ASCEND,
            pins={"vllm-ascend": "0.13.0", "vllm": "0.13.0"},
            count=150,
            name="trl-vllm-train-2",
        ),
    )
    changes = tuple(
        LinesDivided(environment=one.name, lines=one.requires, where=_place(1)) for one in parts
    )
    texts = tuple(_toml(replace(one, name="trl-vllm-train"))[1] for one in parts)
    return Fix(
        name="C",
        changes=changes,
        environments=parts,
        files=tuple(map(_toml, parts)),
        risky=False,
        texts=texts,
    )


def branching() -> Explanation:
    """Every release of trl is closed, one of them by two cases of its own."""
    five, two = ReleaseRange("0.27.0", "0.29.1", 5), ReleaseRange("0.25.0", "0.26.0", 2)
    return Explanation(
        problem=problem("cases", "trl[vllm]", "vllm-ascend==0.13.0", "numpy<2"),
        text="",
        contradictions=(
            Contradiction(
                reasons=(
                    asks("trl[vllm]", 9, "cases"),
                    needs("trl[vllm]", five, "vllm<0.13.0,>=0.10.2"),
                    needs("trl[vllm]", two, "numpy"),
                    asks("vllm-ascend==0.13.0", 10, "cases"),
                    needs("vllm-ascend", "0.13.0", "vllm==0.13.0", MATRIX_FACT),
                    asks("numpy<2", 11, "cases"),
                    reasons.excluded(
                        "numpy",
                        (ReleaseRange("1.26.4", "1.26.4", 1),),
                        fact(facts.Excludes, "numpy", reason="It crashes on import.", reason_zh=""),
                    ),
                    reasons.unavailable(
                        "numpy",
                        NoCandidate.FILE,
                        "<1.26.4",
                        where="pypi",
                        count=9,
                        newest="2.4.0",
                        refusals=(
                            RejectedRelease(
                                version="1.26.3",
                                files=tuple(
                                    Rejection(
                                        f"numpy-1.26.3-cp{minor}-none-any.whl", RejectionReason.TAGS
                                    )
                                    for minor in (312, 310, 309, 39, 38)
                                ),
                            ),
                            RejectedRelease(
                                version="1.26.2",
                                files=(
                                    Rejection(
                                        "numpy-1.26.2.tar.gz",
                                        RejectionReason.PYTHON,
                                        "Requires-Python >=3.12",
                                    ),
                                ),
                            ),
                        ),
                        unreachable=("huawei",),
                    ),
                ),
                closing=None,
                branches=(
                    Branch(
                        subject="trl[vllm]",
                        versions=(five,),
                        closing=Closing(subject="vllm", numbers=(2, 5)),
                    ),
                    Branch(
                        subject="trl[vllm]",
                        versions=(two,),
                        closing=None,
                        branches=(
                            Branch(
                                subject="numpy",
                                versions=(ReleaseRange("1.26.4", "1.26.4", 1),),
                                closing=Closing(subject="numpy", numbers=(7,)),
                            ),
                            Branch(
                                subject="numpy",
                                versions=(ReleaseRange("1.20.0", "1.26.3", 9),),
                                closing=Closing(subject="numpy", numbers=(6, 8)),
                            ),
                        ),
                    ),
                ),
            ),
        ),
        fixes=(),
        attempts=trl().attempts,
        limited=True,
    )


def several() -> Explanation:
    """Three contradictions: of one statement, of two, and one about a module; nothing found or
    tried.
    """
    owners = fact(
        facts.Collides,
        "triton-ascend",
        other=canonicalize_name("triton"),
        module="triton",
        source=read_source(
            "triton-lang/triton-ascend#306", "triton-3.5.0-cp311-cp311-linux_aarch64.whl RECORD"
        ),
    )
    stack = "./several.toml"
    return Explanation(
        problem=problem(
            "several",
            "nosuch",
            "torch==9.9",
            "triton",
            "triton-ascend",
            where=stack,
            hdk="25.3.rc1.2",
        ),
        text="",
        contradictions=(
            Contradiction(
                reasons=(
                    reasons.asks("nosuch", f"{stack}:9"),
                    reasons.unavailable("nosuch", NoCandidate.PROJECT, where="pypi, huawei"),
                ),
                closing=Closing(subject="nosuch", numbers=(2,)),
            ),
            Contradiction(
                reasons=(
                    reasons.unavailable(
                        "torch",
                        NoCandidate.RELEASE,
                        "==9.9",
                        where="pypi",
                        newest="2.9.1",
                        left_out=("pytorch-cpu", "huawei"),
                    ),
                ),
                closing=Closing(subject="torch", numbers=(1,)),
            ),
            Contradiction(
                reasons=(
                    reasons.asks("triton", f"{stack}:11"),
                    reasons.asks("triton-ascend", f"{stack}:12"),
                    reasons.exclusive(owners),
                ),
                closing=Closing(subject="triton", numbers=(1, 2, 3)),
            ),
        ),
        fixes=(),
        attempts=(),
        limited=False,
    )


def long() -> Explanation:
    """A contradiction that does not fit a screen: it is grouped by cause, the newest releases
    first.
    """
    return Explanation(
        problem=problem("long", "plugin"),
        text="",
        contradictions=(
            Contradiction(
                reasons=(
                    reasons.asks("plugin", "stack.toml:1"),
                    reasons.has("cann", "9.1.0", "stack.toml:2"),
                    needs("plugin", "0.9", "cann in 8.1.RC1"),
                    needs("plugin", "0.10", "cann in 8.2.RC1"),
                    needs("plugin", "0.13", "cann in 8.5.0 | 8.5.1"),
                    needs("plugin", "0.14", "cann in 8.5.0"),
                    needs("plugin", "0.20", "triton==3.2.1"),
                    needs("plugin", "0.23", "triton==3.2.2"),
                    needs("plugin", "0.24", "triton==3.2.1"),
                    reasons.unavailable(
                        "triton",
                        NoCandidate.RELEASE,
                        "==3.2.1",
                        where="pypi",
                        newest="3.2.0",
                    ),
                    reasons.unavailable(
                        "triton",
                        NoCandidate.RELEASE,
                        "==3.2.2",
                        where="pypi",
                        newest="3.2.0",
                    ),
                ),
                closing=None,
                branches=(
                    *(
                        _case(version, COMPONENTS["cann"].label, 2, at)
                        for at, version in enumerate(("0.9", "0.10", "0.13", "0.14"), 3)
                    ),
                    *(_case(version, "triton", *at) for version, at in _TRITONS.items()),
                ),
            ),
        ),
        fixes=(),
        attempts=(),
        limited=False,
    )


_TRITONS = {"0.20": (7, 10), "0.23": (8, 11), "0.24": (9, 10)}


def _case(version: str, subject: Message, *numbers: int) -> Branch:
    span = ReleaseRange(version, version, 1)
    return Branch(
        subject="plugin", versions=(span,), closing=Closing(subject=subject, numbers=numbers)
    )


HOSTILE = "a\u202e\x1b[31m<script>alert(1)</script>`|*[x](javascript:alert(1))\n# b"


def hostile() -> Explanation:
    """Texts of somebody who means harm, wherever a text can come from outside."""
    source = References((Document(title=HOSTILE, day=date(2026, 11, 28)),))
    said = dict.fromkeys(("reason", "reason_zh"), HOSTILE)
    bad = fact(
        facts.Excludes, "numpy", **said, source=source, where=f"matrices/facts/{HOSTILE}.toml:1"
    )
    warns = fact(
        facts.Warns, "numpy", text=HOSTILE, text_zh=HOSTILE, extra="", unless=(), source=source
    )
    # The words of a line reach a report as they are in the file.
    asked = replace(changes.line("demo==1"), origin=StackLine(HOSTILE, HOSTILE))
    change = VersionChanged(before=asked, after=need("demo==2"), where=HOSTILE)
    stated = ArchiveStated(project=canonicalize_name("numpy"), archive=HOSTILE, rows=HOSTILE)
    pinned = ShownPin(name=HOSTILE, version=HOSTILE, wished=True)
    environment = Environment(
        name=HOSTILE, requires=(HOSTILE,), pins=(pinned,), count=1, warnings=(warns,)
    )
    return Explanation(
        problem=problem("hostile", "numpy", where=f"./{HOSTILE}.toml"),
        text=f"{HOSTILE}\nonce",
        contradictions=(
            Contradiction(
                reasons=(
                    reasons.asks(HOSTILE, HOSTILE),
                    reasons.has("soc", HOSTILE, HOSTILE),
                    reasons.requires(
                        Package(HOSTILE),
                        (ReleaseRange(HOSTILE, HOSTILE, 1),),
                        HOSTILE,
                        where=HOSTILE,
                    ),
                    reasons.excluded(HOSTILE, (), bad),
                    reasons.unavailable(
                        HOSTILE,
                        RejectionReason.METADATA,
                        HOSTILE,
                        where=HOSTILE,
                        count=1,
                        refusals=(
                            RejectedRelease(
                                version=HOSTILE,
                                files=(Rejection(HOSTILE, RejectionReason.METADATA, HOSTILE),) * 2,
                            ),
                        ),
                    ),
                ),
                closing=Closing(subject=HOSTILE, numbers=(1, 2)),
                notes=(warns,),
            ),
        ),
        fixes=(
            Fix(
                name="A",
                changes=(change, stated),
                environments=(environment,),
                files=((HOSTILE, f'"""\n```\n{HOSTILE}'),),
                risky=False,
                texts=(f'"""\n```\n{HOSTILE}',),
            ),
        ),
        attempts=(
            Attempt(
                changes=(change, stated),
                outcome=AttemptOutcome.CONFLICT,
                because=(reasons.asks(HOSTILE, ""),),
            ),
        ),
        limited=False,
    )


_MOVES = (
    ("numpy", "1.26.4", "2.0.0"),
    ("verl", "0.7.1", "0.8.0"),
    ("ray", "", "2.50.0"),
    ("six", "1.17.0", ""),
)


def why(*, moves: bool = False) -> Why:
    """Why numpy is at 1.26.4."""
    upper = needs("verl", "0.7.1", "numpy<2.0.0")
    lower = needs("torch", "2.8.0", "numpy>=1.20")
    bound = needs("vllm-ascend", "0.13.0", "numpy<2.0.0", MATRIX_FACT)
    contradiction = Contradiction(
        reasons=(
            asks("verl==0.7.1", 9, "verl-qwen3.5"),
            upper,
            reasons.asks("numpy==2.0.0", "NAME==V"),
        ),
        closing=Closing(subject="numpy", numbers=(2, 3)),
    )
    return Why(
        problem=problem("verl-qwen3.5", "verl==0.7.1"),
        name="numpy",
        version="1.26.4",
        requirements=(upper, lower, bound),
        facts=(bound,),
        newer=("2.4.0", "2.3.5", "2.0.0"),
        tried="2.0.0",
        contradictions=() if moves else (contradiction,),
        moves=_MOVES if moves else (),
        bound=(upper, bound),
    )


def newest() -> Why:
    """Why numpy is at a release that has no newer one."""
    fields = {"requirements": (), "facts": (), "newer": (), "tried": "", "contradictions": ()}
    return Why(problem=problem("a", "numpy"), name="numpy", version="2.4.0", **fields)
