"""Check the network between the NPUs of several nodes with `hccn_tool`, a program of the driver.

The rules are from vllm-ascend's guides for several nodes, in which users type the same commands on
each node: every link must be UP, and every net health must be Success. The documents of HCCL say
that all NPUs of a job need the same TLS state (error EI0016).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from resolver.ascend.checks import NpuTool
from resolver.verify.findings import CheckContext, Finding, Group, run_program

# For each property of a port: the option with which hccn_tool prints it, and a pattern for the
# output whose group is the value.
_ANSWERS: Mapping[str, tuple[str, str]] = {
    "link": ("-link", r"link status:[ \t]*(\S+)"),
    "health": ("-net_health", r"net health status:[ \t]*(\S.*?)\s*$"),
    "address": ("-ip", r"ipaddr:[ \t]*(\S+)"),
    "tls": ("-tls", r"tls switch\[(\d+)\]"),
    "mtu": ("-mtu", r"mtu:[ \t]*(\d+)"),
}
# The values of `link` and `health` that are good.
_UP = "UP"
_HEALTHY = "Success"


class _Port(NamedTuple):
    """The network port of an NPU. A value that hccn_tool does not print is empty."""

    # The number of the NPU, from 0.
    number: int
    # The state of the link.
    link: str
    # The state of the network.
    health: str
    # The IP address.
    address: str
    # `1` if connections are encrypted (TLS), `0` if not.
    tls: str
    # The largest size of a packet, in bytes.
    mtu: str


def network_checks(context: CheckContext, tool: NpuTool) -> Iterator[Group]:
    """Yield the result of `check_network` if the option --network is given."""
    if context.network:
        yield check_network(context, tool)


def check_network(context: CheckContext, tool: NpuTool) -> Group:
    """Check the network ports of all NPUs of this machine.

    Each must have a link, an address of its own and a healthy network, and all must have the same
    TLS state. The TLS state and the size of packets are reported as values of the machine, since
    all nodes of a job must have the same.
    """
    program = _hccn_tool(context)
    values = {"count": str(tool.npus), "tls": "-", "mtu": "-"}
    if program is None or tool.npus == 0:
        return Group("network", [Finding("network-unseen", values)], values)
    ports = [_read_port(context, program, number) for number in range(tool.npus)]
    if not any(port.link for port in ports):
        return Group("network", [Finding("network-unread", values)], values)
    machine = {"tls": _values_of(ports, "tls"), "mtu": _values_of(ports, "mtu")}
    values |= {name: value or "-" for name, value in machine.items()}
    findings = [
        *_faulty("network-down", ports, lambda port: port.link != _UP),
        *_faulty("network-unhealthy", ports, lambda port: port.health not in ("", _HEALTHY)),
        *_faulty("network-address-missing", ports, lambda port: not port.address),
        *_shared_addresses(ports),
    ]
    if "/" in machine["tls"]:
        findings.append(Finding("network-tls-mixed", values))
    return Group("network", findings, values, machine=machine)


def _hccn_tool(context: CheckContext) -> str | None:
    """Return the path of hccn_tool, on PATH or in the folder of the driver; None without it."""
    path = f"{context.environ.get('PATH', '')}:{context.ascend}/driver/tools"
    return shutil.which("hccn_tool", path=path)


def _read_port(context: CheckContext, program: str, number: int) -> _Port:
    """Return the port of the NPU with this number, from the output of hccn_tool (`program`)."""
    found = {}
    for name, (option, pattern) in _ANSWERS.items():
        result = run_program([program, "-i", str(number), option, "-g"], context.environ)
        match = re.search(pattern, result.output, re.MULTILINE)
        found[name] = match[1] if match and result.status == 0 else ""
    return _Port(number, **found)


def _values_of(ports: Sequence[_Port], name: str) -> str:
    """Return the different values of a property of these ports, sorted and separated by `/`."""
    values: set[str] = {getattr(port, name) for port in ports}
    return "/".join(sorted(values - {""}))


def _faulty(code: str, ports: Sequence[_Port], is_faulty: Callable[[_Port], bool]) -> list[Finding]:
    """Return one finding about all ports for which `is_faulty` is true; nothing without any."""
    faulty = [port for port in ports if is_faulty(port)]
    if not faulty:
        return []
    numbers = ", ".join(str(port.number) for port in faulty)
    states = ", ".join(sorted({port.health or "-" for port in faulty}))
    return [Finding(code, {"numbers": numbers, "states": states})]


def _shared_addresses(ports: Sequence[_Port]) -> list[Finding]:
    """Return a finding for each IP address that several NPUs have."""
    numbers: dict[str, list[str]] = {}
    for port in ports:
        if port.address:
            numbers.setdefault(port.address, []).append(str(port.number))
    return [
        Finding("network-address-shared", {"address": address, "numbers": ", ".join(owners)})
        for address, owners in numbers.items()
        if len(owners) > 1
    ]
