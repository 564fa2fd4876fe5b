"""The checks of the lock, the machine, Python and the installed distributions."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
import sys
import sysconfig
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from resolver.pip import without_pip_settings
from resolver.verify.distributions import (
    Installed,
    InstalledDistribution,
    canonical_name,
    same_version,
)
from resolver.verify.findings import (
    CheckContext,
    Finding,
    Group,
    LockedDistribution,
    UnreadableError,
    is_shared,
    list_and_count,
    read_text,
    run_program,
)

# Tools that make an environment. They may be there without being locked.
TOOLS = ("pip", "setuptools", "wheel")
# How many distributions a message names.
_LISTED = 8
# If so many are missing, this is likely to be another environment.
_MANY_MISSING = 10
_PIP_SECONDS = 300
# A line of `pip check`, in either of its wordings.
_COMPLAINT = re.compile(
    r"(\S+) (\S+) (?:requires ([A-Za-z0-9._-]+)|has requirement ([A-Za-z0-9._-]+))"
)


def check_lock(context: CheckContext) -> Group:
    """Check whether the lock.toml beside this program is the one that it was made from."""
    path = f"{context.folder}/lock.toml"
    values = {"path": path, "program": context.program, "stack": shlex.quote(context.lock.stack)}
    try:
        text = read_text(path)
    except UnreadableError as error:
        return Group("lock", [Finding("lock-unreadable", {**values, **error.values})], values)
    if text is None:
        return Group("lock", [], values, note="lock-absent")
    if hashlib.sha256(text.encode()).hexdigest() != context.lock.digest:
        return Group("lock", [Finding("lock-differs", values)], values)
    return Group("lock", [], values)


def check_machine(context: CheckContext) -> Group:
    """Check whether the lock's compiled files can run on this machine."""
    wanted_system, _, wanted_machine = context.lock.platform.partition("-")
    system, machine = platform.system(), platform.machine()
    findings = []
    if system.lower() != wanted_system:
        findings.append(Finding("system-differs", {"found": system}))
    if machine != wanted_machine:
        findings.append(Finding("processor-differs", {"found": machine, "wanted": wanted_machine}))
    library, glibc = platform.libc_ver()
    if library != "glibc":
        glibc = "-"
    glibc_values = {"found": glibc, "wanted": context.lock.glibc}
    if glibc == "-":
        findings.append(Finding("glibc-missing", glibc_values))
    elif _numbers(glibc) < _numbers(context.lock.glibc):
        findings.append(Finding("glibc-old", glibc_values))
    values = {"system": system, "machine": machine, "glibc": glibc}
    return Group("machine", findings, values, machine={"processor": machine, "glibc": glibc})


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()]


def check_python(context: CheckContext, installed: Installed) -> Group:
    """Check whether this Python takes the lock's wheels, and is an environment for the lock."""
    values = _python_values(context)
    finding = _wrong_python(values) or _other_environment(context, installed)
    if finding is None and is_shared():
        finding = Finding("python-shared", values)
    machine = {"python": values["found"]}
    return Group("python", [finding] if finding else [], values, machine=machine)


def check_interpreter(context: CheckContext) -> Group:
    """Check whether this Python can have an environment for the lock."""
    values = _python_values(context)
    finding = _wrong_python(values)
    machine = {"python": values["found"]}
    return Group("python", [finding] if finding else [], values, machine=machine)


def _python_values(context: CheckContext) -> dict[str, str]:
    return {
        "found": platform.python_version(),
        "wanted": context.lock.python,
        "python": sys.executable,
    }


def _wrong_python(values: Mapping[str, str]) -> Finding | None:
    """Return a finding if this is another version or implementation of Python."""
    kind = platform.python_implementation()
    if kind == "CPython" and sysconfig.get_config_var("Py_GIL_DISABLED"):
        kind = "free-threaded CPython"
    if kind != "CPython":
        return Finding("python-differs", {**values, "found": f"{values['found']} ({kind})"})
    major, minor, _ = platform.python_version_tuple()
    if f"{major}.{minor}" != values["wanted"]:
        return Finding("python-differs", values)
    return None


def _other_environment(context: CheckContext, installed: Installed) -> Finding | None:
    """Return a finding if most of the lock is missing.

    All other differences would only follow from that.
    """
    pins = context.lock.pins
    found = sum(name in installed for name in pins)
    missing = len(pins) - found
    if missing < max(_MANY_MISSING, found):
        return None
    install = context.install_command
    if is_shared() or extra_distributions(context, installed):
        install = context.venv_command
    values = {"found": str(found), "count": str(len(pins))}
    return Finding("environment-other", {**values, "python": sys.executable, "install": install})


def check_distributions(
    context: CheckContext,
    installed: Installed,
    broken: Iterable[Finding],
    colliding: Container[str] = (),
) -> Group:
    """Check that each pin is installed in its version from its source, and nothing else is.

    `broken` is what `installed_distributions` found. The distributions `colliding` are left out, as
    another check reports them.
    """
    pins = context.lock.pins
    findings = []
    missing = sorted(
        f"{pin.name} {pin.version}" for pin in pins.values() if pin.name not in installed
    )
    if missing:
        values = {**list_and_count(missing, _LISTED), "total": str(len(pins))}
        findings.append(Finding("distribution-missing", values))
    for name in sorted(pins):
        if name in installed:
            findings += _differences_from_pin(pins[name], installed[name])
    for finding in broken:
        is_leftover = finding.code == "distribution-leftover"
        if finding.values.get("name") in pins or (is_leftover and not is_shared()):
            findings.append(finding)
    findings += _unwanted(context, installed, colliding)
    extra = extra_distributions(context, installed)
    if extra:
        remedy = context.venv_command
        if all(installed[name].is_ours for name in extra):
            remedy = f"{context.python} -m pip uninstall {shlex.join(extra)}"
        findings.append(Finding("distribution-extra", list_and_count(extra, _LISTED), remedy))
    unnoted = [name for name in sorted(pins) if name in installed and not installed[name].note]
    values = {"count": str(len(pins)), "unnoted": str(len(unnoted))}
    note = "distributions-but" if unnoted else "distributions"
    return Group("distributions", findings, values, note)


def _unwanted(
    context: CheckContext, installed: Installed, colliding: Container[str]
) -> Iterator[Finding]:
    """Yield a finding for each distribution that the lock excludes."""
    for name, reason in sorted(context.lock.absent.items()):
        if name in installed and name not in colliding:
            remedy = context.venv_command
            if installed[name].is_ours:
                remedy = context.reinstall_command(name)
            yield Finding("distribution-unwanted", {"name": name, "reason": reason}, remedy)


def extra_distributions(context: CheckContext, installed: Iterable[str]) -> list[str]:
    """Return the installed distributions that the lock says nothing about, sorted."""
    known = {*context.lock.pins, *context.lock.absent, *TOOLS}
    return sorted(name for name in installed if name not in known)


def _differences_from_pin(
    pin: LockedDistribution, installed: InstalledDistribution
) -> list[Finding]:
    """Return how a distribution differs from its pin: the first difference is enough."""
    if installed.version and not same_version(installed.version, pin.version):
        return [_difference("distribution-differs", pin, installed.version)]
    if pin.variant:
        labels = installed.variant_labels()
        if pin.variant not in labels:
            found = f"variant {labels[0]}" if labels else "no variant"
            values = {
                "name": pin.name,
                "wanted": f"{pin.version} [variant {pin.variant}]",
                "found": f"{installed.version} [{found}]",
            }
            return [Finding("distribution-differs", values)]
    if installed.is_of_conda:
        return [_difference("distribution-conda", pin, "")]
    folder = installed.editable_folder
    if not folder:
        source = _other_source(pin, installed.direct_url)
        if source:
            return [_difference("distribution-elsewhere", pin, source)]
        if installed.note not in ("", pin.note):
            return [_difference("distribution-otherwise", pin, "")]
        return []
    if not pin.editable:
        return [_difference("distribution-editable", pin, folder)]
    checkout = os.path.realpath(checkout_folder(pin.name))
    if not f"{os.path.realpath(folder)}/".startswith(f"{checkout}/"):
        return [_difference("distribution-elsewhere", pin, folder)]
    return []


def _difference(code: str, pin: LockedDistribution, found: str) -> Finding:
    return Finding(code, {"name": pin.name, "wanted": pin.version, "found": found})


def _other_source(pin: LockedDistribution, direct_url: Mapping[str, Any]) -> str:
    """Return the commit or archive that was installed in place of the locked one, else nothing.

    `direct_url` is direct_url.json (PEP 610), which only a direct installation has.
    """
    url = direct_url.get("url", "")
    vcs = direct_url.get("vcs_info")
    if isinstance(vcs, dict):
        commit = str(vcs.get("commit_id", ""))
        if commit and commit != pin.commit:
            return f"{url}@{commit}"
    archive = direct_url.get("archive_info")
    # a wheel that was built here has a hash of its own
    if isinstance(archive, dict) and pin.sha256 and not pin.built:
        sha256 = _archive_sha256(archive)
        if sha256 and sha256 not in pin.sha256:
            return f"{url} (sha256 {sha256[:12]}…)"
    return ""


def _archive_sha256(archive: Mapping[str, Any]) -> str:
    """Return the sha256 in `hashes` or in the deprecated `hash`, empty if there is neither."""
    hashes = archive.get("hashes")
    if isinstance(hashes, dict) and hashes.get("sha256"):
        return str(hashes["sha256"])
    return str(archive.get("hash", "")).partition("sha256=")[2]


def checkout_folder(name: str) -> str:
    """Return the folder into which install.sh puts the checkout of an editable distribution."""
    return f"{sys.prefix}/src/{name}"


def check_requirements(context: CheckContext) -> Group:
    """Check that the requirements of every distribution are met, by `pip check`.

    pip runs without PYTHONPATH: CANN puts distributions there that pip cannot judge.
    """
    command = [sys.executable, "-I", "-m", "pip", "check"]
    result = run_program(command, without_pip_settings(context.environ), _PIP_SECONDS)
    if result.ending.endswith("No module named pip"):
        return Group("requirements", [Finding("pip-missing", {"python": context.python})])
    complaints = result.output.splitlines()
    has_result = result.status == 0 or (result.status == 1 and complaints)
    if not has_result:
        return Group("requirements", [Finding("pip-failed", {"error": result.ending})])
    findings = []
    overridden = 0
    for line in complaints:
        if _is_overridden(context, line):
            overridden += 1
        elif line.strip() and not line.startswith("No broken requirements found"):
            findings.append(Finding("requirement-broken", {"complaint": line.strip()}))
    note = "requirements-but" if overridden else "requirements"
    return Group("requirements", findings, {"count": str(overridden)}, note)


def _is_overridden(context: CheckContext, complaint: str) -> bool:
    """Return whether pip complains of a requirement that the lock overrides."""
    match = _COMPLAINT.match(complaint)
    if match is None:
        return False
    package = canonical_name(match[1])
    required = canonical_name(match[3] or match[4])
    for locked_package, locked_version, locked_required in context.lock.overrides:
        is_named = (package, required) == (locked_package, locked_required)
        if is_named and same_version(match[2], locked_version):
            return True
    return False
