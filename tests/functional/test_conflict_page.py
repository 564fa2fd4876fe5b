"""conflict.html in a browser: its letters are seen, and the command of each way out can be copied."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from resolver.i18n import LANGUAGES
from resolver.report.explanation.conflict import report_files
from tests.browser import CHROMIUM, DRIVER, Browser
from tests.unit.report import samples

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="the page is tried in a browser: install chromium and chromedriver",
)
STACK = samples.trl().problem.stack.name
COPIED = {"en": "copied", "zh": "已复制"}
# The colors of a label and of what is behind it.
COLORS = """
const labels = [...document.querySelectorAll(".number, .badge")];
return labels.map(label => [getComputedStyle(label).color, getComputedStyle(label).backgroundColor]);
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    for name, text in report_files(samples.trl()).items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def page(window: Browser, folder: Path) -> Iterator[Browser]:
    window.open((folder / "conflict.html").as_uri())
    yield window
    assert window.complaints() == []


def test_conflict_page_labels_are_seen(page: Browser) -> None:
    colors = page.run(COLORS)
    assert {"A", "W1"} <= set(page.texts(".number"))
    assert [pair for pair in colors if pair[0] == pair[1] or pair[1].startswith("rgba(")] == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("permitted", [True, False], ids=["clipboard", "fallback"])
def test_conflict_page_copies_each_command(
    page: Browser, folder: Path, language: str, permitted: bool
) -> None:
    page.open(
        (folder / ("conflict.html" if language == "en" else f"conflict.{language}.html")).as_uri()
    )
    page.devtools("Browser.setPermission", permission={"name": "clipboard-read"}, setting="granted")
    page.run(
        "navigator.clipboard.writeText = arguments[0] ? navigator.clipboard.writeText : undefined",
        permitted,
    )
    letters = [label for label in page.texts(".number") if re.fullmatch("[A-Z]", label)]
    assert len(letters) > 1
    for letter in letters:
        place = f".command:has(#command-{letter})"
        page.click(f"{place} button")
        page.wait_for(f"{place} [role=status]", COPIED[language])
        assert (
            page.run("return navigator.clipboard.readText()")
            == f"make explain STACK={STACK} APPLY={letter}"
        )


def test_conflict_page_without_its_script_has_no_buttons(page: Browser, folder: Path) -> None:
    page.devtools("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open((folder / "conflict.html").as_uri())
    finally:
        page.devtools("Emulation.setScriptExecutionDisabled", value=False)
    assert page.texts(".command button") == []
    assert page.texts(".command code")[0].startswith("make explain STACK=")


@pytest.mark.parametrize("width", [390, 1440])
def test_conflict_page_is_no_wider_than_the_screen(page: Browser, width: int) -> None:
    page.resize(width)
    page.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    seen = page.run("return document.documentElement.clientWidth")
    assert page.run("return document.documentElement.scrollWidth") == seen
