"""`ascend-lock cache dir|size|clear`: where the cache is, how much it takes, and a way to empty it."""

from __future__ import annotations

import os
import sys
from contextlib import closing, suppress
from pathlib import Path

import click

from resolver.cli import options
from resolver.cli.options import language_of
from resolver.cli.progress import Progress
from resolver.errors import InputError
from resolver.index.git import Repositories
from resolver.index.store.cache import Cache, default_folder
from resolver.report import words


@click.group("cache", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> int:
    """Say where the cache is and how large, or empty it."""
    if context.invoked_subcommand is not None:
        return 0
    sys.stderr.write(f"{context.get_help()}\n")
    return InputError.exit_status


@command.command("dir")
def folder() -> int:
    """Print the folder of the cache."""
    sys.stdout.write(f"{default_folder()}\n")
    return 0


@command.command("size")
def size() -> int:
    """Print how much the cache takes on the disk."""
    sys.stdout.write(f"{_size(default_folder()) / 1e6:.1f} MB\n")
    return 0


@command.command("clear")
@options.language
def clear(language: str | None) -> int:
    """Empty the cache: pages, metadata, results and repositories. What others have put into the folder stays."""
    progress = Progress(language_of(language))
    place = default_folder()
    before = _size(place)
    if before:
        with closing(Cache(place, progress.warn)) as cache:
            cache.clear()
        Repositories(place, offline=True, warn=progress.warn).clear()
    size = f"{max(0, before - _size(place)) / 1e6:.1f} MB"
    sys.stdout.write(words.CACHE_CLEARED(progress.language, size=size, folder=place) + "\n")
    return 0


def _size(place: Path) -> int:
    size = 0
    for found, _, names in os.walk(place):
        for name in names:
            with suppress(OSError):
                size += Path(found, name).lstat().st_size
    return size
