"""Check that the modules which the lock lists can be imported by a user's program.

Unlike other checks, this one does not run Python isolated: CANN's set_env.sh adds modules that
torch_npu needs to PYTHONPATH. Modules on PYTHONPATH or in the user's site-packages may come before
locked modules. So the check also looks at the file from which each module is imported.

After a module that fails, the remaining modules are imported in a new process, since modules that
are loaded only in part could make further imports fail.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Sequence
from typing import Any

from resolver.ascend.libraries import INACTIVE_TOOLKIT, is_on_disk, missing_library
from resolver.verify.findings import CheckContext, Finding, Group, run_program
from resolver.verify.ownership import Ownership

_IMPORT_SECONDS = 1800
# The beginning of a program that defines `write_row`, which writes an object as a line of JSON.
# Only these lines are written to standard output: what a module prints goes to standard error.
# `python -c` begins the search path with the current folder. The first statement takes it away, and
# needs no file: `sys` is a part of the interpreter.
_WRITE_ROW = """
import sys
sys.path[:] = [path for path in sys.path if path]
import json, os
rows = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
def write_row(row):
    rows.write(json.dumps(row) + "\\n")
    rows.flush()
"""
# A program that imports modules until one fails. It writes a row for each.
_IMPORT = """
import importlib
for name in json.loads(sys.argv[1]):
    try:
        module = importlib.import_module(name)
        path = getattr(module, "__file__", None)
        folders = list(getattr(module, "__path__", []))
        write_row({"name": name, "path": path or (folders[0] if folders else None)})
    except BaseException as error:
        write_row({"name": name, "error": "%s: %s" % (type(error).__name__, error)})
        break
"""

# A program that finds the file of each module without importing it, and writes a row for each. This
# is done before any module runs, since a module could change its own `__file__`.
_FIND = """
def find(name, path):
    for finder in sys.meta_path:
        spec = finder.find_spec(name, path)
        if spec is not None:
            return spec
    return None
for name in json.loads(sys.argv[1]):
    spec, path, start = None, None, ""
    for part in name.split("."):
        start += part
        spec = find(start, path)
        if spec is None or spec.submodule_search_locations is None:
            break
        path = list(spec.submodule_search_locations)
        start += "."
    is_found = spec is not None and start.rstrip(".") == name
    origin = spec.origin if is_found and spec.has_location else None
    write_row({"name": name, "path": origin or (path[0] if is_found and path else "")})
"""


def import_environ(context: CheckContext) -> dict[str, str]:
    """Return the environment variables for importing modules: the user's, then the lock's.

    No module of the current folder may be imported, since a user's program is started elsewhere. So
    PYTHONPATH has no relative folder: an empty one, as a colon at its end adds it, is the current
    one. PYTHONINSPECT is removed: Python would import `readline` before the first line of a
    program.
    """
    environ = {**context.environ, **context.lock.import_env, "PYTHONDONTWRITEBYTECODE": "1"}
    environ.pop("PYTHONINSPECT", None)
    folders = environ.pop("PYTHONPATH", "").split(os.pathsep)
    absolute = [folder for folder in folders if os.path.isabs(folder)]
    if absolute:
        environ["PYTHONPATH"] = os.pathsep.join(absolute)
    return environ


def run_python(
    context: CheckContext, code: str, *arguments: str
) -> tuple[list[dict[str, Any]], str]:
    """Run Python code in a new process, with the environment variables of the lock.

    The process is not isolated (`-I`), unlike all others that are started here: it imports what a
    user's program would.

    Return the objects that the code passes to `write_row`, and how the process ended: the last line
    of its standard error, or else its status in words.
    """
    command = [sys.executable, "-c", _WRITE_ROW + code, *arguments]
    result = run_program(command, import_environ(context), _IMPORT_SECONDS)
    rows = []
    for line in result.output.splitlines():
        try:
            rows.append(dict(json.loads(line)))
        except (ValueError, TypeError, RecursionError):
            # the process died while it wrote, or a module wrote into its pipe
            continue
    return rows, result.ending


def module_origins(context: CheckContext, names: Sequence[str]) -> dict[str, str]:
    """Return the file or folder from which each module would be imported, without importing it.

    It is empty for a module that is not found.
    """
    if not names:
        return {}
    rows, _ = run_python(context, _FIND, json.dumps(list(names)))
    return {str(row["name"]): str(row["path"]) for row in rows}


def check_imports(context: CheckContext, ownership: Ownership, *, has_device: bool) -> Group:
    """Check that the modules which the lock lists can be imported, and come from the lock.

    `has_device` says whether the machine has an accelerator. A machine without one, for example one
    that builds an image, may lack libraries of the toolkit or of the driver. Then a module that
    needs them cannot be tried, which is only a warning.
    """
    untried = list(context.lock.imports)
    origins = module_origins(context, untried)
    findings = []
    while untried:
        rows, ending = run_python(context, _IMPORT, json.dumps(untried))
        errors = [str(row["error"]) for row in rows if "error" in row]
        imported = rows[: len(rows) - len(errors)]
        for row in imported:
            name = row["name"]
            found, fault = ownership.fault_in(name, origins.get(name), row["path"])
            if fault:
                values = _import_values(context, name)
                findings.append(Finding(fault, {**values, "found": found}))
        untried = untried[len(imported) :]
        if untried:
            values = _import_values(context, untried.pop(0))
            if errors:
                findings.append(_import_failure(context, values, errors[0], has_device=has_device))
            else:
                findings.append(Finding("import-died", {**values, "error": ending}))
    return Group("imports", findings, {"list": ", ".join(context.lock.imports)})


def _import_values(context: CheckContext, name: str) -> dict[str, str]:
    """Return the values of the messages of a finding about a module."""
    return {"name": name, "command": shown_command(context, f"import {name}")}


def _import_failure(
    context: CheckContext, values: dict[str, str], error: str, *, has_device: bool
) -> Finding:
    """Return the finding about a module whose import raised an exception; `error` is its text."""
    first_line = error.partition("\n")[0]
    library = missing_library(first_line)
    if not library:
        return Finding("import-failed", {**values, "error": first_line})
    code = "import-untried"
    if has_device or is_on_disk(context, library):
        code = INACTIVE_TOOLKIT
    return Finding(code, {**values, "library": library})


def shown_command(context: CheckContext, code: str) -> str:
    """Return a shell command that runs Python code as `run_python` does, for users to try."""
    command = f"{context.python} -c {shlex.quote(code)}"
    variables = [
        f"{name}={shlex.quote(value)}" for name, value in sorted(context.lock.import_env.items())
    ]
    if variables:
        return f"env {' '.join(variables)} {command}"
    return command
