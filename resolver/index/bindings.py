"""Tell which indexes to ask for a project, and merge their answers into a `Lookup`.

The stack binds each project to one or more indexes. Nothing is requested here: the catalog asks
the indexes that `Answers.indexes_to_ask` names, in the cache or over the network, and adds each
answer or failure.
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

# Values of `Answers.if_unreachable` besides "next". With FAIL, a look-up fails if one of the
# project's indexes cannot be reached.
FAIL: Final = "fail"
# The recorded wheels are used if the only index of the project cannot be reached.
RECORDED: Final = "recorded"


class NotCached(IndexFailure):
    """The cache has no answer of an index about a project, and the run is offline."""


class BoundIndexes:
    """The indexes of a problem for one platform, and the wheels that are recorded for them.

    A recorded wheel is described in a file of the project or the stack (`model.problem.Recorded`).
    It is used if its index cannot be reached.
    """

    def __init__(
        self,
        indexes: Indexes,
        platform: str,
        pypi_url: Callable[[], str],
        recorded: Sequence[Recorded] = (),
    ) -> None:
        """Bind projects as `indexes` says on this platform.

        `pypi_url` returns the address of an index that is defined without one.
        """
        self._indexes = indexes
        self._platform = platform
        self._pypi_url = pypi_url
        self._roots: dict[str, tuple[Root, ...]] = {}
        self._recorded: dict[NormalizedName, list[Recorded]] = {}
        for wheel in recorded:
            self._recorded.setdefault(wheel.project, []).append(wheel)

    def roots(self, index: str) -> tuple[Root, ...]:
        """Return the address of an index, then the addresses of its mirrors.

        Raises InputError if there is no such index, or if an address is invalid.
        """
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
        """Return an empty collection for the answers of the indexes to which a project is bound."""
        binding = self._indexes.binding(project, self._platform)
        return Answers(project, binding, self._recorded.get(project, ()))

    def recorded_metadata(self, file: File) -> CoreMetadata | None:
        """Return the metadata of a recorded wheel; None for any other file."""
        is_from_index = bool(file.url)
        if is_from_index or not self._recorded:
            return None
        project = parse_wheel_filename(file.filename)[0]
        for wheel in self._recorded.get(project, ()):
            if wheel.filename == file.filename and wheel.sha256 == file.sha256:
                return wheel.metadata
        return None


class Answers:
    """Collects the answers of the indexes to which a project is bound.

    The answer or the failure of an index must be added before the next index is asked.
    """

    def __init__(
        self, project: NormalizedName, binding: Binding, recorded: Sequence[Recorded]
    ) -> None:
        """Collect answers about a project; `recorded` are the recorded wheels of the project."""
        self._project = project
        self._binding = binding
        self._recorded = recorded
        self._answers: dict[str, IndexAnswer] = {}
        self._failures: dict[str, IndexFailure] = {}

    @property
    def if_unreachable(self) -> str:
        """Return what happens if an index cannot be reached.

        "fail" raises its failure, "next" goes on with the next index, and "recorded" uses the
        recorded wheels.
        """
        if self._binding.unreachable != FAIL:
            return self._binding.unreachable
        for wheel in self._recorded:
            if self._binding.indexes == (wheel.index,):
                return RECORDED
        return FAIL

    def indexes_to_ask(self) -> Iterator[str]:
        """Yield the names of the indexes to ask, in the order of the binding.

        With "first" the iteration ends after an index that has the project.
        """
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
        """Add the failure of an index that cannot be reached.

        Raises the failure if `if_unreachable` is "fail".
        """
        if self.if_unreachable == FAIL:
            raise failure
        self._failures[index] = failure

    def lookup(self) -> Lookup:
        """Return the pages of all answers as one look-up.

        The recorded wheels of an index that could not be reached make a page of that index; with
        "first" only if no other index has the project. Raises the failure of the first index if no
        index answered and no wheels are recorded.
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
        """Return a text that is equal for two look-ups only if their answers are equal."""
        lines = [f"{index} {answer.key}" for index, answer in self._answers.items()]
        lines += [f"{index} {UNREACHABLE}" for index in self._failures]
        return "\n".join(lines)

    def _has_recorded_wheels(self) -> bool:
        """Return whether there are recorded wheels of an index that could not be reached."""
        return any(wheel.index in self._failures for wheel in self._recorded)

    def _recorded_page(self, index: str) -> Page:
        """Return a page with the recorded wheels of an index that have a sha256."""
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
