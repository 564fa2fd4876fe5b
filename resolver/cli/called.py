"""The commands there are, and how this program was called, for commands in its messages."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path
from typing import Final

# In the order of --help. Each is the module of this name beside this one, and its `command`.
COMMANDS: Final = ("lock", "explain", "check", "facts", "verify", "bundle", "export", "snapshot", "stacks", "cache")
_COMMAND = re.compile(rf"\bascend-lock(?= (?:{'|'.join(COMMANDS)}|--help)\b)")


def command_line(*words: str) -> str:
    """One of the commands as it is written in a message, quoted for a shell."""
    return shlex.join(("ascend-lock", *words))


def as_called(text: str) -> str:
    """The text with the path by which this program was called, if it was: `.venv/bin/ascend-lock lock …`.

    If it was found through PATH, commands have only its name, although the system passes a path. For terminals only:
    files have the same content on every machine.
    """
    called = sys.argv[0]
    path = called if os.sep in called and Path(called).name == "ascend-lock" else "ascend-lock"
    if path != "ascend-lock" and _COMMAND.search(text):
        from shutil import which  # imports the archive modules; most runs print no command

        path = "ascend-lock" if which("ascend-lock") == path else path
    return _COMMAND.sub(lambda _: path, text)
