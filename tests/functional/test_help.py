"""`help` shows the pages of docs/ and the options of commands."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

from tests.functional.workspace import REPOSITORY, Workspace

PAGES = sorted(REPOSITORY.glob("docs/*.md"))
# A page that a message of the program names.
NAMED = re.compile(r"ascend-lock help ([a-z-]+)")


def shown(workspace: Workspace, *words: str, width: int = 80) -> str:
    run = workspace.run("help", *words, COLUMNS=str(width))
    assert (run.status, run.stderr) == (0, ""), run
    return run.stdout


def test_pages_are_listed_with_their_titles(workspace: Workspace) -> None:
    lines = shown(workspace, width=120).splitlines()
    english = [path.stem for path in PAGES if not path.stem.endswith(".zh-CN")]
    names = [line.split()[0] for line in lines]
    assert names[:3] == ["start", "day", "concepts"]
    assert sorted(names) == sorted([*english, "facts-files"])
    developers = [name for name in names if not (REPOSITORY / f"docs/{name}.zh-CN.md").exists()]
    assert names[-len(developers) :] == sorted(developers), "pages for users are translated"
    assert "facts-files      Facts, stacks, indexes" in lines
    assert "indexes          Indexes, passwords, proxies, certificates" in lines


@pytest.mark.parametrize("name", ["indexes", "docs/indexes.md", "indexes.zh-CN.md"])
def test_page_is_shown_by_its_name_or_file(workspace: Workspace, name: str) -> None:
    assert shown(workspace, name).lstrip().startswith("Indexes, passwords, proxies, certificates\n")


def test_page_is_shown_in_the_language_of_the_run(workspace: Workspace) -> None:
    assert "软件栈" in shown(workspace, "stacks", "--lang", "zh").splitlines()[0]


def test_page_without_translation_is_shown_in_english(workspace: Workspace) -> None:
    assert shown(workspace, "solving", "--lang", "zh") == shown(workspace, "solving")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", ["stacks", "cluster"])
def test_page_fits_the_terminal_and_lacks_nothing(
    workspace: Workspace, name: str, language: str
) -> None:
    text = shown(workspace, name, "--lang", language, width=60)
    assert max(map(cell_len, text.splitlines())) <= 60
    suffix = ".zh-CN.md" if language == "zh" else ".md"
    source = (REPOSITORY / "docs" / f"{name}{suffix}").read_text(encoding="utf-8")
    assert text.count("…") == source.count("…")


def test_pages_without_translation_are_marked(workspace: Workspace) -> None:
    text = shown(workspace, "--lang", "zh", width=120)
    assert re.search(r"(?m)^solving .*（英文）$", text)
    assert not re.search(r"(?m)^stacks .*（英文）$", text)
    assert "in English" not in shown(workspace)


def test_page_is_found_by_a_heading(workspace: Workspace) -> None:
    listed = shown(workspace, "冲突", "--lang", "zh")
    assert [line.split()[0] for line in listed.splitlines()][:2] == ["start", "concepts"]
    assert shown(workspace, "choose a way out").split() == [
        "conflicts",
        "Choose",
        "a",
        "way",
        "out",
    ]


def test_links_of_a_page_are_commands(workspace: Workspace) -> None:
    for name in ("conflicts", "start", "matrix"):
        text = shown(workspace, name, "--lang", "zh", width=1000)
        assert not re.search(r"\([^()]*\.md[^()]*\)|#%|🌆|English", text)
    assert "(ascend-lock help explaining)" in shown(workspace, "conflicts", width=1000)


def test_command_is_shown_with_its_options(workspace: Workspace) -> None:
    expected = workspace.run("sync", "--help", COLUMNS="80").stdout
    assert shown(workspace, "sync") == expected


def test_word_lists_the_pages_that_have_it(workspace: Workspace) -> None:
    """Those with it in a heading, or else in the text below one."""
    assert "review" in shown(workspace, "exit").split()
    assert "Exit statuses" in shown(workspace, "exit")
    assert re.search(r"^indexes +.*roxy", shown(workspace, "proxy"), re.MULTILINE)
    assert "\nindexes" in "\n" + shown(workspace, "netrc")
    assert "indexes" in shown(workspace, "代理", "--lang", "zh")
    found = workspace.run("help", "proxy", "--json").json
    assert "indexes" in [page["name"] for page in found["pages"]]


def test_word_lists_the_page_about_it_even_if_no_heading_has_it(workspace: Workspace) -> None:
    listed = workspace.run("help", "冲突", "--lang", "zh").stdout
    assert "conflicts" in {line.split()[0] for line in listed.splitlines()}


def test_page_about_files_of_facts_is_shown(workspace: Workspace) -> None:
    assert shown(workspace, "facts-files").lstrip().startswith("Facts, stacks, indexes\n")


def test_unknown_name_is_an_error_that_names_a_similar_page(workspace: Workspace) -> None:
    run = workspace.run("help", "stak")
    assert (run.status, run.stdout) == (2, "")
    assert "did you mean `stacks`?" in run.stderr


def test_pages_that_messages_name_are_there() -> None:
    names = {path.stem for path in PAGES}
    files = [*REPOSITORY.glob("resolver/**/*.py"), *REPOSITORY.glob("resolver/locale/**/*.po")]
    named: set[str] = set()
    for path in files:
        named.update(NAMED.findall(path.read_text(encoding="utf-8")))
    assert {"indexes", "checking", "completion"} <= named
    assert named - {"lists"} <= names
