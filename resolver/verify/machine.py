"""Processor, C library and Python."""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
from collections.abc import Mapping

from resolver.verify.check import Asked, Finding, Group, is_shared
from resolver.verify.distributions import Installed, check_environment


def check_machine(asked: Asked) -> Group:
    """Whether the lock's compiled files can run here at all."""
    system, _, machine = asked.lock.platform.partition("-")
    found = {"system": platform.system(), "machine": platform.machine(), "glibc": glibc_version() or "-"}
    findings: list[Finding] = []
    if found["system"].lower() != system:
        findings.append(Finding("system-differs", {"found": found["system"]}))
    if found["machine"] != machine:
        findings.append(Finding("processor-differs", {"found": found["machine"], "wanted": machine}))
    glibc = {"found": found["glibc"], "wanted": asked.lock.glibc}
    if found["glibc"] == "-":
        findings.append(Finding("glibc-missing", glibc))
    elif _numbers(found["glibc"]) < _numbers(asked.lock.glibc):
        findings.append(Finding("glibc-old", glibc))
    return Group("machine", findings, found)


def check_python(asked: Asked, found: Mapping[str, Installed]) -> Group:
    """Whether this interpreter takes the lock's wheels, and is the lock's environment, and one of its own."""
    line = asked.line
    values = {"found": platform.python_version(), "wanted": line, "python": sys.executable, "fresh": asked.fresh}
    findings: list[Finding] = []
    kind = platform.python_implementation()
    if kind == "CPython" and sysconfig.get_config_var("Py_GIL_DISABLED"):
        kind = "free-threaded CPython"
    if kind != "CPython":
        findings.append(Finding("python-differs", {**values, "found": f"{values['found']} ({kind})"}))
    elif ".".join(map(str, sys.version_info[:2])) != line:
        findings.append(Finding("python-differs", values))
    findings += () if findings else check_environment(asked, found)
    if not findings and is_shared():
        findings.append(Finding("python-shared", values))
    return Group("python", findings, values)


def glibc_version() -> str:
    """`2.36`, or nothing where the C library is another one."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (ValueError, OSError, AttributeError):
        return ""
    return version if name == "glibc" else ""


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()]
