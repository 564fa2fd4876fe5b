"""`ascend-lock facts scan NAME --beside OTHER`: imports of what another release does not have."""

from __future__ import annotations

import pytest

from tests.functional.workspace import Workspace

TRAINER = """\
from app.checks import is_engine_available
if is_engine_available():
    from engine.params import Guided, Sampling
"""
BACKEND = """\
try:
    from engine.utils import open_port
except ModuleNotFoundError:
    open_port = None
def start():
    import engine.old
"""
OLD = {
    "engine/__init__.py": "",
    "engine/params.py": "class Guided: ...\nclass Sampling: ...\n",
    "engine/utils.py": "def open_port(): ...\n",
    "engine/old.py": "",
}
NEW = {
    "engine/__init__.py": "",
    "engine/params.py": "class Sampling: ...\n",
    "engine/utils/__init__.py": "from .network import *\n",
    "engine/utils/network.py": "def host(): ...\n",
}


@pytest.fixture
def workspace(workspace: Workspace) -> Workspace:
    files = {"app/__init__.py": "", "app/trainer.py": TRAINER, "app/backend.py": BACKEND}
    workspace.index.add_wheel("app", "1.0", files={**files, "app/tests/trainer.py": TRAINER})
    workspace.index.add_wheel("engine", "1.0", files=OLD)
    workspace.index.add_wheel("engine", "2.0", files=NEW)
    workspace.stack("app")
    return workspace


REPORT = """\
app-1.0-py3-none-any.whl beside engine-2.0-py3-none-any.whl: 3 imports that it lacks
open_port of engine.utils: the module has no such name (app/backend.py:2)
    run when the file is imported
engine.old: there is no such module (app/backend.py:6)
    run when a function is called
    reached in start
Guided of engine.params: the module has no such name (app/trainer.py:3)
    run when the file is imported
    reached in if is_engine_available()
"""


def test_beside_lists_missing_imports(workspace: Workspace) -> None:
    run = workspace.run("facts", "scan", "app", "--beside", "engine")
    assert (run.status, run.stderr, run.stdout) == (0, "", REPORT)


def test_beside_compares_each_release(workspace: Workspace) -> None:
    arguments = ("--beside", "engine==1.0", "--beside", "engine==2.0", "--json")
    answer = workspace.run("facts", "scan", "app==1.0", *arguments).json
    assert answer["file"] == "app-1.0-py3-none-any.whl"
    by_file = {other["file"]: other["imports"] for other in answer["beside"]}
    assert by_file["engine-1.0-py3-none-any.whl"] == []
    first, *others = by_file["engine-2.0-py3-none-any.whl"]
    assert len(others) == 2
    assert first == {
        "module": "engine.utils",
        "name": "open_port",
        "is_certain": True,
        "reach": "at-import",
        "path": "app/backend.py",
        "line": 2,
        "scope": "",
        "under": [],
    }


def test_beside_speaks_chinese(workspace: Workspace) -> None:
    run = workspace.run("facts", "scan", "app", "--beside", "engine", "--lang", "zh")
    assert "engine.params 中的 Guided：该模块没有这个名称（app/trainer.py:3）" in run.stdout


def test_beside_reads_source_archives(workspace: Workspace) -> None:
    members = {f"src/{path}": content for path, content in NEW.items()}
    workspace.index.add_archive("engine", "3.0", members=members)
    answer = workspace.run("facts", "scan", "app", "--beside", "engine==3.0", "--json").json
    assert [item["name"] for item in answer["beside"][0]["imports"]] == ["open_port", "", "Guided"]


def test_beside_refuses_what_no_index_has(workspace: Workspace) -> None:
    run = workspace.run("facts", "scan", "app", "--beside", "engine==9")
    assert (run.status, run.stdout) == (2, "")
    assert "engine==9" in run.error
