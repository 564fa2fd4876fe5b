"""Functions that find and read the files of `matrices/`: stacks, facts, indexes, systems, images.

`matrices` in arguments is the path of this folder. The commands pass the results to `compile`.
"""

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
    CondaRow,
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
from resolver.model.slips import toml_hint
from resolver.model.target import Image
from resolver.phrase import Phrase, as_phrase, cause, literal, phrase
from resolver.redaction import without_users

Shape = TypeVar("Shape", bound=msgspec.Struct)

# The folder in matrices/facts with the facts that `ascend-lock facts import` writes.
GENERATED: Final = "generated"
# The largest file that is read, in bytes.
LARGEST: Final = 8 * 1024 * 1024
# The endings of requirements files and environments of other tools.
_FOREIGN: Final = (".txt", ".in", ".yml", ".yaml", ".lock")
# The names of TOML files of other tools.
_FOREIGN_TOML: Final = re.compile(r"(pyproject|pylock(\.[^.]+)?)\.toml")
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


class Inputs(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The files from which the problems of a stack are made."""

    # The file of the stack.
    stack: Document[StackFile]
    # The files of facts that the stack uses: written ones, then generated ones, sorted by name.
    facts: tuple[Document[FactFile], ...]
    # indexes.toml; None if there is none.
    indexes: Document[IndexesFile] | None
    # systems.toml; None if there is none.
    systems: Document[SystemsFile] | None
    # The files of facts that the stack does not use, since it names others.
    spare: tuple[Document[FactFile], ...] = ()
    # The sha256 of the recorded requirements and binaries of archives and wheels; may be empty.
    readings: str = ""
    # The files of matrices/recorded/, one for each index.
    recorded: tuple[Document[RecordedFile], ...] = ()
    # variants.toml; None if there is none.
    variants: Document[VariantsFile] | None = None

    @cached_property
    def components(self) -> Components:
        """Return the components that targets can have, by name. Raises InputError."""
        return components_of(self.systems)


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
    read = read_own_reference if shape is StackFile else read_reference
    return Document(name, text, decode(shape, tables, TomlText(name, text), components, read))


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
        line = text.split("\n")[error.lineno - 1]
        hint = toml_hint(line, error.colno)
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


def load(stack: str, matrices: Path) -> Inputs:
    """Read a stack and the files that it uses.

    `stack` is a name or a path. Raises InputError, with a suggestion if the name is similar to a
    known one.
    """
    path = find_stack(stack, matrices)
    document = _read(path, StackFile, matrices, load_components(matrices))
    _require_own_name(document, path, matrices)
    return load_with(document, matrices)


def load_edited(stack: str, text: str, matrices: Path) -> Inputs:
    """Read a stack as `load` does, but take `text` instead of the content of the stack's file.

    Raises InputError.
    """
    path = find_stack(stack, matrices)
    components = load_components(matrices)
    document = read_text(text, StackFile, _display(path, matrices), components)
    _require_own_name(document, path, matrices)
    return load_with(document, matrices)


def load_with(document: Document[StackFile], matrices: Path) -> Inputs:
    """Read the files that a stack uses, given the stack itself. Raises InputError."""
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
    """Return the files of facts that a changed stack uses.

    `inputs` are the files of the original stack. The changed stack may name files that the original
    one does not use.
    """
    names = stack.stack.facts or ()
    added = tuple(document for document in inputs.spare if _project(document) in names)
    return tuple(sorted(inputs.facts + added, key=_sort_key)) if added else inputs.facts


def _project(document: Document[FactFile]) -> str:
    """Return the project that gives a file of facts its name."""
    return PurePosixPath(document.name).stem


def _sort_key(document: Document[FactFile]) -> tuple[bool, str]:
    """Return the sort key of a file of facts: by name, generated files last."""
    return is_generated(document), document.name


def _read(
    path: Path, shape: type[Shape], matrices: Path, components: Components = BUILT_IN
) -> Document[Shape]:
    """Read a TOML file of `matrices` into a type of `schema`. Raises InputError."""
    return read(path, shape, _display(path, matrices), components)


def _read_optional(name: str, shape: type[Shape], matrices: Path) -> Document[Shape] | None:
    """Read a file of `matrices`; return None if it does not exist. Raises InputError."""
    path = matrices / name
    # A broken link must be an error: if it counted as a missing indexes.toml, projects would be
    # taken from other indexes.
    return _read(path, shape, matrices) if os.path.lexists(path) else None


def _require_own_name(document: Document[StackFile], path: Path, matrices: Path) -> None:
    """Raise InputError if another stack has the same name, and its file is named after it.

    The locks of both stacks would be in the same folder. The stacks in `matrices` and in the folder
    of the file are compared. A stack whose own file has its name is never refused.
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
    """Return the name of the stack in a file, even if the stack is not valid.

    Empty if the file cannot be read, or contains no stack.
    """
    try:
        tables = toml_tables(file_text(path, str(path)), str(path), toml.STACK)
    except InputError:
        return ""
    stack = tables.get("stack")
    name = stack.get("name") if isinstance(stack, dict) else None
    return name if isinstance(name, str) else ""


def readings_folder(matrices: Path) -> Path:
    """Return the folder with the recorded requirements of source archives.

    `index/store/readings` reads it.
    """
    return matrices / "archives"


def wheels_folder(matrices: Path) -> Path:
    """Return the folder with the recorded requirements of the wheels of paired releases.

    No lock depends on it. `index/store/readings` reads it.
    """
    return matrices / "wheels"


def linkage_folder(matrices: Path) -> Path:
    """Return the folder with the recorded linkage of wheels (see `model/linkage`).

    `index/store/linkage_readings` reads it.
    """
    return matrices / "linkage"


def _digest(*folders: Path) -> str:
    """Return the sha256 of the names and contents of the JSON files in folders, in hex."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in _list_files(folder, ".json"):
            # A file that cannot be read is reported where its content is needed.
            with suppress(OSError):
                content = files.read(path)
                digest.update(f"{path.name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def load_facts(matrices: Path) -> tuple[Document[FactFile], ...]:
    """Read all files of facts of `matrices`, sorted by name, generated files last.

    Raises InputError.
    """
    components = load_components(matrices)
    return tuple(_read(path, FactFile, matrices, components) for path in _all_fact_paths(matrices))


def _all_fact_paths(matrices: Path) -> list[Path]:
    """Return the paths of all files of facts, sorted by name, generated files last.

    If several `builds` facts are about a release, the last one counts, which is a generated one. A
    fact that was written by hand must replace it with the key `over`.
    """
    return _list_files(matrices / "facts") + _list_files(generated_folder(matrices))


def _fact_paths(stack: Document[StackFile], matrices: Path) -> tuple[list[Path], list[Path]]:
    """Return the files of facts that a stack uses, and then all others.

    A stack with `facts = []` uses none, and then no others are returned either. Raises InputError
    if the stack names a file that does not exist.
    """
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
    """Return the folder of the facts that `ascend-lock facts import` writes."""
    return matrices / "facts" / GENERATED


def is_generated(document: Document[FactFile]) -> bool:
    """Return whether a file of facts was written by `ascend-lock facts import`."""
    return PurePosixPath(document.name).parent.name == GENERATED


def load_indexes(matrices: Path) -> Document[IndexesFile] | None:
    """Read indexes.toml; return None if there is no such file. Raises InputError."""
    return _read_optional("indexes.toml", IndexesFile, matrices)


def load_systems(matrices: Path) -> Document[SystemsFile] | None:
    """Read systems.toml; return None if there is no such file. Raises InputError."""
    return _read_optional("systems.toml", SystemsFile, matrices)


def components_of(systems: Document[SystemsFile] | None) -> Components:
    """Return the components that targets can have, by name: built-in ones and ones of a file.

    Raises InputError.
    """
    return BUILT_IN if systems is None else compile_components(systems.content, systems)


def load_components(matrices: Path) -> Components:
    """Read the components that targets can have, by name. Raises InputError."""
    return components_of(load_systems(matrices))


def load_images(matrices: Path) -> tuple[Image, ...]:
    """Read the container images of images.toml, in the order of the file.

    There are none if the file does not exist. Raises InputError.
    """
    images = _read_optional("images.toml", ImagesFile, matrices)
    if images is None:
        return ()
    components = load_components(matrices)
    for number, image in enumerate(images.content.image):
        for name, value in image.system.items():
            if name not in components:
                complaint = phrase("there is no component")
                raise images.unknown(complaint, name, components, "image", number, name)
            images.parse(components[name].parse, value, "image", number, name)
    return images.content.image


def load_imports(matrices: Path) -> tuple[ImportRow, ...]:
    """Read the projects that an import leaves out or replaces, from imports.toml.

    There are none if the file does not exist. Raises InputError.
    """
    document = _read_optional("imports.toml", ImportsFile, matrices)
    return () if document is None else document.content.left_out


def load_conda(matrices: Path) -> tuple[CondaRow, ...]:
    """Read which packages of conda have another name or are no projects, from imports.toml.

    There are none if the file does not exist. Raises InputError.
    """
    document = _read_optional("imports.toml", ImportsFile, matrices)
    return () if document is None else document.content.conda


def read_stack(name: str, matrices: Path) -> Document[StackFile]:
    """Read the file of a stack, without the other files that it uses. Raises InputError."""
    return _read(find_stack(name, matrices), StackFile, matrices, load_components(matrices))


def shipped_stacks(matrices: Path) -> tuple[Document[StackFile], ...]:
    """Read all stacks of `matrices`, sorted by name. A stack that is not valid is left out.

    Raises InputError if the folder cannot be listed.
    """
    stacks = []
    for name in stack_names(matrices):
        # The error is shown when somebody locks the stack.
        with suppress(InputError):
            stacks.append(read_stack(name, matrices))
    return tuple(stacks)


def stack_names(matrices: Path) -> list[str]:
    """Return the names of the stacks in `matrices`, sorted. Raises InputError."""
    return [path.stem for path in _list_files(matrices / "stacks") if not path.is_dir()]


def own_stack_names(matrices: Path) -> list[str]:
    """Return the names by which `find_stack` finds the stacks of the current folder, sorted.

    They are names of files without `.toml`. If `matrices` has a stack of the same name, the ending
    is kept, since the name alone would mean the stack of `matrices`.
    """
    names = []
    # A folder that cannot be listed counts as empty.
    with suppress(InputError):
        for path in _list_files(Path()):
            shared = matrices / "stacks" / path.name
            is_hidden = os.path.lexists(shared)
            if (is_hidden and path.samefile(shared)) or not stack_name(path):
                continue
            names.append(path.name if is_hidden else path.stem)
    return names


def find_stack(stack: str, matrices: Path) -> Path:
    """Return the path of a stack's file.

    `stack` is a path, if it ends in .toml or contains a slash, or else a name. A name means a file
    in matrices/stacks, or else in the current folder. Raises InputError, with a hint, if there is
    no such file, or if it is a requirements file.
    """
    _require_no_requirements(Path(stack))
    if stack.endswith(".toml") or os.sep in stack:
        return _find_by_path(Path(stack), stack, matrices)
    path = matrices / "stacks" / f"{stack}.toml"
    # A broken link counts as a file: the error of reading it says what is wrong.
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
    if Path(stack).is_file():
        hint = phrase("the name of a stack's file ends in .toml")
    elif Path(stack).with_suffix(".toml").is_file():
        hint = phrase("did you mean `{name}`?", name=Path(stack).with_suffix(".toml"))
    where = _display(matrices / "stacks", matrices)
    raise InputError(phrase("there is no stack `{stack}`", stack=stack), where=where, hint=hint)


def _require_no_requirements(path: Path) -> None:
    """Raise InputError if a path is a file of another tool, which `import` can make a stack of."""
    is_foreign = path.suffix in _FOREIGN or _FOREIGN_TOML.fullmatch(path.name)
    if is_foreign and path.is_file():
        raise InputError(
            phrase("`{path}` is no stack; one can be made of it", path=path),
            where=str(path),
            hint=literal(f"ascend-lock import {shlex.quote(str(path))}"),
        )


def _find_by_path(path: Path, given: str, matrices: Path) -> Path:
    """Return a path if a file has it, and raise InputError otherwise.

    `given` is the text that the user wrote.
    """
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
    """Return the files in a folder whose names have an ending, sorted.

    There are none if the folder does not exist. Raises InputError if it cannot be listed.
    """
    try:
        return files.list_files(folder, ending)
    except OSError as error:
        raise files.input_error(error, phrase("a folder cannot be listed"), folder) from None


def _display(path: Path, matrices: Path) -> str:
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
