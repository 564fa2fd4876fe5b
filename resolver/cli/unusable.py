"""Say why a project cannot be in a lock: which fact or line of the stack keeps all of it out.

The commands `why` and `add` use it.
"""

from __future__ import annotations

from packaging.utils import NormalizedName

from resolver.errors import InputError
from resolver.i18n import translate
from resolver.model.fact import Absent, Collides, Excludes, Fact, Names
from resolver.model.message import Message, verbatim
from resolver.model.problem import Problem
from resolver.model.resolution import Resolution
from resolver.model.text import Language
from resolver.phrase import Phrase, literal, phrase


def fact_against_all(project: NormalizedName, problem: Problem) -> Fact | None:
    """Return the fact that excludes all releases of a project on a target; None without one."""
    for fact in problem.facts:
        is_against = isinstance(fact, (Excludes, Names)) and fact.package == project
        if is_against and fact.is_about_all:
            return fact
    return None


def require_usable(project: NormalizedName, resolution: Resolution, language: Language) -> None:
    """Raise InputError if a project is not in a resolution because a fact or the stack forbids it.

    The error has the reason that the report of the lock gives.
    """
    if resolution.pin(project) is not None:
        return
    problem = resolution.problem
    for absence in problem.stack.absent:
        if absence.package == project:
            what = phrase("`{name}` must not be installed, as the stack says", name=project)
            why = verbatim(absence.reason, absence.reason_zh)
            raise _refusal(what, absence.where, why, language)
    fact = fact_against_all(project, problem)
    if fact is not None:
        what = phrase("no release of `{name}` is for this target", name=project)
        raise _refusal(what, fact.where, verbatim(fact.reason, fact.reason_zh), language)
    for fact in problem.facts:
        if not isinstance(fact, (Absent, Collides)) or fact.other != project:
            continue
        pin = resolution.pin(fact.package)
        if pin is not None and fact.applies_to(pin.version):
            package = f"{pin.name} {pin.version}"
            what = phrase(
                "`{name}` must not be installed beside {package}", name=project, package=package
            )
            raise _refusal(what, fact.where, verbatim(fact.reason, fact.reason_zh), language)


def _refusal(what: Phrase, where: str, why: Message, language: Language) -> InputError:
    """Return the error that a project cannot be used, with the reason and its place."""
    return InputError(what, where=where, why=literal(translate(why, language)))
