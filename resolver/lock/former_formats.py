"""Convert the content of a lock.toml in an earlier format to the current one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from resolver.ascend import names
from resolver.model.lock import FORMAT
from resolver.model.message import TEXT
from resolver.phrase import phrase

# In format 1, the reason for a pin that a line of the stack requires begins with this.
_ASKS: Final = "the stack asks for "
# The messages of format 2 that were about one component. The values are the code of the general
# message in format 3, and that component.
_OF_COMPONENTS: Final = {
    "lock.driver": ("lock.left-open", names.DRIVER),
    "lock.unknown": ("lock.unknown-value", names.TITLES[names.TOOLKIT]),
}
# The messages with the command `why`, which names the stack.
_WITH_COMMAND: Final = ("lock.fell-back", "lock.lost-extra")


def in_this_format(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a lock.toml in the current format.

    Raises ValueError for an unknown format. KeyError, TypeError and AttributeError mean that the
    content does not have the structure of its format.
    """
    version = raw.get("format")
    if version == 1:
        return _from_format_2(_from_format_1(raw))
    if version == 2:
        return _from_format_2(raw)
    if version != FORMAT:
        raise ValueError(
            phrase(
                "it has format {version}, but this program reads {known}",
                version=version,
                known=FORMAT,
            )
        )
    return {**raw, "warnings": [_with_stack(row, raw) for row in raw.get("warnings", [])]}


def _with_stack(warning: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
    """Return a warning with the stack that its command names.

    The first locks of format 3 had a placeholder in the text. A warning that names the stack stays
    as it is, with its values in their order: dumped again, the lock must have the same bytes.
    """
    if warning["code"] not in _WITH_COMMAND or "stack" in warning["values"]:
        return warning
    return {**warning, "values": {"stack": raw["stack"], **warning["values"]}}


def _from_format_1(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a lock of format 1 in format 2.

    Format 1 had English sentences instead of messages and requirements.
    """
    lines: set[str] = set()
    for pin in raw["pin"]:
        asks = [sentence for sentence in pin["why"] if sentence.startswith(_ASKS)]
        lines.update(sentence.removeprefix(_ASKS) for sentence in asks)
    return {
        **raw,
        "format": 2,
        "requires": sorted(lines),
        "pin": [_pin_from_format_1(pin) for pin in raw["pin"]],
        "build-pin": [_pin_from_format_1(pin) for pin in raw.get("build-pin", [])],
        "stage": [
            {**_without(stage, "title"), "because": _verbatim(stage.get("because", []))}
            for stage in raw["stage"]
        ],
        "fact": [_without(fact, "text-zh") for fact in raw.get("fact", [])],
        "warnings": _verbatim(raw.get("warnings", [])),
        "notes": _verbatim(raw.get("notes", [])),
    }


def _pin_from_format_1(old: dict[str, Any]) -> dict[str, Any]:
    """Return a pin of format 1 in format 2."""
    pin = {**_without(old, "why", "needs"), "requires": old.get("needs", [])}
    if trust := old.get("git", {}).get("trust"):
        pin["git"] = {**old["git"], "trust": _verbatim([trust])[0]}
    return pin


def _verbatim(sentences: Iterable[str]) -> list[dict[str, Any]]:
    """Return English sentences as messages, in the form that lock.toml has for them."""
    return [{"code": TEXT, "values": {"en": sentence}} for sentence in sentences]


def _without(table: dict[str, Any], *keys: str) -> dict[str, Any]:
    """Return a TOML table without these keys."""
    return {key: value for key, value in table.items() if key not in keys}


def _from_format_2(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a lock of format 2 in format 3.

    Format 2 knew only the components of Ascend, so it does not describe them.
    """
    target = raw["target"]
    components = [
        {"name": name, "title": names.TITLES[name], "minimum": name == names.DRIVER}
        for name in target.get("system", {})
        if name in names.TITLES
    ]
    optional = []
    for old_table in raw.get("optional", []):
        table = dict(old_table)
        if names.FORMER_DEVICE in table:
            table["device"] = table.pop(names.FORMER_DEVICE)
        optional.append(table)
    return {
        **raw,
        "format": FORMAT,
        "target": {**target, "component": components},
        "optional": optional,
        "warnings": [_about_component(warning) for warning in raw.get("warnings", [])],
    }


def _about_component(warning: dict[str, Any]) -> dict[str, Any]:
    """Return a warning of format 2 in format 3: with the component that it is about."""
    former = _OF_COMPONENTS.get(warning["code"])
    if former is None:
        return warning
    code, component = former
    return {"code": code, "values": {**warning.get("values", {}), "component": component}}
