"""A playbook that installs a lock on three nodes: real ansible-core, over three sshd on loopback.

It takes a minute, and needs programs that are not set up for the other tests: `make test-fleet`.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.functional.sources import add_backend, add_source, built_here
from tests.functional.workspace import HERE, Run, Workspace, wait_until
from tests.loopback import LoopbackIndex, delayed
from tests.unit.verify.test_verify_machine import CANN_FILES

_PLAYBOOK = shutil.which(
    "ansible-playbook", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}"
)
_SSHD = shutil.which("sshd", path=f"/usr/sbin:{os.environ['PATH']}")

pytestmark = [
    pytest.mark.fleet,
    pytest.mark.skipif(_PLAYBOOK is None, reason="needs ansible-core"),
]
_over_ssh = pytest.mark.skipif(_SSHD is None, reason="needs sshd")

NODES = ("node1", "node2", "node3")
_PLAYED = re.compile(r"^(node\d)\s+: ok=\d+\s+changed=(\d+)\s+unreachable=\d+\s+failed=(\d+)", re.M)


def settings(root: Path) -> dict[str, str]:
    """Return the variables of ansible."""
    return {
        **os.environ,
        "ANSIBLE_HOST_KEY_CHECKING": "False",
        "ANSIBLE_LOCAL_TEMP": str(root / "ansible"),
        "ANSIBLE_REMOTE_TEMP": str(root / "remote"),
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_PIPELINING": "True",
        "HOME": str(root),
    }


class Cluster:
    """Three nodes: each has an sshd, a folder and a toolkit of its own."""

    def __init__(self, workspace: Workspace, ports: dict[str, int]) -> None:
        self.workspace = workspace
        self.root = workspace.root
        self.playbook = self.root / "playbook"
        rows = [self._row(name, port) for name, port in ports.items()]
        (self.root / "inventory").write_text("\n".join(rows) + "\n")
        for name in ports:
            self.give_toolkit(name, "8.5.0")

    def _row(self, name: str, port: int) -> str:
        """Return the line of a node in the inventory."""
        variables = {
            "ansible_host": "127.0.0.1",
            "ansible_port": port,
            "ansible_user": getpass.getuser(),
            "ansible_ssh_private_key_file": self.root / "key",
            "ansible_python_interpreter": sys.executable,
            "ascend_lock_dir": self.root / name / "installed",
            "ascend_lock_python": sys.executable,
        }
        environment = {
            "ASCEND_HOME_PATH": str(self.toolkit(name)),
            "PIP_INDEX_URL": self.workspace.index.url,
            "TMPDIR": str(self.root / "temporary"),
        }
        told = [f"{key}={value}" for key, value in variables.items()]
        return f"{name} {' '.join(told)} ascend_lock_environment='{json.dumps(environment)}'"

    def toolkit(self, name: str) -> Path:
        return self.root / name / "cann"

    def give_toolkit(self, name: str, version: str) -> None:
        """Install the version files of a toolkit on a node."""
        for path, text in CANN_FILES.items():
            file = self.toolkit(name) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace("8.5.0", version))

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the playbook."""
        command = [str(_PLAYBOOK), "-i", str(self.root / "inventory"), "site.yml", *arguments]
        return subprocess.Popen(
            command,
            cwd=self.playbook,
            env=settings(self.root),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def play(self, *arguments: str) -> Run:
        """Run the playbook to its end."""
        process = self.begin(*arguments)
        output, _ = process.communicate(timeout=900)
        return Run(process.returncode, output, "")

    def kill_while_installing(self) -> None:
        """Start the playbook, and kill it and all it started when a node downloads its lock."""
        index = self.workspace.index
        index.clear()
        index.fault("/files/*/base*", delayed(60), times=len(NODES))
        process = self.begin()
        wait_until(lambda: any("/base-1.0" in asked.path for asked in index.requests), process, 900)
        process.kill()
        process.communicate()
        for program in ("installed/lock/install.sh", "installed/env-.*/bin/python"):
            subprocess.run(["pkill", "-9", "-f", f"{self.root}/node[0-9]/{program}"], check=False)

    def fleet(self, folder: str = "reports") -> Run:
        return self.workspace.run("fleet", str(self.playbook / folder))


@pytest.fixture
def cluster(workspace: Workspace, index: LoopbackIndex) -> Iterator[Cluster]:
    """The nodes, and a playbook for a lock of a wheel and of what is built for the machine."""
    add_backend(index)
    add_source(index, "apart", "1.0")
    workspace.serve("base 1.0")
    workspace.facts("apart", built_here(isolation=True))
    target = HERE + '[target.system]\ncann = "8.5.0"\n'
    workspace.locked_stack("apart", "base", target=target)
    key = workspace.root / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    with ExitStack() as stack:
        ports = {name: _start_sshd(stack, workspace.root, name) for name in NODES}
        made = Cluster(workspace, ports)
        run = workspace.run("export", "demo", "--format", "ansible", "-o", "playbook")
        assert (run.status, run.stderr) == (0, "")
        yield made


def _start_sshd(stack: ExitStack, root: Path, name: str) -> int:
    """Start the sshd of a node, end it with the stack, and return its port."""
    folder = root / name
    folder.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    host_key = folder / "host_key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(host_key)], check=True)
    options = {
        "ListenAddress": "127.0.0.1",
        "Port": port,
        "HostKey": host_key,
        "AuthorizedKeysFile": root / "key.pub",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PermitRootLogin": "yes",
        "PasswordAuthentication": "no",
        "Subsystem": "sftp internal-sftp",
    }
    command = [str(_SSHD), "-D", "-f", "/dev/null"]
    for option, value in options.items():
        command += ["-o", f"{option}={value}"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, text=True)
    stack.callback(process.wait)
    stack.callback(process.terminate)
    wait_until(lambda: _answers(port), process)
    return port


def _answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def played(run: Run) -> dict[str, tuple[int, int]]:
    """How many tasks changed something on each node, and how many failed."""
    return {
        name: (int(changed), int(failed)) for name, changed, failed in _PLAYED.findall(run.stdout)
    }


@_over_ssh
def test_ansible_installs_a_lock_on_every_node(cluster: Cluster) -> None:
    """A node with another toolkit stops all before a change; a killed run is taken up again."""
    cluster.give_toolkit("node2", "8.3.RC1")
    run = cluster.play()
    assert run.status != 0
    assert "CANN is 8.3.RC1, but the lock is for 8.5.0" in run.stdout
    assert {name: changed for name, (changed, _) in played(run).items()} == dict.fromkeys(NODES, 0)
    assert not list(cluster.root.glob("node*/installed"))
    checked = cluster.fleet("reports/check")
    assert checked.status == 1
    assert "8.3.RC1*" in checked.stdout

    cluster.give_toolkit("node2", "8.5.0")
    cluster.kill_while_installing()
    run = cluster.play()
    assert run.status == 0, run.stdout
    assert all(failed == 0 for _, failed in played(run).values())
    built = [
        name for name in NODES if (cluster.root / name / "installed/built/built.toml").exists()
    ]
    assert built == list(NODES), "one node builds, the others get its wheel"
    archives = [
        request for request in cluster.workspace.index.requests if ".tar.gz" in request.path
    ]
    assert archives, "it was built"

    again = cluster.play()
    assert played(again) == dict.fromkeys(NODES, (0, 0)), again.stdout
    fleet = cluster.fleet()
    assert (fleet.status, fleet.stdout.splitlines()[0]) == (0, "3 nodes: all alike, and as locked")


def codes_of(cluster: Cluster, folder: str = "reports") -> dict[str, list[str]]:
    """Return the codes of the findings of each node that `fleet` reads."""
    found = cluster.workspace.run("fleet", str(cluster.playbook / folder), "--json").json
    codes = {}
    for group in found["groups"]:
        for name in group["nodes"]:
            codes[name] = [finding["code"] for finding in group["findings"]]
    return codes


@_over_ssh
def test_ansible_reports_what_is_so_today(cluster: Cluster) -> None:
    """A report of an earlier run is of no node that did not run, differs, or is no more."""
    as_locked = {"schema": 1, "stack": "demo", "target": "here", "groups": []}
    for folder in ("reports", "reports/check"):
        (cluster.playbook / folder).mkdir()
        for name in (*NODES, "node4"):
            (cluster.playbook / folder / f"{name}.json").write_text(json.dumps(as_locked))
    cluster.give_toolkit("node2", "8.3.RC1")
    assert cluster.play().status != 0
    assert codes_of(cluster) == {name: ["report-missing"] for name in NODES}
    assert codes_of(cluster, "reports/check") == {
        "node1": [],
        "node2": ["cann-differs"],
        "node3": [],
    }
    assert "reports/check says which machine" in " ".join(cluster.fleet().stdout.split())
    assert (cluster.playbook / "reports/removed/node4.json").exists()

    cluster.give_toolkit("node2", "8.5.0")
    run = cluster.play("--check")
    assert run.status == 0, run.stdout
    assert codes_of(cluster) == {name: ["install-failed"] for name in NODES}
    assert not list(cluster.root.glob("node*/installed"))

    run = cluster.play()
    assert run.status == 0, run.stdout
    (started,) = cluster.root.glob("node1/installed/env-*/lib/python*/site-packages")
    (started / "sitecustomize.py").write_text("x = 1\n")
    (replaced,) = cluster.root.glob("node2/installed/env-*/lib/python*/site-packages/base.py")
    replaced.write_text("y = 1\n")
    differing = {"node1": ["startup-extra"], "node2": ["file-changed"], "node3": []}
    run = cluster.play("--check")
    assert run.status != 0
    assert codes_of(cluster) == differing
    assert {name: changed for name, (changed, _) in played(run).items()} == dict.fromkeys(NODES, 0)
    assert replaced.read_text() == "y = 1\n"
    shown = " ".join(cluster.fleet().stdout.split())
    assert "bash <root>/node2/installed/lock/install.sh" in shown

    replaced.with_name("base-1.0.dist-info").joinpath("RECORD").unlink()
    (note,) = cluster.root.glob(
        "node3/installed/env-*/lib/python*/site-packages/base-*/ascend-lock.txt"
    )
    note.unlink()
    run = cluster.play()
    assert run.status != 0
    assert {name: failed for name, (_, failed) in played(run).items()}["node3"] == 0, run.stdout
    assert "base-1.0.dist-info, which lacks the list of its files" in run.stdout
    assert "installs again base 1.0" in run.stdout
    assert codes_of(cluster) == {"node1": ["startup-extra"], "node2": [], "node3": []}

    run = cluster.play("--limit", "node2", "-e", "ascend_lock_builder=node1")
    assert run.status == 0, run.stdout


@_over_ssh
def test_ansible_checks_its_inputs_first(cluster: Cluster) -> None:
    """What is given is looked at before a node is changed, and is said by name."""
    made = cluster.root / "bundle"
    made.mkdir()
    cases = {
        "ascend_lock_bundle=bundle": "ascend_lock_bundle is `bundle`",
        f"ascend_lock_bundle={cluster.root}/nowhere": "there is no bundle.json in",
        f"ascend_lock_mounted_bundle={cluster.root}/nowhere": "on node1",
        f"ascend_lock_bundle={made}": "it lacks base==1.0; make the bundle again",
    }
    (made / "bundle.json").write_text('{"format": 1, "locks": [], "files": [], "texts": []}')
    for given, said in cases.items():
        run = cluster.play("-e", given)
        assert run.status != 0, given
        assert said in " ".join(run.stdout.split()), run.stdout
        assert not list(cluster.root.glob("node*/installed"))


# --- a node that lies

# What it says in place of a report: escapes, and what ansible would take for a template.
_SAID = "\x1b]0;pwned\x07 \u202e \x9b31m {{ lookup('pipe', 'touch MARKER') }}"
# The bash of the node. It says nothing true, and keeps what it was given.
_BASH = """\
#!{python}
import json, os, sys

words = " ".join(sys.argv[1:])
if "install.sh" not in words and "verify.py" not in words:
    os.execv("/bin/bash", ["bash", *sys.argv[1:]])
with open({given!r}, "a") as file:
    file.write(sys.stdin.read())
said = {said!r}
if "install.sh" in words:
    print(said)
    sys.stderr.write(said + "x" * {size})
    sys.exit({status})
finding = dict(code="c", state="fine", what=said + "x" * {size}, mend="")
print(json.dumps(dict(schema=1, stack=said, target="", groups=[dict(findings=[finding])]), ensure_ascii=False))
"""
# Its Python, which runs ansible's modules: it makes up which wheels there are.
_INTERPRETER = """\
#!{python}
import json, os, sys

module = sys.stdin.buffer.read() if len(sys.argv) == 1 else b""
if not any("AnsiballZ_find" in word for word in sys.argv) and b"AnsiballZ_find" not in module:
    if len(sys.argv) > 1:
        os.execv({python!r}, [{python!r}, *sys.argv[1:]])
    import subprocess
    sys.exit(subprocess.run([{python!r}], input=module).returncode)
print(json.dumps(dict(changed=False, matched=9, examined=9, msg="", files={files})))
"""
_VARIABLES = {"PIP_INDEX_URL": "https://me:hunter2@index.example/simple", "ODD": "it's\n$(x) `y`"}


class Liar:
    """A node, reached without ssh, whose programs say what they like."""

    def __init__(self, workspace: Workspace, *, status: int = 0, size: int = 0) -> None:
        self.root = workspace.root
        self.marker = self.root / "marker"
        self.given = self.root / "given"
        self._folder = self.root / "liar"
        tools = self.root / "tools"
        tools.mkdir()
        said = _SAID.replace("MARKER", str(self.marker))
        self._program(
            tools / "bash", _BASH, given=str(self.given), said=said, size=size, status=status
        )
        self._program(tools / "interpreter", _INTERPRETER, files=self._wheels())
        variables = {
            "ansible_connection": "local",
            "ansible_python_interpreter": tools / "interpreter",
            "ascend_lock_dir": self._folder,
            "ascend_lock_python": sys.executable,
        }
        row = " ".join(f"{name}={value}" for name, value in variables.items())
        (self.root / "inventory").write_text(f"liar {row}\n")
        (self.root / "more.json").write_text(json.dumps({"ascend_lock_environment": _VARIABLES}))

    def _program(self, path: Path, text: str, **values: object) -> None:
        path.write_text(text.format(python=sys.executable, **values))
        path.chmod(0o755)

    def _wheels(self) -> list[dict[str, object]]:
        """Make the node's files, and return what it says of them."""
        built = self._folder / "built"
        folder = built / ("0" * 16)
        folder.mkdir(parents=True)
        outside = self.root / "outside.whl"
        names = {"good-1-py3-none-any.whl": 1, "huge-1-py3-none-any.whl": 9 << 30}
        for path in (outside, *(folder / name for name in names)):
            path.write_text("a wheel")
        paths = {
            **{str(folder / name): size for name, size in names.items()},
            f"{built}/../../outside.whl": 1,
            f"{folder}/../../../outside.whl": 1,
            f"{folder}/\x1b[31m\u202e.whl": 1,
            "/etc/hostname": 1,
        }
        return [{"path": path, "size": size} for path, size in paths.items()]

    def play(self, *arguments: str) -> Run:
        """Run the playbook."""
        more = ["-e", f"@{self.root / 'more.json'}", *arguments]
        done = subprocess.run(
            [str(_PLAYBOOK), "-i", str(self.root / "inventory"), "site.yml", *more],
            cwd=self.root / "playbook",
            env={
                **settings(self.root),
                "PATH": f"{self.root / 'tools'}:{os.environ['PATH']}",
                "ANSIBLE_PIPELINING": "False",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        return Run(done.returncode, done.stdout, "")


@pytest.fixture
def exported(workspace: Workspace) -> Workspace:
    """A playbook for a lock of a wheel and of what is built for the machine."""
    add_backend(workspace.index)
    add_source(workspace.index, "apart", "1.0")
    workspace.serve("base 1.0")
    workspace.facts("apart", built_here(isolation=True))
    workspace.locked_stack("apart", "base", target=HERE)
    run = workspace.run("export", "demo", "--format", "ansible", "-o", "playbook")
    assert (run.status, run.stderr) == (0, "")
    return workspace


def require_harmless(liar: Liar, run: Run) -> None:
    """Assert that a terminal acts on nothing of the output, and that no password is in it."""
    assert [char for char in "\x1b\x07\x9b\u202e" if char in run.stdout] == []
    assert "hunter2" not in run.stdout
    assert not liar.marker.exists()


def test_ansible_fetches_only_wheels_below_their_folder(exported: Workspace) -> None:
    liar = Liar(exported)
    run = liar.play()
    assert run.status == 0, run.stdout
    require_harmless(liar, run)
    playbook = liar.root / "playbook"
    built = [str(path.relative_to(playbook)) for path in playbook.rglob("*.whl")]
    assert built == [f"built/{'0' * 16}/good-1-py3-none-any.whl"]
    assert not (playbook / "outside.whl").exists()
    fleet = exported.run("fleet", str(playbook / "reports"))
    assert [char for char in "\x1b\x07\x9b\u202e" if char in fleet.stdout] == []


def test_ansible_cuts_what_a_node_says(exported: Workspace) -> None:
    liar = Liar(exported, size=6_000_000)
    run = liar.play()
    assert run.status == 0, run.stdout[-3000:]
    for report in liar.root.glob("playbook/reports/**/*.json"):
        assert 4_194_304 < report.stat().st_size < 4_300_000, report
    fleet = exported.run("fleet", str(liar.root / "playbook" / "reports"))
    assert "cannot be read" in fleet.stdout + fleet.stderr, fleet


@pytest.mark.parametrize("verbosity", ["-v", "-vvvvv"])
def test_ansible_shows_no_variable_of_the_environment(exported: Workspace, verbosity: str) -> None:
    """Neither where the installation fails: what was said is shown then."""
    liar = Liar(exported, status=1)
    run = liar.play(verbosity)
    assert run.status != 0
    require_harmless(liar, run)
    assert "Fail with what was said last" in run.stdout
    shown = subprocess.run(
        ["bash", "-c", '. "$1"; printf "%s\\0" "$PIP_INDEX_URL" "$ODD"', "-", str(liar.given)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    assert shown.split("\0")[:2] == [*_VARIABLES.values()]
