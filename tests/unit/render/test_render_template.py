"""Templates that were compiled beforehand give what they give anew, and nothing else does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

from resolver.render import template
from tests.functional.workspace import REPOSITORY


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where compiled ones are; nothing is remembered from test to test."""
    monkeypatch.setattr(template, "_FOLDER", tmp_path / "__pycache__")
    template.environment.cache_clear()
    yield tmp_path / "__pycache__"
    template.environment.cache_clear()


def filled(source: str, *, writes: bool = True) -> str:
    """What a template of that text gives."""
    own: Environment = template.environment().overlay(
        loader=DictLoader({"a.j2": source}), bytecode_cache=template._Compiled(writes=writes), cache_size=0
    )
    return own.get_template("a.j2").render(name="it's")


def test_all_that_scripts_are_made_of_are_compiled(folder: Path) -> None:
    template._compile()
    scripts = [path for path in (Path(template.__file__).parent / "templates").glob("*.j2") if ".html" not in path.name]
    assert len(list(folder.iterdir())) == len(scripts)


def test_a_compiled_one_gives_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    anew = filled("echo {{ name | sh }}\n")
    assert len(list(folder.iterdir())) == 1
    monkeypatch.setattr(Environment, "compile", lambda *_: pytest.fail("it was compiled anew"))
    assert filled("echo {{ name | sh }}\n") == anew == "echo 'it'\"'\"'s'\n"


def test_one_of_another_text_is_none(folder: Path) -> None:
    filled("old\n")
    assert list(folder.iterdir())
    assert filled("new\n") == "new\n"


@pytest.mark.parametrize("damage", [b"", b"j2", b"no bytecode", bytes(300)])
def test_a_damaged_one_is_none(folder: Path, damage: bytes) -> None:
    filled("text\n")
    (compiled,) = folder.iterdir()
    whole = compiled.read_bytes()
    for content in (damage, whole[:40] + damage, whole[: len(whole) // 2], whole[:-1]):
        compiled.write_bytes(content)
        assert filled("text\n") == "text\n"


def test_none_is_left_where_none_is_wanted_or_possible(folder: Path) -> None:
    assert filled("text\n", writes=False) == "text\n"
    assert not folder.exists()
    folder.write_text("a file")
    assert filled("text\n") == "text\n"


def test_templates_are_found_whatever_the_locale_makes_of_the_path(tmp_path: Path) -> None:
    folder = tmp_path / "我的"
    folder.mkdir()
    (folder / "resolver").symlink_to(REPOSITORY / "resolver")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from resolver.render import template; "
        "print(template.environment().get_template('install.sh.j2').filename)"
    )
    done = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-c", code, folder],
        env={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "utf-8:surrogateescape"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    # Of a compiled template it is the file that it was compiled from.
    assert done.stdout.endswith("/resolver/render/templates/install.sh.j2\n")
