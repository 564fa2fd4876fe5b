"""`ascend-lock sync` brings real environments to a lock, and can be killed at any moment."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.functional.machine import installed, make_environment, put, site_packages
from tests.functional.workspace import ANYWHERE, HERE, PYTHON_LINE, Run, Workspace, row, tree

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")


@pytest.fixture
def locked(workspace: Workspace) -> Workspace:
    """A lock of base 2.0 and top, on an index that also has what an environment may have."""
    workspace.serve("base 1.0 2.0", "top 1.0: base", "extra 1.0", "more 1.0: extra")
    workspace.locked_stack("top", target=HERE)
    return workspace


def sync(workspace: Workspace, *arguments: str, **environment: str) -> Run:
    environment.setdefault("VIRTUAL_ENV", "")
    environment.setdefault("CONDA_PREFIX", "")
    return workspace.run("sync", "demo", *arguments, **environment)


def add(workspace: Workspace, python: Path, *pins: str) -> None:
    """Install something with pip."""
    command = [str(python), "-I", "-m", "pip", "install", "--no-deps", *pins]
    run = workspace.finish(workspace.begin(command))
    assert run.status == 0, run


def test_sync_installs_replaces_and_removes(locked: Workspace, python: Path) -> None:
    add(locked, python, "base==1.0", "extra", "more")
    run = sync(locked, "--yes", "--python", str(python))
    assert run.status == 0, run
    assert run.stdout.startswith(
        f"<root>/env (Python {PYTHON_LINE}):\n"
        "  replace    base 1.0 -> 2.0\n"
        "  install    top 1.0\n"
        "  remove     extra 1.0\n"
        "  remove     more 1.0\n"
        "to install or replace: 2; to remove: 2\n"
    )
    assert "\nmatches the lock (errors: 0, warnings: 0)\n" in run.stdout
    assert installed(python) == {"base": "2.0", "top": "1.0"}
    assert not list(python.parents[1].glob(".ascend-lock*"))
    again = sync(locked, "--python", str(python))
    assert again.status == 0
    assert again.stdout.startswith("<root>/env has what the lock has\n")


def test_environment_without_pip_is_told_before_anything_else(
    locked: Workspace, python: Path
) -> None:
    """Such as one of uv. It needs no pip if there is nothing to do."""
    pip = site_packages(python) / "pip"
    hidden = pip.rename(pip.with_name("hidden"))
    run = sync(locked, "--yes")
    assert (run.status, run.stdout, run.error) == (2, "", "the environment has no pip")
    command = f"{python} -m ensurepip; with uv: uv pip install --python {python} pip"
    assert run.stderr.endswith(f"\nhint: {command}\n".replace(str(locked.root), "<root>"))
    assert sync(locked, "--dry-run").status == 0
    hidden.rename(pip)
    assert sync(locked, "--yes").status == 0
    pip.rename(hidden)
    assert sync(locked).stdout.startswith("<root>/env has what the lock has\n")


def test_sync_warns_of_outdated_lock(locked: Workspace, python: Path) -> None:
    assert "have changed" not in sync(locked, "--dry-run").stderr
    locked.facts("base", row("excludes", id="none", versions="==1.0"))
    run = sync(locked, "--dry-run")
    assert run.status == 0
    assert run.stderr.count("the stack or the facts have changed since demo was locked") == 1
    assert "to lock it again: ascend-lock lock demo\n" in run.stderr
    named_by_folder = locked.run("sync", "locks/demo/here", "--dry-run", VIRTUAL_ENV="")
    assert named_by_folder.status == 0


def test_tools_of_an_environment_stay(locked: Workspace, python: Path) -> None:
    put(python, {"setuptools": "80.0"})
    assert sync(locked, "--yes").status == 0
    assert installed(python) == {"base": "2.0", "setuptools": "80.0", "top": "1.0"}


def test_only_names_become_arguments_of_pip(locked: Workspace, python: Path) -> None:
    put(python, {"--root=x": "1.0"})
    (python.parents[1] / ".ascend-lock-removed").write_text("--root=y\n-r\ngone\n")
    told = sync(locked, "--dry-run", "--json").json
    assert told["remove"] == [{"name": "gone", "before": "", "after": "", "damage": ""}]


def test_distribution_from_another_file_is_reinstalled(locked: Workspace, python: Path) -> None:
    add(locked, python, "base==2.0")
    run = sync(locked, "--yes")
    assert "  reinstall  base 2.0: it was not installed from the locked file\n" in run.stdout
    assert "reinstall" not in sync(locked, "--yes").stdout


def test_damaged_files_are_repaired(locked: Workspace, python: Path) -> None:
    assert sync(locked, "--yes", "-q").status == 0
    site = site_packages(python)
    intact = {path for path in tree(site) if "__pycache__" not in path}
    (site / "base.py").unlink()
    with (site / "top.py").open("a") as file:
        file.write("changed = True\n")
    told = sync(locked, "--dry-run").stdout
    assert "  reinstall  base 2.0: files are missing or changed: base.py\n" in told
    assert "  reinstall  top 1.0: files are missing or changed: top.py\n" in told
    assert not (site / "base.py").exists()
    cut = sync(locked, "--yes", "--json", PIP_INDEX_URL="http://127.0.0.1:9/", PIP_RETRIES="0")
    message = "not everything could be installed: base 2.0, top 1.0"
    assert (cut.status, cut.json["status"], cut.json["message"]) == (1, "failed", message)
    assert {"base", "top"} <= installed(python).keys()
    run = sync(locked, "--yes", "-q")
    assert (run.status, run.stdout) == (0, ""), run
    assert {path for path in tree(site) if "__pycache__" not in path} == intact
    assert "changed" not in (site / "top.py").read_text()


def test_full_compares_every_content(workspace: Workspace, python: Path) -> None:
    """A change that keeps the size of a file, which no sample has as it is large."""
    workspace.index.add_wheel("big", "1.0", files={"big.bin": "x" * 300_000})
    workspace.locked_stack("big", target=HERE)
    assert sync(workspace, "--yes", "-q").status == 0
    (site_packages(python) / "big.bin").write_text("y" * 300_000)
    assert sync(workspace, "--dry-run", "--json").json["install"] == []
    change = {"name": "big", "before": "1.0", "after": "1.0", "damage": "big.bin"}
    assert sync(workspace, "--dry-run", "--full", "--json").json["install"] == [change]
    assert sync(workspace, "--yes", "--full", "-q").status == 0
    assert (site_packages(python) / "big.bin").read_text() == "x" * 300_000


def test_distribution_without_record_is_repaired(locked: Workspace, python: Path) -> None:
    assert sync(locked, "--yes", "-q").status == 0
    record = site_packages(python) / "base-2.0.dist-info" / "RECORD"
    before = record.read_text()
    record.unlink()
    assert sync(locked, "--yes", "-q").status == 0
    assert record.read_text() == before


def test_repair_removes_nothing_behind_linked_metadata(locked: Workspace, python: Path) -> None:
    """It is that of another environment. install.sh refuses it."""
    assert sync(locked, "--yes", "-q").status == 0
    site = site_packages(python)
    other = locked.root / "other"
    (site / "base-2.0.dist-info").rename(other)
    (site / "base-2.0.dist-info").symlink_to(other)
    before = tree(other)
    (site / "base.py").unlink()
    assert sync(locked, "--yes", "-q").status == 1
    assert tree(other) == before
    (other / "RECORD").unlink()
    assert sync(locked, "--yes", "-q").status == 1
    assert tree(other).keys() == before.keys() - {"RECORD"}


def test_quiet_failure_says_what_differs(locked: Workspace, python: Path) -> None:
    assert sync(locked, "--yes", "-q").status == 0
    (site_packages(python) / "sitecustomize.py").write_text("")
    run = sync(locked, "--yes", "-q")
    assert (run.status, run.error) == (1, "<root>/env does not match the lock")
    assert "sitecustomize" in run.stderr
    assert "see above" not in run.stderr
    assert "sitecustomize" in sync(locked, "--yes", "--json").json["why"]


def test_nothing_is_removed_if_the_installation_fails(locked: Workspace, python: Path) -> None:
    add(locked, python, "extra")
    run = sync(locked, "--yes", PIP_INDEX_URL="http://127.0.0.1:9/simple/", PIP_RETRIES="0")
    assert run.status == 1
    assert installed(python)["extra"] == "1.0"


def test_extra_that_contradicts_the_lock_is_removed(locked: Workspace, python: Path) -> None:
    """install.sh fails, as verify.py does: pip check complains of what is removed only then."""
    locked.serve("old 1.0: base<2")
    add(locked, python, "old")
    run = sync(locked, "--yes")
    assert run.status == 0, run
    assert installed(python) == {"base": "2.0", "top": "1.0"}


def test_sync_asks_first(locked: Workspace, python: Path) -> None:
    before = tree(site_packages(python))
    error = "nobody can be asked whether to change the environment"
    run = sync(locked)
    assert (run.status, run.error) == (2, error)
    assert "hint: --yes changes it without asking" in run.stderr
    assert tree(site_packages(python)) == before


@pytest.mark.parametrize(("answer", "status"), [("n\n", 1), ("y\n", 0)])
def test_answer_decides(locked: Workspace, python: Path, answer: str, status: int) -> None:
    terminal, end = pty.openpty()
    environment = locked.environment(VIRTUAL_ENV="")
    command = [str(Path(sys.executable).with_name("ascend-lock")), "sync", "demo"]
    process = locked.begin(command, stdin=end, env=environment)
    os.write(terminal, answer.encode())
    run = locked.finish(process)
    os.close(terminal)
    os.close(end)
    assert run.status == status, run
    assert bool(installed(python)) == (status == 0)


def test_dry_run_changes_nothing_and_runs_no_code(locked: Workspace, python: Path) -> None:
    ran = locked.root / "ran"
    (site_packages(python) / "code.pth").write_text(f"import os; open({str(ran)!r}, 'w')\n")
    before = tree(locked.root / "env")
    run = sync(locked, "--dry-run")
    assert (run.status, run.stderr) == (0, "")
    assert "  install    base 2.0\n" in run.stdout
    assert tree(locked.root / "env") == before
    assert not ran.exists()
    told = sync(locked, "--dry-run", "--json").json
    assert told["status"] == "planned"
    assert [row["name"] for row in told["install"]] == ["base", "top"]


def test_json_needs_no_terminal_with_yes(locked: Workspace, python: Path) -> None:
    add(locked, python, "extra")
    run = sync(locked, "--yes", "--json")
    assert run.json == {
        "format": 1,
        "status": "synced",
        "environment": str(python.parents[1]).replace(str(locked.root), "<root>"),
        "install": [
            {"name": "base", "before": "", "after": "2.0", "damage": ""},
            {"name": "top", "before": "", "after": "1.0", "damage": ""},
        ],
        "remove": [{"name": "extra", "before": "1.0", "after": "", "damage": ""}],
    }
    assert sync(locked, "--json").json["status"] == "synced"


def test_machine_that_does_not_match_is_refused(workspace: Workspace, python: Path) -> None:
    workspace.serve("base 1.0")
    other = HERE.replace('glibc = "2.17"', 'glibc = "2.99"')
    workspace.locked_stack("base", target=other)
    before = tree(site_packages(python))
    run = sync(workspace, "--yes")
    assert (run.status, run.error) == (1, "this machine does not match demo/here")
    assert "glibc" in run.stderr
    assert tree(site_packages(python)) == before


def test_environment_of_another_python_is_refused(workspace: Workspace, python: Path) -> None:
    workspace.serve("base 1.0")
    line = "3.10" if PYTHON_LINE != "3.10" else "3.11"
    workspace.locked_stack("base", target=HERE.replace(PYTHON_LINE, line))
    run = sync(workspace, "--yes")
    assert run.status == 2
    assert run.error == f"the lock is for Python {line}, and the environment has {PYTHON_LINE}"


def test_shared_and_own_python_are_refused(locked: Workspace) -> None:
    system = Path(sys.base_prefix) / "bin" / f"python{PYTHON_LINE}"
    run = sync(locked, "--yes", "--python", str(system))
    assert run.status == 2
    assert run.error == "this Python is no environment: others use what is installed there"
    own = sync(locked, "--yes", "--python", sys.executable)
    assert (own.status, own.error) == (2, "ascend-lock itself runs in this environment")
    none = sync(locked, "--yes", VIRTUAL_ENV=sys.prefix)
    assert (none.status, none.error) == (2, "there is no environment")
    verify = locked.run("verify", "demo", VIRTUAL_ENV=sys.prefix, CONDA_PREFIX="")
    assert (verify.status, verify.error) == (2, "there is no environment")
    assert "; the machine alone is checked by ascend-lock verify STACK --machine\n" in verify.stderr
    machine = locked.run("verify", "demo", "--machine", VIRTUAL_ENV=sys.prefix, CONDA_PREFIX="")
    assert (machine.status, machine.stderr) == (0, "")
    wrong = sync(locked, "--yes", "--python", "/bin/false")
    assert (wrong.status, wrong.error) == (2, "the environment's Python cannot be run")


def test_environment_is_the_active_one_or_in_the_folder(locked: Workspace) -> None:
    make_environment(locked.root / ".venv")
    assert "<root>/.venv (" in sync(locked, "--dry-run").stdout
    make_environment(locked.root / "env")
    assert "<root>/env (" in sync(locked, "--dry-run").stdout
    assert "<root>/.venv (" in sync(locked, "--dry-run", "--python", ".venv").stdout
    active = make_environment(locked.root / "active").parents[1]
    conda = {"CONDA_PREFIX": str(active), "CONDA_DEFAULT_ENV": "own"}
    assert "<root>/active (" in sync(locked, "--dry-run", **conda).stdout
    conda["CONDA_DEFAULT_ENV"] = "base"
    assert "<root>/env (" in sync(locked, "--dry-run", **conda).stdout
    assert "<root>/active (" in sync(locked, "--dry-run", VIRTUAL_ENV=str(active)).stdout


def test_lock_of_another_processor_is_refused(workspace: Workspace, python: Path) -> None:
    workspace.serve("base 1.0")
    other = ANYWHERE.replace("3.11", PYTHON_LINE)
    workspace.locked_stack("base", target=other)
    if "aarch64" in os.uname().machine:
        pytest.skip("the target is for this processor")
    assert sync(workspace, "--yes").error == "this machine does not match demo/there"


@pytest.mark.parametrize("moment", ["record aside", "record gone", "begun"])
def test_removal_that_was_cut_off_is_finished(locked: Workspace, python: Path, moment: str) -> None:
    sync(locked, "--yes")
    site = site_packages(python)
    steady = {path for path in tree(site) if "__pycache__" not in path}
    add(locked, python, "extra")
    (python.parents[1] / ".ascend-lock-removed").write_text("extra\n")
    if moment != "begun":
        (site / "extra-1.0.dist-info").rename(site / "~xtra-1.0.dist-info")
    if moment == "record gone":
        (python.parents[1] / ".ascend-lock-folders").write_text(f'["{site}/extra"]')
        (site / "extra.py").unlink()
        (site / "~xtra").mkdir()
        shutil.rmtree(site / "~xtra-1.0.dist-info")
    run = sync(locked, "--yes")
    assert run.status == 0, run
    assert {path for path in tree(site) if "__pycache__" not in path} == steady
    assert not list(python.parents[1].glob(".ascend-lock*"))


def test_killed_run_is_completed(locked: Workspace, python: Path) -> None:
    """Whatever the moment: each run is killed somewhat later than the one before."""
    site = site_packages(python)
    assert sync(locked, "--yes").status == 0
    steady = {path for path in tree(site) if "__pycache__" not in path}
    command = [str(Path(sys.executable).with_name("ascend-lock")), "sync", "demo", "--yes"]
    for seconds in (1.0, 2.0, 3.0):
        add(locked, python, "base==1.0", "extra", "more")
        process = locked.begin(
            command, env=locked.environment(VIRTUAL_ENV=""), start_new_session=True
        )
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        run = sync(locked, "--yes")
        assert run.status == 0, (seconds, run)
        assert {path for path in tree(site) if "__pycache__" not in path} == steady, seconds
