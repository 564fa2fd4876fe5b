"""Download whole files, and hash them while they arrive.

A file is written under a name with the ending `.part`, and renamed when it is complete and has the
expected sha256. If an earlier run was interrupted, its `.part` file is continued with a range
request (RFC 9110, 14). If the sha256 then shows that the server does not handle ranges correctly,
the whole file is requested again.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import httpx

from resolver import files as disk
from resolver.errors import IndexFailure, Unreachable
from resolver.index.net.client import FILES, IDENTITY_ENCODING, Client
from resolver.index.net.no_answer import NoAnswerError
from resolver.index.net.slots import Slots
from resolver.model.release import File
from resolver.owned_folder import OwnedFolder
from resolver.phrase import Phrase, phrase

ENDING: Final = ".part"
_CHUNK: Final = 1 << 20  # bytes that are hashed at once
# Bytes of a file whose size the page does not state.
_ARCHIVE_LIMIT: Final = 2 << 30
_WHEEL_LIMIT: Final = 8 << 30
# Bytes that a round of tries must add to a file; otherwise there is no further round.
_PROGRESS: Final = 16 << 10
_CONTENT_RANGE: Final = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")


class WrongFile(IndexFailure):
    """A server sent a file that differs from the one its page lists."""


class PartialFile:
    """An incomplete file on disk, and the sha256 of its bytes so far.

    Its name contains the expected sha256, so that it is never continued with another file's bytes.
    """

    def __init__(self, file: File, folder: OwnedFolder) -> None:
        """Open the incomplete file in `folder`. One of an earlier run is read to hash it."""
        self.file = file
        # The path of the complete file.
        self.path = folder.path / file.filename
        # Whether range requests may be used.
        self.ranges = True
        # The ETag and Last-Modified of the last answer; empty if it had none.
        self.validators = ("", "")
        # The number of bytes so far.
        self.size = 0
        self._folder = folder
        self._name = f"{file.filename}.{file.sha256[:16]}{ENDING}"
        self._handle = folder.open_growing(self._name)
        self._digest = hashlib.sha256()
        self._handle.seek(0)
        while chunk := self._handle.read(_CHUNK):
            self._digest.update(chunk)
            self.size += len(chunk)
        # Whether the bytes may be from more than one answer.
        self.mixed = self.size > 0

    @property
    def sha256(self) -> str:
        """Return the sha256 of the bytes so far."""
        return self._digest.hexdigest()

    @property
    def is_wrong(self) -> bool:
        """Return whether the sha256 differs from that on the page; False if the page has none."""
        return self.file.sha256 not in ("", self.sha256)

    def append(self, piece: bytes) -> None:
        """Write received bytes to the disk. Raises WrongFile if the file becomes too large."""
        limit = self._limit()
        if self.size + len(piece) > limit:
            raise WrongFile(
                phrase("{file} is larger than it should be.", file=self.file.filename),
                where=self.file.url,
                why=phrase("The download was stopped after {limit} bytes.", limit=limit),
                hint=phrase(
                    "a mirror or proxy may serve another file; try again or use another index"
                ),
            )
        self._handle.write(piece)
        self._handle.flush()
        self._digest.update(piece)
        self.size += len(piece)

    def _limit(self) -> int:
        """Return the size of the file in bytes; a limit for it if the page does not state it."""
        if self.file.size is not None:
            return self.file.size
        return _WHEEL_LIMIT if self.file.is_wheel else _ARCHIVE_LIMIT

    def restart(self) -> None:
        """Discard all bytes so far."""
        self._handle.seek(0)
        self._handle.truncate()
        self._digest = hashlib.sha256()
        self.size = 0
        self.mixed = False

    def finish(self) -> None:
        """Sync the complete file to the disk, and rename it to its final name."""
        os.fsync(self._handle.fileno())
        self._handle.close()
        self._folder.replace(self._name, self.file.filename)

    def close(self, *, keep: bool) -> None:
        """Close the file. It is removed unless `keep`, and also if it is empty.

        After `finish`, nothing is done.
        """
        if not self._handle.closed:
            with suppress(OSError):  # on a full disk, flushing the buffer fails once more
                self._handle.close()
            if not keep or not self.size:
                self._folder.remove(self._name)


class TransferProgress(NamedTuple):
    """The progress of a download of several files."""

    # The number of files that are complete.
    files: int
    # The number of all files.
    of_files: int
    # The number of bytes so far, with those of an interrupted run.
    bytes: int
    # The number of bytes of all files; None if the size of a file is not known.
    total: int | None


class Transfer:
    """Downloads files into a folder. `report` is called with the progress after each piece."""

    def __init__(
        self, client: Client, folder: OwnedFolder, report: Callable[[TransferProgress], None]
    ) -> None:
        """Download with `client` into `folder`."""
        self._client = client
        self._folder = folder
        self._report = report
        self._progress = TransferProgress(0, 0, 0, None)
        self._slots = Slots(FILES)

    async def save(self, files: Sequence[File]) -> None:
        """Download all files concurrently.

        If some cannot be downloaded, the others are, and one IndexFailure for all failures is
        raised. Raises InputError if the disk fails.
        """
        sizes = [file.size for file in files if file.size is not None]
        total = sum(sizes) if len(sizes) == len(files) else None
        self._progress = TransferProgress(0, len(files), 0, total)
        tasks = [asyncio.ensure_future(self._attempt(file)) for file in files]
        try:
            failures = [failure for failure in await asyncio.gather(*tasks) if failure is not None]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if failures:
            raise _combined(failures, len(files))

    async def _attempt(self, file: File) -> IndexFailure | None:
        """Download one file. Return why it cannot be downloaded, or None if it was.

        Raises InputError if the disk fails.
        """
        try:
            async with self._slots.of(file.url):
                await self.fetch(file)
        except IndexFailure as failure:
            return failure
        except OSError as error:
            instead = phrase(
                "choose another folder; what was received so far is kept for the next run"
            )
            raise disk.input_error(
                error,
                phrase("{file} cannot be stored", file=file.filename),
                self._folder.path,
                instead,
            ) from None
        self._count(0, files=1)
        return None

    async def fetch(self, file: File) -> PartialFile:
        """Download one file, check its sha256, rename it to its final name, and return it.

        Raises WrongFile if its sha256 differs from that on the page, another IndexFailure if it
        cannot be downloaded, and OSError if the disk fails.
        """
        part = PartialFile(file, self._folder)
        self._count(part.size)
        try:
            await self._receive(part)
            if part.is_wrong and part.mixed:
                self._restart(part, ranges=False)
                await self._receive(part)
            if part.is_wrong:
                raise altered(
                    phrase("{file} is not the file", file=file.filename),
                    file.url,
                    part.sha256,
                    file.sha256,
                )
            await asyncio.to_thread(part.finish)
        except WrongFile:
            part.close(keep=False)
            raise
        finally:
            part.close(keep=True)
        return part

    async def _receive(self, part: PartialFile) -> None:
        """Receive the missing bytes of a file.

        The client tries a request several times. If that fails, but enough bytes arrived, it starts
        again. Raises IndexFailure.
        """
        file = part.file

        def headers() -> Mapping[str, str]:
            if part.ranges and part.size:
                return {**IDENTITY_ENCODING, "Range": f"bytes={part.size}-"}
            return IDENTITY_ENCODING

        async def consume(response: httpx.Response) -> None:
            await self._append(part, response)

        while part.size != file.size:
            size_before = part.size
            try:
                await self._client.request(file.url, consume, headers=headers, long=True)
                return
            except Unreachable as failure:
                if part.size >= size_before + _PROGRESS:
                    continue
                if not part.size:
                    raise
                raise Unreachable(
                    phrase("{file} stops in the middle every time.", file=file.filename),
                    where=failure.where,
                    why=failure.phrases["why"],
                    hint=phrase("run the command again: it resumes where it stopped"),
                ) from None

    async def _append(self, part: PartialFile, response: httpx.Response) -> None:
        """Append the body of a response to a file.

        The file is begun again if the response does not continue it. Raises NoAnswerError if the
        request should be tried again, and IndexFailure if it cannot succeed.
        """
        file = part.file
        has_range = "range" in response.request.headers
        if has_range and response.status_code in (206, 416):
            if not _continues(part, response):
                self._restart(part, ranges=False)
                raise NoAnswerError(phrase("It does not continue where it was asked to"))
            part.mixed = True
        else:
            check_status(response.status_code, file)
            self._restart(part, ranges=part.ranges and not has_range)
            # Some servers answer a range request with 200 and nevertheless only a part of the file.
            part.mixed = has_range
        try:
            await self._client.stream_body(response, self._taker(part))
        except WrongFile:
            if not part.mixed:
                raise
            self._restart(part, ranges=False)
            raise NoAnswerError(phrase("It sends more than the file has")) from None
        etag = response.headers.get("etag", "")
        part.validators = etag, response.headers.get("last-modified", "")
        is_short = part.size < (file.size or 0)
        if part.is_wrong and is_short and "content-length" not in response.headers:
            raise NoAnswerError(phrase("It ends before the announced {size} bytes", size=file.size))

    def _taker(self, part: PartialFile) -> Callable[[bytes], None]:
        """Return a function that appends received bytes to a file and counts them."""

        def take(piece: bytes) -> None:
            part.append(piece)
            self._count(len(piece))

        return take

    def _restart(self, part: PartialFile, *, ranges: bool) -> None:
        """Discard the bytes of a file. `ranges` says whether range requests may be used for it."""
        self._count(-part.size)
        part.restart()
        part.ranges = ranges

    def _count(self, received: int, *, files: int = 0) -> None:
        """Add received bytes and complete files to the progress, and report it.

        `received` is negative for discarded bytes.
        """
        progress = self._progress
        self._progress = progress._replace(
            files=progress.files + files, bytes=progress.bytes + received
        )
        self._report(self._progress)


def _continues(part: PartialFile, response: httpx.Response) -> bool:
    """Return whether the response to a range request has exactly the bytes that a file lacks."""
    bounds = content_range(response)
    if bounds is None:
        return False
    first, last, total = bounds
    if part.file.size is not None and part.file.size != total:
        return False
    return first == part.size and last == total - 1


def _combined(failures: Sequence[IndexFailure], total: int) -> IndexFailure:
    """Return one failure that names every file that failed; `total` counts all files."""
    first = failures[0]
    if len(failures) == 1:
        return first
    hint = first.phrases["hint"]
    for failure in failures[1:]:
        hint = phrase(
            "{before}\n{message} {why}",
            before=hint,
            message=failure.phrases["message"],
            why=failure.phrases["why"],
        )
    return IndexFailure(
        phrase(
            "{count} of {total} files could not be downloaded. {message}",
            count=len(failures),
            total=total,
            message=first.phrases["message"],
        ),
        where=first.where,
        why=first.phrases["why"],
        hint=hint,
    )


def altered(subject: Phrase, where: str, digest: str, listed: str) -> WrongFile:
    """Return the failure of a file whose sha256, `digest`, is not the one on its page, `listed`.

    `subject` begins the message; `where` is the address of the file.
    """
    return WrongFile(
        phrase("{difference} listed on its index page.", difference=subject),
        where=where,
        why=phrase("Its sha256 is {digest}; the page says {listed}.", digest=digest, listed=listed),
        hint=phrase(
            "a mirror or proxy may serve an altered or incomplete file; try again or use "
            "another index"
        ),
    )


# Headers and statuses of answers


def content_range(response: httpx.Response) -> tuple[int, int, int] | None:
    """Return the positions of a part's first and last byte, and the size of the whole file.

    None if the header fields of the response do not state them (RFC 9110, 14.4), or if the part is
    compressed.
    """
    match = _CONTENT_RANGE.fullmatch(response.headers.get("content-range", "").strip())
    if match is None or response.headers.get("content-encoding", "identity") != "identity":
        return None
    return int(match[1]), int(match[2]), int(match[3])


def check_status(status: int, file: File) -> None:
    """Raise IndexFailure unless the HTTP status is 200, which means a whole file."""
    if status == 200:
        return
    hint = phrase(
        "the index page lists a file that its server does not provide; a mirror may be incomplete"
    )
    if status in (401, 403):
        hint = phrase("put the user and password for that host in ~/.netrc or in the index address")
    raise IndexFailure(
        phrase("{file} cannot be downloaded.", file=file.filename),
        where=file.url,
        why=phrase("The server answered {status}.", status=status),
        hint=hint,
    )
