"""State the changes of a way out and its lock as sentences and as a diff."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from shlex import join, quote

from msgspec.structs import replace

from resolver.errors import escaped
from resolver.model.change import (
    CUTOFF,
    ArchiveStated,
    Change,
    ComponentChanged,
    ConstraintDropped,
    CutoffDropped,
    ExtrasRemoved,
    FactSetAside,
    FactsUsed,
    LineAdded,
    LineChanged,
    LineDropped,
    LinesDivided,
    PracticesOn,
    PrereleasesAdmitted,
    RequirementRemoved,
    ShippedTaken,
    VersionChanged,
)
from resolver.model.explanation import (
    Attempt,
    AttemptOutcome,
    Environment,
    Explanation,
    Fix,
)
from resolver.model.message import Message, joined, message, quoted
from resolver.model.requirement import Requirement
from resolver.report.explanation.sentences import sentence
from resolver.report.links import BESIDE
from resolver.resolve.reasons import cutoff_text

# If both environments share more lines than this, these lines are counted and not named.
_SHARED = 6
# The lines at the beginning of a unified diff that name the two files.
_FILE_NAMES = 2
# Options of `explain` that `add` does not have.
_EXPLAIN_ONLY = frozenset(("--target", "--as-of", "--exclude-newer"))


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
    if isinstance(change, VersionChanged):
        if _pins_prerelease(change.after):
            remarks.append(message("conflict.a-prerelease"))
        if change.lost_extras:
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
        match change:
            case LinesDivided():
                parts += 1
            case ArchiveStated():
                archives.append(change.archive)
            case _:
                by_effect.setdefault(_effect_of(change), []).append(change)
    sentences = [
        change_sentence(alike[0]) if len(alike) == 1 else _for_targets(alike)
        for alike in by_effect.values()
    ]
    if parts:
        sentences.append(message("conflict.split", count=parts))
    if archives:
        sentences.append(_facts_stated(archives))
    return sentences


def _effect_of(change: Change) -> Change:
    """Return a change without what differs between targets."""
    if isinstance(change, ComponentChanged):
        change = replace(change, target_number=0)
    return replace(change, target="", where="", cause=None)


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
    if fix.risky:
        is_fact = any(isinstance(change, FactSetAside) for change in fix.changes)
        return message("conflict.risk-fact" if is_fact else "conflict.risk-metadata")
    is_practice = any(isinstance(change, PracticesOn) for change in fix.changes)
    return message("conflict.risk-practice") if is_practice else None


def twin_sentence(fix: Fix) -> Message | None:
    """Return that the changed target is another target of the stack; None if it is not."""
    return message("conflict.twin", target=fix.twin) if fix.twin else None


def environment_sentence(environment: Environment) -> Message:
    """Return how large a lock is, which pins matter, and what is missing from it."""
    pins = joined("comma", [f"{pin.name} {pin.version}" for pin in environment.pins])
    code = "conflict.projects" if environment.pins else "conflict.project-count"
    lock = message(code, count=environment.count, pins=pins)
    remarks = [lock]
    versions = {pin.name: pin.version for pin in environment.pins}
    projects = []
    for gone in environment.gone:
        name, _, extra = gone.removesuffix("]").partition("[")
        if not extra:
            projects.append(name)
            continue
        release = f"{name} {versions[name]}" if name in versions else name
        remarks.append(message("conflict.no-such-extra", package=release, extra=extra))
    if projects:
        remarks.append(message("conflict.not-in-it", names=joined("comma", projects)))
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
        case AttemptOutcome.USELESS:
            assert attempt.warning is not None  # noqa: S101  see Attempt.warning
            return message("conflict.useless", warning=attempt.warning)
        case AttemptOutcome.CONFLICT:
            statements = joined("semicolon", map(sentence, attempt.because))
            return message("conflict.still", statements=statements)


def apply_hints(explanation: Explanation, *, in_checkout: bool) -> Iterator[Message]:
    """Yield sentences with the commands that apply the first way out, or write the changed stack.

    The command that changes the stack's own file, and locks it, comes first.
    """
    first = explanation.fixes[0]
    command = apply_command(explanation, first.name, in_checkout=in_checkout)
    if _can_add(explanation, first):
        stack = explanation.problem.stack
        words = ("ascend-lock", "add", stack.argument, *explanation.options, "--apply", first.name)
        yield message("conflict.apply-own", command=join(words))
    has_make = _has_make(explanation, in_checkout=in_checkout)
    yield message("conflict.apply" if has_make else "conflict.apply-path", command=command)


def _can_add(explanation: Explanation, fix: Fix) -> bool:
    """Return whether `ascend-lock add --apply` can change the stack's file by a way out.

    It edits no stack that ships with the program, makes no second stack, and locks all targets by
    the policy of the file.
    """
    stack = explanation.problem.stack
    is_own = stack.argument != stack.name
    return is_own and len(fix.texts) == 1 and not _EXPLAIN_ONLY.intersection(explanation.options)


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
    match change:
        case PracticesOn():
            names = quoted(change.names)
            listed = joined("comma", names)
            return message("conflict.practices-on", count=len(names), names=listed)
        case LineAdded():
            code = "conflict.line-added" if change.absent else "conflict.line-added-alone"
            return message(code, line=str(change.need), absent=change.absent)
        case VersionChanged() | ExtrasRemoved() | LineDropped():
            return _line(change)
        case ComponentChanged():
            return _component(change)
        case ConstraintDropped() | CutoffDropped() | PrereleasesAdmitted():
            return _policy(*ends(change))
        case FactsUsed() | ArchiveStated() | ShippedTaken():
            return _knowledge(change)
        case RequirementRemoved() | FactSetAside():
            return _risk(change)
        case LinesDivided():
            lines = ", ".join(change.lines)
            return message("conflict.environment", name=change.environment, requires=lines)


def _knowledge(change: FactsUsed | ArchiveStated | ShippedTaken) -> Message:
    """Return the sentence about facts that are added or used without contradicting others."""
    match change:
        case ArchiveStated():
            return _facts_stated([change.archive])
        case FactsUsed():
            return message("conflict.facts-used", subject=change.project, file=change.file)
        case ShippedTaken():
            code = "conflict.from-shipped" if change.names else "conflict.as-shipped"
            return message(code, stack=change.stack, names=", ".join(change.names))


def _component(change: ComponentChanged) -> Message:
    """Return the sentence about another value of a component."""
    text = message(
        "conflict.machine-instead" if change.is_other_machine else "conflict.component-instead",
        component=change.component.label,
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
    return message("conflict.policy-added", before=before, after=after)


def _risk(change: RequirementRemoved | FactSetAside) -> Message:
    """Return the sentence about a fact that is set aside or a requirement that is removed."""
    before, _ = ends(change)
    code = "conflict.fact-added-against"
    if isinstance(change, FactSetAside):
        code = "conflict.fact-relaxed-with" if before else "conflict.fact-relaxed"
    return message(code, subject=change.subject, before=before)


def _line(change: LineChanged | LineDropped) -> Message:
    """Return the sentence about a change of a line."""
    before, after = ends(change)
    if isinstance(change, LineDropped):
        code = "conflict.line-dropped-as-shipped" if change.shipped else "conflict.line-dropped"
        return message(code, stack=change.shipped, before=before, after=after)
    if isinstance(change, VersionChanged):
        return message("conflict.ask-instead", before=before, after=after)
    if len(change.asked.extras) == 1:
        return message("conflict.without-extra", before=before, after=after)
    without = _without_extras(change)
    return message("conflict.instead-without", without=without, before=before, after=after)


def _without_extras(change: LineChanged) -> Message:
    """Return the words that name the extras which a line loses."""
    extras = change.lost_extras
    return message("conflict.without-extras", count=len(extras), extras=joined("comma", extras))


def _pins_prerelease(need: Requirement) -> bool:
    """Return whether a requirement pins one release, which is a pre-release."""
    specifiers = list(need.specifier)
    if len(specifiers) != 1 or specifiers[0].operator != "==":
        return False
    return specifiers[0].prereleases is True


def ends(change: Change) -> tuple[str, str]:
    """Return what a report shows as the text before a change, and as the text after it.

    docs/conflict-report.md says what they are for each kind of change.
    """
    match change:
        case LineAdded():
            return change.absent, str(change.need)
        case VersionChanged() | ExtrasRemoved():
            return change.before.origin.text, str(change.after)
        case LineDropped():
            return change.before.origin.text, ""
        case ComponentChanged():
            return change.before, change.after
        case ConstraintDropped() | CutoffDropped() | PrereleasesAdmitted():
            return _ends_of_policy(change)
        case LinesDivided():
            return "", ", ".join(change.lines)
        case PracticesOn():
            return "", f"practices = {_as_list(change.names)}"
        case FactsUsed() | RequirementRemoved() | ArchiveStated() | ShippedTaken() | FactSetAside():
            return _ends_of_facts(change)


def _ends_of_policy(
    change: ConstraintDropped | CutoffDropped | PrereleasesAdmitted,
) -> tuple[str, str]:
    """Return what `ends` does for a change of the policy."""
    match change:
        case ConstraintDropped():
            return f"constraints: {change.before.origin.text}", ""
        case CutoffDropped():
            return f"{CUTOFF} = {cutoff_text(change.cutoff).replace('T', ' ')}", ""
        case PrereleasesAdmitted():
            return "", f'prereleases-of.{change.project} = "allow"'


def _ends_of_facts(
    change: FactsUsed | RequirementRemoved | ArchiveStated | ShippedTaken | FactSetAside,
) -> tuple[str, str]:
    """Return what `ends` does for a change of the facts that count."""
    match change:
        case FactsUsed():
            return "", change.file
        case RequirementRemoved():
            return ", ".join(change.needs), change.rows
        case ArchiveStated():
            return change.archive, change.rows
        case ShippedTaken():
            return change.stack, change.rows
        case FactSetAside():
            return change.need, ""


def _as_list(names: Iterable[str]) -> str:
    """Return names as a TOML array of strings on one line.

    The names must need no escaping: they are names of facts.
    """
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"[{quoted}]"


def stack_diff(before: str, after: str) -> list[str]:
    """Return the unified diff of the text of a stack's file, without the lines that name files."""
    lines = difflib.unified_diff(safe_lines(before), safe_lines(after), lineterm="")
    return list(islice(lines, _FILE_NAMES, None))


def safe_lines(text: str) -> list[str]:
    """Return the lines of a text without characters that a terminal or browser would act on."""
    return [escaped(line.expandtabs(4)) for line in text.splitlines()]
