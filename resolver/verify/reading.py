"""Files that others wrote, and what programs answer: each may be missing, cut short or no text at all."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Mapping, Sequence

_LONGEST_FILE = 1 << 20
_SECONDS = 60


class UnreadableError(Exception):
    """A file that is there and cannot be read, or says nothing that makes sense."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, why)
        self.path = path
        self.why = why

    @property
    def values(self) -> dict[str, str]:
        """As a finding names it."""
        return {"path": self.path, "why": self.why}


def read_text(path: str) -> str | None:
    """The text of a small file; None where there is none."""
    try:
        content = read_bytes(path, _LONGEST_FILE)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:  # ValueError: a path with a null in it
        raise UnreadableError(path, getattr(error, "strerror", None) or str(error)) from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError(path, f"byte {error.start} is not UTF-8") from None


def read_bytes(path: str, limit: int = -1) -> bytes:
    """The first so many bytes of a file, all without a limit; raises OSError and UnreadableError.

    What is no plain file is not opened: a pipe would be waited for.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise UnreadableError(path, "it is not a regular file")
    with open(path, "rb") as handle:
        return handle.read(limit)


def assignments(text: str) -> dict[str, str]:
    """Lines like `Version=25.3.rc1` or `Chip Name   : 910B4`: the first of each key, in lower case."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = re.match(r"\s*([A-Za-z][\w .-]*?)\s*[=:]\s*(.*?)\s*$", line)
        if match:
            found.setdefault(match[1].lower(), match[2])
    return found


def answer(command: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """What a program prints; None where it is not there, fails or hangs."""
    try:
        done = subprocess.run(  # noqa: S603  what the machine itself has
            command, env=dict(environ), stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
