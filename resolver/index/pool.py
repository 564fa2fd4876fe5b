"""What the catalogs of a run share.

The network is used by one background thread, started when first needed, so an offline run imports
no HTTP client.
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

_WARNED: Final = "warned"
_DAY: Final = msgspec.msgpack.Decoder(str)


class CatalogPool:
    """The cache and the connection that all catalogs of a run use.

    A page or file that several stacks need is requested and read once.
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
        """Share a cache, and unless `offline` a connection.

        `warn` is called with warnings, `progress` for each request and answer, `trace` with what
        was read from where; all may be called from another thread. `pip` is by default the
        configuration of pip on this machine.
        `readings` and `linkage` are folders of what is recorded of archives and binaries.
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
        """Return the configuration of pip on this machine, read when first needed."""
        return self._pip or read_pip_config()

    def warn_daily(self, warning: Message, subject: str) -> None:
        """Warn of a subject, unless a run with this cache warned of it today."""
        today = datetime.now(timezone.utc).date().isoformat()
        if self.cache.load(_WARNED, subject, _DAY) != today:
            self.cache.save(_WARNED, subject, today)
            self.warn(warning)

    def connection(self) -> Connection:
        """Return the connection, which is started when first needed."""
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
        """Download files into a folder under their names, each checked by its hash.

        Raises as `Transfer.save` does.
        """
        from resolver.index.net.downloads import Transfer

        connection = self.connection()
        connection.thread.wait(lambda: Transfer(connection.client, folder, progress).save(files))

    def close(self) -> None:
        """Release connections and threads."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        self.cache.close()
