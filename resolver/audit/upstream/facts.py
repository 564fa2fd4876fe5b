"""Make facts, and entries of images.toml, from rows of tables by templates, for `facts import`.

A template is a TOML table in upstream.toml. It has the keys of a fact, and these:

    kind        the kind of fact
    project     the project that the fact is about
    if-has      columns: no fact is made if one of them has no value
    if-lacks    columns: no fact is made if one of them has a value
    if-differs  two columns: a fact is made only if both have values, and these differ
    if-same     two columns: no fact is made if both have values, and these differ
    cited       further references, for what the template states and no column has

Texts in it may have placeholders:

    {column}       the value of a column of the row
    {name.column}  the value of a column in another file, or in a joined table
    {day}          the date of the commit that the row was read at
    {commit}       the hash of that commit

A text in a list or a table is left out if one of its placeholders has no value. A text that is only
a placeholder may stand for a list. In place of a list, there may be one of these tables:

    { lines = "{…}", without = "{…}" }     the requirements in a list, without those on
                                           projects of another list
    { lines = "{…}", loosened-by = "{…}" } the requirements in a list; those on projects of
                                           another list admit any version
    { lines = "{…}", drop = ["name"] }     the requirements in a list, without those on
                                           these projects
    { each = "name", key = "{column}" }    a table for each entry of another file
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any, Final

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.audit.upstream.collect import Row, by_release
from resolver.audit.upstream.entry import Entry, Value
from resolver.audit.upstream.tables import Table
from resolver.errors import InputError
from resolver.model import text
from resolver.model.component import BUILT_IN, Components
from resolver.phrase import phrase

_PLACEHOLDER: Final = re.compile(r"\{([a-z0-9_.-]+)\}")
_DATES: Final = ("committed", "checked")
# Keys of a template that are not written to the fact.
_NOT_WRITTEN: Final = (
    "kind",
    "project",
    "cited",
    "if-has",
    "if-lacks",
    "if-differs",
    "if-same",
)


class MadeRow(msgspec.Struct, frozen=True, kw_only=True):
    """A fact, or an entry of images.toml, that was made from a row."""

    # The kind of fact; empty for an image.
    kind: str = ""
    # The project that the fact is about; empty for an image.
    project: str = ""
    # The id of a fact, or the name of an image.
    name: str
    # The keys and values that are written.
    keys: Mapping[str, Any]


class _MissingError(Exception):
    """A placeholder names a column that has no value. The argument is the column."""


def make(
    tables: Sequence[Table],
    rows: Mapping[str, Sequence[Row]],
    components: Components,
    images: Sequence[Mapping[str, Any]] = (),
) -> list[MadeRow]:
    """Return the facts that the templates of tables make of rows, then the images.

    `images` are entries that no table has. Raises InputError if two rows make the same fact, or a
    template needs a value that a row does not have.
    """
    joined = by_release(rows)
    facts: dict[str, MadeRow] = {}
    # Several tables may make the same image. The first one is kept.
    made_images: dict[str, MadeRow] = {}
    for table in tables:
        for row in rows[table.name]:
            values = _Values(table, row, joined)
            for template in table.fact:
                if values.meet(template):
                    _add_fact(facts, _fact(template, values, row), row)
            if table.image is not None:
                image = _image(table.image, values, row)
                made_images.setdefault(image.name, image)
    for keys in images:
        made_images.setdefault(keys["name"], MadeRow(name=keys["name"], keys=keys))
    order = partial(_image_order, components=components)
    return [*facts.values(), *sorted(made_images.values(), key=order)]


def _image_order(row: MadeRow, components: Components) -> tuple[Any, ...]:
    """Return a sort key of images. The first image that fits a target is taken.

    Images with newer components come later. Images with the same components are sorted with Ubuntu
    before other systems.
    """
    versions: list[Any] = []
    names: list[Any] = []
    for name, component in components.items():
        if name in row.keys and name not in BUILT_IN:
            values = versions if component.grammar.is_ordered else names
            values.append(component.parse(row.keys[name]))
    is_other_system = "-ubuntu" not in row.name
    return (versions, names, is_other_system, Version(row.keys["python"]), row.name)


def _add_fact(facts: dict[str, MadeRow], fact: MadeRow, row: Row) -> None:
    """Add a fact. Raises InputError if there is one with the same id."""
    if fact.name in facts:
        other, *_ = facts[fact.name].keys["source"]
        raise InputError(
            phrase("two rows make the fact `{name}`", name=fact.name),
            where=row.where,
            why=phrase("the other is {other}", other=other),
        )
    facts[fact.name] = fact


def _fact(template: Mapping[str, Any], values: _Values, row: Row) -> MadeRow:
    """Return the fact that a template makes of a row."""
    keys = _filled(template, values)
    keys["source"] = [*row.source, *values.fill(template.get("cited", []))]
    keys["checked"] = row.day
    return MadeRow(
        kind=template["kind"],
        project=str(values.fill(template.get("project", ""))),
        name=str(keys.get("id", "")),
        keys=keys,
    )


def _image(template: Mapping[str, Any], values: _Values, row: Row) -> MadeRow:
    """Return the image that a template makes of a row."""
    keys = _filled(template, values)
    keys["source"] = list(row.source)
    return MadeRow(name=str(keys.get("name", "")), keys=keys)


def _filled(template: Mapping[str, Any], values: _Values) -> dict[str, Any]:
    """Return the keys that a template writes for a row. Keys with empty values are left out."""
    keys: dict[str, Any] = {}
    for key, value in sorted(template.items()):
        if key in _NOT_WRITTEN:
            continue
        filled = values.fill(value)
        if filled in ((), [], {}):
            continue
        keys[key] = date.fromisoformat(str(filled)) if key in _DATES else filled
    return keys


class _Values:
    """The values of one row that the placeholders of a template can name."""

    def __init__(self, table: Table, row: Row, joined: Mapping[str, Mapping[str, Row]]) -> None:
        self._table = table
        self._row = row
        self._values: dict[str, Value] = dict(row.values)
        if row.commit:
            self._values["commit"] = row.commit
        if row.committed is not None:
            self._values["day"] = row.committed.isoformat()
        for name, entries in row.others.items():
            if entries:
                self._add(name, entries[0].values)
        for name, other in table.join.items():
            found = joined.get(other, {}).get(str(row.values.get("release")))
            if found is not None:
                self._add(name, found.values)

    def _add(self, name: str, values: Mapping[str, Value]) -> None:
        """Add the values of another file or table under the names `name.column`."""
        for column, value in values.items():
            self._values[f"{name}.{column}"] = value

    def meet(self, template: Mapping[str, Any]) -> bool:
        """Return whether the conditions of a template hold for the row."""
        if not all(column in self._values for column in template.get("if-has", ())):
            return False
        if any(column in self._values for column in template.get("if-lacks", ())):
            return False
        if "if-differs" in template and not self._differ(template["if-differs"]):
            return False
        return "if-same" not in template or not self._differ(template["if-same"])

    def _differ(self, columns: Sequence[str]) -> bool:
        """Return whether both columns have a value, and the values differ."""
        found = {self._values[column] for column in columns if column in self._values}
        return len(found) > 1

    def fill(self, value: Any) -> Any:
        """Return the value of a template with its placeholders replaced.

        An item of a list or a key of a table is left out if a placeholder in it has no value.
        Raises InputError if a placeholder anywhere else has none.
        """
        try:
            return self._fill(value)
        except _MissingError as error:
            raise InputError(
                phrase(
                    "a template of the table `{name}` needs a value that a row does not have",
                    name=self._table.name,
                ),
                where=self._row.where,
                why=phrase("the column is `{column}`", column=error.args[0]),
            ) from None

    def _fill(self, value: Any) -> Any:
        """Return a value with its placeholders replaced. Raise _MissingError."""
        match value:
            case str():
                return self._text(value)
            case list():
                return list(self._items(value))
            case {"each": name}:
                return [_of_entry(value, entry) for entry in self._row.others.get(name, ())]
            case {"lines": lines}:
                return self._lines(lines, value)
            case dict():
                filled = {key: self._or_none(item) for key, item in value.items()}
                return {key: item for key, item in filled.items() if item is not None}
            case _:
                return value

    def _lines(self, template: str, changes: Mapping[str, Any]) -> list[str]:
        """Return the requirements in a list, changed as `without`, `drop` and `loosened-by` say."""
        without = set(map(text.name, changes.get("drop", ())))
        without |= self._projects(changes.get("without"))
        loosened = self._projects(changes.get("loosened-by"))
        lines = []
        for line in self._text(template):
            requirement = text.requirement(line)
            if requirement.name in without:
                continue
            if requirement.name in loosened:
                any_version = msgspec.structs.replace(requirement, specifier=SpecifierSet())
                lines.append(str(any_version))
            else:
                lines.append(line)
        return lines

    def _projects(self, template: str | None) -> set[NormalizedName]:
        """Return the projects of a list of requirements; empty without a template."""
        if template is None:
            return set()
        return {text.requirement(line).name for line in self._text(template)}

    def _items(self, items: Sequence[Any]) -> Iterator[Any]:
        """Yield the items of a list. Inner lists are flattened, missing values left out."""
        for item in items:
            filled = self._or_none(item)
            if isinstance(filled, tuple | list):
                yield from filled
            elif filled is not None:
                yield filled

    def _or_none(self, item: Any) -> Any:
        """Return an item with its placeholders replaced; None if one of them has no value."""
        try:
            return self._fill(item)
        except _MissingError:
            return None

    def _text(self, template: str) -> Any:
        """Return a text with its placeholders replaced.

        If the text is only a placeholder, the result may be a list. Raise _MissingError.
        """
        whole = _PLACEHOLDER.fullmatch(template)
        if whole is not None:
            value = self._value(whole[1])
            return list(value) if isinstance(value, tuple) else value
        return _PLACEHOLDER.sub(lambda match: str(self._value(match[1])), template)

    def _value(self, column: str) -> Value:
        """Return the value of a column. Raise _MissingError if it has none."""
        if column not in self._values:
            raise _MissingError(column)
        return self._values[column]


def _of_entry(template: Mapping[str, Any], entry: Entry) -> dict[str, str]:
    """Return the table that a template with `each` makes of one entry (see docs/upstream.md)."""
    made = {}
    for key, item in template.items():
        if key != "each":
            made[key] = _PLACEHOLDER.sub(lambda match: str(entry.values[match[1]]), item)
    return made
