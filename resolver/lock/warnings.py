"""A lock's warnings, the gravest first, its notes, and what it requires of the driver (HDK)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from msgspec.structs import replace

from resolver.index.protocol import Catalog
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.lock import LockedDriver, LockedPin
from resolver.model.message import Message, joined, message, verbatim
from resolver.model.problem import Problem
from resolver.model.release import QUARANTINED
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.resolution import OutdatedPin, Pin, Resolution

_HDK = "hdk"


def drivers(resolution: Resolution, facts_in_use: Sequence[facts.Fact]) -> Iterator[LockedDriver]:
    """What the lines of the stack, then the facts that the lock rests on, require of the driver, in their order.

    A warning requires one if its `unless` names the driver, and the target states all other
    components that it names. If the target does not state one of those, such as the CANN, it is
    unknown whether the warning applies.
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
        for need in facts.needs_of(fact):
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
            components = (need for need in fact.unless if isinstance(need, ComponentRequirement))
            needs = tuple(str(need) for need in components if need.component == _HDK)
            yield LockedDriver(
                by=_by(fact, resolution),
                needs=needs,
                text=fact.text,
                text_zh=fact.text_zh,
                fact=fact.id,
            )


def is_left_open(need: facts.Need, resolution: Resolution) -> bool:
    """Whether this is about the driver and is left to the machine: the target has no driver, or only the oldest."""
    system = resolution.problem.target.system
    return (
        isinstance(need, ComponentRequirement)
        and need.component == _HDK
        and not need.is_promised_by(system)
    )


def _is_about_the_driver(warning: facts.Warns, problem: Problem) -> bool:
    """Whether a warning depends on the driver, and on no component that the target leaves open."""
    return (
        _HDK in warning.components and warning.components - {_HDK} <= problem.target.system.keys()
    )


def _by(fact: facts.Fact, resolution: Resolution) -> str:
    """Who requires it: the CANN if the fact is about certain ones, otherwise the project."""
    cann = resolution.problem.target.system.get("cann")
    if isinstance(fact, facts.Warns) and "cann" in fact.components and cann is not None:
        return f"CANN {cann}"
    pin = resolution.pin(fact.package)
    return f"{fact.package} {pin.version}" if pin is not None else str(fact.package)


# Warnings after which a lock may be of no use, apart from grave facts.
_GRAVE = frozenset(
    f"lock.{code}"
    for code in (
        "unknown",
        "unmet-bound",
        "unloadable",
        "fell-back",
        "fell-back-for",
        "quarantined",
        "quarantined-because",
        "unbuilt",
    )
)


def is_grave(warning: Message, problem: Problem) -> bool:
    """Whether a warning of a lock for this problem should be seen whenever the lock is made."""
    stated = (fact for fact in problem.facts if fact.where == warning.values.get("where"))
    return warning.code in _GRAVE or any(
        isinstance(fact, facts.Warns) and fact.grave for fact in stated
    )


def warnings(
    resolution: Resolution, facts_in_use: Sequence[facts.Fact], catalog: Catalog
) -> Iterator[Message]:
    """The warnings of a resolution that rests on these facts.

    A lock has them in this order, the gravest first.
    """
    requirements = [root.need for root in resolution.problem.stack.requirements]
    direct = {need.name for need in requirements if isinstance(need, Requirement)}
    yield from (_warning(fact) for fact in _facts_that_warn(resolution, facts_in_use) if fact.grave)
    yield from _unexpected(resolution, direct)
    yield from _of_facts(resolution, facts_in_use, direct)
    yield from _without_effect(resolution)
    yield from _of_pins(resolution, direct, catalog)
    yield from _of_binaries(resolution, catalog)
    yield from _of_indexes(resolution, catalog)


def _unexpected(resolution: Resolution, direct: Set[str]) -> Iterator[Message]:
    """Yield an unknown CANN, bounds of extras, old releases, practices; then missing extras and skipped releases."""
    if near := resolution.problem.near_canns:
        yield message(
            "lock.unknown", value=resolution.problem.target.system["cann"], near=" / ".join(near)
        )
    for row in resolution.unmet_bounds:
        yield message(
            "lock.unmet-bound",
            package=f"{row.project} {row.version}",
            bound=row.bound,
            other=f"{row.other} {row.other_version}",
        )
    for unloadable in resolution.unloadable_pins:
        yield message(
            "lock.unloadable",
            package=f"{unloadable.project} {unloadable.version}",
            why=unloadable.why,
        )
    yield from map(_fell_back, resolution.outdated_pins)
    yield from map(_of_practice, resolution.used_practices)
    yield from _missing_extras(resolution)
    for pin in resolution.pins:
        if pin.name in direct:
            yield from _skipped(pin, resolution)


def _facts_that_warn(
    resolution: Resolution, facts_in_use: Sequence[facts.Fact]
) -> list[facts.Warns]:
    """Return the warnings among the facts, without those about the driver, which are one warning."""
    warns = (fact for fact in facts_in_use if isinstance(fact, facts.Warns))
    return [fact for fact in warns if not _is_about_the_driver(fact, resolution.problem)]


def _of_facts(
    resolution: Resolution, facts_in_use: Sequence[facts.Fact], direct: Set[str]
) -> Iterator[Message]:
    """The driver, facts set aside, then facts that are not grave, of which those about `direct` projects come first."""
    problem = resolution.problem
    warns = _facts_that_warn(resolution, facts_in_use)
    if rows := list(drivers(resolution, facts_in_use)):
        yield _of_driver(rows, facts_in_use)
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
        for need in facts.needs_of(fact):
            if _is_unchecked(need, resolution):
                yield message(
                    "lock.unchecked-fact", package=fact.package, need=need, where=fact.where
                )


def _without_effect(resolution: Resolution) -> Iterator[Message]:
    """Lines of the stack that cannot be checked, and practices without effect."""
    for root in resolution.problem.stack.requirements:
        if _is_unchecked(root.need, resolution):
            yield message("lock.unchecked-line", line=root.origin.text)
    used = {practice.id for practice in resolution.used_practices}
    for name in resolution.problem.stack.enabled_practices:
        if name not in used:
            yield message("lock.practice-needless", practice=name)


def _of_pins(resolution: Resolution, direct: Set[str], catalog: Catalog) -> Iterator[Message]:
    """What is wrong with a pin, pin by pin."""
    missing = {(row.project, row.extra) for row in resolution.missing_extras}
    for pin in resolution.pins:
        for extra in pin.unknown_extras:
            if (pin.name, extra) not in missing:
                yield _no_extra(pin, extra)
        if pin.release.yanked:
            code = "lock.yanked-because" if pin.release.file.yanked else "lock.yanked"
            yield message(
                code, package=f"{pin.name} {pin.version}", reason=pin.release.file.yanked or ""
            )
        for line in own_lines(pin, catalog, ()):
            if text.depends_on_kernel(
                line.partition(";")[2]
            ):  # PEP 508: platform_release, platform_version
                yield message("lock.kernel", package=f"{pin.name} {pin.version}", line=line)
        yield from _quarantined(pin, catalog)
        yield from on_trust(pin, resolution, catalog)
        if pin.name not in direct:
            yield from _skipped(pin, resolution)


def _of_binaries(resolution: Resolution, catalog: Catalog) -> Iterator[Message]:
    """Yield a warning of pins that are linked with others, and of which nobody knows whether they load."""
    linked = [
        fact for fact in resolution.problem.facts if isinstance(fact, facts.Links) and fact.to
    ]
    unread = [
        f"{pin.name} {pin.version}" for pin in resolution.pins if pin.name in resolution.unread_pins
    ]
    judged_by_name = []
    torch = resolution.pin("torch")
    is_torch_read = torch is None or catalog.known_linkage(torch.release.file) is not None
    for pin in resolution.pins:
        release = pin.release
        is_linked = any(fact.is_about(pin.name, pin.version) for fact in linked)
        if (
            not is_linked
            or release.source is not None
            or release.builds is not None
            or not release.file.is_wheel
        ):
            continue
        linkage = catalog.linkage(release.file)
        if linkage is None:
            unread.append(f"{pin.name} {pin.version}")
        elif linkage.takes and not is_torch_read:
            judged_by_name.append(f"{pin.name} {pin.version}")
    if unread:
        yield message("lock.unread", packages=sorted(unread))
    if judged_by_name and torch is not None:
        yield message("lock.unread-torch", packages=judged_by_name, torch=f"torch {torch.version}")


def _of_indexes(resolution: Resolution, catalog: Catalog) -> Iterator[Message]:
    """Projects that come from other indexes than usual: as the stack has them, or as an index did not answer."""
    if projects := list(_from_other_indexes(resolution)):
        yield message("lock.elsewhere", projects=projects)
    unreachable: dict[str, list[Message]] = {}
    for pin in resolution.pins:
        index = pin.release.index
        for name in catalog.lookup(pin.name).unreachable if pin.release.source is None else ():
            if name != index:
                unreachable.setdefault(name, []).append(
                    message("lock.project-from", project=pin.name, index=index)
                )
    for name, projects in sorted(unreachable.items()):
        yield message("lock.unreachable", index=name, projects=projects)


def notes(problem: Problem) -> Iterator[Message]:
    """Notes on lines of the stack that do not apply to this target."""
    for root in problem.stack.requirements:
        marker = root.need.marker if isinstance(root.need, Requirement) else None
        if marker is not None and not marker.evaluate(problem.target.markers):
            yield message("lock.not-here", line=root.origin.text, where=root.origin.where)


def variants(pins: Sequence[LockedPin]) -> Iterator[Message]:
    """Yield notes on pins whose wheel is a variant, which only install.sh can install."""
    for pin in pins:
        if pin.variant is not None:
            properties = pin.variant.properties or (pin.variant.label,)
            yield message(
                "lock.variant",
                package=f"{pin.name} {pin.version}",
                file=pin.file[0].name,
                properties=properties,
                index=pin.index,
            )


def _of_practice(practice: facts.Practice) -> Message:
    warning = facts.as_warning(practice)
    english, chinese = (
        f"{warning.text} Source: {practice.source}",
        f"{warning.text_zh}来源：{practice.source}",
    )
    return _warning(replace(warning, text=english, text_zh=chinese))


def _fell_back(row: OutdatedPin) -> Message:
    package = f"{row.project} {row.version}"
    if row.why:
        return message("lock.fell-back-for", package=package, newest=row.newest, why=row.why)
    return message("lock.fell-back", package=package, newest=row.newest, project=row.project)


def _warning(fact: facts.Warns) -> Message:
    return message(
        "lock.fact-warns",
        package=fact.package,
        text=verbatim(fact.text, fact.text_zh),
        where=fact.where,
    )


def _of_driver(rows: Sequence[LockedDriver], facts_in_use: Sequence[facts.Fact]) -> Message:
    """One warning of all requirements on the driver, since a machine has one driver."""
    places = {fact.id: fact.where for fact in facts_in_use}
    texts = [
        message(
            "lock.driver-told",
            text=verbatim(row.text, row.text_zh),
            where=places.get(row.fact, row.fact),
        )
        for row in rows
    ]
    needs = [message("lock.driver-asks", by=row.by, needs=" | ".join(row.needs)) for row in rows]
    return message("lock.driver", asked=needs, told=joined("report.space", texts))


def _is_unchecked(need: facts.Need, resolution: Resolution) -> bool:
    """Whether this is about a component that the target does not state; the driver is left to the machine."""
    if not isinstance(need, ComponentRequirement) or is_left_open(need, resolution):
        return False
    return need.component not in resolution.problem.target.system


def own_lines(pin: Pin, catalog: Catalog, default: Sequence[str]) -> Sequence[str]:
    """What a pin's own metadata requires; `default` if that only shows in a build."""
    if pin.release.source is not None:
        return pin.release.source.recipe.requires
    file = pin.release.file
    metadata = catalog.metadata(file) if file.is_wheel else catalog.archive(file).metadata
    return metadata.requires_dist if metadata is not None else default


def _missing_extras(resolution: Resolution) -> Iterator[Message]:
    """The extras of the stack's lines that the pins lack."""
    in_other_releases: dict[tuple[Pin, str], list[str]] = {}
    for row in resolution.missing_extras:
        pin = resolution.pin(row.project)
        assert pin is not None  # noqa: S101  it is one that lacks it
        if row.version is None:
            yield _no_extra(pin, row.extra)
        else:
            in_other_releases.setdefault((pin, f"{row.project}=={row.version}"), []).append(
                row.extra
            )
    for (pin, other), extras in in_other_releases.items():
        yield message(
            "lock.lost-extra",
            package=f"{pin.name} {pin.version}",
            extra="`, `".join(extras),
            other=other,
        )


def _skipped(pin: Pin, resolution: Resolution) -> Iterator[Message]:
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


def _no_extra(pin: Pin, extra: str) -> Message:
    return message("lock.no-extra", package=f"{pin.name} {pin.version}", extra=extra)


def _quarantined(pin: Pin, catalog: Catalog) -> Iterator[Message]:
    """PEP 792: a quarantined project "should be treated as unsafe"; a mirror may still have its files."""
    pages = catalog.lookup(pin.name).pages if pin.release.source is None else ()
    for page in pages:
        if page.index == pin.release.index and page.project_status.status == QUARANTINED:
            reason = page.project_status.reason
            code = "lock.quarantined-because" if reason else "lock.quarantined"
            yield message(
                code, package=f"{pin.name} {pin.version}", index=page.index, reason=reason
            )


def _from_other_indexes(resolution: Resolution) -> Iterator[Message]:
    """Yield the projects that would come from another index if the stack had no indexes and bindings of its own."""
    indexes, platform = resolution.problem.indexes, resolution.problem.target.platform
    for pin in resolution.pins:
        names = indexes.shipped_for(pin.name, platform)
        if names and pin.release.source is None and pin.release.index not in names:
            yield message(
                "lock.project-elsewhere", project=pin.name, indexes=names, index=pin.release.index
            )


def on_trust(pin: Pin, resolution: Resolution, catalog: Catalog) -> Iterator[Message]:
    """Yield that a pin rests on what is recorded about its file, as the file's index did not answer."""
    for row in resolution.problem.recorded:
        if (
            row.filename == pin.release.file.filename
            and row.index in catalog.lookup(pin.name).unreachable
        ):
            yield message(
                "lock.on-trust",
                package=f"{pin.name} {pin.version}",
                index=row.index,
                where=row.where,
                source=str(row.source),
                checked=row.checked.isoformat(),
            )


def unbuilt(
    pins: Sequence[LockedPin], builds: Sequence[tuple[Sequence[str], Resolution | Message]]
) -> Iterator[Message]:
    """The builds whose tools cannot be resolved."""
    for archives, tools in builds:
        if isinstance(tools, Message):
            built_apart = [pin.name for pin in pins if pin.mode == "built-apart"]
            names = [name for name in built_apart if not archives or name in archives]
            yield message("lock.unbuilt", names=names, why=tools)
