"""Why a problem has no solution, and the changes that were solved instead."""

from __future__ import annotations

from enum import Enum

import msgspec

from resolver.model.fact import Warns
from resolver.model.problem import Problem, Recorded
from resolver.model.reason import Reason, ReleaseRange


class Closing(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a derivation: the reasons of these numbers (from 1) leave no candidate for `subject`."""

    subject: str
    numbers: tuple[int, ...]


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """A case in a derivation: a release of `subject` among `versions` is chosen.

    It has a closing or branches.
    """

    subject: str
    versions: tuple[ReleaseRange, ...]
    closing: Closing | None
    branches: tuple[Branch, ...] = ()


class Contradiction(msgspec.Struct, frozen=True, kw_only=True):
    """Reasons that cannot all hold, though they can without any one of them.

    Either `closing` says what they leave no candidate for, or `branches` say it for each case.
    `notes` are known faults of the releases in the reasons.
    """

    reasons: tuple[Reason, ...]
    closing: Closing | None
    branches: tuple[Branch, ...] = ()
    notes: tuple[Warns, ...] = ()


class ChangeKind(Enum):
    """What a fix changes."""

    PRACTICE = "practice"  # practices are turned on: `subject` names them
    LINE = "line"  # the line `after` about `subject` is added, so that `before` must be absent
    VERSION = "version"  # a line of the stack with another specifier
    EXTRA = "extra"  # a line of the stack without an extra
    DROP = "drop"  # a line of the stack is removed
    COMPONENT = "component"  # another CANN, HDK, SoC or Python
    POLICY = "policy"  # another policy of the stack
    FACTS = "facts"  # another file of facts, `after`, is used by the stack
    ADD = "add"  # a fact against metadata is added to the stack, a risk: `after` is its TOML
    # likewise one with the requirements of the archive `before`, which has no static metadata
    STATE = "state"
    RELAX = "relax"  # a fact is set aside: a risk
    SPLIT = "split"  # the lines are locked in two environments


class Change(msgspec.Struct, frozen=True):
    """One change: `before` becomes `after`. `where` is file:line of what changes.

    `subject` is the project, the component or the fact's id. `steps` is the number of releases
    between the requested and the new version, negative if that is older; 0 if it has no meaning.
    `years` are the full years between their uploads, with the same sign; 0 if unknown. For a fact
    set aside or added, `before` is the requirement that it removes (`vllm==0.13.0`), or empty. A
    split has a change for each environment: `subject` is its name, `after` its lines. `target` is
    the name of the target whose component changes, if that is not the explained one.
    """

    kind: ChangeKind
    subject: str
    before: str = ""
    after: str = ""
    where: str = ""
    steps: int = 0
    years: int = 0
    target: str = ""


class ShownPin(msgspec.Struct, frozen=True, kw_only=True):
    """A pin of a fix's lock that is shown: `wished` by the stack, or named in a contradiction."""

    name: str
    version: str
    wished: bool


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """The lock of a fix. `name` is that of its stack; `count` is the number of all pins.

    `warnings` are facts that apply to it and would not, as far as is known, have applied to the
    requested versions. `gone` are projects that it lacks though no line about them was dropped:
    that the contradictions are about, or that are no longer needed because of a change; and extras
    of lines (`trl[vllm]`) that the locked releases do not have.
    """

    name: str
    requires: tuple[str, ...]
    pins: tuple[ShownPin, ...]
    count: int
    warnings: tuple[Warns, ...] = ()
    gone: tuple[str, ...] = ()


class Fix(msgspec.Struct, frozen=True, kw_only=True):
    """Changes with which the stack was solved and locked: in one environment, or in two.

    `name` is a letter. `files` are pairs of the name of a stack (the changed one, or one for each
    environment) and the text of its TOML file. `risky` fixes go against a fact. `price` is the sum
    of the costs of the changes.
    """

    name: str
    changes: tuple[Change, ...]
    environments: tuple[Environment, ...]
    files: tuple[tuple[str, str], ...]
    risky: bool
    price: int = 0


class AttemptOutcome(Enum):
    """How an attempt without a fix ended."""

    CONFLICT = "conflict"
    UNDECIDED = "undecided"  # the limit of time or search was reached
    FAILED = "failed"  # for another reason, such as an index or a file that cannot be read
    ELSEWHERE = (
        "other-target"  # it can be locked for this target, but not for another one of the stack
    )


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """Changes that were tried and gave no lock.

    `because` is a contradiction that remains, `why` the message of another failure. `target` is the
    name of the target for which there was no lock; empty for the explained one.
    """

    changes: tuple[Change, ...]
    outcome: AttemptOutcome
    because: tuple[Reason, ...] = ()
    why: str = ""
    target: str = ""


class Awaited(msgspec.Struct, frozen=True, kw_only=True):
    """A project on which the answer depends, as `indexes` that may have it could not be reached.

    `needs` are the requirements on it, `by` the releases with these requirements; none for the
    stack's own lines.
    """

    indexes: tuple[str, ...]
    project: str
    needs: tuple[str, ...]
    by: tuple[str, ...] = ()


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What would be locked where the indexes answer, by the requirements of wheels that public files give."""

    # versions by project
    pins: dict[str, str]
    # the wheels among them of which no public file has the sha256
    unhashed: tuple[Recorded, ...]


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """The contradictions of a problem and its fixes.

    With `limited` the time was over: there may be more.

    `missing` are further projects that lines of the stack require and no index has, if they are too
    many for a contradiction each. `options` are those with which a command finds the same fixes. If
    projects are `awaited`, the problem is undecided: there is no solution without them. `unreached`
    are projects that further fixes would need from indexes that could not be reached, each with
    those indexes.
    """

    problem: Problem
    contradictions: tuple[Contradiction, ...]
    fixes: tuple[Fix, ...]
    attempts: tuple[Attempt, ...]
    limited: bool
    missing: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    awaited: tuple[Awaited, ...] = ()
    unreached: tuple[tuple[str, tuple[str, ...]], ...] = ()
    # of a problem with `awaited` projects, if they are recorded
    expected: Expected | None = None
    # the relative path from the report's folder to that of facts and stacks; empty if no link may
    # lead there
    way_to_matrices: str = "../../../matrices"


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """Why a project is pinned to a version in a solved problem.

    `requirements` are those on it, `bound` those of them that admit nothing newer. `newer` are the
    newer releases, newest first. `tried` is the release that was tried instead, empty for none,
    with the contradictions that it causes; without any it is possible, and then `moves` are the
    pins that change (name, from, to). `unreachable` are indexes that may have more releases;
    `untried` says why none was tried if an index failed. `later` are newer releases of lower
    preference, each with the facts that say so.
    """

    problem: Problem
    name: str
    version: str
    requirements: tuple[Reason, ...]
    facts: tuple[Reason, ...]
    newer: tuple[str, ...]
    tried: str
    contradictions: tuple[Contradiction, ...]
    moves: tuple[tuple[str, str, str], ...] = ()
    bound: tuple[Reason, ...] = ()
    unreachable: tuple[str, ...] = ()
    untried: str = ""
    later: tuple[tuple[str, tuple[Warns, ...]], ...] = ()
    # the day whose releases are preferred, and how many of the newer ones appeared after it
    day: str = ""
    after_day: int = 0
