"""Laws of what a lock says of skipped releases, which have no static metadata."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from resolver.errors import InputError
from resolver.model.lock import SkippedRelease
from resolver.model.resolution import Resolution
from resolver.resolve.skipped_releases import skipped_releases
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe
from tests import problems
from tests.datacatalog import DataCatalog


class Release(msgspec.Struct, frozen=True):
    """A wheel, or a source archive, with static metadata or without (`requires` of None)."""

    wheel: bool
    requires: tuple[str, ...] | None


World = Mapping[str, Mapping[str, Release]]
Rows = tuple[SkippedRelease, ...]

NAMES = "pqrs"


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Return a few projects; some releases have only archives without static metadata."""
    lines = st.builds(
        "{}{}".format,
        st.sampled_from(NAMES),
        st.sampled_from(["", ">=2", ">=3", "<3", "==2", "==1", "!=2"]),
    )
    requires = st.lists(lines, max_size=2).map(tuple)
    release = st.one_of(
        st.builds(Release, st.just(True), requires),
        st.builds(Release, st.just(True), requires),
        st.builds(Release, st.just(False), requires),
        st.just(Release(False, None)),
    )
    return {
        name: {str(version): draw(release) for version in range(1, draw(st.integers(1, 4)) + 1)}
        for name in NAMES
    }


def catalog(world: World) -> DataCatalog:
    found = DataCatalog()
    for name, releases in world.items():
        found.add_project(name)
        for version, release in releases.items():
            if release.wheel:
                found.add_wheel(name, version, release.requires or ())
            else:
                found.add_archive(name, version, release.requires)
    return found


def told(
    world: World, *asks: str, before: Resolution | None = None, rows: Rows = ()
) -> tuple[Resolution, Rows] | None:
    """Return what was solved and what is said of it; None where nothing is solved."""
    kept = {pin.name: pin.version for pin in before.pins} if before is not None else {}
    universe = Universe(problems.problem(*asks), catalog(world), kept)
    try:
        answer = decide(universe)
    except InputError:
        return None
    return (
        (answer, skipped_releases(universe, answer, rows))
        if isinstance(answer, Resolution)
        else None
    )


@given(worlds())
def test_skipped_releases_are_true_and_stay_with_pins(world: World) -> None:
    solved = told(world, "p", "q")
    if solved is None:
        return
    answer, rows = solved
    for row in rows:
        pin = answer.pin(row.project)
        assert pin is not None
        assert Version(row.version) > pin.version
        assert world[row.archive_of][row.archive_version] == Release(False, None)
        assert told(world, "p", "q", f"{row.project}=={row.version}") is None
    again = told(world, "p", "q", before=answer, rows=rows)
    assert again is not None
    assert [pin.release.file for pin in again[0].pins] == [pin.release.file for pin in answer.pins]
    assert again[1] == rows
