"""What install.sh looks for before pip changes an environment, and what it hands to pip."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import resolver
from tests.functional.machine import install, put, site_packages
from tests.functional.test_killed_pip import everything
from tests.functional.workspace import HERE, PYTHON_LINE, Workspace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")

# What pip would take for an option, as the name in the metadata of a distribution.
_OPTIONS = ("--log=pwned", "-rhttp://127.0.0.1:9/list", "-e.")


@pytest.fixture
def replacing(workspace: Workspace) -> Workspace:
    """A workspace with a lock of demo 2.0."""
    workspace.index.add_wheel("demo", "2.0", files={"demo/__init__.py": ""})
    workspace.locked_stack("demo==2.0", target=HERE)
    return workspace


def put_named(python: Path, folder: str, name: str, *files: str) -> Path:
    """Put metadata with any name into an environment; return its folder."""
    info = site_packages(python) / f"{folder}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    rows = [*files, f"{info.name}/METADATA", f"{info.name}/RECORD"]
    (info / "RECORD").write_text("".join(f"{row},,\n" for row in rows))
    return info


@pytest.mark.parametrize(
    ("check", "rows"),
    [
        ("echo checked", ""),
        (r"printf 'a\nb\nchecked\n'", "a\nb"),
        ("true", None),
        ("printf 'a\\n'", None),
        ("printf 'a\\nchecked\\n'; false", None),
        ("printf 'checked\\na\\n'", None),
    ],
)
def test_rows_of_a_check_that_ends(check: str, rows: str | None) -> None:
    template = Path(resolver.__file__).parent / "report" / "templates" / "install.sh.j2"
    text = template.read_text(encoding="utf-8")
    function = "rows_of() {" + text.partition("\nrows_of() {")[2].partition("\n}\n")[0] + "\n}"
    code = (
        f"set -euo pipefail\n{function}\ncheck() {{ {check}; }}\nfound=$(rows_of check) || exit 7"
    )
    done = subprocess.run(
        ["bash", "-c", f'{code}\nprintf "%s" "$found"'], capture_output=True, text=True, check=False
    )
    expected = (7, "") if rows is None else (0, rows)
    assert (done.returncode, done.stdout) == expected


def test_install_refuses_beside_a_name_that_is_no_text(replacing: Workspace, python: Path) -> None:
    """A locale such as en_US.UTF-8 has no letters for it, unlike C.UTF-8."""
    locales = replacing.root / "locales"
    locales.mkdir()
    made = shutil.which("localedef") and subprocess.run(
        ["localedef", "-i", "en_US", "-f", "UTF-8", str(locales / "en_US.UTF-8")],
        capture_output=True,
        check=False,
    )
    if not made or not (locales / "en_US.UTF-8").exists():
        pytest.skip("there is no such locale")
    outside = replacing.root / "outside"
    outside.mkdir()
    site = site_packages(python)
    (site / "demo-2.0.dist-info").symlink_to(outside)
    odd = Path(os.fsdecode(bytes(site) + b"/demo-0.1\xff\n.egg-info"))
    odd.mkdir()
    (odd / "PKG-INFO").write_text("Metadata-Version: 1.0\nName: demo\nVersion: 0.1\n")
    run = install(replacing, python, LOCPATH=str(locales), LC_ALL="en_US.UTF-8")
    assert run.status == 1
    assert "error: the metadata of demo is a link" in run.stderr
    assert r"demo-0.1\udcff\n.egg-info" in run.stderr
    assert not list(outside.iterdir())


def test_install_refuses_a_check_that_fails(replacing: Workspace, python: Path) -> None:
    """The environment breaks what every check needs."""
    (site_packages(python) / "sitecustomize.py").write_text(
        "import os, sys\n"
        "def fail(event, values):\n"
        "    if event == 'os.listdir' and sys.argv[0] == '-' and '/conda-meta' not in str(values):\n"
        "        os._exit(3)\n"
        "if sys.orig_argv[1:3] == ['-I', '-']: sys.addaudithook(fail)\n"
    )
    before = everything(python)
    run = install(replacing, python)
    assert run.status == 1
    assert "error: cannot determine what is already installed" in run.stderr
    assert everything(python) == before


@pytest.mark.parametrize("name", _OPTIONS)
def test_exact_hands_pip_no_option(replacing: Workspace, python: Path, name: str) -> None:
    info = put_named(python, "odd", name)
    put(python, {"other": "1.0"})
    run = install(replacing, python, "--exact")
    assert run.status == 0, run
    assert f"warning: {replacing.plain(str(info))} stays" in run.stderr
    assert "removes other" in run.stdout
    assert info.exists()
    assert not list(replacing.root.rglob("pwned"))


@pytest.mark.parametrize("name", _OPTIONS)
def test_removal_hands_pip_no_option(workspace: Workspace, python: Path, name: str) -> None:
    workspace.index.add_wheel("demo", "2.0", files={"demo/__init__.py": ""})
    workspace.facts("demo", _ABSENT)
    workspace.locked_stack("demo==2.0", target=HERE)
    (site_packages(python) / "tri.py").touch()
    put(python, {"tri": "1.0", "shares": "1.0"}, "tri.py")
    info = put_named(python, "odd", name, "tri.py")
    run = install(workspace, python)
    assert "Successfully uninstalled tri" in run.stdout
    assert "Successfully uninstalled shares" in run.stdout
    assert "no such option" not in run.stderr
    assert "Invalid requirement" not in run.stderr
    assert info.exists()
    assert not list(workspace.root.rglob("pwned"))


_ABSENT = """
[[absent]]
id = "demo-without-tri"
without = "tri"
reason = "both have tri.py"
"""


def test_install_refuses_a_record_that_is_a_link(replacing: Workspace, python: Path) -> None:
    """pip reads it and removes the files, so nothing may be removed before as if it were lost."""
    (site_packages(python) / "demo_old.py").touch()
    put(python, {"demo": "1.0"}, "demo_old.py")
    info = site_packages(python) / "demo-1.0.dist-info"
    (info / "RECORD").rename(replacing.root / "RECORD")
    (info / "RECORD").symlink_to(replacing.root / "RECORD")
    before = everything(python)
    run = install(replacing, python)
    assert run.status == 1
    assert "error: the metadata of demo is a link" in run.stderr
    assert everything(python) == before


def test_install_refuses_modules_that_conda_added(replacing: Workspace, python: Path) -> None:
    """Recipes of conda add files after pip has written RECORD."""
    site = site_packages(python)
    put(python, {"demo": "1.0"}, "demo.py")
    info = site / "demo-1.0.dist-info"
    (info / "INSTALLER").write_text("conda\n")
    for name in ("demo.py", "patch.py"):
        (site / name).touch()
    inside = f"lib/python{PYTHON_LINE}/site-packages"
    files = [f"{inside}/{name}" for name in ("demo.py", f"{info.name}/RECORD")]
    package = python.parents[1] / "conda-meta" / "demo-1.0-0.json"
    package.parent.mkdir()
    package.write_text(json.dumps({"files": [*files, f"{inside}/patch.py"]}))
    run = install(replacing, python)
    assert run.status == 1
    assert "error: pip cannot replace demo, which conda installed" in run.stderr
    assert f"lacks, {replacing.plain(str(site))}/patch.py" in run.stderr
    package.write_text(json.dumps({"files": files}))
    assert "which conda installed" not in install(replacing, python, "--dry-run").stderr


@pytest.mark.parametrize(
    "name", ["odd-1.0.dist-info/INSTALLER", "odd-1.0.egg-info/PKG-INFO", "odd-1.0.egg-info"]
)
def test_install_waits_for_no_pipe(replacing: Workspace, python: Path, name: str) -> None:
    """pip reads the metadata of everything that is installed, so it would wait."""
    pipe = site_packages(python) / name
    pipe.parent.mkdir(exist_ok=True)
    os.mkfifo(pipe)
    run = install(replacing, python)
    assert run.status == 1
    assert f"error: {replacing.plain(str(pipe))} is no plain file" in run.stderr


@pytest.mark.parametrize("ending", ["succeeds", "fails"])
def test_install_writes_into_no_other_environment(
    replacing: Workspace, python: Path, ending: str
) -> None:
    """Whoever may write into the environment puts a link in place of lib while pip runs."""
    lib = python.parents[1] / "lib"
    other = replacing.root / "other" / "lib"
    theirs = other / site_packages(python).relative_to(lib)
    theirs.mkdir(parents=True)
    for name in ("~emo-1.0.dist-info", "demo-2.0.dist-info", "demo-1.0.dist-info"):
        (theirs / name).mkdir()
        (theirs / name / "INSTALLER").write_text("pip\n")
    metadata = "Metadata-Version: 2.1\nName: demo\nVersion: 2.0\n"
    (theirs / "demo-2.0.dist-info" / "METADATA").write_text(metadata)
    (theirs / "demo-2.0.dist-info" / "RECORD").write_text("demo-2.0.dist-info/RECORD,,\n")
    (theirs / "~emo-1.0.dist-info" / "RECORD").write_text("demo/old.py,,\n")
    if ending == "fails":
        replacing.index.remove("demo")
    (site_packages(python) / "swap.pth").write_text(
        "import sys, os, atexit; '--force-reinstall' in sys.orig_argv and '-c' in sys.orig_argv"
        f" and atexit.register(lambda: (os.rename({str(lib)!r}, {str(lib) + '2'!r}),"
        f" os.symlink({str(other)!r}, {str(lib)!r})))\n"
    )
    before = everything(other / "bin" / "python"), sorted(theirs.rglob("*"))
    run = install(replacing, python)
    assert (everything(other / "bin" / "python"), sorted(theirs.rglob("*"))) == before
    assert run.status == 1, run
    assert "leads out of" in run.stderr
