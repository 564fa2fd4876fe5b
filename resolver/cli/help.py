"""Run `ascend-lock help [NAME]`: show a page of the documentation that ships with this program."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

import resolver
from resolver.cli import options
from resolver.cli.common import Command
from resolver.cli.console import columns, print_json, print_line, print_text
from resolver.cli.group import LazyGroup
from resolver.cli.options import Settings, settings
from resolver.errors import InputError, did_you_mean
from resolver.i18n import translate
from resolver.model.text import Language
from resolver.phrase import phrase
from resolver.report.terminal import WIDTH, table_lines

# A link to docs/ in a checkout; a wheel has the files themselves.
_FOLDER: Final = Path(resolver.__file__).with_name("docs")
_SUFFIX: Final = ".md"
# The page about the files of facts, which ships beside them.
_FACTS: Final = "facts-files"
_FACTS_FOLDER: Final = Path(resolver.__file__).with_name("matrices")
# What follows the name of a page that is a translation.
_CHINESE: Final = ".zh-CN"
# The pages for users, in the order in which they are needed. The others are for developers.
# A page with a word in so many lines is about it.
_OFTEN: Final = 4
_FOR_USERS: Final = (
    "start",
    "day",
    "concepts",
    "matrix",
    "stacks",
    "import",
    "conflicts",
    "review",
    "checking",
    "indexes",
    "ci",
    "install",
    "verify",
    "export",
    "cluster",
    "completion",
    "lock",
    "versions",
)


@click.command("help", cls=Command)
@click.argument("name", required=False, shell_complete=options.completed("pages"))
@settings()
@click.pass_context
def command(context: click.Context, run: Settings, name: str | None) -> int:
    """Show a page of the documentation, or list the pages.

    NAME may also be a command, whose options are then shown, or a word: the pages with it in a
    heading are then listed, or else those with it in their text.
    """
    if name is None:
        _list_pages(run)
        return 0
    name = name.removesuffix(_SUFFIX).removesuffix(_CHINESE).removeprefix("docs/")
    if name in page_names():
        _show_page(name, run)
        return 0
    root = context.find_root()
    group = root.command
    assert isinstance(group, LazyGroup)  # noqa: S101  commands are called by it alone
    commands = group.list_commands(root)
    if name not in commands:
        found_pages = _search(name, run.language)
        if found_pages:
            _print_pages(found_pages, run)
            return 0
        raise InputError(
            phrase("there is no page and no command `{name}`", name=name),
            where="NAME",
            hint=did_you_mean(
                name, [*page_names(), *commands], phrase("ascend-lock help lists the pages")
            ),
        )
    found = group.get_command(root, name)
    assert found is not None  # noqa: S101  it is listed
    shown = type(root)(found, info_name=name, parent=root)
    _show(name, found.get_help(shown), run)
    return 0


def page_names() -> list[str]:
    """Return the names of all pages, those for users first, the others in alphabetical order.

    Each is written in English at least.
    """
    stems = {_FACTS} | {path.name.removesuffix(_SUFFIX) for path in _FOLDER.glob(f"*{_SUFFIX}")}
    names = {stem for stem in stems if not stem.endswith(_CHINESE)}
    return [*_FOR_USERS, *sorted(names.difference(_FOR_USERS))]


def _list_pages(run: Settings) -> None:
    """Print the name and the title of each page.

    In a Chinese run, the pages that are only in English are marked.
    """
    titles = {}
    for name in page_names():
        title = _title(_source(name, run.language))
        if run.language == "zh" and not _translation(name).is_file():
            title = translate("help.in-english", run.language, title=title)
        titles[name] = title
    _print_pages(titles, run)


def _search(word: str, language: Language) -> dict[str, str]:
    """Return the pages that have a word, each with the first heading with it or above it.

    The word may be the beginning of a longer one. Pages with it in a heading come first, then those
    with it in at least `_OFTEN` lines, then, if there is no other page, the rest.
    """
    begins_with_word = re.compile(rf"(?<![a-z0-9]){re.escape(word)}", re.IGNORECASE)
    by_heading: dict[str, str] = {}
    by_text: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for name in page_names():
        heading = ""
        is_code = False
        for line in _source(name, language).splitlines():
            if line.startswith("```"):
                is_code = not is_code
            is_heading = line.startswith("#") and not is_code
            if is_heading:
                heading = line.lstrip("# ")
            if begins_with_word.search(line):
                (by_heading if is_heading else by_text).setdefault(name, heading)
                counts[name] += 1
    often = {
        name: by_text[name]
        for name, count in counts.most_common()
        if count >= _OFTEN and name not in by_heading
    }
    return {**by_heading, **often} or by_text


def _print_pages(titles: Mapping[str, str], run: Settings) -> None:
    """Print the names of pages, each with its title or a heading."""
    if run.as_json:
        pages = [{"name": name, "title": title} for name, title in titles.items()]
        print_json({"status": "found", "pages": pages})
        return
    width = columns(sys.stdout, WIDTH)
    for line in table_lines([("", ""), *titles.items()], width)[1:]:
        print_line(line)


def _show_page(name: str, run: Settings) -> None:
    """Print a page in the language of the run, or in English if it has no translation."""
    text = _source(name, run.language)
    if not run.as_json:
        # It takes rich's reader of Markdown, which no other command needs.
        from resolver.report.markdown_page import laid_out

        text = laid_out(text, columns(sys.stdout, WIDTH))
    _show(name, text, run)


def _show(name: str, text: str, run: Settings) -> None:
    """Print a text about something with this name."""
    if run.as_json:
        print_json({"status": "found", "name": name, "text": text})
    else:
        print_text(f"{text}\n")


def _source(name: str, language: Language) -> str:
    """Return the Markdown of a page, in English if it has no translation."""
    path = _page(name)
    if language == "zh" and _translation(name).is_file():
        path = _translation(name)
    return path.read_text(encoding="utf-8")


def _page(name: str) -> Path:
    """Return the path of a page in English."""
    return _FACTS_FOLDER / "README.md" if name == _FACTS else _FOLDER / f"{name}{_SUFFIX}"


def _translation(name: str) -> Path:
    """Return the path of a page's translation, whether it exists or not."""
    page = _page(name)
    return page.with_name(f"{page.stem}{_CHINESE}{_SUFFIX}")


def _title(source: str) -> str:
    """Return the title of a page, which is its first line."""
    return source.partition("\n")[0].removeprefix("# ")
