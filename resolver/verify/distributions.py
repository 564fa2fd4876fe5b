"""What is installed against what is locked."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Container, Iterable, Iterator, Mapping

from resolver.verify.finding import Finding, Group, some
from resolver.verify.installed import Installed
from resolver.verify.locked import Asked, LockedDistribution, is_shared
from resolver.verify.versions import same_version

_TOOLS = ("pip", "setuptools", "wheel")  # what an environment is made with
_NAMED = 8
_MANY = 10  # that are missing are told one by one; more of them are another matter


def check_distributions(
    asked: Asked, found: Mapping[str, Installed], trouble: list[Finding], colliding: Container[str] = ()
) -> Group:
    """Each pin in its version and from its source, and what else there is; `colliding` is told elsewhere."""
    locked = asked.lock.pins
    findings: list[Finding] = []
    gone = [f"{pin.name} {pin.version}" for pin in locked.values() if pin.name not in found]
    if gone:
        missing = {**some(sorted(gone), _NAMED), "total": str(len(locked)), "install": asked.install}
        findings.append(Finding("distribution-missing", missing))
    for name, pin in sorted(locked.items()):
        if name in found:
            findings += _one(asked, pin, found[name])
    for finding in trouble:
        name = finding.values.get("name", "")
        values: dict[str, str] = {**finding.values, "again": asked.again(name), "python": asked.python}
        if finding.code == "metadata-broken":
            values["remove"] = f"rm -r {shlex.quote(_folder(finding))} && {asked.install}"
        if name in locked or (finding.code == "distribution-leftover" and not is_shared()):
            findings.append(Finding(finding.code, values, asked.fresh if is_shared() else ""))
    for name, reason in sorted(asked.lock.absent.items()):
        if name in found and name not in colliding:
            command = f"{asked.python} -m pip uninstall -y {name} && {asked.install}"
            command = command if _is_ours(found[name]) else asked.fresh
            findings.append(Finding("distribution-unwanted", {"name": name, "reason": reason}, command))
    extra = extra_distributions(asked, found)
    if extra:
        command = f"{asked.python} -m pip uninstall {' '.join(map(shlex.quote, extra))}"
        command = command if all(_is_ours(found[name]) for name in extra) else asked.fresh
        findings.append(Finding("distribution-extra", some(extra, _NAMED), command))
    return Group("distributions", tuple(findings), "distributions", {"count": str(len(locked))})


def extra_distributions(asked: Asked, found: Iterable[str]) -> list[str]:
    """What the lock does not have, and no environment is made with."""
    return sorted(set(found) - set(asked.lock.pins) - set(_TOOLS) - set(asked.lock.absent))


def check_environment(asked: Asked, found: Mapping[str, Installed]) -> tuple[Finding, ...]:
    """Whether this is the lock's environment at all: where most of it is not there, all else would follow from that."""
    there = [name for name in asked.lock.pins if name in found]
    gone = len(asked.lock.pins) - len(there)
    if gone < _MANY or gone < len(there):
        return ()
    strange = is_shared() or bool(extra_distributions(asked, found))
    values = {"python": sys.executable, "found": str(len(there)), "count": str(len(asked.lock.pins))}
    return (Finding("environment-other", {**values, "install": asked.fresh if strange else asked.install}),)


def _is_ours(one: Installed) -> bool:
    """Whether a distribution is this environment's, and no other program's."""
    return not is_shared() and one.root.startswith(os.path.realpath(sys.prefix) + "/")


def _one(asked: Asked, pin: LockedDistribution, there: Installed) -> Iterator[Finding]:
    values = {"name": pin.name, "wanted": pin.version, "install": asked.install, "again": asked.again(pin.name)}
    if there.version and not same_version(there.version, pin.version):
        yield Finding("distribution-differs", {**values, "found": there.version})
        return
    code, where = _source(pin, there)
    if code:
        yield Finding(code, {**values, "found": where})


def _source(pin: LockedDistribution, there: Installed) -> tuple[str, str]:
    """A code and what was found instead, where a distribution of the right version is not from where it should be."""
    if there.installer == "conda":
        return "distribution-conda", ""
    if there.source:
        return ("", "") if pin.editable else ("distribution-editable", there.source)
    about = there.direct or {}
    vcs, archive = about.get("vcs_info"), about.get("archive_info")
    commit = str(vcs.get("commit_id", "")) if isinstance(vcs, dict) else ""
    if commit and commit != pin.commit:
        return "distribution-elsewhere", f"{about.get('url', '')}@{commit}"
    if isinstance(archive, dict) and pin.sha256 and not pin.built:
        hashes = archive.get("hashes")
        told = str(hashes.get("sha256", "")) if isinstance(hashes, dict) else ""
        told = told or str(archive.get("hash", "")).partition("sha256=")[2]
        if told and told not in pin.sha256:
            return "distribution-elsewhere", f"{about.get('url', '')} (sha256 {told[:12]}…)"
    return "", ""


def _folder(finding: Finding) -> str:
    """The .dist-info folder of a file in it."""
    return finding.values["path"].rpartition("/")[0]
