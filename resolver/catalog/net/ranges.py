"""Reading METADATA from a wheel on a server by a few range requests (RFC 9110, 14)."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final, NamedTuple

from packaging.utils import NormalizedName

from resolver.catalog.net.download import PLAIN, Download, Downloads, check_status
from resolver.catalog.net.http import Client
from resolver.catalog.net.wire import Response
from resolver.catalog.parse.metadata import Release
from resolver.catalog.parse.wheel import DIRECTORY_LIMIT, METADATA_LIMIT, MissingSpanError, Sparse, read_metadata
from resolver.catalog.protocol import UnusableFile
from resolver.errors import IndexFailure
from resolver.model.release import File

# Contains the list of members and METADATA of nine wheels in ten, as METADATA comes last before the list.
_TAIL: Final = 64 << 10
# If a project's METADATA was farther from the end, but not too far, so much is fetched of its other wheels.
_LONGEST_TAIL: Final = 512 << 10
_GROWTH: Final = 8 << 10  # from a release to the next
# Fetched before a list of members longer than the tail, to get METADATA with it. Between them is RECORD,
# compressed to about three quarters of the list's length; for the longest a further request is cheaper.
_SLACK: Final = 32 << 10
_RECORD: Final = 256 << 10
_LONGEST: Final = DIRECTORY_LIMIT + METADATA_LIMIT + _SLACK + _RECORD
_MOST: Final = 8
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")


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
        self._tails: dict[NormalizedName, int] = {}  # what would have sufficed for the last wheel that _TAIL did not
        self._capped: set[NormalizedName] = set()  # projects whose server refused more than _TAIL

    async def metadata(self, file: File, release: Release) -> tuple[bytes, bool]:
        """The METADATA of a wheel, and whether the whole wheel was compared with its hash.

        Raises UnusableFile and IndexFailure.
        """
        try:
            answer: _Part | bytes | Download = await self._tail(file, release)
            if isinstance(answer, _Part):
                answer = await self._from_parts(file, release, answer)
        except _DistrustError:
            answer = await self._downloads.fetch(file)
        if isinstance(answer, bytes):
            return answer, False
        try:
            with answer.path.open("rb") as wheel:
                return read_metadata(wheel, release), True
        finally:
            answer.path.unlink()

    async def _tail(self, file: File, release: Release) -> _Part | Download:
        """The end of a wheel: as much as the project's last wheel needed, if the server allows that."""
        known = self._tails.get(release.project, _TAIL)
        if known > _TAIL:
            try:
                return await self._fetch(file, f"bytes=-{known}", whole=False)
            except _DistrustError:
                self._capped.add(release.project)  # some servers cap their answers
                self._tails.pop(release.project, None)
        return await self._fetch(file, f"bytes=-{_TAIL}")

    async def _from_parts(self, file: File, release: Release, tail: _Part) -> bytes | Download:
        """METADATA, or the whole file after all. Raises _DistrustError."""
        if tail.start == 0 and file.sha256 and sha256(tail.content).hexdigest() != file.sha256:
            raise _DistrustError
        wheel = Sparse(tail.total)
        wheel.add(tail.start, tail.content)
        for _ in range(_MOST):
            try:
                return read_metadata(wheel, release)
            except MissingSpanError as missing:
                span = missing.end - missing.start
                if span > max(DIRECTORY_LIMIT, METADATA_LIMIT):
                    raise UnusableFile(f"{release.filename} has an unreasonably large list of members") from None
                start, end = max(0, missing.start - _SLACK - min(span * 3 // 4, _RECORD)), missing.end
                length = max(tail.total - start + _GROWTH, _TAIL)
                self._learn(release.project, length)
                if wheel.listed:  # then METADATA is what is missing, and nothing before it
                    start = missing.start
            except UnusableFile:
                # The server may mix up ranges; a whole file can be compared with its hash.
                raise _DistrustError from None
            part = await self._fetch(file, f"bytes={start}-{end - 1}")
            if not isinstance(part, _Part):
                return part
            answered = part.start, len(part.content), part.total, part.etag
            if answered != (start, end - start, tail.total, tail.etag):
                raise _DistrustError
            wheel.add(part.start, part.content)
        raise _DistrustError

    def _learn(self, project: NormalizedName, length: int) -> None:
        """Remember how long the end of a wheel should have been. If that is too long, the next one is tried anew."""
        if length > _LONGEST_TAIL:
            self._tails.pop(project, None)
        elif project not in self._capped:
            self._tails[project] = max(length, self._tails.get(project, 0))

    async def _fetch(self, file: File, span: str, *, whole: bool = True) -> _Part | Download:
        """A part, or the whole file from a server without ranges. Raises _DistrustError if it is neither.

        Without `whole`, the answer of a server without ranges is not read.
        """

        async def consume(response: Response) -> _Part | Download:
            if response.status_code == 200 and whole:
                return await self._downloads.keep(response, file)
            if response.status_code != 206:
                if response.status_code in (401, 403, 404, 410):
                    check_status(response.status_code, file)
                raise _DistrustError
            match = _CONTENT_RANGE.fullmatch(response.headers.get("content-range", "").strip())
            if match is None or response.headers.get("content-encoding", "identity") != "identity":
                raise _DistrustError
            start, last, total = (int(number) for number in match.groups())
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

        return await self._client.request(file.url, consume, headers={**PLAIN, "Range": span}, limit=_LONGEST)
