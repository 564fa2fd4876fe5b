"""From the content of files to problems: references between the files are resolved and checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, Final

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement

from resolver.ascend.names import COMPONENTS as CHECKED_COMPONENTS
from resolver.config.decode import parse_need, parse_requirement, require_known_values
from resolver.config.edits import EditedStack, edited
from resolver.config.fact_rules import FactFiles
from resolver.config.indexes import compile_indexes, compile_recorded
from resolver.config.load import Document, Inputs, facts_used
from resolver.config.schema import RelaxRow, StackFile, SystemsFile
from resolver.config.stack_lines import FileLine, stack_lines
from resolver.config.targets import compile_targets
from resolver.errors import InputError
from resolver.files import digest
from resolver.model import text
from resolver.model.component import Components, Value, nearest
from resolver.model.constraint import StackKey, StackLine
from resolver.model.edit import Edits
from resolver.model.fact import (
    Constrains,
    Fact,
    Need,
    Practice,
    Requires,
    Strength,
)
from resolver.model.problem import (
    NO_OPTIONS,
    Policy,
    PolicyOptions,
    Problem,
    Relaxed,
    RootRequirement,
    Stack,
    UnknownValue,
)
from resolver.model.release import Source
from resolver.model.requirement import ComponentRequirement, Requirement, named_values
from resolver.model.system import SystemVersion
from resolver.model.target import Target
from resolver.phrase import cause, phrase

# Raised when the meaning of the same input changes.
_FORMAT: Final = 1


class StackCompiler:
    """Makes problems of a stack's files, of the stack with edits, and of other stacks with them.

    The facts of files are compiled once.
    """

    def __init__(self, inputs: Inputs, *, together: bool = False) -> None:
        """Begin with the files. With `together`, all groups of a stack are one environment.

        Raises InputError with file:line:key.
        """
        self.inputs = inputs
        self._together = together
        self._facts = FactFiles(inputs.components)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Return the facts of the files that the stack uses, for any target."""
        return self._facts.facts(self.inputs.facts)

    def edited(self, edits: Edits) -> EditedStack:
        """Return the stack with edits."""
        return edited(self.inputs.stack, edits, self.inputs.components)

    def problems(
        self,
        stack: Document[StackFile] | None = None,
        *,
        options: PolicyOptions = NO_OPTIONS,
        sources: Mapping[str, Source] | None = None,
    ) -> tuple[Problem, ...]:
        """Return one problem per target and group of a stack, in the order of its file.

        The stack is the one of the files, one with edits, or another one. `options` replace parts
        of its policy. `sources` are the direct references of the stack that are resolved already;
        the others are resolved later. Raises InputError with file:line:key.
        """
        inputs = self.inputs
        if stack is not None:
            used = facts_used(inputs, stack.content)
            inputs = replace(inputs, stack=stack, facts=used)
        return _problems(inputs, self._facts, options, sources or {}, together=self._together)


def compile_problems(
    inputs: Inputs,
    *,
    options: PolicyOptions = NO_OPTIONS,
    sources: Mapping[str, Source] | None = None,
) -> tuple[Problem, ...]:
    """Return one problem per target and group of a stack, as `StackCompiler.problems` does."""
    return StackCompiler(inputs).problems(options=options, sources=sources)


def _problems(
    inputs: Inputs,
    fact_files: FactFiles,
    options: PolicyOptions,
    sources: Mapping[str, Source],
    *,
    together: bool,
) -> tuple[Problem, ...]:
    components = inputs.components
    declared_facts = fact_files.facts(inputs.facts, inputs.stack)
    indexes = compile_indexes(inputs)
    stack = _stack(inputs.stack, declared_facts, components)
    facts_and_practices = tuple(_without_relaxed(declared_facts, stack.relaxed))
    targets = compile_targets(inputs)
    _require_stated(inputs.stack, stack.requirements, targets)
    lines = (*stack.requirements, *stack.constraints, *stack.overrides)
    _check_markers(lines, facts_and_practices, targets)
    facts, practices = _partition(facts_and_practices, inputs.stack.content.stack.practices)
    policy = options.applied_to(inputs.stack.content.policy)
    inputs_digest = _digest(inputs, policy)
    recorded = compile_recorded(inputs, indexes)
    environments = [stack]
    if inputs.stack.content.group and not together:
        environments = [stack.of_group(group) for group in inputs.stack.content.group]
    problems = []
    for (number, target), environment in product(enumerate(targets), environments):
        needs = [root.need for root in environment.requirements]
        available_practices = [fact for fact in practices if fact.applies_on(target.system, needs)]
        problem = Problem(
            stack=environment,
            target=target.of_group(environment.group),
            target_number=number,
            facts=tuple(fact for fact in facts if fact.applies_on(target.system, needs)),
            policy=policy,
            indexes=indexes,
            digest=inputs_digest,
            readings=inputs.readings,
            libraries=_libraries(inputs.systems),
            values=_values(target, facts),
            unknown=tuple(_unknown(target)),
            sources=dict(sources),
            available_practices=tuple(available_practices),
            recorded=recorded,
        )
        problems.append(problem)
    _require_distinct_names(problems, inputs.stack)
    return tuple(problems)


def _require_distinct_names(problems: Iterable[Problem], document: Document[StackFile]) -> None:
    """Raise InputError if two targets with their groups have one name, as their locks would."""
    names: set[str] = set()
    for problem in problems:
        name = problem.target.name
        if name in names:
            raise InputError(
                phrase("two locks of the stack would be named `{name}`", name=name),
                where=document.place("group", problem.stack.group),
                why=phrase("a lock is named after its target and its group"),
                hint=phrase("rename the group, or name the target with `name`"),
            )
        names.add(name)


def _stack(document: Document[StackFile], facts: tuple[Fact, ...], components: Components) -> Stack:
    content = document.content
    table = content.stack
    practices = _enabled_practices(document, facts)
    numbers = document.numbers if isinstance(document, EditedStack) else None
    requirements = tuple(
        _root_requirement(document, line, numbers[position] if numbers else position, components)
        for position, line in enumerate(stack_lines(content))
    )
    constraints = _project_lines(document, "constraints", table.constraints)
    overrides = _project_lines(document, "overrides", table.overrides)
    _check_absences(document, requirements)
    has_one_lock = not isinstance(content.target, tuple) and len(content.group) < 2
    return Stack(
        name=table.name,
        summary=table.summary,
        summary_zh=table.summary_zh,
        source=table.source,
        where=document.name,
        requirements=requirements,
        constraints=constraints,
        overrides=overrides,
        departures=content.departs,
        relaxed=_relaxed(document, facts),
        absent=content.absent,
        enabled_practices=practices if has_one_lock else (),
        checks=content.check,
    )


def _root_requirement(
    document: Document[StackFile], line: FileLine, number: int, components: Components
) -> RootRequirement:
    """Return the requirement in a line of the stack's file, which has this number there."""
    read = partial(parse_need, components=components, direct=True)
    need = document.parse(read, line.text, *line.path)
    require_known_values(need, components, document.place(*line.path))
    origin = StackLine(line.text, document.line(*line.path))
    return RootRequirement(need=need, origin=origin, number=number, group=line.group)


def _require_stated(
    document: Document[StackFile], roots: Sequence[RootRequirement], targets: Sequence[Target]
) -> None:
    """Raise InputError for a line on a component that no target states and no machine is asked for.

    Such a line has no effect, and might be meant for a project of this name.
    """
    for line, root in zip(stack_lines(document.content), roots, strict=True):
        if not isinstance(root.need, ComponentRequirement):
            continue
        name = root.need.component
        if name in CHECKED_COMPONENTS or any(name in target.system for target in targets):
            continue
        raise InputError(
            phrase(
                "no target has a component `{name}`, so `{need}` asks for nothing",
                name=name,
                need=root.need,
            ),
            where=document.place(*line.path),
            hint=phrase(
                "state {name} in [target.system]; if a project is meant, give the component of "
                "systems.toml another name",
                name=name,
            ),
        )


def _project_lines(
    document: Document[StackFile], key: StackKey, lines: Sequence[str]
) -> tuple[RootRequirement, ...]:
    """Return the requirements in a list of the stack that is about projects alone.

    Raises InputError for what is no bound on a project. A line of `overrides` may have extras, and
    need not have versions.
    """
    roots = []
    for number, line in enumerate(lines):
        path = ("stack", key, number)
        need = document.parse(parse_requirement, line, *path)
        if key == "constraints" and (need.extras or not str(need.specifier)):
            raise InputError(
                phrase("`{need}` is not a bound", need=need),
                where=document.place(*path),
                why=phrase(
                    "a constraint is a project with versions and without extras, as in a "
                    "constraints file of pip"
                ),
                hint=phrase(
                    'write for instance "pyarrow<22"; what must be installed is a line of '
                    "`requires`"
                ),
            )
        origin = StackLine(line, document.line(*path), key=key)
        roots.append(RootRequirement(need=need, origin=origin))
    return tuple(roots)


def _enabled_practices(document: Document[StackFile], facts: Sequence[Fact]) -> tuple[str, ...]:
    """Return the practices that the stack turns on by name.

    Raises InputError for an unknown one.
    """
    names = document.content.stack.practices
    if names == "all":
        return ()
    known = [fact.id for fact in facts if fact.strength is Strength.PRACTICE]
    for number, name in enumerate(names):
        if name not in known:
            path = ("stack", "practices", number)
            raise document.unknown(phrase("there is no practice"), name, known, *path)
    return names


def _relaxed(document: Document[StackFile], facts: Sequence[Fact]) -> tuple[Relaxed, ...]:
    """Return the facts that the stack sets aside.

    Raises InputError for an unknown or enforced fact, and for a need that a fact does not have.
    """
    known = {fact.id: fact for fact in facts}
    relaxed = []
    for number, row in enumerate(document.content.relax):
        path = ("relax", number)
        fact = known.get(row.fact)
        if fact is None:
            raise document.unknown(phrase("there is no fact"), row.fact, known, *path, "fact")
        _check_relaxed(fact, row, document, path)
        relaxed.append(
            Relaxed(fact=fact, needs=row.needs, reason=row.reason, where=document.line(*path))
        )
    return tuple(relaxed)


def _check_relaxed(
    fact: Fact, row: RelaxRow, document: Document[StackFile], path: tuple[str, int]
) -> None:
    if fact.strength is Strength.ENFORCED:
        raise InputError(
            phrase("the fact `{fact}` cannot be relaxed", fact=fact.id),
            where=document.place(*path, "fact"),
            why=phrase(
                "it is enforced: an installer or the package itself checks it; see {where}",
                where=fact.where,
            ),
        )
    needs = [str(need) for need in fact.relaxable_needs]
    hint = (
        phrase("its needs are {needs}", needs=", ".join(needs))
        if needs
        else phrase("it has no needs: leave `needs` out")
    )
    for position, need in enumerate(row.needs):
        if need not in needs:
            where = document.place(*path, "needs", position)
            what = phrase("the fact `{fact}` has no need `{need}`", fact=fact.id, need=need)
            raise InputError(what, where=where, hint=hint)


def _check_absences(document: Document[StackFile], requirements: Iterable[RootRequirement]) -> None:
    """Raise InputError if the stack keeps a project out that it requires itself."""
    origins = {
        root.need.name: root.origin for root in requirements if isinstance(root.need, Requirement)
    }
    for number, row in enumerate(document.content.absent):
        if origin := origins.get(row.package):
            raise InputError(
                phrase(
                    "the stack both asks for `{package}` and lists it as absent",
                    package=row.package,
                ),
                where=document.place("absent", number, "package"),
                why=phrase(
                    "`{text}` is asked for at {where}", text=origin.text, where=origin.where
                ),
            )


def _check_markers(
    requirements: Iterable[RootRequirement], facts: Iterable[Fact], targets: Sequence[Target]
) -> None:
    """Raise InputError for a marker of a stack or fact that cannot be evaluated on a target."""
    for root in requirements:
        _check_marker(root.need, targets, root.origin.where)
    for fact in facts:
        for need in (*fact.added_needs, *fact.relaxable_needs, *fact.conditions):
            _check_marker(need, targets, fact.where)


def _check_marker(need: Need, targets: Iterable[Target], where: str) -> None:
    """Raise InputError for a comparison that PEP 508 does not define, or with the kernel."""
    if not isinstance(need, Requirement) or need.marker is None:
        return
    what = phrase("the marker of `{need}` cannot be evaluated", need=need)
    if text.depends_on_kernel(str(need.marker)):
        raise InputError(
            what,
            where=where,
            why=phrase("It depends on the machine's kernel, which is unknown when locking."),
            hint=phrase("leave `platform_release` and `platform_version` out of the marker"),
        )
    try:
        for target in targets:
            need.applies(target.markers)
    except InvalidRequirement as error:
        raise InputError(
            what,
            where=where,
            why=cause(error),
            hint=phrase(
                "a marker compares a variable of PEP 508 with a text, such as `python_version < "
                "'3.12'`"
            ),
        ) from None


def _without_relaxed(facts: Iterable[Fact], relaxed: Sequence[Relaxed]) -> Iterator[Fact]:
    """Yield the facts without what the stack sets aside of them."""
    rows_by_fact: dict[str, list[Relaxed]] = {}
    for row in relaxed:
        rows_by_fact.setdefault(row.fact.id, []).append(row)
    for fact in facts:
        rows = rows_by_fact.get(fact.id)
        if rows is None:
            yield fact
        # A row without needs sets the whole fact aside.
        elif all(row.needs for row in rows):
            ignored = {need for row in rows for need in row.needs}
            if remaining := _without_needs(fact, ignored):
                yield remaining


def _without_needs(fact: Fact, ignored: set[str]) -> Fact | None:
    """Return the fact without these needs or bounds; None if it says nothing else."""
    if isinstance(fact, Requires):
        needs = tuple(need for need in fact.needs if str(need) not in ignored)
        return replace(fact, needs=needs) if needs else None
    if isinstance(fact, Constrains):
        bounds = tuple(bound for bound in fact.bounds if str(bound) not in ignored)
        return replace(fact, bounds=bounds) if bounds else None
    return None


def _partition(
    facts: Iterable[Fact], enabled: str | Sequence[str]
) -> tuple[tuple[Fact, ...], tuple[Practice, ...]]:
    """Return the facts in force, and the practices that the stack does not turn on."""
    in_force: list[Fact] = []
    practices: list[Practice] = []
    for fact in facts:
        is_practice = fact.strength is Strength.PRACTICE
        is_enabled = enabled == "all" or fact.id in enabled
        if is_practice and not is_enabled and isinstance(fact, Practice):
            practices.append(fact)
        else:
            in_force.append(fact)
    return tuple(in_force), tuple(practices)


def _libraries(systems: Document[SystemsFile] | None) -> frozenset[str]:
    """Return the libraries that come with any component.

    A component that the target does not state counts too, since nothing can be checked of it.
    """
    libraries: set[str] = set()
    if systems is not None:
        for row in systems.content.component.values():
            libraries.update(row.libraries)
    return frozenset(libraries)


def _values(target: Target, facts: Iterable[Fact]) -> dict[str, tuple[Value, ...]]:
    """Return the values of the target's components that are known or that facts name.

    The nearest to the target's own value come first.
    """
    requires = [fact for fact in facts if isinstance(fact, Requires)]
    needs = [need for fact in requires for need in fact.needs]
    values_by_component = {}
    for component, own_value in target.system.items():
        values = [own_value, *target.components[component].known]
        for need in needs:
            values += named_values(need, component)
        values_by_component[component] = nearest(own_value, values)
    return values_by_component


def _unknown(target: Target) -> Iterator[UnknownValue]:
    """Yield the values of the target that are no known release of a component with release lines.

    A build of a known release is none of them.
    """
    for name, value in target.system.items():
        component = target.components[name]
        releases = [known for known in component.known if isinstance(known, SystemVersion)]
        if not component.by_line or not isinstance(value, SystemVersion):
            continue
        if any(value.same_release(release) for release in releases):
            continue
        older = [release for release in releases if release < value]
        newer = [release for release in releases if release > value]
        near = sorted(older)[-1:] + sorted(newer)[:1]
        if near:
            yield UnknownValue(component, str(value), tuple(map(str, near)))


def _digest(inputs: Inputs, policy: Policy) -> str:
    """Return the sha256 of all that the problems of a stack follow from, in hex."""
    documents: list[Document[Any]] = [inputs.stack, *inputs.facts, *inputs.recorded]
    optional = (inputs.indexes, inputs.systems, inputs.variants)
    documents += [document for document in optional if document is not None]
    files = [[document.name.rpartition("/")[2], document.digest] for document in documents]
    return digest(
        {
            "format": _FORMAT,
            "exclude-newer": policy.exclude_newer.isoformat() if policy.exclude_newer else "",
            "as-of": policy.as_of,
            "files": files,
        }
    )
