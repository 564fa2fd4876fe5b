"""The documentation as a site: it builds without a warning, and each link leads somewhere."""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

pytest.importorskip("mkdocs")

from docs.site.__main__ import anchor_of, build_site
from docs.site.blocks import with_shells
from docs.site.chinese import without_breaks
from docs.site.links import DeadLinkError, pages_of, site_text
from docs.site.messages import page as messages_page
from docs.site.messages import raised
from docs.site.navigation import LANGUAGES, page_names, written_pages
from docs.site.pictures import PICTURES, file_of, svg
from docs.site.tables import NoCommentError, keys
from resolver.model.lock import Lock, LockedFile
from tests.functional.workspace import REPOSITORY

# What is no page of a user: it is there in English alone.
ENGLISH = {
    "facts",
    "conflict-report",
    "solving",
    "explaining",
    "upstream",
    "vendors",
    "security",
    "attacks",
    "faults",
    "contributing",
    "development",
    "changelog",
}
MADE = {"commands", "stack-file", "fact-files", "lock-file", "messages", "schemas"}

ID = re.compile(r'\bid="([^"]*)"')
# What a page loads from elsewhere than the site.
FOREIGN = re.compile(
    r'<(?:script|img|iframe)\b[^>]*\bsrc="(?:https?:)?//|<link\b[^>]*stylesheet[^>]*"https?:'
)
# A list that code forges begin without an empty line before it, and mkdocs does not.
RUN_IN = re.compile(r"<p>[^<]*\n(?:[-*] |\d+\. )")
ADDRESS = re.compile(r'(?:href|src)="([^"]*)"')


def addresses(page: Path) -> Iterator[str]:
    """Yield what a page of the site links to, on the site."""
    for address in ADDRESS.findall(page.read_text(encoding="utf-8")):
        if not re.match(r"\w+:|/", address):
            yield html.unescape(address)


def dead_links(pages: list[Path]) -> list[tuple[str, str]]:
    """Return the links between pages of the site that lead nowhere, each with its page."""
    anchors: dict[Path, set[str]] = {}
    dead = []
    for page in pages:
        for address in addresses(page):
            name, _, anchor = address.partition("#")
            there = (page.parent / unquote(name)).resolve() if name else page
            there = there / "index.html" if there.is_dir() else there
            if not there.exists():
                dead.append((page.name, address))
                continue
            if anchor and there.suffix == ".html" and not anchor.startswith("__"):
                if there not in anchors:
                    anchors[there] = set(ID.findall(there.read_text(encoding="utf-8")))
                if unquote(anchor) not in map(html.unescape, anchors[there]):
                    dead.append((page.name, address))
    return dead


def test_site_builds_without_a_warning_or_dead_link(tmp_path: Path) -> None:
    """It takes ten seconds, so all that is asked of the pages is asked here."""
    logging.getLogger("mkdocs").setLevel(logging.WARNING)
    build_site(tmp_path)
    pages = sorted(tmp_path.glob("*/*.html"))
    assert len(pages) > 2 * len(written_pages("zh"))
    assert dead_links(pages) == []
    texts = {str(page.relative_to(tmp_path)): page.read_text(encoding="utf-8") for page in pages}
    assert [name for name, text in texts.items() if FOREIGN.search(text)] == []
    assert [name for name, text in texts.items() if RUN_IN.search(text)] == []
    schemas = {path.name for path in REPOSITORY.glob("docs/schemas/*.json")}
    for language in LANGUAGES:
        assert {path.name for path in tmp_path.glob(f"{language}/schemas/*.json")} == schemas
        assert (tmp_path / language / "matrix.json").is_file()


def test_pages_for_users_are_there_in_both_languages() -> None:
    assert set(page_names()) - set(written_pages("zh")) - MADE == ENGLISH
    assert set(page_names()) == set(written_pages("en")) | MADE


def test_every_document_is_a_page() -> None:
    pages = {path for language in LANGUAGES for path in written_pages(language).values()}
    assert {f"docs/{path.name}" for path in REPOSITORY.glob("docs/*.md")} <= pages


def test_chinese_pages_link_to_chinese_ones() -> None:
    twins = {path: written_pages("zh").get(name) for name, path in written_pages("en").items()}
    for path in written_pages("zh").values():
        text = (REPOSITORY / path).read_text(encoding="utf-8")
        text = re.sub(r"(?m)^\[English\]\(.*\)$", "", text)
        for target in re.findall(r"\]\((?!\w+:)([^)#\s]+\.md)", text):
            there = (REPOSITORY / path).parent.joinpath(target).resolve()
            assert not twins.get(str(there.relative_to(REPOSITORY))), (path, target)


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [("On A3", "on-a3"), ("NPU 之间的网络", "npu-之间的网络"), ("`--json` & more", "--json--more")],
)
def test_anchors_are_those_of_code_forges(heading: str, anchor: str) -> None:
    assert anchor_of(heading, "-") == anchor


@pytest.mark.parametrize(
    ("link", "there"),
    [
        ("[a](lock.md#json)", "[a](lock.md#json)"),
        ("[a](lock.zh-CN.md)", '<a href="../zh/lock.html">a</a>'),
        ("[a](../matrices/README.md)", "[a](facts.md)"),
        ("[a](matrix.md)", "[a](which-versions.md)"),
        ("[matrix.md](matrix.md)", "[Which versions go together](which-versions.md)"),
        ("[a](messages.py)", "dead"),
        ("[a](nowhere.md)", "dead"),
        ("[a](../tests/audit.py)", "a (`tests/audit.py`)"),
        ("[`tests/audit.py`](../tests/audit.py)", "`tests/audit.py`"),
        ("`[a](nowhere.md)`", "`[a](nowhere.md)`"),
        ("```\n[a](nowhere.md)\n```\n", "```\n[a](nowhere.md)\n```\n"),
        ("[a](site/messages.py)", "[a](messages.md)"),
        ("[a](schemas/lock.json)", "[a](schemas/lock.json)"),
        ("[a](../matrices/matrix.json)", "[a](matrix.json)"),
    ],
)
def test_link_on_the_site(link: str, there: str) -> None:
    written = {language: written_pages(language) for language in LANGUAGES}
    pages = pages_of(written, {"messages": "docs/site/messages.py"})
    if there == "dead":
        with pytest.raises(DeadLinkError):
            site_text(link, "docs/day.md", "en", pages)
    else:
        assert site_text(link, "docs/day.md", "en", pages)[0] == there


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        ("```console\nmake\n```\n", "```bash\nmake\n```\n"),
        ("```console\n$ make\ndone\n```\n", "```console\n$ make\ndone\n```\n"),
        ("```console\n# first\n$ make\n```\n", "```console\n# first\n$ make\n```\n"),
    ],
)
def test_block_without_a_prompt_is_of_bash(block: str, shown: str) -> None:
    assert with_shells(block) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("软件栈\n文件\n", "软件栈文件\n"),
        ("- 软件栈，\n  文件\n", "- 软件栈，文件\n"),
        ("软件栈\nlock\n", "软件栈\nlock\n"),
        ("软件栈\n\n文件\n", "软件栈\n\n文件\n"),
        ("```text\n软件栈\n文件\n```\n", "```text\n软件栈\n文件\n```\n"),
    ],
)
def test_chinese_lines_are_joined(text: str, shown: str) -> None:
    assert without_breaks(text) == shown


def test_pages_lead_to_their_twins() -> None:
    for name, path in written_pages("zh").items():
        english = written_pages("en")[name]
        for page, twin in ((path, english), (english, path)):
            begin = (REPOSITORY / page).read_text(encoding="utf-8").splitlines()[:3]
            assert begin[2].endswith(f"]({Path(twin).name})"), page


def test_keys_have_their_comments() -> None:
    found = {key.name: key for key in keys(Lock)}
    assert found["build-pin"].comment == "The tools of isolated builds."
    assert found["pin"].is_required
    assert found["pin"].form == "tables `[[pin]]`"
    assert not found["summary"].is_required


def test_key_without_a_comment_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docs.site.tables._comments", lambda row: {})
    with pytest.raises(NoCommentError, match=r"LockedFile\.name"):
        keys(LockedFile)


def test_messages_have_errors_with_their_exit_statuses() -> None:
    assert raised()["the lock cannot be read"] == 2
    assert "| 2 | the lock cannot be read |" in messages_page("en")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", sorted(PICTURES))
def test_pictures_are_as_their_script_draws_them(name: str, language: str) -> None:
    path = file_of(name, language)
    assert path.read_text(encoding="utf-8") == svg(PICTURES[name], language)
