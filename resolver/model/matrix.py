"""The grid of releases, uses and machines: its cells, and the outcome of solving each."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from typing import Annotated, Literal

import msgspec
import tomli_w
from packaging.version import Version

from resolver.ascend.names import CHIP, TOOLKIT
from resolver.model import patterns
from resolver.model.message import Message
from resolver.model.repository import specifier
from resolver.model.target import Glibc, Platform
from resolver.model.text import NOT_EMPTY, Text, matching

Practices = Literal["all"] | tuple[str, ...]


class Use(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """What a machine is used for, such as serving.

    The cells of a use are the releases of a project on each machine, or the targets of a shipped
    stack.
    """

    # A short name, which is part of the names of cells.
    name: Annotated[str, matching(patterns.USE)]
    # What it is, in a few words.
    summary: Text
    # The summary in Chinese; may be empty.
    summary_zh: Text = ""
    # The project whose releases are tried; empty for the project of the grid. With a `stack`, the
    # project that the stack is for.
    package: Text = ""
    # The lines that the stack of each cell has besides the release.
    requires: tuple[Text, ...] = ()
    # How many of the newest releases are tried; None for the number of the grid.
    newest: int | None = None
    # The releases that are tried; empty for all.
    versions: Annotated[str, specifier] = ""
    # Whether only one release is tried of a version and its pre- and post-releases: the newest
    # final one, or else the newest.
    one_of_series: bool = False
    # The versions of Python that are tried; empty for all of the machines.
    python: tuple[Annotated[str, matching(patterns.PYTHON_LINE)], ...] = ()
    # The name of a shipped stack, whose targets are the cells; empty if the cells are releases.
    stack: Text = ""


class Machines(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """The machines of the grid: all combinations of these values."""

    chip: Annotated[tuple[Annotated[str, matching(patterns.VALUE_NAME)], ...], NOT_EMPTY] = (
        msgspec.field(name=CHIP)
    )
    platform: Annotated[tuple[Platform, ...], NOT_EMPTY]
    python: Annotated[tuple[Annotated[str, matching(patterns.PYTHON_LINE)], ...], NOT_EMPTY]
    glibc: Glibc


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One release of a project, for one use, on one machine."""

    use: str
    package: str
    release: str
    toolkit: str = msgspec.field(name=TOOLKIT)
    chip: str = msgspec.field(name=CHIP)
    platform: str
    python: str
    glibc: str

    @property
    def name(self) -> str:
        """Return the name of the cell's stack: serve-0.18.0-cann8.5.1-a2-aarch64-py311."""
        processor = self.platform.rpartition("-")[2]
        python = self.python.replace(".", "")
        name = (
            f"{self.use}-{self.release}-{TOOLKIT}{self.toolkit}-{self.chip}-{processor}-py{python}"
        )
        return name.lower()

    def value(self, key: str) -> str:
        """Return the value of a key of the cell in JSON."""
        attributes = {TOOLKIT: self.toolkit, CHIP: self.chip}
        return attributes[key] if key in attributes else str(getattr(self, key))

    @property
    def is_candidate(self) -> bool:
        """Return whether the release is a pre-release or development release."""
        return Version(self.release).is_prerelease

    @property
    def machine(self) -> tuple[str, ...]:
        """Return the machine and its use, without the release."""
        return self.use, self.toolkit, self.chip, self.platform, self.python, self.glibc


def stack_text(cell: Cell, use: Use, practices: Practices, name: str = "") -> str:
    """Return the TOML of a cell's stack, by default under the cell's name."""
    stack = {
        "name": name or cell.name,
        "summary": use.summary,
        "requires": [f"{cell.package}=={cell.release}", *use.requires],
        "practices": practices,
    }
    # The stacks of cells are many, and people do not read them.
    if name and use.summary_zh:
        stack["summary-zh"] = use.summary_zh
    system = {TOOLKIT: cell.toolkit, CHIP: cell.chip}
    target = {
        "python": cell.python,
        "platform": cell.platform,
        "glibc": cell.glibc,
        "system": system,
    }
    return tomli_w.dumps({"stack": stack, "target": target})


class CellOutcome(Enum):
    """The outcome of a cell."""

    LOCKS = "locks"
    # It locks with practices, and not without.
    PRACTICES = "locks-with-practices"
    # It will lock once an index answers that did not: only the sha256 of a wheel is missing.
    EXPECTED = "expected"
    CONFLICT = "conflict"
    # It depends on an index that did not answer, or something failed.
    UNDECIDED = "undecided"


LOCKED = (CellOutcome.LOCKS, CellOutcome.PRACTICES)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A solved cell."""

    cell: Cell
    outcome: CellOutcome
    # The TOML of the stack that was solved.
    stack: str
    # The ids of the practices in force, if it locks.
    practices: tuple[str, ...] = ()
    # The version of each project, if it locks or is expected to.
    pins: dict[str, str] = {}
    # The wheels whose sha256 is missing, if it is expected to lock.
    unhashed: tuple[str, ...] = ()
    # What the vendor's tables have together with the release, if it does not lock.
    pairing: tuple[str, ...] = ()
    # Of what locks: releases of two projects that the vendor's tables do not have together, though
    # they have other releases of the two.
    unpaired: tuple[str, ...] = ()
    # The warnings of the lock.
    warnings: tuple[Message, ...] = ()
    # The contradiction in one line, or the failure, if it does not lock.
    reason: Message | None = None
    # The projects that no candidate is left for, if it does not lock.
    cause: str = ""


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """A solved grid.

    A release and a CANN without an answer are not together in the vendor's tables.
    """

    # The project of the grid.
    package: str
    # The day on which it was solved, in ISO 8601.
    date: str
    # The digest of the grid, the facts and the list of indexes.
    inputs: str
    # The releases of each project, newest first.
    releases: dict[str, tuple[str, ...]]
    # The versions of CANN, oldest first.
    toolkits: tuple[str, ...] = msgspec.field(name=f"{TOOLKIT}s")
    uses: tuple[Use, ...]
    answers: tuple[Answer, ...]

    def frontier(self) -> Iterator[Answer]:
        """Yield, for each machine and use, the newest final release that locks.

        If only pre-releases lock, yield the newest of them.
        """
        newest: dict[tuple[str, ...], Answer] = {}
        answers = self._matching({}, LOCKED)
        final_first = sorted(answers, key=lambda answer: answer.cell.is_candidate)
        for answer in final_first:
            newest.setdefault(answer.cell.machine, answer)
        yield from newest.values()

    def newest(
        self, fields: Mapping[str, str], outcomes: Collection[CellOutcome], *, pre: bool = False
    ) -> Answer | None:
        """Return the newest release with one of these outcomes; None if there is none.

        Only cells whose fields have these values count. As with pip, a pre-release is returned only
        if there is no final release, or with `pre`.
        """
        answers = self._matching(fields, outcomes)
        if not answers:
            return None
        for answer in answers:
            if pre or not answer.cell.is_candidate:
                return answer
        return answers[0]

    def ways_out(self, answer: Answer) -> Sequence[Answer]:
        """Return the locked answers nearest to one that is not locked, at most two.

        One has the next newer release of the use, the other the next older one; either may have the
        same release on another CANN. They are for the same SoC, processor and Python, and for the
        same CANN if there is one.
        """
        cell = answer.cell
        fields = {key: cell.value(key) for key in ("use", CHIP, "platform", "python")}
        position = self._position(answer)
        newer: list[Answer] = []
        older: list[Answer] = []
        for locked in self._matching(fields, LOCKED):
            if self._position(locked) <= position:
                newer.append(locked)
            if self._position(locked) >= position:
                older.append(locked)

        def distance(other: Answer) -> tuple[bool, int]:
            return other.cell.toolkit != cell.toolkit, abs(self._position(other) - position)

        nearest: list[Answer] = []
        for answers in (newer, older):
            if not answers:
                continue
            closest = min(answers, key=distance)
            if closest not in nearest:
                nearest.append(closest)
        return nearest

    def _position(self, answer: Answer) -> int:
        """Return the position of an answer's release in the list of its project, newest first."""
        return self.releases[answer.cell.package].index(answer.cell.release)

    def _matching(
        self, fields: Mapping[str, str], outcomes: Collection[CellOutcome]
    ) -> list[Answer]:
        """Return the answers with one of these outcomes, newest release first.

        Only cells whose fields have these values count.
        """

        def matches(answer: Answer) -> bool:
            cell = answer.cell
            return all(cell.value(key) == value for key, value in fields.items())

        with_outcome = [answer for answer in self.answers if answer.outcome in outcomes]
        answers = [answer for answer in with_outcome if matches(answer)]
        return sorted(answers, key=lambda answer: (self._position(answer), answer.cell.name))
