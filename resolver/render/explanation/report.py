"""The files of a conflict's report: one for each reader, whatever language the run speaks."""

from __future__ import annotations

from resolver.model.explanation import Explanation
from resolver.render.explanation.html import explanation_html
from resolver.render.explanation.json import explanation_json
from resolver.render.explanation.markdown import explanation_markdown
from resolver.render.text import json_text


def report_files(explanation: Explanation) -> dict[str, str]:
    """File name -> text. Programs read English; people have a page in each language."""
    return {
        "conflict.md": explanation_markdown(explanation, "en"),
        "conflict.zh.md": explanation_markdown(explanation, "zh"),
        "conflict.html": explanation_html(explanation, "en"),
        "conflict.zh.html": explanation_html(explanation, "zh"),
        "conflict.json": json_text(explanation_json(explanation, "en")) + "\n",
    }
