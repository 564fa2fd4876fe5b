"""Check the lock.toml, the machine, Python, the installed distributions and their requirements."""

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

# Tools that an environment is made with. They may be installed without being locked.
TOOLS = ("pip", "setuptools", "wheel")
# The number of distributions that a message names.
_LISTED = 8
# If at least this many locked distributions are missing, this may be a wrong environment.
_MANY_MISSING = 10
_PIP_SECONDS = 300
# A line of the output of `pip check`, in either of its forms.
_COMPLAINT = re.compile(
    r"(\S+) (\S+) (?:requires ([A-Za-z0-9._-]+)|has requirement ([A-Za-z0-9._-]+))"
)


def check_lock(context: CheckContext) -> Group:
    """Check that the lock.toml beside verify.py is the one from which verify.py was made.

    Without a lock.toml there is no finding.
    """
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
    """Check that this machine has the system, the processor and the glibc that the lock needs."""
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
    """Return the numbers in a version of glibc, such as `2.34`."""
    return [int(part) for part in version.split(".") if part.isdigit()]


def check_python(context: CheckContext, installed: Installed) -> Group:
    """Check that this Python can use the lock's wheels, and is in an environment for the lock.

    A Python that is shared with other programs is only a warning.
    """
    values = _python_values(context)
    finding = _wrong_python(values) or _other_environment(context, installed)
    if finding is None and is_shared():
        finding = Finding("python-shared", values)
    machine = {"python": values["found"]}
    return Group("python", [finding] if finding else [], values, machine=machine)


def check_interpreter(context: CheckContext) -> Group:
    """Check that this Python can use the lock's wheels, for use before an installation.

    If the Python of --python cannot be run, that is the finding, and no Python is checked.
    """
    if context.unusable_python is not None:
        unusable = {**context.unusable_python, "wanted": context.lock.python}
        return Group("python", [Finding("python-unusable", unusable)])
    values = _python_values(context)
    finding = _wrong_python(values)
    if finding is not None and context.shown_folder == "":
        remedy = context.lock.texts[context.language]["python-elsewhere"].format(**values)
        finding = Finding(finding.code, finding.values, remedy)
    machine = {"python": values["found"]}
    return Group("python", [finding] if finding else [], values, machine=machine)


def _python_values(context: CheckContext) -> dict[str, str]:
    """Return the values of the messages of a finding about Python."""
    return {
        "found": platform.python_version(),
        "wanted": context.lock.python,
        "python": sys.executable,
    }


def _wrong_python(values: Mapping[str, str]) -> Finding | None:
    """Return a finding if this is another version or implementation of Python than the lock's."""
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
    """Return a finding if most locked distributions are missing: this is a wrong environment then.

    Otherwise return None.
    """
    pins = context.lock.pins
    found = sum(name in installed for name in pins)
    missing = len(pins) - found
    if missing < max(_MANY_MISSING, found):
        return None
    install = context.install_command
    if is_shared() or _extra_distributions(context, installed):
        install = context.venv_command
    values = {"found": str(found), "count": str(len(pins))}
    return Finding("environment-other", {**values, "python": sys.executable, "install": install})


def check_distributions(
    context: CheckContext,
    installed: Installed,
    broken: Iterable[Finding],
    colliding: Container[str] = (),
) -> Group:
    """Check that each pin is installed in its version and from its source, and nothing else is.

    `broken` are the findings of `installed_distributions`. Distributions in `colliding` are not
    reported as unwanted, since `check_collisions` reports them.
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
    extra = _extra_distributions(context, installed)
    if extra:
        remedy = ""
        if all(installed[name].is_ours for name in extra):
            remedy = context.uninstall_command(*extra, asks=True)
        remedy = remedy or context.venv_command
        findings.append(Finding("distribution-extra", list_and_count(extra, _LISTED), remedy))
    unnoted = [name for name in sorted(pins) if name in installed and not installed[name].note]
    values = {"count": str(len(pins)), "unnoted": str(len(unnoted))}
    note = "distributions-but" if unnoted else "distributions"
    return Group("distributions", findings, values, note)


def _unwanted(
    context: CheckContext, installed: Installed, colliding: Container[str]
) -> Iterator[Finding]:
    """Yield a finding for each installed distribution that the lock says must not be installed.

    Distributions in `colliding` are left out.
    """
    for name, reason in sorted(context.lock.absent.items()):
        if name in installed and name not in colliding:
            remedy = context.venv_command
            if installed[name].is_ours:
                remedy = context.reinstall_command(name)
            yield Finding("distribution-unwanted", {"name": name, "reason": reason}, remedy)


def _extra_distributions(context: CheckContext, installed: Iterable[str]) -> list[str]:
    """Return the names of installed distributions that the lock does not mention, sorted.

    pip, setuptools and wheel are left out.
    """
    known = {*context.lock.pins, *context.lock.absent, *TOOLS}
    return sorted(name for name in installed if name not in known)


def _differences_from_pin(
    pin: LockedDistribution, installed: InstalledDistribution
) -> list[Finding]:
    """Return a finding about the first difference between a distribution and its pin, or none."""
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
    """Return the finding about a distribution that differs from its pin."""
    return Finding(code, {"name": pin.name, "wanted": pin.version, "found": found})


def _other_source(pin: LockedDistribution, direct_url: Mapping[str, Any]) -> str:
    """Return the commit or archive from which a distribution was installed, if it is not the pin's.

    Empty if it is the pin's, or not known. `direct_url` is the content of direct_url.json (PEP
    610), which a distribution from an index does not have.
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
    """Return the sha256 in `hashes` or the deprecated `hash` of archive_info (PEP 610), or ""."""
    hashes = archive.get("hashes")
    if isinstance(hashes, dict) and hashes.get("sha256"):
        return str(hashes["sha256"])
    return str(archive.get("hash", "")).partition("sha256=")[2]


def checkout_folder(name: str) -> str:
    """Return the folder into which install.sh checks out an editable distribution."""
    return f"{sys.prefix}/src/{name}"


def check_requirements(context: CheckContext) -> Group:
    """Check with `pip check` that the requirements of all distributions are met.

    Requirements that the lock ignores are not reported. pip runs isolated, without PYTHONPATH: CANN
    adds distributions there that pip cannot check.
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
    """Return whether a line of `pip check` is about a requirement that the lock ignores."""
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
