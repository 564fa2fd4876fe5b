"""Find where Python code compares the version of another project, without importing or running it.

A check is a call such as `check_version("vllm<=0.11.0")`, or a comparison of a project's version
with a constant. What follows from it is read from the statement around it: whether the code
raises, turns something off, warns, or only goes another way.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import ChainMap
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final, NamedTuple

import msgspec
from packaging.requirements import InvalidRequirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import NormalizedName

from resolver.model import text

# Characters of source that are shown of a statement or a condition.
_SHOWN: Final = 160

# Of a file without these words nothing can be found, so it is not parsed.
_WORTH_PARSING: Final = re.compile(rb"(?i)version|_available\(|require\(|_greater_or_equal\(")

# Functions that raise unless the requirement in their first argument is met.
_CHECKERS: Final = frozenset(
    {"check_version", "require_version", "require_version_core", "dep_version_check", "require"}
)

# Functions through which a version passes unchanged, or as the same numbers in another form.
_WRAPPERS: Final = frozenset(
    {"version", "parse", "parse_version", "looseversion", "strictversion", "tuple", "list", "map"}
    | {"int", "float", "str", "_parse_version", "digit_version", "get_version"}
)

# Methods of a version's text that keep its leading numbers.
_METHODS: Final = frozenset({"split", "partition", "rsplit", "strip", "removesuffix", "replace"})

# Attributes of a module that are its version, and those of a version that keep its leading numbers.
_VERSION_ATTRIBUTES: Final = frozenset({"__version__", "__version_tuple__", "__version_info__", "version", "VERSION"})
_SAME_VERSION: Final = frozenset({"release", "base_version", "public", "major", "version"})

# `is_torch_version(">=", "2.4")`, `is_accelerate_available("0.26")`,
# `is_torch_greater_or_equal("2.6")`: the project is in the name.
_NAMED_FUNCTION: Final = re.compile(
    r"_?is_(?P<project>[a-z0-9_]+?)_(?P<kind>version|available|greater_or_equal(_than_\d.*)?)"
)

_VERSION: Final = re.compile(r"v?\d+(\.\d+)*((a|b|rc|\.?dev|\.?post)\d*)?(\.\*)?(\+\w+)?")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")
_WARNING: Final = re.compile(r"(?i)warn(ing)?(_once)?|warning_advice|error|critical")

_OPERATORS: Final = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_OPPOSITE: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_OPERATOR_FUNCTIONS: Final = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}

# Modules whose project has another name.
_PROJECTS: Final = {
    "PIL": "pillow",
    "attr": "attrs",
    "cv2": "opencv-python",
    "flash_attn_interface": "flash-attn",
    "google": "protobuf",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}

# Modules that are no project: what runs Python, and the standard library's own.
_NO_PROJECTS: Final = frozenset({"platform", "python", "re", "sqlite3", "ssl", "sys", "version"})


class Effect(Enum):
    """What code does if a version is not the one that it asks for."""

    # It raises, or ends the process.
    REFUSES = "refuses"
    # It says so in a message of a file that is not Python: what leads to the message is not known.
    STATES = "states"
    # It returns False or None, or sets a name to one of them.
    DISABLES = "disables"
    # It warns, and goes on.
    WARNS = "warns"
    # It goes another way.
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
    # The functions and classes around it, joined by dots; empty if it runs with the import.
    scope: str = ""
    # The conditions on which the check is reached, as they are in the source.
    under: tuple[str, ...] = ()
    # The statement in the source, or the text in a compiled file.
    source: str

    @property
    def at_import(self) -> bool:
        """Whether nothing but the import of the file leads to it."""
        return not self.scope and not self.under


class _Release(NamedTuple):
    """The version of a project, as an expression of the code."""

    project: NormalizedName


class _Constant(NamedTuple):
    """A version in the code; `is_number` if it is a number or a tuple, without later parts."""

    version: str
    is_number: bool


class _Module(NamedTuple):
    """An imported module."""

    project: NormalizedName


_Value = _Release | _Constant | _Module


class _Comparison(NamedTuple):
    """A comparison that is true if the release of a project is within `specifier`."""

    project: NormalizedName
    specifier: str


class UnreadableCodeError(Exception):
    """A file cannot be parsed as Python within limits."""


def find_checks(source: bytes, path: str, own: NormalizedName) -> list[VersionCheck]:
    """Return the checks in a Python file, in the order of its lines.

    Comparisons with the version of `own`, the project that the file belongs to, are left out.
    Raise UnreadableCodeError if the file is no Python, or is nested too deeply.
    """
    if not _WORTH_PARSING.search(source):
        return []
    try:
        with warnings.catch_warnings():
            # of the code's own escapes and comparisons
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        scanner = _Scanner(path)
        scanner.scan(tree.body, _Place())
    except (SyntaxError, ValueError) as error:
        raise UnreadableCodeError(f"it is no Python that can be read: {error}") from None
    except (RecursionError, MemoryError):
        raise UnreadableCodeError("it is nested too deeply") from None
    found = {check for check in scanner.found if check.project != own}
    return sorted(found, key=lambda check: (check.line, check.project, check.accepts))


class _Place(NamedTuple):
    """Where a statement is: the names of functions and classes, and the conditions around it."""

    scope: tuple[str, ...] = ()
    under: tuple[str, ...] = ()

    def within(self, name: str) -> _Place:
        """Return the place inside a function or class. Conditions around it hold for it as well."""
        return _Place((*self.scope, name), self.under)

    def on(self, test: ast.expr, *, negated: bool = False) -> _Place:
        """Return the place inside a branch of an `if`."""
        condition = _shown(test)
        return _Place(self.scope, (*self.under, f"not ({condition})" if negated else condition))


class _Scanner:
    """Reads the statements of one file in their order, and remembers what names stand for."""

    def __init__(self, path: str) -> None:
        self.found: list[VersionCheck] = []
        self._path = path
        self._names: ChainMap[str, _Value] = ChainMap()

    def scan(self, statements: Sequence[ast.stmt], place: _Place) -> None:
        """Read some statements."""
        for statement in statements:
            self._scan_statement(statement, place)

    def _scan_statement(self, statement: ast.stmt, place: _Place) -> None:
        self._scan_generated(statement, place)
        match statement:
            case ast.Import() | ast.ImportFrom():
                self._remember_import(statement)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self._names = self._names.new_child()
                self.scan(statement.body, place.within(statement.name))
                self._names = self._names.parents
            case ast.If():
                self._scan_if(statement, place)
            case ast.Assert():
                exact = isinstance(statement.test, ast.BoolOp) is False
                self._add_all(statement, self._comparisons(statement.test), Effect.REFUSES, place, exact)
            case ast.Return(value=value) if value is not None:
                self._add_all(statement, self._comparisons(value), Effect.DISABLES, place, True)
                self._scan_calls(statement, place)
            case ast.Assign(targets=[target], value=value):
                self._remember_assignment(target, value)
                self._scan_calls(statement, place)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._remember_assignment(target, value)
                self._scan_calls(statement, place)
            case _:
                self._scan_calls(statement, place)
                for body in _bodies(statement):
                    self.scan(body, place)

    def _scan_if(self, statement: ast.If, place: _Place) -> None:
        """Read an `if`: its body runs if the comparisons hold, its `else` if they do not."""
        comparisons = self._comparisons(statement.test)
        is_and = isinstance(statement.test, ast.BoolOp) and isinstance(statement.test.op, ast.And)
        effect = _effect_of(statement.body)
        otherwise = _effect_of(statement.orelse)
        if effect is not Effect.DECIDES or otherwise is Effect.DECIDES:
            # `if a and version < 2: raise` refuses version < 2 only where a holds
            self._add_all(statement, map(_opposite, comparisons), effect, place, not is_and)
        else:
            self._add_all(statement, comparisons, otherwise, place, is_and)
        self.scan(statement.body, place.on(statement.test))
        self.scan(statement.orelse, place.on(statement.test, negated=True))

    def _scan_calls(self, statement: ast.stmt, place: _Place) -> None:
        """Find calls of functions that raise unless a requirement is met."""
        for node in _expressions(statement):
            if isinstance(node, ast.Call) and _last_name(node.func) in _CHECKERS and node.args:
                for argument in _texts(node.args[0]):
                    try:
                        need = text.requirement(argument)
                    except InvalidRequirement:
                        continue
                    if need.specifier:
                        found = _Comparison(need.name, str(need.specifier))
                        self._add(statement, found, Effect.REFUSES, place)

    def _scan_generated(self, statement: ast.stmt, place: _Place) -> None:
        """Find what generated code asks of the library that it was generated for."""
        match statement:
            case ast.Expr(value=ast.Call(func=function, args=[_, *arguments])) if (
                _last_name(function) == "ValidateProtobufRuntimeVersion"
            ):
                constant = _constant_of(arguments[:3])
                if constant is not None:
                    found = _Comparison(text.name("protobuf"), f">={constant.version}")
                    self._add(statement, found, Effect.REFUSES, place)
            case ast.Assign(targets=[ast.Name(id="GRPC_GENERATED_VERSION")], value=value):
                generated = self._value(value)
                if isinstance(generated, _Constant):
                    found = _Comparison(text.name("grpcio"), f">={generated.version}")
                    self._add(statement, found, Effect.REFUSES, place)

    def _add_all(
        self,
        statement: ast.stmt,
        comparisons: Iterator[_Comparison] | Sequence[_Comparison] | map[_Comparison],
        effect: Effect,
        place: _Place,
        exact: bool,
    ) -> None:
        """Add checks; if it is not `exact`, their own condition is one under which they are reached."""
        test = getattr(statement, "test", None)
        if not exact and test is not None:
            place = place.on(test)
        for comparison in comparisons:
            self._add(statement, comparison, effect, place)

    def _add(self, statement: ast.stmt, comparison: _Comparison, effect: Effect, place: _Place) -> None:
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
                source=_shown(statement),
            )
        )

    # What names stand for

    def _remember_import(self, statement: ast.Import | ast.ImportFrom) -> None:
        if isinstance(statement, ast.ImportFrom):
            if statement.level == 0 and statement.module:
                for alias in statement.names:
                    name = alias.asname or alias.name
                    module = statement.module.partition(".")[0]
                    if alias.name in _VERSION_ATTRIBUTES and alias.name != "version":
                        self._names[name] = _Release(_project(module))
                    elif alias.name[:1].islower() and module not in ("packaging", "importlib"):
                        self._names[name] = _Module(_project(module))
            return
        for alias in statement.names:
            module = alias.name.partition(".")[0]
            self._names[alias.asname or module] = _Module(_project(module))

    def _remember_assignment(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            meaning = self._value(value)
            if isinstance(meaning, _Release | _Constant):
                self._names[target.id] = meaning
            else:
                self._names.pop(target.id, None)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Call):
            # is_available, torch_version = _is_package_available("torch", return_version=True)
            meaning = self._value(value)
            for element in target.elts:
                if isinstance(element, ast.Name) and isinstance(meaning, _Release):
                    if "version" in element.id:
                        self._names[element.id] = meaning

    # What expressions stand for

    def _comparisons(self, test: ast.expr) -> list[_Comparison]:
        """Return the comparisons in a condition, as they are when it is true."""
        match test:
            case ast.BoolOp(values=values):
                return [found for value in values for found in self._comparisons(value)]
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return [_opposite(found) for found in self._comparisons(operand)]
            case ast.Compare(left=left, ops=operators, comparators=comparators):
                return self._chain([left, *comparators], operators)
            case ast.Call():
                found = self._function_of_version(test)
                return [found] if found is not None else []
            case _:
                return []

    def _chain(self, operands: Sequence[ast.expr], operators: Sequence[ast.cmpop]) -> list[_Comparison]:
        found = []
        for position, operator in enumerate(operators):
            sign = _OPERATORS.get(type(operator))
            if sign is None:
                continue
            left, right = (self._value(node) for node in operands[position : position + 2])
            if isinstance(left, _Constant) and isinstance(right, _Release):
                left, right, sign = right, left, _MIRRORED[sign]
            if isinstance(left, _Release) and isinstance(right, _Constant):
                found.append(_Comparison(left.project, _specifier(sign, right)))
        return found

    def _function_of_version(self, call: ast.Call) -> _Comparison | None:
        """Return what a function such as `is_torch_version(">=", "2.4")` compares, or None."""
        name = _last_name(call.func)
        arguments = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
        texts = [argument for argument in arguments if isinstance(argument, str)]
        signs = [argument for argument in texts if argument in _OPPOSITE]
        signs += [
            _OPERATOR_FUNCTIONS[argument.attr]
            for argument in call.args
            if isinstance(argument, ast.Attribute) and argument.attr in _OPERATOR_FUNCTIONS
        ]
        versions = [argument for argument in texts if _VERSION.fullmatch(argument)]
        if len(versions) != 1:
            return None
        sign = signs[0] if signs else ">="
        matched = _NAMED_FUNCTION.fullmatch(name)
        if matched is not None and (signs or matched["kind"] != "version"):
            return _Comparison(_project(matched["project"]), f"{sign}{versions[0]}")
        names = [argument for argument in texts if _NAME.fullmatch(argument)]
        if signs and len(names) == 1 and "version" in name:
            return _Comparison(_project(names[0]), f"{sign}{versions[0]}")
        return None

    def _value(self, node: ast.expr) -> _Value | None:
        """Return what an expression stands for, or None if it is no version."""
        match node:
            case ast.Constant(value=str(value)) if _VERSION.fullmatch(value):
                return _Constant(value, is_number=False)
            case ast.Constant(value=int(value)) if not isinstance(value, bool) and value >= 0:
                return _Constant(str(value), is_number=True)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return _constant_of(elements)
            case ast.Name(id=name):
                return self._names.get(name)
            case ast.Attribute(value=value, attr=attribute):
                return self._attribute(self._value(value), attribute)
            case ast.Subscript(value=value, slice=part):
                # [0] is the first number, [:2] are the first two; [1] alone says nothing
                is_first = not isinstance(part, ast.Constant) or part.value in (0, "version")
                return self._value(value) if is_first else None
            case ast.GeneratorExp(generators=[generator]) | ast.ListComp(generators=[generator]):
                return self._value(generator.iter)
            case ast.BoolOp(op=ast.Or(), values=[first, *_]):
                return self._value(first)
            case ast.Call():
                return self._call(node)
            case _:
                return None

    def _attribute(self, value: _Value | None, attribute: str) -> _Value | None:
        match value:
            case _Module(project=project) if attribute in _VERSION_ATTRIBUTES:
                return _Release(project) if project not in _NO_PROJECTS else None
            case _Release() | _Constant() if attribute in (*_SAME_VERSION, *_VERSION_ATTRIBUTES):
                return value
            case _:
                return None

    def _call(self, call: ast.Call) -> _Value | None:
        name = _last_name(call.func)
        if isinstance(call.func, ast.Attribute) and name in _METHODS:
            return self._value(call.func.value)
        first = call.args[0] if call.args else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            if _names_installed(call, name) and _NAME.fullmatch(first.value):
                return _Release(_project(first.value))
        values = [self._value(argument) for argument in call.args]
        if name == "getattr" and len(call.args) > 1 and isinstance(call.args[1], ast.Constant):
            return self._attribute(values[0], str(call.args[1].value))
        if name.lower() in _WRAPPERS:
            known = [value for value in values if isinstance(value, _Release | _Constant)]
            return known[0] if len(known) == 1 else None
        if "version" in name and len(values) == 1 and isinstance(values[0], _Module):
            # extract_version(numpy)
            return _Release(values[0].project)
        return None


def _names_installed(call: ast.Call, name: str) -> bool:
    """Return whether a function returns the version of the distribution in its first argument."""
    if name in ("get_distribution", "distribution"):
        return True
    if any(keyword.arg == "return_version" for keyword in call.keywords):
        return True
    return "version" in name.lower() and name not in ("parse_version", "LooseVersion", "StrictVersion", "Version")


def _project(module: str) -> NormalizedName:
    return text.name(_PROJECTS.get(module, module))


def _constant_of(elements: Sequence[ast.expr]) -> _Constant | None:
    """Return the version that a tuple of numbers spells."""
    numbers = [element.value for element in elements if isinstance(element, ast.Constant)]
    if not numbers or len(numbers) < len(elements):
        return None
    if all(isinstance(number, int) for number in numbers):
        return _Constant(".".join(map(str, numbers)), is_number=True)
    return None


def _specifier(sign: str, constant: _Constant) -> str:
    """Return the specifier of a comparison.

    A number or a tuple is compared with the first parts of a version, of which those after it
    are cut off as a rule: `numpy_version <= (2, 4)` holds for 2.4.1, too.
    """
    version = constant.version.removeprefix("v")
    if constant.is_number:
        head, _, last = version.rpartition(".")
        following = f"{head}.{int(last) + 1}" if head else str(int(last) + 1)
        match sign:
            case "<=":
                return f"<{following}"
            case ">":
                return f">={following}"
            case "==" | "!=":
                return f"{sign}{version}.*"
    return f"{sign}{version}"


def _opposite(comparison: _Comparison) -> _Comparison:
    """Return the comparison that is true if this one is not."""
    matched = re.match(r"[<>=!]=?", comparison.specifier)
    sign = matched.group() if matched is not None else ""
    version = comparison.specifier.removeprefix(sign)
    return comparison._replace(specifier=f"{_OPPOSITE.get(sign, sign)}{version}")


def _effect_of(body: Sequence[ast.stmt]) -> Effect:
    """Return the gravest thing that a branch does, not counting what its inner branches do."""
    effect = Effect.DECIDES
    for statement in body:
        match statement:
            case ast.Raise():
                return Effect.REFUSES
            case ast.Expr(value=ast.Call(func=function)):
                name = _last_name(function)
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
                    # it raises or warns, as its caller asks
                    return Effect.REFUSES
    return effect


def _bodies(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of a statement other than `if`: loops, `with`, `try`, `match`."""
    for field in ("body", "orelse", "finalbody"):
        yield getattr(statement, field, [])
    for handler in getattr(statement, "handlers", []):
        yield handler.body
    for case in getattr(statement, "cases", []):
        yield case.body


def _expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the expressions of a statement itself, not those of the statements inside it."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        yield node
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                pending.append(child)


def _last_name(function: ast.expr) -> str:
    """Return the last part of a dotted name, or nothing."""
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _texts(node: ast.expr) -> list[str]:
    """Return the texts of a constant, or of a list of constants."""
    nodes = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def _shown(node: ast.stmt | ast.expr) -> str:
    """Return the first line of a statement or expression as source."""
    if isinstance(node, ast.If | ast.While):
        return f"if {_shown(node.test)}"
    first = ast.unparse(node).partition("\n")[0]
    return first if len(first) <= _SHOWN else f"{first[:_SHOWN]}…"
