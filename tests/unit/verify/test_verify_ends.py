"""Where verify.py stops at once: on another machine, with another Python, in another environment."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from resolver.lock import file as lock_file
from resolver.report.verify import verify

REPOSITORY = Path(__file__).resolve().parents[3]
LINE = f"{sys.version_info[0]}.{sys.version_info[1]}"
SHARED = Path(sys.base_prefix) / "bin" / "python3"  # which is in no environment
FRESH = f"python{LINE} -m venv env && . env/bin/activate && bash <lock>/install.sh"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The program of the flagship's lock, as if it were for this machine."""
    (found,) = (REPOSITORY / "locks" / "verl-qwen3.5").glob("linux-aarch64-*")
    lock = lock_file.read(found)
    assert lock is not None
    text = re.sub(
        r'^"python": "[^"]*"', f'"python": "{LINE}"', verify(lock), count=1, flags=re.MULTILINE
    )
    text = text.replace('"platform": "linux-aarch64"', f'"platform": "linux-{platform.machine()}"')
    (tmp_path / "verify.py").write_text(text)
    return tmp_path


def change(folder: Path, old: str, new: str) -> None:
    path = folder / "verify.py"
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def run(folder: Path, *arguments: str, python: Path = SHARED) -> str:
    done = subprocess.run(
        [str(python), str(folder / "verify.py"), *arguments],
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    return done.stdout.replace(str(folder), "<lock>").replace(str(python), "<python>")


def ended_with(told: str, code: str) -> str:
    """What it says after a first line and the lines of groups, if that is of one finding alone."""
    findings = told.partition("\n\n")[2]
    assert re.findall(r"\[([a-z-]+)\]$", findings, re.MULTILINE) == [code]
    assert (
        "Nothing else was checked: any other difference would only follow from this one.\n"
        in findings
    )
    return findings


def test_with_another_python_and_on_another_processor(folder: Path) -> None:
    change(folder, f'"python": "{LINE}"', '"python": "3.99"')
    told = ended_with(run(folder), "python-differs")
    assert (
        "\n   fix: python3.99 -m venv env && . env/bin/activate && bash <lock>/install.sh\n" in told
    )
    assert run(folder, "--lang", "zh").splitlines()[3].split() == [
        "Python",
        "错误",
        "python-differs",
    ]
    change(folder, f'"platform": "linux-{platform.machine()}"', '"platform": "linux-m68k"')
    told = ended_with(run(folder), "processor-differs")
    assert (
        f'set platform = "linux-{platform.machine()}" in the stack\'s target and lock again\n'
        in told
    )


def test_in_no_environment(folder: Path) -> None:
    """What the machine's own Python has is nobody's to take away."""
    told = ended_with(run(folder), "environment-other")
    assert f"pass --python PATH; to install it: {FRESH}\n" in told
    assert "uninstall" not in told
    answer = json.loads(run(folder, "--json", "--skip-system-checks"))
    assert (answer["ended"], answer["wrong"]) == (True, 1)
    assert [group["name"] for group in answer["groups"]] == ["lock", "machine", "python"]


def test_what_is_missing_of_a_shared_python_is_mended_by_an_environment(folder: Path) -> None:
    """Few of a lock are missing there: all is looked at, and nothing is taken away."""
    head, _, rest = (folder / "verify.py").read_text().partition('"pins": [\n')
    pins = re.findall(r'^\{"name": "(?:numpy|torch)",.*?\}(?=,?$)', rest, re.MULTILINE)
    tail = rest[rest.index('],\n"texts"') :]
    (folder / "verify.py").write_text(head + '"pins": [\n' + ",\n".join(pins) + "\n" + tail)
    told = run(folder, "--skip-system-checks")
    assert "[python-shared]" in told
    assert "uninstall" not in told
    assert "rm -r" not in told
