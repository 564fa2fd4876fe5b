"""Chromium without a window, driven over WebDriver's HTTP (https://www.w3.org/TR/webdriver2/)."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
ENTER, ESCAPE, RIGHT = "\ue007", "\ue00c", "\ue014"
_OFF = ("gpu", "quic", "background-networking", "component-update", "sync")
_FLAGS = ("--headless", "--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in _OFF))


class Browser:
    """One window. Elements are found by CSS selectors."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def call(self, command: str, **values: Any) -> Any:
        answer = self._client.post(command, json=values).json()["value"]
        assert not (isinstance(answer, dict) and "error" in answer), answer
        return answer

    def devtools(self, command: str, **values: Any) -> Any:
        return self.call("goog/cdp/execute", cmd=command, params=values)

    def resize(self, width: int, height: int = 900) -> None:
        """Windows are no narrower than 500 pixels, but what is shown in them may be."""
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def open(self, url: str) -> None:
        self.call(
            "url", url="about:blank"
        )  # an address that differs after `#` alone would not be loaded anew
        self.call("url", url=url)

    def run(self, script: str, *values: Any) -> Any:
        """What a function's body in JavaScript returns."""
        return self.call("execute/sync", script=script, args=values)

    def texts(self, selector: str) -> list[str]:
        """The texts of all that is seen of such elements."""
        found: list[str] = self.run(
            "const all = [...document.querySelectorAll(arguments[0])];"
            "return all.filter(one => one.checkVisibility()).map(one => one.innerText)",
            selector,
        )
        return found

    def wait_for(self, selector: str, text: str) -> None:
        end = time.monotonic() + 10
        while self.texts(selector) != [text]:
            assert time.monotonic() < end, (self.texts(selector), text)

    def click(self, selector: str) -> None:
        found = self.call("element", using="css selector", value=selector)
        self.call(f"element/{next(iter(found.values()))}/click")
        self._settle()

    def press(self, *keys: str) -> None:
        """Keys for whatever has the focus."""
        acts = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("actions", actions=[{"type": "key", "id": "keys", "actions": acts}])
        self._settle()

    def _settle(self) -> None:
        """What an event leads to, such as one that tells of a changed address, comes before the next frame is over."""
        self.run("return new Promise(done => requestAnimationFrame(() => setTimeout(done)))")

    def complaints(self) -> list[str]:
        """What was written to the console since the last time."""
        return [entry["message"] for entry in self.call("se/log", type="browser")]


@contextmanager
def browser(profile: Path, language: str = "en") -> Iterator[Browser]:
    """A window whose user reads that language, for as long as the context."""
    options = {
        "binary": CHROMIUM,
        "args": [*_FLAGS, f"--user-data-dir={profile}", f"--accept-lang={language}"],
    }
    wanted = {
        "alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
    }
    with subprocess.Popen([str(DRIVER), "--port=0"], stdout=subprocess.PIPE, text=True) as driver:
        try:
            assert driver.stdout is not None
            port = (
                next(line for line in driver.stdout if "started successfully" in line)
                .rstrip(".\n")
                .split()[-1]
            )
            with httpx.Client(
                base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False
            ) as client:
                session = client.post("/session", json={"capabilities": wanted}).json()["value"][
                    "sessionId"
                ]
                whole = client.base_url.join(f"/session/{session}")
                client.base_url = whole
                try:
                    yield Browser(client)
                finally:  # it ends Chromium; the client's own base would end in a slash, which the driver does not know
                    assert client.delete(whole).is_success, "Chromium goes on"
        finally:
            driver.terminate()
