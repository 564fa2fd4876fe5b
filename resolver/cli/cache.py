"""`ascend-lock cache dir|size|clear`: where the cache is, how much it takes, and a way to empty it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from resolver.cli.commands import list_commands
from resolver.cli.console import print_line
from resolver.cli.options import Settings, settings
from resolver.index.repositories import Repositories
from resolver.index.store.cache import Cache, default_folder


@click.group("cache", invoke_without_command=True)
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
@settings("language")
def clear(run: Settings) -> int:
    """Empty the cache: pages, metadata, results and repositories.

    What others have put into the folder stays.
    """
    place = default_folder()
    before = _size(place)
    if before:
        with closing(Cache(place, run.progress.warn)) as cache:
            cache.clear()
        Repositories(place, offline=True, warn=run.progress.warn).clear()
    size = f"{max(0, before - _size(place)) / 1e6:.1f} MB"
    run.print_message("cli.cache-cleared", size=size, folder=place)
    return 0


def _size(place: Path) -> int:
    return sum(path.lstat().st_size for path in place.rglob("*") if not path.is_dir())
