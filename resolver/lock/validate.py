"""Whether a lock that was read could have been written by us: scripts are made from it, and it may have been edited."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Set

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.i18n import translate
from resolver.index.parse.filename import archive_version, is_readable, wheel_parts
from resolver.model import repository, text
from resolver.model.lock import Lock, LockedDriver, LockedGit, LockedPin, LockedTarget
from resolver.model.requirement import ComponentRequirement, parse_value
from resolver.model.target import PLATFORMS

_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_PROJECT = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9.!+_-]{1,200}")
_LABEL = re.compile(r"[a-z0-9]+(?:\.[a-z0-9]+)*")
_PYTHON = re.compile(r"3\.\d{1,2}(?:\.\d{1,3})?", re.ASCII)
_GLIBC = re.compile(r"2\.\d{1,3}", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PLACE = re.compile(r".+:\d{1,9}")
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


def require_sound(lock: Lock) -> None:
    """Raise ValueError, with the reason, if a lock is incomplete or contains something that no lock has."""
    require_names(lock.stack, lock.target.name, lock.target.platform, lock.target.python)
    _match(_SHA256, lock.inputs, "the digest of the inputs")
    if lock.exclude_newer:
        cutoff(lock.exclude_newer)
    _require_target(lock.target)
    for pin in (*lock.pin, *lock.build_pin):
        _require_pin(pin)
    for pins, what in ((lock.pin, "pin"), *((pins, "build-pin") for pins in lock.environments())):
        for name, times in Counter(pin.name for pin in pins).items():
            if times > 1:
                raise ValueError(f"`{name}` is a {what} {times} times")
    _require_stages(lock)
    _require_messages(lock)
    _require_indexes(lock)
    for name in _projects(lock):
        _match(_PROJECT, name, "the name of a project")
    for row in lock.passed_over:
        for version in (row.version, row.archive_version):
            _require_version(version, row.project)
    facts = {fact.id for fact in lock.fact}
    for driver in lock.driver:
        _require_driver(driver, facts)
    for shown in _shown(lock):
        if not shown.isprintable():
            raise ValueError(f"`{shown}` has characters that do not print")
    for module in lock.imports:
        _match(_MODULE, module, "the name of a module")
    _require_variables(lock.import_env)
    _require_variables({row.name: row.value for row in lock.export})


def cutoff(written: str) -> dt.datetime:
    """The cut-off that a lock or a report names. Raises ValueError if it is not valid."""
    moment = dt.datetime.fromisoformat(written)
    if moment.tzinfo is None:
        raise ValueError(f"`{written}` names no time zone")
    try:
        moment.astimezone(dt.timezone.utc)
    except OverflowError:
        raise ValueError(f"`{written}` is in no year from 1 to 9999 of UTC") from None
    return moment


def require_names(stack: str, target: str, platform: str, python: str) -> None:
    """Raise ValueError unless these can be the names, the platform and the Python of a lock."""
    _match(_FOLDER, stack, "the name of the stack")
    _match(_FOLDER, target, "the name of the target")
    _match(_PYTHON, python, "the target's Python")
    if platform not in PLATFORMS:
        raise ValueError(f"`{platform}` is not a platform")


def _require_target(target: LockedTarget) -> None:
    _match(_GLIBC, target.glibc, "the target's glibc")
    for component, value in target.system.items():
        parse_value(component, value)


def _require_driver(driver: LockedDriver, facts: Set[str]) -> None:
    if driver.fact not in facts and not _PLACE.fullmatch(driver.fact):
        raise ValueError(
            f"what {driver.by} requires of the driver rests on `{driver.fact}`, which is not a fact of the lock"
        )
    for line in driver.needs:
        need = ComponentRequirement.parse(line)
        if need is None or need.component != "hdk":
            raise ValueError(f"`{line}` states nothing about the driver")


def _require_pin(pin: LockedPin) -> None:
    _match(_PROJECT, pin.name, "the name of a project")
    _require_version(pin.version, pin.name)
    if pin.label:
        _match(_LABEL, pin.label, f"the label of `{pin.name}`")
    if not pin.file and pin.git is None:
        raise ValueError(f"`{pin.name}` has no file")
    if pin.git is not None and (pin.file or pin.index):
        raise ValueError(f"`{pin.name}` is from git, and from an index as well")
    for file in pin.file:
        _match(_SHA256, file.sha256, f"the sha256 of `{file.name}`")
        if not is_readable(file.name) or file.name.startswith((".", "-")):
            raise ValueError(f"`{file.name}` is not the name of a file")
        if _release(file.name, pin.name) != text.version(pin.version):
            raise ValueError(f"`{file.name}` is not a file of {pin.name} {pin.version}")
    _require_variables(pin.env)
    if pin.git is not None:
        _require_git(pin.git)


def _release(filename: str, project: str) -> Version | None:
    """The version in a file name of a project; None if it has none or is a file of another project."""
    if filename.endswith(".whl"):
        distribution, version = (wheel_parts(filename) or ("", ""))[:2]
        return text.version(version) if text.name(distribution) == project else None
    return text.version(archive_version(filename, NormalizedName(project)) or "")


def _require_version(version: str, name: str) -> None:
    _match(_VERSION, version, f"the version of `{name}`")
    if text.version(version) is None:
        raise ValueError(f"`{version}` of `{name}` is not a version")


def _require_git(git: LockedGit) -> None:
    repository.repository(git.url)
    repository.commit(git.commit)
    paths = [git.subdirectory, *(path for step in git.steps for path in (step.move, step.to, step.in_, step.wheels))]
    for path in filter(None, paths):
        repository.inside(path)
    for one in git.submodules:
        repository.inside(one.path)
        repository.repository(one.url)
        repository.commit(one.commit)


def _require_stages(lock: Lock) -> None:
    known = {pin.name: pin for pin in lock.pin}
    staged = Counter(name for stage in lock.stage for name in stage.pins)
    for name in known.keys() - staged.keys():
        raise ValueError(f"`{name}` is in no stage")
    for name, times in staged.items():
        if name not in known:
            raise ValueError(f"a stage names `{name}`, which is not a pin")
        if times > 1:
            raise ValueError(f"`{name}` is in {times} stages")
    for number, stage in enumerate(lock.stage, 1):
        if not stage.pins:
            raise ValueError(f"stage {number} has no pins")
        for name in stage.pins:
            if known[name].mode != stage.mode:
                raise ValueError(f"`{name}` is {known[name].mode}, and in a stage that is {stage.mode}")
        if len(stage.pins) > 1 and any(known[name].git is not None for name in stage.pins):
            raise ValueError(f"stage {number} has more than the one pin that comes from git")


def _require_messages(lock: Lock) -> None:
    for one in (*lock.all_warnings, *lock.notes, *(why for stage in lock.stage for why in stage.because)):
        try:
            translate(one, "en")
        except (KeyError, IndexError):
            raise ValueError(f"there is no message `{one.code}` with these values") from None


def _require_indexes(lock: Lock) -> None:
    known = Counter(index.name for index in lock.index)
    for name, times in known.items():
        if times > 1:
            raise ValueError(f"`{name}` is an index {times} times")
    for pin in (*lock.pin, *lock.build_pin):
        if pin.git is None and pin.index not in known:
            raise ValueError(f"`{pin.name}` is from `{pin.index}`, which is not an index of the lock")


def _projects(lock: Lock) -> Iterator[str]:
    for pin in (*lock.pin, *lock.build_pin):
        yield from (
            *pin.extras,
            *pin.needs,
            *(name for name, _ in pin.reasons(build=True)),
            *pin.builds,
            *(pin.git.rewrites if pin.git is not None else ()),
        )
    yield from lock.asked_for
    yield from (row.name for row in lock.absent)
    yield from (row.package for row in lock.override)
    yield from (name for row in lock.passed_over for name in (row.project, row.archive_of))


def _shown(lock: Lock) -> Iterator[str]:
    """The texts that scripts contain unchanged."""
    yield from (part for index in lock.index for part in (index.name, index.url))
    for pin in lock.pin:
        for step in pin.git.steps if pin.git is not None else ():
            yield from (step.comment, *step.run)


def _require_variables(env: Mapping[str, str]) -> None:
    for name, value in env.items():
        if not (name.isidentifier() and name.isascii()):
            raise ValueError(f"`{name}` is not the name of an environment variable")
        if not value.isprintable():
            raise ValueError(f"the value of `{name}` has characters that do not print")


def _match(form: re.Pattern[str], value: str, what: str) -> None:
    if form.fullmatch(value) is None:
        raise ValueError(f"`{value}` is not {what}")
