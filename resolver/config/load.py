"""Finding and reading the files of `matrices/`: stacks, facts, indexes, systems, base images."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

import msgspec
from msgspec.structs import replace

from resolver import files
from resolver.config import schema
from resolver.config.document import Document, Shape, read
from resolver.errors import InputError
from resolver.model.component import parse_value
from resolver.model.target import Image
from resolver.suggestions import closest, did_you_mean


def toml_files(folder: Path) -> list[Path]:
    """The TOML files in a folder, sorted. Raises InputError where it cannot be listed: it may have some."""
    return files_ending(folder, ".toml")


def files_ending(folder: Path, ending: str) -> list[Path]:
    """The files in a folder whose names end so, sorted. Raises InputError like `toml_files`."""
    try:
        return files.listed(folder, ending)
    except OSError as error:
        raise files.refusal(error, "a folder cannot be listed", folder) from None


def stack_names(matrices: Path) -> list[str]:
    """The names of the stacks in `matrices`, sorted. Raises InputError."""
    return [path.stem for path in toml_files(matrices / "stacks") if not path.is_dir()]


class Inputs(msgspec.Struct, frozen=True):
    """Every file that a stack's problems are made from. `facts` are sorted by name.

    Not used for the problems themselves: `spare`, the facts that the stack leaves out by naming others, and `replaced`,
    the indexes.toml that its own list replaces. `readings` is the digest of the shipped readings of archives, ""
    without any.
    """

    stack: Document[schema.StackFile]
    facts: tuple[Document[schema.FactFile], ...]
    indexes: Document[schema.IndexesFile] | None
    systems: Document[schema.SystemsFile] | None
    spare: tuple[Document[schema.FactFile], ...] = ()
    replaced: Document[schema.IndexesFile] | None = None
    readings: str = ""


def load(stack: str, matrices: Path) -> Inputs:
    """Read a stack, given by name or by path, and the files that it uses.

    Raises InputError, with a suggestion if the name is close to a known one.
    """
    path = find_stack(stack, matrices)
    document = _read(path, schema.StackFile, matrices)
    _require_own_name(document, path, matrices)
    wanted = document.content.stack.facts
    facts: tuple[Document[schema.FactFile], ...] = ()
    spare: tuple[Document[schema.FactFile], ...] = ()
    if wanted is None or wanted:
        _require_folder(matrices)
        if not (matrices / "facts").is_dir():
            raise InputError(
                f"there is no folder `{matrices / 'facts'}`, so nothing is known beyond the packages' own metadata",
                hint="give the folder that has it with --matrices DIR, or use no facts in the stack: facts = []",
            )
        paths = _fact_paths(document, matrices)
        facts = tuple(_read(path, schema.FactFile, matrices) for path in paths)
        if wanted:
            others = sorted(set(toml_files(matrices / "facts")) - set(paths))
            spare = tuple(_read(path, schema.FactFile, matrices) for path in others)
    indexes = _read_optional("indexes.toml", schema.IndexesFile, matrices)
    systems = _read_optional("systems.toml", schema.SystemsFile, matrices)
    own = document.content.index is not None or document.content.binding is not None
    readings = _digest(readings_folder(matrices))
    return Inputs(document, facts, None if own else indexes, systems, spare, indexes if own else None, readings)


def _read(path: Path, shape: type[Shape], matrices: Path) -> Document[Shape]:
    return read(path, shape, _display(path, matrices))


def _read_optional(name: str, shape: type[Shape], matrices: Path) -> Document[Shape] | None:
    path = matrices / name
    # what a link that leads nowhere stands for must not count as absent: projects would come from other indexes
    return _read(path, shape, matrices) if os.path.lexists(path) else None


def _require_own_name(document: Document[schema.StackFile], path: Path, matrices: Path) -> None:
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
    """The folder of the readings of source archives that ship with the facts (see `index.store.readings`)."""
    return matrices / "archives"


def _digest(folder: Path) -> str:
    found = hashlib.sha256()
    for path in files_ending(folder, ".json"):
        with suppress(OSError):  # reported by whoever needs the file
            content = path.read_bytes()
            found.update(f"{path.name}\0{len(content)}\0".encode() + content)
    return found.hexdigest()


def with_stack(inputs: Inputs, stack: Document[schema.StackFile]) -> Inputs:
    """The same files with another stack, which may use facts that were spare."""
    wanted = set(stack.content.stack.facts or ())
    fresh = tuple(one for one in inputs.spare if PurePosixPath(one.name).stem in wanted)
    facts = tuple(sorted((*inputs.facts, *fresh), key=lambda one: one.name)) if fresh else inputs.facts
    return replace(inputs, stack=stack, facts=facts, spare=tuple(one for one in inputs.spare if one not in fresh))


def read_stack(name: str, matrices: Path) -> Document[schema.StackFile]:
    """Only the file of a stack, without the files that it uses."""
    path = find_stack(name, matrices)
    return _read(path, schema.StackFile, matrices)


def find_stack(stack: str, matrices: Path) -> Path:
    """The file of a stack given by name, or by a path that ends in .toml."""
    if stack.endswith(".toml") or os.sep in stack:
        path = Path(stack)
        if not path.is_file():
            what = f"`{stack}` is a folder" if path.is_dir() else f"there is no stack file `{stack}`"
            raise InputError(what, where=stack, hint=_near(path, matrices))
        return path
    path = matrices / "stacks" / f"{stack}.toml"
    if path.is_dir():
        raise InputError(f"`{stack}.toml` is a folder", where=_display(path, matrices), hint="a stack is a file")
    if os.path.lexists(path):  # whoever reads it reports what is wrong with it
        return path
    _require_folder(matrices)
    known = stack_names(matrices)
    hint = f"known stacks are {', '.join(known)}" if known else "it has none: give another folder with --matrices DIR"
    hint = did_you_mean(stack, known, hint, cutoff=0.5)
    if Path(f"{stack}.toml").is_file():
        hint = f"did you mean `{stack}.toml`?"
    raise InputError(f"there is no stack `{stack}`", where=_display(matrices / "stacks", matrices), hint=hint)


def _near(path: Path, matrices: Path) -> str:
    """A hint for a path without a file: the stack or the neighbouring file that was probably meant."""
    if path.stem in stack_names(matrices):
        return f"did you mean the stack `{path.stem}`?"
    beside = [] if path.is_dir() or not path.parent.is_dir() else [one.stem for one in toml_files(path.parent)]
    close = closest(path.stem, beside)
    return f"did you mean `{path.with_name(close + '.toml')}`?" if close else "give a path to a .toml file"


def _fact_paths(stack: Document[schema.StackFile], matrices: Path) -> Sequence[Path]:
    folder = matrices / "facts"
    names = stack.content.stack.facts
    if names is None:
        return toml_files(folder)
    paths = []
    for number, name in enumerate(names):
        path = folder / f"{name}.toml"
        if not path.is_file() or Path(name).name != name:
            known = (path.stem for path in toml_files(folder))
            raise InputError(
                f"there is no facts file `{name}`",
                where=stack.place("stack", "facts", number),
                hint=did_you_mean(name, known, f"facts are looked up in {_display(folder, matrices)}"),
            )
        paths.append(path)
    return sorted(set(paths))


def _require_folder(matrices: Path) -> None:
    if not matrices.is_dir():
        raise InputError(
            f"there is no folder `{matrices}`",
            hint="run inside the project's folder, or give the folder of facts and stacks with --matrices DIR",
        )


def _display(path: Path, matrices: Path) -> str:
    """The path to show to people, independent of the current folder and of the locale: matrices/facts/vllm.toml."""
    try:
        told = Path("matrices") / path.relative_to(matrices)
    except ValueError:
        told = path
    with suppress(UnicodeDecodeError):  # a file that was named in another encoding
        return os.fsencode(told).decode()
    return str(told)


def load_images(matrices: Path) -> tuple[Image, ...]:
    """The images of `matrices`, in the order of the file; none if there is no such file."""
    path = matrices / "images.toml"
    if not path.exists():
        return ()
    document = read(path, schema.ImagesFile, "matrices/images.toml")
    defaults = document.content.defaults
    images = []
    for number, row in enumerate(document.content.image):
        for key in ("cann", "soc", "python", "glibc"):
            document.parse(lambda text, key=key: parse_value(key, text), getattr(row, key), "image", number, key)  # type: ignore[misc]
        source = row.source or defaults.source
        if source is None:
            raise InputError(
                "the image has no `source`", where=document.place("image", number), hint="say where it comes from"
            )
        images.append(
            Image(name=row.name, cann=row.cann, soc=row.soc, python=row.python, glibc=row.glibc, source=source)
        )
    return tuple(images)
