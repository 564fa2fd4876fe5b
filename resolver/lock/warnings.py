"""Collect the warnings and notes of a lock, and the requirements on the driver.

A warning is about something that may be wrong with the lock; the gravest warnings come first. A
note is only information. The driver of a machine is often not stated by the target; then its
requirements are listed in the lock, and `verify` checks them on the machine.
"""

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

# The codes of warnings that mean that a lock may be useless. Facts can be grave, too.
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
    """Yield the requirements on the driver that the target does not meet by itself.

    Requirements of the stack's lines come first, then those of the facts in use, each in order.

    A `warns` fact requires a driver if its `unless` names the driver, and if the target states all
    other components that `unless` names. If the target does not state one of these, it is unknown
    whether the warning applies.
    """
    problem = resolution.problem
    for root in problem.stack.requirements:
        if _is_left_open(root.need, resolution):
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
            if _is_left_open(need, resolution):
                yield LockedDriver(
                    by=_requirer(fact, resolution),
                    needs=(str(need),),
                    text=fact.reason,
                    text_zh=fact.reason_zh,
                    fact=fact.id,
                    binding=fact.strength is not facts.Strength.OBSERVED,
                )
        if isinstance(fact, facts.Warns) and _is_about_the_driver(fact, problem):
            components = facts.component_requirements(fact.unless)
            yield LockedDriver(
                by=_requirer(fact, resolution),
                needs=tuple(str(need) for need in components if need.is_minimum),
                text=fact.text,
                text_zh=fact.text_zh,
                fact=fact.id,
            )


def _is_left_open(need: facts.Need, resolution: Resolution) -> bool:
    """Return whether a requirement on the driver can only be checked on the machine.

    This is so if the target states no driver, or a minimum that does not guarantee the requirement.
    False for requirements on projects and on other components.
    """
    if not isinstance(need, ComponentRequirement) or not need.is_minimum:
        return False
    return not need.is_promised_by(resolution.problem.target.system)


def _is_about_the_driver(warning: facts.Warns, problem: Problem) -> bool:
    """Return whether the driver alone decides whether a `warns` fact holds for the target.

    That is so if `unless` of the fact names the driver, and the target states each other component
    that `unless` names.
    """
    needs = facts.component_requirements(warning.unless)
    others = {need.component for need in needs if not need.is_minimum}
    return len(others) < len(warning.components) and others <= problem.target.system.keys()


def _requirer(fact: facts.Fact, resolution: Resolution) -> str:
    """Return the name of what requires a driver, for messages.

    If a `warns` fact names a component that comes in release lines (`by_line`), it is that one with
    its value, such as `CANN 8.5.0`. Else it is the fact's project with its version.
    """
    target = resolution.problem.target
    if isinstance(fact, facts.Warns):
        for name, value in target.system.items():
            component = target.components[name]
            if name in fact.components and component.by_line:
                return f"{component.title} {value}"
    pin = resolution.pin(fact.package)
    return _release(pin) if pin is not None else fact.package


def _release(pin: Pin | LockedPin) -> str:
    """Return the name and version of a pin, for messages."""
    return f"{pin.name} {pin.version}"


def rests_on_absence(warning: Message) -> bool:
    """Return whether a warning says that an index was skipped because it could not be reached.

    Unlike other warnings, it is shown even if the lock did not change: locking on a machine that
    reaches the index may result in another lock.
    """
    return warning.code == "lock.unreachable"


def is_grave(warning: Message, problem: Problem) -> bool:
    """Return whether a warning must be shown each time that this problem is locked."""
    if warning.code in _GRAVE:
        return True
    where = warning.values.get("where")
    grave = [fact for fact in problem.facts if isinstance(fact, facts.Warns) and fact.grave]
    return any(fact.where == where for fact in grave)


def warnings(
    resolution: Resolution, facts_in_use: Sequence[facts.Fact], catalog: Catalog
) -> Iterator[Message]:
    """Yield the warnings of a resolution in the order of the lock: the gravest come first.

    `facts_in_use` are the facts that the resolution rests on.
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
    """Return the `warns` facts, without those about the driver.

    All requirements on the driver become one warning, which `_of_driver` makes.
    """
    warns = [fact for fact in facts_in_use if isinstance(fact, facts.Warns)]
    return [fact for fact in warns if not _is_about_the_driver(fact, problem)]


def unmet_soft_requirements(resolution: Resolution) -> Iterator[Message]:
    """Yield a warning for each soft requirement that is not met (see `soft_requirements`).

    These are bounds of extras, and binaries that cannot be loaded.
    """
    for unmet in resolution.unmet_bounds:
        package = f"{unmet.project} {unmet.version}"
        other = f"{unmet.other} {unmet.other_version}"
        if unmet.stated_by:
            later = f"{unmet.project} {unmet.stated_by}"
            code = "lock.unmet-later-bound"
            yield message(code, package=package, later=later, bound=unmet.bound, other=other)
        else:
            yield message("lock.unmet-bound", package=package, bound=unmet.bound, other=other)
    for unloadable in resolution.unloadable_pins:
        package = f"{unloadable.project} {unloadable.version}"
        yield message("lock.unloadable", package=package, why=unloadable.why)


def _unexpected(resolution: Resolution, direct: Set[str]) -> Iterator[Message]:
    """Yield warnings about results that an author of the stack would not expect.

    These are unknown values of components, bounds of extras that are not met, pins whose binaries
    cannot be loaded, pins far behind the newest release, and practices that were used. (A practice
    is a fact about what a vendor's image does although metadata forbids it.) Then come missing
    extras, and releases that were skipped for the `direct` projects, which the stack names.
    """
    problem = resolution.problem
    for unknown in problem.unknown:
        yield message(
            "lock.unknown-value",
            component=unknown.component.label,
            value=unknown.value,
            near=" / ".join(unknown.near),
        )
    yield from unmet_soft_requirements(resolution)
    stack = resolution.problem.stack.name
    for outdated in resolution.outdated_pins:
        yield _fell_back(outdated, stack)
    yield from map(_of_practice, resolution.used_practices)
    yield from _missing_extras(resolution)
    for pin in resolution.pins:
        if pin.name in direct:
            yield from _skipped(pin, resolution)


def _of_facts(
    resolution: Resolution, facts_in_use: Sequence[facts.Fact], direct: Set[str]
) -> Iterator[Message]:
    """Yield warnings about the driver, about facts that the stack sets aside, and of other facts.

    The last ones are the facts that warn and are not grave; those about the `direct` projects,
    which the stack names, come first.
    """
    problem = resolution.problem
    warns = _facts_that_warn(facts_in_use, problem)
    required: dict[str, list[LockedDriver]] = {}
    for driver in drivers(resolution, facts_in_use):
        required.setdefault(driver.component, []).append(driver)
    for component, requirements in required.items():
        yield _of_driver(component, requirements, facts_in_use, problem.target)
    for relaxed in problem.stack.relaxed:
        values = {
            "strength": message(f"strength.{relaxed.fact.strength}"),
            "fact": relaxed.fact.id,
            "where": relaxed.where,
        }
        reason = relaxed.reason
        if relaxed.needs:
            yield message("lock.relaxed-needs", needs=relaxed.needs, reason=reason, **values)
        else:
            yield message("lock.relaxed", reason=reason, **values)
    for fact in sorted(facts_in_use, key=lambda fact: fact.package not in direct):
        if fact in warns and not fact.grave:
            yield _warning(fact)
        for need in fact.added_needs:
            if _is_unchecked(need, resolution):
                yield message(
                    "lock.unchecked-fact", package=fact.package, need=need, where=fact.where
                )


def _without_effect(resolution: Resolution) -> Iterator[Message]:
    """Yield warnings about lines of the stack that cannot be checked, and unused practices."""
    stack = resolution.problem.stack
    for root in stack.requirements:
        if _is_unchecked(root.need, resolution):
            yield message("lock.unchecked-line", line=root.origin.text)
    used = {practice.id for practice in resolution.used_practices}
    for name in stack.enabled_practices:
        if name not in used:
            yield message("lock.practice-needless", practice=name)


def _of_pins(resolution: Resolution, direct: Set[str], catalog: Catalog) -> Iterator[Message]:
    """Yield the warnings about single pins, pin by pin.

    Skipped releases of the `direct` projects, which the stack names, are left out: `_unexpected`
    warns about them.
    """
    for pin in resolution.pins:
        if pin.release.yanked:
            reason = pin.release.file.yanked or ""
            code = "lock.yanked-because" if reason else "lock.yanked"
            yield message(code, package=_release(pin), reason=reason)
        for line in own_lines(pin, catalog, ()):
            marker = line.partition(";")[2]
            # The markers platform_release and platform_version (PEP 508).
            if text.depends_on_kernel(marker):
                yield message("lock.kernel", package=_release(pin), line=line)
        yield from _quarantined(pin, catalog)
        yield from on_trust(pin, resolution, catalog)
        if pin.name not in direct:
            yield from _skipped(pin, resolution)


def _of_binaries(resolution: Resolution, catalog: Catalog) -> Iterator[Message]:
    """Yield warnings about pins for which it is not known whether their binaries can be loaded.

    Either the binaries of the pin were not read, or the binaries of the locked torch were not, so
    that their symbols could not be compared.
    """
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
    """Return whether a pin is a wheel that is linked with other projects, as a fact says."""
    release = pin.release
    if release.source is not None or release.builds is not None or not release.file.is_wheel:
        return False
    links = [fact for fact in resolution.problem.facts if isinstance(fact, facts.Links)]
    return any(fact.to and fact.is_about(pin.name, pin.version) for fact in links)


def _of_indexes(resolution: Resolution, catalog: Catalog) -> Iterator[Message]:
    """Yield warnings about projects that are taken from another index than usual.

    Either the stack binds them to that index, or an index could not be reached. There is no warning
    about an index that could not be reached if the pin's own index comes before it in the binding,
    and something requires exactly the version of the pin: it could not change the pin.
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
    """Yield a note for each line of the stack whose marker does not hold for the target."""
    for root in problem.stack.requirements:
        need = root.need
        if isinstance(need, Requirement) and not need.applies(problem.target.markers):
            yield message("lock.not-here", line=root.origin.text, where=root.origin.where)


def variants(pins: Iterable[LockedPin]) -> Iterator[Message]:
    """Yield a note for each pin whose wheel is a variant (PEP 825): only install.sh installs it."""
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
    """Return the warning about a practice that was used, with the source of the practice."""
    warning = facts.as_warning(practice)
    english = f"{warning.text} Source: {practice.source}"
    chinese = f"{warning.text_zh}来源：{practice.source}"
    return _warning(replace(warning, text=english, text_zh=chinese))


def _fell_back(pin: OutdatedPin, stack: str) -> Message:
    """Return the warning about a pin that is far behind the newest release."""
    package = f"{pin.project} {pin.version}"
    if pin.why:
        return message("lock.fell-back-for", package=package, newest=pin.newest, why=pin.why)
    return message(
        "lock.fell-back", package=package, newest=pin.newest, stack=stack, project=pin.project
    )


def _warning(fact: facts.Warns) -> Message:
    """Return the warning of a `warns` fact."""
    warning = verbatim(fact.text, fact.text_zh)
    return message("lock.fact-warns", package=fact.package, text=warning, where=fact.where)


def _of_driver(
    component: str,
    required: Iterable[LockedDriver],
    facts_in_use: Iterable[facts.Fact],
    target: Target,
) -> Message:
    """Return one warning with all requirements on a driver component."""
    places = {fact.id: fact.where for fact in facts_in_use}
    needs = []
    texts = []
    for driver in required:
        alternatives = " | ".join(driver.needs)
        needs.append(message("lock.driver-asks", by=driver.by, needs=alternatives))
        description = verbatim(driver.text, driver.text_zh)
        where = places.get(driver.fact, driver.fact)
        texts.append(message("lock.driver-told", text=description, where=where))
    asked = joined("conflict.clause", needs, last="lock.and-asks")
    values = {"asked": asked, "component": component, "told": joined("report.space", texts)}
    if component not in names.COMPONENTS:
        return message("lock.left-unchecked", **values)
    if component in target.system:
        oldest = str(target.system[component])
        return message("lock.left-open-above", oldest=oldest, **values)
    return message("lock.left-open", **values)


def _is_unchecked(need: facts.Need, resolution: Resolution) -> bool:
    """Return whether a requirement is on a component that the target does not state.

    False for requirements on the driver that are left to the machine.
    """
    if not isinstance(need, ComponentRequirement) or _is_left_open(need, resolution):
        return False
    return need.component not in resolution.problem.target.system


def own_lines(pin: Pin, catalog: Catalog, default: Sequence[str]) -> Sequence[str]:
    """Return the requirements in a pin's own metadata, or in its recipe if it is from a commit.

    For a source archive without static metadata, return `default`.
    """
    release = pin.release
    if release.source is not None:
        return release.source.recipe.requires
    if release.file.is_wheel:
        return catalog.metadata(release.file).requires_dist
    metadata = catalog.archive(release.file).metadata
    return metadata.requires_dist if metadata is not None else default


def _missing_extras(resolution: Resolution) -> Iterator[Message]:
    """Yield warnings about extras that lines of the stack name and that the pins do not have.

    There is no warning about an extra that only metadata names: pip ignores it, and the stack
    cannot change it. Extras that another release has come last, in one warning for each release.
    """
    lost: dict[tuple[Pin, str], list[str]] = {}
    for missing in resolution.missing_extras:
        pin = resolution.pin(missing.project)
        assert pin is not None  # noqa: S101  the pin is what lacks the extra
        if missing.version is None:
            yield message("lock.no-extra", package=_release(pin), extra=missing.extra)
        else:
            other = f"{missing.project}=={missing.version}"
            lost.setdefault((pin, other), []).append(missing.extra)
    for (pin, other), extras in lost.items():
        extra = "`, `".join(extras)
        yield message(
            "lock.lost-extra",
            package=_release(pin),
            extra=extra,
            other=other,
            stack=resolution.problem.stack.name,
        )


def _skipped(pin: Pin, resolution: Resolution) -> Iterator[Message]:
    """Yield a warning for each newer release of a pin's project that was skipped."""
    for skipped in resolution.skipped_releases:
        if skipped.project == pin.name:
            yield message(
                "lock.passed-over",
                package=f"{skipped.project} {skipped.version}",
                pin=pin.version,
                archive=skipped.archive,
                index=skipped.index,
                of=skipped.archive_of,
                version=skipped.archive_version,
                project=skipped.project,
            )


def _quarantined(pin: Pin, catalog: Catalog) -> Iterator[Message]:
    """Yield a warning if the index of a pin has quarantined the project.

    PEP 792: such a project "should be treated as unsafe". A mirror may still have its files.
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
    """Yield a message for each pin that comes from an index due to the stack's own bindings.

    That is an index to which matrices/indexes.toml does not bind the project.
    """
    problem = resolution.problem
    for pin in resolution.pins:
        if pin.release.source is not None:
            continue
        index = pin.release.index
        usual = problem.indexes.shipped_for(pin.name, problem.target.platform)
        if usual and index not in usual:
            yield message("lock.project-elsewhere", project=pin.name, indexes=usual, index=index)


def on_trust(pin: Pin, resolution: Resolution, catalog: Catalog) -> Iterator[Message]:
    """Yield a warning if a pin's file is a recorded wheel, since its index could not be reached.

    The lock then trusts the metadata and the sha256 that are recorded in a file of this repository
    or of the stack.
    """
    filename = pin.release.file.filename
    for wheel in resolution.problem.recorded:
        if wheel.filename == filename and wheel.index in catalog.lookup(pin.name).unreachable:
            yield message(
                "lock.on-trust",
                package=_release(pin),
                index=wheel.index,
                where=wheel.where,
                source=str(wheel.source),
                checked=wheel.checked.isoformat(),
            )


def unbuilt(
    pins: Iterable[LockedPin], builds: Iterable[tuple[Sequence[str], Resolution | Message]]
) -> Iterator[Message]:
    """Yield a warning for each isolated build environment whose tools cannot be resolved.

    `builds` is the argument of `build.build`: the projects that are built in each environment
    (none: all), and the resolution of its tools, or a message that says why there is none.
    """
    built_apart = [pin.name for pin in pins if pin.mode == "built-apart"]
    for archives, tools in builds:
        if isinstance(tools, Message):
            names = [name for name in built_apart if not archives or name in archives]
            yield message("lock.unbuilt", names=names, why=tools)
