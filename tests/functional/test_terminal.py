"""Terminals narrower than the lines that are written elsewhere."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from resolver.cli.console import columns
from tests.functional.workspace import COMMAND, Workspace
from tests.loopback import LoopbackIndex

WARNING = '[[warns]]\nreason = "so it is"\ntext = "' + "a word and another one, " * 9 + 'and an end."\n'


def window(terminal: int, width: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))


def on_a_terminal(workspace: Workspace, width: int, *arguments: str) -> list[str]:
    """The lines of a run whose stdout and stderr are a terminal of that width; what is drawn over is left out."""
    ours, theirs = pty.openpty()
    window(theirs, width)
    done = subprocess.Popen(
        [COMMAND, *arguments], cwd=workspace.root, env=workspace.environment(), stdout=theirs, stderr=theirs
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
    return [line.rpartition("\x1b[K")[2] for line in told.decode().replace("\r\n", "\n").split("\n")]


def test_pages_and_warnings_fit_into_a_narrow_window(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0")
    workspace.stack("demo")
    workspace.facts("demo", WARNING)
    wide = workspace.locked().stdout
    narrow = on_a_terminal(workspace, 60, "lock", "demo")
    assert max(map(len, wide.splitlines())) > 90
    assert max(len(line) for line in narrow if "word" in line) <= 60
    assert " ".join(" ".join(narrow).split()).count("a word and another one,") == 9

    workspace.stack("demo>1")
    page = on_a_terminal(workspace, 60, "explain", "demo")
    assert page[3] == "Why: these 2 cannot both hold, but either one can alone"
    commands_and_paths = ("hint: ", "The report is in ")  # which are copied
    assert max(len(line) for line in page if not line.startswith(commands_and_paths)) <= 60
    assert "        matrices/stacks/demo.toml:4" in page, "below its sentence, not beside it"


@pytest.mark.parametrize(("width", "room"), [(60, 60), (300, 110), (10, 40), (0, 110)])
def test_what_a_window_has_room_for(width: int, room: int, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    window(theirs, width)
    with os.fdopen(theirs, "w") as terminal:
        assert columns(terminal, 110) == room
    os.close(ours)
    with (tmp_path / "file").open("w") as file:
        assert columns(file, 110) == 110
