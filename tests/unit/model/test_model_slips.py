"""What a line that is no requirement most likely means."""

from __future__ import annotations

import pytest

from resolver.config.decode import parse_need
from resolver.config.schema import StackFile
from resolver.config.toml_files import read_text, toml_tables
from resolver.errors import InputError
from resolver.model.component import BUILT_IN
from resolver.model.slips import is_other_name, is_slip, likely_requirement

HEAD = '[stack]\nname = "s"\n'


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("transformers=4.57.3", "transformers==4.57.3"),
        ("trl[vllm] = 0.28.0", "trl[vllm]==0.28.0"),
        ("torch 2.8.0", "torch==2.8.0"),
        ("torch@2.8.0", "torch==2.8.0"),
        ("torch @ 2.8.0", "torch==2.8.0"),
        ("torch>=2.8,=<2.9", "torch>=2.8,<=2.9"),
        ("torch＝＝2.9.0", "torch==2.9.0"),
        ("torch>=2.8，<2.9", "torch>=2.8,<2.9"),
        # A label after `+`, and a number without a dot, may be anything.
        ("token=1.0+secret", ""),
        ("password=12345678", ""),
        ("https://user:secret@host/torch-2.8.0", ""),
        ("torch=2.8.0=py311_0", ""),
        ("torch==2.8.0", ""),
        ("torch", ""),
    ],
)
def test_likely_requirement(line: str, meant: str) -> None:
    assert likely_requirement(line) == meant


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("a = [\n  'x',\n[b]\n", 1),
        ('k = "[["\n# [\na = [\n  ["x]"],\nb = 1\n', 3),
        ("a = [\n  oops\n]\n", 0),
        ('a = "x\n[b]\n', 0),
    ],
)
def test_toml_error_names_the_array_without_an_end(text: str, begin: int) -> None:
    with pytest.raises(InputError) as raised:
        toml_tables(text, "s.toml")
    expected = f"does the array that begins in line {begin} lack its `]`?" if begin else ""
    assert raised.value.hint == expected


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("torch 2.8.0", "did you mean `torch==2.8.0`?"),
        ("torch@2.8.0", "did you mean `torch==2.8.0`?"),
        ("torch>=2.8,=<2.9", "did you mean `torch>=2.8,<=2.9`?"),
        ("torch＝＝2.9.0", "it has the full-width sign `＝`: write `torch==2.9.0`"),
        ("torch；extra", "it has the full-width sign `；`: write `;`"),
    ],
)
def test_requirement_error_says_what_is_meant(line: str, hint: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_need(line, BUILT_IN, direct=True)
    assert raised.value.message.endswith("` is not a requirement")
    assert raised.value.hint == hint


def test_requirement_error_shows_no_password() -> None:
    with pytest.raises(InputError) as raised:
        parse_need("https://user:secret@host/x，", BUILT_IN, direct=True)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "line", "sign", "meant"),
    [
        ("requires = [“six”]\n", 3, "“", '"'),
        ('requires = ["torch"，\n  "six"]\n', 3, "，", ","),
        ('requires ＝ ["torch"]\n', 3, "＝", "="),
        ('requires = ["torch==2.9.0”]\n', 3, "”", '"'),
        ('requires = [\n  "torch"\n】\n', 5, "】", "]"),
    ],
)
def test_toml_error_names_a_full_width_sign(text: str, line: int, sign: str, meant: str) -> None:
    with pytest.raises(InputError) as raised:
        read_text(HEAD + text, StackFile, "s.toml")
    assert raised.value.where == f"s.toml:{line}"
    assert raised.value.hint == f"it has the full-width sign `{sign}`: write `{meant}`"


def test_toml_error_ignores_signs_in_strings() -> None:
    with pytest.raises(InputError) as raised:
        read_text(HEAD + 'summary = "说明：一" x\n', StackFile, "s.toml")
    assert raised.value.hint == ""


@pytest.mark.parametrize(
    ("written", "meant", "expected"),
    [
        ("tranformers", "transformers", True),
        ("transfromers", "transformers", True),
        ("vllmm", "vllm", True),
        ("numpi", "numpy", True),
        ("torchnpu", "torch-npu", True),
        ("torchair", "torchao", False),
        ("sgl-kernel", "sgl-kernel-npu", False),
        ("my-lib", "mylib2", True),
        ("my-lib", "my-libs2", False),
    ],
)
def test_slip_is_one_character_or_two_neighbours(written: str, meant: str, expected: bool) -> None:
    assert is_slip(written, meant) is expected
    assert is_slip(meant, written) is expected


@pytest.mark.parametrize(
    ("written", "meant", "expected"),
    [
        ("mindspeed-mm", "mindspeed-llm", True),
        ("mindie-llm", "mindspeed-llm", True),
        ("mindsped-llm", "mindspeed-llm", False),
        ("flash-attention", "flash-attn", False),
        ("torchnpu", "torch-npu", False),
        ("opencv-headless", "opencv-python-headless", False),
        ("accelerat", "accelerate", False),
    ],
)
def test_other_name_has_another_word(written: str, meant: str, expected: bool) -> None:
    assert is_other_name(written, meant) is expected
    assert is_other_name(meant, written) is expected
