"""State what became of the lines of an imported file, as a table for people and as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from packaging.requirements import InvalidRequirement

from resolver.config.draft import DraftRow, Outcome
from resolver.i18n import translate
from resolver.model import text as texts
from resolver.model.message import TEXT, Message, first_of, message
from resolver.model.text import Language
from resolver.report.document import Block, Table, Text

# How many rows of each outcome the table has, and how many lines a row has.
_MOST: Final = 100
# A row with more lines says how many there are.
_MANY: Final = 10
# The code of the reason for a project at the folder in which conda built it.
_BUILT: Final = "import.conda-build"
# The codes of reasons whose lines are one row, although each of them is changed or to be decided.
_GROUPED: Final = frozenset(
    (
        "import.conda",
        _BUILT,
        "import.conda-channel",
        "import.conda-spec",
        "import.conda-unknown",
        "import.poetry",
    )
)
# The host and the folders in the address of a repository, which the table leaves out.
_FOLDERS: Final = re.compile(r"git\+[^\s@#]+/(?=[^/\s@#]+@)")
# The hash of a commit, of which the table has the first digits.
_COMMIT: Final = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{28}\b")
_SENTENCE_END: Final = re.compile(r"(?<=[\w)\]]{2})[.!?] |。")


def imported_blocks(rows: Sequence[DraftRow], folder: Path) -> Iterator[Block]:
    """Yield a table of the lines that were changed or left out, and the number of the others.

    Places are relative to `folder`, which has the file. Of the reason of a fact, the first two
    sentences are shown.
    """
    cells: list[tuple[Text, ...]] = []
    for key in ("requires", "constraints", "overrides"):
        kept = sum(row.outcome is Outcome.KEPT and row.key == key for row in rows)
        if kept:
            count = message(f"imported.{key}", count=kept)
            cells.append((message("imported.kept"), count, "", ""))
    for outcome in Outcome:
        if outcome is not Outcome.KEPT:
            groups = _alike([row for row in rows if row.outcome is outcome])
            cells += [_cells(group, folder) for group in groups[:_MOST]]
            more = sum(map(len, groups[_MOST:]))
            if more:
                remainder = message("imported.more", count=more)
                cells.append((message(f"imported.{outcome.value}"), remainder, "", ""))
    columns = ("outcome", "line", "why", "where")
    head = tuple(message(f"imported.column-{column}") for column in columns)
    yield Table(head, tuple(cells))


def _alike(rows: Sequence[DraftRow]) -> list[list[DraftRow]]:
    """Return lines in groups.

    One group are lines that are left out for the same reason, and lines of conda about which the
    same is to be decided.
    """
    groups: dict[object, list[DraftRow]] = {}
    for number, row in enumerate(rows):
        is_gone = row.outcome is Outcome.LEFT_OUT and row.before and not row.after
        is_grouped = is_gone or (row.why is not None and row.why.code in _GROUPED)
        groups.setdefault(row.why if is_grouped and row.why else number, []).append(row)
    return list(groups.values())


def _cells(rows: Sequence[DraftRow], folder: Path) -> tuple[Text, ...]:
    """Return the cells of a row about one line, or about several that became the same."""
    if len(rows) > 1:
        outcome, _, why, _ = _cells(rows[:1], folder)
        return outcome, _lines(rows), why, places([row.where for row in rows], folder)
    (row,) = rows
    line = _line(row) or message("imported.not-shown")
    where = row.where.removeprefix(f"{folder}/")
    return message(f"imported.{row.outcome.value}"), line, _in_short(row.why), where


def _lines(rows: Sequence[DraftRow]) -> Text:
    """Return the lines of a group, as far as they may be shown, and how many there are."""
    shown = [line for line in map(_project_or_line, rows) if line]
    hidden = len(rows) - len(shown)
    if not shown:
        return message("imported.hidden", count=hidden)
    lines = first_of(list(dict.fromkeys(shown)), _MOST)
    if len(shown) > _MANY:
        lines = message("imported.counted", lines=lines, count=len(shown))
    return message("imported.and-hidden", lines=lines, count=hidden) if hidden else lines


def _project_or_line(row: DraftRow) -> Text:
    """Return the project of a requirement that was left out; for any other row, its line.

    Of many lines that are left out for one reason, markers and versions say nothing.
    """
    if row.outcome is Outcome.LEFT_OUT:
        with suppress(InvalidRequirement):
            return texts.requirement(row.before).name
    return _line(row)


def _line(row: DraftRow) -> Text:
    """Return a line as it was, or what became of it; empty if nothing of it may be shown."""
    if row.why is not None and row.why.code == _BUILT:
        # The folder on the other machine says nothing.
        return row.before.partition("@")[0].rstrip()
    if not (row.before and row.after):
        return row.before or row.after
    after = _COMMIT.sub(r"\1…", _FOLDERS.sub("git+…/", row.after))
    return message("imported.becomes", before=row.before, after=after)


def places(lines: Sequence[str], folder: Path) -> str:
    """Return the places of lines as text, with each file once: `a.txt:2, 4; b.txt:1`.

    Files are relative to `folder`.
    """
    numbers: dict[str, list[str]] = {}
    for place in lines:
        name, _, number = place.removeprefix(f"{folder}/").rpartition(":")
        numbers.setdefault(name or number, []).append(number if name else "")
    return "; ".join(f"{name}:{', '.join(found)}".rstrip(":") for name, found in numbers.items())


def _in_short(why: Message | None) -> Text:
    """Return a reason. Of the reason of a fact, return two sentences in each language.

    The second one often says what to do.
    """
    if why is None or why.code != TEXT:
        return why or ""
    sentences = {}
    for language, text in why.values.items():
        ends = [match.end() for match in _SENTENCE_END.finditer(str(text))]
        sentences[language] = str(text)[: ends[1]].rstrip() if len(ends) > 1 else text
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
