"""Say why projects that `ascend-lock lock --upgrade-package` names stay at their versions."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, suppress

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.cli.catalogs import Catalogs
from resolver.cli.options import Settings
from resolver.cli.outcome import Job, TargetResult
from resolver.errors import IndexFailure
from resolver.index.protocol import Catalog
from resolver.model import text
from resolver.model.as_of import NEWEST
from resolver.model.fact import Excludes
from resolver.model.lock import Lock, LockedPin
from resolver.model.message import Message, message
from resolver.model.requirement import Requirement


def print_unmoved(
    results: Sequence[TargetResult], packages: Collection[NormalizedName], run: Settings
) -> None:
    """Print why projects of --upgrade-package stay, for the first target where one does.

    Projects that a line of the stack pins, or that are built from a commit, are left out.
    """
    for result in results:
        if result.job is None or not isinstance(result.answer, Lock):
            continue
        held: dict[str, list[str]] = {}
        pins = list(_unmoved(result.job, result.answer, packages))
        for pin in pins:
            note = _why(pin, result.job, result.answer, run)
            if note.code == "lock.held-by-day":
                held.setdefault(str(note.values["day"]), []).append(_shown(pin))
            else:
                run.print_note(note.code, **note.values)
        for day, shown in held.items():
            command = shlex.join(("ascend-lock", *sys.argv[1:], "--as-of", NEWEST))
            run.print_note("lock.held-by-day", pins=tuple(shown), day=day, command=command)
        if pins:
            return


def _unmoved(job: Job, lock: Lock, packages: Collection[NormalizedName]) -> Iterator[LockedPin]:
    """Yield the pins of projects to upgrade that the previous lock has at the same version."""
    if job.previous is None:
        return
    old = {pin.name: pin.version for pin in job.previous.pin}
    for pin in lock.pin:
        name = text.name(pin.name)
        is_same = name in packages and old.get(pin.name) == pin.version
        if is_same and pin.git is None and not _is_pinned(job, name):
            yield pin


def _is_pinned(job: Job, name: NormalizedName) -> bool:
    """Return whether a line of the stack pins a project. Another hint is about that."""
    needs = [line.need for line in job.problem.requirements_on(name)]
    specifiers = [need.specifier for need in needs if isinstance(need, Requirement)]
    return any(text.pinned_version(specifier) is not None for specifier in specifiers)


def _why(pin: LockedPin, job: Job, lock: Lock, run: Settings) -> Message:
    """Return the hint why a pin stays.

    Pages that were read for the lock are not read anew.
    """
    command = run.command("why", job.problem.stack.argument, pin.name)
    unknown = message("lock.unmoved", pin=_shown(pin), command=command)

    def reason(catalog: Catalog) -> Message:
        """Return the hint, given the pages."""
        newer, later, day = _newer(pin, job, catalog)
        if not newer:
            return message("lock.newest", pin=_shown(pin))
        asked = list(_requirements(pin, job, lock))
        for specifier, why in asked:
            if not any(specifier.contains(version, prereleases=True) for version in newer):
                return message("lock.bound", pin=_shown(pin), why=why, command=command)
        fitting = [
            version
            for version in newer
            if all(specifier.contains(version, prereleases=True) for specifier, _ in asked)
        ]
        if fitting and later.issuperset(fitting):
            return message("lock.held-by-day", day=day)
        return unknown

    with closing(Catalogs(replace(run, offline=True))) as catalogs, suppress(IndexFailure):
        return catalogs.ask(job.problem, reason)
    return unknown


def _newer(
    pin: LockedPin, job: Job, catalog: Catalog
) -> tuple[list[Version], frozenset[Version], str]:
    """Return the newer final releases of a pin's project, the later ones, and the preferred day.

    The target can use the releases, and no fact excludes them. The later ones were uploaded after
    the day whose releases the lock prefers.
    """
    # Few runs need the solver's modules.
    from resolver.model.release import Release
    from resolver.resolve.universe import Universe

    universe = Universe(job.problem, catalog, None)
    name, day = text.name(pin.name), universe.as_of.day
    project = universe.project(name)
    newer: list[Version] = []
    later: set[Version] = set()
    for position in project.positions(project.stable):
        release, version = project.release(position), project.versions[position]
        if version <= Version(pin.version):
            break
        is_excluded = any(
            isinstance(fact, Excludes) and fact.is_about(name, version)
            for fact in job.problem.facts
        )
        if is_excluded or not isinstance(release, Release) or release.yanked:
            continue
        newer.append(version)
        if project.is_later(position, day):
            later.add(version)
    return newer, frozenset(later), day


def _requirements(pin: LockedPin, job: Job, lock: Lock) -> Iterator[tuple[SpecifierSet, Message]]:
    """Yield what the stack and other pins require of a pin's project, each as a sentence."""
    for line in job.problem.requirements_on(text.name(pin.name)):
        if isinstance(line.need, Requirement):
            yield line.need.specifier, message("why.stack", line=line.origin.text)
    for reason in lock.reasons().get(pin.name, []):
        if reason.code != "why.stack":
            yield text.requirement(str(reason.values["line"])).specifier, reason


def _shown(pin: LockedPin) -> str:
    """Return a pin as people read it."""
    return f"{pin.name} {pin.version}"
