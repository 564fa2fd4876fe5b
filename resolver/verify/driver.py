"""Driver (HDK): at least the one that the lock's target states, and what else the lock asks of it.

It is read from the driver's version.info, or where that is not to be seen, as in a
container that has the devices alone, from npu-smi.
"""

from __future__ import annotations

from collections.abc import Iterator

from resolver.model.system import SystemVersion
from resolver.verify.finding import Finding, Group
from resolver.verify.locked import Asked, DriverNeed
from resolver.verify.npu import NpuTool
from resolver.verify.reading import UnreadableError, assignments, read_text


def check_hdk(asked: Asked, tool: NpuTool | None) -> Group:
    """Whether the driver is no older than the target's, and meets what else the lock asks of it."""
    wanted = asked.lock.system.get("hdk", "")
    needs = asked.lock.driver
    path = f"{asked.ascend}/driver/version.info"
    running = tool.driver if tool else ""
    told = ", ".join([*([f"hdk >= {wanted}"] if wanted else []), *(f"{need.by}: {need.wanted}" for need in needs)])
    values = {"wanted": wanted, "found": "", "path": path, "running": running, "asked": told}
    findings: list[Finding] = []
    version = None
    try:
        text = read_text(path)
        if text is not None:
            rows = assignments(text)
            values["found"] = rows.get("version") or rows.get("package_version") or ""
            version = _parsed(values["found"], path)
    except UnreadableError as error:
        findings.append(Finding("hdk-unreadable" if wanted else "hdk-file-unreadable", {**values, **error.values}))
        return Group("hdk", tuple(findings), "", values)
    if version is None and running:
        values["found"], values["path"] = running, "npu-smi"
        try:
            version = _parsed(running, "npu-smi")
        except UnreadableError as error:
            findings.append(Finding("hdk-unreadable" if wanted else "hdk-file-unreadable", {**values, **error.values}))
    elif running and version is not None:
        try:
            if not _parsed(running, "npu-smi").same_release(version):
                findings.append(Finding("hdk-not-running", values))
        except UnreadableError:
            pass  # a form that only npu-smi uses; the file is what counts
    if version is None:
        if wanted and not findings:
            findings.append(Finding("hdk-missing", values))
        return Group("hdk", tuple(findings), "hdk-unseen" if needs else "hdk-none", values)
    findings = [*_unmet(needs, version, values["found"], values["path"]), *findings]
    if wanted and version.before(SystemVersion.parse(wanted)):
        findings.insert(0, Finding("hdk-old", values))
    return Group("hdk", tuple(findings), "hdk-met" if told else "hdk-any", values)


def _unmet(needs: tuple[DriverNeed, ...], version: SystemVersion, found: str, path: str) -> Iterator[Finding]:
    """What is asked of the driver and this one does not meet, what must be met first."""
    for need in sorted(needs, key=lambda need: not need.binding):
        if not any(all(_holds(version, sign, text) for sign, text in clauses) for clauses in need.ranges):
            values = {
                "found": found,
                "path": path,
                "by": need.by,
                "asked": need.wanted,
                "strength": need.strength,
                "source": need.source,
            }
            yield Finding("hdk-refused" if need.binding else "hdk-unmet", values, reason=need.reason)


def _holds(version: SystemVersion, sign: str, text: str) -> bool:
    """One comparison; `== 25.5.*` is about the release line."""
    if not text.endswith(".*"):
        return version.holds(sign, SystemVersion.parse(text))
    line = tuple(map(int, text[:-2].split(".")))
    return (version.line[: len(line)] == line) == (sign == "==")


def _parsed(text: str, where: str) -> SystemVersion:
    try:
        return SystemVersion.parse(text)
    except ValueError as error:
        raise UnreadableError(where, str(error) if text else "it has no line `Version=`") from None
