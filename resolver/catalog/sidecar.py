"""Processes beside, in which pages and archives are taken apart: bytes go in, bytes come out.

A lock from an empty cache has a second's work with pages, and more with source
archives, while all else waits for the interpreter's one lock. What is less
than it takes to begin a process is done here. So is what fails beside, for
whatever reason: failures are told in one way only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TypeVar

import msgspec
from packaging.utils import NormalizedName

from resolver.catalog.frozen import Frozen, freeze
from resolver.catalog.metadata import Release
from resolver.catalog.packed import ODD
from resolver.catalog.simple import parse

if TYPE_CHECKING:
    from resolver.catalog.archive import Contents

T = TypeVar("T")

_WORTH: Final = 4 << 20  # bytes that were taken apart here, after which processes are begun: some 0.1 s of CPU
_MOST: Final = 2
_BEGIN: Final = "import sys; sys.path[:] = sys.argv[1:]; from resolver.catalog.sidecar import serve; serve()"


class PageJob(msgspec.Struct, tag="page", array_like=True, frozen=True):
    """A page that an index sent, to be parsed and frozen; its body is given apart."""

    content_type: str
    project: str
    index: str
    url: str

    def do(self, body: bytes) -> Frozen:
        """The page; raises IndexFailure."""
        project = NormalizedName(self.project)
        return freeze(parse(body, self.content_type, project=project, index=self.index, url=self.url))


class ArchiveJob(msgspec.Struct, tag="archive", array_like=True, frozen=True):
    """A source archive on disk, to be read; `where` is its address for a failure."""

    path: str
    release: Release
    where: str

    def do(self, _: bytes) -> Contents:
        """What is in it; raises UnusableFile and IndexFailure."""
        from resolver.catalog.archive import read_archive  # a third of what it takes to begin a process

        return read_archive(Path(self.path), self.release, self.where)


_Job = PageJob | ArchiveJob

_encode = msgspec.msgpack.Encoder().encode
_read_job = msgspec.msgpack.Decoder(_Job).decode
_read_frozen = msgspec.msgpack.Decoder(Frozen).decode


class Sidecars:
    """At most `most` processes, begun when there was work of `worth` bytes. May be used from any thread."""

    def __init__(self, most: int | None = None, worth: int = _WORTH) -> None:
        self._most = min(_MOST, os.cpu_count() or 1) if most is None else most
        self._left = worth
        self._all: list[_Sidecar] = []
        self._free: list[_Sidecar] = []
        self._changed = threading.Condition()

    def page(self, job: PageJob, body: bytes) -> Frozen:
        """What `job.do` returns or raises."""
        return self._beside(job, body, len(body), _read_frozen) or job.do(body)

    def archive(self, job: ArchiveJob, size: int) -> Contents:
        """What `job.do` returns or raises; the archive has so many bytes."""
        from resolver.catalog.archive import Contents

        return self._beside(job, b"", size, msgspec.msgpack.Decoder(Contents).decode) or job.do(b"")

    def close(self) -> None:
        """End the processes, whatever they are at."""
        with self._changed:
            self._most = 0
            every, free = self._all, self._free
            self._all, self._free = [], []
            self._changed.notify_all()
        for sidecar in every:
            sidecar.end()
        for sidecar in free:
            sidecar.close()

    def _beside(self, job: _Job, body: bytes, weight: int, read: Callable[[bytes], T]) -> T | None:
        """What came of a job in a process; None where it is to be done here."""
        sidecar = self._take(weight)
        if sidecar is None:
            return None
        try:
            answer = sidecar.ask(_encode(job), body)
            found = read(answer) if answer else None
        except (OSError, EOFError, *ODD):  # it was killed, or is at its end
            self._drop(sidecar)
            return None
        self._give_back(sidecar)
        return found

    def _take(self, weight: int) -> _Sidecar | None:
        """A process that is free, sooner or later; None where none is worth while or to be had."""
        with self._changed:
            self._left -= weight
            while self._left <= 0 and self._most:
                if self._free:
                    return self._free.pop()
                if len(self._all) < self._most:
                    self._begin()
                else:
                    self._changed.wait()
            return None

    def _begin(self) -> None:
        try:
            sidecar = _Sidecar()
        except OSError:  # no memory for it, or no such program: those that are there must do
            self._most = len(self._all)
            return
        self._all.append(sidecar)
        self._free.append(sidecar)

    def _give_back(self, sidecar: _Sidecar) -> None:
        with self._changed:
            if sidecar in self._all:
                self._free.append(sidecar)
                self._changed.notify()
                return
        sidecar.close()

    def _drop(self, sidecar: _Sidecar) -> None:
        with self._changed:
            if sidecar in self._all:
                self._all.remove(sidecar)
                self._most -= 1
                self._changed.notify_all()
        sidecar.end()
        sidecar.close()


class _Sidecar:
    """One process; used by one thread at a time. Raises OSError where it cannot be begun."""

    def __init__(self) -> None:
        how = ["-S", *(["-B"] if sys.dont_write_bytecode else []), "-c", _BEGIN, *sys.path]
        # A session of its own, as an interrupt is for this process alone to act on.
        self._process = subprocess.Popen(  # noqa: S603 -- this very interpreter
            [sys.executable, *how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self._process.stdin is not None  # noqa: S101 -- piped
        assert self._process.stdout is not None  # noqa: S101
        self._source: IO[bytes] = self._process.stdout
        self._sink: IO[bytes] = self._process.stdin

    def ask(self, job: bytes, body: bytes) -> bytes:
        """What the process answers to a job, nothing where it failed; raises OSError and EOFError where it is gone."""
        _send(self._sink, job)
        _send(self._sink, body)
        self._sink.flush()
        return _receive(self._source)

    def end(self) -> None:
        """End the process; whoever waits for an answer gets none."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Let go of what nobody reads or writes any more."""
        self._source.close()
        with suppress(OSError):  # what was not sent yet
            self._sink.close()


def serve() -> None:
    """Do jobs until there are none: the other side of `_Sidecar`."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    with suppress(OSError, EOFError):
        while True:
            job, body = _read_job(_receive(source)), _receive(source)
            try:
                answer = _encode(job.do(body))
            except Exception:  # told by who does it again
                answer = b""
            _send(sink, answer)
            sink.flush()


def _send(sink: IO[bytes], content: bytes) -> None:
    sink.write(len(content).to_bytes(8, "little"))
    sink.write(content)


def _receive(source: IO[bytes]) -> bytes:
    size = int.from_bytes(_exactly(source, 8), "little")
    return _exactly(source, size)


def _exactly(source: IO[bytes], size: int) -> bytes:
    content = source.read(size)
    if len(content) < size:
        raise EOFError
    return content
