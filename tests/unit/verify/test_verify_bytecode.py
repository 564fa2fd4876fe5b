"""Compiled files that Python runs in place of sources of which they were not made."""

from __future__ import annotations

import dis
import importlib.util
import marshal
import py_compile
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType

import pytest

from resolver.verify.bytecode import check_bytecode
from resolver.verify.distributions import installed_distributions
from resolver.verify.findings import CheckContext, Group, LockedDistribution, LockedStack
from resolver.verify.search_path import SearchPath

SOURCE = (
    "def answer(x: int = 1) -> set[int]:\n    '''Say.'''\n    assert x\n    return x in {1, 2}\n"
)
PLANTED = compile("print('planted')\n", "mod.py", "exec")
MAGIC = importlib.util.MAGIC_NUMBER
TIMED, CHECKED, UNCHECKED = (
    py_compile.PycInvalidationMode.TIMESTAMP,
    py_compile.PycInvalidationMode.CHECKED_HASH,
    py_compile.PycInvalidationMode.UNCHECKED_HASH,
)


class Module:
    """A distribution with one module in a site-packages."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.source = root / "mod.py"
        self.source.write_text(SOURCE)
        info = root / "mod-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Name: mod\nVersion: 1.0\n")
        (info / "RECORD").write_text("mod.py,,\nmod-1.0.dist-info/RECORD,,\n")

    def compiled(self, optimization: str = "") -> Path:
        path = importlib.util.cache_from_source(str(self.source), optimization=optimization)
        Path(path).parent.mkdir(exist_ok=True)
        return Path(path)

    def time_and_size(self) -> bytes:
        status = self.source.stat()
        return struct.pack("<2I", int(status.st_mtime), status.st_size)

    def check(self) -> Group:
        pins = {"mod": LockedDistribution("mod", "1.0", 1)}
        lock = LockedStack("demo", "here", "linux-x", "3.11", "2.17", {}, pins)
        path = SearchPath.of_folders([str(self.root)])
        context = CheckContext(lock, "/lock", {}, full=True, search_path=path)
        installed, _ = installed_distributions(context, [str(self.root)])
        return check_bytecode(context, installed)

    def count(self) -> tuple[str, int]:
        """Return how many files were compared, and how many are named."""
        group = self.check()
        named = [int(finding.values["count"]) for finding in group.findings]
        return group.values["compared"], sum(named)


@pytest.fixture
def module(tmp_path: Path) -> Module:
    root = tmp_path / "site"
    root.mkdir()
    return Module(root)


@pytest.mark.parametrize("mode", [TIMED, CHECKED, UNCHECKED])
def test_bytecode_of_its_source(
    module: Module, tmp_path: Path, mode: py_compile.PycInvalidationMode
) -> None:
    """Its environment may have been moved since."""
    for level in (0, 1, 2):
        py_compile.compile(
            str(module.source),
            cfile=str(module.compiled(str(level or ""))),
            dfile="/where/it/was/mod.py",
            optimize=level,
            invalidation_mode=mode,
        )
    assert module.count() == ("3", 0)


HEADERS: dict[str, Callable[[Module], bytes]] = {
    "unchecked": lambda module: MAGIC + struct.pack("<I", 1) + b"whatever",
    "checked": lambda module: (
        MAGIC + struct.pack("<I", 3) + importlib.util.source_hash(module.source.read_bytes())
    ),
    "timed": lambda module: MAGIC + bytes(4) + module.time_and_size(),
}


@pytest.mark.parametrize("optimization", ["", "1"])
@pytest.mark.parametrize("header", HEADERS)
def test_bytecode_that_was_planted(module: Module, header: str, optimization: str) -> None:
    """Python runs it, which this shows, and so it is named."""
    planted = module.compiled(optimization)
    planted.write_bytes(HEADERS[header](module) + marshal.dumps(PLANTED))
    options = ["-O"] if optimization else []
    command = [sys.executable, *options, "-c", "import mod"]
    ran = subprocess.run(command, cwd=module.root, capture_output=True, text=True, check=True)
    assert ran.stdout == "planted\n"
    assert module.count() == ("1", 1)
    (finding,) = module.check().findings
    assert (finding.code, finding.values["list"]) == ("bytecode-differs", str(planted))


@pytest.mark.parametrize(
    "content",
    [
        marshal.dumps("no code"),
        b"",
        b"\xff",
        marshal.dumps(compile(SOURCE, "mod.py", "exec").replace(co_stacksize=1)),
        marshal.dumps(compile(SOURCE.replace("x: int = 1", "x: int = True"), "mod.py", "exec")),
    ],
    ids=["text", "empty", "broken", "stack", "constant"],
)
def test_bytecode_that_differs_in_little(module: Module, content: bytes) -> None:
    module.compiled().write_bytes(HEADERS["timed"](module) + content)
    assert module.count() == ("1", 1)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="no instruction is specialized")
def test_bytecode_of_specialized_instructions(module: Module) -> None:
    """`==` sees none of them, but Python runs them as they are: this one jumps in any case."""
    module.source.write_text("def login(password):\n    return None if password != 'x' else 'in'\n")
    made = compile(module.source.read_text(), "mod.py", "exec")
    function = next(value for value in made.co_consts if isinstance(value, CodeType))
    cached = bytearray(function.co_code)
    # the first cache of an instruction: what follows it is not zero
    place = dis.get_instructions(function)
    compare = next(step.offset for step in place if step.opname == "COMPARE_OP")
    cached[compare + 2 : compare + 4] = b"\x07\x07"
    content = marshal.dumps(made).replace(function.co_code, bytes(cached))
    assert marshal.loads(content) == made
    module.compiled().write_bytes(HEADERS["timed"](module) + content)
    assert module.count() == ("1", 1)


@pytest.mark.parametrize("attribute", ["co_qualname", "co_exceptiontable", "co_linetable"])
@pytest.mark.skipif(sys.version_info < (3, 11), reason="it has not all of these")
def test_bytecode_with_another_attribute(module: Module, attribute: str) -> None:
    made = compile(SOURCE, "mod.py", "exec")
    value = "other" if attribute == "co_qualname" else b"\x80\x01"
    changed = made.replace(**{attribute: value})  # type: ignore[arg-type]
    module.compiled().write_bytes(HEADERS["timed"](module) + marshal.dumps(changed))
    assert module.count() == ("1", 1)


def test_bytecode_of_a_source_without_an_owner(
    module: Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of virtualenv, which runs at each start."""
    monkeypatch.setattr(sys, "prefix", str(module.root.parent))
    (module.root / "mod-1.0.dist-info" / "RECORD").write_text("mod-1.0.dist-info/RECORD,,\n")
    module.compiled().write_bytes(HEADERS["timed"](module) + marshal.dumps(PLANTED))
    assert module.count() == ("1", 1)


def test_bytecode_of_a_source_that_is_none(module: Module) -> None:
    module.source.write_text("def :\n")
    module.compiled().write_bytes(HEADERS["timed"](module) + marshal.dumps(PLANTED))
    assert module.count() == ("1", 1)


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("mod.cpython-31.pyc", HEADERS["unchecked"]),
        (f"mod.{sys.implementation.cache_tag}-pytest-9.pyc", HEADERS["unchecked"]),
        (f"gone.{sys.implementation.cache_tag}.pyc", HEADERS["unchecked"]),
        (f"mod.{sys.implementation.cache_tag}.pyc", lambda module: MAGIC + bytes(12)),
        (f"mod.{sys.implementation.cache_tag}.pyc", lambda module: bytes(16)),
        (f"mod.{sys.implementation.cache_tag}.pyc", lambda module: MAGIC + b"\x04" + bytes(11)),
    ],
    ids=["Python", "tool", "source", "time", "magic", "flags"],
)
def test_bytecode_that_python_does_not_use(
    module: Module, name: str, header: Callable[[Module], bytes]
) -> None:
    path = module.compiled().with_name(name)
    path.write_bytes(header(module) + marshal.dumps(PLANTED))
    command = [sys.executable, "-B", "-c", "import mod"]
    ran = subprocess.run(command, cwd=module.root, capture_output=True, text=True, check=True)
    assert ran.stdout == ""
    assert module.count()[1] == 0


def test_bytecode_remedy_removes_it(module: Module) -> None:
    planted = module.compiled()
    planted.write_bytes(HEADERS["unchecked"](module) + marshal.dumps(PLANTED))
    (finding,) = module.check().findings
    subprocess.run(["bash", "-c", finding.remedy], check=True)
    assert not planted.exists()
    assert module.source.exists()
