"""`ascend-lock cache dir|size|clear`: find, measure and empty the cache."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from resolver.cli.commands import list_commands
from resolver.cli.common import Group
from resolver.cli.console import print_line
from resolver.cli.options import Settings, settings
from resolver.index.repositories import Repositories
from resolver.index.store.cache import Cache, default_folder


@click.group("cache", cls=Group, invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> int:
    """Say where the cache is and how large, or empty it."""
    return list_commands(context)


@command.command("dir")
def folder() -> int:
    """Print the folder of the cache."""
    print_line(str(default_folder()))
    return 0


@command.command("size")
def size() -> int:
    """Print how much the cache takes on the disk."""
    print_line(f"{_size(default_folder()) / 1e6:.1f} MB")
    return 0


@command.command("clear")
@settings()
def clear(run: Settings) -> int:
    """Empty the cache: pages, metadata, results and repositories.

    What others have put into the folder stays.
    """
    cache_folder = default_folder()
    before = _size(cache_folder)
    if before:
        with closing(Cache(cache_folder, run.progress.warn)) as cache:
            cache.clear()
        Repositories(cache_folder, offline=True, warn=run.progress.warn).clear()
    freed = max(0, before - _size(cache_folder))
    run.print_note(
        "cli.cache-cleared",
        size=f"{freed / 1e6:.1f} MB",
        folder=cache_folder,
    )
    return 0


def _size(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())
