"""Archives without static metadata: a way out repeats what setuptools noted in them, as a fact to be judged."""

from __future__ import annotations

import json

import pytest
import tomli

from tests.functional.workspace import Workspace
from tests.loopback import LoopbackIndex

NOTED = "lib>=1\n\n[:python_version < '3']\nold-lib\n\n[fast]\nspeed\n\n[fast:python_version < '3']\nold-speed\n"
FACT = """\
[[fact.metadata]]
package = "broken"
versions = "==0.2"
requires = [
    "lib>=1",
    "old-lib ; python_version < '3'",
    "speed ; extra == \\"fast\\"",
    "old-speed ; (python_version < '3') and extra == \\"fast\\"",
]
reason = "To be confirmed from its setup.py: it has no static metadata, and setuptools recorded this in it"
strength = "observed"
source = "broken-0.2.tar.gz: broken.egg-info/requires.txt"
checked = 2026-01-01
"""


@pytest.fixture
def noted(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """demo needs an archive in which setuptools noted what it needs."""
    index.add_wheel("demo", "1.0", requires=["broken[fast]"])
    for version in ("0.1", "0.2"):
        index.add_archive("broken", version, static=False, members={"broken.egg-info/requires.txt": NOTED})
    for name in ("lib", "speed"):
        index.add_wheel(name, "2.0")
    index.add_wheel("setuptools", "80.0")
    workspace.stack("demo")
    return workspace


def test_the_fact_is_proposed_and_locks(noted: Workspace) -> None:
    run = noted.lock()
    assert run.status == 1
    assert "A  add a fact with the requirements recorded in broken-0.2.tar.gz itself; compare it with" in run.stderr
    assert "=> 4 projects: demo 1.0, broken 0.2\n" in run.stderr
    report = json.loads(noted.read("conflict.json"))
    (change,) = report["fixes"][0]["changes"]
    assert (change["kind"], change["subject"], change["before"]) == ("state", "broken", "broken-0.2.tar.gz")
    assert change["after"] == FACT.strip()
    assert not report["fixes"][0]["risky"]
    assert "增加一条事实，写明 broken-0.2.tar.gz 自身记录的依赖" in noted.lock("--lang", "zh").stderr
    assert noted.run("explain", "demo", "--apply", "A").status == 0
    assert noted.lock(stack="demo-a").status == 0
    assert noted.pins(stack="demo-a") == {"demo": "1.0", "broken": "0.2", "lib": "2.0", "speed": "2.0"}


def test_several_in_a_row(workspace: Workspace, index: LoopbackIndex) -> None:
    """What an archive turns out to need may be such an archive, too."""
    names = ["one", "two", "three", "four"]
    for name, needed in zip(names, [*names[1:], ""], strict=True):
        members = {f"src/{name}.egg-info/SOURCES.txt": ""}
        if needed:
            members[f"src/{name}.egg-info/requires.txt"] = f"{needed}\n"
        index.add_archive(name, "1", static=False, members=members)
    index.add_wheel("setuptools", "80.0")
    workspace.stack("one")
    assert workspace.lock().status == 1
    fix, *others = json.loads(workspace.read("conflict.json"))["fixes"]
    needs = {
        change["subject"]: tomli.loads(change["after"])["fact"]["metadata"][0]["requires"] for change in fix["changes"]
    }
    assert needs == {"one": ["two"], "two": ["three"], "three": ["four"], "four": []}
    assert not others


def test_only_what_is_needed_is_proposed(noted: Workspace, index: LoopbackIndex) -> None:
    """Of lib there is a wheel that will do, older than the archive."""
    index.add_archive("lib", "3.0", static=False, members={"lib.egg-info/SOURCES.txt": ""})
    assert noted.lock().status == 1
    (fix,) = json.loads(noted.read("conflict.json"))["fixes"]
    assert [change["subject"] for change in fix["changes"]] == ["broken"]
    assert {"name": "broken", "version": "0.2", "wished": False} in fix["environments"][0]["pins"]


def test_markers_in_the_lines_of_a_section(noted: Workspace, index: LoopbackIndex) -> None:
    """setuptools before 36.2 did not move them to the head of a section."""
    content = "lib ; python_version > '3'\n\n[fast]\nspeed; python_version < '3' or os_name == 'posix'\n"
    index.add_archive("broken", "0.3", static=False, members={"broken.egg-info/requires.txt": content})
    assert noted.lock().status == 1
    fix = json.loads(noted.read("conflict.json"))["fixes"][0]
    (fact,) = tomli.loads(fix["changes"][0]["after"])["fact"]["metadata"]
    assert fact["requires"] == [
        "lib ; python_version > '3'",
        "speed ; (python_version < '3' or os_name == 'posix') and extra == \"fast\"",
    ]
    assert fix["environments"][0]["count"] == 4


def test_a_note_that_may_be_about_another_machine_says_so(noted: Workspace, index: LoopbackIndex) -> None:
    """setup.py of openai-whisper 20231117 needs triton where platform.machine() is x86_64, as its makers' was."""
    script = "import platform, sys\nif sys.platform == 'linux' and platform.machine() == 'x86_64':\n    ...\n"
    members = {"broken.egg-info/requires.txt": "lib\n", "setup.py": script}
    index.add_archive("broken", "0.3", static=False, members=members)
    assert noted.lock().status == 1
    change = json.loads(noted.read("conflict.json"))["fixes"][0]["changes"][0]
    (fact,) = tomli.loads(change["after"])["fact"]["metadata"]
    assert fact["versions"] == "==0.3"
    assert fact["reason"] == (
        "To be confirmed from its setup.py: it has no static metadata, and setuptools recorded this in it, but "
        "on its authors' machine, and its setup.py checks the machine (platform.machine, sys.platform)"
    )


@pytest.mark.parametrize(
    ("script", "config", "is_proposed"),
    [
        ("from distutils.core import setup\nsetup(name='broken', version='0.2')\n", "", True),
        ("from setuptools import setup\nsetup(install_requires=read())\n", "", False),
        ("from setuptools import setup\nsetup(**told())\n", "", False),
        ("from setuptools import setup\nsetup()\n", "[options]\ninstall_requires = lib\n", False),
    ],
)
def test_a_setup_script_that_speaks_of_no_requirements(
    workspace: Workspace, index: LoopbackIndex, script: str, config: str, is_proposed: bool
) -> None:
    members = {"setup.py": script, "setup.cfg": config}
    index.add_archive("broken", "0.2", static=False, members=members, build_requires=None)
    for tool in ("setuptools", "wheel"):
        index.add_wheel(tool, "80.0")
    workspace.stack("broken")
    assert workspace.lock().status == 1
    fixes = json.loads(workspace.read("conflict.json"))["fixes"]
    assert [change["subject"] for fix in fixes for change in fix["changes"]] == ["broken"] * is_proposed


def test_a_fact_that_the_stack_leaves_out_comes_first(noted: Workspace) -> None:
    noted.facts(
        "broken", '[[metadata]]\nid = "known"\nversions = "==0.2"\nrequires = ["lib"]\nreason = "its setup.py"\n'
    )
    noted.facts("other", "")
    stack = noted.stack("demo")
    stack.write_text(stack.read_text().replace("[stack]\n", '[stack]\nfacts = ["other"]\n'))
    run = noted.lock()
    assert run.status == 1
    assert "use the facts about broken as well (matrices/facts/broken.toml)\n" in run.stderr
    assert "  B  " not in run.stderr


@pytest.mark.parametrize(
    "members",
    [
        {},  # setuptools did not make it
        {"broken.egg-info/requires.txt": "lib @ https://example.org/lib.zip\n"},
        {"broken.egg-info/requires.txt": "lib>=one\n"},
        {"broken.egg-info/requires.txt": "lib ; os_name != '\x1b[2J'\n"},
        {"broken.egg-info/requires.txt": "[:os_name != '\u202e']\nlib\n"},
        {"broken.egg-info/requires.txt": "lib>=1\n" * 10_001},
    ],
)
def test_nothing_is_proposed_where_nothing_is_known(
    workspace: Workspace, index: LoopbackIndex, members: dict[str, str]
) -> None:
    index.add_archive("broken", "0.2", static=False, members=members)
    index.add_wheel("lib", "2.0")
    workspace.stack("broken")
    run = workspace.lock()
    assert run.status == 1
    assert "No way out was found.\n" in run.stderr
    assert (
        "usable if a fact states what it needs: [[metadata]] in matrices/facts/broken.toml (versions =\n" in run.stderr
    )


def test_what_is_in_the_way_of_a_noted_requirement_is_seen(noted: Workspace, index: LoopbackIndex) -> None:
    index.remove("speed")
    assert noted.lock().status == 1
    fixes = json.loads(noted.read("conflict.json"))["fixes"]
    assert fixes
    assert all(fix["risky"] and len(fix["changes"]) == 2 for fix in fixes)


def test_another_release_is_taken_where_the_rest_wants_it(noted: Workspace, index: LoopbackIndex) -> None:
    noted.stack("demo", "broken<0.2")
    assert noted.lock().status == 1
    fix = json.loads(noted.read("conflict.json"))["fixes"][0]
    assert fix["changes"][0]["before"] == "broken-0.1.tar.gz"


def test_what_another_conflict_hid_gets_its_fact(noted: Workspace, index: LoopbackIndex) -> None:
    """Without it each way out would go without demo, or back to what did not need it."""
    index.add_wheel("far", "2.0", requires=["farther"])
    index.add_wheel("farther", "2.0", requires=["demo"])
    index.add_wheel("far", "1.0")
    index.add_wheel("x", "1.0", requires=["y==1.0"])
    for version in ("1.0", "2.0"):
        index.add_wheel("y", version)
    noted.stack("far==2.0", "x", "y==2.0")
    assert noted.lock().status == 1
    fix = json.loads(noted.read("conflict.json"))["fixes"][0]
    assert [(change["kind"], change["subject"]) for change in fix["changes"]] == [("version", "y"), ("state", "broken")]


def test_a_fact_that_the_stack_leaves_out_is_proposed_where_nothing_is_noted(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    index.add_archive("broken", "0.2", static=False)
    index.add_wheel("setuptools", "80.0")
    workspace.facts(
        "broken", '[[metadata]]\nid = "known"\nversions = "==0.2"\nrequires = []\nreason = "its setup.py"\n'
    )
    workspace.facts("other", "")
    stack = workspace.stack("broken")
    stack.write_text(stack.read_text().replace("[stack]\n", '[stack]\nfacts = ["other"]\n'))
    run = workspace.lock()
    assert run.status == 1
    assert "  A  use the facts about broken as well (matrices/facts/broken.toml)\n" in run.stderr
    assert "  B  " not in run.stderr
