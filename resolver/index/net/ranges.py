"""Read parts of a file on a server with range requests (RFC 9110, 14).

`remote_files` reads members of wheels this way. If the server cannot be trusted to send the right
parts, DistrustError is raised, and the whole file is downloaded instead.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Final, NamedTuple, TypeVar

import httpx

from resolver.errors import IndexFailure
from resolver.index.net.client import IDENTITY_ENCODING, Client
from resolver.index.net.downloads import check_status, content_range
from resolver.index.parse.guarded import DIRECTORY_LIMIT, MissingSpanError, RangeFile
from resolver.index.parse.wheel import METADATA_LIMIT
from resolver.index.protocol import UnusableFile
from resolver.model.release import File

T = TypeVar("T")

# Bytes at the end of a wheel that are requested first. In nine of ten wheels, both the list of
# members and METADATA are in them.
TAIL: Final = 64 << 10
# Bytes of one part.
_LONGEST: Final = max(DIRECTORY_LIMIT, METADATA_LIMIT) + TAIL
# Requests for one reading.
_MOST_RANGES: Final = 8


class DistrustError(Exception):
    """A server does not support range requests, or its answers to them contradict each other."""


class _Span(NamedTuple):
    """A part of a file, as a server sent it."""

    # The position of the first byte.
    start: int
    content: bytes
    # The size of the whole file in bytes.
    total: int
    # Empty if the server sent none.
    etag: str


class RangedFile:
    """A file on a server, with the parts that were requested so far. Make one with `open`."""

    def __init__(self, client: Client, file: File, tail: _Span) -> None:
        """Begin with the last part of the file."""
        self._client = client
        self._file = file
        self._etag = tail.etag
        self.size = tail.total
        self.content = RangeFile(tail.total)
        self.content.add(tail.start, tail.content)
        # The number of bytes received.
        self.received = len(tail.content)

    @classmethod
    async def open(cls, client: Client, file: File) -> RangedFile:
        """Request the last part of a file.

        Raises DistrustError, and IndexFailure if the server does not give the file.
        """
        tail = await _request(client, file, f"bytes=-{TAIL}", _LONGEST)
        if tail.start + len(tail.content) != tail.total:
            raise DistrustError
        is_whole = tail.start == 0
        if is_whole and file.sha256 and sha256(tail.content).hexdigest() != file.sha256:
            raise DistrustError
        return cls(client, file, tail)

    async def read(self, reader: Callable[[RangeFile], T]) -> T:
        """Call `reader` with the file, and return its result.

        If it raises MissingSpanError, the missing part is requested, and it is called again. Raises
        DistrustError, and IndexFailure if the server does not give the file.
        """
        for _ in range(_MOST_RANGES):
            try:
                return reader(self.content)
            except MissingSpanError as missing:
                start, end = missing.args
            except UnusableFile:
                # The server may mix up ranges; a whole file can be compared with its hash.
                raise DistrustError from None
            await self.request(start, end, _LONGEST)
        raise DistrustError

    async def request(self, start: int, end: int, longest: int) -> None:
        """Request the bytes from `start` up to `end`, without the byte at `end`.

        Raises DistrustError also for more than `longest` bytes, and IndexFailure as `open` does.
        """
        span = await _request(self._client, self._file, f"bytes={start}-{end - 1}", longest)
        is_requested = span.start == start and len(span.content) == end - start
        is_same_file = span.total == self.size and span.etag == self._etag
        if not is_requested or not is_same_file:
            raise DistrustError
        self.content.add(span.start, span.content)
        self.received += len(span.content)


async def _request(client: Client, file: File, header: str, longest: int) -> _Span:
    """Request the part of a file that the header field Range names, `header`.

    Raises DistrustError also for more than `longest` bytes, and IndexFailure if the server does not
    give the file.
    """

    async def consume(response: httpx.Response) -> _Span:
        if response.status_code != 206:
            if response.status_code in (401, 403, 404, 410):
                check_status(response.status_code, file)
            raise DistrustError
        bounds = content_range(response)
        if bounds is None:
            raise DistrustError
        first, last, total = bounds
        length = last - first + 1
        if length > longest or last >= total:
            raise DistrustError
        if file.size is not None and file.size != total:
            raise DistrustError
        try:
            content = await client.body(response, length)
        except IndexFailure:  # the body is longer than the header fields say
            raise DistrustError from None
        if len(content) != length:
            raise DistrustError
        return _Span(first, content, total, response.headers.get("etag", ""))

    headers = {**IDENTITY_ENCODING, "Range": header}
    return await client.request(file.url, consume, headers=headers)
