"""`install.sh`, the lock as a script that a cautious person can review, and `activate.sh`, for a shell after it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from resolver.files import digest, json_text
from resolver.i18n import LANGUAGES, translate
from resolver.index.parse.distribution import plain_name
from resolver.lock.bundle import BundledLock
from resolver.model.lock import (
    Lock,
    LockedExport,
    LockedFact,
    LockedGit,
    LockedPin,
    LockedStage,
    bundle_name,
)
from resolver.model.message import message
from resolver.model.repository import container
from resolver.report.document import one_line
from resolver.report.requirements import (
    STAGES,
    environments,
    files_by_index,
    pin_lines,
    stage_file_by_pin,
    stage_title,
    variants,
)
from resolver.report.template import Raw, render

FILE = "install.sh"
ACTIVATION_FILE = "activate.sh"
_WIDTH = 100
_BUILD = re.compile(r"\.B\d+\Z", re.IGNORECASE)


def stage_files(lock: Lock) -> dict[str, str]:
    """The requirements files of all stages, by relative path: one for each index of a stage."""
    files = {}
    for number, stage in enumerate(lock.stage, 1):
        header = f"# Stage {number} of {lock.stack} for {lock.target.name}: {translate(stage_title(lock, stage), 'en')}"
        for path, pins, remarks in _files(lock, number, stage):
            # install.sh compares an environment with these: the version, and the source and steps
            # it was built from
            sources = [
                f"# {pin.name} @ {pin.git.reference}\n"
                f"{pin.name}=={pin.version}  # source {source_key(pin)}{' editable' if pin.git.editable else ''}"
                for pin in pins
                if pin.git is not None
            ]
            files[path] = "\n".join(
                [header, *remarks, "", *(sources or pin_lines(pins, labelled=True)), ""]
            )
    return files


def _files(
    lock: Lock, number: int, stage: LockedStage
) -> list[tuple[str, list[LockedPin], list[str]]]:
    return list(files_by_index(lock, f"{STAGES}/{number}.txt", lock.pins_of(stage)))


def source_key(pin: LockedPin) -> str:
    """A digest of everything that determines a git pin; install.sh leaves it beside what it installed."""
    assert pin.git is not None  # noqa: S101  only git pins have one
    git = msgspec.structs.replace(pin.git, trust=None, ref="")
    return digest([pin.name, pin.version, pin.mode, pin.env, msgspec.to_builtins(git)])[:32]


def script(lock: Lock) -> str:
    """The text of install.sh."""
    stages = [_stage(lock, number, stage) for number, stage in enumerate(lock.stage, 1)]
    return render(
        "install.sh.j2",
        lock=lock,
        stages=stages,
        total=len(stages),
        python_line=lock.target.python_line,
        cann="cann" in lock.target.system,
        by_path=[pin.name for pin in lock.pin if pin.label],
        sources_built=any(
            pin.git is None and not pin.label and pin.mode in ("built-apart", "built-here")
            for pin in lock.pin
        ),
        builds=any(stage.mode != "wheels" for stage in lock.stage),
        git=any(pin.git is not None for pin in lock.pin),
        editable=any(pin.git is not None and pin.git.editable for pin in lock.pin),
        external=list(_external(lock)),
        submodules=any(pin.git is not None and pin.git.submodules for pin in lock.pin),
        variants=bool(variants(lock)),
        apart=any(pin.mode == "built-apart" for pin in lock.pin),
        archives=any(pin.mode == "built-apart" and pin.git is None for pin in lock.pin),
        rewriting=_rewriting(lock),
        all_files=list(stage_files(lock)),
        elsewhere=list(_elsewhere(lock)),
    )


def bundle_script(locks: Sequence[BundledLock]) -> dict[str, str]:
    """The path and text of the install.sh at the top of a bundle, which installs one of its locks from the bundle."""
    return {FILE: render("bundle.sh.j2", locks=locks)}


def _elsewhere(lock: Lock) -> Iterator[Mapping[str, object]]:
    """The indexes other than pip's own, with the files whose pins come from them."""
    groups = [
        group for number, stage in enumerate(lock.stage, 1) for group in _files(lock, number, stage)
    ]
    for file, tools in environments(lock):
        groups += files_by_index(lock, file, tools)
    for index in lock.index:
        files = [path for path, pins, _ in groups if pins[0].index == index.name]
        if index.url and files:
            yield {"name": index.name, "url": index.url, "files": files}


def _external(lock: Lock) -> Iterator[Mapping[str, object]]:
    """What builds need of the machine, with the files of the stages that need it, and what to tell who lacks it."""
    paths = stage_file_by_pin(lock)
    for need, names in lock.external().items():
        lacking = message("machine.lacking", names=names, what=message(f"machine.{need}"))
        texts = (lacking, message(f"machine.{need}-hint", python=lock.target.python_line))
        yield {
            "need": need,
            "files": list(dict.fromkeys(paths[name] for name in names)),
            "texts": [translate(text, language) for language in LANGUAGES for text in texts],
        }


def _rewriting(lock: Lock) -> dict[str, list[str]]:
    """The pins that modify installed files of other pins, and the names of these."""
    pinned = {pin.name for pin in lock.pin}
    rows = {
        pin.name: [name for name in pin.git.rewrites if name in pinned - {pin.name}]
        for pin in lock.pin
        if pin.git
    }
    return {name: names for name, names in rows.items() if names}


def _direct(git: LockedGit) -> str:
    """The text of direct_url.json (PEP 610)."""
    direct = {
        "url": git.url,
        "vcs_info": {
            "vcs": "git",
            "commit_id": git.commit,
            **({"requested_revision": git.ref} if git.ref else {}),
        },
        **({"subdirectory": git.subdirectory} if git.subdirectory else {}),
    }
    return json_text(direct, indent=None)


def _submodules(project: str, git: LockedGit) -> Iterator[Mapping[str, str]]:
    """Each submodule: what it is in, `/a` or nothing for the checkout itself, its path in there, and its source."""
    for submodule in git.submodules:
        parent = container(submodule.path, [other.path for other in git.submodules])
        yield {
            "around": f"/{parent}" if parent else "",
            "path": submodule.path[len(parent) :].lstrip("/"),
            "url": submodule.url,
            "commit": submodule.commit,
            "bundle": bundle_name(project, submodule.commit),
        }


def _stage(lock: Lock, number: int, stage: LockedStage) -> Mapping[str, object]:
    """The values of a stage for the template; `pin` is its only one if it is from git."""
    files = _files(lock, number, stage)
    pin = lock.pins_of(stage)[0]
    git = pin.git and {
        "bundle": bundle_name(pin.name, pin.git.commit),
        "submodules": list(_submodules(pin.name, pin.git)),
        "script": next((step.wheels for step in pin.git.steps if step.wheels), ""),
        "key": source_key(pin),
        "direct": _direct(pin.git),
    }
    return {
        "number": number,
        "titles": [translate(stage_title(lock, stage), language) for language in LANGUAGES],
        "mode": stage.mode,
        "pin": pin,
        "git": git,
        "build_files": _build_files(lock, stage) if stage.mode == "built-apart" else [],
        "files": [path for path, _, _ in files],
        "wheel_files": [path for path, group, _ in files if group[0].variant is None],
        "variants": [
            _variant(lock, path, group[0])
            for path, group, _ in files
            if group[0].variant is not None
        ],
        "because": [translate(reason, "en") for reason in stage.because],
        "builds": [(path, pin) for path, group, _ in files for pin in group],
    }


def _variant(lock: Lock, path: str, pin: LockedPin) -> Mapping[str, str]:
    """Return the values of a pin that is a variant: where its file is, and the name under which pip installs it."""
    url = next((index.url for index in lock.index if index.name == pin.index), "")
    name = pin.file[0].name
    return {
        "file": path,
        "project": pin.name,
        "url": url,
        "name": name,
        "plain": plain_name(name),
        "sha256": pin.file[0].sha256,
    }


def _build_files(lock: Lock, stage: LockedStage) -> list[str]:
    """The requirements files of the tools that build a stage's source archives."""
    for file, tools in environments(lock):
        if not tools[0].builds or set(stage.pins) <= set(tools[0].builds):
            return [path for path, _, _ in files_by_index(lock, file, tools)]
    return []


def activation(lock: Lock) -> str:
    """The text of activate.sh."""
    cann = _BUILD.sub("", lock.target.system.get("cann", ""))
    exports = [_export(lock, row) for row in lock.export]
    return render("activate.sh.j2", lock=lock, cann=cann, exports=exports)


def _export(lock: Lock, row: LockedExport) -> dict[str, object]:
    return {
        "name": row.name,
        "value": row.value,
        "optional": row.optional,
        "why": [
            line for fact in lock.facts_of(row) for line in _comment(fact, optional=row.optional)
        ],
    }


def _comment(fact: LockedFact, *, optional: bool) -> list[Raw]:
    """A fact's reason and source, in lines that can follow a `#`."""
    text = one_line(f"{'optional: ' if optional else ''}{fact.reason} ({fact.id}: {fact.source})")
    lines = textwrap.wrap(
        text, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    return list(map(Raw, lines))
