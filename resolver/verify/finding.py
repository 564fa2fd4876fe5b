"""What a check has to tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """Something that is not as locked, or could not be told.

    `code` is a key of `CASES`, which has the sentences; `values` fills their
    placeholders. `mend` is a command that is better than the one of the case,
    `reason` what `{reason}` stands for in English and in Chinese.
    """

    code: str
    values: Mapping[str, str]
    mend: str = ""
    reason: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Group:
    """What one check found. `note` is a key of `NOTES`, for the line of a group that is fine."""

    name: str
    findings: tuple[Finding, ...]
    note: str
    values: Mapping[str, str]


def some(items: list[str], most: int = 3) -> dict[str, str]:
    """The values `list` and `count` of a sentence that names a few of many."""
    text = ", ".join(items[:most])
    return {"list": text if len(items) <= most else f"{text}, …", "count": str(len(items))}
