"""The pictures of the terminal and of a report: `make screenshots` writes docs/pictures/ anew.

They are made from shipped snapshots, so no network is needed; a page is drawn by Chromium.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from docs.site.navigation import LANGUAGES, REPOSITORY, SiteLanguage
from docs.site.pictures import FOLDER, file_of, write_pictures

_STACK: Final = "trl-vllm-train"
# How many lines of its output are shown.
_LINES: Final = 24
_WIDTH: Final = 112
_FONT: Final = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
# rich counts a Chinese character as one column here, so a browser would squeeze it.
_LENGTH: Final = re.compile(r' textLength="[^"]*"')
_LOCALE: Final = {"en": "C.UTF-8", "zh": "zh_CN.UTF-8"}


def _printed(folder: Path, language: SiteLanguage) -> str:
    """Return what a terminal shows of a conflict."""
    environment = {
        **os.environ,
        "LANG": _LOCALE[language],
        "FORCE_COLOR": "1",
        "COLUMNS": str(_WIDTH),
        "ASCEND_LOCK_CACHE": str(folder / "cache"),
    }
    program = str(Path(sys.executable).with_name("ascend-lock"))
    command = [program, "lock", _STACK, "--offline"]
    run = subprocess.run(
        command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True, check=False
    )
    lines = run.stderr.splitlines()[1 : _LINES + 1]  # without the line that names the snapshot
    return "\n".join([f"$ ascend-lock lock {_STACK}", *lines])


def _terminal(printed: str) -> str:
    """Return a terminal with a text as SVG, which fetches no font."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=_WIDTH, file=nowhere, force_terminal=True)
        console.print(Text.from_ansi(printed))
    drawn = console.export_svg(title="ascend-lock", unique_id="terminal")
    return _LENGTH.sub("", _FONT.sub("", drawn))


def _draw_page(page: Path, picture: Path) -> None:
    """Draw the upper part of a page of HTML as PNG."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        print(f"no Chromium is here: {picture.name} stays as it is")  # noqa: T201
        return
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=960,800"]
    subprocess.run(
        [browser, *options, f"--screenshot={picture}", page.as_uri()],
        check=True,
        capture_output=True,
    )


def write_screenshots() -> None:
    """Write every picture anew."""
    write_pictures()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for language in LANGUAGES:
            drawn = _terminal(_printed(folder, language))
            file_of("conflict", language).write_text(drawn, encoding="utf-8")
        (page,) = folder.glob(f"locks/{_STACK}/*/conflict.html")
        _draw_page(page, FOLDER / "conflict-page.png")
        _draw_page(page.with_name("conflict.zh.html"), FOLDER / "conflict-page.zh-CN.png")


if __name__ == "__main__":
    os.chdir(REPOSITORY)
    write_screenshots()
