"""Whether a lock that was read could have been written by us: scripts are made from it, and it may have been edited."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Set

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.config.decode import cutoff as moment
from resolver.i18n import translate
from resolver.index.parse.distribution import archive_version, is_readable, wheel_parts
from resolver.model import repository, text
from resolver.model.lock import Lock, LockedPin
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
    target, pins = lock.target, (*lock.pin, *lock.build_pin)
    require_names(lock.stack, target.name, target.platform, target.python)
    _match(_GLIBC, target.glibc, "the target's glibc")
    for component, value in target.system.items():
        parse_value(component, value)
    _match(_SHA256, lock.inputs, "the digest of the inputs")
    if lock.exclude_newer:
        cutoff(lock.exclude_newer)
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
    projects = [*lock.asked_for, *(row.name for row in lock.absent), *(row.package for row in lock.override)]
    projects += [name for row in lock.passed_over for name in (row.project, row.archive_of)]
    for name in projects:
        _match(_PROJECT, name, "the name of a project")
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
    texts = [part for index in lock.index for part in (index.name, index.url)]  # which scripts contain unchanged
    steps = [step for pin in lock.pin if pin.git is not None for step in pin.git.steps]
    for shown in (*texts, *(part for step in steps for part in (step.comment, *step.run))):
        if not shown.isprintable():
            raise ValueError(f"`{shown}` has characters that do not print")
    for module in lock.imports:
        _match(_MODULE, module, "the name of a module")
    _require_variables(lock.import_env)
    _require_variables({row.name: row.value for row in lock.export})


def cutoff(written: str) -> dt.datetime:
    """The cut-off that a lock or a report names. Raises ValueError if it is not valid."""
    value = dt.datetime.fromisoformat(written)
    if value.tzinfo is None:
        raise ValueError(f"`{written}` names no time zone")
    return moment(value)


def require_names(stack: str, target: str, platform: str, python: str) -> None:
    """Raise ValueError unless these can be the names, the platform and the Python of a lock."""
    _match(_FOLDER, stack, "the name of the stack")
    _match(_FOLDER, target, "the name of the target")
    _match(_PYTHON, python, "the target's Python")
    if platform not in PLATFORMS:
        raise ValueError(f"`{platform}` is not a platform")


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
    git = pin.git
    reasons = (name for name, _ in pin.reasons(build=True))
    for name in (*pin.extras, *pin.needs, *reasons, *pin.builds, *(git.rewrites if git is not None else ())):
        _match(_PROJECT, name, "the name of a project")
    if git is None:
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
    _match(_VERSION, version, f"the version of `{name}`")
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


def _require_variables(env: Mapping[str, str]) -> None:
    for name, value in env.items():
        if not (name.isidentifier() and name.isascii()):
            raise ValueError(f"`{name}` is not the name of an environment variable")
        if not value.isprintable():
            raise ValueError(f"the value of `{name}` has characters that do not print")


def _match(form: re.Pattern[str], value: str, what: str) -> None:
    if form.fullmatch(value) is None:
        raise ValueError(f"`{value}` is not {what}")
