"""Recognize libraries of CANN and of the driver that are missing when a module is imported."""

from __future__ import annotations

import glob
import re

from resolver.verify.findings import CheckContext

# The code of the finding about a module that needs CANN, if CANN is installed but not active.
INACTIVE_TOOLKIT = "import-without-cann"

# The names of the libraries begin with `lib` and one of these. A test checks that all libraries in
# systems.toml do.
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
# Names of further libraries, without `lib`. They are given completely, since libraries of others
# may begin with them.
_LIBRARY_NAMES = ("c_sec", "platform", "register")
_MISSING_LIBRARY = re.compile(
    rf"(lib(?:(?:{'|'.join(_LIBRARY_PREFIXES)})\w*|{'|'.join(_LIBRARY_NAMES)})\.so[\w.]*)"
    r": cannot open shared object"
)


def missing_library(error: str) -> str:
    """Return the library of CANN or of the driver that is missing, from the text of an error.

    Empty if the error is about something else.
    """
    match = _MISSING_LIBRARY.search(error)
    return match[1] if match else ""


def is_on_disk(context: CheckContext, library: str) -> bool:
    """Return whether the active CANN or the driver has a library in a folder for running programs.

    The folder `devlib` is not searched: its libraries are stubs for linking.
    """
    driver = f"{glob.escape(context.ascend)}/driver/lib64"
    folders = [driver, f"{driver}/*"]
    cann = glob.escape(context.environ.get("ASCEND_HOME_PATH", ""))
    if cann:
        folders += [f"{cann}/lib64", f"{cann}/*/lib64"]
    return any(glob.glob(f"{folder}/{library}") for folder in folders)
