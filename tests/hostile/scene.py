"""A malicious index, and a folder with a lock made before."""

from __future__ import annotations

import json
import re
import time
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

from resolver.index.net import online
from resolver.index.net.client import QUICK_RETRY, Client, RetryPolicy
from tests.cached import require_sound_cache
from tests.functional.workspace import Run, Workspace, tree
from tests.loopback import LoopbackIndex, Response

INDEX = "https://index.example/simple/pypi/"
QUICK = RetryPolicy(pause=0.01)


class Scene:
    """An index on https://index.example; `index` answers as the proxy for every host."""

    def __init__(self, root: Path, index: LoopbackIndex, authority: Path) -> None:
        self.index = index
        self.workspace = Workspace(root / "work", INDEX)
        self.variables = {
            "HTTPS_PROXY": index.proxy,
            "SSL_CERT_FILE": str(authority),
            "PIP_TIMEOUT": "5",
        }
        self.patience = QUICK

    def run(self, *arguments: str, **environment: str) -> Run:
        with (
            mock.patch.object(
                Client.__init__, "__kwdefaults__", {"patience": self.patience, "transport": None}
            ),
            mock.patch.object(online, "QUICK_RETRY", QUICK_RETRY._replace(pause=0.01)),
        ):
            run = self.workspace.run(*arguments, **{**self.variables, **environment})
        return Run(run.status, self.plain(run.stdout), self.plain(run.stderr))

    def lock(self, *arguments: str, **environment: str) -> Run:
        """`ascend-lock lock demo`, with any result."""
        return self.run("lock", "demo", *arguments, **environment)

    def plain(self, text: str) -> str:
        """Return the text with what differs between runs replaced."""
        return text.replace(self.index.proxy, "<server>")


Arrange = Callable[[Scene], None]


@dataclass(frozen=True)
class Attack:
    """What an index does, and what the user sees.

    `told` is the reason on stderr (for a conflict, one line of its report); `pins` is what is
    locked with status 0.
    """

    name: str
    arrange: Arrange
    told: str = ""
    refused: int = 3
    pins: Mapping[str, str] = field(default_factory=lambda: {"demo": "2.0"})
    seconds: float = 10.0

    @property
    def status(self) -> int:
        return self.refused if self.told else 0


def is_harmless(text: str) -> bool:
    """Return whether a text is harmless to print.

    It has no control characters, no bidirectional marks, and no line that fills a terminal.
    """
    marks = [char for char in text if unicodedata.category(char)[0] == "C" and char != "\n"]
    return not marks and all(len(line) < 3000 for line in text.splitlines())


def hold(scene: Scene, attack: Attack) -> None:
    """Run the attack.

    The old lock must be kept if nothing new is locked, and nothing may be left behind.
    """
    attack.arrange(scene)
    workspace = scene.workspace
    before = tree(workspace.locks)
    begin = time.process_time()
    run = scene.lock()
    assert time.process_time() - begin < attack.seconds
    assert (run.status, run.stdout if run.status not in (0, 1) else "") == (attack.status, ""), run
    assert attack.told in run.stderr, run.stderr
    if attack.status == 0:
        assert run.stderr == ""
    elif attack.status > 1:
        assert re.fullmatch("error: .+\n  at .+\n  .+\nhint: .+\n", run.stderr), run.stderr
    for text in (run.stdout, run.stderr):
        assert is_harmless(text)
        assert "Traceback" not in text
    if attack.status == 0:
        assert workspace.pins() == attack.pins
    else:
        after = {
            name: content
            for name, content in tree(workspace.locks).items()
            if "conflict." not in name
        }
        assert after == before
    for name, content in tree(workspace.locks).items():
        assert content is None or is_harmless(content.decode()), name
    assert tree(workspace.temporary) == {}
    require_sound_cache(workspace.cache)
    assert not list(workspace.root.rglob("pwned"))


# --- what an index does


def page(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Arrange:
    def alter(response: Response) -> Response:
        if response.status != 200:
            return response
        return replace(response, body=json.dumps(change(json.loads(response.body))).encode())

    return lambda scene: scene.index.fault("/simple/*/demo/", alter)


def rows(*changes: Mapping[str, Any]) -> Arrange:
    """Alter the page of demo: list the newest file again with each of these changes."""

    def change(content: dict[str, Any]) -> dict[str, Any]:
        *older, newest = content["files"]
        return {**content, "files": [*older, *({**newest, **one} for one in changes)]}

    return page(change)


def answer(pattern: str, response: Response, *, times: int | None = None) -> Arrange:
    return lambda scene: scene.index.fault(pattern, lambda _: response, times=times)


def both(*arrangements: Arrange) -> Arrange:
    def arrange(scene: Scene) -> None:
        for one in arrangements:
            one(scene)

    return arrange
