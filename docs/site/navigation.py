"""The pages of the site: their files in each language, and the order of the navigation."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, NamedTuple

SiteLanguage = Literal["en", "zh"]
LANGUAGES: Final[tuple[SiteLanguage, ...]] = ("en", "zh")
REPOSITORY: Final = Path(__file__).resolve().parents[2]


class Part(NamedTuple):
    """A part of the navigation, named after what the reader is about to do."""

    # The title in each language.
    title: dict[SiteLanguage, str]
    # The names of its pages and of files, in their order.
    pages: tuple[str, ...]


NAVIGATION: Final = (
    Part({"en": "Start", "zh": "入门"}, ("index", "start", "day", "concepts")),
    Part(
        {"en": "Choose and write a stack", "zh": "选择和编写软件栈"},
        ("which-versions", "matrix.html", "stacks", "import"),
    ),
    Part(
        {"en": "Lock and review", "zh": "锁定和审阅"},
        ("conflicts", "review", "checking", "indexes", "ci"),
    ),
    Part({"en": "Install and run", "zh": "安装和运行"}, ("install", "verify", "export", "cluster")),
    Part(
        {"en": "Reference", "zh": "参考"},
        (
            "commands",
            "completion",
            "stack-file",
            "facts",
            "fact-files",
            "lock",
            "lock-file",
            "conflict-report",
            "schemas",
            "messages",
            "versions",
        ),
    ),
    Part({"en": "How it works", "zh": "原理"}, ("solving", "explaining", "upstream", "vendors")),
    Part(
        {"en": "Project", "zh": "项目"},
        ("security", "attacks", "faults", "contributing", "development", "changelog"),
    ),
)

# Files of docs/ that are pages as they are, by their titles.
FILES: Final[dict[str, dict[SiteLanguage, str]]] = {
    "matrix.html": {"en": "The matrix", "zh": "矩阵"},
}

# Pages that are elsewhere than in docs/, or have another name there, by name.
_ELSEWHERE: Final = {
    "index": ("README.md", "README.zh-CN.md"),
    "which-versions": ("docs/matrix.md", "docs/matrix.zh-CN.md"),  # matrix.html is the matrix
    "facts": ("matrices/README.md", "matrices/README.zh-CN.md"),
    "security": ("SECURITY.md", "SECURITY.zh-CN.md"),
    "contributing": ("CONTRIBUTING.md", "CONTRIBUTING.zh-CN.md"),
    "changelog": ("CHANGELOG.md", "CHANGELOG.zh-CN.md"),
}


def page_names() -> tuple[str, ...]:
    """Return the names of all pages, in the order of the navigation."""
    return tuple(name for part in NAVIGATION for name in part.pages if name not in FILES)


def source_path(name: str, language: SiteLanguage) -> str:
    """Return the path in the repository where a page is written, whether or not it is there."""
    english, chinese = _ELSEWHERE.get(name, (f"docs/{name}.md", f"docs/{name}.zh-CN.md"))
    return english if language == "en" else chinese


def written_pages(language: SiteLanguage) -> dict[str, str]:
    """Return the paths of the pages that are written in a language, by name."""
    paths = {name: source_path(name, language) for name in page_names()}
    return {name: path for name, path in paths.items() if (REPOSITORY / path).is_file()}
