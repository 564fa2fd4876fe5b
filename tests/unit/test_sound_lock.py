"""A lock.toml that was edited is refused before a script is made of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from resolver.errors import InputError
from resolver.lock import file
from tests.functional.workspace import REPOSITORY

COMMITTED = REPOSITORY / "tests" / "fuzz" / "corpus" / "lock" / "verl-one-step-off.toml"

PASSED_OVER = """\
[[passed-over]]
project = "numpy"
version = "1 x"
archive = "numpy-2.tar.gz"
archive-of = "numpy"
archive-version = "2"
index = "pypi"

[[pin]]
"""


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('platform = "linux-aarch64"', 'platform = "linux-$(touch pwned)"', "`linux-$(touch pwned)` is not a platform"),
        ('python = "3.10"', 'python = "3.10 $(x)"', "`3.10 $(x)` is not the target's Python"),
        ('cann = "8.3.RC1"', 'cann = "8`x`"', "`8`x`` is not a CANN or HDK version such as"),
        ('stack = "verl-one-step-off"', 'stack = "x\\ny"', "`x\ny` is not the name of the stack"),
        ('"2026-01-01T00:00:00+00:00"', '"9999-12-31T23:59:59-23:59"', "is in no year from 1 to 9999 of UTC"),
        ('"2026-01-01T00:00:00+00:00"', '"2026-01-01T00:00:00"', "names no time zone"),
        ('name = "numpy"', 'name = "num py"', "`num py` is not the name of a project"),
        ('    "numpy",\n', "", "`numpy` is in no stage"),
        ('title = "', 'title = "\\u202e', "has characters that do not print"),
        ('commit = "', 'commit = "x', "a commit is 40 hexadecimal digits, in lower case"),
        ('url = "https://', 'url = "https://u:p@', "the address contains credentials"),
        ('sha256 = "', 'sha256 = "$(x)', "is not the sha256 of"),
        ('name = "pypi"', 'name = "huawei"', "`numpy` is from `pypi`, which is no index of the lock"),
        ('{ name = "pypi" }', '{ name = "pypi" }, { name = "pypi" }', "`pypi` is an index 2 times"),
        (
            'distributions"\nmode = "wheels"',
            'distributions"\nmode = "built-here"',
            "`numpy` is wheels, and in a stage that is built-here",
        ),
        ('name = "numpy-', 'name = "numba-', " is not a file of numpy "),
        ('name = "numpy-', 'name = "numpy-1', " is not a file of numpy "),
        ("[[pin]]\n", PASSED_OVER, "`1 x` is not the version of `numpy`"),
    ],
)
def test_an_edited_lock_says_what_is_wrong(tmp_path: Path, old: str, new: str, why: str) -> None:
    text = COMMITTED.read_text(encoding="utf-8")
    assert old in text
    (tmp_path / file.NAME).write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as refused:
        file.read(tmp_path)
    assert refused.value.message == "the lock cannot be read"
    assert why in refused.value.why


def test_the_same_lock_as_it_was_is_read(tmp_path: Path) -> None:
    shutil.copy(COMMITTED, tmp_path / file.NAME)
    assert file.read(tmp_path) is not None
