"""Which stacks and facts files exist, without reading them."""

from __future__ import annotations

from pathlib import Path

from resolver.disk import advice
from resolver.errors import InputError


def stack_names(matrices: Path) -> list[str]:
    """The names of the stacks in `matrices`, sorted. Raises InputError if the folder cannot be listed."""
    return [path.stem for path in toml_files(matrices / "stacks") if not path.is_dir()]


def toml_files(folder: Path) -> list[Path]:
    """The paths in a folder that end in .toml, sorted; none if there is no such folder.

    Raises InputError if it cannot be listed: `Path.glob` would find nothing in it, as if there were no facts.
    """
    try:
        return sorted(path for path in folder.iterdir() if path.name.endswith(".toml"))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise InputError(
            "a folder cannot be listed",
            where=str(folder),
            why=error.strerror or str(error),
            hint=advice(error.errno),
        ) from None
