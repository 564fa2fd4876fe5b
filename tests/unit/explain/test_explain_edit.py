"""Changing a stack's text: what changes is changed, and every comment and blank line stays."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date

import pytest
import tomli

from resolver.explain.stack_text import StackText, table_text, with_notes_in

STACK = """\
# the stack of the guide
[stack]
name = "demo"  # its name
summary = "demo"
requires = [
    "torch==2.8.0",   # the plug-in's
    'vllm==0.13.0',

    # what we train
    "trl[vllm]==0.28.0",
]

[target]  # one machine
python = "3.11"
platform = "linux-aarch64"
system = { cann = "8.5.0", soc = "A2" }

[policy]
prereleases = "never"
exclude-newer = 2026-01-31  # the guide's day
"""

CUTOFF = ("policy", "exclude-newer")
COMMENT = "# instead of torch==2.8.0: the plug-in's"


HOSTILE = [
    '"]\nevil = ["',
    "'''\n[fact]",
    '"""\n[fact]',
    "\\",
    "\x1b]8;;x\x07\u202e",
    "a\r\nb = 1",
    "\x7f\x00",
]
HOSTILE += ["# no comment", "\u2028[x]"]


@pytest.mark.parametrize("value", HOSTILE)
def test_stack_text_of_an_index_is_only_a_text(value: str) -> None:
    """It is the value of the one key that changes, and nothing in it acts on a terminal."""
    row = {"package": value, "requires": [value], "reason": value}
    stack = StackText(STACK).with_line(1, value).with_table(table_text("fact.metadata", row))
    raw = tomli.loads(STACK)
    requires = ["torch==2.8.0", value, "trl[vllm]==0.28.0"]
    assert tomli.loads(stack.text) == {
        **raw,
        "stack": {**raw["stack"], "requires": requires},
        "fact": {"metadata": [row]},
    }
    assert "# one machine" in stack.text
    assert not [char for char in stack.text if (char < " " and char != "\n") or char == "\x7f"]


LINE = '"torch==2.8.0",   # the plug-in\'s'
MARKED = 'torch==2.8.0 ; platform_machine == "aarch64"'


@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        (lambda it: it.with_key(("stack", "name"), "demo-a"), 'name = "demo"', 'name = "demo-a"'),
        (lambda it: it.with_line(0, "torch==2.9.0"), LINE, f'"torch==2.9.0",   {COMMENT}'),
        (
            lambda it: it.with_line(0, MARKED),
            LINE,
            f'"{MARKED}",   {COMMENT}'.replace('"aarch64"', '\\"aarch64\\"'),
        ),
        # of two changes the comment says what stood there first, and nothing if it does so again
        (
            lambda it: it.with_line(0, "a").with_line(0, "torch==2.10.0"),
            LINE,
            f'"torch==2.10.0",   {COMMENT}',
        ),
        (lambda it: it.with_line(0, "a").with_line(0, "torch==2.8.0"), LINE, LINE),
        (lambda it: it.with_line(1, "vllm==0.12.0"), "'vllm==0.13.0'", '"vllm==0.12.0"'),
        (lambda it: it.with_line(2, "trl==1.0"), "trl[vllm]==0.28.0", "trl==1.0"),
        (lambda it: it.without_lines([0]), f"    {LINE}\n", ""),
        (lambda it: it.without_lines([1]), "    'vllm==0.13.0',\n", ""),
        (lambda it: it.without_lines([2]), '    "trl[vllm]==0.28.0",\n', ""),
        (lambda it: it.with_component(0, "cann", "8.3.RC2"), '"8.5.0"', '"8.3.RC2"'),
        (
            lambda it: it.with_component(0, "glibc", "2.31"),
            'soc = "A2" }\n',
            'soc = "A2" }\nglibc = "2.31"\n',
        ),
        (lambda it: it.without(CUTOFF), "exclude-newer = 2026-01-31  # the guide's day\n", ""),
        (lambda it: it.with_key(CUTOFF, date(2026, 4, 5)), "2026-01-31", "2026-04-05"),
    ],
)
@pytest.mark.parametrize("end", ["", "\x85", "\u2028"])  # the latter end a line for Python alone
def test_stack_text_changes_nothing_else(
    change: Callable[[StackText], StackText], old: str, new: str, end: str
) -> None:
    text = STACK.replace("stack of", f"stack{end}of")
    assert change(StackText(text)).text == text.replace(old, new)


@pytest.mark.parametrize("numbers", [[0], [1], [2], [0, 1], [1, 2], [0, 2]])
def test_stack_text_without_lines_keeps_comments(numbers: list[int]) -> None:
    lines = ["a", "b<2", "c[x]"]
    text = '# a\n[stack]\nname = "s"\nrequires = {}  # all\n[target]\npython = "3.11"\n'
    kept = [line for at, line in enumerate(lines) if at not in numbers]
    assert StackText(text.format(json.dumps(lines))).without_lines(numbers).text == text.format(
        json.dumps(kept)
    )


def test_stack_text_comment_says_which_value_changed() -> None:
    text = STACK.replace(
        'cann = "8.5.0", soc = "A2" }', "cann = '8.5.0', soc = 'A2#' } #the guide's, # and ours"
    )
    changed = StackText(text).with_component(0, "cann", "8.3.RC2").text
    wanted = """cann = "8.3.RC2", soc = 'A2#' } #instead of 8.5.0: the guide's, # and ours"""
    assert changed == text.replace("cann = '8.5.0', soc = 'A2#' } #the guide's, # and ours", wanted)


def test_notes_of_an_edit_are_in_a_language_and_others_stay() -> None:
    text = STACK.replace("'vllm==0.13.0',", "'vllm==0.13.0',  # instead of vllm==0.12.0: mine")
    first = StackText(text).with_line(0, "torch==2.9.0").text
    in_chinese = with_notes_in("zh", first, text)
    assert in_chinese == first.replace("instead of torch==2.8.0: ", "原为 torch==2.8.0：")
    second = StackText(in_chinese).with_line(0, "torch==2.10.0").text
    assert second == first.replace("torch==2.9.0", "torch==2.10.0")
    assert with_notes_in("en", second, in_chinese) == second
    assert StackText(in_chinese).with_line(0, "torch==2.8.0").text == text


def test_stack_text_way_out_says_so_in_both_languages() -> None:
    head = "# Way out A of `demo`: what follows was written for that stack.\n"
    text = STACK.replace(
        'summary = "demo"', 'summary = "train \\"it\\""  # ours\nsummary-zh = "训练"'
    )
    wanted = text.replace('"train', '"way out A of demo (train').replace('it\\""', 'it\\")"')
    wanted = wanted.replace("训练", "demo 的解决办法 A（训练）")
    assert StackText(text).way_out("A", "demo", "demo").text == head + wanted


def test_stack_text_way_out_has_a_summary_in_each_language() -> None:
    changed = StackText(STACK).way_out("A", "demo", "demo").text
    stack = tomli.loads(changed)["stack"]
    assert stack["summary"] == "way out A of demo (demo)"
    assert stack["summary-zh"] == "demo 的解决办法 A（demo）"


def test_stack_text_policy_on_one_line_or_none() -> None:
    head, _, _ = STACK.partition("[policy]")
    text = 'policy = { prereleases = "never", exclude-newer = 2026-01-31 }\n' + head
    assert tomli.loads(StackText(text).without(CUTOFF).text)["policy"] == {"prereleases": "never"}
    assert (
        StackText(head).with_key(CUTOFF, date(2026, 4, 5)).text
        == f"{head}[policy]\nexclude-newer = 2026-04-05\n"
    )
