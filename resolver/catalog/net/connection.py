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
    """Started by the first use of the network. Everything but `worker` and `close` lives on the event loop.

    Raises OSError if too few files can be opened.
    """

    client: Client
    downloads: Downloads
    pages: Once
    ahead: asyncio.Semaphore

    def __init__(self, pip: PipConfig, meter: Meter) -> None:
        require_spare(_FILES)
        self.worker = Worker()
        try:
            self.worker.wait(lambda: self._begin(pip, meter))
        except BaseException:
            self.worker.close(_nothing)
            raise

    async def _begin(self, pip: PipConfig, meter: Meter) -> None:
        self.client = Client(pip, meter)
        self.downloads = Downloads(self.client, meter)
        self.pages = Once(again=True)  # what failed for one stack may work for the next
        self.ahead = asyncio.Semaphore(AHEAD)

    def close(self) -> None:
        """Cancel everything, close connections, remove downloaded files."""

        async def farewell() -> None:
            try:
                await self.client.close()
            finally:
                self.downloads.close()

        self.worker.close(farewell)


async def _nothing() -> None:
    return None
