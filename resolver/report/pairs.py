"""Which versions go together, as a table for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from packaging.utils import NormalizedName

from resolver.audit.pairs import Pairing
from resolver.errors import escaped
from resolver.i18n import translate
from resolver.model.message import joined, message, verbatim
from resolver.model.requirement import ComponentRequirement
from resolver.model.text import Language
from resolver.report.terminal import COLUMNS, table_lines, wrapped

_PARTNERS: Final = tuple(map(NormalizedName, ("vllm", "torch", "torch-npu", "triton-ascend")))
_NOTHING: Final = "-"  # where nobody says anything
_WIDEST: Final = 1 << 16  # a release is a line, however long


def pairs_table(rows: Sequence[Pairing], language: Language, *, sources: bool, columns: int = COLUMNS) -> str:
    """A line for each release, and what the columns mean; with `sources`, below each what says so."""
    own = rows[0].project
    partners = [name for name in _PARTNERS if name != own and any(name in row.projects for row in rows)]
    is_paired = any(row.paired_with("cann") for row in rows)
    head = [own, *partners, "CANN", "Python", "glibc", "SoC", "HDK", translate("pairs.accepted", language)]
    cells = [head]
    for row in rows:
        pins = (str(row.projects[name]).removeprefix("==") if name in row.projects else _NOTHING for name in partners)
        cann = [_told(row.paired_with("cann")), _told(row.needed("cann"))] if is_paired else [_told(row.needed("cann"))]
        cells.append([str(row.release), *pins, cann[0], *_machine(row), cann[1] if is_paired else _NOTHING])
    kept = [column for column in zip(*cells, strict=True) if set(column[1:]) != {_NOTHING}]
    first, *lines = table_lines(list(zip(*kept, strict=True)), _WIDEST)
    told = [first]
    for line, row in zip(lines, rows, strict=True):
        told += [line, *(_sources(row, language, columns) if sources else ())]
    heads = {column[0] for column in kept}
    codes = ["nothing", *(title.lower() for title in ("glibc", "SoC", "HDK") if title in heads), "locks"]
    legend = translate(joined("report.space", [message(f"pairs.legend-{code}") for code in codes]), language)
    return "\n".join([*told, "", *wrapped(legend, "", "", columns)]) + "\n"


def _machine(row: Pairing) -> Iterator[str]:
    yield _told(row.needed("python"))
    yield "/".join(dict.fromkeys(row.glibc.values())) or _NOTHING
    wheels = [] if () in row.built else [_told(row.stated("soc"))]
    yield ",".join([*wheels, *(["source"] if row.built else [])])
    yield f">={row.driver}" if row.driver is not None else _NOTHING


def _told(needs: Iterable[ComponentRequirement]) -> str:
    """What is asked of a component without its name: `8.5.0,8.5.1` for `cann in 8.5.0 | 8.5.1`."""
    bodies = (need.text.removeprefix(need.component).strip().removeprefix("in ") for need in needs)
    return ",".join("".join(body.replace("|", ",").split()) for body in dict.fromkeys(bodies)) or _NOTHING


def _sources(row: Pairing, language: Language, columns: int) -> Iterator[str]:
    for fact in row.facts:
        said = {"id": escaped(fact.id), "where": fact.where, "source": escaped(fact.source)}
        told = message(
            "pairs.source", **said, strength=message(f"strength.{fact.strength}"), checked=fact.checked.isoformat()
        )
        yield from wrapped(translate(told, language), "    ", "      ", columns)
    if row.file:
        yield f"    {translate('pairs.file', language, file=row.file)}"


def pairs_json(rows: Iterable[Pairing], language: Language) -> list[dict[str, Any]]:
    """The releases for programs; a list of requirements is empty, and a value null, where nobody says anything."""
    return [
        {
            "release": str(row.release),
            "projects": {name: str(pin) for name, pin in sorted(row.projects.items())},
            "needs": list(map(str, row.needs)),
            "wheel_needs": list(map(str, row.wheel_needs)),
            "paired": list(map(str, row.paired)),
            "built_if": [list(map(str, conditions)) for conditions in row.built],
            "cann": list(map(str, row.canns)),
            "hdk": None if row.driver is None else f">={row.driver}",
            "glibc": row.glibc,
            "wheels": list(row.wheels),
            "file": row.file or None,
            "facts": [
                {
                    "id": fact.id,
                    "where": fact.where,
                    "strength": str(fact.strength),
                    "reason": translate(verbatim(fact.reason, fact.reason_zh), language),
                    "source": fact.source,
                    "checked": fact.checked.isoformat(),
                }
                for fact in row.facts
            ],
        }
        for row in rows
    ]
