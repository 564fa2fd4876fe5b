"""Files that are of no use: how many are read, and how they are told."""

from __future__ import annotations

import pytest

from resolver.errors import WrongRelease
from resolver.index.parse.metadata import FileRelease, check_release
from resolver.model.release import File, Metadata
from resolver.resolve.solver import solve
from tests.datacatalog import DataCatalog
from tests.problems import pins, problem, told


class MixedUp(DataCatalog):
    """A catalog whose files have the metadata of x 77, unless they are `right`."""

    def __init__(self, count: int, *right: str) -> None:
        super().__init__({"x": {f"1.{at}": [] for at in range(count)}})
        self.right = right

    def metadata(self, file: File) -> Metadata:
        found = super().metadata(file)
        version = found.version if found.version in self.right else "77"
        check_release("x", version, FileRelease(file.filename, found.name, found.version), file.filename)
        return found


def test_files_of_other_releases_are_set_aside() -> None:
    assert pins(problem("x"), MixedUp(10, "1.5")) == {"x": "1.5"}
    with pytest.raises(WrongRelease) as failure:
        solve(problem("x"), MixedUp(10))
    assert failure.value.where == "x-1.9-py3-none-any.whl"


def test_files_that_cannot_be_read_are_one_statement() -> None:
    """Each says something else of itself; a report has no room for thousands."""
    catalog = DataCatalog()
    for at in range(50):
        catalog.add_wheel("x", f"1.{at}", [f"y{at} >> 1"])
    newest = ", ".join(f"x-1.{at}-py3-none-any.whl" for at in (49, 48, 47, 46))
    assert told(problem("x"), catalog) == [
        "the stack asks for x @ stack.toml:5",
        f"x 1.49, 1.48, 1.47, 1.46 and 46 more releases cannot be used @ {newest}",
        "  x-1.49-py3-none-any.whl has unreadable metadata (`y49 >> 1` in its metadata is not a requirement)",
        "  x-1.48-py3-none-any.whl has unreadable metadata (`y48 >> 1` in its metadata is not a requirement)",
        "  x-1.47-py3-none-any.whl has unreadable metadata (`y47 >> 1` in its metadata is not a requirement)",
        "  x-1.46-py3-none-any.whl has unreadable metadata (`y46 >> 1` in its metadata is not a requirement)",
    ]


@pytest.mark.parametrize("asked", ["a", "a[x]", "a[x,y]", "a[x,y,z]"])
def test_an_archive_that_is_asked_for_with_extras_is_one(asked: str) -> None:
    """Three that tell nothing are enough to read no more of a project, whatever is asked of each."""
    catalog = DataCatalog()
    for version in ("4", "3"):
        catalog.add_archive("a", version, None)
    catalog.add_archive("a", "2", [])
    assert pins(problem(asked), catalog) == {"a": "2"}
    catalog.add_archive("a", "5", None)
    assert "a-2.tar.gz was not opened" in " ".join(told(problem(asked), catalog))
