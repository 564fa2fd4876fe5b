"""verify.py of a real lock, over an environment that install.sh made and something breaks."""

from __future__ import annotations

import importlib.util
import marshal
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tests.functional.machine import (
    environment,
    execute,
    install,
    make_environment,
    npu_smi,
    site_packages,
)
from tests.functional.workspace import HERE, PYTHON_LINE, Run, Workspace, wait_until
from tests.loopback import LoopbackIndex
from tests.unit.verify.test_verify_machine import CANN_FILES, DRIVER, MACHINE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")

TARGET = HERE + '[target.system]\ncann = "8.5.0"\nhdk = "25.3.rc1"\nsoc = "A2"\n'
STACK = """
[check]
imports = ["torch", "base"]
env = { TINY_FLAVOUR = "as locked" }
"""
FACTS = """
[[collides]]
with = "triton"
module = "triton"
reason = "both install it"
"""
TORCH = """
import os
assert os.environ["TINY_FLAVOUR"] == "as locked"
class Ones:
    def npu(self): return self
    def cpu(self): return self
    def __add__(self, other): return self
    def sum(self): return self
    def __float__(self): return float(os.environ.get("TINY_SUM", "8"))
class npu:
    def device_count(): return 8
    def get_device_name(number): return "Ascend910B4"
def ones(*shape): return Ones()
"""
TORCH_NPU = "import os\nif os.environ.get('TINY_DEAD'): os.kill(os.getpid(), 9)\n"


class Machine:
    """An installed environment on a machine with CANN, driver and npu-smi, in the workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.root = workspace.root
        self.python = make_environment(self.root / "env")
        self.site = site_packages(self.python)
        self.ascend = self.root / "Ascend"
        self.cann = self.ascend / "cann-8.5.0"
        self.changes: dict[str, str] = {}
        for name, text in CANN_FILES.items():
            (self.cann / name).parent.mkdir(parents=True, exist_ok=True)
            (self.cann / name).write_text(text)
        (self.cann / "set_env.sh").write_text("")
        (self.ascend / "driver").mkdir()
        (self.ascend / "driver" / "version.info").write_text(DRIVER)
        self.path = npu_smi(workspace, "25.3.rc1", "910B4")

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": self.path, "ASCEND_HOME_PATH": str(self.cann), **self.changes}

    def verify(self, *arguments: str) -> Run:
        script = self.workspace.folder() / "verify.py"
        command = [str(self.python), str(script), "--ascend", str(self.ascend), *arguments]
        return execute(self.workspace, command, **self.environment)

    def found(self, *arguments: str) -> str:
        """What it says beyond its line for each group."""
        run = self.verify(*arguments)
        assert run.stderr == ""
        assert run.status == (
            1 if re.search("^(error: |错误：)", run.stdout, re.MULTILINE) else 0
        ), run.stdout
        return run.stdout.partition("\n\n")[2]

    def pip(self, *arguments: str) -> None:
        run = execute(self.workspace, [str(self.python), "-m", "pip", "-q", *arguments])
        assert run.status == 0, run.stderr


def lock_them(workspace: Workspace) -> None:
    workspace.index.add_wheel(
        "base", "1.0", files={"base.py": "", "base_data/big.bin": "x" * 300_000}
    )
    workspace.serve("top 1.0: base, left-out", "left-out 1.0")
    workspace.index.add_wheel("torch", "2.8.0", files={"torch/__init__.py": TORCH})
    workspace.index.add_wheel("torch-npu", "2.8.0", files={"torch_npu/__init__.py": TORCH_NPU})
    workspace.index.add_wheel(
        "triton-ascend",
        "3.2.0",
        files={"triton/__init__.py": "ascend = True\n", "triton/backend.py": "ascend = 1\n"},
    )
    workspace.index.add_wheel(
        "triton", "3.5.0", files={"triton/__init__.py": "cuda = True\n", "triton/cuda.py": "\n"}
    )
    workspace.facts("triton-ascend", FACTS)
    workspace.facts("top", '[[replaces]]\ndrop = ["left-out"]\nreason = "it is never imported"\n')
    workspace.locked_stack("torch", "torch-npu", "top", "triton-ascend", target=TARGET, more=STACK)


@pytest.fixture(scope="module")
def installed(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Machine, LoopbackIndex, Run]]:
    """The environment, made once by the lock's install.sh."""
    with LoopbackIndex() as index:
        workspace = Workspace(tmp_path_factory.mktemp("verify") / "work", index)
        lock_them(workspace)
        machine = Machine(workspace)
        # install.sh looks for the driver where it really is
        script = workspace.folder() / "install.sh"
        script.write_text(script.read_text().replace("/usr/local/Ascend", str(machine.ascend)))
        verify = workspace.folder() / "verify.py"
        verify.write_text(verify.read_text().replace("/usr/local/Ascend", str(machine.ascend)))
        yield machine, index, install(workspace, machine.python, **machine.environment)


@pytest.fixture
def machine(installed: tuple[Machine, LoopbackIndex, Run]) -> Iterator[Machine]:
    """The machine, put back in order after the test."""
    machine, index, _ = installed
    kept = machine.root / "kept"
    for folder in (machine.site, machine.ascend):
        shutil.copytree(folder, kept / folder.name, symlinks=True)
    machine.changes = {}
    index.clear()
    yield machine
    for folder in (machine.site, machine.ascend):
        shutil.rmtree(folder)
        shutil.move(kept / folder.name, folder)
    kept.rmdir()


# --- as it should be

GROUPS = f"""\
demo for here
  lock           ok       verify.py matches lock.toml
  machine        ok       Linux, {MACHINE}, glibc {platform.libc_ver()[1]}
  CANN           ok       8.5.0 (<root>/Ascend/cann-8.5.0)
  driver (HDK)   ok       25.3.rc1; required: hdk >= 25.3.rc1
  SoC            ok       A2 (Ascend910B4)
  Python         ok       {platform.python_version()} (<root>/env/bin/python)
  distributions  ok       5, as locked
  files          ok       37 present with the right size, 26 compared by hash
  collisions     ok       none
  unowned        ok       every module belongs to a distribution
  requirements   ok       pip check reports only problems that the lock expects (1)
  imports        ok       torch, base
  starts         ok       imported 3 modules, loaded 0 commands
  NPU            ok       8, the first is Ascend910B4; tensor computation works

matches the lock (errors: 0, warnings: 0)
"""


def test_verify_after_install(installed: tuple[Machine, LoopbackIndex, Run]) -> None:
    _, _, run = installed
    assert (run.status, run.stderr) == (0, "")
    assert GROUPS + "demo is installed: 5 distributions, as locked\n" in run.stdout


def test_verify_says_the_same_however_it_is_called(machine: Machine) -> None:
    before = {path: path.read_bytes() for path in machine.root.rglob("*") if path.is_file()}
    assert machine.verify().stdout == GROUPS
    command = ["verify", "demo", "--python", str(machine.python), "--ascend", str(machine.ascend)]
    run = machine.workspace.run(*command, **machine.environment)
    assert (run.status, run.stdout, run.stderr) == (0, GROUPS, "")
    script = str(machine.workspace.folder() / "verify.py")
    run = execute(
        machine.workspace,
        [sys.executable, script, "--python", str(machine.python)],
        **machine.environment,
    )
    assert (run.status, run.stdout, run.stderr) == (0, GROUPS, "")
    full = machine.verify("--full")
    expected = GROUPS.replace("26 compared", "32 compared").replace(
        "  collisions ",
        "  bytecode       ok       N compiled files match their sources\n  collisions ",
    )
    # pip is among them, which is this machine's
    told = re.sub(r"\d+(?= compiled files)", "N", full.stdout)
    assert (full.status, told) == (0, expected)
    assert {path: path.read_bytes() for path in machine.root.rglob("*") if path.is_file()} == before


def test_verify_finds_bytecode_that_was_planted(machine: Machine) -> None:
    """It is hash-based and unchecked, so that Python asks for no source."""
    header = importlib.util.MAGIC_NUMBER + b"\x01" + bytes(11)
    planted = Path(importlib.util.cache_from_source(str(machine.site / "base.py")))
    planted.write_bytes(header + marshal.dumps(compile("planted = 1", "x", "exec")))
    run = machine.verify("--full")
    assert (run.status, run.stdout.count("[bytecode-differs]")) == (1, 1)
    assert "[bytecode-differs]" not in machine.verify().stdout


def test_verify_refuses_a_program_of_another_lock(machine: Machine) -> None:
    """Also with --skip-system-checks, which is about the machine; nothing else is checked then."""
    lock = machine.workspace.folder() / "lock.toml"
    before = lock.read_text()
    lock.write_text(before.replace('version = "1.0"', 'version = "1.1"', 1))
    runs = [machine.verify(), machine.verify("--skip-system-checks")]
    answer = machine.verify("--json").json
    lock.unlink()
    os.mkfifo(lock)
    unreadable = machine.verify("--quick")
    lock.unlink()
    absent = machine.verify("--quick")
    lock.write_text(before)
    for run in runs:
        assert run.status == 1
        assert "was not made from the lock beside it" in run.stdout
        assert "[lock-differs]" in run.stdout
    assert (answer["ended"], [group["name"] for group in answer["groups"]]) == (True, ["lock"])
    assert (unreadable.status, "[lock-unreadable]" in unreadable.stdout) == (0, True)
    told = "  lock           ok       not compared: there is no lock.toml beside verify.py\n"
    assert (absent.status, told in absent.stdout) == (0, True)
    assert machine.verify("--quick").status == 0


def test_verify_json_has_every_group_and_code(machine: Machine) -> None:
    (machine.site / "base.py").unlink()
    run = machine.verify("--json")
    assert (run.status, run.stderr) == (1, "")
    answer = run.json
    keys = {
        "schema",
        "language",
        "status",
        "stack",
        "target",
        "lock",
        "checks",
        "time",
        "machine",
        "python",
        "wrong",
        "warnings",
        "ended",
        "groups",
    }
    assert answer.keys() == keys
    assert (
        answer["lock"]
        == sha256((machine.workspace.folder() / "lock.toml").read_bytes()).hexdigest()
    )
    assert answer["machine"] == {
        "processor": platform.machine(),
        "glibc": platform.libc_ver()[1],
        "python": platform.python_version(),
        "cann": "8.5.0",
        "hdk": "25.3.rc1",
        "soc": "Ascend910B4",
        "npus": "1",
    }
    assert (answer["status"], answer["wrong"], answer["warnings"], answer["ended"]) == (
        "differs",
        2,
        0,
        False,
    )
    names = (
        "lock",
        "machine",
        "python",
        "cann",
        "hdk",
        "soc",
        "distributions",
        "files",
        "collisions",
        "strays",
        "requirements",
    )
    states = {group["name"]: group["state"] for group in answer["groups"]}
    assert states == {
        **dict.fromkeys((*names, "starts", "npu"), "ok"),
        "files": "wrong",
        "imports": "wrong",
    }
    findings = {row["code"]: row for group in answer["groups"] for row in group["findings"]}
    assert findings.keys() == {"file-missing", "import-failed"}
    missing = findings["file-missing"]
    assert missing.keys() == {"code", "state", "what", "why", "mend", "values"}
    assert missing["values"].items() >= {
        ("name", "base"),
        ("version", "1.0"),
        ("list", "base.py"),
        ("count", "1"),
    }
    install = "bash <root>/locks/demo/here/install.sh --python <root>/env/bin/python"
    assert missing["mend"] == f"<root>/env/bin/python -m pip uninstall -y base && {install}"


def test_verify_quick_starts_only_listed_imports(machine: Machine) -> None:
    (machine.site / "top.py").write_text("raise OSError('broken')\n")
    assert machine.verify("--quick").stdout.count("starts") == 0
    assert "start-failed" not in machine.found("--quick")
    assert "import top cannot be started: OSError: broken" in machine.found()


def test_verify_json_has_every_start(machine: Machine) -> None:
    (group,) = [
        group for group in machine.verify("--json").json["groups"] if group["name"] == "starts"
    ]
    assert {row["name"]: row["outcome"] for row in group["results"]} == dict.fromkeys(
        ("top", "torch_npu", "triton"), "ok"
    )


@pytest.mark.parametrize("seconds", ["0", "-1", "soon", "inf", "nan"])
def test_verify_seconds_are_a_positive_number(machine: Machine, seconds: str) -> None:
    assert machine.verify("--seconds", seconds).status == 2


# --- broken, one by one


Files = dict[str, Callable[[str], str]]


def changed(machine: Machine, path: str, change: Callable[[str], str]) -> None:
    """Change a file of the environment, or make one."""
    file = machine.site / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(change(file.read_text() if file.exists() else ""))


REQUIRES = {
    "torch_npu-2.8.0.dist-info/METADATA": lambda text: text.replace(
        "\n\n", "\nRequires-Dist: base<1\n\n"
    ),
    "torch_npu-2.8.0.dist-info/RECORD": lambda text: re.sub(r".*METADATA.*\n", "", text),
}
# The loader's own words for a library that is not there.
WITHOUT_CANN = {
    "_distutils_hack.py": lambda text: (
        f"{text}import ctypes\n"
        "class Loads:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'base':\n"
        "            ctypes.CDLL('libhccl.so')\n"
        "sys.meta_path.insert(0, Loads())\n"
    )
}
ELSEWHERE = {
    "../elsewhere/base.py": lambda _: "",
    "../elsewhere/te-0.4.dist-info/METADATA": lambda _: (
        "Name: te\nVersion: 0.4\nRequires-Dist: absent\n"
    ),
}
HALF_WAY = "import sys\nsys.modules['base'] = None\nraise OSError('half-way')\n"


@pytest.mark.parametrize(
    ("files", "variables", "codes"),
    [
        ({}, {"TINY_SUM": "7.5"}, ["npu-wrong"]),
        ({}, {"TINY_DEAD": "1"}, ["start-died", "npu-failed"]),
        (
            {
                "base-1.0.dist-info/METADATA": lambda text: text.replace(
                    "Version: 1.0", "Version: 01.1"
                )
            },
            {},
            ["distribution-differs", "file-changed"],
        ),
        (REQUIRES, {}, ["requirement-broken"]),
        (
            {"_distutils_hack.py": lambda text: f"{text}sys.modules['base'] = None\n"},
            {},
            ["import-failed"],
        ),
        (WITHOUT_CANN, {}, ["import-without-cann"]),
        (ELSEWHERE, {"PYTHONPATH": "elsewhere"}, ["import-elsewhere"]),
        # what one import leaves behind does not fail the next
        (
            {"torch/__init__.py": lambda _: HALF_WAY},
            {},
            ["file-changed", "import-failed", "npu-failed"],
        ),
    ],
    ids=[
        "sum",
        "dead",
        "version",
        "requirement",
        "import",
        "without CANN",
        "elsewhere",
        "half-way",
    ],
)
def test_verify_finds_what_is_broken(
    machine: Machine, files: Files, variables: dict[str, str], codes: list[str]
) -> None:
    for path, change in files.items():
        changed(machine, path, change)
    machine.changes = dict(variables)
    if "PYTHONPATH" in variables:
        machine.changes = {"PYTHONPATH": str(machine.site.parent / "elsewhere")}
    found = machine.found()
    assert re.findall(r"(?m)^error: .*  \[([a-z-]+)\]$", found) == codes
    assert found.endswith(f"\ndiffers from the lock (errors: {len(codes)}, warnings: 0)\n")
    assert all(
        line.startswith(("error: ", "   why: ", "   fix: ", "differs "))
        for line in found.splitlines()
        if line
    )


def test_verify_warns_without_system_checks_or_an_npu(
    machine: Machine,
) -> None:
    for name, text in CANN_FILES.items():
        path = machine.ascend / "cann-8.3.RC1" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("8.5.0", "8.3.RC1"))
    machine.changes = {"ASCEND_HOME_PATH": str(machine.ascend / "cann-8.3.RC1")}
    assert machine.found("--skip-system-checks").startswith(
        "warning: CANN is 8.3.RC1, but the lock is for 8.5.0 "
    )
    machine.changes = {"PATH": os.environ["PATH"]}
    found = machine.found()
    assert re.findall(r"(?m)^warning: .*  \[([a-z-]+)\]$", found) == ["soc-unknown", "npu-absent"]
    assert found.endswith("\nmatches the lock (errors: 0, warnings: 2)\n")


@pytest.mark.parametrize(
    ("folder", "told"),
    [
        (
            "",
            (
                "warning: import base was not tested: this machine has no NPU"
                " and no libhccl.so of CANN or its driver  ["
            ),
        ),
        (
            "cann-8.5.0/lib64",
            "error: import base failed: libhccl.so of CANN or its driver was not found  [",
        ),
        (
            "driver/lib64/driver",
            "error: import base failed: libhccl.so of CANN or its driver was not found  [",
        ),
    ],
)
def test_verify_without_an_npu_needs_libraries_on_disk(
    machine: Machine, folder: str, told: str
) -> None:
    for path, change in WITHOUT_CANN.items():
        changed(machine, path, change)
    if folder:
        (machine.ascend / folder).mkdir(parents=True)
        (machine.ascend / folder / "libhccl.so").write_bytes(b"")
    machine.changes = {"PATH": os.environ["PATH"]}
    assert told in machine.found()


def install_twice(site: Path) -> None:
    """Make a second distribution of base, which counts as installed like the first."""
    name, twin = "base-1.0.dist-info", "base-1.0.0.dist-info"
    shutil.copytree(site / name, site / twin)
    record = site / twin / "RECORD"
    record.write_text(record.read_text().replace(name, twin))


def test_verify_gives_commands_that_mend(machine: Machine) -> None:
    for destroy, told in (
        (lambda: install_twice(machine.site), "error: base is installed twice: "),
        ((machine.site / "base-1.0.dist-info" / "RECORD").unlink, ""),
        (
            lambda: machine.pip("install", "triton"),
            "error: triton, which is not in the lock, installs the same module ",
        ),
    ):
        destroy()
        found = machine.found()
        assert told in found
        command = (
            found.partition("   fix: ")[2].partition("\n")[0].replace("<root>", str(machine.root))
        )
        run = execute(machine.workspace, ["bash", "-c", command], **machine.environment)
        assert (run.status, run.stderr, GROUPS in run.stdout) == (0, "", True), run


# --- the command


def test_verify_status_of_wrong_commands(machine: Machine) -> None:
    assert machine.verify("--fulll").status == 2
    whys = {
        "<root>/no/such/python": "No such file or directory",
        "/bin/true": "it does not run as Python",
    }
    for python, why in whys.items():
        run = machine.verify("--python", python.replace("<root>", str(machine.root)))
        assert (run.status, run.stdout, run.error) == (2, "", f"{python} cannot be run: {why}")
    run = machine.verify("--python", "/bin/true", "--lang", "zh")
    assert run.stderr.startswith("错误：/bin/true 无法运行：它不是 Python\n提示：")
    machine.workspace.stack("demo", name="other")
    for arguments, error, hint in (
        (
            "demo --python /bin/true",
            "the environment's Python cannot be run",
            "make one: python3 -m venv env",
        ),
        ("demo --target there", "`demo` has no lock for there", "there are here"),
        ("other", "there is no lock of `other`", "ascend-lock lock other; or name"),
        ("dmo", "there is no lock of `dmo`", "did you mean `demo`?"),
        ("demo/serve", "there is no lock of `demo/serve`", "ascend-lock lock demo; or name"),
        ("other/serve", "there is no lock of `other/serve`", "ascend-lock lock other; or name"),
    ):
        run = machine.workspace.refused(error, "verify", *arguments.split())
        assert f"\nhint: {hint}" in run.stderr
    (machine.workspace.matrices / "stacks" / "other.toml").unlink()


def test_verify_takes_the_environment_that_sync_takes(machine: Machine) -> None:
    """It is ./env here. The environment that ascend-lock runs in is never judged."""
    workspace = machine.workspace
    ascend = ("--ascend", str(machine.ascend))
    changes = {**machine.environment, "VIRTUAL_ENV": "", "CONDA_PREFIX": ""}
    for option in ((), ("--python", "env"), ("--python", str(machine.python))):
        run = workspace.run("verify", "demo", *option, *ascend, **changes)
        assert (run.status, run.stdout, run.stderr) == (0, GROUPS, "")
    own = {"VIRTUAL_ENV": sys.prefix, "CONDA_PREFIX": sys.prefix}
    run = workspace.run("verify", "demo", *ascend, **{**changes, **own})
    assert (run.status, run.stdout, run.stderr) == (0, GROUPS, "")
    for python in (sys.prefix, sys.executable):
        run = workspace.run("verify", "demo", "--python", python, *ascend, **changes)
        assert (run.status, run.stdout) == (2, "")
        assert run.error == "ascend-lock itself runs in this environment"
        assert "\nhint: make one: python3 -m venv env" in run.stderr


def test_verify_checks_a_machine_before_an_installation(machine: Machine) -> None:
    words = ["verify", "demo", "--machine", "--ascend", str(machine.ascend)]
    run = machine.workspace.run(*words, **machine.environment)
    assert (run.status, run.stderr) == (0, "")
    shown = [line.split()[0] for line in run.stdout.splitlines() if line.startswith("  ")]
    assert shown == ["machine", "Python", "CANN", "driver", "SoC"]
    assert "<root>/env/bin/python" not in run.stdout
    shutil.rmtree(machine.ascend / "cann-8.5.0")
    missing = machine.workspace.run(*words, "--json", **machine.environment)
    assert (missing.status, missing.json["checks"]) == (1, "machine")


@pytest.mark.parametrize("option", [(), ("--python", "bin/python3.shim")])
def test_verify_checks_a_machine_whose_python_does_not_run(
    machine: Machine, option: tuple[str, ...]
) -> None:
    """A shim of pyenv is on PATH for each version, and fails if another one is active."""
    shims = machine.workspace.root / "bin"
    shims.mkdir(exist_ok=True)
    name = Path(option[1]).name if option else f"python{PYTHON_LINE}"
    shim = shims / name
    shim.write_text("#!/bin/sh\necho 'pyenv: command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    environment = {**machine.environment}
    environment["PATH"] = f"{shims}:{environment.get('PATH', os.environ['PATH'])}"
    words = ["verify", "demo", "--machine", "--ascend", str(machine.ascend), *option]
    run = machine.workspace.run(*words, "--lang", "zh", **environment)
    shim.unlink()
    assert (run.status, run.stderr) == (0, ""), run
    shown = [line.split()[0] for line in run.stdout.splitlines() if line.startswith("  ")]
    assert shown[:5] == ["机器", "Python", "CANN", "驱动（HDK）", "SoC"]
    assert f"警告：<root>/bin/{name} 无法运行，因此没有检查 Python" in run.stdout
    assert "pyenv: command not found" in run.stdout


def test_verify_says_that_nothing_is_installed(machine: Machine) -> None:
    empty = machine.root / "empty"
    make_environment(empty)
    run = machine.verify("--python", str(empty / "bin" / "python"))
    lines = [line.split(maxsplit=2) for line in run.stdout.splitlines()]
    for name in ("files", "starts"):
        assert [name, "ok", "not checked: nothing of the lock is installed"] in lines


def test_verify_prints_every_error_as_json(machine: Machine) -> None:
    for option, error in (
        (("--python", "/nope"), "the environment's Python cannot be run"),
        (("--python", "locks"), "the environment's Python cannot be run"),
        (("--python", sys.prefix), "ascend-lock itself runs in this environment"),
        (("--target", "there"), "`demo` has no lock for there"),
    ):
        run = machine.workspace.run("verify", "demo", "--json", *option, **machine.environment)
        assert (run.status, run.json["message"]) == (2, error)
    script = machine.workspace.folder() / "verify.py"
    before = script.read_text()
    script.write_text("import sys\nsys.exit('error: out of memory')\n")
    run = machine.workspace.run("verify", "demo", "--json", **machine.environment)
    script.write_text(before)
    assert (run.status, run.json["why"]) == (2, "error: out of memory")


def test_verify_takes_the_target_for_this_processor(machine: Machine) -> None:
    there = machine.workspace.locks / "demo" / "there"
    shutil.copytree(there.with_name("here"), there)
    lock = (there / "lock.toml").read_text().replace('name = "here"', 'name = "there"')
    other = lock.replace(
        f'"linux-{MACHINE}"', f'"linux-{"aarch64" if MACHINE == "x86_64" else "x86_64"}"'
    )
    command = ["verify", "demo", "--python", str(machine.python), "--ascend", str(machine.ascend)]
    runs = []
    for text in (lock, other):
        (there / "lock.toml").write_text(text)
        runs.append(machine.workspace.run(*command, **machine.environment))
    shutil.rmtree(there)
    assert runs[0].status == 2
    assert runs[0].stderr.endswith(
        "\n  at --target\nhint: choose this machine's target: here, there\n"
    )
    assert (runs[1].status, runs[1].stdout, runs[1].stderr) == (0, GROUPS, "")


@pytest.mark.parametrize(
    ("sink", "status", "error"),
    [
        ("| true", 0, ""),
        (">&-", 0, ""),
        (">/dev/full", 2, "error: the report cannot be written: No space left on device\n"),
    ],
)
def test_verify_report_that_cannot_be_written(
    machine: Machine, sink: str, status: int, error: str
) -> None:
    """A reader that leaves is no failure of ours."""
    script = machine.workspace.folder() / "verify.py"
    line = f"{machine.python} {script} --ascend {machine.ascend} {sink}"
    run = execute(machine.workspace, ["bash", "-c", line], **machine.environment)
    assert (run.status, run.stdout, run.stderr) == (status, "", error)


def test_verify_out_of_memory(machine: Machine) -> None:
    code = (
        "import importlib.util, sys\n"
        "spec = importlib.util.spec_from_file_location('verify', sys.argv[1])\n"
        "verify = importlib.util.module_from_spec(spec)\n"
        "sys.modules['verify'] = verify\n"
        "spec.loader.exec_module(verify)\n"
        "def checks(context):\n"
        "    raise MemoryError\n"
        "verify.checks = checks\n"
        "sys.exit(verify.run(verify.LOCK, sys.argv[1], []))\n"
    )
    script = str(machine.workspace.folder() / "verify.py")
    run = execute(
        machine.workspace,
        [str(machine.python), "-I", "-S", "-c", code, script],
        **machine.environment,
    )
    told = "error: out of memory\nhint: check `ulimit -v`, or a container's limit of memory\n"
    assert (run.status, run.stderr) == (2, told)


def test_verify_terminated_leaves_no_import_behind(machine: Machine) -> None:
    """torch_npu may take minutes to load."""
    noted = machine.root / "pid"
    module = machine.site / "_distutils_hack.py"
    module.write_text(
        f"{module.read_text()}import os, pathlib, time\n"
        "if not sys.flags.isolated and 'importlib' in ''.join(sys.orig_argv):\n"
        f"    pathlib.Path({str(noted)!r}).write_text(str(os.getpid()))\n"
        "    time.sleep(60)\n"
    )
    command = [
        str(machine.python),
        str(machine.workspace.folder() / "verify.py"),
        "--ascend",
        str(machine.ascend),
    ]
    with subprocess.Popen(
        command,
        env=environment(machine.workspace, **machine.environment),
        stdout=subprocess.DEVNULL,
        text=True,
    ) as process:
        wait_until(lambda: noted.exists() and noted.read_text() != "", process)
        process.terminate()
        assert process.wait(20) == 143
    end = time.monotonic() + 20
    while Path(f"/proc/{noted.read_text()}").exists():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_verify_killed_leaves_no_start_behind(machine: Machine, number: int) -> None:
    noted = machine.root / "pid"
    noted.unlink(missing_ok=True)
    (machine.site / "top.py").write_text(
        "import os, pathlib, time\n"
        f"pathlib.Path({str(noted)!r}).write_text(str(os.getpid()))\n"
        "time.sleep(60)\n"
    )
    command = [
        str(machine.python),
        str(machine.workspace.folder() / "verify.py"),
        "--ascend",
        str(machine.ascend),
    ]
    with subprocess.Popen(
        command,
        env=environment(machine.workspace, **machine.environment),
        stdout=subprocess.DEVNULL,
        text=True,
    ) as process:
        wait_until(lambda: noted.exists() and noted.read_text() != "", process)
        process.send_signal(number)
        assert process.wait(20) == (143 if number == signal.SIGTERM else -number)
    end = time.monotonic() + 20
    while Path(f"/proc/{noted.read_text()}").exists():
        assert time.monotonic() < end
        time.sleep(0.01)
