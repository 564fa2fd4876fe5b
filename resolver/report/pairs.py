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
from resolver.report.terminal import COLUMNS, table_groups, wrapped

_PARTNERS: Final = tuple(map(NormalizedName, ("vllm", "torch", "torch-npu", "triton-ascend")))
_NOTHING: Final = "-"  # where no fact and no file says anything
WIDEST: Final = (
    1 << 16
)  # columns of the table without a terminal: a release is a line, however long


def pairs_table(
    rows: Sequence[Pairing],
    language: Language,
    *,
    sources: bool,
    columns: int = COLUMNS,
    table_columns: int = WIDEST,
) -> str:
    """Return a line for each release, and what the columns mean; with `sources`, below each the facts and the file.

    Prose is no wider than `columns`. Where a release does not fit into `table_columns`, it is a
    list of its values.
    """
    project = rows[0].project
    partners = [
        name for name in _PARTNERS if name != project and any(name in row.projects for row in rows)
    ]
    is_paired = any(row.paired_with("cann") for row in rows)
    cells = [[project, *partners, "CANN", "Python", "glibc", "SoC", "HDK"]]
    cells[0] += [translate("pairs.accepted", language), translate("pairs.beside", language)]
    for row in rows:
        pins = (_pin(row, name) for name in partners)
        paired, needed = _values(row.paired_with("cann")), _values(row.needed("cann"))
        cann, accepted = (paired, needed) if is_paired else (needed, _NOTHING)
        cells.append([str(row.release), *pins, cann, *_machine(row), accepted, _beside(row)])
    columns_in_use = [
        column for column in zip(*cells, strict=True) if set(column[1:]) != {_NOTHING}
    ]
    rows_in_use = list(zip(*columns_in_use, strict=True))
    if (
        table_columns != WIDEST
    ):  # values may be below each other, which they cannot be without spaces
        rows_in_use = [tuple(cell.replace(",", ", ") for cell in cells) for cells in rows_in_use]
    lines, *table = table_groups(rows_in_use, table_columns)
    for release, row in zip(table, rows, strict=True):
        lines += [*release, *(_sources(row, language, columns) if sources else ())]
    heads = {column[0] for column in columns_in_use}
    codes = [
        "nothing",
        *(title.lower() for title in ("glibc", "SoC", "HDK") if title in heads),
        "locks",
    ]
    legend = translate(
        joined("report.space", [message(f"pairs.legend-{code}") for code in codes]), language
    )
    return "\n".join([*lines, "", *wrapped(legend, "", "", columns)]) + "\n"


def _pin(row: Pairing, name: NormalizedName) -> str:
    """Return the release of another project that a release goes with."""
    return str(row.projects[name]).removeprefix("==") if name in row.projects else _NOTHING


def _beside(row: Pairing) -> str:
    """Return the projects without a column of their own that a table or guide has a release with."""
    names = sorted(name for name in row.beside if name not in _PARTNERS)
    return ", ".join(f"{name} {_pin(row, name)}" for name in names) or _NOTHING


def _machine(row: Pairing) -> Iterator[str]:
    """Yield the values of the columns about the machine: Python, glibc, SoC and driver."""
    yield _python(row)
    yield "/".join(dict.fromkeys(row.glibc.values())) or _NOTHING
    wheels = [] if () in row.built else [_values(row.paired_or_needed("soc"))]
    yield ",".join([*wheels, *(["source"] if row.built else [])])
    yield _driver(row)


def _python(row: Pairing) -> str:
    """Return the Python that facts say, or else the first and the last that it has wheels for."""
    needs = row.paired_or_needed("python")
    if needs or not row.pythons:
        return _values(needs)
    return "-".join(dict.fromkeys((row.pythons[0], row.pythons[-1])))


def _driver(row: Pairing) -> str:
    """Return the driver that a table has a release with, and the oldest that it needs."""
    drivers = [_values(row.paired_with("hdk"))] if row.paired_with("hdk") else []
    if row.driver is not None:
        drivers.append(f">={row.driver}")
    return ",".join(drivers) or _NOTHING


def _values(needs: Iterable[ComponentRequirement]) -> str:
    """The requirements on a component without its name: `8.5.0,8.5.1` for `cann in 8.5.0 | 8.5.1`."""
    bodies = (need.text.removeprefix(need.component).strip().removeprefix("in ") for need in needs)
    return (
        ",".join("".join(body.replace("|", ",").split()) for body in dict.fromkeys(bodies))
        or _NOTHING
    )


def _sources(row: Pairing, language: Language, columns: int) -> Iterator[str]:
    for fact in row.facts:
        source = message(
            "pairs.source",
            id=escaped(fact.id),
            where=fact.where,
            source=escaped(fact.source.brief),
            strength=message(f"strength.{fact.strength}"),
            checked=fact.checked.isoformat(),
        )
        yield from wrapped(translate(source, language), "    ", "      ", columns)
    if row.file:
        yield f"    {translate('pairs.file', language, file=row.file)}"


def pairs_json(rows: Iterable[Pairing], language: Language) -> list[dict[str, Any]]:
    """The releases for programs; a list of requirements is empty, and a value null, where nothing is known."""
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
            "python": list(row.pythons),
            "wheels": list(row.wheels),
            "file": row.file or None,
            "facts": [
                {
                    "id": fact.id,
                    "where": fact.where,
                    "strength": str(fact.strength),
                    "reason": translate(verbatim(fact.reason, fact.reason_zh), language),
                    "source": str(fact.source),
                    "checked": fact.checked.isoformat(),
                }
                for fact in row.facts
            ],
        }
        for row in rows
    ]
