"""The indexes to which projects are bound, and how their answers make a look-up.

Nothing is requested here: a catalog asks the indexes, from the cache or over the network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from packaging.utils import NormalizedName, parse_wheel_filename

from resolver.errors import IndexFailure, InputError
from resolver.index.parse.address import Root, read_root
from resolver.index.protocol import UNREACHABLE, Lookup
from resolver.index.store.page_cache import IndexAnswer
from resolver.model.problem import Binding, Indexes, Recorded
from resolver.model.release import CoreMetadata, File, Page
from resolver.phrase import phrase

# What happens if an index of a project cannot be reached.
FAIL: Final = "fail"
# Recorded wheels stand in for the only index of the project.
RECORDED: Final = "recorded"


class NotCached(IndexFailure):
    """An index was never asked for a project, and cannot be asked offline."""


class BoundIndexes:
    """The indexes of a problem for one platform, and the wheels recorded for them.

    Recorded wheels stand in for an index that cannot be reached.
    """

    def __init__(
        self,
        indexes: Indexes,
        platform: str,
        pypi_url: Callable[[], str],
        recorded: Sequence[Recorded] = (),
    ) -> None:
        """Bind projects as `indexes` says; `pypi_url` is for an index without an address."""
        self._indexes = indexes
        self._platform = platform
        self._pypi_url = pypi_url
        self._roots: dict[str, tuple[Root, ...]] = {}
        self._recorded: dict[NormalizedName, list[Recorded]] = {}
        for wheel in recorded:
            self._recorded.setdefault(wheel.project, []).append(wheel)

    def roots(self, index: str) -> tuple[Root, ...]:
        """Return the addresses of an index, its mirrors last. Raises InputError."""
        if index not in self._roots:
            definition = self._indexes.indexes.get(index)
            if definition is None:
                raise InputError(
                    phrase(
                        "A binding names the index `{index}`, which is not defined.", index=index
                    ),
                    hint=phrase(
                        "define it as an [[index]] of the stack or of matrices/indexes.toml"
                    ),
                )
            urls = (definition.url or self._pypi_url(), *definition.mirrors)
            self._roots[index] = tuple(read_root(url, index) for url in urls)
        return self._roots[index]

    def answers(self, project: NormalizedName) -> Answers:
        """Return where to collect what the indexes bound to a project answer."""
        binding = self._indexes.binding(project, self._platform)
        return Answers(project, binding, self._recorded.get(project, ()))

    def recorded_metadata(self, file: File) -> CoreMetadata | None:
        """Return the recorded metadata of a file; None for a file from an index."""
        is_from_index = bool(file.url)
        if is_from_index or not self._recorded:
            return None
        project = parse_wheel_filename(file.filename)[0]
        for wheel in self._recorded.get(project, ()):
            if wheel.filename == file.filename and wheel.sha256 == file.sha256:
                return wheel.metadata
        return None


class Answers:
    """What the indexes bound to a project answer, each added before the next one is asked."""

    def __init__(
        self, project: NormalizedName, binding: Binding, recorded: Sequence[Recorded]
    ) -> None:
        self._project = project
        self._binding = binding
        self._recorded = recorded
        self._answers: dict[str, IndexAnswer] = {}
        self._failures: dict[str, IndexFailure] = {}

    @property
    def if_unreachable(self) -> str:
        """Return what happens if an index cannot be reached: "fail", "next" or "recorded"."""
        if self._binding.unreachable != FAIL:
            return self._binding.unreachable
        for wheel in self._recorded:
            if self._binding.indexes == (wheel.index,):
                return RECORDED
        return FAIL

    def indexes_to_ask(self) -> Iterator[str]:
        """Yield the names of the indexes in the order of the binding, until no more is needed."""
        for index in self._binding.indexes:
            yield index
            answer = self._answers.get(index)
            has_page = answer is not None and answer.page is not None
            if has_page and self._binding.take == "first":
                return

    def add(self, index: str, answer: IndexAnswer) -> None:
        """Add the answer of an index."""
        self._answers[index] = answer

    def add_failure(self, index: str, failure: IndexFailure) -> None:
        """Add that an index cannot be reached; raise the failure if the binding says so."""
        if self.if_unreachable == FAIL:
            raise failure
        self._failures[index] = failure

    def lookup(self) -> Lookup:
        """Return what the answers make together.

        Recorded wheels count for each index that could not be reached; with "first" only if no
        other index has the project. Raises the failure of the first index if none answered and
        nothing is recorded.
        """
        takes_first = self._binding.take == "first"
        pages: dict[str, Page] = {}
        for index, answer in self._answers.items():
            if answer.page is not None:
                pages[index] = answer.page
        if not pages or not takes_first:
            for index in self._failures:
                recorded_page = self._recorded_page(index)
                if recorded_page.releases:
                    pages[index] = recorded_page
        if not self._answers and not self._has_recorded_wheels():
            # The first index is the one that most stacks need.
            raise next(iter(self._failures.values()))
        ordered = [pages[index] for index in self._binding.indexes if index in pages]
        if takes_first:
            ordered = ordered[:1]
        return Lookup(tuple(ordered), tuple(self._failures), self._fingerprint())

    def _fingerprint(self) -> str:
        """Return a text that is equal only for equal pages and equal unreachable indexes."""
        lines = [f"{index} {answer.key}" for index, answer in self._answers.items()]
        lines += [f"{index} {UNREACHABLE}" for index in self._failures]
        return "\n".join(lines)

    def _has_recorded_wheels(self) -> bool:
        """Return whether wheels of an index that cannot be reached are recorded."""
        return any(wheel.index in self._failures for wheel in self._recorded)

    def _recorded_page(self, index: str) -> Page:
        """Return a page of the recorded wheels of an index whose sha256 is known."""
        releases: dict[str, tuple[File, ...]] = {}
        for wheel in self._recorded:
            if wheel.index == index and wheel.sha256:
                file = File(
                    filename=wheel.filename,
                    sha256=wheel.sha256,
                    requires_python=wheel.requires_python,
                )
                releases[wheel.version] = (*releases.get(wheel.version, ()), file)
        return Page(project=self._project, index=index, releases=releases)
