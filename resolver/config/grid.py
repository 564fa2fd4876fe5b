"""The grid of `ascend-lock matrix`: from grid.toml and the facts to its cells, each a stack to be solved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import msgspec
import tomli_w
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.config.compile import compile_problems, known_values
from resolver.config.fact_rules import compile_facts
from resolver.config.load import Document, Inputs, load_with, read, read_text, with_stack
from resolver.config.schema import GridFile, StackFile
from resolver.errors import InputError
from resolver.files import digest
from resolver.model.fact import Requires, Strength, component_requirements
from resolver.model.matrix import Cell, Practices, stack_text
from resolver.model.problem import PolicyOptions, Problem
from resolver.model.requirement import ComponentRequirement, Value, parse_value

NAME = "matrix"  # of the stack that stands for a grid, and of its snapshot


class Grid(msgspec.Struct, frozen=True):
    """A grid with the files that its stacks use."""

    file: Document[GridFile]
    inputs: Inputs
    # A problem whose only line asks for the package, for the first of the machines.
    problem: Problem
    # What facts require, on any machine; without practices.
    facts: tuple[Requires, ...]

    @property
    def package(self) -> NormalizedName:
        """The project whose releases are the grid's first axis."""
        return self.file.content.package

    @property
    def digest(self) -> str:
        """What the answers of the grid follow from, apart from the indexes' content."""
        return digest([self.file.digest, self.problem.digest, self.problem.readings])

    def stack(self, cell: Cell, practices: Practices) -> str:
        """The TOML of a cell's stack."""
        use = next(use for use in self.file.content.use if use.name == cell.use)
        return stack_text(cell, use, self.package, practices)

    def problem_of(self, stack: str, options: PolicyOptions) -> Problem:
        """The problem of such a stack."""
        inputs = with_stack(self.inputs, read_text(stack, StackFile, "grid.toml"))
        return compile_problems(inputs, options=options)[0]

    def canns(self) -> list[str]:
        """The known releases of CANN, oldest first."""
        known = self.inputs.systems.content.component if self.inputs.systems is not None else {}
        return list(known["cann"].known) if "cann" in known else []

    def cells(self, releases: Sequence[str]) -> Iterator[Cell]:
        """The cells that the vendor's tables have, for these releases, newest first.

        That is where facts about a release name a CANN, and the machine meets what they say of CANN and Python.
        """
        file = self.file.content
        canns = self.canns()
        for at, release in enumerate(releases):
            for row, cann in product(file.machine, canns):
                for soc, platform, python in product(row.soc, row.platform, row.python):
                    needs = self._needs(Version(release), soc)
                    if not any(need.component == "cann" for need in needs):
                        continue
                    system: dict[str, Value] = {"cann": parse_value("cann", cann), "python": Version(python)}
                    if not all(need.is_promised_by(system) for need in needs):
                        continue
                    for use in file.use:
                        if use.newest is None or at < use.newest:
                            yield Cell(
                                use=use.name,
                                release=release,
                                cann=cann,
                                soc=soc,
                                platform=platform,
                                python=python,
                                glibc=row.glibc,
                            )

    def _needs(self, release: Version, soc: str) -> list[ComponentRequirement]:
        """Return what facts about a release say of CANN and Python on a SoC."""
        system: dict[str, Value] = {"soc": parse_value("soc", soc)}
        needs = []
        for fact in self.facts:
            if fact.wheels or not fact.is_about(self.package, release) or not fact.applies_on(system):
                continue
            needs += [need for need in component_requirements(fact.needs) if need.component in ("cann", "python")]
        return needs


def load_grid(path: Path, matrices: Path) -> Grid:
    """Read a grid, and the files of `matrices` that its stacks use. Raises InputError with file:line:key."""
    file = read(path, GridFile, path.name)
    for number, use in enumerate(file.content.use):
        if use.name in [other.name for other in file.content.use[:number]]:
            raise InputError(f"two uses are named `{use.name}`", where=file.place("use", number, "name"))
    machines: set[tuple[str, ...]] = set()
    for number, row in enumerate(file.content.machine):
        combined = set(product(row.soc, row.platform, row.python))
        if repeated := machines & combined:
            machine = ", ".join(min(repeated))
            raise InputError(f"two rows have the machine {machine}", where=file.place("machine", number))
        machines |= combined
    soc, platform, python = min(machines)
    target = {"python": python, "platform": platform, "system": {"soc": soc}}
    stack = {"stack": {"name": NAME, "requires": [file.content.package]}, "target": target}
    inputs = load_with(read_text(tomli_w.dumps(stack), StackFile, "grid.toml"), matrices)
    known = known_values(inputs.systems)
    facts = [fact for fact in compile_facts(inputs.facts, None, known) if isinstance(fact, Requires)]
    asked = tuple(fact for fact in facts if fact.strength is not Strength.PRACTICE)
    return Grid(file, inputs, compile_problems(inputs)[0], asked)
