"""Compare the version checks in a project's own code with its metadata and with facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

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

# Folders whose code no user runs, or that have another project's code.
_ASIDE = frozenset({"test", "tests", "testing", "_vendor", "vendor", "vendored", "third_party"})

# What a `constrains` fact may say: the others go on without the project.
_BINDING = frozenset({Effect.REFUSES, Effect.DISABLES, Effect.STATES})


class UnreadMember(msgspec.Struct, frozen=True):
    """A file of a wheel or archive that was not read."""

    # Its path within the wheel or archive.
    path: str
    # Why, in English, as the parser or a limit says it.
    why: str


class ScannedCode(msgspec.Struct, frozen=True):
    """What was found in the code of a wheel or archive."""

    checks: tuple[VersionCheck, ...]
    # The files within it that were not read.
    unread: tuple[UnreadMember, ...]


class FoundBound(msgspec.Struct, frozen=True, kw_only=True):
    """A check, and what else is known of the project whose version it compares."""

    check: VersionCheck
    # Requirements on that project in the metadata, with their markers.
    metadata: tuple[str, ...]
    # Ids of facts about the release that name that project.
    facts: tuple[str, ...]
    # Whether the index has that project; a module may have another name.
    is_project: bool
    # Whether all releases that the metadata admits without an extra are ones the code accepts.
    is_required: bool

    @property
    def is_news(self) -> bool:
        """Return whether a check is worth a draft of a fact.

        It is if it refuses, disables or states, and neither the metadata nor a fact says it.
        """
        is_known = self.is_required or bool(self.facts)
        return self.is_project and not is_known and self.check.effect in _BINDING


def scan_code(path: Path, release: FileRelease) -> ScannedCode:
    """Return the checks in the code of a wheel or archive, in the order of its files.

    Raise UnusableFile if the file as a whole cannot be read.
    """
    checks: list[VersionCheck] = []
    unread: list[UnreadMember] = []
    for member in read_code(path, release):
        if _ASIDE.intersection(member.path.split("/")[:-1]):
            continue
        if member.content is None:
            unread.append(UnreadMember(member.path, "it is larger than an honest one"))
            continue
        try:
            checks += _checks(member, member.content, release.project)
        except UnreadableCodeError as error:
            unread.append(UnreadMember(member.path, str(error)))
    return ScannedCode(tuple(checks), tuple(unread))


def _checks(member: CodeMember, content: bytes, own: NormalizedName) -> Iterable[VersionCheck]:
    """Return the checks in a file, read by what its name says it is."""
    if member.path.endswith(".py"):
        return find_checks(content, member.path, own)
    if member.path.endswith((".pyx", ".pxi")):
        return find_in_cython(content, member.path, own)
    return find_in_compiled(content, member.path, own)


def compare(
    checks: Sequence[VersionCheck],
    requires: Sequence[str],
    facts: Sequence[Fact],
    offers: Offers,
) -> Iterator[FoundBound]:
    """Yield each check with what the metadata and these facts about the release say of it.

    `requires` are the requirements in its metadata. Raise IndexFailure.
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
    """Return whether the metadata admits no release that the code does not accept."""
    admitted = set(offers.versions(check.project))
    is_bounded = False
    for need in needs:
        with suppress(InvalidRequirement):  # like a line that cannot be read
            if need.applies(offers.markers):
                is_bounded = True
                admitted.intersection_update(offers.matching(need.name, need.specifier))
    accepted = offers.matching(check.project, SpecifierSet(check.accepts))
    return is_bounded and admitted.issubset(accepted)
