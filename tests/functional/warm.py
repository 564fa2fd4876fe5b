"""The command without starting an interpreter: a process that has imported everything forks for each run.

Two thirds of the third of a second of a small lock are imports. A run is still a separate process that runs the
installed script, with its own folder, variables, streams and status. What an interpreter reads at its start cannot be
changed in a fork (see `takes`). tests/functional/test_processes.py compares these runs with those of the script alone.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

_SECONDS: Final = 60.0
_AT_START: Final = ("PYTHON", "LANG", "LC_", "LD_", "MALLOC_", "OPENSSL_")

_SERVER: Final = """
import gc, importlib, json, os, pkgutil, runpy, socket, sys
from pathlib import Path

import resolver
from resolver.report.template import environment

for name in sys.argv[2:]:
    importlib.import_module(name)
for module in pkgutil.walk_packages(resolver.__path__, "resolver."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
for name in environment().list_templates():
    environment().get_template(name)
sys.path[0] = str(Path(sys.executable).parent)  # as it is for the script
gc.collect()
gc.freeze()
asked = socket.socket(fileno=int(sys.argv[1]))
while True:
    message, streams, _, _ = socket.recv_fds(asked, 1 << 20, 3)
    if not message:
        asked.close()
        sys.exit()
    child = os.fork()
    if not child:
        break
    for stream in streams:
        os.close(stream)
    asked.send(b"%d" % child)
    asked.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

asked.close()
for number, stream in enumerate(streams):
    os.dup2(stream, number)
    os.close(stream)
order = json.loads(message)
del message, asked
os.chdir(order["folder"])
os.environ.clear()
os.environ.update(order["environment"])
sys.argv = order["command"]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class WarmCommand:
    """Runs a script, one run at a time; started with the variables common to all runs.

    `imports` are modules that the script needs besides the command's.
    """

    def __init__(self, script: Path, environment: Mapping[str, str], imports: Sequence[str] = ()) -> None:
        self._script = script
        self._start = _read_at_start(environment)
        self._one = threading.Lock()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._server = subprocess.Popen(
                [sys.executable, "-c", _SERVER, str(theirs.fileno()), *imports],
                env=dict(environment),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self._socket.settimeout(_SECONDS)

    def __enter__(self) -> WarmCommand:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def takes(self, environment: Mapping[str, str]) -> bool:
        """Whether a run with these variables is the same as that of the script alone."""
        return _read_at_start(environment) == self._start

    def run(self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> tuple[int, str, str]:
        """Status, stdout and stderr of one run.

        Raises:
            TimeoutError: after a minute; it is killed then.
        """
        order = {"command": [str(self._script), *arguments], "folder": str(folder), "environment": dict(environment)}
        with (
            self._one,
            Path(os.devnull).open("rb") as stdin,
            tempfile.TemporaryFile() as stdout,
            tempfile.TemporaryFile() as stderr,
        ):
            streams = [stdin.fileno(), stdout.fileno(), stderr.fileno()]
            socket.send_fds(self._socket, [json.dumps(order).encode()], streams)
            child = int(self._socket.recv(32))
            try:
                status = int(self._socket.recv(32))
            except TimeoutError:
                os.kill(child, signal.SIGKILL)
                self._socket.recv(32)
                raise
            return status, _text(stdout), _text(stderr)

    def close(self) -> None:
        """End the process that forks."""
        self._socket.close()
        self._server.wait()


def _read_at_start(environment: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_AT_START)}


def _text(stream: tempfile._TemporaryFileWrapper[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode("utf-8")
