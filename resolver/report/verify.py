"""`verify.py`: a program that checks whether a machine and environment match the lock.

It is a single file, so that it can be copied and read alone: the modules of `resolver/verify` one
after the other, with `model/system.py` so that versions of CANN are compared by the same code; then
the data it needs of the lock, as JSON, since Python 3.10 cannot read TOML.
"""

from __future__ import annotations

import ast
import hashlib
import json
from functools import lru_cache
from importlib.resources import files
from typing import Any

from resolver.files import json_text
from resolver.i18n import LANGUAGES, templates, translate
from resolver.lock import file as lock_file
from resolver.model.lock import Lock, LockedDriver, LockedOptional, LockedPin
from resolver.model.message import message, verbatim
from resolver.model.requirement import Comparison, ComponentRequirement
from resolver.report.document import one_line
from resolver.report.script import source_key

FILE = "verify.py"

# Each after those that it uses; the first and the last are the program's frame.
MODULES = (
    "pip",
    "model/system",
    "verify/findings",
    "verify/distributions",
    "verify/environment",
    "verify/imports",
    "verify/ascend",
    "verify/record",
    "verify/strays",
    "verify/checkouts",
    "verify/modules",
    "verify/starter",
    "verify/starts",
    "verify/report",
    "verify/main",
)

_HEAD = '''\
#!/usr/bin/env python3
"""Check whether this machine and environment match the lock: {title}

Made from lock.toml by ascend-lock; do not edit. Run it with the Python of the environment:

    python verify.py [--full] [--quick] [--json] [--lang zh] [--skip-system-checks] [--python PATH]

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
        title=_in_docstring(lock.title), python=lock.target.python_line, imports=imports
    )
    return head + body + _FOOT.format(lock=_data(lock))


@lru_cache(1)
def _program() -> tuple[str, str]:
    """The imports of all modules, and the rest of their code.

    The modules import only the standard library and each other, and no two of them define the same
    name, as they end up in one file; a test checks that.
    """
    imports: dict[str, set[str]] = {}  # names by module; modules below an empty name
    parts: list[str] = []
    for module in MODULES:
        source = files("resolver").joinpath(f"{module}.py").read_text(encoding="utf-8")
        tree = ast.parse(source)
        nodes = [
            node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))
        ]  # below its docstring
        for node in nodes:
            imports.setdefault(getattr(node, "module", ""), set()).update(
                alias.name for alias in node.names
            )
        code = "\n".join(source.split("\n")[nodes[-1].end_lineno :]).strip()
        title = "".join(
            f"# {line}".rstrip() + "\n" for line in (ast.get_docstring(tree) or "").splitlines()
        )
        parts.append(f"\n\n# --- {module.rpartition('/')[2]}\n#\n{title}\n{code}\n")
    lines = [f"import {name}" for name in sorted(imports.pop(""))]
    for module, names in sorted(imports.items()):
        if module != "__future__" and not module.startswith("resolver."):
            lines.append(f"from {module} import {', '.join(sorted(names))}")
    return "\n".join(lines), "".join(parts)


def _data(lock: Lock) -> str:
    """The lock's data, one pin a line.

    JSON never has three quotes in a row, so it cannot end the string early.
    """
    stages = {name: number for number, stage in enumerate(lock.stage, 1) for name in stage.pins}
    pins = [_pin(pin, stages[pin.name]) for pin in lock.pin]
    rows = {
        "stack": lock.stack,
        "target": lock.target.name,
        "platform": lock.target.platform,
        "python": lock.target.python_line,
        "glibc": lock.target.glibc,
        "system": dict(sorted(lock.target.system.items())),
        "overrides": [[row.package, row.version, row.name] for row in lock.override],
        "imports": list(lock.imports),
        "import_env": dict(sorted(lock.import_env.items())),
        "rewritten": sorted(
            {name for pin in lock.pin if pin.git is not None for name in pin.git.rewrites}
        ),
        "absent": {row.name: row.reason for row in lock.absent},
        "driver": [_driver(row, lock) for row in lock.driver],
        "requested": sorted(lock.requested_projects),
        "excuses": [_excuse(row, lock) for row in lock.optional],
        "digest": hashlib.sha256(lock_file.dump(lock).encode()).hexdigest(),
    }
    dumps = json.dumps  # noqa: TID251  ASCII alone, inside of Python's source
    lines = [f'"{key}": {dumps(value)},' for key, value in rows.items()]
    messages = json_text(texts(), indent=0, sort_keys=False)
    return "\n".join(
        ["{", *lines, '"pins": [', ",\n".join(map(dumps, pins)), "],", f'"texts": {messages}', "}"]
    )


def texts() -> dict[str, dict[str, str]]:
    """The messages of the program, by language and code."""
    return {language: templates("verify.", language) for language in LANGUAGES}


def _pin(pin: LockedPin, stage: int) -> dict[str, Any]:
    version = f"{pin.version}+{pin.label}" if pin.label else pin.version
    row: dict[str, Any] = {"name": pin.name, "version": version, "stage": stage}
    if pin.mode != "wheels":
        row["built"] = True
    if pin.git is not None:
        row |= {"commit": pin.git.commit, "editable": pin.git.editable}
        if pin.git.editable:
            row["source"] = source_key(pin)
    if pin.variant is not None:
        row["variant"] = pin.variant.label
    row["sha256"] = [file.sha256 for file in pin.file]
    return row


def _driver(row: LockedDriver, lock: Lock) -> dict[str, Any]:
    needs = [need for need in map(ComponentRequirement.parse, row.needs) if need is not None]
    fact = next((fact for fact in lock.fact if fact.id == row.fact), None)
    evidence = fact and message(
        "conflict.labelled", label=message(f"strength.{fact.strength}"), text=fact.source
    )
    reason = message(
        "conflict.in-brackets", text=verbatim(row.text, row.text_zh), extra=evidence or row.fact
    )
    return {
        "by": row.by,
        "wanted": " | ".join(map(str, needs)),
        "ranges": [
            [[clause.operator, _value(clause)] for clause in clauses]
            for need in needs
            for clauses in need.alternatives
        ],
        "binding": row.binding,
        "reason": {language: translate(reason, language) for language in LANGUAGES},
    }


def _excuse(row: LockedOptional, lock: Lock) -> dict[str, Any]:
    fact = next(fact for fact in lock.fact if fact.id == row.fact)
    reason = verbatim(fact.reason, fact.reason_zh)
    return {
        "project": row.package,
        "modules": list(row.modules),
        "scripts": list(row.scripts),
        "npu": row.npu,
        "reason": {language: translate(reason, language) for language in LANGUAGES},
    }


def _value(clause: Comparison) -> str:
    return ".".join([*map(str, clause.line), "*"]) if clause.line else str(clause.value)


def _in_docstring(text: str) -> str:
    """The text, safe inside a docstring."""
    return one_line(text).replace("\\", "/").replace('"', "'").replace("{", "(").replace("}", ")")
