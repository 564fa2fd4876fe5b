"""What other packages say in English is Chinese within a Chinese sentence."""

from __future__ import annotations

import pytest

from resolver.catalog import trust
from resolver.lock import phrases
from resolver.render.quoted import caution, quoted


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (trust._NOT_READ.format(id="a-fact"), "没有读取代码仓库，因此它的依赖只以事实 `a-fact` 为依据"),
        (trust._NOT_SAID.format(id="a-fact"), "没有核对代码仓库中的文件，因此它的依赖只以事实 `a-fact` 为依据"),
        ("it answered 404", "它返回了 404"),
        ("whatever else", "whatever else"),
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
