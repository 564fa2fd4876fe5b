"""What this project itself is installed from: stacks that ask for what pyproject.toml says, a lock for each machine.

That the locks are what the stacks say is part of `test_check_knows_stacks_that_have_no_lock_but_a_report`.
"""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tomli

from resolver.matrix.compile import compile_problems
from resolver.matrix.load import load
from resolver.model.problem import Problem
from tests.functional.workspace import REPOSITORY

INSTALL: dict[str, Any] = runpy.run_path(str(REPOSITORY / "requirements" / "install.py"))
PROJECT = tomli.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
ASKS = {
    "self": [*PROJECT["dependencies"], *EXTRAS["build"], *EXTRAS["sbom"]],
    "self-dev": [*PROJECT["dependencies"], *EXTRAS["build"], *EXTRAS["sbom"], *EXTRAS["dev"]],
}


def problems(stack: str) -> tuple[Problem, ...]:
    return compile_problems(load(stack, REPOSITORY / "matrices"))


@pytest.mark.parametrize("stack", sorted(ASKS))
def test_the_stack_asks_for_what_the_project_needs(stack: str) -> None:
    path = REPOSITORY / "matrices" / "stacks" / f"{stack}.toml"
    assert tomli.loads(path.read_text(encoding="utf-8"))["stack"]["requires"] == ASKS[stack]


@pytest.mark.parametrize("stack", sorted(ASKS))
def test_each_target_is_what_a_machine_of_its_kind_installs_from(stack: str) -> None:
    for problem in problems(stack):
        target = problem.target
        assert target.glibc == INSTALL["GLIBC"]
        system, _, machine = target.platform.partition("-")
        folder = INSTALL["lock_folder"](stack, system.title(), machine, ("glibc", "2.39"), target.python_line)
        assert folder == REPOSITORY / "locks" / stack / target.name
        told = [path.name for path in INSTALL["files"](stack, folder)]
        assert told[-1] == "requirements.txt"
        assert ("build-requirements.txt" in told) == (stack == "self-dev" and machine == "aarch64")
        assert all(path.is_file() for path in INSTALL["files"](stack, folder))


@pytest.mark.parametrize(
    ("system", "machine", "libc", "python"),
    [
        ("Darwin", "arm64", ("", ""), (3, 12)),
        ("Linux", "x86_64", ("glibc", "2.17"), (3, 12)),
        ("Linux", "x86_64", ("", ""), (3, 12)),
        ("Linux", "x86_64", ("glibc", "2.39"), (3, 99)),
        ("Linux", "riscv64", ("glibc", "2.39"), (3, 12)),
    ],
    ids=["macOS", "an old glibc", "musl", "another Python", "another processor"],
)
def test_other_machines_have_the_files_for_any(
    system: str, machine: str, libc: tuple[str, str], python: tuple[int, int]
) -> None:
    assert INSTALL["lock_folder"]("self", system, machine, libc, python) is None
    assert INSTALL["files"]("self", None) == [REPOSITORY / "requirements" / "run.txt"]


def test_a_pip_that_fails_is_told_with_what_to_look_at(tmp_path: Path) -> None:
    """Behind a dead proxy pip's last words are of a project that has no version, which is not so."""
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__init__.py").write_text("")
    (tmp_path / "pip" / "__main__.py").write_text("raise SystemExit('ERROR: No matching distribution found for x')")
    done = subprocess.run(
        [sys.executable, REPOSITORY / "requirements" / "install.py", "self"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    said, *lines = done.stderr[done.stderr.index("ERROR") :].splitlines()
    assert said == "ERROR: No matching distribution found for x"
    assert lines[0] == f"error: pip could not install what this project needs into {sys.prefix}"
    assert (REPOSITORY / lines[1].removeprefix("  at ")).is_file()
    assert lines[2:] == [
        "  Why is above; where pip found no version at all (`from versions: none`), it did not reach its index.",
        "hint: look at `pip config list`, HTTPS_PROXY and NO_PROXY, then run make again",
    ]


def test_the_environment_starts_in_every_locale(tmp_path: Path) -> None:
    """Python 3.11 with LC_ALL=C cannot read a path that is not ASCII from the file of an editable installation."""
    checkout = tmp_path / "我的 仓库"
    site = checkout / ".venv" / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (site / "__editable__.ascend_lock-0.1.0.pth").write_text(f"{checkout}\n", "utf-8")
    (checkout / "requirements").mkdir()
    program = shutil.copy(REPOSITORY / "requirements" / "install.py", checkout / "requirements")
    runpy.run_path(str(program))["begin_at_site"](site)
    code = "import os, site, sys; site.addsitedir(sys.argv[1]); print(*map(os.fsencode, sys.path), sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-I", "-X", "utf8=0", "-c", code, site],
        env={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(os.fsencode(checkout)) in done.stdout.splitlines()
