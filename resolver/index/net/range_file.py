"""Reading METADATA from a wheel on a server by a few range requests (RFC 9110, 14)."""

from __future__ import annotations

from hashlib import sha256
from typing import Final, NamedTuple

import httpx

from resolver.errors import IndexFailure
from resolver.index.net.client import PLAIN, Client
from resolver.index.net.downloads import Download, Downloads, check_status, content_range
from resolver.index.parse.metadata import DIRECTORY_LIMIT, METADATA_LIMIT, Release, Wheel
from resolver.index.protocol import UnusableFile
from resolver.model.release import File

# Contains the list of members and METADATA of nine wheels in ten, as METADATA comes last before the list.
_TAIL: Final = 64 << 10
# Fetched before a list of members longer than the tail, to get METADATA with it. Between them is RECORD,
# compressed to about three quarters of the list's length; for the longest a further request is cheaper.
_SLACK: Final = 32 << 10
_RECORD: Final = 256 << 10
_LONGEST: Final = DIRECTORY_LIMIT + METADATA_LIMIT + _SLACK + _RECORD
_MOST: Final = 8


class MissingSpanError(Exception):
    """A span is needed that was not fetched; `end` is exclusive."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__(start, end)
        self.start = start
        self.end = end


class RangeFile:
    """A file of which only some spans are present. Reading elsewhere raises MissingSpanError."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._spans: list[tuple[int, bytes]] = []
        self._position = 0

    def add(self, start: int, content: bytes) -> None:
        """Add a span."""
        self._spans.append((start, content))

    def read(self, size: int = -1, /) -> bytes:
        """Read on; raises MissingSpanError."""
        start = min(self._position, self._size)
        end = self._size if size < 0 else min(start + size, self._size)
        for begin, span in self._spans:
            if begin <= start and end <= begin + len(span):
                self._position = end
                return span[start - begin : end - begin]
        if start < end:
            raise MissingSpanError(start, end)
        return b""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move within the file."""
        position = offset + (0, self._position, self._size)[whence]
        if position < 0:
            raise OSError("a position before the start")
        self._position = position
        return position

    def tell(self) -> int:
        """The position."""
        return self._position


class _Part(NamedTuple):
    start: int
    content: bytes
    total: int
    etag: str


class _DistrustError(Exception):
    """The server's answers to ranges contradict each other."""


class Ranges:
    """Reads wheels in parts if the server supports it, otherwise whole."""

    def __init__(self, client: Client, downloads: Downloads) -> None:
        self._client = client
        self._downloads = downloads

    async def metadata(self, file: File, release: Release) -> tuple[bytes, bool]:
        """The METADATA of a wheel, and whether the whole wheel was compared with its hash.

        Raises UnusableFile and IndexFailure.
        """
        try:
            answer: _Part | bytes | Download = await self._fetch(file, f"bytes=-{_TAIL}")
            if isinstance(answer, _Part):
                answer = await self._from_parts(file, release, answer)
        except _DistrustError:
            answer = await self._downloads.fetch(file)
        if isinstance(answer, bytes):
            return answer, False
        try:
            with answer.path.open("rb") as wheel:
                return Wheel(wheel, release).metadata(), True
        finally:
            answer.path.unlink()

    async def _from_parts(self, file: File, release: Release, tail: _Part) -> bytes | Download:
        """METADATA, or the whole file after all. Raises _DistrustError."""
        if tail.start == 0 and file.sha256 and sha256(tail.content).hexdigest() != file.sha256:
            raise _DistrustError
        content = RangeFile(tail.total)
        content.add(tail.start, tail.content)
        wheel = Wheel(content, release)
        for number in range(_MOST):
            try:
                return wheel.metadata()
            except MissingSpanError as missing:
                start, end = missing.start, missing.end
            except UnusableFile:
                # The server may mix up ranges; a whole file can be compared with its hash.
                raise _DistrustError from None
            if number == 0:  # the list of members, or METADATA, which is not long then
                start = max(0, start - _SLACK - min((end - start) * 3 // 4, _RECORD))
            part = await self._fetch(file, f"bytes={start}-{end - 1}")
            if not isinstance(part, _Part):
                return part
            answered = part.start, len(part.content), part.total, part.etag
            if answered != (start, end - start, tail.total, tail.etag):
                raise _DistrustError
            content.add(part.start, part.content)
        raise _DistrustError

    async def _fetch(self, file: File, span: str) -> _Part | Download:
        """A part, or the whole file from a server without ranges. Raises _DistrustError if it is neither."""

        async def consume(response: httpx.Response) -> _Part | Download:
            if response.status_code == 200:
                return await self._downloads.keep(response, file)
            if response.status_code != 206:
                if response.status_code in (401, 403, 404, 410):
                    check_status(response.status_code, file)
                raise _DistrustError
            start, last, total = content_range(response) or (0, _LONGEST, 0)
            if last - start + 1 > _LONGEST:
                raise _DistrustError
            try:
                content = await self._client.body(response, last - start + 1)
            except IndexFailure:  # longer than it claims
                raise _DistrustError from None
            wrong_size = file.size is not None and total != file.size
            if wrong_size or last >= total or last - start + 1 != len(content):
                raise _DistrustError
            if span.startswith("bytes=-") and (last != total - 1 or len(content) != min(int(span[7:]), total)):
                raise _DistrustError
            return _Part(start, content, total, response.headers.get("etag", ""))

        return await self._client.request(file.url, consume, headers={**PLAIN, "Range": span})
