"""Make the document of `why`: why a project has its release, and what another one would break."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from resolver.model.constraint import SUPPOSED, StackLine
from resolver.model.explanation import Why
from resolver.model.message import Message, first_of, joined, message, quoted, verbatim
from resolver.report.document import (
    Block,
    Heading,
    Item,
    Paragraph,
    conclusion_of,
    line,
    paragraph_of,
)
from resolver.report.explanation import sentences
from resolver.report.explanation.contradictions import (
    contradictions_blocks,
    reason_items,
    shortened_items,
)
from resolver.report.explanation.grouping import with_strength
from resolver.report.summary import pin_change

# How many newer releases are named.
_NEWER = 8


def why_blocks(why: Why) -> Iterator[Block]:
    """Yield the blocks that say why a project has its version."""
    yield paragraph_of(*_verdict(why))
    yield from _requirement_blocks(why)
    if why.facts:
        yield Heading(message("conflict.why-facts"))
        yield shortened_items(reason_items(why.facts))
    yield paragraph_of(*_newer(why))
    if why.gave_way:
        lines = quoted(why.gave_way)
        listed = joined("comma", lines)
        yield paragraph_of(message("conflict.gave-way", count=len(lines), lines=listed))
    own_lines = _own_lines(why)
    if own_lines:
        yield _own_line_paragraph(why, own_lines)
    elif why.contradictions:
        yield from _impossible_blocks(why)
    elif why.tried:
        yield from _possible_blocks(why)


def _verdict(why: Why) -> Iterator[Message]:
    """Yield the version, and how the lock differs if it does not say the same."""
    values = {
        "name": why.name,
        "version": why.version,
        "stack": why.problem.stack.name,
        "target": sentences.target_line(why.problem),
    }
    if why.lock == "current":
        yield message("conflict.why-heading", **values)
        return
    yield message("conflict.why-would-be", **values)
    command = shlex.join(("ascend-lock", "lock", why.problem.stack.argument))
    if why.lock == "missing":
        yield message("conflict.lock-missing", command=command)
    elif why.lock == "outdated":
        yield message("conflict.lock-outdated", command=command)
    else:
        yield message("conflict.lock-other")


def _requirement_blocks(why: Why) -> Iterator[Block]:
    """Yield the requirements on the project, and which of them admit no newer release."""
    yield Heading(message("conflict.asked-by" if why.requirements else "conflict.asked-by-none"))
    yield shortened_items(reason_items(why.requirements))
    binding = [number for number, reason in enumerate(why.requirements, 1) if reason in why.bound]
    if binding:
        numbers = sentences.numbers(binding)
        yield conclusion_of(message("conflict.bound", count=len(binding), numbers=numbers))


def _own_line_paragraph(why: Why, lines: list[str]) -> Paragraph:
    """Return that `lines` of the stack rule out the release, and the command that ignores them."""
    command = ("ascend-lock", "why", why.problem.stack.argument, f"{why.name}=={why.tried}")
    return paragraph_of(
        message("conflict.own-line", lines=lines, version=why.tried, count=len(lines)),
        verbatim(shlex.join(command)),
    )


def _impossible_blocks(why: Why) -> Iterator[Block]:
    """Yield why the release that was tried is impossible, and practices that may help."""
    claim = sentences.overall_claim(why.contradictions)
    yield Heading(message("conflict.cannot-take", name=why.name, version=why.tried, claim=claim))
    yield from contradictions_blocks(why.contradictions)
    names = quoted(practice.id for practice in why.practices)
    if names:
        listed = joined("comma", names)
        yield paragraph_of(message("conflict.practices-help", count=len(names), names=listed))


def _possible_blocks(why: Why) -> Iterator[Block]:
    """Yield that the release that was tried is possible, and which other pins change with it."""
    others = [move for move in why.moves if move[0] != why.name]
    code = "conflict.can-take" if others else "conflict.can-take-alone"
    yield Heading(message(code, count=len(others), name=why.name, version=why.tried))
    yield shortened_items([Item(lines=(line(pin_change(*move)),)) for move in others])


def _own_lines(why: Why) -> list[str]:
    """Return the lines of the stack that rule out the release that was tried, without any other.

    Empty if other requirements are needed for that.
    """
    for contradiction in why.contradictions:
        own = []
        for reason in contradiction.reasons:
            stack_line = reason.constraint
            # Only lines of `requires` give way if the user names a release.
            if not isinstance(stack_line, StackLine) or stack_line.key != "requires":
                break
            if stack_line.where != SUPPOSED:
                own.append(f"`{stack_line.text}`")
        else:
            return list(dict.fromkeys(own))
    return []


def _newer(why: Why) -> Iterator[Message]:
    """Yield sentences about newer releases, and about what could not be decided."""
    if not why.newer:
        yield message("conflict.nothing-newer")
    else:
        versions = first_of(why.newer, _NEWER)
        yield message("conflict.newer-releases", count=len(why.newer), versions=versions)
    # If the requirements allow no newer release, the day has no influence.
    if why.after_day and not why.bound:
        yield message("conflict.after-day", count=why.after_day, day=why.day, name=why.name)
    for version, facts in why.later:
        places = joined("comma", [with_strength(fact, fact.where) for fact in facts])
        yield message("conflict.taken-later", version=version, pin=why.version, facts=places)
        yield from map(sentences.reason_of, facts)
    if why.unreachable:
        indexes = joined("comma", quoted(why.unreachable))
        yield message("conflict.may-have-newer", indexes=indexes, name=why.name)
    if why.untried:
        yield message("conflict.untried", why=why.untried)
    elif why.limited:
        yield message("conflict.not-decided")
