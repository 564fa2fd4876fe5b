"""Where the files of a lock are today: a lock has names and hashes, the indexes have addresses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from resolver.errors import IndexFailure
from resolver.index.protocol import Catalog
from resolver.model.lock import LockedPin
from resolver.model.release import File


def offered(pins: Iterable[LockedPin], catalog: Catalog) -> Mapping[str, File]:
    """The files of the pins by name, as offered now by the index of each, without credentials.

    Further files of a pin may be gone. Raises IndexFailure if the first one is, or has another hash.
    """
    pins = tuple(pin for pin in pins if pin.file)  # the others are not from an index
    catalog.expect((canonicalize_name(pin.name), SpecifierSet()) for pin in pins)
    found: dict[str, File] = {}
    for pin in pins:
        wanted = {file.name: file.sha256 for file in pin.file}
        for page in catalog.lookup(canonicalize_name(pin.name)).pages:
            if page.index == pin.index:
                files = (file for release in page.releases.values() for file in release)
                found |= {
                    file.filename: file
                    for file in files
                    if file.filename in wanted and file.sha256 in ("", wanted[file.filename]) and file.url
                }
        first = pin.file[0].name
        if first not in found:
            raise IndexFailure(
                f"index `{pin.index}` no longer offers {first} with the hash in the lock",
                hint="lock again, or ask the maintainers why the file changed",
            )
    return found
