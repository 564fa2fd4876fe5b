"""Write requirements files, with version and hash of every pin, for `pip --require-hashes`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from resolver.index.parse.distribution import plain_name
from resolver.model.lock import Lock, LockedGit, LockedPin, LockedStage, LockedVariant
from resolver.model.message import Message, joined, message
from resolver.report.document import one_line

FILE = "requirements.txt"
NO_DEPS_FILE = "requirements-no-deps.txt"
BUILD_FILE = "build-requirements.txt"
STAGES = "stages"
# How many projects the title of a stage names.
_NAMED = 3
# Matches the name of an index if it can be part of a file name.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,60}\Z")


class RequirementsFile(NamedTuple):
    """A requirements file, whose pins are all from one index."""

    # The path, relative to the folder of the lock.
    path: str
    # The pins, at least one. A variant of a wheel has a file of its own.
    pins: list[LockedPin]
    # Comments that say which index the file is for, and where the other pins are.
    remarks: list[str]

    @property
    def index_name(self) -> str:
        """Return the name of the index that the pins are from."""
        return self.pins[0].index

    @property
    def is_of_variant(self) -> bool:
        """Return whether the file is for a variant of a wheel (PEP 825)."""
        return self.pins[0].variant is not None


def by_hash(lock: Lock) -> tuple[LockedPin, ...]:
    """Return the pins that an installer can install by name and hash."""
    from_index = [pin for pin in lock.pin if pin.git is None and pin.variant is None]
    return tuple(pin for pin in from_index if pin.mode != "built-here")


def by_script(lock: Lock) -> tuple[LockedPin, ...]:
    """Return the pins that only install.sh can build: from git, or in the environment itself."""
    return tuple(pin for pin in lock.pin if pin.mode == "built-here" or pin.git is not None)


def variants(lock: Lock) -> tuple[LockedPin, ...]:
    """Return the pins that are variants of wheels (PEP 825).

    pip refuses their file names, so install.sh renames the files.
    """
    return tuple(pin for pin in lock.pin if pin.variant is not None)


def requirements(lock: Lock) -> str:
    """Return the text of requirements.txt: everything that pip can install by name and hash."""
    pins = by_hash(lock)
    built = by_script(lock)
    renamed = variants(lock)
    lines = [*_title(lock), *_commands(lock, pins)]
    unmet = lock.unmet
    if unmet and all(map(lock.is_overridden, unmet)):
        why = "overrides of the stack go against what pip would insist on; see report.md"
    elif unmet:
        why = "requirements were removed that pip would insist on; see report.md"
    elif built or renamed:
        why = "pip would ask for what is left out here"
    else:
        why = "nothing is left to choose, and some releases of pip choose nevertheless"
    lines.append(f"# (--no-deps, because {why})")
    apart = [pin.name for pin in pins if pin.mode == "built-apart"]
    if apart:
        archives = f"# {', '.join(apart)}: source archives."
        lines += [
            f"{archives} pip would build them with whatever tools it finds that day;",
            f"# install.sh builds them with the pinned tools of {BUILD_FILE}.",
        ]
    if built:
        lines.append(f"# {', '.join(pin.name for pin in built)}: see {NO_DEPS_FILE}.")
    paths = stage_file_by_pin(lock)
    for pin in renamed:
        lines += [
            f"# {pin.name}: a variant of a wheel, {pin.file[0].name}. pip refuses this name;",
            f"# install.sh installs it, and {paths[pin.name]} says how to do so by hand.",
        ]
    for absent in lock.absent:
        lines.append(f"# {absent.name} must not be installed: {one_line(absent.reason)}")
    return "\n".join([*lines, "", *pin_lines(pins, via=_via(lock)), ""])


def _via(lock: Lock) -> dict[str, list[str]]:
    """Return what requires each pin, in the form of pip-compile: the stack's file and projects."""
    via = lock.needed_by()
    for name in lock.requested_projects:
        via[name] = [f"-r {lock.stack}.toml", *via.get(name, [])]
    return via


def no_deps(lock: Lock) -> str | None:
    """Return the text of requirements-no-deps.txt; None if the lock has no such pins.

    These are pins that are built from source in the environment itself. They must be installed
    without dependencies. Pins from git are described in comments, as pip cannot check hashes of
    repositories.
    """
    built = by_script(lock)
    if not built:
        return None
    archives = [pin for pin in built if pin.git is None]
    lines = _title(lock)
    lines.append(
        f"# To be installed after everything in {FILE}, each with its environment variables:"
    )
    for pin in archives:
        file = NO_DEPS_FILE if len(archives) == 1 else stage_file_by_pin(lock)[pin.name]
        lines += _from_archive(lock, pin, file)
    for pin in built:
        if pin.git is not None:
            lines += _from_git(pin, pin.git)
    return "\n".join([*lines, "", *pin_lines(archives, via=_via(lock)), ""])


def _from_archive(lock: Lock, pin: LockedPin, file: str) -> Iterator[str]:
    """Yield comments that say how to build a source archive by hand.

    `file` is the requirements file with its hash.
    """
    variables = " ".join(_assignments(pin))
    install = f"#   {variables} pip install --no-deps --no-build-isolation --no-cache-dir"
    if pin.label:
        version = f"{pin.version}+{pin.label}"
        yield (
            f"# {pin.name} calls itself {version}, so pip installs it only by path "
            "(and then does not"
        )
        yield "# check the hash; compare it first, as install.sh does):"
        yield f"{install} ./{pin.file[0].name}"
    else:
        index = _index_option(lock, pin.index)
        yield f"{install} {index}--no-binary {pin.name} --require-hashes -r {file}"


def _assignments(pin: LockedPin) -> list[str]:
    """Return the environment variables of a build as words of a shell."""
    return [f"{key}={shlex.quote(pin.env[key])}" for key in sorted(pin.env)]


def _from_git(pin: LockedPin, git: LockedGit) -> Iterator[str]:
    """Yield comments that say how to build a pin from git by hand."""
    ref = f" ({one_line(git.ref)})" if git.ref else ""
    yield f"# {pin.name} {pin.version} comes from git{ref}, which a file of hashes cannot contain;"
    yield "# install.sh checks the commit and builds it with the pinned tools. By hand:"
    variables = "".join(f"{assignment} " for assignment in _assignments(pin))
    install = f"#   {variables}pip install --no-deps"
    if pin.mode == "built-here":
        install += " --no-build-isolation"
    if git.editable:
        install += " -e"
    if not git.steps:
        # The pip bundled with Python 3.10 and 3.11 does not accept `name @ address` after -e.
        place = f"&subdirectory={git.subdirectory}" if git.subdirectory else ""
        address = f"git+{git.url}@{git.commit}#egg={pin.name}{place}"
        yield f"{install} {shlex.quote(address)}"
        return
    yield f"#   {git.url} at {git.commit}, then in its folder"
    for submodule in git.submodules:
        yield f"#   {submodule.url} at {submodule.commit} in {one_line(submodule.path)}"
    for step in git.steps:
        if step.move:
            yield f"#   mv {shlex.quote(step.move)} {shlex.quote(step.to)}"
        elif step.comment:
            lines = f"lines of {one_line(step.in_)} that match {one_line(step.comment)}"
            yield f"#   comment out the {lines}"
        else:
            yield f"#   {variables}{one_line(shlex.join(step.run))}"
            if step.wheels:
                yield f"#   pip install --no-deps {one_line(step.wheels)}"
    if not any(step.wheels for step in git.steps):
        yield f"{install} ./{one_line(git.subdirectory)}"


def environments(lock: Lock) -> Iterator[tuple[str, tuple[LockedPin, ...]]]:
    """Yield each separate build environment: the path of its requirements file, and its pins."""
    for number, tools in enumerate(lock.build_environments(), 1):
        yield BUILD_FILE if number == 1 else BUILD_FILE.replace(".txt", f"-{number}.txt"), tools


def build_requirements(lock: Lock) -> dict[str, str]:
    """Return the requirements files of all build environments: relative path -> text."""
    files = {}
    built_apart = [pin.name for pin in lock.pin if pin.mode == "built-apart"]
    for path, tools in environments(lock):
        names = ", ".join(tools[0].builds or built_apart)
        title = f"# Build requirements of {names}, for a separate environment (install.sh)."
        for file in files_by_index(lock, path, tools):
            lines = [*_title(lock), title, *file.remarks, "", *pin_lines(file.pins), ""]
            files[file.path] = "\n".join(lines)
    return files


def files_by_index(
    lock: Lock, path: str, pins: Collection[LockedPin]
) -> Iterator[RequirementsFile]:
    """Yield the files into which a requirements file is divided, one for each index.

    So pip asks no index for a project that is bound to another. The first file has this `path`. The
    others are in the folder `stages`, named after the first and their index.
    """
    urls = {index.name: index.url for index in lock.index}
    plain = [pin for pin in pins if pin.variant is None]
    names = sorted({pin.index for pin in plain})
    # pip's own index, which has no address, comes first.
    names.sort(key=lambda name: bool(urls.get(name)))
    groups = [[pin for pin in plain if pin.index == name] for name in names]
    # Each variant has a file of its own, as install.sh fetches the wheel.
    groups += [[pin] for pin in pins if pin.variant is not None]
    paths = [path]
    for number, group in enumerate(groups[1:], 2):
        paths.append(_further_path(path, group[0], number))
    for file, group in zip(paths, groups, strict=False):
        index = group[0].index
        remarks: list[str] = []
        if len(groups) > 1 or urls.get(index):
            remarks.append(f"# From the index `{one_line(index)}` only.")
        remarks += [f"# The rest is in {other}." for other in paths if other != file]
        for pin in group:
            if pin.variant is not None:
                remarks += _of_variant(pin, pin.variant, file)
        yield RequirementsFile(file, group, remarks)


def _of_variant(pin: LockedPin, variant: LockedVariant, path: str) -> Iterator[str]:
    """Yield comments about a variant of a wheel.

    install.sh reads the first one, to compare it with what is installed.
    """
    name = pin.file[0].name
    properties = ", ".join(variant.properties) or "null"
    install = "pip install --no-deps --force-reinstall --no-index --find-links plain"
    yield f"# {pin.name}=={pin.version} is the variant {variant.label}: {properties}"
    yield f"# pip refuses its name, {name}. By hand, with the file in this folder:"
    yield f"#   mkdir plain && cp {name} plain/{plain_name(name)}"
    yield f"#   {install} --require-hashes -r {path}"


def _further_path(path: str, pin: LockedPin, number: int) -> str:
    """Return the path of a further file, given the first of its pins and its number."""
    stem = PurePosixPath(path).stem
    if pin.variant is not None:
        return f"{STAGES}/{stem}.variant-{number}.txt"
    if _PLAIN.match(pin.index):
        return f"{STAGES}/{stem}.{pin.index}.txt"
    return f"{STAGES}/{stem}-{number}.txt"


def _commands(lock: Lock, pins: Iterable[LockedPin]) -> list[str]:
    """Return comments with the commands that install these pins, one command for each index.

    If one command named several indexes, pip would ask each of them for every project. So with
    several indexes, each command takes its pins from files of the stages.
    """
    paths = stage_file_by_pin(lock)
    files: dict[str, set[str]] = {}
    for pin in pins:
        files.setdefault(pin.index, set()).add(paths[pin.name])
    if len(files) == 1:
        files = {name: {FILE} for name in files}
    options = {name: _index_option(lock, name) for name in sorted(files)}
    commands = []
    # pip's own index, which needs no option, comes first.
    for name in sorted(options, key=lambda name: options[name] != ""):
        requirements_files = " ".join(f"-r {path}" for path in sorted(files[name]))
        install = f"pip install --no-deps {options[name]}--require-hashes"
        commands.append(f"#   {install} {requirements_files}")
    return commands


def _index_option(lock: Lock, name: str) -> str:
    """Return pip's option for an index, with a space after it; empty for pip's own index."""
    for index in lock.index:
        if index.name == name and index.url:
            return f"--index-url {shlex.quote(index.url)} "
    return ""


def stage_file_by_pin(lock: Lock) -> dict[str, str]:
    """Return, for each pin, the requirements file of its stage that it is in."""
    paths = {}
    for number, stage in enumerate(lock.stage, 1):
        for file in stage_files(lock, number, stage):
            for pin in file.pins:
                paths[pin.name] = file.path
    return paths


def stage_files(lock: Lock, number: int, stage: LockedStage) -> list[RequirementsFile]:
    """Return the requirements files of a stage. Stages are numbered from 1."""
    return list(files_by_index(lock, f"{STAGES}/{number}.txt", lock.pins_of(stage)))


def pin_lines(
    pins: Iterable[LockedPin],
    *,
    labelled: bool = False,
    via: Mapping[str, Sequence[str]] | None = None,
) -> list[str]:
    """Return pins as lines of a requirements file, in the form of pip-compile.

    With `labelled`, a version has the local label that a build gives itself. `via` says what
    requires each pin; it becomes a comment.
    """
    lines = []
    for pin in pins:
        version = f"{pin.version}+{pin.label}" if labelled and pin.label else pin.version
        digests = sorted({file.sha256 for file in pin.file})
        hashes = [f"--hash=sha256:{digest}" for digest in digests]
        lines.append(" \\\n    ".join([f"{pin.name}=={version}", *hashes]))
        names = via.get(pin.name, ()) if via is not None else ()
        if len(names) == 1:
            lines.append(f"    # via {names[0]}")
        elif names:
            lines.append("    # via")
            lines += [f"    #   {name}" for name in names]
    return lines


def stage_title(lock: Lock, stage: LockedStage) -> Message:
    """Return the title of a stage: contents it installs, and how."""
    if len(stage.pins) <= _NAMED:
        contents = joined("comma", stage.pins, last="and")
    else:
        contents = message("stage.distributions", count=len(stage.pins))
    if lock.pins_of(stage)[0].git is not None:
        return message("stage.git", names=contents)
    return contents if stage.mode == "wheels" else message(f"stage.{stage.mode}", names=contents)


def _title(lock: Lock) -> list[str]:
    """Return the comments at the top of each file."""
    return [
        f"# {one_line(lock.title)}",
        "# Made from lock.toml by ascend-lock; do not edit.",
    ]
