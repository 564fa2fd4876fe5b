"""The imports that the lock names, in a Python that sees what a user's program would see.

Unlike the other checks, it is not isolated: CANN's set_env.sh puts modules that torch_npu needs on
PYTHONPATH. So the path of each module is checked as well, as that variable or the user's own
site-packages can come before the lock's.

After a module that fails, another Python imports the remaining ones: modules half loaded can make
further imports fail.
"""

from __future__ import annotations

import glob
import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from resolver.verify.distributions import InstalledDistribution
from resolver.verify.findings import CheckContext, Finding, Group, run_program

_SECONDS_OF_IMPORTS = 1800
# The loader's words for a library of CANN (ascendcl, hccl, ge, graph, op compiler) or of its driver
# (ascend_hal).
_MISSING_LIBRARY = re.compile(
    r"(lib(?:ascend|hccl|ge_|graph|opapi|acl_|nnopbase|runtime|tiling)\w*\.so[\w.]*): cannot open shared object"
)

# What a module prints goes to stderr: stdout has the rows alone.
_TELL = """
import json, os, sys
rows = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
sys.path[:] = [path for path in sys.path if path]
def tell(row):
    rows.write(json.dumps(row) + "\\n")
    rows.flush()
"""
_IMPORT = """
import importlib
for name in json.loads(sys.argv[1]):
    try:
        module = importlib.import_module(name)
        path = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", [])), None)
        tell({"name": name, "path": path})
    except BaseException as error:
        tell({"name": name, "error": "%s: %s" % (type(error).__name__, error)})
        break
"""


def import_environ(context: CheckContext) -> dict[str, str]:
    """Return the variables of a Python that imports what is installed: a user's, with those of the lock."""
    return {**context.environ, **context.lock.import_env, "PYTHONDONTWRITEBYTECODE": "1"}


def run_python(
    context: CheckContext, code: str, *arguments: str
) -> tuple[list[dict[str, Any]], str]:
    """Run code in the environment with the lock's variables: the rows that it `tell`s, and how it ended."""
    result = run_program(
        [sys.executable, "-c", _TELL + code, *arguments],
        import_environ(context),
        _SECONDS_OF_IMPORTS,
    )
    rows = []
    for line in result.output.splitlines():
        try:
            rows.append(dict(json.loads(line)))
        except (ValueError, TypeError):
            continue  # the process died while it wrote
    return rows, result.ending


def check_imports(
    context: CheckContext, installed: Mapping[str, InstalledDistribution], paths: Iterable[str], *, on_npu: bool
) -> Group:
    """Each module of the lock's list: whether it can be imported, and whether it is this environment's.

    Without an NPU (on_npu), as where an image is built, a machine can lack libraries of CANN or its
    driver; a module that needs one of them cannot be tried there.
    """
    homes = homes_of(installed, paths)
    untried = list(context.lock.imports)
    findings: list[Finding] = []
    while untried:
        rows, ending = run_python(context, _IMPORT, json.dumps(untried))
        rows_by_name = {row["name"]: row for row in rows}
        for name in untried:
            values = {"name": name, "command": shown_command(context, f"import {name}")}
            row = rows_by_name.get(name)
            if row is None:
                findings.append(Finding("import-died", {**values, "error": ending}))
                break
            if "error" in row:
                findings.append(
                    _failure(context, values, str(row["error"]).partition("\n")[0], on_npu=on_npu)
                )
                break
            if row["path"] and not is_within(str(row["path"]), homes):
                findings.append(Finding("import-elsewhere", {**values, "found": str(row["path"])}))
        untried = untried[untried.index(name) + 1 :]
    return Group("imports", findings, {"list": ", ".join(context.lock.imports)})


def _failure(context: CheckContext, values: dict[str, str], error: str, *, on_npu: bool) -> Finding:
    library = missing_library(error)
    if not library:
        return Finding("import-failed", {**values, "error": error})
    code = "import-without-cann" if on_npu or is_on_disk(context, library) else "import-untried"
    return Finding(code, {**values, "library": library})


def missing_library(error: str) -> str:
    """Return the library of CANN or its driver that an error says was not found; nothing for another error."""
    match = _MISSING_LIBRARY.search(error)
    return match[1] if match else ""


def homes_of(installed: Mapping[str, InstalledDistribution], paths: Iterable[str]) -> list[str]:
    """Return the folders that this environment's modules are in."""
    homes = [os.path.realpath(path) for path in paths]
    folders = [row.editable_folder for row in installed.values()]
    return homes + [os.path.realpath(folder) for folder in folders if folder]


def is_on_disk(context: CheckContext, library: str) -> bool:
    """Whether CANN or the driver has it where programs load it from (`devlib` has stand-ins for compilers)."""
    home = glob.escape(context.environ.get("ASCEND_HOME_PATH", ""))
    driver = f"{glob.escape(context.ascend)}/driver/lib64"
    folders = [driver, f"{driver}/*", *([f"{home}/lib64", f"{home}/*/lib64"] if home else [])]
    return any(glob.glob(f"{folder}/{library}") for folder in folders)


def is_within(path: str, homes: list[str]) -> bool:
    """Return whether a module's file is in one of these folders."""
    real = os.path.realpath(path)
    return any(real.startswith(home.rstrip("/") + "/") for home in homes)


def shown_command(context: CheckContext, code: str) -> str:
    """The command that runs code as `run_python` does, for a person to try."""
    variables = [
        f"{key}={shlex.quote(value)}" for key, value in sorted(context.lock.import_env.items())
    ]
    return " ".join(
        [*(["env", *variables] if variables else []), context.python, "-c", shlex.quote(code)]
    )
