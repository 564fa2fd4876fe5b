"""Find the current addresses of a lock's files on the indexes, and save its commits from git.

A lock has the names and sha256 of files, but not their addresses. Commands that need the files or
their addresses, such as `bundle` and `export`, call this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from resolver import files as disk
from resolver.errors import IndexFailure, Unreachable
from resolver.index.git import RepositoryUnreadable
from resolver.index.protocol import Catalog
from resolver.index.repositories import Repositories
from resolver.model.lock import Lock, LockedPin, bundle_name
from resolver.model.release import File, Page
from resolver.openat import Kind
from resolver.owned_folder import OwnedFolder
from resolver.phrase import cause, phrase


def prefetch_pins(pins: Iterable[LockedPin], catalog: Catalog) -> None:
    """Start to look up the projects of the pins that are from an index, without waiting."""
    catalog.prefetch((canonicalize_name(pin.name), SpecifierSet()) for pin in pins if pin.file)


def page_of(pin: LockedPin, catalog: Catalog) -> Page | None:
    """Return the page of a pin's project on the index of the pin; None if the index has none.

    Raises IndexFailure.
    """
    for page in catalog.lookup(canonicalize_name(pin.name)).pages:
        if page.index == pin.index:
            return page
    return None


def files_by_name(page: Page | None) -> Mapping[str, Sequence[File]]:
    """Return the files of a page by name; none without a page.

    A page may list several files with the same name.
    """
    files: dict[str, list[File]] = {}
    if page is not None:
        for files_of_release in page.releases.values():
            for file in files_of_release:
                files.setdefault(file.filename, []).append(file)
    return files


def offered(pins: Iterable[LockedPin], catalog: Catalog) -> Mapping[str, File]:
    """Return the files of these pins by name, with their current addresses and the lock's sha256.

    Raises IndexFailure if the index no longer has the first file of a pin with the sha256 in the
    lock. Other files that it no longer has are left out.
    """
    pins_of_indexes = [pin for pin in pins if pin.file]
    prefetch_pins(pins_of_indexes, catalog)
    files: dict[str, File] = {}
    for pin in pins_of_indexes:
        offers = files_by_name(page_of(pin, catalog))
        for locked in pin.file:
            for file in offers.get(locked.name, ()):
                if file.url and file.sha256 in ("", locked.sha256):
                    files[locked.name] = replace(file, sha256=locked.sha256)
        first_name = pin.file[0].name
        if first_name not in files:
            if pin.index in catalog.lookup(canonicalize_name(pin.name)).unreachable:
                raise Unreachable(
                    phrase(
                        "index `{index}`, which offers {file}, cannot be reached",
                        index=pin.index,
                        file=first_name,
                    ),
                    hint=phrase("run the command again where it can be reached"),
                )
            raise IndexFailure(
                phrase(
                    "index `{index}` no longer offers {file} with the hash in the lock",
                    index=pin.index,
                    file=first_name,
                ),
                hint=phrase("lock again, or ask the maintainers why the file changed"),
            )
    return files


def save_sources(
    lock: Lock, folder: OwnedFolder, repositories: Repositories
) -> dict[str, LockedPin]:
    """Save the commits of a lock and of their submodules as git bundles in a folder.

    Bundles that are complete there already are left alone. Returns the pin of each bundle, by the
    file name of the bundle. Raises IndexFailure if a repository cannot be read, NoSuchCommit if it
    lacks a commit, and InputError if the disk fails.
    """
    pins: dict[str, LockedPin] = {}
    for pin in lock.pin:
        if pin.git is None:
            continue
        for url, commit in pin.git.commits:
            name = bundle_name(pin.name, commit)
            pins[name] = pin
            is_file = folder.kind(name) is Kind.FILE
            if not is_file or not repositories.is_complete_bundle(folder.path / name, commit):
                _save_source(pin, url, commit, folder, repositories)
    return pins


def source_names(lock: Lock) -> list[str]:
    """Return the names of the bundles that `save_sources` writes for a lock."""
    names = []
    for pin in lock.pin:
        if pin.git is not None:
            names += [bundle_name(pin.name, commit) for _, commit in pin.git.commits]
    return names


def _save_source(
    pin: LockedPin, url: str, commit: str, folder: OwnedFolder, repositories: Repositories
) -> None:
    """Save one commit of a pin as a git bundle. Raises as `save_sources` does."""
    try:
        with folder.writing(bundle_name(pin.name, commit)) as bundle:
            repositories.save(url, commit, bundle)
    except RepositoryUnreadable as error:
        raise IndexFailure(
            phrase("{name} could not be downloaded", name=pin.name),
            where=f"{url}@{commit}",
            why=cause(error),
            hint=phrase(
                "where the repository is out of reach, tell git of a mirror or a copy, and run the "
                "command again: git config --global url.COPY.insteadOf ADDRESS"
            ),
        ) from None
    except OSError as error:
        error_message = phrase("the source of {name} could not be written", name=pin.name)
        where = error.filename or folder.path
        raise disk.input_error(
            error, error_message, where, phrase("choose another folder")
        ) from None
