"""What catalogs of one run share of the network: one background thread, one client, each page requested once."""

from __future__ import annotations

import asyncio
from typing import Final

from resolver.catalog.meter import Meter
from resolver.catalog.net.client import Client
from resolver.catalog.net.downloads import Downloads
from resolver.catalog.net.pipconfig import PipConfig
from resolver.catalog.net.worker import Once, Worker
from resolver.disk import require_spare

# Concurrent look-aheads. More gained nothing on the mirror measured, and holds more pages in memory.
AHEAD: Final = 32
_FILES: Final = 40  # descriptors: for connections, and files read and written meanwhile


class Connection:
    """Started by the first use of the network. Everything but `worker` and `close` is for its event loop.

    Raises OSError if too few files can be opened, InputError for settings that cannot be used.
    """

    def __init__(self, pip: PipConfig, meter: Meter) -> None:
        require_spare(_FILES)
        self.client = Client(pip, meter)
        self.downloads = Downloads(self.client)
        self.pages = Once(again=True)  # what failed for one stack may work for the next
        self.ahead = asyncio.Semaphore(AHEAD)
        self.worker = Worker()

    def close(self) -> None:
        """Cancel everything, close connections, remove downloaded files."""
        try:
            self.worker.close(self.client.close)
        finally:
            self.downloads.close()
