"""Requirements on a project (PEP 508), or on a component of the target.

Facts and stacks can require components, as in `python >= 3.10, < 3.12`, `driver in 12.4 | 12.6.*`
or `chip in A2 | A3`. The names of components are reserved there only. A requirement in the metadata
of a package is always on a project.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec
from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model.component import Component, Components, Value
from resolver.model.system import SIGNS, SystemVersion
from resolver.phrase import cause, phrase

_REQUIREMENT = re.compile(
    r"\s*(?P<component>[a-z][a-z0-9]*)\s*(?P<body>(?:\bin\b|[=!<>]=|[<>]).*)", re.DOTALL
)
_WILDCARD = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})*)\.\*")
_COMPARISON = re.compile(r"\s*(?P<operator>[=!<>]=|[<>])\s*(?P<value>[^\s=<>!]\S*)\s*")


class WrittenComparisons(NamedTuple):
    """The text of a requirement on a component, split into operators and values."""

    # The name of the component.
    component: str
    # Each alternative is a tuple of comparisons, as pairs of operator and value. The requirement is
    # met if all comparisons of one alternative are met.
    alternatives: tuple[tuple[tuple[str, str], ...], ...]


def written_comparisons(text: str) -> WrittenComparisons | None:
    """Return the comparisons in a text such as `component in a | b` or `component >= a, < b`.

    None if the text does not begin with a name in lower case and an operator. Such a text may be a
    requirement on a project (PEP 508). Raises ValueError if what follows the name is not a list of
    comparisons.
    """
    match = _REQUIREMENT.fullmatch(text)
    if match is None:
        return None
    body = match["body"].strip()
    if body.startswith("in"):
        values = body.removeprefix("in").split("|")
        equalities = tuple((("==", value.strip()),) for value in values)
        return WrittenComparisons(match["component"], equalities)
    comparisons = []
    for part in body.split(","):
        comparison = _COMPARISON.fullmatch(part)
        if comparison is None:
            raise ValueError(
                phrase("`{text}` is not a comparison such as >= 8.5.0", text=part.strip())
            )
        comparisons.append((comparison["operator"], comparison["value"]))
    return WrittenComparisons(match["component"], (tuple(comparisons),))


def named_values(need: object, component: str) -> Iterator[Value]:
    """Yield the values that a requirement on a component has after `==`, `<=` or `>=`.

    Wildcards are left out. Nothing is yielded if `need` is a requirement on a project or on another
    component.
    """
    if not isinstance(need, ComponentRequirement) or need.component != component:
        return
    for comparisons in need.alternatives:
        for comparison in comparisons:
            excludes = comparison.operator in ("!=", "<", ">")
            if comparison.value is not None and not excludes:
                yield comparison.value


class Comparison(msgspec.Struct, frozen=True):
    """A comparison of a component's value with another value, or with a release line.

    A release line is the common beginning of the versions of several releases: 8.5 for 8.5.0 and
    8.5.2. It is written with a wildcard, as in `== 8.5.*`.
    """

    # `==`, `!=`, `<=`, `>=`, `<` or `>`. With a release line it is `==` or `!=`.
    operator: str
    # The value to compare with; None if the comparison has a wildcard.
    value: Value | None
    # The numbers before the wildcard, such as (8, 5) for `8.5.*`; empty without a wildcard.
    line: tuple[int, ...] = ()

    def allows(self, value: Value) -> bool:
        """Return whether a target with this value meets the comparison."""
        match value, self.value:
            case SystemVersion(), SystemVersion():
                return value.holds(self.operator, self.value)
            case Version(), Version() if self.operator in ("==", "!="):
                # `python in 3.11` is about the release line: a target may have 3.11 or 3.11.14.
                return self._compares_line(value.release, self.value.release)
            case SystemVersion(), None:
                return self._compares_line(value.line, self.line)
            case Version(), None:
                return self._compares_line(value.release, self.line)
            case _:
                return SIGNS[self.operator](value, self.value)

    def _compares_line(self, numbers: tuple[int, ...], line: tuple[int, ...]) -> bool:
        """Return whether the numbers of a version meet `==` or `!=` with a release line."""
        is_of_line = numbers[: len(line)] == line
        return is_of_line if self.operator == "==" else not is_of_line

    def allows_from(self, value: Value) -> bool:
        """Return whether the value and every newer value of the component meet the comparison."""
        if self.operator != "!=" or not isinstance(value, SystemVersion):
            return self.operator in (">=", ">") and self.allows(value)
        if isinstance(self.value, SystemVersion):
            return value.holds(">", self.value)
        return value.line[: len(self.line)] > self.line


class ComponentRequirement(msgspec.Struct, frozen=True):
    """A requirement on a component, such as `python in 3.10 | 3.11`."""

    # The name of the component.
    component: str
    # A value meets the requirement if it meets all comparisons of one alternative.
    alternatives: tuple[tuple[Comparison, ...], ...]
    # The requirement as written, with single spaces.
    text: str
    # True if a target states the oldest value of its machines, as for a driver. A target's machines
    # may then have newer values.
    is_minimum: bool = False

    @classmethod
    def parse(cls, text: str, components: Components) -> ComponentRequirement | None:
        """Parse a requirement such as `component in a | b` or `component >= a, < b`.

        None if the text does not begin with the name of one of `components` and an operator. Raises
        ValueError if a comparison or a value after the name cannot be read.
        """
        match = _REQUIREMENT.fullmatch(text)
        if match is None or match["component"] not in components:
            return None
        written = written_comparisons(text)
        assert written is not None  # noqa: S101  it has the form
        component = components[written.component]
        alternatives = [
            tuple(_comparison(component, operator, value) for operator, value in comparisons)
            for comparisons in written.alternatives
        ]
        line = " ".join(text.split())
        return cls(component.name, tuple(alternatives), line, component.minimum)

    @property
    def names_machines(self) -> bool:
        """Return whether the values of the component are names without an order, such as chips."""
        (first, *_), *_ = self.alternatives
        return isinstance(first.value, str)

    def allows(self, value: Value) -> bool:
        """Return whether a target with this value meets the requirement."""
        for comparisons in self.alternatives:
            if all(comparison.allows(value) for comparison in comparisons):
                return True
        return False

    def is_promised_by(self, system: Mapping[str, Value]) -> bool:
        """Return whether every machine of a target meets the requirement.

        `system` has the values of the target's components by name. Without a value of this
        component the result is False. If the value is a minimum (`is_minimum`), the requirement
        must admit every newer value, too.
        """
        value = system.get(self.component)
        if value is None:
            return False
        if not self.is_minimum:
            return self.allows(value)
        for comparisons in self.alternatives:
            if all(comparison.allows_from(value) for comparison in comparisons):
                return True
        return False

    def __str__(self) -> str:
        return self.text


def _comparison(component: Component, operator: str, text: str) -> Comparison:
    """Return the comparison of a component with the value or the wildcard in `text`.

    Raises ValueError if the text is no value of the component, if a value without an order is
    compared by order, or if a wildcard is used where none is allowed.
    """
    is_equality = operator in ("==", "!=")
    grammar = component.grammar
    if not is_equality and not grammar.is_ordered:
        raise ValueError(
            phrase(
                "`{operator} {text}`: values of {title} have no order",
                operator=operator,
                text=text,
                title=component.title,
            )
        )
    wildcard = _WILDCARD.fullmatch(text) if grammar.is_ordered else None
    if wildcard is None:
        return Comparison(operator, component.parse(text))
    if not is_equality:
        raise ValueError(
            phrase(
                "`{operator} {text}`: a wildcard can only be used with == or !=",
                operator=operator,
                text=text,
            )
        )
    line = tuple(int(part) for part in wildcard[1].split("."))
    if len(line) > grammar.line_numbers:
        raise ValueError(
            phrase("`{text}`: a wildcard names a release line such as 8.5.* or 8.*", text=text)
        )
    return Comparison(operator, None, line)


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement on a project (PEP 508)."""

    # The normalised name of the project.
    name: NormalizedName
    # The extras, normalised and sorted.
    extras: tuple[NormalizedName, ...] = ()
    # The versions that are admitted; empty for all.
    specifier: SpecifierSet = msgspec.field(default_factory=SpecifierSet)
    # The environment marker; None for a requirement that always applies.
    marker: Marker | None = None
    # The address of a direct reference; empty if the requirement is none.
    url: str = ""

    def applies(self, markers: Mapping[str, str]) -> bool:
        """Return whether the marker is true in an environment (PEP 508).

        `markers` has the values of the environment's variables. Without a marker the result is
        True. If `markers` has no `extra`, the extra is empty. Raises packaging's InvalidRequirement
        for a comparison that PEP 508 does not define, and for an unknown variable.
        """
        if self.marker is None:
            return True
        try:
            return self.marker.evaluate(markers)
        except UndefinedComparison as error:
            raise InvalidRequirement(cause(error)) from None
        except UndefinedEnvironmentName as error:
            raise InvalidRequirement(
                phrase("`{name}` is no variable of a requirement's marker", name=error.args[0])
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


def name_of(need: Requirement | ComponentRequirement) -> str:
    """Return the name of the project or the component that a requirement is about."""
    return need.name if isinstance(need, Requirement) else need.component
