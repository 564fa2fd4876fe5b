"""conflict.html: well formed, self-contained, and safe whatever the texts. A browser looks at it in tests/browser."""

from __future__ import annotations

import random
import re
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from resolver.model.explanation import Closing, Contradiction, Explanation
from resolver.model.statement import Has, Lack, Lacks, Statement
from resolver.render.explanation.graph import conflict_graph
from resolver.render.explanation.html import explanation_html
from resolver.render.explanation.json import explanation_json
from resolver.render.explanation.layout import layout
from tests.unit.render import samples

VOID = {"meta", "link", "br"}
MAKES = [samples.trl, samples.branching, samples.several, samples.hostile]


class Page(HTMLParser):
    """Elements with their attributes; complains of what is not closed in its turn."""

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
        return " ".join("".join(data for tag, data in self.texts if tag != "style").split())


@pytest.fixture(
    params=[(make, language) for make in MAKES for language in ("en", "zh")],
    ids=lambda row: f"{row[0].__name__}-{row[1]}",
)
def page(request: Any) -> Page:
    make, language = request.param
    return Page(explanation_html(make(), language))


def test_ids_are_unique_and_references_lead_to_them(page: Page) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    wanted = {href[1:] for a in page.all("a") if (href := a["href"]).startswith("#")}
    for _, attributes in page.elements:
        wanted.update(attributes.get("aria-labelledby", "").split())
        wanted.update(re.findall(r"url\(#([^)]+)\)", " ".join(attributes.values())))
    assert wanted <= set(ids)


def test_nothing_is_asked_of_the_network(page: Page) -> None:
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "img", "iframe", "object", "embed", "form", "base"})
    assert page.all("link") == [{"rel": "icon", "href": "data:,"}]
    style = "".join(data for tag, data in page.texts if tag == "style")
    assert "url(" not in style
    assert "@import" not in style


def test_links_go_to_lines_of_this_page_the_matrices_or_the_web(page: Page) -> None:
    for link in page.all("a"):
        assert re.match(r"#|\.\./\.\./\.\./matrices/|https://", link["href"]), link


def test_no_attribute_acts(page: Page) -> None:
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)


def test_landmarks_and_headings(page: Page) -> None:
    tags = [tag for tag, _ in page.elements]
    for landmark in ("header", "main", "footer", "h1", "title"):
        # each drawing has a title of its own
        assert tags.count(landmark) == (1 + tags.count("svg") if landmark == "title" else 1)
    levels = [int(tag[1]) for tag in tags if re.fullmatch(r"h[1-6]", tag)]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.all("a")[0]["class"] == "skip"
    assert all(box.get("aria-label") for box in page.all("div") if box.get("role") == "region")


@pytest.mark.parametrize(("language", "tag"), [("en", "en"), ("zh", "zh-Hans")])
def test_the_language_is_stated(language: Any, tag: str) -> None:
    assert Page(explanation_html(samples.trl(), language)).all("html") == [{"lang": tag}]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("make", [samples.trl, samples.branching, samples.several])
def test_every_sentence_of_the_json_is_on_the_page(make: Any, language: Any) -> None:
    shown = Page(explanation_html(make(), language)).shown()

    def sentences(value: Any) -> Any:
        if isinstance(value, dict):
            for key, one in value.items():
                if key == "data":  # what the sentences were made of
                    continue
                if key in ("text", "claim", "origin", "reason", "source") and isinstance(one, str):
                    yield one
                else:
                    yield from sentences(one)
        elif isinstance(value, list):
            for one in value:
                yield from sentences(one)

    view = explanation_json(make(), language)
    for warning in view["contradictions"][0]["notes"]:
        del warning["fact"]["reason"]  # what it warns of is told
    for fix in view["fixes"]:
        for environment in fix["environments"]:
            for warning in environment["warnings"]:
                del warning["fact"]["reason"]
    for attempt in view["attempts"]:
        attempt["because"] = []  # told in the text of the attempt
    for contradiction in view["contradictions"]:
        if len(contradiction["statements"]) == 1:
            contradiction["closing"] = None  # says nothing new
    missing = [one for one in sentences(view) if " ".join(one.split()) not in shown]
    assert missing == []


def test_hostile_texts_stay_texts() -> None:
    text = explanation_html(samples.hostile())
    assert "<script" not in text
    assert "javascript:" in Page(text).shown()
    assert all(char.isprintable() or char == "\n" for char in text)


def check_boxes(explanation: Explanation) -> None:
    """Every box is in the drawing, and none overlaps another."""
    found = []
    for contradiction in explanation.contradictions:
        drawing = layout(conflict_graph(contradiction, "a", "en"))
        for one in drawing.placed:
            assert one.width / 2 <= one.x <= drawing.width - one.width / 2
            assert one.height / 2 <= one.y <= drawing.height - one.height / 2
            found.append((one.x - one.width / 2, one.y - one.height / 2, one.width, one.height))
        for at, (x, y, width, height) in enumerate(found):
            for x2, y2, width2, height2 in found[at + 1 :]:
                assert x + width <= x2 or x2 + width2 <= x or y + height <= y2 or y2 + height2 <= y
        found.clear()


@pytest.mark.parametrize("make", MAKES)
def test_nothing_in_a_drawing_overlaps(make: Any) -> None:
    check_boxes(make())


@pytest.mark.parametrize("seed", range(30))
def test_nothing_overlaps_in_a_drawing_of_any_kind(seed: int) -> None:
    chance = random.Random(seed)
    names = [f"project-{number}" for number in range(chance.randint(2, 12))]
    statements: list[Statement] = [samples.asks(f"{name}>=1", 9) for name in names[:3]]
    for _ in range(chance.randint(1, 25)):
        one, other = chance.choice(names), chance.choice(names)
        statements.append(samples.needs(one, str(chance.randint(1, 3)), f"{other}<{chance.randint(1, 10**12)}"))
    statements += [
        Has(component="cann", value="8.5.0", where="a:1"),
        Lacks(subject=chance.choice(names), wanted="", lack=Lack.FILE, where="pypi"),
    ]
    contradiction = Contradiction(statements=tuple(statements), closing=Closing(subject=names[0], numbers=(1,)))
    check_boxes(msgspec.structs.replace(samples.several(), contradictions=(contradiction,)))


def test_the_graph_of_the_flagship() -> None:
    graph = conflict_graph(samples.trl().contradictions[0], "trl-vllm-train", "en")
    assert [(node.label, node.detail, node.clash) for node in graph.nodes.values()] == [
        ("stack", "trl-vllm-train", ""),
        ("trl[vllm]", "0.28.0", ""),
        ("vllm", "", "nothing left"),
        ("vllm-ascend", "0.13.0", ""),
    ]
    assert [(label.number, label.text, label.sort, label.sources, label.target) for label in graph.labels] == [
        (1, "==0.28.0", "stack", ("stack",), "project trl"),
        (2, "<0.13.0,>=0.10.2", "metadata", ("project trl",), "project vllm"),
        (3, "==0.13.0", "stack", ("stack",), "project vllm-ascend"),
        (4, "==0.13.0", "fact", ("project vllm-ascend",), "project vllm"),
    ]


def test_a_cycle_can_be_drawn() -> None:
    base = samples.trl().contradictions[0]
    cycle = (
        samples.asks("a", 9),
        samples.needs("a", "1", "b"),
        samples.needs("b", "1", "c"),
        samples.needs("c", "1", "a>2"),
        samples.needs("c", "1", "c>2"),
    )
    drawing = layout(conflict_graph(type(base)(statements=cycle, closing=base.closing), "s", "en"))
    arrows = [wire.arrow for wire in drawing.wires]
    assert (arrows.count(""), arrows.count("lower"), arrows.count("upper")) == (5, 3, 2)


def test_projects_that_no_index_has_either_are_named_where_there_are_any() -> None:
    assert "no index has" not in explanation_html(samples.trl())
    told = explanation_html(replace(samples.trl(), missing=("nump", "torchh")))
    assert told.count("The stack also asks for these 2 projects, which no index has: nump, torchh.") == 1
