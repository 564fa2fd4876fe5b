"""Commands on a terminal of some width."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import termios
from typing import Final

from rich.cells import cell_len

from tests.functional.workspace import COMMAND, Workspace

WIDTHS: Final = (60, 80, 120)
_WIDE: Final = 400
_ACTING: Final = re.compile(r"(\n|\r|\x1b\[1A|\x1b\[2K)")
_STYLE: Final = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[hl]")
# What has no space, no Chinese character and no punctuation of theirs inside.
_WORD: Final = re.compile(r"[!-~…]+")


def window(terminal: int, width: int) -> None:
    """Give a terminal so many columns."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))


def on_a_terminal(workspace: Workspace, width: int, *arguments: str) -> list[str]:
    """Return the lines of a run on a terminal of this width, without colors.

    What is drawn over is left out.
    """
    ours, theirs = pty.openpty()
    window(theirs, width)
    done = subprocess.Popen(
        [COMMAND, *arguments],
        cwd=workspace.root,
        env=workspace.environment(),
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    told = b""
    try:
        while piece := os.read(ours, 1 << 16):
            told += piece
    except OSError:  # how a terminal ends
        pass
    finally:
        os.close(ours)
        done.wait(60)
    return _seen(told.decode())


def _seen(told: str) -> list[str]:
    """Return the lines of a wide terminal, after all that was drawn over or erased in it."""
    lines, at, begins = [""], 0, True  # `begins`: what is written next is over the line's beginning
    for piece in _ACTING.split(_STYLE.sub("", told)):
        match piece:
            case "\n":
                at += 1
                lines += [""] * (at == len(lines))
            case "\r":
                begins = True
            case "\x1b[1A":
                at -= 1
            case "\x1b[2K":
                lines[at] = ""
            case str() if piece:
                lines[at] = piece + lines[at][len(piece) :] if begins else lines[at] + piece
                begins = False
    return lines


def require_fit(workspace: Workspace, *arguments: str, locks: str = "") -> None:
    """Fail if a line of a command is wider than its terminal, or a word is broken.

    Only a line of a single word may be too wide. Words are those of the same run on a very wide
    terminal; each run finds nothing in the folder `locks`, if one is named.
    """

    def lines_at(width: int, *command: str) -> list[str]:
        if locks:
            shutil.rmtree(workspace.root / locks, ignore_errors=True)
        return on_a_terminal(workspace, width, *command)

    for language in ("en", "zh"):
        command = (*arguments, "--lang", language)
        whole = set(_words(lines_at(_WIDE, *command)))
        assert whole, command
        for width in WIDTHS:
            lines = lines_at(width, *command)
            too_wide = [line for line in lines if cell_len(line) > width and len(line.split()) > 1]
            assert not too_wide, (command, width, too_wide)
            broken = [word for word in _words(lines) if word not in whole]
            assert not broken, (command, width, broken)


def _words(lines: list[str]) -> list[str]:
    """The words, without times, which differ, and without the mark of what is left out."""
    words = [word.rstrip("…") for line in lines for word in _WORD.findall(line)]
    return [word for word in words if word and not re.fullmatch(r"[\d.]+", word)]
