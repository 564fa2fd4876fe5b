"""Find imports of modules and names that another project does not have, for `scan --beside`.

Both sides are only read: whether a condition holds, and whether a file is ever imported, is for
people to judge.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final

import msgspec

from resolver.audit.module_names import (
    ASIDE,
    Presence,
    ProjectModules,
    blocks_of,
    is_type_checking,
    parse,
)

# Conditions that may ask for a version, or for the name itself: `is_trl_ge_0_20`, `hasattr(…)`.
_GUARD: Final = re.compile(r"(?i)version|\d|hasattr|getattr|find_spec")

# Exceptions whose handler catches that a module lacks a name, and that a module is missing.
_CATCHES_NAMES: Final = frozenset({"ImportError", "Exception", "BaseException"})
_CATCHES_MODULES: Final = _CATCHES_NAMES | {"ModuleNotFoundError"}

# Statements after which the rest of a block is not run.
_LEAVING: Final = (ast.Return, ast.Raise, ast.Continue, ast.Break)

# How many characters of a condition are shown.
_SHOWN: Final = 160


class Reach(Enum):
    """When an import is run."""

    AT_IMPORT = "at-import"
    # When a function is called.
    CALLED = "called"
    # In a branch that a version or a look at the module decides: it may never be run.
    GUARDED = "guarded"


class MissingImport(msgspec.Struct, frozen=True, kw_only=True):
    """An import of something that the other project does not have."""

    # The module, by its absolute name.
    module: str
    # The name in the module; empty if the module itself is missing.
    name: str
    # Whether it is certain that the other project lacks it; else its module computes its names,
    # and the name is written nowhere in the project.
    is_certain: bool
    # When it is run.
    reach: Reach
    # The file within the wheel or archive.
    path: str
    # The number of the line, from 1.
    line: int
    # The functions and classes around it, joined by dots.
    scope: str
    # The conditions under which it is reached, as they are in the source.
    under: tuple[str, ...]


class _Place(msgspec.Struct, frozen=True):
    """The place of a statement in its file."""

    # The names of the functions and classes around it.
    scope: tuple[str, ...] = ()
    # The conditions around it.
    under: tuple[str, ...] = ()
    # When it is run.
    reach: Reach = Reach.AT_IMPORT
    # The exceptions that are caught around it and end there.
    caught: frozenset[str] = frozenset()


def missing_imports(code: ProjectModules, other: ProjectModules) -> list[MissingImport]:
    """Return the imports in `code` of what `other` does not have, in the order of the files.

    Left out are imports whose ImportError is caught, those for type checkers, those in an `except`
    that are only run if `other` lacks something that it has, and those of tests.
    """
    roots = other.roots - code.roots
    if not roots:
        return []
    names = "|".join(map(re.escape, sorted(roots)))
    worth_parsing = re.compile(rf"\b(?:{names})\b".encode())
    found: list[MissingImport] = []
    for path, content in sorted(code.sources.values()):
        if ASIDE.intersection(path.split("/")[:-1]) or not worth_parsing.search(content):
            continue
        tree = parse(content)
        if tree is not None:
            scanner = _Scanner(path, roots, other)
            scanner.scan(tree.body, _Place())
            found += scanner.found
    return found


class _Scanner:
    """Collects the missing imports in the statements of one file."""

    def __init__(self, path: str, roots: set[str], other: ProjectModules) -> None:
        # What was found so far.
        self.found: list[MissingImport] = []
        # Names that a comparison of versions gave their value.
        self._guards: set[str] = set()
        self._path = path
        self._roots = roots
        self._other = other

    def scan(self, statements: Sequence[ast.stmt], place: _Place) -> None:
        """Read statements, and add their missing imports to `found`."""
        for statement in statements:
            self._scan_statement(statement, place)
            if isinstance(statement, ast.If) and isinstance(statement.body[-1], _LEAVING):
                place = self._branch(statement.test, place, negated=True)

    def _scan_statement(self, statement: ast.stmt, place: _Place) -> None:
        """Read one statement and the statements inside it."""
        match statement:
            case ast.Import() | ast.ImportFrom():
                self._scan_import(statement, place)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                reach = Reach.CALLED if place.reach is Reach.AT_IMPORT else place.reach
                # What is caught where a function is defined is not where it is called.
                self.scan(statement.body, _Place((*place.scope, name), place.under, reach))
            case ast.ClassDef(name=name):
                inside = msgspec.structs.replace(place, scope=(*place.scope, name))
                self.scan(statement.body, inside)
            case ast.If():
                self._scan_if(statement, place)
            case ast.Try():
                self._scan_try(statement, place)
            case ast.With() if _suppressed(statement):
                caught = place.caught | _suppressed(statement)
                self.scan(statement.body, msgspec.structs.replace(place, caught=caught))
            case _:
                self._remember_guard(statement)
                for block in blocks_of(statement):
                    self.scan(block, place)

    def _remember_guard(self, statement: ast.stmt) -> None:
        """Remember the names that are assigned what may be a comparison of versions."""
        match statement:
            case ast.Assign(targets=targets, value=value) if _GUARD.search(ast.unparse(value)):
                names = [target.id for target in targets if isinstance(target, ast.Name)]
                self._guards.update(names)
            case _:
                pass

    def _scan_if(self, statement: ast.If, place: _Place) -> None:
        """Read an `if` with its branches."""
        if not is_type_checking(statement.test):
            self.scan(statement.body, self._branch(statement.test, place))
        if ast.unparse(statement.test) != "not TYPE_CHECKING":
            self.scan(statement.orelse, self._branch(statement.test, place, negated=True))

    def _branch(self, test: ast.expr, place: _Place, *, negated: bool = False) -> _Place:
        """Return the place inside a branch of an `if`; with `negated`, where it does not hold."""
        condition = ast.unparse(test)[:_SHOWN]
        words = re.findall(r"\w+", condition)
        is_guard = _GUARD.search(condition) is not None or not self._guards.isdisjoint(words)
        return msgspec.structs.replace(
            place,
            under=(*place.under, f"not ({condition})" if negated else condition),
            reach=Reach.GUARDED if is_guard else place.reach,
        )

    def _scan_try(self, statement: ast.Try, place: _Place) -> None:
        """Read a `try` with its handlers.

        What stands in the handler of a failed import is left out if the imports of the `try` do
        not fail because of the other project.
        """
        caught = frozenset[str]()
        for handler in statement.handlers:
            caught |= _handled(handler)
        self.scan(statement.body, msgspec.structs.replace(place, caught=place.caught | caught))
        for handler in statement.handlers:
            if _exceptions(handler.type) & _CATCHES_MODULES and self._succeeds(statement.body):
                continue
            kind = ast.unparse(handler.type) if handler.type else ""
            under = (*place.under, f"except {kind}".rstrip())
            self.scan(handler.body, msgspec.structs.replace(place, under=under))
        self.scan(statement.orelse, place)
        self.scan(statement.finalbody, place)

    def _succeeds(self, body: Sequence[ast.stmt]) -> bool:
        """Return whether statements import from the other project, and nothing that it lacks."""
        imports = [item for item in body if isinstance(item, ast.Import | ast.ImportFrom)]
        asked = [pair for statement in imports for pair in self._imported(statement)]
        return bool(asked) and not any(self._lacks(*pair) for pair in asked)

    def _scan_import(self, statement: ast.Import | ast.ImportFrom, place: _Place) -> None:
        """Add what an import asks of the other project in vain."""
        for module, name in self._imported(statement):
            lack = self._lacks(module, name)
            if lack is None:
                continue
            missing, is_certain = lack
            catching = _CATCHES_NAMES if missing else _CATCHES_MODULES
            if catching & place.caught:
                continue
            self.found.append(
                MissingImport(
                    module=module,
                    name=missing,
                    is_certain=is_certain,
                    reach=place.reach,
                    path=self._path,
                    line=statement.lineno,
                    scope=".".join(place.scope),
                    under=place.under,
                )
            )

    def _imported(self, statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
        """Yield the modules of the other project that an import names, each with a name in it.

        The name is empty if it imports the module itself, or all of it.
        """
        if isinstance(statement, ast.Import):
            pairs = [(alias.name, "") for alias in statement.names]
        elif statement.level or not statement.module:
            pairs = []
        else:
            names = [alias.name for alias in statement.names]
            pairs = [(statement.module, "" if name == "*" else name) for name in names]
        for module, name in pairs:
            if module.partition(".")[0] in self._roots:
                yield module, name

    def _lacks(self, module: str, name: str) -> tuple[str, bool] | None:
        """Return what the other project lacks of a module and a name in it, and if it is certain.

        The name is empty if the module is missing. None if the project has it, or if that is not
        known.
        """
        presence = self._other.module(module)
        if presence is Presence.LACKS:
            return "", True
        if presence is not Presence.HAS or not name:
            return None
        presence = self._other.name(module, name)
        if presence is Presence.LACKS:
            return name, True
        return (name, False) if presence is Presence.UNWRITTEN else None


def _handled(handler: ast.ExceptHandler) -> frozenset[str]:
    """Return the exceptions that a handler catches; none if it raises in any case."""
    if any(isinstance(statement, ast.Raise) for statement in handler.body):
        return frozenset()
    return _exceptions(handler.type)


def _exceptions(kinds: ast.expr | None) -> frozenset[str]:
    """Return the names of the exceptions of an `except`. One without any catches them all."""
    if kinds is None:
        return frozenset({"BaseException"})
    kinds_of = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
    return frozenset(kind.id for kind in kinds_of if isinstance(kind, ast.Name))


def _suppressed(statement: ast.With) -> frozenset[str]:
    """Return the exceptions that a `with suppress(…)` catches."""
    suppressed = frozenset[str]()
    for item in statement.items:
        match item.context_expr:
            case ast.Call(func=ast.Name(id="suppress") | ast.Attribute(attr="suppress"), args=args):
                suppressed |= frozenset(arg.id for arg in args if isinstance(arg, ast.Name))
            case _:
                pass
    return suppressed
