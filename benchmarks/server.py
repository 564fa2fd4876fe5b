"""A process that serves a made-up index on 127.0.0.1, each answer 10 ms late.

    .venv/bin/python benchmarks/server.py FAMILY SIZE

prints its port. HTTP/1.1, connections stay open; `/count` answers with the requests and bytes since
it was last asked.
"""

from __future__ import annotations

import asyncio
import json
import sys
from hashlib import sha256

from worlds import FAMILIES, Project, World

LATENCY = 0.010
_JSON = "application/vnd.pypi.simple.v1+json"


class Content:
    """The pages and metadata of an index."""

    def __init__(self, world: World) -> None:
        self._pages: dict[str, bytes] = {}
        self._etags: dict[str, str] = {}
        # The project and the number of the release of each metadata file.
        self._files: dict[str, tuple[Project, int]] = {}
        for name, project in world.projects.items():
            path = f"/simple/{name}/"
            page = project.page()
            self._pages[path] = page
            self._etags[path] = f'"{sha256(page).hexdigest()[:20]}"'
            for number in range(len(project.requires)):
                for wheel in project.wheels(number):
                    self._files[f"{wheel}.metadata"] = (project, number)

    def at(self, path: str) -> tuple[str, bytes, str] | None:
        """Return content type, body and validator of a path; None if there is nothing."""
        page = self._pages.get(path)
        if page is not None:
            return _JSON, page, self._etags[path]
        release = self._files.get(path.rpartition("/")[2])
        if release is None:
            return None
        project, number = release
        return "binary/octet-stream", project.metadata(number), ""


class Connection(asyncio.Protocol):
    """Answers GET requests in the order in which they come."""

    # Requests, and bytes of bodies, since `/count` was last asked.
    requests = 0
    sent = 0

    def __init__(self, content: Content) -> None:
        self._content = content
        self._buffer = b""
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].decode("latin-1")
            self._buffer = self._buffer[end + 4 :]
            request_line, *rows = head.split("\r\n")
            path = request_line.split(" ")[1]
            fields = {}
            for row in rows:
                name, _, value = row.partition(":")
                fields[name.lower()] = value.strip()
            if path == "/count":
                self._send_count()
            else:
                self._loop.call_later(LATENCY, self._answer, path, fields.get("if-none-match", ""))

    def _send_count(self) -> None:
        count = {"requests": Connection.requests, "bytes": Connection.sent}
        Connection.requests = 0
        Connection.sent = 0
        self._send(200, "application/json", json.dumps(count).encode())

    def _answer(self, path: str, known: str) -> None:
        Connection.requests += 1
        found = self._content.at(path)
        if found is None:
            self._send(404, "text/plain", b"")
            return
        kind, body, etag = found
        if etag and etag == known:
            self._send(304, kind, b"", etag)
            return
        Connection.sent += len(body)
        self._send(200, kind, body, etag)

    def _send(self, status: int, kind: str, body: bytes, etag: str = "") -> None:
        if self._transport.is_closing():
            return
        validator = f"ETag: {etag}\r\nCache-Control: no-cache\r\n" if etag else ""
        length = "" if status == 304 else f"Content-Length: {len(body)}\r\n"
        head = f"HTTP/1.1 {status} \r\nContent-Type: {kind}\r\n{validator}{length}\r\n"
        self._transport.write(head.encode("latin-1") + body)


async def serve(content: Content) -> None:
    """Serve an index, and print the port."""
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(content), "127.0.0.1", 0
    )
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(Content(FAMILIES[sys.argv[1]](int(sys.argv[2])))))
