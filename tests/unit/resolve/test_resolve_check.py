"""The check finds a fault by the rule that is broken.

It counts what could be taken, and nothing else: odd files beside

good ones are no reason to doubt a lock.
"""

from __future__ import annotations

import datetime as dt

import pytest
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from resolver.model.fact import Fact, Strength
from resolver.model.problem import PYPI, Problem
from resolver.model.release import File
from resolver.resolve.independent_check import check
from tests.datacatalog import DataCatalog
from tests.problems import (
    absent,
    builds,
    collides,
    excludes,
    metadata,
    names,
    pins,
    problem,
    replaces,
    requires,
    solved,
    taken,
    target,
    with_sources,
    without,
)

_BEST = "cp311-cp311-manylinux_2_28_aarch64"
_MANY = ".".join(f"manylinux_2_{number}_aarch64" for number in range(5, 40))


def add(catalog: DataCatalog, name: str, *files: File) -> None:
    """Put further files of its release 1 on a project's page."""
    catalog._pages[canonicalize_name(name), PYPI]["1"] += files


def file(filename: str, digest: str = "b", **more: str) -> File:
    return File(filename=filename, sha256=digest * 64, **more)


@pytest.mark.parametrize(
    "odd",
    [
        [file(f"a_b-1-{_BEST}.whl", "b"), file(f"a_b-1-{_BEST}.whl", "c")],
        [file(f"a__b-1-{_BEST}.whl")],
        [file("a_b-1-py3..cp3-none-any.whl")],
        [file("a_b-1-.py3-none-linux_aarch64.whl")],
        [file(f"a_b-1-{'.'.join(['cp311'] * 6)}-{'.'.join(['cp311'] * 6)}-{_MANY}.whl")],
    ],
    ids=[
        "there twice",
        "no name",
        "an empty tag",
        "a tag that begins with a dot",
        "more tags than there are",
    ],
)
def test_check_allows_an_unusable_better_wheel(odd: list[File]) -> None:
    catalog = DataCatalog({"a-b": {"1": []}})
    add(catalog, "a-b", *odd)
    assert pins(problem("a-b"), catalog) == {"a-b": "1"}
    assert solved(problem("a-b"), catalog).pins[0].release.file.filename == "a_b-1-py3-none-any.whl"


@pytest.mark.parametrize("filename", ["a- 1.tar.gz", "a-1 .tar.gz", "a-1.tar.gz\n"])
def test_check_finds_white_space_in_an_archive_name(filename: str) -> None:
    wanted = problem("a")
    answer = solved(wanted, DataCatalog({"a": {"1": []}}))
    (pin,) = answer.pins
    odd = replace(pin.release, file=file(filename))
    assert f"{filename} has characters that no name of a wheel or source archive has" in check(
        wanted, replace(answer, pins=(replace(pin, release=odd),)), DataCatalog({"a": {"1": []}})
    )


@pytest.mark.parametrize(
    "uploaded",
    [
        "2026-01-31",
        "20260131T235959Z",
        "2026-01-31T23:59Z",
        "2026-W05-6",
        "2026-02-01T00:00:00.7Z",
        "",
    ],
)
def test_check_allows_a_better_wheel_beyond_the_cut_off(uploaded: str) -> None:
    cutoff = dt.datetime(2026, 2, 1, 0, 0, 0, 500_000, tzinfo=dt.timezone.utc)
    catalog = DataCatalog()
    catalog.add_wheel("a", "1", uploaded="2026-02-01t00:00:00.4z")
    add(catalog, "a", file(f"a-1-{_BEST}.whl", uploaded=uploaded))
    (pin,) = solved(problem("a", exclude_newer=cutoff), catalog).pins
    assert pin.release.file.filename == "a-1-py3-none-any.whl"


def test_check_counts_the_last_builds_fact() -> None:
    catalog = DataCatalog({"numpy": {"1": [], "2": []}})
    catalog.add_archive(
        "app", "1", build_requires=[], members={"old.txt": "numpy<2\n", "new.txt": "numpy>=2\n"}
    )
    old, new = (replace(builds("app", "", f"{name}.txt"), id=name) for name in ("old", "new"))
    assert pins(problem("app", facts=[old, new]), catalog) == {"app": "1", "numpy": "2"}
    assert pins(problem("app", facts=[new, old]), catalog) == {"app": "1", "numpy": "1"}


# --- a resolution that is right for one problem, and what the check says of it for another

_THEN = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
_EARLY, _LATE = "2025-01-01T00:00:00Z", "2026-02-01T00:00:00Z"


def with_python(metadata_python: str | None) -> tuple[Problem, DataCatalog]:
    """Return a problem for an archive of a release for Python 3.12 and later, and its index.

    A fact says so, if the archive does not.
    """
    catalog = DataCatalog()
    requires = None if metadata_python is None else ()
    catalog.add_archive("a", "1", requires, metadata_python=metadata_python)
    fact = replace(metadata("a", ""), requires_python=SpecifierSet(">=3.12"))
    return problem("a", facts=[fact] if requires is None else []), catalog


@pytest.mark.parametrize("metadata_python", [">=3.12", None])
def test_check_finds_an_archive_for_another_python(metadata_python: str | None) -> None:
    wanted, catalog = with_python(metadata_python)
    answer = solved(replace(wanted, target=target(python="3.12")), catalog)
    assert check(wanted, answer, catalog) == ["a-1.tar.gz needs Python >=3.12"]


def index() -> DataCatalog:
    """Return a world with files that were uploaded after _THEN.

    They are the files that pip takes of `older`, `archive`, `half`, `gone` and `last`.
    """
    catalog = DataCatalog().serve(
        "app 1: b<2", "app 2: gone==1", "user 1: app==1", "b 1 2", "c 1", "early 1 2rc1 2rc2"
    )
    catalog.add_wheel("older", "1", uploaded=_EARLY)
    catalog.add_wheel("older", "1", tags=_BEST, uploaded=_LATE)
    catalog.add_archive("archive", "1", uploaded=_EARLY)
    catalog.add_wheel("archive", "1", uploaded=_LATE)
    catalog.add_wheel("half", "1", tags=_BEST, yanked="", uploaded=_EARLY)
    catalog.add_wheel("half", "1", uploaded=_LATE)
    catalog.add_wheel("gone", "1", yanked="", uploaded=_EARLY)
    catalog.add_wheel("gone", "1", tags=_BEST, yanked="", uploaded=_LATE)
    catalog.add_archive("last", "1", yanked="", uploaded=_EARLY)
    catalog.add_wheel("last", "1", yanked="", uploaded=_LATE)
    catalog.add_wheel("source", "1", yanked="")
    catalog.add_archive("source", "1")
    catalog.add_archive("built", "1", members={"requirements.txt": "gone==1"})
    catalog.add_archive("early", "1.1", yanked="")
    catalog.add_wheel("boxed", "2rc1")
    catalog.add_archive("boxed", "3")
    return catalog


def of(strength: Strength, fact: Fact) -> Fact:
    return replace(fact, strength=strength)


_YANKED = "gone 1 was yanked, and neither the stack nor a fact pins it"
_TOGETHER = "{} and {} must not be together, as each owns `{}`"
_NEEDLESS = "early 2rc2 is a pre-release, and 1 fits"
_GONE, _USED = problem("gone==1"), problem("app==2", "gone==1")
_LATEST, _BOTH, _APP = (
    problem("early", prereleases="allow"),
    problem("b==1", "c"),
    problem("app==1"),
)
_FACT, _PRACTICE = (
    requires("app", "", "b==1"),
    of(Strength.PRACTICE, replaces("app", "", ["b"], "b>=2")),
)
_REPLACED = problem("app==1", facts=[_FACT, _PRACTICE])
_KEPT = ["app 1 needs b==1, and 2 is pinned"]
_ABSENT = [
    _TOGETHER.format("app", "b", "b or app"),
    "b is pinned, and must be absent",
    "nothing asks for b",
]

_LINE, _COMMIT = taken("src", "1", "b")
_WHEELS, _BUILT = (
    replace(problem("source==1"), wheels_only=True),
    problem("built", facts=[builds("built", "==1")]),
)


@pytest.mark.parametrize(
    ("then", "now", "faults"),
    [
        # files
        (
            problem("older", exclude_newer=_THEN),
            problem("older"),
            ["older-1-py3-none-any.whl is not what pip takes"],
        ),
        (
            problem("archive", exclude_newer=_THEN),
            problem("archive"),
            ["archive-1.tar.gz is not what pip takes"],
        ),
        (
            problem("half==1", exclude_newer=_THEN),
            problem("half==1"),
            [f"half-1-{_BEST}.whl is not what pip takes"],
        ),
        (
            problem("gone==1", exclude_newer=_THEN),
            _GONE,
            ["gone-1-py3-none-any.whl is not what pip takes"],
        ),
        (
            problem("last==1", exclude_newer=_THEN),
            problem("last==1"),
            ["last-1.tar.gz is not what pip takes"],
        ),
        (problem("half==1"), problem("half"), []),
        (problem("source==1"), problem("source"), []),
        (_WHEELS, _WHEELS, []),
        # facts about releases
        (
            _BOTH,
            problem("b==1", "c", facts=[excludes("b", "==1")]),
            ["b 1 is excluded at facts/b.toml:7"],
        ),
        (
            _BOTH,
            problem("b==1", "c", facts=[names("b", "", PYPI)]),
            ["b 1 from `pypi` is refused at facts/b.toml:7"],
        ),
        # yanked releases
        (_GONE, problem("gone"), [_YANKED]),
        (_GONE, problem("gone==1.*"), [_YANKED]),
        (_GONE, problem("gone===1"), []),
        (_USED, problem("app==2"), [_YANKED]),
        (_USED, problem("app==2", facts=[requires("app", "", "gone==1")]), []),
        (_BUILT, _BUILT, []),
        # pre-releases
        (_LATEST, problem("early"), [_NEEDLESS]),
        (
            problem("boxed<3", prereleases="allow"),
            problem("boxed"),
            ["boxed 2rc1 is a pre-release, and 3 fits"],
        ),
        (_LATEST, problem("early>1rc1", prereleases="never"), ["early 2rc2 is a pre-release"]),
        # practices: those in force are facts of the problem, others are not
        (
            _REPLACED,
            problem("app==1", facts=[_FACT]),
            ["app 1 needs b<2, and 2 is pinned", *_KEPT, "nothing asks for b"],
        ),
        (_REPLACED, problem("app==1", facts=[_FACT, of(Strength.VENDOR, _PRACTICE)]), _KEPT),
        (_REPLACED, problem("app==1", facts=[of(Strength.ENFORCED, _FACT), _PRACTICE]), _KEPT),
        (_REPLACED, problem("app==1", facts=[of(Strength.PRACTICE, _FACT), _PRACTICE]), _KEPT),
        (
            _REPLACED,
            problem("app==1", facts=[requires("app", "", "b==1", "cann >= 9.0.0"), _PRACTICE]),
            ["app 1: cann >= 9.0.0 does not hold, the target has cann 8.5.0"],
        ),
        (
            _APP,
            problem("app==1", facts=[_PRACTICE]),
            ["app 1 needs b>=2, and 1 is pinned", "nothing asks for b"],
        ),
        # owners of a module
        (
            _BOTH,
            problem("b==1", "c", facts=[collides("b", "==1", "c", "m")]),
            [_TOGETHER.format("b", "c", "m")],
        ),
        # what must be absent
        (_APP, without(_APP, "b"), _ABSENT[1:]),
        (without(_APP, "b"), _APP, ["app 1 needs b<2, which is not pinned"]),
        (_APP, problem("app==1", facts=[absent("app", "==1", "b")]), _ABSENT),
        (_APP, problem("app<=2", facts=[absent("app", "==1", "b")]), _ABSENT[:1]),
        (_APP, problem("app==1", "b", facts=[absent("app", "==1", "b")]), _ABSENT[:1]),
        (
            _APP,
            problem("app==1", "b ; python_version < '3'", facts=[absent("app", "==1", "b")]),
            _ABSENT,
        ),
        (
            with_sources(problem(_LINE), _COMMIT),
            with_sources(problem(_LINE, facts=[absent("src", "==1", "b")]), _COMMIT),
            [_TOGETHER.format("b", "src", "b or src"), *_ABSENT[1:]],
        ),
        (problem("user"), problem("user", facts=[absent("app", "", "b")]), _ABSENT[:1]),
    ],
)
def test_check_finds_a_fault(then: Problem, now: Problem, faults: list[str]) -> None:
    assert check(now, solved(then, index()), index()) == faults
