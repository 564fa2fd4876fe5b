"""Explanations: why a problem has no solution, and which changes of the stack give one.

Some terms: a core is a set of constraints that cannot all hold; a clash is a minimal one of lines
and components alone. A contradiction is a minimal set of reasons that cannot all hold. A repair is
a step that looks for changes of a refuted stack. A way out (in code: a fix) is a set of changes
with which the stack was solved and locked; an attempt is one with which it was not. A practice is a
fact about what an image of the vendor does against metadata (see `Strength`). It is off unless the
stack turns it on.

From a refutation to a page: a `Constraint` is what the stack, the target, metadata, a fact or an
index demands (`resolve/universe` makes it). A `Refutation` is a core of constraints that cannot all
hold, with the clauses in which it was found (`resolve/refutation`). A `Premise` is a constraint of
a core with all releases that the proof needs it for (`resolve/premises`); the check of refutations
reads premises alone. A `Reason` is a constraint of a core with the releases that matter to people
(`resolve/reasons`). A `Contradiction` is the reasons of one core, and where they meet
(`explain/contradiction`). An `Explanation` is all contradictions of a problem, and its ways out
(`explain/explain`). In a report, a reason becomes a `Message`, the sentence
(`report/explanation/sentences`), and an `Item` of a document, the sentence with its origin and
sources (`report/explanation/contradictions`).
"""

from __future__ import annotations

from enum import Enum
from typing import Literal

import msgspec

from resolver.model.change import Change
from resolver.model.fact import Practice, Warns
from resolver.model.message import Message
from resolver.model.problem import Problem, Recorded
from resolver.model.reason import Reason, ReleaseRange
from resolver.phrase import EMPTY, Phrase


class Closing(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a derivation: a package for which some of the reasons leave no candidate."""

    # The name of the package: a project, or the title of a component.
    subject: str | Message
    # The numbers of the reasons that leave no candidate, counted from 1 in the contradiction.
    numbers: tuple[int, ...]


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """A case of a derivation: what follows if one of certain releases of a project is chosen.

    A branch has either a closing or branches of its own.
    """

    # The project.
    subject: str
    # The releases of this case.
    versions: tuple[ReleaseRange, ...]
    # The package without a candidate in this case; None if the case has branches.
    closing: Closing | None
    # The cases within this case.
    branches: tuple[Branch, ...] = ()


class Contradiction(msgspec.Struct, frozen=True, kw_only=True):
    """Reasons that cannot all hold. Without any one of them, the others can all hold."""

    # The reasons.
    reasons: tuple[Reason, ...]
    # The package without a candidate; None if it is not the same in all branches.
    closing: Closing | None
    # The cases of the derivation, if it needs cases.
    branches: tuple[Branch, ...] = ()
    # The warnings of facts about the releases in the reasons.
    notes: tuple[Warns, ...] = ()


class ShownPin(msgspec.Struct, frozen=True, kw_only=True):
    """A pin in the lock of a way out that a report shows."""

    # The project.
    name: str
    # The pinned version.
    version: str
    # True if a line of the stack names the project. Otherwise a contradiction is about it.
    wished: bool


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """The lock of a changed stack, as far as a report shows it."""

    # The name of the changed stack.
    name: str
    # The lines of the changed stack.
    requires: tuple[str, ...]
    # The pins of projects that the lines name or the contradictions are about.
    pins: tuple[ShownPin, ...]
    # The number of all pins.
    count: int
    # The warnings that apply to the lock and, as far as is known, not to the requested versions.
    warnings: tuple[Warns, ...] = ()
    # The warnings about what the lock does not meet although it should: bounds of extras, and
    # binaries that cannot be loaded. They have no fact.
    unmet: tuple[Message, ...] = ()
    # The projects that are not in the lock although no line about them was dropped: a contradiction
    # is about them, or a change removed the requirement on them. Also the extras of lines, such as
    # `trl[vllm]`, that the locked releases do not have.
    gone: tuple[str, ...] = ()
    # The lines whose markers held for the original target and do not hold for the changed one.
    off: tuple[str, ...] = ()


class Awaited(msgspec.Struct, frozen=True, kw_only=True):
    """A project on which the answer depends: an index that may have it could not be reached."""

    # The names of the indexes that could not be reached.
    indexes: tuple[str, ...]
    # The project.
    project: str
    # The requirements on the project.
    needs: tuple[str, ...]
    # The releases with these requirements; empty if only lines of the stack have them.
    by: tuple[str, ...] = ()


class Fix(msgspec.Struct, frozen=True, kw_only=True):
    """A way out: changes with which the stack was solved and locked, in one or two environments."""

    # A letter, by which commands name the fix.
    name: str
    # The changes.
    changes: tuple[Change, ...]
    # The locks of the changed stack: two if the lines are split, otherwise one.
    environments: tuple[Environment, ...]
    # For each environment, the name of its stack and the text of that stack's TOML file.
    files: tuple[tuple[str, str], ...]
    # Whether a change contradicts a fact or metadata.
    risky: bool
    # The other target of the stack that the changed target equals; empty if it equals none.
    twin: str = ""
    # For each environment, the TOML with the changes and with the name of the original stack.
    texts: tuple[str, ...] = ()
    # What indexes must have that could not be reached. If there is anything, the changed stack was
    # not locked: it is expected to lock where they can be reached.
    awaited: tuple[Awaited, ...] = ()


class AttemptOutcome(Enum):
    """Why changes that were tried gave no lock."""

    # The changed stack has no solution either.
    CONFLICT = "conflict"
    # A limit of time or search was reached.
    UNDECIDED = "undecided"
    # Something else failed, such as an index or a file that cannot be read.
    FAILED = "failed"
    # The changed stack can be locked for this target, but not for another target of the stack.
    ELSEWHERE = "other-target"
    # The changed stack can be locked, but something in it does not work, such as what needs a
    # dropped line.
    USELESS = "useless"


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """Changes that were tried and gave no lock."""

    # The changes.
    changes: tuple[Change, ...]
    # Why there is no lock.
    outcome: AttemptOutcome
    # A contradiction of the changed stack; empty if the outcome is another one than a conflict.
    because: tuple[Reason, ...] = ()
    # What failed; empty for a conflict.
    why: Phrase = EMPTY
    # The name of the target without a lock; empty for the target that is explained.
    target: str = ""
    # The warning that says what does not work in the lock; None for another outcome.
    warning: Message | None = None


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """The pins that are expected once all indexes answer.

    They follow from public files that describe the wheels of an index (see `Recorded`).
    """

    # The version of each project.
    pins: dict[str, str]
    # The wheels among them whose sha256 is in no public file.
    unhashed: tuple[Recorded, ...]


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why a problem has no solution, and the ways out that were found."""

    # The problem without a solution.
    problem: Problem
    # The text of the stack's TOML file.
    text: str
    # The contradictions that were found; there may be others.
    contradictions: tuple[Contradiction, ...]
    # The ways out, the best first.
    fixes: tuple[Fix, ...]
    # Ways out that lose less than all `fixes`, and were not solved: each needs something of indexes
    # that could not be reached, see `Fix.awaited`. The best comes first.
    awaiting: tuple[Fix, ...] = ()
    # Changes that gave no lock.
    attempts: tuple[Attempt, ...]
    # Whether the search ended at its time limit, so that there may be more ways out.
    limited: bool
    # More projects that lines require and no index has: there are too many of them for a
    # contradiction each.
    missing: tuple[str, ...] = ()
    # The options with which `ascend-lock explain` finds the same fixes again.
    options: tuple[str, ...] = ()
    # The projects on which the answer depends. If there are any, the problem is undecided: without
    # these projects it has no solution.
    awaited: tuple[Awaited, ...] = ()
    # The projects that more fixes would need, each with the indexes that could not be reached.
    unreachable_projects: tuple[tuple[str, tuple[str, ...]], ...] = ()
    # What would be locked with the `awaited` projects; None if nothing is recorded about them.
    expected: Expected | None = None
    # The relative path from the folder of the report to the folder of facts and stacks; empty if
    # the report must not link to it.
    way_to_matrices: str = "../../../matrices"


# Whether a lock is up to date; see `Why.lock`.
LockState = Literal["current", "outdated", "other", "missing"]


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of the command `why`: why a project is pinned to this version.

    The command also tries a newer release, or the release that the user named.
    """

    # The solved problem.
    problem: Problem
    # The project.
    name: str
    # The pinned version.
    version: str
    # The requirements on the project.
    requirements: tuple[Reason, ...]
    # The facts about the project.
    facts: tuple[Reason, ...]
    # The releases newer than the pin, newest first.
    newer: tuple[str, ...]
    # The release that was tried in place of the pin; empty if none was tried.
    tried: str
    # The contradictions with the release that was tried; empty if it is possible.
    contradictions: tuple[Contradiction, ...]
    # The pins that change if the tried release is taken: name, old version, new version.
    moves: tuple[tuple[str, str, str], ...] = ()
    # The requirements that admit no newer release.
    bound: tuple[Reason, ...] = ()
    # The indexes that may have more releases and could not be reached.
    unreachable: tuple[str, ...] = ()
    # Why it is not known whether another release is possible: an index failed, or the engine gave
    # up. Empty if it is known.
    untried: Phrase = EMPTY
    # Whether the time limit was reached before that was known.
    limited: bool = False
    # The newer releases that are less preferred than the pin, each with the facts that say so.
    later: tuple[tuple[str, tuple[Warns, ...]], ...] = ()
    # The day whose releases are preferred, in ISO 8601.
    day: str = ""
    # How many of the newer releases appeared after that day.
    after_day: int = 0
    # The stack's lines that do not admit the release that was tried. They were ignored for it.
    gave_way: tuple[str, ...] = ()
    # The practices that would drop a requirement of the contradictions.
    practices: tuple[Practice, ...] = ()
    # What the existing lock says: it is `current` and has this version; it is `outdated`; it has
    # `other` releases, because it was made with other options; or it is `missing`.
    lock: LockState = "current"
