"""What other packages say in English is Chinese within a Chinese sentence."""

from __future__ import annotations

import pytest

from resolver.index import trust
from resolver.lock import phrases
from resolver.report.quoted import caution, heard, quoted


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (trust._NOT_READ.format(id="a-fact"), "没有读取代码仓库，因此它的依赖只以事实 `a-fact` 为依据"),
        (trust._NOT_SAID.format(id="a-fact"), "没有核对代码仓库中的文件，因此它的依赖只以事实 `a-fact` 为依据"),
        ("it answered 404", "它返回了 404"),
        ("whatever else", "whatever else"),
        ("Connection refused (4 tries).", "Connection refused（尝试 4 次）。"),
    ],
)
def test_a_reason(said: str, expected: str) -> None:
    assert (quoted(said, "en"), quoted(said, "zh")) == (said, expected)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            phrases.UNREACHABLE(index="huawei", projects="torch-npu (from pypi), triton-ascend (from pypi)"),
            "无法访问软件源 `huawei`；未经它锁定的有：torch-npu（来自 pypi）、triton-ascend（来自 pypi）",
        ),
        (
            phrases.ELSEWHERE(projects="torch on cpu and pypi (it is from own now), x on cpu (it is from own now)"),
            phrases.ELSEWHERE.zh.format(projects="torch 在 cpu、pypi（现在来自 own）、x 在 cpu（现在来自 own）"),
        ),
        (
            f"verl 0.6: {trust._NOT_READ.format(id='a-fact')}",
            "verl 0.6：没有读取代码仓库，因此它的依赖只以事实 `a-fact` 为依据",
        ),
        ("verl: what a stack says of itself (from here)", "verl: what a stack says of itself (from here)"),
    ],
)
def test_what_a_lock_warns_of(said: str, expected: str) -> None:
    assert caution(said, ()) == expected


def test_a_warning_of_an_index_is_one_chinese_sentence() -> None:
    why = "Name or service not known (1 try)."
    said = f"Index `a` cannot be reached. {why} Its projects are looked up on the next index bound to them."
    told = "Name or service not known（尝试 1 次）。其中的项目改从为其绑定的下一个软件源查找。"
    assert heard(said, "zh") == f"无法访问软件源 `a`：{told}"
