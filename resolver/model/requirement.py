"""Requirements on a project (PEP 508), or on a component of the target.

Components are `cann`, `hdk`, `soc`, `glibc` and `python`. A fact writes `cann in 8.5.0 | 8.5.*`,
`hdk >= 25.3.rc1`, `soc in A2 | A3` or `python >= 3.10, < 3.12`. These names are reserved in facts
and stacks only: a requirement in metadata is always on a project of an index.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, get_args

import msgspec
from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import InvalidVersion, Version

from resolver.model.system import SIGNS, SystemVersion

Component = Literal["cann", "hdk", "soc", "glibc", "python"]
COMPONENTS: Final[tuple[str, ...]] = get_args(Component)
# Other names that people use for components. On indexes they are names of projects.
COMPONENT_ALIASES: Final = {
    "driver": "hdk",
    "firmware": "hdk",
    "npu-driver": "hdk",
    "npu-firmware": "hdk",
    "ascend-driver": "hdk",
    "ascend-hdk": "hdk",
    "ascend-cann": "cann",
    "ascend-toolkit": "cann",
    "cann-toolkit": "cann",
    "ascend-cann-toolkit": "cann",
}
# Values of components for messages.
_EXAMPLES: Final = {"glibc": "2.28", "python": "3.11"}

# A value of a component: SystemVersion for `cann` and `hdk`, str for `soc`, Version for the others.
Value = SystemVersion | Version | str

_REQUIREMENT = re.compile(
    r"\s*(?P<component>[a-z]+)\s*(?P<body>(?:\bin\b|[=!<>]=|[<>]).*)", re.DOTALL
)
_WILDCARD = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})*)\.\*")
_COMPARISON = re.compile(r"\s*(?P<operator>[=!<>]=|[<>])\s*(?P<value>[^\s=<>!]\S*)\s*")


def parse_value(component: str, text: str) -> Value:
    """Return the value of a component that a text spells.

    Raises ValueError, which quotes the text.
    """
    text = text.strip()
    match component:
        case "cann" | "hdk":
            return SystemVersion.parse(text)
        case "soc":
            if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", text):
                raise ValueError(f"`{text}` is not the name of a SoC family such as A2")
            return text.upper()
        case "glibc" | "python":
            try:
                return Version(text)
            except InvalidVersion:
                raise ValueError(
                    f"`{text}` is not a version of {component} such as {_EXAMPLES[component]}"
                ) from None
        case _:
            raise ValueError(f"`{component}` is not a component: known are {', '.join(COMPONENTS)}")


def nearest(value: Value, values: Iterable[Value]) -> tuple[Value, ...]:
    """Return distinct values, the nearest to `value` first, and the newer of two equally near.

    `value` is one of `values`. How near two values are is how many known values are between them.
    """
    # Texts, which are SoCs, are never compared with versions.
    ordered = sorted(dict.fromkeys(values), key=lambda other: (isinstance(other, str), other))
    positions = {other: position for position, other in enumerate(ordered)}
    position = positions[value]

    def distance(other: Value) -> tuple[int, bool]:
        is_older = positions[other] < position
        return abs(positions[other] - position), is_older

    return tuple(sorted(ordered, key=distance))


def named_values(need: object, component: str) -> Iterator[Value]:
    """Yield the values of a component that a requirement names, except to exclude them."""
    if not isinstance(need, ComponentRequirement) or need.component != component:
        return
    for comparisons in need.alternatives:
        for comparison in comparisons:
            excludes = comparison.operator in ("!=", "<", ">")
            if comparison.value is not None and not excludes:
                yield comparison.value


class Comparison(msgspec.Struct, frozen=True):
    """A comparison of a component's value: an operator and a value, or a release line."""

    # `==`, `!=`, `<=`, `>=`, `<` or `>`.
    operator: str
    # None for a wildcard.
    value: Value | None
    # The numbers before a wildcard: (8, 5) for `== 8.5.*`, which compares the release line.
    line: tuple[int, ...] = ()

    def allows(self, value: Value) -> bool:
        """Return whether a target with this value meets the comparison."""
        match value, self.value:
            case SystemVersion(), SystemVersion():
                return value.holds(self.operator, self.value)
            case Version(), Version() if self.operator in ("==", "!="):
                # `python in 3.11` is about the line: a target may have 3.11 or 3.11.14.
                return self._compares_line(value.release, self.value.release)
            case SystemVersion(), None:
                return self._compares_line(value.line, self.line)
            case Version(), None:
                return self._compares_line(value.release, self.line)
            case _:
                return SIGNS[self.operator](value, self.value)

    def _compares_line(self, numbers: tuple[int, ...], line: tuple[int, ...]) -> bool:
        is_of_line = numbers[: len(line)] == line
        return is_of_line if self.operator == "==" else not is_of_line

    def allows_from(self, value: Value) -> bool:
        """Return whether this value and every newer one meet the comparison."""
        if self.operator != "!=" or not isinstance(value, SystemVersion):
            return self.operator in (">=", ">") and self.allows(value)
        if isinstance(self.value, SystemVersion):
            return value.holds(">", self.value)
        return value.line[: len(self.line)] > self.line


class ComponentRequirement(msgspec.Struct, frozen=True):
    """A requirement on a component, such as `cann in 8.5.0 | 8.5.*`."""

    component: str
    # A value meets the requirement if it meets all comparisons of one of these.
    alternatives: tuple[tuple[Comparison, ...], ...]
    # The requirement as written, with single spaces.
    text: str

    @classmethod
    def parse(cls, text: str) -> ComponentRequirement | None:
        """Return the requirement in `component in a | b` or `component >= a, < b`.

        None if the text does not begin with a component's name and an operator. Raises ValueError
        if the rest is wrong.
        """
        match = _REQUIREMENT.fullmatch(text)
        if match is None or match["component"] not in COMPONENTS:
            return None
        component, body = match["component"], match["body"].strip()
        if body.startswith("in"):
            values = body.removeprefix("in").split("|")
            equals = [_comparison(component, "==", value.strip()) for value in values]
            alternatives: tuple[tuple[Comparison, ...], ...] = tuple((each,) for each in equals)
        else:
            comparisons = [_parse_comparison(component, part) for part in body.split(",")]
            alternatives = (tuple(comparisons),)
        return cls(component, alternatives, " ".join(text.split()))

    def allows(self, value: Value) -> bool:
        """Return whether a target with this value meets the requirement."""
        for comparisons in self.alternatives:
            if all(comparison.allows(value) for comparison in comparisons):
                return True
        return False

    def is_promised_by(self, system: Mapping[str, Value]) -> bool:
        """Return whether every machine of a target with these components meets the requirement.

        A target's `hdk` is the oldest driver of its machines, so the requirement must admit every
        newer one, too.
        """
        value = system.get(self.component)
        if value is None:
            return False
        if self.component != "hdk":
            return self.allows(value)
        for comparisons in self.alternatives:
            if all(comparison.allows_from(value) for comparison in comparisons):
                return True
        return False

    def __str__(self) -> str:
        return self.text


def _parse_comparison(component: str, text: str) -> Comparison:
    """Return the comparison that a text such as `>= 8.5.0` spells."""
    match = _COMPARISON.fullmatch(text)
    if match is None:
        raise ValueError(f"`{text.strip()}` is not a comparison such as >= 8.5.0")
    return _comparison(component, match["operator"], match["value"])


def _comparison(component: str, operator: str, text: str) -> Comparison:
    """Return a comparison with the value that a text spells, or with its release line."""
    is_equality = operator in ("==", "!=")
    if component == "soc":
        if not is_equality:
            raise ValueError(f"`{operator} {text}`: SoC families have no order")
        return Comparison(operator, parse_value(component, text))
    wildcard = _WILDCARD.fullmatch(text)
    if wildcard is None:
        return Comparison(operator, parse_value(component, text))
    if not is_equality:
        raise ValueError(f"`{operator} {text}`: a wildcard can only be used with == or !=")
    if component in ("cann", "hdk") and wildcard[1].count(".") > 1:
        raise ValueError(f"`{text}`: a wildcard names a release line such as 8.5.* or 8.*")
    line = tuple(int(part) for part in wildcard[1].split("."))
    return Comparison(operator, None, line)


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement on a project (PEP 508)."""

    name: NormalizedName
    # Normalised and sorted.
    extras: tuple[NormalizedName, ...] = ()
    specifier: SpecifierSet = msgspec.field(default_factory=SpecifierSet)
    marker: Marker | None = None
    # The address of a direct reference; empty without one.
    url: str = ""

    def applies(self, markers: Mapping[str, str]) -> bool:
        """Return whether its marker holds in an environment (PEP 508).

        Unless the environment has an `extra`, it holds without any. Raises packaging's
        InvalidRequirement for a comparison that is not defined, and for a variable that a
        requirement cannot use.
        """
        if self.marker is None:
            return True
        try:
            return self.marker.evaluate(markers)
        except UndefinedComparison as error:
            raise InvalidRequirement(str(error)) from None
        except UndefinedEnvironmentName as error:
            raise InvalidRequirement(
                f"`{error.args[0]}` is no variable of a requirement's marker"
            ) from None

    def __str__(self) -> str:
        """Return the requirement in its normal form."""
        text = self.without_marker()
        return f"{text} ; {self.marker}" if self.marker is not None else text

    def without_marker(self) -> str:
        """Return the requirement in its normal form, without the marker."""
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        if self.url:
            return f"{self.name}{extras} @ {self.url}"
        return f"{self.name}{extras}{self.specifier}"
