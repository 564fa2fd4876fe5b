"""The pages for everybody: axe-core finds nothing, in each language and in light and dark colors."""

from __future__ import annotations

from pathlib import Path

import pytest

from resolver.i18n import LANGUAGES
from resolver.model.fleet import Fleet, Node, NodeFinding
from resolver.model.text import Language
from resolver.report.explanation.conflict import report_files
from resolver.report.fleet import fleet_document
from resolver.report.markup import html_text
from resolver.report.matrix import matrix_page
from tests.axe import AXE, show_in, violations
from tests.browser import CHROMIUM, DRIVER, Browser
from tests.solved_grid import solved_grid
from tests.unit.report import samples

pytestmark = [
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER),
        reason="the pages are tried in a browser: install chromium and chromedriver",
    ),
    pytest.mark.skipif(
        not AXE.is_file(),
        reason="axe-core is not there: npm install --no-save axe-core@4.14.1, or set AXE_CORE",
    ),
]
REPOSITORY = Path(__file__).parents[2]
SAMPLES = {
    "trl": samples.trl,
    "branching": samples.branching,
    "several": samples.several,
    "hostile": samples.hostile,
}
COMMITTED = [
    str(path.relative_to(REPOSITORY))
    for path in (
        *sorted((REPOSITORY / "locks").glob("*/*/conflict*.html")),
        REPOSITORY / "docs" / "matrix.html",
    )
]
SCHEMES = ["light", "dark"]


def unfold(page: Browser) -> None:
    page.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("sample", SAMPLES)
def test_axe_finds_nothing_in_the_page_of_a_conflict(
    window: Browser, tmp_path: Path, sample: str, language: str, scheme: str
) -> None:
    name = "conflict.html" if language == "en" else f"conflict.{language}.html"
    path = tmp_path / name
    path.write_text(report_files(SAMPLES[sample]())[name], encoding="utf-8")
    show_in(window, scheme)
    window.open(path.as_uri())
    unfold(window)
    assert violations(window) == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_axe_finds_nothing_in_the_page_of_a_fleet(
    window: Browser, tmp_path: Path, language: Language, scheme: str
) -> None:
    machines: list[dict[str, str]] = [{"glibc": "2.35"}, {"glibc": "2.35"}, {"glibc": "2.31"}]
    finding = NodeFinding("hdk-old", "wrong", "the driver is 25.3.rc1", "install 25.5.0")
    nodes = [
        Node(name=f"n{number}", stack="demo", target="here", machine=machine, findings=(finding,))
        for number, machine in enumerate(machines)
    ]
    path = tmp_path / "fleet.html"
    path.write_text(html_text(fleet_document(Fleet(tuple(nodes))), language), encoding="utf-8")
    show_in(window, scheme)
    window.open(path.as_uri())
    assert violations(window) == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_axe_finds_nothing_in_the_page_of_a_matrix(
    window: Browser, tmp_path: Path, language: str, scheme: str
) -> None:
    path = tmp_path / "matrix.html"
    path.write_text(matrix_page(solved_grid()), encoding="utf-8")
    show_in(window, scheme)
    for cell in ("", *(answer.cell.name for answer in solved_grid().answers)):
        window.open(f"{path.as_uri()}#lang={language}&cell={cell}")
        unfold(window)
        assert violations(window) == [], cell


@pytest.mark.parametrize("path", COMMITTED)
def test_axe_finds_nothing_in_a_committed_page(window: Browser, path: str) -> None:
    show_in(window, "light")
    window.open((REPOSITORY / path).as_uri())
    unfold(window)
    assert violations(window) == []
