"""The entry to the readers of other tools' files: the name of a file decides its format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from packaging.pylock import is_valid_pylock_path

from resolver.config.lines import TomlText
from resolver.config.requirement_files.environment_yml import read_environment
from resolver.config.requirement_files.file_requirements import (
    PYTHONS,
    FileRequirements,
    require_known,
)
from resolver.config.requirement_files.folder_bounds import FolderBounds
from resolver.config.requirement_files.pylock import read_pylock
from resolver.config.requirement_files.pyproject import read_pyproject
from resolver.config.requirement_files.refused import require_readable
from resolver.config.requirement_files.requirements_txt import RequirementsFiles
from resolver.model.target import Platform
from resolver.phrase import phrase


def read_requirements(
    path: Path,
    *,
    python: str,
    platform: Platform,
    extras: Sequence[str],
    groups: Sequence[str],
    root: Path | None,
) -> FileRequirements:
    """Return the requirements in a file of another tool.

    The name decides the format. A name of no known format means a requirements file. `python` is
    the Python of the target; empty to take it from the file. `extras` and `groups` name the
    extras and groups of a pyproject.toml or pylock.toml whose requirements are wanted as well.
    `platform` decides what a pylock.toml installs. No file outside of the folder `root` is read;
    without `root`, outside of the file's own folder. Raises InputError.
    """
    result = FileRequirements(python)
    with FolderBounds(path, root) as bounds:
        _read_into(result, path, bounds, platform, extras, groups)
    result.python = result.python or PYTHONS[0]
    return result


def _read_into(
    result: FileRequirements,
    path: Path,
    bounds: FolderBounds,
    platform: Platform,
    extras: Sequence[str],
    groups: Sequence[str],
) -> None:
    """Add the requirements in a file to `result`. The name decides the format.

    Raises InputError.
    """
    name = str(path)
    require_readable(path.name, name)
    if path.suffix == ".toml":
        document = TomlText(name, bounds.text(bounds.inside(path, name), name, name))
        if is_valid_pylock_path(path):
            read_pylock(document, result, platform, extras, groups)
        else:
            read_pyproject(document, result, extras, groups)
    else:
        require_known(phrase("extra"), extras, (), name)
        require_known(phrase("dependency group"), groups, (), name)
        if path.suffix in (".yml", ".yaml"):
            read_environment(path, result, bounds)
        else:
            RequirementsFiles(result, bounds).read(path, result.lines)
