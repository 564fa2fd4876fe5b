"""Write verify.py, a program that checks whether a machine and an environment match the lock.

It is a single file, so that it can be copied and read alone. It consists of the modules of
`resolver/verify` and of the modules that these use, one after the other, so versions of CANN are
compared by the same code as here. The data of the lock follow as JSON, because Python 3.10 cannot
read TOML.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from itertools import accumulate
from typing import Any

from resolver.files import json_text
from resolver.i18n import LANGUAGES, templates
from resolver.lock import file as lock_file
from resolver.model.lock import Lock, LockedDriver, LockedOptional, LockedPin
from resolver.model.message import Message, message, verbatim
from resolver.model.requirement import written_comparisons
from resolver.report.document import in_every_language, one_line
from resolver.report.script import build_key, build_tools
from resolver.verify.starter import START_OPTION

FILE = "verify.py"

# Each module comes after the modules that it uses. The last one starts the program.
MODULES = (
    "address",
    "redaction",
    "pip",
    "model/system",
    "ascend/names",
    "ascend/versions",
    "verify/search_path",
    "verify/findings",
    "verify/conda",
    "verify/distributions",
    "verify/environment",
    "verify/modules",
    "verify/ownership",
    "ascend/libraries",
    "verify/imports",
    "ascend/checks",
    "ascend/network",
    "verify/record",
    "verify/bytecode",
    "verify/makers",
    "verify/startup",
    "verify/strays",
    "verify/built",
    "verify/checkouts",
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

import sys

if sys.version_info < (3, 8):
    sys.stderr.write("error: this is Python %d.%d, but the lock is for \
{python}\\n" % sys.version_info[:2])
    sys.stderr.write("hint: run verify.py with the Python of the environment, or pass its path\\n")
    sys.exit(1)

# A file beside this one, or on PYTHONPATH, could stand for a module of the standard library. So it
# starts itself again without these, with what is a part of the interpreter, before it imports any
# other module. (That is also why annotations are texts: the module __future__ is a file.)
if sys.argv[1:] == ["{start}"]:
    # for the imports of a user's program, which has no such folder on its path
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
elif not (sys.flags.isolated and sys.flags.no_site) and "posix" in sys.builtin_module_names:
    import posix

    # Python takes them for its own path and its environment, even isolated, and then forgets one.
    begun_with = list(posix.environ)
    try:
        file = posix.open("/proc/self/environ", posix.O_RDONLY)
        begun_with += [row.partition(b"=")[0] for row in posix.read(file, 4 << 20).split(b"\\0")]
        posix.close(file)
    except OSError:
        pass
    for name in (b"PYTHONEXECUTABLE", b"__PYVENV_LAUNCHER__"):
        if name in begun_with:
            sys.stderr.write("error: %s says which Python this is\\n" % name.decode())
            sys.stderr.write("hint: unset %s\\n" % name.decode())
            sys.exit(2)
    try:
        posix.execv(sys.executable, [sys.executable, "-I", "-S", __file__, *sys.argv[1:]])
    except OSError as error:
        sys.stderr.write("error: %r cannot be run: %s\\n" % (sys.executable, error))
        sys.exit(2)

{imports}
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
    """Return the text of verify.py."""
    imports, body = _program()
    title = _in_docstring(lock.title)
    line = lock.target.python_line
    head = _HEAD.format(title=title, python=line, start=START_OPTION, imports=imports)
    return head + body + _FOOT.format(lock=_data(lock))


@lru_cache(1)
def _program() -> tuple[str, str]:
    """Return the imports of all modules, and the rest of their code.

    The modules import only the standard library and each other. No two of them define the same
    name, as all are joined in one file; a test checks that.
    """
    # The names that are imported from each module; modules themselves are below an empty name.
    imports: dict[str, set[str]] = {}
    parts: list[str] = []
    for module in MODULES:
        written = files("resolver").joinpath(f"{module}.py").read_text(encoding="utf-8")
        source = with_quoted_annotations(written)
        tree = ast.parse(source)
        end = 0
        for node in tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                imported = imports.setdefault(getattr(node, "module", ""), set())
                imported.update(alias.name for alias in node.names)
                end = node.end_lineno or 0
        name = module.rpartition("/")[2]
        docstring = (ast.get_docstring(tree) or "").splitlines()
        title = "\n".join(f"# {line}".rstrip() for line in docstring)
        code = "\n".join(source.split("\n")[end:]).strip()
        parts.append(f"\n\n# --- {name}\n#\n{title}\n\n{code}\n")
    lines = [f"import {name}" for name in sorted(imports.pop("") - {"sys"})]
    for module in sorted(imports.keys() - {"__future__"}):
        names = sorted(imports[module])
        if not module.startswith("resolver."):
            lines.append(f"from {module} import {', '.join(names)}")
    return "\n".join(lines), "".join(parts)


def with_quoted_annotations(source: str) -> str:
    """Return code whose annotations are strings.

    It then needs no `from __future__ import annotations` (PEP 563).
    """
    content = source.encode()
    lengths = [len(line) for line in content.splitlines(keepends=True)]
    starts = [0, *accumulate(lengths)]
    spans = []
    for node in _annotations(ast.parse(source)):
        end_line, end_column = node.end_lineno or 0, node.end_col_offset or 0
        span = starts[node.lineno - 1] + node.col_offset, starts[end_line - 1] + end_column
        spans.append(span)
    for begin, end in sorted(spans, reverse=True):
        annotation = " ".join(content[begin:end].decode().split())
        quoted = repr(annotation) if '"' in annotation else f'"{annotation}"'
        content = content[:begin] + quoted.encode() + content[end:]
    return content.decode()


def _annotations(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield the annotations of arguments, return values and variables."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.arg, ast.AnnAssign)):
            annotation = node.annotation
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            annotation = node.returns
        else:
            annotation = None
        if annotation is not None:
            yield annotation


def _data(lock: Lock) -> str:
    """Return the data of the lock as JSON, with one pin on each line.

    JSON never has three quotes in a row, so it cannot end the string that it is written in.
    """
    stages: dict[str, int] = {}
    for number, stage in enumerate(lock.stage, 1):
        stages |= dict.fromkeys(stage.pins, number)
    rewritten: set[str] = set()
    for pin in lock.pin:
        if pin.git is not None:
            rewritten.update(pin.git.rewrites)
    values = {
        "stack": lock.stack,
        "target": lock.target.name,
        "platform": lock.target.platform,
        "python": lock.target.python_line,
        "glibc": lock.target.glibc,
        "system": dict(sorted(lock.target.system.items())),
        "overrides": [[row.package, row.version, row.name] for row in lock.override],
        "imports": list(lock.imports),
        "import_env": dict(sorted(lock.import_env.items())),
        "rewritten": sorted(rewritten),
        "absent": {row.name: row.reason for row in lock.absent},
        "driver": [_driver(row, lock) for row in lock.driver],
        "requested": sorted(lock.requested_projects),
        "excuses": [_excuse(row, lock) for row in lock.optional],
        "digest": hashlib.sha256(lock_file.dump(lock).encode()).hexdigest(),
    }
    dumps = json.dumps  # noqa: TID251  ASCII alone, inside of Python's source
    lines = [f'"{key}": {dumps(value)},' for key, value in values.items()]
    pins = [dumps(_pin(lock, pin, stages[pin.name])) for pin in lock.pin]
    messages = json_text(texts(), indent=0, sort_keys=False)
    lines += ['"pins": [', ",\n".join(pins), "],", f'"texts": {messages}']
    return "\n".join(["{", *lines, "}"])


def texts() -> dict[str, dict[str, str]]:
    """Return the messages of verify.py, by language and code."""
    return {language: templates("verify.", language) for language in LANGUAGES}


def _pin(lock: Lock, pin: LockedPin, stage: int) -> dict[str, Any]:
    """Return what verify.py needs to know of a pin."""
    version = f"{pin.version}+{pin.label}" if pin.label else pin.version
    entry: dict[str, Any] = {"name": pin.name, "version": version, "stage": stage}
    if pin.mode != "wheels":
        entry["built"] = True
        entry["key"] = build_key(lock, pin)
        entry["env"] = sorted(pin.env.items())
        entry["tools"] = [f"{tool.name}=={tool.version}" for tool in build_tools(lock, pin)]
    if pin.git is not None:
        entry |= {"commit": pin.git.commit, "editable": pin.git.editable}
    if pin.variant is not None:
        entry["variant"] = pin.variant.label
    entry["sha256"] = [file.sha256 for file in pin.file]
    return entry


def _driver(driver: LockedDriver, lock: Lock) -> dict[str, Any]:
    """Return what verify.py needs to know of a requirement on a driver."""
    ranges: list[list[list[str]]] = []
    for need in driver.needs:
        written = written_comparisons(need)
        assert written is not None  # noqa: S101  or the lock could not be read
        ranges += [list(map(list, comparisons)) for comparisons in written.alternatives]
    # A line of the stack has no fact, but a place.
    evidence: Message | str = driver.fact
    for fact in lock.fact:
        if fact.id == driver.fact:
            strength = message(f"strength.{fact.strength}")
            evidence = message("conflict.labelled", label=strength, text=fact.source)
    text = verbatim(driver.text, driver.text_zh)
    reason = message("conflict.in-brackets", text=text, extra=evidence)
    return {
        "by": driver.by,
        "component": driver.component,
        "wanted": " | ".join(driver.needs),
        "ranges": ranges,
        "binding": driver.binding,
        "reason": in_every_language(reason),
    }


def _excuse(optional: LockedOptional, lock: Lock) -> dict[str, Any]:
    """Return what verify.py needs to know of modules and scripts that need not start."""
    facts = {fact.id: fact for fact in lock.fact}
    fact = facts[optional.fact]
    return {
        "project": optional.package,
        "modules": list(optional.modules),
        "scripts": list(optional.scripts),
        "device": optional.device,
        "reason": in_every_language(verbatim(fact.reason, fact.reason_zh)),
    }


def _in_docstring(text: str) -> str:
    """Return a text in a form that is safe inside a docstring."""
    return one_line(text).replace("\\", "/").replace('"', "'").replace("{", "(").replace("}", ")")
