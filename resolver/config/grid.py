"""The grid of `ascend-lock matrix build`, read from grid.toml and the facts.

Each cell of the grid is a stack that is solved on its own (see `model/matrix`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Final

import msgspec
import tomli_w
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.ascend.names import CHIP, TOOLKIT
from resolver.config.compile import StackCompiler
from resolver.config.decode import parse_need
from resolver.config.load import load, load_with
from resolver.config.schema import GridFile, StackFile
from resolver.config.toml_files import Document, read, read_text
from resolver.errors import InputError
from resolver.files import digest
from resolver.model import text
from resolver.model.component import Components, Value
from resolver.model.fact import Need, Requires, Sources, Strength, component_requirements
from resolver.model.matrix import Cell, Practices, Use, stack_text
from resolver.model.problem import NO_OPTIONS, PolicyOptions, Problem
from resolver.model.requirement import Requirement
from resolver.phrase import phrase

# The name of the stack that is made to load the files of a grid, and of the grid's snapshot.
NAME: Final = "matrix"


class Grid(msgspec.Struct, frozen=True):
    """A grid, with the files that the stacks of its cells use."""

    # grid.toml.
    file: Document[GridFile]
    # The compiler of the problems of cells. All cells share its facts, indexes and components.
    compiler: StackCompiler
    # A problem with the same files for the first machine. Its only line is the grid's project.
    problem: Problem
    # The `requires` facts of these files, for any machine, without practices.
    facts: tuple[Requires, ...]
    # For each use with a shipped stack, by the name of the use, the compiler of that stack.
    shipped: Mapping[str, StackCompiler]

    @property
    def package(self) -> NormalizedName:
        """Return the project of the grid: its releases are tried for uses without a project."""
        return self.file.content.package

    @property
    def packages(self) -> tuple[NormalizedName, ...]:
        """Return the projects whose releases are tried, the project of the grid first.

        Uses with a shipped stack do not count.
        """
        packages = [self.package]
        packages += [self._package_of(use) for use in self.file.content.use if not use.stack]
        return tuple(dict.fromkeys(packages))

    def _package_of(self, use: Use) -> NormalizedName:
        """Return the project whose releases are tried for a use."""
        return canonicalize_name(use.package) if use.package else self.package

    @property
    def components(self) -> Components:
        """Return the components that targets can have, by name."""
        return self.compiler.inputs.components

    @property
    def digest(self) -> str:
        """Return the sha256 in hex of all files that outcomes depend on.

        What the indexes have is not included.
        """
        stacks = [
            [name, compiler.inputs.stack.digest] for name, compiler in sorted(self.shipped.items())
        ]
        return digest([self.file.digest, self.problem.digest, self.problem.readings, stacks])

    def use(self, cell: Cell) -> Use:
        """Return the use of a cell, with all its keys."""
        uses = {use.name: use for use in self.file.content.use}
        return uses[cell.use]

    def stack(self, cell: Cell, practices: Practices) -> str:
        """Return the stack of a cell as TOML.

        `practices` are turned on in it. A shipped stack is returned unchanged.
        """
        if cell.use in self.shipped:
            return self.shipped[cell.use].inputs.stack.text
        return stack_text(cell, self.use(cell), practices)

    def practices(self, cell: Cell) -> Practices:
        """Return the practices that the shipped stack of a cell turns on.

        Raises KeyError if the use of the cell has no shipped stack.
        """
        return self.shipped[cell.use].inputs.stack.content.stack.practices

    def problem_of(self, cell: Cell, practices: Practices, options: PolicyOptions) -> Problem:
        """Return the problem of a cell. Raises InputError.

        `practices` are turned on, unless the cell has a shipped stack. `options` replace parts of
        the policy.
        """
        if cell.use in self.shipped:
            problems = self.shipped[cell.use].problems(options=options)
            return next(problem for problem in problems if _machine(problem) == cell.machine[1:])
        stack = read_text(self.stack(cell, practices), StackFile, "grid.toml")
        return self.compiler.problems(stack, options=options)[0]

    def projects(self, cell: Cell) -> tuple[NormalizedName, ...]:
        """Return the projects that the lines of a cell's stack name, the cell's project first."""
        if cell.use in self.shipped:
            stack = self.problem_of(cell, (), NO_OPTIONS).stack
            needs = [root.need for root in stack.requirements]
        else:
            needs = [parse_need(line, self.components) for line in self.use(cell).requires]
        names = [canonicalize_name(cell.package)]
        names += [need.name for need in needs if isinstance(need, Requirement)]
        return tuple(dict.fromkeys(names))

    def pairing(self, cell: Cell) -> tuple[str, ...]:
        """Return the requirements that facts add to a cell's release on its SoC, as texts."""
        needs = self._needs(canonicalize_name(cell.package), Version(cell.release), cell.chip)
        return tuple(dict.fromkeys(str(need) for need in needs))

    def toolkits(self) -> tuple[str, ...]:
        """Return the known releases of CANN, oldest first."""
        return tuple(map(str, self.components[TOOLKIT].known))

    def cells(self, releases: Mapping[str, Sequence[str]]) -> Iterator[Cell]:
        """Yield the cells of the grid: first cells of releases, then cells of shipped stacks.

        `releases` has the releases of each project of `packages`, newest first. A release has a
        cell for a machine if facts about it require a CANN, and the CANN and the Python of the
        machine meet the requirements of facts.
        """
        stack_uses = [use for use in self.file.content.use if use.stack]
        release_uses = [use for use in self.file.content.use if not use.stack]
        for package in self.packages:
            uses = [use for use in release_uses if self._package_of(use) == package]
            yield from self._cells_of_package(package, uses, releases[package])
        for use in stack_uses:
            yield from self._cells_of_stack(use)

    def _cells_of_package(
        self, package: NormalizedName, uses: Sequence[Use], releases: Sequence[str]
    ) -> Iterator[Cell]:
        """Yield the cells of a project's releases for the uses that try it."""
        tried = {use.name: _tried(use, releases) for use in uses}
        for release in releases:
            for machine in self._machines(package, release):
                for use in uses:
                    has_python = not use.python or machine["python"] in use.python
                    if has_python and release in tried[use.name]:
                        yield Cell(use=use.name, package=package, release=release, **machine)

    def _cells_of_stack(self, use: Use) -> Iterator[Cell]:
        """Yield the cells of a use with a shipped stack: one for each target."""
        for problem in self.shipped[use.name].problems():
            toolkit, chip, platform, python, glibc = _machine(problem)
            yield Cell(
                use=use.name,
                package=use.package,
                release=_release(problem, canonicalize_name(use.package)),
                toolkit=toolkit,
                chip=chip,
                platform=platform,
                python=python,
                glibc=glibc,
            )

    def _machines(self, package: NormalizedName, release: str) -> Iterator[dict[str, str]]:
        """Yield each pair of a machine and a known toolkit that facts about a release admit.

        Each is a dictionary with fields of `Cell`. Yield nothing if no fact requires a toolkit.
        """
        for machines, toolkit in product(self.file.content.machine, self.toolkits()):
            for chip, platform, python in product(
                machines.chip, machines.platform, machines.python
            ):
                if self._is_named(package, Version(release), chip, toolkit, python):
                    yield {
                        "toolkit": toolkit,
                        "chip": chip,
                        "platform": platform,
                        "python": python,
                        "glibc": machines.glibc,
                    }

    def _is_named(
        self, package: NormalizedName, release: Version, chip: str, toolkit: str, python: str
    ) -> bool:
        """Return whether facts about a release on a chip require a toolkit and admit this one.

        They must admit the Python, too.
        """
        needs = component_requirements(self._needs(package, release, chip))
        system: dict[str, Value] = {
            TOOLKIT: self.components[TOOLKIT].parse(toolkit),
            "python": Version(python),
        }
        about_versions = [need for need in needs if need.component in system]
        names_toolkit = any(need.component == TOOLKIT for need in needs)
        return names_toolkit and all(need.is_promised_by(system) for need in about_versions)

    def _needs(self, package: NormalizedName, release: Version, chip: str) -> list[Need]:
        """Return the requirements that facts add to a release on a SoC, for any of its files."""
        system = {CHIP: self.components[CHIP].parse(chip)}
        needs: list[Need] = []
        for fact in self.facts:
            is_about_release = not fact.wheels and fact.is_about(package, release)
            if is_about_release and fact.applies_on(system, ()):
                needs += fact.needs
        return needs


def _tried(use: Use, releases: Sequence[str]) -> Sequence[str]:
    """Return the releases of a project that are tried for a use, newest first."""
    admitted = SpecifierSet(use.versions)
    tried = [release for release in releases if admitted.contains(release, prereleases=True)]
    if use.one_of_series:
        tried = _newest_of_each_series(tried)
    return tried[: use.newest]


def _newest_of_each_series(releases: Sequence[str]) -> list[str]:
    """Return one release for each version without suffixes, in the given order.

    It is the newest final release, or else the newest pre-release. `releases` must be sorted,
    newest first.
    """
    final: dict[tuple[int, ...], str] = {}
    prereleases: dict[tuple[int, ...], str] = {}
    for release in releases:
        version = Version(release)
        series = prereleases if version.is_prerelease else final
        series.setdefault(version.release, release)
    kept = {**prereleases, **final}.values()
    return [release for release in releases if release in kept]


def _machine(problem: Problem) -> tuple[str, ...]:
    """Return CANN, SoC, platform, Python and glibc of a problem's target."""
    target = problem.target
    toolkit = str(target.system.get(TOOLKIT, ""))
    chip = str(target.system.get(CHIP, ""))
    python = ".".join(map(str, target.python_line))
    glibc = ".".join(map(str, target.glibc))
    return toolkit, chip, target.platform, python, glibc


def _release(problem: Problem, package: NormalizedName) -> str:
    """Return the version of a project that a line of a shipped stack names.

    The line has `==`, or names a commit that a `sources` fact is about. Raises InputError if there
    is no such line.
    """
    described_commits = [fact for fact in problem.facts if isinstance(fact, Sources)]
    for root in problem.requirements_on(package):
        need = root.need
        assert isinstance(need, Requirement)  # noqa: S101  only these have a name
        for fact in described_commits:
            if fact.package == package and fact.commit in need.url:
                return str(fact.recipe.version)
        for specifier in need.specifier:
            if text.is_exact(specifier):
                return specifier.version
    raise InputError(
        phrase("the stack has no line that names a version of {package}", package=package),
        where=problem.stack.where,
        why=phrase("the use of a grid shows it"),
        hint=phrase("{package}==X, or a commit that a `sources` fact is about", package=package),
    )


def load_grid(path: Path, matrices: Path) -> Grid:
    """Read a grid, and the files of `matrices` that its stacks use.

    Raises InputError with file:line:key.
    """
    file = read(path, GridFile, path.name)
    machines = _distinct_machines(file)
    inputs = load_with(_stack_for(file.content.package, min(machines)), matrices)
    compiler = StackCompiler(inputs)
    components = inputs.components
    for name in (TOOLKIT, CHIP):
        if name not in components:
            raise InputError(
                phrase(
                    "a grid is about the component `{name}`, which no row of systems.toml has",
                    name=name,
                ),
                where=file.name,
            )
    _check_uses(file, components)
    for number, machines_of_row in enumerate(file.content.machine):
        for position, chip in enumerate(machines_of_row.chip):
            where = file.place("machine", number, CHIP, position)
            components[CHIP].require_known(components[CHIP].parse(chip), where)
    requires = [fact for fact in compiler.facts if isinstance(fact, Requires)]
    return Grid(
        file=file,
        compiler=compiler,
        problem=compiler.problems()[0],
        facts=tuple(fact for fact in requires if fact.strength is not Strength.PRACTICE),
        shipped={
            use.name: StackCompiler(load(use.stack, matrices))
            for use in file.content.use
            if use.stack
        },
    )


def _check_uses(file: Document[GridFile], components: Components) -> None:
    """Raise InputError if two uses have one name, or a use has a wrong combination of keys.

    A use must have either `requires`, or `stack` with `package`.
    """
    seen: set[str] = set()
    for number, use in enumerate(file.content.use):
        if use.name in seen:
            where = file.place("use", number, "name")
            raise InputError(phrase("two uses are named `{name}`", name=use.name), where=where)
        seen.add(use.name)
        for position, line in enumerate(use.requires):
            read_line = partial(parse_need, components=components)
            file.parse(read_line, line, "use", number, "requires", position)
        has_both_or_none = bool(use.stack) == bool(use.requires)
        if has_both_or_none or (use.stack and not use.package):
            raise InputError(
                phrase("a use has either `requires`, or `stack` with the `package` that it is for"),
                where=file.place("use", number),
            )


def _distinct_machines(file: Document[GridFile]) -> set[tuple[str, ...]]:
    """Return SoC, platform and Python of each machine of a grid.

    Raises InputError if two rows have the same machine.
    """
    machines: set[tuple[str, ...]] = set()
    for number, machines_of_row in enumerate(file.content.machine):
        row_machines = set(
            product(machines_of_row.chip, machines_of_row.platform, machines_of_row.python)
        )
        repeated = machines & row_machines
        if repeated:
            raise InputError(
                phrase("two rows have the machine {machine}", machine=", ".join(min(repeated))),
                where=file.place("machine", number),
            )
        machines |= row_machines
    return machines


def _stack_for(package: NormalizedName, machine: tuple[str, ...]) -> Document[StackFile]:
    """Return a stack whose only line is a project, for a machine: SoC, platform and Python."""
    chip, platform, python = machine
    tables = {
        "stack": {"name": NAME, "requires": [package]},
        "target": {"python": python, "platform": platform, "system": {CHIP: chip}},
    }
    return read_text(tomli_w.dumps(tables), StackFile, "grid.toml")
