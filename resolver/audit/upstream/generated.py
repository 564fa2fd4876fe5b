"""Write the files of generated facts and images, and say what changes in them.

The command `facts import` calls it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final

import msgspec

from resolver import files
from resolver.audit.upstream.facts import MadeRow
from resolver.config.load import generated_folder, load_components
from resolver.config.schema import FactFile, ImagesFile
from resolver.config.toml_files import file_text, toml_tables
from resolver.config.toml_files import read_text as read_shape
from resolver.errors import InputError
from resolver.model.patterns import PROJECT
from resolver.phrase import phrase

_IMAGES: Final = "images.toml"
_HEAD: Final = (
    "# Made by `ascend-lock facts import` from what matrices/upstream.toml names. "
    "Do not edit: a fact in\n"
    "# matrices/facts/ takes the place of one of these by `over`.\n"
)
_HEAD_OF_IMAGES: Final = (
    "# Container images with CANN and Python, "
    "for `ascend-lock export STACK --format containerfile`. No lock is made\n"
    "# from this file. Made by `ascend-lock facts import` "
    "from what matrices/upstream.toml names; do not edit.\n"
)
# Keys that are written first, and keys that are written last, in this order. All others come
# between them.
_FIRST: Final = ("id", "name", "versions", "git", "commit", "when", "unless")
_LAST: Final = ("reason", "reason-zh", "strength", "source", "checked")
# Keys that say where and when something was seen. The others are the statement.
_EVIDENCE: Final = frozenset(["source", "checked"])
# The longest line with a list, in characters. A longer list has a line for each item.
_LONGEST_LINE: Final = 100


class ChangedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A fact or an image that is added, gone or changed."""

    # What happened: "added", "gone" or "changed".
    how: str
    # The path of its file in the folder `matrices`.
    file: str
    # The id of the fact, or the name of the image.
    name: str
    # The keys that differ, with their values before and now.
    keys: Mapping[str, tuple[Any, Any]] = {}


class Generated(msgspec.Struct, frozen=True, kw_only=True):
    """The generated files as they would be written, and what would change."""

    # The text of each file, by its path in the folder `matrices`.
    texts: Mapping[str, str]
    # The facts and images that differ from those in the present files.
    changes: tuple[ChangedRow, ...]
    # How many facts there are.
    facts: int
    # How many images there are.
    images: int


def generate(rows: Sequence[MadeRow], matrices: Path, *, anew: bool) -> Generated:
    """Return the files with these facts and images. Nothing is written.

    A fact with the same statement as in the present file keeps its source and its day, unless
    `anew` is set. Raises InputError if a present file cannot be read, or if a new file does not
    have the form of one.
    """
    by_file: dict[str, list[MadeRow]] = defaultdict(list)
    for row in rows:
        by_file[_file_of(row)].append(row)
    components = load_components(matrices)
    existing = _existing_files(matrices)
    texts: dict[str, str] = {}
    changes: list[ChangedRow] = []
    for name in sorted({*by_file, *existing}):
        old = _old_rows(name, existing[name]) if name in existing else {}
        new = by_file[name]
        if not anew:
            new = [_with_old_evidence(row, old.get(row.name)) for row in new]
        changes += _changes(name, old, new)
        texts[name] = _text(name, new)
        shape = ImagesFile if name == _IMAGES else FactFile
        read_shape(texts[name], shape, f"matrices/{name}", components)
    facts = sum(1 for row in rows if row.kind)
    return Generated(texts=texts, changes=tuple(changes), facts=facts, images=len(rows) - facts)


def _file_of(row: MadeRow) -> str:
    """Return the path of the file that a fact or image belongs to, in the folder `matrices`.

    Raises InputError if the project of the fact has no valid name: a template may take it from a
    table of upstream.
    """
    if not row.kind:
        return _IMAGES
    if not PROJECT.matches(row.project):
        raise InputError(
            phrase(
                "`{name}` is not {description}", name=row.project, description=PROJECT.description
            ),
            where=f"upstream.toml: {row.name}",
            hint=phrase("`project` of a template says whose fact it is, such as `torch-npu`"),
        )
    return f"facts/generated/{row.project}.toml"


def write(generated: Generated, matrices: Path) -> None:
    """Write the files whose text differs. Raises OSError.

    No symbolic link below `matrices` is followed.
    """
    for name, text in generated.texts.items():
        path = matrices / name
        if path.exists() and files.read_text(path) == text:
            continue
        files.write_below(matrices, name, text.encode())


def _existing_files(matrices: Path) -> dict[str, Path]:
    """Return the present generated files, by their paths in the folder `matrices`."""
    folder = generated_folder(matrices)
    existing = {}
    for path in files.list_files(folder, ".toml"):
        existing[f"facts/{folder.name}/{path.name}"] = path
    if (matrices / _IMAGES).exists():
        existing[_IMAGES] = matrices / _IMAGES
    return existing


def _old_rows(name: str, path: Path) -> dict[str, MadeRow]:
    """Return the facts or images in a present file, by name. Raises InputError."""
    tables = toml_tables(file_text(path, f"matrices/{name}"), f"matrices/{name}")
    rows = {}
    for kind, of_kind in tables.items():
        for keys in of_kind if isinstance(of_kind, list) else ():
            name_of_row = str(keys.get("id") or keys.get("name"))
            kind_of_row = "" if kind == "image" else kind
            rows[name_of_row] = MadeRow(kind=kind_of_row, name=name_of_row, keys=keys)
    return rows


def _with_old_evidence(row: MadeRow, old: MadeRow | None) -> MadeRow:
    """Return a fact with the source and the day of the old one, if both state the same."""
    if old is None or _statement(old) != _statement(row):
        return row
    evidence = {key: value for key, value in old.keys.items() if key in _EVIDENCE}
    return msgspec.structs.replace(row, keys={**row.keys, **evidence})


def _statement(row: MadeRow) -> dict[str, Any]:
    """Return what a fact states, without where and when it was seen."""
    said = {key: value for key, value in row.keys.items() if key not in _EVIDENCE}
    return {"kind": row.kind, **said}


def _changes(
    file: str, old: Mapping[str, MadeRow], rows: Sequence[MadeRow]
) -> Iterator[ChangedRow]:
    """Yield the differences between the old and the new facts of a file."""
    for row in rows:
        if row.name not in old:
            yield ChangedRow(how="added", file=file, name=row.name)
            continue
        before, now = _statement(old[row.name]), _statement(row)
        different = {}
        for key in {**before, **now}:
            if before.get(key) != now.get(key):
                different[key] = (before.get(key), now.get(key))
        if different:
            yield ChangedRow(how="changed", file=file, name=row.name, keys=different)
    names = {row.name for row in rows}
    for name in old:
        if name not in names:
            yield ChangedRow(how="gone", file=file, name=name)


def _text(name: str, rows: Sequence[MadeRow]) -> str:
    """Return the TOML text of a file with these facts or images."""
    blocks = [_HEAD_OF_IMAGES if name == _IMAGES else _HEAD]
    for row in rows:
        keys = sorted(row.keys, key=_position)
        lines = [f"{key} = {_toml_value(row.keys[key])}\n" for key in keys]
        blocks.append(f"[[{row.kind or 'image'}]]\n{''.join(lines)}")
    return "\n".join(blocks)


def _position(key: str) -> int:
    """Return the sort key of a key. Keys of `_FIRST` come first, keys of `_LAST` last."""
    if key in _FIRST:
        return _FIRST.index(key)
    if key in _LAST:
        return len(_FIRST) + 1 + _LAST.index(key)
    return len(_FIRST)


def _toml_value(value: Any) -> str:
    """Return a value as TOML. A long list gets a line for each item."""
    match value:
        case bool():
            return "true" if value else "false"
        case date():
            return value.isoformat()
        case str():
            return files.json_text(value, indent=None)
        case list() | tuple():
            items = [_toml_value(item) for item in value]
            line = f"[{', '.join(items)}]"
            if len(line) <= _LONGEST_LINE:
                return line
            indented = [f"    {item},\n" for item in items]
            return f"[\n{''.join(indented)}]"
        case dict():
            pairs = [f"{key} = {_toml_value(item)}" for key, item in value.items()]
            return f"{{ {', '.join(pairs)} }}"
        case _:
            return str(value)
