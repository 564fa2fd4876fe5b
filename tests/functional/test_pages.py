"""The commands that pages show print what the pages show."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from resolver.i18n import translate
from tests import day
from tests.functional.test_fleet import Report, found, has, write
from tests.pages import matches, run, shown

LOCK = "linux-aarch64-py311-cann8.5.0-a2"


def language_of(page: str) -> str:
    return "zh" if ".zh-CN." in page else "en"


def compare(page: str, folder: Path) -> None:
    """Run the commands of a page one after the other, and compare each."""
    language = language_of(page)
    commands = list(shown(page))
    assert commands, f"{page} shows no command"
    for command, expected in commands:
        printed = run(command, folder, language)
        assert matches(printed, expected), f"{page}: {command}\n{printed}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "try"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("page", ["docs/start.md", "docs/start.zh-CN.md"])
def test_start_page_shows_what_is_printed(page: str, folder: Path) -> None:
    compare(page, folder)


@pytest.mark.parametrize("page", ["docs/day.md", "docs/day.zh-CN.md"])
def test_day_page_shows_what_is_printed(page: str, folder: Path) -> None:
    language = language_of(page)
    (folder / "requirements.txt").write_text(day.REQUIREMENTS, encoding="utf-8")
    (folder / "snapshots").mkdir()
    shutil.copy(day.RECORDED, folder / "snapshots" / "job.snapshot")
    subprocess.run(["git", "init", "-q", folder], check=True)

    def of_job(report: Report) -> None:
        report.update(stack="job", target=LOCK, checks="quick")

    values = {"name": "numpy", "found": "2.2.6", "wanted": "1.26.4"}
    changed = found(
        "distribution-differs",
        translate("verify.distribution-differs-what", language, **values),
        "pip install numpy==1.26.4",
    )
    (folder / "playbook").mkdir()
    for number in range(1, 9):
        changes = [changed] if number == 8 else []
        write(
            folder / "playbook" / "reports", f"node{number:02}", of_job, has(cann="8.5.0"), *changes
        )
    compare(page, folder)


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md"])
def test_readme_shows_what_a_conflict_prints(page: str, folder: Path) -> None:
    ((command, expected),) = shown(page)
    assert command.startswith("make lock STACK=trl-vllm-train")
    printed = run("ascend-lock lock trl-vllm-train", folder, language_of(page))
    assert matches(printed, expected), printed


@pytest.mark.parametrize(
    ("printed", "expected", "result"),
    [
        ("a\nb\nc\n", "a\n…\nc\n", True),
        ("a\nc\n", "a\n…\nc\n", True),
        ("a: 1\n", "a: …\n", True),
        ("a: 1\nb\n", "a: …\n", False),
        ("a\n", "b\n", False),
    ],
)
def test_elision_stands_for_any_text(printed: str, expected: str, result: bool) -> None:
    assert matches(printed, expected) is result
