"""What the references of facts cite, opened: files of repositories by git, members of archives by the indexes."""

from __future__ import annotations

from enum import Enum
from typing import Final, Protocol

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.audit.passages import Text
from resolver.errors import IndexFailure, InputError
from resolver.index.git import RepositoryUnreadable
from resolver.index.parse.distribution import ARCHIVE_ENDINGS, wheel_parts
from resolver.index.protocol import Lookup, UnusableFile
from resolver.index.repositories import NoSuchCommit, Repositories
from resolver.model import text as texts
from resolver.model.message import Message, message
from resolver.model.release import File
from resolver.model.source import (
    ArchiveMember,
    Document,
    Issue,
    Listing,
    Page,
    Passage,
    Reference,
    Repository,
    RepositoryCommit,
    RepositoryFile,
    RepositoryTag,
    Trial,
)

_HEX: Final = 12


class Unread(Enum):
    """Why a reference was not opened."""

    PAGE = "page"
    ISSUE = "issue"
    TRIAL = "trial"
    DOCUMENT = "document"
    # A repository that git cannot fetch now.
    REPOSITORY = "repository"
    # A file or a listing that no index gives now.
    INDEX = "index"


class Opened(msgspec.Struct, frozen=True):
    """What a reference cites."""

    # The text; None if the reference cites something as a whole, such as a tag.
    text: Text | None = None
    passage: Passage = Passage()
    # The project whose release it is, and its version; None if the reference does not say so.
    release: tuple[str, Version] | None = None
    # The commit or archive that the text was read from; "" if the reference cites all of one.
    origin: str = ""
    # The releases of a project that an index has.
    listed: tuple[str, tuple[Version, ...]] | None = None

    @property
    def region(self) -> range:
        """The numbers of the cited lines."""
        return range(0) if self.text is None else self.text.region(self.passage.lines)


class NotOpened(msgspec.Struct, frozen=True):
    """A reference that cannot be opened here, or not now."""

    kind: Unread
    # Why a repository or index did not answer; empty for what is never opened.
    why: str = ""


class Wrong(msgspec.Struct, frozen=True):
    """A reference to something that is not there."""

    message: Message


Outcome = Opened | NotOpened | Wrong


class Files(Protocol):
    """What is read of indexes."""

    def lookup(self, project: NormalizedName) -> Lookup:
        """Return the pages of a project. Raise IndexFailure."""

    def member(self, file: File, path: str) -> str:
        """Return a file of a source archive. Raise UnusableFile and IndexFailure."""

    def wheel_text(self, file: File, path: str) -> str | None:
        """Return a file of a wheel; None if there is none. Raise UnusableFile and IndexFailure."""


class Library:
    """Opens references, each once."""

    def __init__(self, files: Files, repositories: Repositories) -> None:
        self._files = files
        self._repositories = repositories
        self._tags: dict[tuple[str, str], str] = {}
        self._outcomes: dict[Reference, Outcome] = {}

    def open(self, reference: Reference) -> Outcome:
        """Return what a reference cites, or why that cannot be said.

        Never raises for what is elsewhere.
        """
        if reference not in self._outcomes:
            self._outcomes[reference] = self._open(reference)
        return self._outcomes[reference]

    def _open(self, reference: Reference) -> Outcome:
        match reference:
            case RepositoryFile() | RepositoryCommit() | RepositoryTag():
                return self._of_repository(reference)
            case ArchiveMember() | Listing():
                return self._of_index(reference)
            case Page():
                return NotOpened(Unread.PAGE)
            case Issue():
                return NotOpened(Unread.ISSUE)
            case Trial():
                return NotOpened(Unread.TRIAL)
            case Document():
                return NotOpened(Unread.DOCUMENT)

    # --- repositories

    def _of_repository(
        self, reference: RepositoryFile | RepositoryCommit | RepositoryTag
    ) -> Outcome:
        try:
            match reference:
                case RepositoryFile():
                    return self._file(reference)
                case RepositoryCommit():
                    self._repositories.committed(reference.repository.address, reference.commit)
                    release = _release_of_tag(reference.repository, reference.tag)
                    return self._wrong_tag(reference) or Opened(release=release)
                case RepositoryTag():
                    if self._commit_of(reference.repository, reference.tag):
                        return Opened(release=_release_of_tag(reference.repository, reference.tag))
                    return _wrong("no-tag", repository=reference.repository.page, tag=reference.tag)
        except NoSuchCommit as error:
            return _wrong("no-commit", repository=error.url, commit=error.commit)
        except RepositoryUnreadable as error:
            return NotOpened(Unread.REPOSITORY, str(error))
        except InputError as error:  # the file is too large
            return NotOpened(Unread.REPOSITORY, error.message)

    def _file(self, reference: RepositoryFile) -> Outcome:
        content = self._repositories.read(
            reference.repository.address, reference.commit, reference.path
        )
        if content is None:
            return _wrong(
                "no-file",
                file=reference.path,
                place=f"{reference.repository} @{reference.commit[:_HEX]}",
            )
        wrong = self._wrong_tag(reference)
        if wrong is not None:
            return wrong
        release = _release_of_tag(reference.repository, reference.tag)
        origin = f"{reference.repository.page}@{reference.commit}"
        return _opened(content.decode("utf-8", "replace"), reference.passage, release, origin)

    def _wrong_tag(self, reference: RepositoryFile | RepositoryCommit) -> Wrong | None:
        """Return an error if the reference names a tag and the tag is at another commit, or does not exist."""
        if not reference.tag:
            return None
        commit = self._commit_of(reference.repository, reference.tag)
        if not commit:
            return _wrong("no-tag", repository=reference.repository.page, tag=reference.tag)
        if commit != reference.commit:
            return _wrong("other-commit", tag=reference.tag, commit=commit)
        return None

    def _commit_of(self, repository: Repository, tag: str) -> str:
        """Return the commit of a tag, "" if there is none. Raise RepositoryUnreadable."""
        key = (repository.address, tag)
        if key not in self._tags:
            self._tags[key], _ = self._repositories.resolve_ref(*key)
        return self._tags[key]

    # --- indexes

    def _of_index(self, reference: ArchiveMember | Listing) -> Outcome:
        try:
            return (
                self._listing(reference)
                if isinstance(reference, Listing)
                else self._member(reference)
            )
        except IndexFailure as error:
            return NotOpened(Unread.INDEX, error.why or error.message)

    def _listing(self, reference: Listing) -> Outcome:
        lookup = self._files.lookup(texts.name(reference.project))
        pages = [page for page in lookup.pages if page.index == reference.index]
        if not pages and reference.index in lookup.unreachable:
            return NotOpened(Unread.INDEX, reference.index)
        if not pages:
            return _wrong("no-listing", index=reference.index, project=reference.project)
        found = {texts.version(version) for page in pages for version in page.releases}
        versions = tuple(sorted(version for version in found if version is not None))
        return Opened(listed=(texts.name(reference.project), versions))

    def _member(self, reference: ArchiveMember) -> Outcome:
        project, version = file_release(reference.file)
        lookup = self._files.lookup(project)
        releases = [files for page in lookup.pages for files in page.releases.values()]
        files = [
            file for release in releases for file in release if file.filename == reference.file
        ]
        if not files and lookup.unreachable:
            return NotOpened(Unread.INDEX, ", ".join(lookup.unreachable))
        if not files:
            return _wrong("not-offered", file=reference.file)
        fitting = [file for file in files if reference.sha256 in ("", file.sha256)]
        if not fitting:
            return _wrong("other-hash", file=reference.file, offered=files[0].sha256)
        try:
            content = self._content(fitting[0], reference.member)
        except UnusableFile as error:
            return NotOpened(Unread.INDEX, str(error))
        if content is None:
            return _wrong("no-file", file=reference.member, place=reference.file)
        release = None if version is None else (project, version)
        return _opened(content, reference.passage, release, reference.file)

    def _content(self, file: File, member: str) -> str | None:
        """Return a member of a wheel or archive, None if there is none.

        Raise UnusableFile and IndexFailure.
        """
        if file.is_wheel:
            return self._files.wheel_text(file, member)
        try:
            return self._files.member(file, member)
        except UnusableFile as error:
            if f"has no file {member}" in str(error):
                return None
            raise


def _opened(
    content: str, passage: Passage, release: tuple[str, Version] | None, origin: str
) -> Outcome:
    text = Text(content)
    if passage.lines is not None and passage.lines.last > len(text):
        return _wrong("no-line", line=passage.lines.last, count=len(text))
    return Opened(text=text, passage=passage, release=release, origin=origin)


def _wrong(code: str, **values: object) -> Wrong:
    return Wrong(message(f"sources.{code}", **values))


def file_release(filename: str) -> tuple[NormalizedName, Version | None]:
    """Return the project and the version in the name of a wheel or archive; no version if it names none."""
    parts = wheel_parts(filename)
    if parts is not None:
        return texts.name(parts.distribution), texts.version(parts.version)
    for ending in ARCHIVE_ENDINGS:
        filename = filename.removesuffix(ending)
    name, _, version = filename.rpartition("-")
    return texts.name(name), texts.version(version)


def _release_of_tag(repository: Repository, tag: str) -> tuple[str, Version] | None:
    """Return the release that a tag such as v1.2 marks; the project is called like its repository."""
    version = texts.version(tag) if tag else None
    return None if version is None else (texts.name(repository.name.partition("/")[2]), version)
