"""Own the objects that the catalogs of a run share: the cache and the network connection.

One background thread uses the network. It is started when it is first needed, so an offline run
does not import an HTTP client. `cli.catalogs` makes the pool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from resolver.index.net.pipconfig import PipConfig, read_pip_config
from resolver.index.protocol import Meter, Traffic
from resolver.index.store.cache import Cache
from resolver.index.store.file_cache import FileCache
from resolver.index.store.page_cache import PageCache
from resolver.model.message import Message
from resolver.model.release import File
from resolver.owned_folder import OwnedFolder

if TYPE_CHECKING:
    from resolver.index.net.connection import Connection
    from resolver.index.net.downloads import TransferProgress

# The kind of the cache's entries that say on which day a warning was given.
_WARNED: Final = "warned"
_DAY: Final = msgspec.msgpack.Decoder(str)


class CatalogPool:
    """The cache and the network connection that all catalogs of a run use.

    Because they share them, a page or file that several stacks need is requested and read only
    once.
    """

    def __init__(
        self,
        cache: Cache,
        *,
        offline: bool = False,
        warn: Callable[[Message], None] = lambda _: None,
        progress: Callable[[Traffic], None] | None = None,
        trace: Callable[[Message], None] | None = None,
        pip: PipConfig | None = None,
        readings: Path | None = None,
        linkage: Path | None = None,
    ) -> None:
        """Share a cache, and a network connection unless `offline`.

        `warn` is called with each warning, `progress` with the traffic at each change, and `trace`
        with a message for each answer. All three may be called from another thread. `pip` is the
        configuration of pip; by default it is read on this machine. `readings` and `linkage` are
        the folders of the readings of source archives and of wheels' binaries that ship with the
        facts (`store.readings`, `store.linkage_readings`).
        """
        self.cache = cache
        self.offline = offline
        self.warn = warn
        self.meter = Meter(progress, trace)
        self.pages = PageCache(cache)
        self.files = FileCache(cache, readings, linkage)
        self._pip = pip
        self._connection: Connection | None = None

    @cached_property
    def pip(self) -> PipConfig:
        """Return the configuration of pip, which is read when it is first needed."""
        return self._pip or read_pip_config()

    def warn_daily(self, warning: Message, subject: str) -> None:
        """Give a warning, unless a run with this cache gave it today (UTC) for the same subject."""
        today = datetime.now(timezone.utc).date().isoformat()
        if self.cache.load(_WARNED, subject, _DAY) != today:
            self.cache.save(_WARNED, subject, today)
            self.warn(warning)

    def connection(self) -> Connection:
        """Return the network connection, which is started when it is first needed.

        Raises InputError if settings of the network are invalid.
        """
        if self._connection is None:
            from resolver.index.net.connection import Connection

            self._connection = Connection(self.pip, self.meter, self.pages, self.files, self.warn)
        return self._connection

    def save(
        self,
        files: Sequence[File],
        folder: OwnedFolder,
        progress: Callable[[TransferProgress], None],
    ) -> None:
        """Download files into a folder, under their names, and check the sha256 of each.

        Raises IndexFailure if a file cannot be downloaded, and InputError if the disk fails.
        """
        from resolver.index.net.downloads import Transfer

        connection = self.connection()
        connection.thread.wait(lambda: Transfer(connection.client, folder, progress).save(files))

    def close(self) -> None:
        """Close the connection, its thread and the cache."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        self.cache.close()
