"""verify.py ends at once on another machine, with another Python and in another environment."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from resolver.lock import file as lock_file
from resolver.report.verify import verify

REPOSITORY = Path(__file__).resolve().parents[3]
LINE = f"{sys.version_info[0]}.{sys.version_info[1]}"
# A Python in no environment.
SHARED = Path(sys.base_prefix) / "bin" / "python3"
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


# What the checks of the components say on a machine without any.
COMPONENTS = ("cann-inactive", "soc-unknown")


def ending_finding(output: str, code: str, others: Collection[str] = ()) -> str:
    """Return what the output says of its findings: the one that ended the checks, and others."""
    findings = output.partition("\n\n")[2]
    codes = re.findall(r"\[([a-z-]+)\]$", findings, re.MULTILINE)
    assert sorted(codes) == sorted([code, *others])
    assert (
        f"Nothing was checked after [{code}], because further results depend on it.\n" in findings
    )
    return findings


def test_verify_ends_at_another_python_or_processor(folder: Path) -> None:
    change(folder, f'"python": "{LINE}"', '"python": "3.99"')
    output = ending_finding(run(folder), "python-differs", COMPONENTS)
    assert (
        "\n   fix: python3.99 -m venv env && . env/bin/activate && bash <lock>/install.sh\n"
        in output
    )
    lines = run(folder, "--lang", "zh").splitlines()
    assert ["Python", "错误", "版本不同"] in [line.split() for line in lines]
    change(folder, f'"platform": "linux-{platform.machine()}"', '"platform": "linux-m68k"')
    output = ending_finding(run(folder), "processor-differs")
    assert (
        f'set platform = "linux-{platform.machine()}" in the stack\'s target and lock again\n'
        in output
    )


def test_verify_ends_in_a_shared_python(folder: Path) -> None:
    """Nothing is to be removed from the machine's own Python."""
    output = ending_finding(run(folder), "environment-other", COMPONENTS)
    assert f"pass --python PATH; to install it: {FRESH}\n" in output
    assert "uninstall" not in output
    report = json.loads(run(folder, "--json", "--skip-system-checks"))
    assert (report["ended"], report["wrong"]) == (True, 1)
    # The machine is checked before the environment, so its differences are told, too.
    names = [group["name"] for group in report["groups"]]
    assert names == ["lock", "machine", "cann", "hdk", "soc", "python"]


def without_time(report: str) -> str:
    """Return a report without the time at which it was made."""
    rest, count = re.subn(r'"time": "20[0-9-]{8}T[0-9:]{8}Z",', "", report)
    assert count == 1, report
    return rest


def test_verify_imports_no_module_of_its_folder_or_path(folder: Path) -> None:
    """Not even `__future__`, which is a file, too."""
    expected = without_time(run(folder, "--json"))
    imported = set(
        re.findall(r"(?m)^(?:import|from) ([a-z_]+)", (folder / "verify.py").read_text())
    )
    path = folder / "path"
    for name in {*imported, "__future__", "posix", "ntpath"}:
        for place in (folder, path):
            place.mkdir(exist_ok=True)
            # Python itself imports others from PYTHONPATH as it starts, before this program
            if place == folder or name in {"__future__", "argparse", "shlex"}:
                (place / f"{name}.py").write_text(
                    f"import sys; sys.stderr.write('{name} of {place.name}')\n"
                )
    assert without_time(run(folder, "--json")) == expected
    done = subprocess.run(
        [str(SHARED), "../verify.py", "--json"],
        cwd=path,
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONPATH": ":"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    # the process that imports what is to be tried has no folder of this program on its path
    done = subprocess.run(
        [str(SHARED), str(folder / "verify.py"), "--start"],
        input='{"preload": [], "targets": ["json"], "seconds": 9, "workers": 1}',
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr, "/json/__init__.py" in done.stdout) == (0, "", True)


def test_verify_removes_nothing_from_a_shared_python(folder: Path) -> None:
    """As few distributions are missing, all checks are made."""
    head, _, rest = (folder / "verify.py").read_text().partition('"pins": [\n')
    pins = re.findall(r'^\{"name": "(?:numpy|torch)",.*?\}(?=,?$)', rest, re.MULTILINE)
    tail = rest[rest.index('],\n"texts"') :]
    (folder / "verify.py").write_text(head + '"pins": [\n' + ",\n".join(pins) + "\n" + tail)
    output = run(folder, "--skip-system-checks")
    assert "[python-shared]" in output
    assert "uninstall" not in output
    assert "rm -r" not in output
