"""A helper process, which requests and parses pages, and archives, once there is much of it.

A lock from an empty cache needs 90 MB of pages, a second of work, while search, look-ahead and the metadata of wheels
need the interpreter, of which a process has one. If the helper itself fails, its work is done in this process.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Final, TypeVar

from resolver.catalog.meter import Meter
from resolver.catalog.net.frames import Hello, Raised, Reply, frame, read_reply, unframed
from resolver.catalog.net.jobs import Answer, ArchiveJob, Job, PageJob
from resolver.catalog.net.reader import Reader
from resolver.catalog.net.twin import Twin, processors
from resolver.catalog.store.answers import ArchiveAnswer, PageAnswer
from resolver.catalog.store.packed import ODD

A = TypeVar("A", PageAnswer, ArchiveAnswer)

WORTH: Final = 1 << 20  # bytes of pages parsed in this process first; starting the helper takes 0.1 s of CPU
_MANY: Final = 12  # unknown pages requested at once: more will follow
_ARCHIVE: Final = 256 << 10  # what an archive counts for
_BEGIN: Final = "import sys; sys.path[:] = sys.argv[1:]; from resolver.catalog.net.serve import main; main()"


class _GoneError(Exception):
    """The process does not exist, or no longer."""


class Beside:
    """Does the jobs of `reader`: with it at first, in the helper process after `worth` bytes. Lives on an event loop.

    If many pages are requested at once, it does not wait for that many bytes; a process that exists already gets the
    first unknown page. The process is sent `hello`, and its requests are added to `meter`.
    """

    def __init__(self, reader: Reader, hello: Hello, meter: Meter, worth: int | None = None) -> None:
        self._reader = reader
        self._hello = hello
        self._meter = meter
        self._left = WORTH if worth is None else worth
        self._new = 0  # unknown pages being requested
        self._process: _Process | None = None
        self._is_idle = False
        self._may_begin = worth is not None or processors() > 1

    async def join(self, twin: Twin) -> None:
        """Use this process instead of starting one."""
        self._may_begin = False
        try:
            self._process = await _Process.of(twin, frame(self._hello), self._meter)
        except (OSError, ValueError):  # no descriptor left, or settings that are not UTF-8
            twin.close()
            return
        self._process.is_ready = self._is_idle = True

    async def page(self, job: PageJob) -> PageAnswer:
        """See `Reader.page`."""
        self._reader.know(job)  # files are requested by this process
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
        """End the process, whatever it is doing; later requests are done in this process."""
        self._may_begin = False
        if self._process is not None:
            self._process.close()

    async def _done(self, job: Job, kind: type[A]) -> A | None:
        """The helper's result for a job; None if it is to be done in this process."""
        if self._may_begin and (self._left <= 0 or self._new >= _MANY):
            self._may_begin = False  # one is enough, and if it fails, so would a second one
            try:
                self._process = await _Process.begin(self._hello, self._meter)
            except (OSError, ValueError):  # no memory, no such program, or settings that are not UTF-8
                return None
        if self._process is None or not self._process.is_ready:
            return None
        if self._is_idle and self._left > 0 and not self._new:  # a known page is usually unchanged
            return None
        self._is_idle = False
        try:
            answer = await self._process.ask(job)
        except _GoneError:
            return None
        if isinstance(answer, Raised):
            raise answer.error()
        return answer if isinstance(answer, kind) else None


class _Process(asyncio.Protocol):
    """A process, and the requests that it has not answered yet."""

    def __init__(self, process: subprocess.Popen[bytes] | Twin, meter: Meter) -> None:
        self.is_ready = False
        self._process = process
        self._meter = meter
        self._asked = 0
        self._waiting: dict[int, asyncio.Future[Answer | Raised | None]] = {}
        self._buffer = bytearray()
        self._sink: asyncio.WriteTransport | None = None
        self._source: asyncio.ReadTransport | None = None

    @classmethod
    async def begin(cls, hello: Hello, meter: Meter) -> _Process:
        """Start one. Raises OSError and ValueError."""
        greeting = frame(hello)
        how = ["-S", *(["-B"] if sys.dont_write_bytecode else []), "-c", _BEGIN, *sys.path]
        # A session of its own, as only this process is to act on an interrupt.
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
        """Wrap a fresh process. It is ended if this raises."""
        loop = asyncio.get_running_loop()
        found = cls(process, meter)
        try:
            found._source, _ = await loop.connect_read_pipe(lambda: found, process.stdout)
            found._sink, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
        except BaseException:  # nobody else knows about it yet
            found.close()
            raise
        found._sink.write(greeting)
        return found

    async def ask(self, job: Job) -> Answer | Raised | None:
        """The answer; None if the helper itself failed. Raises _GoneError."""
        if self._sink is None:
            raise _GoneError
        self._asked += 1
        number = self._asked
        try:
            asked = frame((number, job))
        except ValueError:  # the path of a file is not UTF-8
            return None
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._sink.write(asked)
        answer: Answer | Raised | None = await future
        return answer

    def data_received(self, data: bytes) -> None:
        """Parse replies."""
        self._buffer += data
        for content in unframed(self._buffer):
            try:
                reply = read_reply(content)
            except ODD:  # not one of our replies
                self._lose()
                return
            self._take(reply)

    def connection_lost(self, _: Exception | None) -> None:
        """The process has ended."""
        self._lose()

    def close(self) -> None:
        """End it, whatever it is doing."""
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
        """Release its pipes; everything that waits for it is done in this process."""
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
