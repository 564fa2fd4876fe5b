"""The network, as the catalogs of a run share it."""

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

# Concurrent look-aheads. More gained nothing on the mirror measured, and holds more pages in
# memory.
AHEAD: Final = 32


class Connection:
    """One thread, and on its event loop one client, which requests nothing twice.

    Only `thread` and `close` may be used outside of the thread. Raises InputError for settings of
    pip that cannot be used.
    """

    def __init__(
        self,
        pip: PipConfig,
        meter: Meter,
        pages: PageCache,
        files: FileCache,
        warn: Callable[[Message], None],
    ) -> None:
        self.client = Client(pip, meter)
        self.look_ahead_slots = Slots(AHEAD)
        self.files = RemoteFiles(files, self.client, warn)
        self.pages = RemotePages(pages, self.client, self.files, self.look_ahead_slots)
        self.thread = LoopThread()

    def close(self) -> None:
        """Cancel everything, close connections, and remove downloaded files."""
        try:
            self.thread.close(self.client.close)
        finally:
            self.files.close()
