"""conflict.html and matrix.html: well formed, self-contained, and safe whatever the texts."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from resolver.errors import harmless
from resolver.i18n import LANGUAGES
from resolver.model.matrix import CellOutcome
from resolver.report.explanation.json import explanation_json
from resolver.report.matrix import matrix_json, matrix_page
from tests.solved_grid import HOSTILE, solved_grid
from tests.unit.report import samples
from tests.unit.report.expected import explanation_html

VOID = {"meta", "link", "br"}
MAKES = [samples.trl, samples.branching, samples.several, samples.hostile]


class Page(HTMLParser):
    """The elements of a page with their attributes; each must be closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, attrs)
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def shown(self) -> str:
        return " ".join(
            "".join(data for tag, data in self.texts if tag not in ("style", "script")).split()
        )


@pytest.fixture(
    params=[(make, language) for make in MAKES for language in ("en", "zh")],
    ids=lambda row: f"{row[0].__name__}-{row[1]}",
)
def page(request: Any) -> Page:
    make, language = request.param
    return Page(explanation_html(make(), language))


def test_conflict_page_ids_are_unique(page: Page) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    wanted = {href[1:] for a in page.all("a") if (href := a["href"]).startswith("#")}
    for _, attributes in page.elements:
        wanted.update(attributes.get("aria-labelledby", "").split())
    assert wanted <= set(ids)


def test_conflict_page_loads_nothing_and_links_are_safe(
    page: Page,
) -> None:
    assert {tag for tag, _ in page.elements}.isdisjoint(
        {"img", "iframe", "object", "embed", "form", "base"}
    )
    assert page.all("link") == [{"rel": "icon", "href": "data:,"}]
    style = "".join(data for tag, data in page.texts if tag == "style")
    assert "url(" not in style
    assert "@import" not in style
    for link in page.all("a"):
        assert re.match(r"#|\.\./\.\./\.\./matrices/|https://", link["href"]), link


def test_conflict_page_has_only_the_script_of_its_policy(page: Page) -> None:
    (script,) = (data for tag, data in page.texts if tag == "script")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = (
        attributes["content"] for attributes in page.all("meta") if "http-equiv" in attributes
    )
    assert f"script-src 'sha256-{digest}';" in policy
    assert page.all("script") == [{}]


def test_conflict_page_way_out_has_its_command(page: Page) -> None:
    commands = [data for tag, data in page.texts if tag == "code" and " explain " in data]
    letters = [re.split("[ =]", command)[-1] for command in commands]
    assert letters == [chr(ord("A") + number) for number in range(len(letters))]
    assert len(page.all("button")) == len(letters)


def test_conflict_page_shows_no_backticks(page: Page) -> None:
    texts = [data for tag, data in page.texts if tag not in ("style", "script")]
    assert [text for text in texts if re.search("`[^`]+`", text)] == []


def test_conflict_page_has_no_event_attributes(page: Page) -> None:
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)


def test_conflict_page_landmarks_and_headings(page: Page) -> None:
    tags = [tag for tag, _ in page.elements]
    for landmark in ("header", "main", "h1", "title"):
        assert tags.count(landmark) == 1
    levels = [int(tag[1]) for tag in tags if re.fullmatch(r"h[1-6]", tag)]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.all("a")[0]["class"] == "skip"


def sentences(value: Any) -> Iterator[str]:
    """Yield the sentences in JSON, without texts of sources that the page shows as links."""
    if isinstance(value, list):
        for element in value:
            yield from sentences(element)
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        # `data` is what the sentences were made of.
        if key == "data" or (key == "source" and value["links"]):
            continue
        if key in ("text", "claim", "origin", "reason", "source") and isinstance(inner, str):
            yield inner
        else:
            yield from sentences(inner)


def remove_what_is_told_elsewhere(view: Any) -> None:
    for contradiction in view["contradictions"]:
        # The closing of a single statement says nothing new.
        if len(contradiction["statements"]) == 1:
            contradiction["closing"] = None
    warnings = [*view["contradictions"][0]["notes"]]
    for fix in view["fixes"]:
        for environment in fix["environments"]:
            warnings += environment["warnings"]
    for warning in warnings:
        # The text of the warning says it.
        del warning["fact"]["reason"]
    for attempt in view["attempts"]:
        # The text of the attempt says it.
        attempt["because"] = []


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("make", [samples.trl, samples.branching, samples.several])
def test_conflict_page_has_every_sentence_of_the_json(make: Any, language: Any) -> None:
    shown = Page(explanation_html(make(), language)).shown()
    view = explanation_json(make(), language)
    remove_what_is_told_elsewhere(view)
    expected = [" ".join(text.replace("`", "").split()) for text in sentences(view)]
    assert [text for text in expected if text not in shown] == []


def test_conflict_page_keeps_hostile_texts_as_texts() -> None:
    text = explanation_html(samples.hostile())
    assert text.count("<script") == 1
    assert "javascript:" in Page(text).shown()
    assert all(char.isprintable() or char == "\n" for char in text)


# --- matrix.html: the data of matrix.json and all texts in one file, safe whatever they say


PAGE = matrix_page(solved_grid())
TEXTS, DATA, SCRIPT = (data for tag, data in Page(PAGE).texts if tag == "script")


def test_matrix_page_has_the_data_of_matrix_json() -> None:
    assert json.loads(DATA) == json.loads(matrix_json(solved_grid()))
    assert harmless(HOSTILE) in [texts["en"] for texts in json.loads(DATA)["texts"]]
    assert "<" not in DATA


def test_matrix_page_title_is_text() -> None:
    page = Page(matrix_page(replace(solved_grid(), package="</title><img src=x>")))
    assert ("title", "</title><img src=x>: which versions go together") in page.texts
    assert page.all("img") == []


def test_matrix_page_shows_each_text_in_each_language() -> None:
    texts = json.loads(TEXTS)
    assert tuple(texts) == LANGUAGES
    for language in LANGUAGES:
        assert texts[language].keys() == texts["en"].keys()
        assert all(texts[language].values())
    elements = [attributes for _, attributes in Page(PAGE).elements]
    placed = {attributes["data-text"] for attributes in elements if "data-text" in attributes}
    assert placed <= texts["en"].keys()
    used = placed | {"scriptless"}
    for literal, key in re.findall(r'"([a-z-]+)"|texts\[value\]\.(language)', SCRIPT):
        used.add(literal or key)
    for outcome in CellOutcome:
        used |= {outcome.value, f"{outcome.value}-about"}
    assert texts["en"].keys() - used == set()


def test_matrix_page_loads_nothing() -> None:
    page = Page(PAGE)
    assert page.all("link") == [{"rel": "icon", "href": "data:,"}]
    assert [
        tag
        for tag, attributes in page.elements
        if "src" in attributes or attributes.get("href", "#")[0] != "#"
    ] == ["link"]
    (policy,) = (
        attributes["content"] for attributes in page.all("meta") if "http-equiv" in attributes
    )
    assert policy.startswith("default-src 'none';")
    assert "http" not in SCRIPT
