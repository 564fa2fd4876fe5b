"""Downloads: resumed where they were cut off, whatever the server makes of ranges."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from resolver.errors import IndexFailure, Unreachable
from resolver.index.net import downloads
from resolver.index.net.client import RetryPolicy
from resolver.index.net.downloads import TransferProgress
from resolver.index.net.pipconfig import PipConfig
from resolver.model.release import File
from resolver.owned_folder import OwnedFolder
from tests.loopback import Fault, LoopbackIndex, Response, altered, reset, status, truncated
from tests.unit.index.clients import with_client

NAME = "base-1.0-py3-none-any.whl"
WHEEL = f"/files/*/{NAME}"
CONTENT = random.Random(0).randbytes(300_000)


@pytest.fixture
def index() -> Iterator[LoopbackIndex]:
    with LoopbackIndex() as running:
        running.add_file("base", NAME, CONTENT)
        yield running


def file_of(index: LoopbackIndex, *, size: int | None = None) -> File:
    url = index.url.replace("/simple/pypi/", f"/files/pypi/{NAME}")
    return File(NAME, url, hashlib.sha256(CONTENT).hexdigest(), size)


def save(file: File, folder: Path, told: list[TransferProgress] | None = None) -> None:
    tell = ([] if told is None else told).append
    with OwnedFolder.open(folder) as owned:
        with_client(
            lambda client: downloads.Transfer(client, owned, tell).save([file]),
            PipConfig(index_url="", timeout=5),
            patience=RetryPolicy(tries=3, pause=0.01),
        )


def part_of(file: File, folder: Path) -> Path:
    return folder / f"{NAME}.{file.sha256[:16]}.part"


def ranges(index: LoopbackIndex) -> list[str]:
    return [one.sent.get("range", "") for one in index.requests]


def cut_at(share: float) -> Fault:
    """As `truncated`, but what comes before has been read by then."""
    return lambda answer: replace(truncated(share)(answer), hold=0.2)


def the_rest(change: Fault) -> Fault:
    """A change of what is sent where the rest of a file was asked for."""
    return lambda answer: change(answer) if answer.status == 206 else answer


def other_place(answer: Response) -> Response:
    place = {"Content-Range": f"bytes 0-{len(answer.body) - 1}/{len(CONTENT)}"}
    return replace(answer, headers={**answer.headers, **place})


GOES_ON = f"bytes={len(CONTENT) // 2}-"


@pytest.mark.parametrize("known", [True, False], ids=["size known", "size unknown"])
@pytest.mark.parametrize(
    ("fault", "asked"),
    [
        (None, ["", GOES_ON]),
        (the_rest(altered(lambda body: bytes(len(body)))), ["", GOES_ON, ""]),
        (the_rest(altered(lambda body: body + b"more")), ["", GOES_ON, ""]),
        (the_rest(other_place), ["", GOES_ON, ""]),
        (the_rest(status(416)), ["", GOES_ON, ""]),
    ],
    ids=["good", "other bytes", "more bytes", "other place", "416"],
)
def test_transfer_resumes_a_cut_download(
    index: LoopbackIndex, tmp_path: Path, fault: Fault | None, asked: list[str], known: bool
) -> None:
    if fault is not None:
        index.fault(WHEEL, fault)
    index.fault(WHEEL, cut_at(0.5), times=1)
    told: list[TransferProgress] = []
    save(file_of(index, size=len(CONTENT) if known else None), tmp_path, told)
    assert {path.name for path in tmp_path.iterdir()} == {NAME}
    assert (tmp_path / NAME).read_bytes() == CONTENT
    assert ranges(index) == asked
    assert told[-1] == TransferProgress(1, 1, len(CONTENT), len(CONTENT) if known else None)


def test_transfer_survives_many_cuts(index: LoopbackIndex, tmp_path: Path) -> None:
    index.fault(WHEEL, cut_at(0.3), times=5)
    save(file_of(index), tmp_path)
    assert (tmp_path / NAME).read_bytes() == CONTENT
    assert len(ranges(index)) > 3


@pytest.mark.parametrize(
    ("place", "asked"), [(0.2, ["", "bytes=60000-", ""]), (0.6, ["", "bytes=180000-", ""])]
)
def test_transfer_of_a_rest_called_the_whole_file(
    index: LoopbackIndex, tmp_path: Path, place: float, asked: list[str]
) -> None:
    """As a proxy has it that knows no 206.

    What comes then is now more, now less than what was there.
    """
    index.fault(WHEEL, lambda answer: replace(answer, status=200))
    index.fault(WHEEL, cut_at(place), times=1)
    save(file_of(index, size=len(CONTENT)), tmp_path)
    assert (tmp_path / NAME).read_bytes() == CONTENT
    assert ranges(index) == asked


def test_transfer_gives_up_without_progress(index: LoopbackIndex, tmp_path: Path) -> None:
    index.fault(WHEEL, reset(1))
    with pytest.raises(Unreachable, match=r"\(3 tries\)"):
        save(file_of(index, size=len(CONTENT)), tmp_path)
    assert len(index.requests) == 3


def test_transfer_keeps_a_file_that_stops(index: LoopbackIndex, tmp_path: Path) -> None:
    file = file_of(index)
    index.ranges = False
    index.fault(WHEEL, cut_at(0.5), times=6)
    with pytest.raises(Unreachable, match="stops in the middle every time"):
        save(file, tmp_path)
    assert part_of(file, tmp_path).read_bytes() == CONTENT[: len(CONTENT) // 2]
    index.ranges = True
    index.clear()
    save(file, tmp_path)
    assert ranges(index) == [GOES_ON]
    assert {path.name for path in tmp_path.iterdir()} == {NAME}


@pytest.mark.parametrize("there", [bytes(1000), bytes(len(CONTENT)), bytes(len(CONTENT) + 1)])
def test_transfer_requests_a_mixed_file_again(
    index: LoopbackIndex, tmp_path: Path, there: bytes
) -> None:
    file = file_of(index, size=len(CONTENT))
    part_of(file, tmp_path).write_bytes(there)
    save(file, tmp_path)
    assert (tmp_path / NAME).read_bytes() == CONTENT


@pytest.mark.parametrize(
    "fault",
    [
        altered(lambda body: bytes([body[0] ^ 1]) + body[1:]),
        altered(lambda body: body + b"more"),
        status(404),
        lambda answer: replace(answer, status=206),
    ],
    ids=["another file", "a longer file", "gone", "a part of nothing"],
)
def test_transfer_keeps_no_wrong_file(index: LoopbackIndex, tmp_path: Path, fault: Fault) -> None:
    index.fault(WHEEL, fault)
    with pytest.raises(IndexFailure):
        save(file_of(index, size=len(CONTENT)), tmp_path)
    assert list(tmp_path.iterdir()) == []
