"""Components of a target (`cann`, `hdk`, `soc`, `glibc`, `python`) and requirements on them.

A fact writes `cann in 8.5.0 | 8.5.*`, `hdk >= 25.3.rc1`, `soc in A2 | A3` or
`python >= 3.10, < 3.12`. These names are reserved in facts and stacks only;
a requirement in a file's metadata always means a project on an index.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec
from packaging.version import InvalidVersion, Version

from resolver.model.system import SIGNS, SystemVersion

COMPONENTS: Final = ("cann", "hdk", "soc", "glibc", "python")
# What people call them besides; to indexes these are names of projects.
OTHER_NAMES: Final = {
    **dict.fromkeys(("driver", "firmware", "npu-driver", "npu-firmware", "ascend-driver", "ascend-hdk"), "hdk"),
    **dict.fromkeys(("ascend-cann", "ascend-toolkit", "cann-toolkit", "ascend-cann-toolkit"), "cann"),
}
_EXAMPLES: Final = {"glibc": "2.28", "python": "3.11"}

Value = SystemVersion | Version | str

_REQUIREMENT = re.compile(r"\s*(?P<component>[a-z]+)\s*(?P<body>(?:\bin\b|[=!<>]=|[<>]).*)", re.DOTALL)
_CLAUSE = re.compile(r"\s*(?P<operator>[=!<>]=|[<>])\s*(?P<value>[^\s=<>!]\S*)\s*")


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
                raise ValueError(f"`{text}` is not a version of {component} such as {_EXAMPLES[component]}") from None
        case _:
            raise ValueError(f"`{component}` is not a component: known are {', '.join(COMPONENTS)}")


def nearest(own: Value, values: Iterable[Value]) -> tuple[Value, ...]:
    """Distinct values, the nearest to `own` first, of two equally near ones the newer; SoC families have no order."""
    distinct = sorted(dict.fromkeys(values), key=lambda value: (isinstance(value, str), value))
    at = distinct.index(own)
    return tuple(sorted(distinct, key=lambda value: (abs(distinct.index(value) - at), distinct.index(value) < at)))


def named_values(need: object, component: str) -> Iterator[Value]:
    """The values of a component that a requirement names, other than to exclude them."""
    if isinstance(need, ComponentRequirement) and need.component == component:
        for clauses in need.alternatives:
            for clause in clauses:
                if clause.value is not None and clause.operator not in ("!=", "<", ">"):
                    yield clause.value


class Clause(msgspec.Struct, frozen=True):
    """One comparison. `line` is set for a wildcard: `== 8.5.*` compares the release line only."""

    operator: str
    value: Value | None
    line: tuple[int, ...] = ()

    def allows(self, value: Value) -> bool:
        """Whether a target with this value meets the clause."""
        if self.line:
            if isinstance(value, SystemVersion):
                same = value.line[: len(self.line)] == self.line
            else:
                same = isinstance(value, Version) and value.release[: len(self.line)] == self.line
            return same if self.operator == "==" else not same
        if isinstance(value, SystemVersion) and isinstance(self.value, SystemVersion):
            return value.holds(self.operator, self.value)
        if isinstance(value, Version) and isinstance(self.value, Version) and self.operator in ("==", "!="):
            # `python in 3.11` means the release line, as a target may state 3.11 or 3.11.14
            same = value.release[: len(self.value.release)] == self.value.release
            return same if self.operator == "==" else not same
        return SIGNS[self.operator](value, self.value)

    def allows_from(self, value: Value) -> bool:
        """Whether this value and every newer one meet the clause."""
        if self.operator != "!=" or not isinstance(value, SystemVersion):
            return self.operator in (">=", ">") and self.allows(value)
        if isinstance(self.value, SystemVersion):
            return value.holds(">", self.value)
        return value.line[: len(self.line)] > self.line


class ComponentRequirement(msgspec.Struct, frozen=True):
    """Any of `alternatives`, each of them all of its clauses."""

    component: str
    alternatives: tuple[tuple[Clause, ...], ...]
    text: str

    @classmethod
    def parse(cls, text: str) -> ComponentRequirement | None:
        """Read `component in a | b` or `component >= a, < b`.

        None where `text` does not begin with a component's name and an operator;
        ValueError where it does and the rest is wrong.
        """
        match = _REQUIREMENT.fullmatch(text)
        if match is None or match["component"] not in COMPONENTS:
            return None
        component, body = match["component"], match["body"].strip()
        if body.startswith("in"):
            values = [part.strip() for part in body[2:].split("|")]
            alternatives: tuple[tuple[Clause, ...], ...] = tuple((_clause(component, "==", value),) for value in values)
        else:
            clauses = []
            for part in body.split(","):
                clause = _CLAUSE.fullmatch(part)
                if clause is None:
                    raise ValueError(f"`{part.strip()}` is not a comparison such as >= 8.5.0")
                clauses.append(_clause(component, clause["operator"], clause["value"]))
            alternatives = (tuple(clauses),)
        return cls(component, alternatives, " ".join(text.split()))

    def allows(self, value: Value) -> bool:
        """Whether a target with this value meets the requirement."""
        return any(all(clause.allows(value) for clause in clauses) for clauses in self.alternatives)

    def is_promised_by(self, system: Mapping[str, Value]) -> bool:
        """Whether every machine of a target that states these components meets the requirement.

        `hdk` is the oldest driver that they have, so a requirement on it must admit every newer one as well.
        """
        value = system.get(self.component)
        if value is None or self.component != "hdk":
            return value is not None and self.allows(value)
        return any(all(clause.allows_from(value) for clause in clauses) for clauses in self.alternatives)

    def __str__(self) -> str:
        return self.text


def _clause(component: str, sign: str, text: str) -> Clause:
    wildcard = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})*)\.\*", text)
    if wildcard and component != "soc":
        if sign not in ("==", "!="):
            raise ValueError(f"`{sign} {text}`: a wildcard can only be used with == or !=")
        if component in ("cann", "hdk") and wildcard[1].count(".") > 1:
            raise ValueError(f"`{text}`: a wildcard names a release line such as 8.5.* or 8.*")
        return Clause(sign, None, tuple(int(part) for part in wildcard[1].split(".")))
    if component == "soc" and sign not in ("==", "!="):
        raise ValueError(f"`{sign} {text}`: SoC families have no order")
    return Clause(sign, parse_value(component, text))
