"""Compare the version checks in a project's code with its metadata and with facts, for `scan`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.audit.module_names import ASIDE
from resolver.audit.offers import Offers
from resolver.audit.stated_bounds import find_in_compiled, find_in_cython
from resolver.audit.version_checks import (
    Effect,
    UnreadableCodeError,
    VersionCheck,
    find_checks,
)
from resolver.index.parse.code_members import CodeMember, read_code
from resolver.index.parse.distribution import FileRelease
from resolver.model import text
from resolver.model.fact import Fact
from resolver.model.requirement import Requirement

# Effects that a `constrains` fact may state. With the others, the code goes on.
_BINDING = frozenset({Effect.REFUSES, Effect.DISABLES, Effect.STATES})


class UnreadMember(msgspec.Struct, frozen=True):
    """A file in a wheel or archive that was not read."""

    # Its path in the wheel or archive.
    path: str
    # Why it was not read, in English.
    why: str


class ScannedCode(msgspec.Struct, frozen=True):
    """The version checks in the code of a wheel or archive."""

    # The checks, in the order of the files.
    checks: tuple[VersionCheck, ...]
    # The files that were not read.
    unread: tuple[UnreadMember, ...]


class FoundBound(msgspec.Struct, frozen=True, kw_only=True):
    """A version check with what the metadata and facts say about the same project."""

    # The check in the code.
    check: VersionCheck
    # The requirements on the compared project in the metadata, with their markers.
    metadata: tuple[str, ...]
    # The ids of facts about the scanned release that name the compared project.
    facts: tuple[str, ...]
    # Whether the index has the compared project. A module may be named otherwise than its project.
    is_project: bool
    # Whether the code accepts all releases that the metadata admits when no extra is chosen.
    is_required: bool

    @property
    def is_news(self) -> bool:
        """Return whether a check is worth a draft of a fact.

        It is if it refuses, disables or states something that neither the metadata nor a fact says.
        """
        is_known = self.is_required or bool(self.facts)
        return self.is_project and not is_known and self.check.effect in _BINDING


def scan_code(path: Path, release: FileRelease) -> ScannedCode:
    """Return the version checks in the code of a wheel or archive, in the order of its files.

    Raises UnusableFile if the wheel or archive as a whole cannot be read.
    """
    checks: list[VersionCheck] = []
    unread: list[UnreadMember] = []
    for member in read_code(path, release):
        if ASIDE.intersection(member.path.split("/")[:-1]):
            continue
        if member.content is None:
            unread.append(UnreadMember(member.path, "it is larger than an honest one"))
            continue
        try:
            checks += _checks(member, member.content, release.project)
        except UnreadableCodeError as error:
            unread.append(UnreadMember(member.path, str(error)))
    return ScannedCode(tuple(checks), tuple(unread))


def _checks(
    member: CodeMember, content: bytes, own_project: NormalizedName
) -> Iterable[VersionCheck]:
    """Return the checks in one file, which is read by the ending of its name."""
    if member.path.endswith(".py"):
        return find_checks(content, member.path, own_project)
    if member.path.endswith((".pyx", ".pxi")):
        return find_in_cython(content, member.path, own_project)
    return find_in_compiled(content, member.path, own_project)


def compare(
    checks: Sequence[VersionCheck],
    requires: Sequence[str],
    facts: Sequence[Fact],
    offers: Offers,
) -> Iterator[FoundBound]:
    """Yield each check with what the metadata and the facts say about the compared project.

    `requires` are the requirements in the metadata of the scanned release, and `facts` the facts
    about it. Raises IndexFailure.
    """
    needs = []
    for line in requires:
        with suppress(InvalidRequirement):
            needs.append((line, text.requirement(line)))
    for check in checks:
        on_project = [(line, need) for line, need in needs if need.name == check.project]
        yield FoundBound(
            check=check,
            metadata=tuple(line for line, _ in on_project),
            facts=tuple(fact.id for fact in facts if check.project in fact.named_projects),
            is_project=bool(offers.versions(check.project)),
            is_required=_is_required(check, [need for _, need in on_project], offers),
        )


def _is_required(check: VersionCheck, needs: Iterable[Requirement], offers: Offers) -> bool:
    """Return whether the code accepts every release that the metadata admits.

    False if the metadata does not restrict the compared project on the target.
    """
    admitted = set(offers.versions(check.project))
    is_bounded = False
    for need in needs:
        with suppress(InvalidRequirement):  # like a line that cannot be read
            if need.applies(offers.markers):
                is_bounded = True
                admitted.intersection_update(offers.matching(need.name, need.specifier))
    accepted = offers.matching(check.project, SpecifierSet(check.accepts))
    return is_bounded and admitted.issubset(accepted)
