"""Requirements on a project (PEP 508), or on a component of the target.

A fact writes `python >= 3.10, < 3.12`, `driver in 12.4 | 12.6.*` or `chip in A2 | A3`. The names of
components are reserved in facts and stacks only: a requirement in metadata is always on a project
of an index.
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
    """A requirement on a component as it is written, before its values are read."""

    component: str
    # Pairs of operator and value. All comparisons of one of these must be met.
    alternatives: tuple[tuple[tuple[str, str], ...], ...]


def written_comparisons(text: str) -> WrittenComparisons | None:
    """Return the comparisons in `component in a | b` or `component >= a, < b`.

    None if the text does not begin with a name and one of these operators; that may be a
    requirement on a project. Raises ValueError if the rest is wrong.
    """
    match = _REQUIREMENT.fullmatch(text)
    if match is None:
        return None
    body = match["body"].strip()
    if body.startswith("in"):
        values = body.removeprefix("in").split("|")
        return WrittenComparisons(match["component"], tuple((("==", v.strip()),) for v in values))
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
    """A requirement on a component, such as `python in 3.10 | 3.11`."""

    component: str
    # A value meets the requirement if it meets all comparisons of one of these.
    alternatives: tuple[tuple[Comparison, ...], ...]
    # The requirement as written, with single spaces.
    text: str
    # Whether the value of a target is the oldest that its machines have.
    is_minimum: bool = False

    @classmethod
    def parse(cls, text: str, components: Components) -> ComponentRequirement | None:
        """Return the requirement in `component in a | b` or `component >= a, < b`.

        None if the text does not begin with the name of one of these components and an operator.
        Raises ValueError if the rest is wrong.
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
        """Return whether it names machines: values without an order, such as chips."""
        (first, *_), *_ = self.alternatives
        return isinstance(first.value, str)

    def allows(self, value: Value) -> bool:
        """Return whether a target with this value meets the requirement."""
        for comparisons in self.alternatives:
            if all(comparison.allows(value) for comparison in comparisons):
                return True
        return False

    def is_promised_by(self, system: Mapping[str, Value]) -> bool:
        """Return whether every machine of a target with these components meets the requirement.

        If the target's value is the oldest of its machines, the requirement must admit every newer
        one, too.
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
    """Return a comparison with the value that a text spells, or with its release line."""
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
