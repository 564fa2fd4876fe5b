"""Finding and reading the files of `matrices/`: stacks, facts, indexes, systems, base images."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from resolver import files, toml
from resolver.config.decode import decode
from resolver.config.lines import TomlText
from resolver.config.schema import (
    FactFile,
    ImagesFile,
    IndexesFile,
    RecordedFile,
    StackFile,
    SystemsFile,
    VariantsFile,
)
from resolver.errors import InputError, did_you_mean
from resolver.model import text as texts
from resolver.model.target import Image
from resolver.redaction import without_users

Shape = TypeVar("Shape", bound=msgspec.Struct)

GENERATED: Final = "generated"
LARGEST = 8 * 1024 * 1024
_UTF_8 = "save it as UTF-8, or convert it: iconv -f GB18030 -t UTF-8 OLD > NEW"


class Document(TomlText, Generic[Shape], frozen=True, dict=True):
    """The text of a file and its content."""

    content: Shape

    @cached_property
    def digest(self) -> str:
        """The sha256 of the file's text, in hex, without user and password of any address in it.

        Every lock has the digest: a password could be guessed from it, and a new password must not
        make locks stale.
        """
        return hashlib.sha256(without_users(self.text).encode()).hexdigest()


def read(path: Path, shape: type[Shape], name: str) -> Document[Shape]:
    """Read a TOML file into its schema type.

    Raises InputError with file:line:key if it does not fit.
    """
    return read_text(file_text(path, name), shape, name)


def file_text(path: Path, name: str) -> str:
    """The text of a file, with the line ends that Python writes.

    Raises InputError that calls it by this name.
    """
    return read_as_text(lambda: files.read(path, LARGEST), name)


def read_as_text(read: Callable[[], bytes], name: str) -> str:
    """Do the same for what a function reads, which may raise OSError."""
    try:
        content = read()
        return content.decode("utf-8-sig").replace(
            "\r\n", "\n"
        )  # editors on Windows write a byte order mark
    except OSError as error:
        raise files.input_error(error, f"`{name}` cannot be read", name) from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"`{name}` is not UTF-8", where=f"{name}:{line}", why=error.reason, hint=_UTF_8
        ) from None


def toml_tables(text: str, name: str, limits: toml.Limits = toml.IMPORTED) -> dict[str, Any]:
    """The tables of a TOML text.

    Raises InputError with file:line, also for one that is beyond the limits.
    """
    try:
        return toml.loads(text, limits)
    except toml.LimitError as error:
        raise InputError("the file is too large to be read", where=name, why=str(error)) from None
    except toml.DecodeError as error:
        why = f"{error.msg}; column {error.colno}"
        raise InputError(
            "the file is not valid TOML", where=f"{name}:{error.lineno}", why=why
        ) from None
    except (ValueError, RecursionError):
        why = "it is nested too deeply"
        raise InputError("the file cannot be read", where=name, why=why) from None


def read_text(text: str, shape: type[Shape], name: str) -> Document[Shape]:
    """Like `read`, for a text in memory."""
    raw = toml_tables(text, name, toml.STACK if shape is StackFile else toml.MATRICES)
    if shape is FactFile:
        raw = _with_defaults(raw, package=texts.name(PurePosixPath(name).stem))
    elif shape is ImagesFile:
        raw = _with_defaults(raw)
    elif shape is RecordedFile:
        raw = _with_defaults(raw, index=PurePosixPath(name).stem)
    elif shape is StackFile and "fact" in raw:
        raw["fact"] = _with_defaults(raw["fact"])
    return Document(name, text, decode(shape, raw, TomlText(name, text)))


def _with_defaults(table: Any, **defaults: Any) -> Any:
    """A table whose rows have these values and its own `defaults`.

    What is no table or row is left for `decode`.
    """
    if not isinstance(table, dict):
        return table
    if isinstance(table.get("defaults"), dict):
        defaults |= table["defaults"]
    return {
        key: [defaults | row if isinstance(row, dict) else row for row in value]
        if isinstance(value, list)
        else value
        for key, value in table.items()
    }


def _list_files(folder: Path, ending: str = ".toml") -> list[Path]:
    """The files in a folder whose names end so, sorted.

    Raises InputError if it cannot be listed.
    """
    try:
        return files.list_files(folder, ending)
    except OSError as error:
        raise files.input_error(error, "a folder cannot be listed", folder) from None


def stack_names(matrices: Path) -> list[str]:
    """The names of the stacks in `matrices`, sorted. Raises InputError."""
    return [path.stem for path in _list_files(matrices / "stacks") if not path.is_dir()]


class Inputs(msgspec.Struct, frozen=True):
    """The files that a stack's problems are made from. `facts` are sorted by name.

    `spare` are the files of facts that the stack does not use, as it names others. `readings` is
    the digest of the shipped readings of archives, "" without any. `recorded` are the files of
    recorded/, one for an index.
    """

    stack: Document[StackFile]
    facts: tuple[Document[FactFile], ...]
    indexes: Document[IndexesFile] | None
    systems: Document[SystemsFile] | None
    spare: tuple[Document[FactFile], ...] = ()
    readings: str = ""
    recorded: tuple[Document[RecordedFile], ...] = ()
    variants: Document[VariantsFile] | None = None


def load(stack: str, matrices: Path) -> Inputs:
    """Read a stack, given by name or by path, and the files that it uses.

    Raises InputError, with a suggestion if the name is close to a known one.
    """
    path = find_stack(stack, matrices)
    document = _read(path, StackFile, matrices)
    _require_own_name(document, path, matrices)
    return load_with(document, matrices)


def load_edited(stack: str, text: str, matrices: Path) -> Inputs:
    """Do what `load` does, but take this text instead of the content of the stack's file.

    Raises InputError.
    """
    path = find_stack(stack, matrices)
    document = read_text(text, StackFile, _display(path, matrices))
    _require_own_name(document, path, matrices)
    return load_with(document, matrices)


def load_with(document: Document[StackFile], matrices: Path) -> Inputs:
    """A stack that was read already, and the files that it uses. Raises InputError."""
    used, spare = _fact_paths(document, matrices)
    return Inputs(
        document,
        tuple(_read(path, FactFile, matrices) for path in used),
        _read_optional("indexes.toml", IndexesFile, matrices),
        load_systems(matrices),
        tuple(_read(path, FactFile, matrices) for path in spare),
        _digest(readings_folder(matrices), linkage_folder(matrices)),
        tuple(_read(path, RecordedFile, matrices) for path in _list_files(matrices / "recorded")),
        _read_optional("variants.toml", VariantsFile, matrices),
    )


def _read(path: Path, shape: type[Shape], matrices: Path) -> Document[Shape]:
    return read(path, shape, _display(path, matrices))


def _read_optional(name: str, shape: type[Shape], matrices: Path) -> Document[Shape] | None:
    path = matrices / name
    # what a link that leads nowhere stands for must not count as absent: projects would come from
    # other indexes
    return _read(path, shape, matrices) if os.path.lexists(path) else None


def _require_own_name(document: Document[StackFile], path: Path, matrices: Path) -> None:
    """Raise InputError if another stack in the folder has the same name: both would write the same lock."""
    name = document.content.stack.name
    other = matrices / "stacks" / f"{name}.toml"
    if path.parent == other.parent and path != other and other.is_file():
        raise InputError(
            f"two stacks have the name `{name}`",
            where=document.place("stack", "name"),
            why=f"the other is {_display(other, matrices)}, and a lock's folder is named after its stack",
            hint=f'name = "{path.stem}"',
        )


def readings_folder(matrices: Path) -> Path:
    """Return the folder of the readings of source archives that ship with the facts (see `index/store/readings`)."""
    return matrices / "archives"


def wheels_folder(matrices: Path) -> Path:
    """Return the folder of the requirements of paired releases' wheels (see `index/store/readings`).

    No lock uses it.
    """
    return matrices / "wheels"


def linkage_folder(matrices: Path) -> Path:
    """Return the folder of what was read of wheels' binaries (see `index/store/linkage_readings`)."""
    return matrices / "linkage"


def _digest(*folders: Path) -> str:
    digest = hashlib.sha256()
    for folder in folders:
        for path in _list_files(folder, ".json"):
            with suppress(OSError):  # reported by whoever needs the file
                content = path.read_bytes()
                digest.update(f"{path.name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def with_stack(inputs: Inputs, stack: Document[StackFile]) -> Inputs:
    """The same files with another stack, which may use facts that were spare."""
    names = set(stack.content.stack.facts or ())
    added = tuple(
        document for document in inputs.spare if PurePosixPath(document.name).stem in names
    )
    facts = tuple(sorted((*inputs.facts, *added), key=_position)) if added else inputs.facts
    spare = tuple(document for document in inputs.spare if document not in added)
    return replace(inputs, stack=stack, facts=facts, spare=spare)


def _position(document: Document[FactFile]) -> tuple[bool, str]:
    """Return by what files of facts are sorted."""
    return is_generated(document), document.name


def load_facts(matrices: Path) -> tuple[Document[FactFile], ...]:
    """All files of facts, without any stack, sorted by name, generated ones last.

    Raises InputError.
    """
    return tuple(_read(path, FactFile, matrices) for path in _every_fact_path(matrices))


def _every_fact_path(matrices: Path) -> list[Path]:
    """Return the files of facts, generated ones last.

    Of several builds of a release the last one counts, so one by hand that is to count takes the
    place of a generated one by `over`.
    """
    return [*_list_files(matrices / "facts"), *_list_files(generated_folder(matrices))]


def generated_folder(matrices: Path) -> Path:
    """Return the folder of the facts that `ascend-lock facts import` makes from tables of upstream."""
    return matrices / "facts" / GENERATED


def is_generated(document: Document[FactFile]) -> bool:
    """Return whether a file of facts was made from tables of upstream."""
    return PurePosixPath(document.name).parent.name == GENERATED


def load_systems(matrices: Path) -> Document[SystemsFile] | None:
    """The values of components that are known; None if there is no such file. Raises InputError."""
    return _read_optional("systems.toml", SystemsFile, matrices)


def read_stack(name: str, matrices: Path) -> Document[StackFile]:
    """The file of a stack alone."""
    return _read(find_stack(name, matrices), StackFile, matrices)


def find_stack(stack: str, matrices: Path) -> Path:
    """The file of a stack given by a path that ends in .toml, or by name: of `matrices` or of the current folder."""
    if stack.endswith(".toml") or os.sep in stack:
        path = Path(stack)
        if not path.is_file():
            hint = did_you_mean(path.stem, stack_names(matrices), "give a path to a .toml file")
            hint = did_you_mean(path.name, [file.name for file in _list_files(path.parent)], hint)
            raise InputError(f"there is no stack file `{stack}`", where=stack, hint=hint)
        return path
    path, local_path = matrices / "stacks" / f"{stack}.toml", Path(f"{stack}.toml")
    if os.path.lexists(path):  # whoever reads it reports what is wrong with it
        return path
    if local_path.is_file():
        return local_path
    if not matrices.is_dir():
        raise InputError(
            f"there is no folder `{matrices}`",
            hint="give the folder of facts and stacks with --matrices DIR",
        )
    known = stack_names(matrices)
    hint = (
        f"known stacks are {', '.join(known)}"
        if known
        else "it has none: give another folder with --matrices DIR"
    )
    hint = did_you_mean(stack, known, hint, cutoff=0.5)
    raise InputError(
        f"there is no stack `{stack}`", where=_display(matrices / "stacks", matrices), hint=hint
    )


def _fact_paths(stack: Document[StackFile], matrices: Path) -> tuple[list[Path], list[Path]]:
    """The files of facts that the stack uses, and those that it leaves out by naming others; sorted."""
    folder = matrices / "facts"
    names = stack.content.stack.facts
    if names == ():
        return [], []
    if not folder.is_dir():
        raise InputError(
            f"there is no folder `{folder}`, so nothing is known beyond the packages' own metadata",
            hint="give the folder that has it with --matrices DIR, or use no facts in the stack: facts = []",
        )
    paths = _every_fact_path(matrices)
    known = dict.fromkeys(path.stem for path in paths)
    for number, name in enumerate(names or ()):
        if name not in known:
            raise stack.unknown("there is no facts file", name, known, "stack", "facts", number)
    used = [path for path in paths if names is None or path.stem in names]
    return used, [path for path in paths if path not in used]


def _display(path: Path, matrices: Path) -> str:
    """The path to show to people, independent of the current folder and of the locale: matrices/facts/vllm.toml."""
    try:
        shown = Path("matrices") / path.relative_to(matrices)
    except ValueError:
        shown = path
    with suppress(UnicodeDecodeError):  # a file that was named in another encoding
        return os.fsencode(shown).decode()
    return str(shown)


def load_images(matrices: Path) -> tuple[Image, ...]:
    """The images of `matrices`, in the order of the file; none if there is no such file."""
    images = _read_optional("images.toml", ImagesFile, matrices)
    return images.content.image if images is not None else ()
