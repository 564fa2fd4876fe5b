"""Functions that read TOML files into the types of `schema`, with the place of each mistake."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Final, Generic, TypeVar

import msgspec

from resolver import files, toml
from resolver.config.decode import decode
from resolver.config.lines import TomlText
from resolver.config.schema import (
    FactFile,
    ImagesFile,
    ImportsFile,
    RecordedFile,
    StackFile,
)
from resolver.config.source_text import read_own_reference, read_reference
from resolver.errors import InputError
from resolver.model import text as texts
from resolver.model.component import BUILT_IN, Components
from resolver.model.slips import toml_hint
from resolver.model.target import Image
from resolver.phrase import Phrase, as_phrase, cause, phrase
from resolver.redaction import without_users

Shape = TypeVar("Shape", bound=msgspec.Struct)
# The largest file that is read, in bytes.
LARGEST: Final = 8 * 1024 * 1024
_UTF_8: Final = phrase("save it as UTF-8")
_FROM_GB18030: Final = phrase(
    "save it as UTF-8, or convert it: iconv -f GB18030 -t UTF-8 OLD > NEW"
)


class Document(TomlText, Generic[Shape], frozen=True, dict=True):
    """A TOML file: its name, its text and its content."""

    # The content, in a type of `schema`.
    content: Shape

    @cached_property
    def digest(self) -> str:
        """Return the sha256 of the text in hex, without user and password of addresses in it.

        Every lock contains such digests. With the password, somebody could guess it from the
        digest, and a new password would make all locks stale.
        """
        return hashlib.sha256(without_users(self.text).encode()).hexdigest()


def read(
    path: Path, shape: type[Shape], name: str, components: Components = BUILT_IN
) -> Document[Shape]:
    """Read a TOML file into a type of `schema`.

    `shape` is the type. `name` is the name of the file in errors. `components` are the components
    that requirements in the file may be about. Raises InputError with file:line:key if the file
    cannot be read, or its content does not fit the type.
    """
    return read_text(file_text(path, name), shape, name, components)


def read_text(
    text: str, shape: type[Shape], name: str, components: Components = BUILT_IN
) -> Document[Shape]:
    """Read a text in memory as `read` reads a file."""
    limits = toml.STACK if shape is StackFile else toml.MATRICES
    tables = toml_tables(text, name, limits)
    if shape is FactFile:
        tables = with_defaults(tables, package=texts.name(PurePosixPath(name).stem))
    elif shape is ImagesFile:
        tables = _with_systems(with_defaults(tables))
    elif shape is ImportsFile:
        tables = with_defaults(tables)
    elif shape is RecordedFile:
        tables = with_defaults(tables, index=PurePosixPath(name).stem)
    elif shape is StackFile and "fact" in tables:
        tables["fact"] = with_defaults(tables["fact"])
    # Anybody must be able to look up the facts of matrices/facts. The facts of a stack's own file
    # may cite documents that only its author has.
    reader = read_own_reference if shape is StackFile else read_reference
    return Document(name, text, decode(shape, tables, TomlText(name, text), components, reader))


def file_text(path: Path, name: str) -> str:
    r"""Return the text of a file. Line ends become `\n`, and a byte order mark is removed.

    `name` is the name of the file in errors. Raises InputError if the file cannot be read or is not
    UTF-8.
    """
    try:
        content = files.read(path, LARGEST)
    except OSError as error:
        raise files.input_error(error, phrase("`{name}` cannot be read", name=name), name) from None
    return as_text(content, name)


def as_text(content: bytes, name: str) -> str:
    """Return the text of a file whose content was read already, as `file_text` does.

    Raises InputError if it is not UTF-8.
    """
    try:
        # Editors on Windows write a byte order mark.
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            phrase("`{name}` is not UTF-8", name=name),
            where=f"{name}:{line}",
            why=wrong_byte(content, error.start, "UTF-8"),
            hint=_FROM_GB18030 if _is_gb18030(content) else _UTF_8,
        ) from None
    return text.replace("\r\n", "\n")


def wrong_byte(content: bytes, position: int, encoding: str) -> Phrase:
    """Return why bytes are not in an encoding: the byte at a position cannot be there."""
    return phrase(
        "it has the byte {byte} where {encoding} cannot have it",
        byte=f"0x{content[position]:02x}",
        encoding=encoding,
    )


def _is_gb18030(content: bytes) -> bool:
    """Return whether bytes that are not UTF-8 are likely GB18030, which also covers GBK."""
    try:
        content.decode("gb18030")
    except UnicodeDecodeError:
        return False
    return True


def toml_tables(text: str, name: str, limits: toml.Limits = toml.IMPORTED) -> dict[str, Any]:
    """Return the content of a TOML text.

    `name` is the name of the file in errors. Raises InputError, with file:line if possible, if the
    text is not TOML or exceeds the limits.
    """
    try:
        return toml.loads(text, limits)
    except toml.LimitError as error:
        raise InputError(
            phrase("the file is too large to be read"), where=name, why=cause(error)
        ) from None
    except toml.DecodeError as error:
        where = f"{name}:{error.lineno}"
        why = phrase("{message}; column {column}", message=as_phrase(error.msg), column=error.colno)
        hint = toml_hint(text, error.lineno, error.colno)
        raise InputError(
            phrase("the file is not valid TOML"), where=where, why=why, hint=hint
        ) from None
    except (ValueError, RecursionError):
        why = phrase("it is nested too deeply")
        raise InputError(phrase("the file cannot be read"), where=name, why=why) from None


def with_defaults(table: Any, **defaults: Any) -> Any:
    """Return a table of lists of rows with default values filled in.

    Each row gets the keys that it does not have, from `defaults` and from the table's own key
    `defaults`. Values that are not tables are returned unchanged, and `decode` refuses them.
    """
    if not isinstance(table, dict):
        return table
    if isinstance(table.get("defaults"), dict):
        defaults |= table["defaults"]
    completed = {}
    for key, value in table.items():
        if isinstance(value, list):
            value = [defaults | row if isinstance(row, dict) else row for row in value]
        completed[key] = value
    return completed


def _with_systems(tables: dict[str, Any]) -> dict[str, Any]:
    """Return the tables of images.toml with the components of each image in a table `system`.

    In the file, components are keys of the image itself. Values that are not tables are returned
    unchanged, and `decode` refuses them.
    """
    images_of_file = tables.get("image")
    if not isinstance(images_of_file, list):
        return tables
    own_keys = {field.encode_name for field in msgspec.structs.fields(Image)}
    completed: list[Any] = []
    for image in images_of_file:
        if isinstance(image, dict):
            system = {key: value for key, value in image.items() if key not in own_keys}
            image = {key: value for key, value in image.items() if key in own_keys}
            image["system"] = system
        completed.append(image)
    return {**tables, "image": completed}


def list_files(folder: Path, ending: str = ".toml") -> list[Path]:
    """Return the files in a folder whose names have an ending, sorted.

    There are none if the folder does not exist. Raises InputError if it cannot be listed.
    """
    try:
        return files.list_files(folder, ending)
    except OSError as error:
        raise files.input_error(error, phrase("a folder cannot be listed"), folder) from None


def display_name(path: Path, matrices: Path) -> str:
    """Return the name of a file in messages and locks, such as matrices/facts/vllm.toml.

    A file outside of `matrices` has its path as its name. The name depends neither on the current
    folder nor on the locale.
    """
    try:
        shown = Path("matrices") / path.relative_to(matrices)
    except ValueError:
        shown = path
    # The name of a file may be in another encoding.
    with suppress(UnicodeDecodeError):
        return os.fsencode(shown).decode()
    return str(shown)
