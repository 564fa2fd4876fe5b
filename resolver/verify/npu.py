"""What npu-smi says, the SoC, and a tensor on the NPU.

npu-smi is asked for what it calls Software Version, and for the chip's names:
an A2 has a Chip Type and a Chip Name (`Ascend`, `910B4`), an A3 a Chip Name and
an NPU Name (`Ascend910`, `9392`). Numbers of cards need not be consecutive.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Iterator
from typing import NamedTuple

from resolver.model.system import SystemVersion
from resolver.verify.finding import Finding, Group
from resolver.verify.imports import ImportRun, run_python, shown_command
from resolver.verify.locked import Asked, DriverNeed
from resolver.verify.reading import UnreadableError, answer, assignments, read_text

# vllm_ascend/device/hardware.py: ascend910b1 to b4-1; ascend910_9391 and so on; ascend310p1 and so on; ascend950
_FAMILIES = (("A2", r"910b"), ("A3", r"910_9[0-9]{3}"), ("310P", r"310p"), ("A5", r"950"))

_TENSOR = """
import torch, torch_npu
ones = torch.ones(2, 2).npu()
tell({"sum": float((ones + ones).sum().cpu()), "count": torch.npu.device_count(), "name": torch.npu.get_device_name(0)})
"""


class NpuTool(NamedTuple):
    """What npu-smi says: of the driver, of the first chip, and how many NPUs there are. Empty where it says nothing."""

    driver: str = ""
    chip: str = ""
    npus: int = 0


def ask_npu_smi(asked: Asked) -> NpuTool | None:
    """The answers of npu-smi; None where there is none that answers."""
    folders = [*asked.environ.get("PATH", "").split(os.pathsep), "/usr/local/bin", "/usr/local/sbin"]
    tool = shutil.which("npu-smi", path=os.pathsep.join(filter(os.path.isabs, folders)))  # none of the current folder
    chips = answer([tool, "info", "-m"], asked.environ) if tool else None
    if tool is None or chips is None:
        return None
    rows = re.findall(r"^\s*(\d+)\s+(\d+)\s+(\d+)\s+\S", chips, re.MULTILINE)
    if not rows:
        return NpuTool()
    card, chip = rows[0][:2]
    board = assignments(answer([tool, "info", "-t", "board", "-i", card], asked.environ) or "")
    about = assignments(answer([tool, "info", "-t", "board", "-i", card, "-c", chip], asked.environ) or "")
    name, npu = about.get("chip name", ""), about.get("npu name", "")
    if npu and npu.upper() != "NA":
        name = f"{name}_{npu}"
    elif not name.lower().startswith("ascend"):
        name = about.get("chip type", "") + name
    return NpuTool(board.get("software version", ""), name, len(rows))


def has_npu(tool: NpuTool | None) -> bool:
    """Whether this machine, or the container, has an NPU: by npu-smi or by its devices."""
    return bool(tool and tool.npus) or bool(glob.glob("/dev/davinci[0-9]*"))


def soc_family(name: str) -> str:
    """`A2` for Ascend910B4, `A3` for Ascend910_9392; nothing for a name that is not known."""
    return next((family for family, form in _FAMILIES if re.search(form, name, re.IGNORECASE)), "")


def told_soc(tool: NpuTool | None) -> str:
    """A line such as `A2 (Ascend910B4)`, for install.sh; nothing where the family is not known."""
    family = soc_family(tool.chip) if tool else ""
    return f"{family} ({tool.chip})\n" if tool and family else ""


def check_soc(asked: Asked, tool: NpuTool | None) -> Group:
    """Whether the chips are of the family that the lock's binaries and CANN's operators are for."""
    wanted = asked.lock.system["soc"]
    chip = tool.chip if tool else ""
    family = soc_family(chip)
    values = {"wanted": wanted, "found": family, "chip": chip or "-"}
    findings: tuple[Finding, ...] = ()
    if not family:
        findings = (Finding("soc-unnamed" if chip else "soc-unknown", values),)
    elif family.upper() != wanted.upper():
        findings = (Finding("soc-differs", values),)
    return Group("soc", findings, "soc", values)


def check_npu(asked: Asked, tool: NpuTool | None) -> Group:
    """Whether torch_npu computes two and two on the first NPU."""
    values = {"count": "0", "name": "-"}
    if not has_npu(tool):
        return Group("npu", (Finding("npu-absent", values),), "", values)
    run = run_python(asked, _TENSOR)
    found = _tensor(run)
    if found is None:
        code = "import torch, torch_npu; print(torch.ones(2, 2).npu())"
        told = {"error": run.error, "command": shown_command(asked, code)}
        return Group("npu", (Finding("npu-failed", told),), "", values)
    total, count, name = found
    values = {"count": str(count), "name": name}
    findings: list[Finding] = []
    if total != 8.0:
        findings.append(Finding("npu-wrong", {"found": str(total)}))
    wanted, family = asked.lock.system.get("soc", ""), soc_family(name)
    if wanted and family and family.upper() != wanted.upper() and not (tool and soc_family(tool.chip)):
        findings.append(Finding("soc-differs", {"wanted": wanted, "found": family, "chip": name}))
    return Group("npu", tuple(findings), "npu", values)


def _tensor(run: ImportRun) -> tuple[float, int, str] | None:
    for row in run.rows:
        if "sum" in row:
            return float(row["sum"]), int(row["count"]), str(row["name"])
    return None


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
