"""The page of the JSON Schemas, one for each command, which the site has as files."""

from __future__ import annotations

import json
from typing import Final

from docs.site.navigation import REPOSITORY, SiteLanguage
from docs.site.writing import cell, table

# The folder of the files, in docs/ and on the site.
FOLDER: Final = "docs/schemas"
_HEAD: Final = {
    "en": """# JSON Schemas

What each command prints with `--json`. When their `format` changes is in [Versions](versions.md).
""",
    "zh": """# JSON Schema

每个命令用 `--json` 输出的内容（标题为英文）。`format` 何时改变见[版本](versions.md)。
""",
}
_COLUMNS: Final = {"en": ("file", "of"), "zh": ("文件", "用于")}


def page(language: SiteLanguage) -> str:
    """Return the page in Markdown."""
    rows = []
    for path in sorted((REPOSITORY / FOLDER).glob("*.json")):
        title = json.loads(path.read_text(encoding="utf-8"))["title"]
        rows.append((f"[{path.name}](schemas/{path.name})", cell(title)))
    return f"{_HEAD[language]}\n{table(_COLUMNS[language], rows)}"
