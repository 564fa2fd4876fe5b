"""Code in another Python: what it tells, how it ends, and the command to try it; and which Python that may be."""

from __future__ import annotations

import platform
import subprocess
import sys
import sysconfig

import pytest

from resolver.verify.environment import check_python
from resolver.verify.findings import Asked, LockedStack
from resolver.verify.imports import run_python, shown_command


def asked(**variables: str) -> Asked:
    line = ".".join(map(str, sys.version_info[:2]))
    return Asked(LockedStack("demo", "here", "linux-x", line, "2.17", {}, {}, import_env=variables), "/lock", {})


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("tell({'seen': 1})", "exit status 0"),
        ("tell({'seen': 1}); sys.exit(3)", "exit status 3"),
        ("tell({'seen': 1}); sys.exit('it is\\nbroken')", "broken"),
        ("tell({'seen': 1}); os.kill(os.getpid(), 9)", "killed by SIGKILL"),
        ("tell({'seen': 1}); os.kill(os.getpid(), 42)", "killed by 42"),
        ("tell({'seen': 1}); os.write(2, b'no memory'); os.abort()", "killed by SIGABRT: no memory"),
    ],
)
def test_what_a_process_told_and_how_it_ended(code: str, error: str) -> None:
    assert run_python(asked(), code) == ([{"seen": 1}], error)


def test_the_command_that_is_shown_does_the_same() -> None:
    assert shown_command(asked(), "import a").split(" -c ") == [sys.executable, "'import a'"]
    command = shown_command(asked(B="it's 2", A="1"), "import os; print(os.environ['A'], os.environ['B'])")
    assert command.startswith("env A=1 B=")
    assert subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout == "1 it's 2\n"


@pytest.mark.parametrize(("implementation", "no_gil", "kind"), [("PyPy", 0, "PyPy"), ("CPython", 1, "free-threaded")])
def test_another_python_of_a_line(implementation: str, no_gil: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = sysconfig.get_config_var
    monkeypatch.setattr(platform, "python_implementation", lambda: implementation)
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: no_gil if name == "Py_GIL_DISABLED" else config(name))
    (finding,) = check_python(asked(), {}).findings
    assert finding.code == "python-differs"
    assert f"({kind}" in finding.values["found"]
