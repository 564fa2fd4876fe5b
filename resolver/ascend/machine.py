"""Find out the target of this machine, for `ascend-lock init`, which writes a stack."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from resolver.ascend.checks import ask_tool, check_cann, check_hdk, soc_family
from resolver.ascend.names import TOOLKIT
from resolver.ascend.versions import parse_version
from resolver.verify.findings import CheckContext, LockedStack

# The checks of `verify` compare the version that they find with the version in a lock. Here only
# the version that they find is used, so the lock may have any.
_ANY_VERSION = "0.0.0"
# The folder in which CANN and the driver are installed by default.
ASCEND = "/usr/local/Ascend"


class Machine(NamedTuple):
    """The values of this machine for the `[target]` of a stack. Unknown values are empty."""

    # The release of the Python that runs this program, such as `3.11`.
    python: str
    # The platform, such as `linux-aarch64`.
    platform: str
    # The version of glibc.
    glibc: str
    # The version of the active CANN, or else of the one that is installed as the current one.
    toolkit: str
    # The version of the driver.
    driver: str
    # The family of the NPUs.
    chip: str


def this_machine(environ: Mapping[str, str] = os.environ, ascend: str = ASCEND) -> Machine:
    """Return the values of this machine, from files and from npu-smi.

    `ascend` is the folder in which the driver and CANN are installed.
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
    """Yield the environment variables, then those with each installed current CANN activated.

    If a CANN is active, only the environment variables themselves are yielded.
    """
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
    """Return a text if it is a version of CANN or of the driver; otherwise an empty text."""
    try:
        return str(parse_version(text))
    except ValueError:
        return ""
