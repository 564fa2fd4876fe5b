"""The other side of `beside`: does the jobs that arrive through a pipe until it is closed."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from resolver.catalog.meter import Meter, Traffic
from resolver.catalog.net.frames import Raised, Reply, frame, read_hello, read_job, receive
from resolver.catalog.net.http import Client
from resolver.catalog.net.jobs import Answer, Job, PageJob
from resolver.catalog.net.reader import Reader
from resolver.catalog.net.threads import tune_allocator
from resolver.catalog.store.answers import PageAnswer
from resolver.catalog.store.cache import Cache

T = TypeVar("T")


def main() -> None:
    """Serve as a separate process. Work still running at the end is abandoned."""
    tune_allocator()
    serve(sys.stdin.buffer, sys.stdout.buffer)


def serve(jobs: BinaryIO, replies: BinaryIO) -> None:
    """Do the jobs from one pipe, and write the results to the other."""
    asyncio.run(_serve(jobs, replies))


async def _serve(jobs: BinaryIO, replies: BinaryIO) -> None:
    loop = asyncio.get_running_loop()
    source = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(source), jobs)
    sink, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, replies)
    hello = read_hello(await receive(source))
    meter = Meter()
    client = Client(hello.pip, meter)
    worker = _Worker(
        Reader(client, _here), Cache(Path(os.fsdecode(hello.cache)) if hello.cache else None, _nobody), meter
    )
    sink.write(frame(Reply(0)))
    tasks = set()
    try:
        while True:
            number, job = read_job(await receive(source))
            task = asyncio.ensure_future(worker.framed(number, job))
            task.add_done_callback(lambda done: sink.write(done.result()))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
    except asyncio.IncompleteReadError:  # the other process has no more requests, or has ended
        os._exit(0)


class _Worker:
    """Does jobs one after the other, except while they wait for answers."""

    def __init__(self, reader: Reader, cache: Cache, meter: Meter) -> None:
        self._reader = reader
        self._cache = cache
        self._meter = meter
        self._told = Traffic()

    async def framed(self, number: int, job: Job) -> bytes:
        """The result of a job as sent. There is an answer in any case."""
        reply = await self._reply(number, job)
        try:
            return frame(reply)
        except (ValueError, OverflowError):  # a text that cannot be encoded in UTF-8
            return frame(msgspec.structs.replace(reply, answer=None))

    async def _reply(self, number: int, job: Job) -> Reply:
        answer: Answer | Raised | None
        try:
            answer = await self._do(job)
        except Exception as error:
            answer = Raised.of(error)  # an unexpected error is reported by the process that repeats the job
        before, self._told = self._told, self._meter.traffic
        return Reply(number, self._told.requests - before.requests, self._told.bytes - before.bytes, answer)

    async def _do(self, job: Job) -> Answer:
        if isinstance(job, PageJob):
            return self._stored(job, await self._reader.page(job))
        return await self._reader.archive(job)

    def _stored(self, job: PageJob, answer: PageAnswer) -> PageAnswer:
        """The answer with its files moved to the cache: they are large, and few will be looked at."""
        if isinstance(answer.files, bytes) and answer.files:
            self._cache.discard("files", job.place)  # it may exist and be damaged
            seal = self._cache.put("files", job.place, answer.files)
            lent = self._cache.lend("files", job.place)
            if lent is not None and lent.seal == seal:
                answer.files = lent
        return answer


async def _here(call: Callable[[], T], /) -> T:
    return call()


def _nobody(_: str) -> None:
    """Drop warnings: the other process reports them."""
