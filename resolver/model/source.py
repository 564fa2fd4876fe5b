"""References: places where people can look up a fact. There is a type for each form of reference.

`str` returns a reference in the form of a TOML file, and `config/source_text` reads this form.
"""

from __future__ import annotations

from datetime import date
from typing import Final
from urllib.parse import quote

import msgspec

# The forge whose name is left out in the text of a reference.
GITHUB: Final = "github.com"
# The number of digits of a commit in a text for people, beside a link with all digits.
_SHORT_COMMIT: Final = 12
# The endings of files that a forge renders, without line numbers, unless the address asks for the
# plain text.
_DOCUMENTS: Final = (".md", ".rst", ".markdown", ".ipynb")


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    """The base of types whose fields are given by name."""


class Lines(msgspec.Struct, frozen=True):
    """Lines of a file, counted from 1."""

    # The first line.
    first: int
    # The last line; the first one again if there is only one.
    last: int

    def __str__(self) -> str:
        return f"#L{self.first}" if self.first == self.last else f"#L{self.first}-L{self.last}"


class Quote(msgspec.Struct, frozen=True):
    """A text that the cited lines contain, or do not contain."""

    # The text, on one line.
    text: str
    # True if the lines are cited because they do not contain the text.
    is_absent: bool = False

    def __str__(self) -> str:
        return f"without `{self.text}`" if self.is_absent else f"`{self.text}`"


class Passage(_Row, frozen=True):
    """The part of a file that is cited."""

    # The lines; None for the whole file.
    lines: Lines | None = None
    # The texts that these lines contain, or do not contain.
    quotes: tuple[Quote, ...] = ()

    def __str__(self) -> str:
        lines = "" if self.lines is None else f" {self.lines}"
        quotes = "".join(f" {quote}" for quote in self.quotes)
        return lines + quotes


class Repository(msgspec.Struct, frozen=True):
    """A repository on a forge, which is a web site with git repositories."""

    # The host of the forge, such as github.com.
    host: str
    # Owner and name, as the forge spells them.
    name: str

    @property
    def page(self) -> str:
        """Return the address of the repository's web page."""
        return f"https://{self.host}/{self.name}"

    @property
    def address(self) -> str:
        """Return the address from which git fetches the repository."""
        return f"{self.page}.git"

    def __str__(self) -> str:
        return self.name if self.host == GITHUB else f"{self.host}/{self.name}"


class _AtCommit(_Row, frozen=True):
    """The base of the references to a commit."""

    repository: Repository
    # The full hash of the commit.
    commit: str
    # A tag of that commit, which names the release; empty if the reference has no tag.
    tag: str = ""

    @property
    def brief(self) -> str:
        """Return the text of the reference with a commit of 12 digits."""
        return self._text(self.commit[:_SHORT_COMMIT])

    def _text(self, commit: str) -> str:
        """Return the text of the reference with these digits of the commit."""
        tag = f" ({self.tag})" if self.tag else ""
        return f"{self.repository} @{commit}{tag}"

    def __str__(self) -> str:
        return self._text(self.commit)


class RepositoryFile(_AtCommit, frozen=True, kw_only=True):
    """A file of a repository at a commit: `OWNER/REPO PATH @COMMIT (TAG) #L12`."""

    # The path from the top of the repository.
    path: str
    # The lines and texts that are cited.
    passage: Passage = Passage()

    @property
    def link(self) -> str:
        """Return the address of the file, at the cited lines, on the forge."""
        address = f"{self.repository.page}/blob/{self.commit}/{quote(self.path)}"
        if self.passage.lines is None:
            return address
        is_document = self.path.lower().endswith(_DOCUMENTS)
        if is_document and self.repository.host == GITHUB:
            address += "?plain=1"
        return f"{address}{self.passage.lines}"

    def _text(self, commit: str) -> str:
        """Return the text of the reference with these digits of the commit."""
        tag = f" ({self.tag})" if self.tag else ""
        return f"{self.repository} {self.path} @{commit}{tag}{self.passage}"


class RepositoryCommit(_AtCommit, frozen=True):
    """A whole commit: `OWNER/REPO @COMMIT (TAG)`."""

    @property
    def link(self) -> str:
        """Return the address of the files at the commit on the forge."""
        return f"{self.repository.page}/tree/{self.commit}"


class RepositoryTag(_Row, frozen=True):
    """A tag of a repository: `OWNER/REPO tag v1.2.3`. The reference says that the tag exists."""

    repository: Repository
    tag: str

    @property
    def link(self) -> str:
        """Return the address of the files at the tag on the forge."""
        return f"{self.repository.page}/tree/{quote(self.tag)}"

    def __str__(self) -> str:
        return f"{self.repository} tag {self.tag}"


class Issue(_Row, frozen=True):
    """An issue, a pull request or a discussion: `OWNER/REPO#123`."""

    repository: Repository
    number: int

    @property
    def link(self) -> str:
        """Return the address on the forge.

        It is the address of an issue. The forge redirects it for a pull request or a discussion.
        """
        return f"{self.repository.page}/issues/{self.number}"

    def __str__(self) -> str:
        return f"{self.repository}#{self.number}"


class ArchiveMember(_Row, frozen=True):
    """A file within a wheel or source archive: `NAME-VERSION.tar.gz MEMBER #L12`.

    A wheel's list of files is its member RECORD.
    """

    # The name of the wheel or source archive.
    file: str
    # The path of the file in it, below the top folder of a source archive.
    member: str
    # The sha256 of the wheel or archive in hex; empty if the hash is taken from the index.
    sha256: str = ""
    # The lines and texts that are cited.
    passage: Passage = Passage()

    def __str__(self) -> str:
        digest = f" sha256:{self.sha256}" if self.sha256 else ""
        return f"{self.file}{digest} {self.member}{self.passage}"

    @property
    def is_wheel(self) -> bool:
        """Return whether the file is a wheel."""
        return self.file.endswith(".whl")


class Listing(_Row, frozen=True):
    """The releases that a project had on an index: `index pypi NAME (2026-11-28)`."""

    # The name of the index in indexes.toml.
    index: str
    project: str
    # The day on which somebody looked.
    day: date

    def __str__(self) -> str:
        return f"index {self.index} {self.project} ({self.day.isoformat()})"


class Page(_Row, frozen=True):
    """A page on the web: `HOST/PATH (2026-11-28)`."""

    # Host and path, without a scheme.
    address: str
    # The day on which somebody read it.
    day: date

    @property
    def link(self) -> str:
        """Return the address of the page with `https://`."""
        return f"https://{self.address}"

    def __str__(self) -> str:
        return f"{self.address} ({self.day.isoformat()})"


class Trial(_Row, frozen=True):
    """A command that somebody ran on a machine: `tried on linux-x86_64 (2026-11-22): WHAT`."""

    # The machine, such as linux-aarch64.
    machine: str
    # The day on which it was run.
    day: date
    # The command and its result.
    what: str

    def __str__(self) -> str:
        return f"tried on {self.machine} ({self.day.isoformat()}): {self.what}"


class Document(_Row, frozen=True):
    """A document that is not on the web, such as an internal guide: `"TITLE" (2026-02-28)`."""

    # The title. In the facts of a stack's own file, it may be any text.
    title: str
    # The date of the document, or the day on which somebody read it; None for a text without a
    # date.
    day: date | None

    def __str__(self) -> str:
        if self.day is None:
            return self.title
        return f'"{self.title}" ({self.day.isoformat()})'


Reference = (
    RepositoryFile
    | RepositoryCommit
    | RepositoryTag
    | Issue
    | ArchiveMember
    | Listing
    | Page
    | Trial
    | Document
)


class References(msgspec.Struct, frozen=True):
    """The references of a fact."""

    # The references in the order of the file; at least one.
    references: tuple[Reference, ...]

    @property
    def brief(self) -> str:
        """Return the references in one text with commits of 12 digits, for people."""
        return "; ".join(brief_text(reference) for reference in self.references)

    def __str__(self) -> str:
        return "; ".join(map(str, self.references))


def brief_text(reference: Reference) -> str:
    """Return the text of a reference; a commit in it is cut to 12 digits."""
    match reference:
        case RepositoryFile() | RepositoryCommit():
            return reference.brief
        case _:
            return str(reference)


def link_of(reference: Reference) -> str:
    """Return the web address of what a reference cites; empty if there is no such address."""
    match reference:
        case RepositoryFile() | RepositoryCommit() | RepositoryTag() | Issue() | Page():
            return reference.link
        case ArchiveMember() | Listing() | Trial() | Document():
            return ""
