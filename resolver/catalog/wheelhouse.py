"""Git sources in a wheelhouse: a file for each commit, which install.sh takes without network."""

from __future__ import annotations

from pathlib import Path

from resolver.catalog.git import Repositories, UnreadRepository
from resolver.errors import IndexFailure
from resolver.model.lock import Lock, bundle_name


def save_sources(lock: Lock, folder: Path, repositories: Repositories) -> tuple[Path, ...]:
    """Write the git sources of a lock below `folder`; those that are there and whole stay.

    Returns all of them. Raises IndexFailure where a repository cannot be read.
    """
    paths = []
    for pin in lock.pin:
        if pin.git is None:
            continue
        path = folder / bundle_name(pin.name, pin.git.commit)
        paths.append(path)
        if repositories.holds(path, pin.git.commit):
            continue
        try:
            repositories.save(pin.git.url, pin.git.commit, path)
        except UnreadRepository as error:
            raise IndexFailure(
                f"{pin.name} could not be downloaded",
                where=f"{pin.git.url}@{pin.git.commit}",
                why=str(error),
                hint="check that this machine reaches the repository, and run the command again",
            ) from None
    return tuple(paths)
