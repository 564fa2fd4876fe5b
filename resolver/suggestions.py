"""What was probably meant by a name that is not known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_SIMILAR: Final = 0.6  # from 0 to 1, as difflib measures it


def closest(name: str, known: Iterable[str], cutoff: float = _SIMILAR) -> str:
    """The most similar of the known names, if it is at least so similar; otherwise ""."""
    from difflib import get_close_matches  # most runs have no mistake

    return next(iter(get_close_matches(name, [*known], n=1, cutoff=cutoff)), "")


def did_you_mean(name: str, known: Iterable[str], otherwise: str, cutoff: float = _SIMILAR) -> str:
    """A hint that asks for the most similar of the known names; `otherwise` if none is similar."""
    close = closest(name, known, cutoff)
    return f"did you mean `{close}`?" if close else otherwise
