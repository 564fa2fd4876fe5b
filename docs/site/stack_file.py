"""The page of the keys of a stack's file."""

from __future__ import annotations

from typing import Final

from docs.site.navigation import SiteLanguage
from docs.site.tables import key_table, keys, sections
from docs.site.writing import cell
from resolver.config import schema

_HEAD: Final = {
    "en": """# Keys of a stack

Every table and key that the file of a stack may have, from the types that read it. How to use them
is in [Stacks](stacks.md). A key that is not here is an error, with its line.
""",
    "zh": """# 软件栈文件的键

软件栈文件中可以有的全部表和键，取自读取它的类型（说明为英文）。
用法见[软件栈](stacks.md)。写了这里没有的键会报错，并指出所在的行。
""",
}


def page(language: SiteLanguage) -> str:
    """Return the page in Markdown."""
    parts = [_HEAD[language]]
    for key in keys(schema.StackFile):
        if key.name == "fact":
            text = f"{cell(key.comment)} `[[fact.requires]]` and the like have the keys of"
            parts.append(f"## `fact`\n\n{text} [files of facts](fact-files.md).\n")
            continue
        for row in key.tables:
            parts.extend(sections(row, key.name))
    parts.append("## All tables\n")
    parts.append(key_table(keys(schema.StackFile)))
    return "\n".join(parts)
