"""The network between NPUs, as hccn_tool tells of it.

The texts are those that documents of its users show (MindX, HCCL and guides to several nodes).
"""

from __future__ import annotations

import pytest

from resolver.ascend.checks import NpuTool
from resolver.ascend.network import check_network
from tests.unit.verify.test_verify_machine import Installation, installation

__all__ = ["installation"]

TLS = (
    "dev_id:{n}, tls switch[{tls}](0:disable, 1:enable), "
    "tls preconfigured[1](0:non-preset, 1:preset), tls alarm time threshold[60]days"
)
TOOL = """#!/bin/bash
case "$*" in
{cases}
*) exit 1 ;;
esac
"""


def give(installation: Installation, npus: int, **changes: str) -> None:
    """Install a hccn_tool that knows NPUs. A change such as `link_1` is of NPU 1 alone."""
    usual = {
        "link": "link status: UP",
        "net_health": "net health status: Success",
        "ip": "ipaddr:11.12.165.8{n}\\nnetmask:255.255.255.0",
        "tls": TLS,
        "mtu": "mtu:8192",
    }
    cases = []
    for number in range(npus):
        for option, text in usual.items():
            said = changes.get(f"{option}_{number}", changes.get(option, text))
            said = said.replace("{n}", str(number)).replace("{tls}", changes.get("switch", "0"))
            cases.append(f"\"-i {number} -{option} -g\") printf '{said}\\n' ;;")
    installation.write("driver/tools/hccn_tool", TOOL.format(cases="\n".join(cases)))
    (installation.root / "driver/tools/hccn_tool").chmod(0o755)


def codes(installation: Installation, npus: int = 2) -> list[str]:
    return installation.codes_of(check_network(installation.context, NpuTool(npus=npus)))


def test_network_that_is_fine(installation: Installation) -> None:
    give(installation, 8)
    assert codes(installation, 8) == ["8 NPUs, TLS 0, MTU 8192"]
    group = check_network(installation.context, NpuTool(npus=8))
    assert group.machine == {"tls": "0", "mtu": "8192"}


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        (
            {"link_1": "link status: DOWN"},
            "network-down",
            "the network link is not UP on NPU 1",
        ),
        (
            {"net_health": "net health status: Receive timeout"},
            "network-unhealthy",
            "the network health is Receive timeout on NPU 0, 1",
        ),
        (
            {"ip_0": "ip is not configured"},
            "network-address-missing",
            "NPU 0 has no network address",
        ),
        (
            {"ip_0": "ipaddr:\\nnetmask:255.0.0.0"},
            "network-address-missing",
            "NPU 0 has no network address",
        ),
        (
            {"ip": "ipaddr:10.0.0.1\\nnetmask:255.0.0.0"},
            "network-address-shared",
            "NPUs 0, 1 have the same network address 10.0.0.1",
        ),
        (
            {"tls_1": TLS.replace("{tls}", "1")},
            "network-tls-mixed",
            "TLS is on for some NPUs and off for others (0/1)",
        ),
    ],
)
def test_network_fault(
    installation: Installation, changes: dict[str, str], code: str, message: str
) -> None:
    give(installation, 2, **changes)
    assert codes(installation) == [code]
    assert installation.messages == [message]


def test_network_that_cannot_be_read(installation: Installation) -> None:
    assert codes(installation) == ["network-unseen"]
    give(installation, 0)
    assert codes(installation) == ["network-unread"]
    assert codes(installation, 0) == ["network-unseen"]
