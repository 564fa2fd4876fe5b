"""`ascend-lock bundle STACK DIR`: every file of a lock in one folder, for machines without network."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
from packaging.utils import canonicalize_name

from resolver.catalog.cache import Cache, default_folder
from resolver.catalog.git import Repositories
from resolver.catalog.live import LiveCatalog
from resolver.catalog.wheelhouse import save_sources
from resolver.cli import options
from resolver.cli.progress import Progress
from resolver.errors import IndexFailure, StaleLock
from resolver.lock import file as lock_file
from resolver.matrix.compile import compile_problems
from resolver.matrix.load import load
from resolver.model.lock import Lock
from resolver.model.release import File
from resolver.render.text import count

_CHUNK = 1 << 20


@click.command("bundle")
@click.argument("stack")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@options.matrices
@options.locks
def command(stack: str, folder: Path, matrices: Path | None, locks: Path) -> int:
    """Download what STACK's locks name into FOLDER, each file checked by its hash. Files that are there stay."""
    progress = Progress()
    for problem in compile_problems(load(stack, matrices or options.default_matrices())):
        lock = lock_file.read(locks / problem.stack.name / problem.target.name)
        if lock is None:
            raise StaleLock(f"{stack} has no lock for {problem.target.name}", hint=f"ascend-lock lock {stack}")
        progress.label(f"bundling {problem.stack.name} for {problem.target.name}")
        folder.mkdir(parents=True, exist_ok=True)
        live = LiveCatalog(
            problem.indexes,
            problem.target.platform,
            Cache(default_folder(), progress.warn),
            warn=progress.warn,
            progress=progress.fetching,
        )
        with closing(live):
            missing = [file for file in _files(lock, live) if not _is_there(folder / file.filename, file.sha256)]
            live.save(missing, folder)
            save_sources(lock, folder, Repositories(default_folder(), warn=progress.warn))
        progress.clear()
        total = len(lock.pin) + len(lock.build_pin)
        sys.stdout.write(
            f"{folder} holds the {count(total, 'file')} of {stack} for {lock.target.name} "
            f"({len(missing)} downloaded now)\nNext: copy it and the lock's folder to the target, "
            f"then install.sh --wheelhouse {folder.name}\n"
        )
    return 0


def _files(lock: Lock, catalog: LiveCatalog) -> Iterator[File]:
    """The file of each pin that pip takes, as the index names it now."""
    seen: set[str] = set()
    for pin in (*lock.pin, *lock.build_pin):
        if pin.git is not None:
            continue
        wanted = pin.file[0]
        if wanted.name in seen:
            continue
        seen.add(wanted.name)
        offered = [
            file
            for page in catalog.lookup(canonicalize_name(pin.name)).pages
            if page.index == pin.index
            for files in page.releases.values()
            for file in files
            if file.filename == wanted.name and file.sha256 in ("", wanted.sha256)
        ]
        if not offered:
            raise IndexFailure(
                f"index `{pin.index}` no longer offers {wanted.name} with the hash of the lock",
                hint="lock again, or ask the maintainers why the file changed",
            )
        yield File(filename=wanted.name, url=offered[0].url, sha256=wanted.sha256, size=offered[0].size)


def _is_there(path: Path, sha256: str) -> bool:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as handle:
            while chunk := handle.read(_CHUNK):
                digest.update(chunk)
    except FileNotFoundError:
        return False
    return digest.hexdigest() == sha256
