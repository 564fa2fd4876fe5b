"""Rows of facts and images, made of the rows of tables by templates.

A template is a table of the keys that a fact has, and:

    kind        the kind of fact
    project     whose fact it is
    if-has      columns without which none is made
    if-lacks    columns with which none is made
    if-differs  two columns; none is made unless both have values, and these differ
    if-same     two columns; none is made if both have values, and these differ
    cited       references beside the row, for what the template says that no column has

Its texts may have placeholders:

    {column}       the value of a column of the row
    {name.column}  the value of a column in another file, or in a joined table
    {day}          the date of the commit that the row was read at
    {commit}       the hash of that commit

A text in a list or a table is left out if a column that it names has no value. A text that is a
single placeholder may stand for a list. A list may also be one of these:

    { lines = "{…}", without = "{…}" }     requirements, without those on the projects of another list
    { lines = "{…}", loosened-by = "{…}" } requirements; of projects that another list has as well, any version will do
    { lines = "{…}", drop = ["name"] }     requirements, without those on these projects
    { each = "name", key = "{column}" }    a table for each entry of another file
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Final

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.audit.upstream.collect import Row, by_release
from resolver.audit.upstream.entry import Entry, Value
from resolver.audit.upstream.tables import Table
from resolver.errors import InputError
from resolver.model import text
from resolver.model.system import SystemVersion

_NAME: Final = re.compile(r"\{([a-z0-9_.-]+)\}")
_CONDITIONS: Final = ("if-has", "if-lacks", "if-differs", "if-same")
_DATES: Final = ("committed", "checked")
_NOT_WRITTEN: Final = ("kind", "project", "cited", *_CONDITIONS)


class MadeRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a file of facts, or of images.toml, where `kind` and `project` are empty."""

    kind: str = ""
    project: str = ""
    # What names it: the id of a fact, the name of an image.
    name: str
    keys: Mapping[str, Any]


class _MissingError(Exception):
    """A text names a column that has no value; the argument is the column."""


def make(
    tables: Sequence[Table],
    rows: Mapping[str, Sequence[Row]],
    images: Sequence[Mapping[str, Any]] = (),
) -> list[MadeRow]:
    """Return the rows of facts and of images, in the order of the tables; `images` are in none.

    Raises InputError.
    """
    joined = by_release(rows)
    made: dict[tuple[bool, str], tuple[MadeRow, str]] = {}
    for table in tables:
        for row in rows[table.name]:
            values = _Values(table, row, joined)
            for template in table.fact:
                if values.meet(template):
                    _add(made, _fact(template, values, row), row)
            if table.image is not None:
                _add(made, _image(table.image, values, row), row)
    for keys in images:
        made.setdefault((False, keys["name"]), (MadeRow(name=keys["name"], keys=keys), ""))
    return sorted((row for row, _ in made.values()), key=_image_order)


def _image_order(row: MadeRow) -> tuple[Any, ...]:
    """Return by what images are sorted: the newest CANN last, Ubuntu before others, as the first that fits is taken."""
    if row.kind:
        return (0,)
    keys = row.keys
    is_other = "-ubuntu" not in row.name
    return (
        1,
        SystemVersion.parse(keys["cann"]),
        keys["soc"],
        is_other,
        Version(keys["python"]),
        row.name,
    )


def _add(made: dict[tuple[bool, str], tuple[MadeRow, str]], row: MadeRow, of: Row) -> None:
    key = bool(row.kind), row.name
    if key not in made:
        made[key] = row, of.where
    elif row.kind:  # several tables may know the same image
        raise InputError(
            f"two rows make the fact `{row.name}`",
            where=of.where,
            why=f"the other is {made[key][1]}",
        )


def _fact(template: Mapping[str, Any], values: _Values, row: Row) -> MadeRow:
    keys = _filled(template, values, row)
    return MadeRow(
        kind=template["kind"],
        project=str(values.fill(template.get("project", ""), row)),
        name=str(keys.get("id", "")),
        keys={
            **keys,
            "source": [*row.source, *values.fill(template.get("cited", []), row)],
            "checked": row.day,
        },
    )


def _image(template: Mapping[str, Any], values: _Values, row: Row) -> MadeRow:
    keys = _filled(template, values, row)
    return MadeRow(name=str(keys.get("name", "")), keys={**keys, "source": list(row.source)})


def _filled(template: Mapping[str, Any], values: _Values, row: Row) -> dict[str, Any]:
    keys: dict[str, Any] = {}
    for key, value in template.items():
        if key in _NOT_WRITTEN:
            continue
        filled = values.fill(value, row)
        if filled in ((), [], {}):
            continue
        keys[key] = date.fromisoformat(str(filled)) if key in _DATES else filled
    return keys


class _Values:
    """The values that a template may name, of one row."""

    def __init__(self, table: Table, row: Row, joined: Mapping[str, Mapping[str, Row]]) -> None:
        self._table = table
        self._others = row.others
        self._values: dict[str, Value] = dict(row.values)
        if row.commit:
            self._values["commit"] = row.commit
        if row.committed is not None:
            self._values["day"] = row.committed.isoformat()
        for name, entries in row.others.items():
            for entry in entries[:1]:
                self._values.update(
                    {f"{name}.{column}": value for column, value in entry.values.items()}
                )
        for name, other in table.join.items():
            found = joined.get(other, {}).get(str(row.values.get("release")))
            if found is not None:
                self._values.update(
                    {f"{name}.{column}": value for column, value in found.values.items()}
                )

    def meet(self, template: Mapping[str, Any]) -> bool:
        """Return whether the conditions of a template hold."""
        if not all(column in self._values for column in template.get("if-has", ())):
            return False
        if any(column in self._values for column in template.get("if-lacks", ())):
            return False
        if "if-differs" in template and not self._differ(template["if-differs"]):
            return False
        return "if-same" not in template or not self._differ(template["if-same"])

    def _differ(self, columns: Sequence[str]) -> bool:
        """Return whether both columns have a value, and another one."""
        found = {self._values[column] for column in columns if column in self._values}
        return len(found) > 1

    def fill(self, value: Any, row: Row) -> Any:
        """Return what a template's value comes to.

        Raises InputError if a text needs a value that the row lacks.
        """
        try:
            return self._fill(value)
        except _MissingError as error:
            what = f"a template of the table `{self._table.name}` needs a value that a row does not have"
            raise InputError(
                what, where=row.where, why=f"the column is `{error.args[0]}`"
            ) from None

    def _fill(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return list(self._list(value))
        if not isinstance(value, dict):
            return value
        if "each" in value:
            return [_of_entry(value, entry) for entry in self._others.get(value["each"], ())]
        if "lines" in value:
            return self._lines(value)
        return {
            key: filled
            for key, item in value.items()
            if (filled := self._or_none(item)) is not None
        }

    def _lines(self, value: Mapping[str, Any]) -> list[str]:
        """Return a list of requirements as another one changes it."""
        lines = self._text(value["lines"])
        without = {text.requirement(other).name for other in self._named_list(value, "without")}
        without.update(map(text.name, value.get("drop", ())))
        loosened = {
            text.requirement(other).name for other in self._named_list(value, "loosened-by")
        }
        kept = [line for line in lines if text.requirement(line).name not in without]
        return [
            _any_version(line) if text.requirement(line).name in loosened else line for line in kept
        ]

    def _named_list(self, value: Mapping[str, Any], key: str) -> list[str]:
        return list(self._text(value[key])) if key in value else []

    def _list(self, items: Sequence[Any]) -> Iterator[Any]:
        for item in items:
            filled = self._or_none(item)
            if isinstance(filled, (tuple, list)):
                yield from filled
            elif filled is not None:
                yield filled

    def _or_none(self, item: Any) -> Any:
        """Return what an item comes to; None if it names a column without a value."""
        try:
            return self._fill(item)
        except _MissingError:
            return None

    def _text(self, template: str) -> Any:
        whole = _NAME.fullmatch(template)
        if whole is not None:
            value = self._value(whole[1])
            return list(value) if isinstance(value, tuple) else value
        return _NAME.sub(lambda match: str(self._value(match[1])), template)

    def _value(self, column: str) -> Value:
        if column not in self._values:
            raise _MissingError(column)
        return self._values[column]


def _any_version(line: str) -> str:
    """Return a requirement without its versions."""
    requirement = text.requirement(line)
    return str(msgspec.structs.replace(requirement, specifier=SpecifierSet()))


def _of_entry(template: Mapping[str, Any], entry: Entry) -> dict[str, str]:
    """Return the table that a template makes of one entry of another file."""
    keys = {key: item for key, item in template.items() if key != "each"}
    return {
        key: _NAME.sub(lambda match: str(entry.values[match[1]]), item)
        for key, item in keys.items()
    }
