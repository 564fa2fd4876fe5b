"""Ways out of a conflict: facts about archives without metadata, practices; many projects missing,
an index away.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
import tomli

from tests.functional.test_bindings import bind
from tests.functional.workspace import UNREACHABLE, Workspace, row
from tests.loopback import LoopbackIndex


def fixes(workspace: Workspace) -> list[dict[str, Any]]:
    """The ways out of a stack that cannot be locked."""
    assert workspace.lock().status == 1
    return list(json.loads(workspace.read("conflict.json"))["fixes"])


# --- archives without static metadata: what setuptools noted in them is repeated as a fact to be judged

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
source = "broken-0.2.tar.gz broken.egg-info/requires.txt"
checked = 2026-01-01
"""


@pytest.fixture
def noted(workspace: Workspace) -> Workspace:
    """demo needs an archive in which setuptools noted what it needs."""
    workspace.serve("demo 1.0: broken[fast]", "lib 2.0", "speed 2.0", "setuptools 80.0")
    for version in ("0.1", "0.2"):
        note(workspace, version, NOTED)
    workspace.stack("demo")
    return workspace


def note(workspace: Workspace, version: str, requires: str | None, **members: str) -> None:
    """An archive of `broken` with such a note, or without."""
    notes = {} if requires is None else {"broken.egg-info/requires.txt": requires}
    workspace.index.add_archive("broken", version, static=False, members={**notes, **members})


def test_the_fact_is_proposed_and_locks(noted: Workspace) -> None:
    fix, *_ = fixes(noted)
    (change,) = fix["changes"]
    assert (change["kind"], change["subject"], change["before"]) == (
        "state",
        "broken",
        "broken-0.2.tar.gz",
    )
    assert (change["after"], fix["risky"]) == (FACT.strip(), False)
    assert noted.run("explain", "demo", "--apply", "A").status == 0
    noted.locked(stack="demo-a")
    assert noted.pins(stack="demo-a") == {
        "demo": "1.0",
        "broken": "0.2",
        "lib": "2.0",
        "speed": "2.0",
    }


def test_several_in_a_row(workspace: Workspace, index: LoopbackIndex) -> None:
    """What an archive turns out to need may be such an archive, too."""
    for name, needed in (("one", "two\n"), ("two", "three\n"), ("three", "four\n"), ("four", "")):
        members = {f"src/{name}.egg-info/SOURCES.txt": ""}
        members |= {f"src/{name}.egg-info/requires.txt": needed} if needed else {}
        index.add_archive(name, "1", static=False, members=members)
    workspace.serve("setuptools 80.0")
    workspace.stack("one")
    (fix,) = fixes(workspace)
    facts = {
        one["subject"]: tomli.loads(one["after"])["fact"]["metadata"][0]["requires"]
        for one in fix["changes"]
    }
    assert facts == {"one": ["two"], "two": ["three"], "three": ["four"], "four": []}


def test_only_what_is_needed_is_proposed(noted: Workspace, index: LoopbackIndex) -> None:
    """Of lib there is a wheel that will do, older than the archive."""
    index.add_archive("lib", "3.0", static=False, members={"lib.egg-info/SOURCES.txt": ""})
    (fix,) = fixes(noted)
    assert [change["subject"] for change in fix["changes"]] == ["broken"]
    assert {"name": "broken", "version": "0.2", "wished": False} in fix["environments"][0]["pins"]
    noted.stack("demo", "broken<0.2")
    assert fixes(noted)[0]["changes"][0]["before"] == "broken-0.1.tar.gz"
    noted.stack("demo", "broken==0.3")
    fix, *_ = fixes(noted)
    assert [(change["kind"], change["before"]) for change in fix["changes"]] == [
        ("version", "broken==0.3"),
        ("state", "broken-0.2.tar.gz"),
    ]


SETUP = "import platform, sys\nif sys.platform == 'linux' and platform.machine() == 'x86_64':\n    ...\n"


@pytest.mark.parametrize(
    ("requires", "script", "lines", "reason"),
    [
        (  # setuptools before 36.2 did not move markers to the head of a section
            "lib ; python_version > '3'\n\n[fast]\nspeed; python_version < '3' or os_name == 'posix'\n",
            "",
            [
                "lib ; python_version > '3'",
                "speed ; (python_version < '3' or os_name == 'posix') and extra == \"fast\"",
            ],
            "recorded this in it",
        ),
        # setup.py of openai-whisper 20231117 needs triton where platform.machine() is x86_64, as
        # its makers' was
        (
            "lib\n",
            SETUP,
            ["lib"],
            "and its setup.py checks the machine (platform.machine, sys.platform)",
        ),
    ],
)
def test_what_a_note_becomes(
    noted: Workspace, requires: str, script: str, lines: list[str], reason: str
) -> None:
    note(noted, "0.3", requires, **{"setup.py": script})
    (fact,) = tomli.loads(fixes(noted)[0]["changes"][0]["after"])["fact"]["metadata"]
    assert (fact["versions"], fact["requires"]) == ("==0.3", lines)
    assert fact["reason"].endswith(reason)


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
    workspace.serve("setuptools 80.0", "wheel 80.0")
    workspace.stack("broken")
    assert [change["subject"] for fix in fixes(workspace) for change in fix["changes"]] == [
        "broken"
    ] * is_proposed


@pytest.mark.parametrize("requires", [NOTED, None])
def test_a_fact_that_the_stack_leaves_out_comes_first(
    noted: Workspace, requires: str | None
) -> None:
    note(noted, "0.2", requires)
    row = '[[metadata]]\nid = "known"\nversions = "==0.2"\nrequires = ["lib"]\nreason = "its setup.py"\n'
    noted.facts("broken", row)
    noted.facts("other", "")
    noted.edit("stacks/demo.toml", "[stack]\n", '[stack]\nfacts = ["other"]\n')
    stderr = noted.lock().stderr
    assert "use the facts about broken as well (matrices/facts/broken.toml)\n" in stderr
    assert "  B  " not in stderr


@pytest.mark.parametrize(
    "requires",
    [
        None,  # setuptools did not make it
        "lib @ https://example.org/lib.zip\n",
        "lib>=one\n",
        "lib ; os_name != '\x1b[2J'\n",
        "[:os_name != '\u202e']\nlib\n",
        "lib>=1\n" * 10_001,
    ],
)
def test_nothing_is_proposed_where_nothing_is_known(
    workspace: Workspace, requires: str | None
) -> None:
    note(workspace, "0.2", requires)
    workspace.serve("lib 2.0")
    workspace.stack("broken")
    run = workspace.lock()
    assert (run.status, "No way out was found.\n" in run.stderr) == (1, True)
    assert (
        "usable if a fact states what it needs: [[metadata]] in matrices/facts/broken.toml"
        in run.stderr
    )


def test_what_is_in_the_way_of_a_noted_requirement_is_seen(
    noted: Workspace, index: LoopbackIndex
) -> None:
    index.remove("speed")
    found = fixes(noted)
    assert found
    assert all(fix["risky"] and len(fix["changes"]) == 2 for fix in found)


def test_a_python_with_a_wheel_is_nearer_than_a_fact_about_the_archive(
    workspace: Workspace,
) -> None:
    workspace.serve("lib 1.0", "setuptools 80.0")
    workspace.index.add_wheel("broken", "0.2", tags="cp310-cp310-manylinux_2_17_aarch64")
    note(workspace, "0.2", "lib\n")
    (workspace.matrices / "systems.toml").write_text(
        '[component.python]\nsummary = "Python"\nknown = ["3.10", "3.11"]\nsource = "demo/tests#1"\n'
    )
    workspace.stack("broken")
    kinds = [
        [(change["kind"], change["subject"]) for change in fix["changes"]]
        for fix in fixes(workspace)
    ]
    assert kinds[0] == [("component", "python")]


def test_what_another_conflict_hid_gets_its_fact(noted: Workspace) -> None:
    """Without it each way out would go without demo, or back to what did not need it."""
    noted.serve("far 2.0: farther", "farther 2.0: demo", "far 1.0", "x 1.0: y==1.0", "y 1.0 2.0")
    noted.stack("far==2.0", "x", "y==2.0")
    kinds = {(change["kind"], change["subject"]) for change in fixes(noted)[0]["changes"]}
    assert kinds == {("version", "y"), ("state", "broken")}


# --- practices: off unless a stack turns them on, offered where they solve a conflict, and told first where they do

OLD_CV = {"drop": ["cv"], "add": ["cv>=4.11"], "risk": "Pictures are read with an older cv."}
ENGINE = row("replaces", id="old-cv", versions="==0.18", strength="practice", **OLD_CV)
KERNELS = {"drop": ["kernels"], "add": ["kernels"], "risk": "Nobody tested it."}
TRAINER = row(
    "requires", id="trainer-kernels", versions="==0.8", needs=["kernels==2"], strength="documented"
)
TRAINER += row("replaces", id="older-kernels", versions="==0.8", strength="practice", **KERNELS)
GOES_AGAINST = "engine: the practice `old-cv` goes against metadata, as the vendor's image does. "


@pytest.fixture
def clash(workspace: Workspace) -> Workspace:
    """An engine and its plugin disagree about cv; a trainer is said to need other kernels than the
    plugin.
    """
    workspace.serve(
        "engine 0.18: cv>=4.13",
        "engine 0.13: cv>=4.11",
        "trainer 0.8",
        "cv 4.11 4.13",
        "kernels 1 2",
    )
    for version in ("0.18", "0.13"):
        workspace.serve(f"plugin {version}: engine=={version}, cv<4.12, kernels==1")
    workspace.facts("engine", ENGINE)
    workspace.facts("trainer", TRAINER)
    workspace.stack("plugin==0.18", "trainer==0.8")
    return workspace


def turned_on(workspace: Workspace, practices: str, *requires: str) -> None:
    workspace.stack(*requires)
    workspace.edit("stacks/demo.toml", "[stack]\n", f"[stack]\npractices = {practices}\n")


def test_those_that_solve_a_conflict_together_are_the_first_way_out_and_one_change(
    clash: Workspace,
) -> None:
    first, *more = fixes(clash)
    assert [
        (change["kind"], change["subject"], change["after"]) for change in first["changes"]
    ] == [("practice", "old-cv, older-kernels", 'practices = ["old-cv", "older-kernels"]')]
    assert [warning["fact"]["id"] for warning in first["environments"][0]["warnings"]] == [
        "old-cv",
        "older-kernels",
    ]
    assert not any(fix["risky"] for fix in (first, *more)), (
        "which would go against metadata without evidence"
    )
    told = (
        "  A  turn on the practices `old-cv`, `older-kernels`\n     goes against metadata, as the "
    )
    assert told in clash.run("explain", "demo").stdout
    assert clash.run("explain", "demo", "--apply", "A").status == 0
    clash.locked(stack="demo-a")
    assert clash.pins("demo-a") == {
        "cv": "4.11",
        "engine": "0.18",
        "kernels": "1",
        "plugin": "0.18",
        "trainer": "0.8",
    }
    # those alone that make a difference are offered
    clash.edit("facts/trainer.toml", "kernels==2", "kernels<2")
    assert [change["subject"] for change in fixes(clash)[0]["changes"]] == ["old-cv"]
    clash.edit("facts/trainer.toml", "kernels<2", "kernels==2")
    clash.edit("facts/trainer.toml", "documented", "enforced")
    turned_on(clash, '"all"', "plugin==0.18", "trainer==0.8")
    assert clash.lock().status == 1, "no practice goes against what is enforced"


def test_with_practices_the_release_that_is_asked_for_is_kept_on_another_machine(
    clash: Workspace,
) -> None:
    """However much cheaper it is to change that release."""
    needs_a2 = '[[requires]]\nversions = "==0.18"\nneeds = ["soc in A2"]\nreason = "it is compiled for it"\n'
    clash.facts("plugin", needs_a2)
    a3 = '[target]\npython = "3.11"\nplatform = "linux-aarch64"\n[target.system]\nsoc = "A3"\n'
    clash.stack("plugin==0.18", "trainer==0.8", target=a3)
    changed = [
        [(change["kind"], change["subject"]) for change in fix["changes"]] for fix in fixes(clash)
    ]
    assert changed[0] == [("practice", "older-kernels"), ("version", "plugin")]
    assert [("practice", "old-cv, older-kernels"), ("component", "soc")] in changed


def test_a_near_release_that_takes_a_practice_is_found_beside_a_far_one_that_does_not(
    clash: Workspace,
) -> None:
    """Although nothing of the conflict is about what the practice lifts."""
    clash.serve("plugin 0.19: engine==0.19, kernels==1")
    clash.stack("plugin==0.19")
    found = [
        [(change["kind"], change["after"]) for change in fix["changes"]] for fix in fixes(clash)
    ]
    near = [("practice", 'practices = ["old-cv"]'), ("version", "plugin==0.18")]
    assert found[:2] == [near, [("version", "plugin==0.13")]]


def test_a_project_named_wrong_is_named_right_and_its_release_kept(clash: Workspace) -> None:
    clash.facts("plugin", row("warns", text="known by a fact"))
    clash.stack("plugni==0.18")
    assert [(change["kind"], change["after"]) for change in fixes(clash)[0]["changes"]] == [
        ("practice", 'practices = ["old-cv"]'),
        ("version", "plugin==0.18"),
    ]


def test_a_line_is_added_beside_which_what_clashes_must_be_absent(workspace: Workspace) -> None:
    workspace.serve(
        "engine 1.0: kernels==1.0, grammar", "grammar 1.0: base", "kernels 1.0 2.0", "base 1.0"
    )
    collides = row("collides", versions="<=1.0", module="base", **{"with": "base"})
    workspace.facts("kernels", collides + row("absent", versions="<=1.0", without="base"))
    workspace.stack("engine")
    (change,) = fixes(workspace)[0]["changes"]
    assert (change["kind"], change["subject"], change["before"], change["after"]) == (
        "line",
        "kernels",
        "base",
        "kernels<=1.0",
    )
    assert workspace.run("explain", "demo", "--apply", "A").status == 0
    workspace.locked(stack="demo-a")
    assert workspace.pins(stack="demo-a") == {"engine": "1.0", "grammar": "1.0", "kernels": "1.0"}


def test_a_lock_tells_first_what_it_goes_against(clash: Workspace) -> None:
    turned_on(clash, '["old-cv", "older-kernels"]', "plugin==0.18")
    clash.locked()
    content = clash.content()
    assert clash.warnings()[0].startswith(GOES_AGAINST)
    assert clash.warnings()[1:] == [
        "the practice `older-kernels` makes no difference here: remove it from the stack's `practices`"
    ]
    assert [(row["package"], row["dropped"], row["fact"]) for row in content["override"]] == [
        ("engine", "cv>=4.13", "old-cv")
    ]
    clash.edit(
        "stacks/demo.toml", "[target]", "[[target]]"
    )  # another target may need the other one
    clash.locked()
    assert len(clash.warnings()) == 1
    turned_on(clash, '"all"', "plugin==0.18")
    clash.locked()
    assert len(clash.warnings()) == 1
    turned_on(clash, '"all"', "engine==0.18")
    clash.locked("--upgrade")
    assert clash.pins() == {"cv": "4.13", "engine": "0.18"}
    assert clash.warnings() == []


def test_a_name_that_is_not_that_of_a_practice(clash: Workspace) -> None:
    for name, hint in (
        ("old-vc", "did you mean `old-cv`?"),
        ("trainer", "known are old-cv, older-kernels"),
    ):
        turned_on(clash, f'["{name}"]', "plugin==0.18")
        run = clash.refused(f"there is no practice `{name}`", "lock", "demo")
        assert f"hint: {hint}" in run.stderr


def test_one_that_is_no_longer_needed_is_told(clash: Workspace) -> None:
    assert clash.run("facts", "check", "engine", "trainer").status == 0
    clash.serve("engine 0.18.post1: cv>=4.10", "engine 0.18.post2")
    clash.forget()
    for version, told in (
        ("0.18.post1", "permits what the practice does (cv>=4.10), so it is no longer needed"),
        ("0.18.post2", "does not ask for cv"),
    ):
        clash.facts("engine", ENGINE.replace("==0.18", f"=={version}"))
        run = clash.run("facts", "check", "engine")
        assert run.status == 5
        assert "contradicted: old-cv (matrices/facts/engine.toml:6): " in run.stdout
        assert f": METADATA {told}" in run.stdout


# --- many projects that the index does not have: all are told, and the page stays one that people read

NAMES = [f"gone{at:02}" for at in range(60)]


def test_all_projects_that_no_index_has_are_told(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    workspace.serve("here 1.0")
    workspace.stack(*NAMES, "here")
    run = workspace.lock()
    assert run.status == 1
    assert (
        len([one for one in index.requests if "/gone" in one.path]) == 60
    )  # each is asked for once
    assert run.stderr.count("no index has a project `gone") == 1
    assert "Likewise, there is no choice for gone01, gone02," in run.stderr
    told = f"The stack also asks for these 36 projects, which no index has: {', '.join(NAMES[24:44])}\nand 16 more.\n"
    assert told in run.stderr.replace(",\n", ", ")
    for report in ("conflict.md", "conflict.html"):
        assert f"these 36 projects, which no index has: {', '.join(NAMES[24:])}." in workspace.read(
            report
        )
    assert json.loads(workspace.read("conflict.json"))["missing"] == NAMES[24:]


def test_a_conflict_of_very_many_statements_is_told_in_part(workspace: Workspace) -> None:
    """The report has them all."""
    versions = [f"1.{at}" for at in range(60)]
    lines = [f"demo!={version}" for version in versions]
    workspace.serve(f"demo {' '.join(versions)}")
    workspace.stack(*lines)
    run = workspace.lock("--explain-seconds", "5")
    assert run.status == 1
    assert run.stderr.count("the stack asks for") < len(lines)
    assert "The report says where each reason comes from." in run.stderr
    assert all(line in workspace.read("conflict.md") for line in lines)


@pytest.mark.parametrize("command", ["lock", "explain"])
def test_an_index_that_has_nothing_at_all_is_no_conflict(
    workspace: Workspace, command: str
) -> None:
    """That three names are all wrong is less likely than an address without /simple.

    So it is if another index that some of the projects are bound to cannot be reached, or if there
    is one project.
    """
    workspace.serve("torch 2.8.0", "torch-npu 2.8.0", "numpy 2.8.0", "scipy 1.0")
    for name in ("torch", "torch-npu", "numpy", "scipy"):
        workspace.facts(name, '[[warns]]\ntext = "a"\nreason = "b"\n')
    bind(workspace, take="all", unreachable="next", vendor=UNREACHABLE)
    right = workspace.index_url
    workspace.index_url = right.replace("http://", "http://reader:hunter2@").replace(
        "/simple/", "/"
    )
    for lines in (["torch"], ["numpy", "torch", "torch-npu"]):
        workspace.stack(*lines)
        run = workspace.run(command, "demo")
        assert (run.status, run.error) == (3, "Index `pypi` has nothing that the stack asks for.")
        assert "hint: does its address end in /simple?" in run.stderr
        assert "hunter2" not in run.stdout + run.stderr
    assert list(workspace.root.rglob("conflict.*")) == []
    workspace.index_url = right
    workspace.index.remove("numpy")
    assert workspace.run(command, "demo").status == 1


# --- an index that did not answer: a stack whose answer depends on it is undecided, not without a solution


@pytest.fixture
def away(workspace: Workspace) -> Workspace:
    """The index `vendor`, which may have a torch-npu that `pypi` lacks, does not answer."""
    workspace.facts("torch-npu", "")
    workspace.serve("torch-npu 2.7.1", "numpy 1.26.4 2.1.0", "runner 1.0: torch-npu==2.8.0")
    bind(workspace, take="all", unreachable="next", vendor=UNREACHABLE)
    return workspace


def test_what_may_be_on_an_index_that_did_not_answer_is_undecided(away: Workspace) -> None:
    away.stack("runner", "numpy")
    run = away.lock()
    assert run.status == 3
    for told in (
        "demo for linux-aarch64, Python 3.11 is undecided: it depends on index `vendor`, which could not be reached.\n",
        "\nIt would need torch-npu==2.8.0 (for runner 1.0) from there. Without that, no environment satisfies it.\n",
        "\nWithout changing the stack\n  0  lock where `vendor` can be reached, or add a mirror ",
        "\n     `vendor` was asked at <server>/simple/\n     what is wanted from there: torch-npu==2.8.0\n",
        "\nWays out, each one solved and checked\n  A  drop runner\n",
    ):
        assert told in run.stderr
    assert away.read("conflict.md").startswith("# demo: undecided\n\ndemo for linux-aarch64")
    assert "<h1>demo: undecided</h1>" in away.read("conflict.html")
    run = away.run("explain", "demo", "--json")
    assert (run.status, run.json["status"]) == (3, "undecided")
    wanted = {
        "indexes": ["vendor"],
        "project": "torch-npu",
        "needs": ["torch-npu==2.8.0"],
        "by": ["runner 1.0"],
    }
    assert run.json["awaited"] == [wanted]
    away.stack("numpy", name="plain")
    run = away.run("lock", "demo", "plain")
    assert run.status == 3
    assert ": vendor could not be reached\n" in run.stdout
    assert run.stdout.endswith("2 stacks, 2 targets: 1 locked, 1 undecided\n")


def test_a_release_that_no_line_names_may_be_there_as_well(away: Workspace) -> None:
    """All that `pypi` has needs an old numpy; another build may not."""
    away.serve("torch-npu 2.7.1.post1: numpy<2")
    away.stack("torch-npu>=2.7.1.post1,<2.8", "numpy>=2")
    run = away.run("explain", "demo", "--json")
    assert (run.status, run.json["awaited"][0]["needs"]) == (3, ["torch-npu>=2.7.1.post1,<2.8"])


@pytest.mark.parametrize("lines", [["runner", "numpy==1.0"], ["runner", "torch-npu==2.8.1"]])
def test_a_proof_that_needs_nothing_from_there_is_one(away: Workspace, lines: list[str]) -> None:
    """There is another reason; or two pins clash."""
    away.stack(*lines)
    run = away.run("explain", "demo", "--json")
    assert (run.status, run.json["status"], run.json["awaited"]) == (1, "conflict", [])


def test_a_proof_beyond_what_was_read_first_needs_nothing_from_there(away: Workspace) -> None:
    """No release of `tool` goes with numpy 2, but only the newest one is near the stack."""
    away.serve("tool 1.0: numpy<2", "tool 2.0: numpy<2", "tool 3.0: numpy<2")
    away.stack("runner", "tool", "numpy==2.1.0")
    run = away.run("explain", "demo", "--json")
    assert (run.status, run.json["status"], run.json["awaited"]) == (1, "conflict", [])
    (found, *_) = run.json["contradictions"]
    assert "torch-npu" not in str(found)


def test_what_is_wanted_from_there_is_what_one_solution_needs(away: Workspace) -> None:
    away.serve("runner 0.9: torch-npu==2.7.5", "runner 0.8: torch-npu==2.7.4, numpy<1")
    away.stack("runner", "numpy")
    run = away.run("explain", "demo", "--json")
    (wanted,) = run.json["awaited"]
    assert (wanted["needs"], wanted["by"]) == (["torch-npu==2.8.0"], ["runner 1.0"])


def test_a_way_out_that_needs_something_from_there_is_not_passed_over_in_silence(
    away: Workspace,
) -> None:
    away.stack("runner==1.0", "numpy==1.0")
    run = away.run("explain", "demo", "--json")
    assert (run.status, run.json["unreached"]) == (1, {"torch-npu": ["vendor"]})
    run = away.run("explain", "demo")
    told = (
        "`vendor` could not be reached and may have releases of torch-npu that other ways out need."
    )
    assert f"\n{told}\n" in run.stdout
    assert told.partition(" could not")[2] not in away.read("conflict.md"), (
        "the committed report depends on the network"
    )


def test_a_nearer_way_out_that_needs_something_from_there_comes_first(away: Workspace) -> None:
    """With numpy 2 the line `runner` would have to go, or get a newer torch-npu from `vendor`."""
    away.serve("runner 2.0: torch-npu==2.9.0", "runner 1.0: numpy<2, torch-npu==2.8.0")
    away.stack("runner==1.0", "numpy==2.1.0")
    run = away.run("explain", "demo", "--json")
    assert (run.status, run.json["status"]) == (1, "conflict")
    way, *_ = run.json["awaiting"]
    assert [change["after"] for change in way["changes"]] == ["runner==2.0"]
    wanted = {
        "indexes": ["vendor"],
        "project": "torch-npu",
        "needs": ["torch-npu==2.9.0"],
        "by": [],
    }
    assert (way["name"], way["awaited"]) == ("0A", [wanted])
    assert [change["kind"] for change in run.json["fixes"][0]["changes"]] == ["drop"]
    run = away.run("explain", "demo")
    page = run.stdout
    expected = page.index(
        "Expected to lock where an index can be reached (not solved)\n  0A  ask for runner==2.0"
    )
    assert expected < page.index("Ways out, each one solved and checked")
    assert "it is expected to lock where `vendor` can be reached" in page
    run = away.run("explain", "demo", "--apply", "0A")
    assert run.status == 0
    (written,) = away.root.rglob("demo-0a.toml")
    assert '"runner==2.0"' in written.read_text(encoding="utf-8")


def test_what_other_builds_require_of_lines_counts_for_what_is_there(away: Workspace) -> None:
    """With the `torch-npu` that `runner` 2.0 needs from there, numpy 2 cannot stay."""
    away.serve("runner 2.0: torch-npu==2.9.0+cpu", "torch-npu 2.9.0+cuda: numpy<2")
    away.serve("runner 1.0: numpy<2, torch-npu==2.8.0")
    away.stack("runner==1.0", "numpy==2.1.0")
    ways = away.run("explain", "demo", "--json").json.get("awaiting", [])
    changed = [[change["after"] for change in way["changes"]] for way in ways]
    assert ["runner==2.0"] not in changed


def test_a_way_out_that_needs_something_from_there_and_loses_more_is_left_out(
    away: Workspace,
) -> None:
    away.serve(
        "runner 1.1: torch-npu==2.7.1", "runner 2.0: torch-npu==2.9.0", "runner 1.0: numpy<2"
    )
    away.stack("runner==1.0", "numpy==2.1.0")
    run = away.run("explain", "demo", "--json")
    assert run.json["fixes"][0]["changes"][0]["after"] == "runner==1.1"
    assert "awaiting" not in run.json


def test_what_the_policy_excludes_it_excludes_there_as_well(away: Workspace) -> None:
    away.serve("torch-npu 2.8.0rc1", "runner 2.0: torch-npu==2.8.0rc1")
    away.stack("runner==2.0", more='[policy]\nprereleases = "never"')
    run = away.run("explain", "demo", "--json")
    assert (run.status, run.json["awaited"]) == (1, [])


# --- many lines of another machine: they get other versions together


def test_pins_of_another_machine_are_loosened_together(workspace: Workspace) -> None:
    workspace.serve("torch 2.3", "torch 2.6", "torch 2.8", "plugin 2.6: torch==2.6")
    workspace.serve("plugin 2.8: torch==2.8", "audio 2.3: torch==2.3", "audio 2.6: torch==2.6")
    workspace.serve("numpy 1.24", "numpy 1.26", "video 1.0: numpy>=1.26", "tool 1.0")
    workspace.stack("torch==2.3", "audio==2.3", "plugin", "numpy==1.24", "video", "tool==1.0")
    fix, *_ = fixes(workspace)
    assert {change["before"]: change["after"] for change in fix["changes"]} == {
        "torch==2.3": "torch==2.6",
        "audio==2.3": "audio==2.6",
        "numpy==1.24": "numpy==1.26",
    }


def test_loosened_lines_and_facts_about_archives(workspace: Workspace) -> None:
    """The nearest release of `voice` that can be had is an archive, too."""
    workspace.serve("torch 2.3", "torch 2.6", "torch 2.8", "plugin 2.8: torch==2.8")
    workspace.serve("audio 2.3: torch==2.3", "audio 2.6: torch==2.6", "audio 2.8: torch==2.8")
    for name, version, requires in (
        ("voice", "1.0", "kernels"),
        ("voice", "2.0", ""),
        ("wget", "3.2", ""),
        ("world", "0.3", ""),
    ):
        noted = {f"{name}.egg-info/requires.txt": requires}
        workspace.index.add_archive(name, version, static=False, members=noted)
    workspace.stack("torch==2.3", "audio==2.3", "plugin", "voice==1.0", "wget==3.2", "world==0.3")
    fix, *_ = fixes(workspace)
    changes = {change["subject"]: change["after"] for change in fix["changes"]}
    kinds = [change["kind"] for change in fix["changes"]]
    assert kinds.count("state") == 3
    assert (changes["torch"], changes["audio"]) == ("torch==2.8", "audio==2.8")
    assert "voice==2.0" in {change["after"] for change in fix["changes"]}


def test_a_line_that_no_version_helps_is_dropped_with_them(workspace: Workspace) -> None:
    workspace.serve("app 1.0: lib>=2", "lib 1.0", "lib 2.0", "tool 1.0: gone", "tool 2.0: gone")
    workspace.serve("gone 1.0: missing")
    workspace.stack("app", "lib==1.0", "tool==1.0")
    fix, *_ = fixes(workspace)
    assert {change["before"]: change["after"] for change in fix["changes"]} == {
        "lib==1.0": "lib==2.0",
        "tool==1.0": "",
    }


def test_a_plugin_is_not_dropped_from_what_needs_it(workspace: Workspace) -> None:
    workspace.facts(
        "torch",
        '[[warns]]\nunless = ["plugin"]\ngrave = true\n'
        'text = "torch needs plugin here."\nreason = "It has no kernels."\n',
    )
    workspace.serve("torch 2.3", "torch 2.6", "plugin 2.6: torch==2.6", "app 1.0: torch==2.3")
    workspace.serve("numpy 1.24", "numpy 1.26", "video 1.0: numpy>=1.26")
    workspace.stack("torch==2.3", "app", "numpy==1.24", "video", "plugin")
    changes = [change for fix in fixes(workspace) for change in fix["changes"]]
    assert "app" in {change["before"] for change in changes}
    assert "plugin" not in {change["before"] for change in changes}
