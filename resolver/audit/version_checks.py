"""Find where Python code compares the version of another project. Nothing is imported or run.

A check is a call such as `check_version("vllm<=0.11.0")`, or a comparison of a project's version
with a constant. The statement around it says what the code does if the check fails: it raises,
turns something off, warns, or only takes another branch. `code_scan` calls this for the command
`scan`.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from enum import Enum
from typing import Final, NamedTuple

import msgspec
from packaging.requirements import InvalidRequirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import NormalizedName

from resolver.audit.version_expressions import (
    CodeNames,
    LiteralVersion,
    VersionComparison,
    constant_of,
    last_name,
    opposite,
    parts_of,
)
from resolver.model import text
from resolver.phrase import cause, phrase

# How many characters of a statement or a condition are shown.
_SHOWN: Final = 160

# A file without any of these words has no checks, so it is not parsed.
_WORTH_PARSING: Final = re.compile(rb"(?i)version|_available\(|require\(|_greater_or_equal\(")

# Functions that raise unless the requirement in their first argument is met.
_CHECKERS: Final = frozenset(
    {"check_version", "require_version", "require_version_core", "dep_version_check", "require"}
)

_WARNING: Final = re.compile(r"(?i)warn(ing)?(_once)?|warning_advice|error|critical")


class Effect(Enum):
    """What code does with a version that it does not accept."""

    # It raises, or ends the process.
    REFUSES = "refuses"
    # A file that is not Python has a message about it. What leads to the message is not known.
    STATES = "states"
    # It returns False or None, or sets a name to one of them.
    DISABLES = "disables"
    # It warns, and goes on.
    WARNS = "warns"
    # It takes another branch.
    DECIDES = "decides"


class VersionCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A place where code compares the version of another project."""

    # The project whose version is compared.
    project: NormalizedName
    # What the code accepts, as a specifier set.
    accepts: str
    # What the code does with another version.
    effect: Effect
    # The file within the wheel or archive.
    path: str
    # The number of the line, from 1; 0 in a compiled file.
    line: int
    # The functions and classes around it, joined by dots; empty at the level of the module.
    scope: str = ""
    # The conditions under which the check is reached, as they are in the source.
    under: tuple[str, ...] = ()
    # The statement in the source, or the text in a compiled file.
    source: str

    @property
    def at_import(self) -> bool:
        """Return whether the check is always made when its file is imported."""
        return not self.scope and not self.under


class UnreadableCodeError(Exception):
    """A file cannot be parsed as Python within limits."""


def find_checks(source: bytes, path: str, own_project: NormalizedName) -> list[VersionCheck]:
    """Return the checks in a Python file, ordered by line.

    Comparisons with the version of `own_project`, which the file belongs to, are left out. Raise
    UnreadableCodeError if the file is not Python, or is nested too deeply.
    """
    if not _WORTH_PARSING.search(source):
        return []
    try:
        with warnings.catch_warnings():
            # The parser warns of odd escapes and comparisons in the code.
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        scanner = _Scanner(path)
        scanner.scan(tree.body, _Place())
    except (SyntaxError, ValueError) as error:
        raise UnreadableCodeError(
            phrase("it is no Python that can be read: {cause}", cause=cause(error))
        ) from None
    except (RecursionError, MemoryError):
        raise UnreadableCodeError(phrase("it is nested too deeply")) from None
    found = {check for check in scanner.found if check.project != own_project}
    return sorted(found, key=lambda check: (check.line, check.project, check.accepts))


class _Place(NamedTuple):
    """The place of a statement in its file."""

    # The names of the functions and classes around it, from the outside in.
    scope: tuple[str, ...] = ()
    # The conditions around it, from the outside in.
    under: tuple[str, ...] = ()

    def within(self, name: str) -> _Place:
        """Return the place inside a function or class. The conditions around it still apply."""
        return _Place((*self.scope, name), self.under)

    def on(self, test: ast.expr, *, negated: bool = False) -> _Place:
        """Return the place inside a branch of an `if`; with `negated`, inside its `else`."""
        condition = _shown(test)
        if negated:
            condition = f"not ({condition})"
        return _Place(self.scope, (*self.under, condition))


class _Scanner:
    """Collects the comparisons of other projects' versions in the statements of one file."""

    def __init__(self, path: str) -> None:
        # What was found so far.
        self.found: list[VersionCheck] = []
        # The last statement with a check, and its text. The text is made only once, as a statement
        # may have thousands of checks.
        self._last: tuple[ast.stmt, str] | None = None
        self._path = path
        self._names = CodeNames()

    def scan(self, statements: Sequence[ast.stmt], place: _Place) -> None:
        """Read statements, and add their checks to `found`."""
        for statement in statements:
            self._scan_statement(statement, place)

    def _scan_statement(self, statement: ast.stmt, place: _Place) -> None:
        """Read one statement and the statements inside it."""
        self._scan_generated(statement, place)
        match statement:
            case ast.Import() | ast.ImportFrom():
                self._names.remember_import(statement)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self._names.enter()
                self.scan(statement.body, place.within(statement.name))
                self._names.leave()
            case ast.If():
                self._scan_if(statement, place)
            case ast.Assert(test=test):
                self._add_condition(statement, test, False, Effect.REFUSES, place)
            case ast.Return(value=value) if value is not None:
                self._add_condition(statement, value, False, Effect.DISABLES, place)
                self._scan_calls(statement, place)
            case ast.Assign(targets=[target], value=value):
                self._names.remember_assignment(target, value)
                self._scan_calls(statement, place)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._names.remember_assignment(target, value)
                self._scan_calls(statement, place)
            case _:
                self._scan_calls(statement, place)
                for body in _bodies(statement):
                    self.scan(body, place)

    def _scan_if(self, statement: ast.If, place: _Place) -> None:
        """Read an `if` with its branches. The check is about the branch with the graver effect."""
        test = statement.test
        effect = _effect_of(statement.body)
        otherwise = _effect_of(statement.orelse)
        if effect is not Effect.DECIDES or otherwise is Effect.DECIDES:
            self._add_condition(statement, test, True, effect, place)
        else:
            self._add_condition(statement, test, False, otherwise, place)
        self.scan(statement.body, place.on(test))
        self.scan(statement.orelse, place.on(test, negated=True))

    def _scan_calls(self, statement: ast.stmt, place: _Place) -> None:
        """Find calls of functions that raise unless a requirement is met."""
        for node in _expressions(statement):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            if last_name(node.func) not in _CHECKERS:
                continue
            for argument in _texts(node.args[0]):
                with suppress(InvalidRequirement):
                    need = text.requirement(argument)
                    if need.specifier:
                        found = VersionComparison(need.name, str(need.specifier))
                        self._add(statement, found, Effect.REFUSES, place)

    def _scan_generated(self, statement: ast.stmt, place: _Place) -> None:
        """Find what code that was generated by protobuf or grpcio requires of these libraries."""
        match statement:
            case ast.Expr(value=ast.Call(func=function, args=[_, *arguments])) if (
                last_name(function) == "ValidateProtobufRuntimeVersion"
            ):
                constant = constant_of(arguments[:3])
                if constant is not None:
                    found = VersionComparison(text.name("protobuf"), f">={constant.version}")
                    self._add(statement, found, Effect.REFUSES, place)
            case ast.Assign(targets=[ast.Name(id="GRPC_GENERATED_VERSION")], value=value):
                generated = self._names.value(value)
                if isinstance(generated, LiteralVersion):
                    found = VersionComparison(text.name("grpcio"), f">={generated.version}")
                    self._add(statement, found, Effect.REFUSES, place)
            case _:
                pass

    def _add_condition(
        self,
        statement: ast.stmt,
        test: ast.expr,
        outcome: bool,
        effect: Effect,
        place: _Place,
    ) -> None:
        """Add the checks in a condition. `effect` follows if the condition comes out as `outcome`.

        If a check does not decide the outcome alone, the whole condition is one of its `under`: `if
        a and version < 2: raise` refuses version < 2 only where a holds.
        """
        # A condition may have thousands of parts, so its text is made once.
        inside = place
        if not isinstance(statement, ast.Return):
            inside = place.on(test)
        for part in parts_of(test, outcome):
            reached = place if part.decides else inside
            for comparison in self._names.comparisons(part.test):
                accepts_opposite = part.negated != outcome
                accepted = opposite(comparison) if accepts_opposite else comparison
                self._add(statement, accepted, effect, reached)

    def _add(
        self,
        statement: ast.stmt,
        comparison: VersionComparison,
        effect: Effect,
        place: _Place,
    ) -> None:
        """Add a check, unless its specifier is invalid."""
        try:
            SpecifierSet(comparison.specifier)
        except InvalidSpecifier:
            return
        self.found.append(
            VersionCheck(
                project=comparison.project,
                accepts=comparison.specifier,
                effect=effect,
                path=self._path,
                line=statement.lineno,
                scope=".".join(place.scope),
                under=place.under,
                source=self._source(statement),
            )
        )

    def _source(self, statement: ast.stmt) -> str:
        """Return the text of a statement."""
        if self._last is None or self._last[0] is not statement:
            self._last = statement, _shown(statement)
        return self._last[1]


def _effect_of(body: Sequence[ast.stmt]) -> Effect:
    """Return the gravest effect of a branch. What its inner branches do does not count.

    An inner `if` that raises or else warns counts as raising.
    """
    effect = Effect.DECIDES
    for statement in body:
        match statement:
            case ast.Raise():
                return Effect.REFUSES
            case ast.Expr(value=ast.Call(func=function)):
                name = last_name(function)
                if name in ("exit", "_exit", "fail"):
                    return Effect.REFUSES
                if _WARNING.fullmatch(name) and effect is Effect.DECIDES:
                    effect = Effect.WARNS
            case ast.Return(value=ast.Constant(value=False | None)) | ast.Return(value=None):
                effect = Effect.DISABLES
            case ast.Assign(value=ast.Constant(value=False | None)):
                effect = Effect.DISABLES
            case ast.If():
                inner = _effect_of(statement.body), _effect_of(statement.orelse)
                if Effect.DECIDES not in inner and Effect.REFUSES in inner:
                    # It raises or warns, as its caller asks.
                    return Effect.REFUSES
            case _:
                pass
    return effect


def _bodies(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks inside a statement other than `if`: of loops, `with`, `try` and `match`."""
    for field in ("body", "orelse", "finalbody"):
        yield getattr(statement, field, [])
    for handler in getattr(statement, "handlers", []):
        yield handler.body
    for case in getattr(statement, "cases", []):
        yield case.body


def _expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield a statement and the expressions in it, without the statements inside it."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        yield node
        children = ast.iter_child_nodes(node)
        blocks = ast.stmt | ast.ExceptHandler | ast.match_case
        pending += [child for child in children if not isinstance(child, blocks)]


def _texts(node: ast.expr) -> list[str]:
    """Return the strings in a constant, a list or a tuple of constants."""
    nodes = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    values = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return [value for value in values if isinstance(value, str)]


def _shown(node: ast.stmt | ast.expr) -> str:
    """Return the first line of a statement or expression, shortened if it is long."""
    if isinstance(node, ast.If | ast.While):
        return f"if {_shown(node.test)}"
    first = ast.unparse(node).partition("\n")[0]
    return first if len(first) <= _SHOWN else f"{first[:_SHOWN]}…"
