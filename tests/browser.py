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

CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
ENTER = "\ue007"
ESCAPE = "\ue00c"
RIGHT = "\ue014"
_OFF = ("gpu", "quic", "background-networking", "component-update", "sync")
_FLAGS = ("--headless", "--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in _OFF))


class Browser:
    """A window. Elements are found by CSS selectors."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def call(self, command: str, **values: Any) -> Any:
        """Send a command of WebDriver and return its result."""
        result = self._client.post(command, json=values).json()["value"]
        assert not (isinstance(result, dict) and "error" in result), result
        return result

    def devtools(self, command: str, **values: Any) -> Any:
        """Send a command of Chromium's DevTools and return its result."""
        return self.call("goog/cdp/execute", cmd=command, params=values)

    def resize(self, width: int, height: int = 900) -> None:
        """Show the page in this size; a window itself is never narrower than 500 pixels."""
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def open(self, url: str) -> None:
        """Load a page, also if only the part after `#` differs from the present address."""
        self.call("url", url="about:blank")
        self.call("url", url=url)

    def run(self, script: str, *values: Any) -> Any:
        """Return what the body of a function in JavaScript returns."""
        return self.call("execute/sync", script=script, args=values)

    def texts(self, selector: str) -> list[str]:
        """Return the texts of all visible elements."""
        texts: list[str] = self.run(
            "const all = [...document.querySelectorAll(arguments[0])];"
            "return all.filter(one => one.checkVisibility()).map(one => one.innerText)",
            selector,
        )
        return texts

    def wait_for(self, selector: str, text: str) -> None:
        """Wait until this is the only text of visible elements; fail after ten seconds."""
        end = time.monotonic() + 10
        while self.texts(selector) != [text]:
            assert time.monotonic() < end, (self.texts(selector), text)

    def click(self, selector: str) -> None:
        """Click on an element."""
        element = self.call("element", using="css selector", value=selector)
        (element_id,) = element.values()
        self.call(f"element/{element_id}/click")
        self._settle()

    def press(self, *keys: str) -> None:
        """Press keys in the element that has the focus."""
        actions = []
        for key in keys:
            actions.append({"type": "keyDown", "value": key})
            actions.append({"type": "keyUp", "value": key})
        self.call("actions", actions=[{"type": "key", "id": "keys", "actions": actions}])
        self._settle()

    def _settle(self) -> None:
        """Wait for what an event leads to, which comes before the next frame is over."""
        self.run("return new Promise(done => requestAnimationFrame(() => setTimeout(done)))")

    def complaints(self) -> list[str]:
        """Return what was written to the console since the last time."""
        return [entry["message"] for entry in self.call("se/log", type="browser")]


@contextmanager
def browser(profile: Path, language: str = "en") -> Iterator[Browser]:
    """Open a window whose user reads this language, for as long as the context."""
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
            started = next(line for line in driver.stdout if "started successfully" in line)
            port = started.rstrip(".\n").split()[-1]
            address = f"http://127.0.0.1:{port}"
            with httpx.Client(base_url=address, timeout=60, trust_env=False) as client:
                made = client.post("/session", json={"capabilities": wanted}).json()["value"]
                # Without a slash at the end, which the client's own base has: the driver does not
                # know an address with one.
                session = client.base_url.join(f"/session/{made['sessionId']}")
                client.base_url = session
                try:
                    yield Browser(client)
                finally:
                    # This ends Chromium.
                    assert client.delete(session).is_success, "Chromium goes on"
        finally:
            driver.terminate()
