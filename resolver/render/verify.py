"""`verify.py`: the lock as a program that tells whether a machine and environment are what it says.

One file, so that it can be copied and read alone: the modules of `resolver/verify`
one after the other, `model/system.py` among them, so that versions of CANN are
compared by the very same code; then what it must know of the lock, as JSON,
since Python 3.10 cannot read TOML.
"""

from __future__ import annotations

import ast
import json
import re
from functools import lru_cache
from importlib.resources import files
from typing import Any

from resolver.model.lock import Lock, LockedPin
from resolver.render.text import one_line

FILE = "verify.py"

# Each after those that it builds on; the first and the last are the program's frame.
MODULES = (
    "model/system",
    "verify/finding",
    "verify/words",
    "verify/locked",
    "verify/reading",
    "verify/versions",
    "verify/installed",
    "verify/distributions",
    "verify/machine",
    "verify/cann",
    "verify/imports",
    "verify/npu",
    "verify/record",
    "verify/collisions",
    "verify/requirements",
    "verify/report",
    "verify/main",
)

# A module's imports stand together at the beginning of lines, below its docstring.
_IMPORTS = re.compile(r"(?:^(?:import [\w.]+|from [\w.]+ import (?:[\w, ]+|\([^)]*\)))\n+)+", re.MULTILINE)

_HEAD = '''\
#!/usr/bin/env python3
"""Check whether this machine and environment match the lock: {stack} for {target}: {summary}

Made from lock.toml by ascend-lock; do not edit. Run it with the Python of the environment:

    python verify.py [--full] [--json] [--lang zh] [--soc] [--skip-system-checks] [--python PATH]

It changes nothing and needs only Python. Exit status: 0 matches, 1 something
differs, 2 invalid command. The contents of the lock are at the end of this file.
"""

from __future__ import annotations

{imports}

if sys.version_info < (3, 8):
    sys.stderr.write("error: this is Python %d.%d, but the lock is for {python}\\n" % sys.version_info[:2])
    sys.stderr.write("hint: run verify.py with the Python of the environment, or pass its path\\n")
    sys.exit(1)
'''

_FOOT = '''

# --- what the lock says

LOCK = r"""
{lock}
"""

if __name__ == "__main__":
    sys.exit(run(LOCK, __file__, sys.argv[1:]))
'''


def verify(lock: Lock) -> str:
    """The text of verify.py."""
    imports, body = _program()
    head = _HEAD.format(
        stack=_quiet(lock.stack),
        target=_quiet(lock.target.name),
        summary=_quiet(lock.summary),
        python=".".join(lock.target.python.split(".")[:2]),
        imports=imports,
    )
    return head + body + _FOOT.format(lock=_told(lock))


@lru_cache(1)
def _program() -> tuple[str, str]:
    """The imports of all modules, and the rest of them.

    Modules need nothing but the standard library and their fellows, and no two of them use
    one name, since in one file these would be the same: a test holds them to it.
    """
    imports: dict[str, set[str]] = {}
    parts: list[str] = []
    for module in MODULES:
        text = files("resolver").joinpath(f"{module}.py").read_text(encoding="utf-8")
        head, rest = _split(text)
        tree = ast.parse(head)
        for node in tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                _take(node, imports)
        title = "".join(f"# {line}".rstrip() + "\n" for line in (ast.get_docstring(tree) or "").splitlines())
        parts.append(f"\n\n# --- {module.partition('/')[2]}\n#\n{title}\n{rest}\n")
    lines = [f"import {name}" for name, taken in sorted(imports.items()) if "" in taken]
    for name, taken in sorted(imports.items()):
        if taken - {""}:
            lines.append(f"from {name} import {', '.join(sorted(taken - {''}))}")
    return "\n".join(lines), "".join(parts)


def _split(text: str) -> tuple[str, str]:
    """A module's docstring with its imports, and what follows them."""
    found = _IMPORTS.search(text)
    end = found.end() if found else 0
    return text[:end], text[end:].strip()


def _take(node: ast.Import | ast.ImportFrom, imports: dict[str, set[str]]) -> None:
    """Note what is imported from where, an empty name for a whole module; not what is in the same file."""
    if isinstance(node, ast.Import):
        wanted = {alias.name: {""} for alias in node.names}
    else:
        wanted = {node.module or "": {alias.name for alias in node.names}}
    for name, taken in wanted.items():
        if name != "__future__" and name.removeprefix("resolver.").replace(".", "/") not in MODULES:
            imports.setdefault(name, set()).update(taken)


def _told(lock: Lock) -> str:
    """The lock's data, a pin a line. JSON never has three quotes in a row, so it ends nothing too early."""
    stages = {name: number for number, stage in enumerate(lock.stage, 1) for name in stage.pins}
    pins = [_pin(pin, stages[pin.name]) for pin in lock.pin]
    rows = {
        "stack": lock.stack,
        "target": lock.target.name,
        "platform": lock.target.platform,
        "python": lock.target.python,
        "glibc": lock.target.glibc,
        "system": dict(sorted(lock.target.system.items())),
        "overrides": [[row.package, row.version, row.name] for row in lock.override],
        "imports": list(lock.imports),
        "import_env": dict(sorted(lock.import_env.items())),
        "rewritten": sorted({name for pin in lock.pin if pin.git is not None for name in pin.git.rewrites}),
        "absent": {row.name: row.reason for row in lock.absent},
    }
    lines = [f'"{key}": {json.dumps(value)},' for key, value in rows.items()]
    return "\n".join(["{", *lines, '"pins": [', ",\n".join(map(json.dumps, pins)), "]", "}"])


def _pin(pin: LockedPin, stage: int) -> dict[str, Any]:
    version = f"{pin.version}+{pin.label}" if pin.label else pin.version
    row: dict[str, Any] = {"name": pin.name, "version": version, "stage": stage}
    if pin.mode != "wheels":
        row["built"] = True
    if pin.git is not None:
        row |= {"commit": pin.git.commit, "editable": pin.git.editable}
    row["sha256"] = [file.sha256 for file in pin.file]
    return row


def _quiet(text: str) -> str:
    """A text that ends no docstring and escapes nothing."""
    return one_line(text).replace("\\", "/").replace('"', "'").replace("{", "(").replace("}", ")")
