"""Premises: the constraints of a core with the releases that the proof of the core needs.

`check_refutation` checks them. What people read of a constraint is a reason (`reasons`), which is
made of the same edges.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from resolver.model import text
from resolver.model.constraint import Constraint, Unavailable
from resolver.model.dependency import Candidate
from resolver.model.package import PackageKind
from resolver.model.reason import ConcernedRelease, Premise
from resolver.model.release import RejectionReason, Release

if TYPE_CHECKING:
    # PySAT, which they need, is loaded only if it is needed.
    from resolver.resolve.clauses import Clauses, RuledOut


def premises(clauses: Clauses, core: Iterable[Constraint]) -> tuple[Premise, ...]:
    """Return the premises of a core of some clauses, in its order."""
    return tuple(_premise(clauses, constraint) for constraint in core)


def _premise(clauses: Clauses, constraint: Constraint) -> Premise:
    """Return a constraint with the releases that its clauses are about."""
    releases = []
    for parent, _ in clauses.edges.get(constraint, ()):
        if parent is not None and parent.package.kind is PackageKind.PROJECT:
            releases.append(_concerned(parent, _rejection(clauses, parent, constraint)))
    ruled_out = clauses.ruled_out_releases.get(constraint, ())
    releases += [_ruled_out(clauses, release) for release in ruled_out]
    permitting = clauses.policies.permitting(constraint)
    return Premise(
        constraint=constraint,
        releases=tuple(dict.fromkeys(releases)),
        permitting=tuple(_concerned(candidate, None) for candidate in permitting),
    )


def _rejection(
    clauses: Clauses, candidate: Candidate, constraint: Constraint
) -> RejectionReason | None:
    """Return why the file of a candidate cannot be used, if the constraint is about that."""
    if not isinstance(constraint, Unavailable):
        return None
    return clauses.universe.rejection(candidate).reason


def _concerned(candidate: Candidate, rejection: RejectionReason | None) -> ConcernedRelease:
    """Return the release of a candidate, as one that a constraint concerns."""
    return ConcernedRelease(
        project=text.name(candidate.package.name),
        version=candidate.version,
        extra=candidate.package.extra,
        release=candidate.release,
        rejection=rejection,
    )


def _ruled_out(clauses: Clauses, ruled_out: RuledOut) -> ConcernedRelease:
    """Return a release that a constraint rules out."""
    project = clauses.universe.project(text.name(ruled_out.package.name))
    release = project.release(ruled_out.position)
    usable = release if isinstance(release, Release) else None
    return ConcernedRelease(project.name, project.versions[ruled_out.position], release=usable)
