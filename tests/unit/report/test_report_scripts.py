"""What scripts of a lock tell: each message stands there in English and in Chinese."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import pytest

from resolver.lock import file as lock_file
from resolver.lock.bundle import Served
from resolver.report.activation import activation
from resolver.report.script import bundle_script, script

_LOCKS = Path("locks")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_VALUE = re.compile(r"\$(?:\{(\w+)|(\w+|\*)|\((\w+))")
_CALL = re.compile(r"""(?:^|[ (])(?:_ascend_lock_say|mismatch|fail|say) (?=["'$])(?!"\$@")""")
_SERVED = [
    Served(
        stack="demo", target=f"linux-{cpu}-py311", platform=f"linux-{cpu}", python="3.11", folder=f"locks/demo/{cpu}"
    )
    for cpu in ("aarch64", "x86_64")
]


def _scripts() -> Iterator[tuple[str, str]]:
    for folder in sorted(path.parent for path in _LOCKS.glob("*/*/lock.toml")):
        lock = lock_file.read(folder)
        assert lock is not None
        name = "/".join(folder.parts[-2:])
        yield f"{name}/install.sh", script(lock)
        yield f"{name}/activate.sh", activation(lock)
    yield from bundle_script(_SERVED).items()


_SCRIPTS = dict(_scripts())


def _messages(text: str) -> Iterator[list[str]]:
    """The arguments of each call that tells something, as they are written."""
    for line in text.replace("\\\n", " ").splitlines():
        for found in _CALL.finditer(line):
            if not line.lstrip().startswith("#"):
                lexer = shlex.shlex(line[found.end() :], posix=True, punctuation_chars=";|&()")
                lexer.whitespace_split = True
                words = []
                for word in lexer:
                    if word and word[0] in ";|&()":
                        break
                    words.append(word)
                yield words


@pytest.mark.parametrize("name", _SCRIPTS)
def test_each_message_is_there_in_both_languages_with_the_same_values(name: str) -> None:
    for words in _messages(_SCRIPTS[name]):
        assert len(words) in (2, 3, 4), words
        english, chinese = (words[:1], words[1:]) if len(words) == 2 else (words[:2], words[2:])
        for one, other in zip_longest(english, chinese, fillvalue=""):
            assert one.isascii(), one
            assert _CHINESE.search(other) or other == one or other.startswith("$unnamed_tool"), other
            assert _values(other.replace("_zh", "")) == _values(one), (one, other)


def _values(text: str) -> set[str]:
    return {"".join(names) for names in _VALUE.findall(text)}


def test_there_are_messages() -> None:
    counts = [len(list(_messages(text))) for name, text in _SCRIPTS.items() if name.endswith("/install.sh")]
    assert min(counts) > 20


@pytest.mark.parametrize("name", _SCRIPTS)
def test_no_name_of_a_variable_is_followed_by_chinese(name: str) -> None:
    """A bash in a locale of single bytes would take it for a part of the name."""
    assert not re.findall(r"\$[A-Za-z_]\w*(?=[^\x00-\x7f])", _SCRIPTS[name], re.ASCII)
