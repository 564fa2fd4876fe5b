"""State what became of the lines of an imported file, as a table for people and as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from resolver.config.stack_draft import DraftRow, Outcome
from resolver.i18n import translate
from resolver.model.message import TEXT, Message, joined, message
from resolver.model.text import Language
from resolver.report.document import Block, Table, Text

# How many lines of each outcome the table has.
_MOST: Final = 100
# The host and the folders in the address of a repository, which the table leaves out.
_FOLDERS: Final = re.compile(r"git\+[^\s@#]+/(?=[^/\s@#]+@)")
# The hash of a commit, of which the table has the first digits.
_COMMIT: Final = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{28}\b")
_SENTENCE_END: Final = re.compile(r"(?<=[\w)\]]{2})[.!?] |。")


def imported_blocks(rows: Sequence[DraftRow], folder: Path) -> Iterator[Block]:
    """Yield a table of the lines that were changed or left out, and the number of the others.

    Places are relative to `folder`, which has the file. Of the reason of a fact, only the first
    sentence is shown.
    """
    cells: list[tuple[Text, ...]] = []
    for key in ("requires", "constraints", "overrides"):
        kept = sum(row.outcome is Outcome.KEPT and row.key == key for row in rows)
        if kept:
            count = message(f"imported.{key}", count=kept)
            cells.append((message("imported.kept"), count, "", ""))
    for outcome in Outcome:
        if outcome is not Outcome.KEPT:
            of_outcome = [row for row in rows if row.outcome is outcome]
            cells += [_cells(group, folder) for group in _alike(of_outcome[:_MOST])]
            if len(of_outcome) > _MOST:
                more = message("imported.more", count=len(of_outcome) - _MOST)
                cells.append((message(f"imported.{outcome.value}"), more, "", ""))
    columns = ("outcome", "line", "why", "where")
    head = tuple(message(f"imported.column-{column}") for column in columns)
    yield Table(head, tuple(cells))


def _alike(rows: Sequence[DraftRow]) -> list[list[DraftRow]]:
    """Return lines in groups. Lines that are left out for the same reason are one group."""
    groups: dict[object, list[DraftRow]] = {}
    for number, row in enumerate(rows):
        is_gone = row.outcome is Outcome.LEFT_OUT and row.before and not row.after
        groups.setdefault(row.why if is_gone and row.why else number, []).append(row)
    return list(groups.values())


def _cells(rows: Sequence[DraftRow], folder: Path) -> tuple[Text, ...]:
    """Return the cells of a row about one line, or about several that are left out."""
    if len(rows) > 1:
        outcome, _, why, _ = _cells(rows[:1], folder)
        lines = joined("comma", [row.before for row in rows])
        return outcome, lines, why, _places([row.where.removeprefix(f"{folder}/") for row in rows])
    (row,) = rows
    line: Text = row.before or row.after or message("imported.not-shown")
    if row.before and row.after:
        after = _COMMIT.sub(r"\1…", _FOLDERS.sub("git+…/", row.after))
        line = message("imported.becomes", before=row.before, after=after)
    where = row.where.removeprefix(f"{folder}/")
    return message(f"imported.{row.outcome.value}"), line, _in_short(row.why), where


def _places(places: Sequence[str]) -> Text:
    """Return places as text, with each file once: `a.txt:2, 4; b.txt:1`."""
    numbers: dict[str, list[str]] = {}
    for place in places:
        name, _, number = place.rpartition(":")
        numbers.setdefault(name or number, []).append(number if name else "")
    return "; ".join(f"{name}:{', '.join(lines)}".rstrip(":") for name, lines in numbers.items())


def _in_short(why: Message | None) -> Text:
    """Return a reason. Of the reason of a fact, return the first sentence in each language."""
    if why is None or why.code != TEXT:
        return why or ""
    sentences = {}
    for language, text in why.values.items():
        end = _SENTENCE_END.search(str(text))
        sentences[language] = str(text)[: end.end()].rstrip() if end else text
    return Message(TEXT, dict(sentences))


def imported_json(rows: Sequence[DraftRow], language: Language) -> list[dict[str, Any]]:
    """Return an object for JSON for each line."""
    return [
        {
            "outcome": row.outcome.value,
            "before": row.before,
            "after": row.after,
            "list": row.key if row.after else "",
            "where": row.where,
            "why": "" if row.why is None else translate(row.why, language),
        }
        for row in rows
    ]
