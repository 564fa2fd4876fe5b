"""The components of Ascend's targets, as systems.toml has them, but with few or no known values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import tomli
import tomli_w

from resolver.config.load import components_of
from resolver.config.schema import SystemsFile
from resolver.config.toml_files import Document, read_text
from resolver.model.component import Components, Value

_SHIPPED: Final = Path(__file__).parents[1] / "matrices" / "systems.toml"
_LEFT_OUT: Final = ("known", "libraries", "names", "source")


def _rows() -> dict[str, dict[str, Any]]:
    shipped = tomli.loads(_SHIPPED.read_text(encoding="utf-8"))["component"]
    return {
        name: {key: value for key, value in row.items() if key not in _LEFT_OUT}
        for name, row in shipped.items()
    }


def systems_text(known: Mapping[str, Sequence[str]] = {}, **more: Mapping[str, object]) -> str:
    """Return the text of a systems.toml with these known values, and more keys of components."""
    rows = _rows()
    for name, values in known.items():
        rows[name]["known"] = list(values)
    for name, keys in more.items():
        rows[name] |= keys
    return tomli_w.dumps({"component": rows})


def systems(known: Mapping[str, Sequence[str]] = {}) -> Document[SystemsFile]:
    """Return a systems.toml with these known values."""
    return read_text(systems_text(known), SystemsFile, "systems.toml")


SYSTEMS: Final = systems()
COMPONENTS: Final[Components] = components_of(SYSTEMS)


def value(component: str, text: str) -> Value:
    """Return a value of a component."""
    return COMPONENTS[component].parse(text)
