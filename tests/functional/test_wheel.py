"""The program as a tool: a wheel made from an sdist, installed where there is no checkout."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.functional.test_shipped import PATIENCE
from tests.functional.workspace import REPOSITORY, UNREACHABLE, Workspace, tree, without_links

STACK = "trl-train"
CONFLICT = "trl-vllm-train"
COMMAND = Path("bin", "ascend-lock")


def call(*words: str | Path) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, as pip, pipx and uv install it."""
    root = tmp_path_factory.mktemp("wheel")
    source, environment = root / "source", root / "environment"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, source)
    for name in ("resolver", "matrices", "docs"):
        shutil.copytree(
            REPOSITORY / name,
            source / name,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    call(sys.executable, "-m", "build", "--no-isolation", "--outdir", root, source)
    (wheel,) = root.glob("*.whl")
    venv.create(environment)
    call(
        sys.executable,
        "-m",
        "pip",
        "--python",
        environment,
        "install",
        "--no-deps",
        "--no-index",
        wheel,
    )
    (packages,) = environment.glob("lib/python3*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return environment


def run(installed: Path, workspace: Workspace, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [installed / COMMAND, *arguments],
        cwd=workspace.root,
        env=workspace.environment(),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def anywhere(tmp_path: Path) -> Workspace:
    """A folder without facts and stacks."""
    workspace = Workspace(tmp_path, UNREACHABLE)
    shutil.rmtree(workspace.matrices)
    return workspace


def test_a_wheel_has_the_facts_and_stacks_and_its_licence(
    installed: Path, anywhere: Workspace
) -> None:
    (packages,) = installed.glob("lib/python3*/site-packages")
    assert tree(packages / "resolver" / "matrices") == tree(REPOSITORY / "matrices")
    assert list(packages.glob("ascend_lock-*.dist-info/licenses/LICENSE"))
    assert not list(packages.glob("resolver/docs/**/*.py"))
    listed = run(installed, anywhere, "lock")
    stacks = {path.stem for path in REPOSITORY.glob("matrices/stacks/*.toml")}
    assert {line.split()[0] for line in listed.stdout.splitlines()} == stacks


def with_snapshot(workspace: Workspace, stack: str) -> None:
    """Snapshots do not ship; one in the current folder is used."""
    (workspace.root / "snapshots").mkdir()
    shutil.copy(REPOSITORY / "snapshots" / f"{stack}.snapshot", workspace.root / "snapshots")


def test_it_locks_what_a_checkout_locks(installed: Path, anywhere: Workspace) -> None:
    with_snapshot(anywhere, STACK)
    locked = run(installed, anywhere, "lock", STACK, "--offline")
    assert locked.returncode == 0, locked.stderr
    assert tree(anywhere.locks / STACK) == tree(REPOSITORY / "locks" / STACK)


@pytest.mark.parametrize("path", ["matrices/notes.toml", "matrices/stacks/own.toml"])
def test_folder_matrices_without_facts_does_not_replace_the_shipped_one(
    installed: Path, anywhere: Workspace, path: str
) -> None:
    """With nothing from it, `cann` would be an unknown component."""
    other = anywhere.root / path
    other.parent.mkdir(parents=True)
    other.write_text("")
    with_snapshot(anywhere, STACK)
    locked = run(installed, anywhere, "lock", STACK, "--offline", "--dry-run")
    assert locked.returncode == 0, locked.stderr


def test_way_out_of_an_installed_stack_goes_to_this_folder(
    installed: Path, anywhere: Workspace
) -> None:
    with_snapshot(anywhere, CONFLICT)
    told = run(
        installed, anywhere, "explain", CONFLICT, "--offline", "--apply", "A", *PATIENCE
    ).stdout
    assert told.startswith("\n--- "), "the change alone: the page was read before"
    here, committed = (
        without_links(locks / CONFLICT) for locks in (anywhere.locks, REPOSITORY / "locks")
    )
    assert here == committed
    assert told.endswith(
        f"Written: {CONFLICT}-a.toml. Next, with network access (the snapshot lacks some data): "
        f"{installed / COMMAND} lock {CONFLICT}-a.toml\n"
    )
    assert run(installed, anywhere, "lock", f"{CONFLICT}-a.toml", "--offline").returncode == 3


def test_a_day_of_the_command_line_is_kept_in_a_copy(installed: Path, anywhere: Workspace) -> None:
    """A stack that ships is replaced by the next installation."""
    with_snapshot(anywhere, STACK)
    locked = run(installed, anywhere, "lock", STACK, "--offline", "--as-of", "2026-02-02")
    assert locked.returncode == 0, locked.stderr
    hint = locked.stdout.splitlines()[-1]
    (path,) = installed.glob(f"lib/python3*/site-packages/resolver/matrices/stacks/{STACK}.toml")
    assert f"(cp {path} .)" in hint
    assert hint.endswith("write `as-of = 2026-02-02` below `[policy]` there")


def test_a_fact_that_a_message_cites_is_shown(installed: Path, anywhere: Workspace) -> None:
    shown = run(installed, anywhere, "facts", "show", "vllm-0.13-without-qwen3.5")
    assert "Qwen3.5" in shown.stdout
    place = shown.stdout.partition(", ")[2].partition(" ")[0]
    assert place.startswith("matrices/facts/vllm.toml:")
    assert run(installed, anywhere, "facts", "show", place).stdout == shown.stdout


def test_page_that_a_message_names_is_shown(installed: Path, anywhere: Workspace) -> None:
    shown = run(installed, anywhere, "help", "indexes", "--lang", "zh")
    assert "软件源" in shown.stdout.splitlines()[0]
