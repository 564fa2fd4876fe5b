"""Requirements files: every pin with version and hash, for `pip install --require-hashes`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from resolver.index.parse.distribution import plain_name
from resolver.model.lock import Lock, LockedGit, LockedIndex, LockedPin, LockedStage, LockedVariant
from resolver.model.message import Message, joined, message
from resolver.report.document import one_line

FILE = "requirements.txt"
NO_DEPS_FILE = "requirements-no-deps.txt"
BUILD_FILE = "build-requirements.txt"
STAGES = "stages"
_NAMED = 3  # projects that the title of a stage names
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,60}\Z")


def by_hash(lock: Lock) -> tuple[LockedPin, ...]:
    """The pins that an installer can take by name and hash."""
    return tuple(
        pin
        for pin in lock.pin
        if pin.mode != "built-here" and pin.git is None and pin.variant is None
    )


def by_script(lock: Lock) -> tuple[LockedPin, ...]:
    """The other pins, which install.sh builds; without those that are variants of wheels."""
    return tuple(pin for pin in lock.pin if pin.mode == "built-here" or pin.git is not None)


def variants(lock: Lock) -> tuple[LockedPin, ...]:
    """Return the pins that are variants of wheels (PEP 825), whose names pip refuses: install.sh renames them."""
    return tuple(pin for pin in lock.pin if pin.variant is not None)


def requirements(lock: Lock) -> str:
    """The file of everything that pip can install by name and hash alone."""
    pins, built = by_hash(lock), by_script(lock)
    apart = [pin.name for pin in pins if pin.mode == "built-apart"]
    lines = [*_title(lock), *_commands(lock, pins)]
    if lock.override:
        lines.append(
            "# (--no-deps, because requirements were removed that pip would insist on; see report.md)"
        )
    elif built or variants(lock):
        lines.append("# (--no-deps, because pip would ask for what is left out here)")
    else:
        lines.append(
            "# (--no-deps, because nothing is left to choose, and some releases of pip choose nevertheless)"
        )
    if apart:
        lines += [
            f"# {', '.join(apart)}: source archives. pip would build them with whatever tools it finds that day;",
            f"# install.sh builds them with the pinned tools of {BUILD_FILE}.",
        ]
    if built:
        lines.append(f"# {', '.join(pin.name for pin in built)}: see {NO_DEPS_FILE}.")
    path_of = stage_file_by_pin(lock) if variants(lock) else {}
    for pin in variants(lock):
        lines.append(
            f"# {pin.name}: a variant of a wheel, {pin.file[0].name}. pip refuses this name;"
        )
        lines.append(
            f"# install.sh installs it, and {path_of[pin.name]} says how to do so by hand."
        )
    for row in lock.absent:
        lines.append(f"# {row.name} must not be installed: {one_line(row.reason)}")
    return "\n".join([*lines, "", *pin_lines(pins, via=_via(lock)), ""])


def _via(lock: Lock) -> dict[str, list[str]]:
    """What requires each pin, as pip-compile writes it: other projects, and the file of the stack."""
    needed = lock.needed_by()
    stack = f"-r {lock.stack}.toml"
    return {
        pin.name: [stack] * (pin.name in lock.requested_projects) + needed.get(pin.name, [])
        for pin in lock.pin
    }


def no_deps(lock: Lock) -> str | None:
    """Source builds that use the environment and must not install their own requirements; None if there are none.

    Git sources are described in comments, as pip's hash mode does not support repositories.
    """
    built = by_script(lock)
    if not built:
        return None
    pins = [pin for pin in built if pin.git is None]
    path_of = stage_file_by_pin(lock)
    lines = [
        *_title(lock),
        f"# To be installed after everything in {FILE}, each with its environment variables:",
    ]
    for pin in pins:
        variables = " ".join(
            f"{key}={shlex.quote(value)}" for key, value in sorted(pin.env.items())
        )
        options = "--no-deps --no-build-isolation --no-cache-dir"
        if pin.label:
            version = f"{pin.version}+{pin.label}"
            lines.append(
                f"# {pin.name} calls itself {version}, so pip installs it only by path (and then does not"
            )
            lines.append("# check the hash; compare it first, as install.sh does):")
        how = f"./{pin.file[0].name}"
        if not pin.label:
            file = NO_DEPS_FILE if len(pins) == 1 else path_of[pin.name]
            how = (
                f"{_index_option(lock, pin.index)}--no-binary {pin.name} --require-hashes -r {file}"
            )
        lines.append(f"#   {variables} pip install {options} {how}")
    for pin in built:
        lines += [] if pin.git is None else _from_git(pin, pin.git)
    return "\n".join([*lines, "", *pin_lines(pins, via=_via(lock)), ""])


def _from_git(pin: LockedPin, git: LockedGit) -> Iterator[str]:
    ref = f" ({one_line(git.ref)})" if git.ref else ""
    yield f"# {pin.name} {pin.version} comes from git{ref}, which a file of hashes cannot contain;"
    yield "# install.sh checks the commit and builds it with the pinned tools. By hand:"
    variables = "".join(f"{key}={shlex.quote(value)} " for key, value in sorted(pin.env.items()))
    options = (
        "--no-deps" + " --no-build-isolation" * (pin.mode == "built-here") + " -e" * git.editable
    )
    if not git.steps:
        # not `name @ address`: the pip bundled with Python 3.10 and 3.11 does not accept that after
        # -e
        place = f"&subdirectory={git.subdirectory}" if git.subdirectory else ""
        address = f"git+{git.url}@{git.commit}#egg={pin.name}{place}"
        yield f"#   {variables}pip install {options} {shlex.quote(address)}"
        return
    yield f"#   {git.url} at {git.commit}, then in its folder"
    for submodule in git.submodules:
        yield f"#   {submodule.url} at {submodule.commit} in {one_line(submodule.path)}"
    for step in git.steps:
        if step.move:
            yield f"#   mv {shlex.quote(step.move)} {shlex.quote(step.to)}"
        elif step.comment:
            yield f"#   comment out the lines of {one_line(step.in_)} that match {one_line(step.comment)}"
        else:
            yield f"#   {variables}{one_line(shlex.join(step.run))}"
            if step.wheels:
                yield f"#   pip install --no-deps {one_line(step.wheels)}"
    if not any(step.wheels for step in git.steps):
        yield f"#   {variables}pip install {options} ./{one_line(git.subdirectory)}"


def environments(lock: Lock) -> Iterator[tuple[str, tuple[LockedPin, ...]]]:
    """The file of each isolated environment in which source archives are built, and its tools."""
    for number, tools in enumerate(lock.build_environments(), 1):
        yield BUILD_FILE if number == 1 else BUILD_FILE.replace(".txt", f"-{number}.txt"), tools


def build_requirements(lock: Lock) -> dict[str, str]:
    """The requirements files of the tools of source archives, and the further files of each."""
    files = {}
    for file, tools in environments(lock):
        names = tools[0].builds or [pin.name for pin in lock.pin if pin.mode == "built-apart"]
        title = (
            f"# Build requirements of {', '.join(names)}, for a separate environment (install.sh)."
        )
        for path, pins, remarks in files_by_index(lock, file, tools):
            files[path] = "\n".join([*_title(lock), title, *remarks, "", *pin_lines(pins), ""])
    return files


def files_by_index(
    lock: Lock, path: str, pins: Collection[LockedPin]
) -> Iterator[tuple[str, list[LockedPin], list[str]]]:
    """The pins of a requirements file by index, so that pip asks no index for what it does not serve.

    Each with the path of its file and the comments that distinguish them. The first has `path`; the
    others are in the folder of the stages, named after it and their index.
    """
    by_name = {index.name: index for index in lock.index}
    plain = [pin for pin in pins if pin.variant is None]
    indexes = [
        by_name.get(name, LockedIndex(name=name)) for name in sorted({pin.index for pin in plain})
    ]
    indexes.sort(key=lambda index: index.url != "")  # pip's own first
    groups = [(index, [pin for pin in plain if pin.index == index.name]) for index in indexes]
    # each variant by itself, as install.sh fetches the file
    groups += [
        (by_name.get(pin.index, LockedIndex(name=pin.index)), [pin])
        for pin in pins
        if pin.variant is not None
    ]
    paths = [
        path,
        *(_further_path(path, *group, number) for number, group in enumerate(groups[1:], 2)),
    ]
    for (index, group), file in zip(groups, paths, strict=False):
        remarks = (
            [f"# From the index `{one_line(index.name)}` only."]
            if len(groups) > 1 or index.url
            else []
        )
        remarks += [
            f"# The rest is in {other}." for other in paths if len(groups) > 1 and other != file
        ]
        remarks += [
            line
            for pin in group
            if pin.variant is not None
            for line in _of_variant(pin, pin.variant, file)
        ]
        yield file, group, remarks


def _of_variant(pin: LockedPin, variant: LockedVariant, path: str) -> Iterator[str]:
    """Yield comments on a variant. install.sh reads the first, to compare what is installed."""
    name = pin.file[0].name
    yield f"# {pin.name}=={pin.version} is the variant {variant.label}: {', '.join(variant.properties) or 'null'}"
    yield f"# pip refuses its name, {name}. By hand, with the file in this folder:"
    yield f"#   mkdir plain && cp {name} plain/{plain_name(name)}"
    yield f"#   pip install --no-deps --force-reinstall --no-index --find-links plain --require-hashes -r {path}"


def _further_path(path: str, index: LockedIndex, pins: Sequence[LockedPin], number: int) -> str:
    if pins[0].variant is not None:
        return f"{STAGES}/{PurePosixPath(path).stem}.variant-{number}.txt"
    name = f".{index.name}" if _PLAIN.match(index.name) else f"-{number}"
    return f"{STAGES}/{PurePosixPath(path).stem}{name}.txt"


def _commands(lock: Lock, pins: Collection[LockedPin]) -> list[str]:
    """Return comments with the commands that install these pins, one for each index.

    With several indexes in one command, pip would ask each of them for every project. So the pins
    of an index are then taken from the files of the stages.
    """
    names = sorted(
        {pin.index for pin in pins}, key=lambda name: _index_option(lock, name) != ""
    )  # pip's own first
    if len(names) <= 1:
        return [_command(lock, name, [FILE]) for name in names]
    files: dict[str, dict[str, None]] = {name: {} for name in names}
    path_of = stage_file_by_pin(lock)
    for pin in pins:
        files[pin.index][path_of[pin.name]] = None
    return [_command(lock, name, sorted(files[name])) for name in names]


def _command(lock: Lock, index: str, paths: Iterable[str]) -> str:
    """Return the comment with the command that installs these requirements files from one index."""
    files = " ".join(f"-r {path}" for path in paths)
    return f"#   pip install --no-deps {_index_option(lock, index)}--require-hashes {files}"


def _index_option(lock: Lock, name: str) -> str:
    """Return the option with an index's address and a space after it; "" for pip's own index."""
    urls = [index.url for index in lock.index if index.name == name and index.url]
    return f"--index-url {shlex.quote(urls[0])} " if urls else ""


def stage_file_by_pin(lock: Lock) -> dict[str, str]:
    """Return the requirements file of each pin among those of the stages."""
    paths = {}
    for number, stage in enumerate(lock.stage, 1):
        for path, group, _ in files_by_index(lock, f"{STAGES}/{number}.txt", lock.pins_of(stage)):
            paths.update({pin.name: path for pin in group})
    return paths


def pin_lines(
    pins: Iterable[LockedPin],
    *,
    labelled: bool = False,
    via: Mapping[str, Sequence[str]] | None = None,
) -> list[str]:
    """Lines of a requirements file, sorted by name like the lock, as pip-compile writes them.

    `labelled`: versions as builds name themselves. `via`: what asks for each pin, for a comment.
    """
    lines = []
    for pin in pins:
        hashes = [
            f"--hash=sha256:{sha256}" for sha256 in sorted({file.sha256 for file in pin.file})
        ]
        version = f"{pin.version}+{pin.label}" if labelled and pin.label else pin.version
        lines.append(" \\\n    ".join([f"{pin.name}=={version}", *hashes]))
        names = (via or {}).get(pin.name, ())
        if len(names) == 1:
            lines.append(f"    # via {names[0]}")
        elif names:
            lines += ["    # via", *(f"    #   {name}" for name in names)]
    return lines


def stage_title(lock: Lock, stage: LockedStage) -> Message:
    """What a stage installs, and how."""
    what = message("stage.distributions", count=len(stage.pins))
    if len(stage.pins) <= _NAMED:
        what = joined("comma", stage.pins, last="and")
    if lock.pins_of(stage)[0].git is not None:
        return message("stage.git", names=what)
    return what if stage.mode == "wheels" else message(f"stage.{stage.mode}", names=what)


def _title(lock: Lock) -> list[str]:
    return [
        f"# {one_line(lock.title)}",
        "# Made from lock.toml by ascend-lock; do not edit.",
    ]
