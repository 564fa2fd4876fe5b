"""Whole files, streamed to a temporary folder and hashed on the way."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Final, NamedTuple

import httpx

from resolver import files
from resolver.errors import IndexFailure, InputError
from resolver.index.net.client import PLAIN, Client
from resolver.index.store.part import Part
from resolver.model.release import File

_ARCHIVE_LIMIT: Final = 2 << 30
_WHEEL_LIMIT: Final = 8 << 30
_ALTERED: Final = "a mirror or proxy may serve an altered or incomplete file; try again or use another index"

_LONGEST: Final = 40  # characters
_CONTENT_RANGE: Final = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")


class Download(NamedTuple):
    """A downloaded file; `path` is removed with the folder when the run ends."""

    path: Path
    sha256: str
    size: int


class Downloads:
    """The folder of downloaded files, in TMPDIR. `close` removes it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._folder: TemporaryDirectory[str] | None = None

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
        try:
            part = Part(file, self._new_folder())
        except OSError as error:
            raise _refused(file, str(error.filename or ""), error) from None
        try:
            await write(self._client, response, file, part)
            if file.sha256 and part.sha256 != file.sha256:
                raise WrongFile(
                    f"{file.filename} is not the file listed on its index page.",
                    where=file.url,
                    why=f"Its sha256 is {part.sha256}; the page says {file.sha256}{packing(response)}.",
                    hint=_ALTERED,
                )
            part.close()
        except OSError as error:
            part.remove()
            raise _refused(file, str(part.path.parent), error) from None
        except BaseException:
            part.remove()
            raise
        return Download(part.path, part.sha256, part.size)

    def _new_folder(self) -> Path:
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix=".ascend-lock-", ignore_cleanup_errors=True)
        return Path(mkdtemp(dir=self._folder.name))


class WrongFile(IndexFailure):
    """What a server sent is not the file that was asked for."""


async def write(
    client: Client,
    response: httpx.Response,
    file: File,
    part: Part,
    tell: Callable[[int], None] = lambda _: None,
) -> None:
    """Append an answer's body to a part, within the size of the file. Raises WrongFile and OSError."""
    limit = file.size if file.size is not None else _WHEEL_LIMIT if file.is_wheel else _ARCHIVE_LIMIT

    def take(piece: bytes) -> None:
        if part.size + len(piece) > limit:
            raise WrongFile(
                f"{file.filename} is larger than it should be.",
                where=file.url,
                why=f"The download was stopped after {limit} bytes{packing(response)}.",
                hint="a mirror or proxy may serve another file; try again or use another index",
            )
        part.write(piece)
        tell(len(piece))

    await client.into(response, take)


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
        hint=files.advice(error.errno, "set TMPDIR to another folder"),
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
