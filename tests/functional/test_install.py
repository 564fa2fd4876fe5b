"""install.sh does on this machine what the lock says: real pip, real builds, nothing that is not pinned."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders import Built
from tests.functional.conftest import Setup
from tests.functional.machine import execute, install, installed, lines, make_environment
from tests.functional.sources import add_backend, add_source
from tests.functional.workspace import HERE, PLATFORM, PYTHON_LINE, Run, Workspace, tree
from tests.loopback import LoopbackIndex, altered, delayed, status

# An install is for Linux; on other systems a lock can only be made.
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")

AFTER = '[[after]]\nothers = ["base"]\nreason = "top reads what base has set up"\n'


def two_stages(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("base", "1.0")
    index.add_wheel("top", "1.0", requires=["base"])
    workspace.facts("top", AFTER)
    workspace.stack("top", target=HERE, more='[check]\nimports = ["top"]\n')


@pytest.fixture
def two(index: LoopbackIndex, begin_with: Callable[[Setup], None]) -> list[Built]:
    """A lock of two wheels in two stages."""
    begin_with(two_stages)
    return [index.add_wheel("base", "1.0"), index.add_wheel("top", "1.0", requires=["base"])]


@pytest.fixture
def python(workspace: Workspace) -> Path:
    return make_environment(workspace.root / "env")


# --- the whole of it


def test_every_kind_of_stage_is_installed_from_pinned_files_alone_and_only_once(
    workspace: Workspace, index: LoopbackIndex, python: Path
) -> None:
    add_backend(index)
    add_source(index, "apart", "1.0")
    add_source(index, "here", "1.0")
    index.add_wheel("base", "1.0")
    index.add_wheel("top", "1.0", requires=["base"])
    workspace.facts("top", AFTER)
    workspace.facts(
        "here",
        """
        [[builds]]
        requires-from = "requirements/run.txt"
        env = { TINY_FLAVOUR = "{version} it's \\"$(touch pwned)\\" `touch pwned`" }
        isolation = false
        reason = "it is built for this machine"
        """,
    )
    workspace.stack("apart", "here", "top", target=HERE, more='[check]\nimports = ["apart", "here", "top"]\n')
    workspace.locked()
    index.clear()

    run = install(workspace, python)

    assert (run.status, run.stderr) == (0, "")
    assert lines(run.stdout, "stage") == [
        "stage 1 of 5: apart, built from source in a separate environment",
        "stage 2 of 5: base",
        "stage 3 of 5: top",
        "stage 4 of 5: tinybuild",
        "stage 5 of 5: here, built from source in this environment",
    ]
    checks = run.stdout.partition("\n\nmatches the lock (errors: 0, warnings: 0)\n")
    assert lines(checks[0], "  imports") == ["  imports        ok       apart, here, top"]
    assert checks[2] == "demo is installed: 5 distributions, as locked\n"
    assert installed(python) == {"apart": "1.0", "base": "1.0", "here": "1.0", "tinybuild": "1.0", "top": "1.0"}
    code = "import apart, here; print(apart.built['prefix'], here.built['prefix'], here.built['flavour'], sep='\\n')"
    built = execute(workspace, [str(python), "-c", code]).stdout.splitlines()
    assert built[0].startswith("<root>/temporary/"), "an environment that is thrown away"
    assert built[1] == "<root>/env"
    assert built[2] == '1.0 it\'s "$(touch pwned)" `touch pwned`'
    assert not list(workspace.root.rglob("pwned"))
    assert tree(workspace.temporary) == {}
    asked = {request.path for request in index.requests}
    assert asked == {
        *(f"/simple/pypi/{name}/" for name in ("apart", "base", "here", "tinybuild", "top")),
        *(f"/files/pypi/{name}-1.0-py3-none-any.whl" for name in ("base", "tinybuild", "top")),
        *(f"/files/pypi/{name}-1.0.tar.gz" for name in ("apart", "here")),
    }

    index.clear()
    run = install(workspace, python)

    assert (run.status, run.stderr, index.requests) == (0, "", [])
    assert [line.rpartition(": ")[2] for line in lines(run.stdout, "stage")] == ["already installed"] * 5


def test_a_wheel_that_pip_built_before_with_other_variables_is_not_taken(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    add_backend(index)
    add_source(index, "here", "1.0")
    workspace.stack("here", target=HERE)
    for flavour in ("cuda", "empty"):
        workspace.facts(
            "here",
            f"""
            [[builds]]
            requires-from = "requirements/run.txt"
            env = {{ TINY_FLAVOUR = "{flavour}" }}
            isolation = false
            reason = "it is built for this machine"
            """,
        )
        workspace.locked()
        python = make_environment(workspace.root / flavour)
        assert install(workspace, python).status == 0
        code = "import here; print(here.built['flavour'])"
        assert execute(workspace, [str(python), "-c", code]).stdout == f"{flavour}\n"


@pytest.mark.parametrize("isolation", ["true", "false"])
def test_each_is_built_with_its_own_variables(
    workspace: Workspace, index: LoopbackIndex, python: Path, isolation: str
) -> None:
    add_backend(index)
    for name in ("one", "two", "three"):
        add_source(index, name, "1.0")
    for name, flavour in (("one", "sweet"), ("two", "sour"), ("three", "sweet")):
        workspace.facts(
            name,
            f"""
            [[builds]]
            requires-from = "requirements/run.txt"
            env = {{ TINY_FLAVOUR = "{flavour}" }}
            isolation = {isolation}
            reason = "it is built for this machine"
            """,
        )
    workspace.stack("one", "two", "three", target=HERE)
    workspace.locked()
    run = install(workspace, python)
    assert (run.status, run.stderr) == (0, "")
    code = "import one, two, three; print(one.built['flavour'], two.built['flavour'], three.built['flavour'])"
    assert execute(workspace, [str(python), "-c", code]).stdout == "sweet sour sweet\n"


@pytest.fixture
def labelled(workspace: Workspace, index: LoopbackIndex) -> list[Built]:
    """A lock with a source build that adds a local part to its version, and the files of its wheelhouse."""
    workspace.facts(
        "here",
        """
        [[builds]]
        requires-from = "requirements/run.txt"
        env = { TINY_LABEL = "empty" }
        label = "empty"
        isolation = false
        reason = "it names itself X+empty whatever is set"
        """,
    )
    files = [add_backend(index), add_source(index, "here", "1.0")]
    workspace.stack("here", target=HERE)
    workspace.locked()
    return files


def test_a_build_that_labels_itself_is_installed_by_path(
    workspace: Workspace, labelled: list[Built], python: Path
) -> None:
    for built in labelled:
        (workspace.root / built.filename).write_bytes(built.content)
    run = install(workspace, python, "--wheelhouse", ".")
    assert (run.status, run.stderr) == (0, "")
    assert installed(python) == {"here": "1.0+empty", "tinybuild": "1.0"}
    again = install(workspace, python, "--wheelhouse", ".")
    assert [line.rpartition(": ")[2] for line in lines(again.stdout, "stage")] == ["already installed"] * 2


def test_its_archive_is_compared_with_the_lock(workspace: Workspace, labelled: list[Built], python: Path) -> None:
    backend, archive = labelled
    (workspace.root / backend.filename).write_bytes(backend.content)
    (workspace.root / archive.filename).write_bytes(archive.content + b"\0")
    run = install(workspace, python, "--wheelhouse", ".")
    assert run.status == 1
    assert "is not the file in the lock\nhint: make the bundle again\n" in run.stderr
    assert installed(python) == {"tinybuild": "1.0"}


def test_without_a_wheelhouse_it_is_refused_before_anything_is_installed(
    workspace: Workspace, labelled: list[Built], python: Path
) -> None:
    run = install(workspace, python)
    assert_refused(
        run,
        "error: here must be installed from a local file, so --wheelhouse is needed\n"
        "hint: on a machine with network access: ascend-lock bundle demo DIR, then install.sh --wheelhouse DIR\n",
    )
    assert installed(python) == {}


# --- several indexes


def bind_vendor(workspace: Workspace, index: LoopbackIndex, *projects: str) -> None:
    rows = ", ".join(f'"{name}"' for name in projects)
    workspace.indexes(f"""
        [[index]]
        name = "pypi"
        [[index]]
        name = "vendor"
        url = "{index.url_of("vendor")}"
        packages = [{rows}]
    """)


def pages(index: LoopbackIndex) -> set[str]:
    """The pages that were asked for: index/project."""
    paths = {request.path for request in index.requests}
    return {path.removeprefix("/simple/").rstrip("/") for path in paths if path.startswith("/simple/")}


def test_another_index_is_asked_for_nothing_but_what_comes_from_it(
    workspace: Workspace, index: LoopbackIndex, python: Path
) -> None:
    bind_vendor(workspace, index, "here", "special", "tool")
    add_backend(index)
    add_source(index, "apart", "1.0", more="tool")
    add_source(index, "here", "1.0", served_by="vendor")
    index.add_wheel("tool", "1.0", index="vendor")
    index.add_wheel("special", "1.0+cpu", index="vendor")
    index.add_wheel("base", "1.0")
    workspace.stack("apart", "base", "here", "special", target=HERE)
    workspace.locked()
    index.clear()

    run = install(workspace, python)

    assert (run.status, run.stderr) == (0, "")
    assert installed(python) == {"apart": "1.0", "base": "1.0", "here": "1.0", "special": "1.0+cpu"}
    asked = {page for page in pages(index) if page.startswith("vendor/")}
    assert asked == {"vendor/here", "vendor/special", "vendor/tool"}
    files = {str(path.relative_to(workspace.folder())) for path in workspace.folder().rglob("*.txt")}
    assert files == {
        "build-requirements.txt",
        "requirements.txt",
        "stages/1.txt",
        "stages/1.vendor.txt",
        "stages/2.txt",
        "stages/2.vendor.txt",
        "stages/build-requirements.vendor.txt",
    }
    assert workspace.read("stages/1.vendor.txt").splitlines()[1:3] == [
        "# From the index `vendor` only.",
        "# The rest is in stages/1.txt.",
    ]


def test_what_is_left_of_a_stage_is_taken_from_its_index_or_the_wheelhouse(
    workspace: Workspace, index: LoopbackIndex, python: Path
) -> None:
    bind_vendor(workspace, index, "special")
    index.add_wheel("base", "1.0")
    special = index.add_wheel("special", "1.0", index="vendor")
    workspace.stack("base", "special", target=HERE)
    workspace.locked()
    index.fault("/simple/vendor/*", status(404))
    broken = install(workspace, python)
    assert broken.status != 0
    assert installed(python) == {"base": "1.0"}, broken
    index.clear()
    (workspace.root / special.filename).write_bytes(special.content)
    wheels = workspace.plain(f"{python} -I -m pip install --no-deps --only-binary :all: --require-hashes ")
    stages = "<root>/locks/demo/here/stages"

    run = install(workspace, python, "--dry-run")

    assert lines(run.stdout, "would run") == [
        f"would run: {wheels}-r {stages}/1.txt",
        f"would run: {wheels}--extra-index-url <server>/simple/vendor/ -r {stages}/1.vendor.txt",
    ]

    run = install(workspace, python, "--wheelhouse", ".")

    assert (run.status, run.stderr, index.requests) == (0, "", [])
    assert installed(python) == {"base": "1.0", "special": "1.0"}
    assert lines(install(workspace, python).stdout, "stage") == ["stage 1 of 1: base and special: already installed"]


# --- dry run, again, half done


def test_a_dry_run_changes_nothing_and_asks_nothing(
    workspace: Workspace, two: list[Built], index: LoopbackIndex
) -> None:
    before = tree(workspace.root)
    run = install(workspace, sys.executable, "--dry-run")
    assert (run.status, run.stderr, index.requests) == (0, "", [])
    python = workspace.plain(sys.executable)
    pip = f"would run: {python} -I -m pip install --no-deps --only-binary :all: --require-hashes "
    assert run.stdout.splitlines()[1:] == [
        "stage 1 of 2: base",
        f"{pip}-r <root>/locks/demo/here/stages/1.txt",
        "stage 2 of 2: top",
        f"{pip}-r <root>/locks/demo/here/stages/2.txt",
        "dry run: nothing was changed",
    ]
    assert tree(workspace.root) == before


def test_after_a_failure_it_goes_on_where_it_stopped(
    workspace: Workspace, two: list[Built], index: LoopbackIndex, python: Path
) -> None:
    index.fault("/files/*/top-*", status(404), times=1)
    broken = install(workspace, python)
    assert broken.status != 0
    assert "as locked" not in broken.stdout
    assert installed(python) == {"base": "1.0"}
    index.clear()
    run = install(workspace, python)
    assert (run.status, run.stderr) == (0, "")
    assert lines(run.stdout, "stage") == ["stage 1 of 2: base: already installed", "stage 2 of 2: top"]
    assert not [request for request in index.requests if "base" in request.path]


def test_a_distribution_of_another_version_is_replaced(
    workspace: Workspace, two: list[Built], index: LoopbackIndex, python: Path
) -> None:
    index.add_wheel("base", "0.9")
    execute(workspace, [str(python), "-m", "pip", "install", "base==0.9"])
    assert installed(python) == {"base": "0.9"}
    assert install(workspace, python).status == 0
    assert installed(python) == {"base": "1.0", "top": "1.0"}


def test_what_pip_check_finds_is_a_failure(
    workspace: Workspace, two: list[Built], index: LoopbackIndex, python: Path
) -> None:
    index.add_wheel("stranger", "1.0", requires=["absent"])
    execute(workspace, [str(python), "-m", "pip", "install", "--no-deps", "stranger"])
    run = install(workspace, python)
    assert (
        "error: pip check reports: stranger 1.0 requires absent, which is not installed.  [requirement-broken]\n"
        in (run.stdout)
    )
    assert_not_as_locked(run)


def assert_not_as_locked(run: Run) -> None:
    assert (run.status, run.stderr) == (
        1,
        (
            "error: this machine and environment do not match the lock\n"
            "hint: see above for what differs and how to fix it\n"
        ),
    )
    assert "is installed" not in run.stdout


def test_settings_of_pip_do_not_change_what_is_installed(workspace: Workspace, two: list[Built], python: Path) -> None:
    (workspace.root / "constraints.txt").write_text("base==0.1\n")
    settings = {
        "PIP_CONSTRAINT": "constraints.txt",
        "PIP_TARGET": "target",
        "PIP_NO_BINARY": ":all:",
        "PIP_REQUIREMENT": "constraints.txt",
        "PIP_NO_DEPS": "0",
    }
    run = install(workspace, python, **settings)
    assert (run.status, run.stderr) == (0, "")
    assert installed(python) == {"base": "1.0", "top": "1.0"}
    assert not (workspace.root / "target").exists()


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ("[install]\ntarget = aside\n", ["install.target"]),
        ("[global]\nuser = true\n[install]\nprefix = aside\ndry-run = true\n", None),
    ],
)
def test_a_configuration_of_pip_that_installs_elsewhere_is_told(
    workspace: Workspace, two: list[Built], python: Path, settings: str, found: list[str] | None
) -> None:
    """What it says of indexes and proxies counts."""
    (workspace.root / "pip.conf").write_text(settings)
    run = install(workspace, python, PIP_CONFIG_FILE=str(workspace.root / "pip.conf"))
    names = found or ["global.user", "install.dry-run", "install.prefix"]
    assert (run.status, run.stderr) == (
        1,
        (
            "error: a setting in pip's own configuration would install packages somewhere else: "
            f"{', '.join(names)}\n"
            f"hint: remove it: <root>/env/bin/python -m pip config unset {names[0]}; "
            "<root>/env/bin/python -m pip config debug lists the configuration files\n"
        ),
    )
    assert installed(python) == {}


def test_a_configuration_of_pip_that_changes_nothing_is_none_to_stop_for(
    workspace: Workspace, two: list[Built], python: Path
) -> None:
    (workspace.root / "pip.conf").write_text("[install]\nuser = false\n[global]\ndry-run = 0\ntimeout = 60\n")
    run = install(workspace, python, PIP_CONFIG_FILE=str(workspace.root / "pip.conf"))
    assert (run.status, run.stderr) == (0, "")
    assert installed(python) == {"base": "1.0", "top": "1.0"}


def test_a_configuration_of_pip_that_cannot_be_read_is_not_taken_for_no_pip(
    workspace: Workspace, two: list[Built], python: Path
) -> None:
    (workspace.root / "pip.conf").write_text("target\n")
    run = install(workspace, python, PIP_CONFIG_FILE=str(workspace.root / "pip.conf"))
    assert run.status == 1
    assert "Configuration file could not be loaded" in run.stderr.replace(
        "contains parsing errors", "could not be loaded"
    )
    assert run.stderr.endswith(
        "error: pip of <root>/env/bin/python does not run\n"
        "hint: see above; <root>/env/bin/python -m pip config debug lists its configuration files\n"
    )


def test_a_version_that_the_wheel_itself_spells_otherwise_is_as_locked(
    workspace: Workspace, index: LoopbackIndex, python: Path
) -> None:
    index.add_wheel("base", "1.0", stated_version="1.0.0")
    workspace.stack("base", target=HERE)
    assert workspace.run("lock", "demo").status == 0
    for _ in range(2):
        run = install(workspace, python)
        assert (run.status, run.stderr) == (0, "")
    assert installed(python) == {"base": "1.0.0"}


# --- bytes that are not the lock's


def test_a_wheel_that_the_index_replaced_is_refused(
    workspace: Workspace, two: list[Built], index: LoopbackIndex, python: Path
) -> None:
    index.add_wheel("base", "1.0", files={"base.py": "evil = True\n"})
    run = install(workspace, python)
    assert run.status != 0
    assert "THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE" in run.stderr
    assert installed(python) == {}


def test_a_wheel_that_was_changed_on_the_way_is_refused(
    workspace: Workspace, two: list[Built], index: LoopbackIndex, python: Path
) -> None:
    index.fault("/files/*/base-*", altered(lambda body: body[:-1] + bytes([body[-1] ^ 1])))
    run = install(workspace, python)
    assert run.status != 0
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in run.stderr
    assert installed(python) == {}


def test_a_wheel_that_was_changed_in_a_wheelhouse_is_refused(
    workspace: Workspace, two: list[Built], python: Path
) -> None:
    for built in two:
        (workspace.root / built.filename).write_bytes(built.content + b"\0")
    run = install(workspace, python, "--wheelhouse", ".")
    assert run.status != 0
    assert installed(python) == {}


# --- other installers


def test_requirements_txt_says_no_deps_where_pins_are_left_out_of_it(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    add_backend(index)
    add_source(index, "here", "1.0")
    index.add_wheel("top", "1.0", requires=["here"])
    workspace.facts(
        "here",
        """
        [[builds]]
        requires-from = "requirements/run.txt"
        isolation = false
        reason = "it is built for this machine"
        """,
    )
    workspace.stack("top", target=HERE)
    workspace.locked()
    told = workspace.read("requirements.txt").splitlines()
    (command,) = [line.removeprefix("#").split() for line in told if "pip install" in line]
    run = execute(
        workspace,
        ["bash", "-c", f"cd {workspace.folder()} && {sys.executable} -m {' '.join(command)} --dry-run"],
    )
    assert run.status == 0, run.stderr
    assert "Would install" in run.stdout
    assert "# (--no-deps, because pip would ask for what is left out here)" in told


# --- the machine


def assert_refused(run: Run, stderr: str) -> None:
    """Nothing was begun, and the whole message is this."""
    assert (run.status, run.stdout) == (1, "")
    assert run.stderr == stderr


OTHER_MACHINE = "linux-x86_64" if PLATFORM == "linux-aarch64" else "linux-aarch64"
GLIBC = platform.libc_ver()[1]


@pytest.mark.parametrize(
    ("old", "new", "error", "hint"),
    [
        (
            PLATFORM,
            OTHER_MACHINE,
            f"this machine is {platform.machine()}, but the lock is for {OTHER_MACHINE.removeprefix('linux-')}",
            "lock the stack for this machine's platform",
        ),
        (
            f'"{PYTHON_LINE}"',
            '"3.99"',
            f"<python> is Python {PYTHON_LINE}, but the lock is for 3.99",
            "create one: python3.99 -m venv env && . env/bin/activate",
        ),
        (
            "2.17",
            "2.99",
            f"glibc is {GLIBC}, but the lock needs 2.99 or newer",
            f'set glibc = "{GLIBC}" in the stack\'s target and lock again',
        ),
    ],
)
def test_another_machine_is_refused(
    workspace: Workspace, index: LoopbackIndex, old: str, new: str, error: str, hint: str
) -> None:
    index.add_wheel("base", "1.0")
    workspace.stack("base", target=HERE.replace(old, new))
    workspace.locked()
    run = install(workspace, sys.executable)
    assert_refused(run, f"error: {error}\nhint: {hint}\n".replace("<python>", workspace.plain(sys.executable)))


@pytest.mark.parametrize(
    ("locale", "options"), [("zh_CN.UTF-8", []), ("zh_TW.utf8", []), ("C.UTF-8", ["--lang", "zh"])]
)
def test_it_speaks_chinese_where_the_locale_does_or_it_is_told_to(
    workspace: Workspace, two: list[Built], python: Path, locale: str, options: list[str]
) -> None:
    run = install(workspace, python, "--dry-run", *options, LANG=locale)
    assert (run.status, run.stderr) == (0, "")
    assert lines(run.stdout, "机器：")[0].startswith(
        f"机器：{platform.machine()}，Python {PYTHON_LINE}（<root>/env/bin/python）"
    )
    assert lines(run.stdout, "第") == ["第 1 阶段，共 2 个：base", "第 2 阶段，共 2 个：top"]
    assert [line.split()[0] for line in lines(run.stdout, "将执行")] == ["将执行：", "将执行："]
    assert run.stdout.endswith("试运行：没有改动任何东西\n")

    run = install(workspace, python, *options, "--wheelhouse", "no/such", LANG=locale)
    assert_refused(run, "错误：--wheelhouse 指定的目录 no/such 不存在\n")


@pytest.mark.parametrize(
    ("locale", "options"), [("zh_CN.UTF-8", ["--lang", "en"]), ("zh_CN.GB18030", []), ("de_DE.UTF-8", [])]
)
def test_it_speaks_english_where_it_is_told_to_or_chinese_could_not_be_read(
    workspace: Workspace, two: list[Built], python: Path, locale: str, options: list[str]
) -> None:
    run = install(workspace, python, *options, "--wheelhouse", "no/such", LANG=locale)
    assert_refused(run, "error: the --wheelhouse folder no/such does not exist\n")


def test_a_language_that_it_does_not_speak_is_refused(workspace: Workspace, two: list[Built]) -> None:
    assert_refused(install(workspace, sys.executable, "--lang", "fr"), "error: --lang must be en or zh\n")
    assert_refused(install(workspace, sys.executable, "--lang", LANG="zh_CN.UTF-8"), "错误：--lang 只能是 en 或 zh\n")


def test_a_link_to_it_is_followed(workspace: Workspace, two: list[Built]) -> None:
    link = workspace.root / "elsewhere" / "link.sh"
    link.parent.mkdir()
    link.symlink_to(workspace.folder() / "install.sh")
    run = execute(workspace, [str(link), "--dry-run", "--python", sys.executable])
    assert (run.status, run.stderr) == (0, "")
    assert lines(run.stdout, "would run")[0].endswith(" -r <root>/locks/demo/here/stages/1.txt")


@pytest.mark.parametrize(
    ("command", "where"),
    [
        ("cat {script} | bash -s -- --dry-run", "."),
        ("bash -s -- --dry-run < {script}", "."),
        ("cp {script} alone.sh && bash alone.sh --dry-run", "<root>"),
    ],
)
def test_without_the_rest_of_its_folder_it_does_nothing(
    workspace: Workspace, two: list[Built], command: str, where: str
) -> None:
    run = execute(workspace, ["bash", "-c", command.format(script=workspace.folder() / "install.sh")])
    assert_refused(
        run,
        f"error: there is no stages/ folder in {where}, next to install.sh\n"
        "hint: copy the lock's whole folder and run the install.sh inside it\n",
    )


SYSTEM = str(Path(sys.base_prefix) / "bin" / f"python{PYTHON_LINE}")


@pytest.mark.parametrize(
    ("python", "error", "hint"),
    [
        (
            "/bin/true",
            "is not a Python interpreter",
            "activate an environment, or pass the path of its Python with --python",
        ),
        ("no/such/python", "", "activate an environment, or pass --python PATH"),
        (
            SYSTEM,
            "is not in a virtual or conda environment",
            f"create one: {SYSTEM} -m venv env && . env/bin/activate; or pass --system",
        ),
    ],
)
def test_what_is_no_environment_is_refused(
    workspace: Workspace, two: list[Built], python: str, error: str, hint: str
) -> None:
    told = f"{python} {error}" if error else f"no working Python was found at {python}"
    assert_refused(install(workspace, python), f"error: {told}\nhint: {hint}\n")


def test_an_unknown_option_is_refused(workspace: Workspace, two: list[Built]) -> None:
    run = install(workspace, sys.executable, "--dryrun")
    assert run.status == 1
    assert run.stderr.startswith("usage: install.sh ")
    assert run.stderr.endswith("error: unknown option: --dryrun\n")


def on_cann(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("base", "1.0")
    workspace.stack("base", target=HERE + '[target.system]\ncann = "8.5.0"\n')


@pytest.fixture
def for_cann(workspace: Workspace, begin_with: Callable[[Setup], None]) -> Workspace:
    begin_with(on_cann)
    return workspace


def npu_smi(workspace: Workspace, driver: str = "", chip: str = "") -> str:
    """A PATH with a tool that tells of a driver, as in a container that has the devices alone, or of a chip."""
    tool = workspace.root / "tools" / "npu-smi"
    tool.parent.mkdir(exist_ok=True)
    tool.write_text(f"""#!/bin/bash
case "$*" in
"info -m") echo '  0  0  0  Ascend' ;;
"info -t board -i 0") echo 'Software Version : {driver}' ;;
"info -t board -i 0 -c 0") echo 'Chip Type : Ascend'; echo 'Chip Name : {chip}' ;;
esac
""")
    tool.chmod(0o755)
    return f"{tool.parent}:{os.environ['PATH']}"


ASKS = """
[[{kind}]]
id = "base-driver"
{key} = ["hdk {wanted}"]
reason = "the notes say so"
reason-zh = "版本说明如此"
source = "notes of 8.5.0"
strength = "{strength}"
"""
UNLESS = 'text = "the notes say so"\ntext-zh = "版本说明如此"\nunless'


def asking(kind: str, key: str, strength: str, wanted: str = ">= 25.2.0") -> str:
    return ASKS.format(kind=kind, key=key, strength=strength, wanted=wanted)


OLDER = "the driver (HDK) is 25.0.rc1, and base 1.0 {} hdk >= 25.2.0 (npu-smi): the notes say so ({}: notes of 8.5.0)"
NEWER = "the driver (HDK) is 26.1.0, and {} hdk < 26.0.rc1 (npu-smi): {}"
OF_THE_STACK = NEWER.format("demo needs", "the stack asks for hdk < 26.0.rc1 (matrices/stacks/demo.toml:4)")
BELOW_26 = asking("warns", UNLESS, "vendor", "< 26.0.rc1")


@pytest.mark.parametrize(
    ("facts", "more", "stated", "found", "told"),
    [
        (asking("warns", UNLESS, "vendor"), [], "", "25.0.rc1", "warning: " + OLDER.format("asks for", "vendor")),
        (
            asking("requires", "needs", "observed"),
            [],
            "",
            "25.0.rc1",
            "warning: " + OLDER.format("asks for", "observed"),
        ),
        (asking("requires", "needs", "vendor"), [], "", "25.0.rc1", "error: " + OLDER.format("needs", "vendor")),
        ("", ["hdk < 26.0.rc1"], "", "26.1.0", f"error: {OF_THE_STACK}"),
        ("", ["hdk < 26.0.rc1"], "25.0.rc1", "26.1.0", f"error: {OF_THE_STACK}"),
        ("", ["hdk < 26.0.rc1"], "25.0.rc1", "25.5.0", ""),
        # what the target promises leaves nothing to ask
        (asking("requires", "needs", "vendor"), ["hdk >= 25.3.rc1"], "25.5.0", "25.5.0", ""),
        # the target's is the oldest driver of its machines: that all are older than another one is not promised
        (BELOW_26, [], "25.3.rc1", "25.5.0", ""),
        (BELOW_26, [], "25.3.rc1", "26.1.0", "warning: " + NEWER.format("base 1.0 asks for", "the notes say so ")),
    ],
)
def test_what_is_asked_of_the_driver(
    workspace: Workspace, index: LoopbackIndex, facts: str, more: list[str], stated: str, found: str, told: str
) -> None:
    index.add_wheel("base", "1.0")
    workspace.facts("base", facts)
    workspace.stack("base", *more, target=HERE + (f'[target.system]\nhdk = "{stated}"\n' if stated else ""))
    workspace.locked()
    run = install(workspace, sys.executable, "--dry-run", PATH=npu_smi(workspace, found))
    refused = told.startswith("error")
    assert run.status == (1 if refused else 0)
    assert run.stderr.startswith(told) if told else run.stderr == ""
    assert ("install.sh would stop: 1 of the checks above failed" in run.stderr) == refused


def test_what_is_asked_of_the_driver_is_told_in_chinese(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("base", "1.0")
    workspace.facts("base", asking("warns", UNLESS, "vendor"))
    workspace.stack("base", "hdk < 26.0.rc1", target=HERE)
    workspace.locked()
    promise = "the stack asks for hdk < 26.0.rc1; the target does not promise that, so install.sh and verify.py check "
    assert [row for row in workspace.content()["warnings"] if row.startswith(promise)]
    run = install(workspace, sys.executable, "--dry-run", "--lang", "zh", PATH=npu_smi(workspace, "25.0.rc1"))
    assert run.stderr == (
        "警告：驱动（HDK）是 25.0.rc1，而 base 1.0 要求 hdk >= 25.2.0（npu-smi）："
        "版本说明如此（厂商：notes of 8.5.0）\n"
        "提示：在机器上安装满足 hdk >= 25.2.0 的驱动和固件（容器使用宿主机的驱动）并重启\n"
    )


def test_what_a_warning_about_another_component_says_of_the_driver_is_not_asked(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """The target states no CANN: whether the fact is about its CANN is not known."""
    index.add_wheel("base", "1.0")
    rows = '[[warns]]\ntext = "it wants a driver"\nunless = ["cann != 8.5.*", "hdk >= 25.2.0"]\nreason = "r"\n'
    workspace.facts("base", rows)
    workspace.stack("base", target=HERE)
    workspace.locked()
    assert "driver" not in workspace.content()
    assert workspace.content()["warnings"]


COMPILED = """
[[external]]
versions = "==1.0"
needs = ["c++", "python-headers", "cmake"]
reason = "it has an extension"
"""
NO_COMPILER = (
    "building apart needs a C++ compiler, and this machine has none that works\n"
    "hint: apt-get install g++, or dnf install gcc-c++; or set CXX\n"
)


def compiled(workspace: Workspace, index: LoopbackIndex) -> None:
    add_backend(index)
    index.add_wheel("base", "1.0")
    index.add_wheel("cmake", "4.0")
    add_source(index, "apart", "1.0", more="cmake")
    workspace.facts("apart", COMPILED)
    workspace.stack("apart", "base", target=HERE)


def without(folder: Path, *unwanted: str) -> str:
    """A PATH with this machine's programs, except for some."""
    folder.mkdir()
    for program in {one.name: one for one in reversed([*Path("/bin").iterdir(), *Path("/usr/bin").iterdir()])}.values():
        if not any(name in program.name for name in unwanted):
            (folder / program.name).symlink_to(program)
    return str(folder)


def test_a_missing_compiler_is_told_before_anything_is_downloaded(
    workspace: Workspace, index: LoopbackIndex, python: Path
) -> None:
    """Python's headers are there, cmake is in the lock: neither is told. What is built already needs no compiler."""
    compiled(workspace, index)
    workspace.locked()
    assert workspace.content()["pin"][0]["external"] == ["c++", "python-headers"]
    index.clear()
    path = without(workspace.root / "bin", "++", "gcc", "clang", "cmake")
    run = install(workspace, python, PATH=path)
    assert_refused(run, f"error: {NO_COMPILER}")
    run = install(workspace, python, "--dry-run", PATH=path)
    assert run.stderr == f"error: {NO_COMPILER}error: install.sh would stop: 1 of the checks above failed\n"
    assert (installed(python), index.requests) == ({}, [])
    run = install(workspace, python, "--skip-system-checks", PATH=path)
    assert (run.status, run.stderr) == (0, f"warning: {NO_COMPILER}"), "the backend of the tests compiles nothing"
    run = install(workspace, python, PATH=path)
    assert (run.status, run.stderr) == (0, "")


def test_a_dry_run_lists_all_that_is_wrong(workspace: Workspace, index: LoopbackIndex) -> None:
    add_backend(index)
    add_source(index, "apart", "1.0")
    workspace.facts("apart", COMPILED)
    workspace.stack("apart", target=HERE.replace(f'"{PYTHON_LINE}"', '"3.99"') + '[target.system]\ncann = "8.5.0"\n')
    workspace.locked()
    run = install(workspace, SYSTEM, "--dry-run", "--wheelhouse", "no/such", CXX="no-such-compiler")
    told = [line.removeprefix("error: ").split()[:5] for line in lines(run.stderr, "error")]
    assert [" ".join(words) for words in told] == [
        f"{SYSTEM} is Python {PYTHON_LINE}, but",
        f"{SYSTEM} is not in a",
        "CANN is not active: ASCEND_HOME_PATH",
        "building apart needs a C++",
        "the --wheelhouse folder no/such does",
        "install.sh would stop: 5 of",
    ]
    assert lines(run.stdout, "stage 1 of 1"), "it goes on to what would be done"


def test_how_far_pip_is_is_told_while_it_is_silent(
    workspace: Workspace, two: list[Built], index: LoopbackIndex, python: Path
) -> None:
    index.fault("/files/*/base-*", delayed(1.5))
    script = workspace.folder() / "install.sh"
    script.write_text(script.read_text("utf-8").replace("timeout=30", "timeout=0.5"), "utf-8")
    run = install(workspace, python)
    assert (run.status, run.stderr) == (0, "")
    assert lines(run.stdout, "0 of 1 installed after ")


def on_soc(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("base", "1.0")
    workspace.stack("base", target=HERE + '[target.system]\nsoc = "A2"\n')


def test_a_soc_that_is_not_known_is_told_as_not_checked(
    workspace: Workspace, begin_with: Callable[[Setup], None]
) -> None:
    begin_with(on_soc)
    for path, told in ((npu_smi(workspace, chip="910B4"), "A2 (Ascend910B4)"), ("/usr/bin:/bin", "not checked (no")):
        run = install(workspace, sys.executable, "--dry-run", PATH=path)
        assert (run.status, run.stderr) == (0, "")
        assert f", SoC {told}" in lines(run.stdout, "machine: ")[0]


def test_another_soc_is_refused(workspace: Workspace, begin_with: Callable[[Setup], None]) -> None:
    begin_with(on_soc)
    path = npu_smi(workspace, chip="310P3")
    run = install(workspace, sys.executable, PATH=path)
    told = (
        "the SoC is 310P (Ascend310P3), but the lock is for A2\n"
        'hint: set soc = "310P" in the stack\'s target and lock again\n'
    )
    assert_refused(run, f"error: {told}")
    run = install(workspace, sys.executable, "--dry-run", PATH=path)
    assert (run.status, run.stderr) == (
        1,
        (f"error: {told}error: install.sh would stop: 1 of the checks above failed\n"),
    )


def test_a_cann_that_is_installed_and_not_active_is_named(for_cann: Workspace) -> None:
    """One of a user of its own is in ~/Ascend; ASCEND_LOCK_ROOT says where else to look, as for activate.sh."""
    script = for_cann.root / "Ascend" / "cann-8.5.0" / "set_env.sh"
    script.parent.mkdir(parents=True)
    script.touch()
    for where in ({"HOME": str(for_cann.root)}, {"ASCEND_LOCK_ROOT": str(for_cann.root / "Ascend")}):
        assert install(for_cann, sys.executable, **where).stderr.endswith(
            "\nhint: . <root>/Ascend/cann-8.5.0/set_env.sh\n"
        )


def test_a_verify_that_does_not_run_is_no_sign_that_all_is_well(for_cann: Workspace) -> None:
    (for_cann.folder() / "verify.py").unlink()
    run = install(for_cann, sys.executable)
    assert run.status == 1
    assert run.stderr.endswith("error: verify.py next to install.sh does not run\nhint: copy the lock's whole folder\n")


def test_without_cann_an_image_can_be_built(for_cann: Workspace) -> None:
    python = make_environment(for_cann.root / "env")
    run = install(for_cann, python, "--skip-system-checks")
    assert (run.status, run.stderr) == (
        0,
        (
            "warning: CANN is not active: ASCEND_HOME_PATH is not set: torch_npu finds CANN's libraries through it\n"
            "hint: install CANN 8.5.0, then source its set_env.sh\n"
        ),
    )
    assert installed(python) == {"base": "1.0"}


def test_nothing_of_the_folder_or_the_shell_takes_part(
    workspace: Workspace, two: list[Built], python: Path, tmp_path: Path
) -> None:
    """A `pip.py` where install.sh is started, PYTHONPATH, CDPATH, and what pip is told by its environment."""
    theirs = tmp_path / "theirs"
    for folder in (workspace.root, theirs):
        folder.mkdir(exist_ok=True)
        (folder / "pip.py").write_text("raise SystemExit('this is not pip')\n", "utf-8")
    script = os.path.relpath(workspace.folder() / "install.sh", workspace.root)
    run = execute(
        workspace,
        ["bash", script, "--python", str(python)],
        PYTHONPATH=str(theirs),
        CDPATH=f"{tmp_path}:{workspace.root}",
        PIP_PYTHON=str(tmp_path / "nowhere"),
        PIP_PLATFORM="win_amd64",
        PIP_TARGET=str(tmp_path / "aside"),
    )
    assert (run.status, run.stderr) == (0, ""), run
    assert installed(python) == {"base": "1.0", "top": "1.0"}
    assert not (tmp_path / "aside").exists()


def test_without_a_folder_for_temporary_files_it_does_nothing(
    workspace: Workspace, index: LoopbackIndex, python: Path
) -> None:
    add_backend(index)
    add_source(index, "apart", "1.0")
    workspace.stack("apart", target=HERE)
    workspace.locked()
    script = workspace.folder() / "install.sh"
    run = execute(workspace, ["env", "TMPDIR=/proc", "bash", str(script), "--python", str(python)])
    assert run.status == 1
    assert lines(run.stderr, "error") == ["error: there is no folder for temporary files"]
    assert lines(run.stderr, "hint") == ["hint: set TMPDIR to a folder with free space that you can write to"]
    assert installed(python) == {}


def test_it_is_read_as_bash_where_sh_is_bash(workspace: Workspace, two: list[Built]) -> None:
    """In its POSIX mode bash before 5.1 takes `<(` for a mistake; a command is read when those before it have run."""
    script = (workspace.folder() / "install.sh").read_text("utf-8")
    before = script.partition("< <(")[0].partition("\nusage() {")[0]
    assert before != script
    run = execute(workspace, ["bash", "--posix", "-c", f"{before}\nshopt -o posix"])
    assert run.stdout == "posix          \toff\n"
