"""A lock's warnings, the gravest first, its notes, and what it requires of the driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set

from msgspec.structs import replace

from resolver.ascend import names
from resolver.index.protocol import Catalog
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.lock import LockedDriver, LockedPin
from resolver.model.message import Message, joined, message, verbatim
from resolver.model.problem import Problem
from resolver.model.release import QUARANTINED
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.resolution import OutdatedPin, Pin, Resolution
from resolver.model.target import Target

# Warnings after which a lock may be of no use, apart from grave facts.
_GRAVE = frozenset(
    (
        "lock.unknown-value",
        "lock.unmet-bound",
        "lock.unloadable",
        "lock.fell-back",
        "lock.fell-back-for",
        "lock.quarantined",
        "lock.quarantined-because",
        "lock.unbuilt",
        "lock.unreachable",
    )
)


def drivers(resolution: Resolution, facts_in_use: Iterable[facts.Fact]) -> Iterator[LockedDriver]:
    """Yield what the stack's lines, then the facts in use require of the driver, in their order.

    A warning requires a driver if its `unless` names it, and the target states all other components
    that it names. If the target does not state one of those, it is unknown whether the warning
    applies.
    """
    problem = resolution.problem
    for root in problem.stack.requirements:
        if is_left_open(root.need, resolution):
            yield LockedDriver(
                by=problem.stack.name,
                needs=(str(root.need),),
                text=f"the stack asks for {root.need}",
                text_zh=f"软件栈要求 {root.need}",
                fact=root.origin.where,
                binding=True,
            )
    for fact in facts_in_use:
        for need in fact.added_needs:
            if is_left_open(need, resolution):
                yield LockedDriver(
                    by=_by(fact, resolution),
                    needs=(str(need),),
                    text=fact.reason,
                    text_zh=fact.reason_zh,
                    fact=fact.id,
                    binding=fact.strength is not facts.Strength.OBSERVED,
                )
        if isinstance(fact, facts.Warns) and _is_about_the_driver(fact, problem):
            components = facts.component_requirements(fact.unless)
            yield LockedDriver(
                by=_by(fact, resolution),
                needs=tuple(str(need) for need in components if need.is_minimum),
                text=fact.text,
                text_zh=fact.text_zh,
                fact=fact.id,
            )


def is_left_open(need: facts.Need, resolution: Resolution) -> bool:
    """Return whether a requirement on the driver is left to the machine.

    It is if the target states no driver, or only the oldest that the machine may have.
    """
    if not isinstance(need, ComponentRequirement) or not need.is_minimum:
        return False
    return not need.is_promised_by(resolution.problem.target.system)


def _is_about_the_driver(warning: facts.Warns, problem: Problem) -> bool:
    """Return whether a warning depends on the driver, and on no component that is left open."""
    needs = facts.component_requirements(warning.unless)
    others = {need.component for need in needs if not need.is_minimum}
    return len(others) < len(warning.components) and others <= problem.target.system.keys()


def _by(fact: facts.Fact, resolution: Resolution) -> str:
    """Return who requires a driver: a component if the fact names one, otherwise the project."""
    target = resolution.problem.target
    if isinstance(fact, facts.Warns):
        for name, value in target.system.items():
            component = target.components[name]
            if name in fact.components and component.by_line:
                return f"{component.title} {value}"
    pin = resolution.pin(fact.package)
    return _release(pin) if pin is not None else fact.package


def _release(pin: Pin | LockedPin) -> str:
    return f"{pin.name} {pin.version}"


def rests_on_absence(warning: Message) -> bool:
    """Return whether a warning says that the pins rest on an index that did not answer.

    Unlike others, it is shown even if the lock is as it was: locking elsewhere may change it.
    """
    return warning.code == "lock.unreachable"


def is_grave(warning: Message, problem: Problem) -> bool:
    """Return whether a warning should be seen whenever the lock of this problem is made."""
    if warning.code in _GRAVE:
        return True
    where = warning.values.get("where")
    grave = [fact for fact in problem.facts if isinstance(fact, facts.Warns) and fact.grave]
    return any(fact.where == where for fact in grave)


def warnings(
    resolution: Resolution, facts_in_use: Sequence[facts.Fact], catalog: Catalog
) -> Iterator[Message]:
    """Yield the warnings of a resolution that rests on these facts, in the order of a lock.

    The gravest come first.
    """
    problem = resolution.problem
    lines = [root.need for root in problem.stack.requirements]
    direct = {line.name for line in lines if isinstance(line, Requirement)}
    for fact in _facts_that_warn(facts_in_use, problem):
        if fact.grave:
            yield _warning(fact)
    yield from _unexpected(resolution, direct)
    yield from _of_facts(resolution, facts_in_use, direct)
    yield from _without_effect(resolution)
    yield from _of_pins(resolution, direct, catalog)
    yield from _of_binaries(resolution, catalog)
    yield from _of_indexes(resolution, catalog)


def _facts_that_warn(facts_in_use: Iterable[facts.Fact], problem: Problem) -> list[facts.Warns]:
    """Return the warnings among the facts; those about the driver are one warning by themselves."""
    warns = [fact for fact in facts_in_use if isinstance(fact, facts.Warns)]
    return [fact for fact in warns if not _is_about_the_driver(fact, problem)]


def _unexpected(resolution: Resolution, direct: Set[str]) -> Iterator[Message]:
    """Yield warnings about a resolution that is not what its stack leads people to expect.

    They are about unknown values of components, unmet bounds of extras, pins that cannot be
    loaded, old releases and practices; then about missing extras and skipped releases.
    """
    problem = resolution.problem
    for unknown in problem.unknown:
        yield message(
            "lock.unknown-value",
            component=unknown.component.label,
            value=unknown.value,
            near=" / ".join(unknown.near),
        )
    for row in resolution.unmet_bounds:
        yield message(
            "lock.unmet-bound",
            package=f"{row.project} {row.version}",
            bound=row.bound,
            other=f"{row.other} {row.other_version}",
        )
    for unloadable in resolution.unloadable_pins:
        package = f"{unloadable.project} {unloadable.version}"
        yield message("lock.unloadable", package=package, why=unloadable.why)
    yield from map(_fell_back, resolution.outdated_pins)
    yield from map(_of_practice, resolution.used_practices)
    yield from _missing_extras(resolution)
    for pin in resolution.pins:
        if pin.name in direct:
            yield from _skipped(pin, resolution)


def _of_facts(
    resolution: Resolution, facts_in_use: Sequence[facts.Fact], direct: Set[str]
) -> Iterator[Message]:
    """Yield warnings about the driver, facts set aside, then facts that are not grave.

    Of the last, those about `direct` projects come first.
    """
    problem = resolution.problem
    warns = _facts_that_warn(facts_in_use, problem)
    required: dict[str, list[LockedDriver]] = {}
    for driver in drivers(resolution, facts_in_use):
        required.setdefault(driver.component, []).append(driver)
    for component, rows in required.items():
        yield _of_driver(component, rows, facts_in_use, problem.target)
    for row in problem.stack.relaxed:
        values = {
            "strength": message(f"strength.{row.fact.strength}"),
            "fact": row.fact.id,
            "where": row.where,
        }
        if row.needs:
            yield message("lock.relaxed-needs", needs=row.needs, reason=row.reason, **values)
        else:
            yield message("lock.relaxed", reason=row.reason, **values)
    for fact in sorted(facts_in_use, key=lambda fact: fact.package not in direct):
        if fact in warns and not fact.grave:
            yield _warning(fact)
        for need in fact.added_needs:
            if _is_unchecked(need, resolution):
                yield message(
                    "lock.unchecked-fact", package=fact.package, need=need, where=fact.where
                )


def _without_effect(resolution: Resolution) -> Iterator[Message]:
    """Yield warnings about lines that cannot be checked, and practices without effect."""
    stack = resolution.problem.stack
    for root in stack.requirements:
        if _is_unchecked(root.need, resolution):
            yield message("lock.unchecked-line", line=root.origin.text)
    used = {practice.id for practice in resolution.used_practices}
    for name in stack.enabled_practices:
        if name not in used:
            yield message("lock.practice-needless", practice=name)


def _of_pins(resolution: Resolution, direct: Set[str], catalog: Catalog) -> Iterator[Message]:
    """Yield what is wrong with the pins, pin by pin."""
    for pin in resolution.pins:
        if pin.release.yanked:
            reason = pin.release.file.yanked or ""
            code = "lock.yanked-because" if reason else "lock.yanked"
            yield message(code, package=_release(pin), reason=reason)
        for line in own_lines(pin, catalog, ()):
            marker = line.partition(";")[2]
            # PEP 508: platform_release, platform_version
            if text.depends_on_kernel(marker):
                yield message("lock.kernel", package=_release(pin), line=line)
        yield from _quarantined(pin, catalog)
        yield from on_trust(pin, resolution, catalog)
        if pin.name not in direct:
            yield from _skipped(pin, resolution)


def _of_binaries(resolution: Resolution, catalog: Catalog) -> Iterator[Message]:
    """Yield warnings about linked binaries of which nobody knows whether they can be loaded."""
    unread: list[str] = []
    judged_by_name: list[str] = []
    torch = resolution.pin("torch")
    is_torch_read = torch is None or catalog.known_linkage(torch.release.file) is not None
    for pin in resolution.pins:
        if pin.name in resolution.unread_pins:
            unread.append(_release(pin))
        if not _is_linked_wheel(pin, resolution):
            continue
        linkage = catalog.linkage(pin.release.file)
        if linkage is None:
            unread.append(_release(pin))
        elif linkage.takes_symbols and not is_torch_read:
            judged_by_name.append(_release(pin))
    if unread:
        yield message("lock.unread", packages=sorted(unread))
    if judged_by_name and torch is not None:
        yield message("lock.unread-torch", packages=judged_by_name, torch=_release(torch))


def _is_linked_wheel(pin: Pin, resolution: Resolution) -> bool:
    """Return whether a pin is a wheel that by a fact is linked with other projects."""
    release = pin.release
    if release.source is not None or release.builds is not None or not release.file.is_wheel:
        return False
    links = [fact for fact in resolution.problem.facts if isinstance(fact, facts.Links)]
    return any(fact.to and fact.is_about(pin.name, pin.version) for fact in links)


def _of_indexes(resolution: Resolution, catalog: Catalog) -> Iterator[Message]:
    """Yield warnings about projects that come from other indexes than usual.

    The stack may say so, or an index did not answer. Such an index does not matter to a pin whose
    version something names, if an index that comes first has the file.
    """
    elsewhere = list(_from_other_indexes(resolution))
    if elsewhere:
        yield message("lock.elsewhere", projects=elsewhere)
    unreachable: dict[str, list[Message]] = {}
    for pin in resolution.pins:
        if pin.release.source is not None:
            continue
        used = pin.release.index
        order = resolution.problem.indexes.binding(pin.name, resolution.problem.target.platform)
        for index in catalog.lookup(pin.name).unreachable:
            comes_first = order.indexes.index(used) < order.indexes.index(index)
            if index != used and not (comes_first and pin.exact_because):
                project = message("lock.project-from", project=pin.name, index=used)
                unreachable.setdefault(index, []).append(project)
    for index in sorted(unreachable):
        yield message("lock.unreachable", index=index, projects=unreachable[index])


def notes(problem: Problem) -> Iterator[Message]:
    """Yield notes on lines of the stack that do not apply to this target."""
    for root in problem.stack.requirements:
        need = root.need
        if isinstance(need, Requirement) and not need.applies(problem.target.markers):
            yield message("lock.not-here", line=root.origin.text, where=root.origin.where)


def variants(pins: Iterable[LockedPin]) -> Iterator[Message]:
    """Yield notes on pins whose wheel is a variant, which only install.sh can install."""
    for pin in pins:
        if pin.variant is not None:
            yield message(
                "lock.variant",
                package=_release(pin),
                file=pin.file[0].name,
                properties=pin.variant.properties or (pin.variant.label,),
                index=pin.index,
            )


def _of_practice(practice: facts.Practice) -> Message:
    warning = facts.as_warning(practice)
    english = f"{warning.text} Source: {practice.source}"
    chinese = f"{warning.text_zh}来源：{practice.source}"
    return _warning(replace(warning, text=english, text_zh=chinese))


def _fell_back(row: OutdatedPin) -> Message:
    package = f"{row.project} {row.version}"
    if row.why:
        return message("lock.fell-back-for", package=package, newest=row.newest, why=row.why)
    return message("lock.fell-back", package=package, newest=row.newest, project=row.project)


def _warning(fact: facts.Warns) -> Message:
    warning = verbatim(fact.text, fact.text_zh)
    return message("lock.fact-warns", package=fact.package, text=warning, where=fact.where)


def _of_driver(
    component: str,
    required: Iterable[LockedDriver],
    facts_in_use: Iterable[facts.Fact],
    target: Target,
) -> Message:
    """Return one warning with all requirements on a driver, of which a machine has one."""
    places = {fact.id: fact.where for fact in facts_in_use}
    needs = []
    texts = []
    for driver in required:
        alternatives = " | ".join(driver.needs)
        needs.append(message("lock.driver-asks", by=driver.by, needs=alternatives))
        description = verbatim(driver.text, driver.text_zh)
        where = places.get(driver.fact, driver.fact)
        texts.append(message("lock.driver-told", text=description, where=where))
    values = {"asked": needs, "component": component, "told": joined("report.space", texts)}
    if component not in names.COMPONENTS:
        return message("lock.left-unchecked", **values)
    if component in target.system:
        oldest = str(target.system[component])
        return message("lock.left-open-above", oldest=oldest, **values)
    return message("lock.left-open", **values)


def _is_unchecked(need: facts.Need, resolution: Resolution) -> bool:
    """Return whether a requirement is on a component that the target does not state.

    The driver is none of these: it is left to the machine.
    """
    if not isinstance(need, ComponentRequirement) or is_left_open(need, resolution):
        return False
    return need.component not in resolution.problem.target.system


def own_lines(pin: Pin, catalog: Catalog, default: Sequence[str]) -> Sequence[str]:
    """Return what a pin's own metadata requires; `default` if only a build would show that."""
    release = pin.release
    if release.source is not None:
        return release.source.recipe.requires
    if release.file.is_wheel:
        return catalog.metadata(release.file).requires_dist
    metadata = catalog.archive(release.file).metadata
    return metadata.requires_dist if metadata is not None else default


def _missing_extras(resolution: Resolution) -> Iterator[Message]:
    """Yield the extras of the stack's lines that the pins lack.

    What metadata asks for in vain is no warning: pip ignores it, and the stack cannot change it.

    Extras that another release has are told after the others, in one warning for each release.
    """
    lost: dict[tuple[Pin, str], list[str]] = {}
    for row in resolution.missing_extras:
        pin = resolution.pin(row.project)
        assert pin is not None  # noqa: S101  the pin is what lacks the extra
        if row.version is None:
            yield message("lock.no-extra", package=_release(pin), extra=row.extra)
        else:
            other = f"{row.project}=={row.version}"
            lost.setdefault((pin, other), []).append(row.extra)
    for (pin, other), extras in lost.items():
        extra = "`, `".join(extras)
        yield message("lock.lost-extra", package=_release(pin), extra=extra, other=other)


def _skipped(pin: Pin, resolution: Resolution) -> Iterator[Message]:
    """Yield warnings about releases that were skipped for a pin."""
    for row in resolution.skipped_releases:
        if row.project == pin.name:
            yield message(
                "lock.passed-over",
                package=f"{row.project} {row.version}",
                pin=pin.version,
                archive=row.archive,
                index=row.index,
                of=row.archive_of,
                version=row.archive_version,
                project=row.project,
            )


def _quarantined(pin: Pin, catalog: Catalog) -> Iterator[Message]:
    """Yield a warning if a pin's index has quarantined the project.

    PEP 792: such a project "should be treated as unsafe"; a mirror may still have its files.
    """
    release = pin.release
    if release.source is not None:
        return
    for page in catalog.lookup(pin.name).pages:
        if page.index == release.index and page.project_status.status == QUARANTINED:
            reason = page.project_status.reason
            code = "lock.quarantined-because" if reason else "lock.quarantined"
            yield message(code, package=_release(pin), index=page.index, reason=reason)


def _from_other_indexes(resolution: Resolution) -> Iterator[Message]:
    """Yield the projects that only the stack's own indexes and bindings bring from this index."""
    problem = resolution.problem
    for pin in resolution.pins:
        if pin.release.source is not None:
            continue
        index = pin.release.index
        usual = problem.indexes.shipped_for(pin.name, problem.target.platform)
        if usual and index not in usual:
            yield message("lock.project-elsewhere", project=pin.name, indexes=usual, index=index)


def on_trust(pin: Pin, resolution: Resolution, catalog: Catalog) -> Iterator[Message]:
    """Yield a warning if a pin rests on what is recorded about its file.

    It does if the file's index did not answer.
    """
    filename = pin.release.file.filename
    for row in resolution.problem.recorded:
        if row.filename == filename and row.index in catalog.lookup(pin.name).unreachable:
            yield message(
                "lock.on-trust",
                package=_release(pin),
                index=row.index,
                where=row.where,
                source=str(row.source),
                checked=row.checked.isoformat(),
            )


def unbuilt(
    pins: Iterable[LockedPin], builds: Iterable[tuple[Sequence[str], Resolution | Message]]
) -> Iterator[Message]:
    """Yield warnings about builds whose tools cannot be resolved."""
    built_apart = [pin.name for pin in pins if pin.mode == "built-apart"]
    for archives, tools in builds:
        if isinstance(tools, Message):
            names = [name for name in built_apart if not archives or name in archives]
            yield message("lock.unbuilt", names=names, why=tools)
