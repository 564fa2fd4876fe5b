"""What a conflict says of each cause: the whole text for the conflicts that people meet."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from resolver.errors import WrongRelease
from resolver.index.parse.distribution import FileRelease
from resolver.index.parse.metadata import check_release
from resolver.model.release import CoreMetadata, File, Rejection, RejectionReason
from resolver.resolve.reasons import nearest_first
from resolver.resolve.solver import solve
from tests.datacatalog import DataCatalog
from tests.problems import pins, problem, target, told

PAGE = "@ looked up on pypi"


def causes(catalog: DataCatalog, *requirements: str, **more: Any) -> list[str]:
    """What a conflict says after the stack's lines, all of which it names first."""
    lines = told(problem(*requirements, **more), catalog)
    assert lines[: len(requirements)] == [
        f"the stack asks for {line} @ stack.toml:{at}" for at, line in enumerate(requirements, 5)
    ]
    return lines[len(requirements) :]


# --- nothing to take


@pytest.mark.parametrize(
    ("wanted", "nearest"),
    [
        ("==2.8.1", "the nearest are 2.8.0.post1 and 2.9.0"),
        (">=2.8.1,<2.9", "the nearest are 2.8.0.post1 and 2.9.0"),
        ("==2.9.0.dev1", "the nearest are 2.8.0.post1 and 2.9.0rc1"),  # a pre-release is wanted
        ("==2.8.0+cpu", "the nearest are 2.8.0 and 2.8.0.post1"),
        ("<2.7", "the nearest is 2.8.0"),
        ("==2.11.*", "the newest is 2.10.0"),
        (">2.10", "the newest is 2.10.0"),
    ],
)
def test_reason_names_the_nearest_releases(wanted: str, nearest: str) -> None:
    releases: dict[str, list[str]] = {
        one: [] for one in ("2.8.0", "2.8.0.post1", "2.9.0rc1", "2.9.0", "2.10.0")
    }
    (lack,) = causes(DataCatalog({"torch": releases}), f"torch{wanted}")
    assert lack.startswith("no release of torch matches `")
    assert lack.endswith(f"; {nearest} {PAGE}")


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        ([], "lists no release"),
        (
            [Rejection("torch-2.8.0.exe", RejectionReason.FORMAT)],
            (
                "lists no recognisable release: "
                "1 file is not a wheel, .tar.gz or .zip (torch-2.8.0.exe)"
            ),
        ),
        (
            [
                Rejection("tensor-1.zip", RejectionReason.FOREIGN),
                *(Rejection(f"torch-{at}.exe", RejectionReason.FORMAT) for at in range(40)),
            ],
            (
                "lists no recognisable release: "
                "40 files are not a wheel, .tar.gz or .zip (such as torch-0.exe), "
                "1 file belongs to another project (tensor-1.zip)"
            ),
        ),
    ],
)
def test_reason_of_a_page_without_releases(odd: list[Rejection], said: str) -> None:
    catalog = DataCatalog()
    catalog.add_project("torch", rejections=odd)
    assert causes(catalog, "torch") == [f"the index page of torch {said} {PAGE}"]


def test_nearest_first_puts_wheels_of_other_systems_last() -> None:
    """As of decord: its wheels for macOS are the first on the page."""
    names = [
        f"decord-0.6.0-{tags}.whl"
        for tags in ("cp36-cp36m-macosx_10_15_x86_64", "py3-none-win_amd64")
    ]
    names.append("decord-0.6.0-py3-none-manylinux2010_x86_64.whl")
    rows = nearest_first([Rejection(name, RejectionReason.TAGS) for name in names], target())
    assert [row.filename for row in rows] == [names[2], *names[:2]]


def test_reason_names_a_newer_glibc_before_archives() -> None:
    """Of several releases each cause is named, those with wheels first."""
    catalog = DataCatalog()
    for version in "12345":
        if version < "4":
            catalog.add_wheel("a", version, tags="cp311-cp311-manylinux_2_34_aarch64")
            catalog.add_wheel("a", version, tags="cp310-cp310-manylinux_2_34_aarch64")
        catalog.add_archive("a", version, requires=None)
    assert causes(catalog, "a") == [
        (
            "a 3, 2, 1, 5 and 1 more release cannot be used @ "
            "a-3.tar.gz, a-2.tar.gz, a-1.tar.gz, a-5.tar.gz"
        ),
        (
            "  a 3, 2 and 1 have wheels for glibc 2.34 (the target has 2.28): "
            "if `ldd --version` shows at least that on the "
            'machine, write glibc = "2.34" in [target]'
        ),
        "  a-5.tar.gz is a source archive without static metadata",
        (
            "  usable if a fact states what it needs: [[metadata]] in matrices/facts/a.toml "
            '(versions = "==5", requires = […] as in its setup.py; see matrices/README.md)'
        ),
    ]


@pytest.mark.parametrize(
    ("cutoff", "archive", "said"),
    [
        ((2026, 3, 1), "2026-03-04T08:15:00Z", "is newer than the cut-off (2026-02-28)"),
        (
            (2026, 3, 1, 12),
            "2026-03-04T08:15:00Z",
            "is newer than the cut-off (2026-03-01T12:00:00+00:00)",
        ),
        # a file without a day is not said to be newer
        (
            (2026, 3, 1),
            "",
            "was not uploaded before the cut-off (2026-02-28), according to the index",
        ),
    ],
)
def test_reason_of_a_cut_off_names_both_days(
    cutoff: tuple[int, ...], archive: str, said: str
) -> None:
    catalog = DataCatalog()
    catalog.add_wheel("a", "1", uploaded="2026-03-02T08:15:00Z")
    catalog.add_archive("a", "1", uploaded=archive)
    moment = dt.datetime(*cutoff, tzinfo=dt.timezone.utc)  # type: ignore[misc,arg-type]
    assert (
        causes(catalog, "a", exclude_newer=moment)[0] == f"a 1 (uploaded 2026-03-02) {said} {PAGE}"
    )


# --- files that are of no use: how many are read, and how they are told


class MixedUp(DataCatalog):
    """A catalog whose files have the metadata of x 77, unless they are `right`."""

    def __init__(self, count: int, *right: str) -> None:
        super().__init__({"x": {f"1.{at}": [] for at in range(count)}})
        self.right = right

    def metadata(self, file: File) -> CoreMetadata:
        found = super().metadata(file)
        version = found.version if found.version in self.right else "77"
        check_release(
            "x", version, FileRelease(file.filename, found.name, found.version), file.filename
        )
        return found


def test_files_of_other_releases_are_set_aside() -> None:
    assert pins(problem("x"), MixedUp(10, "1.5")) == {"x": "1.5"}
    with pytest.raises(WrongRelease) as failure:
        solve(problem("x"), MixedUp(10))
    assert failure.value.where == "x-1.9-py3-none-any.whl"


def test_reason_covers_all_files_that_cannot_be_read() -> None:
    """Each says something else of itself; a report has no room for thousands."""
    catalog = DataCatalog()
    for at in range(50):
        catalog.add_wheel("x", f"1.{at}", [f"y{at} >> 1"])
    newest = ", ".join(f"x-1.{at}-py3-none-any.whl" for at in (49, 48, 47, 46))
    assert told(problem("x"), catalog) == [
        "the stack asks for x @ stack.toml:5",
        f"x 1.49, 1.48, 1.47, 1.46 and 46 more releases cannot be used @ {newest}",
        *(
            f"  x-1.{at}-py3-none-any.whl has unreadable metadata "
            f"(`y{at} >> 1` in its metadata is not a requirement)"
            for at in (49, 48, 47, 46)
        ),
    ]


@pytest.mark.parametrize("asked", ["a", "a[x]", "a[x,y]", "a[x,y,z]"])
def test_archive_with_extras_is_opened_once(asked: str) -> None:
    """After three archives in vain no more of a project are read, whatever extras are asked for."""
    catalog = DataCatalog()
    for version in ("4", "3"):
        catalog.add_archive("a", version, None)
    catalog.add_archive("a", "2", [])
    assert pins(problem(asked), catalog) == {"a": "2"}
    catalog.add_archive("a", "5", None)
    assert "a-2.tar.gz was not opened" in " ".join(told(problem(asked), catalog))
