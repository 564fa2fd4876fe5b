"""Changing a stack's text: what changes is changed, and every comment and blank line stays."""

from __future__ import annotations

import pytest
import tomli

from resolver.explain.edit import StackText

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

COMMENT = "# instead of torch==2.8.0: the plug-in's"


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029"])
def test_what_ends_a_line_for_python_alone_costs_no_comment(end: str) -> None:
    """Such come with what is copied from a page."""
    text = STACK.replace("the stack of the guide", f"the stack{end}of the guide")
    changed = StackText(text).with_line(0, "torch==2.9.0").text
    assert changed == text.replace('"torch==2.8.0",   # the plug-in\'s', f'"torch==2.9.0",   {COMMENT}')


HOSTILE = (
    '"]\nevil = ["',
    "'''\n[fact]",
    '"""\n[fact]',
    "\\",
    "\x1b]8;;x\x07\u202e",
    "a\r\nb = 1",
    "\x7f\x00",
    "# no comment",
    "\u2028[x]",
)


@pytest.mark.parametrize("value", HOSTILE)
def test_no_text_of_an_index_is_more_than_a_text(value: str) -> None:
    """Whatever it holds, it is the value of the one key that changes, and nothing in it acts on a terminal."""
    row = {"package": value, "requires": [value], "reason": value}
    stack = StackText(STACK).with_line(1, value).with_table("fact.metadata", row)
    raw = tomli.loads(STACK)
    requires = ["torch==2.8.0", value, "trl[vllm]==0.28.0"]
    assert tomli.loads(stack.text) == {
        **raw,
        "stack": {**raw["stack"], "requires": requires},
        "fact": {"metadata": [row]},
    }
    assert "# one machine" in stack.text
    assert not [char for char in stack.text if (char < " " and char != "\n") or char == "\x7f"]


def test_another_name_and_nothing_that_reads_the_same() -> None:
    assert StackText(STACK).renamed("demo-a").text == STACK.replace('name = "demo"', 'name = "demo-a"')


@pytest.mark.parametrize(
    ("number", "old", "new"),
    [
        (0, '"torch==2.8.0"', "torch==2.9.0"),
        (1, "'vllm==0.13.0'", "vllm==0.12.0"),
        (2, '"trl[vllm]==0.28.0"', "trl==1.0"),
    ],
)
def test_another_line(number: int, old: str, new: str) -> None:
    changed = STACK.replace(old, f'"{new}"').replace("# the plug-in's", COMMENT if number == 0 else "# the plug-in's")
    assert StackText(STACK).with_line(number, new).text == changed


def test_a_comment_beside_what_changes_says_of_what_it_was_written() -> None:
    text = STACK.replace('cann = "8.5.0", soc = "A2" }', "cann = '8.5.0', soc = 'A2#' } #the guide's, # and ours")
    changed = StackText(text).with_value(("target", "system", "cann"), "8.3.RC2").text
    wanted = """cann = "8.3.RC2", soc = 'A2#' } #instead of 8.5.0: the guide's, # and ours"""
    assert changed == text.replace("cann = '8.5.0', soc = 'A2#' } #the guide's, # and ours", wanted)


def test_a_comment_beside_what_changes_twice_says_what_stood_there_first() -> None:
    once = StackText(STACK).with_line(0, "torch==2.9.0")
    assert once.with_line(0, "torch==2.10.0").text == once.text.replace("2.9.0", "2.10.0")
    assert once.with_line(0, "torch==2.8.0").text == STACK.replace("'torch==2.8.0'", '"torch==2.8.0"')


def test_a_way_out_says_so_and_keeps_what_was_written_for_the_stack() -> None:
    head = "# Way out A of `demo`: what follows was written for that stack.\n"
    text = STACK.replace('summary = "demo"', 'summary = "train \\"it\\"" # ours')
    wanted = text.replace('summary = "train', 'summary = "way out A of demo (train').replace('it\\""', 'it\\")"')
    assert StackText(text).way_out("A", "demo").text == head + wanted


def test_a_way_out_says_so_in_chinese_too() -> None:
    text = STACK.replace('summary = "demo"', 'summary = "train"\nsummary-zh = "训练"')
    changed = tomli.loads(StackText(text).way_out("A", "demo").text)["stack"]
    assert (changed["summary"], changed["summary-zh"]) == ("way out A of demo (train)", "demo 的解决办法 A（训练）")


def test_a_line_with_a_marker_is_quoted_as_toml_needs_it() -> None:
    line = 'torch==2.8.0 ; platform_machine == "aarch64"'
    changed = StackText(STACK).with_line(0, line).text
    assert tomli.loads(changed)["stack"]["requires"][0] == line
    assert COMMENT in changed


def test_the_same_line_twice() -> None:
    text = STACK.replace("'vllm==0.13.0'", '"torch==2.8.0"')
    assert tomli.loads(StackText(text).with_line(1, "torch").text)["stack"]["requires"][:2] == ["torch==2.8.0", "torch"]


@pytest.mark.parametrize(
    ("numbers", "gone"),
    [
        ([0], ['    "torch==2.8.0",   # the plug-in\'s\n']),
        ([1], ["    'vllm==0.13.0',\n"]),
        ([2, 0], ['    "torch==2.8.0",   # the plug-in\'s\n', '    "trl[vllm]==0.28.0",\n']),
    ],
)
def test_without_lines(numbers: list[int], gone: list[str]) -> None:
    expected = STACK
    for row in gone:
        expected = expected.replace(row, "")
    assert StackText(STACK).without_lines(numbers).text == expected


@pytest.mark.parametrize("numbers", [[0], [1], [2], [0, 1], [1, 2], [0, 2]])
def test_without_some_of_a_list_on_one_line_keeps_the_comments(numbers: list[int]) -> None:
    text = '# a\n[stack]\nname = "s"\nrequires = ["a", "b<2", "c[x]"]  # all\n[target]\npython = "3.11"\n'
    changed = StackText(text).without_lines(numbers).text
    kept = [line for at, line in enumerate(["a", "b<2", "c[x]"]) if at not in numbers]
    assert tomli.loads(changed)["stack"]["requires"] == kept
    assert changed.startswith("# a\n")
    assert changed.count("  # all\n") == 1


def test_another_value_of_the_second_of_two_targets() -> None:
    text = '[stack]\nname = "s"\n' + '[[target]]\npython = "3.11"\n[target.system]\ncann = "8.5.0"  # here\n' * 2
    changed = StackText(text).with_value(("target", 1, "system", "cann"), "8.5.1").text
    at = text.rindex('"8.5.0"')
    assert changed == text[:at] + '"8.5.1"  # instead of 8.5.0: here\n'


def test_without_the_cut_off() -> None:
    expected = STACK.replace("exclude-newer = 2026-01-31  # the guide's day\n", "")
    assert StackText(STACK).without_cutoff().text == expected


def test_without_the_cut_off_where_the_policy_is_on_one_line() -> None:
    head, _, _ = STACK.partition("[policy]")
    text = 'policy = { prereleases = "never", exclude-newer = 2026-01-31 }\n' + head
    assert tomli.loads(StackText(text).without_cutoff().text)["policy"] == {"prereleases": "never"}


def test_with_a_cut_off_that_was_not_there() -> None:
    row = "exclude-newer = 2026-04-05\n"
    without = StackText(STACK).without_cutoff().text
    assert StackText(without).until("2026-04-05").text == without + row
    plain = '[stack]\nname = "s"\n'
    assert StackText(plain).until("2026-04-05").text == f"{plain}\n[policy]\n{row}"


def test_one_more_table_at_the_end() -> None:
    row = {"fact": "vllm-1", "reason": "we tried"}
    first = StackText(STACK).with_table("relax", row)
    assert first.text == STACK + '\n[[relax]]\nfact = "vllm-1"\nreason = "we tried"\n'
    second = first.with_table("relax", {**row, "fact": "vllm-2"})
    assert [one["fact"] for one in tomli.loads(second.text)["relax"]] == ["vllm-1", "vllm-2"]


def test_a_key_that_was_not_there_comes_after_the_others_of_its_table() -> None:
    changed = StackText(STACK).with_value(("target", "glibc"), "2.31").text
    assert changed == STACK.replace('soc = "A2" }\n', 'soc = "A2" }\nglibc = "2.31"\n')


def test_a_key_that_was_not_there_in_one_of_several_tables() -> None:
    head, policy, rest = STACK.replace("[target]", "[[target]]").partition("[policy]")
    text = policy + rest + head + '[[target]]\nplatform = "linux-x86_64"\npython = "3.10"\n'
    changed = StackText(text).with_value(("target", 1, "glibc"), "2.31").text
    assert changed == text + 'glibc = "2.31"\n'
