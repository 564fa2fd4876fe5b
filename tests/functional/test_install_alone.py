"""install.sh takes no code, settings or passwords from the shell, the home or the folder that it is
started in.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.functional.machine import execute, install, installed, site_packages
from tests.functional.sources import built_here
from tests.functional.workspace import HERE, PYTHON_LINE, Run, Workspace
from tests.loopback import LoopbackIndex

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")

# A backend that is setuptools' own, and notes the variables that it was started with.
_BACKEND = """
import json, os, sys

import setuptools.build_meta as own

def build_wheel(*arguments):
    with open(os.path.join(os.environ["NOTES"], f"{os.getpid()}.json"), "w") as file:
        json.dump(dict(os.environ), file)
    return own.build_wheel(*arguments)

prepare_metadata_for_build_wheel = own.prepare_metadata_for_build_wheel
"""
_SETUP = "import setuptools\nsetuptools.setup()\n"
_PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "{0}"
version = "1.0"
[tool.setuptools]
py-modules = ["{0}_own"]
"""
# Each is a command that install.sh uses before it does anything else.
_FUNCTIONS = (
    "unset",
    "exec",
    "env",
    "set",
    "export",
    "read",
    "printf",
    "[",
    "builtin",
    "command",
    "readlink",
    "say",
)


@pytest.fixture
def builds(workspace: Workspace, python: Path) -> Workspace:
    """A lock of an archive that is built apart and one that is built in the environment, which has
    setuptools.
    """
    for name in ("apart", "here"):
        members = {
            "pyproject.toml": _PYPROJECT.format(name),
            "setup.py": _SETUP,
            "backend.py": _BACKEND,
        }
        members |= {f"{name}_own.py": "", "requirements/run.txt": "# nothing\n"}
        workspace.index.add_archive(name, "1.0", members=members)
    workspace.facts("apart", built_here(isolation=True))
    workspace.facts("here", built_here())
    workspace.locked_before("apart", "here", target=HERE)
    own = Path(sysconfig.get_path("purelib"))
    for path in (own / "setuptools", own / "_distutils_hack", *own.glob("setuptools-*.dist-info")):
        (site_packages(python) / path.name).symlink_to(path)
    (workspace.root / "notes").mkdir()
    (workspace.root / "home").mkdir(exist_ok=True)
    return workspace


def require_built(workspace: Workspace, python: Path, **variables: str) -> list[dict[str, str]]:
    """Install, and return the variables of both builds."""
    notes = workspace.root / "notes"
    run = install(workspace, python, NOTES=str(notes), **variables)
    assert run.status == 0, run.stderr
    assert installed(python).keys() >= {"apart", "here"}
    found = [json.loads(path.read_text()) for path in notes.iterdir()]
    assert len(found) == 2
    return found


@pytest.mark.parametrize("way", ["home", "variable"])
def test_builds_follow_no_settings_of_distutils(builds: Workspace, python: Path, way: str) -> None:
    """Such settings can name a folder whose files all go into the wheel."""
    base = builds.root / "base"
    (base / "lib").mkdir(parents=True)
    (base / "lib" / "planted.py").write_text("")
    settings = builds.root / "home" / (".pydistutils.cfg" if way == "home" else "extra.cfg")
    settings.write_text(f"[build]\nbuild_base = {base}\nbuild_lib = {base / 'lib'}\n")
    (builds.root / "home" / "other").write_text("")
    variables = {"DIST_EXTRA_CONFIG": str(settings)} if way == "variable" else {}
    require_built(builds, python, **variables)
    assert sorted(path.name for path in site_packages(python).glob("planted*")) == []
    assert (builds.root / "home" / "other").exists()


def test_builds_load_nothing_of_the_users(builds: Workspace, python: Path) -> None:
    config = python.parents[1] / "pyvenv.cfg"
    config.write_text(config.read_text().replace("packages = false", "packages = true"))
    marker = builds.root / "ran"
    theirs = builds.root / "home" / ".local" / "lib" / f"python{PYTHON_LINE}" / "site-packages"
    theirs.mkdir(parents=True)
    code = f"import sys\nif 'json' not in sys.argv[0]: open({str(marker)!r}, 'a').write(repr(sys.orig_argv) + '\\n')\n"
    (theirs / "usercustomize.py").write_text(code)
    for variables in require_built(
        builds, python, PYTHONUSERBASE=str(builds.root / "home" / ".local")
    ):
        assert {name for name in variables if name.startswith("PYTHON")} == {"PYTHONNOUSERSITE"}
    started = marker.read_text() if marker.exists() else ""
    assert "_in_process" not in started
    assert "pip" not in started


def test_builds_without_an_index_know_no_address(builds: Workspace, python: Path) -> None:
    secret = builds.index.url.replace("://", "://reader:hunter2@")
    found = require_built(builds, python, PIP_INDEX_URL=secret)
    apart = [variables for variables in found if variables.get("PIP_NO_INDEX") == "1"]
    assert len(apart) == 1, "the other is downloaded and built by one pip"
    assert "hunter2" not in json.dumps(apart)


@pytest.mark.parametrize("where", ["lock", "bundle"])
def test_install_calls_no_function_of_the_shell(
    workspace: Workspace, python: Path, where: str
) -> None:
    workspace.serve("base 1.0")
    workspace.locked_before("base", target=HERE)
    script = workspace.folder() / "install.sh"
    if where == "bundle":
        assert workspace.run("bundle", "demo", "files").status == 0
        script = workspace.root / "files" / "install.sh"
    marker = workspace.root / "ran"
    functions = {f"BASH_FUNC_{name}%%": f"() {{ echo {name} >>{marker}; }}" for name in _FUNCTIONS}
    with LoopbackIndex() as rogue:
        extra = rogue.url_of("extra")
        command = [str(script), "--python", str(python)]
        run = execute(workspace, command, PIP_EXTRA_INDEX_URL=extra, **functions)
        assert [request.path for request in rogue.requests] == []
    assert (run.status, run.stderr) == (0, ""), run
    assert installed(python) == {"base": "1.0"}
    assert not marker.exists()


@pytest.mark.parametrize("command", [["bash"], ["bash", "--posix"], ["sh"]])
def test_install_loads_no_module_of_the_folder(
    workspace: Workspace, python: Path, command: list[str]
) -> None:
    workspace.serve("base 1.0")
    workspace.locked_before("base", target=HERE)
    marker = workspace.root / "ran"
    theirs = workspace.root / "theirs"
    theirs.mkdir()
    (theirs / "sitecustomize.py").write_text(f"open({str(marker)!r}, 'w')\n")
    script = [str(workspace.folder() / "install.sh"), "--python", str(python), "--dry-run"]
    run = execute(workspace, [*command, *script], PYTHONPATH=str(theirs), POSIXLY_CORRECT="1")
    assert (run.status, run.stderr) == (0, ""), run
    assert not marker.exists()


def test_install_imports_no_module_of_the_current_folder(
    workspace: Workspace, python: Path
) -> None:
    """Neither install.sh nor verify.py does, although both try the imports of the lock."""
    workspace.serve("base 1.0")
    workspace.locked_stack("base", target=HERE)
    marker = workspace.root / "ran"
    folder = workspace.root / "current"
    folder.mkdir()
    for name in ("json", "os", "re", "importlib", "sitecustomize", "base"):
        (folder / f"{name}.py").write_text(f"open({str(marker)!r}, 'w')\nraise SystemExit(1)\n")
    script = str(workspace.folder() / "install.sh")
    options = ["--python", str(python), "--skip-system-checks"]
    enter = ["bash", "-c", 'cd "$0" && exec "$@"', str(folder)]
    run = execute(workspace, [*enter, script, *options])
    assert (run.status, marker.exists()) == (0, False), run
    program = str(workspace.folder() / "verify.py")
    run = execute(workspace, [*enter, str(python), program, "--skip-system-checks"])
    assert (run.status, marker.exists()) == (0, False), run


# C0, C1 (a terminal takes U+009B for ESC [), a separator of lines, and two that turn the direction
# of text; then the byte that U+009B is in the encodings of a single byte.
_ACTED_ON = ("\x1b[31m\x07", "\x9b31m", "\x85", "\u2028", "\u202e", "\u2066", "\udc9b31m")
_LOCALES = ("C", "C.UTF-8", "xx_YY.UTF-8")


def require_escaped(run: Callable[[str, str], Run]) -> None:
    """Require that a run which gets a name and a locale shows the name with escapes."""
    for text in _ACTED_ON:
        for locale in _LOCALES:
            shown = run(f"no{text}such", locale)
            assert shown.status == 1
            assert re.search(r"no\\[\w\[\\]+such", shown.stderr), (text, locale, shown)
            assert not [char for char in shown.stderr if not char.isprintable() and char != "\n"]


def test_bundle_shows_no_control_characters(workspace: Workspace) -> None:
    workspace.serve("base 1.0")
    workspace.locked_before("base", target=HERE)
    assert workspace.run("bundle", "demo", "out").status == 0
    script = str(workspace.root / "out" / "install.sh")
    require_escaped(lambda name, locale: execute(workspace, [script, name], LC_ALL=locale))
    assert "demo/here" in execute(workspace, [script, "other"]).stderr


def test_activate_shows_no_control_characters(workspace: Workspace) -> None:
    workspace.serve("base 1.0")
    workspace.locked_before("base", target=HERE)
    command = ["bash", "-c", f". {workspace.folder() / 'activate.sh'}"]

    def run(name: str, locale: str) -> Run:
        return execute(workspace, command, ASCEND_LOCK_ENV=f"/{name}", LC_ALL=locale)

    require_escaped(run)
    for letters in ("目录", "Größe — “é”", "😀", "עברית", "ภาษา"):
        for locale in _LOCALES:
            assert f"/{letters}" in run(letters, locale).stderr


def test_install_shows_no_control_characters(workspace: Workspace, python: Path) -> None:
    workspace.serve("base 1.0")
    workspace.locked_before("base", target=HERE)
    require_escaped(
        lambda name, locale: install(workspace, python, "--wheelhouse", name, LC_ALL=locale)
    )


@pytest.mark.parametrize("name", ["install.sh", "verify.py", "stages", "stages/STAGE"])
def test_install_uses_no_link_in_place_of_a_lock_file(
    workspace: Workspace, python: Path, name: str
) -> None:
    """Nobody sees in a change that the file of another lock, or of none, takes its place."""
    workspace.serve("base 1.0", "other 1.0")
    workspace.locked_stack("other", name="other", target=HERE)
    workspace.locked_stack("base", target=HERE)
    folder = workspace.folder()
    (stage,) = (path.name for path in (folder / "stages").iterdir())
    name = name.replace("STAGE", stage)
    theirs, ours = workspace.folder("other") / name, folder / name
    if ours.is_dir():
        shutil.rmtree(ours)
    else:
        ours.unlink()
    ours.symlink_to(theirs)
    run = install(workspace, python)
    assert (run.status, installed(python)) == (1, {}), run
    assert "is a link" in run.error
    assert run.error.startswith(f"<root>/{ours.relative_to(workspace.root)} ")


def test_install_is_called_through_a_link_elsewhere(workspace: Workspace, python: Path) -> None:
    workspace.serve("base 1.0")
    workspace.locked_stack("base", target=HERE)
    link = workspace.root / "install-demo"
    link.symlink_to(workspace.folder() / "install.sh")
    run = execute(workspace, [str(link), "--python", str(python)])
    assert (run.status, installed(python)) == (0, {"base": "1.0"}), run


@pytest.mark.parametrize("name", ["PYTHONEXECUTABLE", "__PYVENV_LAUNCHER__"])
def test_no_variable_names_another_environment(
    workspace: Workspace, python: Path, tmp_path: Path, name: str
) -> None:
    """Python takes these for its own path, even isolated."""
    workspace.serve("base 1.0")
    workspace.locked_stack("base", target=HERE)
    venv.create(tmp_path / "other", symlinks=True, with_pip=True)
    other = tmp_path / "other/bin/python"
    run = install(workspace, python, **{name: str(other)})
    assert run.status == 0, run
    assert "base" in installed(python)
    assert "base" not in installed(other)
    verify = [str(other), str(workspace.folder() / "verify.py")]
    run = execute(workspace, verify, **{name: str(python)})
    assert (run.status, name in run.stderr) == (2, True)
