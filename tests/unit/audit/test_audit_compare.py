"""A lock held against a real server: what the command's tests do not show."""

from __future__ import annotations

import datetime as dt
from contextlib import closing

from msgspec.structs import replace
from packaging.utils import NormalizedName

from resolver.audit.compare import (
    Compared,
    Marked,
    OutOfReach,
    Unyanked,
    compare,
    is_grave,
    locked_indexes,
    old_facts,
    pins_of,
)
from resolver.i18n import translate
from resolver.index.live import LiveCatalog
from resolver.index.net.pipconfig import PipConfig
from resolver.index.pool import CatalogPool
from resolver.index.store.cache import Cache
from resolver.model.fact import Strength
from resolver.model.lock import (
    Lock,
    LockedFact,
    LockedFile,
    LockedGit,
    LockedIndex,
    LockedPin,
    LockedTarget,
)
from resolver.report.upstream import change_lines, change_sentence
from tests.builders import Built
from tests.loopback import LoopbackIndex
from tests.problems import PYPI_ONLY

DEMO = NormalizedName("demo")
HERE = {"project": DEMO, "version": "1.0", "index": "pypi"}


def pin(
    *files: Built,
    version: str = "1.0",
    index: str = "pypi",
    yanked: str | None = None,
    git: LockedGit | None = None,
) -> LockedPin:
    return LockedPin(
        name="demo",
        version=version,
        index=index,
        mode="wheels",
        file=tuple(LockedFile(name=file.filename, sha256=file.sha256) for file in files),
        yanked=yanked,
        git=git,
    )


def lock(*pins: LockedPin, build: tuple[LockedPin, ...] = ()) -> Lock:
    return Lock(
        format=1,
        stack="s",
        summary="s",
        inputs="",
        requires=(),
        target=LockedTarget(name="there", python="3.11", platform="linux-aarch64", glibc="2.28"),
        index=(LockedIndex(name="pypi"),),
        stage=(),
        pin=pins,
        build_pin=build,
    )


def compared(locked: Lock, served: LoopbackIndex) -> Compared:
    asked = locked_indexes(locked, PYPI_ONLY)
    with closing(CatalogPool(Cache(None, print), pip=PipConfig(index_url=served.url))) as pool:
        return compare(locked, LiveCatalog(asked, "linux-aarch64", pool))


def test_compare_file_no_longer_yanked(index: LoopbackIndex) -> None:
    found = compared(lock(pin(index.add_wheel("demo", "1.0"), yanked="broken")), index)
    assert found.changes == (Unyanked(**HERE),)
    assert not is_grave(found.changes[0])
    assert (
        translate(change_sentence(found.changes[0]), "en") == "no longer yanked: demo 1.0 on `pypi`"
    )


def test_compare_index_that_is_not_defined(index: LoopbackIndex) -> None:
    one, other = (pin(index.add_wheel("demo", version), index="left") for version in ("1.0", "0.9"))
    found = compared(lock(one, build=(other,)), index)
    why = "A binding names the index `left`, which is not defined."
    assert found.out_of_reach == (OutOfReach("left", (DEMO,), why),)
    assert (found.files, index.requests) == (0, [])


def test_compare_does_not_look_up_pins_from_git(index: LoopbackIndex) -> None:
    locked = lock(
        pin(git=LockedGit(url="https://example.test/demo.git", commit="0" * 40), index="")
    )
    assert len(pins_of(locked)) == 1
    found = compared(locked, index)
    assert (found.sources, found.changes, index.requests) == ((DEMO,), (), [])
    assert [translate(line, "en") for line in change_lines(found, (), 180)] == [
        "not compared because they come from git: demo",
        "0 files were compared with their index pages",
    ]


def test_compare_page_without_hashes_and_with_a_mark(index: LoopbackIndex) -> None:
    built = index.add_wheel("demo", "1.0", sha256=False)
    index.stands("demo", "for-sale")
    found = compared(lock(pin(built)), index)
    assert found.changes == (Marked(**HERE, status="for-sale", reason=""),)
    assert [translate(line, "en") for line in change_lines(found, (), 180)] == [
        "for-sale: `pypi` marks demo as such",
        "1 file was compared with its index page, 1 file has no hash on its page",
    ]


def test_compare_newer_release_of_a_project_that_builds(index: LoopbackIndex) -> None:
    newest = pin(index.add_wheel("demo", "2.0"), version="2.0")
    of_build = pin(index.add_wheel("demo", "1.0"))
    assert compared(lock(newest, build=(of_build,)), index).newer == ()
    (newer,) = compared(lock(of_build, build=(newest,)), index).newer
    assert (newer.version, newer.newest) == ("1.0", "2.0")


def test_old_facts_after_so_many_days() -> None:
    def fact(name: str, checked: str) -> LockedFact:
        return LockedFact(
            id=name, where="", strength=Strength.VENDOR, reason="", source="", checked=checked
        )

    days = {"new": "2026-11-22", "edge": "2026-05-26", "old": "2026-05-25", "older": "0001-01-01"}
    locked = replace(lock(), fact=tuple(fact(name, day) for name, day in days.items()))
    assert [one.id for one in old_facts(locked, dt.date(2026, 11, 22), 180)] == ["older", "old"]
