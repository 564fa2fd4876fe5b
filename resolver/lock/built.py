"""Wheels that install.sh built with `--build-wheels`, to be put into a bundle."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import msgspec

from resolver import files
from resolver.errors import InputError
from resolver.lock import bundle
from resolver.owned_folder import OwnedFolder
from resolver.verify.built import BUILT_FILE, built_text, parse_built
from resolver.verify.findings import UnreadableError

# The folder of a bundle in which install.sh looks for such wheels.
FOLDER: Final = "built"
TEXT_PATH: Final = f"{FOLDER}/{BUILT_FILE}"
_HINT = "make the folder on a node: install.sh --build-wheels DIR"


class BuiltWheel(msgspec.Struct, frozen=True):
    """A wheel that was built from what a lock names."""

    # Its name in the folder.
    file: str
    sha256: str
    # The digest of all that determines the build.
    key: str
    # The row of built.toml, which also says where and with what it was built.
    row: Mapping[str, Any]

    @property
    def path(self) -> str:
        """Return its path in a bundle."""
        return f"{FOLDER}/{self.file}"


def read_built(folder: OwnedFolder) -> list[BuiltWheel]:
    """Return the wheels in a folder, none if it has no built.toml. Raises InputError."""
    path = str(folder.path / BUILT_FILE)
    try:
        text = folder.read(BUILT_FILE, files.LARGEST).decode()
        rows = list(parse_built(text, path))
        wheels = []
        for row in rows:
            wheel = msgspec.convert({**row, "row": row}, BuiltWheel)
            if "/" in wheel.file or not bundle.is_inside(wheel.file):
                raise ValueError(f"`{wheel.file}` is not the name of a file in the folder")
            wheels.append(wheel)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except UnreadableError as error:
        what = "the list of built wheels cannot be read"
        raise InputError(what, where=path, why=error.values["why"], hint=_HINT) from None
    except (OSError, ValueError) as error:
        what = "the list of built wheels cannot be read"
        raise files.input_error(error, what, path, _HINT) from None
    return wheels


def require_whole(wheels: Iterable[BuiltWheel], folder: OwnedFolder) -> None:
    """Raise InputError if a wheel is not in the folder as it was built."""
    for wheel in wheels:
        if bundle.sha256_of(folder, wheel.file) != wheel.sha256:
            raise InputError(
                f"`{wheel.file}` is missing, or was changed after it was built",
                where=str(folder.path),
                hint=_HINT,
            )


def copy(wheels: Iterable[BuiltWheel], source: OwnedFolder, folder: OwnedFolder) -> None:
    """Copy wheels to their place in a bundle. Raises InputError if the disk refuses."""
    try:
        for wheel in wheels:
            with source.open_file(wheel.file) as content, folder.writing(wheel.path) as file:
                while chunk := content.read(files.MIB):
                    file.write(chunk)
    except OSError as error:
        raise bundle.write_error(error, folder) from None


def text_of(wheels: Iterable[BuiltWheel], paths: Collection[str]) -> str:
    """Return the text of built.toml for the wheels with these paths in a bundle."""
    rows = {wheel.file: wheel.row for wheel in wheels if wheel.path in paths}
    return built_text(rows[file] for file in sorted(rows))
