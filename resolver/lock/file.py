"""Reading and writing `lock.toml`: a file that this program would not have written is refused."""

from __future__ import annotations

import datetime as dt
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Set
from pathlib import Path
from typing import Any

import msgspec
import tomli_w
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver import files, toml
from resolver.config.decode import cutoff_moment
from resolver.errors import InputError
from resolver.i18n import translate
from resolver.index.parse.distribution import archive_version, is_readable, label_of, wheel_parts
from resolver.model import repository, text
from resolver.model.as_of import read_as_of
from resolver.model.lock import FORMAT, Lock, LockedPin
from resolver.model.message import TEXT
from resolver.model.requirement import ComponentRequirement, parse_value

NAME = "lock.toml"

_ASKS = (
    "the stack asks for "  # began the reason for a pin that a line of the stack names, in format 1
)

_PLACE = re.compile(r".+:\d{1,9}")  # file:line
_MARKER = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)

# What TOML allows unescaped although terminals act on it or do not show it: C1, directional marks,
# and so on
_INVISIBLE = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)

_HEADER = """\
# A lock: what was decided for one stack on one target, every file by sha256.
# Written by `ascend-lock lock`; requirements.txt, install.sh and report.md are
# made from it. Change the stack or the facts instead of this file.

"""


def dump(lock: Lock) -> str:
    """The text of lock.toml."""
    content = tomli_w.dumps(_without_empty(msgspec.to_builtins(lock)), multiline_strings=False)
    return _HEADER + _INVISIBLE.sub(lambda match: f"\\U{ord(match[0]):08X}", content)


def read_own(folder: Path) -> Lock | None:
    """The lock in its folder …/<stack>/<target>; None if there is none.

    Raises InputError as `read` does, or if it is the lock of another stack or target.
    """
    lock = read(folder)
    if lock is not None and (lock.stack, lock.target.name) != (folder.parent.name, folder.name):
        raise _unreadable(folder, f"it is the lock of {lock.stack} for {lock.target.name}")
    return lock


def read(folder: Path) -> Lock | None:
    """The lock in a folder; None if there is none. Raises InputError if it cannot be read."""
    try:
        return parse(files.read_text(folder / NAME, toml.LOCK.characters), folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        hint = "move what is there out of the way, or choose another folder with --locks DIR"
        raise files.input_error(error, "the lock cannot be read", folder / NAME, hint) from None
    except ValueError as error:  # not UTF-8
        raise _unreadable(folder, str(error)) from None


def parse(content: str, folder: Path) -> Lock:
    """The lock whose lock.toml, in this folder, has this content.

    Raises InputError if it cannot be read.
    """
    try:
        raw = toml.loads(content, toml.LOCK)
        version = raw.get("format")
        if version == 1:
            raw = _from_format_1(raw)
        elif version != FORMAT:
            raise ValueError(f"it has format {version}, but this program reads {FORMAT}")
        lock = msgspec.convert(raw, Lock, strict=True)
        _require_sound(lock)
        return lock
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:  # also of TOML and msgspec
        if isinstance(error, toml.DecodeError) and _MARKER.search(content):
            hint = f"git checkout --ours -- {shlex.quote(str(folder))}, then lock again: pins that still fit are kept"
            what = "the lock has the conflict markers of a merge"
            raise InputError(what, where=str(folder / NAME), hint=hint) from None
        raise _unreadable(folder, str(error)) from None


def _unreadable(folder: Path, why: str) -> InputError:
    hint = "restore it from version control, or lock with --upgrade, which ignores it"
    return InputError("the lock cannot be read", where=str(folder / NAME), why=why, hint=hint)


def parse_cutoff(written: str) -> dt.datetime:
    """The cut-off that a lock or a report names. Raises ValueError if it is not valid."""
    value = dt.datetime.fromisoformat(written)
    if value.tzinfo is None:
        raise ValueError(f"`{written}` names no time zone")
    return cutoff_moment(value)


def _require_sound(lock: Lock) -> None:
    """Raise ValueError, with the reason, if a lock is incomplete or contains something that no lock has.

    Scripts are made from it, and it may have been edited. msgspec has already compared each text
    with the pattern that `model.lock` gives for it.
    """
    pins = (*lock.pin, *lock.build_pin)
    for component, value in lock.target.system.items():
        parse_value(component, value)
    if lock.exclude_newer:
        parse_cutoff(lock.exclude_newer)
    _require_days(lock)
    for line in (*lock.requires, *(line for pin in pins for line in pin.lines)):
        text.requirement(line)
    for pin in pins:
        _require_pin(pin)
    _require_unique((pin.name for pin in lock.pin), "a pin")
    for environment in lock.build_environments():
        _require_unique((pin.name for pin in environment), "a build-pin")
    _require_stages(lock)
    for version in (
        *(pin.version for pin in pins),
        *(v for row in lock.skipped for v in (row.version, row.archive_version)),
    ):
        if text.version(version) is None:
            raise ValueError(f"`{version}` is not a version")
    indexes = _require_unique((index.name for index in lock.index), "an index")
    for pin in pins:
        if pin.git is None and pin.index not in indexes:
            raise ValueError(
                f"`{pin.name}` is from `{pin.index}`, which is not an index of the lock"
            )
    for message in (
        *lock.all_warnings,
        *lock.notes,
        *(why for stage in lock.stage for why in stage.because),
    ):
        try:
            translate(message, "en")
        except (KeyError, IndexError):
            raise ValueError(f"there is no message `{message.code}` with these values") from None
    facts = {fact.id: dt.date.fromisoformat(fact.checked) for fact in lock.fact}
    for driver in lock.driver:
        if driver.fact not in facts and not _PLACE.fullmatch(driver.fact):
            raise ValueError(
                f"what {driver.by} requires of the driver rests on `{driver.fact}`, which is no fact here"
            )
        for line in driver.needs:
            need = ComponentRequirement.parse(line)
            if need is None or need.component != "hdk":
                raise ValueError(f"`{line}` states nothing about the driver")
    for row in lock.optional:
        if row.fact not in facts:
            raise ValueError(
                f"what is optional of {row.package} rests on `{row.fact}`, which is no fact here"
            )
    in_scripts = [value for index in lock.index for value in (index.name, index.url)]
    in_scripts += [
        value for env in (lock.import_env, *(pin.env for pin in pins)) for value in env.values()
    ]
    in_scripts += [row.value for row in lock.export]
    steps = [step for pin in lock.pin if pin.git is not None for step in pin.git.steps]
    for value in (*in_scripts, *(word for step in steps for word in (step.comment, *step.run))):
        if not value.isprintable():
            raise ValueError(f"`{value}` has characters that do not print")


def _require_days(lock: Lock) -> None:
    """Raise ValueError if what a lock says of its day, or of pins that appeared later, is not what locks say."""
    as_of = lock.as_of
    read_as_of(as_of.policy)
    if as_of.latest is not None:
        dt.date.fromisoformat(as_of.latest.day)
    if as_of.day:
        dt.date.fromisoformat(as_of.day)
    for row in lock.newer:
        dt.date.fromisoformat(row.day)
        if text.version(row.version) is None:
            raise ValueError(f"`{row.version}` is not a version")


def _require_pin(pin: LockedPin) -> None:
    if not pin.file and pin.git is None:
        raise ValueError(f"`{pin.name}` has no file")
    if pin.git is not None and (pin.file or pin.index):
        raise ValueError(f"`{pin.name}` is from git, and from an index as well")
    for file in pin.file:
        if not is_readable(file.name) or file.name.startswith((".", "-")):
            raise ValueError(f"`{file.name}` is not the name of a file")
        if label_of(file.name) != (pin.variant.label if pin.variant is not None else ""):
            raise ValueError(f"`{file.name}` is not of the variant that `{pin.name}` is locked in")
        if _version_in(file.name, pin.name) != text.version(pin.version):
            raise ValueError(f"`{file.name}` is not a file of {pin.name} {pin.version}")
    if (git := pin.git) is None:
        return
    paths = [
        git.subdirectory,
        *(path for step in git.steps for path in (step.move, step.to, step.in_, step.wheels)),
    ]
    for path in (*filter(None, paths), *(row.path for row in git.submodules)):
        repository.inside(path)
    for url, commit in git.commits:
        repository.repository(url)
        repository.commit(commit)


def _version_in(filename: str, project: str) -> Version | None:
    """The version in a file name of a project; None if it has none or is a file of another project."""
    if filename.endswith(".whl"):
        distribution, version = (wheel_parts(filename) or ("", ""))[:2]
        return text.version(version) if text.name(distribution) == project else None
    return text.version(archive_version(filename, NormalizedName(project)) or "")


def _require_stages(lock: Lock) -> None:
    pins = {pin.name: pin for pin in lock.pin}
    staged = _require_unique((name for stage in lock.stage for name in stage.pins), "in a stage")
    for name in pins.keys() - staged:
        raise ValueError(f"`{name}` is in no stage")
    for name in staged - pins.keys():
        raise ValueError(f"a stage names `{name}`, which is not a pin")
    for number, stage in enumerate(lock.stage, 1):
        if not stage.pins:
            raise ValueError(f"stage {number} has no pins")
        for name in stage.pins:
            if pins[name].mode != stage.mode:
                raise ValueError(
                    f"`{name}` is {pins[name].mode}, and in a stage that is {stage.mode}"
                )
        if len(stage.pins) > 1 and any(pins[name].git is not None for name in stage.pins):
            raise ValueError(f"stage {number} has more than the one pin that comes from git")


def _require_unique(names: Iterable[str], what: str) -> Set[str]:
    """The names, none of which may be there twice."""
    counts = Counter(names)
    for name, count in counts.items():
        if count > 1:
            raise ValueError(f"`{name}` is {what} {count} times")
    return counts.keys()


def _from_format_1(raw: dict[str, Any]) -> dict[str, Any]:
    """A lock of format 1, which had sentences in English where there are messages now, or requirements."""
    pins = [{**row, "requires": row.get("needs", [])} for row in raw["pin"]]
    tools = [{**row, "requires": row.get("needs", [])} for row in raw.get("build-pin", [])]
    lines = {why.removeprefix(_ASKS) for row in pins for why in row["why"] if why.startswith(_ASKS)}
    for row in (*pins, *tools):
        if trust := row.get("git", {}).get("trust"):
            row["git"] = {**row["git"], "trust": _text(trust)}
    return {
        **raw,
        "format": FORMAT,
        "requires": sorted(lines),
        "pin": [_without(row, "why", "needs") for row in pins],
        "build-pin": [_without(row, "why", "needs") for row in tools],
        "stage": [
            {**_without(row, "title"), "because": list(map(_text, row.get("because", [])))}
            for row in raw["stage"]
        ],
        "fact": [_without(row, "text-zh") for row in raw.get("fact", [])],
        "warnings": list(map(_text, raw.get("warnings", []))),
        "notes": list(map(_text, raw.get("notes", []))),
    }


def _text(sentence: str) -> dict[str, Any]:
    return {"code": TEXT, "values": {"en": sentence}}


def _without(row: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in keys}


# Tables that a lock has even if they are empty.
_ALWAYS = frozenset(("index", "stage", "pin", "pins", "requires"))


def _without_empty(value: Any) -> Any:
    """The value without None, which TOML does not have, and without empty values; keys keep their order.

    msgspec omits defaults by identity, and whether an empty tuple is *the* empty tuple depends on
    the version of Python. A lock must not depend on that.
    """
    if isinstance(value, dict):
        return {
            key: _without_empty(inner)
            for key, inner in value.items()
            if inner is not None and (key in _ALWAYS or inner not in ([], {}, ()))
        }
    return [_without_empty(inner) for inner in value] if isinstance(value, (list, tuple)) else value
