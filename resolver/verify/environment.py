"""The machine, its Python and what is installed there, against what is locked."""

from __future__ import annotations

import errno
import glob
import json
import os
import platform
import re
import shlex
import sys
import sysconfig
from collections.abc import Container, Iterable, Mapping
from email.parser import HeaderParser
from typing import Any, NamedTuple

from resolver.verify.findings import (
    Asked,
    Finding,
    Group,
    LockedDistribution,
    UnreadableError,
    is_shared,
    read_text,
    run_program,
    some,
)


def check_machine(asked: Asked) -> Group:
    """Whether the lock's compiled files can run here at all."""
    system, _, machine = asked.lock.platform.partition("-")
    library, glibc = platform.libc_ver()
    glibc = glibc if library == "glibc" else "-"
    findings: list[Finding] = []
    if platform.system().lower() != system:
        findings.append(Finding("system-differs", {"found": platform.system()}))
    if platform.machine() != machine:
        findings.append(Finding("processor-differs", {"found": platform.machine(), "wanted": machine}))
    if glibc == "-" or _numbers(glibc) < _numbers(asked.lock.glibc):
        code = "glibc-missing" if glibc == "-" else "glibc-old"
        findings.append(Finding(code, {"found": glibc, "wanted": asked.lock.glibc}))
    values = {"system": platform.system(), "machine": platform.machine(), "glibc": glibc}
    return Group("machine", findings, values)


def check_python(asked: Asked, found: Mapping[str, Installed]) -> Group:
    """Whether this interpreter takes the lock's wheels, and is the lock's environment, and one of its own."""
    values = {"found": platform.python_version(), "wanted": asked.lock.python, "python": sys.executable}
    kind = platform.python_implementation()
    if kind == "CPython" and sysconfig.get_config_var("Py_GIL_DISABLED"):
        kind = "free-threaded CPython"
    there = sum(name in found for name in asked.lock.pins)
    gone = len(asked.lock.pins) - there
    if kind != "CPython":
        findings = [Finding("python-differs", {**values, "found": f"{values['found']} ({kind})"})]
    elif ".".join(platform.python_version_tuple()[:2]) != asked.lock.python:
        findings = [Finding("python-differs", values)]
    elif gone >= max(_MANY, there):  # all other findings would follow from that
        strange = is_shared() or extra_distributions(asked, found)
        told = {"found": str(there), "count": str(len(asked.lock.pins)), "python": sys.executable}
        findings = [Finding("environment-other", {**told, "install": asked.fresh if strange else asked.install})]
    else:
        findings = [Finding("python-shared", values)] if is_shared() else []
    return Group("python", findings, values)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()]


# A suffix of a version in any spelling, and how PEP 440 writes it
_SUFFIX = re.compile(r"[-_.]?(alpha|beta|preview|pre|rc|a|b|c|post|rev|r|dev)[-_.]?(\d*)|-(\d+)")
_SPELLINGS = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc", "rev": "post", "r": "post"}


def canonical_name(name: str) -> str:
    """PEP 503: `Foo.Bar_baz` is `foo-bar-baz`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def same_version(one: str, other: str) -> bool:
    """Whether two texts spell one version (PEP 440): `1.0` is `1.0.0`, `2024.01.05` is `2024.1.5`."""
    return one == other or _canonical_version(one) == _canonical_version(other)


def _canonical_version(text: str) -> tuple[str, ...]:
    """What all spellings of a version have in common: the release, each suffix, and the local part."""
    plain = re.sub(r"(?<![0-9a-z])0+(?=\d)", "", text.strip().lower())
    public, _, local = plain.partition("+")

    def canonical(suffix: re.Match[str]) -> str:
        kind = suffix[1] or "post"
        return f" {_SPELLINGS.get(kind, kind)}{int(suffix[2] or suffix[3] or 0)}"

    release, *suffixes = _SUFFIX.sub(canonical, re.sub("^v?(0!)?", "", public)).split(" ")
    return re.sub(r"(\.0+)+$", "", release), *suffixes, re.sub("[-_]", ".", local)


class Installed(NamedTuple):
    """One distribution, `info` its folder. `root` is what the paths of its RECORD start from."""

    name: str
    version: str
    root: str
    info: str
    installer: str
    direct_url: Mapping[str, Any]

    @property
    def source(self) -> str:
        """The folder that an editable installation points to; nothing for any other."""
        folder = self.direct_url.get("dir_info")
        if isinstance(folder, dict) and folder.get("editable") is True:
            return re.sub("^file://", "", str(self.direct_url.get("url", "")))
        listed = not os.path.isdir(self.info) or os.path.isfile(os.path.join(self.info, "installed-files.txt"))
        return "" if listed or self.info.endswith(".dist-info") else self.root  # setup.py develop

    @property
    def is_ours(self) -> bool:
        """Whether a distribution is this environment's, and no other program's."""
        return not is_shared() and self.root.startswith(os.path.realpath(sys.prefix) + "/")


def installed_distributions(asked: Asked, paths: Iterable[str]) -> tuple[dict[str, Installed], list[Finding]]:
    """By name, and what is wrong with them; of several in the search path the first, as Python takes it."""
    found: dict[str, Installed] = {}
    findings: list[Finding] = []
    for root in dict.fromkeys(map(os.path.realpath, paths)):
        here: dict[str, str] = {}
        for path in sorted(
            path for kind in ("dist", "egg") for path in glob.glob(f"{glob.escape(root)}/*.{kind}-info")
        ):
            entry = os.path.basename(path)
            if entry.startswith("~"):
                findings.append(Finding("distribution-leftover", {"path": path}, f"rm -r {shlex.quote(path)}"))
                continue
            one, trouble = _read(asked, root, path)
            if one.name in here:
                values = {"name": one.name, "one": here[one.name], "other": entry}
                findings.append(Finding("distribution-twice", values, asked.after(asked.again(one.name))))
                continue
            here[one.name] = entry
            if one.name not in found:
                found[one.name] = one
                findings += trouble
    return found, findings


def _read(asked: Asked, root: str, path: str) -> tuple[Installed, list[Finding]]:
    """A distribution, and what is wrong with its metadata; it has no version if that cannot be read."""
    name, version, installer = os.path.basename(path).rpartition(".")[0].partition("-")[0], "", ""
    direct_url: dict[str, Any] = {}
    findings: list[Finding] = []
    metadata = path
    if os.path.isdir(path):
        metadata = os.path.join(path, "METADATA" if path.endswith(".dist-info") else "PKG-INFO")
    try:
        text = read_text(metadata, errors="surrogateescape")  # its description may be in any encoding
        if text is None:
            raise UnreadableError(metadata, os.strerror(errno.ENOENT))
        fields = HeaderParser().parsestr(text.partition("\n\n")[0])
        if not fields["Name"] or not fields["Version"]:
            raise UnreadableError(metadata, "it has no Name or no Version")
        name, version = str(fields["Name"]), str(fields["Version"])
        installer = (read_text(os.path.join(path, "INSTALLER")) or "").strip()
        direct_url = _object(os.path.join(path, "direct_url.json"))
    except UnreadableError as error:
        values = {"name": canonical_name(name), **error.values}
        findings.append(Finding("metadata-broken", values, asked.after(f"rm -r {shlex.quote(path)}")))
    return Installed(canonical_name(name), version, root, path, installer, direct_url), findings


def _object(path: str) -> dict[str, Any]:
    """The object in a file of JSON; an empty one where there is no file."""
    try:
        found = json.loads(read_text(path) or "{}")
    except (ValueError, RecursionError) as error:
        raise UnreadableError(path, str(error)) from None
    if not isinstance(found, dict):
        raise UnreadableError(path, "it is not a JSON object")
    return found


_TOOLS = ("pip", "setuptools", "wheel")  # what an environment is made with
_NAMED = 8
_MANY = 10  # that are missing are told one by one; more of them are another matter


def check_distributions(
    asked: Asked, found: Mapping[str, Installed], trouble: Iterable[Finding], colliding: Container[str] = ()
) -> Group:
    """Each pin in its version and from its source, and what else there is; `colliding` is told elsewhere."""
    locked = asked.lock.pins
    findings: list[Finding] = []
    gone = sorted(f"{pin.name} {pin.version}" for pin in locked.values() if pin.name not in found)
    if gone:
        findings.append(Finding("distribution-missing", {**some(gone, _NAMED), "total": str(len(locked))}))
    differences = (_difference(pin, found[name]) for name, pin in sorted(locked.items()) if name in found)
    findings += [finding for finding in differences if finding is not None]
    for finding in trouble:
        if finding.values.get("name") in locked or (finding.code == "distribution-leftover" and not is_shared()):
            findings.append(finding)
    for name, reason in sorted(asked.lock.absent.items()):
        if name in found and name not in colliding:
            command = asked.again(name) if found[name].is_ours else asked.fresh
            findings.append(Finding("distribution-unwanted", {"name": name, "reason": reason}, command))
    extra = extra_distributions(asked, found)
    if extra:
        command = f"{asked.python} -m pip uninstall {' '.join(map(shlex.quote, extra))}"
        command = command if all(found[name].is_ours for name in extra) else asked.fresh
        findings.append(Finding("distribution-extra", some(extra, _NAMED), command))
    return Group("distributions", findings, {"count": str(len(locked))})


def extra_distributions(asked: Asked, found: Iterable[str]) -> list[str]:
    """What the lock does not have, and no environment is made with."""
    return sorted(set(found) - set(asked.lock.pins) - set(_TOOLS) - set(asked.lock.absent))


def _difference(pin: LockedDistribution, there: Installed) -> Finding | None:
    """How a distribution differs from its pin: in its version, or else in where it is from."""

    def finding(code: str, found: str = "") -> Finding:
        return Finding(code, {"name": pin.name, "wanted": pin.version, "found": found})

    if there.version and not same_version(there.version, pin.version):
        return finding("distribution-differs", there.version)
    if there.installer == "conda":
        return finding("distribution-conda")
    if there.source:
        return None if pin.editable else finding("distribution-editable", there.source)
    url = there.direct_url.get("url", "")
    vcs, archive = there.direct_url.get("vcs_info"), there.direct_url.get("archive_info")
    commit = str(vcs.get("commit_id", "")) if isinstance(vcs, dict) else ""
    if commit and commit != pin.commit:
        return finding("distribution-elsewhere", f"{url}@{commit}")
    if isinstance(archive, dict) and pin.sha256 and not pin.built:
        hashes = archive.get("hashes")
        told = str(hashes.get("sha256", "")) if isinstance(hashes, dict) else ""
        told = told or str(archive.get("hash", "")).partition("sha256=")[2]
        if told and told not in pin.sha256:
            return finding("distribution-elsewhere", f"{url} (sha256 {told[:12]}…)")
    return None


_SECONDS_OF_PIP = 300
_COMPLAINT = re.compile(r"(\S+) (\S+) (?:requires ([A-Za-z0-9._-]+)|has requirement ([A-Za-z0-9._-]+))")


def check_requirements(asked: Asked) -> Group:
    """Whether every distribution has what it asks for.

    Without PYTHONPATH, on which CANN puts distributions of its own that pip cannot judge.
    """
    environ = {key: value for key, value in asked.environ.items() if not key.startswith("PIP_")}
    command = [sys.executable, "-I", "-m", "pip", "--disable-pip-version-check", "check"]
    ran = run_program(command, environ, _SECONDS_OF_PIP)
    complaints = ran.output.splitlines()
    if ran.ending.endswith("No module named pip"):
        return Group("requirements", [Finding("pip-missing", {"python": asked.python})])
    if ran.status not in (0, 1) or (ran.status == 1 and not complaints):
        return Group("requirements", [Finding("pip-failed", {"error": ran.ending})])
    findings: list[Finding] = []
    expected = 0
    for line in complaints:
        if _expected(asked, line):
            expected += 1
        elif line.strip() and not line.startswith("No broken requirements found"):
            findings.append(Finding("requirement-broken", {"complaint": line.strip()}))
    note = "requirements-but" if expected else "requirements"
    return Group("requirements", findings, {"count": str(expected)}, note)


def _expected(asked: Asked, line: str) -> bool:
    match = _COMPLAINT.match(line)
    if match is None:
        return False
    package, version, name = canonical_name(match[1]), match[2], canonical_name(match[3] or match[4])
    return any((package, name) == (row[0], row[2]) and same_version(version, row[1]) for row in asked.lock.overrides)
