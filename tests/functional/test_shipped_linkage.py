"""Shipped locks are judged by shipped readings alone, without a network."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from resolver.cli.binaries import Judged, judge_lock
from resolver.config.compile import compile_problems
from resolver.config.find_stack import stack_names
from resolver.config.load import linkage_folder, load
from resolver.i18n import translate
from resolver.index.store.linkage_readings import ShippedLinkage, read_linkages
from resolver.lock import file as lock_file
from resolver.model.linkage import Linkage
from resolver.model.lock import Lock, LockedFile, LockedPin
from resolver.model.problem import Problem
from resolver.model.release import File
from resolver.model.text import name
from resolver.report.linkage import fault_sentence
from tests.functional.workspace import REPOSITORY

MATRICES = REPOSITORY / "matrices"
# No index of these wheels could be reached where readings were made.
UNREACHABLE = "pytorch-cpu"


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("a shipped lock is judged without a network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def shipped_locks() -> Iterator[tuple[Problem, Lock]]:
    for stack in stack_names(MATRICES):
        for problem in compile_problems(load(stack, MATRICES)):
            lock = lock_file.read(REPOSITORY / "locks" / problem.stack.name / problem.target.name)
            if lock is not None:
                yield problem, lock


SHIPPED = list(shipped_locks())
NAMES = [f"{problem.stack.name}/{problem.target.name}" for problem, _ in SHIPPED]
READINGS = ShippedLinkage(linkage_folder(MATRICES))


def read(_: LockedPin, file: File) -> Linkage | None:
    return Linkage() if file.filename.endswith("-any.whl") else READINGS.get(file)


def sentences(judged: Judged) -> list[str]:
    return [translate(fault_sentence(wheel, fault), "en") for wheel, fault in judged.faults]


@pytest.mark.parametrize(("problem", "lock"), SHIPPED, ids=NAMES)
def test_shipped_lock_loads(problem: Problem, lock: Lock):
    judged = judge_lock(lock, problem, read)
    assert sentences(judged) == []
    indexes = {pin.file[0].name: pin.index for pin in lock.pin if pin.file}
    assert {indexes[filename] for filename in judged.unread} <= {UNREACHABLE}
    assert judged.wheels > 20


def test_cuda_build_in_a_shipped_lock_does_not_load():
    problem, lock = next(
        (problem, lock)
        for problem, lock in SHIPPED
        if problem.stack.name == "llamafactory"
        and any(pin.name == "torchaudio" for pin in lock.pin)
    )
    cuda = next(
        reading
        for reading in read_linkages(linkage_folder(MATRICES), name("torchaudio"))
        if reading.file.startswith("torchaudio-2.11.0-cp312-") and "aarch64" in reading.file
    )
    file = (LockedFile(name=cuda.file, sha256=cuda.sha256),)
    pins = tuple(
        replace(pin, version="2.11.0", file=file) if pin.name == "torchaudio" else pin
        for pin in lock.pin
    )
    told = sentences(judge_lock(replace(lock, pin=pins), problem, read))
    assert any("libcudart.so.13" in sentence for sentence in told), told
    assert any("symbols of PyTorch" in sentence for sentence in told), told


def test_torch_for_another_python_has_the_same_reading():
    readings = read_linkages(linkage_folder(MATRICES), name("torch"))
    known = next(reading for reading in readings if reading.file.startswith("torch-2.8.0-cp311-"))
    other = File(filename=known.file.replace("cp311", "cp312"), sha256="0" * 64)
    assert READINGS.get(other) == known.linkage
    for_x86_64 = File(filename=other.filename.replace("aarch64", "x86_64"), sha256="0" * 64)
    assert READINGS.get(for_x86_64) is None


def test_every_shipped_reading_belongs_to_a_file_of_its_project():
    for path in sorted(Path(linkage_folder(MATRICES)).glob("*.json")):
        assert read_linkages(path.parent, name(path.stem)), path
