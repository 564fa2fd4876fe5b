"""What the indexes say of a fact."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec

from resolver.model.fact import Fact


class Verdict(Enum):
    """The outcome for a fact, the one that counts most first."""

    CONTRADICTED = "contradicted"
    GONE = "gone"
    UNMET = "unmet"
    HOLDS = "holds"
    UNCHECKED = "unchecked"


class Saying(Enum):
    """One thing that was found, and what it makes of the fact."""

    # contradicted: an index says otherwise
    CLASHES = "clashes", Verdict.CONTRADICTED  # metadata and the fact leave no release of the other project
    DIFFERS = "differs", Verdict.CONTRADICTED  # what an archive needs is not what the fact says
    ASKS = "asks", Verdict.CONTRADICTED  # metadata asks for what the fact keeps apart
    IDLE = "idle", Verdict.CONTRADICTED  # what the fact drops is not asked for
    NO_ARCHIVE = "no-archive", Verdict.CONTRADICTED
    NO_MEMBER = "no-member", Verdict.CONTRADICTED
    NO_EXTRA = "no-extra", Verdict.CONTRADICTED
    GIT_DIFFERS = "git-differs", Verdict.CONTRADICTED
    # gone: it speaks of what is not there
    NO_PROJECT = "no-project", Verdict.GONE
    NO_RELEASE = "no-release", Verdict.GONE
    # unmet: what it says may well be so, and then no lock can have the release
    NOTHING_FITS = "nothing-fits", Verdict.UNMET
    # holds: what can be compared agrees
    SILENT = "silent", Verdict.HOLDS  # metadata says nothing of it, which is why there is a fact
    AGREES = "agrees", Verdict.HOLDS
    SAYS_SO = "says-so", Verdict.HOLDS  # metadata says it itself, so the fact repeats it
    APART = "apart", Verdict.HOLDS
    REPLACED = "replaced", Verdict.HOLDS
    ARCHIVE = "archive", Verdict.HOLDS
    SAME = "same", Verdict.HOLDS
    THERE = "there", Verdict.HOLDS
    BEYOND = "beyond", Verdict.HOLDS  # the index has releases that the fact does not speak of
    GIT_AGREES = "git-agrees", Verdict.HOLDS
    # unchecked: no index can tell
    FAILED = "failed", Verdict.UNCHECKED
    PASSED_OVER = "passed-over", Verdict.UNCHECKED  # an index that may be passed over was
    UNREADABLE = "unreadable", Verdict.UNCHECKED
    NOT_STATIC = "not-static", Verdict.UNCHECKED
    MACHINE = "machine", Verdict.UNCHECKED
    ORDER = "order", Verdict.UNCHECKED
    MODULE = "module", Verdict.UNCHECKED
    WARNING = "warning", Verdict.UNCHECKED
    VARIABLES = "variables", Verdict.UNCHECKED
    GIT = "git", Verdict.UNCHECKED
    AT_COMMIT = "at-commit", Verdict.UNCHECKED  # it speaks of what a commit's build calls itself

    def __init__(self, code: str, verdict: Verdict) -> None:
        self.code = code
        self.verdict = verdict


class Remark(msgspec.Struct, frozen=True):
    """A saying with its particulars, texts of indexes among them."""

    saying: Saying
    values: Mapping[str, str] = msgspec.field(default_factory=dict)


class Judged(msgspec.Struct, frozen=True):
    """A fact and what was found of it; at least one remark."""

    fact: Fact
    remarks: tuple[Remark, ...]

    @property
    def verdict(self) -> Verdict:
        """The weightiest of the remarks' verdicts."""
        found = {remark.saying.verdict for remark in self.remarks}
        return next(verdict for verdict in Verdict if verdict in found)
