"""What `lock` warns of, the gravest first; skipped releases, and the CANN of a target."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from tests.components import systems_text
from tests.functional.workspace import ANYWHERE, COMMAND, REPOSITORY, Workspace, row, tree
from tests.loopback import LoopbackIndex

FACTS = row("warns", text="it is slow", text_zh="它很慢")
FACTS += row("warns", text="it does not start", text_zh="它无法启动", grave=True)


def test_the_end_of_a_run(workspace: Workspace) -> None:
    workspace.serve("demo 1.0: below", "below 1.0")
    workspace.facts("below", '[[warns]]\ntext = "it is old"\nreason = "r"\n')
    workspace.facts("demo", FACTS)
    told = workspace.locked_stack("demo", "below-windows; sys_platform == 'win32'").stdout
    assert told.startswith(
        "Locked demo for linux-aarch64, Python 3.11: 2 distributions in 1 stage\n"
        "  demo 1.0\n"
        "Written to locks/demo/there: its first lock.\n"
        "3 warnings:\n"
        "  - demo: it does not start (matrices/facts/demo.toml:11)\n"
        "  - demo: it is slow (matrices/facts/demo.toml:6)\n"
        "  - below: it is old (matrices/facts/below.toml:6)\n"
        "Not for this target:\n"
        "  - `below-windows; sys_platform == 'win32'` does not apply: "
    )
    next_steps = told.partition("Next:\n")[2].splitlines()
    assert [line.split()[0] for line in next_steps] == ["read", "try", "install", "use"]
    report = workspace.read("report.md")
    assert report.index("does not start") < report.index("it is slow") < report.index("it is old")
    assert (
        "## Lines of the stack that do not apply to this target\n\n- \\`below-windows; sys_platform"
        in report
    )
    before = tree(workspace.locks)
    told = workspace.locked("--lang", "zh").stdout
    assert told.startswith(
        "已锁定 demo，目标 linux-aarch64，Python 3.11：2 个软件包，1 个阶段\n  demo 1.0\nlocks/demo/there 没有变化。"
    )
    assert "\n3 条警告，见 locks/demo/there/report.zh.md\n下一步：\n" in told
    assert tree(workspace.locks) == before


LONG = (
    "It is slow and it takes much of the memory that the others want and more of it where there "
    "are many of them"
)


def test_lock_prints_new_and_grave_warnings_whole(workspace: Workspace) -> None:
    """One that only moved to another line is not new. The last sentence may say what to do."""
    workspace.serve("demo 1.0", "other 1.0")
    workspace.facts("demo", FACTS)
    workspace.locked_stack("demo")
    workspace.facts("demo", f"# a comment\n{FACTS}")
    workspace.facts("other", f'[[warns]]\ntext = "{LONG}. Then do this."\nreason = "r"\n')
    told = workspace.locked_stack("demo", "other").stdout
    assert (
        "3 warnings in locks/demo/there/report.md; these are new or grave:\n"
        "  - demo: it does not start (matrices/facts/demo.toml:12)\n"
        "  - other: It is slow and it takes much of the memory that the others want and more of "
        "it where\n"
        "    there are many of them. Then do this. (matrices/facts/other.toml:6)\n"
    ) in told


def test_all_that_is_asked_of_the_driver_is_one_warning(workspace: Workspace) -> None:
    workspace.serve("a 1.0", "b 1.0")
    row = (
        '[[warns]]\nid = "{0}-driver"\ntext = "{0} wants it."\nunless = ["hdk >= {1}"]\n'
        'reason = "r"\n'
    )
    workspace.facts("a", row.format("a", "25.5.0"))
    workspace.facts(
        "b",
        row.format("b", "25.3.rc1")
        + '[[requires]]\nneeds = ["hdk < 27.0.0"]\nreason = "It fails."\n',
    )
    workspace.locked_stack("a", "b", "hdk >= 25.0.rc1")
    assert workspace.warnings() == [
        (
            "demo needs hdk >= 25.0.rc1, a 1.0 needs hdk >= 25.5.0, b 1.0 needs hdk < 27.0.0 and "
            "b 1.0 needs hdk >= 25.3.rc1. `hdk` is not set in [target.system], so install.sh and "
            "verify.py check the machine's driver. "
            "the stack asks for hdk >= 25.0.rc1 (matrices/stacks/demo.toml:4) a wants it. "
            "(matrices/facts/a.toml:6) "
            "It fails. (matrices/facts/b.toml:11) b wants it. (matrices/facts/b.toml:6)"
        )
    ]
    workspace.locked_stack("a", "b", target=f'{ANYWHERE}[target.system]\nhdk = "25.5.0"\n')
    (warning,) = workspace.warnings()
    assert warning.startswith(
        "b 1.0 needs hdk < 27.0.0. `hdk` in [target.system] is 25.5.0, the oldest of the target's "
    )


def test_a_warning_about_two_projects_is_told_where_both_are(workspace: Workspace) -> None:
    workspace.serve("beside 1.0 2.0", "demo 1.0")
    beside = ("beside<2", "beside<2 ; sys_platform == 'win32'")
    workspace.facts(
        "demo", "".join(row("warns", text="old for it", **{"with": [need]}) for need in beside)
    )
    for lines, told in (
        (["demo"], False),
        (["demo", "beside==2.0"], False),
        (["demo", "beside==1.0"], True),
    ):
        workspace.stack(*lines)
        workspace.locked("--upgrade")
        assert len(workspace.warnings()) == told


def test_hints_name_the_command_as_it_was_called(workspace: Workspace) -> None:
    """A path may be in a terminal, and never in a file."""
    workspace.stack("demo")
    (workspace.root / "bin").symlink_to(COMMAND.parent)
    environment = workspace.environment(PATH=f"{COMMAND.parent}:{os.environ['PATH']}")
    for command in ("bin/ascend-lock", "ascend-lock"):
        line = ["sh", "-c", f"{command} check"]
        run = subprocess.run(
            line, cwd=workspace.root, env=environment, capture_output=True, text=True, check=False
        )
        assert run.stdout.endswith(f"\nhint: {command} lock demo\n")


def test_an_extra_that_is_not_there_is_warned_of(workspace: Workspace) -> None:
    workspace.index.add_wheel("demo", "1.0", extras={"audio": [], "video": []})
    told = " ".join(workspace.locked_stack("demo[audoi,gpu]").stdout.split())
    missing = "demo 1.0 has no extra `{}`, which the stack asks for, so nothing was added for it"
    assert f"2 warnings: - {missing.format('audoi')} - {missing.format('gpu')} " in told


def test_an_extra_that_another_release_has_is_warned_of_first(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """Locking again reads nothing more, and says the same."""
    workspace.serve("demo 1.0")
    index.add_wheel("demo", "2.0", extras={"gpu": ["low==2"], "tpu": []}, requires=["low==2"])
    index.add_wheel("low", "1.0", yanked="of no use")
    workspace.serve("low 2.0")
    workspace.stack("demo[gpu,tpu]", "low==1.0")
    warning = (
        "demo 1.0 has no extra `gpu`, `tpu`, which the stack asks for, so nothing was added for "
        "it. `demo==2.0` has it, and was not chosen; ascend-lock why demo demo==2.0 says why"
    )
    before = False
    for arguments in ([], ["--anew"], ["--offline", "--anew"], ["--upgrade", "--anew"]):
        told = " ".join(workspace.locked(*arguments).stdout.split())
        assert (
            "2 warnings: see locks/"
            if before
            else "2 warnings: - demo 1.0 has no extra `gpu`, `tpu`, "
        ) in told
        assert workspace.warnings() == [warning, "low 1.0 was yanked by its maintainers: of no use"]
        before = True
    assert "demo 2.0 needs low==2" in workspace.run("why", "demo", "demo==2.0").stdout


def test_a_stack_of_which_nothing_applies_to_the_target(workspace: Workspace) -> None:
    workspace.serve("demo 1.0")
    workspace.locked_stack("demo")
    before = tree(workspace.locks)
    workspace.stack("demo; sys_platform == 'win32'")
    for _ in ("anew", "remembered"):
        run = workspace.lock()
        assert (run.status, run.stdout) == (1, "")
        assert run.error == "no line of demo applies to there, so there is nothing to lock"
    told = workspace.lock("--json")
    assert (told.status, told.json["status"], told.json["message"]) == (1, "error", run.error)
    assert tree(workspace.locks) == before


# --- releases that were skipped for want of static metadata


WARNING = (
    "demo 2.0 was skipped in favour of 1.0: `broken-0.2.tar.gz` (index `pypi`) has no static "
    "metadata, "
)
FACT = '[[metadata]]\nid = "broken"\nversions = "==0.2"\nrequires = []\nreason = "it says so"\n'
ELSEWHERE = (
    '[[requires]]\nid = "demo-2"\nversions = "==2.0"\nneeds = ["python < 3"]\n'
    'reason = "it is old"\n'
)


@pytest.fixture
def passed(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """demo 2.0 needs archives without static metadata; demo 1.0 was locked."""
    workspace.serve("demo 1.0", "demo 2.0: broken")
    for version in ("0.2", "0.1"):
        index.add_archive("broken", version, static=False)
    workspace.locked_stack("demo")
    assert workspace.pins() == {"demo": "1.0"}
    return workspace


def test_warnings_of_projects_in_the_stack_come_first(
    passed: Workspace,
) -> None:
    (warning,) = passed.warnings()
    assert warning.startswith(WARNING)
    again = passed.locked("--json")
    assert (again.json["warnings"], again.stderr) == ([warning], "")
    assert "\n1 warning: see locks/demo/there/report.md\n" in passed.locked().stdout
    assert passed.run("check", "demo").status == 0
    passed.facts(
        "demo", '[[warns]]\nid = "slow"\nversions = ">=0"\ntext = "it is slow"\nreason = "it is"\n'
    )
    passed.locked()
    assert passed.warnings()[0].startswith("demo 2.0 was skipped")


def test_it_does_not_hang_on_what_is_known_already(passed: Workspace) -> None:
    before = tree(passed.locks)
    for arguments in ((), ("--upgrade",), ("--anew",), ("--offline", "--anew"), ("--offline",)):
        if "--offline" not in arguments:
            passed.forget()
        passed.locked(*arguments)
        assert tree(passed.locks) == before


def test_locking_again_reads_nothing_of_newer_releases(passed: Workspace) -> None:
    passed.serve("demo 3.0: other", "other 1.0")
    passed.forget()
    passed.index.clear()
    passed.locked()
    assert not [
        row.path for row in passed.index.requests if "other" in row.path or "demo-3" in row.path
    ]


def test_warning_of_a_kept_pin_ends_once_it_is_not_true(passed: Workspace) -> None:
    """A fact appears, the release is for another target, or another line excludes it."""
    for project, facts in (("broken", FACT), ("demo", ELSEWHERE)):
        passed.facts(project, facts)
        passed.locked()
        assert (passed.pins(), passed.warnings()) == ({"demo": "1.0"}, [])
        (passed.matrices / "facts" / f"{project}.toml").unlink()
        passed.locked("--upgrade")
        assert len(passed.warnings()) == 1
    passed.locked_stack("demo<2")
    assert (passed.pins(), passed.warnings()) == ({"demo": "1.0"}, [])


def test_a_post_that_a_fact_puts_last_was_not_skipped(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """It would not be taken before the pin if its archive were readable."""
    workspace.serve("demo 1.0", "demo 1.0.post1: broken")
    index.add_archive("broken", "0.2", static=False)
    workspace.locked_stack("demo")
    assert len(workspace.warnings()) == 1
    workspace.facts(
        "demo",
        '[[warns]]\nversions = "==1.0.post1"\nlast = 1\ntext = "x"\nreason = "another target\'s"\n',
    )
    workspace.locked()
    assert (workspace.pins(), workspace.warnings()) == ({"demo": "1.0"}, [])


# --- a target with a CANN


def target(cann: str = "8.5.0", soc: str = "A2") -> str:
    return (
        f'[target]\nname = "there"\npython = "3.11"\nplatform = "linux-aarch64"\n'
        f'[target.system]\ncann = "{cann}"\nsoc = "{soc}"\n'
    )


@pytest.fixture
def builds(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """torch-npu for three torches: the middle for CANN 8.5.0, the newest a CUDA build."""
    for at, (torch, cann) in enumerate(
        {"2.8.0": "8.3.RC1", "2.9.0": "8.5.0", "2.14.0": "9.2.0"}.items()
    ):
        index.add_wheel("torch-npu", torch, requires=[f"torch=={torch}"])
        cuda = ["triton", "nvidia-cublas"] if torch == "2.14.0" else []
        index.add_wheel("torch", torch, requires=cuda)
        pair = {
            "id": f"pair-{at}",
            "versions": f"=={torch}",
            "unless": [f"cann in {cann}"],
            "last": 1,
        }
        rows = row("warns", text="made for another CANN", **pair)
        path = workspace.matrices / "facts" / "torch-npu.toml"
        workspace.facts("torch-npu", rows) if at == 0 else path.write_text(path.read_text() + rows)
    workspace.serve("triton 3.0", "nvidia-cublas 3.0")
    for old in ("2.2.2", "2.5.1"):  # which facts are about
        index.add_wheel("torch", old)
    shutil.copy(
        REPOSITORY / "matrices" / "facts" / "torch.toml", workspace.matrices / "facts"
    )  # as shipped
    return workspace


@pytest.mark.parametrize(
    ("lines", "cann", "pins"),
    [
        (
            ["torch-npu"],
            "8.5.0",
            {"torch": "2.9.0", "torch-npu": "2.9.0"},
        ),  # not the newest, which is for 9.2.0
        (
            ["torch-npu"],
            "8.5.1",
            {"torch": "2.9.0", "torch-npu": "2.9.0"},
        ),  # none is paired: that of the same line
        (["torch-npu"], "8.3.RC2", {"torch": "2.8.0", "torch-npu": "2.8.0"}),
        (
            ["torch-npu"],
            "8.4.0",
            {"torch": "2.9.0", "torch-npu": "2.9.0"},
        ),  # none of the line; the newest is for CUDA
        (
            ["torch-npu", "torch"],
            "9.2.0",
            {"torch": "2.9.0", "torch-npu": "2.9.0"},
        ),  # a bare line asks for no build
        (
            ["torch-npu", "torch==2.14.0"],
            "8.5.0",
            {"torch": "2.14.0", "triton": "3.0"},
        ),  # which a line asks for
        (["torch-npu<2.9"], "8.5.0", {"torch": "2.8.0", "torch-npu": "2.8.0"}),
    ],
)
def test_torch_npu_is_for_the_cann_and_not_for_a_cuda_build(
    builds: Workspace, lines: list[str], cann: str, pins: dict[str, str]
) -> None:
    """Nor is what is made for the CANN far behind."""
    builds.locked_stack(*lines, target=target(cann))
    assert pins.items() <= builds.pins().items()
    assert any("far behind" in warning for warning in builds.warnings()) is (
        cann in ("8.4.0", "9.2.0")
    )


def test_a_cuda_build_that_is_needed_otherwise_is_a_conflict(builds: Workspace) -> None:
    builds.stack("torch-npu==2.14.0", target=target())
    run = builds.run("explain", "demo", "--json")
    assert run.status == 1
    (only,) = run.json["contradictions"]
    assert only["statements"][-1]["text"].startswith(
        "torch 2.14.0 on `pypi` is not what its name suggests: "
    )


@pytest.mark.parametrize(
    ("cann", "near"), [("8.5.9", "8.5.2 / 9.0.0"), ("9.9.0", "9.2.0"), ("8.5.0.B160", "")]
)
def test_an_unknown_cann_is_told_with_the_nearest(builds: Workspace, cann: str, near: str) -> None:
    shutil.copy(REPOSITORY / "matrices" / "systems.toml", builds.matrices)
    builds.locked_stack("torch-npu", target=target(cann))
    told = [
        row
        for row in builds.warnings()
        if row.startswith(f"the target has CANN {cann}, which is in no list")
    ]
    assert [f"the nearest known: {near}." in row for row in told] == [True] * bool(near)
    builds.stack("torch-npu==1.0", target=target(cann))
    assert (f"Note: CANN {cann} is in no list of releases" in builds.lock().stderr) == bool(near)


def test_warning_for_targets_with_a_component(workspace: Workspace) -> None:
    workspace.serve("demo 1.0")
    (workspace.matrices / "systems.toml").write_text(systems_text({"cann": ("8.5.0",)}))
    rows = row("warns", text="it uses the CPU alone", component="cann")
    workspace.facts("demo", rows)
    workspace.locked_stack("demo")
    assert workspace.warnings() == []
    workspace.locked_stack("demo", target=f'{ANYWHERE}[target.system]\ncann = "8.5.0"\n')
    assert "it uses the CPU alone" in workspace.warnings()[0]


def test_warning_about_a_component_that_there_is_not(workspace: Workspace) -> None:
    workspace.facts("demo", row("warns", text="it is slow", component="canm"))
    workspace.stack("demo")
    run = workspace.lock()
    assert (run.status, "there is no component `canm`" in run.stderr) == (2, True)
