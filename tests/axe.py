"""axe-core, which looks for what keeps people from using a page. It is no part of this repository.

`npm install --no-save axe-core@4.14.1` puts it beside the tests; `AXE_CORE` may name another copy
of its `axe.min.js`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.browser import Browser

_INSTALLED: Final = Path(__file__).parents[1] / "node_modules" / "axe-core" / "axe.min.js"
AXE: Final = Path(os.environ.get("AXE_CORE") or _INSTALLED)


def violations(page: Browser) -> list[str]:
    """Return what axe finds wrong with the page: the rule, the element and how to mend it.

    What axe cannot decide is none, except for the contrast of letters: to axe a text in the very
    color that is behind it is undecided, since it may be hidden on purpose.
    """
    page.devtools("Runtime.evaluate", expression=AXE.read_text(encoding="utf-8"))
    found = page.run("return axe.run(document, {resultTypes: ['violations', 'incomplete']})")
    wrong = list(map(_told, _elements(found["violations"])))
    undecided = [
        element for element in _elements(found["incomplete"]) if element[0] == "color-contrast"
    ]
    return wrong + [_told(element) for element in undecided if not _is_symbol(element[1])]


def _elements(rules: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for rule in rules:
        for node in rule["nodes"]:
            yield rule["id"], node


def _is_symbol(node: dict[str, Any]) -> bool:
    """Return whether axe could not decide because the text has no letters.

    The signs of the matrix have none, and have names, too.
    """
    keys = [(check["data"] or {}).get("messageKey") for check in node["any"]]
    return keys == ["nonBmp"]


def _told(element: tuple[str, dict[str, Any]]) -> str:
    rule, node = element
    return f"{rule}: {node['html']}: {node['failureSummary']}"


def show_in(page: Browser, scheme: str) -> None:
    """Show the page as on a system whose colors are `light` or `dark`."""
    page.devtools(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
    )
