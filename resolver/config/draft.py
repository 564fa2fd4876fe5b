"""A stack made from a file of another tool, with what became of each line of the file."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from pathlib import PurePath
from typing import Final

import msgspec
import tomli_w

from resolver.errors import escaped
from resolver.i18n import translate, translate_phrase
from resolver.model.constraint import StackKey
from resolver.model.message import Message
from resolver.model.text import Language
from resolver.phrase import Phrase, phrase

# The codes of reasons for which a line is left out because it could not be read.
_UNREAD: Final = frozenset(("import.likely", "import.unread"))


class Outcome(Enum):
    """What the stack has in place of a line of the imported file."""

    # The same line.
    KEPT = "kept"
    # A changed line.
    CHANGED = "changed"
    # A line that the file does not have.
    ADDED = "added"
    # Nothing.
    LEFT_OUT = "left-out"
    # Nothing, and the user should decide whether another line is needed.
    TO_DECIDE = "to-decide"


class DraftRow(msgspec.Struct, frozen=True):
    """A line of the imported file with its outcome, or a line that was added to the stack."""

    # The outcome.
    outcome: Outcome
    # The line of the file without secrets. Empty if nothing of it may be shown, and for an added
    # line.
    before: str
    # The line of the stack; empty if the line was left out.
    after: str
    # file:line of the line; empty for an added line.
    where: str
    # Why the line was not kept as it is; None if it was.
    why: Message | None = None
    # The list of the stack that has the line.
    key: StackKey = "requires"

    @property
    def is_unread(self) -> bool:
        """Return whether the line could not be read, so that nobody knows what it asks for."""
        return self.why is not None and self.why.code in _UNREAD

    @property
    def suggestion(self) -> str:
        """Return the requirement that an unread line most likely means; empty if unknown."""
        if self.why is None or self.why.code != "import.likely":
            return ""
        return str(self.why.values["line"])


class Draft(msgspec.Struct, frozen=True):
    """The lines of a stack that was made from a file of another tool."""

    # The lines of `requires`.
    requires: tuple[str, ...]
    # The lines of `constraints`.
    constraints: tuple[str, ...]
    # The lines of `overrides`.
    overrides: tuple[str, ...]
    # Each line of the file with its outcome, and the added lines.
    rows: tuple[DraftRow, ...]
    # The plugins that the projects of the stack need on the target, such as torch-npu for torch,
    # and that the stack does not have. Empty if they were added.
    lacking: tuple[str, ...]

    def text(
        self,
        name: str,
        file: str,
        target: Mapping[str, str],
        system: Mapping[str, str],
        language: Language = "en",
    ) -> str:
        """Return the text of the stack's file.

        `name` is the name of the stack, and `file` the name of the imported file. `target` has the
        keys of the table `target`, and `system` the keys of `target.system`. Comments are in
        `language`. The summary is in English and Chinese.
        """
        summary = phrase("What {file} asks for", file=escaped(file))
        stack = {
            "name": name,
            "summary": str(summary),
            "summary-zh": translate_phrase(summary, "zh"),
            "requires": self.requires,
        }
        if self.constraints:
            stack["constraints"] = self.constraints
        if self.overrides:
            stack["overrides"] = self.overrides
        tables = {"stack": stack, "target": {**target, "system": system} if system else target}
        head = [translate_phrase(line, language) for line in _head(escaped(file))]
        head += self._undecided(language)
        comments = "".join(f"# {line}\n" for line in head)
        return f"{comments}\n{tomli_w.dumps(tables)}"

    def _undecided(self, language: Language) -> list[str]:
        """Return the lines that the stack does not have and the user must decide about, and why."""
        rows = [row for row in self.rows if row.outcome is Outcome.TO_DECIDE and row.why]
        if not rows:
            return []
        lines = [translate_phrase(phrase("To decide, and not in this stack so far:"), language)]
        for row in rows:
            assert row.why is not None  # noqa: S101  the rows were chosen so
            lines.append(escaped(f"  {row.before or PurePath(row.where).name}"))
            lines.append(escaped(f"    {translate(row.why, language)}"))
        return lines


def _head(file: str) -> tuple[Phrase, ...]:
    """Return the lines of the comment at the beginning of the stack's file."""
    return (
        phrase("What {file} asks for, as `ascend-lock import` took it over.", file=file),
        phrase("The target is an assumption where no option named it: check it."),
    )
