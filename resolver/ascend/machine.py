"""What this machine is, for a stack that is written on it."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from resolver.ascend.checks import ask_tool, check_cann, check_hdk, soc_family
from resolver.ascend.names import TOOLKIT
from resolver.ascend.versions import parse_version
from resolver.verify.findings import CheckContext, LockedStack

# The checks of `verify` compare a version that they find with a lock's. Here only what they find
# counts, so that they are given any version.
_ANY_VERSION = "0.0.0"
# Where CANN and the driver are installed by default.
ASCEND = "/usr/local/Ascend"


class Machine(NamedTuple):
    """What the `[target]` of a stack would say of this machine. What is not known is empty."""

    # The release of the Python that runs this program, such as `3.11`.
    python: str
    # The platform, such as `linux-aarch64`.
    platform: str
    # The version of glibc.
    glibc: str
    # The version of the active CANN, else of the current one.
    toolkit: str
    # The version of the driver.
    driver: str
    # The family of the NPUs.
    chip: str


def this_machine(environ: Mapping[str, str] = os.environ, ascend: str = ASCEND) -> Machine:
    """Return what files and npu-smi say of this machine.

    Driver and CANN are installed in the folder `ascend`.
    """
    lock = LockedStack("", "", "", "", "", {TOOLKIT: _ANY_VERSION})
    context = CheckContext(lock, "", environ, ascend=ascend)
    tool = ask_tool(context)
    library, glibc = platform.libc_ver()
    cann = ""
    for variables in _environments(environ, ascend):
        cann = _release(check_cann(CheckContext(lock, "", variables)).values["found"])
        if cann:
            break
    return Machine(
        python=".".join(platform.python_version_tuple()[:2]),
        platform=f"{platform.system().lower()}-{platform.machine()}",
        glibc=glibc if library == "glibc" else "",
        toolkit=cann,
        driver=_release(check_hdk(context, tool).values["found"]),
        chip=soc_family(tool.chip),
    )


def _environments(environ: Mapping[str, str], ascend: str) -> Iterator[Mapping[str, str]]:
    """Yield the environment, then what it would be with each CANN that an installation links to."""
    yield environ
    if environ.get("ASCEND_HOME_PATH") or environ.get("ASCEND_TOOLKIT_HOME"):
        return
    homes = [ascend]
    if environ.get("HOME"):
        homes.append(f"{environ['HOME']}/Ascend")
    for home in homes:
        for name in (TOOLKIT, "ascend-toolkit/latest"):
            yield {"ASCEND_HOME_PATH": f"{home}/{name}"}


def _release(text: str) -> str:
    """Return the version of CANN or of the driver that a text is; empty if it is none."""
    try:
        return str(parse_version(text))
    except ValueError:
        return ""
