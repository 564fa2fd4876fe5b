"""A run's requests over again, each sent as soon as what names it has come and was read: a part of `floor.py`.

    .venv/bin/python benchmarks/replayed.py NOTES [--unread]

NOTES are those of a run, as `floor.py` makes them. A page is named by the stack or by the first METADATA that requires
its project, a wheel and an archive by the page, a further piece of a wheel by the piece before it. Nothing is chosen,
stored, hashed or checked, and which releases to read is known: it is what a program that never errs would wait for.
Libraries do all else: curl asks, msgspec decodes pages, tarfile goes through archives, packaging reads METADATA and
its requirements. With `--unread` what comes is thrown away, as if the reading took no time. Prints wall and CPU in s.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import re
import tarfile
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
from packaging.metadata import parse_email
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from resolver.catalog.net.pipconfig import read_pip_config
from resolver.catalog.net.wire import Wire

CONNECT = 10.0
LARGEST = 1 << 30


class _Hashes(msgspec.Struct):
    sha256: str = ""


class _File(msgspec.Struct, rename="kebab", gc=False):
    filename: str
    url: str
    hashes: _Hashes
    requires_python: str | None = None
    yanked: bool | str = False
    size: int | None = None
    upload_time: str | None = None


class _Page(msgspec.Struct):
    files: list[_File]


decode = msgspec.json.Decoder(_Page).decode


class Request(NamedTuple):
    """`metadata` is what the piece of a wheel holds, nothing where it takes another piece."""

    url: str
    headers: dict[str, str]
    metadata: bytes

    @property
    def is_wheel(self) -> bool:
        """Whether it is for a wheel, or for the METADATA that the index serves beside one."""
        return self.url.endswith((".whl", ".whl.metadata"))

    @property
    def project(self) -> str:
        """Whose page or file it is."""
        last = self.url.rstrip("/").rpartition("/")[2]
        if self.url.endswith("/"):
            return canonicalize_name(last)
        return canonicalize_name(last.partition("-")[0] if self.is_wheel else re.split(r"-\d", last)[0])


def requests(notes: Path) -> list[Request]:
    """All requests of a run, in their order."""
    *rows, read, _ = notes.read_text("utf-8").splitlines()
    asked = [json.loads(row) for row in rows]
    texts = {}
    for text in json.loads(read)["metadata"]:
        raw, _ = parse_email(text.encode("latin-1"))
        texts[canonicalize_name(raw["name"]), raw["version"]] = text.encode("latin-1")
    last = {url: at for at, (url, _) in enumerate(asked)}
    found = []
    for at, (url, headers) in enumerate(asked):
        one = Request(url, headers, b"")
        if one.is_wheel and last[url] == at:
            name, version = url.rpartition("/")[2].split("-")[:2]
            one = one._replace(metadata=texts.pop((canonicalize_name(name), version), b""))
        found.append(one)
    return found


def named(of: list[Request]) -> dict[int, list[int]]:
    """Which requests are named by what a request brings; by -1 what is named by none."""
    pages = {one.project: at for at, one in enumerate(of) if one.url.endswith("/")}
    by: dict[int, list[int]] = {}
    for at, one in enumerate(of):
        for line in parse_email(one.metadata)[0].get("requires_dist", ()):
            with suppress(InvalidRequirement):
                page = pages.get(canonicalize_name(Requirement(line).name))
                if page is not None:
                    by.setdefault(page, []).append(at)
    before: dict[str, int] = {}
    for at, one in enumerate(of):
        if not one.url.endswith("/"):
            source = before.get(one.url, pages.get(one.project, -1))
            by[at] = [source]
        before[one.url] = at
    first = next(at for at, one in enumerate(of) if not one.url.endswith("/"))
    leads = defaultdict(list)
    for at in range(len(of)):
        for source in [-1] if at < first else by.get(at, [-1]):
            leads[source].append(at)
    return leads


def read(request: Request, body: bytes, seen: set[str]) -> None:
    """What libraries do with an answer."""
    if request.url.endswith("/"):
        decode(body)
    elif request.metadata:
        for line in parse_email(request.metadata)[0].get("requires_dist", ()):
            if line not in seen:
                seen.add(line)
                with suppress(InvalidRequirement):
                    Requirement(line)
    elif not request.is_wheel:
        with tarfile.open(fileobj=io.BytesIO(body)) as archive:
            for _ in archive:
                pass


async def replay(of: list[Request], leads: dict[int, list[int]], *, unread: bool) -> None:
    """Send all, and read what comes."""
    wire = Wire(read_pip_config())
    sent: set[int] = set()
    seen: set[str] = set()
    asked: set[asyncio.Task[None]] = set()

    async def ask(at: int) -> None:
        response = await wire.send(of[at].url, of[at].headers, CONNECT)
        body = await response.read(LARGEST)
        await response.aclose()
        if response.status_code not in (200, 206) or body is None:
            raise SystemExit(f"{of[at].url}: {response.status_code}")
        if not unread:
            read(of[at], bytes(body), seen)
        send(at)

    def send(source: int) -> None:
        for at in leads.get(source, ()):
            if at not in sent:
                sent.add(at)
                asked.add(asyncio.ensure_future(ask(at)))

    send(-1)
    while asked:
        done, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        asked.difference_update(done)
        for task in done:
            task.result()
    await wire.close()
    if len(sent) < len(of):
        raise SystemExit(f"{len(of) - len(sent)} requests were named by none")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("notes", type=Path)
    parser.add_argument("--unread", action="store_true")
    given = parser.parse_args()
    of = requests(given.notes)
    leads = named(of)
    wall, cpu = time.perf_counter(), time.process_time()
    asyncio.run(replay(of, leads, unread=given.unread))
    print(time.perf_counter() - wall, time.process_time() - cpu, flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
