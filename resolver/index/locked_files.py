"""Where what a lock names is today: its files at the indexes, which have the addresses, and its commits in git."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from resolver.errors import IndexFailure
from resolver.index.git import Repositories, RepositoryUnreadable
from resolver.index.protocol import Catalog
from resolver.model.lock import Lock, LockedPin, bundle_name
from resolver.model.release import File, Page


def prefetch_pins(pins: Iterable[LockedPin], catalog: Catalog) -> None:
    """Start to look up all pins that are from an index."""
    catalog.prefetch((canonicalize_name(pin.name), SpecifierSet()) for pin in pins if pin.file)


def page_of(pin: LockedPin, catalog: Catalog) -> Page | None:
    """The page of a pin's project at the index that the lock names. Raises IndexFailure."""
    pages = catalog.lookup(canonicalize_name(pin.name)).pages
    return next((page for page in pages if page.index == pin.index), None)


def files_by_name(page: Page | None) -> Mapping[str, Sequence[File]]:
    """The files of each name; a page may list several, and the last one counts."""
    files: dict[str, list[File]] = {}
    for file in chain.from_iterable(page.releases.values() if page is not None else ()):
        files.setdefault(file.filename, []).append(file)
    return files


def offered(pins: Iterable[LockedPin], catalog: Catalog) -> Mapping[str, File]:
    """The files of the pins by name, as offered now by the index of each, with the sha256 of the lock.

    Further files of a pin may be gone. Raises IndexFailure if the first one is, or has another hash.
    """
    pins = tuple(pin for pin in pins if pin.file)  # the others are not from an index
    prefetch_pins(pins, catalog)
    found: dict[str, File] = {}
    for pin in pins:
        listed = files_by_name(page_of(pin, catalog))
        for wanted in pin.file:
            for file in listed.get(wanted.name, ()):
                if file.sha256 in ("", wanted.sha256) and file.url:
                    found[wanted.name] = replace(file, sha256=wanted.sha256)
        if pin.file[0].name not in found:
            raise IndexFailure(
                f"index `{pin.index}` no longer offers {pin.file[0].name} with the hash in the lock",
                hint="lock again, or ask the maintainers why the file changed",
            )
    return found


def save_sources(lock: Lock, folder: Path, repositories: Repositories) -> dict[Path, LockedPin]:
    """Write the git sources of a lock, submodules included, below `folder`; those that are there and whole stay.

    Returns all of them. Raises IndexFailure where a repository cannot be read.
    """
    paths: dict[Path, LockedPin] = {}
    for pin in lock.pin:
        for url, commit in pin.git.commits if pin.git is not None else ():
            path = folder / bundle_name(pin.name, commit)
            paths[path] = pin
            if repositories.is_complete_bundle(path, commit):
                continue
            try:
                repositories.save(url, commit, path)
            except RepositoryUnreadable as error:
                raise IndexFailure(
                    f"{pin.name} could not be downloaded",
                    where=f"{url}@{commit}",
                    why=str(error),
                    hint="check that this machine reaches the repository, and run the command again",
                ) from None
    return paths
