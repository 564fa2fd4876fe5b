"""Text for a terminal is no wider than the terminal, and no word of it is broken."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from resolver.report.document import Item, Items, Span
from resolver.report.terminal import fitted, styled, table_lines, terminal_text

SENTENCE = (
    "3 distributions are built here from their source archives: torch-npu, triton-ascend and "
    "vllm-ascend."
)
CHINESE = (
    "在这里从源码构建 3 个发行包：torch-npu、triton-ascend 和 vllm-ascend"
    "（其余的都使用预编译的 wheel）。"
)
ROWS = [
    ["stack", "target", "seconds", "result"],
    [
        "verl",
        "linux-aarch64-py311-cann8.5.0-a2",
        "12.3",
        "141 pins, 6 warnings that were not there before",
    ],
    ["trl", "linux-x86_64-py311", "1.0", "没有改动任何锁文件，因为没有可用的解决办法"],
]


def words(text: str) -> list[str]:
    return text.split()


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
@pytest.mark.parametrize("text", [SENTENCE, f"  - {SENTENCE}", f"{SENTENCE}\n\n    {SENTENCE}"])
def test_fitted_breaks_between_words(text: str, columns: int) -> None:
    lines = fitted(text, columns).split("\n")
    assert max(map(cell_len, lines)) <= columns
    assert words("\n".join(lines)) == words(text)


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_fitted_counts_a_chinese_character_as_two(columns: int) -> None:
    lines = fitted(CHINESE, columns).split("\n")
    assert max(map(cell_len, lines)) <= columns
    assert "".join("".join(lines).split()) == "".join(CHINESE.split())
    for name in ("torch-npu", "triton-ascend", "vllm-ascend", "wheel"):
        assert any(name in line for line in lines), name
    assert not [line for line in lines if line.lstrip()[:1] in "，。：、）"]


def test_fitted_leaves_alone_what_fits_or_has_no_space() -> None:
    path = "/a/folder/whose/path/is/longer/than/the/terminal/is/wide"
    assert fitted(f"short\n  {path}\n", 40) == f"short\n  {path}\n"


def test_fitted_goes_on_with_the_branches_of_a_tree() -> None:
    line = "│   ├── base 1.0 (>=1.0,<2.0; another requirement)"
    assert fitted(line, 34) == "│   ├── base 1.0 (>=1.0,<2.0;\n│   │     another requirement)"


def test_fitted_gives_styles_no_width() -> None:
    line = styled("twenty columns of it", True, "bold yellow")
    assert fitted(line, 20) == line


@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_table_lines_break_no_word(columns: int, color: bool) -> None:
    lines = [
        line.replace("\x1b[1m", "").replace("\x1b[0m", "")
        for line in table_lines(ROWS, columns, color=color)
    ]
    assert max(map(cell_len, lines)) <= columns
    for row in ROWS[1:]:
        for word in words(" ".join(row)):
            if word.isascii():
                assert [line for line in lines if word in line], word


def test_table_lines_keep_labels_whole_beside_a_long_path() -> None:
    """The sentence is as narrow as its path, and the label stays on one line."""
    rows = [("result", "why"), ("to decide", f"look it up: {'x' * 40} and add it there")]
    lines = table_lines(rows, 52)
    assert lines[1].startswith("to decide  look it up:")
    assert max(map(len, lines)) <= 52
    narrow = table_lines(rows, 48)
    assert narrow[1].startswith("to     ")


def test_origin_is_apart_from_a_word_as_wide_as_its_column() -> None:
    """The name of a project in a reason may be longer than the column of reasons."""
    name = "model-hosting-container-standards<1.0.0,>=0.1.9"
    items = [
        Item(lines=((Span(text),),), origin=(Span(origin),), label="1")
        for text, origin in (
            (
                f"vllm 0.11.1 needs {name}",
                "vllm-0.11.1.tar.gz setup.py of a long path/with/more/parts",
            ),
            ("the stack asks for it", "demo.toml:4"),
        )
    ]
    for columns in range(90, 140):
        shown = terminal_text([Items(tuple(items))], "en", columns)
        assert name in words(shown)
