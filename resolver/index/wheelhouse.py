"""Git sources in a wheelhouse: a file for each commit, which install.sh takes without network."""

from __future__ import annotations

from pathlib import Path

from resolver.errors import IndexFailure
from resolver.index.git import Repositories, UnreadRepository
from resolver.model.lock import Lock, LockedPin, bundle_name


def save_sources(lock: Lock, folder: Path, repositories: Repositories) -> dict[Path, LockedPin]:
    """Write the git sources of a lock, submodules included, below `folder`; those that are there and whole stay.

    Returns all of them. Raises IndexFailure where a repository cannot be read.
    """
    paths: dict[Path, LockedPin] = {}
    for pin in lock.pin:
        for url, commit in pin.git.commits if pin.git is not None else ():
            path = folder / bundle_name(pin.name, commit)
            paths[path] = pin
            if repositories.holds(path, commit):
                continue
            try:
                repositories.save(url, commit, path)
            except UnreadRepository as error:
                raise IndexFailure(
                    f"{pin.name} could not be downloaded",
                    where=f"{url}@{commit}",
                    why=str(error),
                    hint="check that this machine reaches the repository, and run the command again",
                ) from None
    return paths
