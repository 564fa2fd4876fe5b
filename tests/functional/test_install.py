"""install.sh does on this machine what the lock says: real pip, real builds, nothing that is not
pinned.
"""

from __future__ import annotations

import io
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.builders import build_wheel
from tests.functional.machine import (
    execute,
    install,
    installed,
    lines,
    npu_smi,
    put,
    site_packages,
)
from tests.functional.sources import add_backend, add_source, built_here
from tests.functional.workspace import HERE, PLATFORM, PYTHON_LINE, Run, Workspace, row, tree
from tests.loopback import LoopbackIndex, delayed, status

# An install is for Linux; on other systems a lock can only be made.
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")

SYSTEM = str(Path(sys.base_prefix) / "bin" / f"python{PYTHON_LINE}")
WHEELS = "-I -m pip install --no-deps --only-binary :all: --force-reinstall --require-hashes"


@pytest.fixture
def two(workspace: Workspace) -> Workspace:
    """A lock of two wheels in two stages."""
    workspace.serve("base 1.0", "top 1.0: base")
    workspace.facts(
        "top", '[[after]]\nothers = ["base"]\nreason = "top reads what base has set up"\n'
    )
    workspace.locked_before("top", target=HERE, more='[check]\nimports = ["top"]\n')
    return workspace


def told(run: Run) -> list[str]:
    """What is said of each stage of an installation that succeeded."""
    assert (run.status, run.stderr) == (0, "")
    return [line.partition(": ")[2] for line in lines(run.stdout, "stage")]


def assert_refused(run: Run, error: str) -> None:
    """Nothing was begun, for this reason."""
    assert (run.status, run.stdout, run.error) == (1, "", error)


def bind_vendor(workspace: Workspace, *projects: str) -> None:
    rows = ", ".join(f'"{name}"' for name in projects)
    workspace.indexes(f"""
        [[index]]
        name = "pypi"
        [[index]]
        name = "vendor"
        url = "{workspace.index.url_of("vendor")}"
        packages = [{rows}]
    """)


def test_environment_of_ascend_lock_itself_is_refused(workspace: Workspace, python: Path) -> None:
    workspace.serve("base 1.0")
    workspace.locked_stack("base", target=HERE)
    (packages,) = python.parents[1].glob("lib/python*/site-packages")
    own = packages / "ascend_lock-1.0.dist-info"
    own.mkdir()
    (own / "METADATA").write_text("Metadata-Version: 2.1\nName: ascend-lock\nVersion: 1.0\n")
    active = {"VIRTUAL_ENV": str(python.parents[1])}
    command = [str(workspace.folder() / "install.sh"), "--dry-run"]
    run = execute(workspace, command, **active)
    assert run.status == 1
    assert "ascend-lock itself is installed in the environment of" in run.stderr
    assert f"deactivate; python{PYTHON_LINE} -m venv env && . env/bin/activate" in run.stderr
    assert install(workspace, python, "--dry-run").status == 0
    assert execute(workspace, [*command, "--system"], **active).status == 0
    shutil.rmtree(own)
    assert execute(workspace, command, **active).status == 0


# --- the whole of it


def test_every_kind_of_stage_is_installed_from_pinned_files_alone_and_only_once(
    workspace: Workspace, index: LoopbackIndex, python: Path
) -> None:
    """Two environments apart, as tools contradict each other, builds that try to fetch more, and
    two indexes.
    """
    bind_vendor(workspace, "base", "here", "tool")
    served = [
        *(add_backend(index, version) for version in ("1.0", "2.0")),
        add_source(index, "old", "1.0", tool="tinybuild<2", more="tool", fetches="extra"),
        *(add_source(index, name, "1.0", tool="tinybuild>=2") for name in ("young", "fresh")),
        add_source(index, "here", "1.0", tool="tinybuild>=1", fetches="extra", served_by="vendor"),
        add_source(index, "there", "1.0"),
        index.add_wheel("base", "1.0", stated_version="1.0.0", index="vendor"),  # which is the same
        index.add_wheel("tool", "1.0", index="vendor"),
        index.add_wheel("extra", "1.0"),
    ]
    workspace.facts(
        "here", built_here(TINY_FLAVOUR='{version} it\'s \\"$(touch pwned)\\" `touch pwned`')
    )
    for name, flavour in (("young", "sweet"), ("fresh", "sour"), ("there", "salty")):
        workspace.facts(name, built_here(isolation=name != "there", TINY_FLAVOUR=flavour))
    sources = ("old", "young", "fresh", "here", "there")
    workspace.stack("base", *sources, target=HERE, more='[check]\nimports = ["old", "here"]\n')
    assert workspace.locked().stderr == ""
    assert [
        (pin["name"], pin["version"], pin["builds"]) for pin in workspace.content()["build-pin"]
    ] == [
        ("tinybuild", "2.0", ["fresh", "young"]),
        ("tinybuild", "1.0", ["old"]),
        ("tool", "1.0", ["old"]),
    ]
    index.clear()
    run = install(workspace, python)
    assert told(run) == [
        *(
            f"{name}, built from source in a separate environment"
            for name in ("fresh", "young", "old")
        ),
        "base and tinybuild",
        *(f"{name}, built from source in this environment" for name in ("here", "there")),
    ]
    found, _, end = run.stdout.partition("\n\nmatches the lock (errors: 0, warnings: 0)\n")
    assert lines(found, "  imports") == ["  imports        ok       old, here"]
    assert end == "demo is installed: 7 distributions, as locked\n"
    expected = {**dict.fromkeys(sources, "1.0"), "base": "1.0.0", "tinybuild": "2.0"}
    assert installed(python) == expected
    code = "".join(f"import {name}; print({name}.built)\n" for name in sources)
    old, young, fresh, here, there = execute(
        workspace, [str(python), "-c", code]
    ).stdout.splitlines()
    assert "'tiny': '1.0', 'prefix': '<root>/temporary/" in old, (
        "an environment that is thrown away"
    )
    for one, flavour in ((young, "sweet"), (fresh, "sour"), (there, "salty")):
        assert one.startswith("{'tiny': '2.0', ")
        assert one.endswith(f"'flavour': '{flavour}'}}")
    assert here.startswith("{'tiny': '2.0', 'prefix': '<root>/env', 'flavour': '1.0 it\\'s ")
    assert not list(workspace.root.rglob("pwned"))
    assert tree(workspace.temporary) == {}
    assert not list(workspace.root.rglob("*.whl")), (
        "pip would take one that it built before with other variables"
    )
    files = {
        request.path.rpartition("/")[2]
        for request in index.requests
        if request.path.startswith("/files/")
    }
    assert files == {one.filename for one in served} - {
        "extra-1.0-py3-none-any.whl"
    }  # a build that calls pip gets none
    asked = {
        request.path for request in index.requests if request.path.startswith("/simple/vendor/")
    }
    assert asked == {f"/simple/vendor/{name}/" for name in ("base", "here", "tool")}, (
        "nothing but what comes from it"
    )
    pins = (*workspace.content()["pin"], *workspace.content()["build-pin"])
    sent = {one.filename: one.sha256 for one in served}
    assert {file["name"]: file["sha256"] for pin in pins for file in pin["file"]} == {
        name: sent[name] for name in files
    }

    index.clear()
    assert [line.rpartition(": ")[2] for line in told(install(workspace, python))] == [
        "already installed"
    ] * 6
    assert index.requests == []


def test_a_tool_that_a_build_asks_for_by_its_hook_alone_is_told_and_not_fetched(
    workspace: Workspace, index: LoopbackIndex, python: Path
) -> None:
    add_backend(index)
    workspace.serve("extra 1.0")
    add_source(
        index,
        "greedy",
        "1.0",
        asks="extra>=1\ntinybuild\nabsent ; python_version < '3'\ntinybuild>1.0\n",
    )
    workspace.locked_stack("greedy", target=HERE)
    index.clear()
    run = install(workspace, python)
    told = "the build of greedy-1.0.tar.gz requires tools that are not in the lock: extra>=1, tinybuild>1.0"
    assert (run.status, run.error, installed(python)) == (1, told, {})
    assert not [request for request in index.requests if "extra" in request.path]
    assert tree(workspace.temporary) == {}


def test_a_build_that_labels_itself_is_installed_by_path(
    workspace: Workspace, python: Path
) -> None:
    workspace.facts("here", built_here(TINY_LABEL="empty") + 'label = "empty"\n')
    backend, archive = add_backend(workspace.index), add_source(workspace.index, "here", "1.0")
    steps = workspace.locked_stack("here", target=HERE).stdout.partition("Next:\n")[2]
    assert steps.splitlines()[1:3] == [
        "  bundle   ascend-lock bundle demo DIR   and copy DIR to the target",
        "  install  locks/demo/here/install.sh --wheelhouse DIR   on the target, first with --dry-run",
    ]
    assert_refused(
        install(workspace, python),
        "here must be installed from a local file, so --wheelhouse is needed",
    )
    assert installed(python) == {}
    (workspace.root / backend.filename).write_bytes(backend.content)
    (workspace.root / archive.filename).write_bytes(archive.content + b"\0")
    run = install(workspace, python, "--wheelhouse", ".")
    assert (run.status, "is not the file in the lock\n" in run.stderr) == (1, True)
    assert installed(python) == {"tinybuild": "1.0"}
    (workspace.root / archive.filename).write_bytes(archive.content)
    told(install(workspace, python, "--wheelhouse", "."))
    assert installed(python) == {"here": "1.0+empty", "tinybuild": "1.0"}
    again = told(install(workspace, python, "--wheelhouse", "."))
    assert [line.rpartition(": ")[2] for line in again] == ["already installed"] * 2


def test_what_is_left_of_a_stage_is_taken_from_its_index_or_the_wheelhouse(
    workspace: Workspace, python: Path
) -> None:
    bind_vendor(workspace, "special")
    workspace.serve("base 1.0")
    special = workspace.index.add_wheel("special", "1.0", index="vendor")
    workspace.locked_stack("base", "special", target=HERE)
    workspace.index.fault("/simple/vendor/*", status(404))
    broken = install(workspace, python)
    assert (broken.status != 0, "as locked" in broken.stdout) == (True, False)
    assert installed(python) == {"base": "1.0"}
    workspace.index.clear()
    (workspace.root / special.filename).write_bytes(special.content)
    wheels = f"would run: <root>/env/bin/python {WHEELS} "
    stages = "<root>/locks/demo/here/stages"
    assert lines(install(workspace, python, "--dry-run").stdout, "would run") == [
        f"{wheels}-r {stages}/1.txt",
        f"{wheels}--index-url <server>/simple/vendor/ -r {stages}/1.vendor.txt",
    ]
    told(install(workspace, python, "--wheelhouse", "."))
    assert (installed(python), workspace.index.requests) == ({"base": "1.0", "special": "1.0"}, [])
    assert told(install(workspace, python)) == ["base and special: already installed"]


# --- dry run, again, half done


@pytest.mark.parametrize("option", ["--wheelhouse", "--python"])
@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "error: {} needs a value: see --help"),
        ("zh", "错误：{} 需要一个值：见 --help"),
    ],
)
def test_an_option_without_its_value_is_told(
    two: Workspace, option: str, language: str, said: str
) -> None:
    script = str(two.folder() / "install.sh")
    for end in ([option], [option, ""]):
        run = execute(two, [script, "--lang", language, *end])
        assert (run.status, run.stdout, run.stderr) == (1, "", said.format(option) + "\n")


def test_a_dry_run_changes_nothing_and_asks_nothing(two: Workspace, index: LoopbackIndex) -> None:
    before = tree(two.root)
    run = install(two, sys.executable, "--dry-run")
    assert (run.status, run.stderr, index.requests) == (0, "", [])
    pip = f"would run: {two.plain(sys.executable)} {WHEELS} -r <root>/locks/demo/here/stages/"
    stages = [
        f"stage 1 of 2: base\n{pip}1.txt",
        f"stage 2 of 2: top\n{pip}2.txt",
        "dry run: nothing was changed\n",
    ]
    assert run.stdout.split("\n", 2)[2] == "\n".join(stages)
    assert tree(two.root) == before


def test_nothing_of_the_folder_the_shell_or_the_settings_of_pip_takes_part(
    two: Workspace, python: Path
) -> None:
    """A `pip.py` where install.sh is started, PYTHONPATH, CDPATH, and what pip is told by its
    environment.

    Meanwhile pip waits for a file, and how far it is is told; what was there of another version is
    replaced.
    """
    put(python, {"base": "0.9"})
    two.index.fault("/files/*/base-*", delayed(1))
    install_sh = two.folder() / "install.sh"
    install_sh.write_text(
        install_sh.read_text("utf-8").replace("timeout=30", "timeout=0.5"), "utf-8"
    )
    theirs = two.root / "theirs"
    for folder in (two.root, theirs):
        folder.mkdir(exist_ok=True)
        (folder / "pip.py").write_text("raise SystemExit('this is not pip')\n", "utf-8")
    (two.root / "constraints.txt").write_text("base==0.1\n")
    (two.root / "pip.conf").write_text(
        "[install]\nuser = false\n[global]\ndry-run = 0\ntimeout = 60\n"
    )
    script = os.path.relpath(install_sh, two.root)
    told = {
        "PYTHONPATH": str(theirs),
        "CDPATH": f"{theirs}:{two.root}",
        "PIP_PYTHON": str(theirs / "nowhere"),
    }
    told |= {
        "PIP_PLATFORM": "win_amd64",
        "PIP_TARGET": "target",
        "PIP_CONSTRAINT": "constraints.txt",
    }
    told |= {"PIP_REQUIREMENT": "constraints.txt", "PIP_NO_BINARY": ":all:", "PIP_NO_DEPS": "0"}
    told |= {"PIP_CONFIG_FILE": str(two.root / "pip.conf")}
    run = execute(two, ["bash", script, "--python", str(python)], **told)
    assert (run.status, run.stderr) == (0, ""), run
    assert installed(python) == {"base": "1.0", "top": "1.0"}
    assert not (two.root / "target").exists()
    assert lines(run.stdout, "0 of 1 installed after ")


def test_a_configuration_of_pip_that_cannot_be_read_is_told(two: Workspace, python: Path) -> None:
    """It is not taken for none: the index is in there."""
    (two.root / "pip.conf").write_text("target\n")
    run = install(two, python, PIP_CONFIG_FILE=str(two.root / "pip.conf"))
    assert (run.status, run.error, installed(python)) == (
        1,
        "pip of <root>/env/bin/python does not run",
        {},
    )
    assert "-m pip config " in run.stderr.rpartition("hint: ")[2]


def test_a_setting_of_pip_to_install_elsewhere_has_no_effect(two: Workspace, python: Path) -> None:
    settings = "[global]\nuser = true\n[install]\nprefix = aside\ntarget = aside\ndry-run = true\n"
    (two.root / "pip.conf").write_text(settings)
    told(install(two, python, PIP_CONFIG_FILE=str(two.root / "pip.conf")))
    assert installed(python) == {"base": "1.0", "top": "1.0"}
    assert not (two.root / "aside").exists()


# --- progress


def test_install_counts_what_pip_was_asked_for(two: Workspace, python: Path) -> None:
    """One of two is as locked, so pip has one to install, and nothing of it is there yet."""
    two.locked_stack("base", "top", target=HERE)
    told(install(two, python))
    note = site_packages(python) / "base-1.0.dist-info" / "ascend-lock.txt"
    note.write_text("of another file\n")
    two.index.fault("/files/*/base-*", delayed(2))
    script = two.folder() / "install.sh"
    script.write_text(script.read_text("utf-8").replace("timeout=30", "timeout=0.5"), "utf-8")
    run = install(two, python)
    assert run.status == 0, run
    assert lines(run.stdout, "0 of 1 installed after ")
    assert not [line for line in run.stdout.splitlines() if " of 2 installed after " in line]


# Notes each time that a program on standard input, as those of install.sh are, lists distributions.
_COUNTING = """
import sys
from importlib import metadata

listed = metadata.distributions

def distributions(**how):
    if sys.argv[0] == "-":
        with open({note!r}, "a") as file:
            file.write("listed\\n")
    return listed(**how)

metadata.distributions = distributions
"""


def test_install_lists_distributions_once_for_all_notes(workspace: Workspace, python: Path) -> None:
    """Not once for each, which takes time in proportion to the square of their number."""
    names = [f"part{number}" for number in range(8)]
    workspace.serve(*(f"{name} 1.0" for name in names))
    workspace.locked_stack(*names, target=HERE)
    counted = workspace.root / "counted"
    (site_packages(python) / "counting.py").write_text(_COUNTING.format(note=str(counted)))
    (site_packages(python) / "counting.pth").write_text("import counting\n")
    run = install(workspace, python)
    assert installed(python) == dict.fromkeys(names, "1.0"), run
    assert counted.read_text().split() == ["listed"] * 2, "before pip and after it"


# --- other bytes of the same version


def attribute(python: Path, expression: str) -> str:
    """Return what an expression gives in an environment: `base.TEXT`."""
    module = expression.partition(".")[0]
    command = [str(python), "-I", "-c", f"import {module}; print({expression})"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def findings(workspace: Workspace, python: Path) -> list[str]:
    """Return the codes of what verify.py finds."""
    run = execute(workspace, [str(python), str(workspace.folder() / "verify.py"), "--full"])
    return re.findall(r"\[([a-z-]+)\]$", run.stdout, re.MULTILINE)


def line_of_distributions(workspace: Workspace, python: Path) -> str:
    """Return what verify.py says of the distributions."""
    run = execute(workspace, [str(python), str(workspace.folder() / "verify.py")])
    (line,) = lines(run.stdout, "  distributions")
    return line.split(None, 2)[2]


def lock_file_of(workspace: Workspace, text: str) -> None:
    """Lock `base 1.0` from a wheel with this text, in place of the one that was locked before."""
    workspace.index.add_wheel("base", "1.0", files={"base.py": f"TEXT = {text!r}\n"})
    workspace.forget()
    workspace.stack("base", "top", target=HERE)
    assert workspace.run("lock", "demo", "--anew").status == 0


def test_install_replaces_another_file_of_the_version(workspace: Workspace, python: Path) -> None:
    workspace.serve("top 1.0")
    lock_file_of(workspace, "old")
    told(install(workspace, python))
    lock_file_of(workspace, "new")
    assert findings(workspace, python) == ["distribution-otherwise"]
    workspace.index.clear()
    told(install(workspace, python))
    assert attribute(python, "base.TEXT") == "new"
    assert not [request for request in workspace.index.requests if "top" in request.path]
    assert findings(workspace, python) == []
    assert told(install(workspace, python)) == ["base and top: already installed"]


def test_install_adds_hashes_that_record_lacks(workspace: Workspace, python: Path) -> None:
    """The author of a wheel may leave them out, and then nothing would tell of a change."""
    built = build_wheel("base", "1.0", files={"base.py": "TEXT = 'ours'\n"})
    content = io.BytesIO()
    with ZipFile(io.BytesIO(built.content)) as old, ZipFile(content, "w") as new:
        for name in old.namelist():
            new.writestr(name, re.sub(rb"(?m)^base\.py,.*", b"base.py,,", old.read(name)))
    workspace.index.add_file("base", built.filename, content.getvalue())
    workspace.locked_before("base", target=HERE)
    told(install(workspace, python))
    assert findings(workspace, python) == []
    (site_packages(python) / "base.py").write_text("TEXT = 'evil'\n")
    assert findings(workspace, python) == ["file-changed"]


def test_install_replaces_what_plain_pip_installed(workspace: Workspace, python: Path) -> None:
    """Nothing tells from which file it is; verify.py says so."""
    workspace.serve("top 1.0")
    lock_file_of(workspace, "old")
    command = [str(python), "-I", "-m", "pip", "install", "--no-deps", "base", "top"]
    assert execute(workspace, command).status == 0
    lock_file_of(workspace, "new")
    assert findings(workspace, python) == []
    said = line_of_distributions(workspace, python)
    assert said.startswith("2 at the lock's versions; 2 of them were not installed by install.sh")
    told(install(workspace, python))
    assert attribute(python, "base.TEXT") == "new"
    assert line_of_distributions(workspace, python) == "2, as locked"


def test_install_counts_no_note_of_an_earlier_installation(
    workspace: Workspace, python: Path
) -> None:
    """Pip leaves a file beside the metadata that RECORD does not list."""
    workspace.serve("top 1.0")
    lock_file_of(workspace, "new")
    note = site_packages(python) / "base-1.0.dist-info" / "ascend-lock.txt"
    told(install(workspace, python))
    text = note.read_text()
    workspace.index.add_wheel("base", "1.0", files={"base.py": "TEXT = 'other'\n"})
    command = [str(python), "-I", "-m", "pip", "install", "--force-reinstall", "--no-deps", "base"]
    assert execute(workspace, command).status == 0
    assert not note.exists()
    note.write_text(text)
    said = line_of_distributions(workspace, python)
    assert said.startswith("2 at the lock's versions; 1 of them were not installed")
    workspace.index.add_wheel("base", "1.0", files={"base.py": "TEXT = 'new'\n"})
    told(install(workspace, python))
    assert attribute(python, "base.TEXT") == "new"


@pytest.mark.parametrize("isolation", [True, False], ids=["apart", "here"])
def test_install_builds_again_with_other_variables(
    workspace: Workspace, python: Path, *, isolation: bool
) -> None:
    add_backend(workspace.index)
    add_source(workspace.index, "here", "1.0")
    for flavour in ("sweet", "sour"):
        workspace.facts("here", built_here(isolation=isolation, TINY_FLAVOUR=flavour))
        workspace.stack("here", target=HERE)
        workspace.locked()
        if flavour == "sour":
            assert findings(workspace, python) == ["distribution-otherwise"]
        told(install(workspace, python))
        assert attribute(python, "here.built['flavour']") == flavour
        assert findings(workspace, python) == []


def test_install_builds_again_with_other_tools(workspace: Workspace, python: Path) -> None:
    add_source(workspace.index, "apart", "1.0")
    for version in ("1.0", "2.0"):
        add_backend(workspace.index, version)
        workspace.stack("apart", target=HERE)
        workspace.locked("--upgrade")
        told(install(workspace, python))
        assert attribute(python, "apart.built['tiny']") == version


# --- bytes that are not the lock's


def test_install_asks_no_host_of_a_page_in_a_wheelhouse(workspace: Workspace, python: Path) -> None:
    """Pip reads a page in a folder as that of an index."""
    base = workspace.index.add_wheel("base", "1.0")
    workspace.locked_stack("base", target=HERE)
    assert workspace.run("bundle", "demo", "files").status == 0
    workspace.index.clear()
    for name in ("page.html", "page.HTM"):
        link = f"{workspace.index.url}{base.filename.replace('1.0', '1.0-9')}#sha256={base.sha256}"
        page = f'<!DOCTYPE html><a href="{link}">base-1.0-9-py3-none-any.whl</a>'
        (workspace.root / "files" / name).write_text(page)
    told(install(workspace, python, "--wheelhouse", "files"))
    assert (installed(python), workspace.index.requests) == ({"base": "1.0"}, [])


def test_a_wheel_of_other_bytes_is_refused(two: Workspace, python: Path) -> None:
    built = two.index.add_wheel("base", "1.0")
    (two.root / built.filename).write_bytes(built.content + b"\0")
    run = install(two, python, "--wheelhouse", ".")
    assert run.status != 0
    assert "THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE" in run.stderr
    assert installed(python) == {}


def test_requirements_txt_says_no_deps_where_pins_are_left_out_of_it(workspace: Workspace) -> None:
    add_backend(workspace.index)
    add_source(workspace.index, "here", "1.0")
    workspace.serve("top 1.0: here")
    workspace.facts("here", built_here())
    workspace.locked_stack("top", target=HERE)
    (command,) = [
        line[1:].split()
        for line in workspace.read("requirements.txt").splitlines()
        if "pip install" in line
    ]
    line = f"cd {workspace.folder()} && {sys.executable} -m {' '.join(command)} --dry-run"
    run = execute(workspace, ["bash", "-c", line])
    assert (run.status, "Would install" in run.stdout) == (0, True), run


# --- the machine

OTHER_MACHINE = "linux-x86_64" if PLATFORM == "linux-aarch64" else "linux-aarch64"
GLIBC = platform.libc_ver()[1]


def test_another_machine_is_refused(workspace: Workspace) -> None:
    workspace.serve("base 1.0")
    workspace.locked_stack("base", target=HERE.replace(PLATFORM, OTHER_MACHINE))
    run = install(workspace, sys.executable)
    told = f"this machine is {platform.machine()}, but the lock is for {OTHER_MACHINE.removeprefix('linux-')}: "
    assert (run.status, run.stdout, run.error.startswith(told)) == (1, "", True)


def test_it_speaks_chinese_where_the_locale_does_or_it_is_told_to(two: Workspace) -> None:
    for locale, options, language in (
        ("zh_CN.UTF-8", [], "zh"),
        ("zh_TW.utf8", [], "zh"),
        ("C.UTF-8", ["--lang", "zh"], "zh"),
        ("zh_CN.UTF-8", ["--lang", "en"], "en"),
        ("zh_CN.GB18030", [], "en"),  # Chinese could not be read
        ("de_DE.UTF-8", [], "en"),
    ):
        run = install(two, sys.executable, *options, "--nosuch", LANG=locale)
        told = {"zh": "错误：未知选项：--nosuch\n", "en": "error: unknown option: --nosuch\n"}[
            language
        ]
        assert (run.status, run.stderr.endswith(told)) == (1, True), run
    run = install(two, sys.executable, "--dry-run", "--lang", "zh")
    assert (run.status, run.stderr) == (0, "")
    assert lines(run.stdout, "机器：") == [f"机器：Linux, {platform.machine()}, glibc {GLIBC}"]
    assert lines(run.stdout, "阶段") == ["阶段 1/2：base", "阶段 2/2：top"]
    assert len(lines(run.stdout, "将会执行：")) == 2
    assert run.stdout.endswith("试运行：没有任何改动\n")


def test_what_it_does_not_understand_and_what_is_no_environment_is_refused(two: Workspace) -> None:
    for python, error in (
        ("/bin/true", "/bin/true is not a Python interpreter"),
        ("no/such/python", "no working Python was found: no/such/python"),
        (SYSTEM, f"{SYSTEM} is not in a virtual or conda environment"),
    ):
        assert_refused(install(two, python), error)
    assert_refused(install(two, sys.executable, "--lang", "fr"), "--lang must be one of: en, zh")
    assert (
        install(two, sys.executable, "--lang", LANG="zh_CN.UTF-8").stderr
        == "错误：--lang 只能是：en, zh\n"
    )
    run = install(two, sys.executable, "--dryrun")
    assert run.stderr.startswith("usage: install.sh ")
    assert (run.status, run.error) == (1, "unknown option: --dryrun")


def test_a_link_to_it_is_followed_and_without_the_rest_of_its_folder_it_does_nothing(
    two: Workspace,
) -> None:
    link = two.root / "elsewhere" / "link.sh"
    link.parent.mkdir()
    link.symlink_to(two.folder() / "install.sh")
    run = execute(two, [str(link), "--dry-run", "--python", sys.executable])
    assert lines(run.stdout, "would run")[0].endswith(" -r <root>/locks/demo/here/stages/1.txt")
    for command, where in (
        ("cat {} | bash -s -- --dry-run", "."),
        ("bash -s -- --dry-run < {}", "."),
        ("cp {} alone.sh && bash alone.sh --dry-run", "<root>"),
    ):
        run = execute(two, ["bash", "-c", command.format(two.folder() / "install.sh")])
        assert_refused(run, f"there is no stages/ folder in {where}, next to install.sh")


def asking(kind: str, **said: object) -> str:
    return row(kind, id="base-driver", reason="the notes say so", source="demo/notes#850", **said)


AT_LEAST = ["hdk >= 25.2.0"]
OLDER = "the driver (HDK) is 25.0.rc1, and base 1.0 {} hdk >= 25.2.0 (npu-smi): the notes say so ({}: demo/notes#850)"
OF_THE_STACK = (
    "the driver (HDK) is 26.1.0, and demo needs hdk < 26.0.rc1 (npu-smi): "
    "the stack asks for hdk < 26.0.rc1 (matrices/stacks/demo.toml:4)"
)
WARNED = asking("warns", text="the notes say so", unless=AT_LEAST)
NEEDED = asking("requires", needs=AT_LEAST)
OBSERVED = asking("requires", needs=AT_LEAST, strength="observed")


@pytest.mark.parametrize(
    ("facts", "more", "stated", "found", "told"),
    [
        (OBSERVED, [], "", "25.0.rc1", "warning\t" + OLDER.format("asks for", "observed")),
        (NEEDED, [], "", "25.0.rc1", "wrong\t" + OLDER.format("needs", "vendor")),
        ("", ["hdk < 26.0.rc1"], "25.0.rc1", "26.1.0", f"wrong\t{OF_THE_STACK}"),
        # what the target promises leaves nothing to ask
        (NEEDED, ["hdk >= 25.3.rc1"], "25.5.0", "25.5.0", ""),
    ],
)
def test_what_is_asked_of_a_driver(
    workspace: Workspace, facts: str, more: list[str], stated: str, found: str, told: str
) -> None:
    workspace.serve("base 1.0")
    workspace.facts("base", facts)
    workspace.locked_stack(
        "base", *more, target=HERE + (f'[target.system]\nhdk = "{stated}"\n' if stated else "")
    )
    command = [sys.executable, str(workspace.folder() / "verify.py"), "--machine-rows"]
    run = execute(workspace, command, PATH=npu_smi(workspace, found))
    rows = [line for line in run.stdout.splitlines() if not line.startswith("ok\t")]
    assert [row.startswith(told) for row in rows] == [True] * bool(told), run


def test_machine_that_differs_is_told_by_the_exit_status(workspace: Workspace) -> None:
    """Before an installation: `verify.py --machine && …` in a script must not go on."""
    workspace.serve("base 1.0")
    workspace.locked_stack("base")  # for aarch64
    command = [sys.executable, str(workspace.folder() / "verify.py"), "--machine", "--lang", "en"]
    run = execute(workspace, command)
    assert (run.status, "processor-differs" in run.stdout) == (1, True), run
    assert execute(workspace, [*command, "--json"]).status == 1
    workspace.locked_stack("base", target=HERE.replace('"here"', '"there"'))
    assert execute(workspace, command).status == 0


def test_what_is_not_promised_of_the_driver_is_in_the_lock(workspace: Workspace) -> None:
    """The target states no CANN: whether the second fact is about its CANN is not known."""
    workspace.serve("base 1.0")
    other = row("warns", text="it wants a driver", unless=["cann != 8.5.*", "hdk >= 25.2.0"])
    workspace.facts("base", WARNED + other)
    workspace.locked_stack("base", "hdk < 26.0.rc1", target=HERE)
    promise = "demo needs hdk < 26.0.rc1 and base 1.0 needs hdk >= 25.2.0. `hdk` is not set in "
    assert [row.startswith(promise) for row in workspace.warnings()] == [True, False], (
        "the second is told alone"
    )
    assert len(workspace.content()["driver"]) == 2


COMPILED = '[[external]]\nversions = "==1.0"\nneeds = ["c++", "python-headers", "cmake"]\nreason = "an extension"\n'
NO_COMPILER = "building apart needs a C++ compiler, which this machine lacks or cannot run"


def without(folder: Path, *unwanted: str) -> str:
    """A PATH with this machine's programs, except for some."""
    folder.mkdir()
    for program in {
        one.name: one for one in reversed([*Path("/bin").iterdir(), *Path("/usr/bin").iterdir()])
    }.values():
        if not any(name in program.name for name in unwanted):
            (folder / program.name).symlink_to(program)
    return str(folder)


def test_a_missing_compiler_is_told_before_anything_is_downloaded(
    workspace: Workspace, python: Path
) -> None:
    """Python's headers are there, cmake is in the lock: neither is told.

    What is built already needs no compiler.
    """
    add_backend(workspace.index)
    workspace.serve("base 1.0", "cmake 4.0")
    add_source(workspace.index, "apart", "1.0", more="cmake")
    workspace.facts("apart", COMPILED)
    workspace.locked_stack("apart", "base", target=HERE)
    assert workspace.content()["pin"][0]["external"] == ["c++", "python-headers"]
    workspace.index.clear()
    script = str(workspace.folder() / "install.sh")
    run = execute(workspace, ["env", "TMPDIR=/proc", "bash", script, "--python", str(python)])
    assert (run.status, run.error) == (1, "there is no folder for temporary files")
    path = without(workspace.root / "bin", "++", "gcc", "clang", "cmake")
    assert_refused(install(workspace, python, PATH=path), NO_COMPILER)
    run = install(workspace, python, "--dry-run", PATH=path)
    assert lines(run.stderr, "error") == [
        f"error: {NO_COMPILER}",
        "error: install.sh would stop: 1 of the checks above failed",
    ]
    assert (installed(python), workspace.index.requests) == ({}, [])
    run = install(workspace, python, "--dry-run", "--skip-system-checks", PATH=path)
    assert (run.status, run.stderr.startswith(f"warning: {NO_COMPILER}\n")) == (0, True)
    (key,) = re.findall(r"# apart==1.0 is built as (\w+)", workspace.read("stages/1.txt"))
    put(python, {"apart": "1.0"}, note=key)
    told(install(workspace, python, "--dry-run", PATH=path))


def test_a_dry_run_lists_all_that_is_wrong(workspace: Workspace, index: LoopbackIndex) -> None:
    add_backend(index)
    add_source(index, "apart", "1.0")
    workspace.facts("apart", COMPILED)
    target = HERE.replace(f'"{PYTHON_LINE}"', '"3.99"')
    workspace.locked_stack("apart", target=target + '[target.system]\ncann = "8.5.0"\n')
    run = install(workspace, SYSTEM, "--dry-run", "--wheelhouse", "no/such", CXX="no-such-compiler")
    assert "stage 1 of 1: apart" in run.stdout
    assert lines(run.stdout, "would") == []
    told = [line.removeprefix("error: ").split()[:5] for line in lines(run.stderr, "error")]
    assert [" ".join(words) for words in told] == [
        f"{SYSTEM} is Python {PYTHON_LINE}, but",
        f"{SYSTEM} is not in a",
        "CANN is not active: ASCEND_HOME_PATH",
        "the --wheelhouse folder no/such does",
        "building apart needs a C++",
        "install.sh would stop: 5 of",
    ]
    assert lines(run.stdout, "stage 1 of 1"), "it goes on to what would be done"


def test_a_driver_that_is_older_is_warned_of_and_another_soc_is_refused(
    workspace: Workspace,
) -> None:
    workspace.serve("base 1.0")
    workspace.facts("base", WARNED)
    workspace.locked_stack("base", target=HERE + '[target.system]\nsoc = "A2"\n')
    run = install(
        workspace, sys.executable, "--dry-run", PATH=npu_smi(workspace, "25.0.rc1", "910B4")
    )
    assert (run.status, lines(run.stdout, "SoC: ")) == (0, ["SoC: A2 (Ascend910B4)"])
    assert run.stderr.startswith(f"warning: {OLDER.format('asks for', 'vendor')}")
    run = install(workspace, sys.executable, PATH=npu_smi(workspace, chip="310P3"))
    assert (run.status, run.stdout) == (1, "")
    assert run.error.startswith("the SoC is 310P (Ascend310P3), but the lock is for A2: ")


def test_without_cann_an_image_can_be_built_and_an_inactive_one_is_named(
    workspace: Workspace, python: Path
) -> None:
    workspace.serve("base 1.0")
    workspace.locked_before("base", target=HERE + '[target.system]\ncann = "8.5.0"\nsoc = "A2"\n')
    script = workspace.root / "elsewhere" / "cann-8.5.0" / "set_env.sh"
    script.parent.mkdir(parents=True)
    script.touch()
    run = install(workspace, sys.executable, ASCEND_LOCK_ROOT=str(workspace.root / "elsewhere"))
    assert run.stderr.endswith("\nhint: . <root>/elsewhere/cann-8.5.0/set_env.sh\n")
    run = install(workspace, python, "--skip-system-checks")
    inactive = lines(run.stderr, "warning: CANN is not active: ASCEND_HOME_PATH is not set")
    assert (run.status, lines(run.stderr, "warning: ")) == (0, inactive)
    assert installed(python) == {"base": "1.0"}
    (workspace.folder() / "verify.py").unlink()
    run = install(workspace, sys.executable)
    assert (run.status, run.error) == (1, "verify.py next to install.sh does not run"), (
        "no sign that all is well"
    )


def test_it_is_read_as_bash_where_sh_is_bash(two: Workspace) -> None:
    """In its POSIX mode bash before 5.1 takes `<(` for a mistake; a command is read when those
    before it have run.
    """
    script = (two.folder() / "install.sh").read_text("utf-8")
    before = script.partition("< <(")[0].partition("\nusage() {")[0]
    assert before != script
    assert (
        execute(two, ["bash", "--posix", "-c", f"{before}\nshopt -o posix"]).stdout
        == "posix          \toff\n"
    )


@pytest.mark.parametrize("stages", ["one", "two"])
@pytest.mark.parametrize(("giver", "taker"), [("alpha", "omega"), ("omega", "alpha")])
def test_install_keeps_a_file_that_moves_to_another(
    workspace: Workspace, python: Path, giver: str, taker: str, stages: str
) -> None:
    """pip removes the file with the distribution that had it, even if the other one has it by now."""
    moving = {"moving/__init__.py": "", "moving/part.py": ""}
    for name in (giver, taker):
        workspace.index.add_wheel(
            name, "1.0", files={f"{name}.py": "", **(moving if name == giver else {})}
        )
        workspace.index.add_wheel(
            name, "2.0", files={f"{name}.py": "", **(moving if name == taker else {})}
        )
    if stages == "two":
        workspace.facts(giver, f'[[after]]\nothers = ["{taker}"]\nreason = "r"\n')
    for version in ("1.0", "2.0"):
        workspace.locked_stack(*(f"{name}=={version}" for name in (giver, taker)), target=HERE)
        run = install(workspace, python)
        assert (run.status, run.stderr) == (0, ""), run
    assert [name for name in moving if not (site_packages(python) / name).exists()] == []
    assert "already installed" in install(workspace, python).stdout


def test_install_mends_a_distribution_that_lacks_a_file(workspace: Workspace, python: Path) -> None:
    workspace.index.add_wheel("base", "1.0", files={"base/__init__.py": "", "base/part.py": ""})
    workspace.locked_before("base", target=HERE)
    for _ in range(2):
        run = install(workspace, python)
        assert (run.status, run.stderr) == (0, ""), run
        assert (site_packages(python) / "base" / "part.py").exists()
        (site_packages(python) / "base" / "part.py").unlink()


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_install_goes_on_without_a_record(
    workspace: Workspace, python: Path, installer: str
) -> None:
    """pip refuses to replace what lacks RECORD: `Cannot uninstall`. So it is removed before."""
    workspace.serve("base 1.0", "base 2.0")
    workspace.locked_stack("base==2.0", target=HERE)
    put(python, {"base": "1.0"}, note="x")
    (info,) = site_packages(python).glob("base-*.dist-info")
    (info / "RECORD").unlink()
    (info / "INSTALLER").write_text(installer + "\n")
    run = install(workspace, python)
    assert (run.status, run.stderr) == (0, ""), run
    assert "base-1.0.dist-info, which lacks the list of its files" in run.stdout
    assert not info.exists()


def test_install_refuses_what_others_left_without_a_record(
    workspace: Workspace, python: Path
) -> None:
    workspace.serve("base 1.0")
    workspace.locked_stack("base", target=HERE)
    put(python, {"base": "0.9"})
    (info,) = site_packages(python).glob("base-*.dist-info")
    (info / "RECORD").unlink()
    (info / "INSTALLER").write_text("apt\n")
    run = install(workspace, python)
    assert run.status == 1
    assert "pip cannot replace base: the list of its files is missing, <root>/env/" in run.stderr


def test_install_says_what_it_replaces(workspace: Workspace, python: Path) -> None:
    workspace.serve("base 1.0", "base 2.0", "other 1.0")
    workspace.locked_stack("base==1.0", "other", target=HERE)
    assert "replaces" not in install(workspace, python).stdout
    workspace.locked_stack("base==2.0", "other", target=HERE)
    run = install(workspace, python)
    assert run.status == 0, run
    assert "\nreplaces base 1.0 by 2.0\n" in run.stdout
    (site_packages(python) / "other-1.0.dist-info" / "ascend-lock.txt").unlink()
    assert "\ninstalls again other 1.0: its source" in install(workspace, python).stdout


def test_install_exact_removes_what_sync_would(workspace: Workspace, python: Path) -> None:
    """Without it, what an earlier lock had stays, as does what somebody has installed."""
    workspace.serve("base 1.0", "old 1.0")
    workspace.locked_stack("base", "old", target=HERE)
    assert install(workspace, python).status == 0
    workspace.locked_stack("base", target=HERE)
    run = install(workspace, python)
    assert "removes" not in run.stdout
    put(python, {"mine": "1.0"})
    planned = workspace.run("sync", "demo", "--python", str(python), "--dry-run", "--json").json
    names = [change["name"] for change in planned["remove"]]
    assert names == ["mine", "old"]
    shown = install(workspace, python, "--exact", "--dry-run").stdout
    run = install(workspace, python, "--exact")
    assert run.status == 0, run
    for text in (shown, run.stdout):
        assert re.findall(r"(?m)^removes (.*), which the lock does not have$", text) == names
    assert "removes" not in install(workspace, python, "--exact").stdout
    assert not (site_packages(python) / "old.py").exists()
    left = workspace.run("sync", "demo", "--python", str(python), "--dry-run", "--json").json
    assert left["status"] == "current"


def test_install_hears_no_code_that_prints_at_each_start(
    workspace: Workspace, python: Path
) -> None:
    """verify.py tells of such code at the end; what Python it is, is known."""
    workspace.serve("base 1.0")
    workspace.locked_stack("base", target=HERE)
    (site_packages(python) / "sitecustomize.py").write_text('print("hello")\n')
    run = install(workspace, python)
    assert "is not a Python" not in run.stderr
    assert "startup-extra" in run.stdout
    assert (site_packages(python) / "base.py").exists()
    assert "already installed" in install(workspace, python).stdout
