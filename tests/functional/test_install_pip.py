"""install.sh starts pip with what says how an index is reached; each file comes from the index it
is locked from.
"""

from __future__ import annotations

import base64
import json
import os
import venv
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from resolver.report.template import environment as templates
from tests.functional.machine import (
    execute,
    install,
    installed,
    make_environment,
    put,
    site_packages,
)
from tests.functional.sources import add_backend, add_source, built_here
from tests.functional.workspace import HERE, Run, Workspace, tree
from tests.loopback import LoopbackIndex

# A module that each Python of an environment imports as it starts. It notes with what pip is
# started, and puts itself into the environments that this one makes.
_WITNESS = """
import json, os, sys

if sys.orig_argv[1:4] == ["-I", "-m", "venv"]:
    import shutil, venv

    def join(self, context):
        version = "python%d.%d" % sys.version_info[:2]
        folder = os.path.join(context.env_dir, "lib", version, "site-packages")
        for ending in (".py", ".pth"):
            shutil.copy(os.path.splitext(__file__)[0] + ending, folder)

    venv.EnvBuilder.post_setup = join
is_noting = sys.orig_argv[1:3] == ["-I", "-c"] and "run_module(\\"pip\\"" in sys.orig_argv[3]
if is_noting or sys.orig_argv[1:4] == ["-I", "-m", "pip"] or sys.orig_argv[1:3] == ["-m", "pip"]:
    variables = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    arguments = sys.orig_argv[4:] if is_noting else sys.orig_argv[sys.orig_argv.index("pip") + 1 :]
    wanted = "".join(open(word).read() for word in arguments if word.endswith(".txt"))
    with open(os.environ["WITNESS"], "a") as file:
        file.write(json.dumps([arguments, variables, wanted]) + "\\n")
"""
_SETUP = "import pathlib\npathlib.Path({marker!r}).touch()\nfrom setuptools import setup\nsetup(name='evil')\n"
_ALLOWED = {
    "PIP_CONFIG_FILE",
    "PIP_DISABLE_PIP_VERSION_CHECK",
    "PIP_NO_INPUT",
    "PIP_INDEX_URL",
    "PIP_TIMEOUT",
}

# What install.sh tells a pip that a build starts, and what pip itself tells it.
_OF_BUILDS = {"PIP_REQUIRE_HASHES", "PIP_NO_INDEX", "PIP_BUILD_TRACKER"}


@pytest.fixture
def rogue() -> Iterator[LoopbackIndex]:
    """A server that notes whatever it is asked, and has the projects of the lock in newer versions."""
    with LoopbackIndex() as server:
        yield server


def bind_private_projects(workspace: Workspace) -> None:
    """Write that some projects come from the index `vendor` alone."""
    workspace.indexes(f"""
        [[index]]
        name = "pypi"
        [[index]]
        name = "vendor"
        url = "{workspace.index.url_of("vendor")}"
        packages = ["private", "private-tool", "private-source", "private-here"]
    """)


@pytest.fixture
def stages(workspace: Workspace) -> Workspace:
    """A lock of wheels and of builds, apart and in the environment, from two indexes."""
    index = workspace.index
    bind_private_projects(workspace)
    add_backend(index)
    index.add_wheel("private", "1.0", index="vendor")
    index.add_wheel("private-tool", "1.0", index="vendor")
    add_source(index, "here", "1.0", fetches="base")
    add_source(
        index,
        "private-source",
        "1.0",
        more="private-tool",
        fetches="private-tool",
        served_by="vendor",
    )
    add_source(index, "private-here", "1.0", fetches="private-tool", served_by="vendor")
    workspace.serve("base 1.0")
    workspace.facts("here", built_here())
    workspace.facts("private-here", built_here())
    workspace.locked_before(
        "base", "private", "here", "private-source", "private-here", target=HERE
    )
    return workspace


def environment_filter(variables: dict[str, str]) -> str:
    """Return variables as install.sh gives them to a build."""
    return str(templates().filters["env"](variables))


def evil_project(workspace: Workspace) -> Path:
    """A project whose setup.py leaves a file named `ran`."""
    folder = workspace.root / "evil"
    folder.mkdir()
    (folder / "setup.py").write_text(_SETUP.format(marker=str(workspace.root / "ran")))
    return folder


def hostile_settings(rogue: LoopbackIndex, way: str, evil: Path) -> str:
    """Return a configuration file that adds indexes, folders, requirements and projects; `way` is
    in addresses.
    """
    lines = []
    for section in ("global", "install", "download", "wheel"):
        lines += [
            f"[{section}]",
            f"extra-index-url = {rogue.url_of(f'{way}-{section}-extra')}",
            f"find-links = {rogue.url_of(f'{way}-{section}-links')}base/",
        ]
    lines += [f"requirement = {evil}/requirements.txt", f"editable = {evil}"]
    return "\n".join([*lines, ""])


def require_each_index_asked_for_its_own(index: LoopbackIndex) -> None:
    """Assert that a project's name went to the index that it is locked from, and to no other."""
    asked = {
        path.split("/")[2:4] == ["vendor", name]
        for path, name in simple_requests(index)
        if "private" in name
    }
    assert asked == {True}
    others = {path.split("/")[2] for path, name in simple_requests(index) if "private" not in name}
    assert others == {"pypi"}


def simple_requests(index: LoopbackIndex) -> list[tuple[str, str]]:
    """Return the path and the project of each page that was asked for."""
    paths = [request.path for request in index.requests]
    return [(path, path.split("/")[3]) for path in paths if path.startswith("/simple/")]


PINS = dict.fromkeys(
    ("base", "here", "private", "private-here", "private-source", "tinybuild"), "1.0"
)


def test_install_asks_no_index_that_variables_add(
    stages: Workspace, python: Path, rogue: LoopbackIndex
) -> None:
    evil = evil_project(stages)
    (evil / "pip.conf").write_text(hostile_settings(rogue, "own", evil))
    (evil / "requirements.txt").write_text(f"{evil}\n")
    run = install(
        stages,
        python,
        PIP_CONFIG_FILE=str(evil / "pip.conf"),
        PIP_EXTRA_INDEX_URL=rogue.url_of("variable-extra"),
        PIP_FIND_LINKS=rogue.url_of("variable-links") + "base/",
        PIP_EDITABLE=str(evil),
        PIP_PRE="1",
        PIP_TARGET=str(evil / "target"),
        **{"PIP_EXTRA-INDEX-URL": rogue.url_of("dashed-extra")},
    )
    assert (run.status, run.stderr) == (0, ""), run
    assert [request.path for request in rogue.requests] == []
    assert not (stages.root / "ran").exists()
    assert installed(python) == PINS
    require_each_index_asked_for_its_own(stages.index)


def test_install_from_a_wheelhouse_asks_no_index(stages: Workspace, python: Path) -> None:
    """Nor does a pip that a build starts."""
    assert stages.run("bundle", "demo", "files").status == 0
    stages.index.clear()
    run = install(stages, python, "--wheelhouse", "files")
    assert run.status == 0, run
    assert (installed(python), stages.index.requests) == (PINS, [])


_VARIABLES = [
    ("PIP_EXTRA_INDEX_URL", "{rogue}"),
    ("PIP_CONFIG_FILE", "{evil}/pip.conf"),
    ("PIP_REQUIREMENT", "{evil}/requirements.txt"),
    ("PIP_NO_INDEX", ""),
    ("PYTHONPATH", "{evil}"),
    ("LD_PRELOAD", "{evil}/evil.so"),
    ("HOME", "{evil}"),
    ("https_proxy", "{rogue}"),
]


@pytest.mark.parametrize("isolation", [True, False], ids=["apart", "here"])
@pytest.mark.parametrize(("name", "value"), _VARIABLES, ids=[name for name, _ in _VARIABLES])
def test_facts_set_no_variable_of_install(
    workspace: Workspace, rogue: LoopbackIndex, *, isolation: bool, name: str, value: str
) -> None:
    """Neither a fact nor a lock that somebody edited gives a build what install.sh has cleared."""
    text = value.format(rogue=rogue.url, evil=workspace.root / "evil")
    add_backend(workspace.index)
    add_source(workspace.index, "here", "1.0")
    workspace.facts("here", built_here(isolation=isolation, **{name: text}))
    workspace.stack("here", target=HERE)
    workspace.refused(f"`{name}` cannot be set here", "lock", "demo")
    workspace.facts("here", built_here(isolation=isolation, ALLOWED=text))
    workspace.locked()
    lock = workspace.folder() / "lock.toml"
    lock.write_text(lock.read_text().replace("ALLOWED", name))
    run = workspace.run("check", "demo")
    assert run.status == 4
    assert f"the lock cannot be read: `{name}` is not an environment variable" in run.stdout
    with pytest.raises(ValueError, match=f"`{name}` is not an environment variable"):
        environment_filter({name: text})


def test_install_asks_no_index_that_files_add(
    stages: Workspace, python: Path, rogue: LoopbackIndex
) -> None:
    """The files of pip that need no variable: the environment's, the user's two and the machine's."""
    evil = evil_project(stages)
    (evil / "requirements.txt").write_text(f"{evil}\n")
    home = stages.root / "home"
    files = {
        "environment": python.parents[1] / "pip.conf",
        "user": home / ".config" / "pip" / "pip.conf",
        "legacy": home / ".pip" / "pip.conf",
        "machine": stages.root / "xdg" / "pip" / "pip.conf",
    }
    for way, file in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(hostile_settings(rogue, way, evil))
    # what they say of the index itself counts, however they ask pip to list it
    address = (
        f"[global]\nindex-url = {stages.index.url}\nquiet = 2\nuser = true\npython = /nowhere\n"
    )
    files["user"].write_text(address + hostile_settings(rogue, "user", evil).partition("\n")[2])
    variables = environment_without(stages, "PIP_CONFIG_FILE", "PIP_INDEX_URL")
    script = str(stages.folder() / "install.sh")
    command = ["env", *variables, "bash", script, "--python", str(python)]
    run = execute(stages, command, XDG_CONFIG_DIRS=str(stages.root / "xdg"))
    assert (run.status, run.stderr) == (0, ""), run
    assert [request.path for request in rogue.requests] == []
    assert not (stages.root / "ran").exists()
    assert installed(python) == PINS
    require_each_index_asked_for_its_own(stages.index)


def environment_without(workspace: Workspace, *names: str) -> list[str]:
    """Return the arguments of `env` that remove variables of the workspace's environment."""
    assert set(names) <= set(workspace.environment())
    return [argument for name in names for argument in ("-u", name)]


def test_install_obeys_a_setting_with_a_dash(
    stages: Workspace, python: Path, rogue: LoopbackIndex
) -> None:
    """`PIP_INDEX-URL` names a mirror to pip, and no shell can keep it; the other form has priority."""
    script = str(stages.folder() / "install.sh")
    remove = environment_without(stages, "PIP_INDEX_URL")
    command = ["env", *remove, f"PIP_INDEX-URL={stages.index.url}"]
    run = execute(stages, [*command, "bash", script, "--python", str(python)])
    assert (run.status, run.stderr) == (0, ""), run
    assert installed(python) == PINS
    require_each_index_asked_for_its_own(stages.index)
    other = make_environment(stages.root / "other")
    assert install(stages, other, **{"PIP_INDEX-URL": rogue.url}).status == 0
    assert rogue.requests == []


def test_install_starts_pip_with_allowed_settings(stages: Workspace, python: Path) -> None:
    """Each pip has no file, no other variable, and one index; a pip that a build starts is no
    exception.
    """
    (site_packages(python) / "witness.py").write_text(_WITNESS)
    (site_packages(python) / "witness.pth").write_text("import witness\n")
    log = stages.root / "log"
    given = {"PIP_TIMEOUT": "40", "PIP_NO_DEPS": "0", "PIP_FIND_LINKS": "/nowhere", "PIP_PROXY": ""}
    run = install(stages, python, WITNESS=str(log), **given)
    # all is installed, and verify.py tells that somebody's file runs at every start
    assert run.status == 1, run
    assert "witness.pth" in run.stdout, run
    starts = [json.loads(line) for line in log.read_text().splitlines()]
    assert {"install", "download", "wheel"} == {arguments[0] for arguments, _, _ in starts} - {
        "check"
    }
    assert ["download", "--no-deps", "--dest", "fetched", "base"] in [
        arguments for arguments, _, _ in starts
    ], "a build's"
    for arguments, variables, wanted in starts:
        assert set(variables) - _OF_BUILDS <= _ALLOWED, arguments
        assert variables["PIP_CONFIG_FILE"] == os.devnull, arguments
        assert variables.get("PIP_TIMEOUT", "40") == "40", arguments
        assert not {"--extra-index-url", "--find-links"} & set(arguments), arguments
        # what is on the other index is called so
        is_elsewhere = "\nprivate" in f"\n{wanted}"
        assert arguments.count("--index-url") == is_elsewhere, (arguments, wanted)


@pytest.mark.parametrize("way", ["variable", "file"])
def test_install_asks_the_index_if_pip_is_isolated(
    workspace: Workspace, python: Path, way: str
) -> None:
    workspace.serve("base 1.0")
    workspace.locked_before("base", target=HERE)
    settings = f"[global]\nindex-url = {workspace.index.url}\n"
    if way == "variable":
        changes = {"PIP_ISOLATED": "1"}
    else:
        config = workspace.root / "pip.conf"
        config.write_text(f"{settings}isolated = true\nversion = true\n")
        changes = {"PIP_CONFIG_FILE": str(config)}
    run = install(workspace, python, **changes)
    assert (run.status, installed(python)) == (0, {"base": "1.0"}), run
    assert simple_requests(workspace.index) == [("/simple/pypi/base/", "base")]


def test_install_shows_no_line_of_a_broken_file(workspace: Workspace, python: Path) -> None:
    """Pip quotes the line that it cannot read."""
    workspace.serve("base 1.0")
    workspace.locked_before("base", target=HERE)
    config = workspace.root / "pip.conf"
    config.write_text("index-url = https://reader:hunter2@index.example/simple\n")
    run = install(workspace, python, PIP_CONFIG_FILE=str(config))
    assert (run.status, run.error) == (1, "pip of <root>/env/bin/python does not run")
    assert "hunter2" not in run.stdout + run.stderr


@pytest.mark.parametrize(
    ("variable", "setting", "address", "shown"),
    [
        ("PIP_INDEX_URL", "index-url", "https://me:hun/ter2@127.0.0.1/simple", "https://…"),
        ("PIP_INDEX_URL", "index-url", "https://me:hunter2@a.example:99999/x", "https://a.example"),
        ("PIP_PROXY", "proxy", "http://me:hunter2@a.example:99999", "http://a.example:99999"),
    ],
)
def test_install_starts_no_pip_with_a_malformed_address(
    workspace: Workspace, python: Path, variable: str, setting: str, address: str, shown: str
) -> None:
    """Its own error would show the address."""
    workspace.serve("base 1.0")
    workspace.locked_before("base", target=HERE)
    (site_packages(python) / "witness.pth").write_text("import witness\n")
    (site_packages(python) / "witness.py").write_text(_WITNESS)
    log = workspace.root / "log"
    run = install(workspace, python, WITNESS=str(log), **{variable: address})
    assert run.status == 1, run
    assert f"{setting} is no address with which pip can be started: {shown}" in run.stderr, run
    assert "ter2" not in run.stdout + run.stderr
    assert not log.exists()
    assert installed(python) == {}


def test_install_uses_the_password_of_an_address(workspace: Workspace, python: Path) -> None:
    """It is in a variable for pip, not among its arguments, which every user of a machine can list."""
    workspace.serve("base 1.0")
    workspace.locked_before("base", target=HERE)
    (workspace.root / "pip.conf").write_text(
        f"[install]\nindex-url = {workspace.index.url.replace('://', '://reader:hunter2%21@')}\n"
    )
    variables = environment_without(workspace, "PIP_INDEX_URL")
    script = str(workspace.folder() / "install.sh")
    command = ["env", *variables, "bash", "-x", script, "--python", str(python)]
    run = execute(workspace, command, PIP_CONFIG_FILE=str(workspace.root / "pip.conf"))
    assert run.status == 0, run
    assert installed(python) == {"base": "1.0"}
    sent = {request.sent.get("authorization") for request in workspace.index.requests}
    assert "Basic " + base64.b64encode(b"reader:hunter2!").decode() in sent
    started = [line for line in run.stderr.splitlines() if "-m pip " in line]
    assert started
    assert not [line for line in started if "hunter2" in line]


def test_verify_checks_requirements_without_settings(workspace: Workspace, python: Path) -> None:
    workspace.serve("base 1.0")
    workspace.locked_before("base", target=HERE)
    put(python, {"base": "1.0"})
    (workspace.root / "pip.conf").write_text("no such line\n")
    command = [str(python), str(workspace.folder() / "verify.py"), "--quick"]
    run = execute(
        workspace, command, PIP_CONFIG_FILE=str(workspace.root / "pip.conf"), PIP_QUIET="3"
    )
    assert "requirements   ok" in run.stdout


# --- the command in requirements.txt


def header_commands(workspace: Workspace) -> list[list[str]]:
    """Return the commands that the first lines of requirements.txt name."""
    lines = [
        line[1:].strip()
        for line in workspace.read("requirements.txt").splitlines()
        if line.startswith("#   pip ")
    ]
    return [line.split() for line in lines]


def run_header_commands(workspace: Workspace, python: Path, **environment: str) -> Run:
    """Run these commands in the lock's folder, with the environment's pip."""
    commands = [" ".join([str(python), "-I", "-m", *words]) for words in header_commands(workspace)]
    line = " && ".join([f"cd {workspace.folder()}", *commands])
    return execute(workspace, ["bash", "-c", line], **environment)


def lock_of_older_pin(workspace: Workspace) -> None:
    """Lock a release that is older than the newest which a requirement with an extra admits.

    pip 23.2.1, which Python 3.11.7 contains, reads that newest one for its extra, and finds no hash
    for it.
    """
    workspace.serve("fast 1.0", "top 1.0: base[speed]>=1")
    for version in ("1.0", "2.0"):
        workspace.index.add_wheel("base", version, extras={"speed": ["fast"]})
    workspace.locked_before("top", "base<2", target=HERE)


def test_header_command_with_bundled_pip(workspace: Workspace, tmp_path: Path) -> None:
    lock_of_older_pin(workspace)
    venv.create(tmp_path / "env", with_pip=True, symlinks=True)
    python = tmp_path / "env" / "bin" / "python"
    run = run_header_commands(workspace, python)
    assert run.status == 0, run
    found = {
        one.name: one.version for one in metadata.distributions(path=[str(site_packages(python))])
    }
    assert {"base": "1.0", "fast": "1.0", "top": "1.0"}.items() <= found.items()


def test_header_commands_ask_each_index_for_its_own(workspace: Workspace, python: Path) -> None:
    bind_private_projects(workspace)
    workspace.index.add_wheel("private", "1.0", index="vendor")
    workspace.serve("base 1.0")
    workspace.locked_before("base", "private", target=HERE)
    commands = header_commands(workspace)
    assert [command.count("--index-url") for command in commands] == [0, 1]
    assert all("--no-deps" in command and "--require-hashes" in command for command in commands)
    run = run_header_commands(workspace, python, PIP_DISABLE_PIP_VERSION_CHECK="1")
    assert run.status == 0, run
    require_each_index_asked_for_its_own(workspace.index)
    assert installed(python) == {"base": "1.0", "private": "1.0"}


# --- folders for temporary files


@pytest.fixture
def builds(workspace: Workspace) -> Workspace:
    """A lock of one archive that is built apart and one that is built in the environment."""
    add_backend(workspace.index)
    add_source(workspace.index, "apart", "1.0")
    add_source(workspace.index, "here", "1.0")
    workspace.facts("here", built_here())
    workspace.locked_before("apart", "here", target=HERE)
    return workspace


BUILT = {"apart": "1.0", "here": "1.0", "tinybuild": "1.0"}


@pytest.mark.parametrize("name", ["a;b", "a:b", "a [b]'"])
def test_install_builds_wherever_temporary_files_are(
    builds: Workspace, python: Path, name: str
) -> None:
    folder = builds.root / name
    folder.mkdir()
    run = install(builds, python, TMPDIR=str(folder))
    assert run.status == 0, run
    assert installed(python) == BUILT
    assert tree(folder) == {}
    told = f"warning: temporary files are put into /tmp instead of <root>/{name}: "
    assert run.stderr.startswith(told) if name in ("a;b", "a:b") else run.stderr == ""


@pytest.mark.parametrize("name", ["a;b", "a [b]'"])
def test_install_builds_into_any_environment(builds: Workspace, name: str) -> None:
    python = make_environment(builds.root / name)
    run = install(builds, python)
    assert (run.status, run.stderr) == (0, ""), run
    assert installed(python) == BUILT


def test_install_takes_no_folder_for_an_address(workspace: Workspace, python: Path) -> None:
    """pip takes a path that begins with `http:` for an address, where a folder is called so, too."""
    workspace.serve("base 1.0")
    workspace.locked_stack("base", target=HERE)
    folder = workspace.root / "http:" / "127.0.0.1:9"
    folder.mkdir(parents=True)
    run = install(workspace, python, TMPDIR="http://127.0.0.1:9")
    assert (run.status, run.stderr) == (0, ""), run
    assert installed(python) == {"base": "1.0"}
    assert tree(folder) == {}
