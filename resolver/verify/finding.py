"""What a check has to tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Finding:
    """Something that is not as locked, or could not be told.

    `code` begins the codes of its texts, `-what`, `-why` and `-mend`; `values` fills their placeholders. `mend` is a
    command that is better than the text, `reason` what `{reason}` stands for in each language.
    """

    code: str
    values: Mapping[str, str]
    mend: str = ""
    reason: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Group:
    """What one check found. `note` is the code of the text for the line of a group that is fine."""

    name: str
    findings: tuple[Finding, ...]
    note: str
    values: Mapping[str, str]


def some(items: list[str], most: int = 3) -> dict[str, str]:
    """The values `list` and `count` of a sentence that names a few of many."""
    text = ", ".join(items[:most])
    return {"list": text if len(items) <= most else f"{text}, …", "count": str(len(items))}
