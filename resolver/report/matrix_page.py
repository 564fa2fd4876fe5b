"""matrix.html: a solved grid as one page that needs no network. What it shows is made of matrix.json by its script."""

from __future__ import annotations

from resolver.i18n import LANGUAGES, templates, translate
from resolver.json_text import json_text
from resolver.model.matrix import Matrix, Outcome
from resolver.report.matrix_file import matrix_json
from resolver.report.template import render_page


def matrix_page(matrix: Matrix) -> str:
    """The text of the page, with the grid and the page's own texts in every language."""
    texts = {
        language: {"language": translate("language", language)}
        | templates("matrix.page-", language)
        | {one.value: translate(f"matrix.{one.value}", language) for one in Outcome}
        for language in LANGUAGES
    }
    return render_page(
        "matrix.html.j2",
        title=translate("matrix.page-title", LANGUAGES[0], package=matrix.package),
        scriptless={language: translate("matrix.page-scriptless", language) for language in LANGUAGES},
        matrix=_data(matrix_json(matrix)),
        texts=_data(json_text(texts, indent=None)),
    )


def _data(written: str) -> str:
    """JSON as the content of a script element, which nothing in it can end: `<` is only in its texts."""
    return written.replace("<", r"\u003c")
