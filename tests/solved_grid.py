"""A small solved grid: two uses, two SoCs, four releases, and every outcome."""

from __future__ import annotations

from typing import Any

from resolver.model.matrix import Answer, Cell, CellOutcome, Matrix, Use, stack_text
from resolver.model.message import verbatim

USES = (
    Use(
        name="serve",
        summary="Serving with vLLM",
        summary_zh="用 vLLM 提供推理服务",
        requires=("torch", "vllm"),
    ),
    Use(
        name="trl",
        summary="Training with TRL",
        summary_zh="用 TRL 训练",
        requires=("torch", "TRL[vllm]>=0.2"),
        newest=2,
    ),
)
OLD_CANNS = tuple(f"7.{minor}.RC1" for minor in range(8))
HOSTILE = "</script><script>document.title = 'taken'</script><img src=x> \u202eand `torch`"
PINS = {
    "numpy": "1.26.4",
    "torch": "2.8.0+cpu",
    "vllm": "0.18.0",
    "vllm-ascend": "0.18.0",
    "zipp": "3.23.0",
}


def answer(
    use: str,
    release: str,
    cann: str,
    soc: str,
    outcome: CellOutcome,
    python: str = "3.11",
    **told: Any,
) -> Answer:
    cell = Cell(
        use=use,
        package="vllm-ascend",
        release=release,
        toolkit=cann,
        chip=soc,
        platform="linux-aarch64",
        python=python,
        glibc="2.35",
    )
    one = next(one for one in USES if one.name == use)
    if outcome in (CellOutcome.LOCKS, CellOutcome.PRACTICES):
        pins = PINS | {"vllm-ascend": release} | ({"trl": "0.28.0"} if use == "trl" else {})
        told = {
            "pins": pins,
            "practices": ("opencv",) if outcome is CellOutcome.PRACTICES else (),
        } | told
    else:
        told = {
            "reason": verbatim(
                f"`vllm-ascend` {release} needs `base`", f"`vllm-ascend` {release} 要求 `base`"
            )
        } | told
    stack = stack_text(cell, one, told.get("practices", ()))
    return Answer(cell=cell, outcome=outcome, stack=stack, **told)


def solved_grid() -> Matrix:
    return Matrix(
        package="vllm-ascend",
        date="2026-11-26",
        inputs="0f" * 32,
        releases={"vllm-ascend": ("0.20.0", "0.19.0", "0.19.0rc1", "0.18.0", "0.17.0")},
        toolkits=(*OLD_CANNS, "8.3.RC1", "8.5.1", "9.0.0"),
        uses=USES,
        answers=(
            answer("serve", "0.20.0", "9.0.0", "A2", CellOutcome.UNDECIDED, cause="triton-ascend"),
            answer(
                "serve",
                "0.19.0",
                "9.0.0",
                "A2",
                CellOutcome.CONFLICT,
                cause="base",
                pairing=("vllm==0.19.0",),
            ),
            answer("serve", "0.19.0", "8.5.1", "A2", CellOutcome.PRACTICES),
            answer(
                "serve", "0.18.0", "8.5.1", "A2", CellOutcome.LOCKS, warnings=(verbatim(HOSTILE),)
            ),
            answer("serve", "0.17.0", "8.3.RC1", "A2", CellOutcome.LOCKS),
            answer(
                "serve", "0.19.0", "9.0.0", "A2", CellOutcome.CONFLICT, python="3.12", cause="base"
            ),
            answer("serve", "0.19.0rc1", "8.5.1", "A3", CellOutcome.LOCKS),
            answer("serve", "0.18.0", "8.5.1", "A3", CellOutcome.LOCKS),
            *(answer("serve", "0.17.0", cann, "A3", CellOutcome.LOCKS) for cann in OLD_CANNS),
            answer(
                "trl",
                "0.19.0",
                "8.5.1",
                "A2",
                CellOutcome.LOCKS,
                unpaired=("vllm-ascend 0.19.0, trl 0.28.0",),
            ),
            answer(
                "trl",
                "0.19.0",
                "9.0.0",
                "A3",
                CellOutcome.EXPECTED,
                pins=PINS,
                unhashed=("base-1.0-py3-none-any.whl",),
            ),
        ),
    )
