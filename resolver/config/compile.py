"""The compiler of problems: it makes a problem for each lock of a stack.

It also checks the lines of the stack, their markers, and the names of practices that the stack
turns on. `load` reads the files. The commands pass the problems to `resolve/solver`.
"""

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
from resolver.config.load import Inputs, facts_used
from resolver.config.schema import RelaxRow, StackFile, SystemsFile
from resolver.config.stack_lines import FileLine, stack_lines
from resolver.config.targets import compile_targets
from resolver.config.toml_files import Document
from resolver.errors import InputError
from resolver.files import digest
from resolver.model import text
from resolver.model.component import Components, Value, nearest
from resolver.model.constraint import StackKey, StackLine
from resolver.model.edit import Edits
from resolver.model.fact import (
    Fact,
    Need,
    Practice,
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

# A number in the digest of problems. It is increased when the same input gets another meaning.
_FORMAT: Final = 1


class StackCompiler:
    """Makes problems of a stack, of the stack with edits, and of other stacks with the same files.

    The facts of the files are compiled only once.
    """

    def __init__(self, inputs: Inputs, *, together: bool = False) -> None:
        """Take the files of a stack.

        With `together`, the groups of a stack are solved in one environment, and not one by one.
        """
        self.inputs = inputs
        self._together = together
        self._facts = FactFiles(inputs.components)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Return the facts of all files that the stack uses, for any target. Raises InputError."""
        return self._facts.facts(self.inputs.facts)

    def edited(self, edits: Edits) -> EditedStack:
        """Return the content of the stack's file with edits."""
        return edited(self.inputs.stack, edits, self.inputs.components)

    def problems(
        self,
        stack: Document[StackFile] | None = None,
        *,
        options: PolicyOptions = NO_OPTIONS,
        sources: Mapping[str, Source] | None = None,
    ) -> tuple[Problem, ...]:
        """Return a problem for each target and group of a stack, in the order of its file.

        `stack` is a stack with edits, or another stack; None for the stack of the files. `options`
        replace parts of its policy. `sources` has the releases of the direct references that are
        resolved already. All others are resolved later. Raises InputError with file:line:key.
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
) -> tuple[Problem, ...]:
    """Return a problem for each target and group of a stack, as `StackCompiler.problems` does."""
    return StackCompiler(inputs).problems(options=options)


def _problems(
    inputs: Inputs,
    fact_files: FactFiles,
    options: PolicyOptions,
    sources: Mapping[str, Source],
    *,
    together: bool,
) -> tuple[Problem, ...]:
    """Return a problem for each target and group of a stack. Raises InputError."""
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
    """Raise InputError if two locks of a stack would have the same name.

    A lock is named after its target and its group: the target `a` with the group `b` has the same
    name as a target `a-b`.
    """
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
    """Return the stack in a file, with the lines of all groups. Raises InputError."""
    content = document.content
    table = content.stack
    practices = _enabled_practices(document, facts)
    lines = stack_lines(content)
    numbers: Sequence[int] = range(len(lines))
    if isinstance(document, EditedStack):
        numbers = document.numbers
    requirements = tuple(
        _root_requirement(document, line, number, components)
        for line, number in zip(lines, numbers, strict=True)
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
    """Return the requirement in a line of the stack's file. Raises InputError.

    `number` is the number of the line in the file, from 0.
    """
    read = partial(parse_need, components=components, direct=True)
    need = document.parse(read, line.text, *line.path)
    require_known_values(need, components, document.place(*line.path))
    origin = StackLine(line.text, document.line(*line.path))
    return RootRequirement(need=need, origin=origin, number=number, group=line.group)


def _require_stated(
    document: Document[StackFile], roots: Sequence[RootRequirement], targets: Sequence[Target]
) -> None:
    """Raise InputError for a line about a component that nothing compares it with.

    No target states the component, and verify.py does not ask machines for it. Such a line would
    have no effect. Perhaps a project with this name is meant.
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
    """Return the requirements in the list `constraints` or `overrides` of a stack.

    `key` is the name of the list. Both lists are only about projects. Raises InputError for a line
    that is no requirement, and for a constraint with extras or without versions.
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
    """Return the ids of the practices that the stack turns on by name; none if it turns on all.

    Raises InputError for a name that is no practice.
    """
    names = document.content.stack.practices
    if names == "all":
        return ()
    known = [fact.id for fact in facts if fact.strength is Strength.PRACTICE]
    for number, name in enumerate(names):
        path = ("stack", "practices", number)
        if name == "all":
            raise InputError(
                phrase("`all` is no practice, but stands for a list of them"),
                where=document.place(*path),
                hint=phrase("did you mean `{name}`?", name='practices = "all"'),
            )
        if name not in known:
            raise document.unknown(phrase("there is no practice"), name, known, *path)
    return names


def _relaxed(document: Document[StackFile], facts: Sequence[Fact]) -> tuple[Relaxed, ...]:
    """Return the facts that the stack sets aside.

    Raises InputError for an unknown or enforced fact, and for a requirement that the fact does not
    have.
    """
    known = {fact.id: fact for fact in facts}
    relaxed = []
    for number, relax in enumerate(document.content.relax):
        path = ("relax", number)
        fact = known.get(relax.fact)
        if fact is None:
            raise document.unknown(phrase("there is no fact"), relax.fact, known, *path, "fact")
        _check_relaxed(fact, relax, document, path)
        relaxed.append(
            Relaxed(fact=fact, needs=relax.needs, reason=relax.reason, where=document.line(*path))
        )
    return tuple(relaxed)


def _check_relaxed(
    fact: Fact, relax: RelaxRow, document: Document[StackFile], path: tuple[str, int]
) -> None:
    """Raise InputError if the stack must not set a fact, or a requirement of it, aside."""
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
    for position, need in enumerate(relax.needs):
        if need not in needs:
            raise InputError(
                phrase("the fact `{fact}` has no need `{need}`", fact=fact.id, need=need),
                where=document.place(*path, "needs", position),
                hint=hint,
            )


def _check_absences(document: Document[StackFile], requirements: Iterable[RootRequirement]) -> None:
    """Raise InputError if the stack requires a project, and says that it must be absent."""
    origins = {
        root.need.name: root.origin for root in requirements if isinstance(root.need, Requirement)
    }
    for number, absence in enumerate(document.content.absent):
        if origin := origins.get(absence.package):
            raise InputError(
                phrase(
                    "the stack both asks for `{package}` and lists it as absent",
                    package=absence.package,
                ),
                where=document.place("absent", number, "package"),
                why=phrase(
                    "`{text}` is asked for at {where}", text=origin.text, where=origin.where
                ),
            )


def _check_markers(
    requirements: Iterable[RootRequirement], facts: Iterable[Fact], targets: Sequence[Target]
) -> None:
    """Raise InputError if a marker of a stack or a fact cannot be evaluated for a target."""
    for root in requirements:
        _check_marker(root.need, targets, root.origin.where)
    for fact in facts:
        for need in (*fact.added_needs, *fact.relaxable_needs, *fact.conditions):
            _check_marker(need, targets, fact.where)


def _check_marker(need: Need, targets: Iterable[Target], where: str) -> None:
    """Raise InputError if a marker has a comparison that PEP 508 does not define.

    A marker about the version of the kernel is refused as well, since no target states it.
    """
    if not isinstance(need, Requirement) or need.marker is None:
        return
    complaint = phrase("the marker of `{need}` cannot be evaluated", need=need)
    if text.depends_on_kernel(str(need.marker)):
        raise InputError(
            complaint,
            where=where,
            why=phrase("It depends on the machine's kernel, which is unknown when locking."),
            hint=phrase("leave `platform_release` and `platform_version` out of the marker"),
        )
    try:
        for target in targets:
            need.applies(target.markers)
    except InvalidRequirement as error:
        raise InputError(
            complaint,
            where=where,
            why=cause(error),
            hint=phrase(
                "a marker compares a variable of PEP 508 with a text, such as `python_version < "
                "'3.12'`"
            ),
        ) from None


def _without_relaxed(facts: Iterable[Fact], relaxed: Sequence[Relaxed]) -> Iterator[Fact]:
    """Yield the facts, without facts and requirements that the stack sets aside."""
    relaxed_by_fact: dict[str, list[Relaxed]] = {}
    for set_aside in relaxed:
        relaxed_by_fact.setdefault(set_aside.fact.id, []).append(set_aside)
    for fact in facts:
        about_fact = relaxed_by_fact.get(fact.id)
        if about_fact is None:
            yield fact
            continue
        # Without `needs`, the whole fact is set aside.
        if not all(set_aside.needs for set_aside in about_fact):
            continue
        ignored: set[str] = set()
        for set_aside in about_fact:
            ignored.update(set_aside.needs)
        remaining = fact.without_needs(ignored)
        if remaining is not None:
            yield remaining


def _partition(
    facts: Iterable[Fact], enabled: str | Sequence[str]
) -> tuple[tuple[Fact, ...], tuple[Practice, ...]]:
    """Return the facts that count, and the practices that the stack does not turn on.

    `enabled` is `all`, or the ids of the practices that the stack turns on.
    """
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
    """Return the names of the libraries that are installed with components.

    All components count, since a machine may have a component that its target does not state.
    """
    libraries: set[str] = set()
    if systems is not None:
        for component in systems.content.component.values():
            libraries.update(component.libraries)
    return frozenset(libraries)


def _values(target: Target, facts: Iterable[Fact]) -> dict[str, tuple[Value, ...]]:
    """Return the values of each component that are known, or that the facts require.

    The values nearest to the target's own value come first.
    """
    needs: list[Need] = []
    for fact in facts:
        needs += fact.added_needs
    values_by_component = {}
    for component, own_value in target.system.items():
        values = [own_value, *target.components[component].known]
        for need in needs:
            values += named_values(need, component)
        values_by_component[component] = nearest(own_value, values)
    return values_by_component


def _unknown(target: Target) -> Iterator[UnknownValue]:
    """Yield the values of the target that are not among the known releases of their component.

    Only components with `by_line` are looked at. A build of a known release is known.
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
    """Return the sha256 in hex of all files and options that the problems of a stack depend on."""
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
