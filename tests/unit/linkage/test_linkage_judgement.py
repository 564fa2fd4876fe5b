"""Judgement of readings: what keeps binaries from being loaded."""

from __future__ import annotations

import datetime as dt

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.linkage.judgement import (
    LockedWheel,
    MissingLibrary,
    MissingSymbols,
    NewerGlibc,
    bounds,
    judge,
    missing_symbols,
)
from resolver.model.fact import Links, Strength
from resolver.model.linkage import Linkage, SharedObject
from resolver.model.text import name
from tests.elf import symbols

PLATFORM = frozenset({"libc.so.6", "libm.so.6"})


def wheel(project: str, *objects: SharedObject, version: str = "1") -> LockedWheel:
    return LockedWheel(project, version, Linkage(objects))


def links(package: str, versions: str = "", **values: tuple[str, ...]) -> Links:
    return Links(
        package=name(package),
        versions=(SpecifierSet(versions),),
        reason="",
        strength=Strength.OBSERVED,
        source="",
        checked=dt.date(2026, 11, 28),
        where="",
        **values,
    )


def faults(*wheels: LockedWheel, facts: tuple[Links, ...] = (), glibc: tuple[int, int] = (2, 28)):
    return [(row.project, fault) for row, fault in judge(wheels, facts, PLATFORM, glibc)]


def test_judge_library_of_nobody():
    audio = SharedObject(path="audio/_C.so", needs=("libc.so.6", "libcudart.so.13"))
    assert faults(wheel("audio", audio)) == [
        ("audio", MissingLibrary("audio/_C.so", "libcudart.so.13"))
    ]


def test_judge_library_of_another_pin():
    audio = SharedObject(path="audio/_C.so", needs=("libcudart.so.13",))
    cuda = SharedObject(path="nvidia/lib/libcudart.so.13")
    assert faults(wheel("audio", audio), wheel("cuda", cuda)) == []


def test_judge_library_by_soname_in_the_same_wheel():
    first = SharedObject(path="demo/_C.so", needs=("libdemo.so.1",))
    second = SharedObject(path="demo/libdemo-1234.so", soname="libdemo.so.1")
    assert faults(wheel("demo", first, second)) == []


def test_judge_library_that_a_fact_provides():
    demo = SharedObject(path="demo/_C.so", needs=("libtorch.so",))
    torch = LockedWheel("torch", "2.8.0", None)
    assert (
        faults(wheel("demo", demo), torch, facts=(links("torch", provides=("libtorch.so",)),)) == []
    )


def test_judge_library_that_is_optional_in_some_releases():
    demo = SharedObject(path="demo/_C.so", needs=("libavutil.so.56",))
    optional = (links("demo", ">=2", optional=("libav*.so.*",)),)
    assert faults(wheel("demo", demo, version="2"), facts=optional) == []
    assert len(faults(wheel("demo", demo, version="1"), facts=optional)) == 1


def test_judge_glibc():
    demo = SharedObject(path="demo/_C.so", glibc="2.34")
    assert faults(wheel("demo", demo), glibc=(2, 34)) == []
    assert faults(wheel("demo", demo), glibc=(2, 4)) == [
        ("demo", NewerGlibc("demo/_C.so", "2.34", "2.4"))
    ]


def test_judge_symbols():
    demo = SharedObject(path="demo/_C.so", takes=symbols("a", "b", "c"))
    torch = SharedObject(path="torch/lib/libtorch_cpu.so", offers=symbols("a", "d"))
    fault = MissingSymbols(missing=2, taken=3, torch="2.8.0")
    assert faults(wheel("demo", demo), wheel("torch", torch, version="2.8.0")) == [("demo", fault)]


def test_judge_symbols_that_an_unread_library_may_offer():
    demo = Linkage((SharedObject(path="demo/_C.so", takes=symbols("a")),))
    read = SharedObject(path="torch/lib/libc10.so", offers=symbols("b"))
    unread = SharedObject(path="torch/lib/libtorch_cuda.so", read=False)
    assert missing_symbols(demo, Linkage((read, unread)), "2.11.0") is None
    assert missing_symbols(demo, Linkage((read,)), "2.11.0") is not None


def test_judge_unread_wheel():
    assert faults(LockedWheel("demo", "1", None)) == []


@pytest.mark.parametrize(
    ("loads", "specifier"),
    [
        ({"2.6": False, "2.7": True, "2.8": True, "2.9": False}, ">=2.7,<2.9"),
        ({"2.7": True, "2.8": False}, "<2.8"),
        ({"2.7": False, "2.8": True}, ">=2.8"),
        ({"2.7": True, "2.8": False, "2.9": True}, "!=2.8"),
        ({"2.7": False, "2.8": False}, "!=2.7,!=2.8"),
        ({"2.7+cpu": False, "2.8+cpu": True}, ">=2.8"),
        ({"2.6.0": True, "2.6.0+cpu": False}, "!=2.6.0+cpu"),
        ({"2.6.0": False, "2.6.0+cpu": True}, ""),
        ({"2.6.0": False, "2.6.0.post1": True}, ">=2.6.0.post1"),
        ({"2.6.0": True, "2.6.0.post1": False}, "<2.6.0.post1"),
        ({"2.7": True}, ""),
        ({}, ""),
    ],
)
def test_bounds(loads: dict[str, bool], specifier: str):
    assert (
        bounds((Version(version), is_loading) for version, is_loading in loads.items()) == specifier
    )


def test_bounds_admit_what_loads_and_nothing_that_does_not():
    for pattern in range(1, 64):
        loads = {Version(f"2.{number}.0"): bool(pattern >> number & 1) for number in range(6)}
        specifier = SpecifierSet(bounds(loads.items()))
        assert {version for version in loads if version in specifier} == {
            v for v, good in loads.items() if good
        }


@pytest.mark.parametrize("pattern", range(1, 16))
def test_bounds_admit_local_and_post_releases(pattern: int):
    versions = [Version(version) for version in ("2.6.0", "2.6.0+cpu", "2.6.0.post1", "2.7.0")]
    loads = {version: bool(pattern >> number & 1) for number, version in enumerate(versions)}
    specifier = SpecifierSet(bounds(loads.items()))
    assert all(version in specifier for version, is_loading in loads.items() if is_loading)
    refused = [
        version for version, is_loading in loads.items() if not is_loading and version in specifier
    ]
    assert refused == ([versions[0]] if loads[versions[1]] and not loads[versions[0]] else [])
