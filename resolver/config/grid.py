"""The grid of `ascend-lock matrix`: from grid.toml and the facts to its cells, each a stack to be solved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import msgspec
import tomli_w
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.config.compile import compile_problems, known_values
from resolver.config.decode import parse_need
from resolver.config.fact_rules import compile_facts
from resolver.config.load import Document, Inputs, load, load_with, read, read_text, with_stack
from resolver.config.schema import GridFile, StackFile
from resolver.errors import InputError
from resolver.files import digest
from resolver.model import text
from resolver.model.fact import Requires, Sources, Strength, component_requirements
from resolver.model.matrix import Cell, Practices, Use, stack_text
from resolver.model.problem import NO_OPTIONS, PolicyOptions, Problem
from resolver.model.requirement import ComponentRequirement, Requirement, Value, parse_value

NAME = "matrix"  # of the stack that stands for a grid, and of its snapshot


class Grid(msgspec.Struct, frozen=True):
    """A grid with the files that its stacks use."""

    file: Document[GridFile]
    # what all cells share: facts, indexes, systems
    inputs: Inputs
    # a problem of these, whose only line asks for the grid's package, for the first of the machines
    problem: Problem
    # what facts require, on any machine; without practices
    facts: tuple[Requires, ...]
    # by name of a use, the files of the stack whose targets are its cells
    shipped: Mapping[str, Inputs]

    @property
    def package(self) -> NormalizedName:
        """The project whose releases are the rows of most uses."""
        return self.file.content.package

    @property
    def packages(self) -> tuple[NormalizedName, ...]:
        """The projects whose releases on the indexes are rows: the grid's, then those of uses."""
        uses = [use for use in self.file.content.use if not use.stack]
        return tuple(dict.fromkeys([self.package, *map(self._rows_of, uses)]))

    def _rows_of(self, use: Use) -> NormalizedName:
        """Return the project whose releases are the rows of a use."""
        return canonicalize_name(use.package) if use.package else self.package

    @property
    def digest(self) -> str:
        """What the answers of the grid follow from, apart from the indexes' content."""
        stacks = [[name, inputs.stack.digest] for name, inputs in sorted(self.shipped.items())]
        return digest([self.file.digest, self.problem.digest, self.problem.readings, stacks])

    def use(self, cell: Cell) -> Use:
        """Return the use of a cell."""
        return next(use for use in self.file.content.use if use.name == cell.use)

    def stack(self, cell: Cell, practices: Practices) -> str:
        """Return the TOML of a cell's stack; of a shipped one as it is, whatever the practices."""
        if cell.use in self.shipped:
            return self.shipped[cell.use].stack.text
        return stack_text(cell, self.use(cell), practices)

    def practices(self, cell: Cell) -> Practices:
        """Return the practices that a cell's shipped stack turns on."""
        return self.shipped[cell.use].stack.content.stack.practices

    def problem_of(self, cell: Cell, practices: Practices, options: PolicyOptions) -> Problem:
        """Return the problem of a cell."""
        if cell.use in self.shipped:
            problems = compile_problems(self.shipped[cell.use], options=options)
            return next(problem for problem in problems if _machine(problem) == cell.machine[1:])
        inputs = with_stack(
            self.inputs, read_text(self.stack(cell, practices), StackFile, "grid.toml")
        )
        return compile_problems(inputs, options=options)[0]

    def projects(self, cell: Cell) -> tuple[NormalizedName, ...]:
        """Return the projects that a cell's lines name, its own first."""
        if cell.use in self.shipped:
            needs = [root.need for root in self.problem_of(cell, (), NO_OPTIONS).stack.requirements]
        else:
            needs = [parse_need(line) for line in self.use(cell).requires]
        names = [need.name for need in needs if isinstance(need, Requirement)]
        return tuple(dict.fromkeys([canonicalize_name(cell.package), *names]))

    def pairing(self, cell: Cell) -> tuple[str, ...]:
        """Return what facts say that a cell's release goes with, as they write it."""
        release = Version(cell.release)
        system: dict[str, Value] = {"soc": parse_value("soc", cell.soc)}
        facts = [fact for fact in self.facts if not fact.wheels and fact.applies_on(system)]
        needs = [
            need
            for fact in facts
            if fact.is_about(canonicalize_name(cell.package), release)
            for need in fact.needs
        ]
        return tuple(dict.fromkeys(map(str, needs)))

    def canns(self) -> list[str]:
        """Return the known releases of CANN, oldest first."""
        known = self.inputs.systems.content.component if self.inputs.systems is not None else {}
        return list(known["cann"].known) if "cann" in known else []

    def cells(self, releases: Mapping[str, Sequence[str]]) -> Iterator[Cell]:
        """Yield the cells that the vendor's tables have, for these releases of `packages`, then those of stacks.

        The tables have a cell if facts about a release name a CANN, and the machine meets what they
        say of CANN and Python. Each project's releases are newest first.
        """
        for package in self.packages:
            uses = [
                use
                for use in self.file.content.use
                if not use.stack and self._rows_of(use) == package
            ]
            tried = {use.name: _tried(use, releases[package]) for use in uses}
            for release in releases[package]:
                for machine in self._machines(package, release):
                    for use in uses:
                        if release in tried[use.name] and (
                            not use.python or machine["python"] in use.python
                        ):
                            yield Cell(use=use.name, package=package, release=release, **machine)
        for use in self.file.content.use:
            if use.stack:
                yield from self._cells_of_stack(use)

    def _machines(self, package: NormalizedName, release: str) -> Iterator[dict[str, str]]:
        """Yield the machines that facts about a release name; none if no fact names a CANN."""
        for row, cann in product(self.file.content.machine, self.canns()):
            for soc, platform, python in product(row.soc, row.platform, row.python):
                needs = self._needs(package, Version(release), soc)
                system: dict[str, Value] = {
                    "cann": parse_value("cann", cann),
                    "python": Version(python),
                }
                is_paired = any(need.component == "cann" for need in needs)
                if is_paired and all(need.is_promised_by(system) for need in needs):
                    yield {
                        "cann": cann,
                        "soc": soc,
                        "platform": platform,
                        "python": python,
                        "glibc": row.glibc,
                    }

    def _needs(
        self, package: NormalizedName, release: Version, soc: str
    ) -> list[ComponentRequirement]:
        """Return what facts about a release say of CANN and Python on a SoC."""
        system: dict[str, Value] = {"soc": parse_value("soc", soc)}
        needs = []
        for fact in self.facts:
            if fact.wheels or not fact.is_about(package, release) or not fact.applies_on(system):
                continue
            needs += [
                need
                for need in component_requirements(fact.needs)
                if need.component in ("cann", "python")
            ]
        return needs

    def _cells_of_stack(self, use: Use) -> Iterator[Cell]:
        for problem in compile_problems(self.shipped[use.name]):
            cann, soc, platform, python, glibc = _machine(problem)
            yield Cell(
                use=use.name,
                package=use.package,
                release=_release(problem, canonicalize_name(use.package)),
                cann=cann,
                soc=soc,
                platform=platform,
                python=python,
                glibc=glibc,
            )


def _tried(use: Use, releases: Sequence[str]) -> Sequence[str]:
    """Return the releases of a project that are tried for a use, newest first."""
    admitted = SpecifierSet(use.versions)
    tried = [release for release in releases if admitted.contains(release, prereleases=True)]
    if use.one_of_series:
        series: dict[tuple[int, ...], str] = {}
        for final_ones in (True, False):
            for release in tried:
                version = Version(release)
                if version.is_prerelease != final_ones:
                    series.setdefault(version.release, release)
        tried = [release for release in tried if release in series.values()]
    return tried[: use.newest]


def _machine(problem: Problem) -> tuple[str, ...]:
    """Return CANN, SoC, platform, Python and glibc of a problem's target."""
    target = problem.target
    system = [str(target.system.get(name, "")) for name in ("cann", "soc")]
    return (
        *system,
        target.platform,
        ".".join(map(str, target.python_line)),
        ".".join(map(str, target.glibc)),
    )


def _release(problem: Problem, package: NormalizedName) -> str:
    """Return the version of a project that a stack's line names: by `==`, or by a commit that a fact describes.

    Raises InputError for another line.
    """
    for root in problem.requirements_on(package):
        need = root.need
        assert isinstance(need, Requirement)  # noqa: S101  only these have a name
        commits = [
            fact for fact in problem.facts if isinstance(fact, Sources) and fact.package == package
        ]
        described = next(
            (fact.recipe.version for fact in commits if need.url and fact.commit in need.url), None
        )
        if described is not None:
            return str(described)
        pinned = [specifier.version for specifier in need.specifier if text.is_exact(specifier)]
        if pinned:
            return pinned[0]
    raise InputError(
        f"the stack has no line that names a version of {package}",
        where=problem.stack.where,
        why="the use of a grid shows it",
        hint=f"{package}==X, or a commit that a `sources` fact is about",
    )


def load_grid(path: Path, matrices: Path) -> Grid:
    """Read a grid, and the files of `matrices` that its stacks use.

    Raises InputError with file:line:key.
    """
    file = read(path, GridFile, path.name)
    for number, use in enumerate(file.content.use):
        if use.name in [other.name for other in file.content.use[:number]]:
            raise InputError(
                f"two uses are named `{use.name}`", where=file.place("use", number, "name")
            )
        if bool(use.stack) == bool(use.requires) or (use.stack and not use.package):
            what = "a use has either `requires`, or `stack` with the `package` that it is for"
            raise InputError(what, where=file.place("use", number))
    machines: set[tuple[str, ...]] = set()
    for number, row in enumerate(file.content.machine):
        combined = set(product(row.soc, row.platform, row.python))
        if repeated := machines & combined:
            machine = ", ".join(min(repeated))
            raise InputError(
                f"two rows have the machine {machine}", where=file.place("machine", number)
            )
        machines |= combined
    soc, platform, python = min(machines)
    target = {"python": python, "platform": platform, "system": {"soc": soc}}
    stack = {"stack": {"name": NAME, "requires": [file.content.package]}, "target": target}
    inputs = load_with(read_text(tomli_w.dumps(stack), StackFile, "grid.toml"), matrices)
    known = known_values(inputs.systems)
    facts = [
        fact for fact in compile_facts(inputs.facts, None, known) if isinstance(fact, Requires)
    ]
    asked = tuple(fact for fact in facts if fact.strength is not Strength.PRACTICE)
    shipped = {use.name: load(use.stack, matrices) for use in file.content.use if use.stack}
    return Grid(file, inputs, compile_problems(inputs)[0], asked, shipped)
