"""pip-sync of pip-tools reads a lock's requirements like those that pip-compile writes."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

import pytest
import tomli
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from piptools.writer import annotation_style_split

from resolver.lock import file as lock_file
from tests.functional.machine import execute, installed, make_environment, put
from tests.functional.workspace import HERE, REPOSITORY, Run, Workspace

PIP = metadata.version("pip")
# From git, and the largest, from several indexes, with builds apart: other locks have nothing that
# these lack.
LOCKS = [
    max((REPOSITORY / "locks" / stack).iterdir()) for stack in ("mindspeed-rl", "verl-qwen3.5")
]


def pip_sync(workspace: Workspace, python: Path, *arguments: str) -> Run:
    command = [
        str(Path(sys.executable).with_name("pip-sync")),
        "--no-config",
        "--python-executable",
        str(python),
    ]
    return execute(workspace, [*command, *arguments])


@pytest.mark.parametrize("folder", LOCKS, ids=lambda folder: folder.parent.name)
def test_of_a_shipped_lock_it_knows_what_is_lacking(
    workspace: Workspace, tmp_path: Path, folder: Path
) -> None:
    lock = lock_file.read(folder)
    assert lock is not None
    pins = {pin.name: pin.version for pin in lock.pin if pin.git is None}
    python = make_environment(tmp_path / "env")
    (first, _), (second, _), *rest = sorted(pins.items())
    put(
        python,
        {name: version for name, version in rest if name not in ("pip", "wheel")}
        | {second: "0.0.1", "something-else": "1.0"},
    )
    files = [
        str(path)
        for path in (folder / "requirements.txt", folder / "requirements-no-deps.txt")
        if path.exists()
    ]
    run = pip_sync(workspace, python, "--dry-run", *files)
    assert run.stderr == ""
    # the environment of these tests has a wheel 0
    lacking = [
        first,
        second,
        *(["pip"] if pins.get("pip", PIP) != PIP else []),
        *(["wheel"] if "wheel" in pins else []),
    ]
    told = [
        "Would uninstall:",
        "  something-else",
        "Would install:",
        *(f"  {name}=={pins[name]}" for name in lacking),
    ]
    assert run.stdout.splitlines() == told
    assert run.status == 1


def test_pip_sync_installs_by_hash_and_removes_the_rest(
    workspace: Workspace, tmp_path: Path
) -> None:
    workspace.serve("top 1.0: base", "base 1.0")
    workspace.locked_stack("top", target=HERE)
    workspace.serve("base 2.0")
    python = make_environment(tmp_path / "env")
    put(python, {"something-else": "1.0"})
    requirements = str(workspace.folder() / "requirements.txt")
    assert "    # via top\n" in workspace.read("requirements.txt")
    assert "    # via -r demo.toml\n" in workspace.read("requirements.txt")
    assert pip_sync(workspace, python, "--pip-args", "--no-deps", requirements).status == 0
    assert installed(python) == {"base": "1.0", "top": "1.0"}
    run = pip_sync(workspace, python, "--dry-run", requirements)
    assert (run.status, run.stdout) == (0, "Everything up-to-date\n")


@pytest.mark.parametrize("stack", ["trl-train", "verl-qwen3.5"])
def test_what_requires_each_project_is_told_as_pip_compile_does(stack: str) -> None:
    folder = min((REPOSITORY / "locks" / stack).iterdir())
    lock = lock_file.read(folder)
    assert lock is not None
    stack_file = tomli.loads(
        (REPOSITORY / "matrices" / "stacks" / f"{stack}.toml").read_text(encoding="utf-8")
    )
    asked = {canonicalize_name(Requirement(line).name) for line in stack_file["stack"]["requires"]}
    via = {
        pin.name: {other.name for other in lock.pin if pin.name in other.needs} - {pin.name}
        | ({f"-r {stack}.toml"} if pin.name in asked else set())
        for pin in lock.pin
    }
    text = (folder / "requirements.txt").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^([a-z0-9-]+)==.*(?:\n    --hash=.*)+((?:\n    #.*)*)", text)
    assert len(rows) > 50
    for name, told in rows:
        assert told == (f"\n    {annotation_style_split(via[name])}" if via[name] else ""), name
