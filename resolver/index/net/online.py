"""The part of `live.LiveCatalog` that runs on the event loop: look-ups, and the look-ahead.

The look-ahead requests what the solver will probably need next (`protocol.LookAhead`, `runs`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Iterable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.errors import Unreachable
from resolver.index.bindings import FAIL, BoundIndexes
from resolver.index.net.client import QUICK_RETRY
from resolver.index.net.connection import Connection
from resolver.index.parse.distribution import FileRelease
from resolver.index.protocol import UNREACHABLE, LookAhead, Lookup
from resolver.index.runs import Runs
from resolver.index.store.page_cache import IndexAnswer
from resolver.model.message import Message, message
from resolver.model.problem import PYPI
from resolver.model.release import CoreMetadata, File
from resolver.phrase import phrase

# Wheels whose metadata one call of `prefetch_metadata` requests. A hundred thousand tasks would
# take much memory and time.
_MOST_AHEAD: Final = 1000


class _Request(NamedTuple):
    """A request of the look-ahead, which is made only once."""

    project: NormalizedName
    # Empty for an entry that says that the project was requested with any specifier.
    specifier: str
    # The target of the solver.
    target: Hashable


class OnlineCatalog:
    """The online part of one catalog. All methods must be called on the thread's event loop."""

    def __init__(
        self,
        indexes: BoundIndexes,
        connection: Connection,
        warn_of: Callable[[Message, str], None],
        release_of: Callable[[File], FileRelease],
    ) -> None:
        """Use a connection.

        `warn_of` is called with a warning, and with the index and the address that it is about.
        `release_of` returns the release of a file.
        """
        self.thread = connection.thread
        self.files = connection.files
        self._pages = connection.pages
        self._look_ahead_slots = connection.look_ahead_slots
        self._indexes = indexes
        self._warn_of = warn_of
        self._release_of = release_of
        # The failures of indexes that may be skipped, by the name of the index.
        self._unreachable: dict[str, Unreachable] = {}
        self._runs = Runs()
        self._requested_ahead: set[_Request] = set()
        self._archives_ahead: set[NormalizedName] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Cancel the look-ahead. The connection stays open."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # Look-ups

    async def lookup(self, project: NormalizedName) -> Lookup:
        """Return the pages of a project on the indexes to which it is bound.

        Raises IndexFailure if an index fails that may not be skipped, and InputError if the address
        of an index is invalid.
        """
        answers = self._indexes.answers(project)
        for index in answers.indexes_to_ask():
            try:
                answer = await self._ask(index, project, answers.if_unreachable)
            except Unreachable as failure:
                answers.add_failure(index, failure)
            else:
                answers.add(index, answer)
        return answers.lookup()

    async def fingerprints(self, projects: Sequence[NormalizedName]) -> list[str]:
        """Return the fingerprint of each project's look-up, in their order, requested concurrently.

        The fingerprint is UNREACHABLE if the look-up fails because an index cannot be reached.
        Raises IndexFailure for other failures.
        """

        async def fingerprint(project: NormalizedName) -> str:
            try:
                lookup = await self.lookup(project)
            except Unreachable:
                return UNREACHABLE
            return lookup.fingerprint

        return await asyncio.gather(*map(fingerprint, projects))

    async def _ask(self, index: str, project: NormalizedName, if_unreachable: str) -> IndexAnswer:
        """Return the answer of an index, or of its first mirror that can be reached.

        Raises Unreachable if none of them can be reached. If `if_unreachable` says that the index
        may be skipped, a warning is given the first time.
        """
        is_required = if_unreachable == FAIL
        if not is_required and index in self._unreachable:
            raise self._unreachable[index]
        roots = self._indexes.roots(index)
        for root in roots:
            # An address gets fewer tries if there is another address, index or recorded wheel.
            is_last_resort = is_required and root == roots[-1]
            patience = None if is_last_resort else QUICK_RETRY
            try:
                return await self._pages.answer(root, index, project, patience)
            except Unreachable as error:
                failure = error
        hint = failure.phrases["hint"]
        if is_required and index != PYPI:
            hint = phrase(
                "{hint}; an address that serves the same files can be added to `mirrors` of "
                "[[index]] `{index}`",
                hint=hint,
                index=index,
            )
        failure = Unreachable(
            phrase("Index `{index}` cannot be reached.", index=index),
            where=failure.where,
            why=failure.phrases["why"],
            hint=hint,
        )
        # Another task may have warned meanwhile.
        if not is_required and index not in self._unreachable:
            self._unreachable[index] = failure
            code = f"index.unreachable-{if_unreachable}"
            why = failure.phrases["why"]
            self._warn_of(message(code, index=index, why=why), f"{index} {failure.where}")
        raise failure

    # Looking ahead

    def prefetch_metadata(self, files: Sequence[tuple[File, FileRelease]]) -> None:
        """Start to read the metadata of these wheels, without waiting.

        Failures are not reported here. They are raised when the metadata is needed.
        """
        for file, release in files[:_MOST_AHEAD]:
            self._start(self._read_ahead(file, release))

    def run_ahead(self, file: File, release: FileRelease) -> None:
        """Start to read the wheels that the solver will need after `file`, without waiting.

        The solver now waits for the metadata of `file` (see `runs`).
        """
        self._start(self._run_ahead(file, release))

    async def _run_ahead(self, file: File, release: FileRelease) -> None:
        """Do the work of `run_ahead`."""
        with suppress(Exception):  # a failure is raised again when the file is needed
            # The solver has requested this page before.
            lookup = await self.lookup(release.project)
            wheels = self._runs.next_wheels(file, release, lookup.pages)
            self.prefetch_metadata([(wheel, self._release_of(wheel)) for wheel in wheels])

    async def _read_ahead(self, file: File, release: FileRelease) -> None:
        """Read the metadata of a wheel into the cache."""
        with suppress(Exception):  # a failure is raised again when the metadata is needed
            async with self._look_ahead_slots.of(file.url):
                await self.files.metadata(file, release)

    def prefetch(
        self, requests: Iterable[tuple[NormalizedName, SpecifierSet]], look_ahead: LookAhead | None
    ) -> None:
        """Start to look up projects, and with `look_ahead` to read what they need, without waiting.

        `requests` are projects with specifiers. Each pair is requested only once. The same project
        is requested again with another specifier, since that may lead to another release.
        """
        target = None if look_ahead is None else look_ahead.target
        for project, specifier in requests:
            request = _Request(project, str(specifier), target)
            if request not in self._requested_ahead:
                self._requested_ahead.add(request)
                self._requested_ahead.add(_Request(project, "", target))
                self._start(self._look_ahead(project, specifier, look_ahead))

    def _start(self, work: Coroutine[None, None, None]) -> None:
        """Start a coroutine as a task that `close` cancels."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)  # the event loop has only a weak reference to it
        task.add_done_callback(self._tasks.discard)

    async def _look_ahead(
        self, project: NormalizedName, specifier: SpecifierSet, look_ahead: LookAhead | None
    ) -> None:
        """Look up a project, and read the metadata of the file that the solver will likely need.

        Then start to do the same for the projects that this metadata requires. Failures are not
        reported here. They are raised when the answer is needed.
        """
        with suppress(Exception):
            lookup = await self.lookup(project)
            if look_ahead is None:
                return
            file = look_ahead.likely_file(project, lookup, specifier)
            if file is None:
                return
            metadata = await self._likely_metadata(project, file)
            if metadata is None:
                return
            for name, narrower in look_ahead.next_requirements(project, metadata):
                # A project is requested this way only if it was not requested before.
                if _Request(name, "", look_ahead.target) not in self._requested_ahead:
                    self.prefetch([(name, narrower)], look_ahead)

    async def _likely_metadata(self, project: NormalizedName, file: File) -> CoreMetadata | None:
        """Return the metadata of the file that the solver will likely need; None if it is not read.

        It is not read of a recorded wheel, and of a second source archive of a project.
        """
        if not file.url:  # a recorded wheel
            return None
        async with self._look_ahead_slots.of(file.url):
            release = self._release_of(file)
            if file.is_wheel:
                return await self.files.metadata(file, release)
            # An archive has tens of megabytes, so only one for each project is downloaded ahead.
            if project in self._archives_ahead:
                return None
            self._archives_ahead.add(project)
            archive = await self.files.archive(file, release)
            return archive.metadata
