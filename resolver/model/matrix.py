"""The matrix of `ascend-lock matrix`: which release of a project locks for which use and machine.

A grid (grid.toml) has uses, releases and machines. A cell is one combination of them, and is solved
as a stack of its own. A matrix has the outcome of each cell.
"""

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

# The practices that a stack turns on: all of them, or some by their ids.
Practices = Literal["all"] | tuple[str, ...]


class Use(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A purpose of a machine, such as serving.

    A use has a cell for each release of a project on each machine. A use with a `stack` has a cell
    for each target of that shipped stack instead.
    """

    # A short name, which is part of the names of cells.
    name: Annotated[str, matching(patterns.USE)]
    # The purpose in a few words.
    summary: Text
    # The summary in Chinese; may be empty.
    summary_zh: Text = ""
    # The project whose releases are tried; empty for the project of the grid. With a `stack`, the
    # project that the stack is for.
    package: Text = ""
    # The lines that the stack of each cell has in addition to the release.
    requires: tuple[Text, ...] = ()
    # How many of the newest releases are tried; None for all releases that the grid has.
    newest: int | None = None
    # The versions that are tried, as a specifier set; empty for all.
    versions: Annotated[str, specifier] = ""
    # Whether only one of several releases is tried if they differ only in a pre-release or
    # post-release suffix: the newest final release, or else the newest pre-release.
    one_of_series: bool = False
    # The versions of Python that are tried; empty for the versions of all machines.
    python: tuple[Annotated[str, matching(patterns.PYTHON_LINE)], ...] = ()
    # The name of a shipped stack whose targets are the cells; empty if the cells are releases.
    stack: Text = ""


class Machines(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """Some machines of the grid: all combinations of these values."""

    # The chips (SoC).
    chip: Annotated[tuple[Annotated[str, matching(patterns.VALUE_NAME)], ...], NOT_EMPTY] = (
        msgspec.field(name=CHIP)
    )
    # The operating systems with processors.
    platform: Annotated[tuple[Platform, ...], NOT_EMPTY]
    # The versions of Python without patch numbers.
    python: Annotated[tuple[Annotated[str, matching(patterns.PYTHON_LINE)], ...], NOT_EMPTY]
    # The oldest glibc of these machines.
    glibc: Glibc


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of the matrix: one release of a project, for one use, on one machine."""

    # The name of the use.
    use: str
    # The project.
    package: str
    # The version of the release.
    release: str
    # The version of the toolkit (CANN).
    toolkit: str = msgspec.field(name=TOOLKIT)
    # The chip (SoC).
    chip: str = msgspec.field(name=CHIP)
    # The operating system and the processor.
    platform: str
    # The version of Python.
    python: str
    # The oldest glibc of the machine.
    glibc: str

    @property
    def name(self) -> str:
        """Return the name of the cell's stack, such as serve-0.18.0-cann8.5.1-a2-aarch64-py311."""
        processor = self.platform.rpartition("-")[2]
        python = self.python.replace(".", "")
        name = (
            f"{self.use}-{self.release}-{TOOLKIT}{self.toolkit}-{self.chip}-{processor}-py{python}"
        )
        return name.lower()

    def value(self, key: str) -> str:
        """Return the value that the cell has in JSON under a key.

        The keys are the names of the fields, except for the names of the toolkit and the chip.
        """
        attributes = {TOOLKIT: self.toolkit, CHIP: self.chip}
        return attributes[key] if key in attributes else str(getattr(self, key))

    @property
    def is_candidate(self) -> bool:
        """Return whether the release of the cell is a pre-release or a development release."""
        return Version(self.release).is_prerelease

    @property
    def machine(self) -> tuple[str, ...]:
        """Return the use and the values of the machine, without the release."""
        return self.use, self.toolkit, self.chip, self.platform, self.python, self.glibc


def stack_text(cell: Cell, use: Use, practices: Practices, name: str = "") -> str:
    """Return the stack of a cell as TOML.

    `name` is the name of the stack; empty for the name of the cell. `practices` are turned on.
    """
    stack = {
        "name": name or cell.name,
        "summary": use.summary,
        "requires": [f"{cell.package}=={cell.release}", *use.requires],
        "practices": practices,
    }
    # A stack without a name of its own is only solved, and nobody reads its summary.
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
    """Whether a cell of the grid can be locked, and if not, why."""

    # The cell can be locked without practices.
    LOCKS = "locks"
    # The cell can be locked, but only with practices (see `Strength`).
    PRACTICES = "locks-with-practices"
    # An index did not answer. The cell has a solution with what is recorded of the index's wheels,
    # and it can be locked once the index answers: only the sha256 of a wheel is missing.
    EXPECTED = "expected"
    # The cell has no solution.
    CONFLICT = "conflict"
    # The answer depends on an index that did not answer, or something failed.
    UNDECIDED = "undecided"


# The outcomes of cells that can be locked.
LOCKED = (CellOutcome.LOCKS, CellOutcome.PRACTICES)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What solving a cell of the grid gave: the outcome, and the pins or the conflict."""

    # The cell.
    cell: Cell
    # The outcome.
    outcome: CellOutcome
    # The TOML of the stack that was solved.
    stack: str
    # If the cell can be locked: the ids of the practices that it needs.
    practices: tuple[str, ...] = ()
    # If the outcome is a lock or EXPECTED: the version of each project.
    pins: dict[str, str] = {}
    # If the outcome is EXPECTED: the file names of the wheels whose sha256 is missing.
    unhashed: tuple[str, ...] = ()
    # If the cell cannot be locked: the requirements that the vendor's tables have for the release.
    pairing: tuple[str, ...] = ()
    # If the cell can be locked: pins of two projects that the vendor's tables do not pair, although
    # they pair other releases of these projects.
    unpaired: tuple[str, ...] = ()
    # The warnings of the lock.
    warnings: tuple[Message, ...] = ()
    # If the cell cannot be locked: the contradiction or the failure in one line.
    reason: Message | None = None
    # If the cell cannot be locked: the projects that have no candidate left.
    cause: str = ""


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """A solved grid.

    It has no answer for a release with a CANN that the vendor's tables do not pair with it.
    """

    # The project of the grid.
    package: str
    # The day on which the grid was solved, in ISO 8601.
    date: str
    # The digest of the grid, the facts and the list of indexes.
    inputs: str
    # The releases of each project, newest first.
    releases: dict[str, tuple[str, ...]]
    # The versions of CANN, oldest first.
    toolkits: tuple[str, ...] = msgspec.field(name=f"{TOOLKIT}s")
    # The uses of the grid.
    uses: tuple[Use, ...]
    # The solved cells.
    answers: tuple[Answer, ...]

    def frontier(self) -> Iterator[Answer]:
        """Yield the answer for the newest release that can be locked, for each use and machine.

        Final releases go before pre-releases. A machine here includes its CANN.
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
        """Return the answer for the newest release with one of these outcomes; None if none has.

        Only cells with the values of `fields` count (see `Cell.value`). As in pip, a pre-release is
        returned only if there is no final release, or if `pre` is set.
        """
        answers = self._matching(fields, outcomes)
        if not answers:
            return None
        for answer in answers:
            if pre or not answer.cell.is_candidate:
                return answer
        return answers[0]

    def suggested(self, fields: Mapping[str, str]) -> Answer | None:
        """Return the answer that is suggested to a user who states only `fields`.

        One that locks goes before one that may lock, and a final release before a pre-release. Then
        come the first use of the grid, the first chip and platform by name, the newest CANN, and
        the newest Python and release. None if all of these cells are conflicts.
        """
        uses = [use.name for use in self.uses]

        def rank(answer: Answer) -> tuple[object, ...]:
            cell = answer.cell
            outcome = answer.outcome
            return (
                outcome not in LOCKED,
                outcome is CellOutcome.UNDECIDED,
                cell.is_candidate,
                uses.index(cell.use),
                cell.chip,
                cell.platform,
                -self.toolkits.index(cell.toolkit),
                -Version(cell.python).release[-1],
            )

        outcomes = set(CellOutcome) - {CellOutcome.CONFLICT}
        return min(self._matching(fields, outcomes), key=rank, default=None)

    def ways_out(self, answer: Answer) -> Sequence[Answer]:
        """Return at most two cells that can be locked and are near to a cell that cannot.

        They are for the same use, SoC, platform and Python. The first has the nearest release that
        is not older, and the second the nearest release that is not newer. Cells with the same CANN
        go before cells with another CANN, even if their releases are further away.
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
        """Return the position of a cell's release among the releases of its project.

        0 is the newest release.
        """
        return self.releases[answer.cell.package].index(answer.cell.release)

    def _matching(
        self, fields: Mapping[str, str], outcomes: Collection[CellOutcome]
    ) -> list[Answer]:
        """Return the answers with one of these outcomes, the newest releases first.

        Only cells with the values of `fields` count (see `Cell.value`).
        """

        def matches(answer: Answer) -> bool:
            cell = answer.cell
            return all(cell.value(key) == value for key, value in fields.items())

        with_outcome = [answer for answer in self.answers if answer.outcome in outcomes]
        answers = [answer for answer in with_outcome if matches(answer)]
        return sorted(answers, key=lambda answer: (self._position(answer), answer.cell.name))
