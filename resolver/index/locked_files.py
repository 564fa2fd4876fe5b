"""The current addresses of a lock's files, from the indexes, and its commits in git."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from resolver import files as disk
from resolver.errors import IndexFailure
from resolver.index.git import RepositoryUnreadable
from resolver.index.protocol import Catalog
from resolver.index.repositories import Repositories
from resolver.model.lock import Lock, LockedPin, bundle_name
from resolver.model.release import File, Page
from resolver.openat import Kind
from resolver.owned_folder import OwnedFolder


def prefetch_pins(pins: Iterable[LockedPin], catalog: Catalog) -> None:
    """Start to look up all pins that are from an index."""
    catalog.prefetch((canonicalize_name(pin.name), SpecifierSet()) for pin in pins if pin.file)


def page_of(pin: LockedPin, catalog: Catalog) -> Page | None:
    """The page of a pin's project on the pin's index. Raises IndexFailure."""
    pages = catalog.lookup(canonicalize_name(pin.name)).pages
    return next((page for page in pages if page.index == pin.index), None)


def files_by_name(page: Page | None) -> Mapping[str, Sequence[File]]:
    """The files of a page by name; if it lists a name more than once, the last one counts."""
    files: dict[str, list[File]] = {}
    for file in chain.from_iterable(page.releases.values() if page is not None else ()):
        files.setdefault(file.filename, []).append(file)
    return files


def offered(pins: Iterable[LockedPin], catalog: Catalog) -> Mapping[str, File]:
    """The files of the pins by name, with their current addresses and the sha256 of the lock.

    Raises IndexFailure if the first file of a pin is gone or has another hash; others may be gone.
    """
    pins = tuple(pin for pin in pins if pin.file)  # the others are not from an index
    prefetch_pins(pins, catalog)
    files: dict[str, File] = {}
    for pin in pins:
        offers = files_by_name(page_of(pin, catalog))
        for locked in pin.file:
            for file in offers.get(locked.name, ()):
                if file.sha256 in ("", locked.sha256) and file.url:
                    files[locked.name] = replace(file, sha256=locked.sha256)
        if pin.file[0].name not in files:
            raise IndexFailure(
                f"index `{pin.index}` no longer offers {pin.file[0].name} with the hash in the lock",
                hint="lock again, or ask the maintainers why the file changed",
            )
    return files


def save_sources(
    lock: Lock, folder: OwnedFolder, repositories: Repositories
) -> dict[str, LockedPin]:
    """Write the git sources of a lock, submodules included, into the folder, unless they are complete there.

    Returns the pin of each bundle by its name in the folder. Raises IndexFailure if a repository
    cannot be read, and InputError if the disk refuses.
    """
    pins: dict[str, LockedPin] = {}
    for pin in lock.pin:
        for url, commit in pin.git.commits if pin.git is not None else ():
            name = bundle_name(pin.name, commit)
            pins[name] = pin
            if folder.kind(name) is Kind.FILE and repositories.is_complete_bundle(
                folder.path / name, commit
            ):
                continue
            try:
                with folder.writing(name) as bundle:
                    repositories.save(url, commit, bundle)
            except RepositoryUnreadable as error:
                raise IndexFailure(
                    f"{pin.name} could not be downloaded",
                    where=f"{url}@{commit}",
                    why=str(error),
                    hint="check that this machine reaches the repository, and run the command again",
                ) from None
            except OSError as error:
                what = f"the source of {pin.name} could not be written"
                raise disk.input_error(
                    error, what, error.filename or folder.path, "choose another folder"
                ) from None
    return pins
