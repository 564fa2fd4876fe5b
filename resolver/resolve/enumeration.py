"""A small, plain search that says whether projects can be installed together.

It shares nothing with the engines. It knows releases by what the reasons of a refutation say of
them, and nothing else. It tries every combination, so it is only for a handful of projects, each
with few releases that differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.model.requirement import Requirement

# Combinations that are tried.
MOST_STEPS: Final = 100_000


class TooManyError(Exception):
    """There are more combinations than are tried."""


class Need(NamedTuple):
    """A requirement on a project, with one set of extras."""

    project: str
    # what its version must meet; empty for any version
    specifier: str
    extras: tuple[str, ...] = ()
    # whether the stack or a fact says so, which permits a yanked release that it pins
    by_user: bool = False


class Choice(NamedTuple):
    """A release of a project, and what the reasons say of it.

    It stands for all releases that the reasons do not tell apart.
    """

    version: Version
    # what it requires, by extra; "" stands for no extra
    needs: Mapping[str, tuple[Need, ...]] = {}
    # bounds on projects that need not be there
    bounds: tuple[Need, ...] = ()
    # what nothing else may have that is installed with it
    modules: frozenset[str] = frozenset()
    # whether it is taken only if something pins it, or permits it
    is_yanked: bool = False
    is_doubtful: bool = False
    # the projects of which it permits yanked releases and pre-releases
    permits: frozenset[str] = frozenset()


class _State(NamedTuple):
    """Some projects that are decided, and what is required of these and of others."""

    chosen: Mapping[str, Choice]
    needs: Mapping[str, tuple[Need, ...]]


def is_possible(
    roots: Iterable[Need],
    choices: Mapping[str, Sequence[Choice]],
    finals: Mapping[str, Sequence[Version]],
) -> bool:
    """Return whether some of these choices meet the roots and what the choices require.

    `finals` are the final releases of projects with doubtful choices: while one of them meets all
    requirements on its project, no pre-release is taken that nothing permits, whatever the final
    release requires itself. Raises TooManyError.
    """
    return _Enumeration(choices, finals).is_possible(roots)


class _Enumeration:
    """Tries the combinations of choices, one project after the other."""

    def __init__(
        self, choices: Mapping[str, Sequence[Choice]], finals: Mapping[str, Sequence[Version]]
    ) -> None:
        self._choices = choices
        self._finals = finals
        self._steps = 0

    def is_possible(self, roots: Iterable[Need]) -> bool:
        state = self._with_needs(_State({}, {}), roots)
        return state is not None and self._can_be_completed(state)

    def _can_be_completed(self, state: _State) -> bool:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise TooManyError
        undecided = [project for project in state.needs if project not in state.chosen]
        if not undecided:
            return self._is_permitted(state)
        admitted = {project: self._admitted(project, state.needs[project]) for project in undecided}
        project = min(undecided, key=lambda name: len(admitted[name]))
        for choice in admitted[project]:
            following = self._with_choice(state, project, choice)
            if following is not None and self._can_be_completed(following):
                return True
        return False

    def _admitted(self, project: str, needs: Iterable[Need]) -> list[Choice]:
        specifiers = {need.specifier for need in needs}
        return [
            choice
            for choice in self._choices.get(project, ())
            if all(admits(specifier, choice.version) for specifier in specifiers)
        ]

    def _with_choice(self, state: _State, project: str, choice: Choice) -> _State | None:
        """Return the state in which a project is decided as well; None if that clashes."""
        for other in state.chosen.values():
            if not choice.modules.isdisjoint(other.modules):
                return None
        following = _State({**state.chosen, project: choice}, state.needs)
        if not _is_within_bounds(following.chosen):
            return None
        extras: set[str] = set()
        for need in state.needs[project]:
            extras.update(need.extras)
        required: list[Need] = []
        for extra in ("", *sorted(extras)):
            required += choice.needs.get(extra, ())
        return self._with_needs(following, required)

    def _with_needs(self, state: _State, needs: Iterable[Need]) -> _State | None:
        """Return the state with further requirements; None if a decision does not meet them."""
        waiting = list(needs)
        for need in waiting:  # which grows
            before = state.needs.get(need.project, ())
            state = _State(state.chosen, {**state.needs, need.project: (*before, need)})
            choice = state.chosen.get(need.project)
            if choice is None:
                continue
            if not admits(need.specifier, choice.version):
                return None
            for extra in need.extras:
                if not any(extra in earlier.extras for earlier in before):
                    waiting += choice.needs.get(extra, ())
        return state

    def _is_permitted(self, state: _State) -> bool:
        """Return whether policies permit the yanked releases and pre-releases among the choices."""
        permitted: set[str] = set()
        for choice in state.chosen.values():
            permitted |= choice.permits
        for project, choice in state.chosen.items():
            if project in permitted:
                continue
            needs = state.needs[project]
            if choice.is_yanked and not any(map(_is_pinned_by_user, needs)):
                return False
            if choice.is_doubtful and self._is_final_preferred(project, needs):
                return False
        return True

    def _is_final_preferred(self, project: str, needs: Sequence[Need]) -> bool:
        """Return whether a final release meets all needs, and none of them names a pre-release."""
        if any(SpecifierSet(need.specifier).prereleases for need in needs):
            return False
        for final in self._finals.get(project, ()):
            if all(admits(need.specifier, final) for need in needs):
                return True
        return False


def _is_within_bounds(chosen: Mapping[str, Choice]) -> bool:
    """Return whether no choice bounds another one that is beyond the bound."""
    for choice in chosen.values():
        for bound in choice.bounds:
            other = chosen.get(bound.project)
            if other is not None and not admits(bound.specifier, other.version):
                return False
    return True


@cache
def admits(specifier: str, version: Version) -> bool:
    """Return whether a version meets a specifier, pre-releases included."""
    return SpecifierSet(specifier).contains(version, prereleases=True)


def _is_pinned_by_user(need: Need) -> bool:
    """Return whether the stack or a fact requires one release."""
    if not need.by_user:
        return False
    for clause in SpecifierSet(need.specifier):
        if clause.operator == "===":
            return True
        if clause.operator == "==" and not clause.version.endswith(".*"):
            return True
    return False


def need_of(requirement: Requirement, *, by_user: bool) -> Need:
    """Return a requirement as the enumeration has it."""
    return Need(requirement.name, str(requirement.specifier), tuple(requirement.extras), by_user)
