"""State the changes of a way out and its lock as sentences and as lines of a diff."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import join, quote

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement

from resolver.errors import escaped
from resolver.model.explanation import (
    Attempt,
    AttemptOutcome,
    Change,
    ChangeKind,
    Environment,
    Explanation,
    Fix,
)
from resolver.model.message import Message, joined, message
from resolver.model.text import requirement
from resolver.report.document import one_line
from resolver.report.explanation.sentences import sentence
from resolver.report.links import BESIDE

# If both environments share more lines than this, these lines are counted and not named.
_SHARED = 6
# Kinds of changes that remove nothing from a file.
_ADDITIONS = (ChangeKind.LINE, ChangeKind.FACTS, ChangeKind.ADD, ChangeKind.STATE)


def change_sentence(change: Change) -> Message:
    """Return the sentence about a change, with how far it is from the original release, and why."""
    remarks = []
    if change.steps:
        code = "conflict.newer" if change.steps > 0 else "conflict.older"
        remarks.append(message(code, count=abs(change.steps)))
    if change.years:
        code = "conflict.years-later" if change.years > 0 else "conflict.years-earlier"
        remarks.append(message(code, count=abs(change.years)))
    if change.left_behind:
        remarks.append(message("conflict.left-behind"))
    if change.kind is ChangeKind.VERSION and _is_prerelease(change.after):
        remarks.append(message("conflict.a-prerelease"))
    if change.kind is ChangeKind.VERSION and _removed_extras(change):
        remarks.append(_without_extras(change))
    text = _change(change)
    if remarks:
        extra = joined("conflict.clause", remarks)
        text = message("conflict.in-brackets", text=text, extra=extra)
    if change.cause is None:
        return text
    return message("conflict.because", change=text, reason=sentence(change.cause))


def change_sentences(changes: Sequence[Change]) -> list[Message]:
    """Return the sentences about all changes of a way out or an attempt.

    One sentence covers all environments of a split, all facts about archives, and the same change
    for several targets.
    """
    by_effect: dict[Change, list[Change]] = {}
    parts = 0
    archives = []
    for change in changes:
        match change.kind:
            case ChangeKind.SPLIT:
                parts += 1
            case ChangeKind.STATE:
                archives.append(change.before)
            case _:
                effect = replace(change, target="", where="", cause=None, edit=None)
                by_effect.setdefault(effect, []).append(change)
    sentences = [
        change_sentence(alike[0]) if len(alike) == 1 else _for_targets(alike)
        for alike in by_effect.values()
    ]
    if parts:
        sentences.append(message("conflict.split", count=parts))
    if archives:
        sentences.append(_facts_stated(archives))
    return sentences


def _for_targets(changes: Sequence[Change]) -> Message:
    """Return the sentence about a change that is the same for several targets."""
    targets = [change.target or message("conflict.this-target") for change in changes]
    # The cause is known for the explained target alone.
    first = max(changes, key=lambda change: change.cause is not None)
    text = change_sentence(replace(first, target=""))
    return message("conflict.on-targets", change=text, targets=targets)


def _facts_stated(archives: Sequence[str]) -> Message:
    """Return the sentence about new facts that state what archives require."""
    return message("conflict.facts-stated", count=len(archives), archives=joined("comma", archives))


def changes_sentence(changes: Sequence[Change]) -> Message:
    """Return all changes of a way out or an attempt as one sentence."""
    return joined("semicolon", change_sentences(changes))


def risk_sentence(fix: Fix) -> Message | None:
    """Return what a way out contradicts; None if it contradicts no fact and no metadata."""
    kinds = {change.kind for change in fix.changes}
    if fix.risky:
        is_fact = ChangeKind.RELAX in kinds
        return message("conflict.risk-fact" if is_fact else "conflict.risk-metadata")
    return message("conflict.risk-practice") if ChangeKind.PRACTICE in kinds else None


def twin_sentence(fix: Fix) -> Message | None:
    """Return that the changed target is another target of the stack; None if it is not."""
    return message("conflict.twin", target=fix.twin) if fix.twin else None


def environment_sentence(environment: Environment) -> Message:
    """Return how large a lock is, which pins matter, and what is missing from it."""
    pins = joined("comma", [f"{pin.name} {pin.version}" for pin in environment.pins])
    code = "conflict.projects" if environment.pins else "conflict.project-count"
    lock = message(code, count=environment.count, pins=pins)
    remarks = [lock]
    if environment.gone:
        remarks.append(message("conflict.not-in-it", names=joined("comma", environment.gone)))
    if environment.off:
        lines = joined("comma", environment.off)
        remarks.append(message("conflict.lines-off", count=len(environment.off), lines=lines))
    return joined("semicolon", remarks)


def requires_sentence(fix: Fix, environment: Environment) -> Message:
    """Return the lines of the stack in one of the environments of a way out.

    If all environments share many lines, only the number of these is given.
    """
    shared = set(environment.requires)
    for each in fix.environments:
        shared.intersection_update(each.requires)
    only_here = [line for line in environment.requires if line not in shared]
    requires = joined("comma", environment.requires)
    if len(shared) > _SHARED and only_here:
        requires = message("conflict.and-shared", own=joined("comma", only_here), count=len(shared))
    return message("conflict.environment", name=environment.name, requires=requires)


def outcome_sentence(attempt: Attempt) -> Message:
    """Return why an attempt gave no lock."""
    match attempt.outcome:
        case AttemptOutcome.UNDECIDED:
            return message("conflict.undecided")
        case AttemptOutcome.FAILED:
            code = "conflict.failed-on-target" if attempt.target else "conflict.failed"
            return message(code, why=attempt.why, target=attempt.target)
        case AttemptOutcome.ELSEWHERE:
            return message("conflict.other-target", target=attempt.target)
        case AttemptOutcome.CONFLICT:
            statements = joined("semicolon", map(sentence, attempt.because))
            return message("conflict.still", statements=statements)


def apply_hint(explanation: Explanation, *, in_checkout: bool = True) -> Message:
    """Return the sentence with the command that writes the first way out."""
    command = apply_command(explanation, explanation.fixes[0].name, in_checkout=in_checkout)
    has_make = _has_make(explanation, in_checkout=in_checkout)
    return message("conflict.apply" if has_make else "conflict.apply-path", command=command)


def apply_command(explanation: Explanation, name: str, *, in_checkout: bool = True) -> str:
    """Return the command that writes the way out with this name.

    It is a `make` command if there is a Makefile that knows the stack.
    """
    stack = explanation.problem.stack
    options = join(explanation.options)
    if _has_make(explanation, in_checkout=in_checkout):
        arguments = f" ARGS={quote(options)}" if options else ""
        return f"make explain STACK={stack.name}{arguments} APPLY={name}"
    words = ["ascend-lock", "explain", quote(stack.argument), options, "--apply", name]
    return " ".join(word for word in words if word)


def _has_make(explanation: Explanation, *, in_checkout: bool) -> bool:
    """Return whether there is a Makefile that knows the stack.

    It knows the stacks of the folder `matrices` beside it by their names.
    """
    stack = explanation.problem.stack
    is_shipped = stack.argument == stack.name
    return in_checkout and explanation.way_to_matrices == BESIDE and is_shipped


def _change(change: Change) -> Message:
    """Return the sentence about a change, without how far it is from the original release."""
    before, after, subject = change.before, change.after, change.subject
    match change.kind:
        case ChangeKind.COMPONENT:
            return _component(change)
        case ChangeKind.POLICY:
            return _policy(before, after)
        case ChangeKind.LINE:
            code = "conflict.line-added" if before else "conflict.line-added-alone"
            return message(code, line=after, absent=before)
        case ChangeKind.SOURCE | ChangeKind.FACTS | ChangeKind.STATE:
            return _knowledge(change)
        case ChangeKind.ADD | ChangeKind.RELAX:
            return _risk(change)
        case ChangeKind.PRACTICE:
            names = [f"`{name}`" for name in subject.split(", ")]
            listed = joined("comma", names)
            return message("conflict.practices-on", count=len(names), names=listed)
        case ChangeKind.SPLIT:
            return message("conflict.environment", name=subject, requires=after)
        case ChangeKind.VERSION | ChangeKind.EXTRA | ChangeKind.DROP:
            return _line(change)


def _knowledge(change: Change) -> Message:
    """Return the sentence about facts that are added or used without contradicting others."""
    if change.kind is ChangeKind.STATE:
        return _facts_stated([change.before])
    if change.kind is ChangeKind.FACTS:
        return message("conflict.facts-used", subject=change.subject, file=change.after)
    code = "conflict.from-shipped" if change.subject else "conflict.as-shipped"
    return message(code, stack=change.before, names=change.subject)


def _component(change: Change) -> Message:
    """Return the sentence about another value of a component."""
    component = change.component
    text = message(
        "conflict.machine-instead" if change.is_other_machine else "conflict.component-instead",
        component=change.subject if component is None else component.label,
        before=change.before,
        after=change.after,
    )
    if not change.target:
        return text
    return message("conflict.on-target", change=text, target=change.target)


def _policy(before: str, after: str) -> Message:
    """Return the sentence about a change of a policy."""
    if not after:
        return message("conflict.policy-dropped", before=before)
    code = "conflict.policy-instead" if before else "conflict.policy-added"
    return message(code, before=before, after=after)


def _risk(change: Change) -> Message:
    """Return the sentence about a fact that is set aside or a requirement that is removed."""
    code = "conflict.fact-added-against"
    if change.kind is ChangeKind.RELAX:
        code = "conflict.fact-relaxed-with" if change.before else "conflict.fact-relaxed"
    return message(code, subject=change.subject, before=change.before)


def _line(change: Change) -> Message:
    """Return the sentence about a change of a line."""
    ends = {"before": change.before, "after": change.after}
    if change.shipped and not change.after:
        return message("conflict.line-dropped-as-shipped", stack=change.shipped, **ends)
    if not change.after:
        return message("conflict.line-dropped", **ends)
    if change.kind is not ChangeKind.EXTRA:
        return message("conflict.ask-instead", **ends)
    if len(_extras(change.before)) == 1:
        return message("conflict.without-extra", **ends)
    return message("conflict.instead-without", without=_without_extras(change), **ends)


def _without_extras(change: Change) -> Message:
    """Return the words that name the extras which a line loses."""
    extras = _removed_extras(change)
    return message("conflict.without-extras", count=len(extras), extras=joined("comma", extras))


def _removed_extras(change: Change) -> list[str]:
    """Return the extras that a line had before a change and has no longer, sorted."""
    return sorted(_extras(change.before) - _extras(change.after))


def _is_prerelease(line: str) -> bool:
    """Return whether a line pins one release, which is a pre-release."""
    try:
        specifiers = list(requirement(line).specifier)
    except InvalidRequirement:
        return False
    if len(specifiers) != 1 or specifiers[0].operator != "==":
        return False
    return specifiers[0].prereleases is True


def _extras(line: str) -> set[str]:
    """Return the normalized extras (PEP 685) of a line; empty if it is about a component."""
    try:
        return set(requirement(line).extras)
    except InvalidRequirement:
        return set()


def change_diff(change: Change) -> list[str]:
    """Return a change as lines of a diff, below the place that it is about.

    Empty for a split, which changes no line.
    """
    if change.kind is ChangeKind.SPLIT:
        return []
    lines = [f"@@ {escaped(one_line(change.where))} @@"] if change.where else []
    if change.kind not in _ADDITIONS:
        lines += [f"-{line}" for line in safe_lines(change.before)]
    return lines + [f"+{line}" for line in safe_lines(change.after)]


def safe_lines(text: str) -> list[str]:
    """Return the lines of a text without characters that a terminal or browser would act on."""
    return [escaped(line.expandtabs(4)) for line in text.splitlines()]
