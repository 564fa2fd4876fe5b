"""What this project itself is installed from: requirements/*.txt, by the Makefile."""

from __future__ import annotations

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


def test_the_environment_starts_in_every_locale() -> None:
    """With LC_ALL=C Python 3.11 cannot read a path that is not ASCII from the file of an editable installation."""
    for path in Path(sysconfig.get_path("purelib")).glob("__editable__.ascend_lock-*.pth"):
        assert (path.parent / path.read_text(encoding="ascii").strip()).resolve() == REPOSITORY
        assert not path.read_text(encoding="ascii").startswith("/")
