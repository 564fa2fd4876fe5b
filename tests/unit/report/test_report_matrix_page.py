"""matrix.html: the data of matrix.json and all texts in one file, safe whatever they say."""

from __future__ import annotations

import json
import re

from msgspec.structs import replace

from resolver.i18n import LANGUAGES
from resolver.model.matrix import Outcome
from resolver.report.matrix_file import matrix_json
from resolver.report.matrix_page import matrix_page
from tests.solved_grid import HOSTILE, solved_grid
from tests.unit.report.test_report_html import Page

PAGE = matrix_page(solved_grid())
TEXTS, DATA, SCRIPT = (data for tag, data in Page(PAGE).texts if tag == "script")


def test_it_has_the_data_of_matrix_json_which_no_text_ends() -> None:
    assert json.loads(DATA) == json.loads(matrix_json(solved_grid()))
    assert HOSTILE in [texts["en"] for texts in json.loads(DATA)["texts"]]
    assert "<" not in DATA


def test_a_name_in_the_title_is_text() -> None:
    page = Page(matrix_page(replace(solved_grid(), package="</title><img src=x>")))
    assert ("title", "</title><img src=x>: which versions go together") in page.texts
    assert page.all("img") == []


def test_every_text_is_there_in_each_language_and_shown() -> None:
    texts = json.loads(TEXTS)
    assert tuple(texts) == LANGUAGES
    for language in LANGUAGES:
        assert texts[language].keys() == texts["en"].keys()
        assert all(texts[language].values())
    placed = {attributes["data-text"] for _, attributes in Page(PAGE).elements if "data-text" in attributes}
    assert placed <= texts["en"].keys()
    shown = placed | set(re.findall(r'"([a-z-]+)"|texts\[value\]\.(language)', SCRIPT)) | {("scriptless", "")}
    used = {one if isinstance(one, str) else "".join(one) for one in shown}
    used |= {code for outcome in Outcome for code in (outcome.value, f"{outcome.value}-about")}
    assert texts["en"].keys() - used == set()


def test_nothing_is_asked_of_the_network() -> None:
    page = Page(PAGE)
    assert page.all("link") == [{"rel": "icon", "href": "data:,"}]
    assert [
        tag for tag, attributes in page.elements if "src" in attributes or attributes.get("href", "#")[0] != "#"
    ] == ["link"]
    (policy,) = (attributes["content"] for attributes in page.all("meta") if "http-equiv" in attributes)
    assert policy.startswith("default-src 'none';")
    assert "http" not in SCRIPT
