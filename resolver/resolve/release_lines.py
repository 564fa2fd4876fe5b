"""The requirement lines of releases, which are read once for all that asks for them."""

from __future__ import annotations

from typing import Final

from resolver.errors import ResolverError, WrongRelease
from resolver.index.protocol import UnusableFile
from resolver.model import fact as facts
from resolver.model.dependency import Candidate
from resolver.model.release import RejectionReason, Release
from resolver.resolve.candidates import Candidates
from resolver.resolve.needs import (
    DYNAMIC,
    DynamicArchiveError,
    ReleaseRequirements,
    UnusableReleaseError,
    requirement_lines,
)

# How many archives of a project without static metadata are opened. After these, all other archives
# of the project count as unusable without being opened.
_MOST_DYNAMIC_ARCHIVES: Final = 3


class ReleaseLines:
    """Reads the requirement lines of the candidates of one problem, and keeps them."""

    def __init__(self, candidates: Candidates) -> None:
        """Take the candidates of the problem."""
        self._candidates = candidates
        # Errors of files that a fact could make usable, by file name.
        self.fixable_errors: dict[str, ResolverError] = {}
        # The lines of each release that was opened, or why it cannot be used.
        self._lines: dict[Release, ReleaseRequirements | UnusableReleaseError] = {}
        # By project, the errors of its opened archives that have no static metadata.
        self._dynamic: dict[str, list[DynamicArchiveError]] = {}

    def lines(self, candidate: Candidate) -> ReleaseRequirements:
        """Return the requirement lines of a candidate's release.

        Raises UnusableReleaseError if its file cannot be used.
        """
        release = candidate.release
        if release not in self._lines:
            try:
                self._lines[release] = self._read(candidate)
            except UnusableReleaseError as error:
                self._lines[release] = error
        lines = self._lines[release]
        if isinstance(lines, UnusableReleaseError):
            raise lines.with_traceback(None)
        return lines

    def usable_lines(self, candidate: Candidate) -> ReleaseRequirements | None:
        """Return the requirement lines of a candidate's release; None if its file is unusable."""
        try:
            return self.lines(candidate)
        except UnusableReleaseError:
            return None

    def lines_read(self, release: Release) -> ReleaseRequirements | None:
        """Return the requirement lines of a release that were read already.

        None if they were not, or if its file cannot be used.
        """
        lines = self._lines.get(release)
        return lines if isinstance(lines, ReleaseRequirements) else None

    def _read(self, candidate: Candidate) -> ReleaseRequirements:
        """Read the requirement lines of a release from its file, its commit or facts.

        Raises UnusableReleaseError if they cannot be read, or are not for the target's Python. Some
        of these errors are recorded in `fixable_errors`.
        """
        release = candidate.release
        filename = release.file.filename
        metadata = self._candidates.facts_about(candidate, facts.Metadata)
        dynamic = self._dynamic.setdefault(candidate.package.name, [])
        is_known = metadata or release.builds or release.source or release.file.is_wheel
        if not is_known and len(dynamic) >= _MOST_DYNAMIC_ARCHIVES:
            self.fixable_errors[filename] = dynamic[0]
            unopened = RejectionReason.UNOPENED
            raise UnusableReleaseError(unopened, unopened.value)
        try:
            lines = requirement_lines(self._candidates.catalog, release, metadata)
        except UnusableFile as error:
            raise UnusableReleaseError(RejectionReason.METADATA, str(error)) from None
        except DynamicArchiveError as error:
            # Another release may be usable. The error is shown only if none is.
            self.fixable_errors[filename] = error
            dynamic.append(error)
            raise UnusableReleaseError(RejectionReason.DYNAMIC, str(DYNAMIC)) from None
        except WrongRelease as error:
            self.fixable_errors[filename] = error
            raise UnusableReleaseError(RejectionReason.METADATA, error.message) from None
        refusal = self._candidates.compatibility.python_refusal(lines.requires_python)
        if refusal is not None:
            reason, detail = refusal
            raise UnusableReleaseError(reason, detail)
        return lines
