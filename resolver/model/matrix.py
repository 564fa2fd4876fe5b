"""The grid of what goes together on which machine: its cells, and what solving each of them came to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from typing import Annotated, Literal

import msgspec
import tomli_w
from packaging.version import Version

from resolver.model.message import Message
from resolver.model.target import Glibc, Platform
from resolver.model.text import NOT_EMPTY, Text, matching

_USE = matching(r"[a-z0-9][a-z0-9-]{0,39}", "a name of lower case letters, digits and `-`", '"serve"')
_PYTHON = matching(r"3\.\d{1,2}", "a version of Python without a patch number", '"3.11"')

Practices = Literal["all"] | tuple[str, ...]


class Use(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """What a machine is for: the lines of its stacks beside the one about the release.

    Only the `newest` releases are tried for it, or all of the grid.
    """

    name: Annotated[str, _USE]
    summary: Text
    summary_zh: Text = ""
    requires: tuple[Text, ...]
    newest: int | None = None


class Machines(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """Machines of the grid: each combination of these."""

    soc: Annotated[tuple[Text, ...], NOT_EMPTY]
    platform: Annotated[tuple[Platform, ...], NOT_EMPTY]
    python: Annotated[tuple[Annotated[str, _PYTHON], ...], NOT_EMPTY]
    glibc: Glibc


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One release of the grid's package, for one use, on one machine."""

    use: str
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
        parts = self.use, self.release, f"cann{self.cann}", self.soc, processor, f"py{self.python.replace('.', '')}"
        return "-".join(parts).lower()

    @property
    def machine(self) -> tuple[str, ...]:
        """What a person with a machine and a purpose knows; the newest release for it is the answer."""
        return self.use, self.cann, self.soc, self.platform, self.python, self.glibc


def stack_text(cell: Cell, use: Use, package: str, practices: Practices, name: str = "") -> str:
    """The TOML of the stack that a cell stands for, under its own name or another one."""
    stack = {
        "name": name or cell.name,
        "summary": use.summary,
        "requires": [f"{package}=={cell.release}", *use.requires],
        "practices": practices,
    }
    system = {"cann": cell.cann, "soc": cell.soc}
    target = {"python": cell.python, "platform": cell.platform, "glibc": cell.glibc, "system": system}
    return tomli_w.dumps({"stack": stack, "target": target})


class CellOutcome(Enum):
    """What a cell came to."""

    LOCKS = "locks"
    PRACTICES = "locks-with-practices"  # and not without
    CONFLICT = "conflict"
    UNDECIDED = "undecided"  # it depends on an index that did not answer, or something failed


LOCKED = (CellOutcome.LOCKS, CellOutcome.PRACTICES)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A solved cell. `stack` is the TOML of what was solved, so the same can be locked.

    Where it locks, `pins` are all of them, `practices` those in force, and `reason` is none. Otherwise `reason` is what
    clashes, in one line, or what it depends on; `cause` are the projects that nothing is left for.
    """

    cell: Cell
    outcome: CellOutcome
    stack: str
    practices: tuple[str, ...] = ()
    pins: dict[str, str] = {}
    warnings: tuple[Message, ...] = ()
    reason: Message | None = None
    cause: str = ""


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """A grid that was solved on a `date`. `inputs` is the digest of the grid, the facts and the indexes' list.

    `releases` are those of `package`, newest first, and `canns` oldest first. Where no answer is about a pair of them,
    the vendor's tables do not have it.
    """

    package: str
    date: str
    inputs: str
    releases: tuple[str, ...]
    canns: tuple[str, ...]
    uses: tuple[Use, ...]
    answers: tuple[Answer, ...]

    def frontier(self) -> Iterator[Answer]:
        """For each machine and use, the newest release that locks."""
        newest: dict[tuple[str, ...], Answer] = {}
        for answer in self._fitting({}, LOCKED):
            newest.setdefault(answer.cell.machine, answer)
        return iter(newest.values())

    def newest(
        self, wanted: Mapping[str, str], outcomes: Collection[CellOutcome], *, pre: bool = False
    ) -> Answer | None:
        """The newest release that came to one of these outcomes in cells with these fields.

        Like pip, a pre-release only if there is no other, or with `pre`.
        """
        fitting = self._fitting(wanted, outcomes)
        final = [one for one in fitting if pre or not Version(one.cell.release).is_prerelease]
        return next(iter(final or fitting), None)

    def ways_out(self, answer: Answer) -> Sequence[Answer]:
        """The answers nearest to one that does not lock which do: the next newer and older release of its use there.

        On the same SoC, processor and Python; with the same CANN first.
        """
        cell = answer.cell
        near = self._fitting({key: getattr(cell, key) for key in ("use", "soc", "platform", "python")}, LOCKED)
        found: list[Answer] = []

        def older_by(one: Answer) -> int:
            return self.releases.index(one.cell.release) - self.releases.index(cell.release)

        for side in (-1, 1):
            beyond = [one for one in near if older_by(one) * side >= 0]
            beyond.sort(key=lambda one: (one.cell.cann != cell.cann, abs(older_by(one))))
            found += [one for one in beyond[:1] if one not in found]
        return found

    def _fitting(self, wanted: Mapping[str, str], outcomes: Collection[CellOutcome]) -> list[Answer]:
        """The answers that came to one of these outcomes in cells with these fields, of newer releases first."""
        found = [
            one
            for one in self.answers
            if one.outcome in outcomes and all(getattr(one.cell, key) == value for key, value in wanted.items())
        ]
        return sorted(found, key=lambda one: (self.releases.index(one.cell.release), one.cell.name))
