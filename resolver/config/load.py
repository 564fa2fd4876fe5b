"""Functions that read the files of `matrices/`: stacks, facts, indexes, systems, images.

`matrices` in arguments is the path of this folder. The commands pass the results to `compile`.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from resolver import files
from resolver.config.components import compile_components
from resolver.config.find_stack import find_stack, stack_name, stack_names
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
from resolver.config.toml_files import Document, Shape, display_name, list_files, read, read_text
from resolver.errors import InputError
from resolver.model.component import BUILT_IN, Components
from resolver.model.target import Image
from resolver.phrase import phrase

# The folder in matrices/facts with the facts that `ascend-lock facts import` writes.
GENERATED: Final = "generated"


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
    document = read_text(text, StackFile, display_name(path, matrices), components)
    _require_own_name(document, path, matrices)
    return load_with(document, matrices)


def load_with(document: Document[StackFile], matrices: Path) -> Inputs:
    """Read the files that a stack uses, given the stack itself. Raises InputError."""
    used, spare = _fact_paths(document, matrices)
    recorded = list_files(matrices / "recorded")
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
    return read(path, shape, display_name(path, matrices), components)


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
                    path=display_name(other, matrices),
                ),
                hint=phrase("write {line}", line=f'name = "{path.stem}"'),
            )


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
        for path in list_files(folder, ".json"):
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
    return list_files(matrices / "facts") + list_files(generated_folder(matrices))


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
