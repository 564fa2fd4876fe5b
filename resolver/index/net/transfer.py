"""Downloading files into a folder: concurrently, each checked by its hash, resuming interrupted ones.

A file is written with the ending `.part` and gets its name once its sha256 is that of the lock. What an
interrupted run leaves is continued with a range request (RFC 9110, 14). The hash shows whether a server handles
ranges correctly; if not, the whole file is requested.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import httpx

from resolver import files
from resolver.errors import IndexFailure, InputError, Unreachable
from resolver.index.net.client import FILES, PLAIN, Client
from resolver.index.net.downloads import WrongFile, check_status, content_range, packing, write
from resolver.index.net.failures import NoAnswerError
from resolver.index.store.part import Part, part_path
from resolver.model.release import File

_PROGRESS: Final = 16 << 10  # bytes that a round of tries must bring for there to be another one


class Copied(NamedTuple):
    """The progress of a transfer. `total` is None if a file's size is unknown."""

    files: int
    of_files: int
    bytes: int
    total: int | None


class Transfer:
    """Saves files in one folder. Lives on an event loop. `tell` is called for each piece."""

    def __init__(self, client: Client, folder: Path, tell: Callable[[Copied], None]) -> None:
        self._client = client
        self._folder = folder
        self._tell = tell
        self._files = self._of_files = self._bytes = 0
        self._total: int | None = None
        self._few = asyncio.Semaphore(FILES)

    async def save(self, files: Sequence[File]) -> None:
        """Save all files that can be saved. Raises IndexFailure for the others, InputError if the disk refuses."""
        sizes = [file.size for file in files]
        there = sum(_size(part_path(file, self._folder)) for file in files)
        known = sum(size for size in sizes if size is not None)
        self._require_room(known - there)
        self._of_files = len(files)
        self._total = known if None not in sizes else None
        tasks = [asyncio.ensure_future(self._attempt(file)) for file in files]
        try:
            failures = [failure for failure in await asyncio.gather(*tasks) if failure is not None]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if failures:
            raise _all_of(failures, len(files))

    async def _attempt(self, file: File) -> IndexFailure | None:
        try:
            async with self._few:
                await self._save(file)
        except IndexFailure as failure:
            return failure
        except OSError as error:
            raise InputError(
                f"{file.filename} cannot be stored",
                where=str(self._folder),
                why=error.strerror or str(error),
                hint=files.advice(error.errno, "choose another folder")
                + "; what was received so far is kept for the next run",
            ) from None
        self._files += 1
        self._told(0)
        return None

    async def _save(self, file: File) -> None:
        part = await self._opened(file)
        self._told(part.size)
        try:
            packed = await self._receive(file, part, ranges=True)
            if part.sha256 != file.sha256 and part.mixed:
                self._restart(part)
                packed = await self._receive(file, part, ranges=False)
            if part.sha256 != file.sha256:
                raise _wrong(file, part, packed)
            await asyncio.to_thread(part.finish)
        except WrongFile:
            part.remove()
            raise
        finally:
            part.close()

    async def _receive(self, file: File, part: Part, *, ranges: bool) -> str:
        """Receive what is missing of a file, and return how it was packed. It is not given up while it gets further."""
        headers = dict(PLAIN)

        def resume() -> None:
            headers.pop("Range", None)
            if ranges and part.size:
                headers["Range"] = f"bytes={part.size}-"

        def anew(why: str) -> NoAnswerError:
            nonlocal ranges
            ranges = False
            self._restart(part)
            return NoAnswerError(why)

        async def consume(response: httpx.Response) -> str:
            nonlocal ranges
            status = response.status_code
            try:
                if "Range" in headers and status in (206, 416):
                    first, last, total = content_range(response) or (-1, 0, 0)
                    if status == 416 or (first, last) != (part.size, total - 1) or file.size not in (None, total):
                        raise anew("It does not continue where it was asked to")
                    part.mixed = True
                else:
                    check_status(status, file)
                    ranges = ranges and "Range" not in headers
                    self._restart(part)
                await self._write(file, part, response)
            except WrongFile:
                if part.mixed:
                    raise anew("It sends more than the file has") from None
                raise
            finally:
                resume()
            return packing(response)

        while part.size != file.size:
            before = part.size
            resume()
            try:
                return await self._client.request(file.url, consume, headers=headers, long=True)
            except Unreachable as failure:
                if part.size < before + _PROGRESS:
                    if not part.size:
                        raise
                    raise Unreachable(
                        f"{file.filename} stops in the middle every time.",
                        where=failure.where,
                        why=failure.why,
                        hint="run the command again: it resumes where it stopped",
                    ) from None
        return ""

    async def _opened(self, file: File) -> Part:
        opening = asyncio.ensure_future(asyncio.to_thread(Part, file, self._folder))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            with suppress(OSError):
                (await opening).close()
            raise

    async def _write(self, file: File, part: Part, response: httpx.Response) -> None:
        """Append an answer's body. Raises NoAnswerError if it is too short, and WrongFile if it is too long."""
        length = response.headers.get("content-length", "")
        self._require_room(int(length) if length.isdecimal() else 0, file)
        await write(self._client, response, file, part, self._told)
        if file.size is not None and part.size < file.size:
            raise NoAnswerError(f"It ends before the announced {file.size} bytes{packing(response)}")

    def _restart(self, part: Part) -> None:
        self._told(-part.size)
        part.restart()

    def _told(self, more: int) -> None:
        self._bytes += more
        self._tell(Copied(self._files, self._of_files, self._bytes, self._total))

    def _require_room(self, needed: int, file: File | None = None) -> None:
        free = shutil.disk_usage(self._folder).free
        if needed > free:
            what = "the files" if file is None else file.filename
            raise InputError(
                f"there is not enough free space for {what}",
                where=str(self._folder),
                why=f"{needed / 1e6:.1f} MB are still needed, {free / 1e6:.1f} MB are free.",
                hint="free some space or choose another folder",
            )


def _wrong(file: File, part: Part, more: str) -> IndexFailure:
    return WrongFile(
        f"{file.filename} is not the file in the lock; it was removed.",
        where=file.url,
        why=f"Its sha256 is {part.sha256}; the lock says {file.sha256}{more}.",
        hint="a mirror or proxy may serve an altered or incomplete file; try again or use another index",
    )


def _all_of(failures: Sequence[IndexFailure], of: int) -> IndexFailure:
    """One failure that names every file."""
    first = failures[0]
    if len(failures) == 1:
        return first
    others = "\n".join(f"{failure.message} {failure.why}" for failure in failures[1:])
    return IndexFailure(
        f"{len(failures)} of {of} files could not be downloaded. {first.message}",
        where=first.where,
        why=first.why,
        hint=f"{first.hint}\n{others}",
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
