"""Look at conflict.html in a real browser. Not part of `make test`: it needs Debian's package `chromium`.

    .venv/bin/python tests/browser/check_report.py [--chromium PATH] [--out DIR] [conflict.html ...]

Without files the samples of tests/unit/render are shown, in both languages. Each page is opened
1280 and 390 pixels wide, in light and in dark, and must

- log no error and ask for nothing but itself
- not be wider than the window, with all fixes closed and with all of them open
- let Tab reach every link, summary and scrolling box, with a focus that can be seen, and Enter open a fix
- have a contrast of 4.5 or more between each text and what it stands on, and no text below 12 pixels
- print to a PDF that holds the details of each fix

With --out, screenshots and PDFs are left in that folder. The exit status is 1 if anything failed.
Chromium is driven through its DevTools protocol on a pipe, so nothing else is needed.
"""

from __future__ import annotations

import argparse
import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from resolver.render.explanation.html import explanation_html  # noqa: E402
from tests.unit.render import samples  # noqa: E402

SIZES = ((1280, 900), (390, 844))
SCHEMES = ("light", "dark")

# What Tab must reach; what a closed fix hides is left out.
FOCUSABLE = """
[...document.querySelectorAll('a[href], summary, [tabindex="0"]')]
  .filter(one => one.matches('.skip') || one.checkVisibility())
"""
NUMBERED = f"({FOCUSABLE}).forEach((one, at) => one.dataset.at = at), ({FOCUSABLE}).length"
FOCUSED = """
(() => {
  const one = document.activeElement, style = getComputedStyle(one), box = one.getBoundingClientRect();
  const seen = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 && box.width > 0 && box.left >= 0;
  return {at: one.dataset.at ?? null, seen, text: one.textContent.trim().slice(0, 40)};
})()
"""
WIDTH = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
FAINT = r"""
(() => {
  const parse = text => (text.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
  const light = ([r, g, b]) => {
    const part = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const paper = one => {
    const drawn = one.closest('g')?.querySelector('rect');
    if (drawn) return parse(getComputedStyle(drawn).fill);
    for (let at = one; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const bad = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const one = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || one.closest('title, desc, .skip') || !one.checkVisibility()) continue;
    const style = getComputedStyle(one), svg = one.closest('svg');
    const [a, b] = [light(parse(svg ? style.fill : style.color)), light(paper(one))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5 || parseFloat(style.fontSize) < 12)
      bad.push(`${one.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}, ${style.fontSize}`);
  }
  return bad;
})()
"""
OVERLAPS = """
(() => {
  const bad = [];
  for (const svg of document.querySelectorAll('svg')) {
    const boxes = [...svg.querySelectorAll('g > rect')].map(one => one.getBoundingClientRect());
    boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => {
      if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) bad.push([a.x, a.y, b.x, b.y]);
    }));
    for (const text of svg.querySelectorAll('text')) {
      const inner = text.getBoundingClientRect();
      const outer = text.parentElement.querySelector('rect').getBoundingClientRect();
      if (inner.left < outer.left || inner.right > outer.right) bad.push(text.textContent);
    }
  }
  return bad;
})()
"""


class Browser:
    """A headless Chromium with one page, spoken to through a pipe."""

    def __init__(self, program: str, profile: Path) -> None:
        read_commands, self._commands = os.pipe()
        self._answers, write_answers = os.pipe()

        def keep() -> None:
            # out of the way first: a pipe may have been given one of the two numbers itself
            commands = fcntl.fcntl(read_commands, fcntl.F_DUPFD_CLOEXEC, 10)
            answers = fcntl.fcntl(write_answers, fcntl.F_DUPFD_CLOEXEC, 10)
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
        self._process = subprocess.Popen(
            [program, *options, f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=keep,
            close_fds=False,
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        os.close(read_commands)
        os.close(write_answers)
        self._number = 0
        self._buffer = b""
        self._session = ""
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to one command; what happened meanwhile goes to `events`."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            self.events.append(answer)

    def wait_for(self, event: str) -> None:
        """Read until this event has come."""
        while not any(one.get("method") == event for one in self.events):
            self.events.append(self._next())

    def value(self, expression: str) -> Any:
        """What a JavaScript expression gives in the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """A key, down and up."""
        code = {"Tab": 9, "Enter": 13}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **common, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **common)

    def close(self) -> None:
        """End the program."""
        self._session = ""
        try:
            self.ask("Browser.close")
            self._process.wait(10)
        finally:
            self._process.kill()

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._answers, 1 << 20)
            if not part:
                raise RuntimeError("the browser is gone")
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--chromium", default=shutil.which("chromium") or "chromium")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        pages = [path.resolve() for path in options.files] or list(_samples(Path(folder)))
        browser = Browser(options.chromium, Path(folder) / "profile")
        try:
            for page in pages:
                for problem in _check(browser, page, options.out):
                    failures += 1
                    print(f"{page.name}: {problem}")
        finally:
            browser.close()
    print(f"{len(pages)} passed, 0 failed" if not failures else f"{failures} faults in {len(pages)} pages")
    return 1 if failures else 0


def _samples(folder: Path) -> Iterator[Path]:
    for language in ("en", "zh"):
        for make in (samples.trl, samples.branching, samples.several, samples.hostile):
            path = folder / f"{make.__name__}-{language}.html"
            path.write_text(explanation_html(make(), language), encoding="utf-8")
            yield path


def _check(browser: Browser, page: Path, out: Path | None) -> Iterator[str]:
    for width, height in SIZES:
        for scheme in SCHEMES:
            name = f"{page.stem}-{width}-{scheme}"
            for problem in _check_view(browser, page, width, height, scheme):
                yield f"{width} px, {scheme}: {problem}"
            if out is not None:
                out.mkdir(parents=True, exist_ok=True)
                _screenshot(browser, out / f"{name}.png")
    yield from _check_print(browser, out and out / f"{page.stem}.pdf")


def _check_view(browser: Browser, page: Path, width: int, height: int, scheme: str) -> Iterator[str]:
    browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
    browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.events.clear()
    browser.ask("Page.navigate", url=page.as_uri())
    browser.wait_for("Page.loadEventFired")
    yield from _layout_faults(browser, "closed")
    yield from _tab_faults(browser, "closed")
    for at in range(browser.value("document.querySelectorAll('summary').length")):
        browser.value(f"document.querySelectorAll('summary')[{at}].focus()")
        browser.press("Enter")
    if browser.value("document.querySelectorAll('details:not([open])').length"):
        yield "Enter does not open a fix"
    yield from _layout_faults(browser, "open")
    yield from _tab_faults(browser, "open")
    yield from _event_faults(browser, page)


def _layout_faults(browser: Browser, state: str) -> Iterator[str]:
    content, window = browser.value(WIDTH)
    if content > window:
        yield f"fixes {state}: the page is {content} px wide in a window of {window}"
    for fault in browser.value(FAINT):
        yield f"fixes {state}: hard to read: {fault}"
    for fault in browser.value(OVERLAPS):
        yield f"the graph overlaps: {fault}"


def _tab_faults(browser: Browser, state: str) -> Iterator[str]:
    wanted = browser.value(NUMBERED)
    browser.value("document.activeElement.blur(), window.getSelection().removeAllRanges()")
    browser.value("document.body.tabIndex = -1, document.body.focus(), document.body.removeAttribute('tabindex')")
    reached: set[str] = set()
    for _ in range(wanted + 1):
        browser.press("Tab")
        focused = browser.value(FOCUSED)
        if focused["at"] is None:
            continue
        reached.add(focused["at"])
        if not focused["seen"]:
            yield f"fixes {state}: the focus cannot be seen on: {focused['text']}"
    if len(reached) != wanted:
        yield f"fixes {state}: Tab reaches {len(reached)} of {wanted}"


def _event_faults(browser: Browser, page: Path) -> Iterator[str]:
    for event in browser.events:
        parameters = event.get("params", {})
        match event.get("method"):
            case "Log.entryAdded" if parameters["entry"]["level"] in ("error", "warning"):
                yield f"console: {parameters['entry']['text']}"
            case "Runtime.exceptionThrown":
                yield f"exception: {parameters['exceptionDetails']['text']}"
            case "Runtime.consoleAPICalled":
                yield f"console: {parameters['type']}"
            case "Network.requestWillBeSent":
                url = parameters["request"]["url"]
                if not url.startswith("data:") and url.partition("#")[0] != page.as_uri():
                    yield f"asks for {url}"


def _check_print(browser: Browser, path: Path | None) -> Iterator[str]:
    browser.value("document.querySelectorAll('details').forEach(one => one.open = false)")
    data = base64.b64decode(browser.ask("Page.printToPDF", printBackground=True)["data"])
    if not data.startswith(b"%PDF") or len(data) < 5000:
        yield "printing gave no PDF"
    if path is not None:
        path.write_bytes(data)
    pdftotext = shutil.which("pdftotext")
    if pdftotext is None:
        return
    text = subprocess.run([pdftotext, "-", "-"], input=data, capture_output=True, check=True).stdout.decode()
    printed = "".join(text.split())
    for line in browser.value("[...document.querySelectorAll('details pre')].map(one => one.textContent)"):
        first = "".join(line.split())[:20]
        if first not in printed:
            yield f"not in print: {first}"


def _screenshot(browser: Browser, path: Path) -> None:
    browser.value(
        "document.activeElement.blur(), document.querySelectorAll('details').forEach((one, at) => one.open = !at)"
    )
    shot = browser.ask("Page.captureScreenshot", captureBeyondViewport=True)
    path.write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    sys.exit(main())
