"""What install.sh makes of distributions that were installed before there were wheels, when pip is
killed while it replaces them, and when pip could not replace them.

tests/faults kills pip at any moment, and a pip of another version as well.
"""

from __future__ import annotations

import importlib.machinery
import shutil
import sys
from pathlib import Path

import pytest

from tests.functional.machine import execute, install, site_packages
from tests.functional.test_killed_pip import everything, kill_install
from tests.functional.workspace import HERE, Workspace, tree
from tests.legacy import OLD_FILES, UNLISTED, put_old

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")

# pip has put the record aside, and not yet the files.
_FILES_LEFT = "event == 'os.rename' and str(values[0]).rstrip('/').endswith('/only_old')"
# pip has put a link or an egg aside, and is about to write the lines that are left.
_LINE_LEFT = "event == 'open' and str(values[0]).endswith('easy-install.pth') and values[1] == 'w'"
# pip has installed some of the new release.
_HALF_NEW = "event == 'open' and '/demo-2.0.dist-info/METADATA' in str(values[0])"
_BEFORE, _AFTER = "/nowhere/before\n", "/nowhere/after\n"


@pytest.fixture
def replacing(workspace: Workspace) -> Workspace:
    """A workspace with a lock of demo 2.0, which has none of the modules of demo 1.0."""
    workspace.index.add_wheel("demo", "2.0", files={"demo/__init__.py": "", "demo/new.py": ""})
    workspace.locked_stack("demo==2.0", target=HERE)
    return workspace


def begin(workspace: Workspace, python: Path, form: str) -> Path:
    """Install demo 1.0 in a form, between others' lines of easy-install.pth; return that file."""
    lines = site_packages(python) / "easy-install.pth"
    lines.write_text(_BEFORE)
    put_old(python, form, workspace.root / "checkout")
    with lines.open("a") as file:
        file.write(_AFTER)
    (site_packages(python) / "mine.txt").touch()
    return lines


@pytest.mark.parametrize(
    ("form", "moment"),
    [
        ("installed-files", _FILES_LEFT),
        ("installed-files", _HALF_NEW),
        ("top-level", _FILES_LEFT),
        ("top-level", _HALF_NEW),
        ("egg", _LINE_LEFT),
        ("egg", _HALF_NEW),
        ("zipped egg", _LINE_LEFT),
        ("develop", _LINE_LEFT),
        ("develop", _HALF_NEW),
    ],
)
def test_killed_upgrade_leaves_nothing_of_the_old(
    replacing: Workspace, python: Path, form: str, moment: str
) -> None:
    begin(replacing, python, form)
    assert install(replacing, python).status == 0
    steady = everything(python)
    pip = [str(python), "-m", "pip", "uninstall", "-q", "-y", "demo"]
    assert execute(replacing, pip).status == 0
    begin(replacing, python, form)
    kill_install(replacing, python, moment)
    run = install(replacing, python)
    assert run.status == 0, run
    assert everything(python) == steady


@pytest.mark.parametrize("written", ["", _BEFORE[:5]])
def test_lines_of_others_that_a_killed_pip_cut_off_are_restored(
    replacing: Workspace, python: Path, written: str
) -> None:
    lines = begin(replacing, python, "develop")
    kill_install(replacing, python, _LINE_LEFT)
    lines.write_text(written)
    assert install(replacing, python).status == 0
    assert lines.read_text() == _BEFORE + _AFTER


def test_lines_that_somebody_changed_since_stay(replacing: Workspace, python: Path) -> None:
    lines = begin(replacing, python, "develop")
    kill_install(replacing, python, _LINE_LEFT)
    lines.write_text(lines.read_text() + "/nowhere/new\n")
    assert install(replacing, python).status == 0
    assert lines.read_text() == f"{_BEFORE}{_AFTER}/nowhere/new\n"


def test_old_record_put_aside_by_a_pip_of_somebody(replacing: Workspace, python: Path) -> None:
    """There is no note of what was installed: the record that was put aside says it."""
    site = site_packages(python)
    put_old(python, "installed-files", replacing.root / "checkout")
    (info,) = site.glob("demo-1.0-*.egg-info")
    info.rename(site / info.name.replace("demo", "~emo"))
    run = install(replacing, python)
    assert (run.status, run.stderr) == (0, "")
    assert [name for name in OLD_FILES if (site / name).exists()] == ["demo/__init__.py"]
    assert not list(site.glob("~*"))


@pytest.mark.parametrize("left", ["top_level.txt", "PKG-INFO", "installed-files.txt", ""])
def test_old_record_that_pip_was_removing(replacing: Workspace, python: Path, left: str) -> None:
    """The new release is there in whole, so nothing but the old record goes."""
    site = site_packages(python)
    put_old(python, "installed-files", replacing.root / "checkout")
    kill_install(replacing, python, "event == 'shutil.rmtree' and '/~emo-' in str(values[0])")
    (aside,) = site.glob("~emo-*")
    for path in aside.iterdir():
        if path.name != left:
            path.unlink()
    (site / "demo" / "mine.txt").touch()
    run = install(replacing, python)
    assert (run.status, run.stderr) == (0, "")
    assert not list(site.glob("~*"))
    assert (site / "demo" / "mine.txt").exists()


def test_files_of_another_legacy_distribution_stay(replacing: Workspace, python: Path) -> None:
    """A pip that was killed has written a file that the list of another one has by now."""
    site = site_packages(python)
    put_old(python, "installed-files", replacing.root / "checkout")
    kill_install(replacing, python, _FILES_LEFT)
    other = site / "other-1.0.egg-info"
    other.mkdir()
    (other / "PKG-INFO").write_text("Name: other\nVersion: 1.0\n")
    (other / "installed-files.txt").write_text("../only_old/__init__.py\nPKG-INFO\n")
    install(replacing, python)
    assert (site / "only_old" / "__init__.py").exists()
    assert not (site / "only_old" / "inner").exists()


@pytest.mark.parametrize("form", UNLISTED)
def test_install_refuses_what_nothing_lists(replacing: Workspace, python: Path, form: str) -> None:
    begin(replacing, python, form)
    before = everything(python)
    for options in ((), ("--dry-run",)):
        run = install(replacing, python, *options)
        assert run.status == 1
        assert "error: pip cannot replace demo, which distutils or an old setuptools" in run.stderr
        assert "hint: begin with an empty environment: " in run.stderr
    assert everything(python) == before


def test_install_refuses_a_compiled_module_that_pip_leaves(
    replacing: Workspace, python: Path
) -> None:
    """Of a name in top_level.txt, pip removes a folder and source, and no extension module."""
    begin(replacing, python, "top-level")
    (info,) = site_packages(python).glob("demo-1.0-*.egg-info")
    with (info / "top_level.txt").open("a") as file:
        file.write("compiled\n")
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        module = site_packages(python) / f"compiled{suffix}"
        module.touch()
        run = install(replacing, python, "--dry-run")
        assert run.status == 1
        assert "error: pip cannot replace demo, which distutils or an old setuptools" in run.stderr
        module.unlink()
    assert install(replacing, python, "--dry-run").status == 0


@pytest.mark.parametrize("name", ["site-packages", "lib", "bin"])
def test_install_refuses_an_environment_with_a_folder_elsewhere(
    replacing: Workspace, python: Path, name: str
) -> None:
    """What pip leaves behind a link out of the environment is neither noted nor removed."""
    folder = {
        "site-packages": site_packages(python),
        "lib": python.parents[1] / "lib",
        "bin": python.parent,
    }[name]
    outside = replacing.root / "outside"
    folder.rename(outside)
    folder.symlink_to(outside)
    run = install(replacing, python)
    assert run.status == 1
    assert "is behind a link out of the environment" in run.stderr
    assert not list(outside.rglob("demo*"))


def test_install_takes_an_environment_that_is_a_link(replacing: Workspace, python: Path) -> None:
    root = python.parents[1]
    root.rename(replacing.root / "real")
    root.symlink_to(replacing.root / "real")
    assert install(replacing, python).status == 0


def test_install_takes_what_others_have_without_a_list(replacing: Workspace, python: Path) -> None:
    site = site_packages(python)
    (site / "other-1.0.egg-info").write_text("Name: other\nVersion: 1.0\n")
    (site / "other.py").touch()
    assert install(replacing, python).status == 0


def test_install_refuses_linked_metadata(replacing: Workspace, python: Path) -> None:
    """pip would write METADATA and RECORD behind the link."""
    outside = replacing.root / "outside"
    outside.mkdir()
    (site_packages(python) / "demo-2.0.dist-info").symlink_to(outside)
    run = install(replacing, python)
    assert run.status == 1
    assert "error: the metadata of demo is a link" in run.stderr
    assert not list(outside.iterdir())


@pytest.mark.parametrize("kind", ["link", "hard link", "dangling link", "folder link"])
def test_notes_are_written_through_no_link(replacing: Workspace, python: Path, kind: str) -> None:
    root = python.parents[1]
    outside = replacing.root / "outside"
    outside.mkdir()
    victim = outside / "victim"
    victim.write_text("theirs")
    names = [f".ascend-lock-{name}" for name in ("folders", "files", "removed")]
    names += [".ascend-lock-folders.new", ".ascend-lock-removed.new"]

    def put_links() -> None:
        for name in names:
            path = root / name
            path.unlink(missing_ok=True)
            if kind == "hard link":
                path.hardlink_to(victim)
            else:
                target = {"link": victim, "folder link": outside}.get(kind, outside / "new")
                path.symlink_to(target)

    replacing.index.serve("extra 1.0")
    pip = [str(python), "-m", "pip", "install", "-q", "--no-deps", "extra"]
    assert execute(replacing, pip).status == 0
    before = tree(outside)
    put_links()
    (root / ".ascend-lock-removed").unlink()
    run = replacing.run("sync", "demo", "--yes", "--python", str(python))
    assert run.status == 0, run
    assert not (site_packages(python) / "extra-1.0.dist-info").exists()
    assert tree(outside) == before
    shutil.rmtree(site_packages(python) / "demo-2.0.dist-info")
    put_links()
    kill_install(replacing, python, _HALF_NEW)
    assert tree(outside) == before
    assert not (root / ".ascend-lock-files").is_symlink()
