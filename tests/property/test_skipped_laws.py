"""Laws of what a lock says of releases that were skipped for want of static metadata, on random worlds."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from hypothesis import event, given
from hypothesis import strategies as st
from packaging.version import Version

from resolver.errors import InputError
from resolver.model.resolution import Resolution
from resolver.resolve.shortfalls import skipped_releases
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe
from tests import problems
from tests.datacatalog import DataCatalog


class Release(msgspec.Struct, frozen=True):
    """A wheel, or a source archive, with static metadata or without (`requires` of None)."""

    wheel: bool
    requires: tuple[str, ...] | None


World = Mapping[str, Mapping[str, Release]]

NAMES = "pqrs"


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A few projects, some releases of which are nothing but archives that say nothing."""
    lines = st.builds(
        "{}{}".format, st.sampled_from(NAMES), st.sampled_from(["", ">=2", ">=3", "<3", "==2", "==1", "!=2"])
    )
    requires = st.lists(lines, max_size=2).map(tuple)
    release = st.one_of(
        st.builds(Release, st.just(True), requires),
        st.builds(Release, st.just(True), requires),
        st.builds(Release, st.just(False), requires),
        st.just(Release(False, None)),
    )
    return {name: {str(version): draw(release) for version in range(1, draw(st.integers(1, 4)) + 1)} for name in NAMES}


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
    world: World, *asks: str, before: Resolution | None = None
) -> tuple[Resolution, list[tuple[str, str, str]]] | None:
    """What was solved and what is told of it; None where nothing is solved."""
    kept = {pin.name: pin.version for pin in before.pins} if before is not None else {}
    universe = Universe(problems.problem(*asks), catalog(world), kept)
    try:
        answer = decide(universe)
    except InputError:
        return None
    if not isinstance(answer, Resolution):
        return None
    rows = skipped_releases(universe, answer)
    return answer, [(row.project, str(row.version), row.archive.file.filename) for row in rows]


@given(worlds())
def test_what_is_told_is_true_and_stays_with_its_pins(world: World) -> None:
    solved = told(world, "p", "q")
    if solved is None:
        return
    answer, rows = solved
    event(f"{len(rows)} rows")
    for project, version, archive in rows:
        pin = answer.pin(project)
        assert pin is not None
        assert Version(version) > pin.version
        name, _, archived = archive.removesuffix(".tar.gz").partition("-")
        assert world[name][archived] == Release(False, None)
        assert told(world, "p", "q", f"{project}=={version}") is None
    again = told(world, "p", "q", before=answer)
    assert again is not None
    assert [pin.release.file for pin in again[0].pins] == [pin.release.file for pin in answer.pins]
    assert again[1] == rows
