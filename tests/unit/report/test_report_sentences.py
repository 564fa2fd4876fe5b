"""Statements as sentences: each kind, singular and plural, in both languages."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from resolver.model import fact as facts
from resolver.model.dependency import NeedSource
from resolver.model.explanation import Closing, Contradiction
from resolver.model.release import Reason, Rejection
from resolver.model.resolution import (
    Asks,
    Forbids,
    Has,
    Lack,
    Lacks,
    Needs,
    Refusal,
    Shares,
    Span,
    Statement,
    Unread,
)
from resolver.report.explanation.places import place_of, with_strength
from resolver.report.explanation.sentences import (
    claim,
    closing_sentence,
    explanation_sentence,
    reason_of,
    statement_details,
)
from tests.unit.report.samples import MATRIX_FACT, fact

ONE = (Span("0.28.0", "0.28.0", 1),)
TWO = (Span("0.27.0", "0.28.0", 2),)
FIVE = (Span("0.27.0", "0.29.1", 5),)
WHEEL = Rejection("x-1-cp312-none-any.whl", Reason.TAGS, "cp312-none-any")
OTHER = Rejection("x-1-cp310-none-any.whl", Reason.TAGS, "cp310-none-any")
ARCHIVE = Rejection("x-1.tar.gz", Reason.PYTHON, "Requires-Python >=3.12")


def needs(versions: tuple[Span, ...], source: NeedSource = NeedSource.METADATA) -> Needs:
    return Needs(subject="trl", versions=versions, needs="vllm<0.13.0", source=source, where="trl.whl")


def lacks(lack: Lack, *refusals: Refusal, **more: object) -> Lacks:
    given: dict[str, object] = {"subject": "x", "wanted": "", "where": "pypi", "count": len(refusals), **more}
    return Lacks(lack=lack, refusals=refusals, **given)  # type: ignore[arg-type]


def refusal(version: str, *files: Rejection) -> Refusal:
    return Refusal(version=version, files=files)


@pytest.mark.parametrize(
    ("statement", "english", "chinese"),
    [
        (
            Asks(text="trl[vllm]==0.28.0", where="a:1"),
            "the stack asks for trl[vllm]==0.28.0",
            "软件栈要求 trl[vllm]==0.28.0",
        ),
        (Asks(text="numpy==2", where="--package"), "suppose numpy==2 is used", "假设采用 numpy==2"),
        (Has(component="cann", value="8.5.0", where="a:2"), "the target has CANN 8.5.0", "目标机器的 CANN 为 8.5.0"),
        (needs(ONE), "trl 0.28.0 needs vllm<0.13.0", "trl 0.28.0 要求 vllm<0.13.0"),
        (needs(TWO), "trl 0.27.0 and 0.28.0 need vllm<0.13.0", "trl 0.27.0 和 0.28.0 要求 vllm<0.13.0"),
        (
            needs((Span("1.0", "1.0", 1), *FIVE)),
            "trl 1.0 and 0.27.0 to 0.29.1 (5 releases) need vllm<0.13.0",
            "trl 1.0 和 0.27.0 至 0.29.1（共 5 个版本）要求 vllm<0.13.0",
        ),
        (needs(()), "every release of trl needs vllm<0.13.0", "trl 的任一版本要求 vllm<0.13.0"),
        (needs(ONE, NeedSource.BUILD), "building trl 0.28.0 needs vllm<0.13.0", "构建 trl 0.28.0 需要 vllm<0.13.0"),
        (
            Forbids(subject="trl", versions=TWO, fact=fact(facts.Excludes, "trl")),
            "trl 0.27.0 and 0.28.0 must not be used: Somebody read it.",
            "不能使用 trl 0.27.0 和 0.28.0：有人读到过。",
        ),
        (
            Forbids(subject="deep-ep", versions=ONE, fact=fact(facts.Names, "deep-ep", index="huawei")),
            "deep-ep 0.28.0 on `huawei` is not what its name suggests: Somebody read it.",
            "软件源 `huawei` 上的 deep-ep 0.28.0 名不副实：有人读到过。",
        ),
        (
            Shares(fact=fact(facts.Collides, "triton-ascend", other="triton", module="triton")),
            "triton-ascend and triton both install the module `triton`, so only one of them can be installed",
            "triton-ascend 与 triton 都提供模块 `triton`，最多只能安装其中一个",
        ),
        (
            Shares(fact=fact(facts.Absent, "triton-ascend", other="triton")),
            "triton must not be installed together with triton-ascend: Somebody read it.",
            "有 triton-ascend 的环境中不能有 triton：有人读到过。",
        ),
        (
            lacks(Lack.SOURCE, wanted=">=9.9", newest="2.0"),
            "the stack takes x from a commit with version 2.0, which does not match `>=9.9`",
            "软件栈从指定的 commit 安装 x，其版本是 2.0，不符合 `>=9.9`",
        ),
        (lacks(Lack.PROJECT), "no index has a project `x`", "软件源中没有名为 `x` 的项目"),
        (
            lacks(Lack.RELEASE, wanted="==9.9", newest="2.0"),
            "no release of x matches `==9.9`; the newest is 2.0",
            "x 没有符合 `==9.9` 的版本，最新版本是 2.0",
        ),
        (
            lacks(Lack.RELEASE, wanted="==1.5", newest="2.0", nearest=("1.4", "1.6")),
            "no release of x matches `==1.5`; the nearest are 1.4 and 1.6",
            "x 没有符合 `==1.5` 的版本，最接近的是 1.4 和 1.6",
        ),
        (
            lacks(Lack.RELEASE, wanted="==0.5", newest="2.0", nearest=("0.9",)),
            "no release of x matches `==0.5`; the nearest is 0.9",
            "x 没有符合 `==0.5` 的版本，最接近的是 0.9",
        ),
        (lacks(Lack.RELEASE, wanted="==9.9"), "no release of x matches `==9.9`", "x 没有符合 `==9.9` 的版本"),
        (lacks(Lack.RELEASE), "the index page of x lists no release", "软件源的 x 页面没有列出任何版本"),
        (
            lacks(Lack.RELEASE, wanted="==9.9", unread=(Unread(Reason.NAME, 1, "x.whl"),)),
            "the index page of x lists no recognisable release: 1 file has an unreadable file name (x.whl)",
            "软件源的 x 页面没有列出任何可识别的版本：1 个文件无法解析文件名（x.whl）",
        ),
        (
            lacks(Lack.RELEASE, unread=(Unread(Reason.FOREIGN, 38, "y-1.zip"), Unread(Reason.FORMAT, 2, "x-1.exe"))),
            (
                "the index page of x lists no recognisable release: 38 files belong to another project"
                " (such as y-1.zip), 2 files are not a wheel, .tar.gz or .zip (such as x-1.exe)"
            ),
            (
                "软件源的 x 页面没有列出任何可识别的版本：38 个文件属于其他项目（例如 y-1.zip），"
                "2 个文件不是 wheel、.tar.gz 或 .zip 格式（例如 x-1.exe）"
            ),
        ),
        (
            lacks(Lack.FILE, refusal("1", WHEEL)),
            "x 1 has no file for the target: x-1-cp312-none-any.whl is built for another platform or Python",
            "x 1 没有目标机器可用的文件：x-1-cp312-none-any.whl 是为其他平台或其他 Python 版本构建的",
        ),
        (
            lacks(Lack.FILE, refusal("1", WHEEL, OTHER)),
            "x 1 has no file for the target: each is built for another platform or Python",
            "x 1 没有目标机器可用的文件：每个文件都是为其他平台或其他 Python 版本构建的",
        ),
        (
            lacks(Lack.FILE, refusal("1", WHEEL, OTHER, ARCHIVE)),
            (
                "x 1 has no file for the target: 2 files are built for another platform or Python,"
                " 1 file needs a different Python"
            ),
            "x 1 没有目标机器可用的文件：2 个文件是为其他平台或其他 Python 版本构建的，1 个文件要求其他 Python 版本",
        ),
        (
            lacks(Lack.FILE, refusal("2", WHEEL), refusal("1", ARCHIVE), count=9),
            "x 2, 1 and 7 more releases have no file for the target",
            "x 2、1 和另外 7 个版本都没有目标机器可用的文件",
        ),
        (
            lacks(Lack.FILE, wanted="<2"),
            "every release of x matching `<2` has no file for the target",
            "x（`<2`）的任一版本没有目标机器可用的文件",
        ),
        (
            lacks(Lack.UNUSABLE, refusal("1", Rejection("x-1.whl", Reason.METADATA, "its METADATA is empty"))),
            "x 1 cannot be used: its METADATA is empty",
            "x 1 无法使用：its METADATA is empty",
        ),
        (
            lacks(Lack.UNUSABLE, refusal("1", Rejection("x-1.whl", Reason.METADATA))),
            "x 1 cannot be used: x-1.whl has unreadable metadata",
            "x 1 无法使用：x-1.whl 无法读取元数据",
        ),
        (
            lacks(Lack.PRERELEASE, refusal("2rc1")),
            "x 2rc1 is a pre-release, which the policy does not allow",
            "x 2rc1 是预发布版本，而策略不允许使用预发布版本",
        ),
        (
            lacks(Lack.NEEDLESS, refusal("2rc1")),
            "x 2rc1 is a pre-release, which the policy allows only if no final release fits the requirements",
            "x 2rc1 是预发布版本，只有没有正式版本满足要求时，策略才允许使用",
        ),
        (
            lacks(Lack.YANKED, refusal("2"), refusal("1")),
            "x 2 and 1 were yanked, and neither the stack nor a fact pins any of them",
            "x 2 和 1 都已被撤回（yanked），软件栈和事实都没有指定使用其中任何一个",
        ),
        (
            lacks(Lack.CUTOFF, refusal("2"), count=2),
            "x 2 and 1 more release were not uploaded before the cut-off, according to the index",
            "根据软件源的记录，x 2 和另外 1 个版本都不是在截止时间之前上传的",
        ),
        (
            lacks(Lack.UNREACHABLE, unreachable=("huawei",)),
            "index `huawei` could not be reached; it may have suitable releases of x",
            "无法访问软件源 `huawei`，其中可能有满足要求的 x 版本",
        ),
    ],
)
def test_sentences(statement: Statement, english: str, chinese: str) -> None:
    assert explanation_sentence(statement, "en") == english
    assert explanation_sentence(statement, "zh") == chinese


def test_details_name_the_files_that_the_sentence_does_not() -> None:
    assert statement_details(lacks(Lack.FILE, refusal("1", WHEEL)), "en") == ()
    assert statement_details(lacks(Lack.FILE, refusal("1", WHEEL, ARCHIVE)), "en") == (
        "x-1-cp312-none-any.whl is built for another platform or Python",
        "x-1.tar.gz needs a different Python (Requires-Python >=3.12)",
    )
    assert statement_details(lacks(Lack.FILE, refusal("1", *[WHEEL] * 6)), "en")[-1] == "and 2 more files"
    assert statement_details(lacks(Lack.FILE, refusal("2", WHEEL, OTHER), refusal("1", ARCHIVE)), "zh") == (
        "2：每个文件都是为其他平台或其他 Python 版本构建的（x-1-cp312-none-any.whl、x-1-cp310-none-any.whl）",
        "x-1.tar.gz 要求其他 Python 版本（Requires-Python >=3.12）",
    )
    assert statement_details(Asks(text="x", where="a:1"), "en") == ()
    dynamic = refusal("1", Rejection("x-1.tar.gz", Reason.DYNAMIC, "`x-1.tar.gz` has no static metadata"))
    assert statement_details(lacks(Lack.UNUSABLE, dynamic), "zh") == (
        (
            "若有事实写明它的依赖即可使用：在 matrices/facts/x.toml 中写 [[metadata]]"
            '（versions = "==1"，requires = […] 照其 setup.py 填写；见 matrices/README.md）'
        ),
    )


def test_a_file_that_needs_more_than_another_is_no_further_way_in() -> None:
    wheels = [Rejection(f"x-1-cp{python}-cp{python}-manylinux_2_28_aarch64.whl", Reason.TAGS) for python in (311, 312)]
    machine = (("processor", "aarch64"), ("glibc", "2.17"), ("python", "3.11"))
    statement = replace(lacks(Lack.FILE, refusal("1", *wheels)), machine=machine)
    assert explanation_sentence(statement, "en") == (
        "x 1 has no file for the target: each needs glibc 2.28 (the target has glibc 2.17)"
    )


@pytest.mark.parametrize(
    ("count", "english", "chinese"),
    [
        (1, "this cannot hold", "这一条无法成立"),
        (2, "these 2 cannot both hold, but either one can alone", "这 2 条不能同时成立，去掉任意一条即可"),
        (
            4,
            "these 4 cannot all hold together, but any 3 of them can",
            "这 4 条不能同时成立，去掉其中任意一条，其余 3 条可以同时成立",
        ),
    ],
)
def test_claims(count: int, english: str, chinese: str) -> None:
    contradiction = Contradiction(statements=(needs(ONE),) * count, closing=None)
    assert claim(contradiction, "en") == english
    assert claim(contradiction, "zh") == chinese


def test_closings() -> None:
    assert closing_sentence(Closing(subject="a", numbers=(2,)), "en") == "2 leaves no choice for a"
    assert closing_sentence(Closing(subject="a", numbers=(2, 4)), "en") == "2 and 4 leave no choice for a"
    assert closing_sentence(Closing(subject="a", numbers=(2, 4)), "zh") == "根据第 2、4 条，a 没有可选的版本"


@pytest.mark.parametrize(
    ("statement", "english", "chinese"),
    [
        (needs(ONE), "metadata of trl.whl", "trl.whl 的元数据"),
        (needs(ONE, NeedSource.BUILD), "build-system.requires of trl.whl", "trl.whl 的 build-system.requires"),
        (lacks(Lack.PROJECT), "looked up on pypi", "查询的软件源：pypi"),
        (lacks(Lack.UNUSABLE, refusal("1", WHEEL)), WHEEL.filename, WHEEL.filename),
        (lacks(Lack.UNUSABLE, where="x-1.whl"), "x-1.whl", "x-1.whl"),
        (Asks(text="x", where="a.toml:1"), "a.toml:1", "a.toml:1"),
        (
            Needs(subject="x", versions=ONE, needs="y", source=NeedSource.FACT, where="m.toml:3", fact=MATRIX_FACT),
            "m.toml:3 (vendor)",
            "m.toml:3（厂商）",
        ),
    ],
)
def test_places(statement: Statement, english: str, chinese: str) -> None:
    assert with_strength(place_of(statement, "en"), "en") == english
    assert with_strength(place_of(statement, "zh"), "zh") == chinese


def test_a_fact_without_chinese_is_told_in_english() -> None:
    assert reason_of(fact(facts.Excludes, "x", reason_zh=""), "zh") == "Somebody read it."
    assert reason_of(fact(facts.Excludes, "x"), "zh") == "有人读到过。"


def test_of_releases_all_over_the_ends_and_the_number_are_told() -> None:
    """As of candidates between releases, each a run of its own."""
    candidates = tuple(Span(f"2.{at}rc1", f"2.{at}rc1", 1) for at in range(9, 0, -1))
    told = needs(candidates)
    assert explanation_sentence(told, "en") == "9 of the releases of trl from 2.1rc1 to 2.9rc1 need vllm<0.13.0"
    assert explanation_sentence(told, "zh") == "trl 自 2.1rc1 至 2.9rc1 之间的 9 个版本要求 vllm<0.13.0"
    assert "2.5rc1" in explanation_sentence(needs(candidates[1:]), "en")
