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
    pytest.mark.skipif(_PLAYBOOK is None or _SSHD is None, reason="needs ansible-core and sshd"),
]

NODES = ("node1", "node2", "node3")
_PLAYED = re.compile(r"^(node\d)\s+: ok=\d+\s+changed=(\d+)\s+unreachable=\d+\s+failed=(\d+)", re.M)


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
        settings = {
            "ANSIBLE_HOST_KEY_CHECKING": "False",
            "ANSIBLE_LOCAL_TEMP": str(self.root / "ansible"),
            "ANSIBLE_REMOTE_TEMP": str(self.root / "remote"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PIPELINING": "True",
            "HOME": str(self.root),
        }
        return subprocess.Popen(
            command,
            cwd=self.playbook,
            env={**os.environ, **settings},
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
