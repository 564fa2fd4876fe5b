"""What a killed pip leaves in an environment, at moments made by hand, and what install.sh makes of
it.

tests/faults kills pip itself, at any moment.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.functional.machine import environment as environ
from tests.functional.machine import execute, install, site_packages
from tests.functional.workspace import HERE, Tree, Workspace, tree
from tests.loopback import status

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")


class Environment:
    """Locks of two releases of demo, each with modules that the other lacks, and an environment of
    the first.
    """

    def __init__(self, workspace: Workspace, python: Path) -> None:
        self.workspace = workspace
        self.python = python
        self.site = site_packages(python)
        self._locks: Mapping[str, Path] = {}
        for version in ("1", "2"):
            inner = {
                f"demo/of_{version}.py": "",
                f"demo/sub_{version}/__init__.py": "",
                f"alone_{version}.py": "",
            }
            workspace.index.add_wheel("demo", version, files={"demo/__init__.py": "", **inner})
            workspace.locked_stack(f"demo=={version}", target=HERE)
            self._locks = {**self._locks, version: workspace.root / f"locks-{version}"}
            shutil.copytree(workspace.locks, self._locks[version])
        self.install("1")

    def choose(self, version: str) -> None:
        shutil.rmtree(self.workspace.locks)
        shutil.copytree(self._locks[version], self.workspace.locks)

    def install(self, version: str) -> None:
        """Bring the environment to a release, which must succeed without a warning."""
        self.choose(version)
        run = install(self.workspace, self.python)
        assert (run.status, run.stderr) == (0, ""), run
        assert "  unowned        ok  " in run.stdout

    def content(self) -> Tree:
        return {
            path: content for path, content in tree(self.site).items() if "__pycache__" not in path
        }

    def move(self, name: str, to: str) -> None:
        (self.site / name).rename(self.site / to)


@pytest.fixture
def environment(workspace: Workspace, python: Path) -> Environment:
    return Environment(workspace, python)


def unfinished(environment: Environment, *, with_record: bool) -> None:
    """The second release, as pip has it before it writes RECORD with what it installed."""
    for name, text in {"demo/of_2.py": "", "demo/sub_2/__init__.py": "", "alone_2.py": ""}.items():
        path = environment.site / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    info = environment.site / "demo-2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: demo\nVersion: 2\n")
    if with_record:
        rows = ["demo/of_2.py", "demo/sub_2/__init__.py", "alone_2.py", "demo-2.dist-info/METADATA"]
        (info / "RECORD").write_text(
            "".join(f"{row},,\n" for row in [*rows, "demo-2.dist-info/RECORD"])
        )


@pytest.mark.parametrize(
    "moment",
    [
        "the record is put aside",
        "some files are gone",
        "the new one has begun",
        "the package is put aside",
    ],
)
def test_a_removal_that_was_cut_off_is_finished(environment: Environment, moment: str) -> None:
    environment.install("2")
    steady = environment.content()
    environment.install("1")
    environment.move("demo-1.dist-info", "~emo-1.dist-info")
    if moment == "some files are gone":
        (environment.site / "alone_1.py").unlink()
        environment.move("demo/sub_1", "demo/~ub_1")
    elif moment == "the new one has begun":
        unfinished(environment, with_record=False)
    elif moment == "the package is put aside":
        environment.move("demo", "~emo")
        (environment.site / "~emo-1.dist-info" / "RECORD").unlink()
        (environment.site / "alone_1.py").unlink()
    environment.install("2")
    assert environment.content() == steady


def test_a_package_put_aside_after_the_new_release_is_removed(environment: Environment) -> None:
    environment.install("2")
    steady = environment.content()
    for aside in ("demo/~ub_1", "~emo", "~emo-1.dist-info"):
        (environment.site / aside).mkdir()
    rows = ("demo/__init__.py", "demo/sub_1/__init__.py", "demo-1.dist-info/RECORD")
    (environment.site / "~emo-1.dist-info" / "RECORD").write_text(
        "".join(f"{row},,\n" for row in rows)
    )
    environment.install("2")
    assert environment.content() == steady, (
        "files of the new release, which the old one had too, stay"
    )


def test_sweep_follows_no_link(environment: Environment) -> None:
    """Neither to folders that are called as pip would call them, nor to files that a record has."""
    site = environment.site
    environment.move("demo-1.dist-info", "kept-1.dist-info")
    record = (site / "kept-1.dist-info" / "RECORD").read_text() + "demo/mine.py,,\n"
    shutil.rmtree(site / "kept-1.dist-info")
    shutil.rmtree(site / "demo")
    environment.choose("1")
    for target in (
        environment.workspace.root / "outside",
        environment.python.parents[1] / "src" / "demo",
    ):
        theirs = ("mine.py", "~ub_1/work.txt", "sub_1/~/work.txt")
        for name in theirs:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_text("")
        for name in ("demo", "~emo"):
            (site / name).unlink(missing_ok=True)
            (site / name).symlink_to(target)
        shutil.rmtree(site / "demo-1.dist-info", ignore_errors=True)
        (site / "~emo-1.dist-info").mkdir()
        (site / "~emo-1.dist-info" / "RECORD").write_text(record)
        install(environment.workspace, environment.python)
        assert not (site / "~emo-1.dist-info").exists()
        assert (site / "~emo").is_symlink()
        assert [name for name in theirs if not (target / name).exists()] == []


def test_sweep_leaves_what_pip_did_not_name(environment: Environment) -> None:
    """A folder of the user's, and names that are nearly those which pip gives."""
    site = environment.site
    names = (
        "~work",
        "~mo",
        "~emo2",
        "demo/~work",
        "demo/~ub_2",
        "demo/sub_1/~",
        "~ork-1.dist-info",
    )
    for name in names:
        (site / name).mkdir()
        (site / name / "file.txt").write_text("")
    install(environment.workspace, environment.python)
    assert [name for name in names if not (site / name / "file.txt").exists()] == []


def test_sweep_leaves_all_where_no_pip_was_cut_off(environment: Environment) -> None:
    """pip could have made the name of an installed package, but nothing says that it did."""
    environment.install("2")
    (environment.site / "~emo").mkdir()
    (environment.site / "~emo" / "file.txt").write_text("")
    environment.install("2")
    assert (environment.site / "~emo" / "file.txt").exists()


def test_sweep_leaves_owned_files(workspace: Workspace, python: Path) -> None:
    """A wheel can have folders that are called like those which pip puts aside."""
    names = (
        "demo/~eep/data.txt",
        "demo/keep/data.txt",
        "demo/~\x1b]0;x\x07/x.txt",
        "~emo/data.txt",
    )
    workspace.index.add_wheel(
        "demo", "1", files={"demo/__init__.py": "", **dict.fromkeys(names, "")}
    )
    workspace.locked_stack("demo", target=HERE)
    for _ in range(2):
        run = install(workspace, python)
        assert (run.status, run.stderr) == (0, "")
        assert "\x1b" not in run.stdout
    assert [name for name in names if not (site_packages(python) / name).exists()] == []


def test_sweep_shows_names_harmlessly(environment: Environment) -> None:
    record = environment.site / "demo-1.dist-info" / "RECORD"
    record.write_text(record.read_text() + "demo/x\x1b[31m\u202e/x.txt,,\n")
    environment.move("demo-1.dist-info", "~emo-1.dist-info")
    (environment.site / "demo" / "~\x1b[31m\u202e").mkdir()
    environment.choose("1")
    run = install(environment.workspace, environment.python)
    assert "demo/~\\x1b[31m\\u202e, left behind" in run.stdout
    assert not {"\x1b", "\u202e"} & set(run.stdout)


def test_an_unfinished_release_is_removed_by_its_record(environment: Environment) -> None:
    steady = environment.content()
    environment.move("demo-1.dist-info", "~emo-1.dist-info")
    unfinished(environment, with_record=True)
    environment.install("1")
    assert environment.content() == steady


def test_modules_of_an_unfinished_release_without_a_record_are_told(
    environment: Environment,
) -> None:
    """Nothing says which files they are, except that nobody owns them."""
    environment.move("demo-1.dist-info", "~emo-1.dist-info")
    unfinished(environment, with_record=False)
    environment.choose("1")
    run = install(environment.workspace, environment.python)
    assert run.status == 1
    verify = [str(environment.python), str(environment.workspace.folder() / "verify.py"), "--json"]
    report = json.loads(execute(environment.workspace, verify).stdout)
    findings = {row["code"]: row for group in report["groups"] for row in group["findings"]}
    assert findings.keys() == {"file-stale", "module-extra"}
    assert findings["file-stale"]["values"]["list"] == "demo/of_2.py, demo/sub_2/__init__.py"
    assert findings["module-extra"]["values"]["list"] == "alone_2.py"
    mend = findings["file-stale"]["mend"].replace("<root>", str(environment.workspace.root))
    assert execute(environment.workspace, ["bash", "-c", mend]).status == 0
    (environment.site / "alone_2.py").unlink()
    (environment.site / "demo" / "sub_2").rmdir()
    environment.install("1")


# The last file of a wheel that pip unpacks: all others of boot are there.
_UNPACKED = "event == 'open' and '/boot-1.dist-info/METADATA' in str(values[0])"


def kill_install(workspace: Workspace, python: Path, moment: str = _UNPACKED) -> None:
    """Kill install.sh with its pip at an event of Python's audit hooks."""
    script = str(workspace.folder() / "install.sh")
    kill(workspace, python, [script, "--python", str(python)], moment)


def kill_pip(workspace: Workspace, python: Path, *pins: str) -> None:
    """Kill a pip that somebody has started, before it writes a record."""
    kill(workspace, python, [str(python), "-m", "pip", "install", "--no-deps", *pins], _UNPACKED)


def kill(workspace: Workspace, python: Path, command: list[str], moment: str) -> None:
    """Kill a command, with what it has started, at an event of the audit hooks of the Python."""
    killer = site_packages(python) / "killer.pth"
    killer.write_text(
        "import os, sys; sys.addaudithook(lambda event, values: "
        f"event in ('open', 'os.rename', 'shutil.rmtree') and {moment} and os.killpg(0, 9))\n"
    )
    run = workspace.begin(command, env=environ(workspace), start_new_session=True)
    run.communicate()
    assert run.returncode == -signal.SIGKILL
    killer.unlink()


@pytest.mark.parametrize(
    "moment",
    [
        "event == 'os.rename' and str(values[0]).endswith('RECORD.new')",
        "event == 'open' and values[0] == 'ascend-lock.txt' and values[2] & os.O_EXCL",
    ],
)
def test_a_note_that_was_cut_off_leaves_nothing(environment: Environment, moment: str) -> None:
    """One run is enough, whether it goes on or back."""
    steady = {"1": environment.content()}
    environment.install("2")
    steady["2"] = environment.content()
    for next_version in ("2", "1"):
        environment.install("1")
        environment.choose("2")
        kill_install(environment.workspace, environment.python, moment)
        environment.install(next_version)
        assert environment.content() == steady[next_version]


@pytest.mark.parametrize("way", ["replaced", "absent"])
def test_a_folder_put_aside_without_a_record_is_removed(
    workspace: Workspace, python: Path, way: str
) -> None:
    """pip removes the record that it put aside before it removes the folder, whose name says little:
    the new release has no such folder.
    """
    site = site_packages(python)
    workspace.index.add_wheel(
        "demo", "1", files={"of_1/__init__.py": "", "of_1/sub/__init__.py": ""}
    )
    workspace.index.add_wheel("demo", "2", files={"of_2.py": ""})
    workspace.serve("base 1")
    workspace.locked_stack("demo==1", "base", target=HERE)
    assert install(workspace, python).status == 0
    if way == "replaced":
        workspace.locked_stack("demo==2", "base", target=HERE)
    else:
        rows = '[[absent]]\npackage = "demo"\nreason = "r"\n'
        workspace.locked_stack("base", target=HERE, more=rows)
    kill_install(workspace, python, "event == 'shutil.rmtree' and '/~f_1' in str(values[0])")
    assert (site / "~f_1").exists()
    assert list(site.glob("~*.dist-info")) == []
    (site / "~mine").mkdir()
    run = install(workspace, python)
    assert (run.status, run.stderr) == (0, "")
    assert [path.name for path in site.glob("~*")] == ["~mine"]
    assert list(python.parents[1].glob(".ascend-lock*")) == []


@pytest.mark.parametrize("last", ["/bin/tool", "/zz.py"])
def test_a_wheel_that_looks_finished_is_not(workspace: Workspace, python: Path, last: str) -> None:
    """It brings INSTALLER and RECORD of its own, and pip is killed while it writes other files."""
    inner = {
        "tool/__init__.py": "def main(): pass\n",
        "tool-1.dist-info/INSTALLER": "pip\n",
        "tool-1.dist-info/entry_points.txt": "[console_scripts]\ntool = tool:main\n",
        "zz.py": "a = 1\n",
    }
    workspace.index.add_wheel("tool", "1", files=inner)
    workspace.locked_stack("tool", target=HERE)
    script = workspace.folder() / "install.sh"
    script.write_text(script.read_text("utf-8").replace("timeout=30", "timeout=0.2"), "utf-8")
    slow = f"{last!r} in str(values[0]) and __import__('time').sleep(2) is None"
    kill_install(workspace, python, f"event == 'open' and {slow}")
    assert not list(python.parents[1].rglob("ascend-lock.txt"))
    assert install(workspace, python).status == 0
    (python.parent / "tool").unlink()
    record = site_packages(python) / "tool-1.dist-info" / "RECORD"
    rows = record.read_text().splitlines(keepends=True)
    record.write_text("".join(row for row in rows if "bin/tool" not in row))
    verify = [str(python), str(workspace.folder() / "verify.py")]
    run = execute(workspace, verify)
    assert run.status == 1
    assert "bin/tool" in run.stdout
    assert install(workspace, python).status == 0
    assert (python.parent / "tool").exists()


def test_files_of_a_killed_pip_are_told(workspace: Workspace, python: Path) -> None:
    """Somebody's pip is killed before it writes a record, and the lock is of a release that lacks
    the files.
    """
    site = site_packages(python)
    old = ("old.pth", "usercustomize.py", "boot/old.pyc", "old.pyc", "old.abi3.so", "tool/_old.py")
    workspace.index.add_wheel("tool", "1", files={"tool/__init__.py": ""})
    workspace.index.add_wheel("boot", "1", files={"boot/__init__.py": "", **dict.fromkeys(old, "")})
    workspace.index.add_wheel("boot", "2", files={"boot/__init__.py": ""})
    kill_pip(workspace, python, "boot==1")
    assert [name for name in old if not (site / name).exists()] == []
    pip = [str(python), "-m", "pip", "install", "-q", "--no-deps", "tool"]
    assert execute(workspace, pip).status == 0

    workspace.locked_stack("boot==2", target=HERE)
    run = install(workspace, python)
    for name in old:
        assert name in run.stdout, name
    assert run.status == 1
    codes = re.findall(r"(?m)^(error|warning): .*  \[([a-z-]+)\]$", run.stdout)
    assert codes == [
        ("error", "file-stale"),
        ("error", "startup-extra"),
        ("warning", "distribution-extra"),
        ("warning", "file-added"),
        ("warning", "module-extra"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("mod/__init__.py", "mod.py", ["module-replaced", "import-replaced"]),
        ("cfg/old.py", "cfg/defaults.json", ["file-stale"]),
        ("boot_old.pth", "boot.py", ["startup-extra"]),
    ],
)
def test_killed_release_hides_nothing_of_the_next(
    workspace: Workspace, python: Path, old: str, new: str, codes: list[str]
) -> None:
    workspace.index.add_wheel("boot", "1", files={old: ""})
    workspace.index.add_wheel("boot", "2", files={new: ""})
    kill_pip(workspace, python, "boot==1")
    workspace.locked_stack("boot==2", target=HERE)
    run = install(workspace, python)
    assert run.status == 1
    assert re.findall(r"(?m)^error: .*  \[([a-z-]+)\]$", run.stdout) == codes


@pytest.mark.parametrize("way", ["install", "sync"])
def test_files_without_a_record_are_removed(workspace: Workspace, python: Path, way: str) -> None:
    """install.sh is killed with its pip, and the next lock is of a release that lacks the files."""
    site = site_packages(python)
    old = (
        "boot_old.pth",
        "boot/old.so",
        "boot.libs/libold-1a2b.so.3",
        "boot/sub/old.py",
        "old.abi3.so",
        "tool.txt",
        "boot-1.data/scripts/boot-old",
    )
    workspace.index.add_wheel("boot", "1", files={"boot/__init__.py": "", **dict.fromkeys(old, "")})
    workspace.index.add_wheel("boot", "2", files={"boot/__init__.py": "", "boot.json": ""})
    workspace.index.add_wheel("tool", "1", files={"tool.txt": ""})
    workspace.locked_stack("boot==2", target=HERE)
    assert install(workspace, python).status == 0
    steady = everything(python)
    workspace.locked_stack("boot==1", target=HERE)
    kill_install(workspace, python)
    assert (site / "boot.libs/libold-1a2b.so.3").exists()
    # what somebody made meanwhile stays
    (site / "boot" / "mine.txt").write_text("")
    (site / "boot_mine.py").write_text("")
    workspace.locked_stack("boot==2", target=HERE)
    if way == "install":
        run = install(workspace, python)
    else:
        run = workspace.run("sync", "demo", "--yes", "--python", str(python))
    assert run.status == 0, run
    (site / "boot" / "mine.txt").unlink()
    (site / "boot_mine.py").unlink()
    assert everything(python) == steady


def test_a_failed_run_leaves_no_note(environment: Environment) -> None:
    """The index lacks the file, so pip changes nothing. Later files of the user's stay."""
    environment.choose("2")
    environment.workspace.index.fault("/files/*/demo-2*", status(404))
    run = install(environment.workspace, environment.python)
    assert run.status == 1
    assert not list(environment.python.parents[1].glob(".ascend-lock*"))


def test_files_that_others_put_in_place_of_noted_ones_stay(
    workspace: Workspace, python: Path
) -> None:
    """A pip was killed before a record, and again between two. What goes is told."""
    site = site_packages(python)
    files = ("a_mine.py", "a_moved.py", "a_old.py", "a_dir/__init__.py")
    workspace.index.add_wheel("boot", "1", files=dict.fromkeys(files, "1"))
    workspace.index.add_wheel("boot", "2", files={"boot.py": ""})
    for moment in (_UNPACKED, "event == 'os.rename' and str(values[0]).endswith('/a_old.py')"):
        workspace.locked_stack("boot==1", target=HERE)
        if moment == _UNPACKED:
            kill_install(workspace, python)
        else:
            assert install(workspace, python).status == 0
            workspace.locked_stack("boot==2", target=HERE)
            kill_install(workspace, python, moment)
            for record in site.glob("*oot-1.dist-info"):
                shutil.rmtree(record)
        (site / "a_mine.py").unlink(missing_ok=True)
        (site / "a_mine.py").write_text("mine")
        moved = workspace.root / "moved.py"
        moved.write_text("mine")
        os.utime(moved, (1, 1))
        moved.replace(site / "a_moved.py")
        workspace.locked_stack("boot==2", target=HERE)
        run = install(workspace, python)
        assert run.status == 0, run
        assert f"removing <root>/{(site / 'a_old.py').relative_to(workspace.root)}" in run.stdout
        assert not (site / "a_old.py").exists()
        assert not (site / "a_dir").exists()
        for name in ("a_mine.py", "a_moved.py"):
            assert (site / name).read_text() == "mine"
            (site / name).unlink()


def test_an_empty_folder_of_a_killed_pip_is_removed(workspace: Workspace, python: Path) -> None:
    """Python imports it, as a namespace."""
    site = site_packages(python)
    workspace.index.add_wheel("boot", "1", files={"a.py": "", "old/deep/__init__.py": ""})
    workspace.index.add_wheel("boot", "2", files={"boot.py": ""})
    workspace.locked_stack("boot==1", target=HERE)
    kill_install(workspace, python, "event == 'open' and 'old/deep/__init__' in str(values[0])")
    assert (site / "old" / "deep").is_dir()
    workspace.locked_stack("boot==2", target=HERE)
    assert install(workspace, python).status == 0
    assert not (site / "old").exists()


def test_a_cache_of_a_killed_pip_is_removed(workspace: Workspace, python: Path) -> None:
    """Python was writing a file of it. The next lock lacks the project."""
    site = site_packages(python)
    workspace.index.add_wheel("boot", "1", files={"old/__init__.py": "", "old/m.py": ""})
    workspace.index.add_wheel("base", "1", files={"base.py": ""})
    workspace.locked_stack("boot", "base", target=HERE)
    kill_install(workspace, python, "event == 'open' and '.pyc.' in str(values[0])")
    (site / "old" / "__pycache__" / "m.cpython-311.pyc.140245").touch()
    workspace.locked_stack("base", target=HERE)
    assert install(workspace, python).status == 0
    assert not (site / "old").exists()


def test_files_behind_the_link_of_the_environment_are_removed(
    workspace: Workspace, python: Path
) -> None:
    """lib64 of an environment is a link to lib. pip removes what a row has behind it."""
    root, site = python.parents[1], site_packages(python)
    if not (root / "lib64").exists():
        (root / "lib64").symlink_to("lib")
    row = f"demo-1.data/data/lib64/{site.relative_to(root / 'lib')}/of_1.py"
    workspace.index.add_wheel("demo", "1", files={"demo/__init__.py": "", row: ""})
    workspace.index.add_wheel("demo", "2", files={"demo/__init__.py": ""})
    workspace.locked_stack("demo==1", target=HERE)
    run = install(workspace, python)
    assert (run.status, "  unowned        ok  " in run.stdout) == (0, True), run
    assert (site / "of_1.py").exists()
    assert "lib64" in (site / "demo-1.dist-info" / "RECORD").read_text()
    workspace.locked_stack("demo==2", target=HERE)
    kill_install(workspace, python, "event == 'open' and '/demo-2.dist-info/' in str(values[0])")
    (site / "of_1.py").touch()
    run = install(workspace, python)
    assert (run.status, run.stderr) == (0, ""), run
    assert not (site / "of_1.py").exists()


def test_files_of_an_unpacked_wheel_stay(workspace: Workspace, python: Path) -> None:
    """Its RECORD has no row for INSTALLER. That of a wheel that pip was unpacking counts not."""
    site = site_packages(python)
    workspace.index.add_wheel("base", "1", files={"base.py": ""})
    workspace.index.add_wheel("boot", "1", files={"ns/__init__.py": "", "ns/boot.py": ""})
    workspace.locked_stack("boot==1", "base", target=HERE)
    kill_install(workspace, python, "event == 'os.rename' and str(values[1]).endswith('INSTALLER')")
    info = site / "other-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1\n")
    (info / "RECORD").write_text("ns/__init__.py,,\nother-1.dist-info/RECORD,,\n")
    workspace.locked_stack("base", target=HERE)
    assert install(workspace, python).status == 0
    assert (site / "ns" / "__init__.py").exists()
    assert not (site / "ns" / "boot.py").exists()
    assert not (site / "boot-1.dist-info").exists()


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_notes_of_another_kind_are_not_read(environment: Environment, kind: str) -> None:
    root = environment.python.parents[1]
    (environment.workspace.root / "note").write_text("demo\n")

    def put(*names: str) -> None:
        for name in names:
            if kind == "pipe":
                os.mkfifo(root / name)
            else:
                (root / name).symlink_to(environment.workspace.root / "note")

    put(".ascend-lock-folders", ".ascend-lock-files")
    environment.install("1")
    put(".ascend-lock-removed")
    run = environment.workspace.run("sync", "demo", "--yes", "--python", str(environment.python))
    assert run.status == 0, run


def everything(python: Path) -> Tree:
    """Return all files of an environment, without bytecode."""
    return {
        path: content
        for path, content in tree(python.parents[1]).items()
        if "__pycache__" not in path
    }


@pytest.mark.parametrize("way", ["install", "sync"])
def test_files_of_others_stay_that_a_killed_pip_wrote(
    workspace: Workspace, python: Path, way: str
) -> None:
    """Another distribution has them now, or a link leads to them."""
    site = site_packages(python)
    outside = workspace.root / "outside"
    outside.mkdir()
    workspace.index.add_wheel("boot", "1", files={"shared.py": "", "linked/work.py": ""})
    workspace.index.add_wheel("boot", "2", files={"boot.py": ""})
    workspace.index.add_wheel("tool", "1", files={"shared.py": ""})
    workspace.locked_stack("boot==1", target=HERE)
    kill_install(workspace, python)
    shutil.rmtree(site / "linked")
    (outside / "work.py").write_text("")
    (site / "linked").symlink_to(outside)
    pip = [str(python), "-m", "pip", "install", "-q", "--no-deps", "tool"]
    assert execute(workspace, pip).status == 0
    workspace.locked_stack("boot==2", "tool", target=HERE)
    if way == "install":
        install(workspace, python)
    else:
        workspace.run("sync", "demo", "--yes", "--python", str(python))
    assert (site / "shared.py").exists()
    assert (outside / "work.py").exists()


def test_what_another_distribution_owns_stays(environment: Environment) -> None:
    site = environment.site
    record = site / "demo-1.dist-info" / "RECORD"
    record.write_text(record.read_text() + "other.py,,\n../../../../outside,,\n")
    (site / "other.py").write_text("")
    other = site / "other-1.dist-info"
    other.mkdir()
    for name, text in {"METADATA": "Name: other\nVersion: 1\n", "INSTALLER": "pip\n"}.items():
        (other / name).write_text(text)
    rows = [
        "other.py",
        *(f"other-1.dist-info/{name}" for name in ("METADATA", "INSTALLER", "RECORD")),
    ]
    (other / "RECORD").write_text("".join(f"{row},,\n" for row in rows))
    outside = environment.workspace.root / "outside"
    outside.write_text("of somebody else")
    environment.move("demo-1.dist-info", "~emo-1.dist-info")
    environment.choose("2")
    assert install(environment.workspace, environment.python).status == 0
    assert (site / "other.py").exists()
    assert outside.read_text() == "of somebody else"
    assert not (site / "alone_1.py").exists()


def test_what_was_put_aside_of_others_is_not_touched(environment: Environment) -> None:
    site = environment.site
    (site / "~ther-1.dist-info").mkdir()
    (site / "~ther-1.dist-info" / "RECORD").write_text(
        "other/__init__.py,,\nthird.py,,\nother-1.dist-info/RECORD,,\n"
    )
    (site / "~ther").mkdir()
    (site / "third.py").write_text("")
    before = environment.content()
    environment.choose("1")
    assert install(environment.workspace, environment.python).status == 0
    assert environment.content() == before


def test_what_must_not_be_installed_is_removed_for_good(workspace: Workspace, python: Path) -> None:
    """`pip uninstall` was killed after it had put the record aside."""
    workspace.serve("base 1.0", "unwanted 1.0")
    site = site_packages(python)
    workspace.locked_stack(
        "base", target=HERE, more='[[absent]]\npackage = "unwanted"\nreason = "r"\n'
    )
    (site / "~nwanted-1.0.dist-info").mkdir()
    (site / "~nwanted-1.0.dist-info" / "RECORD").write_text(
        "unwanted.py,,\nunwanted-1.0.dist-info/RECORD,,\n"
    )
    (site / "unwanted.py").write_text("")
    run = install(workspace, python)
    assert (run.status, run.stderr) == (0, "")
    assert [path for path in tree(site) if "unwanted" in path or "nwanted" in path] == []
