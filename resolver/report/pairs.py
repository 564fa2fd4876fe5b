"""Write which versions go together as a table for people and as JSON, for `matrix show`."""

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
from resolver.report.terminal import table_groups, wrapped

_PARTNERS: Final = tuple(map(NormalizedName, PARTNERS))
# The text of a cell for which no fact and no file has a value.
_NOTHING: Final = "-"
# The width of the table without a terminal: each release has one line, however long.
WIDEST: Final = 1 << 16


def pairs_table(
    rows: Sequence[Pairing],
    language: Language,
    *,
    sources: bool,
    columns: int,
    table_columns: int,
) -> str:
    """Return the table with a row for each release, and what its columns mean.

    With `sources`, the facts and the file of a release are below its row. The other text is at most
    `columns` wide. If the table is wider than `table_columns`, a release is a list of its values.
    """
    table = _columns_in_use(_cells(rows, language))
    if table_columns != WIDEST:
        # With spaces, the values of a cell can be wrapped.
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
    """Return the cells of the table: the names of the columns, then a pairing for each release."""
    project = rows[0].project
    others = [name for name in _PARTNERS if name != project]
    partners = [name for name in others if any(name in pairing.projects for pairing in rows)]
    head: list[str] = [project, *partners, TITLES[TOOLKIT], "Python", "glibc"]
    head += [TITLES[CHIP], TITLES[DRIVER]]
    head += [translate("pairs.accepted", language), translate("pairs.beside", language)]
    is_paired = any(pairing.paired_with(TOOLKIT) for pairing in rows)
    table = [head]
    for pairing in rows:
        cells = [str(pairing.release)]
        cells += [_pin(pairing, name) for name in partners]
        needed = _values(pairing.needed(TOOLKIT))
        cells.append(_values(pairing.paired_with(TOOLKIT)) if is_paired else needed)
        cells += [_python(pairing), _glibc(pairing), _chip(pairing), _driver(pairing)]
        cells += [needed if is_paired else _NOTHING, _beside(pairing)]
        table.append(cells)
    return table


def _columns_in_use(table: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the table without the columns that have no value for any release."""
    columns = range(len(table[0]))
    in_use = [column for column in columns if any(row[column] != _NOTHING for row in table[1:])]
    return [[row[column] for column in in_use] for row in table]


def _pin(pairing: Pairing, name: NormalizedName) -> str:
    """Return the release of another project that goes with a release."""
    return str(pairing.projects[name]).removeprefix("==") if name in pairing.projects else _NOTHING


def _beside(pairing: Pairing) -> str:
    """Return the releases of further projects that tables or guides list with a release.

    They are projects without a column.
    """
    names = sorted(name for name in pairing.beside if name not in _PARTNERS)
    return ", ".join(f"{name} {_pin(pairing, name)}" for name in names) or _NOTHING


def _glibc(pairing: Pairing) -> str:
    """Return the oldest glibc that the wheels need; several values if platforms differ."""
    return "/".join(dict.fromkeys(pairing.glibc.values())) or _NOTHING


def _chip(pairing: Pairing) -> str:
    """Return the SoCs that the wheels are for, and `source` if the release is built from source."""
    values = []
    # Without a condition it is always built from source.
    if () not in pairing.built:
        values.append(_values(pairing.paired_or_needed(CHIP)))
    if pairing.built:
        values.append("source")
    return ",".join(values)


def _python(pairing: Pairing) -> str:
    """Return the Pythons that facts state, or else the first and last that it has wheels for."""
    needs = pairing.paired_or_needed("python")
    if needs or not pairing.pythons:
        return _values(needs)
    return "-".join(dict.fromkeys((pairing.pythons[0], pairing.pythons[-1])))


def _driver(pairing: Pairing) -> str:
    """Return the drivers that tables list with a release, and the oldest that it needs."""
    drivers = []
    paired = pairing.paired_with(DRIVER)
    if paired:
        drivers.append(_values(paired))
    if pairing.driver is not None:
        drivers.append(f">={pairing.driver}")
    return ",".join(drivers) or _NOTHING


def _values(needs: Iterable[ComponentRequirement]) -> str:
    """Return requirements on a component without the name of the component.

    `cann in 8.5.0 | 8.5.1` becomes `8.5.0,8.5.1`.
    """
    values: dict[str, None] = {}
    for need in needs:
        body = need.text.removeprefix(need.component).strip().removeprefix("in ")
        values[body] = None
    return ",".join("".join(body.replace("|", ",").split()) for body in values) or _NOTHING


def _sources(pairing: Pairing, language: Language, columns: int) -> Iterator[str]:
    """Yield lines with the facts, and the file, that a release's values are from."""
    for fact in pairing.facts:
        source = message(
            "pairs.source",
            id=escaped(fact.id),
            where=fact.where,
            source=escaped(fact.source.brief),
            strength=message(f"strength.{fact.strength}"),
            checked=fact.checked.isoformat(),
        )
        yield from wrapped(translate(source, language), "    ", "      ", columns)
    if pairing.file:
        yield f"    {translate('pairs.file', language, file=pairing.file)}"


def pairs_json(rows: Iterable[Pairing], language: Language) -> list[dict[str, Any]]:
    """Return the releases as objects for JSON.

    A list is empty, and another value null, if nothing is known.
    """
    return [_pairing_json(pairing, language) for pairing in rows]


def _pairing_json(pairing: Pairing, language: Language) -> dict[str, Any]:
    """Return one release as an object for JSON."""
    return {
        "release": str(pairing.release),
        "projects": {name: str(pairing.projects[name]) for name in sorted(pairing.projects)},
        "needs": list(map(str, pairing.needs)),
        "wheel_needs": list(map(str, pairing.wheel_needs)),
        "paired": list(map(str, pairing.paired)),
        "built_if": [list(map(str, conditions)) for conditions in pairing.built],
        TOOLKIT: list(map(str, pairing.toolkits)),
        DRIVER: None if pairing.driver is None else f">={pairing.driver}",
        "glibc": pairing.glibc,
        "python": list(pairing.pythons),
        "wheels": list(pairing.wheels),
        "file": pairing.file or None,
        "facts": [_fact_json(fact, language) for fact in pairing.facts],
    }


def _fact_json(fact: Fact, language: Language) -> dict[str, Any]:
    """Return a fact as an object for JSON."""
    return {
        "id": fact.id,
        "where": fact.where,
        "strength": str(fact.strength),
        "reason": translate(verbatim(fact.reason, fact.reason_zh), language),
        "source": str(fact.source),
        "checked": fact.checked.isoformat(),
    }
