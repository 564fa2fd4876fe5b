"""A small search that tries all combinations of releases, for the check of a refutation.

It shares no code with the engines. All that it knows about releases are the premises of a
refutation. It tries every combination, so it is only suited for a few projects with few different
releases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.model.requirement import Requirement

# The most partial combinations that are tried.
MOST_STEPS: Final = 100_000


class TooManyError(Exception):
    """There are more combinations than MOST_STEPS."""


class SimpleNeed(NamedTuple):
    """A requirement on a project, as the search in this module needs it."""

    # The project.
    project: str
    # The specifier set that its version must meet; empty for any version.
    specifier: str
    # The extras of the project that are required.
    extras: tuple[str, ...] = ()
    # Whether the requirement is from the stack or a fact. If it pins a yanked release, that is
    # permitted.
    by_user: bool = False
    # Whether a release has it on its own project. Such a requirement permits nothing.
    is_own: bool = False


class Permission(NamedTuple):
    """A requirement of a release permits the yanked releases or the pre-releases of a project."""

    # The project.
    project: str
    # The extra that has the requirement; empty for the release itself. It counts only if something
    # requires the extra.
    extra: str
    # Whether yanked releases are permitted; otherwise pre-releases are.
    is_of_yanked: bool


class ReleaseClass(NamedTuple):
    """All releases of a project about which the premises say the same, and what they say."""

    # The version of one of the releases.
    version: Version
    # The requirements by extra; the key is empty for requirements without an extra.
    needs: Mapping[str, tuple[SimpleNeed, ...]] = {}
    # The bounds on projects, which need not be installed.
    bounds: tuple[SimpleNeed, ...] = ()
    # The modules that such a release owns. No other release may own them.
    modules: frozenset[str] = frozenset()
    # Whether the releases are yanked, so that each needs a pin or another permission.
    is_yanked: bool = False
    # Whether they are pre-releases that are admitted only if no final release fits.
    is_doubtful: bool = False
    # What the releases and their extras permit.
    permits: frozenset[Permission] = frozenset()


class _State(NamedTuple):
    """A partial combination: some projects are decided, and others are required."""

    # The decided projects.
    chosen: Mapping[str, ReleaseClass]
    # The requirements on each project, decided or not.
    needs: Mapping[str, tuple[SimpleNeed, ...]]


def is_possible(
    roots: Iterable[SimpleNeed],
    classes: Mapping[str, Sequence[ReleaseClass]],
    finals: Mapping[str, Sequence[Version]],
) -> bool:
    """Return whether some combination of releases meets the roots and all their requirements.

    `classes` has the releases of each project. `finals` has the final versions of projects with
    doubtful releases. If one of them meets all requirements on its project, a doubtful release
    needs a permission, whatever the final release requires itself. Raises TooManyError.
    """
    return _Enumeration(classes, finals).is_possible(roots)


class _Enumeration:
    """Tries the combinations of releases by backtracking, one project after the other."""

    def __init__(
        self, classes: Mapping[str, Sequence[ReleaseClass]], finals: Mapping[str, Sequence[Version]]
    ) -> None:
        self._classes = classes
        self._finals = finals
        self._steps = 0

    def is_possible(self, roots: Iterable[SimpleNeed]) -> bool:
        """Return whether a combination meets the roots."""
        state = self._with_needs(_State({}, {}), roots)
        return state is not None and self._can_be_completed(state)

    def _can_be_completed(self, state: _State) -> bool:
        """Return whether a partial combination can be extended to one that meets everything."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise TooManyError
        undecided = [project for project in state.needs if project not in state.chosen]
        if not undecided:
            return self._is_permitted(state)
        admitted = {project: self._admitted(project, state.needs[project]) for project in undecided}
        project = min(undecided, key=lambda name: len(admitted[name]))
        for release in admitted[project]:
            following = self._with_release(state, project, release)
            if following is not None and self._can_be_completed(following):
                return True
        return False

    def _admitted(self, project: str, needs: Iterable[SimpleNeed]) -> list[ReleaseClass]:
        """Return the releases of a project that all requirements on it admit."""
        specifiers = {need.specifier for need in needs}
        return [
            release
            for release in self._classes.get(project, ())
            if all(admits(specifier, release.version) for specifier in specifiers)
        ]

    def _with_release(self, state: _State, project: str, release: ReleaseClass) -> _State | None:
        """Return the state after deciding one more project; None if that contradicts the state."""
        for other in state.chosen.values():
            if not release.modules.isdisjoint(other.modules):
                return None
        following = _State({**state.chosen, project: release}, state.needs)
        if not _is_within_bounds(following.chosen):
            return None
        required: list[SimpleNeed] = []
        for extra in sorted(_required_extras(state.needs[project])):
            required += release.needs.get(extra, ())
        return self._with_needs(following, required)

    def _with_needs(self, state: _State, needs: Iterable[SimpleNeed]) -> _State | None:
        """Return the state with more requirements; None if a decided project does not meet them."""
        waiting = list(needs)
        for need in waiting:  # the list grows while it is read
            before = state.needs.get(need.project, ())
            state = _State(state.chosen, {**state.needs, need.project: (*before, need)})
            release = state.chosen.get(need.project)
            if release is None:
                continue
            if not admits(need.specifier, release.version):
                return None
            for extra in need.extras:
                if not any(extra in earlier.extras for earlier in before):
                    waiting += release.needs.get(extra, ())
        return state

    def _is_permitted(self, state: _State) -> bool:
        """Return whether the policy permits the yanked and doubtful releases that are chosen."""
        of_yanked = _permitted(state, is_of_yanked=True)
        of_prereleases = _permitted(state, is_of_yanked=False)
        for project, release in state.chosen.items():
            needs = [need for need in state.needs[project] if not need.is_own]
            is_yanked = release.is_yanked and project not in of_yanked
            if is_yanked and not any(map(_is_pinned_by_user, needs)):
                return False
            is_doubtful = release.is_doubtful and project not in of_prereleases
            if is_doubtful and self._is_final_preferred(project, needs):
                return False
        return True

    def _is_final_preferred(self, project: str, needs: Sequence[SimpleNeed]) -> bool:
        """Return whether a final release of a project meets all requirements on it.

        The result is False if a requirement names a pre-release, which permits it.
        """
        if any(SpecifierSet(need.specifier).prereleases for need in needs):
            return False
        for final in self._finals.get(project, ()):
            if all(admits(need.specifier, final) for need in needs):
                return True
        return False


def _permitted(state: _State, *, is_of_yanked: bool) -> set[str]:
    """Return the projects whose yanked releases, or else pre-releases, chosen releases permit."""
    projects: set[str] = set()
    for project, release in state.chosen.items():
        extras = _required_extras(state.needs[project])
        for permission in release.permits:
            if permission.is_of_yanked is is_of_yanked and permission.extra in extras:
                projects.add(permission.project)
    return projects


def _required_extras(needs: Iterable[SimpleNeed]) -> set[str]:
    """Return the extras that requirements on a project require, and the empty one."""
    extras = {""}
    for need in needs:
        extras.update(need.extras)
    return extras


def _is_within_bounds(chosen: Mapping[str, ReleaseClass]) -> bool:
    """Return whether each chosen release is admitted by the bounds of the others."""
    for release in chosen.values():
        for bound in release.bounds:
            other = chosen.get(bound.project)
            if other is not None and not admits(bound.specifier, other.version):
                return False
    return True


@cache
def admits(specifier: str, version: Version) -> bool:
    """Return whether a specifier set admits a version, pre-releases included."""
    return SpecifierSet(specifier).contains(version, prereleases=True)


def _is_pinned_by_user(need: SimpleNeed) -> bool:
    """Return whether a requirement is from the stack or a fact, and names a single release."""
    if not need.by_user:
        return False
    for clause in SpecifierSet(need.specifier):
        if clause.operator == "===":
            return True
        if clause.operator == "==" and not clause.version.endswith(".*"):
            return True
    return False


def need_of(requirement: Requirement, requirer: str, *, by_user: bool) -> SimpleNeed:
    """Return a requirement of a release of the project `requirer` as a `SimpleNeed`."""
    return SimpleNeed(
        project=requirement.name,
        specifier=str(requirement.specifier),
        extras=tuple(requirement.extras),
        by_user=by_user,
        is_own=requirement.name == requirer,
    )
