"""`ascend-lock cache`: where it is, how large, and none of it."""

from __future__ import annotations

import re

from resolver.index.store.cache import FILE
from tests.functional.workspace import Workspace
from tests.loopback import LoopbackIndex


def size(workspace: Workspace) -> float:
    run = workspace.run("cache", "size")
    (number,) = re.fullmatch(r"([\d.]+) MB\n", run.stdout).groups()  # type: ignore[union-attr]
    return float(number)


def test_the_cache_is_told_and_emptied(workspace: Workspace, index: LoopbackIndex) -> None:
    assert workspace.run("cache", "dir").stdout == "<root>/cache\n"
    assert size(workspace) == 0
    run = workspace.run("cache", "clear")
    assert (run.status, run.stdout, run.stderr) == (0, "Removed 0.0 MB from <root>/cache.\n", "")
    assert not workspace.cache.exists()
    for number in range(40):
        index.add_wheel("demo", f"{number}.0", requires=[f"a{'b' * 500}; extra == 'x'"] * 400)
    workspace.stack("demo<10")
    workspace.locked()
    assert size(workspace) > 0.1
    (workspace.cache / "notes").write_text("of somebody")
    before = (workspace.cache / FILE).stat().st_size
    run = workspace.run("cache", "clear", "--lang", "zh")
    cleared = before - (workspace.cache / FILE).stat().st_size
    assert (run.status, run.stdout, run.stderr) == (0, f"已从 <root>/cache 清除 {cleared / 1e6:.1f} MB。\n", "")
    assert (workspace.cache / "notes").read_text() == "of somebody"
    assert size(workspace) < 0.05
    assert workspace.lock("--offline").status == 3
    workspace.locked()


def test_without_a_word_it_says_what_there_is(workspace: Workspace) -> None:
    run = workspace.run("cache")
    assert run.status == 2
    assert [line.split()[0] for line in run.stderr.partition("Commands:\n")[2].splitlines()] == ["clear", "dir", "size"]
