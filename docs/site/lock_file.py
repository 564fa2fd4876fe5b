"""The page of the keys of lock.toml."""

from __future__ import annotations

from typing import Final

from docs.site.navigation import SiteLanguage
from docs.site.tables import sections
from resolver.model.lock import FORMAT, Lock

_HEAD: Final = {
    "en": f"""# Keys of lock.toml

Every table and key of a lock, format {FORMAT}, from the types that read and write it. What they are
for is in [The output of `lock`](lock.md); when the format changes, in [Versions](versions.md).
""",
    "zh": f"""# lock.toml 的键

锁文件（格式 {FORMAT}）中的全部表和键，取自读写它的类型（说明为英文）。
用途见[`lock` 的输出](lock.md)，格式何时改变见[版本](versions.md)。
""",
}


def page(language: SiteLanguage) -> str:
    """Return the page in Markdown."""
    return "\n".join([_HEAD[language], *sections(Lock, "")])
