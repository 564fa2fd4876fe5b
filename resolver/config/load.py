"""Finding and reading the files of `matrices/`: stacks, facts, indexes, systems, base images."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from contextlib import suppress
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Final, Generic, TypeVar

import msgspec

from resolver import files, toml
from resolver.config.components import compile_components
from resolver.config.decode import decode
from resolver.config.lines import TomlText
from resolver.config.schema import (
    FactFile,
    ImagesFile,
    ImportRow,
    ImportsFile,
    IndexesFile,
    RecordedFile,
    StackFile,
    SystemsFile,
    VariantsFile,
)
from resolver.config.source_text import read_own_reference, read_reference
from resolver.errors import InputError, did_you_mean
from resolver.model import text as texts
from resolver.model.component import BUILT_IN, Components
from resolver.model.target import Image
from resolver.phrase import as_phrase, cause, literal, phrase
from resolver.redaction import without_users

Shape = TypeVar("Shape", bound=msgspec.Struct)

GENERATED: Final = "generated"
# The most bytes of a file that are read.
LARGEST: Final = 8 * 1024 * 1024
# How the names of requirements files and environments of other tools end.
_FOREIGN: Final = (".txt", ".in", ".yml", ".yaml", ".lock")
_FOREIGN_TOML: Final = re.compile(r"(pyproject|pylock(\.[^.]+)?)\.toml")
_UTF_8: Final = phrase("save it as UTF-8, or convert it: iconv -f GB18030 -t UTF-8 OLD > NEW")


class Document(TomlText, Generic[Shape], frozen=True, dict=True):
    """The text of a file and its content."""

    content: Shape

    @cached_property
    def digest(self) -> str:
        """Return the sha256 of the text, without user and password of its addresses, in hex.

        Every lock has the digest: a password could be guessed from it, and a new password must not
        make locks stale.
        """
        return hashlib.sha256(without_users(self.text).encode()).hexdigest()


class Inputs(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The files that a stack's problems are made from."""

    stack: Document[StackFile]
    # The files of facts that the stack uses, sorted by name, generated ones last.
    facts: tuple[Document[FactFile], ...]
    indexes: Document[IndexesFile] | None
    systems: Document[SystemsFile] | None
    # The files of facts that the stack leaves out by naming others.
    spare: tuple[Document[FactFile], ...] = ()
    # The digest of the shipped readings of archives; "" without any.
    readings: str = ""
    # The files of recorded/, one for each index.
    recorded: tuple[Document[RecordedFile], ...] = ()
    variants: Document[VariantsFile] | None = None

    @cached_property
    def components(self) -> Components:
        """Return the components of targets. Raises InputError."""
        return components_of(self.systems)


def read(
    path: Path, shape: type[Shape], name: str, components: Components = BUILT_IN
) -> Document[Shape]:
    """Return the content of a TOML file as its schema type; errors call the file by `name`.

    Requirements in it may be about these components. Raises InputError with file:line:key if it
    does not fit.
    """
    return read_text(file_text(path, name), shape, name, components)


def read_text(
    text: str, shape: type[Shape], name: str, components: Components = BUILT_IN
) -> Document[Shape]:
    """Do what `read` does for a text in memory."""
    limits = toml.STACK if shape is StackFile else toml.MATRICES
    tables = toml_tables(text, name, limits)
    if shape is FactFile:
        tables = _with_defaults(tables, package=texts.name(PurePosixPath(name).stem))
    elif shape is ImagesFile:
        tables = _with_systems(_with_defaults(tables))
    elif shape is ImportsFile:
        tables = _with_defaults(tables)
    elif shape is RecordedFile:
        tables = _with_defaults(tables, index=PurePosixPath(name).stem)
    elif shape is StackFile and "fact" in tables:
        tables["fact"] = with_fact_defaults(tables["fact"])
    # Facts that all stacks use must be open to anybody's check, a stack's own ones need not.
    read = read_own_reference if shape is StackFile else read_reference
    return Document(name, text, decode(shape, tables, TomlText(name, text), components, read))


def file_text(path: Path, name: str) -> str:
    """Return the text of a file, with the line ends that Python writes.

    Raises InputError, which calls the file by `name`.
    """
    try:
        content = files.read(path, LARGEST)
    except OSError as error:
        raise files.input_error(error, phrase("`{name}` cannot be read", name=name), name) from None
    return as_text(content, name)


def as_text(content: bytes, name: str) -> str:
    """Return the content of a file as text, like `file_text`. Raises InputError."""
    try:
        # Editors on Windows write a byte order mark.
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        what = phrase("`{name}` is not UTF-8", name=name)
        raise InputError(
            what, where=f"{name}:{line}", why=literal(error.reason), hint=_UTF_8
        ) from None
    return text.replace("\r\n", "\n")


def toml_tables(text: str, name: str, limits: toml.Limits = toml.IMPORTED) -> dict[str, Any]:
    """Return the tables of a TOML text.

    Raises InputError with file:line, also for a text that is beyond the limits.
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
        raise InputError(phrase("the file is not valid TOML"), where=where, why=why) from None
    except (ValueError, RecursionError):
        why = phrase("it is nested too deeply")
        raise InputError(phrase("the file cannot be read"), where=name, why=why) from None


def _with_defaults(table: Any, **defaults: Any) -> Any:
    """Return a table whose rows have these values, and its own `defaults`, unless they have others.

    What is no table or row is left for `decode` to refuse.
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
    """Return the tables of images.toml, whose rows have their components in a table of its own.

    What is no row is left for `decode` to refuse.
    """
    rows = tables.get("image")
    if not isinstance(rows, list):
        return tables
    own_keys = {field.encode_name for field in msgspec.structs.fields(Image)}
    images: list[Any] = []
    for row in rows:
        if isinstance(row, dict):
            system = {key: value for key, value in row.items() if key not in own_keys}
            row = {key: value for key, value in row.items() if key in own_keys}
            row["system"] = system
        images.append(row)
    return {**tables, "image": images}


def with_fact_defaults(table: Any) -> Any:
    """Return a stack's table of facts, with its `defaults` in each row that has no others."""
    return _with_defaults(table)


def load(stack: str, matrices: Path) -> Inputs:
    """Read a stack, given by name or by path, and the files that it uses.

    Raises InputError, with a suggestion if the name is close to a known one.
    """
    path = find_stack(stack, matrices)
    document = _read(path, StackFile, matrices, load_components(matrices))
    _require_own_name(document, path, matrices)
    return load_with(document, matrices)


def load_edited(stack: str, text: str, matrices: Path) -> Inputs:
    """Do what `load` does, with this text instead of the content of the stack's file.

    Raises InputError.
    """
    path = find_stack(stack, matrices)
    components = load_components(matrices)
    document = read_text(text, StackFile, _display(path, matrices), components)
    _require_own_name(document, path, matrices)
    return load_with(document, matrices)


def load_with(document: Document[StackFile], matrices: Path) -> Inputs:
    """Read the files that a stack uses. Raises InputError."""
    used, spare = _fact_paths(document, matrices)
    recorded = _list_files(matrices / "recorded")
    systems = load_systems(matrices)
    components = components_of(systems)
    return Inputs(
        stack=document,
        facts=tuple(_read(path, FactFile, matrices, components) for path in used),
        indexes=load_indexes(matrices),
        systems=systems,
        spare=tuple(_read(path, FactFile, matrices, components) for path in spare),
        readings=_digest(readings_folder(matrices), linkage_folder(matrices)),
        recorded=tuple(_read(path, RecordedFile, matrices) for path in recorded),
        variants=_read_optional("variants.toml", VariantsFile, matrices),
    )


def facts_used(inputs: Inputs, stack: StackFile) -> tuple[Document[FactFile], ...]:
    """Return the files of facts that a stack uses, which may name some of those left out."""
    names = stack.stack.facts or ()
    added = tuple(document for document in inputs.spare if _project(document) in names)
    return tuple(sorted(inputs.facts + added, key=_sort_key)) if added else inputs.facts


def _project(document: Document[FactFile]) -> str:
    """Return the project that a file of facts is named after."""
    return PurePosixPath(document.name).stem


def _sort_key(document: Document[FactFile]) -> tuple[bool, str]:
    """Sort files of facts by name, generated ones last."""
    return is_generated(document), document.name


def _read(
    path: Path, shape: type[Shape], matrices: Path, components: Components = BUILT_IN
) -> Document[Shape]:
    return read(path, shape, _display(path, matrices), components)


def _read_optional(name: str, shape: type[Shape], matrices: Path) -> Document[Shape] | None:
    path = matrices / name
    # A link that leads nowhere must not count as absent: without indexes.toml, projects would come
    # from other indexes.
    return _read(path, shape, matrices) if os.path.lexists(path) else None


def _require_own_name(document: Document[StackFile], path: Path, matrices: Path) -> None:
    """Raise InputError if another stack is named after its file, and this one has the same name.

    Both would have the same lock. Other stacks are those of `matrices`, and those beside the file.
    """
    name = document.content.stack.name
    if path.stem == name:
        return
    for folder in (matrices / "stacks", path.parent):
        other = folder / f"{name}.toml"
        if stack_name(other) == name and not path.samefile(other):
            raise InputError(
                phrase("two stacks have the name `{name}`", name=name),
                where=document.place("stack", "name"),
                why=phrase(
                    "the other is {path}, and a lock's folder is named after its stack",
                    path=_display(other, matrices),
                ),
                hint=literal(f'name = "{path.stem}"'),
            )


def stack_name(path: Path) -> str:
    """Return the name of the stack in a file; empty for a file that is none, or is not there.

    Whether the stack is valid does not matter.
    """
    try:
        tables = toml_tables(file_text(path, str(path)), str(path), toml.STACK)
    except InputError:
        return ""
    stack = tables.get("stack")
    name = stack.get("name") if isinstance(stack, dict) else None
    return name if isinstance(name, str) else ""


def readings_folder(matrices: Path) -> Path:
    """Return the folder of the shipped readings of source archives.

    `index/store/readings` reads it.
    """
    return matrices / "archives"


def wheels_folder(matrices: Path) -> Path:
    """Return the folder of the requirements of paired releases' wheels, which no lock uses.

    `index/store/readings` reads it.
    """
    return matrices / "wheels"


def linkage_folder(matrices: Path) -> Path:
    """Return the folder of what was read of wheels' binaries.

    `index/store/linkage_readings` reads it.
    """
    return matrices / "linkage"


def _digest(*folders: Path) -> str:
    """Return the sha256 of the names and contents of the JSON files in folders, in hex."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in _list_files(folder, ".json"):
            # Whoever needs the file reports that it cannot be read.
            with suppress(OSError):
                content = files.read(path)
                digest.update(f"{path.name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def load_facts(matrices: Path) -> tuple[Document[FactFile], ...]:
    """Read all files of facts, sorted by name, generated ones last. Raises InputError."""
    components = load_components(matrices)
    return tuple(_read(path, FactFile, matrices, components) for path in _all_fact_paths(matrices))


def _all_fact_paths(matrices: Path) -> list[Path]:
    """Return the files of facts, generated ones last.

    Of several builds of a release the last one counts, so a build written by hand replaces a
    generated one only by `over`.
    """
    return _list_files(matrices / "facts") + _list_files(generated_folder(matrices))


def _fact_paths(stack: Document[StackFile], matrices: Path) -> tuple[list[Path], list[Path]]:
    """Return the files of facts that the stack uses, and the other ones. Raises InputError."""
    folder = matrices / "facts"
    names = stack.content.stack.facts
    if names == ():
        return [], []
    if not folder.is_dir():
        raise InputError(
            phrase(
                "there is no folder `{folder}`, so nothing is known beyond the packages' own "
                "metadata",
                folder=folder,
            ),
            hint=phrase(
                "give the folder that has it with --matrices DIR, or use no facts in the "
                "stack: facts = []"
            ),
        )
    paths = _all_fact_paths(matrices)
    if names is None:
        return paths, []
    known = {path.stem for path in paths}
    for number, name in enumerate(names):
        if name not in known:
            raise stack.unknown(
                phrase("there is no facts file"), name, known, "stack", "facts", number
            )
    used = [path for path in paths if path.stem in names]
    spare = [path for path in paths if path.stem not in names]
    return used, spare


def generated_folder(matrices: Path) -> Path:
    """Return the folder of the facts that `ascend-lock facts import` makes."""
    return matrices / "facts" / GENERATED


def is_generated(document: Document[FactFile]) -> bool:
    """Return whether a file of facts was made from tables of upstream."""
    return PurePosixPath(document.name).parent.name == GENERATED


def load_indexes(matrices: Path) -> Document[IndexesFile] | None:
    """Read the indexes and their bindings; return None without the file. Raises InputError."""
    return _read_optional("indexes.toml", IndexesFile, matrices)


def load_systems(matrices: Path) -> Document[SystemsFile] | None:
    """Read the rows of components; return None without the file. Raises InputError."""
    return _read_optional("systems.toml", SystemsFile, matrices)


def components_of(systems: Document[SystemsFile] | None) -> Components:
    """Return the components of targets: of all, and those that a file has. Raises InputError."""
    return BUILT_IN if systems is None else compile_components(systems.content, systems)


def load_components(matrices: Path) -> Components:
    """Return the components of targets. Raises InputError."""
    return components_of(load_systems(matrices))


def load_images(matrices: Path) -> tuple[Image, ...]:
    """Read the images of `matrices`, in the order of the file; none without it.

    Raises InputError.
    """
    images = _read_optional("images.toml", ImagesFile, matrices)
    if images is None:
        return ()
    components = load_components(matrices)
    for number, image in enumerate(images.content.image):
        for name, value in image.system.items():
            if name not in components:
                what = phrase("there is no component")
                raise images.unknown(what, name, components, "image", number, name)
            images.parse(components[name].parse, value, "image", number, name)
    return images.content.image


def load_imports(matrices: Path) -> tuple[ImportRow, ...]:
    """Read what an import leaves out or replaces; nothing without imports.toml.

    Raises InputError.
    """
    document = _read_optional("imports.toml", ImportsFile, matrices)
    return () if document is None else document.content.left_out


def read_stack(name: str, matrices: Path) -> Document[StackFile]:
    """Read the file of a stack alone. Raises InputError."""
    return _read(find_stack(name, matrices), StackFile, matrices, load_components(matrices))


def shipped_stacks(matrices: Path) -> tuple[Document[StackFile], ...]:
    """Return the stacks of `matrices` that can be read, sorted by name. Raises InputError."""
    stacks = []
    for name in stack_names(matrices):
        # Whoever locks the stack is told what is wrong with it.
        with suppress(InputError):
            stacks.append(read_stack(name, matrices))
    return tuple(stacks)


def stack_names(matrices: Path) -> list[str]:
    """Return the names of the stacks in `matrices`, sorted. Raises InputError."""
    return [path.stem for path in _list_files(matrices / "stacks") if not path.is_dir()]


def own_stack_names(matrices: Path) -> list[str]:
    """Return the names by which `find_stack` finds the stacks of the current folder, sorted.

    One that has the name of a stack of `matrices` is named by its file.
    """
    names = []
    # A folder that cannot be listed has no stacks, as for a shell.
    with suppress(InputError):
        for path in _list_files(Path()):
            shared = matrices / "stacks" / path.name
            is_hidden = os.path.lexists(shared)
            if (is_hidden and path.samefile(shared)) or not stack_name(path):
                continue
            names.append(path.name if is_hidden else path.stem)
    return names


def find_stack(stack: str, matrices: Path) -> Path:
    """Return the file of a stack, given by a path that ends in .toml, or by name.

    A name stands for a file of `matrices` or else of the current folder. Raises InputError.
    """
    _require_no_requirements(Path(stack))
    if stack.endswith(".toml") or os.sep in stack:
        return _find_by_path(Path(stack), stack, matrices)
    path = matrices / "stacks" / f"{stack}.toml"
    # A broken link counts: the error of reading it says what is wrong.
    if os.path.lexists(path):
        return path
    local_path = Path(f"{stack}.toml")
    if local_path.is_file():
        return local_path
    if not matrices.is_dir():
        hint = phrase("give the folder of facts and stacks with --matrices DIR")
        raise InputError(phrase("there is no folder `{matrices}`", matrices=matrices), hint=hint)
    known = [*own_stack_names(matrices), *stack_names(matrices)]
    all_names = phrase("known stacks are {names}", names=", ".join(known))
    if not known:
        all_names = phrase("it has none: give another folder with --matrices DIR")
    hint = did_you_mean(stack, known, all_names, cutoff=0.5)
    where = _display(matrices / "stacks", matrices)
    raise InputError(phrase("there is no stack `{stack}`", stack=stack), where=where, hint=hint)


def _require_no_requirements(path: Path) -> None:
    """Raise InputError if a path is a file of another tool, of which a stack can be made."""
    is_foreign = path.suffix in _FOREIGN or _FOREIGN_TOML.fullmatch(path.name)
    if is_foreign and path.is_file():
        raise InputError(
            phrase("`{path}` is no stack; one can be made of it", path=path),
            where=str(path),
            hint=literal(f"ascend-lock import {shlex.quote(str(path))}"),
        )


def _find_by_path(path: Path, given: str, matrices: Path) -> Path:
    """Return the path if it is a file. Raises InputError that names it as it was given."""
    if path.is_file():
        return path
    known = [*own_stack_names(matrices), *stack_names(matrices)]
    hint = did_you_mean(path.stem, known, phrase("give a path to a .toml file"))
    stack, _, target = given.partition(os.sep)
    if stack in known and target:
        option = f"{stack} --target {shlex.quote(target)}"
        hint = phrase("a target or a group is named so: {option}", option=option)
    neighbours = [neighbour.name for neighbour in _list_files(path.parent)]
    hint = did_you_mean(path.name, neighbours, hint)
    raise InputError(
        phrase("there is no stack file `{given}`", given=given), where=given, hint=hint
    )


def _list_files(folder: Path, ending: str = ".toml") -> list[Path]:
    """Return the files in a folder whose names end so, sorted.

    Raises InputError if it cannot be listed.
    """
    try:
        return files.list_files(folder, ending)
    except OSError as error:
        raise files.input_error(error, phrase("a folder cannot be listed"), folder) from None


def _display(path: Path, matrices: Path) -> str:
    """Return the path to show to people: matrices/facts/vllm.toml.

    It depends neither on the current folder nor on the locale.
    """
    try:
        shown = Path("matrices") / path.relative_to(matrices)
    except ValueError:
        shown = path
    # The name of a file may be in another encoding.
    with suppress(UnicodeDecodeError):
        return os.fsencode(shown).decode()
    return str(shown)
