"""Why a problem has no solution, and which changes give it one."""

from __future__ import annotations

from enum import Enum

import msgspec

from resolver.model.fact import Warns
from resolver.model.problem import Problem
from resolver.model.resolution import ReleaseRange, Statement


class Closing(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing is left to choose for `subject`; the statements of these numbers (from 1) leave nothing."""

    subject: str
    numbers: tuple[int, ...]


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """One case: a release of `subject` among `versions` is taken. It is closed, or branches again."""

    subject: str
    versions: tuple[ReleaseRange, ...]
    closing: Closing | None
    branches: tuple[Branch, ...] = ()


class Contradiction(msgspec.Struct, frozen=True, kw_only=True):
    """Statements that cannot all hold; any of them left out, the others can.

    Either `closing` says where they meet, or `branches` says it for each case.
    `notes` are known faults of the releases that the statements speak of.
    """

    statements: tuple[Statement, ...]
    closing: Closing | None
    branches: tuple[Branch, ...] = ()
    notes: tuple[Warns, ...] = ()


class ChangeKind(Enum):
    """What a fix changes; the order is that of their price."""

    PRACTICE = "practice"  # practices are turned on: `subject` names them
    LINE = "line"  # the stack names `subject` with the line `after`, so that `before` must be absent
    VERSION = "version"  # a line of the stack asks for another version
    EXTRA = "extra"  # a line of the stack without an extra
    DROP = "drop"  # a line of the stack goes
    COMPONENT = "component"  # another CANN, HDK, SoC or Python
    POLICY = "policy"  # another policy of the stack
    FACTS = "facts"  # facts that the stack leaves out are used: `after` is their file
    ADD = "add"  # a fact against metadata is added to the stack, a risk: `after` is its TOML
    STATE = "state"  # likewise one that says what the archive `before` needs, as it has no static metadata
    RELAX = "relax"  # a fact is set aside: a risk
    SPLIT = "split"  # the lines go to two environments


class Change(msgspec.Struct, frozen=True):
    """One change: `before` becomes `after`. `where` is file:line of what changes.

    `subject` is the project, the component or the fact's id. `steps` counts the releases between the wish and what it
    becomes, negative where that is older; 0 where that has no meaning. `years` are the full years between their
    uploads, with the same sign; 0 where an index does not tell. Of a fact set aside or added `before` is the
    requirement that goes (`vllm==0.13.0`), empty where it is none. A split has a change for each environment: `subject`
    is its name, `after` its lines. `target` is the one whose component changes, where that is another target of the
    stack than the one that is explained; else it is empty.
    """

    kind: ChangeKind
    subject: str
    before: str = ""
    after: str = ""
    where: str = ""
    steps: int = 0
    years: int = 0
    target: str = ""


class PinOf(msgspec.Struct, frozen=True, kw_only=True):
    """A pin of a fix's lock that matters: asked for, or named in a contradiction."""

    name: str
    version: str
    wished: bool


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """What a fix was locked to. `name` is the stack's; `count` is the number of all pins.

    `warnings` are facts to know about it that the wish, as far as it can be told, would not have met. `gone` are
    projects that it does not have, though no line about them was dropped: that the contradictions are about, or that
    are no longer needed as a change has it; and extras of lines (`trl[vllm]`) that the locked releases do not have.
    """

    name: str
    requires: tuple[str, ...]
    pins: tuple[PinOf, ...]
    count: int
    warnings: tuple[Warns, ...] = ()
    gone: tuple[str, ...] = ()


class Fix(msgspec.Struct, frozen=True, kw_only=True):
    """Changes under which the stack was locked for real: in one environment, or in two.

    `name` is a letter. `files` maps the name of a stack (the changed one, or one for each environment)
    to the whole text of its TOML file. `risky` fixes go against a fact. `price` is what the changes cost.
    """

    name: str
    changes: tuple[Change, ...]
    environments: tuple[Environment, ...]
    files: tuple[tuple[str, str], ...]
    risky: bool
    price: int = 0


class AttemptOutcome(Enum):
    """How an attempt ended that gave no fix."""

    CONFLICT = "conflict"
    UNDECIDED = "undecided"  # the limit of time or search was reached
    FAILED = "failed"  # something else was in the way, such as an index or a file that cannot be read
    ELSEWHERE = "other-target"  # it locks for this target, and not for another one of the stack


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """Changes that were tried and gave no lock.

    `because` is a contradiction that they still meet, `why` the message of what else was in the way. `target` is the
    other one for which they gave none; empty for the one that is explained.
    """

    changes: tuple[Change, ...]
    outcome: AttemptOutcome
    because: tuple[Statement, ...] = ()
    why: str = ""
    target: str = ""


class Awaited(msgspec.Struct, frozen=True, kw_only=True):
    """What the answer depends on: that one of `indexes`, which could not be reached, has `project` as needed.

    `needs` are the requirements on it, `by` the releases that have them; those of the stack's own lines have none.
    """

    indexes: tuple[str, ...]
    project: str
    needs: tuple[str, ...]
    by: tuple[str, ...] = ()


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """All that can be said of a conflict. With `limited`, not everything was decided in time: there may be more.

    `missing` are further projects that lines of the stack ask for and that no index has: of those that are many the
    contradictions tell a few. `options` are those that a command needs to find the same ways out.
    If anything is `awaited`, the problem is undecided: there is no solution without it. `unreached` are projects that
    further ways out would want from indexes that could not be reached, each with those indexes.
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


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """Why a project is at the release where it is, in a solved problem.

    `asked` are the statements that ask for it, `bound` those of them that admit nothing newer. `newer` is what exists
    beyond it, newest first. `tried` is the release that was tried instead, empty for none, with the contradictions that
    taking it meets; where there are none it can be had, with `moves` as the pins that then change (name, from, to).
    `unreachable` are indexes that may have more releases; `untried` says why none was tried, where an index failed.
    `later` are newer releases that come after it, each with the facts that put it there.
    """

    problem: Problem
    name: str
    version: str
    asked: tuple[Statement, ...]
    facts: tuple[Statement, ...]
    newer: tuple[str, ...]
    tried: str
    contradictions: tuple[Contradiction, ...]
    moves: tuple[tuple[str, str, str], ...] = ()
    bound: tuple[Statement, ...] = ()
    unreachable: tuple[str, ...] = ()
    untried: str = ""
    later: tuple[tuple[str, tuple[Warns, ...]], ...] = ()
