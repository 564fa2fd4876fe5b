"""Requirements in stacks, facts and metadata: on a project (PEP 508), or on a component of the target.

Components are `cann`, `hdk`, `soc`, `glibc` and `python`. A fact writes `cann in 8.5.0 | 8.5.*`,
`hdk >= 25.3.rc1`, `soc in A2 | A3` or `python >= 3.10, < 3.12`. These names are reserved in facts
and stacks only; a requirement in a file's metadata always means a project on an index.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, get_args

import msgspec
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import InvalidVersion, Version

from resolver.model.system import SIGNS, SystemVersion

Component = Literal["cann", "hdk", "soc", "glibc", "python"]
COMPONENTS: Final[tuple[str, ...]] = get_args(Component)
# Other names that people use for them; on indexes these are names of projects.
COMPONENT_ALIASES: Final = {
    **dict.fromkeys(
        ("driver", "firmware", "npu-driver", "npu-firmware", "ascend-driver", "ascend-hdk"), "hdk"
    ),
    **dict.fromkeys(
        ("ascend-cann", "ascend-toolkit", "cann-toolkit", "ascend-cann-toolkit"), "cann"
    ),
}
_EXAMPLES: Final = {"glibc": "2.28", "python": "3.11"}

Value = SystemVersion | Version | str

_REQUIREMENT = re.compile(
    r"\s*(?P<component>[a-z]+)\s*(?P<body>(?:\bin\b|[=!<>]=|[<>]).*)", re.DOTALL
)
_COMPARISON = re.compile(r"\s*(?P<operator>[=!<>]=|[<>])\s*(?P<value>[^\s=<>!]\S*)\s*")


def parse_value(component: str, text: str) -> Value:
    """The value that `text` spells for a component; raises ValueError that names the text."""
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
    """Distinct values, the nearest to `value` first, of two equally near ones the newer."""
    distinct = sorted(dict.fromkeys(values), key=lambda other: (isinstance(other, str), other))
    at = distinct.index(value)
    return tuple(
        sorted(
            distinct,
            key=lambda other: (abs(distinct.index(other) - at), distinct.index(other) < at),
        )
    )


def named_values(need: object, component: str) -> Iterator[Value]:
    """The values of a component that a requirement names, other than to exclude them."""
    if isinstance(need, ComponentRequirement) and need.component == component:
        for clauses in need.alternatives:
            for clause in clauses:
                if clause.value is not None and clause.operator not in ("!=", "<", ">"):
                    yield clause.value


class Comparison(msgspec.Struct, frozen=True):
    """One comparison. `line` is set for a wildcard: `== 8.5.*` compares the release line only."""

    operator: str
    value: Value | None
    line: tuple[int, ...] = ()

    def allows(self, value: Value) -> bool:
        """Whether a target with this value meets the comparison."""
        line = self.line
        if isinstance(value, SystemVersion) and isinstance(self.value, SystemVersion):
            return value.holds(self.operator, self.value)
        if (
            isinstance(value, Version)
            and isinstance(self.value, Version)
            and self.operator in ("==", "!=")
        ):
            line = (
                self.value.release
            )  # `python in 3.11` means the line, as a target may state 3.11 or 3.11.14
        if not line:
            return SIGNS[self.operator](value, self.value)
        numbers = value.line if isinstance(value, SystemVersion) else getattr(value, "release", ())
        return (numbers[: len(line)] == line) == (self.operator == "==")

    def allows_from(self, value: Value) -> bool:
        """Whether this value and every newer one meet the comparison."""
        if self.operator != "!=" or not isinstance(value, SystemVersion):
            return self.operator in (">=", ">") and self.allows(value)
        if isinstance(self.value, SystemVersion):
            return value.holds(">", self.value)
        return value.line[: len(self.line)] > self.line


class ComponentRequirement(msgspec.Struct, frozen=True):
    """A requirement on a component: one of `alternatives`, of which all comparisons must be met."""

    component: str
    alternatives: tuple[tuple[Comparison, ...], ...]
    text: str

    @classmethod
    def parse(cls, text: str) -> ComponentRequirement | None:
        """Read `component in a | b` or `component >= a, < b`.

        None if `text` does not begin with a component's name and an operator. Raises ValueError if
        the rest is wrong.
        """
        match = _REQUIREMENT.fullmatch(text)
        if match is None or match["component"] not in COMPONENTS:
            return None
        component, body = match["component"], match["body"].strip()
        if body.startswith("in"):
            values = [part.strip() for part in body[2:].split("|")]
            alternatives: tuple[tuple[Comparison, ...], ...] = tuple(
                (_comparison(component, "==", value),) for value in values
            )
        else:
            comparisons = []
            for part in body.split(","):
                comparison = _COMPARISON.fullmatch(part)
                if comparison is None:
                    raise ValueError(f"`{part.strip()}` is not a comparison such as >= 8.5.0")
                comparisons.append(
                    _comparison(component, comparison["operator"], comparison["value"])
                )
            alternatives = (tuple(comparisons),)
        return cls(component, alternatives, " ".join(text.split()))

    def allows(self, value: Value) -> bool:
        """Whether a target with this value meets the requirement."""
        return any(
            all(comparison.allows(value) for comparison in every) for every in self.alternatives
        )

    def is_promised_by(self, system: Mapping[str, Value]) -> bool:
        """Whether every machine of a target with these components meets the requirement.

        `hdk` is the oldest driver of the machines, so a requirement on it must admit every newer
        one as well.
        """
        value = system.get(self.component)
        if value is None or self.component != "hdk":
            return value is not None and self.allows(value)
        return any(
            all(comparison.allows_from(value) for comparison in every)
            for every in self.alternatives
        )

    def __str__(self) -> str:
        return self.text


def _comparison(component: str, sign: str, text: str) -> Comparison:
    wildcard = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})*)\.\*", text)
    if wildcard and component != "soc":
        if sign not in ("==", "!="):
            raise ValueError(f"`{sign} {text}`: a wildcard can only be used with == or !=")
        if component in ("cann", "hdk") and wildcard[1].count(".") > 1:
            raise ValueError(f"`{text}`: a wildcard names a release line such as 8.5.* or 8.*")
        return Comparison(sign, None, tuple(int(part) for part in wildcard[1].split(".")))
    if component == "soc" and sign not in ("==", "!="):
        raise ValueError(f"`{sign} {text}`: SoC families have no order")
    return Comparison(sign, parse_value(component, text))


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement on a project.

    `extras` are normalised and sorted. `url` is that of a direct reference, or empty.
    """

    name: NormalizedName
    extras: tuple[NormalizedName, ...] = ()
    specifier: SpecifierSet = msgspec.field(default_factory=SpecifierSet)
    marker: Marker | None = None
    url: str = ""

    def __str__(self) -> str:
        """The requirement in its normal form."""
        text = self.without_marker()
        return f"{text} ; {self.marker}" if self.marker is not None else text

    def without_marker(self) -> str:
        """The requirement in its normal form, without the marker."""
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        if self.url:
            return f"{self.name}{extras} @ {self.url}"
        return f"{self.name}{extras}{self.specifier}"
