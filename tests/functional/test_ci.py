"""What a repository with locks runs before a commit and in CI, as docs/ci.md shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.functional.workspace import ANYWHERE, REPOSITORY, Workspace

HOOK = (REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
PAGES = ("docs/ci.md", "docs/ci.zh-CN.md")
YAML = re.compile(r"(?ms)^```yaml\n(.*?)^```")
STEP = re.compile(r"(?m)^ *(?:entry|- run|-):? (ascend-lock (?:check|lock).*)$")


def shown(page: str) -> list[str]:
    return YAML.findall((REPOSITORY / page).read_text(encoding="utf-8"))


def test_both_languages_show_the_same_files() -> None:
    english, chinese = (re.sub(r" # .*", "", "".join(shown(page))) for page in PAGES)
    assert english == chinese
    assert all(f"id: {name}" in english for name in re.findall(r"- id: (\S+)", HOOK))


def test_a_commit_of_a_stack_or_a_lock_runs_the_hook() -> None:
    (files,) = re.findall(r"files: (.*)", HOOK)
    assert all(
        re.search(files, path)
        for path in ("demo.toml", "matrices/facts/a.toml", "locks/demo/here/install.sh")
    )
    assert not re.search(files, "src/program.py")


def steps() -> list[str]:
    """Return the steps that compare, without the comments beside them."""
    found = [*STEP.findall(HOOK), *STEP.findall("".join(shown(PAGES[0])))]
    plain = {step.partition(" #")[0].strip() for step in found}
    return sorted(step for step in plain if "--upgrade" not in step)


@pytest.mark.parametrize("step", steps())
def test_ci_step_fails_once_a_stack_differs_from_its_lock(workspace: Workspace, step: str) -> None:
    workspace.serve("a 1.0 2.0")
    stack = workspace.stack("a<2", target=ANYWHERE).rename(Path(workspace.root, "demo.toml"))
    workspace.locked(stack="demo.toml")
    arguments = step.replace("my-stack.toml", "demo.toml").split()[1:]
    assert workspace.run(*arguments).status == 0
    stack.write_text(stack.read_text(encoding="utf-8").replace("a<2", "a"), encoding="utf-8")
    assert workspace.run(*arguments).status == 4
