"""A process beside, which asks for pages and takes them apart once there is much of it, and archives, too.

A lock from an empty cache asks for 90 MB of pages, which is a second's work, while search, look-ahead and the metadata
of wheels want the interpreter, of which a process has one. What fails beside for a reason of its own is done here.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Final, TypeVar

from resolver.catalog.frames import Failure, Hello, Reply, frame, read_reply, unframed
from resolver.catalog.jobs import Answer, ArchiveAnswer, ArchiveJob, Job, PageAnswer, PageJob
from resolver.catalog.meter import Meter
from resolver.catalog.packed import ODD
from resolver.catalog.reader import Reader
from resolver.catalog.twin import Twin, processors

A = TypeVar("A", PageAnswer, ArchiveAnswer)

WORTH: Final = 1 << 20  # bytes of pages that are taken apart here; to begin a process takes 0.1 s of CPU
_MANY: Final = 12  # pages of which none is known, asked for at once: more will come of them
_ARCHIVE: Final = 256 << 10  # what an archive counts for
_BEGIN: Final = "import sys; sys.path[:] = sys.argv[1:]; from resolver.catalog.serve import main; main()"


class _GoneError(Exception):
    """The process is not there, or no longer."""


class Beside:
    """Does jobs as `reader` does: by that at first, and in a process after `worth` bytes. Lives on an event loop.

    Where many pages are asked for at once it does not wait for the bytes, and a process that is there already gets the
    first page that is not known. The process is told `hello`, and `meter` what it asked.
    """

    def __init__(self, reader: Reader, hello: Hello, meter: Meter, worth: int | None = None) -> None:
        self._reader = reader
        self._hello = hello
        self._meter = meter
        self._left = WORTH if worth is None else worth
        self._new = 0  # pages that are asked for now, and not known
        self._process: _Process | None = None
        self._is_idle = False
        self._may_begin = worth is not None or processors() > 1

    async def join(self, twin: Twin) -> None:
        """Have this process do what one that is begun would do."""
        self._may_begin = False
        try:
            self._process = await _Process.of(twin, frame(self._hello), self._meter)
        except (OSError, ValueError):  # no descriptor for it, or settings that are no text in UTF-8
            twin.close()
            return
        self._process.is_ready = self._is_idle = True

    async def page(self, job: PageJob) -> PageAnswer:
        """See `Reader.page`."""
        self._reader.know(job)  # files are asked for here
        self._new += not job.known
        try:
            answer = await self._done(job, PageAnswer)
            if answer is None:
                answer = await self._reader.page(job)
                self._left -= len(answer.files) if isinstance(answer.files, bytes) else 0
        finally:
            self._new -= not job.known
        return answer

    async def archive(self, job: ArchiveJob) -> ArchiveAnswer:
        """See `Reader.archive`."""
        answer = await self._done(job, ArchiveAnswer)
        if answer is None:
            self._left -= _ARCHIVE
            answer = await self._reader.archive(job)
        return answer

    def close(self) -> None:
        """End the process, whatever it is at; what is asked for from now on is done here."""
        self._may_begin = False
        if self._process is not None:
            self._process.close()

    async def _done(self, job: Job, kind: type[A]) -> A | None:
        """What came of a job in the process; None where it is to be done here."""
        if self._may_begin and (self._left <= 0 or self._new >= _MANY):
            self._may_begin = False  # one is enough, and where it fails a second one would, too
            try:
                self._process = await _Process.begin(self._hello, self._meter)
            except (OSError, ValueError):  # no memory for it, no such program, or settings that are no text in UTF-8
                return None
        if self._process is None or not self._process.is_ready:
            return None
        if self._is_idle and self._left > 0 and not self._new:  # a known page is mostly as it was
            return None
        self._is_idle = False
        try:
            answer = await self._process.ask(job)
        except _GoneError:
            return None
        if isinstance(answer, Failure):
            raise answer.error()
        return answer if isinstance(answer, kind) else None


class _Process(asyncio.Protocol):
    """One process, and what it still has to answer."""

    def __init__(self, process: subprocess.Popen[bytes] | Twin, meter: Meter) -> None:
        self.is_ready = False
        self._process = process
        self._meter = meter
        self._asked = 0
        self._waiting: dict[int, asyncio.Future[Answer | Failure | None]] = {}
        self._buffer = bytearray()
        self._sink: asyncio.WriteTransport | None = None
        self._source: asyncio.ReadTransport | None = None

    @classmethod
    async def begin(cls, hello: Hello, meter: Meter) -> _Process:
        """Begin one; raises OSError and ValueError."""
        greeting = frame(hello)
        how = ["-S", *(["-B"] if sys.dont_write_bytecode else []), "-c", _BEGIN, *sys.path]
        # A session of its own, as an interrupt is for this process alone to act on.
        process = subprocess.Popen(  # noqa: S603 -- this very interpreter
            [sys.executable, *how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return await cls.of(process, greeting, meter)

    @classmethod
    async def of(cls, process: subprocess.Popen[bytes] | Twin, greeting: bytes, meter: Meter) -> _Process:
        """One that is there, and was told nothing yet; it ends where this raises."""
        loop = asyncio.get_running_loop()
        found = cls(process, meter)
        try:
            found._source, _ = await loop.connect_read_pipe(lambda: found, process.stdout)
            found._sink, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
        except BaseException:  # nobody else knows of it yet
            found.close()
            raise
        found._sink.write(greeting)
        return found

    async def ask(self, job: Job) -> Answer | Failure | None:
        """What it answers; None where it failed in a way of its own. Raises _GoneError."""
        if self._sink is None:
            raise _GoneError
        self._asked += 1
        number = self._asked
        try:
            asked = frame((number, job))
        except ValueError:  # the path of a file is no text in UTF-8
            return None
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._sink.write(asked)
        answer: Answer | Failure | None = await future
        return answer

    def data_received(self, data: bytes) -> None:
        """Take replies apart."""
        self._buffer += data
        for content in unframed(self._buffer):
            try:
                reply = read_reply(content)
            except ODD:  # none of ours
                self._lose()
                return
            self._take(reply)

    def connection_lost(self, _: Exception | None) -> None:
        """It has ended."""
        self._lose()

    def close(self) -> None:
        """End it, whatever it is at."""
        self._lose()
        self._process.kill()
        self._process.wait()

    def _take(self, reply: Reply) -> None:
        self.is_ready = self._sink is not None
        self._meter.add(requests=reply.requests, received=reply.received)
        future = self._waiting.pop(reply.number, None)
        if future is not None and not future.done():
            future.set_result(reply.answer)

    def _lose(self) -> None:
        """Let go of its pipes; all that waits for it is done here."""
        self.is_ready = False
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(_GoneError())
        if self._sink is not None and not self._sink.is_closing():
            self._sink.abort()
        if self._source is not None:
            self._source.close()
        self._sink = self._source = None
