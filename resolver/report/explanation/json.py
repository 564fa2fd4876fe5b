"""Write an explanation as JSON, for conflict.json and `--json`. See docs/conflict-report.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from resolver.i18n import translate
from resolver.model.change import Change
from resolver.model.constraint import (
    BuildLine,
    ComponentValue,
    Excluded,
    Exclusive,
    NoCandidate,
    ReleaseRequires,
    StackLine,
    Unavailable,
)
from resolver.model.explanation import (
    Attempt,
    Branch,
    Closing,
    Contradiction,
    Environment,
    Expected,
    Explanation,
    Fix,
    Why,
)
from resolver.model.fact import Fact, Warns
from resolver.model.reason import Evidence, Reason, UnparsedFiles
from resolver.model.release import Rejection, RejectionReason
from resolver.model.text import Language
from resolver.report.document import translated
from resolver.report.explanation import fixes, sentences
from resolver.report.explanation.grouping import cited, origin_span, sort_of, source_line, source_of
from resolver.report.explanation.unavailable import reason_details
from resolver.report.links import full_link

# The version of the schema. Within a version keys may be added, but none is removed or changes its
# meaning.
VERSION = 1


def explanation_json(explanation: Explanation, language: Language) -> dict[str, Any]:
    """Return the explanation of one target as an object for JSON.

    Texts are in the language. Everything else is the same in all languages.
    """
    problem = explanation.problem
    cutoff = problem.policy.exclude_newer
    awaiting = {}
    if explanation.awaiting:
        awaiting["awaiting"] = [_fix(fix, language) for fix in explanation.awaiting]
    view = {
        "schema": VERSION,
        "status": "undecided" if explanation.awaited else "conflict",
        "language": language,
        "stack": problem.stack.name,
        "target": problem.target.name,
        "system": {key: str(value) for key, value in problem.target.system.items()},
        "inputs": problem.digest,
        "exclude_newer": cutoff.isoformat() if cutoff else "",
        "as_of": problem.policy.as_of,
        "limited": explanation.limited,
        "missing": list(explanation.missing),
        "awaited": to_builtins(explanation.awaited),
        "expected": _expected(explanation.expected),
        "unreached": dict(explanation.unreachable_projects),
        "contradictions": [_contradiction(found, language) for found in explanation.contradictions],
        "fixes": [_fix(fix, language) for fix in explanation.fixes],
        **awaiting,
        "attempts": [_attempt(attempt, language) for attempt in explanation.attempts],
    }
    linked: dict[str, Any] = _with_links(view, explanation.way_to_matrices)
    return linked


def _expected(expected: Expected | None) -> dict[str, Any] | None:
    """Return the lock that is expected; None if none is."""
    if expected is None:
        return None
    files = [
        {"file": wheel.filename, "index": wheel.index, "source": str(wheel.source)}
        for wheel in expected.unhashed
    ]
    return {"pins": dict(sorted(expected.pins.items())), "unhashed": files}


def _with_links(value: Any, matrices: str) -> Any:
    """Return a value in which each `href` is relative to the report's folder."""
    match value:
        case dict():
            objects = {key: _with_links(inner, matrices) for key, inner in value.items()}
            if "href" in objects:
                objects["href"] = full_link(objects["href"], matrices)
            return objects
        case list():
            return [_with_links(element, matrices) for element in value]
        case _:
            return value


def _contradiction(contradiction: Contradiction, language: Language) -> dict[str, Any]:
    """Return a contradiction with its reasons, conclusion, cases and warnings."""
    return {
        "claim": translate(sentences.claim(contradiction), language),
        "statements": _statements(contradiction.reasons, language),
        "closing": _closing(contradiction.closing, language),
        "branches": [_branch(branch, language) for branch in contradiction.branches],
        "notes": [_warning(note, language) for note in contradiction.notes],
    }


def _statements(reasons: Sequence[Reason], language: Language) -> list[dict[str, Any]]:
    """Return reasons, numbered from 1."""
    return [_statement(number, reason, language) for number, reason in enumerate(reasons, 1)]


def _statement(number: int, reason: Reason, language: Language) -> dict[str, Any]:
    """Return one reason: its sentence, origin, fact and data."""
    place = origin_span(reason)
    return {
        "number": number,
        "kind": _kind(reason),
        "sort": sort_of(reason),
        "text": translate(sentences.sentence(reason), language),
        "details": [translate(detail, language) for detail in reason_details(reason)],
        "where": reason.where,
        "origin": translated(place.text, language),
        "href": place.href,
        "fact": None if reason.fact is None else _fact(reason.fact, language),
        "data": _data(reason),
    }


def _kind(reason: Reason) -> str:
    """Return the kind of a reason, as docs/conflict-report.md lists them."""
    match reason.constraint:
        case StackLine():
            return "asks"
        case ComponentValue():
            return "has"
        case ReleaseRequires() | BuildLine():
            return "needs"
        case Excluded():
            return "forbids"
        case Exclusive():
            return "shares"
        case Unavailable():
            return "lacks"


def _data(reason: Reason) -> dict[str, Any]:
    """Return the values in a reason that programs need. They depend on its kind."""
    constraint = reason.constraint
    about = {"subject": reason.subject, "versions": to_builtins(reason.versions)}
    match constraint:
        case StackLine(text=requirement, key=key):
            return {"requirement": requirement, "list": key}
        case ComponentValue(component=component, value=value):
            return {"component": component, "value": value}
        case ReleaseRequires(text=requirement) | BuildLine(text=requirement):
            source = source_of(constraint)
            return {**about, "requirement": requirement, "source": source.value}
        case Excluded():
            return about
        case Exclusive(fact=fact):
            return {"package": fact.package, "other": fact.other, "module": fact.module}
        case Unavailable():
            return _unavailable(constraint, reason.evidence)


def _unavailable(constraint: Unavailable, evidence: Evidence) -> dict[str, Any]:
    """Return the values in a reason that releases cannot be used."""
    refusals = [
        {"version": refusal.version, "files": list(map(_file, refusal.files))}
        for refusal in evidence.refusals
    ]
    data = {
        "subject": str(constraint.package),
        "wanted": constraint.wanted,
        "lack": lack_of(constraint),
        "count": evidence.count,
        "newest": evidence.newest,
        "nearest": list(evidence.nearest),
        "unreachable": list(evidence.unreachable),
        "refusals": refusals,
        "unread": [{**_file(files), "count": files.count} for files in evidence.unread],
    }
    if evidence.left_out:
        data["left_out"] = list(evidence.left_out)
    return data


# The value of `lack` for rejections that are known from an index's page alone.
_LACKS = {RejectionReason.YANKED: "yanked", RejectionReason.NEWER: "cutoff"}


def lack_of(constraint: Unavailable) -> str:
    """Return why releases cannot be used, in one word. See `lack` in docs/conflict-report.md."""
    if isinstance(constraint.why, NoCandidate):
        return constraint.why.value
    return _LACKS.get(constraint.why, "unusable")


def _file(rejected: Rejection | UnparsedFiles) -> dict[str, Any]:
    """Return a rejected file with the reason."""
    file = {"name": rejected.filename, "reason": rejected.reason.name.lower()}
    if isinstance(rejected, Rejection):
        file["detail"] = rejected.detail
    return file


def _fact(fact: Fact, language: Language) -> dict[str, Any]:
    """Return a fact with its source and place."""
    return {
        "id": fact.id,
        "package": fact.package,
        "strength": fact.strength.value,
        "reason": translate(sentences.reason_of(fact), language),
        "source": str(fact.source),
        "links": [
            {"text": span.text, "href": span.href} for span in cited(fact.source) if span.href
        ],
        "checked": fact.checked.isoformat(),
        "where": fact.where,
        "href": source_line(fact.where),
    }


def _closing(closing: Closing | None, language: Language) -> dict[str, Any] | None:
    """Return the package for which reasons leave no candidate; None if there is no such package."""
    if closing is None:
        return None
    return {
        **to_builtins(closing),
        "subject": translated(closing.subject, "en"),
        "text": translate(sentences.closing_sentence(closing), language),
    }


def _branch(branch: Branch, language: Language) -> dict[str, Any]:
    """Return a case with the cases in it."""
    return {
        **to_builtins(replace(branch, closing=None, branches=())),
        "text": translate(sentences.branch_sentence(branch), language),
        "closing": _closing(branch.closing, language),
        "branches": [_branch(below, language) for below in branch.branches],
    }


def _warning(warns: Warns, language: Language) -> dict[str, Any]:
    """Return a warning with its fact."""
    return {
        "text": translate(sentences.warning_text(warns), language),
        "fact": _fact(warns, language),
    }


def _change(change: Change, language: Language) -> dict[str, Any]:
    """Return a change of a way out.

    `target` is there only if it changes another target, and `because` only if it has a cause.
    """
    before, after = fixes.ends(change)
    view: dict[str, Any] = {
        "kind": change.kind.value,
        "subject": change.subject,
        "before": before,
        "after": after,
        "where": change.where,
        "steps": change.steps,
        "years": change.years,
    }
    if change.target:
        view["target"] = change.target
    if change.cause is not None:
        view["because"] = _statements([change.cause], language)
    view["text"] = translate(fixes.change_sentence(change), language)
    return view


def _environment(environment: Environment, language: Language) -> dict[str, Any]:
    """Return the lock of a way out.

    `off` is there only if markers switch lines off, and `unmet` only if something is not met.
    """
    view: dict[str, Any] = {
        **to_builtins(replace(environment, warnings=())),
        "warnings": [_warning(warning, language) for warning in environment.warnings],
        "unmet": [translate(text, language) for text in environment.unmet],
        "text": translate(fixes.environment_sentence(environment), language),
    }
    for key in ("off", "unmet"):
        if not view[key]:
            del view[key]
    return view


def _fix(fix: Fix, language: Language) -> dict[str, Any]:
    """Return a way out with its changes, locks and files.

    `twin` is there only if the changed target is another one of the stack, and `awaited` only if
    the way out needs something of an index that could not be reached.
    """
    twin = {"twin": fix.twin} if fix.twin else {}
    awaited = {"awaited": to_builtins(fix.awaited)} if fix.awaited else {}
    return {
        "name": fix.name,
        "risky": fix.risky,
        **twin,
        **awaited,
        "changes": [_change(change, language) for change in fix.changes],
        "environments": [_environment(environment, language) for environment in fix.environments],
        "files": [{"name": name, "text": text} for name, text in fix.files],
    }


def _attempt(attempt: Attempt, language: Language) -> dict[str, Any]:
    """Return changes that were tried without success, and why they failed."""
    return {
        "changes": [_change(change, language) for change in attempt.changes],
        "outcome": attempt.outcome.value,
        "text": translate(fixes.outcome_sentence(attempt), language),
        "because": _statements(attempt.because, language),
    }


def why_json(why: Why, way_to_matrices: str, language: Language = "en") -> dict[str, Any]:
    """Return what `why --json` prints. docs/conflict-report.md describes it.

    `way_to_matrices` is the path from the report's folder, for links.
    """
    statements = _statements(why.requirements, language)
    asked = [
        {"statement": statement, "bound": reason in why.bound}
        for statement, reason in zip(statements, why.requirements, strict=True)
    ]
    view = {
        "schema": VERSION,
        "status": "why",
        "language": language,
        "stack": why.problem.stack.name,
        "target": why.problem.target.name,
        "name": why.name,
        "version": why.version,
        "lock": why.lock,
        "asked": asked,
        "facts": _statements(why.facts, language),
        "newer": list(why.newer),
        "tried": why.tried,
        "unreachable": list(why.unreachable),
        "untried": str(why.untried),
        "limited": why.limited,
        "later": [
            {"version": version, "facts": [fact.id for fact in facts]}
            for version, facts in why.later
        ],
        "as_of": why.day,
        "after_day": why.after_day,
        "contradictions": [_contradiction(found, language) for found in why.contradictions],
        "moves": [{"name": name, "old": old, "new": new} for name, old, new in why.moves],
        "gave_way": list(why.gave_way),
        "practices": [practice.id for practice in why.practices],
    }
    linked: dict[str, Any] = _with_links(view, way_to_matrices)
    return linked
