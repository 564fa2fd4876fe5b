"""The independent check complains of a resolution exactly when brute force does."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, event, given
from hypothesis import strategies as st
from msgspec.structs import replace
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.model.release import Release
from resolver.model.resolution import Pin, Resolution
from resolver.resolve.independent_check import check
from resolver.resolve.solver import solve
from tests.datacatalog import DataCatalog
from tests.property import found
from tests.property.bruteforce import BruteForce
from tests.property.worlds import World, worlds


def released(catalog: DataCatalog, name: str, version: str) -> Release:
    """Return the release of a project, usable or not."""
    (page,) = catalog.lookup(canonicalize_name(name)).pages
    (file,) = page.releases[version]
    return Release(
        version=Version(version),
        file=file,
        others=(),
        index="pypi",
        builds=None,
        yanked=file.yanked is not None,
        position=0,
    )


def brute_faults(world: World, resolution: Resolution) -> list[str]:
    return BruteForce(world).faults(found.pins(resolution), found.extras(resolution))


@st.composite
def resolved(draw: st.DrawFn, *, prereleases: bool = False) -> tuple[World, Resolution]:
    world = draw(worlds(prereleases=prereleases, easy=True))
    solved = solve(world.problem(), world.catalog())
    assume(isinstance(solved, Resolution))
    assert isinstance(solved, Resolution)
    return world, solved


@given(st.one_of(resolved(), resolved(prereleases=True)), st.data())
def test_check_finds_a_planted_fault(start: tuple[World, Resolution], data: st.DataObject) -> None:
    """A pin dropped, put at another release, or added; extras more or fewer.

    Some of it happens to hold.
    """
    world, resolution = start
    catalog, pins = world.catalog(), list(resolution.pins)
    at = data.draw(st.integers(0, len(pins) - 1)) if pins else -1
    kinds = ("drop", "version", "add", "extra", "fewer extras") if pins else ("add",)
    match data.draw(st.sampled_from(kinds)):
        case "drop":
            del pins[at]
        case "version":
            version = data.draw(st.sampled_from(sorted(world.projects[pins[at].name])))
            pins[at] = replace(pins[at], release=released(catalog, pins[at].name, version))
        case "add":
            name = data.draw(st.sampled_from(sorted(world.projects)))
            assume(name not in {one.name for one in pins})
            version = data.draw(st.sampled_from(sorted(world.projects[name])))
            nothing: dict[str, Any] = {
                "extras": (),
                "unknown_extras": (),
                "because": (),
                "needs": (),
            }
            pins.append(
                Pin(
                    name=canonicalize_name(name),
                    release=released(catalog, name, version),
                    **nothing,
                )
            )
        case "extra":
            pins[at] = replace(pins[at], extras=tuple(sorted({*pins[at].extras, "x"})))
        case _:
            pins[at] = replace(pins[at], extras=pins[at].extras[:-1])
    changed = replace(resolution, pins=tuple(pins))
    complaints, true = check(world.problem(), changed, catalog), brute_faults(world, changed)
    event("faulty" if true else "right")
    assert bool(complaints) == bool(true), (complaints, true)


@given(resolved(prereleases=True))
def test_check_passes_every_solution(start: tuple[World, Resolution]) -> None:
    world, resolution = start
    assert (
        brute_faults(world, resolution) == check(world.problem(), resolution, world.catalog()) == []
    )


OTHER_FILES = (
    ({"sha256": "0" * 64}, "is not on the page of `pypi` with this hash"),
    ({"sha256": "tampered"}, "has no sha256"),
    ({"filename": "{name}-99-py3-none-any.whl"}, "is not {name} {version}"),
    ({"filename": "other-{version}-py3-none-any.whl"}, "is not {name} {version}"),
    ({"filename": "{name}-{version}-cp27-none-any.whl"}, "is not for the target"),
    ({"filename": "{name}-{version}.tar.gz"}, "is not on the page of `pypi` with this hash"),
    ({"filename": "nonsense.whl"}, "is not {name} {version}"),
    ({"requires_python": ">=3.12"}, "needs Python >=3.12"),
)


@given(resolved(), st.data())
def test_check_finds_another_file(start: tuple[World, Resolution], data: st.DataObject) -> None:
    """A file with another hash, of another release, for another machine, or that no page has."""
    world, resolution = start
    assume(resolution.pins)
    at = data.draw(st.integers(0, len(resolution.pins) - 1))
    one = resolution.pins[at]
    changes, fault = data.draw(st.sampled_from(OTHER_FILES))
    known = {"name": one.name, "version": str(one.version)}
    file = replace(one.release.file, **{key: text.format(**known) for key, text in changes.items()})
    changed = replace(one, release=replace(one.release, file=file))
    pins = (*resolution.pins[:at], changed, *resolution.pins[at + 1 :])
    complaints = check(world.problem(), replace(resolution, pins=pins), world.catalog())
    assert f"{file.filename} {fault.format(**known)}" in complaints
