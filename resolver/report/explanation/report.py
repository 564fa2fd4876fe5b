"""The files of a conflict report, for all readers, independent of the language of the run."""

from __future__ import annotations

from resolver.json_text import json_text
from resolver.model.explanation import Explanation
from resolver.report.explanation.html import explanation_html
from resolver.report.explanation.json import explanation_json
from resolver.report.explanation.markdown import explanation_markdown


def report_files(explanation: Explanation) -> dict[str, str]:
    """File name -> text. JSON is in English; pages for people are in each language."""
    return {
        "conflict.md": explanation_markdown(explanation, "en"),
        "conflict.zh.md": explanation_markdown(explanation, "zh"),
        "conflict.html": explanation_html(explanation, "en"),
        "conflict.zh.html": explanation_html(explanation, "zh"),
        "conflict.json": json_text(explanation_json(explanation, "en")) + "\n",
    }
