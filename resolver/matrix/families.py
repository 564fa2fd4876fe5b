"""SoC families: which ones are known, and to which one a chip belongs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from resolver.errors import InputError
from resolver.matrix import schema
from resolver.matrix.document import Document
from resolver.model.component import ComponentRequirement, Value
from resolver.model.fact import Need

_SHOWN: Final = 8  # of a component's values in a hint
# The names of chips in npu-smi and CANN, by family (vllm_ascend/device/hardware.py).
_CHIPS: Final = (("A2", r"910_?b"), ("A3", r"910_?(9[0-9]{3}|c)"), ("310P", r"310"), ("A5", r"950"))

_Systems = Document[schema.SystemsFile] | None


def require_known(values: Iterable[Value], systems: _Systems, where: str) -> None:
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


def require_known_in(need: Need, systems: _Systems, where: str) -> None:
    """The same for the values in a requirement on the SoC: no target could have an unknown family."""
    if isinstance(need, ComponentRequirement) and need.component == "soc":
        named = (clause.value for clauses in need.alternatives for clause in clauses)
        require_known((value for value in named if value is not None), systems, where)


def known_values(component: str, systems: _Systems) -> str:
    """The newest known values of a component, for a hint."""
    rows = systems.content.component.get(component) if systems is not None else None
    if systems is None or rows is None or not rows.known:
        return ""
    shown = rows.known[-_SHOWN:]
    return f"known are {'…, ' if len(rows.known) > _SHOWN else ''}{', '.join(shown)} ({systems.name})"
