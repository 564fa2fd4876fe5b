"""The network side shared by catalogs: one background thread, one HTTP client, each page requested once."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Final

from resolver.catalog.meter import Meter
from resolver.catalog.net.beside import Beside
from resolver.catalog.net.download import Downloads
from resolver.catalog.net.frames import Hello
from resolver.catalog.net.http import Client
from resolver.catalog.net.pipconfig import PipConfig
from resolver.catalog.net.reader import Reader
from resolver.catalog.net.serve import serve
from resolver.catalog.net.threads import tune_allocator
from resolver.catalog.net.twin import Twin
from resolver.catalog.net.worker import Once, Worker
from resolver.disk import require_spare

# Concurrent look-aheads. More gained nothing on the mirror measured, and holds more pages in memory.
AHEAD: Final = 32
_FILES: Final = 40  # descriptors: for connections, pipes, and files read and written meanwhile


class Connection:
    """Started by the first use of the network. Everything but `worker` and `close` lives on the event loop.

    Raises OSError if too few files can be opened.
    """

    client: Client
    beside: Beside
    downloads: Downloads
    pages: Once
    ahead: asyncio.Semaphore

    def __init__(self, pip: PipConfig, meter: Meter, cache: Path | None, *, is_known: bool = False) -> None:
        tune_allocator()
        require_spare(_FILES)
        twin = None if is_known else Twin.begin(serve)  # before there is any thread
        try:
            self.worker = Worker()
            try:
                self.worker.wait(lambda: self._begin(pip, meter, cache, twin))
            except BaseException:
                self.worker.close(_nothing)
                raise
        except BaseException:
            if twin is not None:
                twin.close()
            raise

    async def _begin(self, pip: PipConfig, meter: Meter, cache: Path | None, twin: Twin | None) -> None:
        self.client = Client(pip, meter)
        self.downloads = Downloads(self.client, meter)
        reader = Reader(self.client, self.client.aside)
        self.beside = Beside(reader, Hello(pip, os.fsencode(cache.absolute()) if cache is not None else b""), meter)
        if twin is not None:
            await self.beside.join(twin)
        self.forget_pages()
        self.ahead = asyncio.Semaphore(AHEAD)

    def forget_pages(self) -> None:
        """Let catalogs made from now on request pages again."""
        self.pages = Once(again=True)  # what failed for one stack may work for the next

    def close(self) -> None:
        """Cancel everything, close connections, remove downloaded files."""

        async def farewell() -> None:
            try:
                await self.client.close()
                self.beside.close()
            finally:
                self.downloads.close()

        self.worker.close(farewell)


async def _nothing() -> None:
    return None
