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
    text = re.sub(r'^"python": "[^"]*"', f'"python": "{LINE}"', verify(lock), count=1, flags=re.MULTILINE)
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


def test_on_another_processor(folder: Path) -> None:
    change(folder, f'"platform": "linux-{platform.machine()}"', '"platform": "linux-m68k"')
    assert run(folder) == (
        "verl-qwen3.5 for linux-aarch64-py311-cann8.5.0-a2\n"
        "  machine        ERROR    processor-differs\n"
        "\n"
        f"error: this machine is {platform.machine()}, but the lock is for m68k  [processor-differs]\n"
        "   why: the lock's compiled files run only on m68k\n"
        "   fix: run this on the machine that the lock is for, or "
        f'set platform = "linux-{platform.machine()}" in the stack\'s target and lock again\n'
        "\n"
        "Nothing else was checked: any other difference would only follow from this one.\n"
        "differs from the lock (errors: 1, warnings: 0)\n"
    )


def test_with_another_python(folder: Path) -> None:
    change(folder, f'"python": "{LINE}"', '"python": "3.99"')
    lines = run(folder, "--lang", "zh").splitlines()
    assert [line.split() for line in lines[1:3]] == [
        ["机器", "正常", lines[1].split(maxsplit=2)[2].split()[0], *lines[1].split()[3:]],
        ["Python", "错误", "python-differs"],
    ]
    assert lines[4:] == [
        f"错误：<python> 是 Python {platform.python_version()}，而锁文件面向 3.99  [python-differs]",
        "  原因：含编译模块的 wheel 只适用于一个 CPython 版本",
        "  修复：python3.99 -m venv env && . env/bin/activate && bash <lock>/install.sh",
        "",
        "其余未检查：它们只会是由此引起的后果。",
        "与锁文件不一致（错误：1，警告：0）",
    ]


def test_in_no_environment(folder: Path) -> None:
    """What the machine's own Python has is nobody's to take away."""
    text = run(folder)
    assert "uninstall" not in text
    assert re.sub(r"has \d+ of", "has N of", text).partition("\n\n")[2] == (
        "error: <python> has N of the lock's 216 distributions  [environment-other]\n"
        "   why: this is not the environment that install.sh installed into, or the installation did not finish\n"
        "   fix: activate that environment, or pass --python PATH; to install it: " + FRESH + "\n"
        "\n"
        "Nothing else was checked: any other difference would only follow from this one.\n"
        "differs from the lock (errors: 1, warnings: 0)\n"
    )
    told = json.loads(run(folder, "--json", "--skip-system-checks"))
    assert (told["ended"], told["wrong"], [group["name"] for group in told["groups"]]) == (
        True,
        1,
        ["machine", "python"],
    )


def test_in_an_empty_environment_it_names_install(folder: Path, tmp_path: Path) -> None:
    subprocess.run([str(SHARED), "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    python = tmp_path / "env" / "bin" / "python"
    assert (
        "<python> has 0 of the lock's 216 distributions  [environment-other]\n"
        "   why: this is not the environment that install.sh installed into, or the installation did not finish\n"
        "   fix: activate that environment, or pass --python PATH; to install it: bash <lock>/install.sh "
        "--python <python>\n"
    ) in run(folder, python=python).replace("<lock>/env/bin/python", "<python>")


def test_what_is_missing_of_a_shared_python_is_mended_by_an_environment(folder: Path) -> None:
    """Few of a lock are missing there: all is looked at, and nothing is taken away."""
    text = (folder / "verify.py").read_text()
    head, _, rest = text.partition('"pins": [\n')
    pins = re.findall(r'^\{"name": "(?:numpy|torch)",.*?\}(?=,?$)', rest, re.MULTILINE)
    tail = rest[rest.index('],\n"texts"') :]
    (folder / "verify.py").write_text(head + '"pins": [\n' + ",\n".join(pins) + "\n" + tail)
    told = run(folder, "--skip-system-checks")
    assert "[python-shared]" in told
    assert "uninstall" not in told
    assert "rm -r" not in told
