"""`pip check`, without the complaints that the lock's facts expect."""

from __future__ import annotations

import re
import subprocess
import sys

from resolver.verify.distributions import canonical_name, canonical_version, same_version
from resolver.verify.finding import Finding, Group
from resolver.verify.locked import Asked

_SECONDS_OF_PIP = 300
_COMPLAINT = re.compile(r"(\S+) (\S+) (?:requires ([A-Za-z0-9._-]+)|has requirement ([A-Za-z0-9._-]+))")


def check_requirements(asked: Asked) -> Group:
    """Whether every distribution has what it asks for.

    Without PYTHONPATH, on which CANN puts distributions of its own that pip cannot judge.
    """
    environ = {key: value for key, value in asked.environ.items() if not key.startswith("PIP_")}
    command = [sys.executable, "-I", "-m", "pip", "--disable-pip-version-check", "check"]
    try:
        done = subprocess.run(  # noqa: S603  the environment's own pip
            command,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS_OF_PIP,
            check=False,
        )
        complaints = done.stdout.decode("utf-8", "replace").splitlines()
        errors = done.stderr.decode("utf-8", "replace").strip().splitlines()
    except (OSError, subprocess.SubprocessError) as error:
        return _failed(asked, str(error))
    if any(line.endswith("No module named pip") for line in errors):
        return Group("requirements", (Finding("pip-missing", {"python": asked.python}),), "", {})
    findings: list[Finding] = []
    expected = 0
    for line in complaints:
        if _expected(asked, line):
            expected += 1
        elif line.strip() and not line.startswith("No broken requirements found"):
            findings.append(Finding("requirement-broken", {"complaint": line.strip(), "install": asked.install}))
    if done.returncode not in (0, 1) or (done.returncode == 1 and not complaints):
        return _failed(asked, errors[-1] if errors else f"exit status {done.returncode}")
    note = "requirements-but" if expected else "requirements"
    return Group("requirements", tuple(findings), note, {"count": str(expected)})


def _failed(asked: Asked, error: str) -> Group:
    return Group("requirements", (Finding("pip-failed", {"error": error, "python": asked.python}),), "", {})


def _expected(asked: Asked, line: str) -> bool:
    match = _COMPLAINT.match(line)
    if match is None:
        return False
    package, version, name = canonical_name(match[1]), canonical_version(match[2]), canonical_name(match[3] or match[4])
    return any((package, name) == (row[0], row[2]) and same_version(version, row[1]) for row in asked.lock.overrides)
