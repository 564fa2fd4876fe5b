"""Find the facts that a command line names, and the problem for which each is compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from packaging.utils import NormalizedName

from resolver.cli.options import Settings
from resolver.config.compile import compile_problems
from resolver.config.find_stack import stack_names
from resolver.config.load import load
from resolver.errors import InputError, did_you_mean
from resolver.lock import file as lock_file
from resolver.model import text
from resolver.model.fact import Fact
from resolver.model.problem import Problem
from resolver.model.requirement import Requirement
from resolver.phrase import Phrase, phrase


def first_problem(run: Settings, hint: Phrase) -> Problem:
    """Return the first target of the first stack.

    Raises InputError with `hint` if there is no stack.
    """
    names = stack_names(run.matrices)
    if not names:
        raise InputError(phrase("there is no stack"), hint=hint)
    return compile_problems(load(names[0], run.matrices))[0]


def facts_of(problem: Problem) -> list[Fact]:
    """Return the facts of a stack's target.

    Facts that the stack sets aside are included unchanged, and so are practices that are off.
    """
    set_aside = {relaxed.fact.id: relaxed.fact for relaxed in problem.stack.relaxed}
    facts = [fact for fact in problem.facts if fact.id not in set_aside]
    return [*facts, *set_aside.values(), *problem.available_practices]


def names_of_no_stack(names: Sequence[str], run: Settings) -> list[str]:
    """Return the names that are neither stacks nor files of stacks: projects and ids of facts."""
    stacks = stack_names(run.matrices)
    return [name for name in names if not name.endswith(".toml") and name not in stacks]


# The targets of stacks, by the names of the stacks.
Compiled = Mapping[str, Sequence[Problem]]


def compile_stacks(names: Iterable[str], run: Settings) -> Compiled:
    """Return the targets of these stacks. Raises InputError if a stack cannot be read."""
    return {name: compile_problems(load(name, run.matrices)) for name in dict.fromkeys(names)}


def selected_facts(names: Sequence[str], run: Settings) -> Iterator[tuple[Problem, list[Fact]]]:
    """Yield the named facts, each once, with the problem on whose indexes they are checked.

    It is the problem of the first target of the stack that has the fact.

    A name is a stack, a project or the id of a fact. Without names, yield all facts of all stacks.
    Raises InputError for an unknown name.
    """
    others = names_of_no_stack(names, run)
    stacks = [name for name in names if name not in others]
    if others or not names:
        stacks += stack_names(run.matrices)
    return facts_among(names, compile_stacks(stacks, run), run)


def facts_among(
    names: Sequence[str], problems: Compiled, run: Settings
) -> Iterator[tuple[Problem, list[Fact]]]:
    """Yield the named facts as `selected_facts` does, but only facts of these stacks."""
    others = names_of_no_stack(names, run)
    _require_known(others, problems, run)
    named: set[NormalizedName] = {text.name(name) for name in others}
    seen: set[str] = set()
    for stack, targets in problems.items():
        facts = [fact for fact in facts_of(targets[0]) if fact.id not in seen]
        if names:
            projects = named
            if stack in names:
                projects = named | _projects(targets, run)
            facts = [fact for fact in facts if fact.id in others or fact.package in projects]
        seen.update(fact.id for fact in facts)
        if facts:
            yield targets[0], facts


def _require_known(names: Collection[str], problems: Compiled, run: Settings) -> None:
    """Raise InputError for a name that is neither a project with facts nor the id of a fact."""
    known: set[str] = set()
    for targets in problems.values():
        for fact in facts_of(targets[0]):
            known |= {fact.id, fact.package}
    for name in names:
        if name not in known and text.name(name) not in known:
            message = phrase(
                "there is no stack, no project with facts and no fact `{name}`", name=name
            )
            otherwise = phrase("facts are named by their `id`, see matrices/facts")
            raise InputError(
                message,
                hint=did_you_mean(name, {*known, *stack_names(run.matrices)}, otherwise),
            )


def _projects(targets: Sequence[Problem], run: Settings) -> set[NormalizedName]:
    """Return the projects in the locks of a stack.

    Without a lock, return the projects that its lines require, and the projects that facts about
    these require.
    """
    projects: set[NormalizedName] = set()
    for problem in targets:
        lock = lock_file.read(run.lock_folder(problem))
        if lock is not None:
            projects.update(text.name(pin.name) for pin in (*lock.pin, *lock.build_pin))
    if projects:
        return projects
    facts = facts_of(targets[0])
    needs = [root.need for root in targets[0].stack.requirements]
    while needs:
        found = {need.name for need in needs if isinstance(need, Requirement)} - projects
        projects |= found
        needs = []
        for fact in facts:
            if fact.package in found:
                needs += fact.added_needs
    return projects
