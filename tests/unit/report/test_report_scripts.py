"""What scripts of a lock tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from resolver.lock import file as lock_file
from resolver.lock.bundle import Served
from resolver.report.script import activation, bundle_script, script

_LOCKS = Path("locks")
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


@pytest.mark.parametrize("name", _SCRIPTS)
def test_no_name_of_a_variable_is_followed_by_chinese(name: str) -> None:
    """A bash in a locale of single bytes would take it for a part of the name."""
    assert not re.findall(r"\$[A-Za-z_]\w*(?=[^\x00-\x7f])", _SCRIPTS[name], re.ASCII)
