"""Whether a lock that was read could have been written by us: scripts are made from it, and it may have been edited.

What a single text must be like is said where `model.lock` has it, and msgspec has compared that before.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable, Set

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.config.decode import cutoff as moment
from resolver.i18n import translate
from resolver.index.parse.filename import archive_version, is_readable, wheel_parts
from resolver.model import repository, text
from resolver.model.lock import Lock, LockedPin
from resolver.model.requirement import ComponentRequirement, parse_value

_PLACE = re.compile(r".+:\d{1,9}")


def require_sound(lock: Lock) -> None:
    """Raise ValueError, with the reason, if a lock is incomplete or contains something that no lock has."""
    pins = (*lock.pin, *lock.build_pin)
    for component, value in lock.target.system.items():
        parse_value(component, value)
    if lock.exclude_newer:
        cutoff(lock.exclude_newer)
    for line in (*lock.requires, *(line for pin in pins for line in pin.lines)):
        text.requirement(line)
    for pin in pins:
        _require_pin(pin)
    _once((pin.name for pin in lock.pin), "a pin")
    for environment in lock.environments():
        _once((pin.name for pin in environment), "a build-pin")
    _require_stages(lock)
    indexes = _once((index.name for index in lock.index), "an index")
    for pin in pins:
        if pin.git is None and pin.index not in indexes:
            raise ValueError(f"`{pin.name}` is from `{pin.index}`, which is not an index of the lock")
    for one in (*lock.all_warnings, *lock.notes, *(why for stage in lock.stage for why in stage.because)):
        try:
            translate(one, "en")
        except (KeyError, IndexError):
            raise ValueError(f"there is no message `{one.code}` with these values") from None
    for row in lock.passed_over:
        for version in (row.version, row.archive_version):
            _require_version(version, row.project)
    facts = {fact.id: dt.date.fromisoformat(fact.checked) for fact in lock.fact}
    for driver in lock.driver:
        if driver.fact not in facts and not _PLACE.fullmatch(driver.fact):
            raise ValueError(f"what {driver.by} requires of the driver rests on `{driver.fact}`, which is no fact here")
        for line in driver.needs:
            need = ComponentRequirement.parse(line)
            if need is None or need.component != "hdk":
                raise ValueError(f"`{line}` states nothing about the driver")
    # which scripts contain unchanged
    texts = [part for index in lock.index for part in (index.name, index.url)]
    texts += [value for env in (lock.import_env, *(pin.env for pin in pins)) for value in env.values()]
    texts += [row.value for row in lock.export]
    steps = [step for pin in lock.pin if pin.git is not None for step in pin.git.steps]
    for shown in (*texts, *(part for step in steps for part in (step.comment, *step.run))):
        if not shown.isprintable():
            raise ValueError(f"`{shown}` has characters that do not print")


def cutoff(written: str) -> dt.datetime:
    """The cut-off that a lock or a report names. Raises ValueError if it is not valid."""
    value = dt.datetime.fromisoformat(written)
    if value.tzinfo is None:
        raise ValueError(f"`{written}` names no time zone")
    return moment(value)


def _require_pin(pin: LockedPin) -> None:
    _require_version(pin.version, pin.name)
    if not pin.file and pin.git is None:
        raise ValueError(f"`{pin.name}` has no file")
    if pin.git is not None and (pin.file or pin.index):
        raise ValueError(f"`{pin.name}` is from git, and from an index as well")
    for file in pin.file:
        if not is_readable(file.name) or file.name.startswith((".", "-")):
            raise ValueError(f"`{file.name}` is not the name of a file")
        if _release(file.name, pin.name) != text.version(pin.version):
            raise ValueError(f"`{file.name}` is not a file of {pin.name} {pin.version}")
    if (git := pin.git) is None:
        return
    paths = [git.subdirectory, *(path for step in git.steps for path in (step.move, step.to, step.in_, step.wheels))]
    for path in (*filter(None, paths), *(one.path for one in git.submodules)):
        repository.inside(path)
    for url, commit in git.commits:
        repository.repository(url)
        repository.commit(commit)


def _release(filename: str, project: str) -> Version | None:
    """The version in a file name of a project; None if it has none or is a file of another project."""
    if filename.endswith(".whl"):
        distribution, version = (wheel_parts(filename) or ("", ""))[:2]
        return text.version(version) if text.name(distribution) == project else None
    return text.version(archive_version(filename, NormalizedName(project)) or "")


def _require_version(version: str, name: str) -> None:
    if text.version(version) is None:
        raise ValueError(f"`{version}` of `{name}` is not a version")


def _require_stages(lock: Lock) -> None:
    known = {pin.name: pin for pin in lock.pin}
    staged = _once((name for stage in lock.stage for name in stage.pins), "in a stage")
    for name in known.keys() - staged:
        raise ValueError(f"`{name}` is in no stage")
    for name in staged - known.keys():
        raise ValueError(f"a stage names `{name}`, which is not a pin")
    for number, stage in enumerate(lock.stage, 1):
        if not stage.pins:
            raise ValueError(f"stage {number} has no pins")
        for name in stage.pins:
            if known[name].mode != stage.mode:
                raise ValueError(f"`{name}` is {known[name].mode}, and in a stage that is {stage.mode}")
        if len(stage.pins) > 1 and any(known[name].git is not None for name in stage.pins):
            raise ValueError(f"stage {number} has more than the one pin that comes from git")


def _once(names: Iterable[str], what: str) -> Set[str]:
    """The names, none of which may be there twice."""
    counts = Counter(names)
    for name, times in counts.items():
        if times > 1:
            raise ValueError(f"`{name}` is {what} {times} times")
    return counts.keys()
