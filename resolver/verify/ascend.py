"""CANN, the driver, the SoC and a tensor on the NPU, by the files of CANN and the driver, and by npu-smi.

CANN: `version.info` has an internal number as `Version=8.2.0.0.201`, and the release as
`version_dir`; `version.cfg` has `[internal:release]` of the running version, and a history of
installations. So only ascend_toolkit_install.info, `*_running_version` and `version_dir` are read.

npu-smi prints the driver as Software Version, and the chip's names: an A2 has a Chip Type and a
Chip Name (`Ascend`, `910B4`), an A3 a Chip Name and an NPU Name (`Ascend910`, `9392`). Numbers of
cards need not be consecutive.
"""

from __future__ import annotations

import glob
import os
import platform
import re
import shlex
import shutil
from collections.abc import Iterator
from typing import NamedTuple

from resolver.model.system import SystemVersion
from resolver.verify.findings import (
    CheckContext,
    Finding,
    Group,
    UnreadableError,
    assignments,
    list_and_count,
    read_text,
    run_program,
)
from resolver.verify.imports import run_python, shown_command

_HOMES = (
    "ASCEND_HOME_PATH",
    "ASCEND_TOOLKIT_HOME",
)  # set_env.sh sets both; torch_npu reads the first
_PARTS = ("toolkit", "runtime", "compiler", "opp", "opp_kernel", "hccl")
_NNAL_UP = 4  # ATB_HOME_PATH is nnal/atb/latest/atb/cxx_abi_1, the file lies in latest


class _Release(NamedTuple):
    """The release of a part of CANN in a file: as written, and as it is compared."""

    part: str
    path: str
    text: str
    version: SystemVersion


def check_cann(context: CheckContext) -> Group:
    """Whether the active CANN is the lock's, all of it of one release."""
    wanted = context.lock.system["cann"]
    variable = next((name for name in _HOMES if context.environ.get(name)), "")
    home = context.environ.get(variable, "")
    values = {"wanted": wanted, "home": home, "found": "", "variable": variable}
    if not os.path.isdir(home):
        code = "cann-gone" if home else "cann-inactive"
        return Group(
            "cann", [Finding(code, values, _activation(context, any_release=True))], values
        )
    record = f"{home}/{platform.machine()}-linux/ascend_toolkit_install.info"
    releases: list[_Release] = []
    findings: list[Finding] = []
    for path in (
        record,
        f"{home}/version.cfg",
        *(f"{home}/{part}/version.info" for part in _PARTS),
    ):
        try:
            releases += [
                _Release(part, path, text, _parsed(text, path)) for part, text in _releases(path)
            ]
        except UnreadableError as error:
            findings.append(Finding("cann-file-unreadable", error.values))
    if not releases:
        reason = findings[0].values if findings else {"path": record, "why": "no such file"}
        return Group("cann", [Finding("cann-unreadable", {**values, **reason})], values)
    if variable != _HOMES[0]:
        findings.append(Finding("cann-half-active", values, _sourced([f"{home}/set_env.sh"])))
    first = releases[0]
    values["found"] = first.text
    if not first.version.same_release(SystemVersion.parse(wanted)):
        findings.insert(0, Finding("cann-differs", values, _activation(context, any_release=False)))
    others = [
        f"{row.part} {row.text} ({row.path})"
        for row in releases
        if not row.version.same_release(first.version)
    ]
    if others:
        findings.append(Finding("cann-parts-differ", {**values, **list_and_count(others)}))
    findings += _nnal(context, first.version)
    return Group("cann", findings, values)


def _releases(path: str) -> Iterator[tuple[str, str]]:
    """The parts of CANN with the releases that a file says of them, the toolkit first."""
    text = read_text(path)
    rows = assignments(text or "")
    folder, name = os.path.split(path)
    if name == "version.cfg":
        parts = [
            key[: -len("_running_version")] for key in rows if key.endswith("_running_version")
        ]
        for part in sorted(parts, key=lambda part: (part != "toolkit", part)):
            pair = re.fullmatch(r"\[[^\]:]*:([^\]:]+)\]", rows[f"{part}_running_version"])
            if pair is None:
                raise UnreadableError(path, f"`{part}_running_version` is not [internal:release]")
            yield part, pair[1]
    elif name == "version.info" and "version_dir" in rows:
        yield os.path.basename(folder), rows["version_dir"]
    elif name == "ascend_toolkit_install.info" and text is not None:
        yield "toolkit", rows.get("version", "")


def _nnal(context: CheckContext, release: SystemVersion) -> list[Finding]:
    """NNAL must be the same release as the toolkit. Its file says `Version : 8.0.0.B100`."""
    folder = context.environ.get("ATB_HOME_PATH", "")
    for _ in range(_NNAL_UP if folder else 0):
        path = f"{folder}/version.info"
        try:
            found = assignments(read_text(path) or "").get("version")
            if found is not None:
                values = {"found": found, "wanted": str(release), "path": path}
                return (
                    []
                    if _parsed(found, path).same_release(release)
                    else [Finding("nnal-differs", values)]
                )
        except UnreadableError as error:
            return [Finding("cann-file-unreadable", error.values)]
        folder = os.path.dirname(folder)
    return []


def _activation(context: CheckContext, *, any_release: bool) -> str:
    """The command that activates the lock's release, or any if there is none; nothing where there is none of them."""
    release = context.lock.system["cann"]
    names = [
        f"cann-{release}",
        f"ascend-toolkit/{release}",
        *(["cann", "ascend-toolkit"] if any_release else []),
    ]
    homes = [context.ascend, *(f"{home}/Ascend" for home in (context.environ.get("HOME"),) if home)]
    return _sourced([f"{home}/{name}/set_env.sh" for home in homes for name in names])


def _sourced(scripts: list[str]) -> str:
    """The command that sources the first of the scripts that is there."""
    return next((f". {shlex.quote(script)}" for script in scripts if os.path.isfile(script)), "")


def _parsed(text: str, where: str) -> SystemVersion:
    try:
        return SystemVersion.parse(text)
    except ValueError as error:
        raise UnreadableError(where, str(error) if text else "it has no line `Version=`") from None


# vllm_ascend/device/hardware.py: ascend910b1 to b4-1; ascend910_9391 and so on; ascend310p1 and so
# on; ascend950
_FAMILIES = (("A2", r"910b"), ("A3", r"910_9[0-9]{3}"), ("310P", r"310p"), ("A5", r"950"))

_TENSOR = """
import torch, torch_npu
ones = torch.ones(2, 2).npu()
write_row({"sum": float((ones + ones).sum().cpu()), "count": torch.npu.device_count(), "name": torch.npu.get_device_name(0)})
"""


class NpuTool(NamedTuple):
    """The driver, the first chip and the number of NPUs by npu-smi; empty where it does not print them."""

    driver: str = ""
    chip: str = ""
    npus: int = 0

    @property
    def has_npu(self) -> bool:
        """Whether this machine, or the container, has an NPU: by npu-smi or by its devices."""
        return self.npus > 0 or bool(glob.glob("/dev/davinci[0-9]*"))


def ask_npu_smi(context: CheckContext) -> NpuTool:
    """The answers of npu-smi, if there is one."""
    folders = [
        *context.environ.get("PATH", "").split(os.pathsep),
        "/usr/local/bin",
        "/usr/local/sbin",
    ]
    tool = shutil.which(
        "npu-smi", path=os.pathsep.join(filter(os.path.isabs, folders))
    )  # none of the current folder

    def output(*arguments: str) -> str:
        result = run_program([tool or "", "info", *arguments], context.environ)
        return result.output if result.status == 0 else ""

    rows = re.findall(r"^\s*(\d+)\s+(\d+)\s+\d+\s+\S", output("-m"), re.MULTILINE)
    if not rows:
        return NpuTool()
    card, chip = rows[0]
    of_board = assignments(output("-t", "board", "-i", card))
    of_chip = assignments(output("-t", "board", "-i", card, "-c", chip))
    name, npu = of_chip.get("chip name", ""), of_chip.get("npu name", "")
    if npu and npu.upper() != "NA":
        name = f"{name}_{npu}"
    elif not name.lower().startswith("ascend"):
        name = of_chip.get("chip type", "") + name
    return NpuTool(of_board.get("software version", ""), name, len(rows))


def soc_family(name: str) -> str:
    """`A2` for Ascend910B4, `A3` for Ascend910_9392; empty for an unknown name."""
    return next((family for family, form in _FAMILIES if re.search(form, name, re.IGNORECASE)), "")


def check_soc(context: CheckContext, tool: NpuTool) -> Group:
    """Whether the chips are of the family that the lock's binaries and CANN's operators are for."""
    wanted, family = context.lock.system["soc"], soc_family(tool.chip)
    values = {"wanted": wanted, "found": family, "chip": tool.chip or "-"}
    if family.upper() == wanted.upper():
        return Group("soc", [], values)
    code = "soc-differs" if family else "soc-unnamed" if tool.chip else "soc-unknown"
    return Group("soc", [Finding(code, values)], values)


def check_npu(context: CheckContext, tool: NpuTool) -> Group:
    """Whether torch_npu computes two and two on the first NPU."""
    values = {"count": "0", "name": "-"}
    if not tool.has_npu:
        return Group("npu", [Finding("npu-absent", values)], values)
    rows, error = run_python(context, _TENSOR)
    if not rows:
        code = "import torch, torch_npu; print(torch.ones(2, 2).npu())"
        return Group(
            "npu",
            [Finding("npu-failed", {"error": error, "command": shown_command(context, code)})],
            values,
        )
    (row,) = rows
    values = {"count": str(row["count"]), "name": str(row["name"])}
    findings = [] if row["sum"] == 8.0 else [Finding("npu-wrong", {"found": str(row["sum"])})]
    wanted, family = context.lock.system.get("soc", ""), soc_family(values["name"])
    if wanted and family and family.upper() != wanted.upper() and not soc_family(tool.chip):
        findings.append(
            Finding("soc-differs", {"wanted": wanted, "found": family, "chip": values["name"]})
        )
    return Group("npu", findings, values)


def check_hdk(context: CheckContext, tool: NpuTool) -> Group:
    """Whether the driver is no older than the target's, and meets the other requirements of the lock on it."""
    wanted = context.lock.system.get("hdk", "")
    needs = context.lock.driver
    path = f"{context.ascend}/driver/version.info"
    asked = ", ".join(
        [
            *([f"hdk >= {wanted}"] if wanted else []),
            *(f"{need.by}: {need.wanted}" for need in needs),
        ]
    )
    values = {"wanted": wanted, "found": "", "path": path, "running": tool.driver, "asked": asked}
    try:
        text = read_text(path)
        if text is not None:
            rows = assignments(text)
            values["found"] = rows.get("version") or rows.get("package_version") or ""
        elif tool.driver:
            values["found"], values["path"] = tool.driver, "npu-smi"
        else:
            missing = [Finding("hdk-missing", values)] if wanted else []
            return Group("hdk", missing, values, "hdk-unseen" if needs else "hdk-none")
        version = _parsed(values["found"], values["path"])
    except UnreadableError as error:
        code = "hdk-unreadable" if wanted else "hdk-file-unreadable"
        return Group("hdk", [Finding(code, {**values, **error.values})], values)
    findings = []
    if wanted and version.before(SystemVersion.parse(wanted)):
        findings.append(Finding("hdk-old", values))
    for need in sorted(needs, key=lambda need: not need.binding):  # what must be met first
        if not any(
            all(_holds(version, sign, text) for sign, text in clauses) for clauses in need.ranges
        ):
            unmet = {
                **values,
                "by": need.by,
                "asked": need.wanted,
                "reason": need.reason[context.language],
            }
            findings.append(Finding("hdk-refused" if need.binding else "hdk-unmet", unmet))
    try:
        if tool.driver and not _parsed(tool.driver, "npu-smi").same_release(version):
            findings.append(Finding("hdk-not-running", values))
    except UnreadableError:
        pass  # a form that only npu-smi uses; the file is what counts
    return Group("hdk", findings, values, "hdk-met" if asked else "hdk-any")


def _holds(version: SystemVersion, sign: str, text: str) -> bool:
    """One comparison; `== 25.5.*` is about the release line."""
    if not text.endswith(".*"):
        return version.holds(sign, SystemVersion.parse(text))
    line = tuple(map(int, text[:-2].split(".")))
    return (version.line[: len(line)] == line) == (sign == "==")
