"""How this program was called, for the commands that it tells."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

_COMMAND = re.compile(r"\bascend-lock(?= (?:lock|explain|check|facts|verify|bundle|export|snapshot|stacks|--help)\b)")


def as_called(text: str) -> str:
    """The text with the path by which this program was called, where that is one: `.venv/bin/ascend-lock lock …`.

    Whoever called it by its name alone, as PATH has it, is told the name: the system hands over a path all the same.
    For the terminal alone: what is written to files is the same on every machine.
    """
    called = sys.argv[0]
    path = called if os.sep in called and Path(called).name == "ascend-lock" else "ascend-lock"
    if path != "ascend-lock" and _COMMAND.search(text):
        from shutil import which  # loads all that unpacks: most runs tell no command

        path = "ascend-lock" if which("ascend-lock") == path else path
    return _COMMAND.sub(lambda _: path, text)
