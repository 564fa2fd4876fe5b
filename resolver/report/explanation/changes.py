"""The changes of a fix and its lock, as sentences."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import join, quote

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from resolver.model.explanation import Attempt, Change, ChangeKind, Environment, Explanation, Fix, Outcome
from resolver.model.problem import Problem
from resolver.model.text import Language
from resolver.report.explanation import words
from resolver.report.explanation.sentences import component_name, explanation_sentence

_SHARED = 6  # lines of both environments that are named


def change_sentence(change: Change, language: Language) -> str:
    """What changes, and how far it is from the wish."""
    text = _change(change, language)
    more = []
    if change.steps:
        distance = words.NEWER if change.steps > 0 else words.OLDER
        more.append(distance(language, abs(change.steps)))
    if change.years:
        apart = words.YEARS_LATER if change.years > 0 else words.YEARS_EARLIER
        more.append(apart(language, abs(change.years)))
    if change.kind is ChangeKind.VERSION and _is_prerelease(change.after):
        more.append(words.A_PRERELEASE(language))
    if change.kind is ChangeKind.VERSION and (gone := _extras(change.before) - _extras(change.after)):
        more.append(words.WITHOUT_EXTRAS(language, len(gone), extras=words.COMMA(language).join(sorted(gone))))
    if not more:
        return text
    return words.IN_BRACKETS(language, text=text, extra=words.CLAUSE(language).join(more))


def change_sentences(changes: Sequence[Change], language: Language) -> list[str]:
    """All changes of a fix or an attempt; a split is one sentence, as are all facts about archives.

    So is a component that becomes the same for several targets.
    """
    together = (ChangeKind.SPLIT, ChangeKind.STATE)
    same: dict[Change, list[Change]] = {}
    for change in changes:
        if change.kind not in together:
            same.setdefault(replace(change, target="", where=""), []).append(change)
    told = [
        change_sentence(several[0], language) if len(several) == 1 else _for_targets(several, language)
        for several in same.values()
    ]
    parts = sum(1 for change in changes if change.kind is ChangeKind.SPLIT)
    if parts:
        told.append(words.SPLIT(language, count=parts))
    archives = [change.before for change in changes if change.kind is ChangeKind.STATE]
    if archives:
        told.append(words.FACTS_STATED(language, len(archives), archives=words.COMMA(language).join(archives)))
    return told


def _for_targets(changes: Sequence[Change], language: Language) -> str:
    """One change of several targets."""
    targets = [change.target or words.THIS_TARGET(language) for change in changes]
    told = change_sentence(replace(changes[0], target=""), language)
    return words.ON_TARGETS(language, change=told, targets=words.listed(targets, language))


def changes_sentence(changes: Sequence[Change], language: Language) -> str:
    """The same on one line."""
    return words.SEMICOLON(language).join(change_sentences(changes, language))


def risk_sentence(fix: Fix, language: Language) -> str:
    """What a fix goes against; empty if it goes against nothing."""
    if not fix.risky:
        practised = any(change.kind is ChangeKind.PRACTICE for change in fix.changes)
        return words.RISK_PRACTICE(language) if practised else ""
    against_fact = any(change.kind is ChangeKind.RELAX for change in fix.changes)
    return (words.RISK_FACT if against_fact else words.RISK_METADATA)(language)


def environment_sentence(environment: Environment, language: Language) -> str:
    """The size of the lock, the pins that matter, and what is missing from it."""
    pins = words.COMMA(language).join(f"{pin.name} {pin.version}" for pin in environment.pins)
    if pins:
        told = words.PROJECTS(language, environment.count, pins=pins)
    else:
        told = words.PROJECT_COUNT(language, environment.count)
    if not environment.gone:
        return told
    gone = words.NOT_IN_IT(language, names=words.COMMA(language).join(environment.gone))
    return words.SEMICOLON(language).join([told, gone])


def requires_sentence(fix: Fix, environment: Environment, language: Language) -> str:
    """The lines of the stack that one of a fix's environments has; those that all have by their number, if many."""
    shared = set(environment.requires).intersection(*(one.requires for one in fix.environments))
    own = [line for line in environment.requires if line not in shared]
    if len(shared) <= _SHARED or not own:
        requires = words.COMMA(language).join(environment.requires)
    else:
        requires = words.AND_SHARED(language, own=words.COMMA(language).join(own), count=len(shared))
    return words.ENVIRONMENT(language, name=environment.name, requires=requires)


def outcome_sentence(attempt: Attempt, language: Language) -> str:
    """Why an attempt did not give a lock."""
    match attempt.outcome:
        case Outcome.UNDECIDED:
            return words.UNDECIDED(language)
        case Outcome.FAILED:
            template = words.FAILED_ON_TARGET if attempt.target else words.FAILED
            return template(language, why=attempt.why, target=attempt.target)
        case Outcome.ELSEWHERE:
            return words.OTHER_TARGET(language, target=attempt.target)
        case Outcome.CONFLICT if not attempt.because:
            return words.NO_SOLUTION(language)
        case Outcome.CONFLICT:
            told = [explanation_sentence(statement, language) for statement in attempt.because]
            return words.STILL(language, statements=words.SEMICOLON(language).join(told))


def apply_hint(explanation: Explanation, language: Language, *, in_checkout: bool = True) -> str:
    """The command that writes the first way out, correct for a stack given by name or by path.

    Only `in_checkout` is there a Makefile.
    """
    argument = _stack_argument(explanation.problem)
    name, options = explanation.fixes[0].name, join(explanation.options)
    if argument != explanation.problem.stack.name or not in_checkout:
        return words.APPLY_PATH(language, stack=f"{quote(argument)} {options}".rstrip(), name=name)
    return words.APPLY(language, stack=f"{argument} ARGS={quote(options)}" if options else argument, name=name)


def _stack_argument(problem: Problem) -> str:
    """The stack on the command line: its name, or its path if it is not in the matrices."""
    name = problem.stack.name
    return name if problem.stack.where == f"matrices/stacks/{name}.toml" else problem.stack.where


def _change(change: Change, language: Language) -> str:
    before, after = change.before, change.after
    match change.kind:
        case ChangeKind.COMPONENT:
            told = _component(change, language)
            return words.ON_TARGET(language, change=told, target=change.target) if change.target else told
        case ChangeKind.POLICY:
            template = words.POLICY_INSTEAD if before and after else words.POLICY_ADDED
            template = template if after else words.POLICY_DROPPED
            return template(language, before=before, after=after)
        case ChangeKind.ADD:
            if after.endswith(".toml"):
                return words.FACTS_USED(language, subject=change.subject, file=after)
            template = words.FACT_ADDED_AGAINST if before else words.FACT_BUILT
            return template(language, subject=change.subject, before=before)
        case ChangeKind.STATE:
            return words.FACTS_STATED(language, 1, archives=before)
        case ChangeKind.RELAX:
            template = words.FACT_RELAXED_WITH if before else words.FACT_RELAXED
            return template(language, subject=change.subject, before=before)
        case ChangeKind.PRACTICE:
            names = [f"`{name}`" for name in change.subject.split(", ")]
            return words.PRACTICES_ON(language, len(names), names=words.COMMA(language).join(names))
        case ChangeKind.SPLIT:
            return words.ENVIRONMENT(language, name=change.subject, requires=after)
        case ChangeKind.VERSION | ChangeKind.EXTRA | ChangeKind.DROP:
            return _line(change, language)


def _component(change: Change, language: Language) -> str:
    if change.subject == "soc" and change.before:
        return words.MACHINE_INSTEAD(language, before=change.before, after=change.after)
    template = words.COMPONENT_INSTEAD if change.before else words.COMPONENT_ADDED
    return template(language, component=component_name(change.subject), before=change.before, after=change.after)


def _line(change: Change, language: Language) -> str:
    if not change.after:
        return words.LINE_DROPPED(language, before=change.before)
    if not change.before:
        return words.LINE_ADDED(language, after=change.after)
    if change.kind is not ChangeKind.EXTRA:
        return words.ASK_INSTEAD(language, before=change.before, after=change.after)
    if len(_extras(change.before)) == 1:
        return words.WITHOUT_EXTRA(language, before=change.before, after=change.after)
    gone = sorted(_extras(change.before) - _extras(change.after))
    without = words.WITHOUT_EXTRAS(language, len(gone), extras=words.COMMA(language).join(gone))
    return words.INSTEAD_WITHOUT(language, without=without, before=change.before, after=change.after)


def _is_prerelease(line: str) -> bool:
    """Whether a line asks for one release, which is a pre-release."""
    try:
        specifiers = list(Requirement(line).specifier)
    except InvalidRequirement:
        return False
    return len(specifiers) == 1 and specifiers[0].operator == "==" and specifiers[0].prereleases is True


def _extras(line: str) -> set[str]:
    """The normalized extras (PEP 685) of a line of the stack if it is about this project; otherwise none."""
    try:
        return {canonicalize_name(extra) for extra in Requirement(line).extras}
    except InvalidRequirement:
        return set()
