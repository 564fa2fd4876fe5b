"""The files of a conflict's report."""

from __future__ import annotations

from resolver.model.explanation import Explanation
from resolver.model.language import Language
from resolver.render.explanation.html import explanation_html
from resolver.render.explanation.json import explanation_json
from resolver.render.explanation.markdown import explanation_markdown
from resolver.render.text import json_text

FILES = ("conflict.md", "conflict.html", "conflict.json")


def report_files(explanation: Explanation, language: Language) -> dict[str, str]:
    """File name -> text."""
    machine = json_text(explanation_json(explanation, language))
    texts = (explanation_markdown(explanation, language), explanation_html(explanation, language), machine + "\n")
    return dict(zip(FILES, texts, strict=True))
