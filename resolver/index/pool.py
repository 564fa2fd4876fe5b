"""What the catalogs of one run share, so that a page or file needed by several stacks is requested and read once."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from resolver.index.net.pipconfig import PipConfig, read_pip_config
from resolver.index.protocol import Meter, Traffic
from resolver.index.store.cache import Cache
from resolver.index.store.readings import Readings
from resolver.index.store.stored import Stored
from resolver.model.release import File, Page

if TYPE_CHECKING:
    from resolver.index.net.network import Connection
    from resolver.index.net.transfer import Copied


class Pool:
    """A cache, one connection to the network, and what was read already. May be used from any thread.

    The settings are those of `LiveCatalog`. `pages` are by the key of the parsed page and the name of the index.
    """

    def __init__(
        self,
        cache: Cache,
        *,
        offline: bool = False,
        warn: Callable[[str], None] = lambda _: None,
        progress: Callable[[Traffic], None] | None = None,
        pip: PipConfig | None = None,
        readings: Readings | None = None,
    ) -> None:
        self.cache = cache
        self.offline = offline
        self.warn = warn
        self.meter = Meter(progress)
        self.stored = Stored(cache, self.meter, readings)
        self.pages: dict[tuple[str, str], Page] = {}
        self._pip = pip
        self._connection: Connection | None = None
        self._lock = threading.Lock()

    @property
    def pip(self) -> PipConfig:
        """The configuration of pip on this machine, read when first needed."""
        if self._pip is None:
            self._pip = read_pip_config(os.environ)
        return self._pip

    def connection(self) -> Connection:
        """The connection, started when first needed, so an offline or fully cached run imports no HTTP client."""
        with self._lock:
            if self._connection is None:
                from resolver.index.net.network import Connection

                self._connection = Connection(self.pip, self.meter)
            return self._connection

    def save(self, files: Sequence[File], folder: Path, tell: Callable[[Copied], None]) -> None:
        """Download files into a folder under their names, each checked by its hash; see `transfer`."""
        from resolver.index.net.transfer import Transfer

        connection = self.connection()

        async def save() -> None:
            await Transfer(connection.client, folder, tell).save(files)

        connection.worker.wait(save)

    def close(self) -> None:
        """Release connections and threads."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        self.cache.close()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
