"""The one thread, event loop and HTTP client that all catalogs of a run share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from resolver.index.net.client import Client
from resolver.index.net.loop_thread import LoopThread
from resolver.index.net.pipconfig import PipConfig
from resolver.index.net.remote_files import RemoteFiles
from resolver.index.net.remote_pages import RemotePages
from resolver.index.net.slots import Slots
from resolver.index.protocol import Meter
from resolver.index.store.file_cache import FileCache
from resolver.index.store.page_cache import PageCache
from resolver.model.message import Message

# Concurrent requests of the look-ahead for each host. A greater number was not faster on the mirror
# that was measured, and needs more memory for pages.
AHEAD: Final = 32


class Connection:
    """A thread with an event loop, and on it a client that requests no page or file twice.

    Other threads may use only `thread` and `close`.
    """

    def __init__(
        self,
        pip: PipConfig,
        meter: Meter,
        pages: PageCache,
        files: FileCache,
        warn: Callable[[Message], None],
    ) -> None:
        """Start the thread. `pages` and `files` are caches; `warn` is called with warnings.

        Raises InputError if settings of the network are invalid.
        """
        self.client = Client(pip, meter)
        self.look_ahead_slots = Slots(AHEAD)
        self.files = RemoteFiles(files, self.client, warn)
        self.pages = RemotePages(pages, self.client, self.files, self.look_ahead_slots)
        self.thread = LoopThread()

    def close(self) -> None:
        """Cancel all requests, close all connections, and remove the downloaded files."""
        try:
            self.thread.close(self.client.close)
        finally:
            self.files.close()
