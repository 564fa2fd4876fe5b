"""The files that generated rows are in, and what changes in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final

import msgspec

from resolver import files
from resolver.audit.upstream.facts import MadeRow
from resolver.config.load import file_text, generated_folder, toml_tables
from resolver.config.load import read_text as read_shape
from resolver.config.schema import FactFile, ImagesFile

IMAGES: Final = "images.toml"
_HEAD: Final = (
    "# Made by `ascend-lock facts import` from what matrices/upstream.toml names. Do not edit: a fact in\n"
    "# matrices/facts/ takes the place of one of these by `over`.\n"
)
_HEAD_OF_IMAGES: Final = (
    "# Container images with CANN and Python, for `ascend-lock export STACK --format containerfile`. No lock is made\n"
    "# from this file. Made by `ascend-lock facts import` from what matrices/upstream.toml names; do not edit.\n"
)
# The order of keys: these come first, the others in the order of the alphabet, and those last.
_FIRST: Final = {
    key: at for at, key in enumerate(("id", "name", "versions", "git", "commit", "when", "unless"))
}
_LAST: Final = {
    key: at for at, key in enumerate(("reason", "reason-zh", "strength", "source", "checked"))
}
# What says where a row was seen and when, and not what it says.
_EVIDENCE: Final = frozenset(["source", "checked"])


class ChangedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row that is new, gone or other than before."""

    # "added", "gone" or "changed".
    how: str
    # The file, below `matrices`.
    file: str
    name: str
    # The keys that differ, with their values before and now.
    keys: Mapping[str, tuple[Any, Any]] = {}


class Generated(msgspec.Struct, frozen=True, kw_only=True):
    """The files as they would be, and what that changes."""

    # Below `matrices` -> text.
    texts: Mapping[str, str]
    changes: tuple[ChangedRow, ...]
    # How many facts there are.
    facts: int
    # How many images there are.
    images: int


def generate(rows: Sequence[MadeRow], matrices: Path, *, anew: bool = False) -> Generated:
    """Return the files that have these rows.

    A row that says the same as before keeps its source and its day, unless with `anew`. Raises
    InputError if a file of before cannot be read, or a row is no fact.
    """
    by_file: dict[str, list[MadeRow]] = defaultdict(list)
    for row in rows:
        by_file[_file_of(row)].append(row)
    folder = generated_folder(matrices)
    before = {
        f"facts/{folder.name}/{path.name}": path for path in files.list_files(folder, ".toml")
    }
    if (matrices / IMAGES).exists():
        before[IMAGES] = matrices / IMAGES
    texts: dict[str, str] = {}
    changes: list[ChangedRow] = []
    for name in sorted({*by_file, *before}):
        old = _old_rows(name, before[name]) if name in before else {}
        kept = [row if anew else _with_old_evidence(row, old) for row in by_file.get(name, ())]
        changes += _changes(name, old, kept)
        texts[name] = _text(name, kept)
        read_shape(texts[name], ImagesFile if name == IMAGES else FactFile, f"matrices/{name}")
    return Generated(
        texts=texts,
        changes=tuple(changes),
        facts=sum(1 for row in rows if row.kind),
        images=sum(1 for row in rows if not row.kind),
    )


def write(generated: Generated, matrices: Path) -> list[str]:
    """Write the files whose text is another one, and return their names. Raises OSError."""
    written = []
    for name, text in generated.texts.items():
        path = matrices / name
        if path.exists() and files.read_text(path) == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path, text.encode())
        written.append(name)
    return written


def _file_of(row: MadeRow) -> str:
    return f"facts/generated/{row.project}.toml" if row.kind else IMAGES


def _old_rows(name: str, path: Path) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return the rows of a file as it is: name -> kind and keys."""
    tables = toml_tables(file_text(path, f"matrices/{name}"), f"matrices/{name}")
    rows: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for kind, of_kind in tables.items():
        for row in of_kind if isinstance(of_kind, list) else ():
            rows[str(row.get("id") or row.get("name"))] = kind, row
    return rows


def _with_old_evidence(row: MadeRow, old: Mapping[str, tuple[str, Mapping[str, Any]]]) -> MadeRow:
    """Return a row with the source and the day that it had, if it says the same as then."""
    kind, keys = old.get(row.name, ("", {}))
    if kind != (row.kind or "image") or _statement(keys) != _statement(row.keys):
        return row
    return msgspec.structs.replace(
        row, keys={**row.keys, **{key: keys[key] for key in _EVIDENCE if key in keys}}
    )


def _statement(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a row says, without where it was seen and when."""
    return {key: value for key, value in keys.items() if key not in _EVIDENCE}


def _changes(
    name: str, old: Mapping[str, tuple[str, Mapping[str, Any]]], rows: Sequence[MadeRow]
) -> Iterator[ChangedRow]:
    new = {row.name: row for row in rows}
    for row in rows:
        if row.name not in old:
            yield ChangedRow(how="added", file=name, name=row.name)
            continue
        kind, keys = old[row.name]
        before, now = (
            {"kind": kind, **_statement(keys)},
            {"kind": row.kind or "image", **_statement(row.keys)},
        )
        different = {
            key: (before.get(key), now.get(key))
            for key in {**before, **now}
            if before.get(key) != now.get(key)
        }
        if different:
            yield ChangedRow(how="changed", file=name, name=row.name, keys=different)
    for gone in old:
        if gone not in new:
            yield ChangedRow(how="gone", file=name, name=gone)


def _text(name: str, rows: Sequence[MadeRow]) -> str:
    blocks = [_HEAD_OF_IMAGES if name == IMAGES else _HEAD]
    for row in rows:
        keys = sorted(row.keys, key=lambda key: (_FIRST.get(key, len(_FIRST)), _LAST.get(key, -1)))
        lines = [
            f"[[{row.kind or 'image'}]]",
            *(f"{key} = {toml_value(row.keys[key])}" for key in keys),
        ]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def toml_value(value: Any) -> str:
    """Return a value as TOML has it, long lists with an item a line."""
    match value:
        case bool():
            return "true" if value else "false"
        case date():
            return value.isoformat()
        case str():
            return files.json_text(value, indent=None)
        case list() | tuple():
            items = [toml_value(item) for item in value]
            line = f"[{', '.join(items)}]"
            return (
                line
                if len(line) <= 100
                else "[\n" + "".join(f"    {item},\n" for item in items) + "]"
            )
        case dict():
            pairs = ", ".join(f"{key} = {toml_value(item)}" for key, item in value.items())
            return f"{{ {pairs} }}"
        case _:
            return str(value)
