"""Start pip as install.sh does, before anything is installed.

Usage: `python requirements/pip.py install …`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from resolver.pip import RefusedAddressError, pip_environment

if __name__ == "__main__":
    try:
        environment = pip_environment(sys.executable, os.environ)
    except (OSError, subprocess.CalledProcessError):
        program = f"{sys.executable} -m pip"
        sys.exit(f"error: `{program}` does not run; `{program} config debug` says why")
    except RefusedAddressError as error:
        sys.exit(f"error: pip's {error}")
    os.execve(sys.executable, [sys.executable, "-I", "-m", "pip", *sys.argv[1:]], environment)  # noqa: S606
