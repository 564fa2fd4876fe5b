"""CANN: which release is active, by its own files.

`version.info` says `Version=8.2.0.0.201`, which is an internal number, and the
release as `version_dir`; `version.cfg` has `[internal:release]`, and beside
what runs now a history of what was installed. So only ascend_toolkit_install.info,
`*_running_version` and `version_dir` are looked at.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from resolver.model.system import SystemVersion
from resolver.verify.finding import Finding, Group, some
from resolver.verify.locked import Asked
from resolver.verify.reading import UnreadableError, assignments, read_text

_HOMES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")  # set_env.sh sets both; torch_npu goes by the first
_PARTS = ("toolkit", "runtime", "compiler", "opp", "opp_kernel", "hccl")
_NNAL_UP = 4  # ATB_HOME_PATH is nnal/atb/latest/atb/cxx_abi_1, the file lies in latest


class _Part(NamedTuple):
    """A part of CANN, its release as written, and the file that says so."""

    name: str
    text: str
    path: str


def check_cann(asked: Asked) -> Group:
    """Whether the active CANN is the lock's, all of it of one release."""
    wanted = asked.lock.system["cann"]
    variable = next((name for name in _HOMES if asked.environ.get(name)), "")
    home = asked.environ.get(variable, "")
    values = {"wanted": wanted, "home": home, "found": "", "variable": variable}
    if not os.path.isdir(home):
        command = _activation(asked, "")
        code = "cann-gone" if home else "cann-inactive"
        return Group("cann", (Finding(code, values, command and f". {shlex.quote(command)}"),), "", values)
    parts, findings = _parts(home)
    if variable != _HOMES[0]:
        script = f"{home}/set_env.sh"
        findings.append(
            Finding("cann-half-active", values, f". {shlex.quote(script)}" if os.path.isfile(script) else "")
        )
    if not parts:
        path = f"{home}/{platform.machine()}-linux/ascend_toolkit_install.info"
        told = next((finding.values for finding in findings if finding.code == "cann-file-unreadable"), None)
        told = told or {"path": path, "why": "no such file"}
        return Group("cann", (Finding("cann-unreadable", {**values, **told}),), "", values)
    first, release = parts[0]
    values["found"] = first.text
    if not release.same_release(SystemVersion.parse(wanted)):
        command = _activation(asked, wanted)
        findings.insert(0, Finding("cann-differs", values, command and f". {shlex.quote(command)}"))
    others = [f"{part.name} {part.text} ({part.path})" for part, other in parts if not other.same_release(release)]
    if others:
        findings.append(Finding("cann-parts-differ", {**values, **some(others)}))
    findings += _nnal(asked, release)
    return Group("cann", tuple(findings), "cann", values)


def _parts(home: str) -> tuple[list[tuple[_Part, SystemVersion]], list[Finding]]:
    """The releases of the parts, that of the toolkit first, and what could not be read."""
    found: list[tuple[_Part, SystemVersion]] = []
    findings: list[Finding] = []
    for read in (_install_record, _running, _version_dirs):
        try:
            for part in read(home):
                try:
                    found.append((part, SystemVersion.parse(part.text)))
                except ValueError as error:
                    findings.append(Finding("cann-file-unreadable", {"path": part.path, "why": str(error)}))
        except UnreadableError as error:
            findings.append(Finding("cann-file-unreadable", error.values))
    return found, findings


def _install_record(home: str) -> Iterator[_Part]:
    path = f"{home}/{platform.machine()}-linux/ascend_toolkit_install.info"
    text = read_text(path)
    if text is not None:
        version = assignments(text).get("version", "")
        if not version:
            raise UnreadableError(path, "it has no line `version=`")
        yield _Part("toolkit", version, path)


def _running(home: str) -> Iterator[_Part]:
    path = f"{home}/version.cfg"
    rows = assignments(read_text(path) or "")
    names = [key[: -len("_running_version")] for key in rows if key.endswith("_running_version")]
    for name in sorted(names, key=lambda name: (name != "toolkit", name)):
        pair = re.fullmatch(r"\[[^\]:]*:([^\]:]+)\]", rows[f"{name}_running_version"])
        if pair is None:
            raise UnreadableError(path, f"`{name}_running_version` is not [internal:release]")
        yield _Part(name, pair[1], path)


def _version_dirs(home: str) -> Iterator[_Part]:
    for name in _PARTS:
        path = f"{home}/{name}/version.info"
        release = assignments(read_text(path) or "").get("version_dir")
        if release is not None:
            yield _Part(name, release, path)


def _nnal(asked: Asked, release: SystemVersion) -> Iterator[Finding]:
    """NNAL must be the same release as the toolkit. Its file says `Version : 8.0.0.B100`."""
    folder = asked.environ.get("ATB_HOME_PATH", "")
    for _ in range(_NNAL_UP if folder else 0):
        path = f"{folder}/version.info"
        try:
            found = assignments(read_text(path) or "").get("version")
            if found is not None:
                if not SystemVersion.parse(found).same_release(release):
                    yield Finding("nnal-differs", {"found": found, "wanted": str(release), "path": path})
                return
        except UnreadableError as error:
            yield Finding("cann-file-unreadable", error.values)
            return
        except ValueError as error:
            yield Finding("cann-file-unreadable", {"path": path, "why": str(error)})
            return
        folder = os.path.dirname(folder)


def _activation(asked: Asked, release: str) -> str:
    """The set_env.sh that activates this release, or any; nothing where there is none."""
    homes = [asked.ascend, *(f"{home}/Ascend" for home in (asked.environ.get("HOME"),) if home)]
    wanted = release or asked.lock.system["cann"]
    names = [f"cann-{wanted}/set_env.sh", f"ascend-toolkit/{wanted}/set_env.sh"]
    if not release:
        names += ["cann/set_env.sh", "ascend-toolkit/set_env.sh"]
    found: str | None = next(
        (f"{home}/{name}" for home in homes for name in names if os.path.isfile(f"{home}/{name}")), None
    )
    return found or ""
