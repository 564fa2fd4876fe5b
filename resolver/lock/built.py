"""Read wheels that `install.sh --build-wheels` built on a machine, and put them into a bundle."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import msgspec

from resolver import files
from resolver.errors import InputError
from resolver.lock import bundle
from resolver.owned_folder import OwnedFolder
from resolver.phrase import literal, phrase
from resolver.verify.built import BUILT_FILE, built_text, parse_built
from resolver.verify.findings import UnreadableError

# The folder of a bundle in which install.sh looks for wheels that were built.
FOLDER: Final = "built"
TEXT_PATH: Final = f"{FOLDER}/{BUILT_FILE}"
_HINT = phrase("make the folder on a node: install.sh --build-wheels DIR")


class BuiltWheel(msgspec.Struct, frozen=True):
    """A wheel that install.sh built from a source archive or commit of a lock."""

    # The path of the wheel in the folder that has built.toml.
    file: str
    sha256: str
    # A digest of everything that determines the build: the source, the tools and the variables.
    key: str
    # Its table in built.toml, which also says on which machine and with which tools it was built.
    row: Mapping[str, Any]

    @property
    def path(self) -> str:
        """Return the path of the wheel in a bundle."""
        return f"{FOLDER}/{self.file}"


def read_built(folder: OwnedFolder) -> list[BuiltWheel]:
    """Return the wheels that the built.toml of a folder lists; none if it has no such file.

    Raises InputError if built.toml is invalid.
    """
    path = str(folder.path / BUILT_FILE)
    try:
        rows = parse_built(folder.read(BUILT_FILE, files.LARGEST).decode(), path)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except UnreadableError as error:
        error_message = phrase("the list of built wheels cannot be read")
        raise InputError(
            error_message, where=path, why=literal(error.values["why"]), hint=_HINT
        ) from None
    except (OSError, ValueError) as error:
        error_message = phrase("the list of built wheels cannot be read")
        raise files.input_error(error, error_message, path, _HINT) from None
    return [msgspec.convert({**row, "row": row}, BuiltWheel) for row in rows]


def require_whole(wheels: Iterable[BuiltWheel], folder: OwnedFolder) -> None:
    """Raise InputError if a wheel is missing in a folder, or differs from its sha256."""
    for wheel in wheels:
        if bundle.sha256_of(folder, wheel.file) != wheel.sha256:
            raise _changed(wheel, folder)


def _changed(wheel: BuiltWheel, folder: OwnedFolder) -> InputError:
    """Return the error for a wheel that is missing in a folder, or differs from its sha256."""
    return InputError(
        phrase("`{file}` is missing, or was changed after it was built", file=wheel.file),
        where=str(folder.path),
        hint=_HINT,
    )


def copy(wheels: Iterable[BuiltWheel], source: OwnedFolder, folder: OwnedFolder) -> None:
    """Copy wheels from the folder `source` to their places in the bundle `folder`.

    Raises InputError if the disk fails, or if a wheel was changed since `require_whole`.
    """
    try:
        for wheel in wheels:
            digest = hashlib.sha256()
            with source.open_file(wheel.file) as content, folder.writing(wheel.path) as file:
                while chunk := content.read(files.MIB):
                    digest.update(chunk)
                    file.write(chunk)
                if digest.hexdigest() != wheel.sha256:
                    raise _changed(wheel, source)
    except OSError as error:
        raise bundle.write_error(error, folder) from None


def text_of(wheels: Iterable[BuiltWheel], paths: Collection[str]) -> str:
    """Return the text of a built.toml with the wheels whose path in a bundle is in `paths`."""
    rows = {wheel.file: wheel.row for wheel in wheels if wheel.path in paths}
    return built_text(rows[file] for file in sorted(rows))
