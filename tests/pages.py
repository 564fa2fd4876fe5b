"""The blocks of a page that show commands with what they print, and how they are run.

In a block of the language `console`, a line after `$ ` is a command, and what follows up to the
next is what it prints. `…` stands for any text of a line, and a line of its own for any lines. A
block without `$` is not run: what it does needs an index, or another machine.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tests.functional.workspace import COMMAND, REPOSITORY

_BLOCK: Final = re.compile(r"(?ms)^```(?:console|text)\n(.*?)^```")
_ELISION: Final = "…"
# What is printed with `--offline` alone, and what a reader of the page sees only now and then.
_ASIDE: Final = re.compile(r"(?:offline: using|离线：使用) .*\n")
# Commands that ask an index: they are run from a snapshot.
_ASKING: Final = re.compile(r"ascend-lock (?:lock|add) ")


class Shown(NamedTuple):
    """A command of a page, and what it prints there."""

    command: str
    printed: str


def shown(page: str) -> Iterator[Shown]:
    """Yield the commands of a page, with what they print, in order."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    for block in _BLOCK.findall(text):
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            command, _, printed = part.partition("\n")
            yield Shown(command, printed)


def run(command: str, folder: Path, language: str) -> str:
    """Return what a command of a page prints in a folder, on both streams."""
    if _ASKING.match(command) and "--offline" not in command:
        command += " --offline"
    result = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=_environment(folder, language),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return _ASIDE.sub("", result.stdout.decode())


def _environment(folder: Path, language: str) -> Mapping[str, str]:
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("LC_", "PIP_"))
    }
    return {
        **kept,
        "PATH": f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "LANG": {"en": "C.UTF-8", "zh": "zh_CN.UTF-8"}[language],
        "ASCEND_LOCK_CACHE": str(home / "cache"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.com",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.com",
    }


def matches(printed: str, expected: str) -> bool:
    """Return whether a command prints what a page shows."""
    pattern = ""
    for line in expected.splitlines():
        if line.strip() == _ELISION:
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(map(re.escape, line.rstrip().split(_ELISION))) + r" *\n"
    if printed and not printed.endswith("\n"):
        printed += "\n"
    return re.fullmatch(pattern, printed) is not None
