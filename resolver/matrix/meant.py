"""Which known word was probably meant by an unknown one."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Final

# What other tools call the values of a closed set; matches part of what was written.
_VALUES: Final = {"arm64": "linux-aarch64", "amd64": "linux-x86_64", "x64": "linux-x86_64", "x86-64": "linux-x86_64"}
# Other names of keys; must match all of what was written.
_KEYS: Final = {
    **dict.fromkeys(
        ("dependencies", "deps", "packages", "requirements", "requirement", "install-requires"), "requires"
    ),
    **dict.fromkeys(("description", "title"), "summary"),
    **dict.fromkeys(("python-version", "requires-python"), "python"),
    **dict.fromkeys(("arch", "architecture", "machine", "os"), "platform"),
    **dict.fromkeys(("message", "warning"), "text"),
    **dict.fromkeys(("because", "why"), "reason"),
    "other": "with",
}


def close(word: str, known: Sequence[str]) -> str:
    """The known word that was probably meant; empty if none is close."""
    asked = word.lower().replace("_", "-")
    folded = {one.lower().replace("_", "-"): one for one in known}
    also = next((value for name, value in _VALUES.items() if value in known and name in asked), "")
    near = difflib.get_close_matches(asked, folded, n=1, cutoff=0.7)
    return also or (_KEYS[asked] if _KEYS.get(asked) in known else folded[near[0]] if near else "")


def meant(word: str, known: Sequence[str], what: str) -> str:
    """The hint: the word that was probably meant, if any, and all that are known."""
    probably = close(word, known)
    return (f"did you mean `{probably}`? " if probably else "") + f"{what} {', '.join(known)}"


def is_requires(word: str) -> bool:
    """Whether a word names the requirements, here or in other tools."""
    return "requires" in (word, close(word, ("requires",)))
