"""Make the reported form of fixes: the changes, the lock, and a letter for each fix."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from string import ascii_uppercase

from msgspec.structs import replace

from resolver.explain.changed_stack import ChangedStack
from resolver.explain.costs import (
    changes_less,
    no_longer_needed,
    takes_prerelease,
)
from resolver.explain.loss import Loss
from resolver.explain.paired_lines import paired_projects
from resolver.explain.stack_text import StackText, with_suffix
from resolver.lock.applied_facts import applied_facts
from resolver.lock.warnings import unmet_soft_requirements
from resolver.model.change import (
    ArchiveStated,
    Change,
    ComponentChanged,
    ExtrasRemoved,
    LineAdded,
    LinesDivided,
    PrereleasesAdmitted,
    RequirementRemoved,
    ShippedTaken,
    VersionChanged,
    subjects_of,
)
from resolver.model.explanation import Environment, Fix, ShownPin
from resolver.model.fact import Warns, as_warning
from resolver.model.message import Message
from resolver.model.problem import PolicyOptions, Problem, Stack
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution
from resolver.resolve.candidates import pins
from resolver.resolve.missing_extras import lost_extras

# How many pins are reported for a fix.
_SHOWN = 10

# The texts about soft requirements of a fix, by the texts about those of a lock.
_REMARKS = {
    "lock.unmet-bound": "conflict.unmet-bound",
    "lock.unmet-later-bound": "conflict.unmet-later-bound",
    "lock.unloadable": "conflict.unloadable",
}


def fix_of(
    problem: Problem,
    changed: ChangedStack,
    text: str,
    resolution: Resolution,
    concerned: Sequence[str],
) -> Fix:
    """Return a changed stack that locks as a fix of the problem. It has no letter yet.

    `text` is the TOML of the changed stack, and `concerned` are the projects that the
    contradictions are about.
    """
    versions = [each.subject for each in changed.changes if isinstance(each, VersionChanged)]
    environment = environment_of(resolution, problem, concerned, versions)
    gone = _gone(changed, resolution, concerned)
    off = _switched_off(problem, resolution)
    return Fix(
        name="",
        changes=changed.reported,
        environments=(replace(environment, gone=tuple(gone), off=tuple(off)),),
        files=((problem.stack.name, text),),
        risky=changed.risky,
    )


def _gone(changed: ChangedStack, resolution: Resolution, concerned: Sequence[str]) -> list[str]:
    """Return the projects, and the extras of lines, that a fix loses unexpectedly.

    They are concerned projects, or projects that a removed requirement named, which the lock does
    not have though no line about them was dropped; and extras, such as `trl[vllm]`, that the
    releases in the lock do not have.
    """
    components = resolution.problem.target.components
    expected = {pin.name for pin in resolution.pins}.union(components, changed.dropped)
    removed: list[str] = []
    for change in changed.changes:
        project = no_longer_needed(change)
        if project is not None:
            removed.append(project)
        if isinstance(change, VersionChanged):
            # The line may name another project now.
            expected.add(change.asked.name)
    names = dict.fromkeys([*concerned, *removed])
    extras = [f"{pin.name}[{extra}]" for pin, extra in lost_extras(resolution)]
    return [name for name in names if name not in expected] + extras


def _switched_off(problem: Problem, resolution: Resolution) -> Iterator[str]:
    """Yield the lines whose markers hold for a problem's target and not for that of a lock.

    They are without their markers. A line that has another text in the changed stack is left out.
    """
    markers = resolution.problem.target.markers
    kept = {root.origin.text for root in resolution.problem.stack.requirements}
    for root in problem.stack.requirements:
        need = root.need
        if not isinstance(need, Requirement) or root.origin.text not in kept:
            continue
        if need.applies(problem.target.markers) and not need.applies(markers):
            yield need.without_marker()


def environment_of(
    resolution: Resolution,
    original: Problem,
    concerned: Sequence[str],
    changed: Sequence[str] = (),
) -> Environment:
    """Return the lock of a changed stack as it is reported, with the pins that matter.

    These are the pins of projects that a line or a contradiction (`concerned`) is about. If there
    are too many, the lines that `changed` names come first, then those that tables pair, then the
    concerned ones, and the others are cut off.
    """
    stack = resolution.problem.stack
    requested = list(_needs(stack))
    names = list(dict.fromkeys([*requested, *concerned]))
    if len(names) > _SHOWN:
        paired = paired_projects(resolution.problem)
        in_family = [name for name in requested if name in paired]
        ordered = [*changed, *in_family, *concerned, *requested]
        names = [name for name in dict.fromkeys(ordered) if name in names][:_SHOWN]
    shown = []
    for name in names:
        pin = resolution.pin(name)
        if pin is not None:
            shown.append(
                ShownPin(name=pin.name, version=str(pin.version), wished=name in requested)
            )
    return Environment(
        name=stack.name,
        requires=tuple(root.origin.text for root in stack.requirements),
        pins=tuple(shown),
        count=len(resolution.pins),
        warnings=tuple(_warnings(resolution, original, concerned)),
        unmet=tuple(map(_as_remark, unmet_soft_requirements(resolution))),
    )


def _as_remark(unmet: Message) -> Message:
    """Return the warning about a soft requirement of a fix without a claim about other releases.

    A lock's warning says that no set of releases was found that meets it. For a fix, whose lines
    pin releases, none was looked for.
    """
    return replace(unmet, code=_REMARKS[unmet.code])


def _needs(stack: Stack) -> dict[str, Requirement]:
    """Return the requirements of a stack's lines about projects, by project."""
    needs = [root.need for root in stack.requirements]
    return {need.name: need for need in needs if isinstance(need, Requirement)}


def _warnings(
    resolution: Resolution, original: Problem, concerned: Sequence[str]
) -> Iterator[Warns]:
    """Yield the warnings about a lock that a fix is shown with.

    These are:

    - each practice of the lock that the original stack did not have in force;
    - grave warnings;
    - warnings that the original stack's lines or machine avert;
    - other warnings about the machine, or about a project of a line or of a contradiction
      (`concerned`), unless a line of the original stack pins the release.

    Warnings about models that the original stack does not name are left out.
    """
    needs = _needs(original.stack)
    known = {fact.id for fact in original.facts}
    for practice in resolution.used_practices:
        if practice.id not in known:
            yield as_warning(practice)
    for fact in applied_facts(resolution):
        if not isinstance(fact, Warns) or not _may_be_used(fact.model, original.stack):
            continue
        need = needs.get(fact.package)
        matters = fact.components or fact.package in concerned or need is not None
        is_new = not _is_pinned_by(need, fact, resolution)
        if fact.grave or _is_averted_in(original, fact, needs) or (matters and is_new):
            yield fact


def _may_be_used(model: str, stack: Stack) -> bool:
    """Return whether a stack names a family of models in its name, its summary or a line.

    True for an empty name, which stands for any models.
    """
    lines = [root.origin.text for root in stack.requirements]
    said = " ".join([stack.name, stack.summary, stack.summary_zh, *lines])
    return model.casefold() in said.casefold()


def _is_averted_in(original: Problem, fact: Warns, needs: Mapping[str, Requirement]) -> bool:
    """Return whether the original stack's lines or machine make a warning moot."""
    names = [need.name for need in fact.unless if isinstance(need, Requirement)]
    return any(name in needs for name in names) or fact.is_averted_on(original.target.system)


def _is_pinned_by(need: Requirement | None, fact: Warns, resolution: Resolution) -> bool:
    """Return whether a line of the original stack pins the release that a warning is about.

    `need` is the requirement of that line; None if no line is about the project.
    """
    pin = resolution.pin(fact.package)
    if pin is None or need is None or not pins(need.specifier):
        return False
    return need.specifier.contains(pin.version, prereleases=True)


# --- their order and letters


def lettered(
    fixes: Iterable[tuple[Loss, Fix]],
    stack_name: str,
    options: PolicyOptions,
    prefix: str = "",
) -> Iterator[Fix]:
    """Yield the fixes of a stack in the order in which they are listed, with letters from A.

    The `prefix` is put before each letter.

    A fix with a smaller loss comes first. A fix that is needless beside an earlier one is left out,
    see `_is_needless`. The files of a fix are named after the stack and its letter. They have the
    policy `options` that the fix was solved with, as these replaced parts of the stack's policy.
    """
    listed: list[tuple[Loss, Fix]] = []
    for loss, fix in sorted(fixes, key=itemgetter(0)):
        if not any(_is_needless(loss, fix, *better) for better in listed):
            listed.append((loss, fix))
    for (_, fix), letter in zip(listed, ascii_uppercase, strict=False):
        yield _with_letter(fix, f"{prefix}{letter}", stack_name, options)


def _is_needless(loss: Loss, fix: Fix, better_loss: Loss, better: Fix) -> bool:
    """Return whether a fix is of no use, given a better fix that is listed before it.

    That is so in any of these cases:

    - the two differ only in the values of components or in extras that releases lack;
    - the better one makes some of the same changes and no others;
    - both change the same lines and components, and only this one takes pre-releases;
    - both change the same lines and components, and each change that differs has a cause
      (`Change.cause`): another change made it necessary;
    - both make the same changes but for one line, which gets a release further away here;
    - this one contradicts a fact, or has older releases, and the better one changes nothing of the
      stack that this one does not change.
    """
    if _apart_from_components(better) == _apart_from_components(fix):
        return True
    if _edits_of(better) < _edits_of(fix):
        return True
    if subjects_of(better.changes) == subjects_of(fix.changes):
        is_early = any(map(takes_prerelease, fix.changes))
        if is_early and not any(map(takes_prerelease, better.changes)):
            return True
        alike = {(change.subject, _result_of(change)) for change in better.changes}
        others = [one for one in fix.changes if (one.subject, _result_of(one)) not in alike]
        if all(change.cause is not None for change in others):
            return True
        if len(others) == 1 < len(fix.changes) and _is_farther(others[0], better):
            return True
    loses_more = fix.risky or loss.years_older > better_loss.years_older
    return loses_more and changes_less(better.changes, fix.changes)


def _is_farther(change: Change, better: Fix) -> bool:
    """Return whether a better fix gives a line a nearer release, in the same direction."""
    if not isinstance(change, VersionChanged):
        return False
    nearer = [other for other in better.changes if other.subject == change.subject]
    return any(0 < other.steps < change.steps or change.steps < other.steps < 0 for other in nearer)


def _edits_of(fix: Fix) -> set[object]:
    """Return what a fix changes: for each change what it is about, and what that becomes."""
    return {
        (change.kind, change.subject, change.target, _result_of(change)) for change in fix.changes
    }


def _result_of(change: Change) -> object:
    """Return what a change makes of its subject; None if the kind of the change says so."""
    match change:
        case VersionChanged() | ExtrasRemoved() | ComponentChanged():
            return change.after
        case LineAdded():
            return change.need
        case LinesDivided():
            return change.lines
        case RequirementRemoved() | ArchiveStated() | ShippedTaken():
            return change.rows
        case PrereleasesAdmitted():
            return change.project
        case _:
            return None


def _apart_from_components(fix: Fix) -> frozenset[object]:
    """Return the changes of a fix without the new values of components.

    Changed lines are without the extras that their releases lack. Two fixes with the same result
    differ in nothing else.
    """
    gone = set(chain.from_iterable(environment.gone for environment in fix.environments))
    changed: set[object] = set()
    for change in fix.changes:
        after = _result_of(change)
        if isinstance(change, ComponentChanged):
            after = None
        elif isinstance(change, VersionChanged):
            after = _without_extras(change.after, gone)
        changed.add((change.kind, change.subject, change.target, after))
    return frozenset(changed)


def _without_extras(need: Requirement, gone: Collection[str]) -> Requirement:
    """Return a requirement without the extras that are in `gone` as `name[extra]`."""
    kept = tuple(extra for extra in need.extras if f"{need.name}[{extra}]" not in gone)
    return replace(need, extras=kept)


def _with_letter(fix: Fix, letter: str, stack_name: str, options: PolicyOptions) -> Fix:
    """Return a fix with a letter, which the names of its stacks and files end in."""
    suffix = f"-{letter.lower()}"
    names = [with_suffix(stack_name, suffix)]
    changes = fix.changes
    if len(fix.files) > 1:
        numbers = range(1, len(fix.files) + 1)
        names = [with_suffix(stack_name, f"{suffix}{number}") for number in numbers]
        changes = tuple(
            replace(change, environment=name) if isinstance(change, LinesDivided) else change
            for change, name in zip(changes, names, strict=True)
        )
    files = []
    for name, (_, text) in zip(names, fix.files, strict=True):
        changed = StackText(text).way_out(letter, stack_name, name, options)
        files.append((name, changed.text))
    environments = [
        replace(environment, name=name)
        for environment, name in zip(fix.environments, names, strict=True)
    ]
    return replace(
        fix,
        name=letter,
        changes=changes,
        files=tuple(files),
        environments=tuple(environments),
        texts=tuple(text for _, text in fix.files),
    )
