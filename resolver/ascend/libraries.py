"""Libraries of CANN and of the driver that a module needs when it is imported."""

from __future__ import annotations

import glob
import re

from resolver.verify.findings import CheckContext

# The finding about a module that needs CANN, where CANN is installed and not active.
INACTIVE_TOOLKIT = "import-without-cann"

# How their names go on after `lib`. A test has all that systems.toml names.
_LIBRARY_PREFIXES = (
    "acl_",
    "ascend",
    "atb",
    "dcmi",
    "drv",
    "error_manager",
    "exe_graph",
    "fmk_",
    "ge_",
    "graph",
    "hccl",
    "mmpa",
    "msprofiler",
    "nnopbase",
    "opapi",
    "ops_base",
    "optiling",
    "profapi",
    "runtime",
    "tiling",
    "unified_dlog",
)
# Of names that others might begin with, too, the whole.
_LIBRARY_NAMES = ("c_sec", "platform", "register")
_MISSING_LIBRARY = re.compile(
    rf"(lib(?:(?:{'|'.join(_LIBRARY_PREFIXES)})\w*|{'|'.join(_LIBRARY_NAMES)})\.so[\w.]*)"
    r": cannot open shared object"
)


def missing_library(error: str) -> str:
    """Return the library of CANN or its driver that an error says is missing, empty for others."""
    match = _MISSING_LIBRARY.search(error)
    return match[1] if match else ""


def is_on_disk(context: CheckContext, library: str) -> bool:
    """Return whether CANN or the driver has a library in a folder that programs load it from.

    The folder `devlib` has only stand-ins for compilers.
    """
    driver = f"{glob.escape(context.ascend)}/driver/lib64"
    folders = [driver, f"{driver}/*"]
    cann = glob.escape(context.environ.get("ASCEND_HOME_PATH", ""))
    if cann:
        folders += [f"{cann}/lib64", f"{cann}/*/lib64"]
    return any(glob.glob(f"{folder}/{library}") for folder in folders)
