"""Reading and writing `lock.toml`."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import msgspec
import tomli
import tomli_w

from resolver import files
from resolver.errors import InputError
from resolver.lock.validate import require_sound
from resolver.model.lock import FORMAT, Lock
from resolver.model.message import TEXT

NAME = "lock.toml"

_ASKS = "the stack asks for "  # began the reason for a pin that a line of the stack names, in format 1
_LARGEST = 64 * files.MIB

_MARKER = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)

# What TOML allows unescaped although terminals act on it or do not show it: C1, directional marks, and so on
_INVISIBLE = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)

_HEADER = """\
# A lock: what was decided for one stack on one target, every file by sha256.
# Written by `ascend-lock lock`; requirements.txt, install.sh and report.md are
# made from it. Change the stack or the facts instead of this file.

"""


def dump(lock: Lock) -> str:
    """The text of lock.toml."""
    text = tomli_w.dumps(_tidy(msgspec.to_builtins(lock)), multiline_strings=False)
    return _HEADER + _INVISIBLE.sub(lambda match: f"\\U{ord(match[0]):08X}", text)


def read_own(folder: Path) -> Lock | None:
    """The lock in its folder …/<stack>/<target>; None if there is none.

    Raises InputError as `read` does, or if it is the lock of another stack or target.
    """
    lock = read(folder)
    if lock is not None and (lock.stack, lock.target.name) != (folder.parent.name, folder.name):
        raise _unreadable(folder, f"it is the lock of {lock.stack} for {lock.target.name}")
    return lock


def read(folder: Path) -> Lock | None:
    """The lock in a folder; None if there is none. Raises InputError if it cannot be read."""
    text = ""
    try:
        text = files.read_text(folder / NAME, _LARGEST)
        raw = tomli.loads(text)
        version = raw.get("format")
        if version == 1:
            raw = _of_format_1(raw)
        elif version != FORMAT:
            raise ValueError(f"it has format {version}, but this program reads {FORMAT}")
        lock = msgspec.convert(raw, Lock, strict=True)
        require_sound(lock)
        return lock
    except FileNotFoundError:
        return None
    except OSError as error:
        instead = "move what is there out of the way, or choose another folder with --locks DIR"
        raise files.refusal(error, "the lock cannot be read", folder / NAME, instead) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:  # also of TOML and msgspec
        if isinstance(error, tomli.TOMLDecodeError) and _MARKER.search(text):
            hint = f"git checkout --ours -- {shlex.quote(str(folder))}, then lock again: pins that still fit are kept"
            what = "the lock has the conflict markers of a merge"
            raise InputError(what, where=str(folder / NAME), hint=hint) from None
        raise _unreadable(folder, str(error)) from None


def _unreadable(folder: Path, why: str) -> InputError:
    hint = "restore it from version control, or lock with --upgrade, which ignores it"
    return InputError("the lock cannot be read", where=str(folder / NAME), why=why, hint=hint)


def _of_format_1(raw: dict[str, Any]) -> dict[str, Any]:
    """A lock of format 1, which had sentences in English where there are messages now, or requirements."""
    pins = [{**row, "requires": row.get("needs", [])} for row in raw["pin"]]
    tools = [{**row, "requires": row.get("needs", [])} for row in raw.get("build-pin", [])]
    asked = {why.removeprefix(_ASKS) for row in pins for why in row["why"] if why.startswith(_ASKS)}
    for row in (*pins, *tools):
        if trust := row.get("git", {}).get("trust"):
            row["git"] = {**row["git"], "trust": _text(trust)}
    return {
        **raw,
        "format": FORMAT,
        "requires": sorted(asked),
        "pin": [_without(row, "why", "needs") for row in pins],
        "build-pin": [_without(row, "why", "needs") for row in tools],
        "stage": [
            {**_without(row, "title"), "because": list(map(_text, row.get("because", [])))} for row in raw["stage"]
        ],
        "fact": [_without(row, "text-zh") for row in raw.get("fact", [])],
        "warnings": list(map(_text, raw.get("warnings", []))),
        "notes": list(map(_text, raw.get("notes", []))),
    }


def _text(sentence: str) -> dict[str, Any]:
    return {"code": TEXT, "values": {"en": sentence}}


def _without(row: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in keys}


# Tables that a lock has even if they are empty.
_ALWAYS = frozenset(("index", "stage", "pin", "pins", "requires"))


def _tidy(value: Any) -> Any:
    """The value without None, which TOML does not have, and without empty values; keys keep their order.

    msgspec omits defaults by identity, and whether an empty tuple is *the* empty tuple depends on the version of
    Python. A lock must not depend on that.
    """
    if isinstance(value, dict):
        return {
            key: _tidy(inner)
            for key, inner in value.items()
            if inner is not None and (key in _ALWAYS or inner not in ([], {}, ()))
        }
    return [_tidy(inner) for inner in value] if isinstance(value, (list, tuple)) else value
