"""Whole files, streamed to a temporary folder and hashed on the way."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import httpx

from resolver import disk
from resolver.catalog.meter import Meter
from resolver.catalog.net.client import PLAIN, Client
from resolver.errors import IndexFailure, InputError
from resolver.model.release import File

ARCHIVE_LIMIT: Final = 2 << 30
WHEEL_LIMIT: Final = 8 << 30

_LONGEST: Final = 40  # characters
_CONTENT_RANGE: Final = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")


class Download(NamedTuple):
    """A downloaded file; `path` is removed with the folder when the run ends."""

    path: Path
    sha256: str
    size: int


class Downloads:
    """The folder of downloaded files, in TMPDIR. `close` removes it."""

    def __init__(self, client: Client, meter: Meter) -> None:
        self._client = client
        self._meter = meter
        self._folder: TemporaryDirectory[str] | None = None
        self._count = 0

    def close(self) -> None:
        """Remove all files."""
        if self._folder is not None:
            self._folder.cleanup()

    async def fetch(self, file: File) -> Download:
        """Download a file and check it against its page. Raises IndexFailure."""

        async def consume(response: httpx.Response) -> Download:
            check_status(response.status_code, file)
            return await self.keep(response, file)

        return await self._client.request(file.url, consume, headers=PLAIN, long=True)

    async def keep(self, response: httpx.Response, file: File) -> Download:
        """Write an answer's body to a file and check it against the page. Raises IndexFailure."""
        limit = WHEEL_LIMIT if file.is_wheel else ARCHIVE_LIMIT
        limit = limit if file.size is None else min(limit, file.size)
        digest = hashlib.sha256()
        size = 0
        try:
            path = self._new_path()
        except OSError as error:
            raise _refused(file, str(error.filename or ""), error) from None
        try:
            with path.open("xb") as target:

                def take(piece: bytes) -> None:
                    nonlocal size
                    size += len(piece)
                    if size > limit:
                        raise IndexFailure(
                            f"{file.filename} is larger than it should be.",
                            where=file.url,
                            why=f"The download was stopped after {limit} bytes{packing(response)}.",
                            hint="a mirror or proxy may serve another file; try again or use another index",
                        )
                    digest.update(piece)
                    target.write(piece)
                    self._meter.add(received=len(piece))

                await self._client.into(response, take)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise _refused(file, str(path.parent), error) from None
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        download = Download(path, digest.hexdigest(), size)
        if file.sha256 and download.sha256 != file.sha256:
            path.unlink()
            raise IndexFailure(
                f"{file.filename} is not the file listed on its index page.",
                where=file.url,
                why=f"Its sha256 is {download.sha256}; the page says {file.sha256}{packing(response)}.",
                hint="a mirror or proxy may serve an altered or incomplete file; try again or use another index",
            )
        return download

    def _new_path(self) -> Path:
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix=".ascend-lock-", ignore_cleanup_errors=True)
        self._count += 1
        return Path(self._folder.name, str(self._count))


def packing(response: httpx.Response) -> str:
    """For the message about a file with a wrong hash: that it arrived compressed; empty if it did not.

    Content-Encoding alone is no error: some servers declare it for every .tar.gz, and send the file as it is.
    """
    name = response.headers.get("content-encoding", "identity").strip()
    return "" if name in ("", "identity") else f" (it came packed by `{name[:_LONGEST]}`, which was not asked for)"


def content_range(response: httpx.Response) -> tuple[int, int, int] | None:
    """The first and the last byte of a part, and the size of the whole file (RFC 9110, 14.4); None if it is unclear."""
    match = _CONTENT_RANGE.fullmatch(response.headers.get("content-range", "").strip())
    if match is None or response.headers.get("content-encoding", "identity") != "identity":
        return None
    first, last, total = map(int, match.groups())
    return first, last, total


def _refused(file: File, where: str, error: OSError) -> InputError:
    return InputError(
        f"{file.filename} could not be stored for reading.",
        where=where,
        why=error.strerror or str(error),
        hint=disk.advice(error.errno, "set TMPDIR to another folder"),
    )


def check_status(status: int, file: File) -> None:
    """Raise IndexFailure unless the answer is a whole file."""
    if status == 200:
        return
    if status in (401, 403):
        hint = "put the user and password for that host in ~/.netrc or in the index address"
    else:
        hint = "the index page lists a file that its server does not provide; a mirror may be incomplete"
    raise IndexFailure(
        f"{file.filename} cannot be downloaded.", where=file.url, why=f"The server answered {status}.", hint=hint
    )
