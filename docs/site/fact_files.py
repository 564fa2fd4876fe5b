"""The page of the keys of each kind of fact."""

from __future__ import annotations

import inspect
from typing import Final

from docs.site.navigation import SiteLanguage
from docs.site.tables import key_table, keys, sections
from docs.site.writing import cell
from resolver.model.fact import KINDS, Fact

_HEAD: Final = {
    "en": """# Keys of facts

Every key that a row of each kind of fact may have, from the types that read it. What each kind is
for, with examples, is in [Facts, stacks, indexes](facts.md).

## All kinds
""",
    "zh": """# 事实文件的键

每一种事实可以有的全部键，取自读取它的类型（说明为英文）。每一种事实的用途和例子见
<a href="../en/facts.html">Facts, stacks, indexes</a>（英文）。

## 所有种类
""",
}


def page(language: SiteLanguage) -> str:
    """Return the page in Markdown."""
    common = {field for field in Fact.__struct_fields__ if field != "versions"}
    of_all = [
        key for key in keys(Fact) if key.name.replace("-", "_") in common or key.name == "versions"
    ]
    parts = [_HEAD[language], key_table(of_all)]
    names = {key.name for key in of_all}
    for name, kind in KINDS.items():
        parts.append(f"## `{name}`\n\n{cell(inspect.getdoc(kind) or '')}\n")
        own = [key for key in keys(kind) if key.name not in names]
        if own:
            parts.append(key_table(own))
        for key in own:
            for row in key.tables:
                parts.extend(sections(row, f"{name}.{key.name}", 3))
    return "\n".join(parts)
