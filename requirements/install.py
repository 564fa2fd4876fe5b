"""Install what this project needs into the environment that runs this, by hash: `install.py self` or `self-dev`.

From the project's own lock for this machine and Python. Where there is none (macOS, an
older glibc, another Python), from run.txt or dev.txt here, which hold the files for any machine.
It runs before anything is installed, so it needs nothing but Python and pip.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GLIBC = (2, 28)  # of the targets in matrices/stacks/self.toml
FAILED = """\
error: pip could not install what this project needs into {prefix}
  at {path}
  Why is above; where pip found no version at all (`from versions: none`), it did not reach its index.
hint: look at `pip config list`, HTTPS_PROXY and NO_PROXY, then run make again"""
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
        command = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *options, "-r", path]
        if status := subprocess.run(command, check=False).returncode:  # noqa: S603
            print(FAILED.format(prefix=sys.prefix, path=path.relative_to(ROOT)), file=sys.stderr)  # noqa: T201
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
