"""Which stacks and facts files exist, without reading them."""

from __future__ import annotations

from pathlib import Path

from resolver import files


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
