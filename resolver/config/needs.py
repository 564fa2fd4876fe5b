"""What stacks and facts require: requirements on projects and components, SoC families, environment variables."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product
from typing import Any, Final

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement
from packaging.utils import InvalidName, NormalizedName, canonicalize_name

from resolver.config import schema
from resolver.config.document import Document
from resolver.errors import InputError
from resolver.model import text
from resolver.model.component import COMPONENTS, OTHER_NAMES, ComponentRequirement, Value
from resolver.model.direct import Direct
from resolver.model.fact import Need
from resolver.model.problem import Ask
from resolver.model.requirement import Requirement
from resolver.model.target import Target

_SHOWN: Final = 8  # of a component's values in a hint
# The names of chips in npu-smi and CANN, by family (vllm_ascend/device/hardware.py).
_CHIPS: Final = (("A2", r"910_?b"), ("A3", r"910_?(9[0-9]{3}|c)"), ("310P", r"310"), ("A5", r"950"))

Systems = Document[schema.SystemsFile] | None


def parse_need(document: Document[Any], line: str, systems: Systems, *path: str | int, direct: bool = False) -> Need:
    """A requirement on a project or a component, as in facts and stacks. With `direct` it may name an address."""
    about = document.parse(
        ComponentRequirement.parse, line, *path, hint="write `cann in 8.5.0 | 8.5.1` or `python >= 3.10, < 3.12`"
    )
    if about is not None:
        if about.component == "soc":  # no target could have an unknown family
            named = (clause.value for clauses in about.alternatives for clause in clauses)
            require_known((value for value in named if value is not None), systems, document.place(*path))
        return about
    need = parse_requirement(document, line, *path, direct=direct)
    if need.name in COMPONENTS:
        raise InputError(
            f"`{line}` states no condition on the component `{need.name}`",
            where=document.place(*path),
            hint=f"write `{need.name} in A | B` or `{need.name} >= A`, in lower case",
        )
    component = OTHER_NAMES.get(text.name(need.name), "")
    if component and need.specifier and not direct:  # a stack may ask for any project
        raise InputError(
            f"`{line}` asks indexes for a project `{need.name}`",
            where=document.place(*path),
            why=f"the component of a machine that goes by that name is `{component}`",
            hint=f"did you mean `{component} {need.specifier}`?",
        )
    return need


def parse_env(document: Document[Any], variables: dict[str, str], *path: str | int) -> tuple[tuple[str, str], ...]:
    """Environment variables, sorted by name."""
    for key, value in variables.items():
        if not key.isidentifier() or not key.isascii():
            raise InputError(
                f"`{key}` is not the name of an environment variable",
                where=document.place(*path, key),
                hint="use only letters, digits and `_`, and no digit first",
            )
        require_printable(value, f"the value of `{key}`", document.place(*path, key))
    return tuple(sorted(variables.items()))


def require_printable(value: str, what: str, where: str) -> None:
    """Raise InputError if a text that scripts contain would not be one line in them."""
    if not value.isprintable():
        raise InputError(
            f"{what} has characters that do not print",
            where=where,
            hint="write it without line breaks, tabs and control characters",
        )


def parse_requirement(document: Document[Any], line: str, *path: str | int, direct: bool = False) -> Requirement:
    """A requirement on a project (PEP 508). Without `direct` it must not name an address."""
    try:
        need = text.requirement(line)
    except InvalidRequirement as error:
        secret = "://" in line and "@" in line.partition("://")[2]  # an unreadable line may contain credentials
        raise InputError(
            f"{'this' if secret else f'`{line}`'} is not a requirement",
            where=document.place(*path),
            why="it may contain a password, so it is not shown" if secret else _why(error),
            hint="write `numpy<2`, `ray[default]==2.41.0`, `cann in 8.5.0 | 8.5.1` or, in a stack, "
            "`verl @ git+https://HOST/PATH@COMMIT`",
        ) from None
    if need.url and not direct:
        raise InputError(
            f"the requirement on `{need.name}` names an address",
            where=document.place(*path),
            why="only a stack's own `requires` may take a project from an address",
            hint="specify a release of the project instead",
        )
    if need.url:
        try:
            Direct.parse(need.url)
        except ValueError as error:
            raise InputError(
                f"the address of `{need.name}` is not supported",
                where=document.place(*path),
                why=str(error),
                hint=f"write `{need.name} @ git+https://HOST/PATH@COMMIT`, with a tag or a commit hash",
            ) from None
    return need


def parse_project(document: Document[Any], name: str, *path: str | int) -> NormalizedName:
    """A project's name and nothing else, since anything more would never match."""
    try:
        return canonicalize_name(name, validate=True)
    except InvalidName:
        raise InputError(
            f"`{name}` is not the name of a project",
            where=document.place(*path),
            hint="write only the name, without versions, extras or markers",
        ) from None


def _why(error: InvalidRequirement) -> str:
    """What packaging expected and where it stopped; packaging marks that place on a line of its own."""
    what, *lines = str(error).split("\n")
    if len(lines) < 2:
        return what.strip()
    source, mark = lines[-2], lines[-1]
    rest = source[max(mark.find("^"), 0) :].strip()
    return what.strip() + (f", at `{rest}`" if rest else ", at the end")


def require_markers(asks: Iterable[Ask], targets: Iterable[Target]) -> None:
    """Raise InputError if a line's marker compares what cannot be compared (PEP 508)."""
    for ask, target in product(asks, targets):
        if isinstance(ask.need, Requirement) and ask.need.marker is not None:
            try:
                ask.need.marker.evaluate(target.markers)
            except (UndefinedComparison, UndefinedEnvironmentName) as error:
                raise InputError(
                    f"the marker of `{ask.need}` cannot be evaluated",
                    where=ask.origin.where,
                    why=str(error),
                    hint="a marker compares a variable of PEP 508 with a text, such as `python_version < '3.12'`",
                ) from None


def require_known(values: Iterable[Value], systems: Systems, where: str) -> None:
    """Raise InputError unless each is a family listed in `systems`. If that lists none, anything passes."""
    if systems is None or "soc" not in systems.content.component:
        return
    known = systems.content.component["soc"].known
    for value in values:
        if value not in [name.upper() for name in known]:
            family = next((name for name, chip in _CHIPS if re.search(chip, str(value), re.IGNORECASE)), "")
            raise InputError(
                f"`{value}` is not a known SoC family",
                where=where,
                hint=(f"did you mean `{family}`? " if family in known else "") + known_values("soc", systems),
            )


def known_values(component: str, systems: Systems) -> str:
    """The newest known values of a component, for a hint."""
    rows = systems.content.component.get(component) if systems is not None else None
    if systems is None or rows is None or not rows.known:
        return ""
    shown = rows.known[-_SHOWN:]
    return f"known are {'…, ' if len(rows.known) > _SHOWN else ''}{', '.join(shown)} ({systems.name})"
