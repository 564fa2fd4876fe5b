"""The machine, its Python and what is installed there, against what is locked."""

from __future__ import annotations

import errno
import glob
import hashlib
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
from urllib.parse import unquote

from resolver.pip import without_pip_settings
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


def check_lock(context: CheckContext) -> Group:
    """Return whether the lock.toml beside this program is the one that it was made from, if there is any."""
    path = os.path.join(context.folder, "lock.toml")
    values = {"path": path, "program": context.program, "stack": shlex.quote(context.lock.stack)}
    try:
        text = read_text(path)
    except UnreadableError as error:
        return Group("lock", [Finding("lock-unreadable", {**values, **error.values})], values)
    if text is None:
        return Group("lock", [], values, note="lock-absent")
    is_same = hashlib.sha256(text.encode()).hexdigest() == context.lock.digest
    return Group("lock", [] if is_same else [Finding("lock-differs", values)], values)


def check_machine(context: CheckContext) -> Group:
    """Whether the lock's compiled files can run here at all."""
    system, _, machine = context.lock.platform.partition("-")
    library, glibc = platform.libc_ver()
    glibc = glibc if library == "glibc" else "-"
    findings: list[Finding] = []
    if platform.system().lower() != system:
        findings.append(Finding("system-differs", {"found": platform.system()}))
    if platform.machine() != machine:
        findings.append(
            Finding("processor-differs", {"found": platform.machine(), "wanted": machine})
        )
    if glibc == "-" or _numbers(glibc) < _numbers(context.lock.glibc):
        code = "glibc-missing" if glibc == "-" else "glibc-old"
        findings.append(Finding(code, {"found": glibc, "wanted": context.lock.glibc}))
    values = {"system": platform.system(), "machine": platform.machine(), "glibc": glibc}
    return Group("machine", findings, values)


def check_python(context: CheckContext, installed: Mapping[str, Installed]) -> Group:
    """Whether this interpreter takes the lock's wheels, and is the lock's environment, and one of its own."""
    values = {
        "found": platform.python_version(),
        "wanted": context.lock.python,
        "python": sys.executable,
    }
    kind = platform.python_implementation()
    if kind == "CPython" and sysconfig.get_config_var("Py_GIL_DISABLED"):
        kind = "free-threaded CPython"
    there = sum(name in installed for name in context.lock.pins)
    missing = len(context.lock.pins) - there
    if kind != "CPython":
        findings = [Finding("python-differs", {**values, "found": f"{values['found']} ({kind})"})]
    elif ".".join(platform.python_version_tuple()[:2]) != context.lock.python:
        findings = [Finding("python-differs", values)]
    elif missing >= max(_MANY, there):  # all other findings would follow from that
        of_others = is_shared() or extra_distributions(context, installed)
        install = context.venv_command if of_others else context.install_command
        counts = {"found": str(there), "count": str(len(context.lock.pins))}
        findings = [
            Finding("environment-other", {**counts, "python": sys.executable, "install": install})
        ]
    else:
        findings = [Finding("python-shared", values)] if is_shared() else []
    return Group("python", findings, values)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()]


# A suffix of a version in any spelling, and how PEP 440 writes it
_SUFFIX = re.compile(r"[-_.]?(alpha|beta|preview|pre|rc|a|b|c|post|rev|r|dev)[-_.]?(\d*)|-(\d+)")
_SPELLINGS = {
    "alpha": "a",
    "beta": "b",
    "c": "rc",
    "pre": "rc",
    "preview": "rc",
    "rev": "post",
    "r": "post",
}


def canonical_name(name: str) -> str:
    """PEP 503: `Foo.Bar_baz` is `foo-bar-baz`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def same_version(left: str, right: str) -> bool:
    """Whether two texts spell one version (PEP 440): `1.0` is `1.0.0`, `2024.01.05` is `2024.1.5`."""
    return left == right or _canonical_version(left) == _canonical_version(right)


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
    def editable_folder(self) -> str:
        """The folder that an editable installation points to; nothing for any other."""
        folder = self.direct_url.get("dir_info")
        if isinstance(folder, dict) and folder.get("editable") is True:
            return unquote(re.sub("^file://", "", str(self.direct_url.get("url", ""))))
        is_listed = not os.path.isdir(self.info) or os.path.isfile(
            os.path.join(self.info, "installed-files.txt")
        )
        return (
            "" if is_listed or self.info.endswith(".dist-info") else self.root
        )  # setup.py develop

    def variant_labels(self) -> list[str]:
        """Return the label of the wheel variant that was installed; none for a plain wheel, or if it cannot be read."""
        try:
            table = json.loads(read_text(os.path.join(self.info, "variant.json")) or "{}")
            return [str(label) for label in table["variants"]]
        except (UnreadableError, ValueError, KeyError, TypeError, RecursionError):
            return []

    @property
    def is_ours(self) -> bool:
        """Whether a distribution is this environment's, and no other program's."""
        return not is_shared() and self.root.startswith(os.path.realpath(sys.prefix) + "/")


def installed_distributions(
    context: CheckContext, paths: Iterable[str]
) -> tuple[dict[str, Installed], list[Finding]]:
    """By name, and what is wrong with them; of several in the search path the first, as Python takes it."""
    installed: dict[str, Installed] = {}
    findings: list[Finding] = []
    for root in dict.fromkeys(map(os.path.realpath, paths)):
        entries: dict[str, str] = {}
        for path in sorted(
            path
            for kind in ("dist", "egg")
            for path in glob.glob(f"{glob.escape(root)}/*.{kind}-info")
        ):
            entry = os.path.basename(path)
            if entry.startswith("~"):
                findings.append(
                    Finding("distribution-leftover", {"path": path}, f"rm -r {shlex.quote(path)}")
                )
                continue
            distribution, broken = _read(context, root, path)
            name = distribution.name
            if name in entries:
                values = {"name": name, "one": entries[name], "other": entry}
                remedy = context.then_install(context.reinstall_command(name))
                findings.append(Finding("distribution-twice", values, remedy))
                continue
            entries[name] = entry
            if name not in installed:
                installed[name] = distribution
                findings += broken
    return installed, findings


def _read(context: CheckContext, root: str, path: str) -> tuple[Installed, list[Finding]]:
    """A distribution, and what is wrong with its metadata; it has no version if that cannot be read."""
    name, version, installer = os.path.basename(path).rpartition(".")[0].partition("-")[0], "", ""
    direct_url: dict[str, Any] = {}
    findings: list[Finding] = []
    metadata = path
    if os.path.isdir(path):
        metadata = os.path.join(path, "METADATA" if path.endswith(".dist-info") else "PKG-INFO")
    try:
        text = read_text(
            metadata, errors="surrogateescape"
        )  # its description may be in any encoding
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
        findings.append(
            Finding("metadata-broken", values, context.then_install(f"rm -r {shlex.quote(path)}"))
        )
    return Installed(canonical_name(name), version, root, path, installer, direct_url), findings


def _object(path: str) -> dict[str, Any]:
    """The object in a file of JSON; an empty one where there is no file."""
    try:
        value = json.loads(read_text(path) or "{}")
    except (ValueError, RecursionError) as error:
        raise UnreadableError(path, str(error)) from None
    if not isinstance(value, dict):
        raise UnreadableError(path, "it is not a JSON object")
    return value


_TOOLS = ("pip", "setuptools", "wheel")  # what an environment is made with
_LISTED = 8
_MANY = 10  # so many missing ones are another environment


def check_distributions(
    context: CheckContext,
    installed: Mapping[str, Installed],
    broken: Iterable[Finding],
    colliding: Container[str] = (),
) -> Group:
    """Each pin in its version and from its source, and other distributions; those `colliding` have another group."""
    pins = context.lock.pins
    findings: list[Finding] = []
    missing = sorted(
        f"{pin.name} {pin.version}" for pin in pins.values() if pin.name not in installed
    )
    if missing:
        values = {**list_and_count(missing, _LISTED), "total": str(len(pins))}
        findings.append(Finding("distribution-missing", values))
    differences = (
        _difference(pin, installed[name]) for name, pin in sorted(pins.items()) if name in installed
    )
    findings += [finding for finding in differences if finding is not None]
    for finding in broken:
        if finding.values.get("name") in pins or (
            finding.code == "distribution-leftover" and not is_shared()
        ):
            findings.append(finding)
    for name, reason in sorted(context.lock.absent.items()):
        if name in installed and name not in colliding:
            remedy = (
                context.reinstall_command(name) if installed[name].is_ours else context.venv_command
            )
            findings.append(
                Finding("distribution-unwanted", {"name": name, "reason": reason}, remedy)
            )
    extra = extra_distributions(context, installed)
    if extra:
        command = f"{context.python} -m pip uninstall {' '.join(map(shlex.quote, extra))}"
        remedy = command if all(installed[name].is_ours for name in extra) else context.venv_command
        findings.append(Finding("distribution-extra", list_and_count(extra, _LISTED), remedy))
    return Group("distributions", findings, {"count": str(len(pins))})


def extra_distributions(context: CheckContext, installed: Iterable[str]) -> list[str]:
    """What the lock does not have, and no environment is made with."""
    return sorted(set(installed) - set(context.lock.pins) - set(_TOOLS) - set(context.lock.absent))


def _difference(pin: LockedDistribution, installed: Installed) -> Finding | None:
    """How a distribution differs from its pin: in its version, or else in where it is from."""

    def finding(code: str, found: str = "") -> Finding:
        return Finding(code, {"name": pin.name, "wanted": pin.version, "found": found})

    if installed.version and not same_version(installed.version, pin.version):
        return finding("distribution-differs", installed.version)
    labels = installed.variant_labels() if pin.variant else []
    if pin.variant and pin.variant not in labels:
        found = f"{installed.version} [{'variant ' + labels[0] if labels else 'no variant'}]"
        wanted = f"{pin.version} [variant {pin.variant}]"
        return Finding("distribution-differs", {"name": pin.name, "wanted": wanted, "found": found})
    if installed.installer == "conda":
        return finding("distribution-conda")
    if installed.editable_folder and not pin.editable:
        return finding("distribution-editable", installed.editable_folder)
    if installed.editable_folder:
        checkout = os.path.realpath(checkout_folder(pin.name))
        is_there = f"{os.path.realpath(installed.editable_folder)}/".startswith(f"{checkout}/")
        return None if is_there else finding("distribution-elsewhere", installed.editable_folder)
    url = installed.direct_url.get("url", "")
    vcs, archive = installed.direct_url.get("vcs_info"), installed.direct_url.get("archive_info")
    commit = str(vcs.get("commit_id", "")) if isinstance(vcs, dict) else ""
    if commit and commit != pin.commit:
        return finding("distribution-elsewhere", f"{url}@{commit}")
    if isinstance(archive, dict) and pin.sha256 and not pin.built:
        hashes = archive.get("hashes")
        sha256 = str(hashes.get("sha256", "")) if isinstance(hashes, dict) else ""
        sha256 = sha256 or str(archive.get("hash", "")).partition("sha256=")[2]
        if sha256 and sha256 not in pin.sha256:
            return finding("distribution-elsewhere", f"{url} (sha256 {sha256[:12]}…)")
    return None


def checkout_folder(name: str) -> str:
    """Return the folder in which install.sh has the editable checkout of a distribution."""
    return os.path.join(sys.prefix, "src", name)


_SECONDS_OF_PIP = 300
_COMPLAINT = re.compile(
    r"(\S+) (\S+) (?:requires ([A-Za-z0-9._-]+)|has requirement ([A-Za-z0-9._-]+))"
)


def check_requirements(context: CheckContext) -> Group:
    """Whether the requirements of every distribution are met.

    Without PYTHONPATH, on which CANN puts distributions of its own that pip cannot judge.
    """
    command = [sys.executable, "-I", "-m", "pip", "check"]
    result = run_program(command, without_pip_settings(context.environ), _SECONDS_OF_PIP)
    complaints = result.output.splitlines()
    if result.ending.endswith("No module named pip"):
        return Group("requirements", [Finding("pip-missing", {"python": context.python})])
    if result.status not in (0, 1) or (result.status == 1 and not complaints):
        return Group("requirements", [Finding("pip-failed", {"error": result.ending})])
    findings: list[Finding] = []
    expected = 0
    for line in complaints:
        if _is_expected(context, line):
            expected += 1
        elif line.strip() and not line.startswith("No broken requirements found"):
            findings.append(Finding("requirement-broken", {"complaint": line.strip()}))
    note = "requirements-but" if expected else "requirements"
    return Group("requirements", findings, {"count": str(expected)}, note)


def _is_expected(context: CheckContext, line: str) -> bool:
    """Whether pip complains of a requirement that the lock overrides."""
    match = _COMPLAINT.match(line)
    if match is None:
        return False
    package, version, name = (
        canonical_name(match[1]),
        match[2],
        canonical_name(match[3] or match[4]),
    )
    return any(
        (package, name) == (row[0], row[2]) and same_version(version, row[1])
        for row in context.lock.overrides
    )
