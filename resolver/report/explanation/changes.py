"""The changes of a fix and its lock, as sentences."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import join, quote

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from resolver.i18n import listed, translate
from resolver.model.explanation import Attempt, Change, ChangeKind, Environment, Explanation, Fix, Outcome
from resolver.model.problem import Problem
from resolver.model.text import Language
from resolver.report.explanation.sentences import component_name, explanation_sentence

_SHARED = 6  # lines of both environments that are named


def change_sentence(change: Change, language: Language) -> str:
    """What changes, and how far it is from the wish."""
    text = _change(change, language)
    more = []
    if change.steps:
        distance = "conflict.newer" if change.steps > 0 else "conflict.older"
        more.append(translate(distance, language, abs(change.steps)))
    if change.years:
        apart = "conflict.years-later" if change.years > 0 else "conflict.years-earlier"
        more.append(translate(apart, language, abs(change.years)))
    if change.kind is ChangeKind.VERSION and _is_prerelease(change.after):
        more.append(translate("conflict.a-prerelease", language))
    if change.kind is ChangeKind.VERSION and (gone := _extras(change.before) - _extras(change.after)):
        more.append(
            translate(
                "conflict.without-extras", language, len(gone), extras=translate("comma", language).join(sorted(gone))
            )
        )
    if not more:
        return text
    return translate(
        "conflict.in-brackets", language, text=text, extra=translate("conflict.clause", language).join(more)
    )


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
        told.append(translate("conflict.split", language, count=parts))
    archives = [change.before for change in changes if change.kind is ChangeKind.STATE]
    if archives:
        told.append(
            translate(
                "conflict.facts-stated", language, len(archives), archives=translate("comma", language).join(archives)
            )
        )
    return told


def _for_targets(changes: Sequence[Change], language: Language) -> str:
    """One change of several targets."""
    targets = [change.target or translate("conflict.this-target", language) for change in changes]
    told = change_sentence(replace(changes[0], target=""), language)
    return translate("conflict.on-targets", language, change=told, targets=listed(targets, language))


def changes_sentence(changes: Sequence[Change], language: Language) -> str:
    """The same on one line."""
    return translate("semicolon", language).join(change_sentences(changes, language))


def risk_sentence(fix: Fix, language: Language) -> str:
    """What a fix goes against; empty if it goes against nothing."""
    if not fix.risky:
        practised = any(change.kind is ChangeKind.PRACTICE for change in fix.changes)
        return translate("conflict.risk-practice", language) if practised else ""
    against_fact = any(change.kind is ChangeKind.RELAX for change in fix.changes)
    return translate("conflict.risk-fact" if against_fact else "conflict.risk-metadata", language)


def environment_sentence(environment: Environment, language: Language) -> str:
    """The size of the lock, the pins that matter, and what is missing from it."""
    pins = translate("comma", language).join(f"{pin.name} {pin.version}" for pin in environment.pins)
    if pins:
        told = translate("conflict.projects", language, environment.count, pins=pins)
    else:
        told = translate("conflict.project-count", language, environment.count)
    if not environment.gone:
        return told
    gone = translate("conflict.not-in-it", language, names=translate("comma", language).join(environment.gone))
    return translate("semicolon", language).join([told, gone])


def requires_sentence(fix: Fix, environment: Environment, language: Language) -> str:
    """The lines of the stack that one of a fix's environments has; those that all have by their number, if many."""
    shared = set(environment.requires).intersection(*(one.requires for one in fix.environments))
    own = [line for line in environment.requires if line not in shared]
    if len(shared) <= _SHARED or not own:
        requires = translate("comma", language).join(environment.requires)
    else:
        requires = translate(
            "conflict.and-shared", language, own=translate("comma", language).join(own), count=len(shared)
        )
    return translate("conflict.environment", language, name=environment.name, requires=requires)


def outcome_sentence(attempt: Attempt, language: Language) -> str:
    """Why an attempt did not give a lock."""
    match attempt.outcome:
        case Outcome.UNDECIDED:
            return translate("conflict.undecided", language)
        case Outcome.FAILED:
            template = "conflict.failed-on-target" if attempt.target else "conflict.failed"
            return translate(template, language, why=attempt.why, target=attempt.target)
        case Outcome.ELSEWHERE:
            return translate("conflict.other-target", language, target=attempt.target)
        case Outcome.CONFLICT if not attempt.because:
            return translate("conflict.no-solution", language)
        case Outcome.CONFLICT:
            told = [explanation_sentence(statement, language) for statement in attempt.because]
            return translate("conflict.still", language, statements=translate("semicolon", language).join(told))


def apply_hint(explanation: Explanation, language: Language, *, in_checkout: bool = True) -> str:
    """The command that writes the first way out, correct for a stack given by name or by path.

    Only `in_checkout` is there a Makefile.
    """
    argument = _stack_argument(explanation.problem)
    name, options = explanation.fixes[0].name, join(explanation.options)
    if argument != explanation.problem.stack.name or not in_checkout:
        return translate("conflict.apply-path", language, stack=f"{quote(argument)} {options}".rstrip(), name=name)
    return translate(
        "conflict.apply", language, stack=f"{argument} ARGS={quote(options)}" if options else argument, name=name
    )


def _stack_argument(problem: Problem) -> str:
    """The stack on the command line: its name, or its path if it is not in the matrices."""
    name = problem.stack.name
    return name if problem.stack.where == f"matrices/stacks/{name}.toml" else problem.stack.where


def _change(change: Change, language: Language) -> str:
    before, after = change.before, change.after
    match change.kind:
        case ChangeKind.COMPONENT:
            told = _component(change, language)
            return (
                translate("conflict.on-target", language, change=told, target=change.target) if change.target else told
            )
        case ChangeKind.POLICY:
            template = "conflict.policy-instead" if before and after else "conflict.policy-added"
            template = template if after else "conflict.policy-dropped"
            return translate(template, language, before=before, after=after)
        case ChangeKind.ADD:
            if after.endswith(".toml"):
                return translate("conflict.facts-used", language, subject=change.subject, file=after)
            template = "conflict.fact-added-against" if before else "conflict.fact-built"
            return translate(template, language, subject=change.subject, before=before)
        case ChangeKind.STATE:
            return translate("conflict.facts-stated", language, 1, archives=before)
        case ChangeKind.RELAX:
            template = "conflict.fact-relaxed-with" if before else "conflict.fact-relaxed"
            return translate(template, language, subject=change.subject, before=before)
        case ChangeKind.PRACTICE:
            names = [f"`{name}`" for name in change.subject.split(", ")]
            return translate(
                "conflict.practices-on", language, len(names), names=translate("comma", language).join(names)
            )
        case ChangeKind.SPLIT:
            return translate("conflict.environment", language, name=change.subject, requires=after)
        case ChangeKind.VERSION | ChangeKind.EXTRA | ChangeKind.DROP:
            return _line(change, language)


def _component(change: Change, language: Language) -> str:
    if change.subject == "soc" and change.before:
        return translate("conflict.machine-instead", language, before=change.before, after=change.after)
    template = "conflict.component-instead" if change.before else "conflict.component-added"
    return translate(
        template, language, component=component_name(change.subject), before=change.before, after=change.after
    )


def _line(change: Change, language: Language) -> str:
    if not change.after:
        return translate("conflict.line-dropped", language, before=change.before)
    if not change.before:
        return translate("conflict.line-added", language, after=change.after)
    if change.kind is not ChangeKind.EXTRA:
        return translate("conflict.ask-instead", language, before=change.before, after=change.after)
    if len(_extras(change.before)) == 1:
        return translate("conflict.without-extra", language, before=change.before, after=change.after)
    gone = sorted(_extras(change.before) - _extras(change.after))
    without = translate("conflict.without-extras", language, len(gone), extras=translate("comma", language).join(gone))
    return translate("conflict.instead-without", language, without=without, before=change.before, after=change.after)


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
