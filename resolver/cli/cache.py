"""Run `ascend-lock cache dir|size|clear`: find, measure and empty the cache."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from resolver.cli.commands import list_commands
from resolver.cli.common import Group
from resolver.cli.console import print_json, print_line
from resolver.cli.options import Settings, settings
from resolver.index.repositories import Repositories
from resolver.index.store.cache import Cache, default_folder


@click.group("cache", cls=Group, invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> int:
    """Say where the cache is and how large, or empty it."""
    return list_commands(context)


@command.command("dir")
@settings()
def folder(run: Settings) -> int:
    """Print the folder of the cache."""
    cache_folder = default_folder()
    if run.as_json:
        print_json({"status": "found", "folder": str(cache_folder)})
    else:
        print_line(str(cache_folder))
    return 0


@command.command("size")
@settings()
def size(run: Settings) -> int:
    """Print how much the cache takes on the disk."""
    cache_folder = default_folder()
    used = _size(cache_folder)
    if run.as_json:
        print_json({"status": "found", "folder": str(cache_folder), "size": used})
    else:
        print_line(f"{used / 1e6:.1f} MB")
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
    if run.as_json:
        print_json({"status": "cleared", "folder": str(cache_folder), "freed": freed})
    run.print_note(
        "cli.cache-cleared",
        size=f"{freed / 1e6:.1f} MB",
        folder=cache_folder,
    )
    return 0


def _size(folder: Path) -> int:
    """Return the size of all files in a folder, in bytes."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())
