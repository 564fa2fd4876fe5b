"""matrix.html in a browser: what a person chooses, sees and copies.

They use mouse and keyboard, on screens of two widths.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from resolver.report.matrix import matrix_page
from tests.browser import CHROMIUM, DRIVER, ENTER, ESCAPE, RIGHT, Browser, browser
from tests.solved_grid import HOSTILE, solved_grid

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="the page is tried in a browser: install chromium and chromedriver",
)
HEADING, OPENED = "#answer h2", "#cell[open]"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "matrix.html"
    path.write_text(matrix_page(solved_grid()), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def page(window: Browser, url: str) -> Iterator[Browser]:
    """Open the page as a file, on a wide screen; no test may make it write to the console."""
    window.resize(1440)
    window.open(url)
    yield window
    assert window.complaints() == []


def choose(page: Browser, name: str, value: str) -> None:
    page.click(f"label:has(input[name={name}][value='{value}'])")


def state(page: Browser) -> dict[str, str]:
    return {
        key: value
        for key, (value,) in parse_qs(urlsplit(page.run("return location.href")).fragment).items()
    }


def test_it_begins_with_the_newest_that_locks(page: Browser) -> None:
    assert page.texts(HEADING) == ["vllm-ascend 0.19.0 is the newest that locks"]
    assert page.texts("#answer dt") == ["vllm-ascend", "torch", "vllm", "numpy"]
    assert page.texts("#answer dd") == ["0.19.0", "2.8.0+cpu", "0.18.0", "1.26.4"]
    assert page.texts("#choices label:has(:checked)") == [
        "Serving with vLLM",
        "A2",
        "3.11",
        "8.5.1",
    ]


def test_another_choice_is_another_answer_and_another_address(page: Browser, url: str) -> None:
    choose(page, "soc", "A3")
    assert page.texts(HEADING) == ["vllm-ascend 0.18.0 is the newest that locks"]
    assert page.texts("#answer .cells li") == ["✓ 0.19.0rc1 · CANN 8.5.1\nlocks"], (
        "a newer candidate"
    )
    choose(page, "soc", "A2")
    choose(page, "use", "trl")
    assert page.texts(HEADING) == ["vllm-ascend 0.19.0 is the newest that locks"]
    assert page.texts("#answer dt") == ["vllm-ascend", "torch", "trl", "vllm", "numpy"]
    assert page.texts("#choices label:has(:disabled)")[:3] == ["3.12", "9.0.0", "8.3.RC1"]
    posted = page.run("return location.href")
    page.open(url)
    page.open(posted)
    assert page.texts("#choices label:has(:checked)") == [
        "Training with TRL",
        "A2",
        "3.11",
        "8.5.1",
    ]


def test_where_nothing_locks_it_says_why_and_what_is_near(page: Browser) -> None:
    choose(page, "cann", "9.0.0")
    assert page.texts(HEADING) == ["No release of vllm-ascend is known to lock here"]
    assert page.texts("#answer li") == [
        "? 0.20.0 · CANN 9.0.0\nundecided",
        "✕ 0.19.0 · CANN 9.0.0\nconflict",
        "✓* 0.19.0 · CANN 8.5.1\nlocks with practices",
    ]
    assert "vllm-ascend 0.20.0 needs base" in page.texts("#answer p")
    choose(page, "python", "3.12")
    assert page.texts(HEADING) == ["No release of vllm-ascend locks here"]
    assert "There are none for this use on this SoC, processor and Python." in page.texts(
        "#answer p"
    )


def test_the_grid_has_a_sign_for_each_cell_and_says_it(page: Browser) -> None:
    rows = [row.split() for row in page.texts("#grid tr")]
    absent = ["·", "not", "in", "the", "vendor's", "tables"]
    assert rows == [
        ["vllm-ascend", "/", "CANN", "9.0.0", "8.5.1", "8.3.RC1"],
        ["0.20.0", "?", *absent, *absent],
        ["0.19.0", "✕", "✓*", *absent],
        ["0.18.0", *absent, "✓", *absent],
        ["0.17.0", *absent, *absent, "✓"],
    ]
    labels = page.run("return [...document.querySelectorAll('#grid button')].map(b => b.ariaLabel)")
    assert labels[1:3] == [
        "0.19.0, CANN 9.0.0: conflict",
        "0.19.0, CANN 8.5.1: locks with practices",
    ]
    assert page.texts("#legend strong") == ["2", "1", "0", "1", "1"]
    assert page.texts("#causes summary") == [
        "? triton-ascend – undecided: 1",
        "✕ base – conflict: 1",
    ]


def test_matrix_page_cell_opens_with_versions_or_reason(page: Browser) -> None:
    page.click("#grid button.conflict")
    assert page.texts(f"{OPENED} h2") == ["vllm-ascend 0.19.0 · CANN 9.0.0"]
    assert "vllm-ascend 0.19.0 needs base" in page.texts(f"{OPENED} p")
    assert "ascend-lock explain serve-0.19.0-cann9.0.0-a2-aarch64-py311.toml" in page.texts(
        f"{OPENED} pre"
    )
    page.click(f"{OPENED} .cells a")
    assert page.texts(f"{OPENED} h2") == ["vllm-ascend 0.19.0 · CANN 8.5.1"]
    assert page.texts(f"{OPENED} summary") == ["All 5 versions"]
    assert "Practices in use (the warnings say what they ignore): opencv" in page.texts(
        f"{OPENED} p"
    )
    page.click(f"{OPENED} form button")
    assert page.texts(OPENED) == []
    assert "cell" not in state(page)


def test_matrix_page_tells_what_an_answering_index_locks(page: Browser) -> None:
    choose(page, "use", "trl")
    choose(page, "soc", "A3")
    assert page.texts(HEADING) == ["vllm-ascend 0.19.0 should lock where the index answers"]
    assert page.texts("#answer dd")[0] == "0.18.0"
    assert "vllm-ascend 0.19.0 needs base" in page.texts("#answer p")
    assert page.texts("#grid td") == ["(✓)"]


def test_what_no_table_pairs_has_a_mark_and_says_so(page: Browser) -> None:
    choose(page, "use", "trl")
    assert "✓†" in page.texts("#grid td")
    assert any("vllm-ascend 0.19.0, trl 0.28.0" in told for told in page.texts("#answer p"))
    assert page.texts("#legend li")[-2] == "† not paired by the vendor 1"


def test_a_cell_moves_the_choices_to_its_machine(page: Browser) -> None:
    page.click("#grid button[aria-label^='0.17.0']")
    page.press(ESCAPE)
    assert page.texts("#choices label:has(:checked)") == [
        "Serving with vLLM",
        "A2",
        "3.11",
        "8.3.RC1",
    ]
    assert page.texts(HEADING) == ["vllm-ascend 0.17.0 is the newest that locks"]


def test_the_vendors_pairing_is_shown_where_nothing_locks(page: Browser) -> None:
    page.click("#grid button.conflict")
    assert "vllm==0.19.0" in page.texts(f"{OPENED} p")


def test_the_table_is_on_the_first_screen(page: Browser) -> None:
    top = page.run("return document.querySelector('#grid table').getBoundingClientRect().top")
    assert top < 700


def test_keyboard_alone(page: Browser) -> None:
    page.run("document.querySelector('input[name=soc]:checked').focus()")
    page.press(RIGHT)
    assert page.texts(HEADING) == ["vllm-ascend 0.18.0 is the newest that locks"]
    assert page.run("return document.activeElement.value") == "A3"  # not lost as the page changes
    page.run("document.querySelector('#grid button').focus()")
    page.press(ENTER)
    assert state(page)["cell"] == "serve-0.18.0-cann8.5.1-a3-aarch64-py311"
    assert page.texts(f"{OPENED} h2") == ["vllm-ascend 0.18.0 · CANN 8.5.1"]
    page.press(ESCAPE)
    assert page.texts(OPENED) == []
    assert page.run("return document.activeElement.textContent") == "✓"


def test_a_text_of_the_grid_is_text(page: Browser) -> None:
    choose(page, "soc", "A2")
    page.click("#grid button.locks")
    page.run("document.querySelectorAll('#cell details').forEach(one => { one.open = true; })")
    assert page.texts(f"{OPENED} details:last-of-type li") == [
        HOSTILE.replace("\u202e", r"\u202e").replace("`", "")
    ]
    assert page.run("return document.querySelectorAll('img').length") == 0


@pytest.mark.parametrize("place", ["#answer", OPENED])
@pytest.mark.parametrize("permitted", [True, False], ids=["clipboard", "fallback"])
def test_copying(page: Browser, place: str, permitted: bool) -> None:
    page.devtools("Browser.setPermission", permission={"name": "clipboard-read"}, setting="granted")
    page.run("return navigator.clipboard.writeText('something else')")
    page.run(
        "navigator.clipboard.writeText = arguments[0] ? navigator.clipboard.writeText : undefined",
        permitted,
    )
    page.click("#grid button.locks")
    if place == "#answer":
        page.press(ESCAPE)
    page.click(f"{place} .command button")
    page.wait_for(f"{place} .command [role=status]", "copied")
    copied = page.run("return navigator.clipboard.readText()")
    assert copied == page.texts(f"{place} .command pre")[0]
    assert copied.startswith("ascend-lock lock serve-0.1")


def test_the_stack_can_be_saved_as_a_file(page: Browser) -> None:
    name, content = page.run(
        "const a = document.querySelector('#answer a[download]');"
        "return [a.download, decodeURIComponent(a.href.slice(a.href.indexOf(',') + 1))]"
    )
    assert name == "serve-0.19.0-cann8.5.1-a2-aarch64-py311.toml"
    assert content in [answer.stack for answer in solved_grid().answers]


def test_chinese_by_choice_and_for_who_reads_it(page: Browser, url: str, tmp_path: Path) -> None:
    choose(page, "lang", "zh")
    assert page.texts(HEADING) == ["可以锁定的最新版本是 vllm-ascend 0.19.0"]
    assert page.texts("#choices label:has(:checked)")[0] == "用 vLLM 提供推理服务"
    page.click("#grid button.conflict")
    assert "vllm-ascend 0.19.0 要求 base" in page.texts(f"{OPENED} p")
    page.press(ESCAPE)
    choose(page, "lang", "en")
    assert page.texts("h1") == ["vllm-ascend: which versions go together"]
    with browser(tmp_path, language="zh-CN") as chinese:
        chinese.open(url)
        assert chinese.texts("h1") == ["vllm-ascend：哪些版本可以一起使用"]
        assert chinese.run("return document.documentElement.lang") == "zh"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_is_wider_than_the_screen(page: Browser, width: int, language: str) -> None:
    page.resize(width)
    choose(page, "lang", language)
    choose(page, "soc", "A3")  # which has the widest grid
    page.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    seen = page.run("return document.documentElement.clientWidth")  # without the bar to scroll
    assert page.run("return document.documentElement.scrollWidth") == seen >= width - 20
    page.click("#grid button.locks")
    assert page.run("return document.querySelector('#cell').scrollWidth") <= width - 24
