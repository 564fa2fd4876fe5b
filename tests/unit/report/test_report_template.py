"""A value of a template is one word of bash that does nothing, unless a filter marks it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jinja2 import UndefinedError

from resolver.report.template import environment, word
from tests.functional.workspace import REPOSITORY

PIECES = [
    "'",
    '"',
    "\\",
    "$",
    "`",
    "$(touch pwned)",
    "`touch pwned`",
    ";touch pwned;",
    "\ntouch pwned\n",
    "\nEND\n",
]
PIECES += "!*~# \t\r\x1b\x7f\x85\u202e\u2028中a0{&|"
TEXTS = st.lists(
    st.sampled_from(PIECES) | st.characters(exclude_categories=["Cs"], exclude_characters="\0")
)


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(texts=st.lists(TEXTS.map("".join), min_size=20, max_size=20))
def test_word_is_the_text_and_does_nothing(texts: list[str], tmp_path: Path) -> None:
    source = "".join(
        f"printf '%s\\0' {{{{ texts[{at}] }}}}\n"
        f': "a {{{{ texts[{at}] }}}}{{{{ texts[{at}] }}}} b" # {{{{ texts[{at}] }}}}\n'
        f"cat >/dev/null <<'END'\n{{{{ texts[{at}] }}}}\nEND\n"
        for at in range(len(texts))
    )
    script = environment().from_string("set -euo pipefail\n" + source).render(texts=texts)
    done = subprocess.run(
        ["bash"], input=script.encode(), cwd=tmp_path, capture_output=True, check=True
    )
    assert done.stdout.decode().split("\0")[:-1] == texts
    assert done.stderr == b""
    assert not list(tmp_path.iterdir())


def test_word_of_plain_characters_is_as_people_write_it() -> None:
    words = {
        "a-1.0+b": "a-1.0+b",
        "a b": "'a b'",
        "": "''",
        "中文": "'中文'",
        "it's": "$'it\\x27s'",
    }
    assert {text: word(text) for text in words} == words


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ a | sh }}", "'it'\"'\"'s $x'"),
        ("{{ [a, 'b'] | words('|') }}", "'it'\"'\"'s $x'|b"),
        ("{{ {'A': a} | env }}x", "A='it'\"'\"'s $x' x"),
        ("{{ 'a.txt' | here }} {{ ['b', 'c'] | here }}", '"$here/a.txt" "$here/b" "$here/c"'),
        ('# {{ (a ~ "\\n;") | line }}', "# it's $x ;"),
        ("a{{ a if not a }}b", "ab"),
        ("{{ 1 }}{{ [a] | join }}", "1$'it\\x27s \\x24x'"),
    ],
)
def test_filters_write_what_their_place_needs(source: str, expected: str) -> None:
    assert environment().from_string(source).render(a="it's $x") == expected


def test_template_without_a_value_fails() -> None:
    with pytest.raises(UndefinedError):
        environment().from_string("{{ a }}").render()


def test_docstrings_in_scripts_begin_with_a_verb() -> None:
    """ruff reads no program within a template."""
    templates = REPOSITORY / "resolver" / "report" / "templates"
    words = set()
    for path in templates.glob("*.sh.j2"):
        text = path.read_text(encoding="utf-8")
        words |= set(re.findall(r'^ *def [^\n]*:\n +"""(\w+)', text, re.MULTILINE))
    assert "Return" in words
    assert words <= {"End", "Note", "Raise", "Remove", "Return", "Write", "Yield"}
