"""The grid of releases, uses and machines: its cells, and the outcome of solving each."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from typing import Annotated, Literal

import msgspec
import tomli_w
from packaging.version import Version

from resolver.model import patterns
from resolver.model.message import Message
from resolver.model.repository import specifier
from resolver.model.target import Glibc, Platform
from resolver.model.text import NOT_EMPTY, Text, matching

Practices = Literal["all"] | tuple[str, ...]


class Use(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A use of a machine.

    Its cells are releases of a project on each machine, or the targets of one shipped stack.
    """

    name: Annotated[str, matching(patterns.USE)]
    summary: Text
    summary_zh: Text = ""
    # the project whose releases are its rows, if not the grid's; of a stack, the project that it is
    # for
    package: Text = ""
    # further lines of the stack of each cell
    requires: tuple[Text, ...] = ()
    # how many of the newest releases are tried, if not as many as of the grid
    newest: int | None = None
    # the releases that are tried; all if it is empty
    versions: Annotated[str, specifier] = ""
    # whether, of a release and its post- and pre-releases, only the newest is tried, a final one if
    # there is any
    one_of_series: bool = False
    # the Pythons of machines that are tried; all if it is empty
    python: tuple[Annotated[str, matching(patterns.PYTHON_LINE)], ...] = ()
    # the name of a stack whose targets are the cells, with all its lines
    stack: Text = ""


class Machines(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """Machines of the grid: all combinations of these values."""

    soc: Annotated[tuple[Text, ...], NOT_EMPTY]
    platform: Annotated[tuple[Platform, ...], NOT_EMPTY]
    python: Annotated[tuple[Annotated[str, matching(patterns.PYTHON_LINE)], ...], NOT_EMPTY]
    glibc: Glibc


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One release of a project, for one use, on one machine."""

    use: str
    package: str
    release: str
    cann: str
    soc: str
    platform: str
    python: str
    glibc: str

    @property
    def name(self) -> str:
        """The name of its stack: serve-0.18.0-cann8.5.1-a2-aarch64-py311."""
        processor = self.platform.rpartition("-")[2]
        parts = (
            self.use,
            self.release,
            f"cann{self.cann}",
            self.soc,
            processor,
            f"py{self.python.replace('.', '')}",
        )
        return "-".join(parts).lower()

    @property
    def is_candidate(self) -> bool:
        """Whether the release is a pre-release or development release."""
        return Version(self.release).is_prerelease

    @property
    def machine(self) -> tuple[str, ...]:
        """The machine and its use: all but the release."""
        return self.use, self.cann, self.soc, self.platform, self.python, self.glibc


def stack_text(cell: Cell, use: Use, practices: Practices, name: str = "") -> str:
    """Return the TOML of a cell's stack, under the cell's name or another one."""
    stack = {
        "name": name or cell.name,
        "summary": use.summary,
        "requires": [f"{cell.package}=={cell.release}", *use.requires],
        "practices": practices,
    }
    system = {"cann": cell.cann, "soc": cell.soc}
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
    PRACTICES = "locks-with-practices"  # and not without
    # it locks where an index answers that did not: of a wheel, only the sha256 is missing
    EXPECTED = "expected"
    CONFLICT = "conflict"
    UNDECIDED = "undecided"  # it depends on an index that did not answer, or something failed


LOCKED = (CellOutcome.LOCKS, CellOutcome.PRACTICES)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A solved cell. `stack` is the TOML of the stack that was solved.

    If it can be locked, it has `pins` and the `practices` in force; if that is expected where an
    index answers, `unhashed` are the files to be fetched there. Otherwise `reason` is the
    contradiction in one line, or the failure; `cause` are the projects that no candidate is left
    for, and `pairing` is what the vendor's tables have the release with.
    """

    cell: Cell
    outcome: CellOutcome
    stack: str
    practices: tuple[str, ...] = ()
    pins: dict[str, str] = {}
    unhashed: tuple[str, ...] = ()
    pairing: tuple[str, ...] = ()
    # of what locks, the releases that the vendor's tables do not have together although they have
    # others of the two
    unpaired: tuple[str, ...] = ()
    warnings: tuple[Message, ...] = ()
    reason: Message | None = None
    cause: str = ""


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """A grid that was solved on a `date`.

    `inputs` is the digest of the grid, the facts and the list of indexes.

    `package` is the grid's project. `releases` are the rows of each project, newest first; `canns`
    are oldest first. Pairs of them without an answer are not in the vendor's tables.
    """

    package: str
    date: str
    inputs: str
    releases: dict[str, tuple[str, ...]]
    canns: tuple[str, ...]
    uses: tuple[Use, ...]
    answers: tuple[Answer, ...]

    def frontier(self) -> Iterator[Answer]:
        """Yield, for each machine and use, the newest release that locks: a final one if there is any."""
        newest: dict[tuple[str, ...], Answer] = {}
        answers = self._matching({}, LOCKED)
        for answer in sorted(answers, key=lambda answer: answer.cell.is_candidate):
            newest.setdefault(answer.cell.machine, answer)
        return iter(newest.values())

    def newest(
        self, fields: Mapping[str, str], outcomes: Collection[CellOutcome], *, pre: bool = False
    ) -> Answer | None:
        """The newest release with one of these outcomes in cells with these fields.

        Like pip, a pre-release only if there is no other, or with `pre`.
        """
        answers = self._matching(fields, outcomes)
        final = [answer for answer in answers if pre or not answer.cell.is_candidate]
        return next(iter(final or answers), None)

    def ways_out(self, answer: Answer) -> Sequence[Answer]:
        """The locked answers nearest to one that is not locked: the next newer and the next older release of its use.

        They are for the same SoC, processor and Python, and preferably the same CANN.
        """
        cell = answer.cell
        locked = self._matching(
            {key: getattr(cell, key) for key in ("use", "soc", "platform", "python")}, LOCKED
        )
        nearest: list[Answer] = []

        def distance(other: Answer) -> int:
            return self._row(other) - self._row(answer)

        for side in (-1, 1):
            answers = [other for other in locked if distance(other) * side >= 0]
            answers.sort(key=lambda other: (other.cell.cann != cell.cann, abs(distance(other))))
            nearest += [other for other in answers[:1] if other not in nearest]
        return nearest

    def _row(self, answer: Answer) -> int:
        """Return the position of an answer's release among those of its project."""
        return self.releases[answer.cell.package].index(answer.cell.release)

    def _matching(
        self, fields: Mapping[str, str], outcomes: Collection[CellOutcome]
    ) -> list[Answer]:
        """The answers with one of these outcomes in cells with these fields, newest release first."""
        answers = [
            answer
            for answer in self.answers
            if answer.outcome in outcomes
            and all(getattr(answer.cell, key) == value for key, value in fields.items())
        ]
        return sorted(answers, key=lambda answer: (self._row(answer), answer.cell.name))
