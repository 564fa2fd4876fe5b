"""Links of a page, from where its file is in the repository to where the page is on the site."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from docs.site.navigation import LANGUAGES, REPOSITORY, SiteLanguage

_LINK: Final = re.compile(
    r"`[^`]*`|(?P<image>!?)\[(?P<text>(?:[^\[\]`]|`[^`]*`|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)"
)
_HEADING: Final = re.compile(r"(?m)^# (.*)$")
_FENCE: Final = re.compile(r" *(```|~~~)")
_ABSOLUTE: Final = re.compile(r"\w+:")
# Files elsewhere than in docs/ that the site has as well.
_DATA: Final = frozenset({"matrices/matrix.json"})


class DeadLinkError(Exception):
    """A link of a page leads to no file."""


class Pages(NamedTuple):
    """The pages of the site by the path of their files in the repository."""

    # The language and the name of each page.
    by_path: Mapping[str, tuple[SiteLanguage, str]]
    # The modules that make pages in both languages, by name. A link to one leads to its page.
    made: Mapping[str, str]
    # The names of the pages in each language, made ones included.
    names: Mapping[SiteLanguage, frozenset[str]]


def pages_of(written: Mapping[SiteLanguage, Mapping[str, str]], made: Mapping[str, str]) -> Pages:
    """Return the pages of the site.

    `made` has the modules that make pages, by the names of the pages.
    """
    by_path = {}
    for language in LANGUAGES:
        for name, path in written[language].items():
            by_path[path] = (language, name)
    names = {language: frozenset(written[language]) | frozenset(made) for language in LANGUAGES}
    return Pages(by_path, made, names)


@lru_cache
def title(path: str) -> str:
    """Return the heading of a page by the path of its file."""
    text = (REPOSITORY / path).read_text(encoding="utf-8")
    match = _HEADING.search(text)
    return match[1] if match else path


def site_text(text: str, path: str, language: SiteLanguage, pages: Pages) -> tuple[str, set[str]]:
    """Return a page as the site has it, and the paths of other files that the site needs for it.

    Raises DeadLinkError.
    """
    files: set[str] = set()

    def link(match: re.Match[str]) -> str:
        return _site_link(match, path, language, pages, files)

    lines = [line if is_code else _LINK.sub(link, line) for line, is_code in _lines(text)]
    return "".join(lines), files


def site_name(path: str) -> str:
    """Return where on the site a file is that is no page, by its path in the repository."""
    return path.removeprefix("docs/").removeprefix("matrices/")


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it belongs to a block of code."""
    fence = ""
    for line in text.splitlines(keepends=True):
        match = _FENCE.match(line)
        if match and not fence:
            fence = match[1]
            yield line, True
        elif match and match[1] == fence:
            fence = ""
            yield line, True
        else:
            yield line, bool(fence)


def _site_link(
    match: re.Match[str], path: str, language: SiteLanguage, pages: Pages, files: set[str]
) -> str:
    if not match["target"]:  # a span of code
        return match[0]
    target, _, anchor = match["target"].partition("#")
    if _ABSOLUTE.match(target) or not target:
        return match[0]
    there = os.path.normpath(Path(path).parent / target)
    if not (REPOSITORY / there).exists():
        raise DeadLinkError(f"{path}: {match['target']}")
    fragment = f"#{anchor}" if anchor else ""
    for name, module in pages.made.items():
        if there == module:
            return f"[{match['text']}]({name}.md{fragment})"
    if there in pages.by_path:
        there_language, name = pages.by_path[there]
        shown = title(there) if match["text"].endswith(target) else match["text"]
        if there_language == language:
            return f"[{shown}]({name}.md{fragment})"
        # mkdocs builds one language at a time, and would take a link of its own to be dead.
        return f'<a href="../{there_language}/{name}.html{fragment}">{shown}</a>'
    if there in _DATA or (there.startswith("docs/") and (REPOSITORY / there).is_file()):
        files.add(there)
        return f"{match['image']}[{match['text']}]({site_name(there)}{fragment})"
    # A file of the repository that is no page.
    if match["text"].strip("`") in (there, target):
        return f"`{there}`"
    return f"{match['text']} (`{there}`)"
