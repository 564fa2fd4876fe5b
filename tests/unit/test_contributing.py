"""The modules, and what is in them, that the documents for developers and the program's own comments name."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(path.name for path in (ROOT / "resolver").iterdir() if (path / "__init__.py").exists())
# `resolve/universe`, `resolve/check.py`, `lock/build.applied`, `index.store.file_cache`, `report/`, `report/*words`
NAMED = re.compile(rf"`(?:resolver/)?((?:{'|'.join(PACKAGES)})[/.][\w./*]*)`")
TEXTS = (
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "resolver").rglob("*.py"),
)
FILES = ("lock.toml", "report.md", "report.zh.md")  # not of the program


def _found() -> dict[str, str]:
    """Each name, with a text that has it."""
    return {
        name: str(text.relative_to(ROOT))
        for text in TEXTS
        for name in NAMED.findall(text.read_text(encoding="utf-8"))
        if name not in FILES
    }


def _exists(name: str) -> bool:
    if list((ROOT / "resolver").glob(name)) or list((ROOT / "resolver").glob(f"{name}.py")):
        return True
    steps = re.split(r"[/.]", name.removesuffix(".py"))
    for end in range(len(steps), 0, -1):
        path = ROOT / "resolver" / "/".join(steps[:end])
        if path.with_suffix(".py").exists() or path.is_dir():
            found: object = import_module(".".join(("resolver", *steps[:end])))
            for step in steps[end:]:
                if not hasattr(found, step):
                    return False
                found = getattr(found, step)
            return True
    return False


def test_there_is_something_to_look_at() -> None:
    assert {"config/schema.FactFile", "report/verify.MODULES", "index/protocol"} <= set(_found())
    assert not _exists("resolve/no_such_module")
    assert not _exists("lock/build.no_such_function")


@pytest.mark.parametrize("name", sorted(_found()))
def test_what_is_named_exists(name: str) -> None:
    assert _exists(name), f"{_found()[name]} names it"
