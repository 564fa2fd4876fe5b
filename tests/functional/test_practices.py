"""Practices: off unless a stack turns them on, offered where they solve a conflict, and told first where they do."""

from __future__ import annotations

import pytest

from tests.functional.workspace import Workspace
from tests.loopback import LoopbackIndex

ENGINE = """\
[[replaces]]
id = "old-cv"
versions = "==0.18"
drop = ["cv"]
add = ["cv>=4.11"]
reason = "The image installs the plugin last."
reason-zh = "镜像最后安装插件。"
risk = "Pictures are read with an older cv."
risk-zh = "读取图片的 cv 较旧。"
strength = "practice"
source = "Dockerfile of the plugin @12345678"
"""
TRAINER = """\
[[requires]]
id = "trainer-kernels"
versions = "==0.8"
needs = ["kernels==2"]
reason = "Its requirements file pins them."
strength = "{strength}"

[[replaces]]
id = "older-kernels"
versions = "==0.8"
drop = ["kernels"]
add = ["kernels"]
reason = "Its image takes older ones."
risk = "Nobody tested it."
strength = "practice"
source = "Dockerfile of the trainer @12345678"
"""
WARNING = (
    "engine: the practice `old-cv` goes against metadata, as the vendor's image does. The image installs the plugin "
    "last. Risk: Pictures are read with an older cv. Source: Dockerfile of the plugin @12345678 "
    "(matrices/facts/engine.toml:6)"
)


@pytest.fixture
def clash(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """An engine and its plugin disagree about cv; a trainer is said to need other kernels than the plugin."""
    index.add_wheel("engine", "0.18", requires=["cv>=4.13"])
    index.add_wheel("engine", "0.13", requires=["cv>=4.11"])
    index.add_wheel("plugin", "0.18", requires=["engine==0.18", "cv<4.12", "kernels==1"])
    index.add_wheel("plugin", "0.13", requires=["engine==0.13", "cv<4.12", "kernels==1"])
    index.add_wheel("trainer", "0.8")
    for project, versions in (("cv", ("4.11", "4.13")), ("kernels", ("1", "2"))):
        for version in versions:
            index.add_wheel(project, version)
    workspace.facts("engine", ENGINE)
    workspace.facts("trainer", TRAINER.format(strength="documented"))
    workspace.stack("plugin==0.18", "trainer==0.8")
    return workspace


def turned_on(workspace: Workspace, practices: str, *requires: str) -> None:
    path = workspace.stack(*requires)
    path.write_text(path.read_text("utf-8").replace("[stack]\n", f"[stack]\npractices = {practices}\n"), "utf-8")


def test_those_that_solve_a_conflict_together_are_the_first_way_out_and_one_change(clash: Workspace) -> None:
    run = clash.run("explain", "demo", "--json")
    first = run.json["fixes"][0]
    assert run.status == 1
    assert [(change["kind"], change["subject"], change["after"]) for change in first["changes"]] == [
        ("practice", "old-cv, older-kernels", 'practices = ["old-cv", "older-kernels"]')
    ]
    assert [warning["fact"]["id"] for warning in first["environments"][0]["warnings"]] == ["old-cv", "older-kernels"]
    assert not any(fix["risky"] for fix in run.json["fixes"]), "which would go against metadata without evidence"
    for language, told in (
        (
            "en",
            "  A  turn on the practices `old-cv`, `older-kernels`\n     goes against metadata, as the vendor's image",
        ),
        ("zh", "  A  启用惯例 `old-cv`、`older-kernels`\n     与元数据相违，厂商的镜像也是如此\n"),
    ):
        assert told in clash.run("explain", "demo", "--lang", language).stdout

    assert clash.run("explain", "demo", "--apply", "A").status == 0
    clash.locked(stack="demo-a")
    assert clash.pins("demo-a") == {"cv": "4.11", "engine": "0.18", "kernels": "1", "plugin": "0.18", "trainer": "0.8"}


def test_only_those_that_make_a_difference_are_offered(clash: Workspace) -> None:
    """The plugin asks for kernels that the trainer is content with."""
    clash.facts("trainer", TRAINER.format(strength="documented").replace("kernels==2", "kernels<2"))
    first = clash.run("explain", "demo", "--json").json["fixes"][0]
    assert [change["subject"] for change in first["changes"]] == ["old-cv"]


def test_a_lock_tells_first_what_it_goes_against(clash: Workspace) -> None:
    turned_on(clash, '["old-cv", "older-kernels"]', "plugin==0.18")
    clash.locked()
    content = clash.content()
    assert content["warnings"] == [
        WARNING,
        "the practice `older-kernels` makes no difference here: remove it from the stack's `practices`",
    ]
    assert [(row["package"], row["dropped"], row["fact"]) for row in content["override"]] == [
        ("engine", "cv>=4.13", "old-cv")
    ]
    chinese = clash.read("report.zh.md").replace("\\", "")
    assert "风险：读取图片的 cv 较旧。来源：Dockerfile of the plugin @12345678" in chinese


def test_one_that_another_target_may_need_is_not_told(clash: Workspace) -> None:
    turned_on(clash, '["old-cv", "older-kernels"]', "plugin==0.18")
    path = clash.matrices / "stacks" / "demo.toml"
    path.write_text(path.read_text("utf-8").replace("[target]", "[[target]]"), "utf-8")
    clash.locked()
    assert clash.content()["warnings"] == [WARNING]


def test_all_are_on_and_those_that_are_not_needed_are_not_told(clash: Workspace) -> None:
    turned_on(clash, '"all"', "plugin==0.18")
    clash.locked()
    assert clash.content()["warnings"] == [WARNING]
    turned_on(clash, '"all"', "engine==0.18")
    clash.locked("--upgrade")
    assert clash.pins() == {"cv": "4.13", "engine": "0.18"}
    assert "warnings" not in clash.content()


def test_no_practice_goes_against_what_is_enforced(clash: Workspace) -> None:
    clash.facts("trainer", TRAINER.format(strength="enforced"))
    turned_on(clash, '"all"', "plugin==0.18", "trainer==0.8")
    assert clash.lock().status == 1


def test_a_name_that_is_not_that_of_a_practice(clash: Workspace) -> None:
    for name, hint in (("old-vc", "did you mean `old-cv`?"), ("trainer", "known are old-cv, older-kernels")):
        turned_on(clash, f'["{name}"]', "plugin==0.18")
        run = clash.lock()
        assert run.status == 2
        assert run.stderr.startswith(f"error: there is no practice `{name}`\n")
        assert f"hint: {hint}" in run.stderr


def test_one_that_is_no_longer_needed_is_told(clash: Workspace, index: LoopbackIndex) -> None:
    assert clash.run("facts", "check", "engine", "trainer").status == 0
    index.add_wheel("engine", "0.18.post1", requires=["cv>=4.10"])
    index.add_wheel("engine", "0.18.post2")
    clash.forget()
    for version, told in (
        ("0.18.post1", "permits what the practice does (cv>=4.10), so it is no longer needed"),
        ("0.18.post2", "does not ask for cv"),
    ):
        clash.facts("engine", ENGINE.replace("==0.18", f"=={version}"))
        run = clash.run("facts", "check", "engine")
        assert run.status not in (0, 2)
        assert "contradicted: old-cv (matrices/facts/engine.toml:6): " in run.stdout
        assert f": METADATA {told}" in run.stdout
