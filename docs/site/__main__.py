"""Build the site: `python -m docs.site [FOLDER]`, or `make docs`."""

from __future__ import annotations

import logging
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from mkdocs.commands.build import build
from mkdocs.config import load_config

from docs.site import commands, fact_files, lock_file, messages, schemas, stack_file
from docs.site.blocks import with_shells
from docs.site.chinese import without_breaks
from docs.site.links import Pages, pages_of, site_name, site_text, title
from docs.site.navigation import (
    FILES,
    LANGUAGES,
    NAVIGATION,
    REPOSITORY,
    SiteLanguage,
    page_names,
    written_pages,
)

_FOLDER: Final = REPOSITORY / "build" / "docs"
_CONFIG: Final = Path(__file__).with_name("mkdocs.yml")
_STYLE: Final = Path(__file__).with_name("style.css")
# The modules that make pages of the code, by the name of the page, in each of the languages.
_MADE: Final[Mapping[str, ModuleType]] = {
    "commands": commands,
    "stack-file": stack_file,
    "fact-files": fact_files,
    "lock-file": lock_file,
    "messages": messages,
    "schemas": schemas,
}
_START: Final = """<!doctype html>
<meta charset="utf-8">
<title>ascend-lock</title>
<meta http-equiv="refresh" content="0; url=en/index.html">
<p><a href="en/index.html">English</a> · <a href="zh/index.html">中文</a></p>
"""
# Characters that GitHub leaves out of the anchor of a heading.
_NOT_IN_ANCHOR: Final = re.compile(r"[^\w -]")
# What separates words of the index. `torch-npu` is one, and so is each Chinese character.
_SEPARATORS: Final = {"en": r"\s+", "zh": r"\s+|(?=[\u4e00-\u9fff])"}


def anchor_of(heading: str, separator: str) -> str:
    """Return the anchor of a heading, as code forges make it."""
    return _NOT_IN_ANCHOR.sub("", heading.lower()).replace(" ", separator)


def write_pages(folder: Path, language: SiteLanguage, pages: Pages) -> None:
    """Write the pages of a language, and the files that they show, into a folder."""
    for name, path in written_pages(language).items():
        text = (REPOSITORY / path).read_text(encoding="utf-8")
        text, files = site_text(text, path, language, pages)
        text = with_shells(text)
        if language == "zh":
            text = without_breaks(text)
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
        for file in files:
            copy = folder / site_name(file)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(REPOSITORY / file, copy)
    for name, module in _MADE.items():
        text = _with_twin(module.page(language), name, language)
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    shutil.copyfile(_STYLE, folder / "style.css")
    shutil.copytree(REPOSITORY / schemas.FOLDER, folder / "schemas", dirs_exist_ok=True)


def _with_twin(text: str, name: str, language: SiteLanguage) -> str:
    """Return a page that is made with a link to the other language below its title."""
    other, title = ("zh", "中文") if language == "en" else ("en", "English")
    head, _, rest = text.partition("\n")
    return f'{head}\n\n<a href="../{other}/{name}.html">{title}</a>\n{rest}'


def navigation(language: SiteLanguage, pages: Pages) -> list[dict[str, list[Any]]]:
    """Return the navigation of a language as mkdocs has it.

    A page that is there in English alone is linked to there.
    """
    english = written_pages("en")
    parts = []
    for part in NAVIGATION:
        entries: list[Any] = []
        for name in part.pages:
            if name in FILES:
                entries.append({FILES[name][language]: name})
            elif name in pages.names[language]:
                entries.append(f"{name}.md")
            else:
                entries.append({f"{title(english[name])}（英文）": f"../en/{name}.html"})
        parts.append({part.title[language]: entries})
    return parts


def build_language(folder: Path, language: SiteLanguage, pages: Pages) -> None:
    """Build the site of a language into a folder. Raises mkdocs' Abort for each warning."""
    with tempfile.TemporaryDirectory() as sources:
        write_pages(Path(sources), language, pages)
        config = load_config(
            str(_CONFIG),
            docs_dir=sources,
            site_dir=str(folder / language),
            nav=navigation(language, pages),
            extra_css=["style.css"],
            strict=True,
        )
        config.theme["language"] = language
        config.mdx_configs["toc"] = {"slugify": anchor_of, "permalink": True, "toc_depth": 3}
        config.plugins["material/search"].config.lang = [language]
        config.plugins["material/search"].config.separator = _SEPARATORS[language]
        build(config)


def build_site(folder: Path) -> None:
    """Build the site of both languages into a folder."""
    written = {language: written_pages(language) for language in LANGUAGES}
    missing = set(page_names()) - set(written["en"]) - set(_MADE)
    if missing:
        raise FileNotFoundError(f"no page is written: {', '.join(sorted(missing))}")
    made = {name: f"docs/site/{Path(str(module.__file__)).name}" for name, module in _MADE.items()}
    # A link to the folder leads to the list of its files.
    made["schemas"] = schemas.FOLDER
    pages = pages_of(written, made)
    for language in LANGUAGES:
        build_language(folder, language, pages)
    (folder / "index.html").write_text(_START, encoding="utf-8")


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    goal = Path(sys.argv[1]) if len(sys.argv) > 1 else _FOLDER
    build_site(goal)
    print(f"the site is in {goal}: python3 -m http.server --directory {goal}")  # noqa: T201
