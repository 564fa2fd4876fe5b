"""Why a problem has no solution, and the changes that were solved instead."""

from __future__ import annotations

from enum import Enum

import msgspec

from resolver.model.component import Component
from resolver.model.edit import Edit
from resolver.model.fact import Practice, Warns
from resolver.model.message import Message
from resolver.model.problem import Problem, Recorded
from resolver.model.reason import Reason, ReleaseRange
from resolver.phrase import EMPTY, Phrase


class Closing(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a derivation: some of the reasons leave no candidate for a package."""

    # the name of the package: a project, or a component as people call it
    subject: str | Message
    # the numbers of these reasons in the contradiction, from 1
    numbers: tuple[int, ...]


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """A case in a derivation: one of some releases of a project is chosen.

    It has a closing or branches.
    """

    # the project
    subject: str
    # the releases of this case
    versions: tuple[ReleaseRange, ...]
    # what the reasons leave no candidate for in this case
    closing: Closing | None
    # the cases within this one
    branches: tuple[Branch, ...] = ()


class Contradiction(msgspec.Struct, frozen=True, kw_only=True):
    """Reasons that cannot all hold, though they can without any one of them."""

    reasons: tuple[Reason, ...]
    # what they leave no candidate for; None if that differs between the branches
    closing: Closing | None
    branches: tuple[Branch, ...] = ()
    # known faults of the releases in the reasons
    notes: tuple[Warns, ...] = ()


class ChangeKind(Enum):
    """What a fix changes."""

    # practices are turned on: `subject` names them
    PRACTICE = "practice"
    # the line `after` about `subject` is added, so that `before` must be absent if it is not empty
    LINE = "line"
    # a line of the stack gets another specifier
    VERSION = "version"
    # a line of the stack loses an extra
    EXTRA = "extra"
    # a line of the stack is removed
    DROP = "drop"
    # another value of a component, such as another Python or driver
    COMPONENT = "component"
    # another policy of the stack
    POLICY = "policy"
    # the stack uses another file of facts, `after`
    FACTS = "facts"
    # a fact against metadata is added to the stack, which is a risk: `after` is its TOML
    ADD = "add"
    # a fact is added that states what the archive `before`, without static metadata, requires
    STATE = "state"
    # rows of the shipped stack `before` about the projects `subject` are added: `after`
    SOURCE = "source"
    # a fact is set aside, which is a risk
    RELAX = "relax"
    # the lines are locked in two environments
    SPLIT = "split"


class Change(msgspec.Struct, frozen=True):
    """One change of a stack.

    A split has a change for each environment: `subject` is its name, `after` its lines.
    """

    kind: ChangeKind
    # the project, the component or the id of the fact
    subject: str
    # what stood there; for a fact that is set aside or added, the requirement that it removes
    before: str = ""
    # what stands there now
    after: str = ""
    # file:line of what changes
    where: str = ""
    # the number of releases from the requested version to the new one; negative if that is older
    steps: int = 0
    # the full years between their uploads, with the same sign; 0 if unknown
    years: int = 0
    # the target whose component changes, if that is not the explained one
    target: str = ""
    # the component that changes; None for other kinds of changes
    component: Component | None = None
    # what it does to the stack; None for a split, which makes two of it
    edit: Edit | None = None

    @property
    def is_other_machine(self) -> bool:
        """Return whether another machine is needed: values without an order are machines."""
        return self.component is not None and not self.component.grammar.is_ordered


class ShownPin(msgspec.Struct, frozen=True, kw_only=True):
    """A pin of a fix's lock that a report shows."""

    name: str
    version: str
    # whether a line of the stack asks for it; otherwise a contradiction names it
    wished: bool


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """The lock of a fix."""

    # the name of its stack
    name: str
    # the lines of its stack
    requires: tuple[str, ...]
    # the pins that matter
    pins: tuple[ShownPin, ...]
    # how many pins there are in all
    count: int
    # facts that apply to it and, as far as is known, not to the requested versions
    warnings: tuple[Warns, ...] = ()
    # Projects that it lacks though no line about them was dropped: the contradictions are about
    # them, or a change removed the need for them. Also extras of lines (`trl[vllm]`) that the
    # locked releases do not have.
    gone: tuple[str, ...] = ()


class Fix(msgspec.Struct, frozen=True, kw_only=True):
    """Changes with which the stack was solved and locked: in one environment, or in two."""

    # a letter
    name: str
    changes: tuple[Change, ...]
    environments: tuple[Environment, ...]
    # for each environment, the name of its stack and the text of that stack's TOML file
    files: tuple[tuple[str, str], ...]
    # whether it goes against a fact or metadata
    risky: bool
    # for each environment, the text with its changes, but with the name of the original stack
    texts: tuple[str, ...] = ()


class AttemptOutcome(Enum):
    """How an attempt without a fix ended."""

    # the changed stack has no solution either
    CONFLICT = "conflict"
    # the limit of time or search was reached
    UNDECIDED = "undecided"
    # something else failed, such as an index or a file that cannot be read
    FAILED = "failed"
    # it can be locked for this target, but not for another one of the stack
    ELSEWHERE = "other-target"


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """Changes that were tried and gave no lock."""

    changes: tuple[Change, ...]
    outcome: AttemptOutcome
    # a contradiction that remains
    because: tuple[Reason, ...] = ()
    # what else failed
    why: Phrase = EMPTY
    # the target for which there was no lock; empty for the explained one
    target: str = ""


class Awaited(msgspec.Struct, frozen=True, kw_only=True):
    """A project on which the answer depends, as an index that may have it could not be reached."""

    # these indexes
    indexes: tuple[str, ...]
    project: str
    # the requirements on it
    needs: tuple[str, ...]
    # the releases with these requirements; none for the stack's own lines
    by: tuple[str, ...] = ()


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What would be locked where the indexes answer, by what public files say of the wheels."""

    # versions by project
    pins: dict[str, str]
    # the wheels among them of which no public file has the sha256
    unhashed: tuple[Recorded, ...]


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """The contradictions of a problem and its fixes."""

    problem: Problem
    contradictions: tuple[Contradiction, ...]
    fixes: tuple[Fix, ...]
    attempts: tuple[Attempt, ...]
    # whether time was up, so that there may be more
    limited: bool
    # further projects that lines require and no index has, too many for a contradiction each
    missing: tuple[str, ...] = ()
    # the options with which a command finds the same fixes
    options: tuple[str, ...] = ()
    # With such projects the problem is undecided: there is no solution without them.
    awaited: tuple[Awaited, ...] = ()
    # projects that further fixes need, each with the indexes that could not be reached
    unreached: tuple[tuple[str, tuple[str, ...]], ...] = ()
    # of a problem with `awaited` projects, if they are recorded
    expected: Expected | None = None
    # the relative path from the report's folder to that of facts and stacks; empty if no link may
    # lead there
    way_to_matrices: str = "../../../matrices"


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """Why a project is pinned to a version in a solved problem."""

    problem: Problem
    name: str
    version: str
    # the requirements on it
    requirements: tuple[Reason, ...]
    # what facts say of it
    facts: tuple[Reason, ...]
    # the newer releases, newest first
    newer: tuple[str, ...]
    # the release that was tried instead; empty for none
    tried: str
    # what it clashes with; empty if it is possible
    contradictions: tuple[Contradiction, ...]
    # the pins that change with it: name, old version, new version
    moves: tuple[tuple[str, str, str], ...] = ()
    # the requirements that admit nothing newer
    bound: tuple[Reason, ...] = ()
    # indexes that may have more releases and could not be reached
    unreachable: tuple[str, ...] = ()
    # why no release was decided, if an index failed or the engine gave up
    untried: Phrase = EMPTY
    # whether time was up before a release was decided
    limited: bool = False
    # newer releases of lower preference, each with the facts that say so
    later: tuple[tuple[str, tuple[Warns, ...]], ...] = ()
    # the day whose releases are preferred
    day: str = ""
    # how many of the newer releases appeared after it
    after_day: int = 0
    # the stack's lines that do not admit the release that was tried, and did not count
    gave_way: tuple[str, ...] = ()
    # practices that drop a requirement in the contradictions
    practices: tuple[Practice, ...] = ()
