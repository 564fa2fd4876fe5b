"""Facts about what may fail to start, as a lock and its verify.py have them."""

from __future__ import annotations

import re

import tomli

from resolver.verify.findings import Excuse, LockedStack
from tests.functional.workspace import Workspace, row


def excuses(workspace: Workspace) -> tuple[Excuse, ...]:
    """What the verify.py of the lock may excuse."""
    (data,) = re.findall(r'LOCK = r"""(.*?)"""', workspace.read("verify.py"), re.DOTALL)
    return tuple(LockedStack.parse(data).excuses)


def optional_rows(workspace: Workspace) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = workspace.content().get("optional", [])
    return rows


def test_optional_lock_has_what_needs_an_absent_project(workspace: Workspace) -> None:
    workspace.serve("demo 1.0", "flask 3.0")
    fact = {"modules": ["demo.web"], "scripts": ["demo-serve"], "needs": ["flask"]}
    workspace.facts("demo", row("optional", id="web", reason="it serves", reason_zh="服务", **fact))
    workspace.locked_stack("demo")
    expected = {
        "package": "demo",
        "modules": ["demo.web"],
        "scripts": ["demo-serve"],
        "fact": "web",
    }
    assert optional_rows(workspace) == [expected]
    assert [fact["id"] for fact in workspace.content()["fact"]] == ["web"]
    reason = {"en": "it serves", "zh": "服务"}
    assert excuses(workspace) == (Excuse("demo", ["demo.web"], ["demo-serve"], False, reason),)


def test_optional_excuse_ends_with_the_project_in_the_lock(workspace: Workspace) -> None:
    workspace.serve("demo 1.0", "flask 2.0 3.0", "jinja2 3.0")
    workspace.facts("demo", row("optional", scripts=["web"], needs=["flask>=2.5", "jinja2"]))
    workspace.locked_stack("demo", "flask", "jinja2")
    assert optional_rows(workspace) == []
    assert "fact" not in workspace.content()
    workspace.locked_stack("demo", "flask", name="one-of-two")
    assert len(tomli.loads(workspace.read(stack="one-of-two"))["optional"]) == 1
    workspace.locked_stack("demo", "flask<3", "jinja2", name="too-old")
    assert len(tomli.loads(workspace.read(stack="too-old"))["optional"]) == 1


def test_optional_fact_about_another_release(workspace: Workspace) -> None:
    workspace.serve("demo 1.0 2.0", "other 1.0")
    workspace.locked_stack("demo")
    before = workspace.content()
    workspace.facts("demo", row("optional", versions="<2", modules=["demo"]))
    workspace.facts("other", row("optional", modules=["other"]))
    workspace.locked()
    after = workspace.content()
    for lock in (before, after):
        del lock["inputs"]
        lock.pop("first", None)
    assert after == before


def test_optional_excuse_for_want_of_an_npu(workspace: Workspace) -> None:
    workspace.serve("demo 1.0")
    workspace.facts("demo", row("optional", modules=["demo"], device=True))
    workspace.locked_stack("demo")
    assert optional_rows(workspace)[0]["device"] is True
    assert excuses(workspace)[0].device


def test_optional_lock_without_the_fact_is_refused(workspace: Workspace) -> None:
    workspace.serve("demo 1.0")
    workspace.facts("demo", row("optional", id="why", modules=["demo"]))
    workspace.locked_stack("demo")
    path = workspace.folder() / "lock.toml"
    path.write_text(path.read_text().replace('fact = "why"', 'fact = "nothing"'))
    run = workspace.run("tree", "demo")
    assert run.status != 0
    assert "what is optional of demo rests on `nothing`, which is no fact here" in run.stderr
