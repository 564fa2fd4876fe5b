"""Which versions go together, as a table for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from packaging.utils import NormalizedName

from resolver.ascend.names import CHIP, DRIVER, PARTNERS, TITLES, TOOLKIT
from resolver.audit.pairs import Pairing
from resolver.errors import escaped
from resolver.i18n import translate
from resolver.model.fact import Fact
from resolver.model.message import joined, message, verbatim
from resolver.model.requirement import ComponentRequirement
from resolver.model.text import Language
from resolver.report.terminal import COLUMNS, table_groups, wrapped

_PARTNERS: Final = tuple(map(NormalizedName, PARTNERS))
# The cell of what no fact and no file says.
_NOTHING: Final = "-"
# Columns of the table without a terminal: a release is a line, however long.
WIDEST: Final = 1 << 16


def pairs_table(
    rows: Sequence[Pairing],
    language: Language,
    *,
    sources: bool,
    columns: int = COLUMNS,
    table_columns: int = WIDEST,
) -> str:
    """Return a line for each release, and what the columns mean.

    With `sources`, the facts and the file that say so are below each line. Prose is no wider than
    `columns`. Where a release does not fit into `table_columns`, it is a list of its values.
    """
    table = _columns_in_use(_cells(rows, language))
    if table_columns != WIDEST:
        # Values may be below each other, which they cannot be without spaces.
        table = [[cell.replace(",", ", ") for cell in cells] for cells in table]
    head, *groups = table_groups(table, table_columns)
    lines = head
    for row, group in zip(rows, groups, strict=True):
        lines += group
        if sources:
            lines += _sources(row, language, columns)
    legends = {"glibc": "glibc", TITLES[CHIP]: CHIP, TITLES[DRIVER]: DRIVER}
    explained = [code for title, code in legends.items() if title in table[0]]
    codes = ["nothing", *explained, "locks"]
    sentences = [message(f"pairs.legend-{code}") for code in codes]
    legend = translate(joined("report.space", sentences), language)
    lines += ["", *wrapped(legend, "", "", columns)]
    return "\n".join(lines) + "\n"


def _cells(rows: Sequence[Pairing], language: Language) -> list[list[str]]:
    """Return a row of cells for each release, after a row with the names of the columns."""
    project = rows[0].project
    others = [name for name in _PARTNERS if name != project]
    partners = [name for name in others if any(name in row.projects for row in rows)]
    head: list[str] = [project, *partners, TITLES[TOOLKIT], "Python", "glibc"]
    head += [TITLES[CHIP], TITLES[DRIVER]]
    head += [translate("pairs.accepted", language), translate("pairs.beside", language)]
    is_paired = any(row.paired_with(TOOLKIT) for row in rows)
    table = [head]
    for row in rows:
        cells = [str(row.release)]
        cells += [_pin(row, name) for name in partners]
        needed = _values(row.needed(TOOLKIT))
        cells.append(_values(row.paired_with(TOOLKIT)) if is_paired else needed)
        cells += [_python(row), _glibc(row), _chip(row), _driver(row)]
        cells += [needed if is_paired else _NOTHING, _beside(row)]
        table.append(cells)
    return table


def _columns_in_use(table: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the rows without the columns that say nothing of any release."""
    columns = range(len(table[0]))
    in_use = [column for column in columns if any(row[column] != _NOTHING for row in table[1:])]
    return [[row[column] for column in in_use] for row in table]


def _pin(row: Pairing, name: NormalizedName) -> str:
    """Return the release of another project that a release goes with."""
    return str(row.projects[name]).removeprefix("==") if name in row.projects else _NOTHING


def _beside(row: Pairing) -> str:
    """Return the other projects that a table or guide has a release with.

    They have no column of their own.
    """
    names = sorted(name for name in row.beside if name not in _PARTNERS)
    return ", ".join(f"{name} {_pin(row, name)}" for name in names) or _NOTHING


def _glibc(row: Pairing) -> str:
    """Return the oldest glibc that the wheels need, by platform where they differ."""
    return "/".join(dict.fromkeys(row.glibc.values())) or _NOTHING


def _chip(row: Pairing) -> str:
    """Return what the wheels are for, and whether it is built from source."""
    values = []
    # Without a condition it is always built from source.
    if () not in row.built:
        values.append(_values(row.paired_or_needed(CHIP)))
    if row.built:
        values.append("source")
    return ",".join(values)


def _python(row: Pairing) -> str:
    """Return the Python that facts say, or else the first and the last that it has wheels for."""
    needs = row.paired_or_needed("python")
    if needs or not row.pythons:
        return _values(needs)
    return "-".join(dict.fromkeys((row.pythons[0], row.pythons[-1])))


def _driver(row: Pairing) -> str:
    """Return the driver that a table has a release with, and the oldest that it needs."""
    drivers = []
    paired = row.paired_with(DRIVER)
    if paired:
        drivers.append(_values(paired))
    if row.driver is not None:
        drivers.append(f">={row.driver}")
    return ",".join(drivers) or _NOTHING


def _values(needs: Iterable[ComponentRequirement]) -> str:
    """Return requirements on a component without its name.

    `cann in 8.5.0 | 8.5.1` becomes `8.5.0,8.5.1`.
    """
    values: dict[str, None] = {}
    for need in needs:
        body = need.text.removeprefix(need.component).strip().removeprefix("in ")
        values[body] = None
    return ",".join("".join(body.replace("|", ",").split()) for body in values) or _NOTHING


def _sources(row: Pairing, language: Language, columns: int) -> Iterator[str]:
    """Yield lines about the facts, and the file, that say what goes with a release."""
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
    """Return the releases for programs.

    Where nothing is known, a list of requirements is empty and a value is null.
    """
    return [_pairing_json(row, language) for row in rows]


def _pairing_json(row: Pairing, language: Language) -> dict[str, Any]:
    return {
        "release": str(row.release),
        "projects": {name: str(row.projects[name]) for name in sorted(row.projects)},
        "needs": list(map(str, row.needs)),
        "wheel_needs": list(map(str, row.wheel_needs)),
        "paired": list(map(str, row.paired)),
        "built_if": [list(map(str, conditions)) for conditions in row.built],
        TOOLKIT: list(map(str, row.toolkits)),
        DRIVER: None if row.driver is None else f">={row.driver}",
        "glibc": row.glibc,
        "python": list(row.pythons),
        "wheels": list(row.wheels),
        "file": row.file or None,
        "facts": [_fact_json(fact, language) for fact in row.facts],
    }


def _fact_json(fact: Fact, language: Language) -> dict[str, Any]:
    return {
        "id": fact.id,
        "where": fact.where,
        "strength": str(fact.strength),
        "reason": translate(verbatim(fact.reason, fact.reason_zh), language),
        "source": str(fact.source),
        "checked": fact.checked.isoformat(),
    }
