"""Write install.sh, which installs a lock, and activate.sh, which prepares a shell to use it.

A careful person can review install.sh before running it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import msgspec
from packaging.utils import canonicalize_name

from resolver.ascend import names
from resolver.files import digest, json_text
from resolver.i18n import LANGUAGES, translate
from resolver.index.parse.distribution import plain_name
from resolver.lock.bundle import BundledLock
from resolver.model.lock import (
    Lock,
    LockedExport,
    LockedGit,
    LockedPin,
    LockedStage,
    bundle_name,
)
from resolver.model.message import message
from resolver.model.repository import container
from resolver.report.document import one_line
from resolver.report.removal import JOURNAL, KEPT
from resolver.report.requirements import (
    RequirementsFile,
    environments,
    files_by_index,
    pin_lines,
    stage_file_by_pin,
    stage_files,
    stage_title,
    variants,
)
from resolver.report.template import Raw, render

FILE = "install.sh"
ACTIVATION_FILE = "activate.sh"
# The longest line of a comment in activate.sh.
_WIDTH = 100
# A character that ends the name in a requirement (PEP 508).
_NAME = re.compile(r"[^A-Za-z0-9._-]")


def stage_texts(lock: Lock) -> dict[str, str]:
    """Return the requirements files of all stages: relative path -> text."""
    texts = {}
    rewriters: dict[str, str] = {}
    for plugin, others in _rewriting(lock).items():
        rewriters |= dict.fromkeys(others, plugin)
    for number, stage in enumerate(lock.stage, 1):
        title = translate(stage_title(lock, stage), "en")
        header = f"# Stage {number} of {lock.stack} for {lock.target.name}: {title}"
        for file in stage_files(lock, number, stage):
            # install.sh compares an environment with these lines: with the version, and with the
            # digest of the build or the hashes of the files.
            sources = [
                _source_lines(lock, pin, pin.git) for pin in file.pins if pin.git is not None
            ]
            built = [pin for pin in file.pins if pin.git is None and pin.mode != "wheels"]
            lines = [header, *file.remarks]
            lines += [_built_line(lock, pin) for pin in built]
            # Another pin rewrites files of these, so the files may differ from RECORD.
            changed = [pin for pin in file.pins if pin.name in rewriters]
            lines += [_rewritten_line(pin, rewriters[pin.name]) for pin in changed]
            lines.append("")
            lines += sources or pin_lines(file.pins, labelled=True)
            texts[file.path] = "\n".join([*lines, ""])
    return texts


def _source_lines(lock: Lock, pin: LockedPin, git: LockedGit) -> str:
    """Return the lines about a pin from git, with the digest of its build."""
    editable = " editable" if git.editable else ""
    reference = f"# {pin.name} @ {git.reference}"
    return f"{reference}\n{pin.name}=={pin.version}  # source {build_key(lock, pin)}{editable}"


def _built_line(lock: Lock, pin: LockedPin) -> str:
    """Return the comment about a pin built from an archive, with the digest of its build."""
    return f"# {pin.name}=={pin.version} is built as {build_key(lock, pin)}"


def _rewritten_line(pin: LockedPin, plugin: str) -> str:
    """Return the comment that another pin, the plugin, rewrites files of this one."""
    return one_line(f"# {pin.name}=={pin.version} is rewritten by {plugin}")


def build_key(lock: Lock, pin: LockedPin) -> str:
    """Return a digest of everything in the lock that decides what a build makes.

    That is the archive or the commit, its variables and steps, and the pinned build tools.
    install.sh writes the digest beside what it installs, and builds again if it differs.
    """
    git = None
    if pin.git is not None:
        git = msgspec.to_builtins(msgspec.structs.replace(pin.git, trust=None, ref=""))
    tools = [(tool.name, tool.version, _hashes(tool)) for tool in build_tools(lock, pin)]
    parts = [pin.name, pin.version, pin.mode, pin.env, pin.label, _hashes(pin), git, sorted(tools)]
    return digest(parts)[:32]


def installation_note(lock: Lock, pin: LockedPin) -> str:
    """Return what install.sh writes beside a pin: the digest of its build, or its files' hashes."""
    if pin.git is not None or pin.mode != "wheels":
        return build_key(lock, pin)
    return " ".join(_hashes(pin))


def build_tools(lock: Lock, pin: LockedPin) -> Iterator[LockedPin]:
    """Yield the pins that build a pin.

    They belong to its separate build environment. A pin that is built in the environment itself is
    built with other pins of the lock.
    """
    if pin.mode == "built-here":
        required = {canonicalize_name(_NAME.split(line)[0]) for line in pin.build_requires}
        yield from (tool for tool in lock.pin if tool.name in required)
        return
    for tools in lock.build_environments():
        if not tools[0].builds or pin.name in tools[0].builds:
            yield from tools
            return


def _hashes(pin: LockedPin) -> list[str]:
    """Return the sha256 of the files of a pin, sorted."""
    return sorted(file.sha256 for file in pin.file)


def script(lock: Lock) -> str:
    """Return the text of install.sh."""
    stages = [_stage(lock, number, stage) for number, stage in enumerate(lock.stage, 1)]
    sources = [pin.git for pin in lock.pin if pin.git is not None]
    archives = [pin for pin in lock.pin if pin.git is None and pin.mode != "wheels"]
    return render(
        "install.sh.j2",
        lock=lock,
        stages=stages,
        total=len(stages),
        python_line=lock.target.python_line,
        by_path=[pin.name for pin in lock.pin if pin.label],
        sources_built=any(not pin.label for pin in archives),
        builds=any(stage.mode != "wheels" for stage in lock.stage),
        names_built=list(chain.from_iterable(wheels_built(lock, stage) for stage in lock.stage)),
        git=bool(sources),
        editable=any(git.editable for git in sources),
        external=list(_external(lock)),
        submodules=any(git.submodules for git in sources),
        variants=bool(variants(lock)),
        apart=any(pin.mode == "built-apart" for pin in lock.pin),
        archives=any(pin.mode == "built-apart" for pin in archives),
        rewriting=_rewriting(lock),
        all_files=list(stage_texts(lock)),
        elsewhere=list(_elsewhere(lock)),
        journal=JOURNAL,
        kept_tools=" ".join(sorted(KEPT)),
    )


def bundle_script(locks: Sequence[BundledLock]) -> dict[str, str]:
    """Return the install.sh at the top of a bundle, by its path.

    It installs one of these locks from the files in the bundle.
    """
    return {FILE: render("bundle.sh.j2", locks=locks)}


def _elsewhere(lock: Lock) -> Iterator[Mapping[str, object]]:
    """Yield the indexes other than pip's own, with the requirements files of their pins."""
    files: list[RequirementsFile] = []
    for number, stage in enumerate(lock.stage, 1):
        files += stage_files(lock, number, stage)
    for path, tools in environments(lock):
        files += files_by_index(lock, path, tools)
    for index in lock.index:
        paths = [file.path for file in files if file.index_name == index.name]
        if index.url and paths:
            yield {"name": index.name, "url": index.url, "files": paths}


def _external(lock: Lock) -> Iterator[Mapping[str, object]]:
    """Yield what builds need on the machine, such as a C compiler.

    Each comes with the pins that need it, their requirements files, and the texts for users whose
    machine does not have it.
    """
    paths = stage_file_by_pin(lock)
    for need, lacked in lock.external().items():
        lacking = message("machine.lacking", names=lacked, what=message(f"machine.{need}"))
        hint = message(f"machine.{need}-hint", python=lock.target.python_line)
        texts: list[str] = []
        for language in LANGUAGES:
            texts += (translate(lacking, language), translate(hint, language))
        files = dict.fromkeys(paths[name] for name in lacked)
        yield {"need": need, "names": list(lacked), "files": list(files), "texts": texts}


def _rewriting(lock: Lock) -> dict[str, list[str]]:
    """Return the pins that rewrite installed files of other pins, with the names of these."""
    pinned = {pin.name for pin in lock.pin}
    rewriting = {}
    for pin in lock.pin:
        if pin.git is None:
            continue
        names = [name for name in pin.git.rewrites if name in pinned and name != pin.name]
        if names:
            rewriting[pin.name] = names
    return rewriting


def _direct(git: LockedGit) -> str:
    """Return the text of the file direct_url.json for a pin from git (PEP 610)."""
    source = {"vcs": "git", "commit_id": git.commit}
    if git.ref:
        source["requested_revision"] = git.ref
    direct = {"url": git.url, "vcs_info": source}
    if git.subdirectory:
        direct["subdirectory"] = git.subdirectory
    return json_text(direct, indent=None)


def _submodules(project: str, git: LockedGit) -> Iterator[Mapping[str, str]]:
    """Yield the values of each submodule of a checkout for the template.

    `around` is the submodule that contains it, such as `/a`; empty if that is the checkout itself.
    `path` is relative to `around`.
    """
    paths = [submodule.path for submodule in git.submodules]
    for submodule in git.submodules:
        parent = container(submodule.path, paths)
        yield {
            "around": f"/{parent}" if parent else "",
            "path": submodule.path[len(parent) :].lstrip("/"),
            "url": submodule.url,
            "commit": submodule.commit,
            "bundle": bundle_name(project, submodule.commit),
        }


def _stage(lock: Lock, number: int, stage: LockedStage) -> Mapping[str, object]:
    """Return the values of a stage for the template.

    `pin` is the first pin; a stage with a pin from git has no others.
    """
    files = stage_files(lock, number, stage)
    builds: list[tuple[str, LockedPin]] = []
    for file in files:
        builds += [(file.path, pin) for pin in file.pins]
    pin = lock.pins_of(stage)[0]
    return {
        "number": number,
        "titles": [translate(stage_title(lock, stage), language) for language in LANGUAGES],
        "mode": stage.mode,
        "pin": pin,
        "git": _git(lock, pin, pin.git) if pin.git is not None else None,
        "build_files": _build_files(lock, stage) if stage.mode == "built-apart" else [],
        "files": [file.path for file in files],
        "wheel_files": [file.path for file in files if not file.is_of_variant],
        "variants": [_variant(lock, file) for file in files if file.is_of_variant],
        "because": [translate(reason, "en") for reason in stage.because],
        "builds": builds,
        "names_built": wheels_built(lock, stage),
    }


def wheels_built(lock: Lock, stage: LockedStage) -> list[str]:
    """Return the pins of a stage that are built as wheels, so that other machines can use these.

    An editable installation has no wheel.
    """
    if stage.mode == "wheels":
        return []
    pins = [pin for pin in lock.pins_of(stage) if pin.git is None or not pin.git.editable]
    return [pin.name for pin in pins]


def _git(lock: Lock, pin: LockedPin, git: LockedGit) -> Mapping[str, object]:
    """Return the values of a pin from git for the template."""
    scripts = [step.wheels for step in git.steps if step.wheels]
    return {
        "bundle": bundle_name(pin.name, git.commit),
        "submodules": list(_submodules(pin.name, git)),
        "script": scripts[0] if scripts else "",
        "key": build_key(lock, pin),
        "direct": _direct(git),
    }


def _variant(lock: Lock, file: RequirementsFile) -> Mapping[str, str]:
    """Return the values of a variant of a wheel for the template.

    They say where its file is, and under which name pip can install it.
    """
    urls = {index.name: index.url for index in lock.index}
    (pin,) = file.pins
    name = pin.file[0].name
    return {
        "file": file.path,
        "project": pin.name,
        "url": urls.get(pin.index, ""),
        "name": name,
        "plain": plain_name(name),
        "sha256": pin.file[0].sha256,
    }


def _build_files(lock: Lock, stage: LockedStage) -> list[str]:
    """Return the requirements files of the tools that build the archives of a stage."""
    for path, tools in environments(lock):
        if not tools[0].builds or set(stage.pins) <= set(tools[0].builds):
            return [file.path for file in files_by_index(lock, path, tools)]
    return []


def activation(lock: Lock) -> str:
    """Return the text of activate.sh."""
    system = lock.target.system
    release = names.release_of(system.get(names.TOOLKIT, ""))
    is_ascend = not system or not system.keys().isdisjoint(names.COMPONENTS)
    exports = [_export(lock, export) for export in lock.export]
    return render("activate.sh.j2", lock=lock, ascend=is_ascend, toolkit=release, exports=exports)


def _export(lock: Lock, export: LockedExport) -> dict[str, object]:
    """Return the values of an environment variable for the template.

    `why` are the lines of a comment.
    """
    why: list[Raw] = []
    for fact in lock.facts_of(export):
        reason = f"{fact.reason} ({fact.id}: {fact.source})"
        text = one_line(f"optional: {reason}" if export.optional else reason)
        lines = textwrap.wrap(
            text, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
        why += map(Raw, lines)
    return {"name": export.name, "value": export.value, "optional": export.optional, "why": why}
