"""The reader of references, which say where a fact can be looked up (see `model/source`).

A reference is written in one of these forms:

```
OWNER/REPO PATH @COMMIT (TAG) #L12-L20 `QUOTE`   a file of a repository; all after COMMIT optional
OWNER/REPO @COMMIT                               a commit as a whole
OWNER/REPO tag v1.2.3                            a tag
OWNER/REPO#123                                   an issue or pull request
NAME-1.0.tar.gz sha256:HEX MEMBER #L12 `QUOTE`   a file in a wheel or source archive;
                                                 its hash, lines and quote are optional
index pypi NAME (2026-11-28)                     the releases of a project on an index
hiascend.com/PATH (2026-11-28)                   a page, with the day on which it was read
tried on linux-aarch64 (2026-11-28): WHAT        something that was run
"TITLE" (2026-11-28)                             a document that is on no page
```

If a repository is not on GitHub, its host stands before it, as in `HOST/OWNER/REPO`. A text that
the cited lines do not contain is quoted as without `QUOTE`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Final

from resolver.errors import InputError
from resolver.model.source import (
    GITHUB,
    ArchiveMember,
    Document,
    Issue,
    Lines,
    Listing,
    Page,
    Passage,
    Quote,
    Reference,
    Repository,
    RepositoryCommit,
    RepositoryFile,
    RepositoryTag,
    Trial,
)
from resolver.phrase import EMPTY, Phrase, phrase

# The most characters of a reference.
_LONGEST: Final = 4_000
_NAME: Final = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
_HOST: Final = r"[a-z0-9-]+(?:\.[a-z0-9-]+)+"
_REPOSITORY: Final = rf"(?:(?P<host>{_HOST})/)?(?P<repository>{_NAME}/{_NAME})"
_PATH: Final = r"(?P<path>[^\s#`@;][^\s#`;]*)"
_TAG: Final = r"[A-Za-z0-9][A-Za-z0-9._/+-]*"
_COMMIT: Final = rf"@(?P<commit>[0-9A-Za-z]+)(?: \((?P<tag>{_TAG})\))?"
_PASSAGE: Final = r"(?: (?P<lines>#\S*))?(?P<quotes>(?: (?:without )?`[^`]+`)*)"
_DAY: Final = r"\((?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})\)"

_FILE: Final = re.compile(rf"{_REPOSITORY} {_PATH} {_COMMIT}{_PASSAGE}")
_WHOLE_COMMIT: Final = re.compile(rf"{_REPOSITORY} {_COMMIT}")
_REVISION: Final = re.compile(rf"{_REPOSITORY} tag (?P<tag>{_TAG})")
_ISSUE: Final = re.compile(rf"{_REPOSITORY}#(?P<number>[1-9][0-9]{{0,8}})")
_MEMBER: Final = re.compile(
    r"(?P<file>[A-Za-z0-9_][A-Za-z0-9._+!-]*(?:\.tar\.gz|\.zip|\.whl)) "
    rf"(?:sha256:(?P<sha256>\S+) )?{_PATH}{_PASSAGE}"
)
_LISTING: Final = re.compile(rf"index (?P<index>{_NAME}) (?P<project>{_NAME}) {_DAY}")
_TRIAL: Final = re.compile(rf"tried on (?P<machine>{_NAME}) {_DAY}: (?P<what>\S.*)")
_DOCUMENT: Final = re.compile(rf'"(?P<title>[^"]+)" {_DAY}')
_PAGE: Final = re.compile(rf"(?P<address>{_HOST}/[A-Za-z0-9._~/%+=&?:@!$,#-]*) {_DAY}")

_LINES: Final = re.compile(r"#L([1-9][0-9]{0,6})(?:-L([1-9][0-9]{0,6}))?")
_QUOTE: Final = re.compile(r" (without )?`([^`]+)`")
_HEX: Final = re.compile(r"[0-9a-f]+")

_FORMS: Final = phrase(
    "write for instance `OWNER/REPO PATH @COMMIT #L12` with all 40 digits, "
    "`NAME-1.0.tar.gz MEMBER #L12`, `OWNER/REPO tag v1.2`, `OWNER/REPO#123`, `HOST/PATH "
    "(2026-11-28)`, `index pypi NAME (2026-11-28)`, `tried on linux-aarch64 (2026-11-28): "
    "WHAT` or `'\"TITLE\" (2026-11-28)'`; several are a list of such texts"
)


def read_reference(text: str) -> Reference:
    """Return the reference in a text.

    Raises InputError with a hint for a text in no known form, such as a sentence or several
    references.
    """
    if len(text) > _LONGEST:
        why = phrase("it has {count} characters", count=len(text))
        raise InputError(phrase("a source is too long to be read"), why=why, hint=_FORMS)
    text = text.strip()
    if not text:
        raise InputError(phrase("a source is empty"), hint=_FORMS)
    if not text.isprintable():
        raise _unreadable(text, phrase("it has characters that do not print"))
    for form, read in _READERS:
        match = form.fullmatch(text)
        if match is not None:
            return read(match)
    raise _unreadable(text, _likely_mistake(text))


def read_own_reference(text: str) -> Reference:
    """Return the reference in a text of a stack's own file.

    A text in no known form is the title of a document, since only the author of the stack has to
    look it up. Raises InputError for a text that is empty, too long or has control characters.
    """
    try:
        return read_reference(text)
    except InputError:
        title = text.strip()
        if not title or len(title) > _LONGEST or not title.isprintable():
            raise
        return Document(title=title, day=None)


def _unreadable(text: str, why: Phrase) -> InputError:
    """Return the error for a text in no known form, with the known forms as a hint."""
    return InputError(
        phrase("`{text}` is not a source that can be looked up", text=text), why=why, hint=_FORMS
    )


def _likely_mistake(text: str) -> Phrase:
    """Return what is probably wrong with a text in no known form; empty if that is unclear."""
    if "; " in _QUOTE.sub("", text):
        return phrase("several references are a list, with a text for each")
    if " branch " in text or re.search(r"@[A-Za-z]*[g-zG-Z/]", text):
        return phrase("a branch moves: name the commit that was read")
    if re.search(r"https?://", text):
        return phrase("a page is written without https://, and with the day on which it was read")
    if re.match(rf"{_HOST}/\S+$", text):
        return phrase("the day on which the page was read is missing")
    if re.match(r"\S+(?:\.tar\.gz|\.zip|\.whl)$", text):
        return phrase(
            "the file within the archive is missing; the list of a wheel's files is its RECORD"
        )
    return EMPTY


def _file(match: re.Match[str]) -> RepositoryFile:
    return RepositoryFile(
        repository=_repository(match),
        path=_path(match),
        commit=_commit(match),
        tag=match["tag"] or "",
        passage=_passage(match),
    )


def _whole_commit(match: re.Match[str]) -> RepositoryCommit:
    return RepositoryCommit(
        repository=_repository(match), commit=_commit(match), tag=match["tag"] or ""
    )


def _revision(match: re.Match[str]) -> RepositoryTag:
    return RepositoryTag(repository=_repository(match), tag=match["tag"])


def _issue(match: re.Match[str]) -> Issue:
    return Issue(repository=_repository(match), number=int(match["number"]))


def _member(match: re.Match[str]) -> ArchiveMember:
    digest = match["sha256"] or ""
    if digest and (len(digest) != 64 or not _HEX.fullmatch(digest)):
        raise _unreadable(match[0], phrase("a sha256 is 64 hexadecimal digits, in lower case"))
    return ArchiveMember(
        file=match["file"], sha256=digest, member=_path(match), passage=_passage(match)
    )


def _listing(match: re.Match[str]) -> Listing:
    return Listing(index=match["index"], project=match["project"], day=_day(match))


def _trial(match: re.Match[str]) -> Trial:
    return Trial(machine=match["machine"], day=_day(match), what=match["what"])


def _document(match: re.Match[str]) -> Document:
    return Document(title=match["title"], day=_day(match))


def _page(match: re.Match[str]) -> Page:
    return Page(address=match["address"], day=_day(match))


# The forms in the order in which they are tried, each with the function that reads a match.
_READERS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Reference]], ...]] = (
    (_TRIAL, _trial),
    (_DOCUMENT, _document),
    (_LISTING, _listing),
    (_MEMBER, _member),
    (_REVISION, _revision),
    (_ISSUE, _issue),
    (_WHOLE_COMMIT, _whole_commit),
    (_FILE, _file),
    (_PAGE, _page),
)


def _repository(match: re.Match[str]) -> Repository:
    return Repository(match["host"] or GITHUB, match["repository"])


def _commit(match: re.Match[str]) -> str:
    """Return the commit in a match. Raises InputError if it is not a full hash."""
    commit = match["commit"]
    if len(commit) != 40 or not _HEX.fullmatch(commit):
        raise _unreadable(match[0], phrase("a commit is all 40 hexadecimal digits, in lower case"))
    return commit


def _path(match: re.Match[str]) -> str:
    """Return the path in a match. Raises InputError if it is not relative to the top."""
    path = match["path"]
    if path.startswith("/") or any(part in ("", ".", "..") for part in path.split("/")):
        raise _unreadable(
            match[0],
            phrase("`{path}` is not the path of a file from the top", path=path),
        )
    return path


def _passage(match: re.Match[str]) -> Passage:
    """Return the lines and quotes in a match. Raises InputError if the lines are wrong."""
    found_quotes = _QUOTE.findall(match["quotes"])
    quotes = tuple(Quote(text, is_absent=bool(without)) for without, text in found_quotes)
    if match["lines"] is None:
        return Passage(quotes=quotes)
    lines = _LINES.fullmatch(match["lines"])
    if lines is None:
        raise _unreadable(match[0], phrase("lines are written `#L12` or `#L12-L20`"))
    first = int(lines[1])
    last = int(lines[2]) if lines[2] else first
    if last < first:
        raise _unreadable(match[0], phrase("the last line is before the first"))
    return Passage(lines=Lines(first, last), quotes=quotes)


def _day(match: re.Match[str]) -> date:
    """Return the day in a match. Raises InputError if there is no such day."""
    try:
        return date.fromisoformat(match["day"])
    except ValueError:
        raise _unreadable(match[0], phrase("`{day}` is no day", day=match["day"])) from None
