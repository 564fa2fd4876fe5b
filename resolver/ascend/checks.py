"""Check CANN, the driver, the chip, and a computation on the NPU, for `verify` and `init`.

Files of CANN and of the driver are read, and the tool npu-smi is run.

In CANN, `version.info` has an internal number as `Version=8.2.0.0.201`, and the release as
`version_dir`. `version.cfg` has the active version as `[internal:release]`, and a history of
installations. So only ascend_toolkit_install.info, `*_running_version` and `version_dir` are read.

npu-smi prints the version of the driver as Software Version, and the name of the chip in parts: an
A2 has a Chip Type and a Chip Name (`Ascend`, `910B4`), an A3 has a Chip Name and an NPU Name
(`Ascend910`, `9392`). The numbers of cards need not be consecutive.
"""

from __future__ import annotations

import glob
import os
import platform
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from resolver.ascend.names import CHIP, COMPONENTS, DRIVER, TOOLKIT, TORCH_PLUGIN
from resolver.ascend.versions import parse_version
from resolver.model.system import SystemVersion
from resolver.verify.findings import (
    CheckContext,
    DriverNeed,
    Finding,
    Group,
    UnreadableError,
    assignments,
    list_and_count,
    read_text,
    run_program,
)
from resolver.verify.imports import run_python, shown_command

# The variables with the folder of the active CANN. set_env.sh sets both; torch_npu reads the first.
_HOME_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
# The folders of the parts of CANN that have a version.info.
_PARTS = ("toolkit", "runtime", "compiler", "opp", "opp_kernel", "hccl")
# ATB_HOME_PATH is a folder such as nnal/atb/latest/atb/cxx_abi_1. The file with the version is in
# `latest`, so at most this many folders are searched, each above the one before.
_NNAL_LEVELS = 4
# A pattern for the names of the chips of each family, from vllm_ascend/device/hardware.py:
# ascend910b1 to ascend910b4-1; ascend910_9391 and so on; ascend310p1 and so on; ascend950.
_FAMILIES = (("A2", r"910b"), ("A3", r"910_9[0-9]{3}"), ("310P", r"310p"), ("A5", r"950"))

# A program that adds two tensors on the first NPU, and writes the result.
_TENSOR = """
import torch, torch_npu
ones = torch.ones(2, 2).npu()
total = float((ones + ones).sum().cpu())
name = torch.npu.get_device_name(0)
write_row({"sum": total, "count": torch.npu.device_count(), "name": name})
"""


class _Release(NamedTuple):
    """The release of one part of CANN, as a file states it."""

    # The name of the part, such as `toolkit`.
    part: str
    # The file that states the release.
    path: str
    version: SystemVersion


def check_components(context: CheckContext, tool: NpuTool) -> Iterator[Group]:
    """Yield the results of the checks of CANN, driver and chip, as far as the lock needs them.

    A further result lists the components of the lock that cannot be checked.
    """
    system = context.lock.system
    if TOOLKIT in system:
        yield _compared(check_cann(context), "found")
    if TORCH_PLUGIN in context.lock.pins or DRIVER in system or _asks_for_hdk(context):
        yield _compared(check_hdk(context, tool), "found")
    if CHIP in system:
        yield _compared(check_soc(context, tool), "chip", npus=str(tool.npus))
    unchecked = [f"{name} {system[name]}" for name in system if name not in COMPONENTS]
    if unchecked:
        yield Group("components", [], {"list": ", ".join(unchecked)})


def _compared(group: Group, key: str, **further: str) -> Group:
    """Return a group with the values by which the machines of a cluster are compared.

    These are the group's own value with this key, under the name of the group, and `further`.
    """
    return replace(group, machine={group.name: group.values[key], **further})


def _asks_for_hdk(context: CheckContext) -> bool:
    """Return whether the lock has a requirement on the driver."""
    return any(need.component == DRIVER for need in context.lock.driver)


def check_computation(context: CheckContext, tool: NpuTool) -> Iterator[Group]:
    """Yield the result of a computation on the NPU, if the lock has torch-npu."""
    if TORCH_PLUGIN in context.lock.pins:
        yield _check_npu(context, tool)


def check_cann(context: CheckContext) -> Group:
    """Check that the active CANN has the release in the lock, and all its parts have one release.

    The value `found` of the result is the release of the active CANN; empty if it is not known.
    """
    wanted = context.lock.system[TOOLKIT]
    if not _is_version(wanted):
        return Group("cann", [_unknown_value(TOOLKIT, wanted)], {"found": ""})
    variable = next((name for name in _HOME_VARIABLES if context.environ.get(name)), "")
    home = context.environ.get(variable, "")
    values = {"wanted": wanted, "home": home, "found": "", "variable": variable}
    if not os.path.isdir(home):
        code = "cann-gone" if home else "cann-inactive"
        finding = Finding(code, values, _activation(context, any_release=True))
        return Group("cann", [finding], values)
    record = f"{home}/{platform.machine()}-linux/ascend_toolkit_install.info"
    paths = [record, f"{home}/version.cfg"]
    paths += [f"{home}/{part}/version.info" for part in _PARTS]
    releases = []
    findings = []
    for path in paths:
        try:
            releases += list(_releases(path))
        except UnreadableError as error:
            findings.append(Finding("cann-file-unreadable", error.values))
    if not releases:
        reason = findings[0].values if findings else {"path": record, "why": "no such file"}
        return Group("cann", [Finding("cann-unreadable", {**values, **reason})], values)
    if variable != _HOME_VARIABLES[0]:
        findings.append(Finding("cann-half-active", values, _source_command([home])))
    release = releases[0].version
    values["found"] = str(release)
    if not release.same_release(parse_version(wanted)):
        findings.insert(0, Finding("cann-differs", values, _activation(context, any_release=False)))
    others = [
        f"{other.part} {other.version} ({other.path})"
        for other in releases
        if not other.version.same_release(release)
    ]
    if others:
        findings.append(Finding("cann-parts-differ", {**values, **list_and_count(others)}))
    findings += _nnal_findings(context, release)
    return Group("cann", findings, values)


def _is_version(text: str) -> bool:
    """Return whether a text is a version of CANN or HDK."""
    try:
        parse_version(text)
    except ValueError:
        return False
    return True


def _unknown_value(component: str, wanted: str) -> Finding:
    """Return the finding about a component whose value in the lock is not a version.

    Only a lock that was edited by hand has such a value.
    """
    return Finding("component-invalid", {"component": component, "wanted": wanted})


def _releases(path: str) -> Iterator[_Release]:
    """Yield the releases of the parts of CANN that a file states, the toolkit first.

    Nothing is yielded if there is no such file. Raises UnreadableError if it is invalid.
    """
    text = read_text(path)
    if text is None:
        return
    values = assignments(text)
    folder, name = os.path.split(path)
    if name == "ascend_toolkit_install.info":
        version = _parse_version(values.get("version", ""), path, "version")
        yield _Release("toolkit", path, version)
    elif name == "version.info" and "version_dir" in values:
        version = _parse_version(values["version_dir"], path, "version_dir")
        yield _Release(os.path.basename(folder), path, version)
    elif name == "version.cfg":
        keys = [key for key in values if key.endswith("_running_version")]
        for key in sorted(keys, key=lambda key: (key != "toolkit_running_version", key)):
            pair = re.fullmatch(r"\[[^\]:]*:([^\]:]+)\]", values[key])
            if pair is None:
                raise UnreadableError(path, f"`{key}` is not [internal:release]")
            part = key[: -len("_running_version")]
            yield _Release(part, path, _parse_version(pair[1], path, key))


def _parse_version(text: str, path: str, key: str) -> SystemVersion:
    """Return the version in the value `text` of a key of a file.

    Raises UnreadableError if it is empty or not a version.
    """
    if not text:
        raise UnreadableError(path, f"it states nothing for `{key}`")
    try:
        return parse_version(text)
    except ValueError as error:
        raise UnreadableError(path, str(error)) from None


def _nnal_findings(context: CheckContext, release: SystemVersion) -> list[Finding]:
    """Return a finding if the active NNAL has another release than the toolkit; else nothing.

    NNAL is Ascend's Neural Network Acceleration Library, which contains ATB. Its version file has
    lines like `Version : 8.0.0.B100`.
    """
    folder = context.environ.get("ATB_HOME_PATH", "")
    if not folder:
        return []
    try:
        for _ in range(_NNAL_LEVELS):
            path = f"{folder}/version.info"
            found = assignments(read_text(path) or "").get("version")
            if found is not None:
                if _parse_version(found, path, "Version").same_release(release):
                    return []
                values = {"found": found, "wanted": str(release), "path": path}
                return [Finding("nnal-differs", values)]
            folder = os.path.dirname(folder)
    except UnreadableError as error:
        return [Finding("cann-file-unreadable", error.values)]
    return []


def _activation(context: CheckContext, *, any_release: bool) -> str:
    """Return the shell command that activates an installed CANN; empty if none is installed.

    It is a CANN with the release in the lock. With `any_release`, the CANN that is installed as the
    current one is used if there is no such release.
    """
    release = context.lock.system[TOOLKIT]
    names = [f"cann-{release}", f"ascend-toolkit/{release}"]
    if any_release:
        names += ["cann", "ascend-toolkit"]
    roots = [context.ascend]
    if context.environ.get("HOME"):
        roots.append(f"{context.environ['HOME']}/Ascend")
    folders: list[str] = []
    for root in roots:
        folders += [f"{root}/{name}" for name in names]
    return _source_command(folders)


def _source_command(folders: Iterable[str]) -> str:
    """Return the shell command that sources set_env.sh of the first folder with this file.

    Empty if there is no such folder.
    """
    for folder in folders:
        script = f"{folder}/set_env.sh"
        if os.path.isfile(script):
            return f". {shlex.quote(script)}"
    return ""


class NpuTool(NamedTuple):
    """What npu-smi prints about this machine."""

    # The version of the driver; empty if it is not known.
    driver: str = ""
    # The different names of the chips; the name of the first NPU's chip comes first.
    chips: tuple[str, ...] = ()
    # The number of NPUs; 0 without npu-smi.
    npus: int = 0

    @property
    def chip(self) -> str:
        """Return the name of the first chip; empty if it is not known."""
        return self.chips[0] if self.chips else ""

    @property
    def has_device(self) -> bool:
        """Return whether this machine or container has an NPU.

        It has one if npu-smi lists one, or if there is a device file /dev/davinci*.
        """
        return self.npus > 0 or bool(glob.glob("/dev/davinci[0-9]*"))


def ask_tool(context: CheckContext) -> NpuTool:
    """Return what npu-smi prints about this machine; the defaults if there is no npu-smi."""
    folders = context.environ.get("PATH", "").split(os.pathsep)
    folders += ["/usr/local/bin", "/usr/local/sbin"]
    # A relative folder on PATH would depend on the current folder.
    absolute = [folder for folder in folders if os.path.isabs(folder)]
    tool = shutil.which("npu-smi", path=os.pathsep.join(absolute))
    if tool is None:
        return NpuTool()

    def output(*arguments: str) -> str:
        """Return the output of `npu-smi info` with these arguments; empty if it fails."""
        result = run_program([tool, "info", *arguments], context.environ)
        return result.output if result.status == 0 else ""

    # The number of the card, the number of the chip on it, and the name of each chip.
    chips = re.findall(r"^\s*(\d+)\s+(\d+)\s+\d+\s+(\S.*?)\s*$", output("-m"), re.MULTILINE)
    if not chips:
        return NpuTool()
    driver = assignments(output("-t", "board", "-i", chips[0][0])).get("software version", "")
    names = []
    seen = set()
    for card, chip, short_name in chips:
        # Each call takes a second, and a machine has up to 16 chips of one kind.
        if short_name not in seen:
            seen.add(short_name)
            values = assignments(output("-t", "board", "-i", card, "-c", chip))
            names.append(_chip_name(values))
    return NpuTool(driver, tuple(dict.fromkeys(filter(None, names))), len(chips))


def _chip_name(values: Mapping[str, str]) -> str:
    """Return the full name of a chip, such as `Ascend910B4` or `Ascend910_9392`."""
    name = values.get("chip name", "")
    npu_name = values.get("npu name", "")
    if npu_name and npu_name.upper() != "NA":
        return f"{name}_{npu_name}"
    if name.lower().startswith("ascend"):
        return name
    return values.get("chip type", "") + name


def soc_family(name: str) -> str:
    """Return the family of a chip, such as `A2` for Ascend910B4; empty for an unknown name."""
    for family, pattern in _FAMILIES:
        if re.search(pattern, name, re.IGNORECASE):
            return family
    return ""


def check_soc(context: CheckContext, tool: NpuTool) -> Group:
    """Check that all chips belong to the family in the lock.

    The binaries of the lock, and the operators of CANN, are made for one family.
    """
    wanted = context.lock.system[CHIP]
    family = soc_family(tool.chip)
    values = {"wanted": wanted, "found": family, "chip": tool.chip or "-"}
    others = [chip for chip in tool.chips if soc_family(chip).upper() != wanted.upper()]
    if tool.chips and not others:
        return Group("soc", [], values)
    if len(others) < len(tool.chips):
        values = {**values, "found": wanted, "list": ", ".join(others)}
        return Group("soc", [Finding("soc-mixed", values)], values)
    if family:
        code = "soc-differs"
    elif tool.chip:
        code = "soc-unnamed"
    else:
        code = "soc-unknown"
    return Group("soc", [Finding(code, values)], values)


def _check_npu(context: CheckContext, tool: NpuTool) -> Group:
    """Check that torch_npu adds two tensors correctly on the first NPU."""
    values = {"count": "0", "name": "-"}
    if not tool.has_device:
        return Group("npu", [Finding("npu-absent", values)], values)
    results, error = run_python(context, _TENSOR)
    if not results:
        command = shown_command(context, "import torch, torch_npu; print(torch.ones(2, 2).npu())")
        return Group("npu", [Finding("npu-failed", {"error": error, "command": command})], values)
    result = results[0]
    name = str(result["name"])
    findings = []
    if result["sum"] != 8.0:
        findings.append(Finding("npu-wrong", {"found": str(result["sum"])}))
    wanted = context.lock.system.get(CHIP, "")
    family = soc_family(name)
    # If npu-smi knows the family, check_soc has compared it.
    if wanted and family and not soc_family(tool.chip) and family.upper() != wanted.upper():
        soc_values = {"wanted": wanted, "found": family, "chip": name}
        findings.append(Finding("soc-differs", soc_values))
    return Group("npu", findings, {"count": str(result["count"]), "name": name})


def check_hdk(context: CheckContext, tool: NpuTool) -> Group:
    """Check that the driver is not older than the lock says, and meets the other requirements.

    The value `found` of the result is the version of the driver; empty if it is not known.
    """
    wanted = context.lock.system.get(DRIVER, "")
    if wanted and not _is_version(wanted):
        return Group("hdk", [_unknown_value(DRIVER, wanted)], {"found": ""})
    needs = [need for need in context.lock.driver if need.component == DRIVER]
    requirements = [f"{need.by}: {need.wanted}" for need in needs]
    if wanted:
        requirements.insert(0, f"hdk >= {wanted}")
    path = f"{context.ascend}/driver/version.info"
    values = {
        "wanted": wanted,
        "found": "",
        "path": path,
        "running": tool.driver,
        "asked": ", ".join(requirements),
    }
    try:
        text = read_text(path)
        if text is not None:
            versions = assignments(text)
            values["found"] = versions.get("version") or versions.get("package_version") or ""
        elif tool.driver:
            values["found"] = tool.driver
            values["path"] = "npu-smi"
        else:
            missing = [Finding("hdk-missing", values)] if wanted else []
            return Group("hdk", missing, values, "hdk-unseen" if needs else "hdk-none")
        version = _parse_version(values["found"], values["path"], "Version")
    except UnreadableError as error:
        code = "hdk-unreadable" if wanted else "hdk-file-unreadable"
        return Group("hdk", [Finding(code, {**values, **error.values})], values)
    findings = []
    if wanted and version.before(parse_version(wanted)):
        findings.append(Finding("hdk-old", values))
    unmet = [need for need in needs if not _is_met(need.ranges, version)]
    # Requirements that make the check fail come first.
    unmet.sort(key=lambda need: not need.binding)
    findings += [_unmet_finding(context, need, values) for need in unmet]
    if tool.driver and not _may_be_release(tool.driver, version):
        findings.append(Finding("hdk-not-running", values))
    return Group("hdk", findings, values, "hdk-met" if requirements else "hdk-any")


def _unmet_finding(context: CheckContext, need: DriverNeed, values: Mapping[str, str]) -> Finding:
    """Return the finding about a requirement that the driver does not meet."""
    reason = need.reason[context.language]
    code = "hdk-refused" if need.binding else "hdk-unmet"
    return Finding(code, {**values, "by": need.by, "asked": need.wanted, "reason": reason})


def _may_be_release(text: str, version: SystemVersion) -> bool:
    """Return whether a version that npu-smi prints can be this release of the driver.

    True also for a text that is not a version: npu-smi has a form of its own for some.
    """
    try:
        return parse_version(text).same_release(version)
    except ValueError:
        return True


def _is_met(ranges: Sequence[Sequence[Sequence[str]]], version: SystemVersion) -> bool:
    """Return whether a version is in any of these ranges, which `DriverNeed.ranges` explains.

    A range with a text that is not a version is never met. Only a lock that was edited by hand has
    one.
    """
    for comparisons in ranges:
        with suppress(ValueError):
            if all(_holds(version, sign, text) for sign, text in comparisons):
                return True
    return False


def _holds(version: SystemVersion, sign: str, text: str) -> bool:
    """Return whether a version satisfies one comparison, such as `>=` and `25.0.rc1`.

    A text such as `25.5.*`, with `==` or `!=`, is compared with the beginning of the version.
    """
    if not text.endswith(".*"):
        return version.holds(sign, parse_version(text))
    line = tuple(int(part) for part in text[:-2].split("."))
    is_in_line = version.line[: len(line)] == line
    return is_in_line == (sign == "==")
