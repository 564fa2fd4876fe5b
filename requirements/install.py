"""Install this project, and by hash what it needs, into the environment that runs it: `install.py self` or `self-dev`.

From the project's own lock for this machine and Python. Where there is none (macOS, an
older glibc, another Python), from run.txt or dev.txt here, which hold the files for any machine.
It runs before anything is installed, so it needs nothing but Python and pip.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GLIBC = (2, 28)  # of the targets in matrices/stacks/self.toml
FAILED = """\
error: pip could not install what this project needs into {prefix}
  at {path}
  Why is above; where pip found no version at all (`from versions: none`), it did not reach its index.
hint: look at `pip config list`, HTTPS_PROXY and NO_PROXY, then run make again"""
PIP = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
UNIVERSAL = {"self": "run.txt", "self-dev": "dev.txt"}


def lock_folder(stack: str, system: str, machine: str, libc: tuple[str, str], python: tuple[int, int]) -> Path | None:
    """The folder of the lock for a machine, or None."""
    folder = ROOT / "locks" / stack / f"{system.lower()}-{machine}-py{python[0]}{python[1]}"
    try:
        old = libc[0] != "glibc" or tuple(map(int, libc[1].split("."))) < GLIBC
    except ValueError:
        old = True
    return folder if not old and (folder / "requirements.txt").is_file() else None


def files(stack: str, folder: Path | None) -> list[Path]:
    """The requirements files to install one after the other: the tools of source builds come first."""
    if folder is None:
        return [ROOT / "requirements" / UNIVERSAL[stack]]
    tools = folder / "build-requirements.txt"
    return [*([tools] if tools.is_file() else []), folder / "requirements.txt"]


def begin_at_site(site: Path) -> None:
    """Let the editable installation's .pth file name this folder from its own, if the environment is in this folder.

    Python 3.11 decodes such files as the locale says, UTF-8 mode or not, and does not start where that fails:
    with LC_ALL=C, if the path has a letter that is not ASCII.
    """
    site = site.resolve()
    if site.is_relative_to(ROOT):
        for file in site.glob("__editable__.ascend_lock-*.pth"):
            file.write_text(f"{os.path.relpath(ROOT, site)}\n", encoding="ascii")


def main(stack: str) -> int:
    """Run pip; its own settings (index, proxy, certificate) apply."""
    system, machine, python = platform.system(), platform.machine(), sys.version_info[:2]
    folder = lock_folder(stack, system, machine, platform.libc_ver(), python)
    if folder is None:
        where = f"{system} {machine} with Python {python[0]}.{python[1]}"
        told = f"there is no lock of {stack} for {where}: installing from requirements/{UNIVERSAL[stack]}"
        print(told, file=sys.stderr)  # noqa: T201
    # Without isolation builds use what was installed by hash; pip would fetch their tools without.
    options = ["--require-hashes", "--no-deps", *(["--no-build-isolation"] if folder else [])]
    for path in files(stack, folder):
        if status := subprocess.run([*PIP, *options, "-r", path], check=False).returncode:  # noqa: S603
            print(FAILED.format(prefix=sys.prefix, path=path.relative_to(ROOT)), file=sys.stderr)  # noqa: T201
            return status
    command = [*PIP, "--no-build-isolation", "--no-deps", "-e", ROOT]
    status = subprocess.run(command, check=False).returncode  # noqa: S603
    begin_at_site(Path(sysconfig.get_path("purelib")))
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
