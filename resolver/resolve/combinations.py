"""The combinations of releases that the premises of a refutation leave.

`check_refutation` records what each premise demands. `enumeration` tries the combinations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from itertools import chain
from typing import Final

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model import fact as facts
from resolver.model import text
from resolver.model.constraint import VERSION_PART, Line, LinePart, extra_part
from resolver.model.problem import Problem
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.resolve.enumeration import Permission, ReleaseClass, SimpleNeed, admits, is_possible
from resolver.resolve.independent_reading import IndependentReading

# A requirement that nothing meets: no project has an empty name.
IMPOSSIBLE: Final = SimpleNeed("", "")

# A release: a project and a version.
ReleaseKey = tuple[NormalizedName, Version]
# A release with one of its extras; the extra is empty for the release itself.
ExtraKey = tuple[NormalizedName, Version, str]


class Combinations:
    """The demands of premises, and whether some combination of releases meets all of them.

    The attributes have what the premises that were recorded so far say. Releases and lines that no
    premise is about demand nothing.
    """

    def __init__(self, problem: Problem, reading: IndependentReading) -> None:
        """Take the problem, and the reading of its releases. There are no demands yet."""
        self._problem = problem
        self._reading = reading
        # The components whose value is a premise.
        self.components: set[str] = set()
        # The parts of each line that are premises.
        self.lines: dict[Line, set[LinePart]] = defaultdict(set)
        # The requirements of releases on components.
        self.component_needs: list[tuple[ExtraKey, ComponentRequirement]] = []
        # The requirements of releases on projects.
        self.needs: dict[ExtraKey, list[SimpleNeed]] = defaultdict(list)
        # The bounds of releases on projects.
        self.bounds: dict[ReleaseKey, list[SimpleNeed]] = defaultdict(list)
        # The releases that are ruled out.
        self.ruled_out: set[ReleaseKey] = set()
        # The releases that are ruled out, since they are yanked, unless something permits them.
        self.yanked: set[ReleaseKey] = set()
        # The pre-releases that are admitted only if no final release fits.
        self.doubtful: set[ReleaseKey] = set()
        # For each release, what it and its extras permit.
        self.permits: dict[ReleaseKey, set[Permission]] = defaultdict(set)
        # The facts that say that two distributions exclude each other.
        self.collisions: list[facts.Collides | facts.Absent] = []

    def is_possible(self) -> bool:
        """Return whether some combination of releases meets all premises.

        Raises TooManyError if there are too many combinations.
        """
        roots = []
        for line in self._roots():
            if isinstance(line, SimpleNeed):
                roots.append(line)
            elif not self._is_met(line):
                return False
        required = [*roots, *chain.from_iterable(self.needs.values())]
        specifiers: dict[str, set[str]] = defaultdict(set)
        for need in (*required, *chain.from_iterable(self.bounds.values())):
            specifiers[need.project].add(need.specifier)
        classes = {}
        for name in {need.project for need in required} - {IMPOSSIBLE.project}:
            classes[name] = self._classes(text.name(name), sorted(specifiers[name]))
        finals: dict[str, list[Version]] = {}
        for name, _ in self.doubtful:
            if name not in finals:
                finals[name] = self._finals(name)
        return is_possible(roots, classes, finals)

    def _finals(self, name: NormalizedName) -> list[Version]:
        """Return the versions of the final releases of a project that the target can use."""
        finals = [version for version in self._reading.versions(name) if not version.is_prerelease]
        return [
            version
            for version in finals
            if self._reading.is_usable(name, version, is_yanked_fine=False)
        ]

    def _roots(self) -> Iterator[SimpleNeed | ComponentRequirement]:
        """Yield the requirements of lines of the stack or of a build that are premises.

        Parts of a line that are no premises are left out.
        """
        for root in self._problem.stack.requirements:
            parts = self.lines.get(root.origin)
            need = root.need
            if not parts:
                continue
            if isinstance(need, ComponentRequirement):
                yield need
            elif self._reading.applies(need, ""):
                specifier = str(need.specifier) if VERSION_PART in parts else ""
                extras = tuple(extra for extra in need.extras if extra_part(extra) in parts)
                yield SimpleNeed(need.name, specifier, extras, by_user=True)

    def _is_met(self, need: ComponentRequirement) -> bool:
        """Return whether the target meets a requirement on a component.

        The result is True if the value of the component is no premise.
        """
        if need.component not in self.components:
            return True
        return need.allows(self._problem.target.system[need.component])

    def _classes(self, name: NormalizedName, specifiers: Sequence[str]) -> list[ReleaseClass]:
        """Return the classes of the releases of a project that are not ruled out.

        `specifiers` are all specifiers in requirements and bounds on the project.
        """
        needs_by_version = self._needs_by_version(name)
        classes: dict[Hashable, ReleaseClass] = {}
        for version in self._reading.versions(name):
            key = name, version
            needs = needs_by_version[version]
            is_impossible = IMPOSSIBLE in needs.get("", ())
            if key in self.ruled_out or is_impossible:
                continue
            if not self._is_within_constraints(name, version):
                continue
            release = ReleaseClass(
                version=version,
                needs=needs,
                bounds=tuple(self.bounds.get(key, ())),
                modules=frozenset(self._modules(name, version)),
                is_yanked=key in self.yanked,
                is_doubtful=key in self.doubtful,
                permits=frozenset(self.permits.get(key, ())),
            )
            classes.setdefault(_for_premises(release, specifiers), release)
        return list(classes.values())

    def _needs_by_version(
        self, name: NormalizedName
    ) -> defaultdict[Version, dict[str, tuple[SimpleNeed, ...]]]:
        """Return the requirements of each release of a project, by extra.

        A release that has a requirement on a component that the target does not meet has
        IMPOSSIBLE alone.
        """
        needs: defaultdict[Version, dict[str, tuple[SimpleNeed, ...]]] = defaultdict(dict)
        for (project, version, extra), needs_of_extra in self.needs.items():
            if project == name:
                needs[version][extra] = tuple(needs_of_extra)
        for (project, version, extra), component_need in self.component_needs:
            if project == name and not self._is_met(component_need):
                needs[version][extra] = (IMPOSSIBLE,)
        return needs

    def _is_within_constraints(self, name: NormalizedName, version: Version) -> bool:
        """Return whether a release is admitted by the lines of `constraints` that are premises."""
        for root in self._reading.constraints_on(name):
            need = root.need
            if root.origin not in self.lines or not isinstance(need, Requirement):
                continue
            if not admits(str(need.specifier), version):
                return False
        return True

    def _modules(self, name: NormalizedName, version: Version) -> Iterator[str]:
        """Yield the modules that a release owns, by the facts that are premises."""
        for fact in self.collisions:
            if name == fact.other or fact.is_about(name, version):
                yield fact.module


def _for_premises(release: ReleaseClass, specifiers: Sequence[str]) -> Hashable:
    """Return a key that is the same for releases of a project that differ in no premise.

    `specifiers` are all specifiers in requirements and bounds on the project.
    """
    fields = release._asdict()
    version = fields.pop("version")
    needs = fields.pop("needs")
    admitted = tuple(admits(specifier, version) for specifier in specifiers)
    return admitted, version.is_prerelease, tuple(sorted(needs.items())), tuple(fields.values())
