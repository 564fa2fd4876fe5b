"""Read and write `lock.toml`, and refuse a file that this program could not have written.

A lock may have been edited or merged by hand, and scripts that a user runs are made from it.
"""

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
from resolver.lock.former_formats import in_this_format
from resolver.model import patterns, repository, text
from resolver.model.as_of import read_as_of
from resolver.model.lock import Lock, LockedGit, LockedPin
from resolver.model.requirement import written_comparisons
from resolver.phrase import Phrase, cause, phrase

NAME = "lock.toml"


# A place in a file: `FILE:LINE`.
_PLACE = re.compile(r".+:\d{1,9}")
# A line that git writes into a file with a conflict of a merge.
_MERGE_MARKER = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)

# Characters that TOML allows unescaped, but that terminals act on or do not show: C1 control
# characters, directional marks, and so on. They are escaped in a lock.
_INVISIBLE = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)

_HEADER = """\
# A lock: what was decided for one stack on one target, every file by sha256.
# Written by `ascend-lock lock`; requirements.txt, install.sh and report.md are
# made from it. Change the stack or the facts instead of this file.

"""


def dump(lock: Lock) -> str:
    """Return the text of the lock.toml of a lock."""
    content = tomli_w.dumps(_without_empty(msgspec.to_builtins(lock)), multiline_strings=False)
    return _HEADER + _INVISIBLE.sub(lambda match: f"\\U{ord(match[0]):08X}", content)


def read_own(folder: Path) -> Lock | None:
    """Return the lock in a folder …/<stack>/<target>; None if there is none.

    Raises InputError if it cannot be read, or if it is the lock of another stack or target than
    those in the path of the folder.
    """
    lock = read(folder)
    if lock is not None and (lock.stack, lock.target.name) != (folder.parent.name, folder.name):
        raise _unreadable(
            folder,
            phrase(
                "it is the lock of {stack} for {target}", stack=lock.stack, target=lock.target.name
            ),
        )
    return lock


def read(folder: Path) -> Lock | None:
    """Return the lock in a folder; None if there is none.

    Raises InputError if it cannot be read, or is invalid.
    """
    try:
        return parse(files.read_text(folder / NAME, toml.LOCK.characters), folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        hint = phrase(
            "move what is there out of the way, or choose another folder with --locks DIR"
        )
        subject = phrase("the lock cannot be read")
        raise files.input_error(error, subject, folder / NAME, hint) from None
    except ValueError as error:
        # The file is not UTF-8.
        raise _unreadable(folder, cause(error)) from None


def parse(content: str, folder: Path) -> Lock:
    """Return the lock in the text of a lock.toml. A lock in an earlier format is converted.

    `folder` is the folder of the file, which an error names. Raises InputError if it is invalid.
    """
    try:
        raw = toml.loads(content, toml.LOCK)
        lock = msgspec.convert(in_this_format(raw), Lock, strict=True)
        _require_sound(lock)
        return lock
    # The exceptions of parsing TOML, of msgspec, and of converting a damaged lock of an old format.
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, toml.DecodeError) and _MERGE_MARKER.search(content):
            checkout = f"git checkout --ours -- {shlex.quote(str(folder))}"
            raise InputError(
                phrase("the lock has the conflict markers of a merge"),
                where=str(folder / NAME),
                hint=phrase(
                    "{command}, then lock again: pins that still fit are kept", command=checkout
                ),
            ) from None
        raise _unreadable(folder, cause(error)) from None


def _unreadable(folder: Path, why: Phrase) -> InputError:
    """Return the error for a lock that cannot be read."""
    hint = phrase("restore it from version control, or lock with --upgrade, which ignores it")
    return InputError(
        phrase("the lock cannot be read"), where=str(folder / NAME), why=why, hint=hint
    )


def parse_cutoff(written: str) -> dt.datetime:
    """Return the cut-off (`exclude-newer`) that a lock or report has, from its text in ISO 8601.

    Raises ValueError if it is invalid or has no time zone.
    """
    value = dt.datetime.fromisoformat(written)
    if value.tzinfo is None:
        raise ValueError(phrase("`{text}` names no time zone", text=written))
    return cutoff_moment(value)


def _require_sound(lock: Lock) -> None:
    """Raise ValueError, with the reason, if a lock is incomplete or inconsistent.

    Before, msgspec has compared each text with the pattern that `model.lock` has for its field.
    Here are the rules that concern several fields, or that a pattern cannot express.
    """
    pins = (*lock.pin, *lock.build_pin)
    if lock.exclude_newer:
        parse_cutoff(lock.exclude_newer)
    _require_days(lock)
    for line in lock.requires:
        text.requirement(line)
    for pin in pins:
        for line in pin.lines:
            text.requirement(line)
        _require_pin(pin)
    _require_unique((pin.name for pin in lock.pin), phrase("a pin"))
    for environment in lock.build_environments():
        _require_unique((pin.name for pin in environment), phrase("a build-pin"))
    _require_stages(lock)
    for pin in pins:
        _require_version(pin.version)
    for skipped in lock.skipped:
        _require_version(skipped.version)
        _require_version(skipped.archive_version)
    _require_indexes(lock)
    _require_messages(lock)
    _require_facts(lock)
    _require_variables(lock)
    _require_printable(lock)


def _require_version(version: str) -> None:
    """Raise ValueError for a text that is not a version (PEP 440)."""
    if text.version(version) is None:
        raise ValueError(phrase("`{version}` is not a version", version=version))


def _require_indexes(lock: Lock) -> None:
    """Raise ValueError if a pin is from an index that the lock does not list exactly once."""
    indexes = _require_unique((index.name for index in lock.index), phrase("an index"))
    for pin in (*lock.pin, *lock.build_pin):
        if pin.git is None and pin.index not in indexes:
            raise ValueError(
                phrase(
                    "`{name}` is from `{index}`, which is not an index of the lock",
                    name=pin.name,
                    index=pin.index,
                )
            )


def _require_messages(lock: Lock) -> None:
    """Raise ValueError for a message whose code or values this program does not know."""
    messages = [*lock.all_warnings, *lock.notes]
    for stage in lock.stage:
        messages += stage.because
    for message in messages:
        try:
            translate(message, "en")
        except (KeyError, IndexError):
            raise ValueError(
                phrase("there is no message `{code}` with these values", code=message.code)
            ) from None


def _require_facts(lock: Lock) -> None:
    """Raise ValueError if something in the lock rests on a fact that the lock does not have.

    Also raise it for a fact with an invalid date, and for a requirement on the driver that cannot
    be checked.
    """
    for fact in lock.fact:
        dt.date.fromisoformat(fact.checked)
    ids = {fact.id for fact in lock.fact}
    exact = {component.name for component in lock.target.components if not component.minimum}
    for driver in lock.driver:
        if driver.fact not in ids and not _PLACE.fullmatch(driver.fact):
            subject = phrase("what {name} requires of the driver", name=driver.by)
            raise ValueError(
                phrase(
                    "{statement} rests on `{fact}`, which is no fact here",
                    statement=subject,
                    fact=driver.fact,
                )
            )
        for line in driver.needs:
            written = written_comparisons(line)
            if written is None or written.component in exact:
                raise ValueError(phrase("`{line}` states nothing about the driver", line=line))
    for optional in lock.optional:
        if optional.fact not in ids:
            subject = phrase("what is optional of {name}", name=optional.package)
            raise ValueError(
                phrase(
                    "{statement} rests on `{fact}`, which is no fact here",
                    statement=subject,
                    fact=optional.fact,
                )
            )


def _require_variables(lock: Lock) -> None:
    """Raise ValueError for an environment variable that facts and stacks are not allowed to set."""
    names = [*lock.import_env, *(export.name for export in lock.export)]
    for name in names:
        if not patterns.VARIABLE.matches(name):
            raise ValueError(
                phrase(
                    "`{name}` is not {description}",
                    name=name,
                    description=patterns.VARIABLE.description,
                )
            )
    for pin in (*lock.pin, *lock.build_pin):
        for name in pin.env:
            if not patterns.BUILD_VARIABLE.matches(name):
                raise ValueError(
                    phrase(
                        "`{name}` is not {description}",
                        name=name,
                        description=patterns.BUILD_VARIABLE.description,
                    )
                )


def _require_printable(lock: Lock) -> None:
    """Raise ValueError for characters that do not print, in texts that are written into scripts."""
    texts: list[str] = []
    for index in lock.index:
        texts += (index.name, index.url)
    texts += lock.import_env.values()
    for pin in (*lock.pin, *lock.build_pin):
        texts += pin.env.values()
    texts += (export.value for export in lock.export)
    for pin in lock.pin:
        for step in pin.git.steps if pin.git is not None else ():
            texts += (step.comment, *step.run)
    for value in texts:
        if not value.isprintable():
            raise ValueError(phrase("`{value}` has characters that do not print", value=value))


def _require_days(lock: Lock) -> None:
    """Raise ValueError for an invalid date of the lock, or of a pin that appeared after it."""
    read_as_of(lock.as_of.policy)
    if lock.as_of.latest is not None:
        dt.date.fromisoformat(lock.as_of.latest.day)
    if lock.as_of.day:
        dt.date.fromisoformat(lock.as_of.day)
    for newer in lock.newer:
        dt.date.fromisoformat(newer.day)
        _require_version(newer.version)


def _require_pin(pin: LockedPin) -> None:
    """Raise ValueError for a pin that has neither files nor a commit, or both, or a wrong file.

    A file is wrong if its name is not safe, or names another release or another variant.
    """
    if not pin.file and pin.git is None:
        raise ValueError(phrase("`{name}` has no file", name=pin.name))
    if pin.git is not None and (pin.file or pin.index):
        raise ValueError(phrase("`{name}` is from git, and from an index as well", name=pin.name))
    label = pin.variant.label if pin.variant is not None else ""
    for file in pin.file:
        if not is_readable(file.name) or file.name.startswith((".", "-")):
            raise ValueError(phrase("`{name}` is not the name of a file", name=file.name))
        if label_of(file.name) != label:
            raise ValueError(
                phrase(
                    "`{name}` is not of the variant that `{pin}` is locked in",
                    name=file.name,
                    pin=pin.name,
                )
            )
        if _version_in(file.name, pin.name) != text.version(pin.version):
            raise ValueError(
                phrase(
                    "`{name}` is not a file of {pin} {version}",
                    name=file.name,
                    pin=pin.name,
                    version=pin.version,
                )
            )
    if pin.git is not None:
        _require_git(pin.git)


def _require_git(git: LockedGit) -> None:
    """Raise ValueError for a path outside of the checkout, or an invalid address or commit."""
    paths = [git.subdirectory]
    for step in git.steps:
        paths += (step.move, step.to, step.in_, step.wheels)
    for path in paths:
        if path:
            repository.inside(path)
    for submodule in git.submodules:
        repository.inside(submodule.path)
    for url, commit in git.commits:
        repository.repository(url)
        repository.commit(commit)


def _version_in(filename: str, project: str) -> Version | None:
    """Return the version in a file name; None if it has no version, or names another project."""
    if not filename.endswith(".whl"):
        return text.version(archive_version(filename, NormalizedName(project)) or "")
    parts = wheel_parts(filename)
    if parts is None or text.name(parts[0]) != project:
        return None
    return text.version(parts[1])


def _require_stages(lock: Lock) -> None:
    """Raise ValueError unless each pin is in exactly one stage, which has the mode of the pin.

    A stage must not be empty, and a pin from git must be alone in its stage.
    """
    pins = {pin.name: pin for pin in lock.pin}
    names: list[str] = []
    for stage in lock.stage:
        names += stage.pins
    staged = _require_unique(names, phrase("in a stage"))
    for name in pins.keys() - staged:
        raise ValueError(phrase("`{name}` is in no stage", name=name))
    for name in staged - pins.keys():
        raise ValueError(phrase("a stage names `{name}`, which is not a pin", name=name))
    for number, stage in enumerate(lock.stage, 1):
        if not stage.pins:
            raise ValueError(phrase("stage {number} has no pins", number=number))
        for name in stage.pins:
            pin = pins[name]
            if pin.mode != stage.mode:
                raise ValueError(
                    phrase(
                        "`{name}` is {mode}, and in a stage that is {stage}",
                        name=name,
                        mode=pin.mode,
                        stage=stage.mode,
                    )
                )
            if pin.git is not None and len(stage.pins) > 1:
                raise ValueError(
                    phrase(
                        "stage {number} has more than the one pin that comes from git",
                        number=number,
                    )
                )


def _require_unique(names: Iterable[str], subject: Phrase) -> Set[str]:
    """Return the set of these names. Raises ValueError if a name occurs more than once.

    `subject` says in the error what the names are.
    """
    counts = Counter(names)
    for name, count in counts.items():
        if count > 1:
            raise ValueError(
                phrase("`{name}` is {place} {count} times", name=name, place=subject, count=count)
            )
    return counts.keys()


# Keys that lock.toml has even if their values are empty.
_ALWAYS = frozenset(("index", "stage", "pin", "pins", "requires"))


def _without_empty(value: Any) -> Any:
    """Return a value for TOML without keys whose values are None or empty, at all depths.

    TOML has no None. msgspec omits defaults by comparing identity, and whether two empty tuples are
    the same object depends on the version of Python, which a lock must not depend on. Keys keep
    their order.
    """
    if isinstance(value, (list, tuple)):
        return [_without_empty(element) for element in value]
    if not isinstance(value, dict):
        return value
    kept: dict[str, Any] = {}
    for key, inner in value.items():
        is_empty = inner is None or (inner in ([], {}, ()) and key not in _ALWAYS)
        if not is_empty:
            kept[key] = _without_empty(inner)
    return kept
