"""Sources of facts: what is read, and what is refused with which reason."""

from __future__ import annotations

from datetime import date

import pytest

from resolver.config.schema import FactFile, StackFile
from resolver.config.toml_files import read_text
from resolver.errors import InputError
from resolver.model.fact import Excludes
from resolver.model.source import (
    ArchiveMember,
    Issue,
    Lines,
    Page,
    Passage,
    Quote,
    Repository,
    RepositoryFile,
    RepositoryTag,
    Trial,
)
from tests.references import read_source

COMMIT = "c0ffee" * 6 + "cafe"
VERL = Repository("github.com", "verl-project/verl")


def test_source_of_every_form_has_its_parts() -> None:
    source = read_source(
        f"verl-project/verl setup.py @{COMMIT} (v0.8.0) #L3-L9 `torch; numpy` without `cuda`",
        "verl-project/verl#12",
        "verl-project/verl tag v0.8.0",
        f"a_b-1.0-py3-none-any.whl sha256:{'0f' * 32} a_b/x.py #L7",
        "hiascend.com/document/a.html (2026-11-28)",
        "tried on linux-x86_64 (2026-11-22): ray --version",
    )
    quotes = (Quote("torch; numpy"), Quote("cuda", is_absent=True))
    passage = Passage(lines=Lines(3, 9), quotes=quotes)
    assert source.references == (
        RepositoryFile(
            repository=VERL, path="setup.py", commit=COMMIT, tag="v0.8.0", passage=passage
        ),
        Issue(repository=VERL, number=12),
        RepositoryTag(repository=VERL, tag="v0.8.0"),
        ArchiveMember(
            file="a_b-1.0-py3-none-any.whl",
            sha256="0f" * 32,
            member="a_b/x.py",
            passage=Passage(lines=Lines(7, 7)),
        ),
        Page(address="hiascend.com/document/a.html", day=date(2026, 11, 28)),
        Trial(machine="linux-x86_64", day=date(2026, 11, 22), what="ray --version"),
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", ""),
        ("a/b#1; ", ""),
        ("a/b#1; a/b#2", "a list, with a text for each"),
        ("a/b#1; the README", "a list, with a text for each"),
        ("the vendor's table", ""),
        ("a/b setup.py @c0ffee", "40 hexadecimal digits"),
        (f"a/b setup.py @{COMMIT.upper()}", "40 hexadecimal digits"),
        (f"a/b setup.py @{COMMIT} #3", "`#L12` or `#L12-L20`"),
        (f"a/b setup.py @{COMMIT} #L0", "`#L12` or `#L12-L20`"),
        (f"a/b setup.py @{COMMIT} #L9-L3", "before the first"),
        (f"a/b ../setup.py @{COMMIT}", "not the path of a file"),
        (f"a/b /etc/passwd @{COMMIT}", "not the path of a file"),
        (f"a/b setup.py @{COMMIT} #L1\x1b[31m", "do not print"),
        ("a/b README.md @release/3.2", "a branch moves"),
        ("a-1.0.tar.gz", "file within the archive is missing"),
        ("a-1.0.tar.gz sha256:abc setup.py", "64 hexadecimal digits"),
        ("hiascend.com/a.html", "the day on which the page was read"),
        ("https://hiascend.com/a.html (2026-11-28)", "without https://"),
        ("hiascend.com/a.html (2026-02-30)", "no day"),
    ],
)
def test_source_in_no_known_form_is_refused(text: str, why: str) -> None:
    with pytest.raises(InputError) as refused:
        read_source(text)
    assert why in refused.value.why
    assert "OWNER/REPO PATH @COMMIT" in refused.value.hint


def test_source_may_be_a_list_of_texts() -> None:
    table = (
        '[[excludes]]\nversions = "==1"\nreason = "r"\nstrength = "vendor"\nchecked = 2026-11-20\n'
        'source = ["a/b#1", "a/b tag v1"]\n'
    )
    fact = read_text(table, FactFile, "matrices/facts/demo.toml").content.of(Excludes)[0]
    assert str(fact.source) == "a/b#1; a/b tag v1"


def test_source_that_is_empty_is_refused_at_its_place() -> None:
    table = (
        '[[excludes]]\nversions = "==1"\nreason = "r"\nstrength = "vendor"\nchecked = 2026-11-20\n'
        'source = ["a/b#1", ""]\n'
    )
    with pytest.raises(InputError) as refused:
        read_text(table, FactFile, "matrices/facts/demo.toml")
    assert refused.value.where == "matrices/facts/demo.toml:6: excludes[0].source[1]"


@pytest.mark.parametrize("text", ["the README", "a/b#1; a/b#2"])
def test_source_of_prose_or_joined_texts_is_refused(text: str) -> None:
    table = f'[[excludes]]\nversions = "==1"\nreason = "r"\nsource = ["a/b#1", "{text}"]\n'
    with pytest.raises(InputError) as refused:
        read_text(table, FactFile, "matrices/facts/demo.toml")
    assert refused.value.where == "matrices/facts/demo.toml:4: excludes[0].source[1]"
    assert f"`{text}` is not a source that can be looked up" in refused.value.message
    assert "OWNER/REPO PATH @COMMIT" in refused.value.hint


@pytest.mark.parametrize("text", ["the README", "a/b#1; a/b#2", "a/b setup.py @1dda039b"])
def test_source_of_a_stack_may_be_any_words(text: str) -> None:
    stack = (
        '[stack]\nname = "s"\nrequires = ["a"]\n'
        '[target]\npython = "3.11"\nplatform = "linux-x86_64"\n'
        '[[fact.excludes]]\npackage = "a"\nversions = "==1"\nreason = "r"\nstrength = "vendor"\n'
        f'checked = 2026-11-20\nsource = ["a/b#1", "{text}"]\n'
    )
    (fact,) = read_text(stack, StackFile, "s.toml").content.fact.excludes
    assert str(fact.source) == f"a/b#1; {text}"
    with pytest.raises(InputError) as refused:
        read_text(stack.replace(text, ""), StackFile, "s.toml")
    assert refused.value.where == "s.toml:13: fact.excludes[0].source[1]"
