"""Open what the references of facts cite, for `source_checks`.

Git fetches files of repositories. The indexes give listings and members of archives. Web pages,
issues, trials and printed documents are not opened.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal, Protocol

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver import address
from resolver.audit.passages import Text
from resolver.errors import IndexFailure, InputError
from resolver.index.git import NO_REPOSITORY, RepositoryUnreadable, run_git
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
from resolver.phrase import Phrase, cause, literal

# How many digits of a commit's hash a message shows.
_SHORT_COMMIT: Final = 12


class Unread(Enum):
    """Why a reference was not opened. The first four kinds are never opened."""

    PAGE = "page"
    ISSUE = "issue"
    TRIAL = "trial"
    DOCUMENT = "document"
    # Git cannot fetch the repository now, or fetches from a mirror that does not have the commit or
    # tag.
    REPOSITORY = "repository"
    # No index gives the file or listing now.
    INDEX = "index"


# The name of a project, and some of its versions.
_Releases = tuple[str, tuple[Version, ...]]


class Opened(msgspec.Struct, frozen=True):
    """The content that a reference cites."""

    # The text of the file; None if the reference cites no file, such as a tag or a listing.
    text: Text | None = None
    # The lines and quotes of the text that the reference cites.
    passage: Passage = Passage()
    # The release that the cited file belongs to, or the releases on a cited listing; None if the
    # reference names none.
    releases: _Releases | None = None
    # The commit or archive that the text was read from; "" if the reference cites no file of it.
    origin: str = ""

    @property
    def region(self) -> range:
        """Return the numbers of the cited lines, from 1; of all lines if none are cited."""
        if self.text is None:
            return range(0)
        return self.text.region(self.passage.lines)


class NotOpened(msgspec.Struct, frozen=True):
    """A reference that cannot be opened here, or not now."""

    # The kind of reason.
    kind: Unread
    # Why a repository or an index did not give it; None for a kind that is never opened.
    why: Message | None = None


class Wrong(msgspec.Struct, frozen=True):
    """A reference to something that does not exist."""

    # What does not exist.
    message: Message


# What opening a reference gives.
Outcome = Opened | NotOpened | Wrong


class Files(Protocol):
    """What `Library` asks the indexes for."""

    def lookup(self, project: NormalizedName) -> Lookup:
        """Return the pages of a project. Raises IndexFailure."""

    def member(self, file: File, path: str) -> str:
        """Return the text of a file in a source archive. Raises UnusableFile and IndexFailure."""

    def wheel_text(self, file: File, path: str) -> str | None:
        """Return the text of a file in a wheel; None if there is none.

        Raises UnusableFile and IndexFailure.
        """


class Library:
    """Opens references. Each is opened once."""

    def __init__(self, files: Files, repositories: Repositories) -> None:
        self._files = files
        self._repositories = repositories
        self._tags: dict[tuple[str, str], str] = {}
        self._outcomes: dict[Reference, Outcome] = {}

    def open(self, reference: Reference) -> Outcome:
        """Return the content that a reference cites, or why it cannot be given.

        An index or repository that fails is a result, never an error.
        """
        if reference not in self._outcomes:
            self._outcomes[reference] = self._open(reference)
        return self._outcomes[reference]

    def _open(self, reference: Reference) -> Outcome:
        """Open a reference that was not opened before."""
        match reference:
            case RepositoryFile() | RepositoryCommit() | RepositoryTag():
                return self._open_from_git(reference)
            case ArchiveMember() | Listing():
                return self._open_from_index(reference)
            case Page():
                return NotOpened(Unread.PAGE)
            case Issue():
                return NotOpened(Unread.ISSUE)
            case Trial():
                return NotOpened(Unread.TRIAL)
            case Document():
                return NotOpened(Unread.DOCUMENT)

    # --- repositories

    def _open_from_git(
        self, reference: RepositoryFile | RepositoryCommit | RepositoryTag
    ) -> Outcome:
        """Open a reference to a repository. A failure is a result."""
        try:
            return self._open_in_repository(reference)
        except RepositoryUnreadable as error:
            return _unreadable(Unread.REPOSITORY, cause(error))
        except InputError as error:
            # The file is larger than is read.
            return _unreadable(Unread.REPOSITORY, error.phrases["message"])

    def _open_in_repository(
        self, reference: RepositoryFile | RepositoryCommit | RepositoryTag
    ) -> Outcome:
        """Open a reference to a repository. Raises RepositoryUnreadable and InputError."""
        repository = reference.repository
        try:
            match reference:
                case RepositoryFile():
                    return self._file(reference)
                case RepositoryCommit():
                    self._repositories.committed(repository.address, reference.commit)
                    problem = self._problem_of_tag(reference)
                    if problem is not None:
                        return problem
                    return Opened(releases=_release_of_tag(repository, reference.tag))
                case RepositoryTag():
                    if not self._commit_of(repository, reference.tag):
                        return _absent(repository, "tag", reference.tag)
                    return Opened(releases=_release_of_tag(repository, reference.tag))
        except NoSuchCommit as error:
            return _absent(repository, "commit", error.commit)

    def _file(self, reference: RepositoryFile) -> Outcome:
        """Open a reference to a file of a repository.

        Raises RepositoryUnreadable and InputError.
        """
        repository, commit = reference.repository, reference.commit
        content = self._repositories.read(repository.address, commit, reference.path)
        if content is None:
            place = f"{repository} @{commit[:_SHORT_COMMIT]}"
            return _wrong("no-file", file=reference.path, place=place)
        problem = self._problem_of_tag(reference)
        if problem is not None:
            return problem
        return _opened(
            content.decode("utf-8", "replace"),
            reference.passage,
            releases=_release_of_tag(repository, reference.tag),
            origin=f"{repository.page}@{commit}",
        )

    def _problem_of_tag(self, reference: RepositoryFile | RepositoryCommit) -> Outcome | None:
        """Return an outcome if the tag of a reference does not exist or is at another commit.

        None if the tag is right, or the reference names none. Raises RepositoryUnreadable.
        """
        if not reference.tag:
            return None
        commit = self._commit_of(reference.repository, reference.tag)
        if not commit:
            return _absent(reference.repository, "tag", reference.tag)
        if commit != reference.commit:
            return _wrong("other-commit", tag=reference.tag, commit=commit)
        return None

    def _commit_of(self, repository: Repository, tag: str) -> str:
        """Return the commit of a tag; "" if there is no such tag. Raises RepositoryUnreadable."""
        key = (repository.address, tag)
        if key not in self._tags:
            commit, _ = self._repositories.resolve_ref(repository.address, tag)
            self._tags[key] = commit
        return self._tags[key]

    # --- indexes

    def _open_from_index(self, reference: ArchiveMember | Listing) -> Outcome:
        """Open a reference to an archive or a listing on an index. A failure is a result."""
        try:
            if isinstance(reference, Listing):
                return self._listing(reference)
            return self._member(reference)
        except IndexFailure as error:
            return _unreadable(Unread.INDEX, error.phrases["why"] or error.phrases["message"])

    def _listing(self, reference: Listing) -> Outcome:
        """Open a reference to the page of a project on an index. Raises IndexFailure."""
        project = texts.name(reference.project)
        lookup = self._files.lookup(project)
        pages = [page for page in lookup.pages if page.index == reference.index]
        if not pages:
            if reference.index in lookup.unreachable:
                return _unreadable(Unread.INDEX, literal(reference.index))
            return _wrong("no-listing", index=reference.index, project=reference.project)
        versions = set()
        for page in pages:
            for spelled in page.releases:
                version = texts.version(spelled)
                if version is not None:
                    versions.add(version)
        return Opened(releases=(project, tuple(sorted(versions))))

    def _member(self, reference: ArchiveMember) -> Outcome:
        """Open a reference to a file in a wheel or archive. Raises IndexFailure."""
        project, version = _release_of_file(reference.file)
        lookup = self._files.lookup(project)
        files = _files_named(reference.file, lookup)
        if not files:
            if lookup.unreachable:
                return _unreadable(Unread.INDEX, literal(", ".join(lookup.unreachable)))
            return _wrong("not-offered", file=reference.file)
        matching = [file for file in files if reference.sha256 in ("", file.sha256)]
        if not matching:
            return _wrong("other-hash", file=reference.file, offered=files[0].sha256)
        try:
            content = self._content(matching[0], reference.member)
        except UnusableFile as error:
            return _unreadable(Unread.INDEX, cause(error))
        if content is None:
            return _wrong("no-file", file=reference.member, place=reference.file)
        releases = None if version is None else (project, (version,))
        return _opened(content, reference.passage, releases=releases, origin=reference.file)

    def _content(self, file: File, member: str) -> str | None:
        """Return the text of a file in a wheel or archive; None if there is none.

        Raises UnusableFile and IndexFailure.
        """
        if file.is_wheel:
            return self._files.wheel_text(file, member)
        try:
            return self._files.member(file, member)
        except UnusableFile as error:
            if f"has no file {member}" in str(error):
                return None
            raise


def _files_named(filename: str, lookup: Lookup) -> list[File]:
    """Return the files with this name on all pages."""
    found = []
    for page in lookup.pages:
        for files in page.releases.values():
            found += [file for file in files if file.filename == filename]
    return found


def _opened(content: str, passage: Passage, *, releases: _Releases | None, origin: str) -> Outcome:
    """Return a text with the cited lines, or Wrong if it has fewer lines than are cited."""
    text = Text(content)
    lines = passage.lines
    if lines is not None and lines.last > len(text):
        return _wrong("no-line", line=lines.last, count=len(text))
    return Opened(text=text, passage=passage, releases=releases, origin=origin)


def _unreadable(kind: Unread, why: Phrase) -> NotOpened:
    """Return the outcome for a reference that could not be opened now."""
    return NotOpened(kind, message("sources.unreadable", why=why))


def _absent(repository: Repository, kind: Literal["commit", "tag"], name: str) -> Outcome:
    """Return the outcome for a commit or tag that does not exist in the repository.

    If git was led to a mirror, the commit or tag counts as not opened: a mirror may be older or
    less complete than the repository that is cited.
    """
    values = {"repository": repository.page, kind: name}
    if _is_mirrored(repository):
        why = message(f"sources.mirror-lacks-{kind}", **values)
        return NotOpened(Unread.REPOSITORY, why)
    return _wrong(f"no-{kind}", **values)


def _is_mirrored(repository: Repository) -> bool:
    """Return whether git's settings (`url.….insteadOf`) lead to another repository.

    Another protocol or other credentials for the same repository do not count. Raise
    RepositoryUnreadable.
    """
    output = run_git(NO_REPOSITORY, "ls-remote", "--get-url", "--", repository.address)
    return _place(output.decode().strip()) != _place(repository.address)


def _place(url: str) -> tuple[str, str]:
    """Return the host and the path of a repository's address, also of the form `user@host:path`."""
    if "://" in url:
        try:
            parts = address.split(url)
        except address.AddressError:
            return "", url
        host, path = parts.host, parts.path
    else:
        login, _, path = url.partition(":")
        host = login.rpartition("@")[2]
    return host, path.strip("/").removesuffix(".git")


def _wrong(code: str, **values: object) -> Wrong:
    """Return the outcome with the message that has this code after `sources.`."""
    return Wrong(message(f"sources.{code}", **values))


def _release_of_file(filename: str) -> tuple[NormalizedName, Version | None]:
    """Return the project and the version in the file name of a wheel or archive.

    The version is None if the name has no valid one.
    """
    parts = wheel_parts(filename)
    if parts is not None:
        return texts.name(parts.distribution), texts.version(parts.version)
    for ending in ARCHIVE_ENDINGS:
        filename = filename.removesuffix(ending)
    name, _, version = filename.rpartition("-")
    return texts.name(name), texts.version(version)


def _release_of_tag(repository: Repository, tag: str) -> _Releases | None:
    """Return the project and the version that a tag such as v1.2 marks; None for other tags.

    The project is assumed to be named like its repository.
    """
    version = texts.version(tag)
    if version is None:
        return None
    _, _, name = repository.name.partition("/")
    return texts.name(name), (version,)
