"""Predict which releases a solver will need next while it backtracks through a project.

If each release of a project conflicts with another project, the solver tries one after the other,
from newer to older ones, and waits for the metadata of each: this is called a run. If the index is
far away, the waiting is most of the time of a lock. So the next wheels of a run are requested
before the solver asks for them. `net.online` calls this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from packaging.utils import NormalizedName

from resolver.index.parse.distribution import FileRelease, wheel_parts
from resolver.model.release import File, Page

# The first releases of a run, for which nothing is requested ahead: it may not be a run at all.
_ONE_BY_ONE: Final = 2
# The releases that are requested ahead at a time, at most.
_MOST_AHEAD: Final = 32


class _Run:
    """A run through the releases of a page, whose newest release has the position 0."""

    def __init__(self, position: int) -> None:
        # The positions of the first release, and of the last one that the solver waited for.
        self.first = position
        self.last = position
        # The number of releases that the solver waited for.
        self.length = 1


class Runs:
    """The runs of one solver, one for each project."""

    def __init__(self) -> None:
        self._runs: dict[NormalizedName, _Run] = {}

    def next_wheels(self, file: File, release: FileRelease, pages: Sequence[Page]) -> list[File]:
        """Return the wheels whose metadata the solver will probably need after `file`.

        The solver now waits for `file`, which belongs to `release`; `pages` are the pages of the
        project. As many wheels are returned as releases were passed in this run. So at most twice
        as many are read as needed.
        """
        parts = wheel_parts(file.filename)
        page = next((page for page in pages if release.version in page.releases), None)
        if parts is None or page is None:
            return []
        versions = list(page.releases)
        position = versions.index(release.version)
        run = self._runs.get(release.project)
        if run is None or position <= run.last:
            self._runs[release.project] = _Run(position)
            return []
        run.last = position
        run.length += 1
        if run.length <= _ONE_BY_ONE:
            return []
        count = min(position - run.first + 1, _MOST_AHEAD)
        wheels = []
        for version in islice(versions, position + 1, position + 1 + count):
            for wheel in page.releases[version]:
                parts_of_wheel = wheel_parts(wheel.filename)
                # The same tags and label as those of `file`.
                if parts_of_wheel is not None and parts_of_wheel[3:] == parts[3:]:
                    wheels.append(wheel)
                    break
        return wheels
