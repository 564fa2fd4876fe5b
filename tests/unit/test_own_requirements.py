"""What this project itself is installed from: requirements/*.txt, by the Makefile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
import tomli
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.functional.workspace import REPOSITORY

PROJECT = tomli.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
RUN = [*PROJECT["dependencies"], *EXTRAS["build"], *EXTRAS["sbom"]]


def test_the_stack_asks_for_what_the_project_needs() -> None:
    path = REPOSITORY / "tests" / "recorded" / "self.toml"
    assert tomli.loads(path.read_text(encoding="utf-8"))["stack"]["requires"] == RUN


@pytest.mark.parametrize(("name", "asked"), [("run.txt", RUN), ("dev.txt", [*RUN, *EXTRAS["dev"]])])
def test_the_requirements_pin_what_the_project_needs(name: str, asked: list[str]) -> None:
    text = (REPOSITORY / "requirements" / name).read_text(encoding="utf-8")
    pins: dict[str, list[Requirement]] = {}
    for line in text.splitlines():
        if not line.startswith(" "):
            pin = Requirement(line.removesuffix("\\"))
            pins.setdefault(canonicalize_name(pin.name), []).append(pin)
    for need in map(Requirement, asked):
        assert pins[canonicalize_name(need.name)]
        for pin in pins[canonicalize_name(need.name)]:
            (exact,) = pin.specifier
            assert need.specifier.contains(exact.version, prereleases=True), need


def test_a_pip_that_fails_is_told_with_what_to_look_at(tmp_path: Path) -> None:
    """Behind a dead proxy pip's last words are of a project that has no version, which is not so."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("there is no make")
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\necho 'ERROR: No matching distribution found for x' >&2\nexit 1\n")
    python.chmod(0o755)
    (tmp_path / ".made").touch()
    target = str(tmp_path / ".run")
    done = subprocess.run(
        [make, "--no-print-directory", "-C", REPOSITORY, f"VENV={tmp_path}", target],
        env={name: text for name, text in os.environ.items() if not name.startswith("MAKE")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[:-1] == [
        "ERROR: No matching distribution found for x",
        f"error: pip could not install what this project needs into {tmp_path}",
        "  at requirements/run.txt",
        "  Why is above; where pip found no version at all (`from versions: none`), it did not reach its index.",
        "hint: look at `pip config list`, HTTPS_PROXY and NO_PROXY, then run make again",
    ]
    assert not Path(target).exists()


def test_the_environment_starts_in_every_locale() -> None:
    """With LC_ALL=C Python 3.11 cannot read a path that is not ASCII from the file of an editable installation."""
    for path in Path(sysconfig.get_path("purelib")).glob("__editable__.ascend_lock-*.pth"):
        assert (path.parent / path.read_text(encoding="ascii").strip()).resolve() == REPOSITORY
        assert not path.read_text(encoding="ascii").startswith("/")
