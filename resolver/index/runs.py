"""Runs of the solver through the releases of a project, from newer to older ones.

It tries release after release where each conflicts with another project, and waits for the metadata
of each. Far from the index, that is most of a lock's time. So what comes next is requested ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from packaging.utils import NormalizedName

from resolver.index.parse.distribution import FileRelease, wheel_parts
from resolver.model.release import File, Page

# Releases that are waited for one by one, until it is taken for a run.
_ONE_BY_ONE: Final = 2
_MOST_AHEAD: Final = 32


class _Run:
    """A run through the releases of a page."""

    def __init__(self, position: int) -> None:
        # Where it began, and the release that was waited for last; the newest of a page is at 0.
        self.first = position
        self.last = position
        # How many were waited for.
        self.length = 1


class Runs:
    """The runs of one solver."""

    def __init__(self) -> None:
        self._runs: dict[NormalizedName, _Run] = {}

    def next_wheels(self, file: File, release: FileRelease, pages: Sequence[Page]) -> list[File]:
        """Return the wheels that will probably be read next, as the solver waits for `file`.

        They are as many as releases were passed, so that at most twice as many are read as needed.
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
            for other in page.releases[version]:
                others = wheel_parts(other.filename)
                if others is not None and others[3:] == parts[3:]:
                    wheels.append(other)
                    break
        return wheels
