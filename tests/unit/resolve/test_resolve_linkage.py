"""The search judges binaries before it takes a release, and the check judges them again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet

from resolver.index.protocol import UnusableFile
from resolver.model.fact import Links, Strength
from resolver.model.linkage import Linkage, SharedObject
from resolver.model.problem import Problem
from resolver.model.release import File, RejectionReason
from resolver.model.text import name
from resolver.resolve.independent_check import check
from resolver.resolve.linkage import LinkageRules
from tests.datacatalog import DataCatalog
from tests.elf import symbols
from tests.problems import pins, problem, refused, solved
from tests.references import read_source

TAGS = "cp311-cp311-manylinux_2_17_aarch64"


def links(package: str, versions: str = "", **values: tuple[str, ...]) -> Links:
    return Links(
        id=f"{package}-links",
        package=name(package),
        versions=(SpecifierSet(versions),),
        reason="it is linked",
        strength=Strength.OBSERVED,
        source=read_source("demo/tests#1"),
        checked=dt.date(2026, 11, 28),
        where=f"{package}.toml:1",
        **values,
    )


FACTS = (links("audio", to=("torch",)), links("torch", provides=("libtorch.so",)))


class Binaries(DataCatalog):
    """An index of wheels with binaries; a text is why those of a wheel cannot be used."""

    def __init__(self) -> None:
        super().__init__()
        self.readings: dict[str, Linkage | str] = {}

    def add(self, project: str, version: str, *requires: str, **read: object) -> None:
        """Add a release with one binary that has these fields."""
        file = self.add_wheel(project, version, requires, tags=TAGS)
        self.readings[file.filename] = Linkage((SharedObject(path=f"{project}/_C.so", **read),))

    def linkage(self, file: File) -> Linkage | None:
        reading = self.readings.get(file.filename)
        if isinstance(reading, str):
            raise UnusableFile(reading)
        return reading

    def known_linkage(self, file: File) -> Linkage | None:
        return self.linkage(file)


def asking(*lines: str, known: Sequence[Links] = FACTS) -> Problem:
    return replace(problem(*lines, facts=tuple(known)), libraries=frozenset({"libc.so.6"}))


@pytest.fixture
def catalog() -> Binaries:
    """Two releases of torch, of which the newer one lacks a symbol and has another."""
    made = Binaries()
    made.add("torch", "2.8.0", offers=symbols("add", "old"))
    made.add("torch", "2.9.0", offers=symbols("add", "new"))
    return made


def test_linkage_takes_the_newest_that_loads(catalog: Binaries):
    catalog.add("audio", "1", needs=("libtorch.so", "libc.so.6"), takes=symbols("add"))
    catalog.add("audio", "2", needs=("libtorch.so",), takes=symbols("new"))
    catalog.add("audio", "3", needs=("libcudart.so.13",))
    assert pins(asking("audio", "torch"), catalog) == {"audio": "2", "torch": "2.9.0"}
    assert pins(asking("audio", "torch==2.8.0"), catalog) == {"audio": "1", "torch": "2.8.0"}


def test_linkage_moves_torch(catalog: Binaries):
    catalog.add("audio", "1", takes=symbols("old"))
    assert pins(asking("audio"), catalog) == {"audio": "1", "torch": "2.8.0"}


def test_linkage_with_a_torch_that_needs_the_library_itself(catalog: Binaries):
    catalog.add("torch", "2.11.0", needs=("libcudart.so.13",), offers=symbols("add", "cuda"))
    catalog.add("audio", "1", needs=("libcudart.so.13",), takes=symbols("cuda"))
    assert pins(asking("audio"), catalog) == {"audio": "1", "torch": "2.11.0"}
    refused(asking("audio", "torch<2.11"), catalog)


def test_linkage_takes_in_the_project_that_provides(catalog: Binaries):
    known = (
        links("audio", to=("codec", "torch")),
        links("codec", ">=2,<4", provides=("libcodec.so",)),
    )
    for version in ("1", "2", "3", "4"):
        catalog.add_wheel("codec", version, tags=TAGS)
    catalog.add("audio", "1", needs=("libcodec.so",))
    assert pins(asking("audio", known=known), catalog) == {"audio": "1", "codec": "3"}
    assert pins(asking("audio", "codec<3", known=known), catalog) == {"audio": "1", "codec": "2"}
    refused(asking("audio", "codec==4", known=known), catalog)


def test_linkage_with_a_project_of_which_no_release_provides(catalog: Binaries):
    known = (
        links("audio", to=("codec", "torch")),
        links("codec", ">=2", provides=("libcodec.so",)),
    )
    catalog.add_wheel("codec", "1", tags=TAGS)
    catalog.add("audio", "1", needs=("libcodec.so",))
    refused(asking("audio", known=known), catalog)


def test_linkage_with_a_torch_that_provides_by_version(catalog: Binaries):
    known = (links("audio", to=("torch",)), links("torch", "<2.8.1", provides=("libshm.so",)))
    catalog.add_wheel("torch", "2.8.1", tags=TAGS)
    catalog.add_wheel("torch", "2.7.0", tags=TAGS)
    catalog.add("audio", "1", needs=("libshm.so",))
    assert pins(asking("audio", known=known), catalog)["torch"] == "2.8.0"
    assert pins(asking("audio", "torch==2.7.0", known=known), catalog)["torch"] == "2.7.0"


def test_linkage_of_a_foreign_library_and_an_unread_torch(catalog: Binaries):
    catalog.add("torch", "2.10.0", needs=("libcudart.so.13",))
    catalog.add_wheel("torch", "2.11.0", tags=TAGS)
    catalog.add("audio", "1", needs=("libcudart.so.13",))
    assert pins(asking("audio"), catalog) == {"audio": "1", "torch": "2.10.0"}
    del catalog.readings[f"torch-2.10.0-{TAGS}.whl"]
    assert RejectionReason.LIBRARY.name in str(refused(asking("audio"), catalog).core)


def test_linkage_with_no_known_torch_is_told_in_words(catalog: Binaries):
    """A release that only some torch loads is told with its bound."""
    catalog.add("plain", "1", "torch", needs=("libtorch.so",), takes=symbols("gone"))
    catalog.add("other", "1", "torch", needs=("libtorch.so",), takes=symbols("old"))
    known = FACTS[1:]
    (pin,) = solved(asking("plain", known=known), catalog).unloadable_pins
    assert pin.why == "its binaries load with no torch that is known"
    (pin,) = solved(asking("other", "torch==2.9.0", known=known), catalog).unloadable_pins
    assert pin.why == "its binaries are linked with torch<2.9.0"


def test_linkage_is_judged_once_a_wheel(catalog: Binaries, monkeypatch: pytest.MonkeyPatch):
    judged = []
    judge = LinkageRules._judge
    monkeypatch.setattr(
        LinkageRules, "_judge", lambda *given: judged.append(given[1].file) or judge(*given)
    )
    catalog.add("audio", "1", needs=("libtorch.so",))
    catalog.add("audio", "2", needs=("libcudart.so.13",))
    solved(asking("audio", "torch"), catalog)
    assert len(judged) == len(set(judged)) == 2


def test_linkage_of_unread_wheels(catalog: Binaries):
    catalog.add("audio", "1", needs=("libcudart.so.13",))
    catalog.readings.clear()
    assert pins(asking("audio"), catalog) == {"audio": "1"}


def test_linkage_of_a_torch_between_those_that_were_read(catalog: Binaries):
    catalog.add_wheel("torch", "2.8.1", tags=TAGS)
    catalog.add("audio", "1", needs=("libtorch.so",), takes=symbols("old"))
    assert pins(asking("audio"), catalog)["torch"] == "2.8.1"


def test_linkage_that_cannot_be_read(catalog: Binaries):
    file = catalog.add_wheel("audio", "1", tags=TAGS)
    catalog.readings[file.filename] = "it is damaged"
    assert RejectionReason.BINARIES.name in str(refused(asking("audio"), catalog).core)


@pytest.mark.parametrize(
    ("read", "told"),
    [
        (
            {"needs": ("libcudart.so.13",)},
            "audio/_C.so needs libcudart.so.13, which nothing provides",
        ),
        ({"glibc": "2.34"}, "audio/_C.so needs glibc 2.34"),
        ({"takes": symbols("old")}, "audio/_C.so takes symbols that torch does not offer"),
    ],
)
def test_check_finds_what_does_not_load(catalog: Binaries, read: dict[str, object], told: str):
    catalog.add("audio", "1", "torch", needs=("libtorch.so",), takes=symbols("new"))
    asked = asking("audio")
    resolution = solved(asked, catalog)
    assert check(asked, resolution, catalog) == []
    catalog.readings[f"audio-1-{TAGS}.whl"] = Linkage((SharedObject(path="audio/_C.so", **read),))
    assert check(asked, resolution, catalog) == [f"audio 1: {told}"]
