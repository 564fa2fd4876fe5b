"""What the indexes say about a fact."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec

from resolver.model.fact import Fact
from resolver.model.message import Message


class Verdict(Enum):
    """The outcome for a fact, the weightiest first."""

    CONTRADICTED = "contradicted"
    GONE = "gone"
    UNMET = "unmet"
    HOLDS = "holds"
    UNCHECKED = "unchecked"


class Saying(Enum):
    """A kind of finding, and the verdict that follows from it."""

    # contradicted: an index says otherwise
    CLASHES = "clashes", Verdict.CONTRADICTED  # metadata and the fact leave no release of the other project
    DIFFERS = "differs", Verdict.CONTRADICTED  # an archive does not require what the fact says
    ASKS = "asks", Verdict.CONTRADICTED  # metadata requires what the fact keeps apart
    IDLE = "idle", Verdict.CONTRADICTED  # what the fact drops is not required
    NEEDLESS = "needless", Verdict.CONTRADICTED  # metadata permits everything that a practice does
    NO_ARCHIVE = "no-archive", Verdict.CONTRADICTED
    NO_MEMBER = "no-member", Verdict.CONTRADICTED
    NO_EXTRA = "no-extra", Verdict.CONTRADICTED
    GIT_DIFFERS = "git-differs", Verdict.CONTRADICTED
    # gone: it is about something that does not exist
    NO_PROJECT = "no-project", Verdict.GONE
    NO_RELEASE = "no-release", Verdict.GONE
    # unmet: it may well be right, but then no lock can have the release
    NOTHING_FITS = "nothing-fits", Verdict.UNMET
    # holds: whatever can be compared agrees
    SILENT = "silent", Verdict.HOLDS  # metadata says nothing about it, which is why there is a fact
    AGREES = "agrees", Verdict.HOLDS
    SAYS_SO = "says-so", Verdict.HOLDS  # metadata says it itself, so the fact repeats it
    APART = "apart", Verdict.HOLDS
    REPLACED = "replaced", Verdict.HOLDS
    ARCHIVE = "archive", Verdict.HOLDS
    SAME = "same", Verdict.HOLDS
    THERE = "there", Verdict.HOLDS
    BEYOND = "beyond", Verdict.HOLDS  # the index has releases that the fact is not about
    GIT_AGREES = "git-agrees", Verdict.HOLDS
    # unchecked: no index can tell
    FAILED = "failed", Verdict.UNCHECKED
    PASSED_OVER = "passed-over", Verdict.UNCHECKED  # an index that may be skipped was skipped
    UNREADABLE = "unreadable", Verdict.UNCHECKED
    NOT_STATIC = "not-static", Verdict.UNCHECKED
    MACHINE = "machine", Verdict.UNCHECKED
    ORDER = "order", Verdict.UNCHECKED
    MODULE = "module", Verdict.UNCHECKED
    WARNING = "warning", Verdict.UNCHECKED
    VARIABLES = "variables", Verdict.UNCHECKED
    GIT = "git", Verdict.UNCHECKED
    AT_COMMIT = "at-commit", Verdict.UNCHECKED  # it is about the version that a commit's build gives itself

    def __init__(self, code: str, verdict: Verdict) -> None:
        self.code = code
        self.verdict = verdict


class Remark(msgspec.Struct, frozen=True):
    """A finding with its details, which may be texts of indexes."""

    saying: Saying
    values: Mapping[str, str | Message] = msgspec.field(default_factory=dict)


class Judged(msgspec.Struct, frozen=True):
    """A fact and the findings about it; at least one remark."""

    fact: Fact
    remarks: tuple[Remark, ...]

    @property
    def verdict(self) -> Verdict:
        """The weightiest of the remarks' verdicts."""
        found = {remark.saying.verdict for remark in self.remarks}
        return next(verdict for verdict in Verdict if verdict in found)
