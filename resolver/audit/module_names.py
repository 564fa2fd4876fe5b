"""Say which modules a wheel or source archive has, and which names they define. Nothing is run.

`import_scan` asks here whether another project's imports would find what they name.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Container, Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import Final

import msgspec

from resolver.index.parse.code_members import read_code
from resolver.index.parse.distribution import FileRelease

# Folders with code that no user runs, or that belongs to another project.
ASIDE: Final = frozenset(
    {"test", "tests", "testing", "_vendor", "vendor", "vendored", "third_party"}
)

# The folders of a wheel whose contents are installed beside its other modules (PEP 427).
_DATA: Final = re.compile(r"[^/]+\.data/(?:purelib|platlib)/")

# The folders of a source archive in which packages that are installed are.
_SOURCE_FOLDERS: Final = frozenset({"", "src", "lib", "python"})

# Functions with which a module may define names that its text does not show.
_DEFINING_CALLS: Final = frozenset({"exec", "globals"})


class Presence(Enum):
    """Whether a project has a module or a name."""

    HAS = "has"
    LACKS = "lacks"
    # The module is compiled, or computes its names.
    UNKNOWN = "unknown"
    # The module computes its names, and none of the project's Python files writes or defines it.
    UNWRITTEN = "unwritten"


class ModuleNames(msgspec.Struct, frozen=True):
    """What the text of one module says about the names in it."""

    # The names that statements of the module itself define, in any branch.
    names: frozenset[str] = frozenset()
    # The modules of which it imports all names, as absolute names.
    stars: tuple[str, ...] = ()
    # Whether it may have other names, as with `__getattr__`.
    computes_names: bool = False
    # Whether modules below it may have no file: it writes to `sys.modules` or `__path__`.
    computes_modules: bool = False


# A module of which nothing is known: it is compiled, or no Python that can be read.
_CLOSED: Final = ModuleNames(computes_names=True, computes_modules=True)


class ProjectModules:
    """The modules of a wheel or source archive. A module is parsed when it is first asked for."""

    def __init__(self, path: Path, release: FileRelease) -> None:
        """Read all code. Raise UnusableFile if the wheel or archive cannot be read."""
        members = {member.path: member.content for member in read_code(path, release)}
        self._is_wheel = release.filename.endswith(".whl")
        # The Python files with their paths, by module.
        self.sources: dict[str, tuple[str, bytes]] = {}
        self._packages: set[str] = set()
        # The modules that are compiled, or that are too large to be read.
        self._closed: set[str] = set()
        for member_path, content in members.items():
            self._add(member_path, content, members.keys())
        modules = [*self.sources, *self._closed]
        self._folders = {parent for module in modules for parent in _parents(module)}
        # The first parts of the names of its modules.
        self.roots = {module.partition(".")[0] for module in modules} - ASIDE
        self._parsed: dict[str, ModuleNames] = {}
        self._unwritten: dict[str, bool] = {}

    def _add(self, path: str, content: bytes | None, paths: Container[str]) -> None:
        """Add one file of code, if it is a module."""
        place = _DATA.sub("", path) if self._is_wheel else _below_source_folder(path, paths)
        if not place:
            return
        *folders, file = place.split("/")
        parts = [*folders, file.partition(".")[0]]
        if not all(part.isidentifier() for part in parts):
            return
        is_package = parts[-1] == "__init__"
        module = ".".join(parts[:-1] if is_package else parts)
        if not file.endswith(".py") or content is None:
            self._closed.add(module)
        elif is_package or module not in self._packages:
            # Python takes the folder of two that have the same name.
            self.sources[module] = path, content
        if is_package:
            self._packages.add(module)

    def module(self, module: str) -> Presence:
        """Return whether the project has a module, whose first part is one of `roots`."""
        if module in self.sources or module in self._closed or module in self._folders:
            return Presence.HAS
        parent, _, last = module.rpartition(".")
        if not parent:
            return Presence.LACKS
        of_parent = self.module(parent)
        if of_parent is not Presence.HAS:
            return of_parent
        if self._names(parent).computes_modules:
            return Presence.UNKNOWN
        if not self._is_wheel and last.startswith("_"):
            # A build may make it: `_version`, `_C`.
            return Presence.UNKNOWN
        return Presence.LACKS

    def name(self, module: str, name: str) -> Presence:
        """Return whether a module that the project has also has a name, or a module below it."""
        if self.module(f"{module}.{name}") is Presence.HAS or name.startswith("__"):
            return Presence.HAS
        return self._defines(module, name, set())

    def _defines(self, module: str, name: str, asked: set[str]) -> Presence:
        """Return whether a module defines a name. `asked` are modules that led here by `*`."""
        asked.add(module)
        names = self._names(module)
        if names is _CLOSED:
            return Presence.UNKNOWN
        if name in names.names:
            return Presence.HAS
        answers = {Presence.LACKS}
        if names.computes_names:
            answers.add(Presence.UNWRITTEN if self._is_unwritten(name) else Presence.UNKNOWN)
        for star in names.stars:
            if star.partition(".")[0] not in self.roots:
                answers.add(Presence.UNKNOWN)
            elif star not in asked and not name.startswith("_"):
                answers.add(self._defines(star, name, asked))
        by_weight = (Presence.HAS, Presence.UNKNOWN, Presence.UNWRITTEN, Presence.LACKS)
        return next(answer for answer in by_weight if answer in answers)

    def _names(self, module: str) -> ModuleNames:
        """Return the names in a module that the project has."""
        if module not in self.sources:
            # It is compiled, or a folder that other projects may have, too (PEP 420).
            return _CLOSED
        if module not in self._parsed:
            _, content = self.sources[module]
            package = module if module in self._packages else module.rpartition(".")[0]
            self._parsed[module] = names_of(content, package)
        return self._parsed[module]

    def _is_unwritten(self, name: str) -> bool:
        """Return whether no Python file defines a name or has it as a string."""
        if name not in self._unwritten:
            word = name.encode()
            written = re.compile(
                rb"""(?m)\b(?:class|def)\s+%b\b|["']%b["']|^\s*%b\s*[:=]""" % (word, word, word)
            )
            contents = [content for _, content in self.sources.values() if word in content]
            self._unwritten[name] = not any(map(written.search, contents))
        return self._unwritten[name]


def parse(source: bytes) -> ast.Module | None:
    """Return the statements of a Python file; None if it is no Python that can be read."""
    try:
        with warnings.catch_warnings():
            # The parser warns of odd escapes and comparisons in the code.
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def names_of(source: bytes, package: str) -> ModuleNames:
    """Return the names that a Python file defines. Its relative imports begin at `package`.

    Definitions in a branch count whatever its condition is, as no condition is evaluated, except
    those under `if TYPE_CHECKING`. Deletions do not count.
    """
    tree = parse(source)
    if tree is None:
        return _CLOSED
    names: set[str] = set()
    stars: list[str] = []
    try:
        for statement in _own_statements(tree.body):
            names.update(_defined(statement))
            if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
                stars.append(absolute(statement, package))
        nodes = list(ast.walk(tree))
    except RecursionError:
        return _CLOSED
    for node in nodes:
        if isinstance(node, ast.Global):
            names.update(node.names)
    return ModuleNames(
        frozenset(names),
        tuple(stars),
        "__getattr__" in names or any(map(_computes_names, nodes)),
        any(map(_computes_modules, nodes)),
    )


def is_type_checking(test: ast.expr) -> bool:
    """Return whether a condition is `TYPE_CHECKING`, which only holds for type checkers."""
    return ast.unparse(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING", "t.TYPE_CHECKING")


def blocks_of(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks inside a statement: of `if`, loops, `with`, `try` and `match`."""
    for field in ("body", "orelse", "finalbody"):
        yield getattr(statement, field, [])
    for handler in getattr(statement, "handlers", []):
        yield handler.body
    for case in getattr(statement, "cases", []):
        yield case.body


def absolute(statement: ast.ImportFrom, package: str) -> str:
    """Return the absolute name of the module that a `from … import` in a package names."""
    if not statement.level:
        return statement.module or ""
    parts = package.split(".")
    base = parts[: len(parts) - statement.level + 1]
    return ".".join([*base, statement.module] if statement.module else base)


def _own_statements(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that define names of a module: all but those in functions and classes.

    Those under `if TYPE_CHECKING` are left out.
    """
    for statement in statements:
        yield statement
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if isinstance(statement, ast.If) and is_type_checking(statement.test):
            yield from _own_statements(statement.orelse)
            continue
        for block in blocks_of(statement):
            yield from _own_statements(block)


def _defined(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that one statement defines, and those in a literal `__all__`."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name for alias in aliases)
        case ast.AnnAssign(value=None):
            pass
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.For() | ast.With():
            stored = [node for node in _expressions(statement) if isinstance(node, ast.Name)]
            targets = [name.id for name in stored if isinstance(name.ctx, ast.Store)]
            yield from targets
            if "__all__" in targets:
                yield from _strings(statement)
        case ast.Expr() | ast.If() | ast.While():
            # An assignment within an expression.
            walked = [node for node in _expressions(statement) if isinstance(node, ast.NamedExpr)]
            yield from (node.target.id for node in walked)
        case _:
            pass


def _expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the expressions in a statement, without the statements inside it."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        yield node
        children = ast.iter_child_nodes(node)
        pending += [child for child in children if not isinstance(child, ast.stmt)]


def _strings(statement: ast.stmt) -> Iterator[str]:
    """Yield the strings in a statement."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _computes_names(node: ast.AST) -> bool:
    """Return whether a node may define names of its module that its text does not show."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name in _DEFINING_CALLS
        case _:
            return _is_sys_modules(node)


def _computes_modules(node: ast.AST) -> bool:
    """Return whether a node may make modules that have no file."""
    match node:
        case ast.Subscript(value=value, ctx=ast.Store(), slice=key):
            is_itself = isinstance(key, ast.Name) and key.id == "__name__"
            return _is_sys_modules(value) and not is_itself
        case ast.Call(func=ast.Attribute(value=value)):
            return _is_sys_modules(value)
        case ast.Name(id="__path__"):
            return True
        case _:
            return False


def _is_sys_modules(node: ast.AST) -> bool:
    """Return whether a node is `sys.modules`."""
    match node:
        case ast.Attribute(value=ast.Name(id="sys"), attr="modules"):
            return True
        case _:
            return False


def _below_source_folder(path: str, paths: Container[str]) -> str:
    """Return the path of a file below the folder from which its package is installed.

    That is where its outermost package is. Empty if it is in no package, or in one elsewhere, such
    as below `examples`.
    """
    parts = path.split("/")
    for depth in range(1, len(parts)):
        if "/".join([*parts[:depth], "__init__.py"]) in paths:
            is_installed = "/".join(parts[: depth - 1]) in _SOURCE_FOLDERS
            return "/".join(parts[depth - 1 :]) if is_installed else ""
    return ""


def _parents(module: str) -> Iterator[str]:
    """Yield the packages around a module, from the inside out."""
    while "." in module:
        module = module.rpartition(".")[0]
        yield module
