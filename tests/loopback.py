"""A package index on 127.0.0.1: real HTTP, from a snapshot or made by hand, with any faults.

    /simple/<index>/<project>/     a page, JSON (PEP 691, 700) or HTML (PEP 503)
    /files/<index>/<file>          a file, and with `.metadata` its core metadata (PEP 658)

A fault changes the answers to the paths that its pattern matches:

    with LoopbackIndex() as index:
        index.add_wheel("demo", "1.0", requires=["numpy"])
        index.fault("/simple/*/demo/", status(503), times=2)
"""

from __future__ import annotations

import contextlib
import hashlib
import html
import json
import os
import re
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal
from urllib.parse import quote, unquote, urlsplit

from packaging.utils import canonicalize_name

from resolver.index.snapshot import Snapshot
from resolver.model.release import CoreMetadata, File
from tests.builders import Built, build_archive, build_wheel, core_metadata, releases

PYPI = "pypi"
JSON = "application/vnd.pypi.simple.v1+json"
HTML = "application/vnd.pypi.simple.v1+html"


@dataclass(frozen=True)
class Request:
    """A request in the log."""

    path: str
    # The status of the answer.
    status: int
    # The headers of the request, by lower-case name.
    sent: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    # The host that the request was meant for.
    host: str = field(default="", compare=False)


@dataclass(frozen=True)
class Response:
    """An answer before it is sent."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    # The Content-Length, if it is not the length of the body.
    declared: int | None = None
    # The connection is reset after so many bytes of the body.
    reset_after: int | None = None
    # Seconds until the answer.
    delay: float = 0.0
    # Seconds for which the connection stays open after the body.
    hold: float = 0.0
    # Seconds between any two bytes of the body.
    pause: float = 0.0


Fault = Callable[[Response], Response]


def status(code: int) -> Fault:
    """Answer with another status and without content."""
    return lambda _: Response(code, b"", {"Content-Type": "text/plain"})


def truncated(share: float = 0.5) -> Fault:
    """Announce the whole body and close the connection after a share of it."""
    return lambda response: replace(
        response, body=response.body[: int(len(response.body) * share)], declared=len(response.body)
    )


def reset(after: int = 0) -> Fault:
    """Reset the connection (RST, not FIN) after some bytes of the body."""
    return lambda response: replace(response, reset_after=after)


def delayed(seconds: float) -> Fault:
    """Answer late."""
    return lambda response: replace(response, delay=response.delay + seconds)


def altered(change: Callable[[bytes], bytes]) -> Fault:
    """Send a changed body with the right length."""
    return lambda response: replace(response, body=change(response.body))


def wrong_hashes() -> Fault:
    """Change every sha256 on a page."""
    return altered(lambda body: re.sub(rb"\b[0-9a-f]{64}\b", lambda match: match[0][::-1], body))


@dataclass
class _Row:
    """A file on a page. `content` is None if only the metadata is known."""

    file: File
    content: bytes | None
    metadata: bytes | None


@dataclass
class _Rule:
    pattern: str
    fault: Fault
    # How many more requests it applies to; None for all.
    left: int | None


class LoopbackIndex:
    """A server that runs during the `with` block, and may be changed meanwhile.

    `pages` is the format of pages; "negotiate" follows the request's Accept. Without `ranges`, a
    Range is ignored: 200 and the whole file. With `etags`, answers have one, and a matching
    If-None-Match gives 304. With `tls` it is also a proxy that answers for every host over TLS, so
    an index can be anywhere without a network.
    """

    def __init__(
        self, snapshot: Snapshot | None = None, *, tls: ssl.SSLContext | None = None
    ) -> None:
        self.pages: Literal["json", "html", "negotiate"] = "json"
        self.ranges = True
        self.etags = True
        self.tls = tls
        self.requests: list[Request] = []
        self._standings: dict[tuple[str, str], dict[str, str]] = {}
        self._projects: dict[tuple[str, str], dict[str, _Row]] = {}
        self._files: dict[tuple[str, str], _Row] = {}
        self._rules: list[_Rule] = []
        self._lock = threading.Lock()
        self._snapshot = snapshot
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    def __enter__(self) -> LoopbackIndex:
        if self._snapshot is not None:
            self._add_snapshot(self._snapshot)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.closing.set()
        self._server.shutdown()
        self._server.drop_connections()
        self._server.server_close()
        self._thread.join()

    @property
    def proxy(self) -> str:
        """Return the value for HTTPS_PROXY."""
        return self._server.origin

    @property
    def url(self) -> str:
        """Return the value for pip's --index-url."""
        return self.url_of(PYPI)

    @property
    def connections(self) -> int:
        """Return how many connections there were."""
        return self._server.connections

    def url_of(self, index: str) -> str:
        """Return the address of one of the snapshot's indexes."""
        return f"{self._server.origin}/simple/{index}/"

    def stands(self, name: str, status: str, reason: str = "", *, index: str = PYPI) -> None:
        """Set the status of a project on its page (PEP 792)."""
        with self._lock:
            said = {"status": status, **({"reason": reason} if reason else {})}
            self._standings[index, canonicalize_name(name)] = said

    def remove(self, name: str, filename: str = "", *, index: str = PYPI) -> None:
        """Remove a file from its page, or a project from the index."""
        with self._lock:
            if filename:
                del self._projects[index, canonicalize_name(name)][filename]
            else:
                del self._projects[index, canonicalize_name(name)]

    def serve(self, *rows: str) -> None:
        """List plain wheels; a row is `name version …` or `name version …: requirement, …`."""
        for name, version, requires in releases(rows):
            self.add_wheel(name, version, requires=requires)

    def add_wheel(
        self,
        name: str,
        version: str,
        *,
        metadata_sidecar: bool = True,
        index: str = PYPI,
        **said: Any,
    ) -> Built:
        """Make a wheel (see `build_wheel`) and list it (see `_list`)."""
        row, contents = _apart(said)
        built = build_wheel(name, version, **contents)
        return self._list(index, name, built, built.metadata if metadata_sidecar else None, **row)

    def add_archive(self, name: str, version: str, *, index: str = PYPI, **said: Any) -> Built:
        """Make a source archive (see `build_archive`) and list it."""
        row, contents = _apart(said)
        return self._list(index, name, build_archive(name, version, **contents), None, **row)

    def add_file(
        self, name: str, filename: str, content: bytes, *, index: str = PYPI, **said: Any
    ) -> None:
        """List any bytes under any file name, and the rest of what is `said` (see `_list`)."""
        self._list(index, name, Built(filename, content, b""), None, **said)

    def fault(self, pattern: str, fault: Fault, *, times: int | None = None) -> None:
        """Apply a fault to the paths that match (`*` and `?`), to all or only `times` of them.

        Faults that match the same path apply in the order in which they were added.
        """
        with self._lock:
            self._rules.append(_Rule(pattern, fault, times))

    def clear(self) -> None:
        """Clear the log of requests."""
        with self._lock:
            self.requests.clear()

    # Called by the handler

    def answer(self, path: str, headers: Mapping[str, str]) -> Response:
        """Return the answer to a GET of `path`, faults included."""
        response = self._undisturbed(path, headers)
        for fault in self._faults(path):
            response = fault(response)
        return response

    def log(self, request: Request) -> None:
        """Add a request to the log."""
        with self._lock:
            self.requests.append(request)

    def _faults(self, path: str) -> list[Fault]:
        with self._lock:
            rules = [
                rule for rule in self._rules if rule.left != 0 and fnmatchcase(path, rule.pattern)
            ]
            for rule in rules:
                rule.left = None if rule.left is None else rule.left - 1
            return [rule.fault for rule in rules]

    def _undisturbed(self, path: str, headers: Mapping[str, str]) -> Response:
        response = None
        match path.split("/"):
            case ["", "simple", index, project, ""]:
                response = self._page(index, project, self._form(headers.get("accept", "")))
            case ["", "files", index, filename]:
                response = self._file(index, filename)
        if response is None:
            return Response(404, b"not here\n", {"Content-Type": "text/plain"})
        if self.etags:
            etag = f'"{hashlib.sha256(response.body).hexdigest()[:16]}"'
            response = replace(response, headers={**response.headers, "ETag": etag})
            if etag in headers.get("if-none-match", ""):
                return replace(response, status=304, body=b"")
        if path.startswith("/files/") and self.ranges:
            return _ranged(response, headers.get("range", ""))
        return response

    def _form(self, accept: str) -> str:
        if self.pages == "json":
            return JSON
        if self.pages == "negotiate":
            for form in (JSON, HTML):
                if form in accept:
                    return form
        return "text/html"

    def _page(self, index: str, project: str, form: str) -> Response | None:
        with self._lock:
            if (index, project) not in self._projects:
                return None
            files = [row.file for row in self._projects[index, project].values()]
            said = self._standings.get((index, project), {})
        if form == JSON:
            return Response(200, _json_page(project, files, said), {"Content-Type": form})
        content_type = f"{form}; charset=utf-8"
        return Response(200, _html_page(project, files, said), {"Content-Type": content_type})

    def _file(self, index: str, filename: str) -> Response | None:
        row = self._files.get((index, filename.removesuffix(".metadata")))
        if row is None:
            return None
        content = row.metadata if filename.endswith(".metadata") else row.content
        if content is None:
            return None
        return Response(200, content, {"Content-Type": "application/octet-stream"})

    # What is served

    def _list(
        self,
        index: str,
        name: str,
        built: Built,
        metadata: bytes | None,
        *,
        sha256: bool = True,
        **said: Any,
    ) -> Built:
        """List a file, without its hash if not `sha256`; the page says what is `said` of it."""
        said = {"sha256": built.sha256 if sha256 else "", "size": len(built.content), **said}
        self._add(
            index,
            canonicalize_name(name),
            _row(index, built.filename, built.content, metadata, **said),
        )
        return built

    def _add_snapshot(self, snapshot: Snapshot) -> None:
        """List everything recorded; pages include hashes that had to be computed.

        A wheel's metadata is regenerated from the recording; there are no files.
        """
        for project, recorded in snapshot.projects.items():
            for page in recorded.pages:
                self._projects.setdefault((page.index, project), {})
                for files in page.releases.values():
                    for file in files:
                        self._add(page.index, project, _recorded(snapshot, page.index, file))

    def _add(self, index: str, project: str, row: _Row) -> None:
        with self._lock:
            self._files[index, row.file.filename] = row
            self._projects.setdefault((index, project), {})[row.file.filename] = row


def _recorded(snapshot: Snapshot, index: str, file: File) -> _Row:
    sha256, size = snapshot.hashed.get(file.sha256 or file.filename, (file.sha256, file.size))
    metadata = snapshot.metadata.get(file.sha256 or file.filename) or snapshot.metadata.get(sha256)
    content = None
    if isinstance(metadata, CoreMetadata) and file.is_wheel:
        content = core_metadata(
            metadata.name,
            metadata.version,
            requires=metadata.requires_dist,
            requires_python=metadata.requires_python,
            extras=dict.fromkeys(metadata.provides_extra, ()),
        )
    said = {
        "requires_python": file.requires_python,
        "yanked": file.yanked,
        "uploaded": file.uploaded,
    }
    return _row(index, file.filename, None, content, sha256=sha256, size=size, **said)


def _row(
    index: str, filename: str, content: bytes | None, metadata: bytes | None, **said: Any
) -> _Row:
    hashed = None if metadata is None else hashlib.sha256(metadata).hexdigest()
    return _Row(
        File(filename, f"/files/{index}/{quote(filename)}", metadata=hashed, **said),
        content,
        metadata,
    )


def _apart(said: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split what is said of a file: what its page says, and what the file itself says.

    Both say which Python it requires.
    """
    of_page = ("requires_python", "yanked", "uploaded", "sha256")
    row = {key: value for key, value in said.items() if key in of_page}
    contents = {key: value for key, value in said.items() if key not in of_page}
    if "requires_python" in said:
        contents["requires_python"] = said["requires_python"]
    return row, contents


def _json_page(project: str, files: Iterable[File], said: Mapping[str, str]) -> bytes:
    rows = []
    for file in files:
        row: dict[str, Any] = {"filename": file.filename, "url": file.url}
        row["hashes"] = {"sha256": file.sha256} if file.sha256 else {}
        if file.requires_python:
            row["requires-python"] = file.requires_python
        if file.yanked is not None:
            row["yanked"] = file.yanked or True
        if file.size is not None:
            row["size"] = file.size
        if file.uploaded:
            row["upload-time"] = file.uploaded
        if file.metadata is not None:
            row["core-metadata"] = {"sha256": file.metadata}
        rows.append(row)
    page: dict[str, Any] = {"meta": {"api-version": "1.1"}, "name": project}
    page |= {"versions": [], "files": rows}
    if said:
        page["project-status"] = said
    return json.dumps(page).encode()


def _html_page(project: str, files: Iterable[File], said: Mapping[str, str]) -> bytes:
    lines = ["<!DOCTYPE html>", '<html><head><meta name="pypi:repository-version" content="1.1">']
    names = {"status": "pypi:project-status", "reason": "pypi:project-status-reason"}
    lines += [
        f'<meta name="{names[key]}" content="{html.escape(value)}">' for key, value in said.items()
    ]
    lines.append(f"<title>Links for {project}</title></head><body>")
    for file in files:
        attributes = {"href": file.url + (f"#sha256={file.sha256}" if file.sha256 else "")}
        if file.requires_python:
            attributes["data-requires-python"] = file.requires_python
        if file.yanked is not None:
            attributes["data-yanked"] = file.yanked
        if file.metadata is not None:
            attributes["data-core-metadata"] = f"sha256={file.metadata}"
        written = " ".join(f'{key}="{html.escape(value)}"' for key, value in attributes.items())
        lines.append(f"<a {written}>{html.escape(file.filename)}</a><br>")
    return "\n".join([*lines, "</body></html>", ""]).encode()


def _ranged(response: Response, wanted: str) -> Response:
    """Return the part that a Range header requests (RFC 9110, 14.2).

    Only a single range is supported, as no client here requests more.
    """
    total = len(response.body)
    headers = {**response.headers, "Accept-Ranges": "bytes"}
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", wanted.replace(" ", ""))
    if match is None or not (match[1] or match[2]):
        return replace(response, headers=headers)
    start = int(match[1]) if match[1] else max(total - int(match[2]), 0)
    stop = min(int(match[2]) + 1, total) if match[1] and match[2] else total
    if start >= stop:
        return Response(416, b"", {**headers, "Content-Range": f"bytes */{total}"})
    headers["Content-Range"] = f"bytes {start}-{stop - 1}/{total}"
    return replace(response, status=206, body=response.body[start:stop], headers=headers)


class _Secured(ssl.SSLSocket):
    """Remembers the last one that a thread made."""

    made = threading.local()

    def __new__(cls, *arguments: Any, **named: Any) -> _Secured:
        secured = super().__new__(cls, *arguments, **named)
        cls.made.last = secured
        return secured


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    # So that server_close waits for threads, and no test sees threads of another.
    daemon_threads = False

    def __init__(self, index: LoopbackIndex) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.index = index
        self.closing = threading.Event()
        self.connections = 0
        self.origin = f"http://127.0.0.1:{self.server_address[1]}"
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections += 1
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self._open.discard(request)

    def secure(self, connection: socket.socket, context: ssl.SSLContext) -> ssl.SSLSocket:
        """Return the connection with TLS.

        Raises OSError if the client is gone, as `ssl` then does not close its socket.
        """
        context.sslsocket_class = _Secured
        try:
            secured = context.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            )
        except OSError:
            if (made := getattr(_Secured.made, "last", None)) is not None:
                made.close()
            raise
        self._open.add(secured)
        return secured

    def let_go(self, connection: socket.socket) -> None:
        """Close a secured connection."""
        self._open.discard(connection)
        connection.close()

    def drop_connections(self) -> None:
        """Close connections that clients keep alive, so that their threads end."""
        for connection in tuple(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that went away."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    # One packet for head and small bodies.
    wbufsize = -1
    server: _Server
    host = ""

    def do_GET(self) -> None:
        self._answer()

    def do_CONNECT(self) -> None:
        context = self.server.index.tls
        if context is None:
            self.send_error(405)
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.flush()
        self.host = self.path
        self.connection = self.server.secure(self.connection, context)
        self.connection.do_handshake()
        self.rfile = self.connection.makefile("rb", self.rbufsize)
        self.wfile = self.connection.makefile("wb", -1)
        self.close_connection = False

    def finish(self) -> None:
        try:
            super().finish()
        finally:
            if isinstance(self.connection, ssl.SSLSocket):
                # If nothing could be written, rfile is still open, and keeps the socket open.
                self.rfile.close()
                self.server.let_go(self.connection)

    def _response(self, asked: str, sent: Mapping[str, str]) -> Response:
        path = unquote(urlsplit(asked).path)
        response = self.server.index.answer(path, sent)
        self.server.index.log(
            Request(path, response.status, sent, self.host or sent.get("host", ""))
        )
        if response.delay:
            self.server.closing.wait(response.delay)
        return response

    def _answer(self) -> None:
        response = self._response(
            self.path, {name.lower(): value for name, value in self.headers.items()}
        )
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        if response.status != 304:
            length = len(response.body) if response.declared is None else response.declared
            self.send_header("Content-Length", str(length))
        self.end_headers()
        if response.status == 304:
            return
        if response.reset_after is not None:
            self.wfile.write(response.body[: response.reset_after])
            self.wfile.flush()
            self._reset()
            return
        if response.pause:
            self._trickle(response)
            return
        self.wfile.write(response.body)
        if response.hold:
            self.wfile.flush()
            self.server.closing.wait(response.hold)
        if response.declared is not None:
            self.close_connection = True

    def _trickle(self, response: Response) -> None:
        for byte in response.body:
            self.wfile.write(bytes((byte,)))
            self.wfile.flush()
            if self.server.closing.wait(response.pause):
                break

    def _reset(self) -> None:
        # With a linger of zero seconds, closing sends RST; the server's own closing would send FIN
        # first.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())
        self.close_connection = True

    def log_message(self, *args: Any) -> None:
        """Print nothing to stderr: the log is `index.requests`."""
