"""Say which versions of projects the expressions of Python code stand for, for `version_checks`.

Only the text of the code is read: imported names, constants, and functions whose name says what
they return. Nothing is imported or run.
"""

from __future__ import annotations

import ast
import re
from collections import ChainMap
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from packaging.utils import NormalizedName

from resolver.model import text

# Functions through which a version passes unchanged, or as the same numbers in another form.
_WRAPPERS: Final = frozenset(
    {"version", "parse", "parse_version", "looseversion", "strictversion", "tuple", "list", "map"}
    | {"int", "float", "str", "_parse_version", "digit_version", "get_version"}
)

# The functions among them that read a version rather than the name of a distribution.
_PARSERS: Final = frozenset({"parse_version", "looseversion", "strictversion", "_parse_version"})

# Methods of a version's text that keep its leading numbers.
_METHODS: Final = frozenset({"split", "partition", "rsplit", "strip", "removesuffix", "replace"})

# Attributes of a module that are its version, and attributes of a version that keep its leading
# numbers.
_VERSION_ATTRIBUTES: Final = frozenset(
    {"__version__", "__version_tuple__", "__version_info__"} | {"version", "VERSION"}
)
_SAME_VERSION: Final = frozenset({"release", "base_version", "public", "major", "version"})

# `is_torch_version(">=", "2.4")`, `is_accelerate_available("0.26")`,
# `is_torch_greater_or_equal("2.6")`: the project is in the name.
_NAMED_FUNCTION: Final = re.compile(
    r"_?is_(?P<project>[a-z0-9_]+?)_(?P<kind>version|available|greater_or_equal(_than_\d.*)?)"
)

_VERSION: Final = re.compile(r"v?\d+(\.\d+)*((a|b|rc|\.?dev|\.?post)\d*)?(\.\*)?(\+\w+)?")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")

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

# Modules that belong to a project with another name.
_PROJECTS: Final = {
    "PIL": "pillow",
    "attr": "attrs",
    "cv2": "opencv-python",
    "flash_attn_interface": "flash-attn",
    "google.protobuf": "protobuf",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}

# Namespace packages that many projects share: `google.auth` is of google-auth,
# `google.cloud.storage` of google-cloud-storage.
_NAMESPACES: Final = frozenset({"google", "google.cloud"})

# Names of the interpreter and of the standard library. A version of one is no version of a project.
_NO_PROJECTS: Final = frozenset({"platform", "python", "re", "sqlite3", "ssl", "sys", "version"})


class VersionOf(NamedTuple):
    """An expression that is the version of a project."""

    # The project whose version it is.
    project: NormalizedName


class LiteralVersion(NamedTuple):
    """An expression that is a version written in the code."""

    # The version as text: (2, 4) is `2.4`.
    version: str
    # Whether it is a number or a tuple, which is compared with the first parts of a version.
    is_number: bool


class Module(NamedTuple):
    """An expression that is an imported module."""

    # The project that has the module.
    project: NormalizedName


# What an expression stands for.
CodeValue = VersionOf | LiteralVersion | Module


class VersionComparison(NamedTuple):
    """A comparison with the version of a project."""

    # The project whose version is compared.
    project: NormalizedName
    # The set of versions for which the comparison is true.
    specifier: str


class Part(NamedTuple):
    """A part of a condition that has no `and`, `or` or `not` in it."""

    # The expression.
    test: ast.expr
    # Whether the condition negates it, with an odd number of `not`.
    negated: bool
    # Whether this part alone can give the condition the outcome that is asked for, whatever the
    # other parts are.
    decides: bool


class CodeNames:
    """What the names in a file stand for, by the statements that were read so far."""

    def __init__(self) -> None:
        self._names: ChainMap[str, CodeValue] = ChainMap()

    def enter(self) -> None:
        """Begin the scope of a function or class. Names that are set in it end with `leave`."""
        self._names = self._names.new_child()

    def leave(self) -> None:
        """End the scope of a function or class."""
        self._names = self._names.parents

    def remember_import(self, statement: ast.Import | ast.ImportFrom) -> None:
        """Remember the names that an import gives to modules and to versions of projects."""
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                top = _top(alias.name)
                module = alias.name if alias.asname else top
                self._names[alias.asname or top] = Module(_project_of_module(module))
        elif statement.module and not statement.level:
            for alias in statement.names:
                self._remember_member(statement.module, alias)

    def _remember_member(self, module: str, alias: ast.alias) -> None:
        """Remember a name that is imported from a module, if it is a version or a module."""
        name = alias.asname or alias.name
        if alias.name in _VERSION_ATTRIBUTES and alias.name != "version":
            self._names[name] = VersionOf(_project_of_module(module))
        elif alias.name[:1].islower() and _top(module) not in ("packaging", "importlib"):
            self._names[name] = Module(_project_of_module(f"{module}.{alias.name}"))

    def remember_assignment(self, target: ast.expr, value: ast.expr) -> None:
        """Remember that a name stands for a version from now on, or that it no longer does."""
        if isinstance(target, ast.Name):
            meaning = self.value(value)
            if isinstance(meaning, VersionOf | LiteralVersion):
                self._names[target.id] = meaning
            else:
                self._names.pop(target.id, None)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Call):
            # is_available, torch_version = _is_package_available("torch", return_version=True)
            meaning = self.value(value)
            if isinstance(meaning, VersionOf):
                names = [element.id for element in target.elts if isinstance(element, ast.Name)]
                for name in names:
                    if "version" in name:
                        self._names[name] = meaning

    def comparisons(self, test: ast.expr) -> list[VersionComparison]:
        """Return the comparisons with a project's version that one part of a condition makes."""
        match test:
            case ast.Compare():
                return self._chain(test)
            case ast.Call():
                found = self._function_of_version(test)
                return [found] if found is not None else []
            case _:
                return []

    def _chain(self, chain: ast.Compare) -> list[VersionComparison]:
        """Return the comparisons in `a < b < c`."""
        found = []
        left = self.value(chain.left)
        for operator, comparator in zip(chain.ops, chain.comparators, strict=True):
            right = self.value(comparator)
            sign = _OPERATORS.get(type(operator))
            match left, right:
                case (VersionOf(project=project), LiteralVersion()) if sign is not None:
                    found.append(VersionComparison(project, _specifier(sign, right)))
                case (LiteralVersion(), VersionOf(project=project)) if sign is not None:
                    found.append(VersionComparison(project, _specifier(_MIRRORED[sign], left)))
                case _:
                    pass
            left = right
        return found

    def _function_of_version(self, call: ast.Call) -> VersionComparison | None:
        """Return the comparison that a call such as `is_torch_version(">=", "2.4")` makes.

        None if the call makes no such comparison.
        """
        signs: list[str] = []
        versions: list[str] = []
        names: list[str] = []
        for argument in call.args:
            match argument:
                case ast.Constant(value=str(value)) if value in _OPPOSITE:
                    signs.append(value)
                case ast.Constant(value=str(value)) if _VERSION.fullmatch(value):
                    versions.append(value)
                case ast.Constant(value=str(value)) if _NAME.fullmatch(value):
                    names.append(value)
                case ast.Attribute(attr=attribute) if attribute in _OPERATOR_FUNCTIONS:
                    signs.append(_OPERATOR_FUNCTIONS[attribute])
                case _:
                    pass
        if len(versions) != 1:
            return None
        specifier = f"{signs[0] if signs else '>='}{versions[0]}"
        name = last_name(call.func)
        named = _NAMED_FUNCTION.fullmatch(name)
        if named is not None and (signs or named["kind"] != "version"):
            return VersionComparison(_project(named["project"]), specifier)
        if signs and len(names) == 1 and "version" in name:
            return VersionComparison(_project(names[0]), specifier)
        return None

    def value(self, node: ast.expr) -> CodeValue | None:
        """Return what an expression stands for; None if it is no version and no module."""
        match node:
            case ast.Constant(value=str(value)) if _VERSION.fullmatch(value):
                return LiteralVersion(value, is_number=False)
            case ast.Constant(value=int(value)) if not isinstance(value, bool) and value >= 0:
                return LiteralVersion(str(value), is_number=True)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return constant_of(elements)
            case ast.Name(id=name):
                return self._names.get(name)
            case ast.Attribute(value=value, attr=attribute):
                return self._attribute(self.value(value), attribute)
            case ast.Subscript(value=value, slice=part):
                # [0] is the first number, and [:2] are the first two. [1] alone says nothing.
                is_first = not isinstance(part, ast.Constant) or part.value in (0, "version")
                return self.value(value) if is_first else None
            case ast.GeneratorExp(generators=[generator]) | ast.ListComp(generators=[generator]):
                return self.value(generator.iter)
            case ast.BoolOp(op=ast.Or(), values=[first, *_]):
                return self.value(first)
            case ast.Call():
                return self._call(node)
            case _:
                return None

    def _attribute(self, value: CodeValue | None, attribute: str) -> CodeValue | None:
        """Return the value of an attribute of a value.

        It is the release of a module for `__version__` and the like, and the value itself for
        `major` or `base_version`. None if it is no version.
        """
        match value:
            case Module(project=project) if attribute in _VERSION_ATTRIBUTES:
                return VersionOf(project) if project not in _NO_PROJECTS else None
            case VersionOf() | LiteralVersion():
                is_version = attribute in (*_SAME_VERSION, *_VERSION_ATTRIBUTES)
                return value if is_version else None
            case _:
                return None

    def _call(self, call: ast.Call) -> CodeValue | None:
        """Return what a call returns; None if it is no version."""
        name = last_name(call.func)
        if isinstance(call.func, ast.Attribute) and name in _METHODS:
            return self.value(call.func.value)
        installed = _installed(call, name)
        if installed is not None:
            return VersionOf(_project(installed))
        values = [self.value(argument) for argument in call.args]
        if name == "getattr" and len(call.args) > 1:
            attribute = call.args[1]
            if isinstance(attribute, ast.Constant):
                return self._attribute(values[0], str(attribute.value))
        if name.lower() in _WRAPPERS:
            known = [value for value in values if isinstance(value, VersionOf | LiteralVersion)]
            return known[0] if len(known) == 1 else None
        match values:
            # extract_version(numpy)
            case [Module(project=project)] if "version" in name:
                return VersionOf(project)
            case _:
                return None


def _installed(call: ast.Call, name: str) -> str | None:
    """Return the distribution whose version a call such as `metadata.version("torch")` returns.

    None if the call does not return the version of a distribution.
    """
    first = call.args[0] if call.args else None
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        return None
    if not _NAME.fullmatch(first.value):
        return None
    asks_for_version = any(keyword.arg == "return_version" for keyword in call.keywords)
    is_of_version = "version" in name.lower() and name.lower() not in _PARSERS
    if name in ("get_distribution", "distribution") or asks_for_version or is_of_version:
        return first.value
    return None


def _top(module: str) -> str:
    """Return the first part of a module's dotted name."""
    return module.partition(".")[0]


def _project(module: str) -> NormalizedName:
    """Return the project that a module is known to belong to, by its name."""
    return text.name(_PROJECTS.get(module, module))


def _project_of_module(module: str) -> NormalizedName:
    """Return the project of a module with a dotted name, such as `google.protobuf`."""
    name, _, inner = module.partition(".")
    while name in _NAMESPACES and inner:
        part, _, inner = inner.partition(".")
        name = f"{name}.{part}"
    return _project(name)


def constant_of(elements: Sequence[ast.expr]) -> LiteralVersion | None:
    """Return the version that integers of a tuple or list spell, so that (2, 4) is 2.4.

    None if there is any other element, or no element.
    """
    numbers = []
    for element in elements:
        if not isinstance(element, ast.Constant) or not isinstance(element.value, int):
            return None
        numbers.append(str(element.value))
    return LiteralVersion(".".join(numbers), is_number=True) if numbers else None


def _specifier(sign: str, constant: LiteralVersion) -> str:
    """Return the specifier that admits the versions for which a comparison holds.

    A number or a tuple is compared with the first parts of a version. Code usually cuts off the
    others, so `numpy_version <= (2, 4)` holds for 2.4.1 as well.
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
            case _:
                pass
    return f"{sign}{version}"


def parts_of(test: ast.expr, outcome: bool) -> Iterator[Part]:
    """Yield the parts of a condition, each with whether it alone can make the outcome `outcome`.

    Each part of `a or not b` alone can make it true; both are needed to make it false.
    """
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            for part in parts_of(operand, not outcome):
                yield part._replace(negated=not part.negated)
        case ast.BoolOp(op=operator, values=values):
            each_decides = isinstance(operator, ast.Or) == outcome
            for value in values:
                for part in parts_of(value, outcome):
                    yield part._replace(decides=part.decides and each_decides)
        case ast.Compare(ops=operators) if len(operators) > 1:
            # `1 <= a < 2` is true if both hold
            yield Part(test, negated=False, decides=not outcome)
        case _:
            yield Part(test, negated=False, decides=True)


def opposite(comparison: VersionComparison) -> VersionComparison:
    """Return the comparison that holds for exactly the versions for which this one does not."""
    matched = re.match(r"[<>=!]=?", comparison.specifier)
    sign = matched.group() if matched is not None else ""
    version = comparison.specifier.removeprefix(sign)
    return comparison._replace(specifier=f"{_OPPOSITE.get(sign, sign)}{version}")


def last_name(function: ast.expr) -> str:
    """Return the last part of a dotted name; empty for another expression."""
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""
