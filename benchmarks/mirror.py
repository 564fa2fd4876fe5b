"""A process that serves a copy of an index on 127.0.0.1, as a mirror far away would.

    UPSTREAM=ADDRESS .venv/bin/python benchmarks/mirror.py FOLDER [--round-trip 0.05]
        [--bandwidth 2000000] [--links relative] [--form html] [--metadata] [--compressed]

prints its port. What it is asked for the first time comes from the index at UPSTREAM and is kept in
FOLDER, which mirrors of other kinds may share; so only what was asked for before is timed. Without
options it answers at once, with absolute links, JSON pages, and no `.metadata` files.

A connection costs a round trip, and so does a request. All connections share the bandwidth. There
is no TLS. `/count` answers with the requests, the bytes and the most connections at once since it
was last asked.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import html
import json
import os
import re
import sys
import urllib.error
import urllib.request
import zipfile
from contextlib import suppress
from hashlib import sha256
from io import RawIOBase
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

_JSON = "application/vnd.pypi.simple.v1+json"
_HTML = "application/vnd.pypi.simple.v1+html"
_PIECE = 16 << 10  # bytes of one connection before another one has its turn
_BLOCK = 64 << 10  # bytes of a wheel that are read at once, to find its metadata
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
# File names and hashes of pages are an index's own; an address here names nothing else.
_FILE = re.compile(r"/files/(https?)/([^/?]+)(/[^?]+)")


class Absent(Exception):
    """The index has no such page or file."""


class Options(NamedTuple):
    """How a mirror answers."""

    # Seconds.
    round_trip: float
    # Bytes a second; 0 for no limit.
    bandwidth: float
    # `absolute` or `relative`.
    links: str
    # `json` or `html`.
    form: str
    # Whether it has `.metadata` files (PEP 658).
    metadata: bool
    # Whether pages are compressed for those who accept that.
    compressed: bool


class Answer(NamedTuple):
    """An answer to a request."""

    status: int
    headers: dict[str, str]
    body: bytes = b""


class Upstream:
    """An index, of which everything that was asked for is kept in a folder."""

    def __init__(self, address: str, folder: Path) -> None:
        self._address = address.rstrip("/") + "/"
        self._folder = folder

    def page(self, project: str) -> dict[str, Any]:
        """Return the JSON page of a project, with absolute links. Raises Absent."""
        url = f"{self._address}{project}/"
        body = self._kept(f"page {project}", url, {"Accept": _JSON})[1]
        page: dict[str, Any] = json.loads(body)
        for row in page["files"]:
            row["url"] = urljoin(url, row["url"])
        return page

    def size(self, url: str) -> int:
        """Return the size of a file. Raises Absent."""
        return self.span(url, 0, 1)[0]

    def span(self, url: str, start: int, end: int | None) -> tuple[int, bytes]:
        """Return the size of a file, and its bytes from `start`, up to `end` or its end.

        A negative `start` counts from the end. Raises Absent.
        """
        wanted = f"{start}" if start < 0 else f"{start}-{'' if end is None else end - 1}"
        head, body = self._kept(f"{url} {wanted}", url, {"Range": f"bytes={wanted}"})
        size = head.rpartition("/")[2]
        return (int(size) if size else len(body)), body

    def whole(self, url: str) -> bytes:
        """Return a file. Raises Absent."""
        return self._kept(url, url, {})[1]

    def metadata(self, url: str) -> bytes:
        """Return the metadata of a wheel. Raises Absent."""
        path = self._path(f"{url}.metadata")
        if not path.exists():
            with zipfile.ZipFile(_RemoteFile(self, url)) as wheel:
                names = [name for name in wheel.namelist() if name.count("/") == 1]
                found = [name for name in names if name.endswith(".dist-info/METADATA")]
                if not found:
                    raise Absent
                _write(path, wheel.read(found[0]))
        return path.read_bytes()

    def _kept(self, key: str, url: str, headers: dict[str, str]) -> tuple[str, bytes]:
        """Return the Content-Range and the body of an answer. Raises Absent."""
        path = self._path(key)
        if not path.exists():
            request = urllib.request.Request(url, headers=headers)
            try:
                with urllib.request.urlopen(request) as response:
                    head = response.headers.get("content-range", "")
                    _write(path, head.encode() + b"\n" + response.read())
            except urllib.error.HTTPError as error:
                if error.code not in (404, 410):
                    raise
                _write(path, b"")
        content = path.read_bytes()
        if not content:
            raise Absent
        head_line, _, body = content.partition(b"\n")
        return head_line.decode(), body

    def _path(self, key: str) -> Path:
        return self._folder / sha256(f"{self._address} {key}".encode()).hexdigest()


def _write(path: Path, content: bytes) -> None:
    temporary = path.with_suffix(f".{os.getpid()}-{id(content)}")
    temporary.write_bytes(content)
    temporary.replace(path)


class _RemoteFile(RawIOBase):
    """A file of an index, of which blocks are requested as they are needed."""

    def __init__(self, upstream: Upstream, url: str) -> None:
        self._upstream = upstream
        self._url = url
        self._size = upstream.size(url)
        self._position = 0

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = 0, /) -> int:
        self._position = offset + (0, self._position, self._size)[whence]
        return self._position

    def read(self, size: int = -1, /) -> bytes:
        end = self._size if size < 0 else min(self._position + size, self._size)
        first = self._position // _BLOCK
        pieces = []
        for block in range(first, -(-end // _BLOCK)):
            start = block * _BLOCK
            pieces.append(self._upstream.span(self._url, start, min(start + _BLOCK, self._size))[1])
        content = b"".join(pieces)[self._position - first * _BLOCK : end - first * _BLOCK]
        self._position = end
        return content


class Content:
    """The answers of a mirror, as its options say."""

    def __init__(self, upstream: Upstream, options: Options) -> None:
        self._upstream = upstream
        self._options = options
        # Where the mirror is, known when it listens.
        self.root = ""
        # Pages by project, plain and compressed, made once.
        self._pages: dict[str, tuple[bytes, bytes]] = {}

    def answer(self, method: str, path: str, fields: dict[str, str]) -> Answer:
        """Return the answer to a request, with its body also for HEAD."""
        try:
            if path.startswith("/simple/"):
                return self._page(path.split("/")[2], fields)
            match = _FILE.fullmatch(path)
            if match is None:
                raise Absent
            return self._file(f"{match[1]}://{match[2]}{match[3]}", method, fields)
        except Absent:
            return Answer(404, {"Content-Type": "text/plain"})

    def _page(self, project: str, fields: dict[str, str]) -> Answer:
        if project not in self._pages:
            page = self._rendered(self._upstream.page(project))
            self._pages[project] = page, gzip.compress(page, 6, mtime=0)
        plain, packed = self._pages[project]
        etag = f'"{sha256(plain).hexdigest()[:20]}"'
        kind = _JSON if self._options.form == "json" else _HTML
        headers = {"Content-Type": kind, "ETag": etag, "Cache-Control": "no-cache"}
        if fields.get("if-none-match") == etag:
            return Answer(304, headers)
        if self._options.compressed and "gzip" in fields.get("accept-encoding", ""):
            return Answer(200, {**headers, "Content-Encoding": "gzip"}, packed)
        return Answer(200, headers, plain)

    def _rendered(self, page: dict[str, Any]) -> bytes:
        """Return a page with the links, the form and the keys of this mirror."""
        base = self.root if self._options.links == "absolute" else "../.."
        for row in page["files"]:
            parts = urlsplit(row["url"])
            row["url"] = f"{base}/files/{parts.scheme}/{parts.netloc}{parts.path}"
            for key in ("core-metadata", "dist-info-metadata", "data-dist-info-metadata"):
                row.pop(key, None)
            if self._options.metadata and row["filename"].endswith(".whl"):
                row["core-metadata"] = True
        if self._options.form == "json":
            return json.dumps(page).encode()
        rows = "\n".join(map(_anchor, page["files"]))
        head = '<!DOCTYPE html><html><head><meta name="pypi:repository-version" content="1.0">'
        return f"{head}</head><body>\n{rows}\n</body></html>\n".encode()

    def _file(self, url: str, method: str, fields: dict[str, str]) -> Answer:
        headers = {"Content-Type": "application/octet-stream", "Accept-Ranges": "bytes"}
        if url.endswith(".metadata"):
            if not self._options.metadata:
                raise Absent
            return Answer(200, headers, self._upstream.metadata(url.removesuffix(".metadata")))
        if method == "HEAD":
            return Answer(200, {**headers, "Content-Length": str(self._upstream.size(url))})
        match = _RANGE.fullmatch(fields.get("range", ""))
        if match is None:
            return Answer(200, headers, self._upstream.whole(url))
        first, last = match.groups()
        start = int(first) if first else -int(last)
        size, body = self._upstream.span(url, start, int(last) + 1 if first and last else None)
        start = start if first else max(size + start, 0)
        span = f"bytes {start}-{start + len(body) - 1}/{size}"
        return Answer(206, {**headers, "Content-Range": span}, body)


def _anchor(row: dict[str, Any]) -> str:
    """Return a file of a page as a link."""
    attributes = [f'href="{html.escape(row["url"])}#sha256={row["hashes"].get("sha256", "")}"']
    if row.get("requires-python"):
        attributes.append(f'data-requires-python="{html.escape(row["requires-python"])}"')
    if row.get("yanked"):
        reason = "" if row["yanked"] is True else row["yanked"]
        attributes.append(f'data-yanked="{html.escape(reason)}"')
    if row.get("core-metadata"):
        attributes.append('data-core-metadata="true"')
    return f"<a {' '.join(attributes)}>{html.escape(row['filename'])}</a><br>"


class Server:
    """Answers requests late, and through a narrow link."""

    def __init__(self, content: Content, options: Options) -> None:
        self._content = content
        self._options = options
        # When the link has sent everything that it was given.
        self._free_at = 0.0
        self._requests = 0
        self._bytes = 0
        self._connections = 0
        self._most = 0

    async def serve(self) -> None:
        """Serve, and print the port."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        self._content.root = f"http://127.0.0.1:{port}"
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()
        await server.serve_forever()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        self._most = max(self._most, self._connections)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            is_first = True
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                method, path, fields = _parsed(head)
                if path == "/count":
                    await self._send(writer, method, self._count())
                    continue
                await asyncio.sleep(self._options.round_trip * (2 if is_first else 1))
                is_first = False
                answer = await asyncio.to_thread(self._content.answer, method, path, fields)
                self._requests += 1
                await self._send(writer, method, answer)
        self._connections -= 1
        writer.close()

    def _count(self) -> Answer:
        """Return the counters, which begin anew."""
        count = {"requests": self._requests, "bytes": self._bytes, "connections": self._most}
        self._requests = self._bytes = 0
        self._most = self._connections
        return Answer(200, {"Content-Type": "application/json"}, json.dumps(count).encode())

    async def _send(self, writer: asyncio.StreamWriter, method: str, answer: Answer) -> None:
        headers = dict(answer.headers)
        if answer.status != 304:
            headers.setdefault("Content-Length", str(len(answer.body)))
        rows = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {answer.status} \r\n{rows}\r\n".encode("latin-1"))
        if method != "HEAD":
            self._bytes += len(answer.body)
            step = _PIECE if self._options.bandwidth else max(len(answer.body), 1)
            for start in range(0, len(answer.body), step):
                piece = answer.body[start : start + step]
                await self._wait_for_link(len(piece))
                writer.write(piece)
                await writer.drain()
        await writer.drain()

    async def _wait_for_link(self, size: int) -> None:
        """Wait until the link has sent so many bytes more."""
        if self._options.bandwidth:
            now = asyncio.get_running_loop().time()
            self._free_at = max(now, self._free_at) + size / self._options.bandwidth
            await asyncio.sleep(self._free_at - now)


def _parsed(head: str) -> tuple[str, str, dict[str, str]]:
    """Return method, path and header fields of a request."""
    request_line, *rows = head.strip().split("\r\n")
    method, path, _ = request_line.split(" ")
    fields = {}
    for row in rows:
        name, _, value = row.partition(":")
        fields[name.lower()] = value.strip()
    return method, path, fields


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--round-trip", type=float, default=0.0)
    parser.add_argument("--bandwidth", type=float, default=0.0)
    parser.add_argument("--links", choices=("absolute", "relative"), default="absolute")
    parser.add_argument("--form", choices=("json", "html"), default="json")
    parser.add_argument("--metadata", action="store_true")
    parser.add_argument("--compressed", action="store_true")
    given = vars(parser.parse_args())
    folder: Path = given.pop("folder")
    folder.mkdir(parents=True, exist_ok=True)
    options = Options(**given)
    upstream = Upstream(os.environ["UPSTREAM"], folder)
    asyncio.run(Server(Content(upstream, options), options).serve())


if __name__ == "__main__":
    main()
