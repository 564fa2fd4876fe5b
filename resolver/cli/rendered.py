"""The files of a lock, rendered once for each lock: if its files are known, templates are not even loaded."""

from __future__ import annotations

from hashlib import blake2b
from importlib import import_module
from typing import Final

import msgspec

from resolver.index.store.cache import Cache
from resolver.model.lock import Lock
from resolver.program import program

_KIND: Final = "rendered"

_encode = msgspec.msgpack.Encoder().encode
_FILES: Final = msgspec.msgpack.Decoder(dict[str, str])


def prepare() -> None:
    """Load the renderer while there is time, as a new lock will be made."""
    import_module("resolver.report.files")


def rendered(lock: Lock, store: Cache) -> dict[str, str]:
    """The result of `render` for a lock."""
    digest = blake2b(program().encode("utf-8", "surrogatepass"), digest_size=20)
    digest.update(_encode(lock))
    key = digest.hexdigest()
    files = store.load(_KIND, key, _FILES)
    if files is None:
        from resolver.report.files import render

        files = render(lock)
        store.save(_KIND, key, files)
    return files
