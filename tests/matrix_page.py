"""The committed page of the matrix, made of its data: python -m tests.matrix_page."""

from __future__ import annotations

from pathlib import Path

from resolver.report.matrix import matrix_page, read_matrix

REPOSITORY = Path(__file__).parents[1]
PAGE = REPOSITORY / "docs" / "matrix.html"
DATA = REPOSITORY / "matrices" / "matrix.json"


def made() -> str:
    """Return the page."""
    return matrix_page(read_matrix(DATA))


if __name__ == "__main__":
    PAGE.write_text(made(), encoding="utf-8")
