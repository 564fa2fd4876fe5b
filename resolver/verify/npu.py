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
from typing import NamedTuple

from resolver.verify.finding import Finding, Group
from resolver.verify.imports import ImportRun, run_python, shown_command
from resolver.verify.locked import Asked
from resolver.verify.reading import answer, assignments

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
